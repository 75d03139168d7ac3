"""Temperature scaling: powers of the padded distribution, fitted with exact gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from toplist._text import quote
from toplist._typing import Bools, Floats
from toplist.errors import TopListError
from toplist.lists import TopLists
from toplist.lists.log_space import Logs, normalised
from toplist.postprocess.recalibration.base import Recalibrator, Sample, State
from toplist.scoring.rules import Rule, as_rule

Indices = NDArray[np.intp]

HOTTEST = math.exp(4.0)  # a temperature of 55 leaves next to nothing of any difference, one of 1/55 only the largest
MANY_CLASSES = 10_000  # from which on a power of the share of an unlisted class would move all mass to or from the rest
_NONE = -1
_ROUGH_GRID = 1 << 13  # cases of a grid
_ROUGH_FIT = 1 << 14  # cases of a first fit, so that the fit to all starts near its end
_POINTS = 17  # of a grid, so that no local minimum of the Brier score is missed


class Value(NamedTuple):
    """A mean score, and its derivative in the exponent."""

    score: float
    slope: float


@dataclass(frozen=True, slots=True)
class ScaledOutcomes:
    """The outcomes of positive probability of each case, one after the other; the rest, one outcome, comes last.

    To an exponent a, the log weight of an outcome is base + a x, and probabilities are the softmax of these.
    """

    starts: Indices  # where each case begins
    sizes: NDArray[np.int64] | int  # one number where all have as many
    x: Floats
    base: Floats
    share: Floats  # 1 for a listed class, 1 / n for a rest of n classes
    happened: Indices  # the place of the outcome, or _NONE where its probability was zero
    weight: Floats

    @classmethod
    def of(cls, sample: Sample) -> ScaledOutcomes:
        """The outcomes of a sample."""
        lists, logs = sample.lists, Logs.of(sample.lists)
        case = np.repeat(np.arange(len(lists)), lists.sizes)
        listed, left = logs.listed > -np.inf, logs.rest > -np.inf
        sizes = np.bincount(case[listed], minlength=len(lists)) + left
        ends = np.cumsum(sizes)
        starts = ends - sizes
        before: NDArray[np.int64] = np.cumsum(listed) - listed
        at = starts[case] + before - np.append(before, listed.sum())[lists.offsets[:-1]][case]
        entry, rest = at[listed], ends[left] - 1

        def joined(of_entries: Any, of_rests: Any) -> Floats:
            out = np.empty(int(sizes.sum()))
            out[entry], out[rest] = of_entries, of_rests
            return out

        base = np.where(_shared(logs), logs.unlisted, 0.0)[left]
        happened = np.where(left, ends - 1, _NONE)
        hit = np.flatnonzero(lists.classes == np.repeat(sample.codes, lists.sizes))
        happened[case[hit]] = np.where(listed[hit], at[hit], _NONE)
        even = bool((sizes == sizes[0]).all())
        return cls(
            starts,
            int(sizes[0]) if even else sizes,
            joined(logs.listed[listed], logs.rest[left] - base),
            joined(0.0, base),
            joined(1.0, np.exp(-logs.unlisted[left])),
            happened,
            sample.weight,
        )

    def value(self, exponent: float, rule: str) -> Value:
        """The mean score.

        For the log score, cases whose outcome had probability zero do not count, since they stay infinite, and a miss
        counts as one of the rest as a whole: its share among the unlisted classes is a constant.
        """
        z = exponent * self.x + self.base
        z -= np.repeat(np.maximum.reduceat(z, self.starts), self.sizes)
        p = np.exp(z)
        total = np.add.reduceat(p, self.starts)
        p /= np.repeat(total, self.sizes)
        possible = np.flatnonzero(self.happened != _NONE)
        at, weight = self.happened[possible], self.weight
        if rule == "log":
            score = float(self.weight[possible] @ (np.log(total[possible]) - z[at]))
            slope, weight = p, np.zeros_like(self.weight)
            weight[possible] = self.weight[possible]
            slope[at] -= 1.0
        else:
            squares = p * self.share
            scores = 1.0 + np.add.reduceat(p * squares, self.starts)
            scores[possible] -= 2.0 * squares[at]
            score = float(self.weight @ scores)
            squares[at] -= self.share[at]
            squares -= np.repeat(np.add.reduceat(p * squares, self.starts), self.sizes)
            slope = 2.0 * p * squares
        return Value(score, float((slope * np.repeat(weight, self.sizes)) @ self.x))


class Temperature(Recalibrator):
    r"""Temperature scaling of the padded distribution.

    Confidences t become :math:`t^{1/T} / Z`, and the rest of n classes :math:`n (rest / n)^{1/T} / Z`. A temperature T
    above one makes lists less sure, one below surer; order and validity stay. It is found between 1/55 and 55, and is
    never worse than T = 1 on the cases that it was fitted to.

    From ten thousand unlisted classes on, also infinitely many, a power of their tiny shares would move all mass to or
    from the rest. The rest is then one outcome, :math:`rest^{1/T} / Z`, and lists are repaired afterwards.

    Parameters
    ----------
    rule : {"brier", "log"}, default "brier"
        The scoring rule that it is fitted by.

    Attributes
    ----------
    temperature_ : float
        The fitted temperature.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks, ICML.

    Examples
    --------
    >>> Temperature(rule="log").fit([{"a": 0.8, "b": 0.1}] * 4, ["a", "a", "b", "c"], space=3)
    Temperature(rule='log') [temperature 3]
    """

    learned = ("temperature_",)
    temperature_: float

    def __init__(self, *, rule: Any = "brier") -> None:
        self.rule = rule

    @property
    def parameters(self) -> int:
        """One."""
        return 1

    @property
    def _fit_rule(self) -> str:
        name = as_rule(self.rule).name if isinstance(self.rule, Rule) else self.rule
        if name not in ("brier", "log"):
            raise TopListError(f'a temperature is fitted by the score "brier" or "log", not {quote(self.rule)}.')
        return str(name)

    def _check(self) -> None:
        self._fit_rule  # noqa: B018  raises where it is neither

    def _fit(self, sample: Sample) -> None:
        rule, hot = self._fit_rule, math.log(HOTTEST)

        def objective(part: Sample) -> Callable[[Floats], tuple[float, Floats]]:
            """Of the log of the temperature, with its gradient."""
            outcomes = ScaledOutcomes.of(part)

            def at(log_t: Floats) -> tuple[float, Floats]:
                exponent = math.exp(-log_t[0])
                value = outcomes.value(exponent, rule)
                return value.score, np.array([-exponent * value.slope])

            return at

        rough = objective(sample.thinned(_ROUGH_GRID))
        log_t = np.array([min(np.linspace(-hot, hot, _POINTS), key=lambda x: rough(np.array([x]))[0])])
        few = sample.thinned(_ROUGH_FIT)
        for part, close in ((few, 1e-14), (sample, 1e-11)) if few is not sample else ((sample, 1e-14),):
            options = {"ftol": close, "gtol": 1e-8, "maxls": 8, "maxiter": 500}
            log_t = minimize(
                objective(part), log_t, jac=True, method="L-BFGS-B", bounds=[(-hot, hot)], options=options
            ).x
        self.temperature_ = math.exp(log_t[0])
        score = as_rule(rule)
        if sample.loss(self.transform(sample.lists), score) >= sample.loss(sample.lists, score):
            self.temperature_ = 1.0

    def _transform(self, lists: TopLists) -> TopLists:
        return tempered(lists, self.temperature_)

    def _restore(self, state: State) -> None:
        self.temperature_ = state.number("temperature_", 1e-300)

    def _describe(self) -> str:
        return f"temperature {self.temperature_:.5g}"


def tempered(lists: TopLists, temperature: float) -> TopLists:
    """Powers of strictly valid lists; at temperature one, these."""
    if temperature == 1.0:
        return lists
    logs = Logs.of(lists)
    base = np.where(_shared(logs), logs.unlisted, 0.0)
    return normalised(lists, logs.listed / temperature, base + (logs.rest - base) / temperature)


def _shared(logs: Logs) -> Bools:
    """Where powers are taken of the share of each unlisted class, and not of the rest as one outcome."""
    return (logs.unlisted > -np.inf) & (logs.unlisted < math.log(MANY_CLASSES))
