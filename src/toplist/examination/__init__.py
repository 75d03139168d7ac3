"""What is odd about predictions, how reliable they are, and what their score is made of: in memory, or from files."""

from toplist.examination.diagnosing import diagnose
from toplist.examination.measuring import Calibration
from toplist.examination.results import Diagnosis

__all__ = ["Calibration", "Diagnosis", "diagnose"]
