"""Cases of every kind, and sheets with scores of one's own choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import toplist as tl
from toplist.inference.aggregates import Aggregates, tally
from toplist.scoring.case_scores import METRICS, CaseScores, Grouping
from toplist.scoring.rules import as_rule

RULES = tuple(map(as_rule, ("brier", "log", "spherical")))
TOPS = (1, 3)


def sheet_of(scores: Any, **columns: Any) -> CaseScores:
    """A sheet with these scores, (rules, cases), and next to nothing else."""
    scores = np.atleast_2d(np.asarray(scores, float))
    n = scores.shape[1]
    made = {
        "unpenalised": scores,
        "empty": np.ones_like(scores),
        "metrics": {metric.name: np.zeros(n, np.int8) for metric in METRICS if not metric.per_k},
    }
    return CaseScores(tuple(f"rule {r}" for r in range(len(scores))), scores, **(made | columns))


@dataclass(frozen=True)
class Cases:
    """The same cases under several models, with everything that may come with them."""

    lists: tuple[tl.TopLists, ...]
    y: Any
    weights: Any = None
    groups: Any = None
    clusters: Any = None
    present: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return len(self.lists[0])

    def at(self, where: Any) -> Cases:
        """Some of the cases, in any order."""
        take = lambda x: None if x is None else x[where]  # noqa: E731
        return Cases(
            tuple(one[where] for one in self.lists),
            self.y[where],
            *map(take, (self.weights, self.groups, self.clusters)),
            tuple(map(take, self.present)),
        )

    def sheets(self) -> list[CaseScores]:
        return [CaseScores.from_lists(one, self.y, RULES, ks=TOPS, penalty=0.25) for one in self.lists]

    def tally(self) -> dict[Any, Aggregates]:
        return tally(
            self.sheets(),
            present=self.present,
            weights=self.weights,
            groups=None if self.groups is None else Grouping.of(self.groups),
            clusters=None if self.clusters is None else Grouping.of(self.clusters),
        )


def ragged(rng: np.random.Generator, n: int, m: int, sizes: Sequence[int], *, steps: int = 0) -> tl.TopLists:
    """Lists of these lengths, a third of them not valid; with `steps`, multiples of one over it, which tie."""
    k = rng.choice(sizes, n)
    classes = np.concatenate([rng.permutation(m)[:s] for s in k]) if k.sum() else np.zeros(0, np.int64)
    parts = [
        rng.multinomial(steps, np.full(s + 1, 1 / (s + 1)))[:s] / steps if steps else rng.dirichlet(np.ones(s + 1))[:s]
        for s in k
    ]
    return tl.TopLists.from_ragged(np.concatenate(([0], np.cumsum(k))), classes, np.concatenate(parts), m)


def cases(
    seed: int,
    n: int,
    *,
    weighted: bool = False,
    grouped: bool = False,
    clustered: bool = False,
    missing: bool = False,
    soft: bool = False,
) -> Cases:
    """Short lists, lists with ties, hard labels (with infinite log scores) and distributions over seven classes."""
    rng = np.random.default_rng(seed)
    m = 7
    y = rng.integers(0, m, n)
    guess = np.where(rng.random(n) < 0.6, y, rng.integers(0, m, n))
    lists = (
        ragged(rng, n, m, (0, 1, 2, 4)),
        ragged(rng, n, m, (1, 2, 3, 5), steps=8),
        tl.TopLists.from_labels(guess, m),
        tl.TopLists.from_proba(rng.dirichlet(np.full(m, 0.4), size=n).astype(np.float32)),
    )
    truth: Any = tl.TopLists.from_proba(rng.dirichlet(np.ones(m), size=n)) if soft else y
    return Cases(
        lists,
        truth,
        rng.choice([0.0, 0.1, 1.0, 1 / 3, 1e6], n) if weighted else None,
        rng.choice(["north", "south", "a", ""], n) if grouped else None,
        rng.integers(0, 6, n) if clustered else None,
        tuple(None if a == 1 else rng.random(n) < 0.8 for a in range(4)) if missing else (),
    )
