"""Recalibration: estimators that learn from outcomes how to change confidences, and the choice among them.

In: TopLists or what `as_lists` takes, and outcomes to fit on. Out: valid TopLists on the same classes. May import
`postprocess.selection`, `scoring` and what lies below. A new recalibrator is a class, an entry here, and one in
`tests/postprocess/recalibrators.py`.
"""

from toplist.postprocess.recalibration.automatic import (
    CandidateScore,
    Selection,
    cross_fitted,
    select_recalibrator,
)
from toplist.postprocess.recalibration.base import Identity, Recalibrator
from toplist.postprocess.recalibration.standard import Isotonic, RestFloor, Temperature

RECALIBRATORS: dict[str, type[Recalibrator]] = {
    "identity": Identity,
    "temperature": Temperature,
    "rest-floor": RestFloor,
    "isotonic": Isotonic,
}
"""Recalibrators by their names on the command line, in the order in which they are tried by default."""

__all__ = [
    "RECALIBRATORS", "CandidateScore", "Identity", "Isotonic", "Recalibrator", "RestFloor", "Selection", "Temperature",
    "cross_fitted", "select_recalibrator",
]  # fmt: skip
