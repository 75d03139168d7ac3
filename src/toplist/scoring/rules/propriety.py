"""A check that a rule given as a function is proper: a search for two distributions that show it is not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist._typing import Floats
from toplist.core.array_api import ScoreTable
from toplist.errors import ImproperRuleError, RuleError

if TYPE_CHECKING:
    from toplist.scoring.rules.base import Rule


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
