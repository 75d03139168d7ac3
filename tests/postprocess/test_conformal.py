"""Conformal lists cover, exactly and whatever the confidences are."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import toplist as tl
from tests.postprocess.factories import draw_lists
from toplist.lists import from_logs
from toplist.postprocess.conformal import Conformal, uniform_by_case

Floats = NDArray[np.float64]
seeds = st.integers(0, 5_000)
KINDS = {"aps": {}, "raps": {"kind": "raps", "penalty": 0.05, "k_reg": 1}, "never empty": {"empty": False}}


class Fixed(Conformal):
    """With draws that belong to cases, so that cases can change places."""

    given: Floats = np.zeros(0)

    def _draws(self, ordered: tl.TopLists, *, by_id: bool) -> Floats:
        return self.given if self.randomized else np.ones(len(ordered))


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
@given(
    seed=seeds, n=st.integers(1, 9), coverage=st.sampled_from([0.1, 0.3, 0.5, 0.75, 0.8, 0.9]), randomized=st.booleans()
)
def test_of_all_orders_at_least_the_promised_share_covers(
    options: dict[str, Any], seed: int, n: int, coverage: float, randomized: bool
) -> None:
    """The guarantee, exact: of n + 1 cases each is the new one in turn, and ceil((n + 1) coverage) are covered.

    Exchangeable cases are in all orders equally likely, and only which one is new matters. Ties, empty lists, hard
    labels and invalid lists are among them.
    """
    rng = np.random.default_rng(seed)
    lists, y = draw_lists(rng, n + 1, 4, valid=bool(seed % 2)), rng.integers(0, 4, n + 1)
    u = rng.choice([0.0, 0.25, 0.5], n + 1)
    covered = 0
    for new in range(n + 1):
        old = np.arange(n + 1) != new
        model = Fixed(coverage, randomized=randomized, **options)
        model.given = u[old]
        model.fit(lists[old], y[old])
        model.given = u[~old]
        covered += bool(model.sets(lists[~old]).covers(y[~old])[0])
    assert covered >= math.ceil(Fraction(str(coverage)) * (n + 1))


@given(seed=seeds, n=st.integers(2, 9), coverage=st.sampled_from([0.5, 0.8]))
def test_without_ties_no_more_than_the_promised_share_covers(seed: int, n: int, coverage: float) -> None:
    """Of lists with rest mass, whose randomised scores are all different."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(5), n + 1)
    lists, y, u = tl.TopLists.from_proba(p, k=3), rng.integers(0, 5, n + 1), rng.random(n + 1)
    covered = 0
    for new in range(n + 1):
        old = np.arange(n + 1) != new
        model = Fixed(coverage)
        model.given = u[old]
        model.fit(lists[old], y[old])
        model.given = u[~old]
        covered += bool(model.sets(lists[~old]).covers(y[~old])[0])
    assert covered == math.ceil(Fraction(str(coverage)) * (n + 1))


@given(seed=seeds, kind=st.sampled_from(["aps", "raps"]), randomized=st.booleans())
def test_the_threshold_is_an_order_statistic_of_scores_by_hand(seed: int, kind: str, randomized: bool) -> None:
    rng = np.random.default_rng(seed)
    n = 7
    lists, y = draw_lists(rng, n, 4), rng.integers(0, 4, n)
    model = Fixed(0.5, kind, randomized=randomized, penalty=0.1, k_reg=1)
    model.given = rng.random(n)
    model.fit(lists, y)
    u = model.given if randomized else np.ones(n)
    scores = []
    for case, one in enumerate(lists.strictly_valid().ordered()):
        before = 0.0
        for rank, (c, t) in enumerate(one.confidences.items(), 1):
            if c == y[case]:
                scores.append(before + u[case] * t + (0.1 * max(rank - 1, 0) if kind == "raps" else 0.0))
                break
            before += t
        else:
            size = len(one) + 1
            far = 0.1 * max(size - 1, 0) if kind == "raps" else 0.0
            scores.append(one.mass + u[case] * one.rest + far if one.rest > 0 else math.inf)
    assert model.threshold_ == pytest.approx(sorted(scores)[math.ceil(0.5 * (n + 1)) - 1], abs=1e-12)


