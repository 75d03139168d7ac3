"""The reject option and the curve of score against coverage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.postprocess.factories import draw_lists
from toplist.lists import from_logs
from toplist.postprocess.selective import reject_below, rejection_curve, uncertainties

seeds = st.integers(0, 5_000)


@given(seed=seeds, threshold=st.floats(0, 1), valid=st.booleans())
def test_rejected_lists_are_empty_and_the_others_as_they_were(seed: int, threshold: float, valid: bool) -> None:
    lists = draw_lists(np.random.default_rng(seed), 8, 5, valid=valid)
    tops = lists.strictly_valid().truncate(1)
    for by, stays in {"confidence": tops.mass >= threshold, "entropy": tl.entropy(lists) <= threshold}.items():
        made = reject_below(lists, threshold, by=by)  # type: ignore[arg-type]
        near = np.abs(tops.mass - threshold) < 1e-12
        np.testing.assert_array_equal((made.sizes == lists.sizes)[~near], (stays | (lists.sizes == 0))[~near])
        assert (made.sizes[~stays & ~near] == 0).all()
        kept = made.sizes > 0
        assert made[kept] == lists[kept]
        np.testing.assert_array_equal(made[kept].classes, lists[kept].classes)  # in their order
        np.testing.assert_allclose(made.rest[~kept], 1)


@given(seed=seeds, rule=st.sampled_from(["brier", "log", "spherical"]))
def test_the_empty_list_scores_the_same_whatever_happens(seed: int, rule: str) -> None:
    """1 - 1/m in Brier score (paper, section 5.1); so by its own expectation rejecting improves no list."""
    lists = draw_lists(np.random.default_rng(seed), 5, 4)
    gone = reject_below(lists, math.inf)
    scores = np.stack([tl.score(gone, np.full(5, y), rule=rule) for y in range(4)])
    np.testing.assert_allclose(scores, tl.entropy(gone, rule=rule)[0])
    assert rule != "brier" or scores[0, 0] == pytest.approx(0.75)
    assert (tl.entropy(lists, rule=rule) <= scores[0, 0] + 1e-12).all()


@given(seed=seeds, rule=st.sampled_from(["brier", "log"]), by=st.sampled_from(["entropy", "confidence"]))
def test_every_point_is_what_rejecting_there_does(seed: int, rule: str, by: Any) -> None:
    rng = np.random.default_rng(seed)
    lists, y = draw_lists(rng, 9, 4, valid=bool(rng.random() < 0.5)), rng.integers(0, 4, 9)
    w = np.round(rng.random(9), 2) + 0.1
    made = rejection_curve(lists, y, rule=rule, by=by, sample_weight=w)
    plain = lists.strictly_valid()
    doubt = uncertainties(plain, by=by, rule=rule)
    own = tl.score(plain, y, rule=rule, penalty=0)
    none = tl.score(plain.truncate(0), y, rule=rule)
    assert made.coverage[0] == 0
    assert made.coverage[-1] == pytest.approx(1)
    table = []
    for at, threshold in enumerate(made.threshold):
        taken = doubt <= (threshold if by == "entropy" else -threshold)
        table.append(np.where(taken, own, none))
        assert made.coverage[at] == pytest.approx(w[taken].sum() / w.sum())
        assert made.overall[at] == pytest.approx(np.average(table[-1], weights=w))
        if taken.any():
            assert made.accepted[at] == pytest.approx(np.average(own[taken], weights=w[taken]))
        else:
            assert math.isnan(made.accepted[at])
    assert made.overall[made.best] == pytest.approx(made.overall.min(), abs=1e-12)
    finite = [i for i, row in enumerate(table) if np.isfinite(row).all()]
    for at in finite:
        d = table[at] - table[made.best]
        gap = np.average(d, weights=w)
        assert made.gap[at] == pytest.approx(gap, abs=1e-12)
        assert made.error[at] == pytest.approx(math.sqrt((w**2 @ (d - gap) ** 2) * 9 / 8) / w.sum(), abs=1e-7)
    fit = [i for i in finite if made.gap[i] <= made.error[i] + 1e-12]
    assert made.chosen == max(fit)
    got = tl.score(made.transform(lists).strictly_valid(), y, rule=rule, penalty=0)
    np.testing.assert_allclose(got, table[made.chosen], rtol=1e-9)


def test_the_area_is_the_mean_over_all_coverages() -> None:
    """Without ties: of the mean scores of the first case, the first two, and so on."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 40)
    y = rng.integers(0, 4, 40)
    lists = tl.TopLists.from_proba(p)
    made = rejection_curve(lists, y)
    order = np.argsort(tl.entropy(lists))
    running = np.cumsum(tl.score(lists, y)[order]) / np.arange(1, 41)
    np.testing.assert_allclose(made.accepted[1:], running)
    assert made.area == pytest.approx(running.mean())


def test_equally_doubtful_lists_are_rejected_together() -> None:
    lists = tl.TopLists.from_dicts([{0: 0.8}, {1: 0.8}, {2: 0.5}, {0: 0.8}], 5)
    made = rejection_curve(lists, [0, 2, 2, 0])
    np.testing.assert_allclose(made.coverage, [0, 0.75, 1])


