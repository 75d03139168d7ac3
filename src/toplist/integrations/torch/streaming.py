"""Scores of any number of batches in kilobytes: compensated sums that stay on the device, and merge."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from torch import distributed

from toplist._text import significant
from toplist.core.arguments import as_tuple, as_whole
from toplist.errors import ShapeError, TopListError
from toplist.integrations._logits import (
    OUTSIDE,
    UNDEFINED,
    LogitScores,
    as_ignored,
    as_temperature,
    rules_by_name,
)
from toplist.integrations.torch.logits import LONGEST, scores_from_logits
from toplist.scoring.rules.base import SumRule

Tensor = torch.Tensor
UNITS = ("case", "sequence")
SUMS = 5  # of weights, weighted scores, and the products of a unit's weight and weighted score
COUNTS = ("cases", "ignored", "outside", "undefined", "unweighable", "huge")
_LIGHTEST, _HEAVIEST = 1e-60, 1e60  # weights whose squares neither underflow nor overflow
_LARGEST = 1e144  # a score times its weight of which squares can be added


@dataclass(frozen=True, slots=True)
class Columns:
    """Which scores are summed: lengths and rules, and what a standard error takes as independent."""

    ks: tuple[int, ...]
    rules: dict[str, SumRule]
    temperature: float
    ignore_index: int
    unit: str

    @classmethod
    def of(cls, ks: Any, rules: Any, temperature: float, ignore_index: int, unit: str) -> Columns:
        """Check what was asked for."""
        given = tuple(as_whole(k, "k", 1) for k in as_tuple(ks, "ks", TopListError))
        if not given or len(set(given)) < len(given):
            raise TopListError(f"ks are different lengths of lists, such as (1, 5), not {ks!r}.")
        if max(given) > LONGEST:
            raise TopListError(f"k is at most {LONGEST} here, not {max(given)}.")
        found = rules_by_name(rules)
        if not found:
            raise TopListError('rules names no rule; ("brier", "log") are two.')
        if unit not in UNITS:
            raise TopListError(f'unit is "case" or "sequence", not {unit!r}.')
        return cls(given, found, as_temperature(temperature), as_ignored(ignore_index), unit)

    @property
    def hits(self) -> tuple[int, ...]:
        """The lengths of which coverage is counted, one first."""
        return (1, *(k for k in self.ks if k != 1))

    @property
    def width(self) -> int:
        """How many columns there are: lists and the full distribution under each rule, and hits."""
        return len(self.rules) * (len(self.ks) + 1) + len(self.hits)

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of sums and counts."""
        return (2, SUMS, self.width), (len(COUNTS) + 3 * self.width,)

    def settings(self) -> dict[str, Any]:
        """Plain values that two states must share to be added."""
        return {
            "ks": list(self.ks),
            "rules": list(self.rules),
            "temperature": self.temperature,
            "ignore_index": self.ignore_index,
            "unit": self.unit,
        }

    def fingerprint(self) -> Tensor:
        """Two numbers whose largest over several states are the same where the settings of all are."""
        digest = hashlib.sha256(repr(self.settings()).encode()).digest()
        number = int.from_bytes(digest[:7], "big")
        return torch.tensor([number, -number])

    def names(self) -> list[str]:
        """A name for every column that loggers accept, such as `brier_top5`, `brier_full` and `coverage_top5`."""
        plain = [re.sub(r"[^\w.\-]+", "_", name).strip("_") for name in self.rules]
        ends = [*(f"top{k}" for k in self.ks), "full"]
        return [
            *(f"{name}_{end}" for name in plain for end in ends),
            "accuracy",
            *(f"coverage_top{k}" for k in self.hits[1:]),
        ]

    def score(self, logits: Tensor, y: Tensor) -> LogitScores:
        """The scores of a batch."""
        return scores_from_logits(
            logits,
            y,
            self.ks,
            tuple(self.rules.values()),
            temperature=self.temperature,
            ignore_index=self.ignore_index,
        )

    def values(self, scores: LogitScores) -> Tensor:
        """All columns of a batch, in the precision of its scores."""
        if list(scores.padded) != list(self.rules) or scores.ks != self.ks:
            theirs, ours = (", ".join(map(str, ks)) for ks in (scores.ks, self.ks))
            raise ShapeError(
                f"these scores are of the rules {', '.join(scores.padded)} for k = {theirs}, and sums are of "
                f"{', '.join(self.rules)} for k = {ours}: score with the same rules and ks."
            )
        if scores.temperature not in (None, self.temperature):
            raise ShapeError(
                f"these scores are of logits divided by {scores.temperature}, and sums are of logits divided by "
                f"{self.temperature}: score with the same temperature."
            )
        found = [column for name in self.rules for column in (*scores.padded[name].unbind(-1), scores.full[name])]
        found += [(scores.rank <= k).to(scores.log_prob.dtype) for k in self.hits]
        return torch.stack([one.reshape(-1) for one in found], dim=1)


