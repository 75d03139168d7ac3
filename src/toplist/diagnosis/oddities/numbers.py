"""What the numbers of lists look like taken together: how coarse they are, and which impossible ones come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist.lists.complaints import SENTINEL

DISTINCT: Final = 200  # different confidences that are told apart; beyond it they are just many
_ODD: Final = 16  # different impossible numbers beyond which none of them is a mark, unless it is a usual one
_FEW: Final = 3  # of them, among which a small one such as -1 may be a mark
_SAMPLE: Final = 512
STEPS: Final = (1, *range(2, 13), 15, 16, 20, 25, 50, 100, 1000, 10_000)  # confidences may be multiples of one over it
_MARKS: Final = (-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, -32768.0, -(2.0**31), -1e20, -1e30, 999.0, 9999.0,
                 99999.0, 32767.0, 2.0**31 - 1, 1e20, 1e30)  # fmt: skip
_ALL: Final = (1 << len(STEPS)) - 1


@dataclass(frozen=True, slots=True)
class Numbers:
    """All confidences of all cases; adding two is adding their cases, in any order and any split."""

    steps: int = _ALL  # a bit for each of STEPS that every confidence is still a multiple of
    inner: int = 0  # confidences strictly between zero and one
    distinct: frozenset[float] | None = frozenset()  # None: more than are told apart
    largest: float = -np.inf  # of all numbers as they are written, if they are finite
    marks: Mapping[float, int] = field(default_factory=dict)  # usual marks for what is not there, and how often
    odd: Mapping[float, int] | None = field(default_factory=dict)  # impossible numbers; None: too many different ones

    def __add__(self, other: Numbers) -> Numbers:
        both = None if self.distinct is None or other.distinct is None else self.distinct | other.distinct
        odd = None if self.odd is None or other.odd is None else _summed(self.odd, other.odd)
        return Numbers(
            self.steps & other.steps,
            self.inner + other.inner,
            None if both is None or len(both) > DISTINCT else both,
            max(self.largest, other.largest),
            _summed(self.marks, other.marks),
            None if odd is None or len(odd) > _ODD else odd,
        )

    @classmethod
    def of(cls, written: NDArray[Any], t: NDArray[Any], impossible: NDArray[np.bool_]) -> Numbers:
        """Of numbers as they are `written`, and the confidences `t` that they stand for.

        >>> t = np.array([0.25, 0.5, -9999, -9999])
        >>> made = Numbers.of(t, t, t < 0)
        >>> made.step, made.mark(), made.mark(in_logs=True)
        (4, (-9999.0, 2), (-9999.0, 2))
        """
        possible = t[(t >= 0) & (t <= 1)] if impossible.any() or not np.isfinite(t).all() else t
        strange, counts = np.unique(written[impossible], return_counts=True)
        found = dict(zip(strange.astype(np.float64).tolist(), counts.tolist(), strict=True))
        return cls(
            _steps(possible),
            int(np.count_nonzero((possible > 0) & (possible < 1))),
            _distinct(possible),
            float(written.max(initial=-np.inf, where=np.isfinite(written))),
            {value: found[value] for value in found if value in _MARKS},
            found if len(found) <= _ODD else None,
        )

    @property
    def step(self) -> int | None:
        """The smallest whole number such that all confidences are multiples of one over it; None if they are finer."""
        return next((q for i, q in enumerate(STEPS) if self.steps >> i & 1), None)

    def mark(self, *, in_logs: bool = False) -> tuple[float, int] | None:
        """The impossible number that comes back most often, and is a usual mark or the only one.

        In logarithms only those that no logarithm can be.
        """
        few = self.odd is not None and len(self.odd) <= _FEW
        alone = self.odd if self.odd is not None and len(self.odd) == 1 else {}
        again = [
            (count, value)
            for value, count in {**self.marks, **alone}.items()
            if count > 1 and (abs(value) >= 99 or (few and value < 0))
            if not in_logs or value > 0 or value <= SENTINEL
        ]
        if not again:
            return None
        count, value = max(again, key=lambda one: (one[0], -one[1]))
        return value, count


def _summed(a: Mapping[float, int], b: Mapping[float, int]) -> dict[float, int]:
    return {value: a.get(value, 0) + b.get(value, 0) for value in {**a, **b}}


def _steps(t: NDArray[Any]) -> int:
    """Which steps all confidences are multiples of; most often a few of them rule out every one."""
    slack = 1e-7 if t.dtype == np.float32 else 1e-12
    left = _ALL
    for part in (t[:_SAMPLE], t[_SAMPLE:]):
        for i, q in enumerate(STEPS):
            if left >> i & 1 and len(part):
                scaled = part.astype(np.float64, copy=False) * q
                if not (np.abs(scaled - np.rint(scaled)) <= slack * q).all():
                    left &= ~(1 << i)
    return left


def _distinct(t: NDArray[Any]) -> frozenset[float] | None:
    if len(np.unique(t[: 4 * _SAMPLE])) > DISTINCT:
        return None
    found = np.unique(t)
    return frozenset(found.astype(np.float64).tolist()) if len(found) <= DISTINCT else None
