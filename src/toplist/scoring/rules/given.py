"""Rules given by functions, and the check that they are proper: a search for two distributions that show otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core.array_api import CaseStatistics, ScoreTable
from toplist.errors import ImproperRuleError, RuleError
from toplist.scoring.rules.base import ClassTerms, Rule, SumRule, TableRule, columns

Array = Any
Rise = Callable[[NDArray[np.float64]], NDArray[np.float64]]
_SMALL_SHARE = 1e-4  # below it differences over steps that are smaller still lose more digits than longer steps do
_NOISE = 1e-15  # of an entropy: what rounding adds to a difference, over the step
_TOLERANCE = 1e-6  # numerical derivatives are good to about 1e-9, and their errors add up


def table_of(p: Floats) -> ScoreTable:
    """Distributions, one per row, as complete lists."""
    n, m = p.shape
    return ScoreTable(np, p, np.zeros(n), np.zeros(n), np.full(1, math.log(m)), None)


def score_matrix(rule: Rule, p: Floats) -> Floats:
    """The score of every outcome under every report: S[i, y] for the report p[i]."""
    with np.errstate(all="ignore"):
        return np.asarray(rule.each(table_of(p))[0], dtype=np.float64)


def expected(p: Floats, scores: Floats) -> Floats:
    """E[i, j]: the expected score of report j if p[i] is the truth, with 0 * infinity = 0."""
    finite = np.where(np.isfinite(scores), scores, 0.0)
    infinite = np.where(np.isfinite(scores), 0.0, np.sign(scores))
    blow = (p > 0).astype(float) @ infinite.T
    return np.where(blow == 0, p @ finite.T, np.where(blow > 0, np.inf, -np.inf))


def candidates(m: int, rng: np.random.Generator) -> Floats:
    """Distributions worth trying: random, with ties, with zeros, at the corners and the centre, and reordered."""
    base = [rng.dirichlet(np.full(m, a), size=30) for a in (0.3, 1.0, 5.0)]
    tied = np.round(rng.dirichlet(np.ones(m), size=30) * 4) + rng.integers(0, 2, (30, m))
    tied = tied[tied.sum(axis=1) > 0]
    corners, centre = np.eye(m), np.full((1, m), 1 / m)
    near = 0.98 * corners + 0.02 / m
    few = np.concatenate([*base, tied / tied.sum(axis=1, keepdims=True), near, centre])
    shuffled = rng.permuted(few[:40], axis=1)
    return np.concatenate([few, shuffled, corners])


def spikes(m: int) -> Floats:
    """Distributions over many classes: some mass on one to three of them, the rest on all others alike."""
    out = []
    for heads in (1, 2, 3):
        for mass in (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.99):
            p = np.full(m, (1 - mass) / (m - heads))
            p[:heads] = mass / heads
            out += [p, np.roll(p, heads)]
    return np.array([*out, np.full(m, 1 / m)])


def require_proper(rule: Rule, *, seed: int = 0, smallest: float = 0.0) -> None:
    """Raise the pair of distributions that shows that a rule is improper, if a search finds one.

    Probabilities below `smallest` are not tried: numerical derivatives are noise there.
    """
    rng = np.random.default_rng(seed)
    for m in (2, 3, 4, 5, 20, 100):
        p = candidates(m, rng) if m <= 5 else spikes(m)
        p = np.where(p < smallest, 0.0, p)
        p /= p.sum(axis=1, keepdims=True)
        scores = score_matrix(rule, p)
        _require_numbers(p, scores)
        _require_symmetry(rule, p, scores)
        e = expected(p, scores)
        own = np.diag(e).copy()
        with np.errstate(invalid="ignore"):
            gain = np.where(np.isneginf(e), np.inf, own[:, None] - e)
        gain = np.where(np.isnan(gain), 0.0, gain)
        scale = np.maximum(1.0, np.abs(np.where(np.isfinite(own), own, 0.0)))[:, None]
        worst = np.unravel_index(int(np.argmax(gain / scale)), gain.shape)
        if gain[worst] > _TOLERANCE * scale[worst[0], 0]:
            truth, report = p[worst[0]], p[worst[1]]
            raise ImproperRuleError(
                f"this rule is not proper: if {_show(truth)} is true, reporting {_show(report)} scores "
                f"{gain[worst]:.3g} better in expectation. Its entropy is not concave, or its derivative is wrong.",
                truth.tolist(),
                report.tolist(),
                float(gain[worst]),
            )


def _require_numbers(p: Floats, scores: Floats) -> None:
    inner = (p > 0).all(axis=1)
    bad = np.isnan(scores).any(axis=1) | (inner & ~np.isfinite(scores).all(axis=1))
    if bad.any():
        row = int(np.argmax(bad))
        raise RuleError(f"this rule scores the report {_show(p[row])} as {_show(scores[row])}, which must be finite.")


def _require_symmetry(rule: Rule, p: Floats, scores: Floats) -> None:
    order = np.roll(np.arange(p.shape[1]), 1)
    moved = score_matrix(rule, p[:, order])
    with np.errstate(invalid="ignore"):
        off = np.abs(moved - scores[:, order])
    off = np.where(np.isnan(off), 0.0, off)
    row = int(np.argmax(off.max(axis=1)))
    if off[row].max() > _TOLERANCE * max(1.0, float(np.nanmax(np.where(np.isfinite(scores[row]), scores[row], 0.0)))):
        raise RuleError(
            f"this rule is not symmetric: {_show(p[row])} and its permutation {_show(p[row][order])} score "
            "differently. Padding needs a rule that treats all classes alike."
        )


def _show(values: Any) -> str:
    shown = [f"{v:.4g}" for v in np.asarray(values)[:6]]
    return "(" + ", ".join(shown) + (", ..." if len(values) > 6 else "") + ")"


@dataclass(frozen=True, slots=True)
class Separable(SumRule):
    """The rule with the entropy sum of g(t), for a concave g with g(0) = 0.

    S = g(q) + (1 - q) dg(q) + sum over the other classes of g(t) - t dg(t). A pair of functions that is not proper is
    refused with the distributions that show it.

    Parameters
    ----------
    g : callable
        The function, of arrays.
    dg : callable
        Its derivative.

    Examples
    --------
    >>> import toplist as tl
    >>> brier = Separable(lambda x: x * (1 - x), lambda x: 1 - 2 * x)
    >>> tl.score([[0.5, 0.25, 0.25]], [0], rule=brier)
    array([0.375])
    """

    g: Callable[[Array], Array]
    dg: Callable[[Array], Array]
    name: ClassVar[str] = "separable"
    strict: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.g) or not callable(self.dg):
            raise RuleError("Separable takes a function and its derivative.")
        require_proper(self)

    def _tangent(self, xp: Any, t: Array, _: Array) -> Array:
        """g(t) - t dg(t), with 0 * infinity = 0."""
        zero = t == 0
        x = xp.where(zero, 0.5, t)
        return xp.where(zero, self.g(t), self.g(x) - x * self.dg(x))

    @property
    def sum(self) -> ClassTerms:
        """g(t) - t dg(t)."""
        return ClassTerms(self._tangent)

    @property
    def entropy_sum(self) -> ClassTerms:
        """g."""
        return ClassTerms(lambda _, t, __: self.g(t))

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """g(q) + (1 - q) dg(q) + others."""
        xp = m.xp
        sure = m.miss == 0
        q = xp.where(sure, 0.5, m.outcome)
        slope = self.dg(q)
        return xp.where(sure, self.g(m.outcome), self.g(q) + m.miss * slope) + others

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """Sum of g."""
        return total


@dataclass(frozen=True, slots=True)
class Savage(TableRule):
    """The rule of a symmetric concave entropy G: S(p, y) = G(p) - <G'(p), p> + G'_y(p).

    Parameters
    ----------
    G : callable
        Entropy of `values` and `counts`, arrays of shape (cases, blocks): distributions in which `counts` classes have
        probability `values` each, as padded lists are. Returns one number per case.
    dG : callable, optional
        Supergradient, in the shape of `values`: its entry for a class of each block. It is averaged over classes of
        equal probability, which makes it symmetric (paper, Proposition 4.1). Without it, which an entropy with kinks
        needs, the derivative is taken numerically. Scores are then off by about 1e-10. Where the entropy has a slope
        that is infinite at zero, as a power below one has, they are off by up to 1e-7 (of scores above one,
        relatively), and by about 1e-14 / p where the outcome has a small probability p: 1e-2 at 1e-12.

    Examples
    --------
    >>> import toplist as tl
    >>> brier = Savage(lambda v, n: 1 - (n * v * v).sum(axis=-1), lambda v, n: -2 * v)
    >>> tl.score([[0.5, 0.25, 0.25]], [0], rule=brier)
    array([0.375])
    """

    G: Callable[[Array, Array], Array]
    dG: Callable[[Array, Array], Array] | None = None
    name: ClassVar[str] = "savage"
    strict: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.G) or not (self.dG is None or callable(self.dG)):
            raise RuleError("Savage takes an entropy and its supergradient as functions.")
        require_proper(self, smallest=0.0 if self.dG is not None else 1e-4)

    def table_entropy(self, table: ScoreTable) -> Array:
        """G of every padded distribution."""
        return self._entropy(*_blocks(table))

    def each(self, table: ScoreTable) -> tuple[Array, Array]:
        """See `Rule.each`."""
        values, counts = _blocks(table)
        if self.dG is None and table.xp is not np:
            raise RuleError("on a device an entropy needs its supergradient: give dG.")
        s = self._numeric(values, counts) if self.dG is None else self._savage(table.xp, self.dG, values, counts)
        return s[:, :-1], s[:, -1]

    def _entropy(self, values: Array, counts: Array) -> Array:
        out = self.G(values, counts)
        if np.shape(out) != values.shape[:1]:
            raise RuleError(f"G must return one number per case: {values.shape[:1]}, not {np.shape(out)}.")
        return out

    def _savage(self, xp: Any, gradient: Callable[[Array, Array], Array], values: Array, counts: Array) -> Array:
        slope = gradient(values, counts)
        if np.shape(slope) != values.shape:
            raise RuleError(f"dG must return the shape of its values: {values.shape}, not {np.shape(slope)}.")
        slope = _average_ties(xp, values, counts, slope)
        used = (values > 0) & (counts > 0)
        flat = xp.where(used, counts * values * xp.where(used, slope, 0.0), 0.0)
        base = self._entropy(values, counts) - xp.sum(flat, axis=1)
        return xp.expand_dims(base, axis=1) + slope

    def _numeric(self, values: Array, counts: Array) -> NDArray[np.float64]:
        """G plus its derivative towards each block, moving tied classes together."""
        v, n = np.asarray(values, np.float64), np.asarray(counts, np.float64)
        g = np.asarray(self._entropy(v, n))
        out = np.empty_like(v)
        for j in range(v.shape[1]):
            tied = (v == v[:, j : j + 1]) & (n > 0)
            block = np.maximum(np.where(tied, n, 0.0).sum(axis=1), 1.0)
            toward = np.where(tied, 1.0 / block[:, None], 0.0) - v

            def rise(h: NDArray[np.float64], toward: NDArray[np.float64] = toward) -> NDArray[np.float64]:
                change: NDArray[np.float64] = self._entropy(v + h[..., None] * toward, n) - g
                return change

            share = v[:, j] * block
            step = np.minimum(1e-3, 0.3 * share)
            inner = _two_sided(rise, np.where(share > 0, step, 1e-3))
            small = (share > 0) & (share < _SMALL_SHARE)
            if small.any():  # a step below the share is rounding; one above it is not, if the entropy is smooth there
                forward, off = _forward(rise)
                inner = np.where(small & (off < _NOISE * np.maximum(1.0, np.abs(g)) / step), forward, inner)
            out[:, j] = g + np.where(share > 0, inner, _one_sided(rise))
        return out


def _two_sided(rise: Rise, step: NDArray[np.float64]) -> NDArray[np.float64]:
    """The derivative from both sides, extrapolated: exact to the seventh order of the step."""
    slopes = [(rise(step / 2**i) - rise(-step / 2**i)) / (2 * step) * 2**i for i in range(4)]
    for order in (2, 4, 6):
        slopes = [(2**order * b - a) / (2**order - 1) for a, b in pairwise(slopes)]
    return np.asarray(slopes[0])


def _forward(rise: Rise) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The derivative from the right with steps of a fixed length, extrapolated, and how far the last two are apart."""
    h = 1e-3
    slopes = [rise(np.array(h / 2**i)) * 2**i / h for i in range(5)]
    for order in range(1, 5):
        last = slopes[-1]
        slopes = [(2**order * b - a) / (2**order - 1) for a, b in pairwise(slopes)]
    return np.asarray(slopes[0]), np.abs(slopes[0] - last)


