"""Losses are the scores of the library, their gradients the derivatives, under autocast, the compiler and DDP."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import distributed, nn
from torch.nn.functional import cross_entropy

import toplist as tl
from toplist.errors import ClassError, ConfidenceError, MassError, OutcomeError, ShapeError, TopListError
from toplist.integrations.torch import (
    ListLoss,
    ScoreLoss,
    list_divergence,
    list_loss,
    lists_from_logits,
    losses,
    score_loss,
)
from toplist.scoring.rules.standard import Brier, Log, Power, PseudoSpherical, Spherical

RULES = [
    Log(), Brier(), Brier(scale_by_half=True), Spherical(), PseudoSpherical(3.0), PseudoSpherical(1.5, normalized=True),
    Power(0.5), Power(1.5), Power(3.0),
]  # fmt: skip
POWER = Power(1.5)
Tensor = torch.Tensor


def case(seed: int = 0, n: int = 5, width: int = 9) -> tuple[Tensor, Tensor]:
    """Logits in float64, and outcomes."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(n, width, generator=generator, dtype=torch.float64)
    return logits, torch.randint(0, width, (n,), generator=generator)


def smoothed(lists: Any, y: np.ndarray, rule: Any, smoothing: float, classes: int) -> np.ndarray:
    """The expected score under a mixture of the outcome and all classes, by the library, one class after the other."""
    everywhere = [tl.score(lists, np.full(len(y), c), rule=rule, penalty=0.0) for c in range(classes)]
    return (1 - smoothing) * tl.score(lists, y, rule=rule, penalty=0.0) + smoothing * np.mean(everywhere, axis=0)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_loss_of_logits_is_the_score_of_their_distribution_or_list(rule: Any) -> None:
    logits, y = case()
    for k in (None, 1, 3, 9):
        lists = lists_from_logits(logits, k or 9).to_lists(9)
        for smoothing in (0.0, 0.1):
            about = {"rule": rule, "k": k, "label_smoothing": smoothing, "reduction": "none"}
            want = smoothed(lists, y.numpy(), rule, smoothing, 9)
            np.testing.assert_allclose(score_loss(logits, y, **about), want, rtol=1e-11, atol=1e-13)
            np.testing.assert_allclose(score_loss(logits.float(), y, **about), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_gradient_of_the_loss_of_logits_is_its_derivative(rule: Any) -> None:
    logits, y = case(1, n=3, width=6)
    for k, smoothing in ((None, 0.1), (2, 0.1), (None, 0.0), (2, 0.0)):

        def loss(x: Tensor, k: int | None = k, smoothing: float = smoothing) -> Tensor:
            about = {"k": k, "label_smoothing": smoothing, "temperature": 1.3, "reduction": "none"}
            return score_loss(x, y, rule=rule, **about)

        assert torch.autograd.gradcheck(loss, logits.clone().requires_grad_())


@pytest.mark.parametrize("rule", [Log(), Brier(), Spherical(), Power(1.5)], ids=repr)
def test_gradients_in_float32_are_differences_of_values_in_float64(rule: Any) -> None:
    """Central differences, class by class, at a width beyond lists of three."""
    logits, y = case(2, n=2, width=40)
    for k in (None, 3):
        single = logits.float().requires_grad_()
        score_loss(single, y, rule=rule, k=k, reduction="sum").backward()
        steps = 1e-5 * torch.eye(40, dtype=torch.float64)
        for row in range(2):
            up, down = (
                score_loss(logits[row] + sign * steps, y[row].expand(40), rule=rule, k=k, reduction="none")
                for sign in (1, -1)
            )
            torch.testing.assert_close(single.grad[row].double(), (up - down) / 2e-5, rtol=1e-4, atol=1e-6)


def test_the_log_rule_is_the_cross_entropy() -> None:
    logits, y = case(3, n=30)
    y[::4] = -100
    for smoothing in (0.0, 0.2):
        for reduction in ("mean", "sum", "none"):
            ours = score_loss(logits, y, rule="log", label_smoothing=smoothing, reduction=reduction)
            torch.testing.assert_close(ours, cross_entropy(logits, y, label_smoothing=smoothing, reduction=reduction))


def test_a_longer_list_never_has_a_worse_expected_loss_under_its_own_distribution() -> None:
    """The padded scores are comparable: k classes of the truth, then one more, then all of them."""
    logits, _ = case(4, n=1)
    p = logits.softmax(1)[0]
    for rule in RULES:
        losses_of = [
            float((p * score_loss(logits.expand(9, -1), torch.arange(9), rule=rule, k=k, reduction="none")).sum())
            for k in (*range(1, 10), None)
        ]
        assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(losses_of))


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_loss_of_lists_is_their_score_valid_or_not_padded_or_not(rule: Any) -> None:
    """Random confidences: most of these lists are invalid, and scored by their largest valid sublists."""
    rng = np.random.default_rng(5)
    n, k, classes = 60, 4, 8
    codes = np.array([rng.permutation(classes)[:k] for _ in range(n)])
    confidences = rng.dirichlet(np.full(k + 1, 0.7), n)[:, :k]
    y = rng.integers(0, classes, n)
    lengths = rng.integers(1, k + 1, n)
    shown = np.arange(k) < lengths[:, None]
    lists = tl.TopLists.from_dicts(
        [dict(zip(codes[i][shown[i]].tolist(), confidences[i][shown[i]].tolist(), strict=True)) for i in range(n)],
        classes,
    )
    given = torch.tensor(np.where(shown, codes, -100)), torch.tensor(confidences).log(), torch.tensor(y)
    rest = torch.tensor(1 - np.where(shown, confidences, 0).sum(1)).log()
    for smoothing in (0.0, 0.1):
        want = smoothed(lists, y, rule, smoothing, classes)
        for log_rest in (None, rest):
            found = list_loss(
                *given, num_classes=classes, rule=rule, label_smoothing=smoothing, log_rest=log_rest, reduction="none"
            )
            np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_gradient_of_the_loss_of_lists_is_its_derivative(rule: Any) -> None:
    """One outcome is listed, one is not, one list is invalid, one is padded."""
    codes = torch.tensor([[0, 1, 2], [3, 1, 4], [5, 0, 2], [1, 3, -100]])
    logs = torch.tensor([[0.5, 0.2, 0.1], [0.4, 0.2, 0.15], [0.6, 0.1, 0.01], [0.7, 0.1, 0.9]], dtype=torch.float64)
    rest = torch.tensor([0.2, 0.25, 0.29, 0.2], dtype=torch.float64).log()
    y = torch.tensor([1, 0, 2, 3])

    def loss(logs: Tensor, smoothing: float) -> Tensor:
        return list_loss(codes, logs, y, num_classes=6, rule=rule, label_smoothing=smoothing, reduction="none")

    def with_rest(z: Tensor) -> Tensor:
        whole = z.log_softmax(1)
        return list_loss(codes, whole[:, :3], y, num_classes=6, rule=rule, log_rest=whole[:, 3], reduction="none")

    for smoothing in (0.0, 0.1):
        given = logs.log().requires_grad_()
        assert torch.autograd.gradcheck(lambda x, s=smoothing: loss(x, s), given)
    z = torch.cat([logs.log(), rest[:, None]], dim=1)[:3].requires_grad_()
    codes, y = codes[:3], y[:3]
    assert torch.autograd.gradcheck(with_rest, z)


