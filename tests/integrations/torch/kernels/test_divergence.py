"""Kernels of list divergences: the same numbers as plain torch in float64, for every row that could go wrong."""

from __future__ import annotations

import os
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from toplist.integrations.torch import kernels, list_divergence, lists_from_logits
from toplist.integrations.torch.coarsening import coarsen, in_kernels, spread
from toplist.integrations.torch.divergence import diverge
from toplist.scoring.rules.standard import Brier, Log, Power, PseudoSpherical, Spherical

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
    back = spread(x, classes, *found[1:], *gradients, None, temperature, -100)
    wide = spread(x.double(), classes, *want[1:], *(g.double() for g in gradients), None, temperature, -100)
    assert back.dtype == x.dtype
    error = error if x.dtype == torch.float32 else 1e-2
    torch.testing.assert_close(back.double(), wide, rtol=error, atol=error, equal_nan=True)
    once_more = spread(x, classes, *found[1:], *gradients, None, temperature, -100)
    assert torch.equal(back.nan_to_num(), once_more.nan_to_num())


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
    x[7] = -1e4  # as in a mask
    x[7, 10] = 0.0
    classes = torch.tensor([[0, 1]]).repeat(8, 1)
    classes[:, 0] = x.argmax(1)
    classes[:, 1] = (classes[:, 0] + 2048) % 5000
    same_in_float64(x, classes)


def test_gradients_are_bounded_where_logits_are_too_large_to_tell_shares_apart() -> None:
    """No number of float32 says what each of many classes at -1e30 has of their mass: it is at most all of it."""
    x = torch.full((1, 5000), -1e30, device=DEVICE)
    x[0, 10] = 0.0
    classes = torch.tensor([[10]], device=DEVICE)
    _, log_rest, largest = coarsen(x, classes, 1.0, -100)
    gradients = torch.tensor([[2.0]], device=DEVICE), torch.tensor([3.0], device=DEVICE)
    found = spread(x, classes, log_rest, largest, *gradients, None, 1.0, -100)
    assert found.min() >= 0
    assert found.max() <= 3


@pytest.mark.parametrize("constant", [1e3, 1e5])
def test_a_constant_beside_all_logits_changes_no_gradient(constant: float) -> None:
    """Differences of logits are exact here: they and the constant are multiples of 1/64."""
    torch.manual_seed(5)
    x = torch.randn(3, 3000, device=DEVICE).mul(64).round().div(64)
    classes = x.topk(5).indices
    gradients = torch.randn(3, 5, device=DEVICE), torch.randn(3, device=DEVICE)
    log_rest = coarsen(x.double(), classes, 1.0, -100)[1].float()
    found = [spread(one, classes, log_rest, one.amax(dim=1), *gradients, None, 1.0, -100) for one in (x, x + constant)]
    torch.testing.assert_close(*found, rtol=1e-6, atol=0)
    torch.testing.assert_close(found[0].sum(dim=1), gradients[0].sum(dim=1) + gradients[1], rtol=1e-5, atol=1e-5)


def test_rows_too_wide_for_the_kernels_are_left_to_plain_torch() -> None:
    classes = torch.zeros(1, 200, dtype=torch.int64, device=DEVICE)
    assert in_kernels(torch.zeros(1, 256_000, device=DEVICE), classes)
    assert not in_kernels(torch.zeros(1, 2048 * 4096 + 1, device=DEVICE), classes)


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


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("width", [3001, 3008, 4095])  # the last one may reach into one tile more
def test_rows_of_any_width_place_and_stride_give_the_same(width: int, kind: torch.dtype) -> None:
    """Rows start anywhere in a group of 16 bytes: in a contiguous tensor, in a padded one, and in a slice."""
    torch.manual_seed(2)
    x = torch.randn(9, width, device=DEVICE).to(kind)
    classes = x.float().topk(5).indices
    classes[0, 0], classes[0, 1] = width - 1, 0
    padded = torch.full((18, width + 100), torch.nan, device=DEVICE, dtype=kind)
    padded[::2, 51 : 51 + width] = x
    same_in_float64(x, classes)
    gradients = torch.randn(9, 5, device=DEVICE), torch.randn(9, device=DEVICE)
    found = coarsen(x, classes, 1.0, -100)
    back = spread(x, classes, *found[1:], *gradients, None, 1.0, -100)
    for one in (x.T.contiguous().T, padded[::2, 51 : 51 + width]):
        again = coarsen(one, classes, 1.0, -100)
        for a, b in zip(found, again, strict=True):
            torch.testing.assert_close(a, b, rtol=2e-6, atol=1e-6)  # lanes hold other classes
        torch.testing.assert_close(spread(one, classes, *found[1:], *gradients, None, 1.0, -100), back, rtol=0, atol=0)


Lists = tuple[Tensor, Tensor, Tensor | None]  # classes, log probabilities and, where it is given, the log of the rest


def loss_and_gradient(teacher: Lists, student: Tensor, **how: Any) -> tuple[Tensor, Tensor]:
    """Divergences of rows, and the gradient of three times their sum."""
    classes, log_probs, log_rest = teacher
    logits = student.clone().requires_grad_()
    values = list_divergence(classes, log_probs, logits, teacher_log_rest=log_rest, reduction="none", **how)
    (3 * values).nansum().backward()
    return values.detach().double(), logits.grad.double()


