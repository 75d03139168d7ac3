"""Rules that people bring: improper ones are refused with the pair of distributions that shows it."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import toplist as tl

Vector = Any


def squares(q: Vector) -> float:
    return float((q * q).sum())


def brier_entropy(v: Any, n: Any) -> Any:
    return 1 - (n * v * v).sum(axis=-1)


def log_of(x: Any) -> Any:
    """log(x), minus infinity at zero, without a warning."""
    return np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), -np.inf)


def surprise(x: Any) -> Any:
    return np.where(x > 0, -x * log_of(np.where(x > 0, x, 1.0)), 0.0)


# A maker, and the scores of all outcomes under a report q by its definition: G(q) - <G', q> + G'_y.
IMPROPER: dict[str, tuple[Callable[[], tl.Rule], Callable[[Vector], Vector]]] = {
    "convex entropy": (
        lambda: tl.Savage(lambda v, n: (n * v * v).sum(axis=-1), lambda v, n: 2 * v),
        lambda q: 2 * q - squares(q),
    ),
    "gradient of the wrong sign": (
        lambda: tl.Savage(brier_entropy, lambda v, n: 2 * v),
        lambda q: 1 - 3 * squares(q) + 2 * q,
    ),
    "half the gradient": (lambda: tl.Savage(brier_entropy, lambda v, n: -v), lambda q: 1 - q),
    "gradient off by a hundredth": (
        lambda: tl.Savage(brier_entropy, lambda v, n: -2.02 * v),
        lambda q: 1 + 1.02 * squares(q) - 2.02 * q,
    ),
    "renyi 2": (
        lambda: tl.Savage(
            lambda v, n: -np.log((n * v * v).sum(axis=-1)),
            lambda v, n: -2 * v / (n * v * v).sum(axis=-1, keepdims=True),
        ),
        lambda q: -math.log(squares(q)) + 2 - 2 * q / squares(q),
    ),
    "renyi 3": (
        lambda: tl.Savage(
            lambda v, n: -0.5 * np.log((n * v**3).sum(axis=-1)),
            lambda v, n: -1.5 * v * v / (n * v**3).sum(axis=-1, keepdims=True),
        ),
        lambda q: -0.5 * math.log((q**3).sum()) + 1.5 - 1.5 * q**2 / (q**3).sum(),
    ),
    "linear score": (lambda: tl.OneVsRest((lambda p: 1 - p, lambda p: 0 * p)), lambda q: 1 - q),
    "absolute error": (lambda: tl.OneVsRest((lambda p: 1 - p, lambda p: p)), lambda q: 2 * (1 - q)),
    "pair that does not match": (
        lambda: tl.OneVsRest((lambda p: (1 - p) ** 2, lambda p: p)),
        lambda q: (1 - q) ** 2 + (1 - q),
    ),
    "pair the wrong way round": (
        lambda: tl.OneVsRest((lambda p: p**2, lambda p: 1 - (1 - p) ** 2)),
        lambda q: q**2 + (2 * q - q**2).sum() - (2 * q - q**2),
    ),
    "convex function": (lambda: tl.Separable(lambda x: x * x, lambda x: 2 * x), lambda q: 2 * q - squares(q)),
    "derivative of another function": (lambda: tl.Separable(lambda x: x * (1 - x), lambda x: 1 - x), lambda q: 1 - q),
}  # fmt: skip


@pytest.mark.parametrize(("make", "scores"), IMPROPER.values(), ids=IMPROPER)
def test_an_improper_rule_is_refused_with_a_pair_that_shows_it(
    make: Callable[[], tl.Rule], scores: Callable[[Vector], Vector]
) -> None:
    """Under the truth p, reporting q is better than reporting p, by the gain that is said: computed here once more."""
    with pytest.raises(tl.ImproperRuleError) as caught:
        make()
    error = caught.value
    p, q = np.array(error.p), np.array(error.q)
    for x in (p, q):
        assert (x >= 0).all()
        assert x.sum() == pytest.approx(1.0, abs=1e-12)
    honest, lying = float(p @ scores(p)), float(p @ scores(q))
    assert lying < honest
    assert error.gain == pytest.approx(honest - lying, rel=1e-6, abs=1e-7)
    shown = ["(" + ", ".join(f"{v:.4g}" for v in x) + ")" for x in (p, q)]
    assert str(error) == (
        f"this rule is not proper: if {shown[0]} is true, reporting {shown[1]} scores {error.gain:.3g} better in "
        "expectation. Its entropy is not concave, or its derivative is wrong."
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: tl.Savage(lambda v, n: 1 - v[:, 0] ** 2 - (n * v * v).sum(axis=-1), lambda v, n: -2 * v),
        lambda: tl.Savage(brier_entropy, lambda v, n: -2 * v + np.arange(v.shape[1])),
        lambda: tl.Savage(
            lambda v, n: 1 - (n * v * v * (1 + np.arange(v.shape[1]))).sum(axis=-1),
            lambda v, n: -2 * v * (1 + np.arange(v.shape[1])),
        ),
    ],
    ids=["entropy", "gradient", "both"],
)
def test_a_rule_that_tells_classes_apart_is_refused(make: Callable[[], tl.Rule]) -> None:
    """Padding needs symmetry: unlisted classes are all alike."""
    with pytest.raises(tl.RuleError):
        make()


def test_a_rule_that_gives_no_number_is_refused() -> None:
    for make in (
        lambda: tl.Savage(lambda v, n: math.nan * v.sum(axis=-1), lambda v, n: v),
        lambda: tl.Savage(lambda v, n: 0.0 * v.sum(axis=-1), lambda v, n: math.nan * v),
        lambda: tl.Savage(lambda v, n: math.inf + v.sum(axis=-1), lambda v, n: v),
        lambda: tl.Separable(lambda x: math.nan * x, lambda x: x),
        lambda: tl.Separable(lambda x: x * (1 - x), lambda x: math.inf + x),
        lambda: tl.OneVsRest((lambda p: math.nan * p, lambda p: p * p)),
    ):
        with pytest.raises(
            tl.RuleError, match=r"^this rule scores the report \(.*\) as \(.*\), which must be finite\.$"
        ):
            make()


def test_functions_that_return_the_wrong_shape_are_refused() -> None:
    with pytest.raises(tl.RuleError, match=r"^G must return one number per case: \(\d+,\), not \(\)\.$"):
        tl.Savage(lambda v, n: 1 - (n * v * v).sum(), lambda v, n: -2 * v)
    with pytest.raises(tl.RuleError, match=r"^dG must return the shape of its values: \(\d+, 3\), not \(\d+,\)\.$"):
        tl.Savage(brier_entropy, lambda v, n: -2 * v.sum(axis=-1))


# A maker, and the rule of the library that it is.
PROPER: dict[str, tuple[Callable[[], tl.Rule], tl.Rule]] = {
    "brier": (lambda: tl.Savage(brier_entropy, lambda v, n: -2 * v), tl.Brier()),
    "log": (
        lambda: tl.Savage(lambda v, n: (n * surprise(v)).sum(axis=-1), lambda v, n: -1 - log_of(v)),
        tl.Log(),
    ),
    "spherical": (
        lambda: tl.Savage(
            lambda v, n: 1 - np.sqrt((n * v * v).sum(axis=-1)),
            lambda v, n: -v / np.sqrt((n * v * v).sum(axis=-1, keepdims=True)),
        ),
        tl.Spherical(),
    ),
    "power 3": (
        lambda: tl.Savage(lambda v, n: (1 - (n * v**3).sum(axis=-1)) / 2, lambda v, n: -1.5 * v * v),
        tl.Power(3.0),
    ),
    "renyi 0.5": (
        lambda: tl.Savage(
            lambda v, n: 2 * np.log((n * np.sqrt(v)).sum(axis=-1)),
            lambda v, n: 1 / np.sqrt(v) / (n * np.sqrt(v)).sum(axis=-1, keepdims=True),
        ),
        tl.Renyi(0.5),
    ),
    "zero-one, any subgradient": (
        lambda: tl.Savage(
            lambda v, n: 1 - np.where(n > 0, v, -1).max(axis=-1),
            lambda v, n: -1.0 * (np.arange(v.shape[1]) == np.where(n > 0, v, -1).argmax(axis=-1)[:, None]),
        ),
        tl.ZeroOne(),
    ),
    "separable brier": (lambda: tl.Separable(lambda x: x * (1 - x), lambda x: 1 - 2 * x), tl.Brier()),
    "separable log": (
        lambda: tl.Separable(surprise, lambda x: -1 - log_of(x)),
        tl.Log(),
    ),
    "separable power": (
        lambda: tl.Separable(lambda x: 2 * (x - x**1.5), lambda x: 2 - 3 * np.sqrt(x)),
        tl.Power(1.5),
    ),
    "pair of squares": (lambda: tl.OneVsRest((lambda p: (1 - p) ** 2, lambda p: p * p)), tl.Brier()),
    "pair of logs": (lambda: tl.OneVsRest((lambda p: -log_of(p), lambda p: -log_of(1 - p))), tl.OneVsRest("log")),
}  # fmt: skip


@pytest.mark.parametrize(("make", "known"), PROPER.values(), ids=PROPER)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_proper_rule_is_accepted_and_scores_as_what_it_is(make: Callable[[], tl.Rule], known: tl.Rule) -> None:
    """Lists of every length, listed and unlisted outcomes."""
    rule = make()
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(7), size=60)
    for k in (0, 1, 3, 7):
        lists = tl.TopLists.from_proba(p, k=k)
        y = rng.integers(0, 7, 60)
        np.testing.assert_allclose(
            tl.score(lists, y, rule=rule), tl.score(lists, y, rule=known), rtol=1e-11, atol=1e-13
        )
        np.testing.assert_allclose(tl.entropy(lists, rule=rule), tl.entropy(lists, rule=known), rtol=1e-12, atol=1e-14)


def sum_of_powers(v: Any, n: Any, a: float) -> Any:
    return (n * v**a).sum(axis=-1, keepdims=True)


FAMILIES: dict[str, Callable[[float], tl.Rule]] = {
    "power": lambda a: tl.Savage(
        lambda v, n: (1 - sum_of_powers(v, n, a)[:, 0]) / (a - 1), lambda v, n: -a / (a - 1) * v ** (a - 1)
    ),
    "renyi": lambda a: tl.Savage(
        lambda v, n: np.log(sum_of_powers(v, n, a)[:, 0]) / (1 - a),
        lambda v, n: a / (1 - a) * v ** (a - 1) / sum_of_powers(v, n, a),
    ),
    "pseudospherical": lambda a: tl.Savage(
        lambda v, n: 1 - sum_of_powers(v, n, a)[:, 0] ** (1 / a),
        lambda v, n: -(v ** (a - 1)) * sum_of_powers(v, n, a) ** (1 / a - 1),
    ),
}


@pytest.mark.parametrize(
    ("family", "a"),
    [
        *(("power", a) for a in (0.2, 0.5, 0.7, 0.9, 1.1, 1.2, 1.5, 1.8, 2.5, 4.0)),
        *(("renyi", a) for a in (0.2, 0.5, 0.7, 0.9)),
        *(("pseudospherical", a) for a in (1.1, 1.25, 1.5, 2.0, 3.0)),
    ],
)
def test_an_entropy_of_a_proper_family_is_never_refused(family: str, a: float) -> None:
    """Rounding is neither asymmetry nor impropriety."""
    assert not FAMILIES[family](a).strict


def test_a_rule_that_is_proper_though_not_strictly_is_accepted() -> None:
    """A constant scores nothing, and nobody gains by lying."""
    rule = tl.Savage(lambda v, n: 0.25 + 0.0 * v.sum(axis=-1), lambda v, n: 0.0 * v)
    assert tl.score(tl.TopLists.from_labels([0, 1], 5), [0, 0], rule=rule).tolist() == [0.25, 0.25]


def test_the_refusal_can_be_sent_to_another_process() -> None:
    """With the pair that shows it."""
    with pytest.raises(tl.ImproperRuleError) as caught:
        tl.Separable(lambda x: x * x, lambda x: 2 * x)
    sent = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (sent.p, sent.q, sent.gain, str(sent)) == (
        caught.value.p,
        caught.value.q,
        caught.value.gain,
        str(caught.value),
    )


def test_an_entropy_without_its_supergradient_is_refused() -> None:
    for call in (lambda: tl.Savage(brier_entropy), lambda: tl.Savage(brier_entropy, None)):  # type: ignore[arg-type, call-arg]
        with pytest.raises((TypeError, tl.RuleError), match="dG"):
            call()
