"""Arrays on a device that is not the library's default stay there, through the door and every rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.lists.device.test_array_api import RULES, content

T = tl.TopLists


def _strict() -> Callable[[Any], Any]:
    """array_api_strict has a second device, for tests like this: it refuses to mix the two."""
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    return lambda values: strict.asarray(np.asarray(values), device=strict.Device("device1"))


def _torch() -> Callable[[Any], Any]:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    return lambda values: torch.asarray(np.ascontiguousarray(values), device="cuda")


def _back(values: Any) -> Any:
    if hasattr(values, "cpu"):
        return values.cpu().numpy()
    return np.asarray(values.to_device(type(values.device)("CPU_DEVICE")))


@pytest.fixture(params=[_strict, _torch], ids=["array_api_strict", "torch"])
def place(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """Makes arrays on another device."""
    put: Callable[[Any], Any] = request.param()
    return put


@pytest.mark.parametrize("m", [11, np.random.default_rng(0).integers(4, 30, 80)], ids=["one size", "per case"])
@pytest.mark.parametrize("name", RULES)
def test_scores_and_entropies_are_made_where_the_lists_are(place: Callable[[Any], Any], name: str, m: Any) -> None:
    """And have the values that they have elsewhere."""
    classes, t, y = content(m)
    device, plain, outcomes, rule = (
        T.from_topk(place(classes), place(t), m),
        T.from_topk(classes, t, m),
        place(y),
        RULES[name],
    )
    with np.errstate(all="ignore"):
        for got, want in (
            (tl.score(device, outcomes, rule=rule), tl.score(plain, y, rule=rule)),
            (tl.entropy(device, rule=rule), tl.entropy(plain, rule=rule)),
        ):
            assert got.device == outcomes.device
            np.testing.assert_allclose(_back(got), want, rtol=1e-11, atol=1e-13)


def test_a_given_rest_is_read_where_it_is(place: Callable[[Any], Any]) -> None:
    device = T.from_topk(place([[0, 1]] * 3), place([[0.5, 0.25]] * 3), 4, log_rest=place(np.log([0.25] * 3)))
    assert _back(device.is_valid()).tolist() == [True] * 3
    assert _back(tl.score(device, place([3, 2, 0]), rule="log")).tolist() == pytest.approx(
        [3 * np.log(2), 3 * np.log(2), np.log(2)]
    )


def test_bad_cases_are_named_from_there(place: Callable[[Any], Any]) -> None:
    with pytest.raises(tl.ConfidenceError, match=r"^case 1: the confidence of class 0 is nan\."):
        T.from_topk(place([[0, 1]] * 2), place([[0.5, 0.25], [np.nan, 0.25]]), 5)
