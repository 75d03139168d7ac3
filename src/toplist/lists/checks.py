"""Data-quality issues of predictions: unvalidated rows in, counts and issues with their messages out.

`detect` says which cases of a batch have which issue; `QualityCounts` adds these up, however cases are split, decides
which are issues, and words them. Imports only from `toplist.lists` and below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from toplist._text import argument, quote
from toplist._typing import Bools, Floats
from toplist.core import flags
from toplist.core.kernel import Rows
from toplist.lists import error_messages as remedies
from toplist.lists.error_messages import SENTINEL
from toplist.lists.labelsets import LabelSets, Sets
from toplist.lists.space import ClassSpace
from toplist.lists.toplists import TopLists
from toplist.lists.validation import Repairs, exponentiate, first_of_each, from_percent, gather, inspect, once, row_sums


class Names(Protocol):
    """What the cases of one batch are called."""

    def case(self, at: int, position: int) -> str:
        """The id of a case, or its position."""
        ...


def text(value: Any) -> str:
    """A name on one line; label sets in the order of their labels, whatever order they came in.

    >>> text({"b", "a"}), text(3), text(np.str_("x"))
    ('{a, b}', '3', 'x')
    """
    if isinstance(value, set | frozenset | list | tuple):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    return str(value)


@dataclass(frozen=True, slots=True)
class MemoryNames:
    """Names of predictions in memory: classes by the labels of their space, cases by their ids or positions.

    >>> names = MemoryNames(ClassSpace(labels=["cat", "dog"]), y=["fox"])
    >>> names.case(0, 41), names.classes(0, [1]), names.outcome(0, -1)
    ('41', ['dog'], 'fox')
    """

    space: ClassSpace
    ids: Any = None
    y: Any = None  # outcomes as they were given, which may be no class that is listed

    def case(self, at: int, position: int) -> str:
        """See `Names`."""
        return str(position) if self.ids is None else text(self.ids[at])

    def classes(self, at: int, codes: Sequence[int]) -> list[str]:
        """The names of classes that a case lists."""
        return [text(self.space.decode(int(code))) for code in codes]

    def outcome(self, at: int, code: int) -> str:
        """The name of the outcome of a case."""
        space, y = self.space, self.y
        digest = isinstance(space, LabelSets) and space.digests
        if (code >= 0 and not digest) or y is None or isinstance(y, TopLists):
            return self.classes(at, [code])[0] if code >= 0 else "a class that is never listed"
        if isinstance(space, LabelSets) and (isinstance(y, Sets) or hasattr(y, "tocsr")):
            return text(space.named(space.sets(y).take([at]))[0])
        given = y[at] if isinstance(y, list | tuple) else np.asarray(y)[at]
        if isinstance(space, LabelSets) and isinstance(given, np.ndarray):
            given = {name for name, there in zip(space.names, given, strict=True) if there}
        return text(given)


_BAD: Final = flags.NOT_FINITE | flags.NEGATIVE | flags.ABOVE_ONE
KINDS: Final = {
    flags.NOT_FINITE: "not finite",
    flags.NEGATIVE: "negative",
    flags.ABOVE_ONE: "above one",
    flags.TWICE: "class twice",
    flags.TOO_LONG: "too many classes",
    flags.OUTSIDE: "class outside the space",
    flags.NOT_FULL: "incomplete distribution",
    flags.MASS: "mass above one",
}
"""The issue that each flag of validation is, in the order in which validation raises them."""


@dataclass(frozen=True, slots=True)
class CaseFlags:
    """What was detected in the unvalidated cases of one batch."""

    rows: Rows  # confidences as probabilities
    largest: float  # of the numbers as they were given, if they are finite
    sums: Floats  # of all that a case lists
    flags: NDArray[np.uint16]  # what validation finds before any repair
    kinds: Mapping[str, Bools]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many classes each case lists."""
        return np.diff(self.rows.offsets)


def detect(rows: Rows, scale: str = "probability") -> CaseFlags:
    """Which unvalidated cases have which issue."""
    written = rows.confidences
    if scale == "log":
        with np.errstate(over="ignore"):
            rows = exponentiate(rows)
        rows = replace(rows, confidences=np.where(written <= SENTINEL, written, rows.confidences))
    elif scale == "percent":
        rows = from_percent(rows)
    with np.errstate(invalid="ignore", over="ignore"):
        found = inspect(rows)[1]
        t, sizes = rows.confidences.astype(np.float64), np.diff(rows.offsets)
        sums = row_sums(t, rows.offsets)
        kinds = {kind: (found & bit) > 0 for bit, kind in KINDS.items()}
        sound = (found & _BAD) == 0
        kinds["mass above one"] &= (found & (flags.NOT_FINITE | flags.NEGATIVE)) == 0
        kinds["incomplete distribution"] &= sound
        invalid, long = (found & flags.INVALID) > 0, kinds["too many classes"]
        again = np.flatnonzero(kinds["class twice"])
        if len(again) and rows.classes is not None:  # a class that is there twice counts once, as it comes first
            part = gather(rows, again)
            part = once(part, *first_of_each(part))
            invalid[again] = (inspect(part)[1] & flags.INVALID) > 0
            long[again] &= np.diff(part.offsets) > part.size
        zeros = row_sums(t == 0, rows.offsets)
        kinds |= {
            "empty list": sizes == 0,
            "list of zeros": (sizes > 0) & (zeros == sizes),
            "listed zero": (zeros > 0) & (zeros < sizes),
            "short": (sizes > 0) & (sizes < rows.size),
            "fractional": row_sums((t != 0) & (t != 1), rows.offsets) > 0,
            "invalid": invalid & sound & ~kinds["mass above one"],
        }
        kinds["percent"], kinds["logs"] = _wrong_scale(written, rows, scale)
        off = np.where(sizes == rows.size, np.abs(1.0 - sums) > 0.01, sums > 1.01) & (sizes > 0)
    kinds["off"], kinds["sound"] = off & sound, sound & (sizes > 0)
    largest = float(written.max(initial=-np.inf, where=np.isfinite(written)))
    return CaseFlags(rows, largest, sums, found, kinds)


