"""A rule is a value: its parameters have ranges, it equals its like, it says what it is, and its bounds hold."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import toplist as tl
from toplist.scoring.rules import as_rule

VALUES: dict[str, tuple[Any, Any, str]] = {  # twice the same rule, and its name
    "brier": (tl.Brier(), tl.Brier(scale_by_half=False), "brier"),
    "half brier": (tl.Brier(True), tl.Brier(scale_by_half=True), "brier"),
    "log": (tl.Log(), tl.Log(), "log"),
    "spherical": (tl.Spherical(), tl.Spherical(), "spherical"),
    "power 1.5": (tl.Power(1.5), tl.Power(a=1.5), "power"),
    "power 2": (tl.Power(2), tl.Power(2.0), "power"),
    "power 0.5": (tl.Power(0.5), tl.Power(a=0.5), "power"),
    "pseudospherical 3": (tl.PseudoSpherical(3), tl.PseudoSpherical(3.0), "pseudospherical"),
    "normalized": (tl.PseudoSpherical(3, True), tl.PseudoSpherical(3.0, normalized=True), "pseudospherical"),
    "renyi": (tl.Renyi(0.5), tl.Renyi(a=0.5), "renyi"),
    "zero-one": (tl.ZeroOne(), tl.ZeroOne(), "zero-one"),
    "one-vs-rest log": (tl.OneVsRest(), tl.OneVsRest("log"), "one-vs-rest"),
    "one-vs-rest brier": (tl.OneVsRest("brier"), tl.OneVsRest(binary="brier"), "one-vs-rest"),
    "one-vs-rest boosting": (tl.OneVsRest("boosting"), tl.OneVsRest("boosting"), "one-vs-rest"),
}
BROUGHT = {
    "separable": tl.Separable(lambda x: x * (1 - x), lambda x: 1 - 2 * x),
    "savage": tl.Savage(lambda v, n: 1 - (n * v * v).sum(axis=-1), lambda v, n: -2 * v),
    "negative savage": tl.Savage(lambda v, n: -(n * v * v).sum(axis=-1), lambda v, n: -2 * v),
    "negative separable": tl.Separable(lambda x: -x * x, lambda x: -2 * x),
    "negative pair": tl.OneVsRest((lambda p: (1 - p) ** 2 - 1, lambda p: p * p)),
}


def positive(name: str) -> str:
    return f"{name} takes an exponent above 0 other than 1, not "


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tl.Power(0), positive("Power") + "0."),
        (lambda: tl.Power(-1.0), positive("Power") + "-1.0."),
        (lambda: tl.Power(1), positive("Power") + "1. Its limit at 1 is the logarithmic score: Log()."),
        (lambda: tl.Power(math.nan), positive("Power") + "nan."),
        (lambda: tl.Power(math.inf), positive("Power") + "inf."),
        (lambda: tl.Power("2"), positive("Power") + "'2'."),  # type: ignore[arg-type]
        (lambda: tl.Power(None), positive("Power") + "None."),  # type: ignore[arg-type]
        (lambda: tl.PseudoSpherical(1), "PseudoSpherical takes an exponent above 1, not 1."),
        (lambda: tl.PseudoSpherical(0.5), "PseudoSpherical takes an exponent above 1, not 0.5."),
        (lambda: tl.PseudoSpherical(math.inf), "PseudoSpherical takes an exponent above 1, not inf."),
        (lambda: tl.PseudoSpherical("2"), "PseudoSpherical takes an exponent above 1, not '2'."),  # type: ignore[arg-type]
        (lambda: tl.Spherical(3), "Spherical has exponent 2; others are PseudoSpherical(a)."),
        *(
            (
                lambda a=a: tl.Renyi(a),
                (
                    f"Renyi takes an exponent between 0 and 1, not {a!r}: above 1 its entropy is not concave with many "
                    "classes."
                ),
            )
            for a in (0, 1, 2.0, -0.5, math.nan, "a")
        ),
        (lambda: tl.OneVsRest("lg"), "known binary scores are log, brier, boosting, not 'lg'."),
        *(
            (
                lambda pair=pair: tl.OneVsRest(pair),
                "binary is a name, or a pair of functions: the score if it happens, and if not.",
            )
            for pair in (None, abs, (abs,), (abs, "log"), (abs, abs, abs))
        ),
    ],
)
def test_a_parameter_outside_its_range_is_refused(make: Any, said: str) -> None:
    """Where the rule would not be proper, or not a rule."""
    with pytest.raises(tl.RuleError) as caught:
        make()
    assert str(caught.value) == said


@pytest.mark.parametrize(("rule", "same", "name"), VALUES.values(), ids=VALUES)
def test_rules_with_the_same_parameters_are_the_same(rule: tl.Rule, same: tl.Rule, name: str) -> None:
    """Equal, with equal hashes, unlike every other; and unchanged by a copy or a trip through a pickle."""
    assert rule == same
    assert hash(rule) == hash(same)
    assert rule.name == name
    assert sum(rule == other for other, _, _ in VALUES.values()) == 1
    assert len({rule, same}) == 1
    for twin in (copy.deepcopy(rule), pickle.loads(pickle.dumps(rule))):  # noqa: S301
        assert twin == rule


@pytest.mark.parametrize(("rule", "same", "name"), VALUES.values(), ids=VALUES)
def test_a_rule_shows_how_it_is_made(rule: tl.Rule, same: tl.Rule, name: str) -> None:
    """Typing what it shows makes it again."""
    assert eval(repr(rule), {"__builtins__": {}}, {n: getattr(tl, n) for n in tl.__all__}) == same  # noqa: S307


def test_rules_are_frozen() -> None:
    for rule, field in ((tl.Power(1.5), "a"), (tl.Brier(), "scale_by_half"), (tl.OneVsRest(), "binary")):
        with pytest.raises(AttributeError):
            setattr(rule, field, 2)


def test_only_the_zero_one_score_is_not_strict() -> None:
    assert [name for name, (rule, _, _) in VALUES.items() if not rule.strict] == ["zero-one"]


@pytest.mark.parametrize("name", tl.scoring.RULES)
def test_a_name_stands_for_the_rule_with_its_usual_parameters(name: str) -> None:
    rule = as_rule(name)
    assert rule == tl.scoring.RULES[name]()
    assert rule.name == name
    lists = tl.TopLists.from_topk([[0, 1], [2, 0]], [[0.5, 0.25], [0.75, 0.125]], 5)
    assert tl.score(lists, [1, 2], rule=name).tolist() == tl.score(lists, [1, 2], rule=rule).tolist()
    assert as_rule(rule) is rule


KNOWN = "there are brier, log, spherical, zero-one, one-vs-rest, rps, rps-normalized, ranked_log, topbeta:0.9."


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("breir", f"no rule is called 'breir'; {KNOWN} Did you mean 'brier'?"),
        ("Brier", f"no rule is called 'Brier'; {KNOWN} Did you mean 'brier'?"),
        ("zero_one", f"no rule is called 'zero_one'; {KNOWN} Did you mean 'zero-one'?"),
        ("sphericall", f"no rule is called 'sphericall'; {KNOWN} Did you mean 'spherical'?"),
        ("xyz", f"no rule is called 'xyz'; {KNOWN}"),
        (None, f"no rule is called None; {KNOWN}"),
        (2, f"no rule is called 2; {KNOWN}"),
        (tl.Power, "Power is a family of rules; call it: Power(...)."),
        (tl.Brier, "Brier is a family of rules; call it: Brier(...)."),
    ],
    ids=str,
)
def test_an_unknown_rule_is_refused_with_a_suggestion(rule: Any, said: str) -> None:
    lists = tl.TopLists.from_labels([0], 5)
    for use in (
        lambda: as_rule(rule),
        lambda: tl.score(lists, [0], rule=rule),
        lambda: tl.entropy(lists, rule=rule),
        lambda: tl.expected_score(lists, [0.2] * 5, rule=rule),
        lambda: tl.curve(lists, [0], rule=rule),
    ):
        with pytest.raises(tl.RuleError) as caught:
            use()
        assert str(caught.value) == said


def some_lists(seed: int) -> list[tl.TopLists]:
    """Lists of all lengths among few and many classes: random, sure, flat, with zeros, and their outcomes' codes."""
    rng = np.random.default_rng(seed)
    batches = []
    for m in (1, 2, 3, 6, 1000, 2**70):
        rows: list[dict[int, float]] = [{}, {0: 1.0}]
        for _ in range(40):
            k = int(rng.integers(1, min(m, 4) + 1))
            shares = rng.dirichlet(np.full(k + 1, rng.choice([0.05, 1.0, 20.0])))
            t = shares[:k] / shares[:k].sum() if k == m or rng.random() < 0.3 else shares[:k]
            codes = rng.choice(min(m, 9), size=k, replace=False)
            rows.append(dict(zip(codes.tolist(), t.tolist(), strict=True)))
        batches.append(tl.TopLists.from_dicts(rows, m))
    return batches


