"""Losses for training: proper scores of distributions, of their padded top lists, and of lists that a model returns.

In plain torch, with gradients of every finite value.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from toplist.core.arguments import as_whole
from toplist.errors import ShapeError, TopListError
from toplist.integrations._logits import (
    OutcomeSums,
    as_ignored,
    as_reduction,
    as_temperature,
    exponent,
    masses,
    refuse_lists,
    score,
)
from toplist.integrations.torch.checks import (
    as_weights,
    can_refuse,
    constant_rule,
    reduced,
    refuse_tangents,
    repeated,
    warn_of_probabilities,
)
from toplist.integrations.torch.coarsening import coarsen
from toplist.integrations.torch.divergence import log_shares
from toplist.integrations.torch.logits import as_outcomes, lists_from_logits
from toplist.integrations.torch.statistics import CHUNK
from toplist.scoring.rules.base import SumRule

Tensor = torch.Tensor


class LogLists(NamedTuple):
    """Lists by their logs; a distribution is a list of all classes.

    Attributes
    ----------
    logs : Tensor of shape (n, k)
        Log confidences; minus infinity where a list is padded.
    entry : Tensor of shape (n, k), or None
        Which of them are listed; all of them where it is None.
    log_rest : Tensor of shape (n,), or None
        The log of what is left over; None where every class is listed.
    unlisted : Tensor of shape (n,)
        How many classes are not listed.
    """

    logs: Tensor
    entry: Tensor | None
    log_rest: Tensor | None
    unlisted: Tensor

    @property
    def log_proxy(self) -> tuple[Tensor, Tensor]:
        """The log of what each unlisted class is given, minus infinity where there is none; the log of their number."""
        log_n = self.unlisted.clamp(min=1).log()
        rest = self.unlisted.new_full((), -torch.inf) if self.log_rest is None else self.log_rest
        return torch.where(self.unlisted > 0, rest - log_n, -torch.inf), log_n


def padded_score(rule: SumRule, lists: LogLists, own: Tensor) -> Tensor:
    """The scores of lists at outcomes.

    Parameters
    ----------
    rule : SumRule
        One of those that `rules_by_name` lets through.
    lists : LogLists
        The lists.
    own : Tensor of shape (n, k)
        Which entry is the outcome; none where it is not listed.

    Returns
    -------
    Tensor of shape (n,)
        Scores, lower is better.

    Examples
    --------
    >>> from toplist.scoring.rules import as_rule
    >>> lists = LogLists(torch.tensor([[0.5]]).log(), None, torch.tensor([0.5]).log(), torch.tensor([2.0]))
    >>> padded_score(as_rule("brier"), lists, torch.tensor([[True]]))
    tensor([0.3750])
    """
    power, beside = exponent(rule), torch.where(own, -torch.inf, lists.logs)
    a = 1.0 if power is None else power
    log_q = torch.where(own, lists.logs, 0.0).sum(dim=1)
    miss = beside.exp().sum(dim=1)
    powers = miss if power is None else (a * beside).exp().sum(dim=1)
    if lists.log_rest is not None:
        hit, (log_proxy, log_n) = own.any(dim=1), lists.log_proxy
        others = torch.where(hit, lists.unlisted, lists.unlisted - 1.0).clamp(min=0.0)
        log_q = torch.where(hit, log_q, log_proxy)
        miss = miss + others * log_proxy.exp()
        powers = powers + others / lists.unlisted.clamp(min=1) * (a * log_proxy + log_n).exp()
    scores: Tensor = score(torch, rule, OutcomeSums(log_q, miss, {a: powers}))
    return scores


def uniform_score(rule: SumRule, lists: LogLists, classes: int) -> Tensor:
    """The mean of the scores of lists over all classes as outcomes, for label smoothing.

    Parameters
    ----------
    rule : SumRule
        One of those that `rules_by_name` lets through.
    lists : LogLists
        The lists.
    classes : int
        The number of classes.

    Returns
    -------
    Tensor of shape (n,)
        Means of scores.

    Examples
    --------
    >>> from toplist.scoring.rules import as_rule
    >>> lists = LogLists(torch.tensor([[0.5]]).log(), None, torch.tensor([0.5]).log(), torch.tensor([2.0]))
    >>> uniform_score(as_rule("brier"), lists, 3)
    tensor([0.7083])
    """
    mean: Tensor = rule.under_uniform(classes, lambda a: _sum_over_classes(lists, a))
    return mean


def _sum_over_classes(lists: LogLists, a: float) -> Tensor:
    """The sum over all classes of their padded confidences to the power a; of their logs for a = 0."""
    log_proxy, log_n = lists.log_proxy
    logs = lists.logs if lists.entry is None else torch.where(lists.entry, lists.logs, 0.0)
    terms = logs if a == 0 else (a * logs).exp()
    if lists.entry is not None:
        terms = torch.where(lists.entry, terms, 0.0)
    found = terms.sum(dim=1)
    if lists.log_rest is None:
        return found
    some = lists.unlisted > 0
    proxy = torch.where(some, log_proxy, 0.0)
    beyond = lists.unlisted * proxy if a == 0 else (a * proxy + log_n).exp()
    return found + torch.where(some, beyond, 0.0)


def largest_valid(lists: LogLists, classes: int) -> tuple[LogLists, Tensor]:
    """The largest valid sublists, as `toplist.score` takes them, and which entries are in them.

    A list is valid if no listed class has less than an unlisted one is given. What is dropped goes to the rest.

    Parameters
    ----------
    lists : LogLists
        The lists, with `entry` and `log_rest`.
    classes : int
        The number of classes.

    Returns
    -------
    lists : LogLists
        The sublists, in the same places.
    kept : Tensor of shape (n, k)
        Which entries are in them.

    Examples
    --------
    >>> logs, entry = torch.tensor([[0.5, 0.1]]).log(), torch.tensor([[True, True]])
    >>> lists = LogLists(logs, entry, torch.tensor([0.4]).log(), torch.tensor([2.0]))
    >>> largest_valid(lists, 4)[1]
    tensor([[ True, False]])
    """
    if lists.entry is None or lists.log_rest is None:
        return lists, torch.ones_like(lists.logs, dtype=torch.bool)
    logs, log_rest = lists.logs.detach(), lists.log_rest.detach()
    k = logs.shape[1]
    ordered, order = logs.sort(dim=1, descending=True)
    upward = torch.cat([log_rest[:, None], ordered.flip(1)], dim=1).logcumsumexp(dim=1)
    left = upward[:, :k].flip(1)  # what is left over by the first j
    size = torch.arange(1, k + 1, device=logs.device)
    counts = (classes - size).clamp(min=0).to(logs.dtype)
    valid = (ordered + counts.log() >= left) & lists.entry.gather(1, order)
    kept = torch.zeros_like(lists.entry).scatter(1, order, valid.cummin(dim=1).values)
    dropped = torch.where(lists.entry & ~kept, lists.logs, -torch.inf)
    unlisted = classes - kept.sum(dim=1).to(logs.dtype)
    rest = _log_add(lists.log_rest, dropped)
    return LogLists(torch.where(kept, lists.logs, -torch.inf), kept, rest, unlisted), kept


def _log_add(first: Tensor, others: Tensor) -> Tensor:
    """The log of a sum given by logs; zero gradients where all are minus infinity."""
    both = torch.cat([first[:, None], others], dim=1)
    none = (both == -torch.inf).all(dim=1)
    return torch.where(none, -torch.inf, torch.where(none[:, None], 0.0, both).logsumexp(dim=1))


MOST_CLASSES = 2**53


def score_loss(
    logits: Tensor,
    y: Tensor,
    *,
    rule: Any = "brier",
    k: int | None = None,
    temperature: float = 1.0,
    label_smoothing: float = 0.0,
    sample_weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """A proper score of the softmax of logits at outcomes, or of its padded top list: a loss for training.

    With rule="log" and without k it is the cross-entropy. Float32, float16 and bfloat16 logits are computed in
    float32, float64 ones in float64. Memory beside the gradient is constant: rows are worked on in parts, and again in
    the backward pass.

    Parameters
    ----------
    logits : Tensor of shape (..., classes)
        Unnormalised log probabilities.
    y : Tensor of shape (...)
        Class indices of the outcomes. An index outside the classes is refused on the CPU, and makes the loss NaN on
        another device and in compiled code.
    rule : str or Rule, default "brier"
        "brier", "log", "spherical", Power(a) or PseudoSpherical(a).
    k : int, optional
        Score the list of the k most likely classes, padded: all other classes share what is left over. Gradients flow
        through the listed probabilities and the rest; which classes are listed is taken as given. At most 128.
    temperature : float, default 1.0
        Logits are divided by it.
    label_smoothing : float, default 0.0
        Weight from 0 to 1 of a uniform distribution over all classes in the outcome: the loss is the expected score.
    sample_weight : Tensor of shape (...), optional
        Weights, or booleans that say which cases count.
    ignore_index : int, default -100
        Outcomes with this value do not count.
    reduction : {"mean", "sum", "none"}, default "mean"
        The mean weighted by `sample_weight` over cases that count, the weighted sum, or one weighted value per case.

    Returns
    -------
    Tensor
        A number, or of shape (...) with "none".

    Examples
    --------
    >>> logits = torch.tensor([[2.0, 0.0, 1.0]], requires_grad=True)
    >>> loss = score_loss(logits, torch.tensor([2]), k=1)
    >>> loss.backward()
    >>> loss.detach(), logits.grad
    (tensor(1.1638), tensor([[ 0.4444, -0.1195, -0.3249]]))
    """
    found, smoothing = constant_rule(rule), _as_smoothing(label_smoothing)
    if not isinstance(logits, Tensor) or not logits.dtype.is_floating_point or not logits.ndim or not logits.shape[-1]:
        kind = (
            f"{logits.dtype} of the shape {tuple(logits.shape)}"
            if isinstance(logits, Tensor)
            else type(logits).__name__
        )
        raise ShapeError(
            f"logits are a torch tensor of floating-point numbers, of the shape (..., classes), not {kind}."
        )
    ignored = as_ignored(ignore_index)
    outcomes = as_outcomes(y, logits, logits.shape[-1], ignored)
    weights = _counted(outcomes, ignored, as_weights(sample_weight, logits.shape[:-1], logits.device))
    rows, how = logits.reshape(-1, logits.shape[-1]), (found, as_temperature(temperature), smoothing)
    warn_of_probabilities(rows.detach())
    if k is None:
        few = rows.numel() <= CHUNK or torch.compiler.is_compiling()
        values = (_of_rows if few else _InParts.apply)(rows, outcomes, weights != 0, how)
    else:
        values = _of_first(rows, outcomes, weights != 0, how, as_whole(k, "k", 1))
    return reduced(_where_inside(values, outcomes, rows.shape[1]), weights, as_reduction(reduction), logits.shape[:-1])


def list_loss(
    classes: Tensor,
    log_confidences: Tensor,
    y: Tensor,
    *,
    num_classes: int,
    log_rest: Tensor | None = None,
    rule: Any = "brier",
    label_smoothing: float = 0.0,
    sample_weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """A proper score of padded lists at outcomes, for models that return lists: a loss for training.

    Scored is the largest valid sublist, as `toplist.score` does: classes with less than an unlisted class is given are
    left to the rest. There is no penalty for them. Gradients go to `log_confidences` and `log_rest`.

    Parameters
    ----------
    classes : Tensor of shape (..., k)
        Class indices, each once in a list, in any order; `ignore_index` where a list has fewer classes.
    log_confidences : Tensor of shape (..., k)
        Logs of their confidences.
    y : Tensor of shape (...)
        Class indices of the outcomes.
    num_classes : int
        The number of all classes, listed or not.
    log_rest : Tensor of shape (...), optional
        The log of the confidence in all other classes together; by default of one minus the listed confidences, and of
        zero where that is less than rounding explains.
    rule : str or Rule, default "brier"
        "brier", "log", "spherical", Power(a) or PseudoSpherical(a).
    label_smoothing : float, default 0.0
        Weight from 0 to 1 of a uniform distribution over all classes in the outcome: the loss is the expected score.
    sample_weight : Tensor of shape (...), optional
        Weights, or booleans that say which cases count. Lists of weight zero may hold anything.
    ignore_index : int, default -100
        What stands for no class, and outcomes that do not count.
    reduction : {"mean", "sum", "none"}, default "mean"
        The mean weighted by `sample_weight` over cases that count, the weighted sum, or one weighted value per case.

    Returns
    -------
    Tensor
        A number, or of shape (...) with "none".

    Raises
    ------
    ClassError, ConfidenceError, MassError, OutcomeError
        On the CPU: a class twice or outside the classes, a log confidence that is NaN or above zero, a mass above one
        (or, with `log_rest`, not one), an outcome outside the classes. On another device and in compiled code the loss
        of such a case is NaN.

    Examples
    --------
    >>> logs = torch.tensor([[0.5, 0.25]]).log().requires_grad_()
    >>> loss = list_loss(torch.tensor([[3, 1]]), logs, torch.tensor([3]), num_classes=10)
    >>> loss.backward()
    >>> loss.detach(), logs.grad
    (tensor(0.3203), tensor([[-0.5312,  0.1094]]))
    """
    found, smoothing, size = (
        constant_rule(rule),
        _as_smoothing(label_smoothing),
        _as_size(num_classes),
    )
    codes, logs, rest = _as_lists(classes, log_confidences, log_rest)
    padding = as_ignored(ignore_index)
    outcomes = as_outcomes(y, log_confidences, size, padding)
    weights = _counted(outcomes, padding, as_weights(sample_weight, y.shape, y.device))
    codes = torch.where(weights[:, None] == 0, padding, codes)
    rest = None if rest is None else torch.where(weights == 0, 0.0, rest)
    entry = codes != padding
    checked = masses(torch, entry, logs, rest, size)
    twice = repeated(codes, entry)
    if can_refuse(logs):
        refuse_lists(torch, codes, entry, twice, checked, size, known=rest is not None)
    unlisted = size - entry.sum(dim=1).to(checked.logs.dtype)
    lists, kept = largest_valid(LogLists(checked.logs, entry, checked.log_rest, unlisted), size)
    values = _smoothed(found, lists, kept & (codes == outcomes[:, None]), smoothing, size)
    outside = (entry & ((codes < 0) | (codes >= size))).any(dim=1)
    values = torch.where(checked.wrong | outside | twice, torch.nan, values)
    return reduced(_where_inside(values, outcomes, size), weights, as_reduction(reduction), y.shape)


class ScoreLoss(torch.nn.Module):
    """`score_loss` as a module.

    Parameters
    ----------
    rule, k, temperature, label_smoothing, ignore_index, reduction
        See `score_loss`.

    Examples
    --------
    >>> ScoreLoss("log")(torch.tensor([[2.0, 0.0, 1.0]]), torch.tensor([2]))
    tensor(1.4076)
    """

    def __init__(
        self,
        rule: Any = "brier",
        *,
        k: int | None = None,
        temperature: float = 1.0,
        label_smoothing: float = 0.0,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.rule = constant_rule(rule)
        self.k = None if k is None else as_whole(k, "k", 1)
        self.temperature = as_temperature(temperature)
        self.label_smoothing = _as_smoothing(label_smoothing)
        self.ignore_index = as_ignored(ignore_index)
        self.reduction = as_reduction(reduction)

    def forward(self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """The loss; see `score_loss`."""
        return score_loss(
            logits,
            y,
            rule=self.rule,
            k=self.k,
            temperature=self.temperature,
            label_smoothing=self.label_smoothing,
            sample_weight=sample_weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class ListLoss(torch.nn.Module):
    """`list_loss` as a module.

    Parameters
    ----------
    num_classes, rule, label_smoothing, ignore_index, reduction
        See `list_loss`.

    Examples
    --------
    >>> loss = ListLoss(10)
    >>> loss(torch.tensor([[3, 1]]), torch.tensor([[0.5, 0.25]]).log(), torch.tensor([3]))
    tensor(0.3203)
    """

    def __init__(
        self,
        num_classes: int,
        rule: Any = "brier",
        *,
        label_smoothing: float = 0.0,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.num_classes = _as_size(num_classes)
        self.rule = constant_rule(rule)
        self.label_smoothing = _as_smoothing(label_smoothing)
        self.ignore_index = as_ignored(ignore_index)
        self.reduction = as_reduction(reduction)

    def forward(
        self,
        classes: Tensor,
        log_confidences: Tensor,
        y: Tensor,
        log_rest: Tensor | None = None,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        """The loss; see `list_loss`."""
        return list_loss(
            classes,
            log_confidences,
            y,
            num_classes=self.num_classes,
            log_rest=log_rest,
            rule=self.rule,
            label_smoothing=self.label_smoothing,
            sample_weight=sample_weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


How = tuple[SumRule, float, float]  # the rule, the temperature, and the label smoothing


class _InParts(torch.autograd.Function):
    """`_of_rows`, some rows at a time; worked out again, with gradients, in the backward pass."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, outcomes: Tensor, counted: Tensor, how: How) -> Tensor:
        ctx.save_for_backward(rows, outcomes, counted)
        ctx.how = how
        return torch.cat([_of_rows(rows[here], outcomes[here], counted[here], how) for here in _parts(rows)])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        rows, outcomes, counted = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is to be differentiated: memory is that of all rows
            values = _of_rows(rows, outcomes, counted, ctx.how)
            (whole,) = torch.autograd.grad(values, rows, grads[0], create_graph=True)
            return whole, None, None, None
        out = rows.new_empty(rows.shape)
        for here in _parts(rows):
            with torch.enable_grad():
                part = rows[here].detach().requires_grad_()
                values = _of_rows(part, outcomes[here], counted[here], ctx.how)
            (out[here],) = torch.autograd.grad(values, part, grads[0][here])
        return out, None, None, None


