"""Scores of any number of batches in kilobytes: compensated sums that stay on the device, and merge."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed

from toplist.errors import TopListError
from toplist.integrations._logits import LogitScores
from toplist.integrations.torch.tallies import Columns, StreamedScores, added, problems, summary, tally

Tensor = torch.Tensor
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
