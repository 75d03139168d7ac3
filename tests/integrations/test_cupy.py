"""CuPy arrays are scored by the functions for torch, and stay where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.integrations.jax.rows import KS, hard_rows
from tests.lists.device.libraries import library
from toplist.errors import ShapeError, TopListError
from toplist.integrations import cupy as tc

torch = pytest.importorskip("torch", reason="torch is not installed")

from toplist.integrations import torch as tt  # noqa: E402


def assert_same(found: Any, expected: Any, numpy: Any) -> None:
    """All arrays of two results."""
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, dict):
            assert list(one) == list(other)
            assert_same(one.values(), other.values(), numpy)
        elif isinstance(one, tuple):
            assert_same(one, other, numpy)
        else:
            np.testing.assert_array_equal(numpy(one), other.cpu().numpy())


@pytest.mark.parametrize("name", ["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def test_lists_and_scores_are_those_of_torch_in_arrays_of_the_library(name: str) -> None:
    """numpy takes the same way through DLPack, on the CPU."""
    x, y = hard_rows()
    if name == "numpy":
        array, numpy, device = np.asarray, np.asarray, "cpu"
        kind: type = np.ndarray
    else:
        with library("cupy") as lib:
            array, numpy, device = lib.array, lib.numpy, "cuda"
            kind = type(lib.xp.zeros(1))
    tensors = torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)
    lists = tc.lists_from_logits(array(x), 7, temperature=2.0)
    assert isinstance(lists.classes, kind)
    assert_same(lists, tt.lists_from_logits(tensors[0], 7, temperature=2.0), numpy)
    found = tc.scores_from_logits(array(x), array(y), KS, ("log", "brier"), ignore_index=4)
    assert isinstance(found.padded["log"], kind)
    same = tt.scores_from_logits(*tensors, KS, ("log", "brier"), ignore_index=4)
    assert found[5:] == same[5:] == (KS, 1.0)
    assert_same(found[:5], same[:5], numpy)
    assert len(lists.to_lists(x.shape[1])) == len(x)


def test_what_is_no_array_is_refused() -> None:
    with pytest.raises(ShapeError, match="logits is an array of CuPy, not list"):
        tc.lists_from_logits([[1.0, 2.0]], 1)


def test_without_torch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "toplist.integrations.torch", None)
    with pytest.raises(TopListError, match="pip install torch"):
        tc.lists_from_logits(np.zeros((1, 2)), 1)
