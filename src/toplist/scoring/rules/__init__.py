"""Scoring rules: the standard ones, and those that are given by functions."""

from __future__ import annotations

from toplist.scoring.rules.base import Rule, SumRule
from toplist.scoring.rules.given import Savage, Separable
from toplist.scoring.rules.ordinal import RankedLog, RankedProbability
from toplist.scoring.rules.standard import (
    ORDINAL_RULES,
    RULES,
    Brier,
    Log,
    OneVsRest,
    Power,
    PseudoSpherical,
    Renyi,
    Spherical,
    ZeroOne,
    as_padded_rule,
    as_rule,
    name_of,
)
from toplist.scoring.rules.top_beta import TopBeta

__all__ = [
    "ORDINAL_RULES", "RULES", "Brier", "Log", "OneVsRest", "Power", "PseudoSpherical", "RankedLog",
    "RankedProbability", "Renyi", "Rule", "Savage", "Separable", "Spherical", "SumRule", "TopBeta",
    "ZeroOne", "as_padded_rule", "as_rule", "name_of",
]  # fmt: skip