def _one_sided(rise: Rise) -> NDArray[np.float64]:
    """The derivative from the right by extrapolation; infinite where the slopes keep growing."""
    h = 1e-4
    slopes = [rise(np.array(h / 2**i)) * 2**i / h for i in range(4)]
    for order in (1, 2, 3):
        slopes = [(2**order * b - a) / (2**order - 1) for a, b in pairwise(slopes)]
    far, near, nearer = (rise(np.array(x)) / x for x in (1e-5, 1e-8, 1e-11))
    growing = (nearer - near > 0.5 * (near - far)) & (near - far > 1e-3 * np.maximum(1.0, np.abs(far)))
    return np.where(growing, np.inf, slopes[0])


def _blocks(table: ScoreTable) -> tuple[Array, Array]:
    """A table's padded distributions as blocks: one class each, and all that are unlisted."""
    xp = table.xp
    if bool(xp.any(xp.isinf(table.unlisted))):
        raise RuleError("an entropy given as a function needs a number of classes below about 1e308.")
    values = xp.concat([table.t, xp.expand_dims(table.proxy, axis=1)], axis=1)
    counts = xp.concat([0 * table.t + 1.0, xp.expand_dims(table.unlisted, axis=1)], axis=1)
    return values, counts


def _average_ties(xp: Any, values: Array, counts: Array, slope: Array) -> Array:
    """Give classes of equal probability the mean of their entries."""
    out = slope
    for j in range(values.shape[1]):
        tied = (values == values[:, j : j + 1]) & (counts > 0)
        weight = xp.where(tied, counts, 0.0)
        several = xp.sum(xp.astype(tied, values.dtype), axis=1) > 1
        total = xp.sum(weight, axis=1)
        mean = xp.sum(xp.where(tied, weight * xp.where(tied, slope, 0.0), 0.0), axis=1) / xp.where(
            total > 0, total, 1.0
        )
        column = xp.where(several, mean, slope[:, j])
        out = xp.where(columns(xp, values) == j, xp.expand_dims(column, axis=1), out)
    return out
