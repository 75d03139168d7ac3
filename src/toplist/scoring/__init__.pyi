from toplist.scoring import topbeta as topbeta
from toplist.scoring.bounds import excess_bound as excess_bound
from toplist.scoring.bounds import worst_excess as worst_excess
from toplist.scoring.majorization import decreasing as decreasing
from toplist.scoring.majorization import majorizes as majorizes
from toplist.scoring.rules import RULES as RULES
from toplist.scoring.scores import default_penalty as default_penalty
from toplist.scoring.truncation_curve import Curve as Curve
