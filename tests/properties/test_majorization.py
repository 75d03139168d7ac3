"""Majorization is a preorder, transfers from rich to poor go down in it, and every entropy respects it (section 4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import toplist as tl
from tests.oracle.dense import RULES
from tests.paper.grids import Floats
from tests.properties.cases import by_every_rule, distributions, law

M = 5
Transfer = tuple[int, int, float]
transfers = st.lists(st.tuples(st.integers(0, M - 1), st.integers(0, M - 1), st.floats(0, 1)), max_size=4)


def transferred(v: list[float], steps: list[Transfer]) -> list[float]:
    """Move part of the difference from the larger to the smaller of two entries, step by step (T-transforms)."""
    w = list(v)
    for i, j, share in steps:
        moved = share * (w[i] - w[j])
        w[i], w[j] = w[i] - moved, w[j] + moved
    return w


def schur_violation(
    f: Callable[[Floats], float], m: int, *, trials: int = 1000, tol: float = 1e-9
) -> tuple[Floats, Floats] | None:
    """A pair (v, w) with v majorizing w but f(v) > f(w), so that f is not Schur-concave; None if none is found."""
    rng = np.random.default_rng(0)
    for _ in range(trials):
        v = rng.dirichlet(np.full(m, rng.choice([0.3, 1.0, 3.0])))
        i, j = (int(x) for x in rng.choice(m, size=2, replace=False))
        w = np.array(transferred(v.tolist(), [(i, j, rng.random())]))[rng.permutation(m)]
        if f(v) > f(w) + tol:
            return v, w
    return None


@law
@given(v=distributions())
def test_every_vector_majorizes_itself_in_any_order(v: list[float]) -> None:
    assert tl.scoring.majorizes(v, v)
    assert tl.scoring.majorizes(v, v[::-1])
    assert tl.scoring.majorizes(sorted(v), v)


@law
@given(v=distributions(M), steps=transfers)
def test_transfers_go_down(v: list[float], steps: list[Transfer]) -> None:
    """What one gets from a vector by moving from larger to smaller entries is majorized by it."""
    assert tl.scoring.majorizes(v, transferred(v, steps))


@law
@given(v=distributions(M), first=transfers, second=transfers)
def test_majorization_is_transitive(v: list[float], first: list[Transfer], second: list[Transfer]) -> None:
    w = transferred(v, first)
    x = transferred(w, second)
    assert tl.scoring.majorizes(v, w)
    assert tl.scoring.majorizes(w, x)
    assert tl.scoring.majorizes(v, x)


@law
@given(v=distributions(M), w=distributions(M), x=distributions(M))
def test_majorization_is_transitive_for_any_three(v: list[float], w: list[float], x: list[float]) -> None:
    """Not only for vectors made by transfers."""
    for a, b, c in ((v, w, x), (x, w, v), (w, v, x), (w, x, v)):
        if tl.scoring.majorizes(a, b) and tl.scoring.majorizes(b, c):
            assert tl.scoring.majorizes(a, c, tol=1e-11)


@law
@given(v=distributions(M), w=distributions(M))
def test_only_rearrangements_majorize_each_other(v: list[float], w: list[float]) -> None:
    both = tl.scoring.majorizes(v, w, tol=1e-13) and tl.scoring.majorizes(w, v, tol=1e-13)
    assert both == np.allclose(tl.scoring.decreasing(v), tl.scoring.decreasing(w), rtol=0, atol=1e-12)


@law
@given(v=distributions(M))
def test_certainty_majorizes_all_and_all_majorize_the_uniform_distribution(v: list[float]) -> None:
    sure, uniform = [1.0] + [0.0] * (M - 1), [1 / M] * M
    assert tl.scoring.majorizes(sure, v)
    assert tl.scoring.majorizes(v, uniform)
    assert tl.scoring.majorizes(v, sure) == (max(v) > 1 - 1e-12)


@law
@given(v=distributions(M), i=st.integers(0, M - 1), j=st.integers(0, M - 1))
def test_a_transfer_from_poor_to_rich_goes_up(v: list[float], i: int, j: int) -> None:
    assume(v[i] <= v[j] and v[i] > 1e-6 and i != j)
    w = list(v)
    w[i], w[j] = 0.0, v[i] + v[j]
    assert tl.scoring.majorizes(w, v)
    assert not tl.scoring.majorizes(v, w)


def test_vectors_with_different_sums_or_lengths_do_not_compare() -> None:
    assert not tl.scoring.majorizes([0.5, 0.5], [0.5, 0.4])
    assert not tl.scoring.majorizes([0.5, 0.4], [0.5, 0.5])
    with pytest.raises(tl.ShapeError):
        tl.scoring.majorizes([1.0], [0.5, 0.5])


@law
@given(v=distributions())
def test_the_decreasing_rearrangement_sorts_and_keeps(v: list[float]) -> None:
    d = tl.scoring.decreasing(v)
    assert (np.diff(d) <= 0).all()
    assert sorted(d) == sorted(v)
    np.testing.assert_array_equal(tl.scoring.decreasing(d), d)


@law
@given(v=distributions(M), steps=transfers)
@by_every_rule
def test_entropies_are_schur_concave(name: str, v: list[float], steps: list[Transfer]) -> None:
    """The more a distribution is evened out, the larger its entropy, for every symmetric rule (Lemma 4.3)."""
    w = np.array(transferred(v, steps))
    p = tl.TopLists.from_proba(np.array([v, w / w.sum()]))
    certain, even = tl.entropy(p, rule=RULES[name].rule)
    assert certain <= even + 10 * RULES[name].tol * max(1.0, abs(even))


@law
@given(p=distributions(M), k=st.integers(0, M - 1))
def test_a_distribution_majorizes_its_padded_lists_and_longer_lists_shorter_ones(p: list[float], k: int) -> None:
    """Padding evens out what is not listed."""
    assert tl.scoring.majorizes(p, tl.lists.top_k(p, k).padded())
    assert tl.scoring.majorizes(tl.lists.top_k(p, k + 1).padded(), tl.lists.top_k(p, k).padded())


@pytest.mark.parametrize("name", RULES)
def test_the_search_for_schur_violations_finds_none_in_an_entropy(name: str) -> None:
    rule = RULES[name].rule
    tol = 1e-6 if name.startswith("savage") else 1e-9
    assert (
        schur_violation(lambda p: tl.entropy(tl.TopLists.from_proba([p]), rule=rule)[0], 4, trials=60, tol=tol) is None
    )


def test_the_search_for_schur_violations_finds_one_where_there_is_one() -> None:
    """The largest probability grows with certainty."""
    found = schur_violation(lambda p: float(p.max()), 4)
    assert found is not None
    v, w = found
    assert tl.scoring.majorizes(v, w)
    assert v.max() > w.max()
