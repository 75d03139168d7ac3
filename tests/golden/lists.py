"""Lists for goldens: every kind that has ever mattered, over spaces of every size, drawn from one seed.

Confidences are quotients of whole numbers, which are rounded alike on every machine; nothing here takes a logarithm,
a power or a sum of floating-point numbers. Smaller than 1e-25 none of them is, unless it is zero.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import toplist as tl

SEED = 20_260_101
CASES = 154  # of each space in each precision, and of rests by their logarithms: 4,158 in all
LONGEST = 30  # entries of a list that is not complete
UP_TO_1000 = (2, 3, 4, 7, 10, 50, 1000)
UP_TO_LABEL_SETS = (2, 5, 40, 1000, 10**6, 2**64, 2**100, 2**1000, 2**4000)
SPACES: dict[str, tuple[Any, ...]] = {
    "2 classes": (2,),
    "3 classes": (3,),
    "5 classes": (5,),
    "10 classes": (10,),
    "50 classes": (50,),
    "1000 classes": (1000,),
    "1e6 classes": (10**6,),
    "2**64 classes": (2**64,),
    "2**1000 classes": (2**1000,),
    "2**4000 classes": (2**4000,),
    "infinitely many classes": (math.inf,),
    "2 to 1000 classes per case": UP_TO_1000,
    "2 to 2**4000 classes per case": UP_TO_LABEL_SETS,
}

Entries = list[float]


@dataclass(frozen=True)
class Case:
    """A list and what is known about it: its kind, its classes and confidences, the outcome, the number of classes."""

    kind: str
    classes: list[int]
    confidences: Entries
    outcome: int
    size: Any
    log_rest: float | None = None  # where the rest mass is known by its logarithm

    def __str__(self) -> str:
        entries = ", ".join(f"{code}: {t!r}" for code, t in zip(self.classes[:12], self.confidences[:12], strict=True))
        more = "" if len(self.classes) <= 12 else f", ... ({len(self.classes)} entries)"
        size = self.size if self.size < 10**7 else f"about 2**{math.log2(self.size):g}"
        rest = "" if self.log_rest is None else f", rest mass exp({self.log_rest})"
        return f"{self.kind}: {{{entries}{more}}}{rest} over {size} classes, outcome {self.outcome}"


@dataclass(frozen=True, eq=False)
class Batch:
    """Cases over one space in one precision, and distributions that the outcomes may have been drawn from."""

    space: str
    dtype: str
    cases: tuple[Case, ...]
    truths: tuple[Case, ...]

    @property
    def outcomes(self) -> NDArray[np.int64]:
        """One per case."""
        return np.array([case.outcome for case in self.cases])

    @property
    def digest(self) -> str:
        """Of everything that was drawn: it changes with the draw and with nothing else."""
        return hashlib.sha256(repr((self.cases, self.truths)).encode()).hexdigest()[:16]


@cache
def as_lists(batch: Batch, ordinal: bool) -> tuple[tl.TopLists, tl.TopLists]:
    """The lists in the precision of a batch, and its distributions in double precision."""
    return _as_lists(batch.cases, batch.dtype, ordinal), _as_lists(batch.truths, "float64", ordinal)


def _as_lists(cases: tuple[Case, ...], dtype: str, ordinal: bool) -> tl.TopLists:
    sizes = [case.size for case in cases]
    space = tl.ClassSpace(sizes[0] if len(set(sizes)) == 1 else sizes, ordinal=ordinal)
    offsets = np.cumsum([0, *(len(case.classes) for case in cases)])
    classes = np.array([code for case in cases for code in case.classes], np.int64)
    confidences = np.array([t for case in cases for t in case.confidences], np.float64).astype(dtype)
    log_rest = None if cases[0].log_rest is None else [case.log_rest for case in cases]
    return tl.TopLists.from_ragged(offsets, classes, confidences, space, log_rest=log_rest)


def weights(rng: np.random.Generator, k: int) -> list[int]:
    """Positive whole numbers, from nearly equal to very unequal."""
    values = [int(w) for w in rng.integers(1, 2**20, k)]
    unequal = int(rng.integers(1, 4))
    return [w**unequal for w in values]


def shares(values: list[int], total: int) -> Entries:
    """Quotients of whole numbers."""
    return [w / total for w in values]


def length(rng: np.random.Generator, size: Any, least: int = 1) -> int:
    """Of a list that leaves a class out."""
    return int(rng.integers(least, min(LONGEST, size - 1) + 1))


def usual(rng: np.random.Generator, size: Any) -> Entries:
    """Some mass is left, and no unlisted class has more of it than a listed one."""
    drawn = weights(rng, length(rng, size))
    return shares(drawn, sum(drawn) + min(drawn) * int(rng.integers(1, min(size - len(drawn), 9) + 1)))


def nearly_sure(rng: np.random.Generator, size: Any) -> Entries:
    """One class has nearly all of the mass, and what it leaves goes to others in part."""
    doubt = 10 ** int(rng.integers(1, 13))
    others = [1] * (length(rng, size) - 1)
    total = doubt * (len(others) + 1)
    return shares([total - 1 - len(others), *others], total)


def thin_rest(rng: np.random.Generator, size: Any) -> Entries:
    """Next to nothing is left."""
    drawn = [1 + w % 10**5 for w in weights(rng, length(rng, size))]
    share = 10 ** int(rng.integers(3, 8))
    return shares([w * share for w in drawn], sum(drawn) * share + 1)


def whole(rng: np.random.Generator, size: Any) -> Entries:
    """Every class of a small space, and now and then of 1000; of a larger one, some that have all of the mass."""
    listed = size if size <= 50 or (size == 1000 and rng.random() < 0.2) else length(rng, size)
    drawn = weights(rng, int(listed))
    return shares(drawn, sum(drawn))


def hard_label(rng: np.random.Generator, size: Any) -> Entries:
    """One class has all of the mass."""
    return [1.0]


def half(rng: np.random.Generator, size: Any) -> Entries:
    """Two classes have all of the mass, in halves of halves, so that nothing is rounded."""
    share = 0.5 ** int(rng.integers(1, 30))
    return [1 - share, share]


def ties_of_all(rng: np.random.Generator, size: Any) -> Entries:
    """2 or 4 classes have all of the mass."""
    k = 2 ** int(rng.integers(1, 3))
    return [1 / k] * k


def reject(rng: np.random.Generator, size: Any) -> Entries:
    """No class is listed."""
    return []


def ties(rng: np.random.Generator, size: Any) -> Entries:
    """Few different confidences; now and then all of them are what the unlisted classes have, too."""
    k = length(rng, size)
    if rng.random() < 0.3:
        return [1 / size if size < 2**64 else 2.0**-64] * k
    drawn = [1 + int(w) for w in rng.integers(0, 2, k)]
    return shares(drawn, sum(drawn) + int(rng.integers(0, 2)))


def zeros(rng: np.random.Generator, size: Any) -> Entries:
    """Some confidences are zero: valid where nothing is left for the unlisted classes."""
    drawn = [
        w * int(kept) for w, kept in zip(weights(rng, length(rng, size)), rng.integers(0, 2, LONGEST), strict=False)
    ]
    drawn[0] += 1
    return shares(drawn, sum(drawn) * int(rng.integers(1, 3)))


def invalid(rng: np.random.Generator, size: Any) -> Entries:
    """Some entries are below what an unlisted class has, where there is room for them."""
    k = length(rng, size)
    many = int(min(size, 2**60))
    small = [int(w) for w in rng.integers(0, 900, k)]
    drawn = shares(small, 1000 * many * 2)
    drawn[0] = [drawn[0], 0.25, 0.5][int(rng.integers(0, 3))]
    return drawn


def rounded(rng: np.random.Generator, size: Any) -> Entries:
    """3 to 6 decimals, rounded down, so that what is listed has no more mass than one."""
    drawn = weights(rng, length(rng, size))
    total = sum(drawn) + max(drawn) * int(rng.integers(0, 2)) // 4
    digits = 10 ** int(rng.integers(3, 7))
    return shares([w * digits // total for w in drawn], digits)


def too_much(rng: np.random.Generator, size: Any) -> Entries:
    """A mass above one by less than is forgiven."""
    drawn = weights(rng, length(rng, size))
    total = sum(drawn) * 10**10
    return shares([w * (10**10 + 3) for w in drawn], total)


KINDS: tuple[Callable[[np.random.Generator, Any], Entries], ...] = (
    usual, nearly_sure, thin_rest, whole, hard_label, reject, ties, zeros, invalid, rounded, too_much,
)  # fmt: skip
TRUTHS = (usual, whole, nearly_sure, reject, hard_label, ties)


def case(rng: np.random.Generator, kind: Callable[[np.random.Generator, Any], Entries], size: Any) -> Case:
    """A list of a kind over so many classes, in any order, and an outcome that is listed more often than not."""
    confidences = kind(rng, size)
    k = len(confidences)
    room = int(min(size, max(2 * k, 40)))
    order = [int(code) for code in rng.permutation(room)]
    shuffled = [confidences[int(at)] for at in rng.permutation(k)]
    listed = k == size or (k > 0 and rng.random() < 0.6)
    outcome = order[int(rng.integers(0, k)) if listed else int(rng.integers(k, room))]
    return Case(kind.__name__.replace("_", " "), order[:k], shuffled, outcome, size)


@cache
def batches() -> tuple[Batch, ...]:
    """Every space in both precisions."""
    drawn = []
    for number, (space, sizes) in enumerate(SPACES.items()):
        for precision, dtype in enumerate(("float64", "float32")):
            rng = np.random.Generator(np.random.PCG64([SEED, number, precision]))
            cases = tuple(case(rng, KINDS[at % len(KINDS)], sizes[at % len(sizes)]) for at in range(CASES))
            truths = tuple(case(rng, TRUTHS[at % len(TRUTHS)], one.size) for at, one in enumerate(cases))
            drawn.append(Batch(space, dtype, cases, truths))
    return (*drawn, log_rest_batch())


def log_rest_batch() -> Batch:
    """Lists whose mass is one, up to a rest that is known by its logarithm."""
    rng = np.random.Generator(np.random.PCG64([SEED, 1000]))
    cases = []
    for at in range(CASES):
        drawn = case(rng, (hard_label, ties_of_all, half)[at % 3], (7, 1000, 2**100, 2**4000)[at % 4])
        cases.append(replace(drawn, log_rest=-float(rng.integers(40, 1000))))
    truths = tuple(case(rng, TRUTHS[at % len(TRUTHS)], drawn.size) for at, drawn in enumerate(cases))
    return Batch("7 to 2**4000 classes per case, rest masses by their logarithms", "float64", tuple(cases), truths)


@cache
def top_beta_batch(beta: float) -> Batch:
    """Lists that end where their mass reaches beta: the largest entries of distributions over 20 classes."""
    rng = np.random.Generator(np.random.PCG64([SEED, round(100 * beta)]))
    cases, truths = [], []
    for at in range(CASES):
        drawn = sorted(weights(rng, 20), reverse=True) if at % 7 else [1]
        total = sum(drawn)
        length = next(k for k in range(1, len(drawn) + 1) if sum(drawn[:k]) >= beta * total)
        order = [int(code) for code in rng.permutation(20)]
        listed, everything = shares(drawn[:length], total), shares(drawn, total)
        outcome = order[int(rng.integers(0, 20))]
        cases.append(Case("top-beta list", order[:length], listed, outcome, 20))
        truths.append(Case("distribution", order[: len(drawn)], everything, outcome, 20))
    return Batch("20 classes", "float64", tuple(cases), tuple(truths[1:] + truths[:1]))
