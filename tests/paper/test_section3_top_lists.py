"""Section 3: top lists, their proxies and padded distributions; calibrated, true and valid; largest valid sublists."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from tests.paper.grids import distributions, every_list, expected

GRIDS = [(2, 6), (3, 6), (4, 6)]
Exact = dict[int, Fraction]


def proxy(t: Exact, m: int) -> Fraction:
    return (1 - sum(t.values(), Fraction(0))) / (m - len(t)) if len(t) < m else Fraction(0)


def valid(t: Exact, m: int) -> bool:
    return not t or min(t.values()) >= proxy(t, m)


def without(t: Exact, x: int) -> Exact:
    return {c: v for c, v in t.items() if c != x}


def sublists(t: Exact) -> list[Exact]:
    return [{c: t[c] for c in s} for k in range(len(t) + 1) for s in combinations(t, k)]


def as_list(t: Exact, m: int) -> tl.TopList:
    return tl.TopList({c: float(v) for c, v in t.items()}, m)


def every_exact_list(m: int, unit: int) -> list[Exact]:
    """Every list on the grid, in fractions."""
    grid = every_list(m, unit)
    return [
        {int(c): Fraction(int(row[c]), unit) for c in np.flatnonzero(on)}
        for on, row in zip(grid.listed, grid.shares, strict=True)
    ]


@pytest.mark.parametrize(("m", "unit"), GRIDS)
def test_proxy_probability_and_equation_6_padded_distribution(m: int, unit: int) -> None:
    """The rest mass is shared equally by the unlisted classes; the proxy is zero where every class is listed."""
    grid = every_list(m, unit)
    rest = 1 - grid.shares.sum(axis=1) / unit
    shares = np.where(grid.sizes < m, rest / np.maximum(m - grid.sizes, 1), 0.0)
    np.testing.assert_allclose(grid.lists.rest, rest, rtol=0, atol=1e-15)
    np.testing.assert_allclose(grid.lists.proxy, shares, rtol=0, atol=1e-15)
    assert (grid.lists.proxy[grid.sizes == m] == 0).all()
    np.testing.assert_allclose(grid.lists.padded(), grid.padded, rtol=0, atol=1e-15)
    np.testing.assert_allclose(grid.lists.padded().sum(axis=1), 1.0, rtol=0, atol=1e-14)


@pytest.mark.parametrize("m", [1, 2, 5, 100])
def test_the_only_top_0_list_is_empty_and_pads_to_the_uniform_distribution(m: int) -> None:
    p = np.random.default_rng(m).dirichlet(np.ones(m))
    assert list(tl.lists.true_lists(p, 0)) == [tl.TopList({}, m)]
    np.testing.assert_array_equal(tl.TopList({}, m).padded(), np.full(m, 1 / m))


@pytest.mark.parametrize(("m", "unit"), GRIDS)
def test_top_m_lists_are_the_distributions(m: int, unit: int) -> None:
    for p in distributions(m, unit) / unit:
        (t,) = tl.lists.true_lists(p, m)
        np.testing.assert_array_equal(t.padded(), p)
        assert t == tl.TopLists.from_proba(p[None])[0]


@pytest.mark.parametrize(("m", "unit"), [(2, 6), (3, 5)])
def test_calibrated_and_true_are_what_they_are_defined_to_be(m: int, unit: int) -> None:
    """For every list and every distribution on the grid; T_k(p) has exactly the true lists of length k."""
    grid, p = every_list(m, unit), distributions(m, unit)
    calibrated, true = grid.calibrated(p), grid.true(p)
    found = {(i, k): set(tl.lists.true_lists(row / unit, k)) for i, row in enumerate(p) for k in range(m + 1)}
    for a, t in enumerate(grid.lists):
        for b, row in enumerate(p / unit):
            assert tl.lists.is_calibrated(t, row) == calibrated[a, b]
            assert tl.lists.is_true(t, row) == true[a, b]
            assert (t in found[b, len(t)]) == true[a, b]


@pytest.mark.parametrize(("m", "unit"), [(3, 6), (4, 6), (5, 5)])
def test_top_k_functional_is_the_set_of_all_lists_of_largest_mass(m: int, unit: int) -> None:
    """T_k(p) by brute force over the sets of k classes, ties and all; it is a set, so that T_k maps into 2**T_k."""
    several = 0
    for p in distributions(m, unit):
        for k in range(m + 1):
            mass = {s: int(p[list(s)].sum()) for s in combinations(range(m), k)}
            best = {s for s in mass if mass[s] == max(mass.values())}
            got = tl.lists.true_lists(p / unit, k)
            assert got.count == len(got) == len(best)
            assert {tuple(sorted(t.classes)) for t in got} == best
            assert all(t.confidences == {c: p[c] / unit for c in t.classes} for t in got)
            assert tl.lists.top_k(p / unit, k) in got
            several += len(best) > 1
    assert several > 0


def test_a_list_as_a_distribution_is_its_padded_distribution_whatever_classes_are_called() -> None:
    """With labels as without: what is not listed has the proxy, not nothing."""
    plain, named = tl.ClassSpace(3), tl.ClassSpace(labels=["a", "b", "c"])
    for space, (first, second) in ((plain, (0, 1)), (named, ("a", "b"))):
        p = tl.TopList({first: 0.5}, space)
        assert tl.lists.theory.is_calibrated(tl.TopList({second: 0.25}, space), p)
        assert len(tl.lists.theory.true_lists(p, 2)) == 2
        low = tl.TopList({first: 0.2}, space)
        assert not tl.lists.theory.is_true(low, low)
    some = tl.TopList({"a": 0.5}, 3)
    with pytest.raises(tl.TopListError, match="declare the labels of all classes"):
        tl.lists.theory.is_calibrated(tl.TopList({"b": 0.25}, 3), some)


def test_every_true_list_is_among_the_true_lists() -> None:
    lists = tl.lists.theory.true_lists([0.5, 0.2, 0.19, 0.11], 2, tol=0.02)
    assert [t in lists for t in lists] == [True, True]
    assert tl.TopList({0: 0.5, 3: 0.11}, 4) not in lists


@pytest.mark.parametrize(("m", "unit"), GRIDS)
def test_list_is_valid_if_and_only_if_no_confidence_is_below_the_proxy(m: int, unit: int) -> None:
    """The boundary itself is valid, and so are the empty list and every full one."""
    grid = every_list(m, unit)
    np.testing.assert_array_equal(grid.lists.is_valid(), grid.valid)
    assert grid.valid[(grid.sizes == 0) | (grid.sizes == m)].all()
    assert m == 2 or not grid.valid.all()


@pytest.mark.parametrize(("m", "unit", "finer"), [(2, 6, 1), (3, 4, 2), (4, 4, 6)])
def test_list_is_valid_if_and_only_if_some_distribution_has_it_as_a_true_list(m: int, unit: int, finer: int) -> None:
    """The padded distribution is such a witness; for an invalid list a search among all distributions finds none.

    The search runs over a grid fine enough to hold all padded distributions, so that it cannot miss a witness.
    """
    grid, p = every_list(m, unit), distributions(m, unit * finer)
    witness = type(grid)(grid.listed, grid.shares * finer, unit * finer).true(p).any(axis=1)
    np.testing.assert_array_equal(grid.lists.is_valid(), witness)
    for t, good in zip(grid.lists, witness, strict=True):
        assert tl.lists.is_valid(t) == good
        assert tl.lists.is_true(t, t.padded()) == good


def test_example_3_1() -> None:
    """Class i of the paper has code i - 1 here."""
    p, q = [0.5, 0.2, 0.2, 0.1], [0.5, 0.2, 0.1, 0.2]
    assert set(tl.lists.true_lists(p, 2)) == {tl.TopList({0: 0.5, 1: 0.2}, 4), tl.TopList({0: 0.5, 2: 0.2}, 4)}
    s = tl.TopList({0: 0.5, 3: 0.1}, 4)
    assert tl.lists.is_calibrated(s, p)
    assert not tl.lists.is_true(s, p)
    assert not tl.lists.is_valid(s)
    assert s.proxy == pytest.approx(0.2, abs=1e-15)
    r = tl.TopList({0: 0.5, 3: 0.2}, 4)
    assert tl.lists.is_valid(r)
    assert r.proxy == pytest.approx(0.15, abs=1e-15)
    assert tl.lists.is_true(r, q)
    assert not tl.lists.is_calibrated(r, p)


def largest_valid_sublist(t: Exact, m: int) -> Exact:
    """All roads lead to one sublist: brute force over all sublists, greedy removal, the longest valid prefix."""
    good = [s for s in sublists(t) if valid(s, m)]
    largest = max(good, key=len)
    assert all(s.items() <= largest.items() for s in good), "every valid sublist is a part of the largest"
    greedy = t
    while not valid(greedy, m):
        lowest = min(greedy, key=lambda c: greedy[c])
        assert not any(lowest in s for s in good), "no valid sublist has the class of least confidence"
        greedy = without(greedy, lowest)
    order = sorted(t, key=lambda c: -t[c])
    prefixes = [{c: t[c] for c in order[:j]} for j in range(len(t) + 1)]
    are_valid = [valid(s, m) for s in prefixes]
    assert are_valid == sorted(are_valid, reverse=True), "a prefix of a valid prefix is valid"
    assert greedy == largest == prefixes[sum(are_valid) - 1]
    return largest


@pytest.mark.parametrize(("m", "unit"), [(3, 8), (4, 8)])
def test_largest_valid_sublist_is_unique_on_the_grid(m: int, unit: int) -> None:
    """Eighths are exact, so that even ties with the proxy are decided alike by fractions and by the library."""
    for t in every_exact_list(m, unit):
        assert as_list(t, m).valid() == as_list(largest_valid_sublist(t, m), m)


@given(st.integers(5, 9), st.lists(st.integers(0, 64), min_size=1, max_size=6))
@settings(max_examples=draws(150), deadline=None)
def test_largest_valid_sublist_is_unique(m: int, cuts: list[int]) -> None:
    """The confidences are the steps between cut points, in 64ths, which are exact too."""
    steps = np.diff([0, *sorted(cuts)])[: m - 1]
    t = {c: Fraction(int(w), 64) for c, w in enumerate(steps)}
    assert as_list(t, m).valid() == as_list(largest_valid_sublist(t, m), m)


@pytest.mark.parametrize(("m", "unit"), [(3, 6), (4, 6), (4, 10), (5, 6)])
def test_largest_valid_sublist_has_the_right_padded_distribution_despite_rounding(m: int, unit: int) -> None:
    rows = every_exact_list(m, unit)
    exact = [largest_valid_sublist(t, m) for t in rows]
    padded = np.array([[float(t.get(c, proxy(t, m))) for c in range(m)] for t in exact])
    np.testing.assert_allclose(every_list(m, unit).lists.valid().padded(), padded, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("m", "unit"), [(3, 8), (3, 6), (4, 10)])
def test_valid_list_is_its_own_largest_valid_sublist(m: int, unit: int) -> None:
    """Also where a confidence equals the proxy but for rounding, as in ({1, 2}, (0.7, 0.1)) of four classes."""
    lists = every_list(m, unit).lists
    lists = lists[lists.is_valid()]
    np.testing.assert_array_equal(lists.valid().sizes, lists.sizes)


@pytest.mark.parametrize(("m", "unit"), [(3, 8), (4, 8), (5, 6)])
def test_removing_a_class_moves_the_proxy_towards_it(m: int, unit: int) -> None:
    """Below the proxy: pi(t) > pi(t') > t_x. At or above it: pi(t') >= pi(t), which the paper misprints as p(t)."""
    shorter = [(t, x, without(t, x)) for t in every_exact_list(m, unit) for x in t]
    lists = tl.TopLists.from_dicts([{c: float(v) for c, v in s.items()} for _, _, s in shorter], m)
    np.testing.assert_allclose(lists.proxy, [float(proxy(s, m)) for _, _, s in shorter], rtol=0, atol=1e-15)
    below = above = 0
    for t, x, s in shorter:
        before, after = proxy(t, m), proxy(s, m)
        if t[x] < before:
            assert before > after > t[x]
            below += 1
        else:
            assert t[x] >= after >= before
            above += 1
    assert min(below, above) > 50


@pytest.mark.parametrize(("m", "unit"), [(3, 10), (4, 6)])
def test_theorem_3_2_top_k_list_functional_is_elicitable(m: int, unit: int) -> None:
    """One score shows it: among all lists of k classes, exactly those in T_k(p) minimise the expected Brier score."""
    grid, p = every_list(m, unit), distributions(m, unit)
    e = expected(grid, p, tl.Brier(), penalty=0.001)
    for k in range(m + 1):
        part = grid.pick(grid.sizes == k)
        losses = e[grid.sizes == k]
        best = losses <= losses.min(axis=0) + 1e-9
        for b, row in enumerate(p / unit):
            assert set(part.lists[best[:, b]]) == set(tl.lists.true_lists(row, k))
