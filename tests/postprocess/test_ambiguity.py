"""What disagreement gains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.postprocess.test_linear_pool import draw_lists
from toplist.postprocess.combination import ambiguity, linear_pool


@given(seed=st.integers(0, 10_000), members=st.integers(1, 4), m=st.integers(2, 7), valid=st.booleans())
def test_the_identity_holds_in_every_case(seed: int, members: int, m: int, valid: bool) -> None:
    rng = np.random.default_rng(seed)
    lists = {str(j): draw_lists(rng, 6, m, m, valid=valid) for j in range(members)}
    y, w = rng.integers(0, m, 6), rng.dirichlet(np.ones(members))
    found = ambiguity(lists, y, weights=w.tolist())
    each = sum(x * tl.score(one, y, penalty=0) for x, one in zip(w, lists.values(), strict=True))
    pooled = tl.score(linear_pool(lists, weights=w.tolist()), y, penalty=0)
    np.testing.assert_allclose(pooled, each - found.gains, atol=1e-12)
    assert (found.gains >= 0).all()
    assert found.mean is not None
    assert found.pool == pytest.approx(found.mean - found.gain, abs=1e-12)
    assert sum(pair.gain for pair in found.pairs) == pytest.approx(found.gain, abs=1e-12)
    assert len(found.pairs) == members * (members - 1) // 2
    blind = ambiguity(lists, weights=w.tolist())
    assert blind.pool is blind.mean is blind.members is None
    np.testing.assert_array_equal(blind.gains, found.gains)


def test_the_distance_of_a_pair_is_that_of_padded_distributions() -> None:
    rng = np.random.default_rng(0)
    a, b = draw_lists(rng, 20, 8, 5), draw_lists(rng, 20, 8, 5)
    (pair,) = ambiguity({"a": a, "b": b}).pairs
    assert (pair.first, pair.second) == ("a", "b")
    assert pair.distance == pytest.approx(((a.padded() - b.padded()) ** 2).sum(axis=1).mean(), abs=1e-14)
    assert pair.gain == pytest.approx(pair.distance / 4)


@pytest.mark.parametrize("m", [2**10_000, math.inf], ids=["2**10000", "inf"])
def test_any_number_of_classes_will_do(m: float) -> None:
    a, b = tl.TopLists.from_dicts([{0: 0.5}], m), tl.TopLists.from_dicts([{1: 0.5}], m)
    found = ambiguity([a, b], [0])
    assert found.gain == pytest.approx(0.125)
    assert found.mean is not None
    assert found.pool == pytest.approx(found.mean - found.gain, abs=1e-12)