def test_parts_of_rows_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    logits, y = case(6, n=12, width=30)
    y[5] = -100
    results = []
    for chunk in (1 << 22, 70):
        monkeypatch.setattr(losses, "CHUNK", chunk)
        for rule in (Brier(), Power(0.5)):
            x = logits.clone().requires_grad_()
            loss = 2 * score_loss(x, y, rule=rule, label_smoothing=0.1)
            loss.backward(retain_graph=True)
            loss.backward()
            results.append((loss, x.grad))
    torch.testing.assert_close(results[:2], results[2:], rtol=1e-12, atol=0)


def test_weights_ignored_outcomes_and_reductions() -> None:
    logits, y = case(7, n=6)
    logits, y = logits.reshape(2, 3, -1), y.reshape(2, 3)
    each = score_loss(logits, y, reduction="none")
    y[0, 1] = -1
    weights = torch.tensor([[1.0, 2.0, 0.0], [0.5, 1.0, 3.0]], dtype=torch.float64)
    counted = weights * (y != -1)
    about = {"ignore_index": -1, "sample_weight": weights}
    torch.testing.assert_close(score_loss(logits, y, **about), (each * counted).sum() / counted.sum())
    torch.testing.assert_close(score_loss(logits, y, reduction="sum", **about), (each * counted).sum())
    torch.testing.assert_close(score_loss(logits, y, reduction="none", **about), each * counted)
    lists = lists_from_logits(logits, 4)
    listed = list_loss(lists.classes, lists.log_confidences, y, num_classes=9, log_rest=lists.log_rest, **about)
    torch.testing.assert_close(listed, score_loss(logits, y, k=4, **about))


