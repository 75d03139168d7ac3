"""Scoring rules, one family per file. A rule is a frozen value; the usual ones also go by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toplist._text import did_you_mean
from toplist.errors import RuleError
from toplist.scoring.rules.base import Rule, SumRule
from toplist.scoring.rules.log import Log
from toplist.scoring.rules.one_vs_rest import OneVsRest
from toplist.scoring.rules.power import Brier, Power
from toplist.scoring.rules.renyi import Renyi
from toplist.scoring.rules.savage import Savage
from toplist.scoring.rules.separable import Separable
from toplist.scoring.rules.spherical import PseudoSpherical, Spherical
from toplist.scoring.rules.zero_one import ZeroOne

RULES: dict[str, Callable[[], Rule]] = {
    "brier": Brier,
    "log": Log,
    "spherical": Spherical,
    "zero-one": ZeroOne,
    "one-vs-rest": OneVsRest,
}


def as_rule(rule: Any) -> Rule:
    """A rule as it is, or the one with this name.

    >>> as_rule("brier")
    Brier(scale_by_half=False)
    """
    if isinstance(rule, Rule):
        return rule
    if isinstance(rule, type) and issubclass(rule, Rule):
        raise RuleError(f"{rule.__name__} is a family of rules; call it: {rule.__name__}(...).")
    if isinstance(rule, str) and rule in RULES:
        return RULES[rule]()
    raise RuleError(f"no rule is called {rule!r}; there are {', '.join(RULES)}.{did_you_mean(str(rule), RULES)}")


def name_of(rule: Rule) -> str:
    """The name of a rule as people know it; with its parameters, where they are not the usual ones.

    >>> name_of(Brier()), name_of(Brier(scale_by_half=True))
    ('brier', 'Brier(scale_by_half=True)')
    """
    usual = RULES.get(rule.name)
    return rule.name if usual is not None and usual() == rule else repr(rule)


__all__ = [
    "RULES", "Brier", "Log", "OneVsRest", "Power", "PseudoSpherical", "Renyi", "Rule", "Savage", "Separable",
    "Spherical", "SumRule", "ZeroOne", "as_rule", "name_of",
]  # fmt: skip
