"""Top-beta lists: as few of the most likely classes as it takes to reach a mass; experimental.

The functional, which lists it can produce, two strictly consistent scores with their exact constants, how far these
can be trusted in floating point, and what to look at besides. docs/topbeta.md has the theorem and its proof.
"""

from toplist.scoring.topbeta.conditioning import Conditioning, ConditioningWarning, conditioning
from toplist.scoring.topbeta.constants import Constants, constants, ratio
from toplist.scoring.topbeta.functional import top_beta, true_top_beta
from toplist.scoring.topbeta.image import REASONS, Image, in_image
from toplist.scoring.topbeta.levels import longest
from toplist.scoring.topbeta.scores import bound, score
from toplist.scoring.topbeta.summary import TopBetaSummary, summarize

__all__ = [
    "REASONS",
    "Conditioning",
    "ConditioningWarning",
    "Constants",
    "Image",
    "TopBetaSummary",
    "bound",
    "conditioning",
    "constants",
    "in_image",
    "longest",
    "ratio",
    "score",
    "summarize",
    "top_beta",
    "true_top_beta",
]
