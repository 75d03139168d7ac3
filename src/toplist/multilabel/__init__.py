"""Multi-label classification, where a class is a set of labels: likely sets, decisions, set metrics, estimators.

Names are loaded when they are first used; the estimators need scikit-learn (`pip install 'toplist[sklearn]'`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toplist.deferral import deferred

if TYPE_CHECKING:
    from toplist.labelsets import LabelSets, Sets
    from toplist.multilabel.best import best_sets
    from toplist.multilabel.chains import SearchCutShort, chain_log_p, chain_samples, chain_sets
    from toplist.multilabel.decisions import f1_sets, hamming_sets, jaccard_sets, marginals, mode_sets
    from toplist.multilabel.estimators import BinaryRelevance, LabelPowerset, ProbabilisticChain, Reranker
    from toplist.multilabel.metrics import METRICS, SetMetric, hamming, instance_f1, jaccard, set_accuracy
    from toplist.multilabel.samples import sampled_sets
    from toplist.multilabel.support import support_log_scores, support_sets

_HOME = {
    "labelsets": ("LabelSets", "Sets"),
    "multilabel.best": ("best_sets",),
    "multilabel.chains": ("SearchCutShort", "chain_log_p", "chain_samples", "chain_sets"),
    "multilabel.decisions": ("f1_sets", "hamming_sets", "jaccard_sets", "marginals", "mode_sets"),
    "multilabel.estimators": ("BinaryRelevance", "LabelPowerset", "ProbabilisticChain", "Reranker"),
    "multilabel.metrics": ("METRICS", "SetMetric", "hamming", "instance_f1", "jaccard", "set_accuracy"),
    "multilabel.samples": ("sampled_sets",),
    "multilabel.support": ("support_log_scores", "support_sets"),
}
__all__ = [
    "METRICS",
    "BinaryRelevance",
    "LabelPowerset",
    "LabelSets",
    "ProbabilisticChain",
    "Reranker",
    "SearchCutShort",
    "SetMetric",
    "Sets",
    "best_sets",
    "chain_log_p",
    "chain_samples",
    "chain_sets",
    "f1_sets",
    "hamming",
    "hamming_sets",
    "instance_f1",
    "jaccard",
    "jaccard_sets",
    "marginals",
    "mode_sets",
    "sampled_sets",
    "set_accuracy",
    "support_log_scores",
    "support_sets",
]

__getattr__, __dir__ = deferred("toplist.multilabel", _HOME)
