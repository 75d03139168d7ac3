"""Detect data-quality issues in unvalidated rows: case by case, over all numbers, and over classes and outcomes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Bools, Floats
from toplist.core import flags
from toplist.core.kernel import Rows
from toplist.lists.error_messages import SENTINEL
from toplist.lists.labelsets import LabelSets, Sets
from toplist.lists.space import ClassSpace
from toplist.lists.toplists import TopLists
from toplist.lists.validation import doubles, exponentiate, from_odds, from_percent, gather, inspect, row_sums


class Names(Protocol):
    """The names behind the codes of one batch, which may mean something else in the next."""

    def case(self, at: int, position: int) -> str:
        """The id of a case, or its position."""
        ...

    def classes(self, at: int, codes: Sequence[int]) -> list[str]:
        """The names of classes that a case lists."""
        ...

    def outcome(self, at: int, code: int) -> str:
        """The name of the outcome of a case."""
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
        """See `Names`."""
        return [text(self.space.decode(int(code))) for code in codes]

    def outcome(self, at: int, code: int) -> str:
        """See `Names`."""
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


K = TypeVar("K")
C = TypeVar("C", bound=Collection[str])
DIGITS: Final = (1, 2, 3, 4)  # to which confidences may have been rounded
EDGES: Final = (1e-6, 1e-5, 1e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2)  # where lists may have been cut
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
    written: NDArray[Any]  # the same numbers as they were given
    impossible: Bools  # which of them are finite and no confidence on their scale
    sums: Floats  # of all that a case lists
    flags: NDArray[np.uint16]  # what validation finds before any repair
    kinds: Mapping[str, Bools]
    misses: tuple[int, ...]  # masses that miss one by no more than rounding to so many DIGITS does
    least: Floats  # the smallest confidence above zero of each case, infinite where there is none

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many classes each case lists."""
        return np.diff(self.rows.offsets)

    @property
    def edges(self) -> tuple[int, ...]:
        """How many lists end a little above each of EDGES."""
        return tuple(int(np.count_nonzero((self.least >= edge) & (self.least < 1.1 * edge))) for edge in EDGES)


def detect(rows: Rows, scale: str = "probability") -> CaseFlags:
    """Which unvalidated cases have which issue."""
    written = rows.confidences
    finite = np.isfinite(written)
    top = {"probability": 1.0, "percent": 100.0, "log": 0.0, "odds": np.inf}[scale]
    impossible = finite & (written > top + max(top, 1.0) * 1e-6)
    least = {"log": written <= SENTINEL, "odds": written <= 1.0}
    impossible |= finite & (least[scale] if scale in least else written < -top * 1e-6)
    if scale == "log":
        with np.errstate(over="ignore"):
            rows = exponentiate(rows)
        rows = replace(rows, confidences=np.where(written <= SENTINEL, written, rows.confidences))
    elif scale == "percent":
        rows = from_percent(rows)
    elif scale == "odds":
        rows = from_odds(rows)
    with np.errstate(invalid="ignore", over="ignore"):
        found = inspect(rows)[1]
        t, sizes = doubles(rows), np.diff(rows.offsets)
        sums = row_sums(t, rows.offsets)
        kinds = {kind: (found & bit) > 0 for bit, kind in KINDS.items()}
        sound = (found & _BAD) == 0
        kinds["mass above one"] &= (found & (flags.NOT_FINITE | flags.NEGATIVE)) == 0
        kinds["incomplete distribution"] &= sound
        kinds["too many classes"] = _too_long(rows, found)
        kinds |= _shapes(rows, t, sizes)
        kinds["invalid"] = _invalid(rows, found) & sound & ~kinds["mass above one"]
        kinds["percent"], kinds["logs"] = _wrong_scale(written, rows, scale)
        wrong = kinds["mass above one"] | kinds["incomplete distribution"]
        near = np.abs(1.0 - sums)
        misses = tuple(int(np.count_nonzero(wrong & (near <= sizes * 0.5 * 10.0**-d + 1e-9))) for d in DIGITS)
        off = np.where(sizes == rows.size, near > 0.01, sums > 1.01) & (sizes > 0)
    kinds["off"], kinds["sound"] = off & sound, sound & (sizes > 0)
    return CaseFlags(rows, written, impossible, sums, found, kinds, misses, _least(t, rows.offsets, sizes))