ALL = {name: rule for name, (rule, _, _) in VALUES.items()} | BROUGHT


@pytest.mark.parametrize("rule", ALL.values(), ids=ALL)
def test_no_score_is_out_of_bounds(rule: tl.Rule) -> None:
    """Over lists of every kind and every outcome."""
    low, high = rule.bounds()
    for lists in some_lists(11):
        for y in range(min(lists.space.size, 10)):
            scores = tl.score(lists, np.full(len(lists), y), rule=rule, penalty=0)
            assert not np.isnan(scores).any()
            assert scores.min() >= low - 1e-12
            assert scores.max() <= high + 1e-12


@pytest.mark.parametrize("rule", [rule for rule, _, _ in VALUES.values()], ids=VALUES)
def test_bounds_are_reached_by_whoever_is_sure(rule: tl.Rule) -> None:
    """Sure and right is the least there is; sure and wrong the most, where there is a most."""
    low, high = rule.bounds()
    sure = tl.TopLists.from_labels([0, 0], 5)
    right, wrong = tl.score(sure, [0, 3], rule=rule)
    assert right == low == 0.0
    if rule != tl.OneVsRest("brier"):  # bounded, though it does not say so
        assert wrong == pytest.approx(high, rel=1e-14)


@pytest.mark.parametrize("rule", [rule for rule, _, _ in VALUES.values()], ids=VALUES)
def test_penalties_are_zero_or_more(rule: tl.Rule) -> None:
    lists = tl.TopLists.from_topk([[0, 1]], [[0.5, 0.001]], 5)
    plain = tl.score(lists, [0], rule=rule, penalty=0)[0]
    assert tl.score(lists, [0], rule=rule)[0] == pytest.approx(
        plain + tl.scoring.default_penalty(lists, rule=rule), rel=1e-14
    )
    assert tl.score(lists, [0], rule=rule, penalty=0.25)[0] == pytest.approx(plain + 0.25, rel=1e-14)
    assert tl.score(lists, [0], rule=rule, penalty=math.inf)[0] == math.inf
    for bad in (-1, math.nan):
        with pytest.raises(tl.TopListError) as caught:
            tl.score(lists, [0], rule=rule, penalty=bad)
        assert str(caught.value) == f"the penalty for invalid lists is zero or more, not {bad!r}."
