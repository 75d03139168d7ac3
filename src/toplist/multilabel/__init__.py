"""Multi-label classification, where a class is a set of labels: likely sets, decisions, set metrics, estimators.

Names are loaded when they are first used; the estimators need scikit-learn (`pip install 'toplist[sklearn]'`).
"""

from __future__ import annotations

from importlib import import_module

_HOME = {
    "labelsets": ("LabelSets", "Sets"),
    "multilabel.best": ("best_sets",),
    "multilabel.chains": ("chain_sets",),
    "multilabel.decisions": ("f1_sets", "hamming_sets", "jaccard_sets", "marginals", "mode_sets"),
    "multilabel.estimators": ("BinaryRelevance", "LabelPowerset", "ProbabilisticChain", "Reranker"),
    "multilabel.metrics": ("METRICS", "SetMetric", "hamming", "instance_f1", "jaccard", "set_accuracy"),
    "multilabel.samples": ("sampled_sets",),
    "multilabel.support": ("support_sets",),
}
_ROOM = {name: room for room, names in _HOME.items() for name in names}

__all__ = sorted(_ROOM)  # noqa: PLE0605 - a list of strings


def __getattr__(name: str) -> object:
    if name not in _ROOM:
        raise AttributeError(f"module 'toplist.multilabel' has no attribute {name!r}")
    value = getattr(import_module(f"toplist.{_ROOM[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_ROOM)
