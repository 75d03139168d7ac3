"""The kernels for rectangular (n, k) arrays of any array-API library, and the statistics of each case that rules use.

They compute what the compiled kernel computes: where no compiler was found, and on torch, JAX and CuPy arrays. `xp` is
the array's own namespace; nothing here copies to numpy or iterates over single values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from toplist.core import flags

if TYPE_CHECKING:
    from toplist.core.kernel import Rows

Array = Any

VALIDITY_ATOL = 1e-15


class RowSums(NamedTuple):
    """One entry per case; see `toplist.core.array_api.CaseStatistics` for what each is."""

    outcome: Array
    miss: Array
    total: Array
    ties: Array
    rest: Array
    unlisted: Array
    proxy: Array
    hit: Array


class Rounding(NamedTuple):
    """How far off numbers may be that were given with so many significant bits: 53, 24, 11 or 8.

    float64 numbers come from sums that are good to about 1e-12, float32 numbers have a rest mass of 1e-6 or of four
    roundings per class, float16 and bfloat16 numbers one of four roundings of a one. A mass above one is divided out
    up to `mass`.
    """

    mass: float  # how far a mass may be off one
    share: float  # how far a confidence may be below the proxy, relatively
    entry: float  # how far a confidence may be off, relatively
    rest: float  # how far the rest mass may be off

    @classmethod
    def of(cls, bits: int, k: int) -> Rounding:
        """The rounding of lists of k classes."""
        single = max(1e-6, 4 * k * 2.0**-24)
        if bits > 24:
            return cls(1e-8, 1e-9, 2.0**-53, max(1e-12, k * 2.0**-52))
        if bits > 11:
            return cls(single, 1e-5, 2.0**-24, single)
        unit = 2.0**-11 if bits > 8 else 2.0**-8
        return cls(max(4 * unit, single), unit, unit, max(4 * unit, single))


def beyond(least: Array, rest: Array, unlisted: Array, *, share: Array, off: Array, rest_off: Array) -> Array:
    """Is a list invalid by more than rounding explains? This decides on the penalty, and on nothing else.

    Each listed confidence may be off by some amount, and so the rest mass by the sum of these amounts. Of all lists
    that round to the given one, the most valid has every confidence as large as it may be, and so the smallest rest
    mass. If its least confidence, `least + off`, is not below its proxy, `(rest - rest_off) / unlisted`, some list
    within the rounding is valid, and the given one is no evidence of invalidity. Nor is a confidence that is below the
    proxy by a relative `share` at most.
    """
    proxy = rest / unlisted
    return (least < proxy * (1 - share) - VALIDITY_ATOL) & (least + off + VALIDITY_ATOL < (rest - rest_off) / unlisted)


def fits(xp: Any, t: Array, bits: int) -> Array:
    """Per row: has every number at most so many significant bits? Those above 2 do not matter.

    Numbers below the normal range of single precision have its last place, or one of so many bits fewer.
    """
    if _bits_of(xp, t) <= bits:
        return zeros(xp, t) == 0
    safe = xp.where(xp.abs(t) <= 2, t, xp.zeros_like(t))
    rounded = _to_bits(xp, safe, bits)
    small = xp.abs(safe) < 2.0**-126
    places = xp.where(small, safe, xp.zeros_like(t)) / 2.0 ** -(125 + bits)
    return xp.all(xp.where(small, xp.floor(places) == places, rounded == safe), axis=1)


def is_even(xp: Any, top: Array, size: Array) -> Array:
    """Is the largest probability 1 / m, as doubles compute it or as float32 or float16 round it?

    A valid list is level with its unlisted classes exactly if its largest confidence is 1 / m. Compared with that, not
    with the proxy, it has the rounding of one number, not that of the sum of all others.
    """
    finite = xp.isfinite(size)
    even = 1.0 / xp.where(finite, size, xp.ones_like(size))
    eps = float(xp.finfo(top.dtype).eps)
    level = top <= even * (1.0 + eps * (4.0 - 2.0 * xp.log(even)))  # exp(-log m) is off by log m roundings
    for bits in (24, 11):
        if bits < _bits_of(xp, top):
            level = level | ((even > 2.0**-126) & (top == _to_bits(xp, even, bits)))
    return finite & level


def _bits_of(xp: Any, x: Array) -> int:
    """The significant bits of the numbers of an array."""
    return round(1 - math.log2(float(xp.finfo(x.dtype).eps)))


def _to_bits(xp: Any, x: Array, bits: int) -> Array:
    """Numbers of at most 2, rounded to so many significant bits, fewer than they have (Veltkamp)."""
    grown = x * (2.0 ** (_bits_of(xp, x) - bits) + 1)
    return grown - (grown - x)


def zeros(xp: Any, t: Array) -> Array:
    """A zero per row, where the rows are: an empty sum."""
    return xp.sum(t[:, :0], axis=1)


def signed_rest(xp: Any, t: Array) -> Array:
    """1 - sum(t) per row, correct to the last digit: a tree of two-sums whose rounding errors are kept."""
    total, lost = t, zeros(xp, t)
    while total.shape[1] > 1:
        half = total.shape[1] // 2
        a, b = total[:, :half], total[:, half : 2 * half]
        s = a + b
        part = s - a
        lost = lost + xp.sum((a - (s - part)) + (b - part), axis=1)
        total = xp.concat([s, total[:, 2 * half :]], axis=1)
    mass = total[:, 0] if total.shape[1] else lost
    rest = 1.0 - mass
    part = rest - 1.0
    return rest + ((1.0 - (rest - part)) + (-mass - part)) - lost


def below_proxy(xp: Any, c: Array, unlisted: Array, log_unlisted: Array, rest: Array, log_rest: Array) -> Array:
    """Is confidence c below rest / unlisted? A product where that is safe, logarithms elsewhere."""
    tiny = float(xp.finfo(c.dtype).smallest_normal)
    direct = xp.isfinite(unlisted) & (rest > tiny)
    by_product = c * xp.where(direct, unlisted, xp.ones_like(unlisted)) < rest
    safe = xp.where(c > 0, c, xp.ones_like(c))
    by_logs = (log_rest > -xp.inf) & ((c == 0) | (xp.log(safe) + log_unlisted < log_rest))
    return xp.isfinite(log_unlisted) & xp.where(direct, by_product, by_logs)


def log_or(xp: Any, x: Array, otherwise: Array | float) -> Array:
    """log(x) where x is positive and finite, `otherwise` elsewhere; no warnings on the way."""
    fine = (x > 0) & xp.isfinite(x)
    return xp.where(fine, xp.log(xp.where(fine, x, xp.ones_like(x))), otherwise)


def inspect(
    xp: Any,
    classes: Array | None,
    t: Array,
    log_rest: Array | None,
    size: Array,
    log_size: Array,
    *,
    bits: int,
    limit: Array | None = None,
) -> tuple[Array, Array]:
    """The door's pass: the signed rest mass and the flags of every row.

    `bits`: significant ones of the numbers as they were given. `limit`: the sizes as integers, where floats of this
    precision are not exact.
    """
    k = t.shape[1]
    tolerance = Rounding.of(bits, k).mass
    none = zeros(xp, t)
    zero = xp.astype(none, xp.int32)
    unlisted = size - k + none
    full = unlisted == 0

    def flag(condition: Array, bit: int) -> Array:
        return xp.where(condition, zero + bit, zero)

    def any_of(condition: Array) -> Array:
        return xp.any(condition, axis=1) if k else none != 0

    finite = xp.isfinite(t)
    found = flag(any_of(~finite), flags.NOT_FINITE) + flag(any_of(finite & (t < -tolerance)), flags.NEGATIVE)
    found = found + flag(any_of((t < 0) & (t >= -tolerance)), flags.TINY_NEGATIVE)
    found = found + flag(any_of(finite & (t > 1 + tolerance)), flags.ABOVE_ONE)
    rest = signed_rest(xp, xp.where(finite, t, xp.zeros_like(t)))
    computed = xp.where((rest > 0) & (rest <= k * 2.0**-52) & ~full, xp.zeros_like(rest), rest)
    wrong = ~full & (rest < -tolerance)
    if log_rest is None:
        rest = computed
        log = log_or(xp, rest, -xp.inf)
    else:
        given = xp.exp(log_rest)
        wrong = ~full & ~(xp.abs(given - rest) <= tolerance)
        rest = xp.where(full, computed, given)
        log = xp.where(full, -xp.inf, log_rest)
        found = found + flag(~full, flags.KNOWN_REST)
    found = found + flag(wrong, flags.MASS) + flag(full & ~(xp.abs(rest) <= tolerance), flags.NOT_FULL)
    found = found + flag(unlisted < 0, flags.TOO_LONG)
    if classes is not None and k:
        end = xp.astype(size + none, t.dtype) if limit is None else limit + xp.zeros_like(classes[:, 0])
        outside = (classes < 0) | (classes >= xp.expand_dims(end, axis=1))
        ordered = xp.sort(classes, axis=1)
        found = found + flag(any_of(outside), flags.OUTSIDE)
        found = found + flag(xp.any(ordered[:, 1:] == ordered[:, :-1], axis=1), flags.TWICE)
    if k:
        least = xp.min(t, axis=1)
        log_unlisted = log_or(xp, unlisted, xp.where(full, -xp.inf, log_size + xp.zeros_like(rest)))
        below = below_proxy(xp, least, unlisted, log_unlisted, rest, log) & (unlisted > 0)
        among, invalid = xp.where(unlisted > 0, unlisted, xp.ones_like(unlisted)), below
        for fewer in (bits, 24, 11):  # numbers of a narrower type, whatever holds them now, are rounded as that is
            if fewer <= bits and bool(xp.any(invalid)):
                _, share, entry, rest_off = Rounding.of(fewer, k)
                far = beyond(least, rest, among, share=share, off=least * entry, rest_off=rest_off)
                invalid = invalid & (far if fewer == bits else far | ~fits(xp, t, fewer))
        found = found + flag(below, flags.BELOW) + flag(invalid, flags.INVALID)
    return rest, found


def cut(
    xp: Any, t: Array, unlisted: Array, log_size: Array, rest: Array, log_rest: Array
) -> tuple[Array, Array, Array]:
    """The largest valid sublist of each row: what is kept, its rest mass, its number of unlisted classes.

    From the smallest confidence up, a class goes while it is below the proxy of the list without those before it; the
    first that is not ends this, and no other order of removal leaves a longer valid list (paper, section 3).
    """
    if not t.shape[1]:
        return t > 0, rest, unlisted
    up = xp.sort(t, axis=1)
    before = xp.cumulative_sum(up, axis=1) - up
    steps = xp.cumulative_sum(xp.ones_like(t), axis=1) - 1
    left = xp.expand_dims(unlisted, axis=1) + steps
    mass = xp.expand_dims(rest, axis=1) + before
    log_mass = log_or(xp, mass, xp.expand_dims(log_rest, axis=1))
    log_left = log_or(xp, left, xp.where(left == 0, -xp.inf, xp.expand_dims(log_size + 0 * rest, axis=1)))
    below = below_proxy(xp, up, left, log_left, mass, log_mass)
    drop = xp.cumulative_sum(xp.astype(~below, t.dtype), axis=1) == 0
    # Equal confidences stay or go together, whatever rounding says of them one by one.
    keep = t >= xp.expand_dims(xp.min(xp.where(drop, xp.inf, up), axis=1), axis=1)
    rest = rest + xp.sum(xp.where(keep, xp.zeros_like(t), t), axis=1)
    return keep, rest, unlisted + xp.sum(xp.astype(~keep, t.dtype), axis=1)


class Sublist(NamedTuple):
    """The largest valid sublist t' of each row as it is scored; a mass above one, or of all classes, is divided out."""

    keep: Array  # which entries are in it
    t: Array  # their confidences, 0 for the others
    rest: Array  # alpha, the mass not listed
    unlisted: Array  # m - k, the number of classes not listed
    proxy: Array  # pi = alpha / (m - k), and 0 where every class is listed
    scaled: Array  # is the mass divided out?


