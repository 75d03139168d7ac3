"""Top-beta lists: as few of the most likely classes as it takes to reach a mass; experimental.

The functional, which lists it can produce, two strictly consistent scores with their exact constants, how far these
can be trusted in floating point, and what to look at besides. docs/topbeta.md has the theorem and its proof.
"""

from toplist.topbeta.conditioning import Conditioning, ConditioningWarning, conditioning
from toplist.topbeta.constants import Constants, constants, ratio
from toplist.topbeta.diagnosis import Diagnosis, diagnose
from toplist.topbeta.functional import top_beta, true_top_beta
from toplist.topbeta.image import REASONS, Image, in_image
from toplist.topbeta.levels import longest
from toplist.topbeta.scores import bound, score

__all__ = [
    "REASONS",
    "Conditioning",
    "ConditioningWarning",
    "Constants",
    "Diagnosis",
    "Image",
    "bound",
    "conditioning",
    "constants",
    "diagnose",
    "in_image",
    "longest",
    "ratio",
    "score",
    "top_beta",
    "true_top_beta",
]
