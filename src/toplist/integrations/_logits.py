"""What functions of logits share in every array library: their results, their rules, and checks of their arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.arguments import as_tuple, as_whole
from toplist.errors import ClassError, ConfidenceError, MassError, OutcomeError, RuleError, ShapeError, TopListError
from toplist.lists.toplists import TopLists
from toplist.scoring.rules.base import Nothing, Outcome, Rule, Squares, SumRule
from toplist.scoring.rules.standard import Brier, Log, Power, PseudoSpherical, as_rule, name_of

Array = Any
SUPPORTED = "brier, log, spherical, Power(a) and PseudoSpherical(a)"
REDUCTIONS = ("mean", "sum", "none")
OUTSIDE, UNDEFINED = -1, -2  # ranks of outcomes outside the classes, and in rows that are no distribution
HIGHEST = 1e-3  # of log probabilities: what rounding explains is for the mass to judge
COLDEST, HOTTEST = 1e-6, 1e30  # temperatures that leave logits, divided by them, in the range of float32


class LogitLists(NamedTuple):
    """Top lists of rows of logits, in arrays of the library and on the device of the logits.

    Attributes
    ----------
    classes : array of shape (..., k)
        Class indices, the most likely first; ties in the order of the indices.
    log_confidences : array of shape (..., k)
        Logs of their probabilities.
    log_rest : array of shape (...)
        Log of the probability of all other classes together; minus infinity where there are none.
    """

    classes: Array
    log_confidences: Array
    log_rest: Array

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
        >>> lists = LogitLists(np.array([[0, 2]]), np.log([[0.7, 0.2]]), np.log([0.1]))
        >>> lists.to_lists(3)
        TopLists(1 case, k = 2, 3 classes)
        """
        k = self.classes.shape[-1]
        classes, logs, rest = map(_on_host, self)
        # As logs, in the type that they were computed in: what their rounding explains makes no list invalid.
        codes, confidences = classes.reshape(-1, k), logs.reshape(-1, k)
        made: TopLists = TopLists.from_topk(codes, confidences, space, log_rest=rest.reshape(-1), scale="log")
        return made


class LogitScores(NamedTuple):
    """Padded scores of rows of logits at their outcomes, in arrays of the library and on the device of the logits.

    Attributes
    ----------
    lists : LogitLists
        The lists of the largest length that was asked for.
    rank : array of shape (...)
        Place of the outcome among all classes, from 1 on; ties in the order of class indices. 0 where it is ignored,
        -1 where it is outside the classes, -2 where the row is no distribution (NaN, plus infinity, no finite logit).
    log_prob : array of shape (...)
        Log of the outcome's probability; NaN where it is ignored.
    padded : dict of str to array of shape (..., number of lengths)
        By rule, the scores of the lists of each length; NaN where the outcome is ignored.
    full : dict of str to array of shape (...)
        By rule, the scores of the full distributions; NaN where the outcome is ignored.
    ks : tuple of int
        The lengths, in the order of the columns of `padded`.
    temperature : float, optional
        By which the logits were divided; None where it is not known, as under JAX, where it may be traced.
    """

    lists: LogitLists
    rank: Array
    log_prob: Array
    padded: dict[str, Array]
    full: dict[str, Array]
    ks: tuple[int, ...]
    temperature: float | None = None


def rules_by_name(rules: Any) -> dict[str, SumRule]:
    """The rules by their names; refused where they need more than the outcome and a sum of powers.

    >>> list(rules_by_name(("brier", "log")))
    ['brier', 'log']
    """
    given = (rules,) if isinstance(rules, str | Rule) else as_tuple(rules, "rules", RuleError)
    found: dict[str, SumRule] = {}
    for rule in map(as_rule, given):
        name = name_of(rule)
        if not (isinstance(rule, SumRule) and rule.of_powers):
            raise RuleError(f"{name} is not computed from logits; there are {SUPPORTED}.")
        found[name] = rule
    return found


