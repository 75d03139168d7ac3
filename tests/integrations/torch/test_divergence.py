"""`list_divergence` is its definition, its gradient is the derivative, and what the documentation proves holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import toplist as tl
from toplist.errors import ClassError, ConfidenceError, MassError, RuleError, ShapeError, TopListError
from toplist.integrations.torch import ListDivergence, coarsening, list_divergence, lists_from_logits
from toplist.integrations.torch.divergence import diverge
from toplist.scoring.rules.standard import Brier, Log, Power, PseudoSpherical, Spherical

RULES = [
    Log(), Brier(), Brier(scale_by_half=True), Spherical(), PseudoSpherical(3.0), PseudoSpherical(1.5, normalized=True),
    Power(0.5), Power(1.5), Power(3.0),
]  # fmt: skip
BOTH = [False, True]
Tensor = torch.Tensor


def case(seed: int = 0, n: int = 4, width: int = 12, k: int = 3) -> tuple[Any, Tensor]:
    """Lists of a teacher, and logits of a student, in float64."""
    generator = torch.Generator().manual_seed(seed)
    teacher, student = 2 * torch.randn(2, n, width, generator=generator, dtype=torch.float64)
    return lists_from_logits(teacher, k), student


def coarse(classes: np.ndarray, p: np.ndarray) -> np.ndarray:
    """One distribution over the listed classes and all others, by adding up."""
    listed = p[classes]
    others = [x for c, x in enumerate(p.tolist()) if c not in classes.tolist()]
    return np.append(listed, np.sum(others))


def by_definition(rule: Any, p: np.ndarray, q: np.ndarray) -> float:
    """The expected score of q minus that of p, under p."""
    outcomes = np.arange(len(p))
    scores_p, scores_q = (tl.score(np.tile(x, (len(p), 1)), outcomes, rule=rule) for x in (p, q))
    return float(np.sum(p * (scores_q - scores_p)))


def expected(rule: Any, teacher: Any, logits: Tensor, reverse: bool) -> np.ndarray:
    """Row by row."""
    q = torch.softmax(logits.double(), dim=-1).numpy()
    found = []
    for row, classes in enumerate(teacher.classes.numpy()):
        first = np.append(teacher.log_confidences[row].double().exp(), teacher.log_rest[row].double().exp())
        second = coarse(classes, q[row])
        first, second = first / first.sum(), second / second.sum()
        found.append(by_definition(rule, *((second, first) if reverse else (first, second))))
    return np.array(found)


@pytest.mark.parametrize("reverse", BOTH)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_it_is_the_expected_score_lost_over_listed_classes_and_other(rule: Any, reverse: bool) -> None:
    teacher, student = case()
    for logits, error in ((student, 1e-12), (student.float(), 1e-5), (student.bfloat16(), 1e-5)):
        found = list_divergence(
            teacher.classes, teacher.log_confidences, logits, teacher_log_rest=teacher.log_rest, rule=rule,
            reverse=reverse, reduction="none",
        )  # fmt: skip
        np.testing.assert_allclose(found.double(), expected(rule, teacher, logits, reverse), rtol=error, atol=error)
        without = list_divergence(
            teacher.classes, teacher.log_confidences, logits, rule=rule, reverse=reverse, reduction="none"
        )
        torch.testing.assert_close(found, without, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reverse", BOTH)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_its_gradient_is_the_derivative(rule: Any, reverse: bool) -> None:
    teacher, student = case(1, n=2, width=8)
    about = {"teacher_log_rest": teacher.log_rest, "rule": rule, "reverse": reverse, "temperature": 1.7}

    def loss(logits: Tensor) -> Tensor:
        return list_divergence(teacher.classes, teacher.log_confidences, logits, reduction="none", **about)

    assert torch.autograd.gradcheck(loss, student.requires_grad_())


@pytest.mark.parametrize("reverse", BOTH)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_it_is_never_negative_and_vanishes_at_the_coarsened_teacher_alone(rule: Any, reverse: bool) -> None:
    """How the rest is divided among classes that are not listed is left free."""
    teacher, student = case(2, n=64, width=30, k=5)
    tails = student.scatter(1, teacher.classes, -torch.inf).log_softmax(1) + teacher.log_rest[:, None]
    same = tails.scatter(1, teacher.classes, teacher.log_confidences)
    about = {"teacher_log_rest": teacher.log_rest, "rule": rule, "reverse": reverse, "reduction": "none"}
    for scale in (1.0, 1e-2, 1e-4):
        other = same + scale * torch.randn(same.shape, generator=torch.Generator().manual_seed(3))
        for kind in (torch.float64, torch.float32):
            found = list_divergence(teacher.classes, teacher.log_confidences, other.to(kind), **about)
            assert (found > 0).all()
    logits = same.requires_grad_()
    found = list_divergence(teacher.classes, teacher.log_confidences, logits, **about)
    (gradient,) = torch.autograd.grad(found.sum(), logits)
    assert found.max() < 1e-28
    assert gradient.abs().max() < 1e-13


def test_descent_reaches_the_coarsened_teacher() -> None:
    teacher, student = case(4)
    logits = student.clone().requires_grad_()
    for _ in range(500):
        (gradient,) = torch.autograd.grad(
            list_divergence(teacher.classes, teacher.log_confidences, logits, reduction="sum"), logits
        )
        logits = (logits - 2 * gradient).detach().requires_grad_()
    found = logits.detach().log_softmax(1)
    torch.testing.assert_close(found.gather(1, teacher.classes), teacher.log_confidences, rtol=0, atol=1e-6)


def truncated(log_p: Tensor, log_q: Tensor) -> Tensor:
    """What is called a KL over a list without its rest."""
    return (log_p.exp() * (log_p - log_q)).sum(-1)


def test_the_truncated_kl_is_negative_at_the_renormalised_list_which_minimises_it() -> None:
    """Its minimum over students is P log P, where P is the listed mass: reached by p / P, which leaves nothing over."""
    teacher, student = case(5, n=200, width=20, k=4)
    log_p = teacher.log_confidences
    log_mass = log_p.logsumexp(1)
    torch.testing.assert_close(truncated(log_p, log_p - log_mass[:, None]), log_mass.exp() * log_mass)
    assert (log_mass < 0).all()
    log_q = student.log_softmax(1).gather(1, teacher.classes)
    assert (truncated(log_p, log_q) >= log_mass.exp() * log_mass).all()
    logits = student.clone().requires_grad_()
    for _ in range(1000):
        listed = logits.log_softmax(1).gather(1, teacher.classes)
        (gradient,) = torch.autograd.grad(truncated(log_p, listed).sum(), logits)
        logits = (logits - 4 * gradient).detach().requires_grad_()
    found = logits.detach().softmax(1).gather(1, teacher.classes)
    torch.testing.assert_close(found, (log_p - log_mass[:, None]).exp(), rtol=0, atol=2e-3)
    assert (found.sum(1) > log_mass.exp()).all()


def test_the_full_kl_is_that_of_the_list_plus_the_rest_times_that_within_the_rest() -> None:
    rng = np.random.default_rng(6)
    for _ in range(50):
        p, q = rng.dirichlet(np.full(15, 0.3), 2) + 1e-9
        p, q = p / p.sum(), q / q.sum()
        classes = np.argsort(-p)[:4]
        beside = np.setdiff1d(np.arange(15), classes)
        ours = float(
            list_divergence(
                torch.tensor(classes)[None],
                torch.tensor(p[classes]).log()[None],
                torch.tensor(q).log()[None],
                teacher_log_rest=torch.tensor([p[beside].sum()]).log(),
            )
        )
        within = np.sum(p[beside] * np.log(p[beside] / p[beside].sum() / (q[beside] / q[beside].sum())))
        full = np.sum(p * np.log(p / q))
        assert full == pytest.approx(ours + within, rel=1e-9, abs=1e-12)
        assert ours <= full + 1e-12


def test_the_full_brier_divergence_differs_by_at_most_the_squares_of_the_two_rest_masses() -> None:
    rng = np.random.default_rng(7)
    for concentration in (0.05, 0.3, 1.0):
        for _ in range(100):
            p, q = rng.dirichlet(np.full(12, concentration), 2)
            classes = np.argsort(-p)[:3]
            ours = by_definition(Brier(), coarse(classes, p), coarse(classes, q))
            full = np.sum((p - q) ** 2)
            rest_p, rest_q = 1 - p[classes].sum(), 1 - q[classes].sum()
            assert -(rest_p**2) - rest_q**2 - 1e-12 <= ours - full <= (rest_p - rest_q) ** 2 * (1 - 1 / 9) + 1e-12


def test_a_small_rest_keeps_its_digits() -> None:
    """In float32, a rest of 1e-12 beside a listed probability of nearly one."""
    student = torch.tensor([[0.0, -25.0, -26.0, -27.0, -28.0]], dtype=torch.float64)
    teacher = lists_from_logits(torch.tensor([[0.0, -25.0, -28.0, -29.0, -29.5]], dtype=torch.float64), 2)
    for rule in (Log(), Brier(), Spherical(), Power(1.5)):
        about = {"teacher_log_rest": teacher.log_rest, "rule": rule, "reduction": "sum"}
        values, gradients = [], []
        for kind in (torch.float64, torch.float32):
            logits = student.clone().to(kind).requires_grad_()
            value = list_divergence(teacher.classes, teacher.log_confidences, logits, **about)
            value.backward()
            values.append(value.double().item())
            gradients.append(logits.grad.double())
        assert values[1] == pytest.approx(values[0], rel=1e-5)
        torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-5, atol=1e-18)


def test_gradients_beside_the_list_survive_a_rest_that_underflows() -> None:
    """The student's rest is exp(-300), the teacher's a tenth: the tenth is divided as the student divides its rest."""
    logits = torch.tensor([[0.0, -300.0, -301.0]], requires_grad=True)
    list_divergence(torch.tensor([[0]]), torch.tensor([[0.9]]).log(), logits).backward()
    share = torch.tensor([1.0, np.exp(-1.0)]) / (1 + np.exp(-1.0))
    torch.testing.assert_close(logits.grad, torch.tensor([[0.1, *(-0.1 * share).tolist()]]))


def test_classes_of_probability_zero_and_lists_of_all_classes() -> None:
    logits = torch.tensor([[1.0, -torch.inf, 0.0, 2.0]], requires_grad=True)
    teacher = torch.tensor([[0.6, 0.0]]).log()
    loss = list_divergence(torch.tensor([[0, 1]]), teacher, logits)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[0, 1] == 0
    everything = torch.tensor([[0.1, 0.2, 0.3, 0.4]])
    student = torch.tensor([[1.0, 0.5, 0.0, 2.0]])
    found = list_divergence(torch.tensor([[3, 2, 1, 0]]), everything.flip(1).log(), student)
    kl = torch.nn.functional.kl_div(student.log_softmax(1), everything, reduction="sum")
    torch.testing.assert_close(found, kl)
    impossible = torch.tensor([[0.0, -torch.inf, -torch.inf]])
    assert list_divergence(torch.tensor([[0]]), torch.tensor([[0.5]]).log(), impossible) == torch.inf
    certain = list_divergence(
        torch.tensor([[0]]),
        torch.zeros(1, 1),
        torch.zeros(1, 3),
        reverse=True,
        teacher_log_rest=torch.tensor([-torch.inf]),
    )
    assert certain == torch.inf


@pytest.mark.parametrize("reverse", BOTH)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_padding_is_a_shorter_list(rule: Any, reverse: bool) -> None:
    teacher, student = case(8, k=4)
    log_rest = torch.cat([teacher.log_confidences[:, 2:], teacher.log_rest[:, None]], dim=1).logsumexp(1)
    classes = teacher.classes.clone()
    classes[:, 2:] = -1
    results = []
    for given, logs in ((classes, teacher.log_confidences), (classes[:, :2], teacher.log_confidences[:, :2])):
        logits = student.clone().requires_grad_()
        about = {"teacher_log_rest": log_rest, "ignore_index": -1, "rule": rule, "reverse": reverse}
        value = list_divergence(given, logs, logits, **about)
        value.backward()
        assert torch.isfinite(logits.grad).all()
        results.append((value, logits.grad))
    torch.testing.assert_close(*results)
    nothing = list_divergence(torch.full((4, 2), -100), torch.zeros(4, 2), student, reduction="none", rule=rule)
    assert (nothing == 0).all()


def test_weights_and_reductions() -> None:
    teacher, student = case(9, n=6)
    student = student.reshape(2, 3, -1)
    classes, logs, rest = (part.reshape(2, 3, *part.shape[1:]) for part in teacher)
    each = list_divergence(classes, logs, student, teacher_log_rest=rest, reduction="none")
    weights = torch.tensor([[1.0, 0.0, 2.0], [0.5, 0.0, 3.0]], dtype=torch.float64)
    about = {"teacher_log_rest": rest}
    assert each.shape == (2, 3)
    torch.testing.assert_close(list_divergence(classes, logs, student, **about), each.mean())
    torch.testing.assert_close(list_divergence(classes, logs, student, reduction="sum", **about), each.sum())
    found = list_divergence(classes, logs, student, sample_weight=weights, **about)
    torch.testing.assert_close(found, (each * weights).sum() / weights.sum())
    masked = list_divergence(classes, logs, student, sample_weight=weights > 0, reduction="none", **about)
    torch.testing.assert_close(masked, each * (weights > 0))


def test_rows_of_weight_zero_may_hold_anything() -> None:
    teacher, student = case(10, n=3)
    classes, logs, rest = teacher.classes.clone(), teacher.log_confidences.clone(), teacher.log_rest.clone()
    classes[1], logs[1], rest[1] = 10**9, 7.0, torch.nan
    logits = student.clone()
    logits[1] = torch.nan
    logits.requires_grad_()
    loss = list_divergence(
        classes, logs, logits, teacher_log_rest=rest, sample_weight=torch.tensor([True, False, True])
    )
    loss.backward()
    assert torch.isfinite(loss)
    assert (logits.grad[1] == 0).all()
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize(
    ("classes", "probs", "rest", "error", "says"),
    [
        ([[0, 0]], [[0.5, 0.2]], None, ClassError, "class 0 is listed twice"),
        ([[0, 4]], [[0.5, 0.2]], None, ClassError, "class 4 is outside of the 4 classes"),
        ([[0, -1]], [[0.5, 0.2]], None, ClassError, "class -1 is outside"),
        ([[0, 1]], [[0.8, 0.3]], None, MassError, "add up to 1.1"),
        ([[0, 1]], [[0.5, 0.3]], 0.1, MassError, "and the rest add up to 0.9"),
        ([[0, 1, 2, 3]], [[0.1, 0.2, 0.3, 0.3]], None, MassError, "add up to 0.9"),
        ([[0, 1, 2, 3]], [[0.1, 0.2, 0.3, 0.3]], 0.1, MassError, "add up to 1"),
        ([[0, 1]], [[0.5, float("nan")]], None, ConfidenceError, "nan is no log probability"),
        ([[0, 1]], [[2.0, 0.5]], None, ConfidenceError, "0.693147 is no log probability"),
    ],
)
def test_lists_that_are_no_distributions_are_refused_and_nan_where_that_would_wait(
    classes: list[list[int]], probs: list[list[float]], rest: float | None, error: type[TopListError], says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    good, logs = torch.tensor([[0, 1]]).expand(1, -1), torch.tensor(probs).log()
    given = torch.tensor(classes)
    about: dict[str, Any] = {} if rest is None else {"teacher_log_rest": torch.tensor([rest]).log()}
    with pytest.raises(error, match=says):
        list_divergence(given, logs, torch.zeros(1, 4), **about)
    monkeypatch.setattr("toplist.integrations.torch.divergence.can_refuse", lambda x: False)
    logits = torch.zeros(1, 4, requires_grad=True)
    loss = list_divergence(given, logs, logits, **about)
    loss.backward()
    assert torch.isnan(loss)
    assert torch.isnan(logits.grad).any()
    assert torch.isfinite(list_divergence(good, torch.tensor([[0.5, 0.2]]).log(), logits))


def test_other_mistakes_are_refused_in_words() -> None:
    classes, logs, logits = torch.tensor([[0]]), torch.tensor([[0.5]]).log(), torch.zeros(1, 3)
    for error, says, call in (
        (ShapeError, "torch tensor of class indices", lambda: list_divergence(logs, logs, logits)),
        (ShapeError, "have one shape", lambda: list_divergence(classes, logs[:, :0], logits)),
        (ShapeError, "student_logits have the shape", lambda: list_divergence(classes, logs, torch.zeros(1, 0))),
        (ShapeError, "teacher_log_rest", lambda: list_divergence(classes, logs, logits, teacher_log_rest=logs)),
        (TopListError, "detach", lambda: list_divergence(classes, logs.clone().requires_grad_(), logits)),
        (TopListError, "temperature", lambda: list_divergence(classes, logs, logits, temperature=0)),
        (TopListError, 'reduction is "mean"', lambda: list_divergence(classes, logs, logits, reduction="batchmean")),
        (RuleError, "one rule", lambda: ListDivergence(("log", "brier"))),
        (RuleError, "zero-one is not computed", lambda: list_divergence(classes, logs, logits, rule="zero-one")),
        (ShapeError, "sample_weight", lambda: list_divergence(classes, logs, logits, sample_weight=torch.ones(2))),
        (
            ConfidenceError,
            "weight -1.0",
            lambda: list_divergence(classes, logs, logits, sample_weight=torch.tensor([-1.0])),
        ),
    ):
        with pytest.raises(error, match=says):
            call()


def test_rounding_above_one_is_divided_out() -> None:
    """A list of half floats whose mass is above one by rounding."""
    logs = torch.tensor([[0.75, 0.252]]).log().bfloat16()
    assert logs.float().exp().sum() > 1
    found = list_divergence(torch.tensor([[0, 1]]), logs, torch.tensor([[1.0, 0.0, -30.0]]))
    assert torch.isfinite(found)
    assert found > 0


def test_any_strides_give_the_same_and_a_second_backward_pass_too() -> None:
    teacher, student = case(11, n=5, width=40)
    plain = student.clone().requires_grad_()
    turned = student.T.contiguous().T.requires_grad_()
    for logits in (plain, turned):
        loss = list_divergence(teacher.classes, teacher.log_confidences, logits) * 3
        loss.backward(retain_graph=True)
        once = logits.grad.clone()
        loss.backward()
        torch.testing.assert_close(logits.grad, 2 * once)
    assert torch.equal(plain.grad, turned.grad)


def test_parts_of_rows_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    teacher, student = case(12, n=7, width=50)
    results = []
    for chunk in (1 << 22, 100):
        monkeypatch.setattr(coarsening, "CHUNK", chunk)
        logits = student.clone().requires_grad_()
        loss = list_divergence(teacher.classes, teacher.log_confidences, logits)
        loss.backward()
        results.append((loss, logits.grad))
    torch.testing.assert_close(*results, rtol=1e-14, atol=0)


def test_gradients_have_the_type_of_the_logits_and_autocast_changes_nothing() -> None:
    teacher, student = case(13)
    for kind in (torch.bfloat16, torch.float16, torch.float32):
        results = []
        for enabled in (False, True):
            logits = student.to(kind).requires_grad_()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
                loss = list_divergence(teacher.classes, teacher.log_confidences, logits)
            loss.backward()
            assert loss.dtype == torch.float32
            assert logits.grad.dtype == kind
            results.append((loss, logits.grad))
        torch.testing.assert_close(*results, rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's compiler does it
def test_it_compiles_without_a_break() -> None:
    teacher, student = case(14)

    def function(classes: Tensor, logs: Tensor, logits: Tensor, rest: Tensor, weights: Tensor) -> Tensor:
        about = {"teacher_log_rest": rest, "sample_weight": weights}
        first = list_divergence(classes, logs, logits, temperature=2.0, **about)
        return first + module(classes, logs, logits, rest, weights)

    module, results = ListDivergence(Power(1.5)), []
    for call in (function, torch.compile(function, backend="aot_eager", fullgraph=True)):
        logits = student.clone().requires_grad_()
        loss = call(teacher.classes, teacher.log_confidences, logits, teacher.log_rest, torch.ones(4))
        loss.backward()
        results.append((loss, logits.grad))
    torch.testing.assert_close(*results)


def test_its_operators_keep_the_rules_of_torch() -> None:
    """Shapes without data, gradients, and no alias or mutation of what was given."""
    teacher, student = case(15)
    for kind in (torch.float64, torch.bfloat16):
        logits = student.clone().to(kind).requires_grad_()
        torch.library.opcheck(coarsening.coarsen, (logits, teacher.classes, 2.0, -100))
        found = coarsening.coarsen(logits.detach(), teacher.classes, 2.0, -100)
        given = (logits.detach(), teacher.classes, found[1], found[2], found[0], found[1], found[2], 2.0, -100)
        torch.library.opcheck(coarsening.spread, given)
        torch.library.opcheck(diverge, (logits, *teacher, 1.5, False, 1.0, False, 2.0, -100))


@pytest.mark.parametrize("given", [False, True])
def test_rows_without_any_class_are_padding_and_do_not_count(given: bool) -> None:
    torch.manual_seed(0)
    student, teacher = torch.randn(6, 9), lists_from_logits(torch.randn(6, 9), 3)
    rest = teacher.log_rest if given else None
    padded = teacher.classes.clone()
    padded[3:] = -100
    found = list_divergence(padded, teacher.log_confidences, student, teacher_log_rest=rest)
    first = [part[:3] for part in teacher]
    known = list_divergence(*first[:2], student[:3], teacher_log_rest=first[2] if given else None)
    torch.testing.assert_close(found, known)
