"""One list of scoring rules, each with its textbook definition on the simplex, for all tests of the paper.

The definitions are written out densely and owe nothing to the library: they take arrays whose last axis runs over
all classes. Infinite values follow the convention 0 * infinity = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import toplist as tl

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Known:
    """A rule of the library beside what is known of it."""

    rule: tl.Rule
    scores: Function  # S(p, y) for every class y
    entropy: Function  # G(p)
    gradient: Function  # G'(p), extended-valued on the boundary
    strict: bool = True
    tol: float = 1e-11


def times(weight: Floats, value: Floats) -> Floats:
    """The product, with 0 * infinity = 0."""
    return np.where(weight == 0, 0.0, weight * np.where(weight == 0, 0.0, value))


def mean(scores: Floats, p: Floats) -> Floats:
    """The expected score under p, one score per class on the last axis."""
    return times(p, scores).sum(axis=-1)


def quiet(function: Function) -> Function:
    """Limits at the boundary are meant, not warned of."""

    def silent(p: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return function(np.asarray(p, dtype=np.float64))

    return silent


def savage(entropy: Function, gradient: Function) -> Function:
    """S(p, y) = G(p) - <G'(p), p> + G'_y(p), the Savage representation (paper, eq. 7)."""
    return quiet(lambda p: entropy(p)[..., None] - mean(gradient(p), p)[..., None] + gradient(p))


def power(a: float) -> Known:
    return Known(
        tl.Power(a),
        quiet(lambda p: (1 - a * p ** (a - 1)) / (a - 1) + (p**a).sum(axis=-1, keepdims=True)),
        quiet(lambda p: (1 - (p**a).sum(axis=-1)) / (a - 1)),
        quiet(lambda p: -a / (a - 1) * p ** (a - 1)),
    )


def pseudospherical(rule: tl.Rule, a: float, unit: float = 1.0) -> Known:
    def share(p: Floats) -> Floats:
        return (p / (p**a).sum(axis=-1, keepdims=True) ** (1 / a)) ** (a - 1)

    return Known(
        rule,
        lambda p: (1 - share(p)) / unit,
        lambda p: (1 - (p**a).sum(axis=-1) ** (1 / a)) / unit,
        lambda p: -share(p) / unit,
    )


def renyi(a: float) -> Known:
    def slope(p: Floats) -> Floats:
        return a * p ** (a - 1) / (p**a).sum(axis=-1, keepdims=True)

    return Known(
        tl.Renyi(a),
        quiet(lambda p: (np.log((p**a).sum(axis=-1, keepdims=True)) + slope(p) - a) / (1 - a)),
        quiet(lambda p: np.log((p**a).sum(axis=-1)) / (1 - a)),
        quiet(lambda p: slope(p) / (1 - a)),
    )


def one_vs_rest(binary: str, happens: Function, fails: Function) -> Known:
    """The sum of a binary score over all classes; `happens` and `fails` are its values for confidence p."""

    def scores(p: Floats) -> Floats:
        others = np.where(np.eye(p.shape[-1], dtype=bool), 0.0, fails(p)[..., None, :])
        return happens(p) + others.sum(axis=-1)

    return Known(
        tl.OneVsRest(binary),
        quiet(scores),
        quiet(lambda p: (times(p, happens(p)) + times(1 - p, fails(p))).sum(axis=-1)),
        quiet(lambda p: happens(p) - fails(p)),
    )


def separable(g: Function, dg: Function) -> Known:
    """The rule whose entropy is the sum of g."""

    def scores(p: Floats) -> Floats:
        tangent = g(p) - times(p, dg(p))
        others = np.where(np.eye(p.shape[-1], dtype=bool), 0.0, tangent[..., None, :])
        return g(p) + times(1 - p, dg(p)) + others.sum(axis=-1)

    return Known(tl.Separable(g, dg), quiet(scores), lambda p: g(p).sum(axis=-1), quiet(dg))


def greedy_top(values: Floats, counts: Floats, size: int) -> Floats:
    """How many of `size` places go to a class of each block, the blocks served by value, equal ones in order.

    The negative is a supergradient of one minus the sum of the `size` largest probabilities, and not a symmetric
    one: of equal classes the first is served first.
    """
    order = np.argsort(-np.where(counts > 0, values, -1.0), axis=-1, kind="stable")
    count = np.take_along_axis(np.broadcast_to(counts, values.shape), order, axis=-1)
    before = np.cumsum(count, axis=-1) - count
    served = np.clip(size - before, 0.0, count) / np.where(count > 0, count, 1.0)
    return np.take_along_axis(served, np.argsort(order, axis=-1), axis=-1)


def top_error(size: int) -> Known:
    """The entropy one minus the `size` largest probabilities, brought to the library with a one-sided gradient."""

    def entropy(p: Floats) -> Floats:
        return 1 - np.sort(p, axis=-1)[..., ::-1][..., :size].sum(axis=-1)

    def share(p: Floats) -> Floats:
        """The places that are left after the larger classes, shared equally among the tied ones."""
        above = (p[..., None, :] > p[..., :, None]).sum(axis=-1)
        tied = (p[..., None, :] == p[..., :, None]).sum(axis=-1)
        return np.clip((size - above) / tied, 0.0, 1.0)

    return Known(
        tl.Savage(lambda v, n: 1 - (v * n * greedy_top(v, n, size)).sum(axis=-1), lambda v, n: -greedy_top(v, n, size)),
        lambda p: 1 - share(p),
        entropy,
        lambda p: -share(p),
        strict=False,
    )


def x_log_x(x: Floats) -> Floats:
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0)), 0.0)


def _rules() -> dict[str, Known]:
    """Savage's form comes with a gradient that is infinite at zero, and without one, which must be smooth."""

    def mixed(p: Floats) -> Floats:
        return 1 - (p**2).sum(axis=-1) - x_log_x(p).sum(axis=-1)

    mixed_gradient = quiet(lambda p: -2 * p - np.log(p))

    def bent(p: Floats) -> Floats:
        return np.log(2 - (p**2).sum(axis=-1))

    def bent_gradient(p: Floats) -> Floats:
        return -2 * p / (2 - (p**2).sum(axis=-1, keepdims=True))

    return {
        "brier": Known(
            tl.Brier(),
            lambda p: 1 - 2 * p + (p**2).sum(axis=-1, keepdims=True),
            lambda p: 1 - (p**2).sum(axis=-1),
            lambda p: -2 * p,
        ),
        "log": Known(
            tl.Log(),
            quiet(lambda p: -np.log(p)),
            lambda p: -x_log_x(p).sum(axis=-1),
            quiet(lambda p: -np.log(p) - 1),
        ),
        "spherical": pseudospherical(tl.Spherical(), 2.0),
        "power-0.5": power(0.5),
        "power-1.5": power(1.5),
        "power-3": power(3.0),
        "pseudospherical-1.5": pseudospherical(tl.PseudoSpherical(1.5), 1.5),
        "pseudospherical-3": pseudospherical(tl.PseudoSpherical(3.0), 3.0),
        "normalized-pseudospherical-1.5": pseudospherical(tl.PseudoSpherical(1.5, normalized=True), 1.5, 0.5),
        "renyi-0.3": renyi(0.3),
        "renyi-0.7": renyi(0.7),
        "zero-one": Known(
            tl.ZeroOne(),
            lambda p: 1 - _modes(p) / _modes(p).sum(axis=-1, keepdims=True),
            lambda p: 1 - p.max(axis=-1),
            lambda p: -_modes(p) / _modes(p).sum(axis=-1, keepdims=True),
            strict=False,
        ),
        "one-vs-rest-log": one_vs_rest("log", lambda p: -np.log(p), lambda p: -np.log(1 - p)),
        "one-vs-rest-brier": one_vs_rest("brier", lambda p: (1 - p) ** 2, lambda p: p**2),
        "one-vs-rest-boosting": one_vs_rest("boosting", lambda p: np.sqrt((1 - p) / p), lambda p: np.sqrt(p / (1 - p))),
        "separable-arc": separable(lambda x: np.sqrt(x * (2 - x)), lambda x: (1 - x) / np.sqrt(x * (2 - x))),
        "separable-x-log-x": separable(lambda x: -x_log_x(x), lambda x: -np.log(x) - 1),
        "savage-with-gradient": Known(
            tl.Savage(
                lambda v, n: 1 - (n * v**2).sum(axis=-1) - (n * x_log_x(v)).sum(axis=-1),
                lambda v, n: -2 * v - np.log(v),
            ),
            savage(mixed, mixed_gradient),
            mixed,
            mixed_gradient,
        ),
        "savage-logarithm": Known(
            tl.Savage(
                lambda v, n: np.log(2 - (n * v**2).sum(axis=-1)),
                lambda v, n: -2 * v / (2 - (n * v**2).sum(axis=-1, keepdims=True)),
            ),
            savage(bent, bent_gradient),
            bent,
            bent_gradient,
        ),
        "savage-top-2-error": top_error(2),
    }


def _modes(p: Floats) -> Floats:
    return (p == p.max(axis=-1, keepdims=True)).astype(np.float64)


RULES = _rules()
STRICT = {name: known for name, known in RULES.items() if known.strict}

every_rule = pytest.mark.parametrize("known", RULES.values(), ids=RULES)
every_strict_rule = pytest.mark.parametrize("known", STRICT.values(), ids=STRICT)
