"""Units drawn again: all models together, in as many as there are, neighbours kept where time matters."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.integers import law
from tests.inference.factories import World
from toplist.errors import TopListError
from toplist.inference import bootstrap
from toplist.inference.bootstrap import block_length, longest_block, resample, thinned
from toplist.inference.estimands import Mean
from toplist.inference.score_matrix import ScoreMatrix, UnitSums, one_if_alike


def totals(seed: int, n: int, k: int = 2) -> UnitSums:
    return World(np.random.default_rng(seed).exponential(size=(k, n))).panel().totals(0)


@law
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40))
def test_a_resample_has_as_many_units_and_keeps_models_together(seed: int, n: int) -> None:
    """A model that is another plus one stays so in every resample."""
    (x,) = np.random.default_rng(seed).exponential(size=(1, n))
    units = World([x, x + 1]).panel().totals(0)
    drawn = resample(units, block=None, draws=29, seed=seed)
    assert drawn.sums.shape == (4, 29)
    assert (drawn.w(0, 0) == n).all()
    np.testing.assert_allclose(Mean(1).value(drawn), Mean(0).value(drawn) + 1, rtol=1e-12)


def test_the_size_of_a_batch_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    units = totals(1, 30)
    want = resample(units, block=None, draws=50, seed=1).sums
    monkeypatch.setattr(bootstrap, "_CELLS", 1)
    small = resample(units, block=None, draws=50, seed=1).sums
    np.testing.assert_allclose(small, want, rtol=1e-12)


@law
@given(n=st.integers(1, 200), most=st.integers(3, 50))
def test_taking_neighbours_together_keeps_sums(n: int, most: int) -> None:
    units = totals(2, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "MOST", most)
        few = thinned(units)
    assert few.sums.shape[1] <= most or n <= most
    np.testing.assert_allclose(few.all.sums, units.all.sums, rtol=1e-12)
    if n <= most:
        assert few is units


def test_dependence_asks_for_longer_blocks() -> None:
    """Noise needs blocks of about one, a slow series long ones; constants and short series say nothing."""
    pytest.importorskip("arch", reason="block lengths come with the extra 'report'")
    rng = np.random.default_rng(3)
    noise = rng.normal(size=600)
    slow = np.convolve(rng.normal(size=640), np.ones(41), "valid")
    short, long = (block_length(World([x]).panel(ordered=True).totals(0)) for x in (noise + 9, slow + 99))
    assert 1 <= short < 5 < long
    assert block_length(World(np.ones((2, 50))).panel(ordered=True).totals(0)) == 1.0
    assert block_length(World([noise[:8] + 9]).panel(ordered=True).totals(0)) == 1.0
    assert longest_block(np.zeros((1, 0))) == 1.0


def test_dependence_of_differences_is_found_under_what_makes_cases_hard_for_all() -> None:
    """Scores that look like noise, each for itself, whose difference changes slowly."""
    pytest.importorskip("arch", reason="block lengths come with the extra 'report'")
    rng = np.random.default_rng(4)
    hard, slow = 30 * rng.exponential(size=600), np.convolve(rng.normal(size=620), np.ones(21) / 4, "valid")
    alone = block_length(World([hard]).panel(ordered=True).totals(0))
    together = block_length(World([hard + slow, hard]).panel(ordered=True).totals(0))
    assert alone < 5 < together


def test_without_arch_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arch.bootstrap", None)
    with pytest.raises(TopListError, match=r"^the stationary bootstrap .* need arch: pip install 'toplist\[report\]'"):
        resample(totals(4, 20), block=3.0, draws=9, seed=0)
    assert resample(totals(4, 20), block=None, draws=9, seed=0).sums.shape[1] == 9  # needs scipy alone


def test_panels_of_groups_hold_the_cases_of_the_group() -> None:
    world = World(np.arange(12.0).reshape(2, 6), weights=np.arange(6.0), clusters=[0, 1, 2, 0, 1, 2], empty=np.ones(6))
    panel = replace(world.panel(), groups=np.array([0, 1, 0, 1, 0, 1]), keys=("even", "odd"))
    odd = panel.group("odd")
    assert isinstance(odd, ScoreMatrix)
    assert len(odd) == 3
    assert odd.count == 3
    assert odd.scores[:, 0, 0].tolist() == [1.0, 3.0, 5.0]
    assert odd.weights is not None
    assert odd.weights.tolist() == [1.0, 3.0, 5.0]
    assert odd.units is not None
    assert odd.units.tolist() == [1, 0, 2]
    whole = world.panel()
    assert whole.group("anything") is whole


def test_rows_that_are_alike_are_one_row() -> None:
    assert one_if_alike([np.ones((2, 1)), np.ones((3, 1))]).shape == (1, 1)
    assert one_if_alike([np.ones((2, 1)), np.zeros((3, 1))]).shape == (5, 1)
    assert one_if_alike([np.broadcast_to([[1.0, 2.0]], (4, 2)), np.broadcast_to([[1.0, 2.0]], (3, 2))]).shape == (1, 2)
    mixed = one_if_alike([np.broadcast_to([[1.0]], (4, 1)), np.broadcast_to([[2.0]], (3, 1))])
    assert mixed[:, 0].tolist() == [1.0] * 4 + [2.0] * 3
