"""Scoring rules: the standard ones, and those that are given by functions."""

from __future__ import annotations

from toplist.scoring.rules.base import Rule, SumRule
from toplist.scoring.rules.given import Savage, Separable
from toplist.scoring.rules.standard import (
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
    "RULES", "Brier", "Log", "OneVsRest", "Power", "PseudoSpherical", "Renyi", "Rule", "Savage", "Separable",
    "Spherical", "SumRule", "TopBeta", "ZeroOne", "as_padded_rule", "as_rule", "name_of",
]  # fmt: skip