def largest_valid(
    xp: Any, t: Array, log_rest: Array | None, size: Array, log_size: Array, rest: Array, found: Array
) -> Sublist:
    """The largest valid sublists (paper, section 3) of rows with these signed rest masses and flags."""
    none = zeros(xp, t)
    unlisted, keep = size - t.shape[1] + none, xp.ones_like(t) == 1
    low = (found & flags.BELOW) != 0
    if t.shape[1] and bool(xp.any(low)):
        log = log_or(xp, rest, -xp.inf) if log_rest is None else log_rest
        kept, cut_rest, cut_unlisted = cut(xp, t, unlisted, log_size, rest, log)
        keep = kept | ~xp.expand_dims(low, axis=1)
        rest, unlisted = xp.where(low, cut_rest, rest), xp.where(low, cut_unlisted, unlisted)
    full = unlisted == 0
    scaled = (rest < 0) | full
    scale = xp.where(scaled, 1.0 / (1.0 - xp.where(scaled, rest, none)), none + 1)
    t = xp.where(keep, t * xp.expand_dims(scale, axis=1), xp.zeros_like(t))
    rest = xp.where(scaled, none, rest)
    proxy = xp.where(full, none, rest / xp.where(full, none + 1, unlisted))
    return Sublist(keep, t, rest, unlisted, proxy, scaled)


