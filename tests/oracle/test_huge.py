"""More classes than a double can count, a rest mass smaller than a double can hold: scores in long decimals.

2**10000 classes and m = infinity, rest masses of exp(-5000) given by their logarithms, logits far apart. Where the
exact score is beyond the largest double, it is infinity.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import toplist as tl
from tests.oracle import exact
from tests.oracle.exact import DEFINITIONS, Padded

TOLERANCE = 1e-12
HUGE = (10**12, 2**100, 2**1000, 2**1500, 2**10000)
LISTS: dict[str, dict[int, float]] = {
    "list": {4: 0.6, 2: 0.25, 9: 0.05},
    "near sure": {1: 1 - 1e-13, 3: 2e-14},
    "sure": {0: 1.0},
    "empty": {},
    "zeros": {0: 0.5, 1: 0.0, 2: 0.0},
    "even": {0: 0.25, 1: 0.25, 2: 0.25, 3: 0.25},
}
UNLISTED = 77
every_rule = pytest.mark.parametrize("name", DEFINITIONS)


def as_double(x: Any) -> Any:
    """A score as a double can hold it."""
    return mp.inf if exact.as_decimal(x) > mp.mpf(2) ** 1024 else x


def assert_right(got: float, expected: Any, case: Any = None) -> None:
    """To twelve digits, infinities where they belong."""
    want = mp.nstr(exact.as_decimal(expected), 17)
    assert exact.relative_error(got, as_double(expected)) <= TOLERANCE, (got, want, case)


def padded(listed: dict[int, float], size: int, outcome: int) -> Padded:
    """The exact padded distribution."""
    place = list(listed).index(outcome) if outcome in listed else -1
    return exact.pad(list(listed.values()), size, place)


@every_rule
def test_scores_and_entropies_over_very_many_classes(name: str) -> None:
    rule = DEFINITIONS[name][0]
    for size, (kind, listed) in product(HUGE, LISTS.items()):
        case = f"{kind} over 2**{math.log2(size):.0f} classes"
        outcomes = [*listed, UNLISTED]
        lists = tl.TopLists.from_dicts([listed] * len(outcomes), size)
        for y, s in zip(outcomes, tl.score(lists, outcomes, rule=rule, penalty=0), strict=True):
            assert_right(s, exact.score_padded(name, padded(listed, size, y)), case)
        assert_right(tl.entropy(lists[0], rule=rule), exact.entropy(name, padded(listed, size, UNLISTED)), case)


@every_rule
def test_sizes_that_differ_per_case_from_three_to_beyond_all_doubles(name: str) -> None:
    """In one batch, and the same to the last bit one by one."""
    sizes = [10, 78, 10**6, 2**60, 2**1030, 2**10000]
    listed = LISTS["list"]
    space = tl.ClassSpace(sizes)
    rule = DEFINITIONS[name][0]
    for y in (4, 9, 3):
        got = tl.score(tl.TopLists.from_dicts([listed] * len(sizes), space), [y] * len(sizes), rule=rule)
        for s, m in zip(got, sizes, strict=True):
            assert_right(s, exact.score_padded(name, padded(listed, m, y)))
            assert s == tl.score(tl.TopList(listed, m), y, rule=rule)


DIVERGE = ("power 0.5", "renyi 0.5", "renyi 0.9", "one-vs-rest boosting")
SURPRISED = ("log", "one-vs-rest log")


@every_rule
def test_infinitely_many_classes_are_the_limit(name: str) -> None:
    """Every rule has one but these: with any rest mass the power rule below 1, Renyi's and boosting are infinite; the
    logarithmic ones are where the outcome is unlisted, and so are their entropies."""
    rule = DEFINITIONS[name][0]
    for kind, listed in LISTS.items():
        rest = exact.cleaned(list(listed.values()), 10**9)[1]
        for y in [*listed, UNLISTED]:
            got, zero = tl.score(tl.TopList(listed, math.inf), y, rule=rule), listed.get(y, 0.0) == 0
            if (name in DIVERGE and (rest or zero)) or (name in SURPRISED and zero):
                assert got == math.inf, kind
            else:
                assert_right(got, exact.score_padded(name, padded(listed, 2**100_000, y)), kind)
        entropy = tl.entropy(tl.TopList(listed, math.inf), rule=rule)
        if rest and name in DIVERGE + SURPRISED:
            assert entropy == math.inf, kind
        else:
            assert_right(entropy, exact.entropy(name, padded(listed, 2**100_000, UNLISTED)), kind)


def test_the_open_ended_brier_score_of_a_single_guess() -> None:
    """(t - h)**2 + (1 - h), with h = 1 for a hit: what is used for answers in free text."""
    guess = tl.TopList({"Paris": 0.8}, math.inf)
    assert tl.score(guess, "Paris") == pytest.approx(0.04, rel=1e-14)
    assert tl.score(guess, "Lyon") == pytest.approx(1.64, rel=1e-14)


def with_rest(listed: list[float], log_rest: float, size: int, place: int) -> Padded:
    """A valid list whose rest mass is known by its logarithm.

    A confidence above one half is what the others leave, of which a rest mass below the smallest double takes nothing.
    """
    with mp.workdps(exact.DIGITS):
        sign, man, power, _ = mp.exp(mp.mpf(log_rest))._mpf_
    rest = Fraction(int(man)) * Fraction(2) ** int(power) * (-1) ** sign
    values, proxy = [Fraction(t) for t in listed], rest / (size - len(listed))
    seen = rest if float(rest) > 0 else Fraction(0)
    values = [1 - seen - (sum(values) - t) if t > Fraction(1, 2) else t for t in values]
    assert min(values) >= proxy
    return Padded(tuple(values), proxy, size - len(values), values[place] if place >= 0 else proxy, place >= 0, False)


@every_rule
def test_a_rest_mass_given_by_its_logarithm(name: str) -> None:
    """Down to exp(-5000): an unlisted outcome then costs 5000 and more under the logarithmic score, not infinity."""
    rule, definition = DEFINITIONS[name]
    given = ([1.0], [0.75, 0.25], [1 - 1e-12, 1e-12])
    for size, log_rest, listed in product((5, 1000, 2**100, 2**10000), (-40.0, -700.0, -800.0, -5000.0), given):
        places, cases = [*range(len(listed)), -1], len(listed) + 1
        classes = np.tile(np.arange(len(listed)), (cases, 1))
        lists = tl.TopLists.from_topk(classes, [listed] * cases, size, log_rest=[log_rest] * cases)
        got = tl.score(lists, [*range(len(listed)), len(listed) + 1], rule=rule)
        for place, s in zip(places, got, strict=True):
            with mp.workdps(400):  # one minus exp(-700) has as many
                assert_right(s, definition(with_rest(listed, log_rest, size, place)), (listed, log_rest, size))


@pytest.mark.parametrize("log_rest", [-709.0, -720.0, -735.0, -744.0])
def test_a_rest_mass_that_doubles_hold_with_few_digits_is_known_by_its_logarithm(log_rest: float) -> None:
    """An unlisted outcome costs what the given logarithm says, not that of a subnormal number."""
    lists = tl.TopLists.from_topk([[0]], [[1.0]], 10, log_rest=[log_rest])
    assert tl.score(lists, [5], rule="log")[0] == pytest.approx(math.log(9) - log_rest, rel=1e-15)


LOGITS: dict[str, list[float]] = {
    "a wide gap": [0.0, -800.0, -801.0, -803.0, -900.0],
    "a gap beyond all doubles": [0.0, -5000.0, -5000.5, -5010.0, -9000.0],
    "large numbers": [10000.0, 9996.0, 9000.0, 8999.0, 8990.0],
    "two ahead": [3.0, -4.0, -750.0, -751.0, -751.0],
    "no gap": [0.5, 0.25, 0.0, -1.0, -2.0],
}


@pytest.mark.parametrize(("gap", "k"), [*((gap, 1) for gap in LOGITS), ("two ahead", 2), ("no gap", 3)])
def test_lists_from_logits_know_what_they_leave_out(gap: str, k: int) -> None:
    """The log score of an unlisted class is that of the mean of the tail, however thin the tail is."""
    z = LOGITS[gap]
    order = [3, 0, 4, 1, 2]  # class of each logit
    mixed = np.array([[z[order.index(c)] for c in range(5)]])
    lists = tl.TopLists.from_logits(mixed, k=k)
    with mp.workdps(60):
        weights = [mp.exp(mp.mpf(x) - z[0]) for x in z]
        total = mp.fsum(weights)
        proxy = mp.fsum(weights[k:]) / total / (5 - k)
        assert_right(tl.score(lists, [order[4]], rule="log")[0], -mp.log(proxy))
        top = weights[0] / total
        assert tl.score(lists, [order[0]], rule="log")[0] == pytest.approx(float(-mp.log(top)), rel=1e-12, abs=1e-16)
        listed = [w / total for w in weights[:k]]
        brier = (1 - proxy) ** 2 + mp.fsum(t**2 for t in listed) + (4 - k) * proxy**2
        assert_right(tl.score(lists, [order[4]], rule="brier")[0], brier)


def test_shifting_all_logits_changes_nothing() -> None:
    z = np.array(list(LOGITS.values()))
    for shift in (-3000.0, 512.0):
        for k in (1, 3):
            first, second = (tl.TopLists.from_logits(x, k=k) for x in (z, z + shift))
            np.testing.assert_allclose(first.log_rest, second.log_rest, rtol=1e-12)
            assert first == second


def test_rules_from_functions_say_where_they_end() -> None:
    """An entropy in Python cannot be asked about 2**10000 classes; a separable one with a limit can."""
    lists = tl.TopList(LISTS["list"], 2**10000)
    savage = tl.Savage(lambda v, n: 1 - (n * v * v).sum(axis=-1), lambda v, n: -2 * v)
    with pytest.raises(tl.RuleError, match="number of classes"):
        tl.score(lists, 4, rule=savage)
    brier = tl.Separable(lambda x: x * (1 - x), lambda x: 1 - 2 * x)
    for y in (4, UNLISTED):
        assert tl.score(lists, y, rule=brier) == pytest.approx(tl.score(lists, y), rel=1e-12)
    assert tl.entropy(lists, rule=brier) == pytest.approx(tl.entropy(lists), rel=1e-12)
