"""Section 6: how much a true list can lose to the true distribution, and Example 6.1 with Table 1."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import toplist as tl
from tests.paper.grids import Floats, Ints, compositions
from tests.paper.rules import Known, every_rule

UNIT = 12
Shares = tuple[int, ...]


def falling_lists(m: int) -> Iterator[Shares]:
    """All valid lists in twelfths with at least one class and one unlisted, classes in order of confidence."""
    for k in range(1, m):
        for parts in compositions(UNIT, k + 1):
            t, rest = parts[:k], parts[k]
            if list(t) == sorted(t, reverse=True) and t[-1] * (m - k) >= rest:
                yield t


def having(t: Shares, m: int, finer: int = 1) -> Ints:
    """Q(t) on a grid: all distributions that have t as a true list."""
    rest, most = (UNIT - sum(t)) * finer, t[-1] * finer
    tails = np.array([q for q in compositions(rest, m - len(t)) if max(q) <= most], dtype=np.int64)
    return np.concatenate([np.tile(np.array(t, np.int64) * finer, (len(tails), 1)), tails], axis=1)


def as_list(t: Shares, m: int) -> tl.TopList:
    return tl.TopList({c: x / UNIT for c, x in enumerate(t)}, m)


def brier_entropy(q: tuple[Fraction, ...]) -> Fraction:
    return 1 - sum((x * x for x in q), Fraction(0))


def dominant(m: int) -> list[Shares]:
    """The lists of assumption 14: some mass is unlisted, and less than any listed confidence."""
    return [t for t in falling_lists(m) if 0 < UNIT - sum(t) < t[-1]]


def heaped(t: Shares, m: int) -> tuple[Fraction, ...]:
    """The distribution in Q(t) that puts all the unlisted mass on one class."""
    rest = [UNIT - sum(t), *[0] * (m - len(t) - 1)]
    return tuple(Fraction(x, UNIT) for x in (*t, *rest))


def padded(t: Shares, m: int) -> tuple[Fraction, ...]:
    proxy = Fraction(UNIT - sum(t), UNIT * (m - len(t)))
    return tuple(Fraction(x, UNIT) for x in t) + (proxy,) * (m - len(t))


@every_rule
def test_all_rest_mass_on_one_class_has_the_least_entropy(known: Known) -> None:
    """Under assumption 14 that distribution majorizes all others in Q(t), so that every rule's entropy is least."""
    for m in (3, 4, 5):
        assert len(dominant(m)) > 5
        for t in dominant(m):
            q = having(t, m)
            p = np.array(heaped(t, m), dtype=float)
            assert (q == np.round(p * UNIT)).all(axis=1).any()
            sums = np.cumsum(-np.sort(-q, axis=1), axis=1)
            assert (np.cumsum(-np.sort(-p * UNIT)) >= sums - 1e-9).all()
            g = tl.entropy(tl.TopLists.from_proba(q / UNIT), rule=known.rule)
            least = known.entropy(p)
            assert (g >= least - known.tol).all()
            moved = np.sort(q, axis=1) != np.sort(np.round(p * UNIT))
            assert not known.strict or (g[moved.any(axis=1)] > least + 1e-6).all()


def test_unaccounted_mass_is_below_one_half_under_assumption_14() -> None:
    """So that 2 (a - a^2) > a, and the entropy of p is at least that of (1 - a, a, 0, ...), which is 2 (a - a^2)."""
    for m in (2, 3, 4, 5):
        for t in dominant(m):
            a = Fraction(UNIT - sum(t), UNIT)
            floor = 2 * (a - a * a)
            assert a < Fraction(1, 2)
            assert floor == brier_entropy((1 - a, a))
            assert brier_entropy(heaped(t, m)) >= floor > a


def test_erratum_of_the_brier_bound_is_an_equality_only_for_lists_of_one_class() -> None:
    """(G(t) - G(p)) / G(p) <= (a^2 - a pi) / (2 (a - a^2)) < a, where the paper has "=" for the first sign.

    Exactly it is (a^2 - a pi) / (1 - sum of t^2 - a^2). In fractions, so that "=" means equal.
    """
    longer = 0
    for m in (2, 3, 4, 5):
        for t in dominant(m):
            a = Fraction(UNIT - sum(t), UNIT)
            proxy = a / (m - len(t))
            best = brier_entropy(heaped(t, m))
            excess = (brier_entropy(padded(t, m)) - best) / best
            squares = sum((Fraction(x, UNIT) ** 2 for x in t), Fraction(0))
            bound = (a * a - a * proxy) / (2 * (a - a * a))
            assert excess == (a * a - a * proxy) / (1 - squares - a * a)
            assert excess <= bound < a
            # with a single unlisted class nothing is lost at all, and both sides are zero
            assert (excess == bound) == (len(t) == 1 or len(t) == m - 1)
            longer += excess < bound
    assert longer > 10


