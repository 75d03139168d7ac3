"""The definitions in plain numpy, over all classes at once: short enough to be seen to be right, for small m.

A definition takes a distribution and gives the score of every outcome.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import toplist as tl

Floats = NDArray[np.float64]
Definition = Callable[[Floats], Floats]


def brier(p: Floats) -> Floats:
    """Squared distance to the outcome."""
    return ((p - np.eye(len(p))) ** 2).sum(axis=1)


def log(p: Floats) -> Floats:
    """Minus the logarithm."""
    return -np.log(p)


def power(a: float) -> Definition:
    """The power family."""
    return lambda p: (1 - a * p ** (a - 1)) / (a - 1) + (p**a).sum()


def pseudospherical(a: float, unit: float = 1.0) -> Definition:
    """The spherical family."""
    return lambda p: (1 - (p / (p**a).sum() ** (1 / a)) ** (a - 1)) / unit


def renyi(a: float) -> Definition:
    """Renyi's."""
    return lambda p: (np.log((p**a).sum()) + a * p ** (a - 1) / (p**a).sum() - a) / (1 - a)


def zero_one(p: Floats) -> Floats:
    """Misclassification, shared among ties."""
    top = p == p.max()
    return 1 - top / top.sum()


def one_vs_rest(happens: Callable[[Floats], Floats], fails: Callable[[Floats], Floats]) -> Definition:
    """A binary score per class."""
    return lambda p: np.array([happens(p)[y] + np.delete(fails(p), y).sum() for y in range(len(p))])


def savage(entropy: Callable[[Floats], Any], gradient: Callable[[Floats], Floats]) -> Definition:
    """G(p) - <G'(p), p> + G'_y(p), with 0 * infinity = 0 (paper, equation 7)."""

    def definition(p: Floats) -> Floats:
        slope = gradient(p)
        return entropy(p) - np.where(p > 0, p * slope, 0.0).sum() + slope

    return definition


def _cubic(t: Floats) -> Floats:
    return t - t**3


def _cubic_slope(t: Floats) -> Floats:
    return 1 - 3 * t**2


def _surprise(t: Floats) -> Floats:
    return np.where(t > 0, -t * np.log(np.where(t > 0, t, 1.0)), 0.0)


def _surprise_slope(t: Floats) -> Floats:
    return np.where(t > 0, -np.log(np.where(t > 0, t, 1.0)) - 1, np.inf)


def _norm_entropy(v: Floats, n: Floats) -> Floats:
    return 1 - np.sqrt((n * v * v).sum(axis=-1))


def _norm_slope(v: Floats, n: Floats) -> Floats:
    return -v / np.sqrt((n * v * v).sum(axis=-1, keepdims=True))


def _square(t: Floats) -> Floats:
    return t * t


@dataclass(frozen=True)
class Entry:
    """A rule of the library, its definition, and how close the two must be."""

    rule: tl.Rule
    definition: Definition
    tol: float = 1e-12


RULES: dict[str, Entry] = {
    "brier": Entry(tl.Brier(), brier),
    "half brier": Entry(tl.Brier(scale_by_half=True), lambda p: brier(p) / 2),
    "log": Entry(tl.Log(), log),
    "spherical": Entry(tl.Spherical(), pseudospherical(2.0)),
    "zero-one": Entry(tl.ZeroOne(), zero_one),
    **{f"power {a}": Entry(tl.Power(a), power(a)) for a in (0.5, 0.9, 1.5, 2.0, 3.0, 7.0)},
    **{f"pseudospherical {a}": Entry(tl.PseudoSpherical(a), pseudospherical(a)) for a in (1.2, 2.0, 3.0)},
    "normalized pseudospherical": Entry(tl.PseudoSpherical(1.2, normalized=True), pseudospherical(1.2, 0.2)),
    **{f"renyi {a}": Entry(tl.Renyi(a), renyi(a)) for a in (0.1, 0.5, 0.9)},
    "one-vs-rest log": Entry(tl.OneVsRest("log"), one_vs_rest(lambda p: -np.log(p), lambda p: -np.log1p(-p))),
    "one-vs-rest brier": Entry(tl.OneVsRest("brier"), brier),
    "one-vs-rest boosting": Entry(
        tl.OneVsRest("boosting"), one_vs_rest(lambda p: np.sqrt((1 - p) / p), lambda p: np.sqrt(p / (1 - p)))
    ),
    "one-vs-rest functions": Entry(tl.OneVsRest((lambda p: (1 - p) ** 2, _square)), brier),
    "separable cubic": Entry(tl.Separable(_cubic, _cubic_slope), savage(lambda p: _cubic(p).sum(), _cubic_slope)),
    "separable log": Entry(
        tl.Separable(_surprise, _surprise_slope), savage(lambda p: _surprise(p).sum(), _surprise_slope)
    ),
    "savage spherical": Entry(tl.Savage(_norm_entropy, _norm_slope), pseudospherical(2.0)),
}
CLOSED = {name: entry.rule for name, entry in RULES.items() if "savage" not in name and "separable" not in name}