def one_rule(rule: Any) -> SumRule:
    """The rule of a loss.

    >>> one_rule("brier")
    Brier(scale_by_half=False)
    """
    found = rules_by_name(rule)
    if len(found) != 1:
        raise RuleError(f"a loss takes one rule, not {len(found)}.")
    return next(iter(found.values()))


def exponent(rule: SumRule) -> float | None:
    """The exponent of the sum over classes that a rule needs; none for the logarithmic score.

    >>> exponent(as_rule("brier")), exponent(as_rule("log"))
    (2.0, None)
    """
    summed = rule.sum  # told apart by their types, which torch.compile follows
    return None if isinstance(summed, Nothing) else 2.0 if isinstance(summed, Squares) else float(summed.exponent)


class OutcomeSums(NamedTuple):
    """What rules of powers need of rows at their outcomes, in arrays of any library."""

    log_q: Array  # the log of the outcome's probability
    miss: Array  # what that probability lacks to one
    powers: Mapping[float, Array]  # by exponent, sums over all other classes
    log_first: Array = None  # the log of what probabilities are divided by in `powers`, so that none underflows


def score(xp: Any, rule: SumRule, at: OutcomeSums) -> Array:
    """The scores of cases in arrays of the library `xp`, lower is better.

    >>> half = np.array([0.5])
    >>> score(np, as_rule("brier"), OutcomeSums(np.log(half), half, {2.0: np.array([0.125])}))
    array([0.375])
    """
    power, log_q = exponent(rule), at.log_q
    others = at.miss if power is None else at.powers[power]
    if at.log_first is not None and rule.scale_free:
        log_q = log_q - at.log_first
    elif at.log_first is not None and power is not None:
        others = others * xp.exp(power * at.log_first)
    outcome: Any = Outcome(xp, xp.exp(log_q), log_q, at.miss)
    return rule.score(outcome, others)


def require_divergence(rule: SumRule) -> SumRule:
    """The same rule, if divergences have its closed form."""
    if not isinstance(rule, Brier | Log | Power | PseudoSpherical):
        raise RuleError(f"{name_of(rule)} has no divergence from logits; there are {SUPPORTED}.")
    return rule


def as_lengths(ks: Any, width: int, longest: int) -> tuple[int, ...]:
    """Lengths of lists of so many classes; `longest` is the length up to which lists are found at all.

    >>> as_lengths([1, 5], 10, 128)
    (1, 5)
    """
    given = as_tuple(ks, "ks", TopListError)
    if not given:
        raise TopListError("ks names no length; (1, 5) scores lists of one and of five classes.")
    made, most = tuple(as_whole(k, "k", 1) for k in given), min(longest, width)
    if max(made) > most:
        why = "there are no more classes" if most == width else "the kernels keep lists of up to that length"
        raise TopListError(f"k is at most {most} here, not {max(made)}: {why}. Ask for other lengths.")
    return made


def as_ignored(ignore_index: Any) -> int:
    """What stands for no class, as a number of Python.

    >>> as_ignored(np.int64(-100))
    -100
    """
    return as_whole(ignore_index, "ignore_index", -(2**31))


def as_temperature(temperature: Any) -> float:
    """A temperature that float32 can divide by.

    >>> as_temperature(2)
    2.0
    """
    number = isinstance(temperature, int | float | np.number) and not isinstance(temperature, bool)
    if not number or not COLDEST <= temperature <= HOTTEST:
        raise TopListError(f"temperature is a number from {COLDEST:g} to {HOTTEST:g}, not {temperature!r}.")
    return float(temperature)


def as_reduction(reduction: Any) -> str:
    """What a loss makes of its values.

    >>> as_reduction("mean")
    'mean'
    """
    if reduction not in REDUCTIONS:
        raise TopListError(f'reduction is "mean", "sum" or "none", not {reduction!r}.')
    return str(reduction)


def require_cases(y: tuple[int, ...], leading: tuple[int, ...]) -> None:
    """One outcome per row of logits, or an error with both shapes.

    >>> require_cases((2,), (3,))
    Traceback (most recent call last):
    toplist.errors.ShapeError: y has the shape (2,), and logits are of (3,) cases.
    """
    if y != leading:
        raise ShapeError(f"y has the shape {y}, and logits are of {leading} cases.")


