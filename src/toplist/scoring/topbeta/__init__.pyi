from toplist.scoring.rules.top_beta import TopBeta as TopBeta
from toplist.scoring.topbeta.functional import top_beta as top_beta
from toplist.scoring.topbeta.functional import true_top_beta as true_top_beta
from toplist.scoring.topbeta.image import REASONS as REASONS
from toplist.scoring.topbeta.image import Image as Image
from toplist.scoring.topbeta.image import in_image as in_image
from toplist.scoring.topbeta.image import longest as longest
