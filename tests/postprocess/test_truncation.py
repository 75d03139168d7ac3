"""How long lists should be."""

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
from toplist.lists.converters import as_codes
from toplist.postprocess.truncation import choose_k, choose_mass, truncate_by_gain, worth
from toplist.scoring.rules import as_rule
from toplist.scoring.scores import plain_scores
from toplist.scoring.truncation_curve import curve, cut_scores

PLAIN = tl.Savage(lambda v, n: 1 - (n * v * v).sum(-1), lambda v, n: -2 * v)
RULES = {name: as_rule(name) for name in ("brier", "log", "spherical", "zero-one", "one-vs-rest")} | {"savage": PLAIN}


@given(seed=st.integers(0, 5_000), rule=st.sampled_from(["brier", "log", "spherical"]), valid=st.booleans())
def test_the_curve_is_the_mean_score_of_cut_lists_and_the_errors_are_paired(seed: int, rule: str, valid: bool) -> None:
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, 12, 5, valid=valid)
    y = rng.integers(0, 5, 12)
    made = choose_k(lists, y, rule=rule)
    cuts = [tl.score(lists.strictly_valid().truncate(int(k)), y, rule=rule, penalty=0) for k in made.at]
    np.testing.assert_allclose(made.score, [one.mean() for one in cuts], rtol=1e-12)
    np.testing.assert_array_equal(made.infinite, [np.isinf(one).sum() for one in cuts])
    best = cuts[made.best]
    for k, one in enumerate(cuts):
        if np.isfinite(one).all() and np.isfinite(best).all():
            d = one - best
            assert made.gap[k] == pytest.approx(d.mean(), abs=1e-12)
            assert made.error[k] == pytest.approx(d.std(ddof=1) / math.sqrt(12), abs=1e-9)
    fit = [k for k in made.at if made.gap[k] <= made.error[k] + 1e-12]
    assert made.chosen == min(fit)
    assert choose_k(lists, y, rule=rule, one_se=False).chosen == made.best
    assert made.best == min(
        made.at, key=lambda k: (made.infinite[k], np.where(np.isinf(cuts[k]), 0, cuts[k]).sum().round(9))
    )