def reduce(
    xp: Any,
    kind: str,
    exponent: float,
    classes: Array | None,
    t: Array,
    log_rest: Array | None,
    size: Array,
    log_size: Array,
    rest: Array,
    found: Array,
    outcomes: Array | None,
) -> RowSums:
    """The statistics of each case: the outcome's padded confidence, and a sum over the other listed classes."""
    valid = largest_valid(xp, t, log_rest, size, log_size, rest, found)
    none, nothing, k = zeros(xp, t), xp.zeros_like(t), t.shape[1]
    if outcomes is None or not k:
        same = nothing != 0
    else:
        codes = xp.arange(k, dtype=outcomes.dtype) if classes is None else classes
        same = (codes == xp.expand_dims(outcomes, axis=1)) & valid.keep
    hit = xp.any(same, axis=1) if k else none != 0
    q, others = xp.sum(xp.where(same, valid.t, nothing), axis=1), xp.where(same, nothing, valid.t)
    total, ties = none, none
    if kind == "peak":
        marked = xp.where(valid.keep, valid.t, nothing - 1)
        total = xp.max(marked, axis=1) if k else none - 1
        ties = xp.sum(xp.astype((marked == xp.expand_dims(total, axis=1)) & valid.keep, t.dtype), axis=1)
    elif kind == "squares":
        total = xp.sum(others * others, axis=1)
    elif kind != "none":
        total = xp.sum(others**exponent, axis=1)
    # What a confidence near one lacks is the mass of the others, where the mass is divided out or the rest is known.
    by_others = (q > 0.5) & (valid.scaled | ((found & flags.KNOWN_REST) != 0))
    miss = xp.where(by_others, xp.sum(others, axis=1) + valid.rest, 1.0 - q)
    return RowSums(
        xp.where(hit, q, valid.proxy), xp.where(hit, miss, 1.0 - valid.proxy), total, ties,
        valid.rest, valid.unlisted, valid.proxy, hit,
    )  # fmt: skip


