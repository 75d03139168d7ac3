from toplist.calibration.binned import Binned as Binned
from toplist.calibration.decomposition import Decomposition as Decomposition, Part as Part, decompose as decompose
from toplist.calibration.error import CalibrationError as CalibrationError, Gap as Gap, calibration_error as calibration_error, confidence_gap as confidence_gap
from toplist.calibration.reliability import Band as Band, Bin as Bin, Bins as Bins, Reliability as Reliability, reliability as reliability, reliability_by_rank as reliability_by_rank
from toplist.calibration.testing import CalibrationTest as CalibrationTest, calibration_test as calibration_test
from toplist.inference.score_difference import Disagreement as Disagreement, deciding_cases as deciding_cases
from toplist.lists.checks import Look as Look, Oddity as Oddity
