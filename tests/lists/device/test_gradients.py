"""Scores are losses: their gradients with respect to the confidences are those of the formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.lists.device.libraries import library

T = tl.TopLists
N, K, M = 80, 4, 11


def content() -> tuple[Any, Any, Any]:
    """Valid lists with room to the proxy, so that a small step keeps them valid, and outcomes of both kinds."""
    rng = np.random.default_rng(6)
    t = 0.15 + 0.08 * rng.random((N, K))
    classes = np.array([rng.permutation(M)[:K] for _ in range(N)])
    listed = rng.random(N) < 0.5
    y = np.where(listed, classes[np.arange(N), rng.integers(0, K, N)], 0)
    for i in np.flatnonzero(~listed):
        y[i] = next(c for c in range(M) if c not in classes[i])
    return classes, t, y


def brier_gradient(t: Any, hit: Any) -> Any:
    """d/dt_j of (1 - q)**2 + sum of the other squares, with the proxy (1 - sum t) / (m - k) of the unlisted."""
    proxy = (1 - t.sum(axis=1, keepdims=True)) / (M - K)
    unlisted = ~hit.any(axis=1, keepdims=True)
    return 2 * t - 2 * proxy - 2 * hit + 2 * unlisted / (M - K)


def log_gradient(t: Any, hit: Any) -> Any:
    """d/dt_j of -log q: -1 / q at the outcome if it is listed, 1 / rest everywhere if it is not."""
    rest = 1 - t.sum(axis=1, keepdims=True)
    return np.where(hit.any(axis=1, keepdims=True), -1.0 * hit / t, 1 / rest)


GRADIENTS: dict[str, Callable[[Any, Any], Any]] = {"brier": brier_gradient, "log": log_gradient}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", GRADIENTS)
def test_torch_finds_the_analytic_gradient(rule: str, dtype: Any) -> None:
    """Backwards through the door and the score."""
    with library("torch") as lib:
        classes, t, y = content()
        leaf = lib.array(t.astype(dtype)).requires_grad_(True)
        tl.score(T.from_topk(lib.array(classes), leaf, M), lib.array(y), rule=rule).sum().backward()
        want = GRADIENTS[rule](t, classes == y[:, None])
        np.testing.assert_allclose(lib.numpy(leaf.grad), want, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-5)


@pytest.mark.parametrize("rule", GRADIENTS)
def test_jax_finds_the_analytic_gradient(rule: str) -> None:
    with library("jax.numpy") as lib:
        import jax

        classes, t, y = content()

        def loss(t: Any) -> Any:
            return tl.score(T.from_topk(lib.array(classes), t, M), lib.array(y), rule=rule).sum()

        want = GRADIENTS[rule](t, classes == y[:, None])
        np.testing.assert_allclose(lib.numpy(jax.grad(loss)(lib.array(t))), want, rtol=1e-12, atol=1e-13)


SMOOTH: dict[str, tl.Rule] = {
    "brier": tl.Brier(),
    "log": tl.Log(),
    "spherical": tl.Spherical(),
    "power 1.5": tl.Power(1.5),
    "power 0.5": tl.Power(0.5),
    "pseudospherical": tl.PseudoSpherical(3.0),
    "renyi": tl.Renyi(0.5),
    "one-vs-rest log": tl.OneVsRest("log"),
    "one-vs-rest brier": tl.OneVsRest("brier"),
    "one-vs-rest boosting": tl.OneVsRest("boosting"),
    "separable": tl.Separable(lambda x: x * (1 - x), lambda x: 1 - 2 * x),
}


def differences(score: Callable[[Any], Any], t: Any, h: float = 1e-6) -> Any:
    """The gradient by central differences, one confidence of every list at a time."""
    out = np.empty_like(t)
    for j in range(t.shape[1]):
        step = np.zeros_like(t)
        step[:, j] = h
        out[:, j] = (score(t + step) - score(t - step)) / (2 * h)
    return out


@pytest.mark.parametrize("rule", SMOOTH.values(), ids=SMOOTH)
@pytest.mark.parametrize("what", ["score", "entropy"])
def test_every_smooth_rule_can_be_differentiated(rule: tl.Rule, what: str) -> None:
    """Against differences of the scores of numpy; no gradient is NaN."""
    with library("torch") as lib:
        classes, t, y = content()

        def value(lists: Any, outcomes: Any) -> Any:
            return tl.score(lists, outcomes, rule=rule) if what == "score" else tl.entropy(lists, rule=rule)

        leaf = lib.array(t).requires_grad_(True)
        value(T.from_topk(lib.array(classes), leaf, M), lib.array(y)).sum().backward()
        want = differences(lambda t: value(T.from_topk(classes, t, M), y), t)
        np.testing.assert_allclose(lib.numpy(leaf.grad), want, rtol=1e-5, atol=1e-7)


def test_zeros_and_certainties_do_not_spoil_the_gradients_of_other_cases() -> None:
    """A list with a zero, a sure list and an empty rest beside an ordinary one: its gradient stays a number."""
    with library("torch") as lib:
        t = np.array([[0.5, 0.25], [0.5, 0.0], [1.0, 0.0], [0.75, 0.25]])
        classes, y = np.array([[0, 1]] * 4), np.array([0, 0, 0, 1])
        for rule in ("brier", "log"):
            leaf = lib.array(t).requires_grad_(True)
            tl.score(T.from_topk(lib.array(classes), leaf, 5), lib.array(y), rule=rule, penalty=0).sum().backward()
            assert np.isfinite(lib.numpy(leaf.grad)).all()
