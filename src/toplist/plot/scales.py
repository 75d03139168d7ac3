"""Where things stand on an axis: round numbers, ranges, and labels that keep their distance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toplist.plot.numbers import number


@dataclass(frozen=True, slots=True)
class Axis:
    """A range with the round numbers in it."""

    low: float
    high: float
    ticks: tuple[float, ...]
    digits: int

    @property
    def texts(self) -> tuple[str, ...]:
        """The round numbers as text, with the same number of decimals."""
        return tuple(number(t, self.digits) if self.digits < 10 else f"{t:.12g}" for t in self.ticks)


_LEAST = 1e-100  # below this, numbers are as good as zero


def finite(values: Iterable[float | None]) -> list[float]:
    """The values that a place on an axis can be found for."""
    return [v for v in values if v is not None and math.isfinite(v)]


def axis(values: Iterable[float | None], *, ticks: int = 5, margin: float = 0.04) -> Axis:
    """A range for the finite values among these, a little wider than they are, with about so many round numbers.

    >>> axis([0.31, 0.52]).texts
    ('0.35', '0.40', '0.45', '0.50')
    """
    known = finite(values)
    if not known:
        return Axis(0.0, 1.0, (), 0)  # with nothing on it, it has no numbers
    low, high = min(known), max(known)
    if high - low <= max(1e-9 * max(abs(low), abs(high)), _LEAST):  # as good as one value: rounding is no spread
        room = abs(low) * 0.05 if abs(low) > _LEAST else 0.5
        low, high = low - room, high + room
    else:
        room = (high - low) * margin
        low, high = low - room, high + room
    return _ruled(low, high, ticks)


def decimals(values: Iterable[float | None], *, digits: int = 3) -> int:
    """How many decimals show so many digits of the largest finite value.

    >>> decimals([0.31424, 0.5]), decimals([12.5])
    (3, 1)
    """
    largest = max(map(abs, finite(values)), default=0.0)
    return min(9, max(0, digits - 1 - _exponent(largest))) if largest else digits


def edges(values: Iterable[float], count: int = 4) -> tuple[float, ...]:
    """So many rising numbers of the series 1, 2, 5, 10, the last of them below the largest absolute value.

    >>> edges([-0.35, 0.1])
    (0.02, 0.05, 0.1, 0.2)
    """
    largest = max(map(abs, finite(values)), default=0.0) or 1.0
    series = [float(f"{m}e{e}") for e in range(_exponent(largest) - 3, _exponent(largest) + 1) for m in (1, 2, 5)]
    return tuple([x for x in series if x < largest][-count:])


def level(value: float, limits: Sequence[float]) -> int:
    """How many of the limits the absolute value reaches, with the sign of the value.

    >>> level(-0.07, (0.02, 0.05, 0.1, 0.2)), level(math.inf, (0.02, 0.05, 0.1, 0.2)), level(0.01, (0.02,))
    (-2, 4, 0)
    """
    reached = sum(abs(value) >= limit for limit in limits)
    return -reached if value < 0 else reached


def counts(largest: int) -> tuple[int, ...]:
    """Round numbers from 0 or 1 up, closer together near the start: 0, 1, 2, 5, 10, 20.

    >>> counts(70)
    (0, 1, 2, 5, 10, 20, 50)
    """
    return (0, *(m * 10**e for e in range(len(str(largest))) for m in (1, 2, 5) if m * 10**e <= largest))


def spread(places: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """The places moved as little as need be to lie so far apart and, if they fit, within the bounds.

    >>> spread([0.0, 0.0, 5.0], 1.0, 0.0, 10.0)
    [0.0, 1.0, 5.0]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    blocks: list[tuple[float, int]] = []  # the wish of a block's first label, and how many labels it has
    for i in order:
        wish, size = places[i], 1
        # a block that would run into the one before is merged with it, around the mean of what both want
        while blocks and wish < blocks[-1][0] + distance * blocks[-1][1]:
            before, count = blocks.pop()
            wish = (before * count + (wish - distance * count) * size) / (count + size)
            size += count
        blocks.append((wish, size))
    moved = [start + distance * k for start, size in blocks for k in range(size)]
    moved = _fit(moved, distance, low, high)
    result = [0.0] * len(places)
    for i, place in zip(order, moved, strict=True):
        result[i] = place
    return result


def _fit(places: list[float], distance: float, low: float, high: float) -> list[float]:
    for i in range(len(places)):
        places[i] = max(places[i], low if i == 0 else places[i - 1] + distance)
    for i in reversed(range(len(places))):
        places[i] = min(places[i], high if i == len(places) - 1 else places[i + 1] - distance)
    return places


def _ruled(low: float, high: float, ticks: int) -> Axis:
    m, e = _step((high - low) / ticks)
    step = float(f"{m}e{e}")
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if last - first < 2:
        return _ruled(low, high, 2 * ticks)
    marks = (float(f"{i * m}e{e}") for i in range(first, last + 1))  # not i * step: 3 * 0.1 is not 0.3
    return Axis(low, high, tuple(marks), max(0, -e))


def _exponent(x: float) -> int:
    return int(f"{x:e}".partition("e")[2])


def _step(x: float) -> tuple[int, int]:
    """The next number of the series 1, 2, 5, 10, as digit and exponent."""
    e = _exponent(x)
    return next(((m, e) for m in (1, 2, 5) if float(f"{m}e{e}") >= x * (1 - 1e-9)), (1, e + 1))
