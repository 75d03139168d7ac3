"""Why intervals are missing, in the names that the page has."""

from __future__ import annotations

from toplist.ranking.results import Results
from toplist.report.notes import gaps
from toplist.report.page.sureness import Shown
from toplist.report.page.wording import Sentence, listed, scores, sentence


def sentences(results: Results, shown: Shown) -> list[Sentence]:
    """A sentence for each reason."""
    return [
        sentence(
            "No interval for ",
            "any predictor" if gap.names is None else listed(shown[name] for name in gap.names),
            *(() if gap.rules is None else (" under ", listed(map(scores, gap.rules)))),
            f": {gap.why}.",
        )
        for gap in gaps(results.overall)
    ]
