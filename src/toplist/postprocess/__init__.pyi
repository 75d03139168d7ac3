from toplist.postprocess.combination import Ambiguity as Ambiguity, PoolWeights as PoolWeights, Stack as Stack, ambiguity as ambiguity, geometric_pool as geometric_pool, linear_pool as linear_pool, pool_weights as pool_weights, stack as stack
from toplist.postprocess.conformal import Conformal as Conformal, ConformalSets as ConformalSets
from toplist.postprocess.decisions import CostTable as CostTable, Decisions as Decisions, SetDecisions as SetDecisions, Special as Special, decide as decide, decide_sets as decide_sets
from toplist.postprocess.load import load as load
from toplist.postprocess.recalibration import Beta as Beta, BucketTemperature as BucketTemperature, Chain as Chain, Identity as Identity, Isotonic as Isotonic, Recalibrator as Recalibrator, RestFloor as RestFloor, Temperature as Temperature, VectorScaling as VectorScaling
from toplist.postprocess.selection import Auto as Auto, Candidate as Candidate, Choice as Choice, choose_recalibrator as choose_recalibrator, cross_fitted as cross_fitted
from toplist.postprocess.selective import RejectionCurve as RejectionCurve, reject_below as reject_below, rejection_curve as rejection_curve
from toplist.postprocess.truncation import Truncation as Truncation, Worth as Worth, choose_k as choose_k, choose_mass as choose_mass, truncate_by_gain as truncate_by_gain, worth as worth