@given(seed=st.integers(0, 5_000))
def test_weights_count_cases_as_often_as_they_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists, y, w = draw_lists(rng, 8, 4), rng.integers(0, 4, 8), rng.integers(0, 4, 8)
    w[0] = 1
    again = np.repeat(np.arange(8), w)
    weighted, repeated = choose_k(lists, y, sample_weight=w), choose_k(lists[again], y[again])
    shared = len(repeated.at)  # the longest list may weigh nothing
    np.testing.assert_allclose(weighted.score[:shared], repeated.score, atol=1e-12)
    np.testing.assert_allclose(weighted.size[:shared], repeated.size, atol=1e-12)
    assert weighted.best == repeated.best


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_blocks_of_cuts_score_as_lists_cut_one_by_one(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With rests known as logarithms too, and blocks of two cases."""
    rng = np.random.default_rng(3)
    monkeypatch.setattr("toplist.scoring.truncation_curve._CELLS", 16)
    logits = rng.normal(0, 3, (7, 6))
    lists = tl.TopLists.from_logits(logits, k=4)
    y = rng.integers(0, 6, 7)
    ks = np.arange(6)
    made = np.concatenate([block for _, block in cut_scores(lists, y, ks, rule=rule)])
    want = np.stack([tl.score(lists.truncate(int(k)), y, rule=rule, penalty=0) for k in ks], axis=1)
    np.testing.assert_allclose(made, want, rtol=1e-12)


def test_a_block_of_shorter_lists_is_cut_to_its_own_length(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = tl.TopLists.from_dicts([{0: 0.5, 1: 0.2, 2: 0.2}, {0: 0.6}, {1: 0.3}, {}], 5)
    whole = curve(lists, [0, 1, 1, 2])
    monkeypatch.setattr("toplist.scoring.truncation_curve._CELLS", 1)
    again = curve(lists, [0, 1, 1, 2])
    np.testing.assert_allclose(again.score, whole.score, rtol=1e-15)
    np.testing.assert_allclose(again.entropy, whole.entropy, rtol=1e-15)


def test_labels_that_are_numbers_are_encoded_once() -> None:
    """Codes are not taken for labels on the way, in curves neither."""
    space = tl.ClassSpace(labels=[2, 1, 0])
    lists = tl.TopLists.from_dicts([{2: 0.7, 1: 0.2}, {0: 0.5}], space)
    y = [2, 0]
    want = [tl.score(lists.truncate(k), y, rule="log").mean() for k in range(3)]
    np.testing.assert_allclose(choose_k(lists, y, rule="log").score, want)
    np.testing.assert_allclose(choose_mass(lists, y, rule="log", masses=[1]).score, want[-1:])
    np.testing.assert_allclose(curve(lists, y, rule=PLAIN).coverage, [0, 1, 1])
    np.testing.assert_allclose(plain_scores(lists, as_codes(y, lists), as_rule("log")), tl.score(lists, y, rule="log"))


def test_outcomes_without_a_code_count_as_unlisted() -> None:
    space = tl.ClassSpace(10, ["a", "b"])
    lists = tl.TopLists.from_dicts([{"a": 0.7, "b": 0.1}] * 3, space)
    made = choose_k(lists, ["a", "b", "z"])
    want = [tl.score(lists.truncate(k), ["a", "b", "z"]).mean() for k in range(3)]
    np.testing.assert_allclose(made.score, want)


def test_hard_labels_under_the_log_score_are_better_rejected() -> None:
    """A miss is infinite; the empty list is not."""
    made = choose_k(tl.TopLists.from_labels([0, 1, 2], 3), [0, 1, 1], rule="log")
    assert made.chosen == made.best == 0
    assert made.score.tolist() == [pytest.approx(math.log(3)), math.inf]
    assert made.infinite.tolist() == [0, 1]
    assert made.gap[1] == math.inf
    assert math.isnan(made.error[1])


def test_where_all_are_infinite_fewer_come_first() -> None:
    """Infinitely many classes: a miss is infinite at any length."""
    lists = tl.TopLists.from_dicts([{"a": 0.6, "b": 0.3}] * 4, math.inf)
    made = choose_k(lists, ["a", "b", "c", "a"], rule="log")
    assert made.infinite.tolist() == [4, 2, 1]
    assert made.chosen == made.best == 2
    assert not np.isnan(made.score).any()


def test_one_case_has_no_standard_error_and_gets_the_best() -> None:
    made = choose_k(tl.TopLists.from_proba([[0.6, 0.3, 0.1]]), [0])
    assert np.isnan(made.error).all()
    assert made.chosen == made.best


def test_the_shortest_of_equally_good_lengths_is_best() -> None:
    """The last class of a complete list adds nothing; nor does k beyond the longest list."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 50)
    made = choose_k(tl.TopLists.from_proba(p), rng.integers(0, 4, 50), ks=[3, 4, 5, 2**70], one_se=False)
    assert made.best == 3
    np.testing.assert_allclose(made.gap, 0, atol=1e-15)


def test_noise_at_the_end_of_lists_is_cut_off() -> None:
    """Two classes are known, the other ten are noise: a longer list is worse, and the choice finds it."""
    rng = np.random.default_rng(1)
    n, m = 800, 12
    p = np.concatenate([np.tile([0.45, 0.35], (n, 1)), np.full((n, m - 2), 0.02)], axis=1)
    y = np.array([rng.choice(m, p=row) for row in p])
    noisy = p.copy()
    noisy[:, 2:] = 0.2 * rng.dirichlet(np.full(m - 2, 0.2), n)
    made = choose_k(tl.TopLists.from_proba(noisy), y)
    assert made.best == made.chosen == 2
    unpaired = np.std(tl.score(tl.TopLists.from_proba(p), y)) / math.sqrt(n)
    assert made.error[3] < unpaired
    assert (made.transform(tl.TopLists.from_proba(noisy)).sizes == 2).all()


@given(seed=st.integers(0, 5_000), valid=st.booleans())
def test_masses_are_compared_like_lengths(seed: int, valid: bool) -> None:
    rng = np.random.default_rng(seed)
    lists, y, w = draw_lists(rng, 10, 5, valid=valid), rng.integers(0, 5, 10), rng.random(10)
    made = choose_mass(lists, y, sample_weight=w)
    plain = lists.strictly_valid()
    want = [np.average(tl.score(plain.truncate(mass=float(x)), y, penalty=0), weights=w) for x in made.at]
    np.testing.assert_allclose(made.score, want, atol=1e-12)
    assert made.transform(lists) == plain.truncate(mass=made.chosen)
    assert made.transform(lists).is_valid().all()
    d = tl.score(plain.truncate(mass=0.0), y, penalty=0) - tl.score(plain.truncate(mass=made.best), y, penalty=0)
    error = math.sqrt((w**2 @ (d - made.gap[0]) ** 2) * 10 / 9) / w.sum()
    assert made.error[0] == pytest.approx(error, abs=1e-9)


def by_hand(p: list[float], rest: float, m: float) -> list[float]:
    """Expected gains as differences of entropies of padded lists."""

    def brier_entropy(k: int) -> float:
        tail = rest + sum(p[k:])
        return 1 - sum(x * x for x in p[:k]) - (tail * tail / (m - k) if k < m else 0.0)

    return [brier_entropy(k) - brier_entropy(k + 1) for k in range(len(p))]


@given(seed=st.integers(0, 5_000), threshold=st.sampled_from([0.0, 1e-4, 0.003, 0.02, 0.2]))
def test_lists_end_where_the_next_class_is_not_worth_it(seed: int, threshold: float) -> None:
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, 6, 5).strictly_valid().ordered()
    cut, best = truncate_by_gain(lists, threshold), truncate_by_gain(lists, threshold, ahead=True)
    for case, one in enumerate(lists):
        gains = by_hand(list(one.confidences.values()), one.rest, 5)
        if any(abs(g - threshold) < 1e-12 for g in gains):
            continue
        assert cut.sizes[case] == next((i for i, g in enumerate(gains) if g < threshold), len(gains))
        net = np.concatenate([[0.0], np.cumsum(np.array(gains) - threshold)])
        assert net[best.sizes[case]] == pytest.approx(net.max(), abs=1e-12)
    assert cut.is_valid().all()
    np.testing.assert_allclose(cut.mass + cut.rest, 1)


