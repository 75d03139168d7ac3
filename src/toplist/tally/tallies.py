"""What cases add up to, for several predictors side by side: frozen, and merged by adding."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np

from toplist.tally.exact import Integers


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Exact sums over cases; adding two tallies is adding their cases, in any order and any split.

    With K predictors and R rules, `sums` holds arrays of integers in units of 2**-1074 (counts are plain):

    - (K,): `weight` of the predicted cases; `hit`, `missed` (K, tops), `listed`, `size`, `mass`, `invalid`,
      `thin` (less than half of the mass is listed), and `unpenalised` and `empty` (K, R), each times the weight;
      `invalid_cases` and `unpenalised_infinite` are counts;
    - (K, K): `cases` that both predict;
    - (R, K, K), over the cases where both scores are finite: `both`, how many; `w` and `ww`, the sums of weights and
      of their squares; with x = weight * score of the first of the two: `x`, `wx`, `xx`, and `xy` with the second;
      `infinite`: how often, among the cases of both, the score of the first is infinite.

    `clusters` holds, for each cluster, the weight and the (R, K) sums of x.
    """

    cases: int
    sums: Mapping[str, Integers]
    clusters: Mapping[Hashable, tuple[int, Integers]] = field(default_factory=dict)

    def __add__(self, other: Tally) -> Tally:
        sums = {name: value + other.sums[name] for name, value in self.sums.items()}
        clusters = dict(self.clusters)
        for key, (weight, x) in other.clusters.items():
            mine = clusters.get(key)
            clusters[key] = (weight, x) if mine is None else (mine[0] + weight, mine[1] + x)
        return Tally(self.cases + other.cases, sums, clusters)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return (
            self.cases == other.cases
            and self.sums.keys() == other.sums.keys()
            and all(np.array_equal(value, other.sums[name]) for name, value in self.sums.items())
            and self.clusters.keys() == other.clusters.keys()
            and all(
                w == other.clusters[key][0] and np.array_equal(x, other.clusters[key][1])
                for key, (w, x) in self.clusters.items()
            )
        )

    __hash__ = None  # type: ignore[assignment]


def merge(*parts: Mapping[Hashable, Tally]) -> dict[Hashable, Tally]:
    """Tallies by group of all parts together."""
    out: dict[Hashable, Tally] = {}
    for part in parts:
        for key, one in part.items():
            out[key] = out[key] + one if key in out else one
    return out


def overall(parts: Mapping[Hashable, Tally]) -> Tally:
    """All groups together."""
    first, *others = parts.values()
    for other in others:
        first = first + other
    return first
