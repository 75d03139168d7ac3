"""Comparisons that may be looked at at any time, in words."""

from __future__ import annotations

from toplist.ranking.results import Estimate, SequentialPath
from toplist.report.escape import visible
from toplist.report.notes import cases
from toplist.report.numbers import decimals, fixed, percent
from toplist.report.page.sureness import Shown
from toplist.report.page.wording import Sentence, Words, kind, sentence


def told(path: SequentialPath, shown: Shown) -> list[Sentence]:
    """What the path says at its end, and when it first said so."""
    who: list[Words] = [shown[path.candidate], " against ", shown[path.baseline]]
    if not path.at:
        return [sentence(*who, f": {visible(path.why).strip().rstrip('.') or 'there are no cases'}.")]
    found = [_ending(path, shown)]
    if path.low:
        excluded = (
            "The sequence never excluded zero, so no difference is shown yet."
            if path.separated is None
            else f"The sequence first excluded zero after {cases(path.separated)}."
        )
        found.append(sentence(excluded))
    for name, other, when in (
        (path.candidate, path.baseline, path.shown_better),
        (path.baseline, path.candidate, path.shown_worse),
    ):
        if when is not None:
            shows = " was at some time better than "
            found.append(sentence(f"After {cases(when)} the bets show that ", shown[name], shows, shown[other], "."))
    if path.why:
        found.append(sentence(f"{visible(path.why).strip().rstrip('.')}."))
    return found


def _ending(path: SequentialPath, shown: Shown) -> Sentence:
    end = Estimate(path.mean[-1], path.low[-1] if path.low else None, path.high[-1] if path.high else None)
    digits = decimals([end])
    value = fixed(end.value, digits, signed=True)
    interval = (
        f", between {fixed(end.low, digits, signed=True)} and {fixed(end.high, digits, signed=True)} at "
        f"{percent(path.level)} however often one looks"
        if path.low
        else ""
    )
    return sentence(
        f"After {cases(path.at[-1])}, the mean {kind(path.rule)} score of ", shown[path.candidate],
        " minus that of ", shown[path.baseline], f" is {value}{interval}. Below zero, the first is better.",
    )  # fmt: skip


def method(path: SequentialPath) -> str:
    """How the sequence was made."""
    return visible(path.method).strip().rstrip(".")
