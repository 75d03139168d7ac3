"""Data-quality issues of predictions, counted batch by batch however cases are split, and their messages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist._text import argument, listed, quote
from toplist.core.kernel import Rows
from toplist.lists import error_messages as remedies
from toplist.lists.checks.detect import DIGITS, EDGES, CaseFlags, Classes, MemoryNames, Names, Numbers, detect, summed
from toplist.lists.converters import as_codes, is_soft
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
_COARSE: Final = 1000  # finer steps than one over this are no issue
_ENOUGH: Final = 30  # confidences, or cases, before something that all have in common is remarkable
_SAME: Final = 5  # cases before it is remarkable that all have the same list
_WIDE: Final = 0.05  # the range of sums that are not all off by one factor
_VARIES: Final = b"varies"  # in place of the digest of one list


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
    ranked: bool = False  # whether lists are told to have the most confident class first
    counts: Mapping[str, Count] = field(default_factory=dict)
    numbers: Numbers = field(default_factory=Numbers)
    sizes: Mapping[int, int] = field(default_factory=dict)
    classes: Classes = field(default_factory=Classes)
    sums: tuple[float, float] = (np.inf, -np.inf)  # the smallest and the largest, of lists that are not empty
    misses: tuple[int, ...] = (0,) * len(DIGITS)
    least: float = np.inf
    edges: tuple[int, ...] = (0,) * len(EDGES)
    pattern: bytes = b""  # the digest of the one list that all cases have

    def __add__(self, other: QualityCounts) -> QualityCounts:
        if not (self.cases and other.cases):
            return self if self.cases else other
        return QualityCounts(
            self.cases + other.cases,
            self.scale,
            self.ranked,
            {kind: self.count(kind) + other.count(kind) for kind in {**self.counts, **other.counts}},
            self.numbers + other.numbers,
            summed(self.sizes, other.sizes),
            self.classes + other.classes,
            (min(self.sums[0], other.sums[0]), max(self.sums[1], other.sums[1])),
            tuple(a + b for a, b in zip(self.misses, other.misses, strict=True)),
            min(self.least, other.least),
            tuple(a + b for a, b in zip(self.edges, other.edges, strict=True)),
            self.pattern if self.pattern == other.pattern else _VARIES,
        )

    def count(self, kind: str) -> Count:
        """The cases of one kind."""
        return self.counts.get(kind, Count())

    @property
    def filled(self) -> int:
        """How many lists are not empty."""
        return self.cases - self.sizes.get(0, 0)

    @property
    def step(self) -> int | None:
        """The whole number such that all of enough confidences are multiples of one over it, if there is one."""
        return self.numbers.step if self.numbers.inner >= _ENOUGH else None

    @property
    def sentinel(self) -> tuple[float, int] | None:
        """The same impossible number again and again, and how often it is there."""
        found = self.numbers.mark(in_logs=self.scale == "log" or _logs(self) is not None)
        percent = self.scale == "probability" and _percent(self) is not None
        return None if found is None or (percent and 0 < found[0] <= 100) else found

    @property
    def cutoff(self) -> tuple[float, int] | None:
        """The confidence at which all lists end, and how many end near it. Lists of one length are not cut."""
        if self.filled < _ENOUGH or self.count("short").cases < self.filled or self.count("hard").cases == self.filled:
            return None
        for edge, count in zip(EDGES, self.edges, strict=True):
            coarse = self.numbers.step is not None and edge < 1.5 / self.numbers.step
            if edge * (1 - 1e-6) <= self.least < 1.05 * edge and count >= max(5, 0.05 * self.filled) and not coarse:
                return edge, count
        return None

    @classmethod
    def of(
        cls,
        rows: Rows,
        space: ClassSpace,
        *,
        scale: str = "probability",
        ranked: bool = False,
        position: NDArray[Any] | None = None,
        names: Names | None = None,
        codes: NDArray[np.int64] | None = None,
        also: Mapping[str, NDArray[np.bool_]] | None = None,
        local: bool = False,
    ) -> QualityCounts:
        """The counts of unvalidated rows.

        `position` is the place of each case among all (else from 0), `codes` are the outcomes, `also` says which cases
        have an issue that rows do not show: "case twice", "class without a confidence", "confidence without a class".
        `local` codes mean another class in every case.
        """
        n = len(rows)
        found, where = detect(rows, scale), np.arange(n) if position is None else position
        called: Names = MemoryNames(space) if names is None else names
        kinds = {**found.kinds, **(also or {})}
        filled = found.sums[found.sizes > 0]
        classes = Classes() if codes is None or local else Classes.of(found.rows, codes, called)
        return cls(
            n,
            scale,
            ranked,
            {kind: _counted(which, where, called) for kind, which in kinds.items() if which.any()},
            Numbers.of(found.written, found.rows.confidences, found.impossible),
            _counts_of(found.sizes),
            classes,
            (float(np.fmin.reduce(filled, initial=np.inf)), float(np.fmax.reduce(filled, initial=-np.inf))),
            found.misses,
            float(found.least.min(initial=np.inf)),
            found.edges,
            _VARIES if local and n > 1 else _pattern(found, called),
        )

    @classmethod
    def at(
        cls,
        lists: TopLists,
        codes: NDArray[np.int64] | None = None,
        *,
        y: Any = None,
        ranked: bool = False,
        position: NDArray[Any] | None = None,
        names: Names | None = None,
        local: bool = False,
    ) -> QualityCounts:
        """The counts of validated lists with their outcomes, or their codes; soft outcomes are not counted.

        >>> lists = TopLists.from_dicts([{"cat": 0.7, "dog": 0.1}] * 30, 10)
        >>> [one.message for one in QualityCounts.at(lists, y=["fox"] * 30).issues() if one.kind == "never listed"]
        ["All 30 cases have an outcome that is never listed: 'fox'."]
        """
        if codes is None and y is not None and not is_soft(y, lists.space):
            codes = as_codes(y, lists)
        return cls.of(
            lists.checked.rows,
            lists.space,
            ranked=ranked,
            position=position,
            names=MemoryNames(lists.space, lists.ids, y) if names is None else names,
            codes=codes,
            local=local or lists.space.per_case,
        )

    def issues(self, *, repaired: Collection[str] = ()) -> tuple[Issue, ...]:
        """All issues, blocking ones first; kinds in `repaired` are not blocking."""
        made = []
        for kind in (*BLOCKING, *_HARMLESS, *_PATTERNS):
            single = kind not in _PATTERNS
            count = self.count(kind) if single else _PATTERNS[kind](self)
            if count is None or not count.cases:
                continue
            words = message(kind, self, count, first=single or kind == "not in falling order")
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


def _pattern(found: CaseFlags, names: Names) -> bytes:
    """The digest of the list that all cases of a batch have, if they have one."""
    rows, n, sizes = found.rows, len(found.rows), found.sizes
    if not n:
        return b""
    k = int(sizes[0])
    if (sizes != k).any():
        return _VARIES
    for values in (rows.confidences, rows.classes):
        table = None if values is None else values.reshape(n, k)
        if table is not None and ((table[:2] != table[0]).any() or (table != table[0]).any()):
            return _VARIES
    codes = range(k) if rows.classes is None else rows.classes[:k].tolist()
    text = "\x1f".join(names.classes(0, list(codes))).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text + rows.confidences[:k].astype(np.float64).tobytes(), digest_size=16).digest()


def _counts_of(values: NDArray[np.int64]) -> dict[int, int]:
    return dict(zip(*(column.tolist() for column in np.unique(values, return_counts=True)), strict=True))


def _sentinel(counts: QualityCounts) -> Count | None:
    if counts.sentinel is None:
        return None
    value, times = counts.sentinel
    cases = counts.count("negative" if value < 0 else "above one")
    return replace(cases, cases=min(times, cases.cases))


def _percent(counts: QualityCounts) -> Count | None:
    """Numbers that would do as percentages, in half of all lists or more."""
    found = counts.count("percent")
    return found if 2 * found.cases >= counts.filled else None


def _logs(counts: QualityCounts) -> Count | None:
    """Numbers that would do as logarithms, in half of all lists or more, and none above zero."""
    found = counts.count("logs")
    return found if found.cases and 2 * found.cases >= counts.filled and counts.numbers.largest <= 0 else None


def _marginals(counts: QualityCounts) -> Count | None:
    """Probabilities whose sums are mostly not one and differ widely; see `toplist.lists.error_messages`."""
    off, filled, (low, high) = counts.count("off"), counts.filled, counts.sums
    if counts.count("sound").cases < filled or filled < 2 or 2 * off.cases <= filled or high - low <= _WIDE:
        return None
    return off if high > 1 + _WIDE or (high < 0.5 and not counts.count("short").cases) else None


def _order(counts: QualityCounts) -> Count | None:
    """Lists that are not in falling order where all are said to be, or nearly all are."""
    found = counts.count("not in falling order")
    rare = 10 * found.cases <= counts.filled and counts.filled >= _ENOUGH
    return found if counts.ranked or rare else None


def _not_percent(counts: QualityCounts) -> Count | None:
    """Percentages that never reach even one."""
    low = counts.scale == "percent" and 0 < counts.numbers.largest <= 1 and counts.numbers.inner >= _ENOUGH
    return Count(counts.cases) if low else None


def _rounded(counts: QualityCounts) -> Count | None:
    """All confidences are multiples of one number; four digits are as many as people write."""
    step = counts.step
    return None if step is None or step == 1 or step > _COARSE else Count(counts.cases)


def _hard(counts: QualityCounts) -> Count | None:
    found = counts.count("hard")
    return Count(found.cases) if found.cases >= counts.filled else None


def _equal(counts: QualityCounts) -> Count | None:
    return None if counts.pattern in (b"", _VARIES) or counts.cases < _SAME else Count(counts.cases)


_PATTERNS: Final[Mapping[str, Callable[[QualityCounts], Count | None]]] = {
    "sentinel": _sentinel,
    "looks like percent": _percent,
    "looks like log-probabilities": _logs,
    "looks like marginals": lambda counts: None if counts.numbers.step == 1 else _marginals(counts),
    "looks like label sets": lambda counts: _marginals(counts) if counts.numbers.step == 1 else None,
    "looks like probabilities": _not_percent,
    "not in falling order": _order,
    "listed zero": lambda counts: counts.count("listed zero"),
    "rounded": _rounded,
    "cut at a threshold": lambda counts: None if counts.cutoff is None else Count(counts.cutoff[1]),
    "hard labels only": _hard,
    "all lists equal": _equal,
    "never happens": lambda counts: Count(sum(counts.classes.never_happen.values())),
    "never listed": lambda counts: Count(sum(counts.classes.never_listed.values())),
}
_BLOCKING_PATTERNS: Final = tuple(_PATTERNS)[:5]


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
        "lists", "list", f"more mass than 1, up to {{mass}}. Correct it, or {remedies.DIVIDE}{{rounding}}"
    ),
    "incomplete distribution": (
        "lists", "list",
        f"every class, and the confidences do not sum to 1{{sums}}. {remedies.COMPLETE}{{rounding}}",
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
    "never happens": ("has", "have", "a top-1 prediction that is absent from the truth: {guesses}."),
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
    scale = {"probability": "", "percent": " percent", "log": " as a logarithm", "odds": " as odds"}[counts.scale]
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
