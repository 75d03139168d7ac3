"""Losses and divergences of lists in JAX are what their definitions say, and so are their gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.integrations.jax.rows import hard_rows
from tests.lists.device.libraries import library
from toplist.errors import ClassError, ConfidenceError, MassError, OutcomeError, RuleError, ShapeError, TopListError

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = jax.numpy

from toplist.integrations import jax as tj  # noqa: E402

RULES: dict[str, Any] = {
    "log": tl.Log(),
    "brier": tl.Brier(),
    "half brier": tl.Brier(scale_by_half=True),
    "spherical": tl.PseudoSpherical(2.0),
    "pseudospherical": tl.PseudoSpherical(3.5, normalized=True),
    "power 1.5": tl.Power(1.5),
    "power 0.5": tl.Power(0.5),
}
HOW = ((None, 0.0), (2, 0.0), (None, 0.3), (3, 0.1), (6, 0.2), (2, 0.3), (3, 0.0))  # k and label smoothing
VARIANTS = [(rule, *how) for rule, how in zip(RULES.values(), HOW, strict=True)]
KINDS = [(rule, bool(i % 2)) for i, rule in enumerate(RULES.values())]  # with the direction
pytestmark = pytest.mark.usefixtures("_quick")


def each_score(rule: Any, t: np.ndarray) -> np.ndarray:
    """The scores of distributions at each class, by the formulas of textbooks."""
    if isinstance(rule, tl.Log):
        return -np.log(t)
    if isinstance(rule, tl.Brier):
        return (1 - 2 * t + (t**2).sum(axis=-1, keepdims=True)) * (0.5 if rule.scale_by_half else 1.0)
    a, powers = rule.a, (t**rule.a).sum(axis=-1, keepdims=True)
    if isinstance(rule, tl.Power):
        return (1 - a * t ** (a - 1)) / (a - 1) + powers
    return (1 - t ** (a - 1) / powers ** ((a - 1) / a)) / (a - 1.0 if rule.normalized else 1.0)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def padded(p: np.ndarray, k: int | None) -> np.ndarray:
    """All but the k most likely classes share what is left over."""
    place = np.argsort(np.argsort(-p, axis=-1, kind="stable"), axis=-1)
    unlisted = place >= (k or p.shape[-1])
    rest = np.where(unlisted, p, 0).sum(axis=-1, keepdims=True)
    return np.where(unlisted, rest / np.maximum(unlisted.sum(axis=-1, keepdims=True), 1), p)


def expected_score(x: np.ndarray, y: np.ndarray, rule: Any, k: int | None, smoothing: float) -> np.ndarray:
    each = each_score(rule, padded(softmax(x), k))
    return (1 - smoothing) * each[np.arange(len(y)), y] + smoothing * each.mean(axis=1)


def coarse(p: np.ndarray, classes: np.ndarray) -> np.ndarray:
    listed = np.take_along_axis(p, classes, axis=1)
    return np.concatenate([listed, 1 - listed.sum(axis=1, keepdims=True)], axis=1)


def expected_divergence(x: np.ndarray, t: np.ndarray, classes: np.ndarray, rule: Any, reverse: bool) -> np.ndarray:
    p, q = coarse(t, classes), coarse(softmax(x), classes)
    p, q = (q, p) if reverse else (p, q)
    return (p * (each_score(rule, q) - each_score(rule, p))).sum(axis=1)


def numeric_gradient(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Central differences of a function of rows, one column at a time."""
    step = 1e-5 * np.eye(x.shape[1])
    return np.stack([(f(x + h) - f(x - h)) / 2e-5 for h in step], axis=1)


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(5, 6)) * 2
    x[1, 2] = 0.0
    return x, np.array([0, 3, 5, 2, 2])


@pytest.mark.usefixtures("x64")
def test_losses_and_their_gradients_are_those_of_textbook_formulas(rows: Any) -> None:
    """For full distributions and padded lists, with and without label smoothing."""
    x, y = rows

    def losses(z: Any) -> Any:
        found = [tj.score_loss(z, y, rule=r, k=k, label_smoothing=s, reduction="none") for r, k, s in VARIANTS]
        return jnp.stack(found).sum(axis=1), jnp.stack(found)

    slopes, value = jax.jit(jax.jacrev(losses, has_aux=True))(jnp.asarray(x))
    for i, variant in enumerate(VARIANTS):
        expected = numeric_gradient(lambda z, how=variant: expected_score(z, y, *how), x)
        np.testing.assert_allclose(value[i], expected_score(x, y, *variant), rtol=1e-10, err_msg=str(variant))
        np.testing.assert_allclose(slopes[i], expected, rtol=1e-6, atol=1e-8, err_msg=str(variant))


