"""Predictions by models that others have made, as lists with outcomes, split in two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import toplist as tl

SEED = 0
FILES = {
    "CIFAR-10": "cifar10_14nets.npz",
    "newsgroups": "news20_cleanlab.npz",
    "language id": "langid_py3langid_django.npz",
    "FluSight": "flusight_peakweek_2024-25.npz",
    "MNIST": "mnist_cleanlab.npz",
    "CIFAR-10, cross-validated": "cifar10_cleanlab.npz",
}
NETWORKS = "CIFAR-10"


@dataclass(frozen=True, slots=True)
class Model:
    """The lists of one model; cases of one cluster depend on each other, and those of neighbouring times."""

    data: str
    name: str
    lists: tl.TopLists
    y: NDArray[np.int64]
    clusters: NDArray[Any] | None = None
    times: NDArray[Any] | None = None

    def part(self, at: NDArray[np.bool_]) -> Model:
        """Some of its cases."""
        clusters, times = (None if one is None else one[at] for one in (self.clusters, self.times))
        return Model(self.data, self.name, self.lists[at], self.y[at], clusters, times)

    def halves(self) -> tuple[Model, Model]:
        """To learn from, and to be judged on; a cluster stays whole."""
        units = np.arange(len(self.y)) if self.clusters is None else self.clusters
        known = np.unique(units)
        chosen = np.random.default_rng(SEED).permutation(known)[: len(known) // 2]
        first = np.isin(units, chosen)
        return self.part(first), self.part(~first)


def models(folder: Path) -> Iterator[Model]:
    """All of them, data set by data set."""
    for data, file in FILES.items():
        with np.load(folder / file) as found:
            y = found["labels"].astype(np.int64)
            if data == NETWORKS:
                names = [name for name in found.files if name not in ("labels", "classes")]
                yield from (Model(data, name, _lists(found[name]), y) for name in names)
            elif data == "FluSight":
                for team in np.unique(found["model"]).tolist():
                    at = found["model"] == team
                    units = found["location"][at], found["reference_date"][at]
                    yield Model(data, team, _lists(found["probs"][at]), y[at], *units)
            else:
                yield Model(data, _NAMES[data], _lists(found["probs"]), y)


_NAMES = {
    "newsgroups": "a classifier",
    "language id": "py3langid",
    "MNIST": "a classifier",
    "CIFAR-10, cross-validated": "a classifier",
}


def _lists(probs: NDArray[Any]) -> tl.TopLists:
    """Stored values are off one by up to 1e-6, which is divided out."""
    return tl.TopLists.from_proba(probs, normalize=True)