def test_looking_ahead_passes_over_a_step_that_gains_little() -> None:
    """Three classes are equally likely: the first alone tells little, all three much."""
    lists = tl.TopLists.from_proba([[0.3, 0.3, 0.3, 0.1]])
    assert truncate_by_gain(lists, 0.005).sizes.tolist() == [0]
    assert truncate_by_gain(lists, 0.005, ahead=True).sizes.tolist() == [3]


@pytest.mark.parametrize("m", [10**9, 2**10000, math.inf], ids=["many", "huge", "infinite"])
def test_gains_in_huge_spaces_are_squares(m: Any) -> None:
    lists = tl.TopLists.from_dicts([{"a": 0.5, "b": 0.1, "c": 0.01}, {}], m)
    assert truncate_by_gain(lists, 0.005).sizes.tolist() == [2, 0]
    np.testing.assert_allclose(worth(lists).expected, [0.25, 0.01, 0.0001], rtol=1e-6)


@given(seed=st.integers(0, 5_000), valid=st.booleans())
def test_what_ranks_are_worth_adds_up_to_the_score_of_the_list(seed: int, valid: bool) -> None:
    """From the empty list, 1 - 1/m, down to the list; expected from its entropy to that of the list."""
    rng = np.random.default_rng(seed)
    lists, y = draw_lists(rng, 7, 5, valid=valid), rng.integers(0, 5, 7)
    made = worth(lists, y)
    assert made.realised is not None
    assert 0.8 * 7 - made.cases @ made.realised == pytest.approx(tl.score(lists, y, penalty=0).sum(), abs=1e-12)
    assert 0.8 * 7 - made.cases @ made.expected == pytest.approx(tl.entropy(lists).sum(), abs=1e-12)
    one = worth(lists[:1], y[:1])
    assert one.error is not None
    assert np.isnan(one.error).all()


