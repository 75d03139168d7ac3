"""Sufficient statistics per case: the few numbers that every rule is a closed form of.

A padded score depends on the list only through the confidence of the outcome, the rest mass and the number of classes
that share it, and a sum over the other confidences of one function. `CaseStatistics` holds these numbers for many
cases; a rule says what it sums (`Sum`) and gives the closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from toplist.core import array_api
from toplist.core.kernel import Rows

Array = Any
_TINY = 1e-290  # proxies below this have lost digits, and are better known by their logarithms
_LEAST = 2.0**-1074  # the smallest number
_QUANTUM = 20 * _LEAST


@dataclass(frozen=True)
class CaseStatistics:
    """Per case, of the largest valid sublist. Arrays of any one shape, of the library `xp`."""

    xp: Any
    outcome: Array  # confidence of what happened: listed, or the proxy
    miss: Array  # 1 - outcome, without cancellation
    hit: Array  # is what happened listed?
    total: Array  # the sum over the listed classes, but the outcome
    ties: Array  # where the largest confidence is asked for: how many share it
    rest: Array  # mass not listed
    unlisted: Array  # number of classes not listed
    proxy: Array  # rest / unlisted
    log_size: Array
    given_log_rest: Array | None = None
    complete: bool = False  # does `total` hold the unlisted classes too?
    log_listed: Array | None = None  # log of a listed outcome whose confidence is too small to be a number; else 0

    @classmethod
    def narrow(
        cls,
        sums: array_api.RowSums,
        wide: Callable[[], array_api.RowSums],
        rows: Rows,
        log_listed: Array | None = None,
    ) -> CaseStatistics:
        """Statistics of which most rules need three; the others are reduced when one is first asked for."""
        made = object.__new__(cls)
        made.__dict__.update(
            xp=np, outcome=sums.outcome, miss=sums.miss, total=sums.total, log_size=rows.log_size,
            given_log_rest=rows.log_rest, complete=True, log_listed=log_listed, _wide=wide,
        )  # fmt: skip
        return made

    def __getattr__(self, name: str) -> Any:
        if name not in ("hit", "ties", "rest", "unlisted", "proxy") or "_wide" not in self.__dict__:
            raise AttributeError(name)
        sums = self.__dict__.pop("_wide")()
        for field in ("hit", "ties", "rest", "unlisted", "proxy"):
            self.__dict__[field] = getattr(sums, field)
        return self.__dict__[name]

    @property
    def log_rest(self) -> Array:
        """log(rest), from the producer where the rest mass itself underflows."""
        return _log_rest(self.xp, self.rest, self.unlisted, self.given_log_rest)

    @property
    def log_unlisted(self) -> Array:
        """log(unlisted), finite for every finite number of classes."""
        return _log_unlisted(self.xp, self.unlisted, self.log_size)

    @property
    def log_proxy(self) -> Array:
        """log(proxy), where the proxy itself may underflow; minus infinity if nothing is left over."""
        return _log_ratio(self.xp, self.log_rest, self.log_unlisted)

    @property
    def log_outcome(self) -> Array:
        """log(outcome), from the listed or the proxy's logarithm where the outcome's own share underflows."""
        log = self._log_of_outcome()
        return log if self.log_listed is None else self.xp.where(self.log_listed < 0, self.log_listed, log)

    def _log_of_outcome(self) -> Array:
        xp, q = self.xp, self.outcome
        positive = q > _TINY
        sure = bool(xp.all(positive))
        safe = q if sure else xp.where(positive, q, 1.0)
        log = xp.log(safe)
        lost = (1.0 - q) - self.miss  # what rounding took from a large confidence whose mass was divided out
        if bool(xp.any(lost != 0)):
            log = log + xp.where(q > 0.5, lost, 0.0) / safe
        if sure:
            return log
        listed = array_api.log_or(xp, q, -xp.inf)
        return xp.where(positive, log, xp.where(self.hit, listed, self.log_proxy))

    def others(self, of: Sum) -> Array:
        """The sum over every class but the outcome: those listed and those that are not."""
        return self.total if self.complete else self.total + of.rest_but_outcome(self)

    def everything(self, of: Sum) -> Array:
        """The sum over every class, where `total` runs over all that are listed."""
        return self.total + of.rest(self)


def _log_rest(xp: Any, rest: Array, unlisted: Array, given: Array | None) -> Array:
    if given is None:
        return array_api.log_or(xp, rest, -xp.inf)
    log = array_api.log_or(xp, rest, given)
    lossy = (rest > 0) & (rest < _TINY)
    if bool(xp.any(lossy)):  # what was given stands, unless classes were cut and their mass has joined
        log = xp.where(lossy & (xp.abs(xp.exp(given) - rest) <= 1e-9 * rest + _QUANTUM), given, log)
    return xp.where(unlisted == 0, -xp.inf, log)


def _log_unlisted(xp: Any, unlisted: Array, log_size: Array) -> Array:
    return array_api.log_or(xp, unlisted, xp.where(unlisted == 0, -xp.inf, log_size))


def _log_ratio(xp: Any, log_rest: Array, log_unlisted: Array) -> Array:
    nothing = log_rest == -xp.inf
    return xp.where(nothing, -xp.inf, xp.where(nothing, 0.0, log_rest) - log_unlisted)


class Sum(Protocol):
    """What a rule sums over the classes: a function of the confidence."""

    @property
    def kind(self) -> str:
        """Which reduction does it: "none", "squares", "powers", "peak" (compiled), or "terms"."""

    @property
    def exponent(self) -> float:
        """For "powers"."""

    def terms(self, xp: Any, t: Array, lack: Array) -> Array:
        """The function, of listed confidences and of what each lacks to one."""

    def rest(self, m: CaseStatistics) -> Array:
        """Number of unlisted classes times the function of the proxy, safe for any number of classes."""

    def rest_but_outcome(self, m: CaseStatistics) -> Array:
        """The same without the outcome, where that is one of the unlisted."""


class CaseColumns(Protocol):
    """Some cases with their outcomes, ready to be reduced."""

    def statistics(self, of: Sum) -> CaseStatistics:
        """The numbers that a rule needs."""

    def tables(self) -> Iterator[tuple[Any, ScoreTable, Array | None]]:
        """The cases by length of their list: where they stand, their table, the place of the outcome in it."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Valid lists of one length, spread out: (rows, k) confidences and the rest of each row."""

    xp: Any
    t: Array
    rest: Array
    unlisted: Array
    log_size: Array
    log_rest: Array | None
    log_t: Array | None = None  # logs of confidences that are too small to be numbers; 0 for the others

    @property
    def proxy(self) -> Array:
        """The share of each unlisted class."""
        xp = self.xp
        return xp.where(self.unlisted > 0, self.rest / xp.where(self.unlisted > 0, self.unlisted, 1.0), 0.0)

    @property
    def log_proxy(self) -> Array:
        """Its logarithm, where it underflows too; minus infinity if nothing is left over."""
        log_rest = _log_rest(self.xp, self.rest, self.unlisted, self.log_rest)
        return _log_ratio(self.xp, log_rest, _log_unlisted(self.xp, self.unlisted, self.log_size))

    def _for_peaks(self) -> tuple[Array, Array]:
        """Confidences and proxies to compare with the largest; where that is no number, its stand-in is the least."""
        xp, t, logs, proxy = self.xp, self.t, self.log_t, self.proxy
        if logs is None or not t.shape[1]:
            return t, proxy
        none = xp.all((logs < 0) | (t == 0), axis=1) & xp.any(logs < 0, axis=1)
        logs = xp.where(logs < 0, logs, -xp.inf)
        top = xp.max(logs, axis=1)
        first = logs == xp.expand_dims(top, axis=1)
        t = xp.where(xp.expand_dims(none, axis=1), xp.where(first, _LEAST, 0.0), t)
        return t, xp.where(none, xp.where(self.log_proxy >= top, _LEAST, 0.0), proxy)

    def each(self, of: Sum) -> tuple[CaseStatistics, CaseStatistics]:
        """The statistics if each of the listed classes is the outcome, as (rows, k), and if an unlisted one does."""
        xp, t, proxy = self.xp, self.t, self.proxy

        def column(a: Array) -> Array:
            return xp.expand_dims(a, axis=-1)

        lack = exclusive_sums(xp, t) + column(self.rest)
        terms = of.terms(xp, t, lack) if of.kind != "none" else xp.zeros_like(t)
        if of.kind == "peak":
            t, proxy = self._for_peaks()
            total = xp.max(t, axis=1) if t.shape[1] else self.rest * 0 - 1
            ties = xp.sum(xp.astype(t == column(total), t.dtype), axis=1)
            others, total_all = column(total) + 0 * t, total
        else:
            ties = self.rest * 0
            others, total_all = exclusive_sums(xp, terms), xp.sum(terms, axis=1)
        log_rest = None if self.log_rest is None else column(self.log_rest)
        log_size = self.log_size + self.rest * 0
        wide = 0 * t
        listed = CaseStatistics(
            xp, t, lack, wide == 0, others, column(ties) + wide,
            column(self.rest) + wide, column(self.unlisted) + wide, column(proxy) + wide,
            column(log_size) + wide, log_rest, log_listed=self.log_t,
        )  # fmt: skip
        unlisted = CaseStatistics(
            xp, proxy, 1.0 - proxy, self.rest != self.rest, total_all, ties, self.rest, self.unlisted,
            proxy, log_size, self.log_rest,
        )  # fmt: skip
        return listed, unlisted


def exclusive_sums(xp: Any, x: Array) -> Array:
    """For every entry the sum of the others in its row, by running sums from both ends: no cancellation."""
    if not x.shape[1]:
        return x
    zero = xp.expand_dims(array_api.zeros(xp, x), axis=1)
    left = xp.concat([zero, xp.cumulative_sum(x, axis=1)[:, :-1]], axis=1)
    right = xp.concat([zero, xp.cumulative_sum(xp.flip(x, axis=1), axis=1)[:, :-1]], axis=1)
    return left + xp.flip(right, axis=1)