def test_guesses_that_are_too_sure_are_rejected() -> None:
    """Half of the cases are known, the others guessed with a confidence of 0.6 that is not kept."""
    rng = np.random.default_rng(4)
    n, m = 600, 10
    y = rng.integers(0, m, n)
    known = rng.random(n) < 0.5
    named = np.where(known, y, rng.integers(0, m, n))
    lists = tl.TopLists.from_topk(named[:, None], np.where(known, 0.9, 0.6)[:, None], m)
    for by in ("entropy", "confidence"):
        made = rejection_curve(lists, y, by=by)  # type: ignore[arg-type]
        assert made.coverage[made.chosen] == pytest.approx(known.mean())
        np.testing.assert_array_equal(made.transform(lists).sizes, known)
        assert "best, chosen" in str(made)


def test_calibrated_lists_are_not_rejected() -> None:
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(5, 0.4), 800)
    y = (p.cumsum(axis=1) < rng.random(800)[:, None]).sum(axis=1)
    made = rejection_curve(tl.TopLists.from_proba(p), y)
    assert made.coverage[made.chosen] == pytest.approx(1)


def test_infinite_scores_are_counted_not_added() -> None:
    """Under the log score a hard label that fails costs everything: what is surest must go, so all must."""
    lists = tl.TopLists.from_dicts([{0: 1.0}, {0: 0.6}, {1: 0.5}], 4)
    made = rejection_curve(lists, [1, 0, 1], rule="log")
    assert made.overall.tolist() == [pytest.approx(math.log(4)), math.inf, math.inf, math.inf]
    assert made.chosen == made.best == 0
    assert made.area == math.inf
    assert made.transform(lists).sizes.tolist() == [0, 0, 0]


def test_where_the_empty_list_is_infinite_nothing_is_rejected() -> None:
    lists = tl.TopLists.from_dicts([{"a": 0.9}, {"a": 0.6}], math.inf)
    made = rejection_curve(lists, ["a", "a"], rule="log")
    assert made.coverage[made.chosen] == 1
    assert made.overall.tolist() == [
        math.inf,
        pytest.approx(-math.log(0.54) / 2),
    ]  # all equally doubtful
    assert not np.isnan(made.overall).any()


def test_open_ended_answers_per_case_sizes_and_small_lists_have_curves() -> None:
    open_ended = tl.TopLists.from_dicts([{"a": 0.9}, {"b": 0.3}, {}], math.inf)
    assert np.isfinite(rejection_curve(open_ended, ["a", "c", "z"]).overall).all()
    differ = tl.TopLists.from_dicts([{0: 0.9}, {1: 0.3}], tl.ClassSpace([2, 5]))
    np.testing.assert_allclose(rejection_curve(differ, [0, 1]).overall[0], (0.5 + 0.8) / 2)
    small = from_logs([0, 1, 2], [3, 7], [-3083.0, -1.0], 2**10000)
    assert reject_below(small, 0.1).sizes.tolist() == [0, 1]
    assert rejection_curve(small, [3, 7]).cases == 2


def test_rules_with_parameters_come_along() -> None:
    lists = tl.TopLists.from_dicts([{0: 0.9}, {1: 0.6}, {1: 0.6, 0: 0.2}], 5)
    made = rejection_curve(lists, [0, 0, 0], rule=tl.Power(1.5))
    assert len(made.transform(lists)) == 3


def test_one_case_has_a_curve_and_none_are_rejected_of_none() -> None:
    lists = tl.TopLists.from_labels([0], 2)
    assert len(reject_below(lists[:0], 0.5)) == 0
    curve = rejection_curve(lists, [0])
    assert curve.chosen == curve.best


def test_a_case_without_weight_has_no_say_though_its_score_is_infinite() -> None:
    lists = tl.TopLists.from_dicts([{0: 1.0}, {0: 0.7}, {0: 0.6}], 3)
    y = [1, 0, 2]
    made = rejection_curve(lists, y, rule="log", sample_weight=[0, 1, 1])
    alone = rejection_curve(lists[1:], y[1:], rule="log")
    np.testing.assert_array_equal(made.accepted[2:], alone.accepted[1:])
    np.testing.assert_array_equal(made.overall[2:], alone.overall[1:])
    assert made.area == pytest.approx(alone.area)


@given(seed=seeds, rule=st.sampled_from(["brier", "log", "spherical"]))
def test_how_doubtful_a_list_is_does_not_depend_on_its_order(seed: int, rule: str) -> None:
    """To the last bit: else equal lists would fall on both sides of a threshold."""
    rng = np.random.default_rng(seed)
    rows = [dict(enumerate(rng.dirichlet(np.ones(7)).tolist())) for _ in range(5)]
    turned = [dict([list(row.items())[i] for i in rng.permutation(7)]) for row in rows]
    one, other = (tl.TopLists.from_dicts(some, 7) for some in (rows, turned))
    np.testing.assert_array_equal(
        uncertainties(one, by="entropy", rule=rule), uncertainties(other, by="entropy", rule=rule)
    )


def test_lists_that_say_the_same_in_other_words_are_accepted_together() -> None:
    """A distribution, and the same with its last class left to the rest: their entropies differ by rounding."""
    rng = np.random.default_rng(1)
    rows = [dict(enumerate(p)) for p in rng.dirichlet(np.ones(6), 30).tolist()]
    shorter = [{c: x for c, x in row.items() if x > min(row.values())} for row in rows]
    lists = tl.TopLists.from_dicts(rows + shorter, 6)
    made = rejection_curve(lists, np.tile(rng.integers(0, 6, 30), 2))
    np.testing.assert_allclose(made.coverage, np.arange(31) / 30)