def outcome_outside(outcome: int, width: int, row: int, more: int) -> OutcomeError:
    """The error for an outcome outside the classes, in this row and so many more.

    >>> outcome_outside(7, 5, 1, 0)
    OutcomeError('case 1: the outcome 7 is outside the 5 classes. Class indices start at 0; ...')
    """
    return OutcomeError(
        f"the outcome {outcome} is outside the {width:,} classes.",
        "Class indices start at 0; ignore_index names the one that is not scored.",
        case=row,
        more=more,
    )


def refuse_weights(xp: Any, weights: Array) -> None:
    """Raise the error that names the first weight that is negative or not finite.

    >>> refuse_weights(np, np.array([1.0, 0.0]))
    """
    wrong = ~((weights >= 0) & (weights < np.inf))
    if bool(wrong.any()):
        row = int(xp.argwhere(wrong)[0, 0])
        raise ConfidenceError(
            f"the weight {float(weights[row])} is negative or not finite.",
            "Weights are numbers from 0 on.",
            case=row,
            more=int(wrong.sum()) - 1,
        )


def reduce(xp: Any, values: Array, weights: Array | None, reduction: str) -> Array:
    """The weighted mean, the weighted sum, or the weighted values; rows of weight zero count nothing, even if NaN.

    >>> float(reduce(np, np.array([1.0, np.nan, 4.0]), np.array([1.0, 0.0, 2.0]), "mean"))
    3.0
    """
    w = xp.ones_like(values) if weights is None else weights
    if reduction == "mean" and 0 not in w.shape:
        largest = w.max()  # huge and tiny weights have a sum over the largest: only proportions count
        w = xp.where(largest > 0, w / xp.where(largest > 0, largest, 1), w)
    w = as_type(w, values.dtype)
    weighted = xp.where(w == 0, 0.0, xp.where(w == 0, 0.0, values) * w)
    if reduction == "none":
        return weighted
    return weighted.sum() if reduction == "sum" else weighted.sum() / w.sum()


def as_type(x: Array, kind: Any) -> Array:
    """An array of torch, JAX or numpy in another type."""
    return x.to(kind) if hasattr(x, "to") else x.astype(kind)


class Masses(NamedTuple):
    """Lists of log probabilities without padding, what they add up to, and whether that is wrong."""

    logs: Array  # minus infinity where a list is padded
    log_rest: Array
    total: Array  # of the listed probabilities, and of the rest where that was given
    full: Array  # every class is listed
    complete: Array  # the total has to be one
    wrong: Array

    def divided(self, xp: Any) -> Array:
        """Logs of the listed probabilities and, last, of all other classes together, which add up to one."""
        log_total = xp.where(self.complete | (self.total > 1.0), xp.log(self.total), 0.0)[..., None]
        rest = xp.where(self.full[..., None], -xp.inf, self.log_rest[..., None] - log_total)
        return xp.concatenate([self.logs - log_total, rest], -1)


def tolerance(xp: Any, given: Array, rest: Array | None) -> float:
    """How far rounding takes the mass of lists of logs from one: an entropy times the rounding of logs.

    >>> tolerance(np, np.zeros((1, 1), np.float32), None) < 1.1e-5
    True
    """
    eps = max(float(xp.finfo(one.dtype).eps) for one in (given, *([] if rest is None else [rest])))
    return 1e-5 + eps * (2.0 + math.log(max(1, given.shape[-1])))


