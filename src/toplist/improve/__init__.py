"""Lists in, better lists out. Names are loaded on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toplist.deferral import deferred

if TYPE_CHECKING:
    from toplist.improve.conformal import Conformal, ConformalSets
    from toplist.improve.costs import CostTable, Decisions, Special, decide
    from toplist.improve.loading import load
    from toplist.improve.pools import (
        Ambiguity,
        PoolWeights,
        Stack,
        ambiguity,
        geometric_pool,
        linear_pool,
        pool_weights,
        stack,
    )
    from toplist.improve.recalibration import (
        Auto,
        Beta,
        BucketTemperature,
        Candidate,
        Chain,
        Choice,
        Identity,
        Isotonic,
        Recalibrator,
        RestFloor,
        Temperature,
        VectorScaling,
        choose_recalibrator,
        cross_fitted,
    )
    from toplist.improve.rejection import RejectionCurve, reject_below, rejection_curve
    from toplist.improve.setcosts import SetDecisions, decide_sets
    from toplist.improve.truncation import Truncation, Worth, choose_k, choose_mass, truncate_by_gain, worth

_HOME = {
    "improve.conformal": (
        "Conformal",
        "ConformalSets",
    ),
    "improve.costs": (
        "CostTable",
        "Decisions",
        "Special",
        "decide",
    ),
    "improve.loading": ("load",),
    "improve.pools": (
        "Ambiguity",
        "PoolWeights",
        "Stack",
        "ambiguity",
        "geometric_pool",
        "linear_pool",
        "pool_weights",
        "stack",
    ),
    "improve.recalibration": (
        "Auto",
        "Beta",
        "BucketTemperature",
        "Candidate",
        "Chain",
        "Choice",
        "Identity",
        "Isotonic",
        "Recalibrator",
        "RestFloor",
        "Temperature",
        "VectorScaling",
        "choose_recalibrator",
        "cross_fitted",
    ),
    "improve.rejection": (
        "RejectionCurve",
        "reject_below",
        "rejection_curve",
    ),
    "improve.setcosts": (
        "SetDecisions",
        "decide_sets",
    ),
    "improve.truncation": (
        "Truncation",
        "Worth",
        "choose_k",
        "choose_mass",
        "truncate_by_gain",
        "worth",
    ),
}

__all__ = [
    "Ambiguity",
    "Auto",
    "Beta",
    "BucketTemperature",
    "Candidate",
    "Chain",
    "Choice",
    "Conformal",
    "ConformalSets",
    "CostTable",
    "Decisions",
    "Identity",
    "Isotonic",
    "PoolWeights",
    "Recalibrator",
    "RejectionCurve",
    "RestFloor",
    "SetDecisions",
    "Special",
    "Stack",
    "Temperature",
    "Truncation",
    "VectorScaling",
    "Worth",
    "ambiguity",
    "choose_k",
    "choose_mass",
    "choose_recalibrator",
    "cross_fitted",
    "decide",
    "decide_sets",
    "geometric_pool",
    "linear_pool",
    "load",
    "pool_weights",
    "reject_below",
    "rejection_curve",
    "stack",
    "truncate_by_gain",
    "worth",
]

__getattr__, __dir__ = deferred("toplist.improve", _HOME)