def _wrong_scale(written: NDArray[Any], rows: Rows, scale: str) -> tuple[Bools, Bools]:
    """Cases whose numbers would do as percentages, and those that would as logarithms."""
    offsets, sizes, n = rows.offsets, np.diff(rows.offsets), len(rows)
    nothing = np.zeros(n, bool)
    if scale != "probability":
        return nothing, nothing
    v = written.astype(np.float64, copy=False)
    some = sizes > 0
    high, low = np.full(n, -np.inf), np.full(n, np.inf)
    starts = offsets[:-1][some]
    if len(starts):
        high[some], low[some] = np.fmax.reduceat(v, starts), np.fmin.reduceat(v, starts)
    sums = row_sums(v, offsets)
    likely = (sums <= 150) & ((sizes < rows.size) | (sums >= 80))  # complete lists of counts are no percentages
    percent = some & (high > 1 + 1e-6) & (high <= 100) & (low >= 0) & likely
    logs = some & (high <= 0) & (low < -1e-6) & (low > SENTINEL)
    if logs.any():
        logs &= row_sums(np.where(v <= 0, np.exp(np.minimum(v, 0)), 0.0), offsets) <= 1 + 1e-3
    return percent, logs


def _summed(a: Mapping[int, int], b: Mapping[int, int]) -> dict[int, int]:
    """Counts of both, by key."""
    return {key: a.get(key, 0) + b.get(key, 0) for key in {**a, **b}}


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
        return ListSummary(_summed(self.sizes, other.sizes), self.mass + other.mass, self.invalid + other.invalid)

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
        named = [count for count in (self, other) if count.position is not None]
        first = min(named, key=lambda count: (count.position, count.name), default=self)
        return Count(self.cases + other.cases, first.position, first.name)


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
            _summed(self.sizes, other.sizes),
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
            words = _message(kind, self, count, first=single)
            blocking, done = kind in BLOCKING or kind in _BLOCKING_PATTERNS, kind in repaired
            words += REPAIRED if blocking and done else ""
            made.append(Issue(kind, count.cases, self.cases, words, blocking and not done, count.name))
        return tuple(sorted(made, key=lambda one: not one.blocking))


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


_PATTERNS: Final[Mapping[str, Callable[[QualityCounts], Count | None]]] = {
    "looks like percent": _percent,
    "looks like log-probabilities": _logs,
    "looks like marginals": lambda counts: _marginals(counts) if counts.count("fractional").cases else None,
    "looks like label sets": lambda counts: None if counts.count("fractional").cases else _marginals(counts),
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


def _message(kind: str, counts: QualityCounts, count: Count, *, first: bool) -> str:
    """One issue in a sentence or two; with `first`, the name of the first case follows."""
    (low, high), mass = counts.sums, counts.sums[1]
    sums = f" (but to {low:.7g})" if f"{low:.7g}" == f"{high:.7g}" else f" (but from {low:.7g} to {high:.7g})"
    details = {
        **{name: argument(*given) for name, given in remedies.ARGUMENTS.items()},
        "largest": f"{counts.largest:g}{_UNITS[counts.scale]}",
        "mass": f"1 + {mass - 1:.1g}" if 0 < mass - 1 < 1e-5 else f"{mass:.6g}",  # digits to see that it is above one
        "sums": "" if counts.count("short").cases else sums,
        "low": f"{low:.4g}",
        "high": f"{high:.4g}",
    }
    template = _TEMPLATES[kind]
    if isinstance(template, str):
        return template.format_map(details)
    verb, verbs, rest = template
    cases = f"{count.cases:,} of {counts.cases:,} cases"
    if count.cases == counts.cases:
        cases = "The one case" if count.cases == 1 else f"All {count.cases:,} cases"
    sentence = f"{cases} {verb if count.cases == 1 else verbs} {rest.format_map(details)}"
    if not first or not count.name:
        return sentence
    name = count.name if re.fullmatch(r"row \d+|[\w.-]{1,40}", count.name) else quote(count.name)
    case = name if name.startswith("row ") else f"case {name}"
    return f"{sentence} {'The first' if count.cases > 1 else 'It'} is {case}."


_UNITS: Final = {"probability": "", "percent": " percent", "log": " as a logarithm"}
