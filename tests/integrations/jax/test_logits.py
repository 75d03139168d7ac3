"""Lists and scores from logits in JAX are those of the library in float64, and those of torch."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import toplist as tl
from tests.integrations.jax.rows import KS, RULES, WIDTH, hard_rows, order, ranks, reference
from toplist.errors import OutcomeError, RuleError, ShapeError, TopListError

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")
ml_dtypes = pytest.importorskip("ml_dtypes")

from toplist.integrations import jax as tj  # noqa: E402

HALVES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}


def assert_scores_are_those_of_the_library(x: np.ndarray, y: np.ndarray, rules: Any, rtol: float, atol: float) -> None:
    """Lists, ranks, log probabilities and scores, of lists of each length and of full rows."""
    found = tj.scores_from_logits(jnp.asarray(x), y, KS, rules)
    np.testing.assert_array_equal(found.lists.classes, order(x)[:, : max(KS)])
    np.testing.assert_array_equal(found.rank, ranks(x, y))
    for j, k in enumerate(KS):
        expected = reference(x, y, k, rules)
        for name in expected:
            np.testing.assert_allclose(found.padded[name][:, j], expected[name], rtol, atol, err_msg=f"{name}, {k}")
    for name in expected:
        np.testing.assert_allclose(found.full[name], expected[name], rtol, atol, err_msg=name)
    np.testing.assert_allclose(found.log_prob, -reference(x, y, WIDTH, "log")["log"], rtol, atol)


def test_scores_are_those_of_the_library() -> None:
    assert_scores_are_those_of_the_library(*hard_rows(), RULES, rtol=1e-5, atol=1e-36)


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("dtype", HALVES.values(), ids=HALVES)
def test_half_types_have_the_scores_of_their_values(dtype: Any) -> None:
    """They are computed in single precision."""
    assert_scores_are_those_of_the_library(*hard_rows(dtype), "spherical", rtol=1e-5, atol=1e-36)


@pytest.mark.usefixtures("x64", "_quick")
def test_scores_of_double_precision_are_those_of_the_library_to_twelve_digits() -> None:
    assert_scores_are_those_of_the_library(*hard_rows(np.float64), RULES, rtol=1e-12, atol=0)


def test_lists_are_those_of_the_library() -> None:
    x, _ = hard_rows()
    for k in (1, 7):
        found, expected = tj.lists_from_logits(jnp.asarray(x), k), tl.TopLists.from_logits(x.astype(np.float64), k=k)
        np.testing.assert_array_equal(found.classes, expected.classes.reshape(-1, k))
        with np.errstate(divide="ignore"):
            logs = np.log(expected.confidences.reshape(-1, k))
        np.testing.assert_allclose(found.log_confidences, logs, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found.to_lists(WIDTH).log_rest, expected.log_rest, 1e-6)


def test_the_rest_of_a_nearly_certain_list_and_of_a_nearly_uniform_row_keep_their_digits() -> None:
    x = np.zeros((2, 100_000), np.float32)
    x[0, 7] = 60.0
    found = tj.lists_from_logits(jnp.asarray(x), 1)
    np.testing.assert_allclose(found.log_rest, [np.log(99_999) - 60.0, np.log1p(-1e-5)], rtol=2e-6)
    np.testing.assert_allclose(found.log_confidences[0, 0], -99_999 * np.exp(-60.0), rtol=2e-6)


def test_temperature_divides_logits() -> None:
    x, y = hard_rows()
    warm = tj.scores_from_logits(jnp.asarray(x), y, KS, RULES, temperature=2.0)
    plain = tj.scores_from_logits(jnp.asarray(x / 2), y, KS, RULES)
    for name, expected in plain.padded.items():
        np.testing.assert_allclose(warm.padded[name], expected, 1e-6)
    np.testing.assert_array_equal(warm.lists.classes, plain.lists.classes)


def test_ignored_outcomes_have_rank_zero_and_no_score() -> None:
    x, y = hard_rows()
    some = np.where(np.arange(len(y)) % 3 == 0, 11, np.where(y == 11, 12, y))
    found = tj.scores_from_logits(jnp.asarray(x), some, KS, RULES, ignore_index=11)
    assert np.isnan(found.padded["brier"]).any(axis=1).tolist() == (some == 11).tolist()
    assert (np.asarray(found.rank) == 0).tolist() == (some == 11).tolist()
    assert np.isnan(found.log_prob).tolist() == np.isnan(found.full["brier"]).tolist() == (some == 11).tolist()


@pytest.mark.parametrize("wrong", [np.nan, -np.nan, np.inf, "masked"])
def test_a_row_that_is_no_distribution_gives_nan_everywhere(wrong: Any) -> None:
    """And no other row does."""
    x, y = hard_rows()
    if wrong == "masked":
        x[2] = -np.inf
    else:
        x[2, 9] = wrong
    found = tj.scores_from_logits(jnp.asarray(x), y, KS, RULES)
    parts = [*found.padded.values(), *found.full.values(), found.log_prob, *found.lists[1:]]
    for part in parts:
        whole = np.isnan(np.asarray(part).reshape(len(x), -1))
        assert whole[2].all()
        assert not np.delete(whole, 2, axis=0).any()


@pytest.mark.usefixtures("_quick")
def test_any_leading_dimensions() -> None:
    x, y = hard_rows()
    cube = tj.scores_from_logits(jnp.asarray(x).reshape(2, 3, 4, WIDTH), y.reshape(2, 3, 4), (5,), "log")
    assert cube.lists.classes.shape == (2, 3, 4, 5)
    np.testing.assert_allclose(cube.padded["log"].reshape(-1), reference(x, y, 5, "log")["log"], rtol=1e-5)
    none = tj.scores_from_logits(jnp.zeros((0, 3, WIDTH)), np.zeros((0, 3), int), (5,), "log")
    assert none.padded["log"].shape == (0, 3, 1)
    assert tj.lists_from_logits(jnp.asarray(x[3]), 4).classes.tolist() == order(x)[3, :4].tolist()


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint32])
def test_outcomes_of_any_integer_type(kind: Any) -> None:
    x, y = hard_rows()
    for given_y in (y.astype(kind), jnp.asarray(y.astype(kind))):
        found = tj.scores_from_logits(jnp.asarray(x), given_y, KS, RULES)
        np.testing.assert_array_equal(found.rank, ranks(x, y))


@pytest.mark.usefixtures("_quick")
def test_one_class_is_certain() -> None:
    found = tj.scores_from_logits(jnp.asarray([[3.0], [-2.0]]), np.zeros(2, int), (1,), ("brier", "log"))
    assert found.rank.tolist() == [1, 1]
    for part in (*found.full.values(), *found.padded.values()):
        assert not np.asarray(part).any()


def test_what_cannot_be_meant_is_refused() -> None:
    x, y = hard_rows()
    x = jnp.asarray(x)
    for wrong in (-1, WIDTH):
        with pytest.raises(OutcomeError, match=f"case 2: the outcome {wrong} is outside the 40 classes"):
            tj.scores_from_logits(x, np.where(np.arange(len(y)) == 2, wrong, y))
    with pytest.raises(OutcomeError, match="4294967296"):  # which JAX would make 0
        tj.scores_from_logits(x, np.where(np.arange(len(y)) == 2, 2**32, y))
    with pytest.raises(ShapeError, match=r"y has the shape \(3,\), and logits are of \(24,\) cases"):
        tj.scores_from_logits(x, y[:3])
    with pytest.raises(ShapeError, match="class indices, not float32"):
        tj.scores_from_logits(x, jnp.zeros(24))
    with pytest.raises(ShapeError, match="floating-point numbers, not int"):
        tj.lists_from_logits(jnp.zeros((2, 3), int), 1)
    with pytest.raises(ShapeError, match=r"\(\.\.\., classes\)"):
        tj.lists_from_logits(jnp.zeros((2, 0)), 1)
    with pytest.raises(TopListError, match="k is at most 40 here, not 41: there are no more classes"):
        tj.lists_from_logits(x, 41)
    with pytest.raises(RuleError, match="zero-one is not computed from logits"):
        tj.scores_from_logits(x, y, rules="zero-one")
    for wrong in (0.0, -1, float("inf"), float("nan"), jnp.asarray(0.0), "warm"):
        with pytest.raises(TopListError, match="temperature is a number from"):
            tj.lists_from_logits(x, 1, temperature=wrong)
    with pytest.raises(ShapeError, match=r"temperature is one number, not float32\(2,\)"):
        tj.lists_from_logits(x, 1, temperature=jnp.ones(2))


LOGITS = st.one_of(
    st.sampled_from([-np.inf, 0.0, -0.0, 1.0, 1.5, 30.0, -200.0]), st.floats(-50, 50, width=16, allow_subnormal=False)
)


@settings(max_examples=40)
@given(x=hnp.arrays(np.float32, (3, 6), elements=LOGITS), y=hnp.arrays(np.int64, 3, elements=st.integers(0, 5)))
def test_lists_scores_and_ranks_obey_their_laws(x: np.ndarray, y: np.ndarray) -> None:
    """Mass adds up to one; a list of all classes is the row; the rank is the outcome's place; scores are not negative.

    The Brier score of a list is that of the mean over its unlisted classes, so that a longer list never has the larger
    sum of squares.
    """
    x[:, 0] = np.where(np.isinf(x).all(axis=1), 0.0, x[:, 0])
    found = tj.scores_from_logits(jnp.asarray(x), y, (1, 4, 6), ("brier", "log", "spherical"))
    lists = tj.lists_from_logits(jnp.asarray(x), 2)
    mass = np.exp(np.float64(lists.log_confidences)).sum(axis=1) + np.exp(np.float64(lists.log_rest))
    np.testing.assert_allclose(mass, 1.0, rtol=1e-6)
    np.testing.assert_array_equal(found.lists.classes, order(x))
    np.testing.assert_array_equal(np.asarray(found.lists.classes)[np.arange(3), np.asarray(found.rank) - 1], y)
    for name, scores in found.padded.items():
        np.testing.assert_allclose(scores[:, -1], found.full[name], rtol=2e-6, atol=1e-37)
        assert (np.asarray(scores) >= 0).all()


def test_scores_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from toplist.integrations import torch as tt

    x, y = hard_rows()
    mine = tj.scores_from_logits(jnp.asarray(x), y, KS, RULES)
    theirs = tt.scores_from_logits(torch.from_numpy(x), torch.from_numpy(y), KS, RULES)
    assert list(mine.padded) == list(theirs.padded)
    np.testing.assert_array_equal(mine.rank, theirs.rank)
    for name in mine.padded:
        np.testing.assert_allclose(mine.padded[name], theirs.padded[name], rtol=1e-5, atol=1e-30)
        np.testing.assert_allclose(mine.full[name], theirs.full[name], rtol=1e-5, atol=1e-30)
    for part, other in zip(mine.lists, theirs.lists, strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-5)


def test_rows_that_are_no_distribution_have_no_rank() -> None:
    logits = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)
    logits[0, 2], logits[1, 2], logits[2], logits[3] = np.nan, np.inf, -np.inf, np.nan
    found = tj.scores_from_logits(jnp.asarray(logits), jnp.array([0, 1, 2, -100, 4]), ks=(1, 3))
    assert np.asarray(found.rank)[:4].tolist() == [-2, -2, -2, 0]
    assert found.rank[4] > 0
    assert found.ks == (1, 3)
    assert len(jax.tree.leaves(found)) == 3 + 2 + 2 * 2