@pytest.mark.usefixtures("x64")
def test_divergences_and_their_gradients_are_those_of_textbook_formulas(rows: Any) -> None:
    """Expected scores under the one distribution, of the other and of itself, both coarsened; in both directions."""
    x, _ = rows
    t = softmax(np.random.default_rng(2).normal(size=x.shape))
    t[0] = softmax(x[0] + 1e-3 * np.arange(6))  # nearly the student's
    classes = np.array([[0, 2, 5], [5, 1, 0], [3, 4, 1], [2, 0, 1], [1, 2, 3]])
    logs = jnp.log(jnp.asarray(coarse(t, classes)))

    def divergences(z: Any) -> Any:
        of = partial(tj.list_divergence, classes, logs[:, :3], z, teacher_log_rest=logs[:, 3], reduction="none")
        found = [of(rule=rule, reverse=reverse) for rule, reverse in KINDS]
        return jnp.stack(found).sum(axis=1), jnp.stack(found)

    slopes, value = jax.jit(jax.jacrev(divergences, has_aux=True))(jnp.asarray(x))
    assert (np.asarray(value) > 0).all()
    for i, kind in enumerate(KINDS):
        exact = expected_divergence(x, t, classes, *kind)
        expected = numeric_gradient(lambda z, how=kind: expected_divergence(z, t, classes, *how), x)
        np.testing.assert_allclose(value[i], exact, rtol=1e-7, atol=1e-13, err_msg=str(kind))
        np.testing.assert_allclose(slopes[i], expected, rtol=1e-6, atol=1e-8, err_msg=str(kind))


def test_a_divergence_is_zero_with_no_gradient_at_the_teacher_alone() -> None:
    """In single precision too: it neither is negative nor drowns in rounding."""
    x, _ = hard_rows()
    lists = tj.lists_from_logits(jnp.asarray(x), 5)
    of = partial(tj.list_divergence, *lists[:2], teacher_log_rest=lists.log_rest, reduction="none")

    @jax.jit
    def both(z: Any) -> Any:
        here = jnp.stack([of(z, rule=rule) for rule in ("log", "spherical")])
        return here.sum(axis=1), here

    slopes, here = jax.jit(jax.jacrev(both, has_aux=True))(jnp.asarray(x))
    near = both(jnp.asarray(x).at[:, 0].add(1e-3))[1]
    assert (np.asarray(here) < 1e-11).all()
    assert (np.asarray(near) >= 0).all()
    np.testing.assert_allclose(slopes, 0.0, atol=3e-6)


