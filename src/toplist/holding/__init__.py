"""Cases held by place, whichever way their classes are numbered, and whether they are calibrated."""

from toplist.holding.cases import EXACT, Held, Holding, by_place, held, thinned
from toplist.holding.judging import TESTED, judged

__all__ = [
    "EXACT",
    "TESTED",
    "Held",
    "Holding",
    "by_place",
    "held",
    "judged",
    "thinned",
]
