"""Intervals without width: where scores do not vary there is nothing to measure precision by."""

from __future__ import annotations

from collections.abc import Mapping

from toplist.ranking.results import Estimate, Results
from toplist.ranking.verdicts import verdicts
from toplist.report.page.wording import Name, Sentence, Words, kind, listed, scores, sentence

_LITTLE = 1e-9  # of the value, and a thousandth of that of the scale of scores: what rounding leaves


def flat(estimate: Estimate | None) -> bool:
    """Whether an interval has no width to speak of.

    >>> flat(Estimate(0.5, 0.5, 0.5)), flat(Estimate(0.5, 0.49, 0.51)), flat(Estimate(0.5))
    (True, False, False)
    """
    if estimate is None or estimate.low is None or estimate.high is None:
        return False
    return estimate.high - estimate.low <= _LITTLE * (abs(estimate.value) + 1e-3)


def sentences(results: Results, shown: Mapping[str, Name]) -> list[Sentence]:
    """Whose scores do not vary, and between whom the difference does not."""
    found, unit = [], results.unit
    for i, rule in enumerate(results.rules):
        who: list[Words] = [shown[row.name] for row in results.overall.standings if flat(row.marks[i].score)]
        if who:
            found.append(
                sentence(
                    f"The {kind(rule)} scores of ",
                    listed(who),
                    f" are the same in every {unit}, so there is no spread",
                    " to make an interval of. That does not make the mean precise.",
                )
            )
    for rule in results.rules:
        same = [v.pair for v in verdicts(results, rule) if flat(v.pair.difference) and v.pair.difference.value]
        if same:
            two: list[Words] = [sentence(shown[pair.a], " and ", shown[pair.b]) for pair in same]
            found.append(
                sentence(
                    f"Under {scores(rule)}, the difference is the same in every {unit} between ",
                    listed(two),
                    ". A test takes that for certainty; it is for the reader to judge.",
                )
            )
    return found
