"""Are lists of log probabilities distributions? Refused on the CPU, marked where a check would wait for a device."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import torch
from torch.autograd import forward_ad

from toplist.errors import ClassError, ConfidenceError, MassError, TopListError

Tensor = torch.Tensor
NEAR_ONE = 1e-2  # by which probabilities of 16 bits miss it


class Masses(NamedTuple):
    """Rows of log probabilities without padding, what they add up to, and whether that is wrong."""

    logs: Tensor  # minus infinity where a list is padded
    log_rest: Tensor
    total: Tensor  # of the listed probabilities, and of the rest where that was given
    full: Tensor  # every class is listed
    complete: Tensor  # the total has to be one
    wrong: Tensor
    known: bool  # the rest was given


def can_refuse(x: Tensor) -> bool:
    """Whether values can be looked at without waiting for a device or breaking a compiled graph.

    >>> can_refuse(torch.zeros(1))
    True
    """
    return x.device.type == "cpu" and not torch.compiler.is_compiling()


def warn_of_probabilities(rows: Tensor) -> None:
    """Warn where rows of logits look like probabilities, whose softmax is nearly uniform.

    >>> warn_of_probabilities(torch.zeros(2, 3))
    """
    if len(rows) < 2 or rows.shape[1] < 3 or not can_refuse(rows) or not _add_up_to_one(rows[:1]):
        return
    if _add_up_to_one(rows):
        warnings.warn(
            "these logits are nonnegative and add up to one: if they are probabilities, pass their logs.", stacklevel=3
        )


def _add_up_to_one(rows: Tensor) -> bool:
    return bool((rows >= 0).all()) and bool(((rows.sum(dim=1, dtype=torch.float64) - 1).abs() < NEAR_ONE).all())


def refuse_tangents(x: Tensor) -> None:
    """Refuse forward-mode derivatives, which the operators do not have: torch would take them for zero.

    >>> refuse_tangents(torch.zeros(1))
    """
    if torch.compiler.is_compiling():
        return
    tangent = forward_ad.unpack_dual(x).tangent  # type: ignore[no-untyped-call]
    if tangent is not None:
        raise TopListError(
            "there are no forward-mode derivatives of lists of logits: use backward(), torch.autograd.grad, or "
            "score_loss without k."
        )


def masses(classes: Tensor, given: Tensor, rest: Tensor | None, width: int, padding: int) -> Masses:
    """What lists add up to.

    Parameters
    ----------
    classes : Tensor of shape (n, k)
        Classes; `padding` where a list is shorter.
    given : Tensor of shape (n, k)
        Log probabilities.
    rest : Tensor of shape (n,), optional
        The log of what is left over; by default of one minus the listed probabilities, or of zero where that is less
        than rounding explains.
    width : int
        The number of classes.
    padding : int
        What stands for no class.

    Returns
    -------
    Masses
        In float32, or in float64 where that was given.

    Examples
    --------
    >>> found = masses(torch.tensor([[0, 2]]), torch.tensor([[0.5, 0.25]]).log(), None, 3, -100)
    >>> found.total, found.log_rest.exp()
    (tensor([0.7500]), tensor([0.2500]))
    """
    entry, slack = classes != padding, tolerance(given, rest)
    logs = torch.where(entry, given if given.dtype == torch.float64 else given.float(), -torch.inf)
    total = logs.exp().sum(dim=1)
    full = entry.sum(dim=1) == width
    if rest is None:
        some = 1.0 - total > _rounding(given, logs)
        log_rest = torch.where(some, torch.log1p(-torch.where(some, total, 0.0)), -torch.inf)
        complete, nobody = full, torch.zeros_like(full)
    else:
        log_rest = rest.to(logs.dtype)
        complete, nobody = torch.ones_like(full), full & (log_rest.exp() > slack)
        total = total + log_rest.exp()
    wrong = ~(total <= 1.0 + slack) | (complete & (total < 1.0 - slack)) | nobody
    return Masses(logs, log_rest, total, full, complete, wrong, rest is not None)


def _rounding(given: Tensor, logs: Tensor) -> Tensor:
    """How far rounding takes one minus the mass of a list: what is less is no rest."""
    entropy: Tensor = torch.special.entr(logs.detach().exp()).sum(dim=1)
    return 0.5 * torch.finfo(given.dtype).eps * entropy + 2.0 * torch.finfo(logs.dtype).eps


def tolerance(given: Tensor, rest: Tensor | None) -> float:
    """How far rounding takes the mass of lists of logs from one: an entropy times the rounding of logs.

    >>> tolerance(torch.zeros(1, 1), None) < 1.1e-5
    True
    """
    eps = max(torch.finfo(one.dtype).eps for one in (given, *([] if rest is None else [rest])))
    return 1e-5 + eps * (2.0 + math.log(max(1, given.shape[1])))


def refuse(classes: Tensor, found: Masses, width: int, padding: int) -> None:
    """Refuse lists that are no distributions.

    Parameters
    ----------
    classes, width, padding
        As `masses` took them.
    found : Masses
        As it returned them.

    Raises
    ------
    ClassError, ConfidenceError, MassError
        For the first list that is wrong.

    Examples
    --------
    >>> classes = torch.tensor([[0, 2]])
    >>> refuse(classes, masses(classes, torch.tensor([[0.8, 0.4]]).log(), None, 3, -100), 3, -100)
    Traceback (most recent call last):
    toplist.errors.MassError: case 0: the listed probabilities add up to 1.2. Take log probabilities over all classes...
    """
    refuse_classes(classes, classes != padding, width)
    _refuse_logs(torch.cat([found.logs, found.log_rest[:, None]], dim=1) if found.known else found.logs)
    _refuse_mass(found.wrong, found.total, found.known)


def repeated(classes: Tensor, entry: Tensor) -> Tensor:
    """Whether a row lists a class twice.

    >>> repeated(torch.tensor([[3, 1, 3]]), torch.tensor([[True, True, True]]))
    tensor([True])
    """
    ordered, order = classes.sort(dim=1)
    return ((ordered[:, 1:] == ordered[:, :-1]) & entry.gather(1, order)[:, 1:]).any(dim=1)


def refuse_classes(classes: Tensor, entry: Tensor, width: int) -> None:
    """Refuse classes outside of the space, and classes twice.

    >>> refuse_classes(torch.tensor([[7, 7]]), torch.tensor([[True, True]]), 9)
    Traceback (most recent call last):
    toplist.errors.ClassError: case 0: class 7 is listed twice. List each class once, with all of its probability.
    """
    outside = entry & ((classes < 0) | (classes >= width))
    if bool(outside.any()):
        row, place = outside.nonzero()[0].tolist()
        raise ClassError(
            f"class {int(classes[row, place])} is outside of the {width:,} classes.",
            "Class indices start at 0; ignore_index names what stands for no class.",
            case=row,
            more=int(outside.any(dim=1).sum()) - 1,
        )
    twice = repeated(classes, entry)
    if bool(twice.any()):
        row = int(twice.nonzero()[0])
        listed = classes[row][entry[row]].tolist()
        raise ClassError(
            f"class {next(c for c in listed if listed.count(c) > 1)} is listed twice.",
            "List each class once, with all of its probability.",
            case=row,
            more=int(twice.sum()) - 1,
        )


def _refuse_logs(values: Tensor) -> None:
    wrong = ~(values <= 1e-3)  # what rounding explains is for the mass to judge
    if bool(wrong.any()):
        row, place = wrong.nonzero()[0].tolist()
        raise ConfidenceError(
            f"{float(values[row, place]):.6g} is no log probability.",
            "These are logs, at most 0: take log_softmax of logits, and the log of probabilities.",
            case=row,
            more=int(wrong.any(dim=1).sum()) - 1,
        )


def _refuse_mass(wrong: Tensor, total: Tensor, known: bool) -> None:
    if bool(wrong.any()):
        row = int(wrong.nonzero()[0])
        raise MassError(
            f"the listed probabilities {'and the rest ' if known else ''}add up to {float(total[row]):.6g}.",
            "Take log probabilities over all classes, and as the rest the log of what the list leaves over. Where they "
            "were rounded, subtract the log of this sum from them.",
            case=row,
            more=int(wrong.sum()) - 1,
        )
