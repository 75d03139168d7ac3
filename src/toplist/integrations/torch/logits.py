"""Lists, ranks and padded scores from logits, in one read of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from toplist.core.arguments import as_tuple, as_whole
from toplist.errors import OutcomeError, ShapeError, TopListError
from toplist.integrations.torch import kernels
from toplist.integrations.torch.rules import exponent, rules_by_name, score
from toplist.integrations.torch.statistics import Statistics, Wanted, in_chunks
from toplist.lists.toplists import TopLists

Tensor = torch.Tensor
LONGEST = 128  # the kernels keep a list in registers


class LogitLists(NamedTuple):
    """Top lists of rows of logits, on the device of the logits.

    Attributes
    ----------
    classes : Tensor of shape (..., k)
        Class indices, the most likely first; ties in the order of the indices.
    log_confidences : Tensor of shape (..., k)
        Logs of their probabilities.
    log_rest : Tensor of shape (...)
        Log of the probability of all other classes together; minus infinity where there are none.
    """

    classes: Tensor
    log_confidences: Tensor
    log_rest: Tensor

    def to_lists(self, space: Any) -> TopLists:
        """The lists as `toplist.TopLists`, for every other function of the library.

        Parameters
        ----------
        space : ClassSpace or int
            The classes; their number is the width of the logits.

        Returns
        -------
        TopLists
            One list per row, in the order of the rows.

        Examples
        --------
        >>> lists = lists_from_logits(torch.tensor([[2.0, 0.0, 1.0]]), 2)
        >>> lists.to_lists(3)
        TopLists(1 case, k = 2, 3 classes)
        """
        k = self.classes.shape[-1]
        classes, logs, rest = (part.detach().cpu().numpy() for part in self)
        confidences = np.exp(logs.reshape(-1, k).astype(np.float64))
        log_rest = rest.reshape(-1).astype(np.float64)
        made: TopLists = TopLists.from_topk(classes.reshape(-1, k), confidences, space, log_rest=log_rest)
        return made


class LogitScores(NamedTuple):
    """Padded scores of rows of logits at their outcomes, on the device of the logits.

    Attributes
    ----------
    lists : LogitLists
        The lists of the largest length that was asked for.
    rank : Tensor of shape (...)
        Place of the outcome among all classes, from 1 on; ties in the order of class indices; 0 where it is ignored.
    log_prob : Tensor of shape (...)
        Log of the outcome's probability; NaN where it is ignored.
    padded : dict of str to Tensor of shape (..., number of lengths)
        By rule, the scores of the lists of each length; NaN where the outcome is ignored.
    full : dict of str to Tensor of shape (...)
        By rule, the scores of the full distributions; NaN where the outcome is ignored.
    """

    lists: LogitLists
    rank: Tensor
    log_prob: Tensor
    padded: dict[str, Tensor]
    full: dict[str, Tensor]


def lists_from_logits(logits: Tensor, k: int, *, temperature: float = 1.0) -> LogitLists:
    """The k most likely classes of each row of logits, their log probabilities, and the log of what is left over.

    The logits are read once, and probabilities are not stored. Float32, float16 and bfloat16 logits are computed in
    float32, float64 ones in float64. A class whose logit is minus infinity has probability zero, and is a class all the
    same. A row with NaN or plus infinity gives NaN. There are no gradients; `toplist.integrations.torch` has losses.

    Parameters
    ----------
    logits : Tensor of shape (..., classes)
        Unnormalised log probabilities, in any float type and with any strides.
    k : int
        Length of the lists, at most 128 and at most the number of classes.
    temperature : float, default 1.0
        Logits are divided by it.

    Returns
    -------
    LogitLists
        Classes, log confidences and the log of the rest mass.

    Examples
    --------
    >>> lists = lists_from_logits(torch.tensor([[2.0, 0.0, 1.0]]), 2)
    >>> lists.classes, lists.log_confidences.exp(), lists.log_rest.exp()
    (tensor([[0, 2]]), tensor([[0.6652, 0.2447]]), tensor([0.0900]))
    """
    rows, leading = _as_rows(logits)
    (k,) = _as_lengths((k,), rows)
    found = _statistics(rows, None, Wanted((k,), None, False, 0.0, as_temperature(temperature), 0))
    return _lists(found, leading)


def scores_from_logits(
    logits: Tensor,
    y: Tensor,
    ks: Sequence[int] = (1, 5, 20),
    rules: Any = ("brier", "log"),
    *,
    temperature: float = 1.0,
    ignore_index: int = -100,
) -> LogitScores:
    """Padded scores of the lists of each length and of the full distributions at the outcomes, and their ranks.

    The logits are read once for the Brier, logarithmic and spherical scores and one further exponent; each exponent
    more takes one more read. See `lists_from_logits` for types and infinities.

    Parameters
    ----------
    logits : Tensor of shape (..., classes)
        Unnormalised log probabilities, in any float type and with any strides.
    y : Tensor of shape (...)
        Class indices of the outcomes. An index outside the classes is refused on the CPU. On another device, where the
        check would wait for the device, its rank is -1 and its scores are NaN.
    ks : sequence of int, default (1, 5, 20)
        Lengths of the lists, each at most 128 and at most the number of classes.
    rules : str, Rule or a sequence of them, default ("brier", "log")
        Of "brier", "log", "spherical", Power(a) and PseudoSpherical(a).
    temperature : float, default 1.0
        Logits are divided by it.
    ignore_index : int, default -100
        Outcomes with this value are not scored: their rank is 0 and their scores are NaN.

    Returns
    -------
    LogitScores
        Lists of the largest length, ranks, log probabilities and scores.

    Examples
    --------
    >>> scores = scores_from_logits(torch.tensor([[2.0, 0.0, 1.0]]), torch.tensor([2]), ks=(1, 2))
    >>> scores.rank, scores.padded["brier"], scores.full["log"]
    (tensor([2]), tensor([[1.1640, 1.0211]]), tensor([1.4076]))
    """
    rows, leading = _as_rows(logits)
    lengths, asked = _as_lengths(ks, rows), rules_by_name(rules)
    outcomes = _as_outcomes(y, logits, rows.shape[1], as_whole(ignore_index, "ignore_index", -(2**31)))
    exponents = sorted({a for a in map(exponent, asked.values()) if a is not None})
    squares, powers = 2.0 in exponents, [a for a in exponents if a != 2.0]
    warm = as_temperature(temperature)
    found = [
        _statistics(rows, outcomes, Wanted(lengths, ignore_index, squares and not i, a, warm, rows.shape[1]))
        for i, a in enumerate(powers or [0.0])
    ]
    first, others = found[0], {a: one.powers for a, one in zip(powers, found, strict=False)}
    if squares:
        others[2.0] = first.squares
    made = {name: score(rule, first.log_q, first.miss, others) for name, rule in asked.items()}
    return LogitScores(
        _lists(first, leading),
        first.rank.reshape(leading),
        first.log_q[:, -1].reshape(leading),
        {name: one[:, :-1].reshape(*leading, len(lengths)) for name, one in made.items()},
        {name: one[:, -1].reshape(leading) for name, one in made.items()},
    )


def _statistics(rows: Tensor, outcomes: Tensor | None, wanted: Wanted) -> Statistics:
    if rows.shape[0] and kernels.usable(rows):
        from toplist.integrations.torch.kernels.launch import one_read  # noqa: PLC0415  needs Triton

        return one_read(rows, outcomes, wanted)
    return in_chunks(rows, outcomes, wanted)


def _lists(found: Statistics, leading: torch.Size) -> LogitLists:
    k = found.classes.shape[1]
    shape = (*leading, k)
    return LogitLists(
        found.classes.reshape(shape), found.log_confidences.reshape(shape), found.log_rest.reshape(leading)
    )


def _as_rows(logits: Any) -> tuple[Tensor, torch.Size]:
    """Logits as a matrix without gradients, and the shape of what they are logits of."""
    if not isinstance(logits, Tensor) or not logits.dtype.is_floating_point:
        kind = logits.dtype if isinstance(logits, Tensor) else type(logits).__name__
        raise ShapeError(f"logits are a torch tensor of floating-point numbers, not {kind}.")
    if logits.ndim < 1 or not logits.shape[-1]:
        raise ShapeError(f"logits have the shape (..., classes), not {tuple(logits.shape)}.")
    return logits.detach().reshape(-1, logits.shape[-1]), logits.shape[:-1]


def _as_lengths(ks: Any, rows: Tensor) -> tuple[int, ...]:
    given = as_tuple(ks, "ks", TopListError)
    if not given:
        raise TopListError("ks names no length; (1, 5) scores lists of one and of five classes.")
    made, most = tuple(as_whole(k, "k", 1) for k in given), min(LONGEST, rows.shape[1])
    if max(made) > most:
        why = "the kernels keep lists of up to that length" if most == LONGEST else "there are no more classes"
        raise TopListError(f"k is at most {most} here, not {max(made)}: {why}.")
    return made


def as_temperature(temperature: Any) -> float:
    """A number above zero.

    >>> as_temperature(2)
    2.0
    """
    if not isinstance(temperature, int | float) or not 0 < temperature < float("inf"):
        raise TopListError(f"temperature is a number above zero, not {temperature!r}.")
    return float(temperature)


def _as_outcomes(y: Any, logits: Tensor, width: int, ignore: int) -> Tensor:
    if not isinstance(y, Tensor) or y.dtype.is_floating_point or y.dtype.is_complex or y.dtype == torch.bool:
        kind = y.dtype if isinstance(y, Tensor) else type(y).__name__
        raise ShapeError(f"y is a torch tensor of class indices, not {kind}.")
    if y.shape != logits.shape[:-1]:
        raise ShapeError(f"y has the shape {tuple(y.shape)}, and logits are of {tuple(logits.shape[:-1])} cases.")
    if y.device != logits.device:
        raise ShapeError(f"y is on {y.device}, and logits are on {logits.device}: move one with .to().")
    flat = y.reshape(-1)
    if flat.device.type == "cpu":
        outside = (flat != ignore) & ((flat < 0) | (flat >= width))
        if bool(outside.any()):
            row = int(outside.nonzero()[0, 0])
            raise OutcomeError(
                f"the outcome {int(flat[row])} is outside the {width:,} classes of the logits.",
                "Class indices start at 0; ignore_index names the one that is not scored.",
                case=row,
                more=int(outside.sum()) - 1,
            )
    return flat
