"""Where rounding ends and error begins: the edges, per precision, and nothing that jumps across them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import toplist as tl

T = tl.TopLists
U = 2.0**-24  # half a unit in the last place of a single-precision 1
RULES = {
    "brier": tl.Brier(),
    "log": tl.Log(),
    "spherical": tl.Spherical(),
    "power 1.5": tl.Power(1.5),
    "power 0.5": tl.Power(0.5),
    "pseudospherical 3": tl.PseudoSpherical(3.0),
    "renyi 0.5": tl.Renyi(0.5),
    "one-vs-rest log": tl.OneVsRest("log"),
    "one-vs-rest boosting": tl.OneVsRest("boosting"),
    "separable": tl.Separable(lambda x: x * (1 - x), lambda x: 1 - 2 * x),
    "savage": tl.Savage(lambda v, n: 1 - (n * v * v).sum(axis=-1), lambda v, n: -2 * v),
}


def double(excess: float) -> Any:
    """Two confidences with the mass 1 + excess."""
    return np.array([[0.5, 0.5 + excess]])


def single(k: int, units: int) -> Any:
    """k confidences in single precision with the mass 1 + units * 2**-24, exactly."""
    t = np.zeros((1, k), np.float32)
    t[0, 0], t[0, 1] = np.float32(0.5), np.float32(0.5 + units * U)
    assert float(t.astype(np.float64).sum()) == 1.0 + units * U
    return t


def codes(t: Any) -> Any:
    return np.arange(t.shape[1])[None]


@pytest.mark.parametrize("m", [2, 3, 10, math.inf])
def test_a_mass_within_1e8_of_one_is_divided_out_in_double_precision(m: float) -> None:
    t = double(0.9e-8)
    lists = T.from_topk(codes(t), t, m)
    assert (lists.mass[0], lists.rest[0], lists.proxy[0]) == (1.0, 0.0, 0.0)
    assert lists.normalized_confidences == pytest.approx(t[0] / t.sum(), rel=1e-15)
    assert lists.confidences.tolist() == t[0].tolist()
    assert dict(lists.repairs) == {}
    want = float(((t[0] / t.sum() - [1, 0]) ** 2).sum())
    assert tl.score(lists, [0])[0] == pytest.approx(want, rel=1e-14)


@pytest.mark.parametrize("m", [2, 3, 10, math.inf])
def test_a_mass_further_above_one_is_refused_in_double_precision(m: float) -> None:
    t = double(1.1e-8)
    with pytest.raises(tl.MassError):
        T.from_topk(codes(t), t, m)


def test_a_complete_list_may_be_short_of_one_by_as_much() -> None:
    """Below one a list with room leaves the difference to the others; a complete one is divided out, or refused."""
    lists = T.from_proba(double(-0.9e-8))
    assert lists.padded().sum() == pytest.approx(1.0, abs=1e-15)
    assert lists.rest[0] == 0.0
    with pytest.raises(tl.MassError):
        T.from_proba(double(-1.1e-8))
    roomy = T.from_topk([[0, 1]], double(-1.1e-8), 3)
    assert roomy.rest[0] == pytest.approx(1.1e-8, rel=1e-7)


@pytest.mark.parametrize(("k", "allowed"), [(2, 16), (4, 16), (5, 20), (10, 40), (1000, 4000)])
@pytest.mark.parametrize("room", [0, 1, 50])
def test_single_precision_allows_a_millionth_or_four_roundings_per_class(k: int, allowed: int, room: int) -> None:
    """max(1e-6, 4 k 2**-24): the last mass inside and the first outside."""
    assert allowed * U <= max(1e-6, 4 * k * U) < (allowed + 1) * U
    t = single(k, allowed)
    lists = T.from_topk(codes(t), t, k + room)
    assert (lists.mass[0], lists.rest[0]) == (1.0, 0.0)
    assert lists.normalized_confidences.sum() == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(tl.MassError):
        T.from_topk(codes(t), single(k, allowed + 1), k + room)


def test_half_precision_is_held_in_single_precision() -> None:
    lists = T.from_topk([[0, 1]], np.array([[0.5, 0.25]], np.float16), 4)
    assert lists.confidences.dtype == np.float32
    assert lists.rest[0] == 0.25


@pytest.mark.parametrize(
    ("dtype", "inside", "outside"), [(np.float64, -0.9e-8, -1.1e-8), (np.float32, -0.9e-6, -1.1e-6)]
)
def test_negative_confidences_have_the_same_tolerance(dtype: Any, inside: float, outside: float) -> None:
    assert T.from_topk([[0, 1]], np.array([[0.5, inside]], dtype), 4).confidences.tolist() == [0.5, 0.0]
    with pytest.raises(tl.ConfidenceError):
        T.from_topk([[0, 1]], np.array([[0.5, outside]], dtype), 4)


@pytest.mark.parametrize("k", [2, 3, 8])
def test_a_rest_within_k_roundings_of_zero_is_zero(k: int) -> None:
    """1 - mass is exact; up to k * 2**-52 it is what adding up k numbers may lose, not mass."""
    for units, rest in ((4 * k, 0.0), (4 * k + 1, (4 * k + 1) * 2.0**-54)):
        t = np.zeros((1, k))
        t[0, 0], t[0, 1] = 0.5, 0.5 - units * 2.0**-54
        lists = T.from_topk(codes(t), t, k + 2)
        assert lists.rest[0] == rest
        assert math.isinf(tl.score(lists, [k], rule="log")[0]) == (rest == 0.0)


def test_a_given_rest_is_never_snapped() -> None:
    """Who knows the mass of the tail better than one minus the sum may say so, down to the smallest number."""
    t = np.array([[0.5, 0.5]])
    for log_rest in (-50.0, -700.0, -5000.0):
        lists = T.from_topk([[0, 1]], t, 4, log_rest=[log_rest])
        assert tl.score(lists, [3], rule="log")[0] == pytest.approx(math.log(2) - log_rest, rel=1e-15)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-8), (np.float32, 1e-6)])
def test_a_given_rest_may_be_off_by_as_much_as_the_mass(dtype: Any, tolerance: float) -> None:
    t = np.array([[0.5, 0.25]], dtype)
    for sign in (-1, 1):
        rest = 0.25 + sign * 0.9 * tolerance
        assert T.from_topk([[0, 1]], t, 4, log_rest=[math.log(rest)]).rest[0] == pytest.approx(rest, rel=1e-14)
        with pytest.raises(tl.MassError):
            T.from_topk([[0, 1]], t, 4, log_rest=[math.log(0.25 + sign * 1.1 * tolerance)])


def nearly_valid(d: float) -> tl.TopLists:
    """Five classes, two listed, the second below the proxy by the relative distance d."""
    low = 0.6 * (1 - d) / (4 - d)
    made: tl.TopLists = T.from_topk([[0, 1]], [[0.4, low]], 5)
    assert low / made.proxy[0] == pytest.approx(1 - d, abs=1e-15)
    return made


def test_a_confidence_a_billionth_below_the_proxy_is_still_valid_in_double_precision() -> None:
    for d, valid in ((-1e-9, True), (0.9e-9, True), (1.1e-9, False), (1e-3, False)):
        assert nearly_valid(d).is_valid().tolist() == [valid]


def test_single_precision_is_allowed_a_hundred_thousandth() -> None:
    for d, valid in ((-1e-5, True), (0.9e-5, True), (1.1e-5, False)):
        low = np.float32(0.6 * (1 - d) / (4 - d))
        assert T.from_topk([[0, 1]], np.array([[0.4, low]], np.float32), 5).is_valid().tolist() == [valid]


@pytest.mark.parametrize("y", [0, 1, 2], ids=["listed", "in doubt", "unlisted"])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_scores_are_continuous_across_validity(rule: tl.Rule, y: int) -> None:
    """Without penalty neither the proxy nor the tolerance is a step: a relative 1e-10 changes at most as much."""
    steps = np.arange(-15, 16) * 1e-10
    scores = np.array([tl.score(nearly_valid(d), [y], rule=rule, penalty=0)[0] for d in steps])
    entropies = np.array([tl.entropy(nearly_valid(d), rule=rule)[0] for d in steps])
    assert np.abs(np.diff(scores)).max() < 1e-9
    assert np.abs(np.diff(entropies)).max() < 1e-9
    assert abs(scores[-1] - scores[0]) < 1e-8


def test_only_the_penalty_jumps_and_only_at_the_tolerance() -> None:
    """By the penalty, exactly where the list is called invalid."""
    inside, outside = nearly_valid(0.9e-9), nearly_valid(1.1e-9)
    for penalty in (None, 0.5):
        due = tl.scoring.default_penalty(inside) if penalty is None else penalty
        jump = tl.score(outside, [0], penalty=penalty)[0] - tl.score(inside, [0], penalty=penalty)[0]
        assert jump == pytest.approx(due, abs=1e-9)
    assert tl.score(outside, [0], penalty=math.inf)[0] == math.inf
    assert math.isfinite(tl.score(inside, [0], penalty=math.inf)[0])


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_scores_are_continuous_where_the_mass_is_divided_out(rule: tl.Rule) -> None:
    """From a mass just below one to one just above, for a listed outcome."""
    scores = [tl.score(T.from_topk([[0, 1]], double(e), 3), [0], rule=rule)[0] for e in (-1e-12, 0.0, 1e-12)]
    assert max(scores) - min(scores) < 1e-5  # some rules have an infinite slope where the rest vanishes
    if rule.name in ("brier", "log", "spherical"):
        assert max(scores) - min(scores) < 1e-11
