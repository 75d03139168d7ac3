"""The oracle for a million lists: the same policy and the same scores as `exact.py`, in doubled precision.

Where a definition subtracts nearly equal numbers it is written without that subtraction, because 32 digits are not
enough for it; `test_bulk.py` holds every rule against the exact oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.oracle import doubled as dd
from tests.oracle.doubled import Doubled, as_doubled
from tests.oracle.draws import EPS, WIDTH, Draw
from tests.oracle.exact import VANISHING

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
EXPONENTS = (0.5, 1.5, 2.0, 3.0)


@dataclass(frozen=True, slots=True)
class Sums:
    """Of every padded list: the outcome, what it lacks to one, and sums over all classes but the outcome."""

    outcome: Doubled
    miss: Doubled
    powers: dict[float, Doubled]
    log_fails: Doubled  # sum of -log(1 - t)
    odds_roots: Doubled  # sum of sqrt(t / (1 - t))
    proxy: Doubled
    top: Doubled  # largest probability given to a class by name
    ties: Floats  # how many classes have it
    on_top: Bools  # is the outcome one of them?
    alike: Bools  # are all listed probabilities equal?
    even: Bools  # and is that what is scored, and 1 / m up to rounding?
    size: Floats
    invalid: Bools


def _significant_bits(t: Floats) -> NDArray[np.int64]:
    """11, 24 or 53 for each number; below the normal range of single precision, its last place counts."""
    mantissa, exponent = np.frexp(t)
    mantissa = np.ldexp(mantissa, np.minimum(exponent + 125, 0))
    found = np.full(t.shape, 53)
    for bits in (24, 11):
        found[(mantissa * 2.0**bits) % 1 == 0] = bits
    return found


def sums(draw: Draw, dtype: str) -> Sums:
    """Clean, cut, pad and add up."""
    with np.errstate(invalid="ignore", divide="ignore"):  # where a sure class did not happen
        return _sums(draw, dtype)


def _sums(draw: Draw, dtype: str) -> Sums:
    n = len(draw)
    t = np.where(draw.listed, draw.confidences.astype(np.float64), np.inf)
    order = np.argsort(t, axis=1, stable=True)
    t = np.take_along_axis(np.where(draw.listed, t, 0.0), order, axis=1)
    inside = np.take_along_axis(draw.listed, order, axis=1)
    own = np.take_along_axis(draw.classes == draw.outcomes[:, None], order, axis=1) & inside
    size = draw.sizes.astype(np.float64)

    mass = as_doubled(np.zeros(n))
    for column in t.T:
        mass = mass + column
    rest, unlisted = 1.0 - mass, size - draw.lengths
    scaled = (unlisted == 0) | (rest.hi < 0)
    divisor = dd.where(scaled, mass, 1.0)
    rest = dd.where(scaled | (rest.hi <= draw.lengths * EPS), 0.0, rest)
    bits = np.minimum(_significant_bits(t).max(axis=1), 24 if dtype == "float32" else 53)
    single = np.maximum(1e-6, draw.lengths * 2.0**-22)
    off = np.choose(np.searchsorted((11, 24), bits), (np.maximum(2.0**-9, single), single, 1e-12))
    relative = np.choose(np.searchsorted((11, 24), bits), (2.0**-11, 1e-5, 1e-9))
    bound = np.minimum(
        _share(rest, unlisted).hi * (1 - relative) - 1e-15,
        (_share(rest, unlisted).hi - off / np.maximum(unlisted, 1) - 1e-15) / (1 + 2.0**-bits),
    )
    invalid = (draw.lengths > 0) & (unlisted > 0) & (t[:, 0] < bound)
    top = np.where(inside, t, -1.0).max(axis=1)
    best = inside & (t == top[:, None])
    on_top = (best & own).any(axis=1)

    keep, dropping = inside.copy(), np.ones(n, bool)
    for j in range(WIDTH):
        dropping &= inside[:, j] & dd.less(Doubled(*dd.two_product(t[:, j], unlisted)), rest)
        keep[:, j] &= ~dropping
        rest = rest + np.where(dropping, t[:, j], 0.0)
        unlisted = unlisted + dropping
    own, proxy = own & keep, _share(rest, unlisted)
    largest = as_doubled(np.maximum(top, 0.0)) / divisor
    kept_alike = (keep.sum(axis=1) == best.sum(axis=1)) & (unlisted > 0)
    hit = own.any(axis=1)
    outcome = dd.where(hit, as_doubled(np.where(own, t, 0.0).sum(axis=1)) / divisor, proxy)
    return Sums(
        outcome,
        *_over_others(t * (keep & ~own), divisor, proxy, unlisted - ~hit, scaled & hit, outcome),
        proxy,
        largest,
        best.sum(axis=1).astype(np.float64),
        on_top,
        best.sum(axis=1) == draw.lengths,
        kept_alike & _is_even(largest, size),
        size,
        invalid,
    )


def uniform(size: Floats) -> Sums:
    """The empty list."""
    nothing, none = np.zeros((len(size), 0)), np.zeros(len(size), bool)
    one, p = as_doubled(np.ones(len(size))), _share(as_doubled(np.ones(len(size))), size)
    return Sums(
        p, *_over_others(nothing, one, p, size - 1, none, p), p, 0.0 * one, 0.0 * size, none, none, none, size, none
    )


def _is_even(top: Doubled, size: Floats) -> Bools:
    """Is this 1 / m, as a softmax in doubles has it, or rounded to float32 or float16?"""
    even = as_doubled(1.0) / size
    bound = even * (1.0 + as_doubled(EPS * (4.0 + 2.0 * np.log(size))))
    same: Bools = ~dd.less(bound, top)
    for bits in (24, 11):
        mantissa, exponent = np.frexp(1.0 / size)
        same |= (top.hi == np.ldexp(np.round(mantissa * 2.0**bits), exponent - bits)) & (top.lo == 0)
    return same


def _share(rest: Doubled, unlisted: Floats) -> Doubled:
    return dd.where(unlisted > 0, rest / np.where(unlisted > 0, unlisted, 1.0), 0.0)


def _over_others(
    t: Floats, divisor: Doubled, proxy: Doubled, unlisted: Floats, divided: Bools, outcome: Doubled
) -> tuple[Doubled, dict[float, Doubled], Doubled, Doubled]:
    """What the outcome lacks, and the sums over the other classes: listed, zero where not, and unlisted ones."""
    nothing = as_doubled(np.zeros(len(t)))
    powers, roots, listed = dict.fromkeys(EXPONENTS, nothing), nothing, nothing
    some, none = nothing, as_doubled(np.ones(len(t)))  # 1 - product of (1 - t), and the product
    for column in t.T:
        v = as_doubled(column) / divisor
        listed = listed + v
        for a, power in _powers(v).items():
            powers[a] = powers[a] + power
        left = 1.0 - v
        sure = left.hi == 0
        roots = dd.where(sure, np.inf, roots + dd.sqrt(v / dd.where(sure, 1.0, left)))
        some, none = some + v * none, none * left
    for a, power in _powers(proxy).items():
        powers[a] = powers[a] + power * unlisted
    roots = dd.where(np.isinf(roots.hi), np.inf, roots + dd.sqrt(proxy / (1.0 - proxy)) * unlisted)
    few = some.hi < 0.5
    logs = dd.where(few, -dd.log1p(dd.where(few, -some, 0.0)), -_log(none))
    logs = dd.where(np.isinf(logs.hi), np.inf, logs - dd.log1p(-proxy) * unlisted)
    return dd.where(divided, listed, 1.0 - outcome), powers, logs, roots


def _powers(v: Doubled) -> dict[float, Doubled]:
    root, square = dd.sqrt(v), v * v
    return {0.5: root, 1.5: root * v, 2.0: square, 3.0: square * v}


def _log(x: Doubled) -> Doubled:
    """The logarithm; minus infinity at zero."""
    positive = x.hi > 0
    return dd.where(positive, dd.log(dd.where(positive, x, 1.0)), -np.inf)


def _brier(s: Sums) -> Doubled:
    return s.miss * s.miss + s.powers[2.0]


def _log_score(s: Sums) -> Doubled:
    small = s.miss.hi < 0.5
    return dd.where(small, -dd.log1p(dd.where(small, -s.miss, 0.0)), -_log(s.outcome))


def _pseudospherical(a: float) -> Callable[[Sums], Doubled]:
    """1 - (1 + others / q**a)**(-(a - 1) / a)."""

    def of(s: Sums) -> Doubled:
        positive = s.outcome.hi > 0
        ratio = s.powers[a] / dd.power(dd.where(positive, s.outcome, 1.0), a)
        x = dd.log1p(ratio) * (as_doubled(1.0 - a) / as_doubled(a))
        far = x.hi < -0.5
        close = -dd.expm1(dd.where(far, 0.0, x))
        return dd.where(positive, dd.where(far, 1.0 - dd.exp(dd.where(far, x, 0.0)), close), 1.0)

    return of


def _power(a: float) -> Callable[[Sums], Doubled]:
    """The part of the outcome is a * integral from 0 to miss of x (1 - x)**(a - 2): a series where miss is small."""

    def of(s: Sums) -> Doubled:
        positive, small = s.outcome.hi > 0, s.miss.hi < 0.02
        q = dd.where(positive, s.outcome, 1.0)
        own = dd.power(q, a)
        far = (1.0 - own / q * a) / (a - 1.0) + own
        d = dd.where(small, s.miss, 0.0)
        series, binomial, term = as_doubled(0 * d.hi), as_doubled(1.0), d * d
        for j in range(18):
            series = series + term * (binomial / (j + 2.0))
            binomial = binomial * (j - (a - 2.0)) / (j + 1.0)
            term = term * d
        part = dd.where(small, series * a, dd.where(positive, far, 1.0 / (a - 1.0) if a > 1 else np.inf))
        return dd.where(np.isinf(part.hi), np.inf, part + s.powers[a])

    return of


def _renyi(a: float) -> Callable[[Sums], Doubled]:
    def of(s: Sums) -> Doubled:
        positive = s.outcome.hi > 0
        q = dd.where(positive, s.outcome, 1.0)
        own = dd.power(q, a)
        total = own + s.powers[a]
        finite = (dd.log1p(total - 1.0) + (own / q / total - 1.0) * a) / (1.0 - a)
        return dd.where(positive, finite, np.inf)

    return of


def _zero_one(s: Sums) -> Doubled:
    return dd.where(dd.less(s.proxy, s.top) & ~s.even, ahead(s), flat(s))


def flat(s: Sums) -> Doubled:
    """All classes tie."""
    return 1.0 - as_doubled(1.0) / s.size


def ahead(s: Sums) -> Doubled:
    """The most confident of the listed classes are ahead of the unlisted ones."""
    return 1.0 - as_doubled(s.on_top * 1.0) / np.maximum(s.ties, 1.0)


def at_the_jump(s: Sums) -> Bools:
    """Do the listed probabilities differ, and the top one from the proxy, but by no more than rounding?

    Which of them are larger is then not for double precision to say. The zero-one score alone jumps there, from all
    classes tied to the listed ones ahead, and either is accepted; every other score is continuous.
    """
    gap = np.abs((s.top - s.proxy).hi)
    return ~s.alike & (s.ties > 0) & (gap > 0) & (gap <= 1e-13 * s.proxy.hi)


def _boosting(s: Sums) -> Doubled:
    positive = s.outcome.hi > 0
    own = dd.sqrt(s.miss / dd.where(positive, s.outcome, 1.0))
    return dd.where(positive & np.isfinite(s.odds_roots.hi), own + s.odds_roots, np.inf)


def _one_vs_rest_log(s: Sums) -> Doubled:
    own = _log_score(s)
    return dd.where(np.isinf(own.hi) | np.isinf(s.log_fails.hi), np.inf, own + s.log_fails)


RULES: dict[str, Callable[[Sums], Doubled]] = {
    "brier": _brier,
    "log": _log_score,
    "spherical": _pseudospherical(2.0),
    "zero-one": _zero_one,
    "power 0.5": _power(0.5),
    "power 1.5": _power(1.5),
    "power 3": _power(3.0),
    "pseudospherical 1.5": _pseudospherical(1.5),
    "pseudospherical 3": _pseudospherical(3.0),
    "renyi 0.5": _renyi(0.5),
    "one-vs-rest log": _one_vs_rest_log,
    "one-vs-rest brier": _brier,
    "one-vs-rest boosting": _boosting,
}


def errors(name: str, got: Floats, s: Sums) -> Floats:
    """Relative errors of scores with the default penalty; absolute where the score vanishes; infinities must match."""
    with np.errstate(all="ignore"):
        fine = RULES[name](uniform(s.size)) * (as_doubled(1.0) / 100.0)
        due = dd.where(s.invalid, fine, 0.0)
        off = _error(got, RULES[name](s), due)
        if name == "zero-one":
            either = np.minimum(_error(got, flat(s), due), _error(got, ahead(s), due))
            off = np.where(at_the_jump(s), either, off)
    return off


def _error(got: Floats, plain: Doubled, due: Doubled) -> Floats:
    infinite = np.isinf(plain.hi) | ~np.isfinite(got)
    exact = dd.where(infinite, 1.0, plain) + due
    off = np.abs((got - exact.hi) - exact.lo)
    scale = np.abs(exact.hi)
    relative = off / np.where(scale > VANISHING, scale, 1.0)
    return np.where(infinite, np.where(got == plain.hi, 0.0, np.inf), relative)
