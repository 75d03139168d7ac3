"""The message of each data-quality issue: plain templates, filled in from the counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from toplist._text import argument, listed, quote
from toplist.lists import error_messages as remedies
from toplist.lists.checks.detect import DIGITS

if TYPE_CHECKING:
    from toplist.lists.checks.summary import Count, QualityCounts

_INVALID: Final = (
    "invalid: a listed confidence is below what each unlisted class gets. The largest valid sublist is scored, with a "
    "penalty; a repair of these lists would avoid that."
)
_BLANKS: Final = "Complete the file, or pass {dropped} to leave such entries out."

# A sentence about all cases; or one about some of them: its verb for one case, its verb for several, and the rest.
_TEMPLATES: Final[Mapping[str, str | tuple[str, str, str]]] = {
    "not finite": ("lists", "list", f"a confidence that is not finite. {remedies.LEAVE_OUT}"),
    "negative": ("lists", "list", f"a negative confidence. {remedies.PROBABILITIES}"),
    "above one": ("lists", "list", f"a confidence above 1 (the largest is {{largest}}). {remedies.IF_WEIGHTS}"),
    "mass above one": (
        "lists", "list", f"more mass than 1, up to {{mass}}. Correct it, or {remedies.DIVIDE}{{rounding}}"
    ),
    "incomplete distribution": (
        "lists", "list",
        f"every class, and the confidences do not sum to 1{{sums}}. {remedies.COMPLETE}{{rounding}}",
    ),
    "class twice": ("lists", "list", f"a class twice. {remedies.IF_SUMMED}"),
    "class outside the space": ("lists", "list", f"a class that is not in the space. {remedies.DECLARE_OR_MAP}"),
    "too many classes": ("lists", "list", f"more classes than there are. {remedies.DECLARE}"),
    "class without a confidence": ("names", "name", f"a class without a confidence. {_BLANKS}"),
    "confidence without a class": ("has", "have", f"a confidence without a class. {_BLANKS}"),
    "case twice": ("has", "have", "the id of an earlier case."),
    "invalid": ("is", "are", _INVALID),
    "list of zeros": ("lists", "list", "nothing but zeros."),
    "empty list": ("has", "have", "an empty list: all classes are alike."),
    "sentinel": f"The number {{value}} occurs {{times}} times: a mark for missing values? {remedies.UNLISTED}",
    "looks like percent": ("looks", "look", f"like percentages. {remedies.IF_PERCENT}"),
    "looks like log-probabilities": ("looks", "look", f"like log-probabilities. {remedies.IF_LOGS}"),
    "looks like marginals": (
        "has", "have",
        f"sums from {{low}} to {{high}} of numbers that are probabilities one by one. {remedies.MARGINALS}",
    ),
    "looks like label sets": ("is", "are", f"nothing but zeros and ones. {remedies.LABEL_SETS}"),
    "looks like probabilities": "No value is above {largest}: {percent} may be wrong.",
    "not in falling order": (
        "lists", "list",
        "a class after one with a smaller confidence. The order is not used, but ranks may have been mistaken for it.",
    ),
    "listed zero": ("lists", "list", "a class with confidence 0: if it is the outcome, the log score is infinite."),
    "rounded": "All confidences are multiples of {unit}{distinct}: they have been rounded, or are shares of few votes.",
    "cut at a threshold": "No listed confidence is below {edge}, and {ends} lists end near it: a cut-off.",
    "hard labels only": "All predictions are hard labels: every confidence is 1.",
    "all lists equal": "All {cases} cases have the same list.",
    "never happens": ("has", "have", "a first guess that is never the outcome: {guesses}."),
    "never listed": ("has", "have", "an outcome that is never listed: {outcomes}."),
}  # fmt: skip

REPAIRED: Final = " This is repaired, as requested."


def message(kind: str, counts: QualityCounts, found: Count, *, first: bool = False) -> str:
    """One issue in a sentence or two; with `first`, the name of the first case follows."""
    template = _TEMPLATES[kind]
    details = {name: _detail(name, counts) for name in re.findall(r"\{(\w+)\}", str(template))}
    if isinstance(template, str):
        return template.format(**details)
    one, several_, rest = template
    cases = f"{found.cases:,} of {counts.cases:,} cases"
    if found.cases == counts.cases:
        cases = "The one case" if found.cases == 1 else f"All {found.cases:,} cases"
    sentence = f"{cases} {one if found.cases == 1 else several_} {rest.format(**details)}"
    return sentence + _first(found) if first and found.name else sentence


def _detail(name: str, counts: QualityCounts) -> str:
    return argument(*remedies.ARGUMENTS[name]) if name in remedies.ARGUMENTS else _DETAILS[name](counts)


def _first(found: Count) -> str:
    name = found.name if re.fullmatch(r"row \d+|[\w.-]{1,40}", found.name) else quote(found.name)
    return f" {'The first' if found.cases > 1 else 'It'} is {'' if name.startswith('row ') else 'case '}{name}."


def _largest(counts: QualityCounts) -> str:
    scale = {"probability": "", "percent": " percent", "log": " as a logarithm"}[counts.scale]
    return f"{counts.numbers.largest:g}{scale}"


def _mass(counts: QualityCounts) -> str:
    """The largest mass, with enough digits to see that it is above one."""
    mass = counts.sums[1]
    return f"1 + {mass - 1:.1g}" if 0 < mass - 1 < 1e-5 else f"{mass:.6g}"


def _sums(counts: QualityCounts) -> str:
    """How far off the sums are, where all lists are complete."""
    low, high = (f"{value:.7g}" for value in counts.sums)
    return "" if counts.count("short").cases else f" (but to {low})" if low == high else f" (but from {low} to {high})"


def _rounding(counts: QualityCounts) -> str:
    """How many masses that are not one are explained by rounding."""
    step = counts.step
    if step is None:
        return ""
    near = next((n for d, n in zip(DIGITS, counts.misses, strict=True) if 10**d % step == 0 and 10**d >= step), 0)
    return f" Rounding explains {near:,} of the masses that are not 1." if near else ""


def _unit(counts: QualityCounts) -> str:
    step = counts.step or 1
    return f"{1 / step:g}" if 10_000 % step == 0 else f"1/{step}"


def _distinct(counts: QualityCounts) -> str:
    distinct = counts.numbers.distinct
    return "" if distinct is None else f", with {len(distinct):,} different values"


_DETAILS: Final[Mapping[str, Callable[[QualityCounts], str]]] = {
    "largest": _largest,
    "mass": _mass,
    "sums": _sums,
    "rounding": _rounding,
    "value": lambda counts: "" if counts.sentinel is None else f"{counts.sentinel[0]:.15g}",
    "times": lambda counts: "" if counts.sentinel is None else f"{counts.sentinel[1]:,}",
    "low": lambda counts: f"{counts.sums[0]:.4g}",
    "high": lambda counts: f"{counts.sums[1]:.4g}",
    "unit": _unit,
    "distinct": _distinct,
    "edge": lambda counts: "" if counts.cutoff is None else f"{counts.cutoff[0]:g}",
    "ends": lambda counts: "" if counts.cutoff is None else f"{counts.cutoff[1]:,}",
    "cases": lambda counts: f"{counts.cases:,}",
    "guesses": lambda counts: listed(list(counts.classes.never_happen), 3),
    "outcomes": lambda counts: listed(list(counts.classes.never_listed), 3),
}