def _shapes(rows: Rows, t: Floats, sizes: NDArray[np.int64]) -> dict[str, Bools]:
    some = sizes > 0
    nothing = t == 0 if rows.log_confidences is None else rows.log_confidences == -np.inf  # not what underflows
    zeros = row_sums(nothing, rows.offsets)
    single = some & (sizes == 1)
    sure = np.zeros(len(sizes), bool)
    sure[single] = t[rows.offsets[:-1][single]] == 1
    rises = np.zeros(len(sizes), bool)
    if rows.classes is not None and len(t) > 1:
        up = np.flatnonzero(t[1:] > t[:-1]) + 1
        case = np.searchsorted(rows.offsets, up, side="right") - 1
        rises[case[rows.offsets[case] < up]] = True
    return {
        "empty list": ~some,
        "list of zeros": some & (zeros == sizes),
        "listed zero": some & (zeros > 0) & (zeros < sizes),
        "hard": sure,
        "short": some & (sizes < rows.size),
        "not in falling order": rises,
    }


def _invalid(rows: Rows, found: NDArray[np.uint16]) -> Bools:
    """Lists with a confidence below the proxy; a class that is there twice counts once, as it comes first."""
    invalid = (found & flags.INVALID) > 0
    again = np.flatnonzero(found & flags.TWICE)
    if not len(again) or rows.classes is None:
        return invalid
    invalid[again] = (inspect(_once(rows, again))[1] & flags.INVALID) > 0
    return invalid


def _too_long(rows: Rows, found: NDArray[np.uint16]) -> Bools:
    """Lists with more classes than there are, each counted once."""
    long = (found & flags.TOO_LONG) > 0
    again = np.flatnonzero(long & ((found & flags.TWICE) > 0))
    if len(again) and rows.classes is not None:
        once = _once(rows, again)
        long[again] = np.diff(once.offsets) > once.size
    return long


def _once(rows: Rows, cases: NDArray[np.intp]) -> Rows:
    """Some cases, each class of which is there once, as it comes first."""
    part = gather(rows, cases)
    case = np.repeat(np.arange(len(cases)), np.diff(part.offsets))
    codes = np.zeros(0, np.int64) if part.classes is None else part.classes
    order = np.lexsort((np.arange(len(case)), codes, case))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(case[order]) != 0) | (np.diff(codes[order]) != 0)
    keep = np.sort(order[first])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(case[keep], minlength=len(cases)))))
    logs = None if part.log_confidences is None else part.log_confidences[keep]
    t = part.confidences[keep]
    return replace(part, offsets=offsets, classes=codes[keep], confidences=t, log_confidences=logs)


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


def _least(t: Floats, offsets: NDArray[np.int64], sizes: NDArray[np.int64]) -> Floats:
    least = np.full(len(sizes), np.inf)
    some = sizes > 0
    if some.any():
        least[some] = np.fmin.reduceat(np.where(t > 0, t, np.inf), offsets[:-1][some])
    return least


DISTINCT: Final = 200  # different confidences that are told apart; beyond it they are just many
_ODD: Final = 16  # different impossible numbers beyond which none of them is a mark, unless it is a usual one
_FEW: Final = 3  # of them, among which a small one such as -1 may be a mark
_SAMPLE: Final = 512
STEPS: Final = (1, *range(2, 13), 15, 16, 20, 25, 50, 100, 1000, 10_000)  # confidences may be multiples of one over it
_MARKS: Final = (-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, -32768.0, -(2.0**31), -1e20, -1e30, 999.0, 9999.0,
                 99999.0, 32767.0, 2.0**31 - 1, 1e20, 1e30)  # fmt: skip
_ALL: Final = (1 << len(STEPS)) - 1