@dataclass(frozen=True, slots=True)
class StreamedMean:
    """A mean of scores.

    Attributes
    ----------
    value : float
        The weighted mean; infinite where any score is, NaN without cases.
    error : float or None
        Its standard error; None where the mean is infinite, or there are fewer than two units.
    infinite : int
        Cases whose score is infinite.
    finite : float
        The mean over the other cases, a diagnostic.
    """

    value: float
    error: float | None
    infinite: int
    finite: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        if self.infinite:
            return f"inf ({self.infinite:,})"
        error = "" if self.error is None else f" ± {significant(self.error, 2)}"
        return f"{significant(self.value, 5)}{error}"


@dataclass(frozen=True, slots=True)
class StreamedScores:
    """What a stream of scores adds up to.

    Attributes
    ----------
    cases : int
        Cases that are scored and have weight.
    weight : float
        The sum of their weights.
    ignored : int
        Cases whose outcome is `ignore_index`.
    outside, undefined : int
        Cases that could not be scored and are left out: the outcome is outside the classes; logits are NaN, plus
        infinity, or all minus infinity.
    padded : dict of str to dict of int to StreamedMean
        By rule and length, mean scores of lists.
    full : dict of str to StreamedMean
        By rule, mean scores of full distributions.
    coverage : dict of int to StreamedMean
        By length, the share of cases whose outcome is listed.
    named : dict of str to StreamedMean
        All of these by names such as `brier_top5`.
    """

    cases: int
    weight: float
    ignored: int
    outside: int
    undefined: int
    padded: dict[str, dict[int, StreamedMean]]
    full: dict[str, StreamedMean]
    coverage: dict[int, StreamedMean]
    named: dict[str, StreamedMean]

    @property
    def accuracy(self) -> StreamedMean:
        """The share of cases whose most likely class is the outcome."""
        return self.coverage[1]

    def __str__(self) -> str:
        lengths = list(next(iter(self.padded.values())))
        heads = ["", *(f"top {k}" for k in lengths), "full"]
        rows = [[rule, *map(str, means.values()), str(self.full[rule])] for rule, means in self.padded.items()]
        rows.append(["coverage", *(str(self.coverage[k]) for k in lengths), ""])
        if 1 not in lengths:
            rows.append(["accuracy", str(self.accuracy), *[""] * len(lengths)])
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in cells).rstrip()
            for cells in (enumerate(zip(row, widths, strict=True)) for row in (heads, *rows))
        ]
        left = (("ignored", self.ignored), ("outcome outside the classes", self.outside), ("undefined", self.undefined))
        notes = [f"{self.cases:,} cases", *(f"{count:,} {what}" for what, count in left if count)]
        return "\n".join([", ".join(notes), *lines])


