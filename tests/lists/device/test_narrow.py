"""Half floats on a device are rounded as what they are, and scored in single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import toplist as tl

torch: Any = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_softmax_on_a_device_makes_no_invalid_list(dtype: str) -> None:
    generator = torch.Generator().manual_seed(0)
    z = (torch.randn(2000, 10, generator=generator) * 8).to(getattr(torch, dtype))
    values, classes = torch.softmax(z, dim=1).topk(9)
    lists = tl.TopLists.from_topk(classes, values, 10)
    assert bool(lists.is_valid().all())
    assert lists.confidences.dtype == (torch.float64 if dtype == "float64" else torch.float32)
    y = torch.randint(0, 10, (2000,), generator=generator)
    plain = tl.TopLists.from_topk(classes.numpy(), values.double().numpy(), 10, normalize=True)
    off = {"float16": 1e-2, "bfloat16": 0.1}.get(dtype, 1e-5)
    np.testing.assert_allclose(tl.score(lists, y).numpy(), tl.score(plain, y.numpy(), penalty=0), atol=off)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_list_that_is_invalid_beyond_its_precision_pays_on_a_device(dtype: str) -> None:
    t = torch.tensor([[0.6, 0.1]], dtype=getattr(torch, dtype))
    lists = tl.TopLists.from_topk(torch.tensor([[0, 1]]), t, 4)
    assert not bool(lists.is_valid()[0])
    y = torch.tensor([0])
    assert float(tl.score(lists, y)[0]) > float(tl.score(lists, y, penalty=0)[0])
