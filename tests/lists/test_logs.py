"""Confidences too small to be numbers, known by their logarithms: against the definitions in long decimals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from toplist.core import kernel
from toplist.lists import from_logs
from toplist.multilabel.support import lists_of_sets

T = tl.TopLists
SIZES = (8, 1000, 10**15, 2**1200, 2**10000)
RULES = ("brier", "log", "spherical", "zero-one", tl.Power(1.5), tl.Power(0.5), tl.Renyi(0.5), tl.OneVsRest())


@pytest.fixture(scope="module", autouse=True, params=["compiled", "pure Python"])
def both_kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """Everything here holds in both kernels."""
    if request.param == "compiled":
        if not kernel.NATIVE:
            pytest.skip("the compiled kernel was not built, or not asked for")
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_compiled", None)
        patch.setattr(kernel, "NATIVE", False)
        yield


@dataclass(frozen=True)
class Case:
    """A list by its logarithms, the log of the rest mass where it is given, and the number of classes."""

    logs: dict[int, float]
    log_rest: float | None
    m: int

    @property
    def lists(self) -> tl.TopLists:
        """As the library takes it."""
        log_rest = None if self.log_rest is None else [self.log_rest]
        return from_logs([0, len(self.logs)], list(self.logs), list(self.logs.values()), self.m, log_rest=log_rest)

    @property
    def exact(self) -> Exact:
        """By definition."""
        t = {c: mp.exp(mp.mpf(log)) for c, log in self.logs.items()}
        rest = 1 - mp.fsum(t.values()) if self.log_rest is None else mp.exp(mp.mpf(self.log_rest))
        if self.log_rest is None and abs(rest) <= len(t) * mp.mpf(2) ** -52:  # rounding, not mass
            rest = mp.mpf(0)
        return Exact(t, rest, self.m)


@dataclass(frozen=True)
class Exact:
    """A list in long decimals."""

    t: dict[int, Any]
    rest: Any
    m: int

    @property
    def proxy(self) -> Any:
        """The share of each unlisted class."""
        return self.rest / (self.m - len(self.t))

    def valid(self) -> Exact:
        """The smallest confidence goes while it is below the proxy."""
        t, rest = dict(self.t), self.rest
        while t and min(t.values()) < rest / (self.m - len(t)):
            rest += t.pop(min(t, key=lambda c: t[c]))
        return Exact(t, rest, self.m)

    def first(self, k: int) -> Exact:
        """The k most confident classes."""
        kept = sorted(self.t, key=lambda c: -self.t[c])[:k]
        dropped = mp.fsum(x for c, x in self.t.items() if c not in kept)
        return Exact({c: self.t[c] for c in kept}, self.rest + dropped, self.m)

    def log_score(self, y: int) -> float:
        """-log of the outcome's padded confidence."""
        q = self.t.get(y, self.proxy)
        return math.inf if q == 0 else float(-mp.log(q))


@pytest.fixture(autouse=True, scope="module")
def long_decimals() -> Iterator[None]:
    """As many digits as matter; exponents have no end."""
    with mp.workdps(60):
        yield


