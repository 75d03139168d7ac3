from toplist.lists.labelsets import LabelSets as LabelSets, Sets as Sets
from toplist.multilabel.chains import SearchCutShort as SearchCutShort, chain_log_p as chain_log_p, chain_samples as chain_samples, chain_sets as chain_sets
from toplist.multilabel.estimators import BinaryRelevance as BinaryRelevance, LabelPowerset as LabelPowerset, ProbabilisticChain as ProbabilisticChain, Reranker as Reranker
from toplist.multilabel.independent import best_sets as best_sets
from toplist.multilabel.metrics import METRICS as METRICS, SetMetric as SetMetric, hamming as hamming, instance_f1 as instance_f1, jaccard as jaccard, set_accuracy as set_accuracy
from toplist.multilabel.samples import sampled_sets as sampled_sets
from toplist.multilabel.set_decisions import f1_sets as f1_sets, hamming_sets as hamming_sets, jaccard_sets as jaccard_sets, marginals as marginals, mode_sets as mode_sets
from toplist.multilabel.support import support_log_scores as support_log_scores, support_sets as support_sets
