from toplist import calibration as calibration
from toplist import multilabel as multilabel
from toplist import postprocess as postprocess
from toplist.scoring import topbeta as topbeta
from toplist.errors import AlignmentError as AlignmentError, CaseError as CaseError, ClassError as ClassError, ConfidenceError as ConfidenceError, FileError as FileError, ImproperRuleError as ImproperRuleError, MassError as MassError, OutcomeError as OutcomeError, ResourceError as ResourceError, RuleError as RuleError, ShapeError as ShapeError, SpaceError as SpaceError, TopListError as TopListError
from toplist.evaluation.compare import compare as compare
from toplist.evaluation.diagnose import diagnose as diagnose
from toplist.evaluation.diagnosis import Diagnosis as Diagnosis
from toplist.evaluation.leaderboard import Leaderboard as Leaderboard
from toplist.evaluation.monitor import Monitor as Monitor, monitor as monitor
from toplist.lists import DeviceLists as DeviceLists, TopList as TopList, TopLists as TopLists
from toplist.lists.functional import TrueLists as TrueLists, is_calibrated as is_calibrated, is_true as is_true, is_valid as is_valid, top_k as top_k, top_mass as top_mass, true_lists as true_lists
from toplist.lists.labelsets import LabelSets as LabelSets
from toplist.lists.space import ClassSpace as ClassSpace
from toplist.report.versions import show_versions as show_versions
from toplist.scoring.accuracy import accuracy as accuracy, coverage as coverage, ranks as ranks, top_k_error as top_k_error
from toplist.scoring.bounds import excess_bound as excess_bound, worst_excess as worst_excess
from toplist.scoring.majorization import decreasing as decreasing, majorizes as majorizes
from toplist.scoring.rules import RULES as RULES, Brier as Brier, Log as Log, OneVsRest as OneVsRest, Power as Power, PseudoSpherical as PseudoSpherical, Renyi as Renyi, Rule as Rule, Savage as Savage, Separable as Separable, Spherical as Spherical, ZeroOne as ZeroOne
from toplist.scoring.scores import default_penalty as default_penalty, divergence as divergence, entropy as entropy, expected_score as expected_score, score as score
from toplist.scoring.truncation_curve import Curve as Curve, curve as curve

__version__: str