_TINY = 1e-290  # proxies below this have lost digits, and are better known by their logarithms
_QUANTUM = 20 * 2.0**-1074  # of the smallest number


@dataclass(frozen=True)
class CaseStatistics:
    """Per case, of the largest valid sublist. Arrays of any one shape, of the library `xp`."""

    xp: Any
    outcome: Array  # confidence of the outcome: listed, or the proxy
    miss: Array  # 1 - outcome, without cancellation
    hit: Array  # is the outcome listed?
    total: Array  # the sum over the listed classes, but the outcome
    ties: Array  # where the largest confidence is asked for: how many share it
    rest: Array  # mass not listed
    unlisted: Array  # number of classes not listed
    proxy: Array  # rest / unlisted
    size: Array  # number of classes; infinite from about 1e308 on
    log_size: Array
    given_log_rest: Array | None = None
    complete: bool = False  # does `total` hold the unlisted classes too?

    @classmethod
    def narrow(cls, sums: RowSums, wide: Callable[[], RowSums], rows: Rows) -> CaseStatistics:
        """Statistics of which most rules need three; the others are reduced when one is first asked for."""
        made = object.__new__(cls)
        made.__dict__.update(
            xp=np, outcome=sums.outcome, miss=sums.miss, total=sums.total, size=rows.size, log_size=rows.log_size,
            given_log_rest=rows.log_rest, complete=True, _wide=wide,
        )  # fmt: skip
        return made

    def __getattr__(self, name: str) -> Any:
        if name not in ("hit", "ties", "rest", "unlisted", "proxy") or "_wide" not in self.__dict__:
            raise AttributeError(name)
        sums = self.__dict__.pop("_wide")()
        for field in ("hit", "ties", "rest", "unlisted", "proxy"):
            self.__dict__[field] = getattr(sums, field)
        return self.__dict__[name]

    @property
    def log_rest(self) -> Array:
        """log(rest), from the producer where the rest mass itself underflows."""
        return _log_rest(self.xp, self.rest, self.unlisted, self.given_log_rest)

    @property
    def log_unlisted(self) -> Array:
        """log(unlisted), finite for every finite number of classes."""
        return _log_unlisted(self.xp, self.unlisted, self.log_size)

    @property
    def log_proxy(self) -> Array:
        """log(proxy), where the proxy itself may underflow; minus infinity if nothing is left over."""
        return _log_ratio(self.xp, self.log_rest, self.log_unlisted)

    @property
    def log_outcome(self) -> Array:
        """log(outcome), from the proxy's logarithm where an unlisted outcome's share underflows."""
        xp, q = self.xp, self.outcome
        positive = q > _TINY
        sure = bool(xp.all(positive))
        safe = q if sure else xp.where(positive, q, 1.0)
        log = xp.log(safe)
        lost = (1.0 - q) - self.miss  # what rounding took from a large confidence whose mass was divided out
        if bool(xp.any(lost != 0)):
            log = log + xp.where(q > 0.5, lost, 0.0) / safe
        if sure:
            return log
        listed = log_or(xp, q, -xp.inf)
        return xp.where(positive, log, xp.where(self.hit, listed, self.log_proxy))

    def others(self, of: Sum) -> Array:
        """The sum over every class but the outcome: those listed and those that are not."""
        return self.total if self.complete else self.total + of.rest_but_outcome(self)

    def everything(self, of: Sum) -> Array:
        """The sum over every class, where `total` runs over all that are listed."""
        return self.total + of.rest(self)