def tally(columns: Columns, scores: LogitScores, sample_weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """What a batch adds to sums (2, 5, columns) and to counts, on the device of the scores.

    A device without numbers of 64 bits (MPS) has its scores, a few per case, copied to the CPU, and its sums are there.
    """
    device = scores.rank.device
    home = torch.device("cpu") if device.type == "mps" else device
    x, rank = columns.values(scores).to(home).double(), scores.rank.to(home).reshape(-1)
    w = _weights(sample_weight, scores.rank, home)
    usable = (w == 0) | ((w >= _LIGHTEST) & (w <= _HEAVIEST))
    if device.type == "cpu" and sample_weight is not None:
        _require(usable | (rank == 0), w)
    weighed = x * w[:, None]
    there, counts = (rank > 0) | (rank == UNDEFINED), w != 0  # a case without weight is none
    undefined = there & counts & (x.isnan().any(dim=1) | scores.log_prob.to(home).reshape(-1).isnan())
    huge = there & usable & ~undefined & (x.isfinite() & ~(weighed.abs() <= _LARGEST)).any(dim=1)
    scored = there & counts & usable & ~undefined & ~huge
    finite = x.isfinite() & scored[:, None]
    totals = [scored, rank == 0, (rank == OUTSIDE) & counts, undefined, (rank != 0) & ~usable, huge]
    weighed, heavy = (torch.where(finite, one, 0.0) for one in (weighed, w[:, None]))
    first, second, count = heavy.sum(dim=0), weighed.sum(dim=0), finite.sum(dim=0)
    if columns.unit == "sequence":
        heavy, weighed = (_by_sequence(one, scores.rank.shape) for one in (heavy, weighed))
    products = [(heavy * heavy).sum(dim=0), (heavy * weighed).sum(dim=0), (weighed * weighed).sum(dim=0)]
    sums = torch.stack([first, second, *products])
    infinite, units = (x.isinf() & scored[:, None]).sum(dim=0), (heavy > 0).sum(dim=0)
    numbers = torch.cat([torch.stack([one.sum() for one in totals]), count, infinite, units])
    return torch.stack([sums, torch.zeros_like(sums)]), numbers


def added(*sums: Tensor) -> Tensor:
    """The sum of sums, each a double and what is left over of it: of each addition the rounding error is kept (Knuth).

    >>> one, tiny = torch.tensor([[1.0], [0.0]]).double(), torch.tensor([[1e-30], [0.0]]).double()
    >>> added(one, tiny, -one)[0]
    tensor([1.0000e-30], dtype=torch.float64)
    """
    total, left = sums[0]
    for high, low in sums[1:]:
        both = total + high
        shadow = both - total
        left = left + low + ((total - (both - shadow)) + (high - shadow))
        total = both
    whole = total + left
    return torch.stack([whole, left - (whole - total)])


def _by_sequence(rows: Tensor, shape: torch.Size) -> Tensor:
    if len(shape) < 2:
        raise ShapeError('unit="sequence" takes logits of the shape (sequences, tokens, classes).')
    return rows.reshape(math.prod(shape[:-1]), shape[-1], rows.shape[1]).sum(dim=1)


def _weights(given: Tensor | None, rank: Tensor, home: torch.device) -> Tensor:
    if given is None:
        return torch.ones(rank.numel(), dtype=torch.float64, device=home)
    if not isinstance(given, Tensor) or given.dtype.is_complex or given.shape != rank.shape:
        what = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
        raise ShapeError(f"sample_weight is a tensor of the shape of y, {tuple(rank.shape)}, not {what}.")
    return given.detach().to(home).double().reshape(-1)


def _require(usable: Tensor, w: Tensor) -> None:
    if not bool(usable.all()):
        case = int((~usable).nonzero()[0, 0])
        raise ShapeError(
            f"the sample weight is {float(w[case])}.",
            "Weights are zero, or between 1e-60 and 1e60.",
            case=case,
            more=int((~usable).sum()) - 1,
        )


def problems(counts: list[int]) -> list[str]:
    """What is wrong with cases that were left out, as sentences."""
    found = dict(zip(COUNTS, counts, strict=False))
    said = {
        "outside": "outcome outside the classes of the logits",
        "undefined": "logits that are NaN, plus infinity, or all minus infinity",
        "unweighable": "sample_weight that is negative, NaN, infinite, above 1e60 or below 1e-60",
        "huge": "score times sample_weight above 1e144",
    }
    return [f"{found[key]:,} case{'s' * (found[key] > 1)}: {words}" for key, words in said.items() if found[key]]


def summary(columns: Columns, sums: Tensor, counts: Tensor) -> StreamedScores:
    """Means and standard errors of sums, which are divided exactly: variances do not cancel."""
    numbers, width = counts.tolist(), columns.width
    totals = dict(zip(COUNTS, numbers, strict=False))
    by_column = [numbers[len(COUNTS) + at * width :][:width] for at in range(3)]
    high, low = sums.tolist()
    parts = [
        [Fraction(total) + Fraction(left) for total, left in zip(*one, strict=True)]
        for one in zip(high, low, strict=True)
    ]
    means = [_mean(*one) for one in zip(*parts, *by_column[1:], strict=True)]
    named = dict(zip(columns.names(), means, strict=True))
    each = len(columns.ks) + 1
    rules = {name: means[at * each : (at + 1) * each] for at, name in enumerate(columns.rules)}
    hits = means[len(columns.rules) * each :]
    return StreamedScores(
        totals["cases"],
        float(parts[0][-1]),
        totals["ignored"],
        totals["outside"],
        totals["undefined"],
        {name: dict(zip(columns.ks, one, strict=False)) for name, one in rules.items()},
        {name: one[-1] for name, one in rules.items()},
        dict(zip(columns.hits, hits, strict=True)),
        named,
    )


def _mean(
    w: Fraction, x: Fraction, ww: Fraction, wx: Fraction, xx: Fraction, infinite: int, units: int
) -> StreamedMean:
    """A mean, and the standard error of a ratio of sums over units."""
    finite = float(x / w) if w else math.nan
    if infinite:
        return StreamedMean(math.inf, None, infinite, finite)
    if units < 2:
        return StreamedMean(finite, None, 0, finite)
    mean = x / w
    squares = max(xx - 2 * wx * mean + ww * mean * mean, Fraction(0))  # of deviations
    return StreamedMean(finite, math.sqrt(squares * units / ((units - 1) * w * w)), 0, finite)


_VERSION = 2


class StreamingScores:
    """Mean padded scores, coverage and accuracy over batches of logits, in a state of fixed size that merges.

    Sums of scores, weights and their products are doubles, and what rounding leaves over when batches are added is kept
    beside them, so that nothing drifts however many batches there are. Another order of batches, processes or merging
    changes results by some 1e-16, relatively. The state is a few kilobytes for the default lengths and rules, and stays
    on the device; nothing waits for the device before `result()`.

    Parameters
    ----------
    ks : sequence of int, default (1, 5, 20)
        Lengths of the lists.
    rules : str, Rule or a sequence of them, default ("brier", "log")
        As in `scores_from_logits`.
    temperature : float, default 1.0
        Logits are divided by it.
    ignore_index : int, default -100
        Outcomes with this value are not scored; `result().ignored` counts them.
    unit : {"case", "sequence"}, default "case"
        What standard errors take as independent: every case, or every sequence, of which a batch holds whole ones as
        (sequences, tokens, classes). Tokens of one text depend on each other, and errors by case are then too small.
    on_error : {"raise", "skip"}, default "raise"
        What `result()` does where cases could not be scored: an error that counts them, or a result that does.
    device : torch.device or str, optional
        Where the state is kept; by default where the first scores are. On MPS, which has no numbers of 64 bits, it is
        the CPU, and the scores of each batch are copied there.

    Examples
    --------
    >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    >>> scores = StreamingScores(ks=(1, 2))
    >>> scores.update(logits, torch.tensor([0, 2, -100]))
    >>> print(scores.result())
    2 cases, 1 ignored
                       top 1           top 2            full
    brier     0.58298 ± 0.41  0.58896 ± 0.41  0.58896 ± 0.41
    log       0.97953 ± 0.57  0.97953 ± 0.57  0.97953 ± 0.57
    coverage       0.5 ± 0.5       0.5 ± 0.5
    """

    def __init__(
        self,
        ks: Any = (1, 5, 20),
        rules: Any = ("brier", "log"),
        *,
        temperature: float = 1.0,
        ignore_index: int = -100,
        unit: str = "case",
        on_error: str = "raise",
        device: Any = None,
    ) -> None:
        self._columns = Columns.of(ks, rules, temperature, ignore_index, unit)
        self._on_error = as_on_error(on_error)
        self._device = None if device is None else _home(device)
        self.reset()

    def reset(self) -> None:
        """Forget all cases."""
        sums, counts = self._columns.shapes
        self._sums = torch.zeros(sums, dtype=torch.float64, device=self._device)
        self._counts = torch.zeros(counts, dtype=torch.int64, device=self._device)
        self._reduced = False

    @torch.no_grad()
    def update(self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None) -> None:
        """Add the cases of a batch.

        Parameters
        ----------
        logits : Tensor of shape (..., classes)
            Unnormalised log probabilities; see `scores_from_logits`.
        y : Tensor of shape (...)
            Class indices of the outcomes.
        sample_weight : Tensor of shape (...), optional
            How much each case counts; a case of weight zero is no case. Weights are zero or between 1e-60 and 1e60.

        Raises
        ------
        OutcomeError, ShapeError
            On the CPU, where an outcome is outside the classes or a weight is none. On another device such cases are
            counted, so that nothing waits, and `result()` names their number.
        """
        self.update_scores(self._columns.score(logits, y), sample_weight)

    @torch.no_grad()
    def update_scores(self, scores: LogitScores, sample_weight: Tensor | None = None) -> None:
        """Add cases that `scores_from_logits` has scored, with the same lengths, rules and temperature.

        Parameters
        ----------
        scores : LogitScores
            Scores, ranks and log probabilities.
        sample_weight : Tensor, optional
            How much each case counts, in the shape of the ranks.

        Examples
        --------
        >>> from toplist.integrations.torch import scores_from_logits
        >>> logits, y = torch.tensor([[2.0, 0.0, 1.0]]), torch.tensor([0])
        >>> total = StreamingScores(ks=(1,), rules="log")
        >>> total.update_scores(scores_from_logits(logits, y, ks=(1,), rules="log"))
        >>> total.result().cases
        1
        """
        self._require_own("more cases")
        self._add(*tally(self._columns, scores, sample_weight))

    def merge(self, *others: StreamingScores) -> None:
        """Add the cases of others, in place.

        Parameters
        ----------
        *others : StreamingScores
            With the same lengths, rules, temperature, ignored index and unit; on any device. They do not change.

        Examples
        --------
        >>> logits, y = torch.tensor([[2.0, 0.0, 1.0]]), torch.tensor([0])
        >>> one, other = StreamingScores(ks=(1,)), StreamingScores(ks=(1,))
        >>> one.update(logits, y)
        >>> other.update(logits, y)
        >>> one.merge(other)
        >>> one.result().cases
        2
        """
        for other in others:
            if not isinstance(other, StreamingScores):
                raise TopListError(f"merge takes StreamingScores, not {type(other).__name__}.")
            if other is self:
                raise TopListError(
                    "these sums are the same as those that they are merged into: cases would count twice."
                )
            self._require_same(other._columns.settings())
            if other._reduced != self._reduced:
                raise TopListError("one of these sums is of all processes and the other of one: reduce both, or none.")
        for other in others:
            self._add(other._sums, other._counts)

    def all_reduce(self, group: Any = None) -> None:
        """Add the cases of all processes, in place: afterwards every process has the sums of all.

        Further batches are refused then, because they would count twice with the next reduction: `reset()` starts
        again.

        Parameters
        ----------
        group : ProcessGroup, optional
            The processes; all of them by default. With NCCL the state must be on a GPU: see `to`.
        """
        self._require_own("another reduction")
        if not (distributed.is_available() and distributed.is_initialized()):
            raise TopListError("there is no process group: call torch.distributed.init_process_group first.")
        if not distributed.get_world_size(group) > 0:
            raise TopListError("this process is not in the group.")
        own = self._columns.fingerprint().to(self._sums.device)
        ends = own.clone()
        distributed.all_reduce(ends, op=distributed.ReduceOp.MAX, group=group)
        if not torch.equal(ends, own):
            raise TopListError("the processes have different ks, rules, temperature, ignore_index or unit.")
        parts = [torch.empty_like(self._sums) for _ in range(distributed.get_world_size(group))]
        distributed.all_gather(parts, self._sums, group=group)
        self._sums = added(*parts)
        distributed.all_reduce(self._counts, op=distributed.ReduceOp.SUM, group=group)
        self._reduced = True

    def result(self) -> StreamedScores:
        """Means, standard errors and counts of all cases so far.

        Returns
        -------
        StreamedScores
            `padded["brier"][5]`, `full["log"]`, `coverage[20]`, `accuracy`, and more.

        Raises
        ------
        TopListError
            Where cases could not be scored, unless `on_error="skip"`.
        """
        return read(self._columns, self._sums, self._counts, self._on_error)

    def to(self, device: Any) -> StreamingScores:
        """Move the state to a device, in place.

        Parameters
        ----------
        device : torch.device or str
            Where the state is kept from now on.

        Returns
        -------
        StreamingScores
            Itself.
        """
        self._device = _home(device)
        self._sums, self._counts = self._sums.to(self._device), self._counts.to(self._device)
        return self

    def state_dict(self) -> dict[str, Any]:
        """The state as tensors and plain values, for `torch.save` and `load_state_dict`."""
        return {
            "version": _VERSION,
            "settings": self._columns.settings(),
            "sums": self._sums.clone(),
            "counts": self._counts.clone(),
            "reduced": self._reduced,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replace the state by one that `state_dict` gave.

        Parameters
        ----------
        state : dict
            Of the same lengths, rules, temperature, ignored index and unit.
        """
        if not isinstance(state, dict) or state.get("version") != _VERSION:
            raise TopListError(f"this is not a state of StreamingScores, version {_VERSION}.")
        self._require_same(state["settings"])
        sums, counts = state["sums"], state["counts"]
        kinds = [(tuple(one.shape), one.dtype) for one in (sums, counts)]
        if kinds != list(zip(self._columns.shapes, (torch.float64, torch.int64), strict=True)):
            raise TopListError("this state of StreamingScores is damaged: its tensors have other shapes or types.")
        device = sums.device if self._device is None else self._device
        self._sums, self._counts = sums.to(device, copy=True), counts.to(device, copy=True)
        self._reduced = bool(state["reduced"])

    def __repr__(self) -> str:
        asked = self._columns
        return f"StreamingScores(ks={asked.ks}, rules={tuple(asked.rules)}, {asked.unit}s, {self._sums.device})"

    def _add(self, sums: Tensor, counts: Tensor) -> None:
        if self._device is None:
            self._device = sums.device
            self.to(self._device)
        self._sums = added(self._sums, sums.to(self._device))
        self._counts = self._counts + counts.to(self._device)

    def _require_own(self, what: str) -> None:
        if self._reduced:
            raise TopListError(
                f"these sums are of all processes, so that {what} would count twice: call reset() first."
            )

    def _require_same(self, settings: dict[str, Any]) -> None:
        own = self._columns.settings()
        for name, value in own.items():
            if settings[name] != value:
                raise TopListError(
                    f"these sums are not of the same scores: {name} is {settings[name]!r}, not {value!r}."
                )


def as_on_error(what: Any) -> str:
    """What is done about cases that could not be scored.

    >>> as_on_error("skip")
    'skip'
    """
    if what not in ("raise", "skip"):
        raise TopListError(f'on_error is "raise" or "skip", not {what!r}.')
    return str(what)


def read(columns: Columns, sums: Tensor, counts: Tensor, on_error: str) -> StreamedScores:
    """The result of a state, or an error that says which cases could not be scored."""
    wrong = problems(counts.tolist())
    if wrong and on_error == "raise":
        raise TopListError(
            f"not all cases could be scored. {'. '.join(wrong)}. "
            'Correct them; on_error="skip" leaves them out, and the result counts them.'
        )
    return summary(columns, sums, counts)


def _home(device: Any) -> torch.device:
    """Where a state can be kept."""
    found = torch.device(device)
    return torch.device("cpu") if found.type == "mps" else found