def masses(xp: Any, entry: Array, given: Array, rest: Array | None, width: int) -> Masses:
    """What lists of log probabilities over `width` classes add up to, in float32, or in float64 where that was given.

    `entry` says which of them are listed. Without the log of what is left over, it is that of one minus the listed
    probabilities, or of zero where that is less than rounding explains.

    >>> logs = np.log(np.array([[0.5, 0.25]]))
    >>> found = masses(np, np.ones((1, 2), bool), logs, None, 3)
    >>> found.total, np.exp(found.log_rest)
    (array([0.75]), array([0.25]))
    """
    kind, slack = given.dtype if given.dtype == xp.float64 else xp.float32, tolerance(xp, given, rest)
    logs = xp.where(entry, as_type(given, kind), -xp.inf)
    listed = xp.exp(logs)
    total, full = listed.sum(-1), entry.sum(-1) == width
    if rest is None:
        entropy = -(xp.where(listed > 0, logs, 0.0) * listed).sum(-1)
        rounding = 0.5 * float(xp.finfo(given.dtype).eps) * entropy + 2.0 * float(xp.finfo(kind).eps)
        some = 1.0 - total > rounding
        log_rest = xp.where(some, xp.log1p(-xp.where(some, total, 0.0)), -xp.inf)
        complete, nobody = full, xp.zeros_like(full)
    else:
        log_rest = as_type(rest, kind)
        complete, nobody = xp.ones_like(full), full & (xp.exp(log_rest) > slack)
        total = total + xp.exp(log_rest)
    wrong = ~(total <= 1.0 + slack) | (complete & (total < 1.0 - slack)) | nobody
    return Masses(logs, log_rest, total, full, complete, wrong)


def refuse_lists(
    xp: Any, classes: Array, entry: Array, twice: Array, masses: Masses, width: int, *, known: bool
) -> None:
    """Raise the error that names the first list that is no distribution over the classes.

    `twice` says which rows list a class twice, and `known` whether the rest was given. Tensors that torch transforms
    have no numpy arrays, so that this stays in the library.

    >>> logs, entry = np.log(np.array([[0.8, 0.4]])), np.ones((1, 2), bool)
    >>> sums = masses(np, entry, logs, None, 3)
    >>> refuse_lists(np, np.array([[0, 2]]), entry, np.array([False]), sums, 3, known=False)
    Traceback (most recent call last):
    toplist.errors.MassError: case 0: the listed probabilities add up to 1.2. Take log probabilities over all classes...
    """
    cases, k = math.prod(classes.shape[:-1]), classes.shape[-1]
    classes, entry = classes.reshape(cases, k), entry.reshape(cases, k)

    def first(wrong: Array) -> list[int]:
        return [int(place) for place in xp.argwhere(wrong)[0]]

    outside = entry & ((classes < 0) | (classes >= width))
    if bool(outside.any()):
        row, place = first(outside)
        raise ClassError(
            f"class {int(classes[row, place])} is outside of the {width:,} classes.",
            "Class indices start at 0; ignore_index names what stands for no class.",
            case=row,
            more=int(outside.any(-1).sum()) - 1,
        )
    if bool(twice.any()):
        row = first(twice.reshape(-1))[0]
        listed = [int(c) for c, inside in zip(classes[row], entry[row], strict=True) if inside]
        raise ClassError(
            f"class {next(c for c in listed if listed.count(c) > 1)} is listed twice.",
            "List each class once, with all of its probability.",
            case=row,
            more=int(twice.sum()) - 1,
        )
    values = masses.logs.reshape(cases, k)
    if known:
        values = xp.concatenate([values, masses.log_rest.reshape(cases, 1)], -1)
    above = ~(values <= HIGHEST)
    if bool(above.any()):
        row, place = first(above)
        raise ConfidenceError(
            f"{float(values[row, place]):.6g} is no log probability.",
            "These are logs, at most 0: take log_softmax of logits, and the log of probabilities.",
            case=row,
            more=int(above.any(-1).sum()) - 1,
        )
    if bool(masses.wrong.any()):
        row = first(masses.wrong.reshape(-1))[0]
        total = float(masses.total.reshape(-1)[row])
        raise MassError(
            f"the listed probabilities {'and the rest ' if known else ''}add up to {total:.6g}.",
            "Take log probabilities over all classes, and as the rest the log of what the list leaves over. Where they "
            "were rounded, subtract the log of this sum from them.",
            case=row,
            more=int(masses.wrong.sum()) - 1,
        )


def _on_host(part: Array) -> NDArray[Any]:
    if hasattr(part, "detach"):  # torch
        part = part.detach().cpu()
    elif hasattr(part, "get"):  # CuPy
        part = part.get()
    return np.asarray(part)