def test_cases_that_do_not_count_may_hold_anything() -> None:
    logits, y = case(8, n=3)
    logits[1] = torch.nan
    x = logits.requires_grad_()
    for k in (None, 2):
        x.grad = None
        loss = score_loss(x, y, k=k, sample_weight=torch.tensor([1.0, 0.0, 1.0]))
        loss.backward()
        assert torch.isfinite(loss)
        assert (x.grad[1] == 0).all()
    logs = torch.tensor([[0.5], [7.0]]).requires_grad_()
    loss = list_loss(torch.tensor([[0], [10**9]]), logs - 2, torch.tensor([0, -100]), num_classes=3)
    loss.backward()
    assert torch.isfinite(loss)
    assert logs.grad[1] == 0


def test_masked_classes_have_probability_zero_and_no_gradient() -> None:
    logits = torch.tensor([[1.0, -torch.inf, 0.0, -torch.inf]], requires_grad=True)
    for k in (None, 1, 3):
        for rule in RULES:
            logits.grad = None
            loss = score_loss(logits, torch.tensor([0]), rule=rule, k=k)
            loss.backward()
            assert torch.isfinite(loss)
            assert torch.isfinite(logits.grad).all()
            assert (logits.grad[0, [1, 3]] == 0).all()
    assert score_loss(logits, torch.tensor([1]), rule="log") == torch.inf