def test_true_lists_are_worth_what_they_expect() -> None:
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(5, 0.5), 4000)
    y = (p.cumsum(axis=1) < rng.random(4000)[:, None]).sum(axis=1)
    made = worth(tl.TopLists.from_proba(p), y)
    assert made.realised is not None
    assert made.error is not None
    assert (abs(made.expected - made.realised)[:4] < 4 * made.error[:4]).all()
    assert made.expected[4] == made.realised[4] == 0  # the last class of all is known
    assert "rank" in str(made)
    assert "rank" in str(worth(tl.TopLists.from_proba(p)))


def test_lists_of_small_confidences_are_cut_too() -> None:
    lists = from_logs([0, 2, 3], [3, 1, 7], [-583.0, -585.5, -1.0], 2**1000)
    made = choose_k(lists, [3, 7], rule="log")
    want = [np.mean(tl.score(lists.truncate(k), [3, 7], rule="log")) for k in range(3)]
    np.testing.assert_allclose(made.score, want)
    assert made.transform(lists).sizes.max() == made.chosen
    assert truncate_by_gain(lists, 1e-9).sizes.tolist() == [0, 1]


def test_the_number_of_classes_may_differ_per_case() -> None:
    lists = tl.TopLists.from_dicts([{0: 0.6, 1: 0.4}, {0: 0.6, 1: 0.3}], tl.ClassSpace([2, 5]))
    made = choose_k(lists, [1, 4])
    want = [tl.score(lists.truncate(k), [1, 4]).mean() for k in range(3)]
    np.testing.assert_allclose(made.score, want)
    np.testing.assert_allclose(
        worth(lists).expected, [(0.02 + by_hand([0.6, 0.3], 0.1, 5)[0]) / 2, by_hand([0.6, 0.3], 0.1, 5)[1] / 2]
    )


def test_a_choice_shows_what_it_chose_from() -> None:
    rng = np.random.default_rng(0)
    long = choose_k(tl.TopLists.from_proba(rng.dirichlet(np.ones(40), 20)), rng.integers(0, 40, 20))
    assert str(long).startswith(f"Truncation to k = {long.chosen}")
    assert "(41 were tried)" in str(long)
    assert "chosen" in repr(long)
    assert "best, chosen" in str(choose_mass(tl.TopLists.from_labels([0], 2), [0]))


def test_no_cases_are_cut_to_none() -> None:
    none = tl.TopLists.from_labels(np.zeros(0, np.int64), 3)
    assert len(truncate_by_gain(none, 0.1)) == 0
    assert len(worth(none).rank) == 0


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_only_proportions_of_weights_count(scale: float) -> None:
    """However small their squares are, or large their sum."""
    rng = np.random.default_rng(2)
    lists, y, w = draw_lists(rng, 30, 5), rng.integers(0, 5, 30), rng.integers(0, 4, 30).astype(float)
    one, other = choose_k(lists, y, sample_weight=w), choose_k(lists, y, sample_weight=w * scale)
    for name in ("score", "gap", "error", "size"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-12)
    assert worth(lists, y, sample_weight=w * scale).error == pytest.approx(worth(lists, y, sample_weight=w).error)
