"""Why a score is what it is: reliability, its parts, and what is odd about lists. Names are loaded on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toplist.deferral import deferred

if TYPE_CHECKING:
    from toplist.diagnosis.bands import Band
    from toplist.diagnosis.binned import Binned
    from toplist.diagnosis.bins import Bin, Bins
    from toplist.diagnosis.calibration import CalibrationError, Gap, calibration_error, confidence_gap
    from toplist.diagnosis.decomposition import Decomposition, decompose
    from toplist.diagnosis.disagreement import Disagreement, deciding_cases
    from toplist.diagnosis.oddities import Look, Oddity
    from toplist.diagnosis.parts import Part
    from toplist.diagnosis.reliabilities import Reliability, reliability, reliability_by_rank
    from toplist.diagnosis.testing import CalibrationTest, calibration_test

_HOME = {
    "diagnosis.bands": ("Band",),
    "diagnosis.binned": ("Binned",),
    "diagnosis.bins": ("Bin", "Bins"),
    "diagnosis.calibration": ("CalibrationError", "Gap", "calibration_error", "confidence_gap"),
    "diagnosis.decomposition": ("Decomposition", "decompose"),
    "diagnosis.disagreement": ("Disagreement", "deciding_cases"),
    "diagnosis.oddities": ("Look", "Oddity"),
    "diagnosis.parts": ("Part",),
    "diagnosis.reliabilities": ("Reliability", "reliability", "reliability_by_rank"),
    "diagnosis.testing": ("CalibrationTest", "calibration_test"),
}

__all__ = [
    "Band",
    "Bin",
    "Binned",
    "Bins",
    "CalibrationError",
    "CalibrationTest",
    "Decomposition",
    "Disagreement",
    "Gap",
    "Look",
    "Oddity",
    "Part",
    "Reliability",
    "calibration_error",
    "calibration_test",
    "confidence_gap",
    "deciding_cases",
    "decompose",
    "reliability",
    "reliability_by_rank",
]

__getattr__, __dir__ = deferred("toplist.diagnosis", _HOME)
