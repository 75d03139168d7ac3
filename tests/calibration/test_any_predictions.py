"""Every public function of calibration takes predictions of any shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import toplist as tl
from toplist import calibration, inference
from toplist.calibration.binned import Binned

P = np.random.default_rng(0).dirichlet(np.ones(4), 40)
Y = np.random.default_rng(1).integers(0, 4, 40)
ASK: dict[str, Callable[..., Any]] = {
    "reliability": lambda p, **space: calibration.reliability(p, Y, band=None, **space).curve.tolist(),
    "by rank": lambda p, **space: [one.hit_rate for one in calibration.reliability_by_rank(p, Y, band=None, **space)],
    "error": lambda p, **space: calibration.calibration_error(p, Y, **space),
    "bias": lambda p, **space: calibration.calibration_bias(p, Y, **space),
    "test": lambda p, **space: calibration.calibration_test(p, Y, draws=19, **space),
    "decomposition": lambda p, **space: calibration.decompose(p, Y, **space),
    "bins": lambda p, **space: Binned.of(p, Y, **space),
    "difference": lambda p, **space: inference.explain_difference(p, p, Y, **space),
}


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_arrays_dicts_and_pairs_give_what_their_lists_give(ask: Callable[..., Any]) -> None:
    expected = ask(tl.TopLists.from_proba(P))
    assert ask(P) == expected
    assert ask([dict(enumerate(row)) for row in P.tolist()], space=4) == expected
    assert ask((np.tile(np.arange(4), (40, 1)), P), space=4) == expected
