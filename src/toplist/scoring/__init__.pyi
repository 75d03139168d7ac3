from toplist.lists.theory import decreasing as decreasing
from toplist.lists.theory import excess_bound as excess_bound
from toplist.lists.theory import majorizes as majorizes
from toplist.lists.theory import worst_excess as worst_excess
from toplist.scoring import topbeta as topbeta
from toplist.scoring.rules import RULES as RULES
from toplist.scoring.scores import default_penalty as default_penalty
from toplist.scoring.truncation_curve import Curve as Curve
