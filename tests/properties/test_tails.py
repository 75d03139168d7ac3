"""What the top-k functional cuts off is kept to the last digit, as truncation keeps it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl

RULES = ("brier", "log", "spherical", "zero-one", tl.Power(1.5), tl.Renyi(0.5), tl.PseudoSpherical(12))
DIGITS = 2e-13  # the logarithm of 1e-300 has three digits before the point


@st.composite
def distributions(draw: st.DrawFn) -> list[float]:
    """With tails down to 1e-300, in any order; they sum to one up to rounding."""
    heads = draw(st.lists(st.integers(1, 50), min_size=1, max_size=4))
    tails = draw(st.lists(st.floats(-300, -9).map(lambda x: 10.0**x) | st.just(0.0), min_size=1, max_size=4))
    return list(draw(st.permutations([h / sum(heads) for h in heads] + tails)))


def as_named(p: list[float]) -> dict[str, float]:
    return {f"c{i}": x for i, x in enumerate(p)}


@given(p=distributions(), k=st.integers(0, 8), beta=st.floats(0.05, 1), rule=st.sampled_from(RULES))
def test_top_lists_of_a_distribution_are_its_truncations(p: list[float], k: int, beta: float, rule: Any) -> None:
    """The same classes, confidences, rest mass, entropy and expected score, by position and by label."""
    k = min(k, len(p))
    whole = tl.TopLists.from_proba([p])
    pairs = [
        (tl.lists.top_k(p, k), whole.truncate(k)[0]),
        (tl.lists.top_mass(p, beta), whole.truncate(mass=beta)[0]),
        (tl.lists.top_k(as_named(p), k), tl.TopLists.from_dicts([as_named(p)], len(p)).truncate(k)[0]),
    ]
    for made, cut in pairs:
        assert made.classes == cut.classes
        assert list(made.confidences.values()) == pytest.approx(list(cut.confidences.values()), rel=5e-16, abs=0)
        assert made.rest == pytest.approx(cut.rest, rel=DIGITS, abs=0)
        assert tl.entropy(made, rule=rule) == pytest.approx(tl.entropy(cut, rule=rule), rel=1e-12, abs=1e-300)
    for made, cut in pairs[:2]:
        expected, same = (tl.expected_score(one, p, rule=rule) for one in (made, cut))
        assert expected == pytest.approx(same, rel=1e-12, abs=1e-300)


@given(p=distributions(), k=st.integers(0, 8))
def test_the_rest_mass_is_the_sum_of_what_is_cut_off(p: list[float], k: int) -> None:
    """Exact, by rational numbers, for every true list; and the log score of what was cut off is finite."""
    k, total = min(k, len(p)), sum(map(Fraction, p))
    for made in (*tl.lists.true_lists(p, k), *tl.scoring.topbeta.true_top_beta(p, 0.9), tl.lists.top_k(p, k)):
        tail = sum(Fraction(x) for c, x in enumerate(p) if c not in made.confidences) / total
        assert made.rest == pytest.approx(float(tail), rel=DIGITS, abs=0)
        if tail:
            last = next(c for c in range(len(p)) if c not in made.confidences)
            assert math.isfinite(tl.score(made.valid(), last, rule="log"))


def test_the_expected_log_score_of_a_list_with_a_tiny_tail_is_finite() -> None:
    p = [0.5, 0.5, 1e-17]
    for made in (
        tl.lists.top_k(p, 2),
        tl.lists.top_mass(p, 1.0 - 1e-10),
        *tl.lists.true_lists(p, 2),
        *tl.scoring.topbeta.true_top_beta(p, 0.9),
    ):
        assert tl.expected_score(made, p, rule="log") == pytest.approx(math.log(2))
        assert made in tl.lists.true_lists(p, 2)


def test_a_list_of_labels_keeps_its_own_space_and_rest_mass() -> None:
    """What it leaves over is part of the tail of its own top list."""
    lists = tl.TopLists.from_dicts([{"a": 0.5, "b": 0.5}], 5, log_rest=[-900.0])
    made = tl.lists.top_k(lists[0], 2)
    assert made.size == 5
    assert made.batch.log_rest is not None
    assert made.batch.log_rest[0] == -900.0
    assert tl.lists.top_k(lists[0], 1).rest == 0.5


def test_a_sum_that_is_off_by_rounding_is_divided_out() -> None:
    p = np.array([0.5, 0.3, 0.2]) * (1 + 5e-9)
    made = tl.lists.top_k(p, 2)
    assert made.mass + made.rest == pytest.approx(1, abs=1e-15)
    assert made in tl.lists.true_lists(p, 2)
    assert tl.lists.is_true(made, p)


@pytest.mark.parametrize("wrong", [{"a": "x"}, {"a": None}, {"a": math.nan}, [math.nan, 1.0], [], {}, ["a"], 3, None])
def test_what_is_no_distribution_is_refused(wrong: Any) -> None:
    with pytest.raises(tl.TopListError):
        tl.lists.top_k(wrong, 1)
