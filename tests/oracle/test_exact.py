"""Every score is exact to twelve digits, whatever the list: a sample of what `python -m tests.oracle.million` does
with the bulk oracle, here in rationals.

A relative error of 1e-12 is asked for; an absolute one where the exact score vanishes; infinities must match. The
zero-one score jumps where a listed class draws level with the unlisted ones, see `exact.sides`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import toplist as tl
from tests.oracle import bulk, exact, million
from tests.oracle.draws import Draw, draw

TOLERANCE = 1e-12


@cache
def cases(dtype: str) -> tuple[Draw, tl.TopLists, list[exact.Padded]]:
    """A draw, its lists, and their exact padded distributions."""
    drawn = draw(np.random.default_rng(2024), 1500, np.dtype(dtype))
    padded = [exact.pad(*drawn.row(i), dtype) for i in range(len(drawn))]
    return drawn, million.lists_of(drawn), padded


@pytest.mark.parametrize("dtype", million.DTYPES)
@pytest.mark.parametrize("name", exact.DEFINITIONS)
def test_scores_are_exact_to_twelve_digits(name: str, dtype: str) -> None:
    drawn, lists, padded = cases(dtype)
    got = tl.score(lists, drawn.outcomes, rule=exact.DEFINITIONS[name][0], penalty=0)
    bad = []
    for i, p in enumerate(padded):
        off = exact.relative_error(got[i], exact.score_padded(name, p))
        if off > TOLERANCE and name == "zero-one":
            off = min((exact.relative_error(got[i], s) for s in exact.sides(*drawn.row(i), p)), default=off)
        if off > TOLERANCE:
            bad.append((off, str(drawn.kinds[i]), drawn.row(i), float(got[i])))
    assert not bad, f"{len(bad)} of {len(drawn)} scores are off; the worst: {max(bad)}"


@pytest.mark.parametrize("dtype", million.DTYPES)
@pytest.mark.parametrize("name", exact.DEFINITIONS)
def test_the_default_penalty_is_exact_to_twelve_digits(name: str, dtype: str) -> None:
    """It falls on exactly the lists that are invalid beyond the tolerance, and is a hundredth of the uniform score."""
    drawn, lists, padded = cases(dtype)
    rule = exact.DEFINITIONS[name][0]
    invalid = np.array([p.invalid for p in padded])
    assert (lists.is_valid() == ~invalid).all()
    due = tl.scoring.default_penalty(lists, rule=rule)
    expected = [exact.default_penalty(name, int(m)) for m in drawn.sizes]
    assert max(map(exact.relative_error, due.tolist(), expected)) < TOLERANCE
    fined, plain = (tl.score(lists, drawn.outcomes, rule=rule, penalty=c) for c in (None, 0))
    np.testing.assert_array_equal(fined, np.where(invalid, plain + due, plain))


EXTREME: dict[str, tuple[tl.Rule, Callable[[exact.Padded], Any]]] = {
    **{f"power {a}": (tl.Power(a), exact.power(a)) for a in (0.01, 0.999, 1.0001, 40.0, 200.0)},
    **{f"pseudospherical {a}": (tl.PseudoSpherical(a), exact.pseudospherical(a)) for a in (1.001, 10.0, 40.0)},
    **{f"renyi {a}": (tl.Renyi(a), exact.renyi(a)) for a in (0.01, 0.99)},
}


@pytest.mark.parametrize("name", EXTREME)
def test_scores_with_extreme_exponents_are_exact_to_twelve_digits(name: str) -> None:
    """Near 0, near 1 and far above it, where powers of small confidences underflow."""
    drawn, lists, padded = cases("float64")
    rule, definition = EXTREME[name]
    got = tl.score(lists, drawn.outcomes, rule=rule, penalty=0)
    with mp.workdps(120):
        for i in range(0, len(drawn), 5):
            off = exact.relative_error(got[i], definition(padded[i]))
            assert off <= TOLERANCE, (off, str(drawn.kinds[i]), drawn.row(i), float(got[i]))


def test_the_mass_left_over_is_exact() -> None:
    """Also where it is 1e-14: one minus a rounded sum would keep two digits of it."""
    drawn, lists, _ = cases("float64")
    for i in range(len(drawn)):
        values, size, _ = drawn.row(i)
        assert exact.relative_error(float(lists.rest[i]), exact.cleaned(values, size)[1]) < 1e-15


@pytest.mark.parametrize("m", [3, 7, 28, 49, 63165])
@pytest.mark.parametrize("rule", [tl.Brier(), tl.Log(), tl.Spherical(), tl.Power(0.5)], ids=repr)
def test_listing_classes_at_the_proxy_changes_nothing(m: int, rule: tl.Rule) -> None:
    """Some classes listed at one m-th, rounded: the uniform distribution still, with m classes and no more."""
    for k in range(1, min(m, 12)):
        t = tl.TopList(dict.fromkeys(range(k), 1 / m), m)
        for y in (0, m - 1):
            assert tl.score(t, y, rule=rule) == pytest.approx(tl.score(tl.TopList({}, m), y, rule=rule), rel=1e-12)


def test_the_command_reports_and_fails_only_above_the_tolerance(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(million, "TOLERANCE", np.inf)
    assert million.main(["240", "--seed", "3"]) == 0
    out, err = capsys.readouterr()
    assert "240 of 240 lists" in err
    assert all(name in out for name in bulk.RULES)
    monkeypatch.setattr(million, "TOLERANCE", 0.0)
    assert million.main(["240", "--seed", "3"]) == 1
