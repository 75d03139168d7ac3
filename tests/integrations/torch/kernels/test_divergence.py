"""Kernels of list divergences: the same numbers as plain torch in float64, for every row that could go wrong."""

from __future__ import annotations

import os

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from toplist.integrations.torch import kernels, list_divergence, lists_from_logits
from toplist.integrations.torch.coarsening import coarsen, spread

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
pytestmark = [
    pytest.mark.skipif(
        not INTERPRETED and not torch.cuda.is_available(),
        reason="Triton kernels run on a CUDA device, or under TRITON_INTERPRET=1",
    ),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # numpy's, of infinities, in Triton's interpreter
]
DEVICE = "cpu" if INTERPRETED else "cuda"
Tensor = torch.Tensor


def same_in_float64(x: Tensor, classes: Tensor, temperature: float = 1.0, error: float = 1e-5) -> None:
    """Both directions, against plain torch in float64."""
    x, classes = x.to(DEVICE), classes.to(DEVICE)
    assert kernels.usable(x)
    found = coarsen(x, classes, temperature, -100)
    want = coarsen(x.double(), classes, temperature, -100)
    for one, other in zip(found[:2], want[:2], strict=True):
        torch.testing.assert_close(one.double(), other, rtol=error, atol=error, equal_nan=True)
    assert torch.equal(found[2].double(), want[2])
    torch.manual_seed(0)
    gradients = torch.randn(*classes.shape, device=DEVICE), torch.randn(len(x), device=DEVICE)
    back = spread(x, classes, *found[1:], *gradients, temperature, -100)
    wide = spread(x.double(), classes, *want[1:], *(g.double() for g in gradients), temperature, -100)
    assert back.dtype == x.dtype
    error = error if x.dtype == torch.float32 else 1e-2
    torch.testing.assert_close(back.double(), wide, rtol=error, atol=error, equal_nan=True)
    assert torch.equal(back.nan_to_num(), spread(x, classes, *found[1:], *gradients, temperature, -100).nan_to_num())


@pytest.mark.parametrize("width", [1, 5, 1000, 1024, 2048, 2049, 5000, 40_000])
def test_random_rows_of_any_width(width: int) -> None:
    torch.manual_seed(width)
    k = min(width, 7)
    x = 4 * torch.randn(3, width)
    same_in_float64(x, x.topk(k).indices, 1.3)
    same_in_float64(x, torch.rand(3, width).topk(k).indices)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("k", [1, 64, 200])
def test_types_and_lengths_of_lists(kind: torch.dtype, k: int) -> None:
    """Two hundred classes fall into the same lane of the sweep many times."""
    torch.manual_seed(k)
    x = (4 * torch.randn(2, 6000)).to(kind)
    same_in_float64(x, x.float().topk(k).indices)


def test_listed_classes_in_one_lane_and_padding() -> None:
    """Columns that are a multiple of the block apart are added up by one lane."""
    x = torch.randn(4, 9000)
    x[:, [5, 5 + 2048, 5 + 4096]] += torch.tensor([20.0, 25.0, 22.0])
    classes = torch.tensor([[5, 5 + 2048, 5 + 4096], [5, 5 + 4096, -100], [5 + 2048, -100, -100], [-100, -100, -100]])
    same_in_float64(x, classes)


def test_ties_infinities_and_one_dominant_logit() -> None:
    x = torch.zeros(8, 5000)
    x[1] = -torch.inf
    x[1, 3000] = 1.0
    x[2, 4000] = 200.0  # far above the first tile
    x[3, 100] = 500.0
    x[4, ::2] = -torch.inf
    x[5, 7] = 80.0
    x[6] = torch.arange(5000) % 3
    x[7] = -1e30
    x[7, 10] = 0.0
    classes = torch.tensor([[0, 1]]).repeat(8, 1)
    classes[:, 0] = x.argmax(1)
    classes[:, 1] = (classes[:, 0] + 2048) % 5000
    same_in_float64(x, classes)


def test_what_is_beside_a_certain_list_keeps_its_digits() -> None:
    """In float32, where the rest is 1e-9 of the listed classes, and where its exponentials underflow."""
    torch.manual_seed(1)
    for gap in (20.0, 300.0):
        x = torch.randn(2, 5000)
        x[:, [3, 4999]] += gap
        classes = torch.tensor([[3, 4999]]).expand(2, -1).contiguous()
        same_in_float64(x, classes, error=3e-5)  # rounding of the large difference itself
        found, want = (coarsen(y.to(DEVICE), classes.to(DEVICE), 1.0, -100)[1] for y in (x, x.double()))
        assert (found.double() - want).abs().max() < 3e-5


def test_nan_goes_through_and_lists_that_are_none_give_nan() -> None:
    x = torch.zeros(4, 3000)
    x[0, 2500] = torch.nan
    classes = torch.tensor([[0, 1], [7, 7], [0, 3000], [0, -5]])
    _, log_rest, _ = coarsen(x.to(DEVICE), classes.to(DEVICE), 1.0, -100)
    assert torch.isnan(log_rest).all()


def test_any_strides_give_the_same() -> None:
    torch.manual_seed(2)
    x = torch.randn(3, 3000, device=DEVICE)
    classes = x.topk(5).indices
    turned = x.T.contiguous().T
    cut = torch.randn(6, 3100, device=DEVICE)
    cut[::2, 50:3050] = x
    for one in (turned, cut[::2, 50:3050]):
        for a, b in zip(coarsen(x, classes, 1.0, -100), coarsen(one, classes, 1.0, -100), strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("rule", ["log", "brier", "spherical"])
def test_the_loss_and_its_gradient_are_those_of_plain_torch_in_float64(rule: str) -> None:
    torch.manual_seed(3)
    student = 3 * torch.randn(3, 4500, device=DEVICE)
    teacher = lists_from_logits((student + torch.randn_like(student)).double(), 20)
    results = []
    for kind in (torch.float32, torch.float64):
        logits = student.clone().to(kind).requires_grad_()
        loss = list_divergence(
            teacher.classes, teacher.log_confidences, logits, teacher_log_rest=teacher.log_rest, rule=rule
        )
        (3 * loss).backward()
        results.append((loss.double(), logits.grad.double()))
    torch.testing.assert_close(*results, rtol=1e-5, atol=1e-7)
