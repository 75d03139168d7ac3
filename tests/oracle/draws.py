"""Random lists of every kind that has ever been a numerical trap, a whole batch at a time.

Sizes run from 2 to 1e9 classes and differ from case to case, lengths from 0 to 30. The kinds are named, so that a
bad score can be traced to what is special about its list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.oracle.doubled import as_doubled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
WIDTH = 30
EPS = 2.0**-52


@dataclass(frozen=True, slots=True)
class Draw:
    """Lists as rectangles: row i holds its first `lengths[i]` columns."""

    confidences: NDArray[Any]
    classes: Ints
    lengths: Ints
    sizes: Ints
    outcomes: Ints
    kinds: NDArray[Any]

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def listed(self) -> NDArray[np.bool_]:
        """Which cells of the rectangles are listed."""
        return np.arange(WIDTH) < self.lengths[:, None]

    @property
    def ragged(self) -> tuple[Ints, Ints, NDArray[Any]]:
        """Offsets, classes and confidences, as flat columns."""
        offsets = np.concatenate(([0], np.cumsum(self.lengths)))
        return offsets, self.classes[self.listed], self.confidences[self.listed]

    def row(self, i: int | np.integer[Any]) -> tuple[list[float], int, int]:
        """The confidences, the number of classes and the place of the outcome, -1 if it is not listed."""
        k = int(self.lengths[i])
        place = np.flatnonzero(self.classes[i, :k] == self.outcomes[i])
        values = [float(t) for t in self.confidences[i, :k]]
        return values, int(self.sizes[i]), int(place[0]) if len(place) else -1


Part = tuple[Floats, Ints, Ints]  # confidences, lengths, sizes
Maker = Callable[[np.random.Generator, int, bool], Part]


def draw(rng: np.random.Generator, n: int, dtype: Any) -> Draw:
    """About n lists, of all kinds in equal shares, with an outcome for each."""
    single = dtype == np.float32
    each = -(-n // len(KINDS))
    parts = [make(rng, each, single) for make in KINDS.values()]
    t, k, m = (np.concatenate(column) for column in zip(*parts, strict=True))
    t = np.where(np.arange(WIDTH) < k[:, None], t, 0.0).astype(dtype)
    order = np.argsort(np.where(np.arange(WIDTH) < k[:, None], rng.random(t.shape), 2.0), axis=1)
    t = np.take_along_axis(t, order, axis=1)
    start, step = rng.integers(0, m), rng.integers(1, np.maximum(m // np.maximum(k, 1), 1) + 1)
    classes = (start[:, None] + np.arange(WIDTH) * step[:, None]) % m[:, None]
    # One of the listed classes, the most confident one, or a class between the last listed one and the first.
    lucky = np.where(rng.random(len(k)) < 0.5, t.argmax(axis=1), rng.integers(0, np.maximum(k, 1)))
    missed = (start + np.where(k > 0, (k - 1) * step + 1, 0)) % m
    listed = (rng.random(len(k)) < 0.6) & (k > 0) | (k == m)
    y = np.where(listed, np.take_along_axis(classes, lucky[:, None], axis=1)[:, 0], missed)
    return Draw(t, classes, k, m, y, np.repeat(np.array(list(KINDS)), each))


def _sizes(rng: np.random.Generator, n: int) -> tuple[Ints, Ints]:
    """Numbers of classes, log-uniform, and lengths below them."""
    m = np.rint(np.exp(rng.uniform(np.log(2), np.log(1e9), n))).astype(np.int64)
    return rng.integers(1, np.minimum(WIDTH, m - 1) + 1), m


def _shares(rng: np.random.Generator, k: Ints) -> Floats:
    """Positive numbers that sum to one over the first k columns, from nearly equal to very unequal."""
    shape = np.exp(rng.uniform(np.log(0.2), np.log(20.0), len(k)))
    g = np.where(np.arange(WIDTH) < k[:, None], rng.gamma(shape[:, None], size=(len(k), WIDTH)) + 1e-30, 0.0)
    return g / np.maximum(g.sum(axis=1, keepdims=True), 1e-300)


def _spread(rng: np.random.Generator, n: int, single: bool) -> Part:
    k, m = _sizes(rng, n)
    mass = np.where(rng.random(n) < 0.5, rng.random(n), 1 - 10.0 ** -rng.uniform(0, 12, n))
    return _shares(rng, k) * mass[:, None], k, m


def _near_sure(rng: np.random.Generator, n: int, single: bool) -> Part:
    k, m = _sizes(rng, n)
    doubt = 10.0 ** -rng.uniform(1, 7 if single else 14, n)
    t = np.zeros((n, WIDTH))
    t[:, 1:] = (_shares(rng, k - 1) * (doubt * rng.random(n))[:, None])[:, :-1]
    t[:, 0] = 1 - doubt
    return t, k, m


def _with_rest(t: Floats, rest: Floats, single: bool) -> Floats:
    """Move the largest confidence so that the rest mass is what it should be, to the rounding of that confidence."""
    t = t.astype(np.float32).astype(np.float64) if single else t.copy()
    total = as_doubled(np.zeros(len(t)))
    for column in t.T:
        total = total + column
    t[np.arange(len(t)), t.argmax(axis=1)] += (1.0 - total - rest).hi
    return t


def _thin_rest(rng: np.random.Generator, n: int, single: bool) -> Part:
    """A rest mass down to 1e-14: all digits of it are in the rounding of the listed ones."""
    k, m = _sizes(rng, n)
    rest = np.maximum(1e-14, 1.6 * k * EPS) * 10.0 ** rng.uniform(0, 4, n)
    return _with_rest(_shares(rng, k), rest, single), k, m


def _snapped(rng: np.random.Generator, n: int, single: bool) -> Part:
    """A rest mass that is rounding, not mass."""
    k, m = _sizes(rng, n)
    return _with_rest(_shares(rng, k), rng.random(n) * k * EPS, single), k, m


def _tied(rng: np.random.Generator, n: int, single: bool) -> Part:
    """Some listed confidences equal the proxy exactly: all numbers are sums of a few powers of two."""
    high = 9 if single else 22
    e, f, tied = rng.integers(0, high, n), rng.integers(1, high, n), rng.integers(1, 6, n)
    proxy = 0.5 ** (e + f)
    tied = np.where((1 - 0.5**f) - tied * proxy >= proxy, tied, 0)
    t = np.where(np.arange(WIDTH) <= tied[:, None], proxy[:, None], 0.0)
    t[:, 0] = 1 - 0.5**f - tied * proxy
    return t, tied + 1, 2**e + tied + 1


def _uniform(rng: np.random.Generator, n: int, single: bool) -> Part:
    """Every confidence is 1 / m, up to rounding: below, at or above the proxy by less than a digit."""
    k, m = _sizes(rng, n)
    m = np.where(rng.random(n) < 0.5, np.minimum(m, k + rng.integers(1, 40, n)), m)
    m = np.where(rng.random(n) < 0.3, 2 ** np.ceil(np.log2(m)).astype(np.int64), m)
    return np.repeat(1.0 / m[:, None], WIDTH, axis=1), k, m


def _zeros(rng: np.random.Generator, n: int, single: bool) -> Part:
    t, k, m = _spread(rng, n, single)
    t = np.where(rng.random(t.shape) < 0.4, 0.0, t)
    whole = (rng.random(n) < 0.4)[:, None] & (t.sum(axis=1, keepdims=True) > 0)
    return np.where(whole, t / np.maximum(t.sum(axis=1, keepdims=True), 1e-300), t), k, m


def _invalid(rng: np.random.Generator, n: int, single: bool) -> Part:
    """Confidences around and below the proxy, with one large one now and then."""
    k, m = _sizes(rng, n)
    m = np.where(rng.random(n) < 0.7, np.minimum(m, k + rng.integers(1, 200, n)), m)
    t = np.where(np.arange(WIDTH) < k[:, None], rng.random((n, WIDTH)) ** 2 * 2.0 / m[:, None], 0.0)
    t *= np.minimum(1.0, 0.9 / np.maximum(t.sum(axis=1), 1e-300))[:, None]
    t[:, 0] += np.where(rng.random(n) < 0.5, 0.9 * rng.random(n) * (1 - t.sum(axis=1)), 0.0)
    return t, k, m


def _over(rng: np.random.Generator, n: int, single: bool) -> Part:
    """A mass above one by less than the tolerance."""
    t, k, m = _near_sure(rng, n, single) if rng.random() < 0.5 else _spread(rng, n, single)
    excess = (4e-7 if single else 1e-9) * np.where(rng.random(n) < 0.5, 1.0, rng.random(n))
    return t / t.sum(axis=1, keepdims=True) * (1 + excess)[:, None], k, m


def _complete(rng: np.random.Generator, n: int, single: bool) -> Part:
    """Every class is listed; the mass is one up to the tolerance."""
    k = rng.integers(2, WIDTH + 1, n)
    t = _shares(rng, k)
    doubt = np.where(rng.random(n) < 0.3, 10.0 ** -rng.uniform(1, 7 if single else 14, n), 1.0)
    t = t * doubt[:, None]
    t[:, 0] += 1 - doubt
    off = (4e-7 if single else 4e-9) * rng.uniform(-1, 1, n) * (rng.random(n) < 0.5)
    return t * (1 + off)[:, None], k, k.copy()


def _hard(rng: np.random.Generator, n: int, single: bool) -> Part:
    _, m = _sizes(rng, n)
    t = np.zeros((n, WIDTH))
    t[:, 0] = 1.0
    return t, np.ones(n, np.int64), m


def _empty(rng: np.random.Generator, n: int, single: bool) -> Part:
    _, m = _sizes(rng, n)
    return np.zeros((n, WIDTH)), np.zeros(n, np.int64), m


KINDS: dict[str, Maker] = {
    "spread": _spread,
    "near sure": _near_sure,
    "thin rest": _thin_rest,
    "snapped": _snapped,
    "tied": _tied,
    "uniform": _uniform,
    "zeros": _zeros,
    "invalid": _invalid,
    "over": _over,
    "complete": _complete,
    "hard": _hard,
    "empty": _empty,
}
