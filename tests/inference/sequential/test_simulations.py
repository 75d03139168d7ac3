"""The simulations run, and what they measure is what they claim to."""

from __future__ import annotations

import math

import numpy as np
from simulations.sequential import _days, _many, rows

RNG = np.random.default_rng


def test_every_method_is_measured_in_every_setting() -> None:
    found = rows(2, 0)
    assert len({(row.method, row.setting, row.claim) for row in found}) == len(found)
    for row in found:
        assert row.draws == 2
        assert row.error >= 0
        assert 0 <= row.measured <= (2001 if math.isnan(row.nominal) else 1)
        assert math.isnan(row.nominal) or row.nominal in (0.05, 0.025)


def test_days_that_share_an_outcome_are_no_evidence_unless_their_cases_are_counted_one_by_one() -> None:
    """With 30 draws: at most six errors where 5% is promised, and many where cases are steps."""
    found = {(row.method, row.setting[:2].strip(), row.claim): row.measured for row in _days(30, RNG(1))}
    for (method, each, claim), rate in found.items():
        if method == "steps are days":
            assert rate <= 6 / 30, (each, claim)
        elif each in ("10", "50"):
            assert rate >= 0.4, (each, claim)


def test_equal_candidates_share_the_level() -> None:
    found = {(row.method, row.claim): row.measured for row in _many(15, RNG(2), 8)}
    assert all(rate <= 4 / 15 for (method, _), rate in found.items() if method == "level shared")
