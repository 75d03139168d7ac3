"""Cutting lists short: what is cut off joins the rest mass, and nothing is lost."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import toplist as tl
from tests.oracle.dense import RULES
from tests.properties.cases import Case, batches, cases, distributions, every_rule, law


@law
@given(batch=batches(), k=st.integers(0, 7))
def test_mass_and_rest_of_a_truncated_list_make_one(batch: tuple[tl.TopLists, list[int]], k: int) -> None:
    """Cut to k classes: the listed confidences and the rest mass add up, list by list."""
    lists, _ = batch
    cut = lists.truncate(k)
    np.testing.assert_array_equal(cut.sizes, np.minimum(lists.sizes, k))
    for t in cut:
        assert math.fsum([*t.confidences.values(), t.rest]) == pytest.approx(1, abs=1e-12)
        assert t.mass + t.rest == pytest.approx(1, abs=1e-15)
        assert t.proxy * (t.size - len(t)) == pytest.approx(t.rest, abs=1e-15)


@law
@given(case=cases(), k=st.integers(0, 7))
def test_truncation_keeps_the_most_confident_classes_first(case: Case, k: int) -> None:
    """In falling order, ties in the order given."""
    expected = sorted(case.listed, key=lambda c: -case.listed[c])[:k]
    cut = case.list.truncate(k)
    assert list(cut.classes) == expected
    for c, x in cut.confidences.items():
        assert x == pytest.approx(case.listed[c], rel=1e-8)


@law
@given(case=cases(), a=st.integers(0, 7), b=st.integers(0, 7))
def test_truncating_twice_is_truncating_to_the_shorter(case: Case, a: int, b: int) -> None:
    twice, once = case.list.truncate(a).truncate(b), case.list.truncate(min(a, b))
    assert twice.classes == once.classes
    assert twice.rest == pytest.approx(once.rest, rel=1e-12, abs=1e-15)


@law
@given(case=cases(exact=True), mass=st.integers(0, 64).map(lambda i: i / 64))
def test_truncation_to_a_mass_takes_as_few_classes_as_reach_it(case: Case, mass: float) -> None:
    """All of them, where they do not."""
    cut = case.list.truncate(mass=mass)
    falling = sorted(case.listed.values(), reverse=True)
    k = next((k for k in range(len(falling) + 1) if sum(falling[:k]) >= mass), len(falling))
    assert len(cut) == k
    assert cut == case.list.truncate(k)


@law
@given(p=distributions(), k=st.integers(0, 7))
def test_a_truncated_distribution_is_valid_and_a_true_list(p: list[float], k: int) -> None:
    """Whichever way it is made."""
    k = min(k, len(p))
    lists = tl.TopLists.from_proba([p])
    complete = tl.TopLists.from_dicts([dict(enumerate(p))], len(p))
    made = [lists.truncate(k)[0], complete.truncate(k)[0], tl.TopLists.from_proba([p], k=k)[0], tl.lists.top_k(p, k)]
    for t in made:
        assert t.is_valid()
        assert tl.lists.is_true(t, p, tol=1e-12)
        assert t.classes == made[0].classes
        assert t.rest == pytest.approx(made[0].rest, rel=1e-9, abs=1e-15)


@law
@given(case=cases(), k=st.integers(0, 7))
def test_a_truncated_valid_list_is_valid(case: Case, k: int) -> None:
    assert case.list.valid().truncate(k).is_valid()


@every_rule
@law
@given(p=distributions(), data=st.data())
def test_truncated_distributions_score_as_lists_written_down(name: str, p: list[float], data: st.DataObject) -> None:
    """A list cut from a distribution, and the same list typed in."""
    k, y = data.draw(st.integers(0, len(p) - 1)), data.draw(st.integers(0, len(p) - 1))
    cut = tl.TopLists.from_proba([p], k=k)[0]
    assume(cut.rest == 0 or cut.rest > 1e-6)  # below that one minus the listed mass has lost digits of the rest
    typed = tl.TopList(cut.confidences, len(p))
    assume((cut.rest > 0) == (typed.rest > 0))
    expected = tl.score(typed, y, rule=RULES[name].rule)
    tol = max(RULES[name].tol, 1e-9)
    assert tl.score(cut, y, rule=RULES[name].rule) == pytest.approx(expected, rel=tol, abs=tol)


@pytest.mark.parametrize("log_rest", [-20.0, -800.0])
def test_truncation_adds_to_a_rest_mass_known_by_its_logarithm(log_rest: float) -> None:
    t = [0.5, 0.25, 0.25]
    lists = tl.TopLists.from_topk([[0, 1, 2]], [t], 10, log_rest=[log_rest])
    for k in range(4):
        tail = math.fsum(t[k:])
        expected = math.log(tail + math.exp(log_rest)) if tail else log_rest
        cut = lists.truncate(k)
        assert cut.rest[0] == pytest.approx(tail + math.exp(log_rest), rel=1e-14)
        assert tl.score(cut, [9], rule="log")[0] == pytest.approx(math.log(10 - k) - expected, rel=1e-14)


def test_the_tail_of_a_long_distribution_keeps_its_digits() -> None:
    """One minus the listed mass would be noise: the tail is summed, not subtracted."""
    p = np.full(1000, 1e-18)
    p[:2] = 0.75, 0.25
    for lists in (tl.TopLists.from_proba([p], k=2), tl.TopLists.from_dicts([dict(enumerate(p))], 1000).truncate(2)):
        assert lists.rest[0] == pytest.approx(998e-18, rel=1e-12)
        assert tl.score(lists, [999], rule="log")[0] == pytest.approx(18 * math.log(10), rel=1e-12)


def test_truncation_to_a_mass_does_not_depend_on_the_neighbours() -> None:
    """In a batch of a hundred thousand the running mass of each list still starts at zero."""
    n = 100_000
    lists = tl.TopLists.from_topk(np.tile([0, 1, 2], (n, 1)), np.tile([0.5, 0.4, 0.1], (n, 1)), 9)
    assert set(lists.truncate(mass=0.9).sizes.tolist()) == {2}
    assert set(lists.truncate(mass=0.9 + 1e-9).sizes.tolist()) == {3}
