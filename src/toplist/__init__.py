"""Score probabilistic predictions over classes honestly: hard labels, top lists and distributions on one scale.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from toplist.deferral import deferred

if TYPE_CHECKING:
    from toplist.comparison import compare
    from toplist.curves import Curve, curve
    from toplist.errors import (
        AlignmentError,
        CaseError,
        ClassError,
        ConfidenceError,
        FileError,
        ImproperRuleError,
        MassError,
        OutcomeError,
        ResourceError,
        RuleError,
        ShapeError,
        SpaceError,
        TopListError,
    )
    from toplist.examination import Diagnosis, diagnose
    from toplist.excess import excess_bound, worst_excess
    from toplist.functional import TrueLists, is_calibrated, is_true, is_valid, top_k, top_mass, true_lists
    from toplist.hits import accuracy, coverage, ranks, top_k_error
    from toplist.labelsets import LabelSets
    from toplist.leaderboard import Leaderboard
    from toplist.lists import DeviceLists, TopList, TopLists
    from toplist.majorization import decreasing, majorizes
    from toplist.monitoring import Monitor, monitor
    from toplist.rules import (
        RULES,
        Brier,
        Log,
        OneVsRest,
        Power,
        PseudoSpherical,
        Renyi,
        Rule,
        Savage,
        Separable,
        Spherical,
        ZeroOne,
    )
    from toplist.scoring import default_penalty, divergence, entropy, expected_score, score
    from toplist.space import ClassSpace
    from toplist.versions import show_versions

_HOME = {
    "comparison": ("compare",),
    "curves": ("Curve", "curve"),
    "errors": (
        "AlignmentError", "CaseError", "ClassError", "ConfidenceError", "FileError", "ImproperRuleError", "MassError",
        "OutcomeError", "ResourceError", "RuleError", "ShapeError", "SpaceError", "TopListError",
    ),
    "examination": ("Diagnosis", "diagnose"),
    "excess": ("excess_bound", "worst_excess"),
    "functional": ("TrueLists", "is_calibrated", "is_true", "is_valid", "top_k", "top_mass", "true_lists"),
    "hits": ("accuracy", "coverage", "ranks", "top_k_error"),
    "labelsets": ("LabelSets",),
    "leaderboard": ("Leaderboard",),
    "lists": ("DeviceLists", "TopList", "TopLists"),
    "majorization": ("decreasing", "majorizes"),
    "monitoring": ("Monitor", "monitor"),
    "rules": (
        "RULES", "Brier", "Log", "OneVsRest", "Power", "PseudoSpherical", "Renyi", "Rule", "Savage", "Separable",
        "Spherical", "ZeroOne",
    ),
    "scoring": ("default_penalty", "divergence", "entropy", "expected_score", "score"),
    "space": ("ClassSpace",),
    "versions": ("show_versions",),
}  # fmt: skip
_PARTS = ("diagnosis", "improve", "multilabel", "topbeta")  # rooms with names of their own
_get, __dir__ = deferred("toplist", _HOME)

__all__ = [
    "RULES",
    "AlignmentError",
    "Brier",
    "CaseError",
    "ClassError",
    "ClassSpace",
    "ConfidenceError",
    "Curve",
    "DeviceLists",
    "Diagnosis",
    "FileError",
    "ImproperRuleError",
    "LabelSets",
    "Leaderboard",
    "Log",
    "MassError",
    "Monitor",
    "OneVsRest",
    "OutcomeError",
    "Power",
    "PseudoSpherical",
    "Renyi",
    "ResourceError",
    "Rule",
    "RuleError",
    "Savage",
    "Separable",
    "ShapeError",
    "SpaceError",
    "Spherical",
    "TopList",
    "TopListError",
    "TopLists",
    "TrueLists",
    "ZeroOne",
    "accuracy",
    "compare",
    "coverage",
    "curve",
    "decreasing",
    "default_penalty",
    "diagnose",
    "divergence",
    "entropy",
    "excess_bound",
    "expected_score",
    "is_calibrated",
    "is_true",
    "is_valid",
    "majorizes",
    "monitor",
    "ranks",
    "score",
    "show_versions",
    "top_k",
    "top_k_error",
    "top_mass",
    "true_lists",
    "worst_excess",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("toplist.versions").version()
    return import_module(f"toplist.{name}") if name in _PARTS else _get(name)
