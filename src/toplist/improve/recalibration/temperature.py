"""Tempering: confidences to a power, so that lists that are too sure, or not sure enough, are neither."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_number
from toplist.errors import TopListError
from toplist.improve.recalibration.base import MOST, Recalibrator, require_fit_rule
from toplist.improve.recalibration.exponents import fit_rough_first, outcomes
from toplist.improve.recalibration.logs import Logs, normalised
from toplist.improve.recalibration.record import State
from toplist.improve.recalibration.sample import Sample
from toplist.lists import TopLists
from toplist.rules import as_rule

Floats = NDArray[np.float64]

HOTTEST = math.exp(4.0)  # a temperature of 55 leaves next to nothing of any difference, one of 1/55 only the largest
_ROUGH = 1 << 13
_POINTS = 17  # of a grid, so that no valley of the Brier score is missed
_STEEP = 50.0


class Temperature(Recalibrator):
    r"""Powers of the padded distribution: t_i to t_i^{1/T} / Z, and the rest of n classes to n (rest / n)^{1/T} / Z.

    A temperature above one makes lists less sure, one below surer; order and validity stay. It is found between 1/55
    and 55, by the Brier or the log score, and is never worse than one on the cases that it was found on. Where m is in
    the thousands or more a power of tiny shares moves all mass to or from the rest: take `BucketTemperature` there.

    >>> import toplist as tl
    >>> lists = tl.TopLists.from_dicts([{"a": 0.8, "b": 0.1}] * 4, 3)
    >>> Temperature(rule="log").fit(lists, ["a", "a", "b", "c"])
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

    def _check(self) -> None:
        require_fit_rule(self.rule)

    def _fit(self, sample: Sample) -> None:
        _require_shares(Logs.of(sample.lists))
        rule = require_fit_rule(self.rule)
        hot, none = math.log(HOTTEST), np.zeros(2)

        def make(part: Sample) -> Any:
            table = outcomes(part, spread=True)

            def objective(theta: Floats) -> tuple[float, Floats]:
                exponent = math.exp(-theta[0])
                found = table.value(exponent, none, rule)
                return found.score, np.array([-exponent * found.exponent])

            return objective

        rough = make(sample.thinned(_ROUGH))
        start = min(np.linspace(-hot, hot, _POINTS), key=lambda log_t: rough(np.array([log_t]))[0])
        log_t = float(fit_rough_first(sample, np.array([start]), [(-hot, hot)], make)[0])
        self.temperature_ = math.exp(log_t)
        score = as_rule(rule)
        if sample.loss(tempered(sample.lists, self.temperature_), score) >= sample.loss(sample.lists, score):
            self.temperature_ = 1.0

    def _transform(self, lists: TopLists) -> TopLists:
        return tempered(lists, self.temperature_)

    def _restore(self, state: State) -> None:
        self.temperature_ = state.number("temperature_", 1e-300)

    def _said(self) -> str:
        return f"temperature {self.temperature_:.5g}"


def tempered(lists: TopLists, temperature: float) -> TopLists:
    """Powers of strictly valid lists; at temperature one, these."""
    if temperature == 1.0:
        return lists
    logs = Logs.of(lists)
    _require_shares(logs)
    with np.errstate(invalid="ignore"):  # of no rest, shared by no class
        rest = np.where(logs.rest > -np.inf, logs.unlisted + (logs.rest - logs.unlisted) / temperature, -np.inf)
    return normalised(lists, logs.listed / temperature, rest)


def _require_shares(logs: Logs) -> None:
    if (np.isinf(logs.unlisted) & (logs.unlisted > 0) & (logs.rest > -np.inf)).any():
        raise TopListError(
            "infinitely many classes share the rest, and powers of their shares have no limit: take BucketTemperature."
        )


class BucketTemperature(Recalibrator):
    r"""Powers of confidences and a factor on the rest: t_i^{1/T} against e^b rest^{1/T}, then repair.

    Two parameters that do for any number of classes, infinitely many too, since the rest is one outcome among the
    others here. `ridge`, in cases, holds both to where nothing changes: without it a rest that never happened would
    vanish. Fitted by the Brier or the log score.
    """

    learned = ("temperature_", "offset_")
    temperature_: float
    offset_: float

    def __init__(self, *, rule: Any = "brier", ridge: float = 1.0) -> None:
        self.rule = rule
        self.ridge = ridge

    @property
    def parameters(self) -> int:
        """Two."""
        return 2

    def _check(self) -> None:
        require_fit_rule(self.rule)
        as_number(self.ridge, "ridge", 0, MOST)

    def _fit(self, sample: Sample) -> None:
        rule, hot = require_fit_rule(self.rule), math.log(HOTTEST)

        def make(part: Sample) -> Any:
            table, hold = outcomes(part, spread=False), self.ridge / sample.counting

            def objective(theta: Floats) -> tuple[float, Floats]:
                exponent = math.exp(-theta[0])
                found = table.value(exponent, np.array([0.0, theta[1]]), rule)
                slopes = np.array([-exponent * found.exponent, found.offsets[1]])
                return found.score + 0.5 * hold * float(theta @ theta), slopes + hold * theta

            return objective

        log_t, offset = fit_rough_first(sample, np.zeros(2), [(-hot, hot), (-_STEEP, _STEEP)], make).tolist()
        self.temperature_, self.offset_ = math.exp(log_t), offset
        score = as_rule(rule)
        if sample.loss(self.transform(sample.lists), score) > sample.loss(sample.lists, score):
            self.temperature_, self.offset_ = 1.0, 0.0  # repairs, which the fit does not see, undid it

    def _transform(self, lists: TopLists) -> TopLists:
        if self.temperature_ == 1.0 and self.offset_ == 0.0:
            return lists
        logs = Logs.of(lists)
        return normalised(lists, logs.listed / self.temperature_, self.offset_ + logs.rest / self.temperature_)

    def _restore(self, state: State) -> None:
        self.temperature_, self.offset_ = state.number("temperature_", 1e-300), state.number("offset_")

    def _said(self) -> str:
        return f"temperature {self.temperature_:.5g}, rest times e^{self.offset_:.4g}"