def same_loss(teacher: Lists, student: Tensor, error: float = 1e-5, **how: Any) -> None:
    """Kernels against plain torch in float64: divergences by their ratio, gradients by the largest of the row."""
    assert in_kernels(student, teacher[0])
    assert not in_kernels(student.double(), teacher[0])
    (value, gradient), (want, slope) = (loss_and_gradient(teacher, x, **how) for x in (student, student.double()))
    torch.testing.assert_close(value, want, rtol=error, atol=1e-9, equal_nan=True)
    largest = slope.nan_to_num().abs().amax(dim=-1, keepdim=True) + 1e-30
    torch.testing.assert_close(gradient / largest, slope / largest, rtol=0, atol=error, equal_nan=True)


RULES = [
    Log(), Brier(), Brier(scale_by_half=True), Spherical(), PseudoSpherical(3.0), PseudoSpherical(1.5, normalized=True),
    Power(0.5), Power(1.5), Power(3.0),
]  # fmt: skip


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_loss_and_its_gradient_are_those_of_plain_torch_in_float64(rule: Any, reverse: bool) -> None:
    """For students far from their teacher and near it, with the rest given and without, and for shorter lists."""
    torch.manual_seed(3)
    student = 3 * torch.randn(3, 1100, device=DEVICE)
    far, near = (lists_from_logits((student + d * torch.randn_like(student)).double(), 20) for d in (1.0, 1e-2))
    short = far.classes.clone()
    short[1, 3:], short[2] = -100, -100
    how = {"rule": rule, "reverse": reverse}
    same_loss((short, far.log_confidences, None), student, **how)
    same_loss(far, student, **how)
    same_loss(near, student, 2e-2, **how)  # logits of float32 just resolve such divergences


@pytest.mark.parametrize("rule", [Log(), Brier(), Power(0.5)], ids=repr)
def test_classes_of_probability_zero_and_lists_of_all_classes(rule: Any) -> None:
    student = torch.tensor([[0.0, -torch.inf, 1.0, 2.0], [0.5, 0.0, 1.0, 2.0]], device=DEVICE)
    classes = torch.tensor([[0, 1, 2, 3]], device=DEVICE).repeat(2, 1)
    logs = torch.tensor([[0.5, 0.0, 0.25, 0.25], [0.0, 0.5, 0.25, 0.25]], device=DEVICE).log()
    for reverse in (False, True):
        same_loss((classes, logs, None), student, rule=rule, reverse=reverse)
        same_loss((classes[:, :3], logs[:, :3], None), student, rule=rule, reverse=reverse)


@pytest.mark.parametrize(
    ("classes", "probs", "rest"),
    [
        ([[0, 0]], [[0.5, 0.2]], None),
        ([[0, 4]], [[0.5, 0.2]], None),
        ([[0, -1]], [[0.5, 0.2]], None),
        ([[0, 1]], [[0.8, 0.3]], None),
        ([[0, 1]], [[0.5, 0.3]], 0.1),
        ([[0, 1, 2, 3]], [[0.1, 0.2, 0.3, 0.3]], None),
        ([[0, 1, 2, 3]], [[0.1, 0.2, 0.3, 0.3]], 0.1),
        ([[0, 1]], [[0.5, float("nan")]], None),
        ([[0, 1]], [[2.0, 0.5]], None),
    ],
)
def test_lists_that_are_no_distributions_give_nan(
    classes: list[list[int]], probs: list[list[float]], rest: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toplist.integrations.torch.divergence.can_refuse", lambda x: False)
    log_rest = None if rest is None else torch.tensor([rest], device=DEVICE).log()
    logits = torch.zeros(1, 4, device=DEVICE, requires_grad=True)
    teacher = torch.tensor(classes, device=DEVICE), torch.tensor(probs, device=DEVICE).log()
    loss = list_divergence(*teacher, logits, teacher_log_rest=log_rest)
    loss.backward()
    assert torch.isnan(loss)
    assert torch.isnan(logits.grad).any()


def test_half_floats_of_a_teacher_whose_mass_is_above_one_by_rounding() -> None:
    logs = torch.tensor([[0.75, 0.252]], device=DEVICE).log().bfloat16()
    classes = torch.tensor([[0, 1]], device=DEVICE)
    same_loss((classes, logs, None), torch.tensor([[1.0, 0.0, -30.0]], device=DEVICE))


def test_a_teacher_in_float64_keeps_the_digits_of_its_rest() -> None:
    """One minus 1 - 1e-8 is zero in float32."""
    logs = torch.log1p(torch.tensor([[-1e-8]], dtype=torch.float64, device=DEVICE))
    student = torch.tensor([[3.0, 0.0, 1.0]], device=DEVICE)
    same_loss((torch.tensor([[0]], device=DEVICE), logs, None), student, reverse=True)


def test_rows_of_weight_zero_may_hold_anything() -> None:
    """Their gradients are zero, whatever their logits are."""
    torch.manual_seed(4)
    for anything in (torch.nan, torch.inf, -torch.inf):
        student = torch.randn(3, 3000, device=DEVICE)
        student[1] = anything
        teacher = lists_from_logits(torch.randn(3, 3000, device=DEVICE), 5)
        logits = student.clone().requires_grad_()
        counted = torch.tensor([True, False, True], device=DEVICE)
        loss = list_divergence(*teacher[:2], logits, teacher_log_rest=teacher.log_rest, sample_weight=counted)
        loss.backward()
        assert torch.isfinite(loss)
        assert (logits.grad[1] == 0).all()
        assert torch.isfinite(logits.grad).all()
        assert (logits.grad[0] != 0).all()


def test_the_operator_keeps_the_rules_of_torch() -> None:
    """Shapes without data, gradients, and no alias or mutation of what was given."""
    student = torch.randn(3, 300, device=DEVICE, requires_grad=True)
    teacher = lists_from_logits(torch.randn(3, 300, device=DEVICE), 5)
    torch.library.opcheck(diverge, (student, *teacher, 1.0, False, 1.0, False, 2.0, -100))