@dataclass(frozen=True, slots=True)
class Numbers:
    """All confidences of all cases; adding two is adding their cases, in any order and any split."""

    steps: int = _ALL  # a bit for each of STEPS that every confidence is still a multiple of
    inner: int = 0  # confidences strictly between zero and one
    distinct: frozenset[float] | None = frozenset()  # None: more than are told apart
    largest: float = -np.inf  # of all numbers as they are written, if they are finite
    marks: Mapping[float, int] = field(default_factory=dict)  # usual marks for what is not there, and how often
    odd: Mapping[float, int] | None = field(default_factory=dict)  # impossible numbers; None: too many different ones

    def __add__(self, other: Numbers) -> Numbers:
        both = None if self.distinct is None or other.distinct is None else self.distinct | other.distinct
        odd = None if self.odd is None or other.odd is None else summed(self.odd, other.odd)
        return Numbers(
            self.steps & other.steps,
            self.inner + other.inner,
            None if both is None or len(both) > DISTINCT else both,
            max(self.largest, other.largest),
            summed(self.marks, other.marks),
            None if odd is None or len(odd) > _ODD else odd,
        )

    @classmethod
    def of(cls, written: NDArray[Any], t: NDArray[Any], impossible: NDArray[np.bool_]) -> Numbers:
        """Of numbers as they are `written`, and the confidences `t` that they stand for.

        >>> t = np.array([0.25, 0.5, -9999, -9999])
        >>> made = Numbers.of(t, t, t < 0)
        >>> made.step, made.mark(), made.mark(in_logs=True)
        (4, (-9999.0, 2), (-9999.0, 2))
        """
        possible = t[(t >= 0) & (t <= 1)] if impossible.any() or not np.isfinite(t).all() else t
        strange, counts = np.unique(written[impossible], return_counts=True)
        found = dict(zip(strange.astype(np.float64).tolist(), counts.tolist(), strict=True))
        return cls(
            _steps(possible),
            int(np.count_nonzero((possible > 0) & (possible < 1))),
            _distinct(possible),
            float(written.max(initial=-np.inf, where=np.isfinite(written))),
            {value: found[value] for value in found if value in _MARKS},
            found if len(found) <= _ODD else None,
        )

    @property
    def step(self) -> int | None:
        """The smallest whole number such that all confidences are multiples of one over it; None if they are finer."""
        return next((q for i, q in enumerate(STEPS) if self.steps >> i & 1), None)

    def mark(self, *, in_logs: bool = False) -> tuple[float, int] | None:
        """The impossible number that comes back most often, and is a usual mark or the only one.

        In logarithms only those that no logarithm can be.
        """
        few = self.odd is not None and len(self.odd) <= _FEW
        alone = self.odd if self.odd is not None and len(self.odd) == 1 else {}
        again = [
            (count, value)
            for value, count in {**self.marks, **alone}.items()
            if count > 1 and (abs(value) >= 99 or (few and value < 0))
            if not in_logs or value > 0 or value <= SENTINEL
        ]
        if not again:
            return None
        count, value = max(again, key=lambda one: (one[0], -one[1]))
        return value, count


def summed(a: Mapping[K, int], b: Mapping[K, int]) -> dict[K, int]:
    """Counts of both, by key."""
    return {key: a.get(key, 0) + b.get(key, 0) for key in {**a, **b}}


def _steps(t: NDArray[Any]) -> int:
    """Which steps all confidences are multiples of; most often a few of them rule out every one."""
    signed_rest = 1e-7 if t.dtype == np.float32 else 1e-12
    left = _ALL
    for part in (t[:_SAMPLE], t[_SAMPLE:]):
        for i, q in enumerate(STEPS):
            if left >> i & 1 and len(part):
                scaled = part.astype(np.float64, copy=False) * q
                if not (np.abs(scaled - np.rint(scaled)) <= signed_rest * q).all():
                    left &= ~(1 << i)
    return left


def _distinct(t: NDArray[Any]) -> frozenset[float] | None:
    if len(np.unique(t[: 4 * _SAMPLE])) > DISTINCT:
        return None
    found = np.unique(t)
    return frozenset(found.astype(np.float64).tolist()) if len(found) <= DISTINCT else None


_MOST: Final = 5_000  # different classes that are tracked
_ENOUGH: Final = 30  # cases without a hit, before that is remarkable
_RARE: Final = 0.01

CaseCounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Classes:
    """Cases by their top-1 prediction and by their outcome, and the classes that are listed above zero.

    None where there are more classes than are tracked.
    """

    first: CaseCounts | None = None
    outcomes: CaseCounts | None = None
    listed: frozenset[str] | None = None
    known: bool = False  # whether any case was counted
    cases: int = 0
    right: int = 0  # cases whose top-1 prediction is the outcome
    held: int = 0  # cases that list the outcome above zero

    def __add__(self, other: Classes) -> Classes:
        if not (self.known and other.known):
            return self if self.known else other
        first = None if self.first is None or other.first is None else summed(self.first, other.first)
        outcomes = None if self.outcomes is None or other.outcomes is None else summed(self.outcomes, other.outcomes)
        listed = None if self.listed is None or other.listed is None else self.listed | other.listed
        return Classes(
            _tracked(first),
            _tracked(outcomes),
            _tracked(listed),
            True,
            self.cases + other.cases,
            self.right + other.right,
            self.held + other.held,
        )

    @classmethod
    def of(cls, rows: Rows, codes: NDArray[np.int64], names: Names) -> Classes:
        """Of rows of which every case has an outcome, with codes that mean one class in all of them."""
        n = len(rows)
        if not n:
            return cls()
        top, top_cases, listed, cases = _guesses(rows)
        seen, where, _ = _once_classes(listed, cases)
        named = None
        if len(seen) <= _MOST:
            named = frozenset(names.classes(at, [code])[0] for code, at in zip(seen, where, strict=True))
        return cls(
            _called(top, top_cases, lambda at, code: names.classes(at, [code])[0]),
            _called(codes, np.arange(n), names.outcome),
            named,
            True,
            n,
            int(np.count_nonzero(top == codes[top_cases])),
            _held(rows, codes),
        )

    @property
    def never_happen(self) -> CaseCounts:
        """Top-1 predictions that are never the outcome, beyond chance, with their cases, the most frequent first."""
        return _without(self.first, self.outcomes, self.right, self.cases)

    @property
    def never_listed(self) -> CaseCounts:
        """Outcomes that are never listed above zero, beyond chance, with their cases, the most frequent first."""
        return _without(self.outcomes, self.listed, self.held, self.cases)


