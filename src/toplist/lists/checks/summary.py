"""Data-quality issues of predictions, counted batch by batch however cases are split, and their messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist._text import argument, quote
from toplist.core.kernel import Rows
from toplist.lists import error_messages as remedies
from toplist.lists.checks.detect import MemoryNames, Names, detect, summed
from toplist.lists.space import ClassSpace
from toplist.lists.toplists import TopLists
from toplist.lists.validation import Repairs

_BLANKS: Final = ("class without a confidence", "confidence without a class")
BLOCKING: Final = (
    "not finite", "negative", "above one", "mass above one", "incomplete distribution", "class twice",
    "class outside the space", "too many classes", *_BLANKS, "case twice",
)  # fmt: skip
"""The issues of single cases that prevent scoring unless they are repaired."""
_HARMLESS: Final = ("invalid", "list of zeros", "empty list")  # issues of single cases that can be scored
_MASSES: Final = (
    "above one", "mass above one", "incomplete distribution", "looks like percent", "looks like marginals",
)  # fmt: skip
_ENOUGH: Final = 30  # confidences before it is remarkable that none is above one percent
_WIDE: Final = 0.05  # the range of sums that are not all off by one factor


@dataclass(frozen=True, slots=True)
class Issue:
    """A data-quality issue of predictions.

    Attributes
    ----------
    kind : str
        The kind of issue, such as ``"mass above one"``.
    cases, of : int
        How many cases have it, of how many.
    message : str
        The issue in a sentence or two, with its remedy.
    blocking : bool
        Whether the predictions cannot be scored before this is repaired.
    first : str
        The id or position of the first case that has it, or nothing.
    example : str
        Of a file, the error that the first such case is refused with, with its row; or nothing.

    """

    kind: str
    cases: int
    of: int
    message: str
    blocking: bool
    first: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class ListSummary:
    """The lists that can be scored: their lengths, their mass, and how many are invalid. Summaries can be added."""

    sizes: Mapping[int, int] = field(default_factory=dict)  # how many lists have each length
    mass: float = 0.0
    invalid: int = 0

    def __add__(self, other: ListSummary) -> ListSummary:
        return ListSummary(summed(self.sizes, other.sizes), self.mass + other.mass, self.invalid + other.invalid)

    @classmethod
    def of(cls, lists: TopLists) -> ListSummary:
        """The summary of validated lists."""
        return cls(_counts_of(lists.sizes), float(lists.mass.sum()), int(np.count_nonzero(~lists.is_valid())))

    @property
    def cases(self) -> int:
        """How many lists can be scored."""
        return sum(self.sizes.values())

    @property
    def mean_size(self) -> float | None:
        """The mean number of listed classes."""
        return sum(k * n for k, n in self.sizes.items()) / self.cases if self.cases else None

    @property
    def mean_mass(self) -> float | None:
        """The mean listed mass."""
        return self.mass / self.cases if self.cases else None


@dataclass(frozen=True, slots=True)
class Count:
    """How many cases there are of one kind, and which comes first."""

    cases: int = 0
    position: int | None = None
    name: str = ""

    def __add__(self, other: Count) -> Count:
        one, two = (self, other) if _earlier(self, other) else (other, self)
        return Count(one.cases + two.cases, one.position, one.name)


@dataclass(frozen=True, slots=True)
class QualityCounts:
    """Counts of what unvalidated predictions show; counts of disjoint cases can be added in any order.

    >>> from toplist.lists.converters import raw_rows
    >>> rows, space = raw_rows([{"cat": 0.7, "dog": 0.5}, {"cat": 0.2, "dog": 0.1}], 10)
    >>> [(issue.kind, issue.cases) for issue in QualityCounts.of(rows, space).issues()]
    [('mass above one', 1)]
    """

    cases: int = 0
    scale: str = "probability"
    counts: Mapping[str, Count] = field(default_factory=dict)
    largest: float = -np.inf  # of all numbers as they are written, if they are finite
    sizes: Mapping[int, int] = field(default_factory=dict)
    sums: tuple[float, float] = (np.inf, -np.inf)  # the smallest and the largest, of lists that are not empty

    def __add__(self, other: QualityCounts) -> QualityCounts:
        if not (self.cases and other.cases):
            return self if self.cases else other
        return QualityCounts(
            self.cases + other.cases,
            self.scale,
            {kind: self.count(kind) + other.count(kind) for kind in {**self.counts, **other.counts}},
            max(self.largest, other.largest),
            summed(self.sizes, other.sizes),
            (min(self.sums[0], other.sums[0]), max(self.sums[1], other.sums[1])),
        )

    def count(self, kind: str) -> Count:
        """The cases of one kind."""
        return self.counts.get(kind, Count())

    @property
    def filled(self) -> int:
        """How many lists are not empty."""
        return self.cases - self.sizes.get(0, 0)

    @classmethod
    def of(
        cls,
        rows: Rows,
        space: ClassSpace,
        *,
        scale: str = "probability",
        position: NDArray[Any] | None = None,
        names: Names | None = None,
        also: Mapping[str, NDArray[np.bool_]] | None = None,
    ) -> QualityCounts:
        """The counts of unvalidated rows.

        `position` is the place of each case among all (else from 0), `also` says which cases have an issue that rows do
        not show: "case twice", "class without a confidence", "confidence without a class".
        """
        n = len(rows)
        found, where = detect(rows, scale), np.arange(n) if position is None else position
        called: Names = MemoryNames(space) if names is None else names
        kinds = {**found.kinds, **(also or {})}
        filled = found.sums[found.sizes > 0]
        return cls(
            n,
            scale,
            {kind: _counted(which, where, called) for kind, which in kinds.items() if which.any()},
            found.largest,
            _counts_of(found.sizes),
            (float(np.fmin.reduce(filled, initial=np.inf)), float(np.fmax.reduce(filled, initial=-np.inf))),
        )

    def issues(self, *, repaired: Collection[str] = ()) -> tuple[Issue, ...]:
        """All issues, blocking ones first; kinds in `repaired` are not blocking."""
        made = []
        for kind in (*BLOCKING, *_HARMLESS, *_PATTERNS):
            single = kind not in _PATTERNS
            count = self.count(kind) if single else _PATTERNS[kind](self)
            if count is None or not count.cases:
                continue
            words = message(kind, self, count, first=single)
            blocking, done = kind in BLOCKING or kind in _BLOCKING_PATTERNS, kind in repaired
            words += REPAIRED if blocking and done else ""
            made.append(Issue(kind, count.cases, self.cases, words, blocking and not done, count.name))
        return tuple(sorted(made, key=lambda one: not one.blocking))


def _earlier(one: Count, two: Count) -> bool:
    if one.position is None or two.position is None:
        return two.position is None
    return (one.position, one.name) <= (two.position, two.name)


def _counted(which: NDArray[np.bool_], where: NDArray[Any], names: Names) -> Count:
    cases = np.flatnonzero(which)
    at = int(cases[np.argmin(where[cases])])
    return Count(len(cases), int(where[at]), names.case(at, int(where[at])))


def _counts_of(values: NDArray[np.int64]) -> dict[int, int]:
    return dict(zip(*(column.tolist() for column in np.unique(values, return_counts=True)), strict=True))


def _percent(counts: QualityCounts) -> Count | None:
    """Numbers that would do as percentages, in half of all lists or more."""
    found = counts.count("percent")
    return found if 2 * found.cases >= counts.filled else None


def _logs(counts: QualityCounts) -> Count | None:
    """Numbers that would do as logarithms, in half of all lists or more, and none above zero."""
    found = counts.count("logs")
    return found if found.cases and 2 * found.cases >= counts.filled and counts.largest <= 0 else None


def _marginals(counts: QualityCounts) -> Count | None:
    """Probabilities whose sums are mostly not one and differ widely; see `toplist.lists.error_messages`."""
    off, filled, (low, high) = counts.count("off"), counts.filled, counts.sums
    if counts.count("sound").cases < filled or filled < 2 or 2 * off.cases <= filled or high - low <= _WIDE:
        return None
    return off if high > 1 + _WIDE or (high < 0.5 and not counts.count("short").cases) else None


def _not_percent(counts: QualityCounts) -> Count | None:
    """Percentages that never reach even one."""
    enough = sum(size * cases for size, cases in counts.sizes.items()) >= _ENOUGH
    return Count(counts.cases) if counts.scale == "percent" and 0 < counts.largest <= 1 and enough else None


def _fractional(counts: QualityCounts) -> bool:
    """Whether any number is neither zero nor one."""
    return counts.count("fractional").cases > 0


_PATTERNS: Final[Mapping[str, Callable[[QualityCounts], Count | None]]] = {
    "looks like percent": _percent,
    "looks like log-probabilities": _logs,
    "looks like marginals": lambda counts: _marginals(counts) if _fractional(counts) else None,
    "looks like label sets": lambda counts: None if _fractional(counts) else _marginals(counts),
    "looks like probabilities": _not_percent,
    "listed zero": lambda counts: counts.count("listed zero"),
}
_BLOCKING_PATTERNS: Final = tuple(_PATTERNS)[:4]


def repaired_kinds(repairs: Repairs) -> frozenset[str]:
    """The kinds of issues that the requested repairs take care of.

    >>> sorted(repaired_kinds(Repairs(duplicates="sum")))
    ['class twice']
    """
    kinds = (
        (_MASSES, repairs.normalize),
        (("class twice",), repairs.duplicates == "sum"),
        (_BLANKS, repairs.blanks == "drop"),
    )
    return frozenset(kind for several, asked in kinds if asked for kind in several)


_INVALID: Final = (
    "invalid: a listed confidence is below what each unlisted class gets. The largest valid sublist is scored, with a "
    "penalty; a repair of these lists would avoid that."
)
_COMPLETE: Final = "Complete the file, or pass {dropped} to leave such entries out."

# A sentence about all cases; or one about some of them: its verb for one case, its verb for several, and the rest.
_TEMPLATES: Final[Mapping[str, str | tuple[str, str, str]]] = {
    "not finite": ("lists", "list", f"a confidence that is not finite. {remedies.LEAVE_OUT}"),
    "negative": ("lists", "list", f"a negative confidence. {remedies.PROBABILITIES}"),
    "above one": ("lists", "list", f"a confidence above 1 (the largest is {{largest}}). {remedies.IF_WEIGHTS}"),
    "mass above one": (
        "lists", "list", f"more mass than 1, up to {{mass}}. Correct it, or {remedies.DIVIDE}"
    ),
    "incomplete distribution": (
        "lists", "list",
        f"every class, and the confidences do not sum to 1{{sums}}. {remedies.COMPLETE}",
    ),
    "class twice": ("lists", "list", f"a class twice. {remedies.IF_SUMMED}"),
    "class outside the space": ("lists", "list", f"a class that is not in the space. {remedies.DECLARE_OR_MAP}"),
    "too many classes": ("lists", "list", f"more classes than there are. {remedies.DECLARE}"),
    "class without a confidence": ("names", "name", f"a class without a confidence. {_COMPLETE}"),
    "confidence without a class": ("has", "have", f"a confidence without a class. {_COMPLETE}"),
    "case twice": ("has", "have", "the id of an earlier case."),
    "invalid": ("is", "are", _INVALID),
    "list of zeros": ("lists", "list", "nothing but zeros."),
    "empty list": ("has", "have", "an empty list: no class is named, and it is scored as the uniform prediction."),
    "looks like percent": ("looks", "look", f"like percentages. {remedies.IF_PERCENT}"),
    "looks like log-probabilities": ("looks", "look", f"like log-probabilities. {remedies.IF_LOGS}"),
    "looks like marginals": (
        "has", "have",
        f"sums from {{low}} to {{high}} of numbers that are probabilities one by one. {remedies.MARGINALS}",
    ),
    "looks like label sets": ("is", "are", f"nothing but zeros and ones. {remedies.LABEL_SETS}"),
    "looks like probabilities": "No value is above {largest}: {percent} may be wrong.",
    "listed zero": ("lists", "list", "a class with confidence 0: if it is the outcome, the log score is infinite."),
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
    return f"{counts.largest:g}{scale}"


def _mass(counts: QualityCounts) -> str:
    """The largest mass, with enough digits to see that it is above one."""
    mass = counts.sums[1]
    return f"1 + {mass - 1:.1g}" if 0 < mass - 1 < 1e-5 else f"{mass:.6g}"


def _sums(counts: QualityCounts) -> str:
    """How far off the sums are, where all lists are complete."""
    low, high = (f"{value:.7g}" for value in counts.sums)
    return "" if counts.count("short").cases else f" (but to {low})" if low == high else f" (but from {low} to {high})"


_DETAILS: Final[Mapping[str, Callable[[QualityCounts], str]]] = {
    "largest": _largest,
    "mass": _mass,
    "sums": _sums,
    "low": lambda counts: f"{counts.sums[0]:.4g}",
    "high": lambda counts: f"{counts.sums[1]:.4g}",
}