def _log_rest(xp: Any, rest: Array, unlisted: Array, given: Array | None) -> Array:
    if given is None:
        return log_or(xp, rest, -xp.inf)
    log = log_or(xp, rest, given)
    lossy = (rest > 0) & (rest < _TINY)
    if bool(xp.any(lossy)):  # what was given stands, unless classes were cut and their mass has joined
        log = xp.where(lossy & (xp.abs(xp.exp(given) - rest) <= 1e-9 * rest + _QUANTUM), given, log)
    return xp.where(unlisted == 0, -xp.inf, log)


def _log_unlisted(xp: Any, unlisted: Array, log_size: Array) -> Array:
    return log_or(xp, unlisted, xp.where(unlisted == 0, -xp.inf, log_size))


def _log_ratio(xp: Any, log_rest: Array, log_unlisted: Array) -> Array:
    nothing = log_rest == -xp.inf
    return xp.where(nothing, -xp.inf, xp.where(nothing, 0.0, log_rest) - log_unlisted)


class Sum(Protocol):
    """What a rule sums over the classes: a function of the confidence."""

    @property
    def kind(self) -> str:
        """Which reduction does it: "none", "squares", "powers", "peak" (compiled), or "terms"."""

    @property
    def exponent(self) -> float:
        """For "powers"."""

    def terms(self, xp: Any, t: Array, lack: Array) -> Array:
        """The function, of listed confidences and of what each lacks to one."""

    def rest(self, m: CaseStatistics) -> Array:
        """Number of unlisted classes times the function of the proxy, safe for any number of classes."""

    def rest_but_outcome(self, m: CaseStatistics) -> Array:
        """The same without the outcome, where that is one of the unlisted."""


