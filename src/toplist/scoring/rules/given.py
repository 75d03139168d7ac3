"""Rules given by functions, and the check that they are proper: a search for two distributions that show otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from toplist._typing import Floats
from toplist.core.array_api import CaseStatistics, ScoreTable
from toplist.errors import ImproperRuleError, RuleError
from toplist.scoring.rules.base import ClassTerms, Rule, SumRule, TableRule, columns

Array = Any
_TOLERANCE = 1e-6  # of a score: the functions that people bring are rounded, and their errors add up over the classes


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


def require_proper(rule: Rule, *, seed: int = 0) -> None:
    """Raise the pair of distributions that shows that a rule is improper, if a search finds one."""
    rng = np.random.default_rng(seed)
    for m in (2, 3, 4, 5, 20, 100):
        p = candidates(m, rng) if m <= 5 else spikes(m)
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

    S(t, y) = g(q) + (1 - q) dg(q) + sum over the other classes of g(t) - t dg(t), with the entropy sum of g(t). A pair
    of functions that is not proper is refused with the distributions that show it.

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
    """The rule of a symmetric concave entropy G: S(p, y) = G(p) - <G'(p), p> + G'_y(p) (paper, eq. 7).

    G' is a supergradient: G(q) <= G(p) + <G'(p), q - p> for all p and q (eq. 8). Every proper rule has
    this form under mild conditions, where G' may be infinite at the boundary, as that of the logarithmic score is.

    Parameters
    ----------
    G : callable
        Entropy of `values` and `counts`, arrays of shape (cases, blocks): distributions in which `counts` classes have
        probability `values` each, as padded lists are. Returns one number per case.
    dG : callable
        Supergradient, in the shape of `values`: its entry for a class of each block. It is averaged over classes of
        equal probability, which makes it symmetric (Proposition 4.1); that of a symmetric rule is (Lemma 4.2). It may
        not depend on the order of the blocks.

    References
    ----------
    .. [1] L. J. Savage, "Elicitation of Personal Probabilities and Expectations", JASA 66 (1971).

    Examples
    --------
    >>> import toplist as tl
    >>> brier = Savage(lambda v, n: 1 - (n * v * v).sum(axis=-1), lambda v, n: -2 * v)
    >>> tl.score([[0.5, 0.25, 0.25]], [0], rule=brier)
    array([0.375])
    """

    G: Callable[[Array, Array], Array]
    dG: Callable[[Array, Array], Array]
    name: ClassVar[str] = "savage"
    strict: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.G) or not callable(self.dG):
            raise RuleError("Savage takes an entropy and its supergradient as functions: Savage(G, dG).")
        require_proper(self)

    def table_entropy(self, table: ScoreTable) -> Array:
        """G of every padded distribution."""
        return self._entropy(*_blocks(table))

    def each(self, table: ScoreTable) -> tuple[Array, Array]:
        """See `Rule.each`."""
        xp, (values, counts) = table.xp, _blocks(table)
        slope = self.dG(values, counts)
        if np.shape(slope) != values.shape:
            raise RuleError(f"dG must return the shape of its values: {values.shape}, not {np.shape(slope)}.")
        slope = _average_ties(xp, values, counts, slope)
        used = (values > 0) & (counts > 0)
        flat = xp.where(used, counts * values * xp.where(used, slope, 0.0), 0.0)
        base = self._entropy(values, counts) - xp.sum(flat, axis=1)
        s = xp.expand_dims(base, axis=1) + slope
        return s[:, :-1], s[:, -1]

    def _entropy(self, values: Array, counts: Array) -> Array:
        out = self.G(values, counts)
        if np.shape(out) != values.shape[:1]:
            raise RuleError(f"G must return one number per case: {values.shape[:1]}, not {np.shape(out)}.")
        return out


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