def test_the_divergence_of_a_close_student_keeps_its_digits() -> None:
    """In single precision, where sums of scores would cancel to noise."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20, 50)).astype(np.float32)
    other = x + rng.normal(size=x.shape).astype(np.float32) * 1e-3
    lists = tl.TopLists.from_logits(other.astype(np.float64), k=4)
    classes, t = lists.classes.reshape(-1, 4), softmax(other.astype(np.float64))
    logs = np.log(coarse(t, classes)).astype(np.float32)
    found = tj.list_divergence(classes, logs[:, :4], jnp.asarray(x), teacher_log_rest=logs[:, 4], reduction="none")
    expected = expected_divergence(x.astype(np.float64), t, classes, tl.Log(), False)
    assert expected.max() < 2e-6
    np.testing.assert_allclose(found, expected, rtol=5e-3, atol=1e-12)


def test_gradients_of_hard_rows_are_finite_and_those_of_double_precision() -> None:
    """Masks, ties, certain and hopeless outcomes. The log of a masked outcome is infinite, and its gradient is not."""
    x, y = hard_rows()
    kept = np.arange(len(y)) != 6  # a masked outcome

    @jax.jit
    @jax.jacrev
    def slopes(z: Any) -> Any:
        of = partial(tj.score_loss, z, y, sample_weight=kept, reduction="sum")
        return jnp.stack([of(rule="log"), of(rule=tl.Power(1.5), k=5)])

    single = np.asarray(slopes(jnp.asarray(x)))
    assert np.isfinite(single).all()
    with library("jax.numpy"):
        np.testing.assert_allclose(single, slopes(jnp.asarray(x.astype(np.float64))), rtol=1e-4, atol=3e-7)
    value, slope = jax.value_and_grad(tj.score_loss)(jnp.asarray(x[6:7]), y[6:7], rule="log")
    assert np.isinf(value)
    assert np.isfinite(slope).all()


def test_losses_and_divergences_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from toplist.integrations import torch as tt

    x, y = (part[13:] for part in hard_rows())
    lists = tt.lists_from_logits(torch.from_numpy(x[::-1].copy()), 5)
    how: dict[str, Any] = {"rule": "spherical", "k": 3, "label_smoothing": 0.2, "temperature": 2.0, "ignore_index": 31}
    mine = tj.score_loss(jnp.asarray(x), y, **how)
    np.testing.assert_allclose(mine, tt.score_loss(torch.from_numpy(x), torch.from_numpy(y), **how), rtol=1e-5)
    how = {"rule": "log", "reverse": True, "temperature": 3.0, "reduction": "none"}
    rest = {"teacher_log_rest": lists.log_rest}
    parts = [np.asarray(part) for part in lists]
    mine = tj.list_divergence(*parts[:2], jnp.asarray(x), teacher_log_rest=parts[2], **how)
    np.testing.assert_allclose(mine, tt.list_divergence(*lists[:2], torch.from_numpy(x), **rest, **how), rtol=1e-5)


def test_rows_that_do_not_count_have_no_effect_whatever_they_hold() -> None:
    x, y = hard_rows()
    x, weight = x[14:20].copy(), np.array([1.0, 0.0, 2.0, 1.0, 1.0, 0.5], np.float32)
    y = np.where(np.arange(6) == 4, -100, y[14:20])
    of = jax.jit(jax.value_and_grad(partial(tj.score_loss, y=y, sample_weight=weight)))
    plain, _ = of(jnp.asarray(x))
    x[1], x[4] = np.nan, np.inf
    value, slope = of(jnp.asarray(x))
    assert value == plain
    assert not np.asarray(slope)[[1, 4]].any()
    assert np.isfinite(slope).all()
    classes, logs = np.array([[0, 1]] * 6), np.log([[0.5, 0.25]] * 6).astype(np.float32)
    logs[1], classes[4] = np.nan, 77
    value, slope = jax.value_and_grad(
        lambda z: tj.list_divergence(classes, logs, z, sample_weight=weight * (y != -100))
    )(jnp.asarray(x))
    assert np.isfinite(value)
    assert not np.asarray(slope)[[1, 4]].any()
    assert np.isfinite(slope).all()


def test_short_lists_are_padded_with_what_is_no_class(rows: Any) -> None:
    x = jnp.asarray(rows[0][:2].astype(np.float32))
    logs = jnp.log(jnp.asarray([[0.5, 0.3], [0.25, 0.6]]))
    both = tj.list_divergence(np.array([[1, 2], [-100, 4]]), logs, x, reduction="none")
    alone = tj.list_divergence(np.array([[4]]), logs[1:, 1:], x[1:], reduction="none")
    np.testing.assert_allclose(both[1], alone[0], rtol=1e-6)


def test_a_learned_temperature_has_a_gradient(rows: Any) -> None:
    x, y = rows[0].astype(np.float32), rows[1]

    def loss(t: Any) -> Any:
        return tj.score_loss(jnp.asarray(x).at[0, 4].set(-jnp.inf), y, rule="log", temperature=t)

    slope = jax.grad(loss)(jnp.asarray(1.5))
    np.testing.assert_allclose(slope, (loss(1.5 + 1e-2) - loss(1.5 - 1e-2)) / 2e-2, rtol=1e-2)


def test_what_cannot_be_meant_is_refused_or_gives_nan(rows: Any) -> None:
    """Refused where values are known; NaN in a transformed function, and in no other row."""
    x, y = jnp.asarray(rows[0].astype(np.float32)), rows[1]
    classes, logs = np.array([[0, 1]] * 5), np.log([[0.5, 0.25]] * 5).astype(np.float32)
    put = lambda a, v: np.where(np.arange(5)[:, None] == 3, v, a).astype(a.dtype)  # noqa: E731
    traced = jax.jit(lambda *given: tj.list_divergence(*given, x, reduction="none"))
    for changed, error, said in (
        ((put(classes, [0, 6]), logs), ClassError, "case 3: class 6 is outside of the 6 classes"),
        ((put(classes, [-1, 1]), logs), ClassError, "case 3: class -1 is outside"),
        ((put(classes, [2, 2]), logs), ClassError, "case 3: class 2 is listed twice"),
        ((classes, put(logs, [-1.0, np.nan])), ConfidenceError, "case 3: nan is no log probability"),
        ((classes, put(logs, [0.5, 0.25])), ConfidenceError, "case 3: 0.5 is no log probability"),
        ((classes, put(logs, [-0.1, -0.1])), MassError, "case 3: the listed probabilities add up to 1.80"),
    ):
        with pytest.raises(error, match=said):
            tj.list_divergence(*changed, x)
        assert np.isnan(traced(*changed)).tolist() == [False, False, False, True, False]
    with pytest.raises(MassError, match=r"and the rest add up to 1\.75"):
        tj.list_divergence(classes, logs, x, teacher_log_rest=np.zeros(5, np.float32))
    with pytest.raises(OutcomeError, match="outcome 6"):
        tj.score_loss(x, np.where(y == 5, 6, y))
    lost = jax.jit(lambda y: tj.score_loss(x, y, reduction="none"))(np.where(y == 5, 6, y))
    assert np.isnan(lost).tolist() == [False, False, True, False, False]
    with pytest.raises(ShapeError, match=r"teacher_classes \(5, 2\)"):
        tj.list_divergence(classes, logs[:4], x)
    with pytest.raises(ShapeError, match="sample_weight is an array of the shape"):
        tj.score_loss(x, y, sample_weight=np.ones(4))
    with pytest.raises(ConfidenceError, match=r"case 0: the weight -1\.0"):
        tj.score_loss(x, y, sample_weight=-np.ones(5))
    with pytest.raises(TopListError, match="reduction is"):
        tj.score_loss(x, y, reduction="median")
    with pytest.raises(TopListError, match="label_smoothing is between 0 and 1"):
        tj.score_loss(x, y, label_smoothing=1.5)
    with pytest.raises(RuleError, match="one rule, not 2"):
        tj.score_loss(x, y, rule=("brier", "log"))


@pytest.mark.parametrize("mask", [-100.0, -1e9, float(np.finfo(np.float32).min)])
def test_gradients_of_lists_are_finite_where_the_rest_underflows(mask: float) -> None:
    logits, y = jnp.array([[2.0, 1.0, 0.0, mask, mask, mask]]), jnp.array([0])
    found = jax.grad(lambda x: tj.score_loss(x, y, k=3))(logits)
    whole = jax.grad(lambda x: tj.score_loss(x, y))(logits)
    np.testing.assert_allclose(found, whole, atol=1e-6)
    assert np.isfinite(jax.grad(lambda x: tj.lists_from_logits(x, 3).log_confidences.sum())(logits)).all()


def test_what_would_be_refused_gives_nan_under_jit() -> None:
    logits, y = jnp.array([[2.0, 0.0, 1.0], [1.0, 0.0, 1.0]]), jnp.array([0, 1])
    for wrong in (-1.0, jnp.inf):
        assert np.isnan(jax.jit(lambda w: tj.score_loss(logits, y, sample_weight=w))(jnp.array([1.0, wrong])))
        assert np.isnan(jax.jit(lambda t: tj.score_loss(logits, y, temperature=t))(wrong))


def test_what_rounding_leaves_over_of_a_list_is_no_rest_and_what_underflows_is_zero() -> None:
    classes, logs = jnp.array([[0, 1, 2]]), jnp.log(jnp.array([[0.5, 0.3, 0.2]]))
    student, none = jnp.array([[2.0, 1.0, 0.0, -1e9, -1e9]]), jnp.array([-jnp.inf])
    for reverse in (False, True):
        want = tj.list_divergence(classes, logs, student, teacher_log_rest=none, reverse=reverse)
        assert np.isfinite(want)
        np.testing.assert_allclose(tj.list_divergence(classes, logs, student, reverse=reverse), want, rtol=1e-6)


def test_rows_without_any_class_are_padding_and_do_not_count() -> None:
    rng = np.random.default_rng(0)
    student, teacher = rng.standard_normal((6, 9)), rng.standard_normal((6, 9))
    lists = tj.lists_from_logits(jnp.asarray(teacher, jnp.float32), 3)
    padded = lists.classes.at[3:].set(-100)
    logits = jnp.asarray(student, jnp.float32)
    found = tj.list_divergence(padded, lists.log_confidences, logits, teacher_log_rest=lists.log_rest)
    known = tj.list_divergence(
        lists.classes[:3], lists.log_confidences[:3], logits[:3], teacher_log_rest=lists.log_rest[:3]
    )
    np.testing.assert_allclose(found, known, rtol=1e-6)