class CaseColumns(Protocol):
    """Some cases with their outcomes, ready to be reduced."""

    def statistics(self, of: Sum) -> CaseStatistics:
        """The numbers that a rule needs."""

    def tables(self) -> Iterator[tuple[Any, ScoreTable, Array | None]]:
        """The cases by length of their list: where they stand, their table, the place of the outcome in it."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Valid lists of one length, spread out: (rows, k) confidences and the rest of each row."""

    xp: Any
    t: Array
    rest: Array
    unlisted: Array
    log_size: Array
    log_rest: Array | None

    @property
    def proxy(self) -> Array:
        """The share of each unlisted class."""
        xp = self.xp
        return xp.where(self.unlisted > 0, self.rest / xp.where(self.unlisted > 0, self.unlisted, 1.0), 0.0)

    @property
    def log_proxy(self) -> Array:
        """Its logarithm, where it underflows too; minus infinity if nothing is left over."""
        log_rest = _log_rest(self.xp, self.rest, self.unlisted, self.log_rest)
        return _log_ratio(self.xp, log_rest, _log_unlisted(self.xp, self.unlisted, self.log_size))

    def each(self, of: Sum) -> tuple[CaseStatistics, CaseStatistics]:
        """The statistics if each of the listed classes is the outcome, as (rows, k), and if an unlisted one does."""
        xp, t, proxy = self.xp, self.t, self.proxy

        def column(a: Array) -> Array:
            return xp.expand_dims(a, axis=-1)

        lack = exclusive_sums(xp, t) + column(self.rest)
        terms = of.terms(xp, t, lack) if of.kind != "none" else xp.zeros_like(t)
        if of.kind == "peak":
            total = xp.max(t, axis=1) if t.shape[1] else self.rest * 0 - 1
            ties = xp.sum(xp.astype(t == column(total), t.dtype), axis=1)
            others, total_all = column(total) + 0 * t, total
        else:
            ties = self.rest * 0
            others, total_all = exclusive_sums(xp, terms), xp.sum(terms, axis=1)
        log_rest = None if self.log_rest is None else column(self.log_rest)
        size, log_size = self.unlisted + t.shape[1], self.log_size + self.rest * 0
        wide = 0 * t
        listed = CaseStatistics(
            xp, t, lack, wide == 0, others, column(ties) + wide,
            column(self.rest) + wide, column(self.unlisted) + wide, column(proxy) + wide,
            column(size) + wide, column(log_size) + wide, log_rest,
        )  # fmt: skip
        unlisted = CaseStatistics(
            xp, proxy, 1.0 - proxy, self.rest != self.rest, total_all, ties, self.rest, self.unlisted,
            proxy, size, log_size, self.log_rest,
        )  # fmt: skip
        return listed, unlisted


def exclusive_sums(xp: Any, x: Array) -> Array:
    """For every entry the sum of the others in its row, by running sums from both ends: no cancellation."""
    if not x.shape[1]:
        return x
    zero = xp.expand_dims(zeros(xp, x), axis=1)
    left = xp.concat([zero, xp.cumulative_sum(x, axis=1)[:, :-1]], axis=1)
    right = xp.concat([zero, xp.cumulative_sum(xp.flip(x, axis=1), axis=1)[:, :-1]], axis=1)
    return left + xp.flip(right, axis=1)
