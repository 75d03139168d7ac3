"""Vector scaling on ranks is the most likely of its kind."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import toplist as tl
from tests.postprocess.recalibrators import mixed, sharpened
from toplist.postprocess.recalibration import VectorScaling


def dense_loss(theta: np.ndarray, lists: tl.TopLists, y: np.ndarray, ridge: float) -> float:
    """The penalised likelihood, list by list, the rest as one outcome."""
    start = np.zeros(len(theta))
    start[0] = 1.0
    total = 0.5 * ridge * float((theta - start) @ (theta - start))
    for one, happened in zip(lists, y, strict=True):
        t, rest = one.batch.normalized_confidences, float(one.batch.rest[0])
        z = np.append(theta[0] * np.log(t) + theta[1 : 1 + len(t)], theta[0] * np.log(rest) + theta[-1])
        at = np.flatnonzero(one.batch.classes == happened)
        total += np.logaddexp.reduce(z) - (z[at[0]] if len(at) else z[-1])
    return total / len(lists)


def test_it_is_the_penalised_maximum_of_the_likelihood() -> None:
    """Found again by a search without slopes."""
    lists, y = sharpened(31, 40, k=2)
    made = VectorScaling(ranks=2, ridge=2.0).fit(lists, y)
    got = np.concatenate(([made.slope_], made.offsets_, [made.rest_offset_]))
    want = minimize(
        dense_loss, [1.0, 0.0, 0.0, 0.0], (lists, y, 2.0), method="Nelder-Mead",
        options={"xatol": 1e-5, "fatol": 1e-11, "maxiter": 2000},
    ).x  # fmt: skip
    np.testing.assert_allclose(got, want, atol=1e-3)
    assert dense_loss(got, lists, y, 2.0) <= dense_loss(want, lists, y, 2.0) + 1e-10


def test_a_large_ridge_leaves_lists_as_they_are() -> None:
    lists, y = mixed(32, 50)
    out = VectorScaling(ridge=1e12).fit_transform(lists, y)
    np.testing.assert_allclose(out.padded(), lists.strictly_valid().padded(), atol=1e-6)


def test_order_may_change_and_lists_stay_valid() -> None:
    """Second classes that happen more often than first ones come out ahead."""
    n = 400
    lists = tl.TopLists.from_topk(np.tile([0, 1], (n, 1)), np.tile([0.5, 0.3], (n, 1)), 3)
    y = np.array([0] * 80 + [1] * 240 + [2] * 80)
    out = VectorScaling().fit_transform(lists, y)
    np.testing.assert_allclose(out[0].batch.confidences, [0.2, 0.6], atol=0.01)
    assert out.is_valid().all()


def test_later_ranks_share_an_offset() -> None:
    lists, y = sharpened(33, 300, k=6)
    made = VectorScaling(ranks=4).fit(lists, y)
    assert len(made.offsets_) == 4
    assert made.parameters == 6
    longer, _ = sharpened(34, 20, k=7)
    assert made.transform(longer).is_valid().all()


@pytest.mark.parametrize(("option", "value"), [("ranks", 0), ("ranks", 2.5), ("ridge", -1.0), ("ridge", "none")])
def test_options_make_sense(option: str, value: object) -> None:
    lists, y = sharpened(35, 5)
    with pytest.raises(tl.TopListError, match=f"{option} is"):
        VectorScaling(**{option: value}).fit(lists, y)  # type: ignore[arg-type]