@pytest.mark.parametrize("m", [3, 4, 5])
def test_brier_bound_holds_for_every_distribution_that_has_the_list_as_a_true_list(m: int) -> None:
    """By brute force over Q(t): the relative excess never reaches the bound, which is the unaccounted mass."""
    for t in falling_lists(m):
        lists, q = as_list(t, m), having(t, m, finer=2) / (2 * UNIT)
        alpha = (UNIT - sum(t)) / UNIT
        bound = tl.scoring.excess_bound(lists)
        if UNIT - sum(t) == t[-1]:
            continue  # twelfths do not add up exactly; eighths below do
        if not 0 < UNIT - sum(t) < t[-1]:
            assert bound == (0 if sum(t) == UNIT else math.inf)
            continue
        assert bound == pytest.approx(alpha, abs=1e-15)
        e = tl.expected_score(tl.TopLists.from_dicts([lists.confidences] * len(q), m), q, rule="brier")
        best = tl.entropy(tl.TopLists.from_proba(q), rule="brier")
        assert ((e - best) / best < bound).all()


@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_worst_excess_is_the_maximum_over_all_distributions_that_have_the_list_as_a_true_list(m: int) -> None:
    """With and without assumption 14: the worst distribution lies on the grid, so that the maximum is exact."""
    for t in falling_lists(m):
        q = having(t, m)
        own = brier_entropy(padded(t, m))
        exact = [brier_entropy(tuple(Fraction(int(x), UNIT) for x in row)) for row in np.unique(q, axis=0)]
        worst = max((own - g) / g if g else Fraction(0) for g in exact)
        assert tl.scoring.worst_excess(as_list(t, m)) == pytest.approx(float(worst), rel=1e-12, abs=1e-14)
        if 0 < UNIT - sum(t) < t[-1]:
            assert tl.scoring.worst_excess(as_list(t, m)) < tl.scoring.excess_bound(as_list(t, m))


def test_assumption_14_is_strict() -> None:
    """There is no bound where the unaccounted mass equals the least confidence; without such a mass nothing is lost."""
    for t in ({0: 0.5}, {0: 0.75, 1: 0.125}, {0: 0.25, 1: 0.25, 2: 0.25}):
        assert tl.scoring.excess_bound(tl.TopList(t, 5)) == math.inf
    assert tl.scoring.excess_bound(tl.TopList({0: 1.0}, 5)) == 0


def test_worst_excess_of_the_reject_is_infinite_and_of_a_distribution_zero() -> None:
    assert tl.scoring.worst_excess(tl.TopList({}, 5)) == math.inf
    assert tl.scoring.worst_excess(tl.TopList({0: 0.5, 1: 0.3, 2: 0.2}, 3)) == 0
    assert tl.scoring.worst_excess(tl.TopList({}, 1)) == 0, "of one class there is one distribution"
    assert tl.scoring.excess_bound(tl.TopList({0: 0.5, 1: 0.3, 2: 0.2}, 3)) == 0


def relative_log_excess(alpha: float, m: int) -> float:
    """Of the true list ({1}, 1 - alpha) if the truth puts alpha on a single other class."""
    t = tl.TopList({0: 1 - alpha}, m)
    p = tl.TopList({0: 1 - alpha, 1: alpha}, m)
    best = tl.entropy(p, rule="log")
    assert tl.lists.is_true(t, {0: 1 - alpha, 1: alpha})
    assert best == pytest.approx(-alpha * math.log(alpha) - (1 - alpha) * math.log1p(-alpha), rel=1e-9)
    return (tl.expected_score(t, p, rule="log") - best) / best


