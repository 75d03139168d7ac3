"""Entropies are exact to twelve digits, near certainty and for exponents near one too.

The oracle takes the entropy of the padded distribution by its closed form, in long decimals. Lists whose mass is short
of one by rounding are left out: of these the entropies of exponents near one are not defined.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import toplist as tl
from tests.oracle import exact, million
from tests.oracle.draws import draw

TOLERANCE = 1e-12
Classes = list[tuple[Any, int]]  # probabilities in long decimals, and how many classes have them


@cache
def cases() -> tuple[tl.TopLists, list[tuple[int, Classes]]]:
    """Lists, and of those whose mass is one the padded distributions."""
    drawn = draw(np.random.default_rng(11), 500, np.dtype("float64"))
    padded = [exact.pad(*drawn.row(i)) for i in range(len(drawn))]
    whole = [i for i, p in enumerate(padded) if sum(count * t for t, count in p.classes) == Fraction(1)]
    with mp.workdps(exact.DIGITS):
        classes = [(i, [(exact.decimal(t), n) for t, n in padded[i].classes if n and t]) for i in whole]
    return million.lists_of(drawn), classes


def power_sum(a: float, p: Classes) -> Any:
    return mp.fsum(n * t ** mp.mpf(a) for t, n in p)


def power(a: float) -> tuple[tl.Rule, Callable[[Classes], Any]]:
    return tl.Power(a), lambda p: (1 - power_sum(a, p)) / (mp.mpf(a) - 1)


def renyi(a: float) -> tuple[tl.Rule, Callable[[Classes], Any]]:
    return tl.Renyi(a), lambda p: mp.log(power_sum(a, p)) / (1 - mp.mpf(a))


def arimoto(a: float) -> tuple[tl.Rule, Callable[[Classes], Any]]:
    rule = tl.PseudoSpherical(a, normalized=True)
    return rule, lambda p: (1 - power_sum(a, p) ** (1 / mp.mpf(a))) / (mp.mpf(a) - 1)


ENTROPIES: dict[str, tuple[tl.Rule, Callable[[Classes], Any]]] = {
    "zero-one": (tl.ZeroOne(), lambda p: 1 - max(t for t, _ in p)),
    "log": (tl.Log(), lambda p: -mp.fsum(n * t * mp.log(t) for t, n in p)),
    **{f"power {a!r}": power(a) for a in (0.01, 0.5, 0.999, 1 - 1e-10, 1 + 1e-10, 1.001, 2.0, 40.0)},
    **{f"renyi {a!r}": renyi(a) for a in (0.01, 0.9, 1 - 1e-10)},
    **{f"arimoto {a!r}": arimoto(a) for a in (1 + 1e-10, 1.01, 2.0, 40.0)},
}


@pytest.mark.parametrize("name", ENTROPIES)
def test_entropies_are_exact_to_twelve_digits(name: str) -> None:
    rule, definition = ENTROPIES[name]
    lists, classes = cases()
    got = tl.entropy(lists, rule=rule)
    assert len(classes) > 200
    with mp.workdps(exact.DIGITS):
        for i, p in classes[::2]:
            off = exact.relative_error(float(got[i]), definition(p))
            assert off < TOLERANCE, (off, lists[i], got[i])
