"""No public function answers NaN: every rule, every number of classes, and lists at the edge of what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import toplist as tl
from toplist.lists import from_logs
from toplist.lists.toplists import join
from toplist.scoring.bounds import largest_loss, log_mean_gains
from toplist.scoring.rules import as_rule
from toplist.scoring.rules.standard import ORDINAL_RULES
from toplist.scoring.topbeta import in_image

T = tl.TopLists
RULES: dict[str, tl.Rule] = {
    "brier": tl.Brier(),
    "log": tl.Log(),
    "spherical": tl.Spherical(),
    "zero-one": tl.ZeroOne(),
    **{f"power {a}": tl.Power(a) for a in (0.01, 0.5, 0.99, 1 - 1e-10, 1 + 1e-10, 1.01, 3, 8, 1000)},
    **{f"pseudospherical {a}": tl.PseudoSpherical(a) for a in (1.001, 1.5, 3, 8, 8.5, 20, 300, 1e6)},
    "pseudospherical, normalized": tl.PseudoSpherical(20, normalized=True),
    **{f"renyi {a}": tl.Renyi(a) for a in (0.01, 0.5, 0.99, 1 - 1e-10)},
    **{f"one-vs-rest {b}": tl.OneVsRest(b) for b in ("log", "brier", "boosting")},
    "separable": tl.Separable(lambda x: x * (1 - x), lambda x: 1 - 2 * x),
    "savage": tl.Savage(lambda v, n: 1 - (n * v * v).sum(axis=-1), lambda v, n: -2 * v),
}
TOP_BETA = (
    "topbeta:0.9", "topbeta:0.5", "topbeta:1e-09", "topbeta:0.999999", f"topbeta:{1 - 2.0**-53!r}", "topbeta:0.9:1",
    "topbeta:0.99:2",
)  # fmt: skip
SIZES: dict[str, Any] = {
    "2": 2, "5": 5, "1000": 1000, "2**159": 2**159, "2**10000": 2**10000, "inf": math.inf, "per case": None,
}  # fmt: skip
ORDERED: dict[str, Any] = {"1": 1, "2": 2, "5": 5, "1000": 1000, "10**4": 10**4, "per case": None}
EDGES: tuple[dict[int, float], ...] = (
    {}, {0: 1.0}, {0: 0.5, 1: 0.5}, {0: 0.5}, {0: 0.5, 1: 0.0}, {0: 1 - 2.0**-53}, {0: 1.0, 1: 0.0}, {0: 0.0},
    {0: 1e-300}, {0: 5e-324}, {0: 1 - 1e-13, 1: 1e-14}, {0: 0.2, 1: 0.1}, {0: 0.6, 1: 0.3, 2: 0.05},
    {0: 0.4, 1: 0.0, 2: 0.0}, {0: 0.9, 1: 1e-300, 2: 1e-17},
)  # fmt: skip
LOG_RESTS = (({0: 0.5, 1: 0.5}, (-50.0, -700.0, -740.0, -5000.0, -math.inf)), ({0: 1.0}, (-40.0, -1e5, -math.inf)))
LOGS = (
    ([-3000.0], 0.0), ([-3000.0, -2500.0], 0.0), ([-800.0], 0.0), ([0.0, -2000.0], -3000.0),
    ([math.log(0.5), -2000.0], math.log(0.5)), ([-745.0, -740.0], 0.0),
)  # fmt: skip


def edges(m: Any, *, ordinal: bool = False) -> Iterator[tl.TopLists]:
    """Batches over m classes: by numbers, with rest masses in logarithms, by logarithms, complete."""
    space = tl.ClassSpace(m, ordinal=ordinal)
    fit = [row for row in EDGES if len(row) < m or (len(row) == m and math.fsum(row.values()) == 1)]
    yield T.from_dicts(fit, space)
    given = [(row, log) for row, logs in LOG_RESTS for log in logs if len(row) < m]
    if given:
        yield T.from_dicts([row for row, _ in given], space, log_rest=[log for _, log in given])
    small = [(logs, rest) for logs, rest in LOGS if len(logs) < m]
    offsets = np.cumsum([0, *(len(logs) for logs, _ in small)])
    classes, flat = ([x for logs, _ in small for x in of(logs)] for of in (lambda logs: range(len(logs)), list))
    if small:
        yield from_logs(offsets, classes, flat, space, log_rest=[rest for _, rest in small])
    if m <= 1000:
        even, sure, tiny = np.full(m, 1 / m), np.zeros(m), np.full(m, 1e-300)
        sure[0] = tiny[0] = 1.0
        whole = T.from_proba([even, sure, tiny], space=space)
        yield whole
        yield whole.truncate(1)
        yield T.from_logits(np.arange(m)[None] * -400.0, space=space)
        yield T.from_logits(np.arange(m)[None] * -400.0, space=space, k=1)


def differing(*, ordinal: bool = False) -> Iterator[tl.TopLists]:
    """The same with a number of classes for each case."""
    sizes = ([5, 1000, 7, 10**4] if ordinal else [5, 1000, 2**159, 2**10000]) * len(EDGES)
    yield T.from_dicts([row for row in EDGES for _ in range(4)], tl.ClassSpace(sizes, ordinal=ordinal))
    few = tl.ClassSpace(sizes[:4], ordinal=ordinal)
    yield T.from_dicts([{0: 0.5, 1: 0.5}] * 4, few, log_rest=[-700.0, -5000.0, -50.0, -math.inf])


BATCHES = {name: tuple(differing() if m is None else edges(m)) for name, m in SIZES.items()}


def assert_numbers(found: Any, what: str) -> None:
    """One number at least, and no NaN."""
    values = np.asarray(found, np.float64)
    assert values.size
    assert not np.isnan(values).any(), (what, values)


def cases(size: str, rule: str) -> tuple[tl.TopLists, ...]:
    """The batches that a rule takes: an entropy given as a function needs a number of classes that is a double."""
    beyond = rule == "savage" and size in ("2**10000", "inf", "per case")
    return () if beyond else BATCHES[size]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", RULES)
def test_no_score_entropy_or_curve_is_not_a_number(name: str, size: str) -> None:
    rule = RULES[name]
    for lists in cases(size, name):
        assert_numbers(tl.entropy(lists, rule=rule), "entropy")
        assert_numbers(tl.scoring.default_penalty(lists, rule=rule), "default_penalty")
        for y in (0, 1) if size == "2" else (0, 1, 4):
            assert_numbers(tl.score(lists, [y] * len(lists), rule=rule), "score")
            assert_numbers(tl.score(lists, [y] * len(lists), rule=rule, penalty=math.inf), "score")
        found = tl.curve(lists, [0] * len(lists), rule=rule, ks=[0, 1, 2, 3, 999])
        assert_numbers([found.score, found.entropy, found.coverage, found.rest], "curve")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", RULES)
def test_no_score_of_numbers_of_any_type_is_not_a_number(name: str, dtype: Any) -> None:
    """Rounded to the type, with its smallest numbers, over one class and over infinitely many, and cut."""
    rule, least = RULES[name], float(np.finfo(dtype).smallest_subnormal)
    near = 1 - float(np.finfo(dtype).epsneg)
    rows = [[], [1.0], [0.0], [least], [near], [0.5, 0.5], [1 - 2**-10, least], [0.6, 0.3, least]]
    for m in (1, 2, 5, 2**159, math.inf):
        if name == "savage" and math.isinf(m):
            continue
        fit = [row for row in rows if len(row) < m or row == [1.0]]
        offsets = np.cumsum([0, *map(len, fit)])
        classes = np.concatenate([np.arange(len(row)) for row in fit])
        made = T.from_ragged(offsets, classes, np.array([t for row in fit for t in row], dtype), m)
        for lists in (made, made.truncate(1)):
            assert_numbers(tl.entropy(lists, rule=rule), "entropy")
            assert_numbers(tl.divergence(lists, lists, rule=rule), "divergence")
            for y in range(min(m, 4)):
                assert_numbers(tl.score(lists, [y] * len(lists), rule=rule), "score")


@cache
def pairs(size: str) -> list[tuple[tl.TopLists, tl.TopLists]]:
    """Every list beside every other as the truth; batches that know the same by logarithms are one, in one call.

    Over 1000 classes, where complete lists are long, beside every seventh.
    """
    if size == "per case":
        return [(a, b) for a in BATCHES[size] for b in BATCHES[size] if len(a) == len(b)]
    alike: dict[bool, list[tl.TopLists]] = {}
    for one in BATCHES[size]:
        alike.setdefault(one.log_rest is None, []).append(one)
    joined = [join(parts, [one.classes for one in parts], parts[0].space) for parts in alike.values()]
    found = []
    for lists, truth in product(joined, repeat=2):
        mine, theirs = np.indices((len(lists), len(truth))).reshape(2, -1)
        if size == "1000":
            mine, theirs = (one[(mine - theirs) % 7 == 0] for one in (mine, theirs))
        found.append((lists[mine], truth[theirs]))
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", RULES)
def test_no_expectation_or_divergence_is_not_a_number(name: str, size: str) -> None:
    """Of every list under the distribution that every other stands for."""
    rule = RULES[name]
    for a, b in pairs(size) if cases(size, name) else ():
        assert_numbers(tl.expected_score(a, b, rule=rule), "expected_score")
        assert_numbers(tl.divergence(a, b, rule=rule), "divergence")
        assert_numbers(largest_loss(a, b, rule=rule), "largest_loss")


@pytest.mark.parametrize("size", SIZES)
def test_no_bound_mass_or_place_is_not_a_number(size: str) -> None:
    for lists in BATCHES[size]:
        bound, worst = tl.scoring.excess_bound(lists), tl.scoring.worst_excess(lists)
        assert_numbers(bound, "excess_bound")
        assert_numbers(worst, "worst_excess")
        assert (worst <= bound * (1 + 1e-12)).all()
        for what in (lists, lists.valid(), lists.repair(), lists.truncate(1), lists.truncate(mass=0.5)):
            for values in (what.rest, what.mass, what.proxy):
                assert_numbers(values, "masses")
            assert not np.isnan(what.normalized_confidences).any()
        y = [1] * len(lists)
        assert_numbers(tl.ranks(lists, y), "ranks")
        for found in (tl.accuracy(lists, y), tl.coverage(lists, y), tl.top_k_error(lists, y, k=2)):
            assert_numbers(found, "hits")


@cache
def top_beta_lists(name: str, size: str) -> tuple[tl.TopLists, ...]:
    """The lists of a size, cut at the mass of the rule, that are top-beta lists then."""
    rule: Any = as_rule(name)
    cut = [lists.truncate(mass=rule.beta) for lists in BATCHES[size]]
    cut = [lists if rule.cap is None else lists.truncate(rule.cap) for lists in cut]
    return tuple(lists[np.flatnonzero(in_image(lists, rule.beta, rule.cap).inside)] for lists in cut)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", TOP_BETA)
def test_no_score_of_top_beta_lists_is_not_a_number(name: str, size: str) -> None:
    """Nor an entropy of any list, an expectation or a divergence; and scores are from 0 to 1."""
    for lists in BATCHES[size]:
        assert_numbers(tl.entropy(lists, rule=name), "entropy")
        assert_numbers(tl.scoring.default_penalty(lists, rule=name), "default_penalty")
    parts = [lists for lists in top_beta_lists(name, size) if len(lists)]
    assert parts
    for lists in parts:
        for y in (0, 1) if size == "2" else (0, 1, 4):
            scores = tl.score(lists, [y] * len(lists), rule=name)
            assert_numbers(scores, "score")
            assert (scores >= -1e-15).all()
            assert (scores <= 1 + 1e-15).all()
        others = lists[np.arange(len(lists))[::-1]] if size != "per case" else lists
        for truth in (lists, others):
            assert_numbers(tl.expected_score(lists, truth, rule=name), "expected_score")
            assert_numbers(tl.divergence(lists, truth, rule=name), "divergence")
            assert_numbers(largest_loss(lists, truth, rule=name), "largest_loss")
            assert_numbers(log_mean_gains(lists, truth, np.array([0.5, 2.0]), rule=name), "log_mean_gains")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", TOP_BETA)
def test_no_score_of_top_beta_lists_of_any_type_is_not_a_number(name: str, dtype: Any) -> None:
    rule: Any = as_rule(name)
    near, least = 1 - float(np.finfo(dtype).epsneg), float(np.finfo(dtype).smallest_subnormal)
    rows = [[1.0], [near], [0.5, 0.5], [near, least], [0.5, 0.25, 0.125], [0.6, 0.3, 0.05, least]]
    scored = 0
    for m in (1, 2, 5, 2**159, math.inf):
        fit = [row for row in rows if len(row) < m or row == [1.0]]
        offsets, classes = np.cumsum([0, *map(len, fit)]), np.concatenate([np.arange(len(row)) for row in fit])
        made = T.from_ragged(offsets, classes, np.array([t for row in fit for t in row], dtype), m)
        assert_numbers(tl.entropy(made, rule=rule), "entropy")
        cut = made.truncate(mass=rule.beta) if rule.cap is None else made.truncate(mass=rule.beta).truncate(rule.cap)
        cut = cut[np.flatnonzero(in_image(cut, rule.beta, rule.cap).inside)]
        for y in range(min(m, 4)) if len(cut) else ():
            assert_numbers(tl.score(cut, [y] * len(cut), rule=rule), "score")
            scored += len(cut)
    assert scored


ORDERED_BATCHES = {
    name: tuple(differing(ordinal=True) if m is None else edges(m, ordinal=True)) for name, m in ORDERED.items()
}


def scored_in_order(name: str, size: str) -> Iterator[tl.TopLists]:
    """The batches that a rule of ordered classes takes: the ranked log score needs rest masses that are numbers."""
    for lists in ORDERED_BATCHES[size]:
        logs = lists.log_rest
        if name == "ranked_log" and logs is not None and (logs[np.isfinite(logs)] < -650).any():
            with pytest.raises(tl.errors.TopListError, match="known by its logarithm alone"):
                tl.entropy(lists, rule=name)
        else:
            yield lists


@pytest.mark.parametrize("size", ORDERED)
@pytest.mark.parametrize("name", ORDINAL_RULES)
def test_no_score_of_ordered_classes_is_not_a_number(name: str, size: str) -> None:
    """Nor an entropy, an expectation or a divergence of every list under every other; and none is negative."""
    sizes = {"1": (0,), "2": (0, 1)}.get(size, (0, 1, 4))
    batches = list(scored_in_order(name, size))
    assert batches
    for lists in batches:
        for found in (tl.entropy(lists, rule=name), tl.scoring.default_penalty(lists, rule=name)):
            assert_numbers(found, "entropy")
            assert (np.asarray(found) >= 0).all()
        for y in sizes:
            for penalty in (None, 0, math.inf):
                scores = tl.score(lists, [y] * len(lists), rule=name, penalty=penalty)
                assert_numbers(scores, "score")
                assert (scores >= 0).all()
        if size != "per case":
            found = tl.curve(lists, [0] * len(lists), rule=name, ks=[0, 1, 2, 3, 999])
            assert_numbers([found.score, found.entropy, found.coverage, found.rest], "curve")
    for a, b in product(batches, repeat=2) if size in ("2", "5") else zip(batches, batches, strict=True):
        mine, theirs = np.indices((len(a), len(b))).reshape(2, -1) if size != "per case" else [np.arange(len(a))] * 2
        assert_numbers(tl.expected_score(a[mine], b[theirs], rule=name), "expected_score")
        assert_numbers(tl.divergence(a[mine], b[theirs], rule=name), "divergence")
        assert_numbers(largest_loss(a[mine], b[theirs], rule=name), "largest_loss")
        assert_numbers(log_mean_gains(a[mine], b[theirs], np.array([0.5, 2.0]), rule=name), "log_mean_gains")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ORDINAL_RULES)
def test_no_score_of_ordered_classes_of_any_type_is_not_a_number(name: str, dtype: Any) -> None:
    near, least = 1 - float(np.finfo(dtype).epsneg), float(np.finfo(dtype).tiny)
    rows = [[], [1.0], [0.0], [least], [near], [0.5, 0.5], [1 - 2**-10, least], [0.6, 0.3, least]]
    for m in (1, 2, 5, 1000, 10**5):
        fit = [row for row in rows if len(row) < m or row == [1.0]]
        offsets, classes = np.cumsum([0, *map(len, fit)]), np.concatenate([np.arange(len(row)) for row in fit])
        values, space = np.array([t for row in fit for t in row], dtype), tl.ClassSpace(m, ordinal=True)
        made = T.from_ragged(offsets, classes.astype(int), values, space)
        for lists in (made, made.truncate(1)):
            assert_numbers(tl.entropy(lists, rule=name), "entropy")
            assert_numbers(tl.divergence(lists, lists, rule=name), "divergence")
            for y in {0, min(m, 4) - 1, m - 1}:
                assert_numbers(tl.score(lists, [y] * len(lists), rule=name), "score")


@pytest.mark.parametrize("a", [8.5, 20.0, 300.0])
def test_pseudospherical_scores_over_infinitely_many_classes_are_limits(a: float) -> None:
    """1 - (q / N)**(a - 1) with the norm N of what is listed, in long decimals; and near those of 2**10000 classes."""
    rows = [{0: 0.6, 1: 0.3, 2: 0.05}, {0: 0.5, 1: 0.5}, {0: 0.01}, {0: 1.0}]
    with mp.workdps(400):
        for row in rows:
            norm = mp.fsum(mp.mpf(t) ** mp.mpf(a) for t in row.values()) ** (1 / mp.mpf(a))
            one = tl.TopList(row, math.inf)
            assert tl.entropy(one, rule=tl.PseudoSpherical(a)) == pytest.approx(float(1 - norm), rel=1e-12, abs=1e-300)
            for y in (*row, 7):
                exact = float(1 - (mp.mpf(row.get(y, 0)) / norm) ** (a - 1))
                assert tl.score(one, y, rule=tl.PseudoSpherical(a)) == pytest.approx(exact, rel=1e-12, abs=1e-300)
                far = tl.score(tl.TopList(row, 2**10000), y, rule=tl.PseudoSpherical(a))
                assert far == pytest.approx(exact, rel=1e-12, abs=1e-300)
    assert tl.score(tl.TopList({}, math.inf), 3, rule=tl.PseudoSpherical(a)) == 1
    assert tl.entropy(tl.TopList({}, math.inf), rule=tl.PseudoSpherical(a, normalized=True)) == 1 / (a - 1)


@pytest.mark.parametrize("a", [1.5, 2.0, 3.0, 8.0, 20.0])
def test_pseudospherical_scores_of_confidences_whose_powers_are_no_numbers(a: float) -> None:
    """Each is a number, its power is not; the score, the expected score and the curve know it all the same."""
    row, m = {0: 1e-200, 1: 5e-201, 2: 1e-320}, 2**10000
    rule = tl.Spherical() if a == 2 else tl.PseudoSpherical(a)
    with mp.workdps(60):
        t = {c: mp.mpf(x) for c, x in row.items()}
        proxy = (1 - mp.fsum(t.values())) / (m - 3)
        norm = (mp.fsum(x ** mp.mpf(a) for x in t.values()) + (m - 3) * proxy ** mp.mpf(a)) ** (1 / mp.mpf(a))
        for y in (0, 1, 2, 9):
            exact = float(1 - (t.get(y, proxy) / norm) ** (mp.mpf(a) - 1))
            one = tl.TopList(row, m)
            assert tl.score(one, y, rule=rule) == pytest.approx(exact, rel=1e-10)
            assert tl.curve(one.batch, [y], rule=rule, ks=[3]).score[0] == pytest.approx(exact, rel=1e-10)
            sure = tl.TopList({y: 1.0}, m)
            assert tl.expected_score(one, sure, rule=rule) == pytest.approx(exact, rel=1e-10)