def test_no_such_bound_for_the_log_score() -> None:
    """At alpha = 0.01 the excess is 24.75 % already with five classes, and grows with their number without end.

    With m fixed it is no multiple of alpha either: the ratio of the two has no bound as alpha falls.
    """
    assert f"{100 * relative_log_excess(0.01, 5):.6f}" == "24.754578"
    by_classes = [relative_log_excess(0.01, m) for m in (5, 100, 10**6, 2**100, 2**1000, 2**10000)]
    assert by_classes == sorted(by_classes)
    assert by_classes[-1] > 1000
    by_mass = [relative_log_excess(a, 5) / a for a in (1e-1, 1e-2, 1e-4, 1e-8)]
    assert by_mass == sorted(by_mass)
    assert by_mass[-1] > 1e6
    for m in (5, 2**1000):
        assert tl.scoring.worst_excess(tl.TopList({0: 0.99}, m)) < 0.01, "the Brier score keeps its bound"


# Expected scores of the mode, the true top-1 list, the true top-2 list and the distribution itself, each with its
# relative difference to the last in percent; to ten and six digits. A test below recomputes them from the
# definition in decimal arithmetic of fifty digits, apart from the library.
HIGH, LOW = (0.99, 0.01, 0.0, 0.0, 0.0), (0.25, 0.22, 0.2, 0.18, 0.15)
PRINTED, USED = (0.5, 0.44, 0.03, 0.02, 0.01), (0.5, 0.4, 0.05, 0.03, 0.02)
INF = ("inf", "inf")
TABLE_1: dict[tuple[tuple[float, ...], str], list[tuple[str, str]]] = {
    (HIGH, "brier"): [
        ("0.0200000000", "1.010101"), ("0.0198750000", "0.378788"), ("0.0198000000", "0.000000"),
        ("0.0198000000", "0.000000"),
    ],
    (HIGH, "log"): [
        INF, ("0.0698644780", "24.754578"), ("0.0560015344", "0.000000"), ("0.0560015344", "0.000000"),
    ],
    (PRINTED, "brier"): [
        ("1.0000000000", "80.180180"), ("0.6875000000", "23.873874"), ("0.5552000000", "0.036036"),
        ("0.5550000000", "0.000000"),
    ],
    (PRINTED, "log"): [
        INF, ("1.3862943611", "47.903909"), ("0.9425264135", "0.558254"), ("0.9372939321", "0.000000"),
    ],
    (USED, "brier"): [
        ("1.0000000000", "70.590242"), ("0.6875000000", "17.280792"), ("0.5866666667", "0.079609"),
        ("0.5862000000", "0.000000"),
    ],
    (USED, "log"): [
        INF, ("1.3862943611", "32.493187"), ("1.0532096212", "0.659069"), ("1.0463136937", "0.000000"),
    ],
    (LOW, "brier"): [
        ("1.5000000000", "88.869302"), ("0.7968750000", "0.336817"), ("0.7954666667", "0.159490"),
        ("0.7942000000", "0.000000"),
    ],
    (LOW, "log"): [
        INF, ("1.6020559155", "0.454911"), ("1.5984316888", "0.227659"), ("1.5948009887", "0.000000"),
    ],
}  # fmt: skip
# The paper's own figures; its rows for "m" belong to USED.
AS_PRINTED: dict[tuple[tuple[float, ...], str], list[tuple[str, str]]] = {
    (HIGH, "brier"): [("0.02", "1.01"), ("0.0199", "0.38"), ("0.0198", "0"), ("0.0198", "0")],
    (USED, "brier"): [("1", "70.59"), ("0.6875", "17.28"), ("0.5867", "0.08"), ("0.5862", "0")],
    (LOW, "brier"): [("1.5", "88.87"), ("0.7969", "0.34"), ("0.7955", "0.16"), ("0.7942", "0")],
    (HIGH, "log"): [INF, ("0.0699", "24.75"), ("0.0560", "0"), ("0.0560", "0")],
    (USED, "log"): [INF, ("1.3863", "32.49"), ("1.0532", "0.66"), ("1.0463", "0")],
    (LOW, "log"): [INF, ("1.6021", "0.45"), ("1.5984", "0.23"), ("1.5948", "0")],
}


def predictions(p: tuple[float, ...]) -> list[tl.TopList]:
    """The mode without its probability, the true lists of one and two classes, and the distribution."""
    return [tl.TopList({0: 1.0}, 5), tl.lists.top_k(p, 1), tl.lists.top_k(p, 2), tl.lists.top_k(p, 5)]