def test_gradients_can_be_differentiated_however_many_rows_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a penalty on gradients needs it: in parts of rows as at once."""
    torch.manual_seed(8)
    x, layer, y = torch.randn(6, 3, dtype=torch.float64), torch.randn(3, 5, dtype=torch.float64), torch.arange(6) % 5

    def penalty(weights: torch.Tensor) -> torch.Tensor:
        inner = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(score_loss(inner @ weights, y), inner, create_graph=True)
        return (slope * slope).sum()

    layer.requires_grad_()
    (at_once,) = torch.autograd.grad(penalty(layer), layer)
    monkeypatch.setattr(losses, "CHUNK", 10)
    (in_parts,) = torch.autograd.grad(penalty(layer), layer)
    torch.testing.assert_close(in_parts, at_once)
    assert torch.autograd.gradcheck(penalty, (layer,))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # torch itself uses it
def test_derivatives_that_are_not_there_are_refused_and_not_zero() -> None:
    z, v, y = torch.randn(2, 5), torch.randn(2, 5), torch.tensor([0, 1])
    lists = lists_from_logits(torch.randn(2, 5), 2)
    for loss in (lambda a: score_loss(a, y, k=2), lambda a: list_divergence(*lists[:2], a)):
        with pytest.raises(TopListError, match="no forward-mode derivatives"):
            torch.func.jvp(loss, (z,), (v,))
        with pytest.raises(TopListError, match="no second derivatives of lists"):
            torch.autograd.functional.hessian(loss, z)
    _, slope = torch.func.jvp(lambda a: score_loss(a, y), (z,), (v,))
    z.requires_grad_()
    (gradient,) = torch.autograd.grad(score_loss(z, y), z)
    torch.testing.assert_close(slope, (gradient * v).sum())


@pytest.mark.parametrize("weight", [1e38, 1e-45])
def test_only_proportions_of_weights_count_in_a_mean(weight: float) -> None:
    z, y = torch.randn(4, 5), torch.arange(4)
    torch.testing.assert_close(score_loss(z, y, sample_weight=torch.full((4,), weight)), score_loss(z, y))


def test_weights_that_are_none_give_nan_where_they_cannot_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toplist.integrations.torch.checks.can_refuse", lambda x: False)
    z, y = torch.randn(2, 5), torch.arange(2)
    for wrong in (-1.0, torch.inf, torch.nan):
        assert score_loss(z, y, sample_weight=torch.tensor([1.0, wrong])).isnan()


def test_what_rounding_leaves_over_of_a_list_is_no_rest() -> None:
    """One minus the sum of these probabilities is 6e-8 in float32; the student, and the score, take it as zero."""
    classes, logs = torch.tensor([[0, 1, 2]]), torch.tensor([[0.5, 0.3, 0.2]]).log()
    student = torch.tensor([[2.0, 1.0, 0.0, -1e9, -1e9]])
    none = torch.tensor([-torch.inf])
    want = list_divergence(classes, logs, student, teacher_log_rest=none)
    torch.testing.assert_close(list_divergence(classes, logs, student), want)
    assert list_loss(classes, logs, torch.tensor([4]), num_classes=6, rule="log") == torch.inf
    small = torch.tensor([[1.0 - 1e-5]]).log()
    found = list_divergence(classes[:, :1], small, student, rule="brier")
    wide = list_divergence(classes[:, :1], small.double(), student.double(), rule="brier")
    torch.testing.assert_close(found.double(), wide, rtol=1e-5, atol=0)


def test_empty_lists_say_nothing() -> None:
    """Their distribution is uniform, and a divergence over no class but OTHER is zero."""
    none, logs = torch.zeros(2, 0, dtype=torch.long), torch.zeros(2, 0)
    assert list_divergence(none, logs, torch.randn(2, 5)) == 0
    torch.testing.assert_close(list_loss(none, logs, torch.tensor([0, 1]), num_classes=5), torch.tensor(0.8))


def test_mistakes_are_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    logits, y = torch.zeros(1, 4), torch.tensor([0])
    classes, logs = torch.tensor([[0, 1]]), torch.tensor([[0.5, 0.2]]).log()
    for error, says, call in (
        (OutcomeError, "outcome 4 is outside", lambda: score_loss(logits, y + 4)),
        (ShapeError, "logits are a torch tensor", lambda: score_loss(y, y)),
        (ShapeError, "y has the shape", lambda: score_loss(logits, torch.tensor([0, 1]))),
        (TopListError, "k is at most 4", lambda: score_loss(logits, y, k=5)),
        (TopListError, "label_smoothing is a number", lambda: score_loss(logits, y, label_smoothing=2.0)),
        (TopListError, "temperature", lambda: ScoreLoss(temperature=-1)),
        (ClassError, "class 1 is listed twice", lambda: list_loss(classes * 0 + 1, logs, y, num_classes=4)),
        (ClassError, "class 1 is outside", lambda: list_loss(classes, logs, y, num_classes=1)),
        (MassError, "add up to 1.2", lambda: list_loss(classes, (logs.exp() + 0.25).log(), y, num_classes=4)),
        (MassError, "add up to 0.7", lambda: list_loss(classes, logs, y, num_classes=2)),
        (ConfidenceError, "no log probability", lambda: list_loss(classes, logs.exp(), y, num_classes=4)),
        (TopListError, "num_classes is at most 9007", lambda: list_loss(classes, logs, y, num_classes=2**70)),
        (ShapeError, "log_confidences is", lambda: list_loss(classes, logs[0], y, num_classes=4)),
        (ShapeError, "classes is", lambda: list_loss(logs, logs, y, num_classes=4)),
        (ShapeError, "log_rest is", lambda: list_loss(classes, logs, y, num_classes=4, log_rest=logs)),
    ):
        with pytest.raises(error, match=says):
            call()
    monkeypatch.setattr("toplist.integrations.torch.losses.can_refuse", lambda x: False)
    monkeypatch.setattr("toplist.integrations.torch.logits.can_refuse", lambda x: False)
    for wrong in (
        score_loss(logits, y + 4),
        score_loss(logits, y - 1, k=2),
        list_loss(classes * 0 + 1, logs, y, num_classes=4),
        list_loss(classes, logs, y, num_classes=1),
        list_loss(classes, (logs.exp() + 0.25).log(), y, num_classes=4),
    ):
        assert torch.isnan(wrong)


def test_autocast_changes_nothing_and_gradients_have_the_type_of_the_logits() -> None:
    logits, y = case(9)
    for kind in (torch.bfloat16, torch.float16, torch.float32):
        for k in (None, 3):
            results = []
            for enabled in (False, True):
                x = logits.clone().to(kind).requires_grad_()
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
                    loss = score_loss(x, y, k=k)
                loss.backward()
                assert loss.dtype == torch.float32
                assert x.grad.dtype == kind
                results.append((loss, x.grad))
            torch.testing.assert_close(*results, rtol=0, atol=0)


def total(x: Tensor, y: Tensor) -> Tensor:
    """Every loss, added up."""
    found = score_loss(x, y, rule="brier", label_smoothing=0.1) + score_loss(x, y, rule=POWER, k=3)
    logs = x.log_softmax(-1)[:, :4]
    classes = torch.arange(4).expand(x.shape[0], -1)
    return found + list_loss(classes, logs, y, num_classes=9, rule="spherical")


def test_losses_compile_without_a_break() -> None:
    logits, y = case(10)
    results = []
    for call in (total, torch.compile(total, backend="aot_eager", fullgraph=True)):
        x = logits.clone().requires_grad_()
        loss = call(x, y)
        loss.backward()
        results.append((loss, x.grad))
    torch.testing.assert_close(*results)


def test_modules_are_the_functions() -> None:
    logits, y = case(11)
    lists = lists_from_logits(logits, 3)
    given = lists.classes, lists.log_confidences, y
    about: dict[str, Any] = {"label_smoothing": 0.1, "reduction": "sum"}
    torch.testing.assert_close(
        ScoreLoss("log", k=2, **about)(logits, y), score_loss(logits, y, rule="log", k=2, **about)
    )
    weights = torch.arange(5.0)
    torch.testing.assert_close(
        ListLoss(9, "log", **about)(*given, lists.log_rest, weights),
        list_loss(*given, num_classes=9, rule="log", log_rest=lists.log_rest, sample_weight=weights, **about),
    )


def gradients(rank: int, address: str) -> list[Tensor]:
    """Gradients in one of two processes, with half of the cases."""
    distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2, timeout=timedelta(seconds=100))
    try:
        return _of_both(slice(4 * rank, 4 * rank + 4))
    finally:
        distributed.destroy_process_group()


def _of_both(half: slice) -> list[Tensor]:
    both, (x, y) = nn.parallel.DistributedDataParallel(model()), case(12, n=8)
    total(both(x[half]), y[half]).backward()
    distributed.barrier()
    return [weight.grad for weight in both.parameters()]


def child(address: str) -> None:
    """The second process, which ends at once: threads of gloo may wait for each other where an interpreter ends."""
    gradients(1, address)
    os._exit(0)


def model() -> nn.Module:
    """The same in every process."""
    made = nn.Linear(9, 9).double()
    with torch.no_grad():
        for weight in made.parameters():
            weight.copy_(torch.linspace(-1, 1, weight.numel()).reshape(weight.shape).sin())
    return made


@pytest.mark.skipif(not distributed.is_available(), reason="this torch has no torch.distributed")
def test_two_processes_have_the_gradients_of_one(tmp_path: Path) -> None:
    address = f"file://{tmp_path / 'meeting'}"
    other = multiprocessing.get_context("spawn").Process(target=child, args=(address,), daemon=True)
    other.start()
    found = gradients(0, address)
    other.join(100)
    alone, (x, y) = model(), case(12, n=8)
    total(alone(x), y).backward()
    torch.testing.assert_close(found, [weight.grad for weight in alone.parameters()])
