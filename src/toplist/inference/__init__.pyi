from toplist.inference.score_difference import Disagreement as Disagreement
from toplist.inference.score_difference import deciding_cases as deciding_cases
