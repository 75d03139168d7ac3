"""What is learned from a file and the truth: a recalibrator, the weights of a pool, how long lists should be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toplist.errors import TopListError
from toplist.improve.pools import Ambiguity, PoolWeights, ambiguity, pool_weights
from toplist.improve.recalibration import (
    Beta,
    BucketTemperature,
    Choice,
    Identity,
    Isotonic,
    Recalibrator,
    RestFloor,
    Temperature,
    VectorScaling,
    choose_recalibrator,
)
from toplist.improve.truncation import Truncation, choose_k, choose_mass
from toplist.transformation.reading import Progress, Reading, silent

KINDS: dict[str, type[Recalibrator]] = {
    "identity": Identity,
    "temperature": Temperature,
    "bucket-temperature": BucketTemperature,
    "rest-floor": RestFloor,
    "beta": Beta,
    "isotonic": Isotonic,
    "vector-scaling": VectorScaling,
}


@dataclass(frozen=True, slots=True)
class Fitted:
    """A recalibrator, what it scores on cases that it has not seen, and what it was fitted to."""

    model: Recalibrator
    choice: Choice
    cases: int
    classes: Any  # how many there are
    repairs: Mapping[str, Mapping[str, int]]
    left_out: Mapping[str, int]


def fit_recalibrator(
    path: Any,
    truth: Any,
    *,
    name: str = "predictions",
    kind: str = "auto",
    rule: str = "brier",
    folds: int = 5,
    seed: int = 0,
    reading: Reading | None = None,
    progress: Progress = silent,
) -> Fitted:
    """A recalibrator fitted to a file, and what it scores on cases that it has not seen, beside no change at all.

    `kind` is one of `KINDS`, or "auto" for the one that `choose_recalibrator` takes.
    """
    if kind not in ("auto", *KINDS):
        raise TopListError(f"a kind is auto or one of {', '.join(KINDS)}, not {kind!r}.")
    files = (reading or Reading()).open({name: path}, truth)
    lists, y = files.gather(progress)
    own, candidates = lists[name], None
    if kind != "auto":
        chosen = KINDS[kind]()
        if "rule" in chosen.get_params():
            chosen.set_params(rule="log" if rule == "log" else "brier")
        candidates = [chosen]
    choice = choose_recalibrator(own, y, rule=rule, candidates=candidates, folds=folds, seed=seed)
    model = choice.best if candidates is None else candidates[0].unfitted().fit(own, y)
    return Fitted(model, choice, len(own), files.space.size, files.repairs_made, files.cases.left_out)


def fit_weights(
    predictions: Mapping[str, Any],
    truth: Any,
    *,
    rule: str | None = None,
    pool: Literal["linear", "geometric"] = "linear",
    reading: Reading | None = None,
    progress: Progress = silent,
) -> tuple[PoolWeights, Ambiguity | None]:
    """The weights of a pool with the least score, and what disagreement gains: only a linear pool has that.

    The rule is "brier" or "log"; by default the first for a linear pool, the second for a geometric one.
    """
    lists, y = (reading or Reading()).open(predictions, truth).gather(progress)
    found = pool_weights(lists, y, rule=rule or ("brier" if pool == "linear" else "log"), pool=pool)
    return found, ambiguity(lists, y, weights=found.weights.tolist()) if pool == "linear" else None


def fit_truncation(
    path: Any,
    truth: Any,
    *,
    name: str = "predictions",
    rule: str = "brier",
    by: str = "k",
    reading: Reading | None = None,
    progress: Progress = silent,
) -> Truncation:
    """The length, or the mass, that is nearly as good as the best on these cases, and the curve behind it."""
    choosers: dict[str, Callable[..., Truncation]] = {"k": choose_k, "mass": choose_mass}
    if by not in choosers:
        raise TopListError(f"lists are cut by {' or '.join(choosers)}, not {by!r}.")
    lists, y = (reading or Reading()).open({name: path}, truth).gather(progress)
    return choosers[by](lists[name], y, rule=rule)
