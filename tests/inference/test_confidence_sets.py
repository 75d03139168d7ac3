"""The model confidence set: who is in it, who is out, and what happens where nothing can be told."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toplist.inference.confidence_set import confidence_set

from tests.core.integers import law
from tests.inference.factories import World, worlds
from toplist.errors import TopListError
from toplist.inference import bootstrap
from toplist.inference.results import ConfidenceSet

NAMES = tuple("abcdefgh")
few = settings(law, max_examples=15)


@pytest.fixture(autouse=True)
def _arch(request: pytest.FixtureRequest) -> None:
    if "absent" not in request.node.name:
        pytest.importorskip("arch", reason="the confidence set comes with the extra 'report'")


def found(world: World, *, level: float = 0.95, seed: int = 0, ordered: bool = False) -> ConfidenceSet:
    k = len(world.scores)
    names = NAMES[:k]
    with np.errstate(all="ignore"):
        finite = np.where(np.isinf(world.scores), 1e9, world.scores)
    means = np.nansum(finite, axis=1) / np.maximum(1, np.count_nonzero(~np.isnan(finite), axis=1))
    order = [names[a] for a in np.argsort(np.nan_to_num(means, nan=1e9), kind="stable")]
    panel = world.panel(ordered=ordered)
    return confidence_set(panel, 0, names=names, order=order, rule_name="rule", level=level, seed=seed)


def drawn(seed: int, k: int, n: int, *, spread: float = 0.0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.exponential(size=(k, n)) + rng.exponential(size=n) + spread * np.arange(k)[:, None]


@few
@given(seed=st.integers(0, 10**6), k=st.integers(2, 5), n=st.integers(10, 60), spread=st.sampled_from([0.0, 0.3, 5.0]))
def test_members_contain_the_best_and_have_p_values_above_the_size(seed: int, k: int, n: int, spread: float) -> None:
    """The one with the lowest mean has the p value one."""
    scores = drawn(seed, k, n, spread=spread)
    got = found(World(scores))
    best = NAMES[int(scores.mean(axis=1).argmin())]
    assert best in got.members
    assert got.p[best] == 1.0
    assert set(got.members) == {name for name, p in got.p.items() if p > 1 - got.level}
    assert got.cases == n
    assert not got.reason


@few
@given(seed=st.integers(0, 10**6))
def test_a_higher_level_keeps_more(seed: int) -> None:
    scores = drawn(seed, 4, 40, spread=0.3)
    members = [set(found(World(scores), level=level).members) for level in (0.5, 0.9, 0.99)]
    assert members[0] <= members[1] <= members[2]


def test_those_who_are_far_behind_are_out() -> None:
    got = found(World(drawn(1, 4, 200, spread=2.0)))
    assert got.members == ("a",)
    assert max(got.p[name] for name in "bcd") < 0.05


@few
@given(seed=st.integers(0, 10**6), n=st.integers(10, 40))
def test_duplicates_of_a_model_share_their_p_value(seed: int, n: int) -> None:
    scores = drawn(seed, 3, n, spread=0.2)
    got = found(World(scores[[0, 1, 0, 2, 1]]))
    alone = found(World(scores))
    assert got.p["a"] == got.p["c"] == alone.p["a"]
    assert got.p["b"] == got.p["e"] == alone.p["b"]
    assert ("a" in got.members) == ("c" in got.members)


def test_those_who_differ_by_rounding_alone_share_their_p_value() -> None:
    """The same predictions written twice score alike but for the last digits: neither throws the other out."""
    x = drawn(5, 1, 200)[0]
    off = x * (1 + 2.0**-52 * np.random.default_rng(1).integers(-2, 3, 200))
    for scores in (np.stack([x, off]), np.stack([off, x])):
        assert found(World(scores)).p == {"a": 1.0, "b": 1.0}


def test_a_case_without_weight_throws_nobody_out() -> None:
    scores = drawn(6, 2, 30)
    scores[0, 3] = np.inf
    weights = np.ones(30)
    weights[3] = 0.0
    assert found(World(scores, weights)).p == found(World(np.delete(scores, 3, axis=1))).p


def test_all_alike_are_all_members() -> None:
    got = found(World(np.tile(drawn(2, 1, 20), (3, 1))))
    assert got.members == ("a", "b", "c")
    assert set(got.p.values()) == {1.0}


def test_a_tie_of_means_works() -> None:
    """Different scores with the same mean, to the last bit; and scores that differ by a constant everywhere."""
    x = np.arange(16.0)
    tied = found(World(np.stack([x, x[::-1], np.roll(x, 5)])))
    assert set(tied.members) == {"a", "b", "c"}
    apart = found(World(np.stack([x, x + 1.0, x[::-1] + 0.5])))
    assert "a" in apart.members
    assert "b" not in apart.members


@few
@given(world=worlds(infinite=True, missing=True, least=1))
def test_whatever_is_infinite_or_missing_the_reason_is_there(world: World) -> None:
    """Every model has a p value, or the whole set has a reason; members have p values."""
    names = NAMES[: len(world.scores)]
    got = found(world)
    assert got.reason or set(got.p) == set(names)
    assert all(0 <= p <= 1 for p in got.p.values())
    assert set(got.members) <= set(got.p)
    assert bool(got.members) == bool(got.p)
    scores = np.asarray(world.scores)
    there = ~np.isnan(scores).any(axis=0)
    there &= np.ones(len(there)) > 0 if world.weights is None else np.asarray(world.weights) > 0
    assert got.cases == there.sum()
    infinite = [name for name, row in zip(names, scores, strict=True) if np.isinf(row[there]).any()]
    if there.any() and 0 < len(infinite) < len(names) and got.members:
        assert got.reason == f"out for infinite scores: {', '.join(infinite)}"
        assert all(got.p[name] == 0.0 for name in infinite)
        assert not set(infinite) & set(got.members)


def test_reasons_are_sentences_parts() -> None:
    inf, nan = np.inf, np.nan
    assert found(World([[1.0, nan], [nan, 2.0]])).reason == "no case has all models"
    assert found(World([[inf, 1.0], [inf, 2.0]])).reason == "every model has infinite scores"
    assert found(World([[1.0], [2.0]])).reason == "one case is too few to draw from"
    assert found(World(drawn(1, 2, 9))).reason == "9 cases are too few to draw from"
    only = found(World([[1.0, 2.0], [inf, 2.0]]))
    assert only.members == ("a",)
    assert only.method == "the only one without infinite scores"


def test_weights_count() -> None:
    """As many copies of a case as its weight says give the same means, and the one who is good where it counts wins."""
    rng = np.random.default_rng(3)
    good, bad = rng.exponential(size=60) * 0.1, rng.exponential(size=60) + 1
    scores = np.stack([np.where(np.arange(60) % 2, good, bad), np.where(np.arange(60) % 2, bad, good)])
    heavy = np.where(np.arange(60) % 2, 50.0, 1.0)
    assert set(found(World(scores)).members) == {"a", "b"}
    assert found(World(scores, heavy)).members == ("a",)
    assert found(World(scores, 51 - heavy)).members == ("b",)


def test_units_are_drawn_as_they_depend_on_each_other() -> None:
    """Copies of cases in a cluster tell no more than one of them; time is drawn in stretches."""
    scores = drawn(4, 3, 30, spread=0.25)
    alone = found(World(scores))
    copied = found(World(np.repeat(scores, 4, axis=1), clusters=np.repeat(np.arange(30), 4)))
    assert copied.p == pytest.approx(dict(alone.p), abs=1e-9)
    assert "clusters drawn one by one" in copied.method
    assert "cases drawn one by one" in alone.method
    slow = found(World(np.cumsum(scores, axis=1) / 30), ordered=True)
    assert "in stretches of about" in slow.method
    moments = found(World(scores, moments=np.arange(30) // 2))
    assert moments.method.split("; ")[1].startswith("time points")


def test_many_units_are_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours first; means stay, and the method says so."""
    monkeypatch.setattr("toplist.inference.confidence_set.MOST", 50)
    monkeypatch.setattr(bootstrap, "MOST", 50)
    scores = drawn(5, 3, 400, spread=1.0)
    got = found(World(scores))
    assert got.members == ("a",)
    assert "neighbours taken together" in got.method


def test_the_seed_says_what_is_drawn() -> None:
    scores = drawn(6, 4, 30, spread=0.1)
    one, same, other = (found(World(scores), seed=s) for s in (1, 1, 2))
    assert one == same
    assert one.p != other.p


def test_where_arch_is_absent_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arch.bootstrap", None)
    with pytest.raises(TopListError, match=r"need arch: pip install 'toplist\[report\]'\.$"):
        found(World(drawn(7, 2, 20)))
