"""Lists whose confidences are changed so that they are kept."""

from toplist.postprocess.recalibration.automatic import (
    AutoRecalibrator,
    CandidateScore,
    Selection,
    choose_recalibrator,
    cross_fitted,
)
from toplist.postprocess.recalibration.base import Chain, Identity, Recalibrator
from toplist.postprocess.recalibration.floor import RestFloor
from toplist.postprocess.recalibration.maps import Beta, Isotonic
from toplist.postprocess.recalibration.scaling import BucketTemperature, Temperature, VectorScaling

__all__ = [
    "AutoRecalibrator", "Beta", "BucketTemperature", "CandidateScore", "Chain", "Selection", "Identity", "Isotonic", "Recalibrator",
    "RestFloor", "Temperature", "VectorScaling", "choose_recalibrator", "cross_fitted",
]  # fmt: skip