def draw(rng: np.random.Generator, n: int, sharpness: float) -> tuple[Floats, NDArray[np.int64]]:
    """Distributions, sharper or vaguer than what outcomes are drawn from."""
    p = rng.dirichlet(np.full(4, 0.7), n)
    y = (p.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    q = p**sharpness
    return q / q.sum(axis=1, keepdims=True), y


@pytest.mark.parametrize("sharpness", [1.0, 3.0, 0.3], ids=["calibrated", "too sure", "too vague"])
@pytest.mark.parametrize("k", [4, 2])
@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_new_cases_are_covered_as_often_as_promised(options: dict[str, Any], k: int, sharpness: float) -> None:
    """Within four Monte Carlo errors, for calibrated lists and others, complete or cut to two of four classes."""
    rng = np.random.default_rng(11)
    runs, n, new = 200, 39, 25
    rates = []
    for run in range(runs):
        p, y = draw(rng, n + new, sharpness)
        lists = tl.TopLists.from_proba(p, k=k)
        sets = Conformal(0.8, seed=run, **options).fit(lists[:n], y[:n]).sets(lists[n:])
        rates.append(sets.covers(y[n:]).mean())
    error = np.std(rates) / math.sqrt(runs)
    assert np.mean(rates) > 0.8 - 4 * error
    if not options or "kind" in options:
        assert np.mean(rates) < 0.8 + 1 / (n + 1) + 4 * error


def test_sets_are_made_of_the_first_classes_or_of_all() -> None:
    rng = np.random.default_rng(0)
    p, y = draw(rng, 300, 1.0)
    lists = tl.TopLists.from_proba(p, k=2)
    model = Conformal(0.9).fit(lists[:200], y[:200])
    sets, made = model.sets(lists[200:]), model.transform(lists[200:])
    assert made == sets.lists
    assert made.is_valid().all()
    np.testing.assert_array_equal(sets.sizes, np.where(sets.whole, 4, made.sizes))
    for k in range(3):
        at = made.sizes == k
        assert made[at] == lists[200:][at].truncate(k)
    assert 0 < sets.whole.mean() < 1
    assert "the whole space" in repr(sets)
    assert (Conformal(0.9, empty=False).fit(lists[:200], y[:200]).sets(lists[200:]).sizes >= 1).all()


def test_more_coverage_gives_larger_sets() -> None:
    rng = np.random.default_rng(1)
    p, y = draw(rng, 300, 1.0)
    lists = tl.TopLists.from_proba(p)
    sizes = [Conformal(c).fit(lists, y).sets(lists).sizes for c in (0.5, 0.7, 0.9, 0.99)]
    for small, large in itertools.pairwise(sizes):
        assert (small <= large).all()


def test_too_few_cases_to_promise_anything_give_the_whole_space() -> None:
    lists = tl.TopLists.from_dicts([{0: 0.9}, {0: 0.8, 1: 0.1}], 5)
    model = Conformal(0.9).fit(lists, [0, 0])
    assert model.threshold_ == math.inf
    sets = model.sets(tl.TopLists.from_dicts([{1: 0.5}, {}, {2: 1.0}], 5))
    assert sets.whole.all()
    assert sets.sizes.tolist() == [5, 5, 5]
    assert sets.covers([4, 4, 4]).all()


def test_hard_labels_that_miss_too_often_cannot_cover() -> None:
    """Nothing is said of the other classes, so that only the whole space covers; if they miss seldom they do."""
    lists = tl.TopLists.from_labels([0] * 19, 3)
    for randomized in (True, False):
        often = Conformal(0.9, randomized=randomized).fit(lists, [0] * 15 + [1] * 4)
        assert often.sets(lists).whole.all()
        seldom = Conformal(0.9, randomized=randomized, empty=False).fit(lists, [0] * 18 + [1])
        assert seldom.sets(lists).sizes.tolist() == [1] * 19


@pytest.mark.parametrize("m", [10**9, 2**10000, math.inf], ids=["many", "huge", "infinite"])
def test_the_number_of_classes_does_not_matter(m: Any) -> None:
    lists = tl.TopLists.from_dicts([{"a": 0.6, "b": 0.3}] * 9, m)
    model = Conformal(0.8, randomized=False).fit(lists, list("aaaaabbbz"))
    assert model.threshold_ == pytest.approx(0.9)
    assert model.transform(lists).sizes.tolist() == [2] * 9
    assert not model.sets(lists).whole.any()
    rare = Conformal(0.9, randomized=False).fit(lists, list("aaaaabbbz")).sets(lists)
    assert rare.whole.all()
    assert (rare.sizes >= 1e9).all()


def test_sizes_per_case_and_lists_too_small_for_numbers_are_covered_too() -> None:
    differ = tl.TopLists.from_dicts([{0: 0.9}, {1: 0.3}, {0: 0.5, 1: 0.5}], tl.ClassSpace([2, 5, 2]))
    model = Conformal(0.5, randomized=False).fit(differ, [0, 4, 1])
    assert model.sets(differ).sizes.tolist() == [2, 5, 2]
    small = from_logs([0, 1, 2], [3, 7], [-3083.0, -1.0], 2**10000)
    assert Conformal(0.5, randomized=False).fit(small, [3, 7]).sets(small).covers([3, 7]).all()


def test_the_same_seed_gives_the_same_sets_and_another_others() -> None:
    rng = np.random.default_rng(2)
    p, y = draw(rng, 60, 1.0)
    lists = tl.TopLists.from_proba(p)
    model = Conformal(0.8, seed=5).fit(lists, y)
    assert model.transform(lists) == Conformal(0.8, seed=5).fit(lists, y).transform(lists)
    assert model.transform(lists) != Conformal(0.8, seed=6).fit(lists, y).transform(lists)


def in_batches(model: Conformal, lists: tl.TopLists, y: Any, size: int) -> NDArray[np.bool_]:
    """Whether each case is covered, asked for `size` cases at a time."""
    return np.concatenate([
        model.sets(lists[lo : lo + size]).covers(y[lo : lo + size]) for lo in range(0, len(lists), size)
    ])  # fmt: skip


@pytest.mark.parametrize("k", [4, 2], ids=["distributions", "cut to two"])
@pytest.mark.parametrize("size", [1, 7, 100], ids=["one at a time", "seven", "all"])
def test_new_cases_are_covered_as_often_as_promised_however_they_come_in_batches(size: int, k: int) -> None:
    """Within four Monte Carlo errors over forty seeds; and no seed is far off, as one draw for all cases would be."""
    rng, rates = np.random.default_rng(7), []
    for seed in range(40):
        p, y = draw(rng, 400, 1.0)
        lists = tl.TopLists.from_proba(p, k=k)
        rates.append(in_batches(Conformal(0.9, seed=seed).fit(lists[:300], y[:300]), lists[300:], y[300:], size).mean())
    error = np.std(rates) / math.sqrt(len(rates))
    assert abs(np.mean(rates) - 0.9 - 0.5 / 301) < 4 * error + 0.5 / 301
    assert min(rates) > 0.9 - 5 * math.sqrt(0.09 / 300 + 0.09 / 100)


@given(seed=seeds, size=st.integers(1, 12), named=st.booleans(), with_ids=st.booleans())
def test_the_set_of_a_case_is_the_same_in_every_batch_and_order(
    seed: int, size: int, named: bool, with_ids: bool
) -> None:
    """Also where the batch decides which code a label gets, and where case ids are texts of different lengths."""
    rng = np.random.default_rng(seed)
    codes, y = draw_lists(rng, 24, 4, valid=bool(seed % 2)), rng.integers(0, 4, 24)
    rows = [{"wxyz"[c] if named else c: t for c, t in one.confidences.items()} for one in codes]
    ids = [f"{'case' * (i % 3)}{i}" for i in range(24)]

    def batch(at: Any) -> tl.TopLists:
        return tl.TopLists.from_dicts([rows[i] for i in at], 4, ids=[ids[i] for i in at] if with_ids else None)

    outcomes = ["wxyz"[c] for c in y] if named else y
    model = Conformal(0.6, seed=seed).fit(batch(range(24)), outcomes)
    whole = [one.confidences for one in model.transform(batch(range(24)))]
    order = rng.permutation(24)
    for lo in range(0, 24, size):
        at = order[lo : lo + size]
        made = model.sets(batch(at))
        assert [one.confidences for one in made.lists] == [whole[i] for i in at]
        assert made.whole.tolist() == model.sets(batch(range(24))).whole[at].tolist()
    assert Conformal(0.6, seed=seed).fit(batch(order), [outcomes[i] for i in order]).threshold_ == model.threshold_


@pytest.mark.parametrize("different", [1, 2, 4])
def test_lists_that_repeat_cover_too_much_without_ids_and_nearly_exactly_with_them(different: int) -> None:
    rng = np.random.default_rng(different)
    rates: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(150):
        p = rng.dirichlet(np.full(4, 0.7), different)[rng.integers(0, different, 300)]
        y = (p.cumsum(axis=1)[:, :-1] < rng.random(300)[:, None]).sum(axis=1)
        for named, found in rates.items():
            lists = tl.TopLists.from_proba(p, ids=np.arange(300) if named else None)
            model = Conformal(0.9, seed=seed).fit(lists[:150], y[:150])
            found.append(float(in_batches(model, lists[150:], y[150:], 50).mean()))
    error = {named: np.std(found) / math.sqrt(150) for named, found in rates.items()}
    assert abs(np.mean(rates[True]) - 0.9) < 4 * error[True] + 1 / 151
    assert np.mean(rates[False]) > 0.9 - 4 * error[False]
    assert np.mean(rates[False]) > np.mean(rates[True]) + 0.005


def test_draws_are_spread_evenly_over_lists_that_differ_in_one_thing() -> None:
    """In the class, in the last digits of a confidence, in the id: of 4,000 each, by the test of Kolmogorov."""
    n = 4000
    made = {
        "class": tl.TopLists.from_labels(np.arange(n), n),
        "digits": tl.TopLists.from_topk(np.zeros((n, 1), int), 0.5 + np.arange(n)[:, None] * 2.0**-53, 3),
        "id": tl.TopLists.from_labels(np.zeros(n, int), 3, ids=np.arange(n)),
        "label": tl.TopLists.from_labels([f"c{i}" for i in range(n)], n),
    }
    for lists in made.values():
        u = uniform_by_case(lists, 0, by_id=True)
        assert stats.kstest(u, "uniform").pvalue > 1e-3
        assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 4 / math.sqrt(n)
        assert len(np.unique(u)) == n
        assert not np.array_equal(u, uniform_by_case(lists, 1, by_id=True))


def test_calibration_by_ids_asks_for_ids_later() -> None:
    """Without them identical lists would have one draw, where the calibration cases had many."""
    lists = tl.TopLists.from_labels([0] * 30, 3, ids=np.arange(30))
    bare = tl.TopLists.from_labels([0], 3)
    with pytest.raises(tl.TopListError, match="have no ids"):
        Conformal(0.5).fit(lists, [0] * 30).sets(bare)
    again = Conformal.from_dict(Conformal(0.5).fit(lists, [0] * 30).to_dict())
    with pytest.raises(tl.TopListError, match="have no ids"):
        again.sets(bare)
    assert len(Conformal(0.5, randomized=False).fit(lists, [0] * 30).sets(bare).whole) == 1
    plain = tl.TopLists.from_labels([0] * 30, 3)
    model = Conformal(0.5).fit(plain, [0] * 30)
    assert model.transform(lists) == model.transform(plain)


def test_a_fit_survives_a_file(tmp_path: Path) -> None:
    lists, y = tl.TopLists.from_dicts([{0: 0.9}, {0: 0.8, 1: 0.1}, {1: 0.7}], 5), [0, 1, 1]
    for coverage in (0.5, 0.9):  # the second threshold is infinite
        model = Conformal(coverage, "raps", k_reg=2, seed=3).fit(lists, y)
        model.save(tmp_path / "fit.json")
        again = Conformal.load(tmp_path / "fit.json")
        assert again.to_dict() == model.to_dict()
        assert again.transform(lists) == model.transform(lists)
        assert json.loads((tmp_path / "fit.json").read_text())["schema"] == "toplist.conformal/1"
    assert Conformal.from_dict(Conformal().to_dict()).threshold_ is None


def test_options_can_be_read_and_changed() -> None:
    model = Conformal().fit(tl.TopLists.from_labels([0] * 20, 2), [0] * 20, 0.5)
    assert model.coverage == 0.5
    assert repr(model).startswith("Conformal(aps, coverage 0.5, threshold ")
    assert model.set_params(coverage=0.7).get_params()["coverage"] == 0.7
    assert "not fitted" in repr(model)
    assert len(model.fit(tl.TopLists.from_labels([0], 2), [0]).transform(tl.TopLists.from_dicts([], 2))) == 0


def test_a_rank_beyond_all_lists_adds_no_penalty() -> None:
    rng = np.random.default_rng(0)
    lists, y = draw_lists(rng, 40, 5), rng.integers(0, 5, 40)
    plain = Conformal(0.8).fit(lists, y)
    assert Conformal(0.8, "raps", k_reg=10**30).fit(lists, y).threshold_ == plain.threshold_