def scores(definition: Definition, p: Floats) -> Floats:
    """The score of every outcome under one distribution; a class of probability zero may score infinity."""
    with np.errstate(all="ignore"):
        return definition(np.asarray(p, dtype=np.float64))


def expected(definition: Definition, report: Floats, truth: Floats) -> float:
    """The expected score, with 0 * infinity = 0."""
    s = scores(definition, report)
    return float(np.where(truth > 0, truth * np.where(truth > 0, s, 0.0), 0.0).sum())


def rest_of(listed: dict[int, float]) -> float:
    """The mass that is not listed; what may be rounding is none."""
    rest = math.fsum([1.0, *(-t for t in listed.values())])
    return rest if rest > len(listed) * 2.0**-52 else 0.0


def pad(listed: dict[int, float], m: int, dropped: Iterable[float] = ()) -> Floats:
    """The padded distribution, as it stands. What was `dropped` from a longer list is in the rest mass."""
    rest = math.fsum([rest_of({**listed, **dict(enumerate(dropped, m))}), *dropped])
    p = np.full(m, rest / max(m - len(listed), 1))
    for c, t in listed.items():
        p[c] = t
    return p if len(listed) < m else p / p.sum()


def largest_valid(listed: dict[int, float], m: int) -> dict[int, float]:
    """Remove the smallest confidence while it is below the proxy."""
    left = dict(listed)
    while left and len(left) < m and min(left.values()) < rest_of(left) / (m - len(left)):
        left.pop(min(left, key=left.__getitem__))
    return left


def truncated(listed: dict[int, float], k: int) -> tuple[dict[int, float], list[float]]:
    """The k most confident classes, ties to the one that stands first; and the confidences of the others."""
    falling = sorted(listed.items(), key=lambda item: -item[1])
    return dict(falling[:k]), [t for _, t in falling[k:]]


def small_lists(seed: int, n: int, sizes: Sequence[int] = (2, 3, 4, 5, 8)) -> list[tuple[dict[int, float], int]]:
    """Random lists over few classes. A third are eighths, exact in doubles, so that zeros are frequent; a
    tenth have classes at the proxy exactly; about half are invalid."""
    rng = np.random.default_rng(seed)
    out: list[tuple[dict[int, float], int]] = []
    while len(out) < n:
        m = int(rng.choice(sizes))
        k = m if rng.random() < 0.15 else int(rng.integers(0, m + 1))
        if len(out) % 10 == 9:
            k = m - int(rng.choice([u for u in (1, 2, 4) if u < m]))
            t = np.array([1 - (m - 1) / 16, *[1 / 16] * (k - 1)])
        elif len(out) % 3:
            t = rng.dirichlet(np.full(k + 1, rng.choice([0.3, 1.0, 3.0])))[:k] if k else np.empty(0)
            t = t / t.sum() if k == m else t
        else:
            t = np.diff(np.sort(np.concatenate(([0], rng.integers(0, 9, k))))) / 8 if k else np.empty(0)
            t = t + (1 - t.sum()) * (np.arange(k) == 0) if k == m else t
        classes = rng.permutation(m)[:k]
        out.append(({int(c): float(x) for c, x in zip(classes, t, strict=True)}, m))
    return out