def row_of(p: tuple[float, ...], rule: str) -> list[tuple[float, float]]:
    e = [tl.expected_score(t, p, rule=rule) for t in predictions(p)]
    return [(x, 100 * (x - e[-1]) / e[-1]) for x in e]


def is_printed_as(x: float, text: str) -> bool:
    """Does x round to the printed figure, in as many digits as that has?"""
    digits = len(text.partition(".")[2])
    return text == f"{x:.{digits}f}" or (digits < 4 and text == f"{x:.4f}".rstrip("0").rstrip("."))


@pytest.mark.parametrize(("p", "rule"), TABLE_1, ids=str)
def test_example_6_1_table_1_to_all_digits(p: tuple[float, ...], rule: str) -> None:
    got = [("inf", "inf") if x == math.inf else (f"{x:.10f}", f"{abs(d):.6f}") for x, d in row_of(p, rule)]
    assert got == TABLE_1[p, rule]


def expected_by_definition(t: list[Decimal], p: list[Decimal], rule: str) -> Decimal:
    """The sum over all outcomes of p_y S(padded, y), where t lists the first classes."""
    rest = (1 - sum(t, Decimal(0))) / max(5 - len(t), 1)
    dense = t + [rest] * (5 - len(t))
    total = Decimal(0)
    for y, weight in enumerate(p):
        if weight == 0:
            continue
        if rule == "brier":
            total += weight * sum((((z == y) - x) ** 2 for z, x in enumerate(dense)), Decimal(0))
        else:
            total += weight * (-dense[y].ln() if dense[y] > 0 else Decimal("Infinity"))
    return total


@pytest.mark.parametrize(("p", "rule"), TABLE_1, ids=str)
def test_example_6_1_table_1_by_definition(p: tuple[float, ...], rule: str) -> None:
    """The figures above, both of them, in decimal arithmetic of fifty digits and without the library."""
    with localcontext(prec=50):
        q = [Decimal(str(x)) for x in p]
        e = [expected_by_definition(t, q, rule) for t in ([Decimal(1)], q[:1], q[:2], q)]
        got = [INF if x.is_infinite() else (f"{x:.10f}", f"{abs(100 * (x - e[-1]) / e[-1]):.6f}") for x in e]
    assert got == TABLE_1[p, rule]


@pytest.mark.parametrize(("p", "rule"), AS_PRINTED, ids=str)
def test_example_6_1_table_1_as_printed(p: tuple[float, ...], rule: str) -> None:
    for (x, d), (value, percent) in zip(row_of(p, rule), AS_PRINTED[p, rule], strict=True):
        assert is_printed_as(x, value)
        assert is_printed_as(abs(d), percent)


@pytest.mark.parametrize("rule", ["brier", "log"])
def test_erratum_of_table_1_the_rows_for_moderate_predictability_belong_to_another_distribution(rule: str) -> None:
    """The paper's text has (.5, .44, .03, .02, .01); its figures are those of (.5, .4, .05, .03, .02).

    Only the mode and the top-1 score, which depend on p_1 = 0.5 alone, agree with the text; no bracket does.
    """
    printed = AS_PRINTED[USED, rule]
    of_text = row_of(PRINTED, rule)
    agree = [is_printed_as(x, value) for (x, _), (value, _) in zip(of_text, printed, strict=True)]
    assert agree == [True, True, False, False]
    brackets = [is_printed_as(d, percent) for (_, d), (_, percent) in zip(of_text[:3], printed[:3], strict=True)]
    assert brackets == [rule == "log", False, False], "the mode's log score is infinite either way"


@pytest.mark.parametrize("p", [HIGH, PRINTED, USED, LOW], ids=["high", "printed", "used", "low"])
def test_example_6_1_more_information_scores_better_and_the_log_score_deviates_more(p: tuple[float, ...]) -> None:
    """Mode, top-1, top-2, distribution: each at least as good as the one before; the mode's log score is infinite."""
    brier, log = (np.array(row_of(p, rule)) for rule in ("brier", "log"))
    for e in (brier[:, 0], log[:, 0]):
        assert e[1] < e[0]
        assert e[2] < e[1]
        assert e[3] <= e[2] + 1e-15
    assert log[0, 0] == math.inf
    excess: Floats = log[1:3, 1] - brier[1:3, 1]
    assert ((excess > 0.05) | (abs(log[1:3, 1]) < 1e-9)).all()
