"""Random predictions with their truth, in sixty-fourths: every sum of them, and of their squares, is exact."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

NAMES = ("ant", "bee", "cat", "dog, the", 'elk "E"', "fox'", "gnu\nnu", "Émeu 🐦", "ANT", "i d")

Lists = list[dict[Any, float]]


@dataclass(frozen=True)
class Drawn:
    """One case per entry: what was predicted, what happened, and what else the truth says about it."""

    ids: list[Any]
    lists: Lists
    outcomes: list[Any]
    soft: Lists
    classes: list[Any]
    groups: list[str]
    weights: list[float]
    clusters: list[int]
    sizes: list[int]

    @property
    def m(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    def take(self, at: list[int]) -> Drawn:
        """Some of the cases, in this order."""
        per_case = ("ids", "lists", "outcomes", "soft", "groups", "weights", "clusters", "sizes")
        return replace(self, **{name: [getattr(self, name)[i] for i in at] for name in per_case})

    def shuffled(self, seed: int) -> Drawn:
        """The same cases in another order."""
        return self.take(chance(seed).sample(range(len(self.ids)), len(self.ids)))


def chance(*seed: Any) -> random.Random:
    """Random choices that are the same every time."""
    return random.Random(" ".join(map(str, seed)))  # noqa: S311


def draw(seed: int, n: int = 40, *, kind: str = "ragged", names: str = "text", ids: str = "int", m: int = 6) -> Drawn:
    """Cases of one kind: ragged, full (all classes listed), top (three each), sure (labels) or hard (or nothing)."""
    rng = chance(seed, kind, names, ids, m)
    classes: list[Any] = list(range(m)) if names == "codes" else list(NAMES[:m])
    longest = {"ragged": m, "full": m, "top": 3, "sure": 1, "hard": 1}[kind]
    lists = [
        _one(rng, classes, longest if kind in ("full", "top", "sure") else rng.randint(0, longest), kind)
        for _ in range(n)
    ]
    if kind in ("ragged", "hard"):
        lists[:2] = [{}, _one(rng, classes, longest, kind)]
    return Drawn(
        ids=[_id(rng, at, ids) for at in range(n)],
        lists=lists,
        outcomes=[rng.choice([*one, *classes]) for one in lists],
        soft=[_one(rng, classes, rng.randint(1, m), "soft") for _ in range(n)],
        classes=classes,
        groups=[rng.choice(["north", "south, far"]) for _ in range(n)],
        weights=[rng.choice([0.5, 1.0, 2.0, 3.0]) for _ in range(n)],
        clusters=[rng.randint(1, 7) for _ in range(n)],
        sizes=[m + rng.randint(0, 3) for _ in range(n)],
    )


def _id(rng: random.Random, at: int, ids: str) -> Any:
    return 10 * at + rng.randint(0, 9) if ids == "int" else f"case {at:05d}{rng.choice(['', ', b', ' ü', chr(34)])}"


def _one(rng: random.Random, classes: list[Any], k: int, kind: str) -> dict[Any, float]:
    """A valid list: no listed confidence is below what each unlisted class gets."""
    chosen = rng.sample(classes, k)
    while True:
        if kind in ("hard", "sure"):
            parts = [64] * k
        else:
            cuts = sorted(rng.choice([0, 8, 16, 32, 48, 64, rng.randint(0, 64)]) for _ in range(k))
            parts = [hi - lo for lo, hi in zip([0, *cuts], cuts, strict=False)]
            if k and (k == len(classes) or kind == "soft" or rng.random() < 0.3):
                parts[0] += 64 - sum(parts)
        rest = 64 - sum(parts)
        if k < len(classes) or rest == 0:
            share = Fraction(rest, max(len(classes) - k, 1))
            if all(part >= share for part in parts):
                parts.sort(reverse=True)
                return {name: part / 64 for name, part in zip(chosen, parts, strict=True)}


def padded(one: dict[Any, float], classes: list[Any], m: int) -> tuple[dict[Any, Fraction], Fraction]:
    """The probability of every class that has a name, and that of each class that has none."""
    rest = 1 - sum(map(Fraction, one.values()))
    share = Fraction(0) if len(one) == m else rest / (m - len(one))
    return {name: Fraction(one[name]) if name in one else share for name in classes}, share


def brier(drawn: Drawn, sizes: list[int] | None = None, *, soft: bool = False) -> list[Fraction]:
    """The padded Brier score of every case, from its definition: the squared distance to what happened."""
    scores = []
    for at, one in enumerate(drawn.lists):
        m = drawn.m if sizes is None else sizes[at]
        p, share = padded(one, drawn.classes, m)
        q, other = padded(drawn.soft[at] if soft else {drawn.outcomes[at]: 1.0}, drawn.classes, m)
        squares = sum(x * x for x in p.values()) + (m - len(p)) * share * share
        cross = sum(p[name] * q[name] for name in p) + (m - len(p)) * share * other
        scores.append(squares - 2 * cross + 1)
    return scores