small = st.floats(-3000, -640).map(lambda x: round(x, 3)) | st.sampled_from([-745.0, -744.0, -710.0, -700.0, -2000.0])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Lists of which some, most or all confidences are too small; the rest mass is all, half or hardly any."""
    m = draw(st.sampled_from(SIZES))
    k = draw(st.integers(1, 6))
    logs = draw(st.lists(small, min_size=k, max_size=k))
    shape = draw(st.sampled_from(["all small", "one large", "sure"]))
    log_rest = draw(st.sampled_from([None, 0.0]))
    if shape == "one large":
        logs[0], log_rest = math.log(0.5), draw(st.sampled_from([None, math.log(0.5)]))
    elif shape == "sure":
        logs[0], log_rest = 0.0, draw(st.none() | small)
    places = draw(st.permutations(range(k)))
    return Case({place: logs[place] for place in places}, log_rest, m)


@given(cases())
def test_log_scores_are_those_of_the_definition(case: Case) -> None:
    """Listed or not, valid or not, with the rest mass given or not."""
    valid = case.exact.valid()
    outcomes = [*case.logs, 7]
    lists = case.lists[np.zeros(len(outcomes), int)]
    made = tl.score(lists, outcomes, rule="log", penalty=0)
    np.testing.assert_allclose(made, [valid.log_score(y) for y in outcomes], rtol=1e-12, atol=1e-200)
    assert [tl.score(case.lists[0], y, rule="log", penalty=0) for y in outcomes] == made.tolist()


@given(cases())
def test_what_is_scored_is_the_largest_valid_sublist(case: Case) -> None:
    """Classes at the very edge may stay or go: the score is the same."""
    valid = case.exact.valid()
    kept = set(case.lists.strictly_valid().classes.tolist())
    for c in kept ^ set(valid.t):
        assert float(abs(mp.log(case.exact.t[c]) - mp.log(valid.proxy))) < 1e-9
    scores = [tl.score(one, [7], rule="log", penalty=0)[0] for one in (case.lists, case.lists.strictly_valid())]
    assert scores[0] == scores[1]


@given(cases(), st.integers(0, 6))
def test_truncation_keeps_the_likeliest_and_adds_up_what_it_drops(case: Case, k: int) -> None:
    cut, exact = case.lists.truncate(k), case.exact.first(k)
    logs = [case.logs[c] for c in cut.classes.tolist()]
    assert logs == sorted(case.logs.values(), reverse=True)[:k]
    padded = cut.as_distributions()  # as they stand, valid or not
    want = [exact.log_score(y) for y in (*exact.t, 7)]
    made = [tl.score(padded, [y], rule="log")[0] for y in (*exact.t, 7)]
    np.testing.assert_allclose(made, want, rtol=1e-12, atol=1e-200)  # a one beside exp(-640) lacks as much
    twice = case.lists.truncate(k + 1).truncate(k)
    assert tl.score(twice.as_distributions(), [7], rule="log") == pytest.approx(want[-1], rel=1e-12)


@given(cases())
def test_ranks_accuracy_and_top_k_errors_go_by_logarithms(case: Case) -> None:
    order = sorted(case.logs.values(), reverse=True)
    for y, log in case.logs.items():
        first, ties = order.index(log), order.count(log)
        assert tl.ranks(case.lists, [y]) == [first + 1 + (ties - 1) / 2]
        assert tl.accuracy(case.lists, [y]) == (1 / ties if first == 0 else 0)
        for k in (1, 2, 3):
            assert tl.top_k_error(case.lists, [y], k=k) == pytest.approx(1 - min(max((k - first) / ties, 0), 1))
    assert tl.ranks(case.lists, [7]) == [math.inf]
    for y in (*case.logs, 7):
        valid = case.exact.valid()
        best = max((*valid.t.values(), valid.proxy))
        winners = sum(x == best for x in valid.t.values()) + (valid.m - len(valid.t) if valid.proxy == best else 0)
        won = valid.t.get(y, valid.proxy) == best
        assert tl.score(case.lists, [y], rule="zero-one", penalty=0)[0] == pytest.approx(
            1 - (1 / winners if won else 0), abs=1e-15
        )


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_scores_of_soft_outcomes_are_expectations(rule: Any) -> None:
    lists = from_logs([0, 3], [0, 1, 2], [-3000.0, -3001.0, -3100.0], 2**10000)
    truth = T.from_dicts([{0: 0.5, 1: 0.25, 9: 0.25}], 2**10000)
    each = [tl.score(lists, [y], rule=rule)[0] for y in (0, 1, 9)]
    assert tl.score(lists, truth, rule=rule)[0] == pytest.approx(0.5 * each[0] + 0.25 * each[1] + 0.25 * each[2])


def ten_thousand_labels(seed: int) -> tuple[tl.LabelSets, Any, Any, Any]:
    """For three cases the likeliest set and two of its neighbours, by independent labels: sets, logs, the space."""
    rng = np.random.default_rng(seed)
    space = tl.LabelSets([f"label {i}" for i in range(10_000)])
    sets, logs = [], []
    for _ in range(3):
        p = rng.beta(0.7, 0.7, 10_000)
        likely, cost = p > 0.5, np.sort(np.abs(np.log(p) - np.log1p(-p)))
        flips = np.argsort(np.abs(np.log(p) - np.log1p(-p)))[:2]
        top = math.fsum(np.log(np.maximum(p, 1 - p)))
        sets += [likely, *(likely ^ (np.arange(10_000) == one) for one in flips)]
        logs += [top, top - cost[0], top - cost[1]]
    return space, space.sets(np.array(sets)), np.array(logs), p


def test_a_likely_set_of_ten_thousand_labels_scores_its_own_logarithm() -> None:
    space, sets, logs, _ = ten_thousand_labels(1)
    assert logs.max() < -2000
    lists = lists_of_sets(space, np.arange(4) * 3, sets, logs)
    codes = space.encode(sets)
    assert lists.is_valid().all()
    assert not lists.repairs
    for place in range(3):
        np.testing.assert_allclose(tl.score(lists, codes[place::3], rule="log"), -logs[place::3], rtol=1e-14)
        assert tl.ranks(lists, codes[place::3]).tolist() == [place + 1] * 3
    elsewhere = space.encode([{"label 3"}] * 3)
    np.testing.assert_allclose(tl.score(lists, elsewhere, rule="log"), 10_000 * math.log(2), rtol=1e-14)
    assert tl.score(lists, codes[::3]).tolist() == [1.0] * 3
    assert tl.entropy(lists, rule="log") == pytest.approx(10_000 * math.log(2))


def test_models_with_sets_of_ten_thousand_labels_are_compared_by_finite_means() -> None:
    space, sets, logs, _ = ten_thousand_labels(2)
    a = lists_of_sets(space, np.arange(4) * 3, sets, logs)
    b = lists_of_sets(space, np.arange(4) * 3, sets, logs - 5.0)
    y = space.encode(sets)[[0, 4, 8]]
    board = tl.compare({"a": a, "b": b}, y, space=space, rules=["log", "brier"])
    text = str(board)
    assert "inf" not in text.lower()
    found = board.to_dict()
    assert np.mean(tl.score(a, y, rule="log")) == pytest.approx(-logs[[0, 4, 8]].mean(), rel=1e-14)
    assert np.mean(tl.score(b, y, rule="log")) == pytest.approx(5 - logs[[0, 4, 8]].mean(), rel=1e-14)
    assert float(-logs[[0, 4, 8]].mean()) in [pytest.approx(x, rel=1e-12) for x in numbers(found)]
    assert float(5 - logs[[0, 4, 8]].mean()) in [pytest.approx(x, rel=1e-12) for x in numbers(found)]


def numbers(found: Any) -> list[float]:
    """All numbers of a nested record."""
    if isinstance(found, dict | list | tuple):
        values = found.values() if isinstance(found, dict) else found
        return [x for value in values for x in numbers(value)]
    return [float(found)] if isinstance(found, int | float) and not isinstance(found, bool) else []


def test_no_true_list_is_invalid_however_small_its_confidences() -> None:
    """A geometric distribution over 2**5000 classes, cut to the first k, down to confidences of e^-3000."""
    rate = 30.0
    log_first = math.log(-math.expm1(-rate))
    logs = log_first - rate * np.arange(100)
    lists = [
        from_logs([0, k], range(k), logs[:k], 2**5000, log_rest=[-rate * k] if k else [0.0]) for k in (1, 30, 80, 100)
    ]
    for one in lists:
        assert one.is_valid().all()
        assert not (one.checked.flags & 1).any()
        assert one.strictly_valid() is one
        y = len(one.classes) - 1
        assert tl.score(one, [y], rule="log")[0] == pytest.approx(-logs[y], rel=1e-13)
    assert lists[-1].truncate(30) == lists[1]
    assert lists[-1].truncate(30).truncate(1) == lists[0]


def test_what_is_below_the_proxy_is_dropped_without_a_penalty() -> None:
    """The proxy is 2**-10000; a penalty begins at 1e-15."""
    log_proxy = -10_000 * math.log(2)
    lists = from_logs([0, 3], [5, 6, 7], [log_proxy + 1, log_proxy - 1, log_proxy - 2], 2**10000)
    assert lists.is_valid().all()
    assert lists.strictly_valid().classes.tolist() == [5]
    assert tl.score(lists, [6], rule="log") == pytest.approx(-log_proxy, rel=1e-14)
    assert tl.score(lists, [5], rule="log") == pytest.approx(-log_proxy - 1, rel=1e-14)
    invalid = from_logs([0, 2], [1, 2], [-800.0, math.log(0.3)], 4)
    assert not invalid.is_valid().any()
    assert invalid.valid()[0] == tl.TopList({2: 0.3}, 4)
    assert tl.score(invalid, [1], rule="log", penalty=0) == pytest.approx(-math.log(0.7 / 3))
    assert invalid.repair().log_confidences is not None
    assert tl.score(invalid.repair(), [1], rule="log") == pytest.approx(-math.log(0.7 / 3))


@given(st.lists(cases(), min_size=1, max_size=5), st.data())
def test_parts_of_a_batch_are_batches_of_the_parts(parts: list[Case], data: st.DataObject) -> None:
    sizes = np.cumsum([0, *(len(case.logs) for case in parts)])
    classes = [c for case in parts for c in case.logs]
    logs = [log for case in parts for log in case.logs.values()]
    with np.errstate(divide="ignore"):
        log_rest = [np.log(case.lists.rest[0]) if case.log_rest is None else case.log_rest for case in parts]
    whole = from_logs(sizes, classes, logs, [case.m for case in parts], log_rest=log_rest)
    y = [data.draw(st.sampled_from([*case.logs, 7])) for case in parts]
    scores = tl.score(whole, y, rule="log", penalty=0)
    alone = [tl.score(case.lists, [own], rule="log", penalty=0)[0] for case, own in zip(parts, y, strict=True)]
    np.testing.assert_allclose(scores, alone, rtol=1e-13, atol=1e-200)
    some = data.draw(st.permutations(range(len(parts))))[: data.draw(st.integers(1, len(parts)))]
    lo = data.draw(st.integers(0, len(parts) - 1))
    assert tl.score(whole[some], np.array(y)[some], rule="log", penalty=0).tolist() == scores[some].tolist()
    assert tl.score(whole[lo:], y[lo:], rule="log", penalty=0).tolist() == scores[lo:].tolist()
    assert tl.score(whole[lo], y[lo], rule="log", penalty=0) == scores[lo]
    assert whole[some][::-1] == whole[some[::-1]]
    assert whole.ordered() == whole


@given(cases())
def test_the_brier_score_is_that_of_the_numbers(case: Case) -> None:
    """What underflows counts nothing beside what does not; sums of a few terms are rounded in their order."""
    with_logs, log_rest = case.lists, None if case.log_rest is None else [case.log_rest]
    plain = T.from_ragged(with_logs.offsets, with_logs.classes, with_logs.confidences, case.m, log_rest=log_rest)
    assert plain.log_confidences is None
    for y in (*case.logs, 7):
        same = pytest.approx(tl.score(plain, [y], penalty=0).tolist(), rel=1e-15, abs=0)
        assert tl.score(with_logs, [y], penalty=0).tolist() == same
    assert tl.entropy(with_logs).tolist() == pytest.approx(tl.entropy(plain).tolist(), rel=1e-15, abs=0)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lists_without_such_confidences_keep_no_logarithms_and_score_as_ever(rule: Any, dtype: Any) -> None:
    rng = np.random.default_rng(7)
    p = rng.dirichlet(np.full(6, 0.3), 500)
    logs = np.log(p[:, :5]).astype(dtype)
    logs[::7, 3] = -np.inf
    lists = T.from_topk(np.tile(np.arange(5), (500, 1)), logs, 30, scale="log")
    plain = T.from_topk(np.tile(np.arange(5), (500, 1)), np.exp(logs), 30)
    y = rng.integers(0, 30, 500)
    assert lists.log_confidences is None
    assert lists.truncate(2).log_confidences is None
    assert lists == plain
    assert tl.score(lists, y, rule=rule).tolist() == tl.score(plain, y, rule=rule).tolist()
    among = T.from_ragged(
        [0, *(np.arange(501) * 5 + 1)],
        [9, *np.tile(np.arange(5), 500)],
        np.concatenate([np.full(1, -5000.0, dtype), logs.ravel()]),
        30,
        scale="log",
    )
    assert among.log_confidences is not None
    made = tl.score(among, [29, *y], rule=rule)[1:]
    np.testing.assert_allclose(made, tl.score(plain, y, rule=rule), rtol=1e-14)


def test_every_constructor_that_takes_logarithms_keeps_them() -> None:
    logs = [-800.0, -801.0, -2.0]
    made = [
        T.from_topk([[4, 5, 6]], [logs], math.inf, scale="log"),
        T.from_ragged([0, 3], [4, 5, 6], logs, math.inf, scale="log"),
        T.from_dicts([dict(zip([4, 5, 6], logs, strict=True))], math.inf, scale="log"),
        from_logs([0, 3], [4, 5, 6], logs, math.inf),
    ]
    for lists in made:
        assert lists.log_confidences is not None
        assert lists.log_confidences.tolist() == logs
        assert lists == made[0]
        assert [tl.score(lists, [y], rule="log")[0] for y in (4, 5, 6, 7)] == [800.0, 801.0, 2.0, math.inf]
        assert lists.truncate(2).classes.tolist() == [6, 4]
    assert [dict(lists.repairs) for lists in made] == [{"scale: log": 1}] * 3 + [{}]


def test_only_producers_may_have_logarithms_that_look_like_marks() -> None:
    with pytest.raises(tl.TopListError, match="not in my top list"):
        T.from_topk([[0, 1]], [[-1.0, -9999.0]], 9, scale="log")
    lists = from_logs([0, 2], [0, 1], [-30_000.0, -30_001.0], 2**100_000)
    assert tl.score(lists, [1], rule="log") == [30_001.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.5])
def test_logarithms_that_are_of_no_probability_are_refused(bad: float) -> None:
    with pytest.raises(tl.TopListError, match="confidence"):
        from_logs([0, 2], [0, 1], [-3000.0, bad], 9)


def test_single_precision_ends_sooner_and_keeps_logarithms_sooner() -> None:
    logs = np.array([[-95.0, -150.0, -0.5]], np.float32)
    lists = T.from_topk([[0, 1, 2]], logs, 2**300, scale="log")
    assert lists.confidences.dtype == np.float32
    assert tl.score(lists, [0], rule="log") == [95.0]
    assert tl.score(lists.truncate(2), [0], rule="log") == pytest.approx(95.0, rel=1e-14)
    assert tl.score(lists, [1], rule="log") == [150.0]
    assert tl.ranks(lists, [1]) == [3]
    np.testing.assert_allclose(lists.normalized_confidences, np.exp(logs[0].astype(float)), rtol=1e-6)


@pytest.mark.parametrize("k", [None, 2])
def test_logits_keep_probabilities_that_underflow(k: int | None) -> None:
    z = np.array([[0.0, -900.0, -1000.0], [1.0, 2.0, 3.0]])
    lists = T.from_logits(z, k=k)
    assert tl.score(lists, [1, 1], rule="log") == pytest.approx(
        [900.0, 1 + math.log(1 + math.exp(-1) + math.exp(1)) - 1]
    )
    assert tl.score(lists, [2, 2], rule="log")[0] == pytest.approx(1000.0)
    assert tl.score(lists.truncate(1), [2, 2], rule="log")[0] == pytest.approx(900.0 + math.log(2), rel=1e-14)
    masked = T.from_logits([[0.0, -math.inf, -1.0]], k=k)
    assert masked.log_confidences is None
    if k is None:
        assert tl.score(masked, [1], rule="log") == [math.inf]


def test_a_distribution_by_its_logarithms_is_cut_like_any_list() -> None:
    logs = np.array([[-900.0, 0.0, -800.0, -850.0]])
    lists = T.from_proba(logs, scale="log")
    assert lists.truncate(3).classes.tolist() == [1, 2, 3]
    assert tl.score(lists.truncate(2), [0], rule="log") == pytest.approx(850 + math.log(2), rel=1e-14)
    assert lists.truncate(mass=0.9).classes.tolist() == [1]


def test_repairs_are_done_in_logarithms() -> None:
    weights = T.from_topk([[0, 1], [0, 1]], [[-3000.0, -3001.0], [-0.5, -1500.0]], 2, scale="log", normalize=True)
    odds = math.exp(-1)
    assert weights[0].confidences == pytest.approx({0: 1 / (1 + odds), 1: odds / (1 + odds)})
    assert tl.score(weights[1], 1, rule="log") == pytest.approx(1499.5, rel=1e-14)
    twice = T.from_topk([[3, 4, 3]], [[-900.0, -901.0, -900.0]], math.inf, scale="log", duplicates="sum")
    assert tl.score(twice, [3], rule="log") == pytest.approx(900 - math.log(2), rel=1e-14)
    assert tl.score(twice, [4], rule="log") == [901.0]
    over = T.from_topk([[0, 1]], [[math.log(2.0), -900.0]], 5, scale="log", normalize=True)
    assert tl.score(over, [1], rule="log") == pytest.approx(900 + math.log(2), rel=1e-14)
    settled = T.from_topk([[0, 1]], [[-3000.0, -3001.0]], 2, scale="log", normalize=True)
    assert settled.log_confidences is None


def test_rounding_above_one_is_divided_out_of_logarithms_too() -> None:
    lists = from_logs([0, 2], [0, 1], [1e-9, -900.0], 9)
    assert tl.score(lists, [1], rule="log") == pytest.approx(900 + 1e-9, rel=1e-15)


def test_one_list_shows_and_compares_what_underflows() -> None:
    lists = from_logs([0, 2, 4], [3, 1, 1, 3], [-3083.0, -0.5, -0.5, -3084.0], 50)
    assert repr(lists[0]) == "TopList(1 0.6065, 3 e^-3083; unlisted 0.3935 over 48 classes)"
    nearly_sure = from_logs([0, 1], [3], [0.0], 50, log_rest=[-800.0])
    assert repr(nearly_sure[0]) == "TopList(3 1; unlisted e^-800 over 49 classes)"
    assert lists[0] != lists[1]
    assert lists[0] == lists[0].truncate(2)
    assert hash(lists[0]) == hash(lists[0].truncate(2))
    assert lists[0] != tl.TopList({3: 0.0, 1: lists[0].confidences[1]}, 50)
    assert lists[:1] != lists[1:]
    assert lists[[1]] == lists[1:]
    assert lists[:1].valid() == T.from_dicts([{1: lists[0].confidences[1]}], 50)


def test_a_listed_zero_stays_a_zero() -> None:
    lists = from_logs([0, 3], [0, 1, 2], [-math.inf, -900.0, 0.0], math.inf)
    assert tl.score(lists, [0], rule="log") == [math.inf]
    assert tl.score(lists, [1], rule="log") == [900.0]
    assert tl.ranks(lists, [0]) == [3]
    assert repr(lists[0]).startswith("TopList(2 1, 1 e^-900, 0 0;")
    given_rest = from_logs([0, 3], [0, 1, 2], [-math.inf, -900.0, 0.0], 5, log_rest=[-1000.0])
    assert given_rest.strictly_valid().classes.tolist() == [1, 2]
    assert tl.score(given_rest, [0], rule="log") == pytest.approx(1000 + math.log(3), rel=1e-14)


@pytest.mark.parametrize("log_rest", [-740.0, -744.0, -800.0])
def test_a_rest_mass_with_few_digits_scores_by_its_logarithm(log_rest: float) -> None:
    lists = T.from_topk([[0]], [[1.0]], 5, log_rest=[log_rest])
    assert tl.score(lists, [1], rule="log") == pytest.approx(math.log(4) - log_rest, rel=1e-14)


def test_a_batch_in_many_blocks_finds_its_few_small_ones() -> None:
    rng = np.random.default_rng(3)
    n = 2 * kernel.BLOCK + 100
    logs, classes = np.log(rng.dirichlet(np.ones(4), n)[:, :3]), np.argsort(rng.random((n, 10)), axis=1)[:, :3]
    y = rng.integers(0, 10, n)
    few = np.arange(0, n, 611)
    others = np.setdiff1d(np.arange(n), few)
    plain = tl.score(T.from_topk(classes, np.exp(logs), 10), y, rule="log")[others]
    logs[few, 1], y[few] = -1000.0 - few / 128, classes[few, 1]
    made = tl.score(T.from_topk(classes, logs, math.inf, scale="log"), y, rule="log")
    assert made[few].tolist() == (1000.0 + few / 128).tolist()
    made = tl.score(T.from_topk(classes, logs, 10, scale="log"), y, rule="log")
    np.testing.assert_allclose(made[others], plain, rtol=1e-13)
