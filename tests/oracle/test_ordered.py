"""Scores of ordered classes are exact to twelve digits: a sample of what `python -m tests.oracle.ordered` does."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from tests.oracle import ordered
from tests.scoring.test_ordinal import DEFINITIONS


def test_scores_of_ordered_classes_are_exact_to_twelve_digits() -> None:
    worst = ordered.run(300, 1)
    assert {name for name, _ in worst} == {*ordered.RULES}
    assert len({kind for _, kind in worst}) > 8
    assert max(worst.values()) <= ordered.TOLERANCE


@pytest.mark.parametrize("name", ordered.RULES)
def test_sums_over_runs_are_those_over_every_threshold(name: str) -> None:
    """Of random lists of up to 30 classes, class by class."""
    rng = np.random.default_rng(3)
    with mp.workdps(ordered.DIGITS):
        for _ in range(40):
            m = int(rng.integers(1, 31))
            k = int(rng.integers(0, m))
            parts = [Fraction(int(x), 1000) for x in rng.multinomial(900, np.full(k, 1 / k))] if k else []
            listed = dict(zip(rng.permutation(m)[:k].tolist(), parts, strict=True))
            proxy = (1 - sum(parts, Fraction(0))) / (m - k)
            p = [listed.get(c, proxy) for c in range(m)]
            for y in range(m):
                made, want = ordered.score(name, listed, proxy, m, y), DEFINITIONS[name](p, y)
                want = mp.mpf(want.numerator) / want.denominator if isinstance(want, Fraction) else mp.mpf(want)
                assert made == want or abs(made - want) <= mp.mpf(10) ** -60
