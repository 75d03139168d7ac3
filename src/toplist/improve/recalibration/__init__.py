"""Lists whose confidences are changed so that they are kept."""

from toplist.improve.recalibration.auto import Auto
from toplist.improve.recalibration.base import Recalibrator
from toplist.improve.recalibration.chain import Chain
from toplist.improve.recalibration.choice import Candidate, Choice, choose_recalibrator
from toplist.improve.recalibration.floor import RestFloor
from toplist.improve.recalibration.folds import cross_fitted
from toplist.improve.recalibration.identity import Identity
from toplist.improve.recalibration.maps import Beta, Isotonic
from toplist.improve.recalibration.temperature import BucketTemperature, Temperature
from toplist.improve.recalibration.vector import VectorScaling

__all__ = [
    "Auto", "Beta", "BucketTemperature", "Candidate", "Chain", "Choice", "Identity", "Isotonic", "Recalibrator",
    "RestFloor", "Temperature", "VectorScaling", "choose_recalibrator", "cross_fitted",
]  # fmt: skip
