"""Recalibration: estimators that learn from outcomes how to change confidences, and the choice among them.

In: TopLists or what `as_lists` takes, and outcomes to fit on. Out: valid TopLists on the same classes. May import
`postprocess.selection`, `scoring` and what lies below. A new recalibrator is a class, an entry here, and one in
`tests/postprocess/recalibrators.py`.
"""

from toplist.postprocess.recalibration.automatic import (
    AutoRecalibrator,
    CandidateScore,
    Selection,
    cross_fitted,
    select_recalibrator,
)
from toplist.postprocess.recalibration.base import Chain, Identity, Recalibrator
from toplist.postprocess.recalibration.floor import RestFloor
from toplist.postprocess.recalibration.maps import Beta, Isotonic
from toplist.postprocess.recalibration.scaling import BucketTemperature, Temperature, VectorScaling
from toplist.postprocess.recalibration.scores import SoftmaxOfScores

RECALIBRATORS: dict[str, type[Recalibrator]] = {
    "identity": Identity,
    "temperature": Temperature,
    "rest-floor": RestFloor,
    "bucket-temperature": BucketTemperature,
    "beta": Beta,
    "vector-scaling": VectorScaling,
    "isotonic": Isotonic,
}
"""Recalibrators by their names on the command line, in the order in which they are tried by default."""

__all__ = [
    "RECALIBRATORS", "AutoRecalibrator", "Beta", "BucketTemperature", "CandidateScore", "Chain", "Identity", "Isotonic",
    "Recalibrator", "RestFloor", "Selection", "SoftmaxOfScores", "Temperature", "VectorScaling",
    "cross_fitted", "select_recalibrator",
]  # fmt: skip
