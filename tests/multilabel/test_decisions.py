"""Decisions from top lists are the best there are for their metric, by brute force over all label sets."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from tests.multilabel import reference as brute
from tests.multilabel.reference import Drawn, Set, drawn, every_set
from toplist.lists.labelsets import Codebook, Sets
from toplist.multilabel.set_decisions import SPREAD_LIMIT, f1_sets, hamming_sets, jaccard_sets, marginals, mode_sets
from toplist.multilabel.sets import lists_of_sets

DECISIONS: dict[str, Callable[..., Sets]] = {"f1": f1_sets, "hamming": hamming_sets, "jaccard": jaccard_sets}
many = settings(max_examples=draws(300))


def only(sets: Sets) -> Set:
    assert len(sets) == 1
    return frozenset(sets[0])


def metric_of(name: str, width: int) -> Callable[[Set, Set], Fraction]:
    return {"f1": brute.f1, "hamming": brute.agreement(width), "jaccard": brute.jaccard}[name]


@many
@given(one=drawn())
def test_the_mode_is_the_best_set_for_set_accuracy(one: Drawn) -> None:
    """Of all label sets; the smallest of several, and of these the first."""
    assert only(mode_sets(one.lists)) == brute.best(brute.accuracy, one.padded(), one.classes)


@many
@given(one=drawn(), name=st.sampled_from(["f1", "hamming"]))
def test_a_decision_is_the_best_of_all_sets_for_the_padded_distribution(one: Drawn, name: str) -> None:
    """With ties, without the empty set, with a support, from complete, short, invalid and empty lists."""
    want = brute.best(metric_of(name, one.width), one.padded(), every_set(one.width))
    assert only(DECISIONS[name](one.lists, rest="spread")) == want


@many
@given(one=drawn(), name=st.sampled_from(["f1", "hamming"]))
def test_a_decision_without_the_rest_mass_is_the_best_of_all_sets_for_the_listed_ones(one: Drawn, name: str) -> None:
    left = one.renormalised()
    assume(left)
    want = brute.best(metric_of(name, one.width), left, every_set(one.width))
    assert only(DECISIONS[name](one.lists, rest="drop")) == want


@pytest.mark.parametrize("rest", ["spread", "drop"])
@many
@given(one=drawn())
def test_the_jaccard_decision_is_the_best_of_what_it_tries(rest: Any, one: Drawn) -> None:
    """The listed sets, the empty set, and the k likeliest labels for each k; never worse than the mode."""
    p = one.padded() if rest == "spread" else one.renormalised()
    assume(p)
    likely = {label: sum(q for y, q in p.items() if label in y) for label in range(one.width)}
    order = sorted(likely, key=lambda label: -likely[label])
    listed = one.valid() if rest == "spread" else one.renormalised()
    tried = {frozenset(), *(y for y in listed if p[y]), *(frozenset(order[:k]) for k in range(one.width + 1))}
    got = only(jaccard_sets(one.lists, rest=rest))
    values = {x: brute.expected(brute.jaccard, x, p) for x in tried}
    assert brute.expected(brute.jaccard, got, p) == max(values.values())
    assert brute.expected(brute.jaccard, got, p) >= brute.expected(brute.jaccard, only(mode_sets(one.lists)), p)


@many
@given(one=drawn())
def test_marginals_are_sums_over_the_padded_distribution(one: Drawn) -> None:
    for rest, p in (("spread", one.padded()), ("drop", one.renormalised())):
        if p:
            want = [float(sum(q for y, q in p.items() if label in y)) for label in range(one.width)]
            got = marginals(one.lists, rest=rest)  # type: ignore[arg-type]
            np.testing.assert_allclose(got, np.array([want]).reshape(1, one.width), rtol=0, atol=1e-14)


def big(seed: int, width: int = 159, cases: int = 40) -> tuple[tl.TopLists, list[list[tuple[Any, float]]]]:
    """Lists over so many labels that codes are digests, with a book; and the same as plain tuples."""
    rng = np.random.default_rng(seed)
    rows, by_hand, log_p, ends = [], [], [], [0]
    for _ in range(cases):
        base = rng.random(width) < rng.uniform(0, 0.05)
        some = np.unique(base ^ (rng.random((20, width)) < 0.01), axis=0)
        t = rng.dirichlet(np.ones(len(some) + 1))[:-1]
        rows.append(some)
        log_p.append(np.log(t))
        ends.append(ends[-1] + len(some))
        by_hand.append([(np.flatnonzero(s), x) for s, x in zip(some, t, strict=True)])
    sets = Sets.from_indicators(np.concatenate(rows))
    return lists_of_sets(tl.LabelSets(range(width)), np.array(ends), sets, np.concatenate(log_p)), by_hand


def slow_f1(row: list[tuple[Any, float]], width: int, rest: str) -> tuple[Any, float]:
    """The general F-measure maximizer as it is written down: P, W, D, and the best of all columns."""
    from math import comb

    mass = sum(t for _, t in row)
    joint, empty = np.zeros((width, width)), 0.0
    share = (1 - mass) / (2**width - len(row)) if rest == "spread" else 0.0
    for labels, t in row:
        weight = t - share if rest == "spread" else t / mass
        if len(labels):
            joint[labels, len(labels) - 1] += weight
        else:
            empty += weight
    if share:
        joint += np.array([(1 - mass) * (comb(width - 1, s - 1) / (2**width - len(row))) for s in range(1, width + 1)])
        empty += share
    s = np.arange(1, width + 1)
    d = joint @ (2 / np.add.outer(s, s))
    values = [empty, *(np.sort(d[:, k - 1])[::-1][:k].sum() for k in s)]
    k = int(np.argmax(values))
    return np.sort(np.argsort(-d[:, k - 1], kind="stable")[:k]) if k else np.zeros(0), float(values[k])


@pytest.mark.parametrize("rest", ["spread", "drop"])
def test_many_labels_are_decided_as_by_dense_matrices(rest: Any) -> None:
    """159 labels, codes that are digests: no set of the 2**159 is missed by what is left out."""
    lists, by_hand = big(1)
    space = lists.space
    assert isinstance(space, tl.LabelSets)
    assert space.digests
    assert isinstance(space.book, Codebook)
    f1, likely = f1_sets(lists, rest=rest), marginals(lists, rest=rest)
    for case, row in enumerate(by_hand):
        want, _ = slow_f1(row, 159, rest)
        assert f1[case] == tuple(want)
        mass = sum(t for _, t in row)
        listed = np.zeros(159)
        for labels, t in row:
            listed[labels] += t
        expected = listed + (1 - mass) / 2 if rest == "spread" else listed / mass
        np.testing.assert_allclose(likely[case], expected, rtol=0, atol=1e-13)
    assert hamming_sets(lists, rest=rest) == Sets.from_indicators(likely > 0.5)
    modes = [max(row, key=lambda item: item[1])[0] for row in by_hand]
    assert list(mode_sets(lists)) == [tuple(labels) for labels in modes]


def test_the_rest_mass_of_many_labels_distorts_a_decision() -> None:
    """Which is why it is dropped there by default: spread, half of all labels look likely."""
    space = tl.LabelSets(range(40))
    lists = tl.TopLists.from_dicts([{frozenset({0}): 0.2, frozenset({0, 1}): 0.1}], space)
    assert f1_sets(lists) == f1_sets(lists, rest="drop") != f1_sets(lists, rest="spread")
    assert f1_sets(lists)[0] == (0,)
    assert len(f1_sets(lists, rest="spread")[0]) > 20


def test_small_probabilities_decide_as_their_shares_do() -> None:
    """What is listed of a case is all that is known of it, however little it is."""
    space = tl.LabelSets(range(1000))
    likely, other, third = {1, 5}, {1, 7}, set(range(40))
    log_p = -680.0 + np.array([-1.0, 0.0, -0.5])
    lists = lists_of_sets(space, np.array([0, 3]), space.sets([other, likely, third]), log_p)
    assert list(mode_sets(lists)) == [(1, 5)]
    t = np.exp(log_p - log_p.max()) / np.exp(log_p - log_p.max()).sum()
    twin = tl.TopLists.from_dicts([{frozenset(s): x for s, x in zip((other, likely, third), t, strict=True)}], space)
    for decide in DECISIONS.values():
        assert decide(lists) == decide(twin)
    np.testing.assert_allclose(marginals(lists), marginals(twin), rtol=1e-12)
    few = lists_of_sets(
        tl.LabelSets("ab"), np.array([0, 2]), tl.LabelSets("ab").sets(["b", "a"]), np.array([-600.0, -700.0])
    )
    assert list(mode_sets(few)) == [()]  # the rest is spread, and any set has more of it


@pytest.mark.parametrize(("width", "rest"), [(8, "spread"), (9, "drop")])
def test_the_default_follows_the_number_of_sets(width: int, rest: Any) -> None:
    assert SPREAD_LIMIT == 2**8
    lists = tl.TopLists.from_dicts([{(0, 1): 0.3, (1,): 0.1}], tl.LabelSets(range(width)))
    for decide in (f1_sets, jaccard_sets, hamming_sets, marginals):
        same = decide(lists) == decide(lists, rest=rest)
        assert np.all(same)
    few = tl.LabelSets(range(100), support=[(0, 1), (1,), (2,)])
    lists = tl.TopLists.from_dicts([{(0, 1): 0.3, (1,): 0.1}], few)
    np.testing.assert_array_equal(marginals(lists), marginals(lists, rest="spread"))


@settings(max_examples=draws(100))
@given(some=st.lists(drawn(3), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_cases_do_not_depend_on_each_other(some: list[Drawn], seed: int) -> None:
    """However many are decided at a time, and in whatever order a list names its sets."""
    space = tl.LabelSets(range(3))
    rows = [{s: c / one.total for s, c in one.counts.items()} for one in some]
    together = tl.TopLists.from_dicts(rows, space)
    rng = np.random.default_rng(seed)
    mixed = [dict(rng.permutation(np.array(list(row.items()), dtype=object)).tolist()) if row else {} for row in rows]
    shuffled = tl.TopLists.from_dicts(mixed, space)
    for decide in (mode_sets, *DECISIONS.values()):
        alone = Sets.join([decide(together[i : i + 1]) for i in range(len(some))])
        assert decide(together) == alone
        assert decide(shuffled) == alone
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("toplist.multilabel.set_decisions._ENTRIES", 4)
            assert decide(together) == alone


def test_renamed_labels_have_renamed_decisions() -> None:
    rng = np.random.default_rng(5)
    lists, by_hand = big(2, width=12)
    to = rng.permutation(12)
    renamed = tl.TopLists.from_dicts(
        [{tuple(to[labels].tolist()): t for labels, t in row} for row in by_hand], lists.space
    )
    for decide in (mode_sets, *DECISIONS.values()):
        want = [tuple(sorted(to[list(one)].tolist())) for one in decide(lists)]
        assert list(decide(renamed)) == want


@pytest.mark.parametrize("name", [*DECISIONS, "marginals"])
def test_a_reject_without_the_rest_mass_leaves_nothing_to_decide_from(name: str) -> None:
    decide: Any = DECISIONS.get(name, marginals)
    lists = tl.TopLists.from_dicts([{("a",): 0.5}, {}, {}], tl.LabelSets("abc"), ids=["x", "y", "z"])
    with pytest.raises(tl.MassError) as caught:
        decide(lists, rest="drop")
    assert str(caught.value) == (
        "case 1 ('y'): no set is listed with a positive probability, and without the rest mass there is nothing to "
        'decide from. Leave rejects out, or pass rest="spread" to decide from the rest mass. '
        "1 more case has the same problem."
    )
    assert len(decide(lists)) == 3


@pytest.mark.parametrize(
    ("space", "smallest"),
    [
        (tl.LabelSets("abc"), set()),
        (tl.LabelSets("abc", empty=False), {"a"}),
        (tl.LabelSets("abc", support=["bc", "c", "b"]), {"b"}),
        (tl.LabelSets(range(200)), set()),
    ],
)
def test_the_mode_of_a_reject_is_the_smallest_set(space: tl.LabelSets, smallest: set[str]) -> None:
    assert space.named(mode_sets(tl.TopLists.from_dicts([{}, {}], space))) == [smallest] * 2


def test_no_cases_have_no_decisions() -> None:
    for space in (tl.LabelSets("abc"), tl.LabelSets(range(100))):
        none = tl.TopLists.from_dicts([], space)
        for decide in (mode_sets, *DECISIONS.values()):
            made = decide(none)
            assert (len(made), made.width) == (0, len(space.names))
        assert marginals(none).shape == (0, len(space.names))


def test_no_labels_leave_one_decision() -> None:
    lists = tl.TopLists.from_dicts([{(): 1.0}], tl.LabelSets([]))
    for decide in (mode_sets, *DECISIONS.values()):
        assert list(decide(lists)) == [()]


def test_a_support_too_large_to_be_spread_over_is_refused() -> None:
    many = tl.LabelSets(range(20_000), support=[(i,) for i in range(20_000)])
    lists = tl.TopLists.from_dicts([{(3,): 0.5}], many)
    with pytest.raises(tl.TopListError, match=r'a support of 20,000 sets of 20,000 labels is too large .* rest="drop"'):
        jaccard_sets(lists)
    assert list(jaccard_sets(lists, rest="drop")) == list(f1_sets(lists)) == list(mode_sets(lists)) == [(3,)]


@pytest.mark.parametrize("held", [0.1, 0.2, 0.3, 0.5])
def test_the_restricted_search_misses_the_best_jaccard_set_as_rarely_as_it_says(held: float) -> None:
    """Against all 256 sets of eight labels: in less than 1 % of lists, sparse or not, by 0.005 at most."""
    rng, labels, cases = np.random.default_rng(4), np.arange(8), 500
    every = (np.arange(256)[:, None] >> labels & 1).astype(float)
    common = every @ every.T
    either = every.sum(axis=1)[:, None] + every.sum(axis=1) - common
    index = np.where(either > 0, common / np.maximum(either, 1), 1.0)
    codes = [np.unique((rng.random((30, 8)) < held) @ (1 << labels)) for _ in range(cases)]
    weights = [rng.dirichlet(np.ones(len(one))) for one in codes]
    lists = tl.TopLists.from_dicts(
        [
            {tuple(np.flatnonzero(every[c]).tolist()): float(w) for c, w in zip(*pair, strict=True)}
            for pair in zip(codes, weights, strict=True)
        ],
        tl.LabelSets(range(8)),
    )
    found = lists.space.named(jaccard_sets(lists, rest="drop"))
    short = [
        (value := index[:, c] @ w).max() - value[sum(1 << label for label in one)]
        for c, w, one in zip(codes, weights, found, strict=True)
    ]
    assert np.mean(np.array(short) > 1e-9) < 0.01
    assert max(short) < 0.005