def _held(rows: Rows, codes: NDArray[np.int64]) -> int:
    """How many cases list the outcome above zero."""
    t, none = (rows.confidences, 0.0) if rows.log_confidences is None else (rows.log_confidences, -np.inf)
    if rows.classes is None:
        known = np.flatnonzero(codes >= 0)
        return int(np.count_nonzero(t.reshape(len(rows), -1)[known, codes[known]] > none))
    hit = (rows.classes == np.repeat(codes, np.diff(rows.offsets))) & (t > none)
    return len(np.unique(np.repeat(np.arange(len(rows)), np.diff(rows.offsets))[hit]))


def _guesses(rows: Rows) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The top-1 predictions and their cases; all that is listed above zero, at least once, and a case that lists it."""
    n, sizes = len(rows), np.diff(rows.offsets)
    t, none = rows.confidences, 0.0
    if rows.log_confidences is not None:
        t, none = rows.log_confidences, -np.inf
    if rows.classes is None:
        p = t.reshape(n, -1)
        above = np.flatnonzero((p > none).any(axis=0))
        return p.argmax(axis=1), np.arange(n), above, np.zeros(len(above), np.int64)
    case = np.repeat(np.arange(n), sizes)
    some = np.flatnonzero(sizes)
    peaks = np.zeros(n)
    if len(some):
        peaks[some] = np.maximum.reduceat(t, rows.offsets[some])
    at = np.flatnonzero(t == peaks[case])
    at = at[np.diff(case[at], prepend=-1) > 0]
    above = np.flatnonzero(t > none)
    return rows.classes[at], case[at], rows.classes[above], case[above]


def _once_classes(codes: NDArray[Any], cases: NDArray[Any]) -> tuple[list[int], list[int], list[int]]:
    """Every code, a case that has it, and how many there are."""
    if len(codes) and codes.min() >= 0 and codes.max() <= 2 * len(codes):  # without sorting
        counts = np.bincount(codes)
        seen = np.flatnonzero(counts)
        where = np.zeros(len(counts), np.int64)
        where[codes[::-1]] = cases[::-1]
        return seen.tolist(), where[seen].tolist(), counts[seen].tolist()
    seen, first, counts = np.unique(codes, return_index=True, return_counts=True)
    return seen.tolist(), cases[first].tolist(), counts.tolist()


def _called(codes: NDArray[Any], cases: NDArray[Any], name: Any) -> CaseCounts | None:
    """Cases by the name of their code. Codes below zero are of classes without a code: they have names only."""
    known = codes >= 0
    seen, where, counts = _once_classes(codes[known], cases[known])
    if len(seen) > _MOST:
        return None
    found: dict[str, int] = {}
    for code, at, count in (
        *zip(seen, where, counts, strict=True),
        *((int(code), int(at), 1) for code, at in zip(codes[~known], cases[~known], strict=True)),
    ):
        called = name(at, code)
        found[called] = found.get(called, 0) + count
    return _tracked(found)


def _tracked(found: C | None) -> C | None:
    """What was found, unless it is of more classes than are tracked."""
    return None if found is None or len(found) > _MOST else found


def _without(these: CaseCounts | None, those: Any, hits: int, cases: int) -> CaseCounts:
    """Names on one side only that chance does not explain.

    Where a share of all cases is a hit, a name that is half as lucky has none in n cases with chance (1 - share / 2)^n.
    Rare names always are on one side only; without a single hit, names do not match at all.
    """
    if these is None or those is None:
        return {}
    left = [(-count, name) for name, count in these.items() if name not in those]
    if hits:
        left = [(n, name) for n, name in left if len(these) * (1.0 - 0.5 * hits / cases) ** -n <= _RARE]
    elif cases < _ENOUGH:
        left = []
    return {name: -count for count, name in sorted(left)}
