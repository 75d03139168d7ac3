"""The same sums as a metric of torchmetrics, for Lightning and for `MetricCollection`."""

from __future__ import annotations

from typing import Any

import torch

from toplist.errors import TopListError
from toplist.integrations.torch.streaming import Columns, StreamedScores, added, as_on_error, read, tally

try:
    from torchmetrics import Metric
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "torchmetrics":
        raise
    raise TopListError("this metric needs torchmetrics 1.4 or later: pip install 'toplist[torchmetrics]'.") from None
except Exception as error:
    raise TopListError(
        f"torchmetrics is installed and cannot be imported ({error}). Where torchvision is made for another torch, "
        "install the one for this torch, or pip uninstall torchvision."
    ) from error

Tensor = torch.Tensor


def _added(states: Tensor) -> Tensor:
    """The sums of several states, one after the other."""
    return added(*states)


class PaddedScores(Metric):
    """Mean padded scores, coverage and accuracy as a metric of torchmetrics.

    The states are those of `StreamingScores`: compensated sums and counts, which torchmetrics adds over batches and
    processes. On MPS, which has no doubles, they stay on the CPU.

    Parameters
    ----------
    ks : sequence of int, default (1, 5, 20)
        Lengths of the lists.
    rules : str, Rule or a sequence of them, default ("brier", "log")
        As in `scores_from_logits`.
    temperature : float, default 1.0
        Logits are divided by it.
    ignore_index : int, default -100
        Outcomes with this value are not scored.
    unit : {"case", "sequence"}, default "case"
        What the standard errors of `result()` take as independent.
    on_error : {"raise", "skip"}, default "raise"
        Whether cases that could not be scored are an error, or are left out and counted by `result()`.
    **kwargs
        What `torchmetrics.Metric` takes, such as `dist_sync_on_step`.

    Examples
    --------
    >>> metric = PaddedScores(ks=(1, 2), rules="brier")
    >>> metric.update(torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), torch.tensor([0, 2]))
    >>> {name: round(float(value), 4) for name, value in metric.compute().items()}
    {'brier_top1': 0.583, 'brier_top2': 0.589, 'brier_full': 0.589, 'accuracy': 0.5, 'coverage_top2': 0.5}
    """

    is_differentiable = False
    higher_is_better = None
    full_state_update = False
    sums: Tensor
    counts: Tensor
    settings: Tensor

    def __init__(
        self,
        ks: Any = (1, 5, 20),
        rules: Any = ("brier", "log"),
        *,
        temperature: float = 1.0,
        ignore_index: int = -100,
        unit: str = "case",
        on_error: str = "raise",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._columns = Columns.of(ks, rules, temperature, ignore_index, unit)
        self._on_error = as_on_error(on_error)
        sums, counts = self._columns.shapes
        self.add_state("sums", torch.zeros(sums, dtype=torch.float64), dist_reduce_fx=_added)
        self.add_state("counts", torch.zeros(counts, dtype=torch.int64), dist_reduce_fx="sum")
        # Collections share one state among metrics whose states are equal: no two of different settings are.
        self.add_state("settings", self._columns.fingerprint(), dist_reduce_fx="max")

    def update(self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None) -> None:
        """Add the cases of a batch.

        Parameters
        ----------
        logits : Tensor of shape (..., classes)
            Unnormalised log probabilities.
        y : Tensor of shape (...)
            Class indices of the outcomes.
        sample_weight : Tensor of shape (...), optional
            How much each case counts.
        """
        sums, counts = tally(self._columns, self._columns.score(logits, y), sample_weight)
        self.sums = added(self.sums, sums.to(self.sums.device))
        self.counts = self.counts + counts.to(self.counts.device)

    def compute(self) -> dict[str, Tensor]:
        """Means of all cases, of all processes, by names such as `brier_top5`, `log_full`, `accuracy`.

        Returns
        -------
        dict of str to Tensor
            Doubles on the device of the metric.
        """
        home = self.sums.device
        means = self._read().named.items()
        return {name: torch.tensor(mean.value, dtype=torch.float64, device=home) for name, mean in means}

    def result(self) -> StreamedScores:
        """Means with standard errors and counts of all cases, of all processes: every process has to call it.

        Returns
        -------
        StreamedScores
            As from `StreamingScores.result`.
        """
        with self.sync_context(dist_sync_fn=self.dist_sync_fn, should_sync=self._to_sync):
            return self._read()

    def set_dtype(self, dst_type: Any) -> PaddedScores:
        """Nothing: sums are doubles, and stay so."""
        return self

    def _apply(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Move the states, which stay doubles; not to MPS, which has none."""

        def moved(state: Tensor) -> Tensor:
            there = fn(torch.zeros(1, device=state.device)).device
            return state.to("cpu" if there.type == "mps" else there)

        return super()._apply(moved, *args, **kwargs)

    def _read(self) -> StreamedScores:
        if not torch.equal(self.settings, self._columns.fingerprint().to(self.settings.device)):
            raise TopListError("these sums are merged from metrics with different ks, rules, temperature or unit.")
        return read(self._columns, self.sums, self.counts, self._on_error)