def _parts(rows: Tensor) -> list[slice]:
    step = max(1, CHUNK // rows.shape[1])
    return [slice(at, at + step) for at in range(0, rows.shape[0], step)]


def _of_rows(rows: Tensor, outcomes: Tensor, counted: Tensor, how: How) -> Tensor:
    """Scores of the softmax of rows."""
    rule, temperature, smoothing = how
    x = rows if rows.dtype == torch.float64 else rows.float()
    logs, width = log_shares(torch.where(counted[:, None], x / temperature, 0.0)), rows.shape[1]
    lists = LogLists(logs, None, None, logs.new_zeros(rows.shape[0]))
    own = torch.arange(width, device=x.device) == outcomes[:, None]
    return _smoothed(rule, lists, own, smoothing, width)


def _of_first(rows: Tensor, outcomes: Tensor, counted: Tensor, how: How, k: int) -> Tensor:
    """Scores of the padded list of the k classes that come first."""
    refuse_tangents(rows)
    (rule, temperature, smoothing), width = how, rows.shape[1]
    classes = top_classes(rows.detach(), k)
    listed, log_rest, _ = coarsen(rows, classes, temperature, -1)
    coarse = torch.cat([listed, log_rest[:, None]], dim=1)
    logs = log_shares(torch.where(counted[:, None], coarse, 0.0))
    rest = logs[:, k] if k < width else None
    lists = LogLists(logs[:, :k], None, rest, logs.new_full((rows.shape[0],), float(width - k)))
    return _smoothed(rule, lists, classes == outcomes[:, None], smoothing, width)


def _smoothed(rule: SumRule, lists: LogLists, own: Tensor, smoothing: float, size: int) -> Tensor:
    """The expected score where the outcome is any class with the weight of the smoothing."""
    values = padded_score(rule, lists, own)
    return values if not smoothing else (1.0 - smoothing) * values + smoothing * uniform_score(rule, lists, size)


@torch.library.custom_op("toplist::top_classes", mutates_args=())
def top_classes(rows: Tensor, k: int) -> Tensor:
    """The k classes with the largest logits, as `lists_from_logits` finds them; an operator, so that it is not traced.

    >>> top_classes(torch.tensor([[2.0, 0.0, 2.0]]), 2)
    tensor([[0, 2]])
    """
    classes: Tensor = lists_from_logits(rows, k).classes
    return classes


@top_classes.register_fake
def _(rows: Tensor, k: int) -> Tensor:
    return rows.new_empty((rows.shape[0], k), dtype=torch.int64)


def _counted(outcomes: Tensor, ignore: int, weights: Tensor | None) -> Tensor:
    """The weights, zero where the outcome does not count."""
    counts = outcomes != ignore
    return counts if weights is None else weights * counts


def _where_inside(values: Tensor, outcomes: Tensor, size: int) -> Tensor:
    """NaN where the outcome is no class; those that are not counted are left out later."""
    return torch.where((outcomes >= 0) & (outcomes < size), values, torch.nan)


def _as_size(num_classes: Any) -> int:
    size = as_whole(num_classes, "num_classes", 1)
    if size > MOST_CLASSES:
        raise TopListError(f"num_classes is at most {MOST_CLASSES}, which floats can count, not {size}.")
    return size


def _as_smoothing(smoothing: Any) -> float:
    if not isinstance(smoothing, int | float) or not 0 <= smoothing <= 1:
        raise TopListError(f"label_smoothing is a number from 0 to 1, not {smoothing!r}.")
    return float(smoothing)


def _as_lists(classes: Any, logs: Any, rest: Any) -> tuple[Tensor, Tensor, Tensor | None]:
    """Classes, log confidences and the log of the rest as matrices and a vector."""
    if not isinstance(classes, Tensor) or classes.dtype.is_floating_point or classes.dtype == torch.bool:
        raise ShapeError("classes is a torch tensor of class indices.")
    if not isinstance(logs, Tensor) or not logs.dtype.is_floating_point or classes.shape != logs.shape or not logs.ndim:
        raise ShapeError("log_confidences is a torch tensor of floats, of the same shape (..., k) as classes.")
    if rest is not None and (not isinstance(rest, Tensor) or rest.shape != logs.shape[:-1]):
        raise ShapeError(f"log_rest is a torch tensor of the shape {tuple(logs.shape[:-1])}, one number for each list.")
    shape = (math.prod(logs.shape[:-1]), logs.shape[-1])  # lists may be empty
    return classes.reshape(shape).long(), logs.reshape(shape), None if rest is None else rest.reshape(-1)
