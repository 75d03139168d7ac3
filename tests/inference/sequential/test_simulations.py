"""The simulations run, and what they measure is what they claim to."""

from __future__ import annotations

import math

from simulations.sequential import rows


def test_every_method_is_measured_in_every_setting() -> None:
    found = rows(2, 0)
    assert len({(row.method, row.setting, row.claim) for row in found}) == len(found)
    for row in found:
        assert row.draws == 2
        assert row.error >= 0
        assert 0 <= row.measured <= (1 if row.claim.startswith("ever") else 2001)
        assert math.isnan(row.nominal) or row.nominal == 0.05
