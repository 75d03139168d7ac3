"""Lists to try the laws on, of every length and over few and many classes, with ties, zeros and invalid ones."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from tests.oracle.dense import RULES

SIZES = (1, 2, 3, 4, 5, 8, 1000, 10**9)
law = settings(
    deadline=None, max_examples=draws(20), derandomize=True, phases=(Phase.explicit, Phase.generate, Phase.shrink)
)
every_rule = pytest.mark.parametrize("name", RULES)


class Replayed:
    """Draws within a test that are the same each time it is run; none depends on the rule."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.at, self.drawn = data, 0, []

    def draw(self, strategy: st.SearchStrategy[Any]) -> Any:
        """The next one, which is made where there is none yet."""
        if self.at == len(self.drawn):
            self.drawn.append(self.data.draw(strategy))
        self.at += 1
        return deepcopy(self.drawn[self.at - 1])


def by_every_rule(test: Callable[..., None]) -> Callable[..., None]:
    """A law of every rule on the same draws: drawing takes longer than scoring."""

    own = signature(test)
    others = [one for one in own.parameters.values() if one.name != "name"]

    @wraps(test)
    def each(*given: Any, **named: Any) -> None:
        drawn = {**dict(zip((one.name for one in others), given, strict=False)), **named}
        again = {key: Replayed(x) for key, x in drawn.items() if isinstance(x, st.DataObject)}
        for name in RULES:
            for one in again.values():
                one.at = 0
            try:
                test(name=name, **drawn | again)
            except Exception as failure:
                failure.add_note(f"by the rule {name!r}")
                raise

    each.__signature__ = own.replace(parameters=others)  # type: ignore[attr-defined]
    return each


@dataclass(frozen=True)
class Case:
    """A list, the number of classes, and what happened."""

    listed: dict[int, float]
    m: int
    y: int

    @property
    def list(self) -> tl.TopList:
        """As the library takes it."""
        return tl.TopList(self.listed, self.m)


@st.composite
def confidences(draw: st.DrawFn, k: int, *, complete: bool, exact: bool) -> list[float]:
    """k confidences. `exact`: sixty-fourths, so that every comparison with the proxy is exact in doubles."""
    if exact:
        cuts = draw(st.lists(st.integers(0, 64), min_size=k, max_size=k))
        steps = np.diff([0, *sorted(cuts)]).tolist()
        if complete and k:
            steps[0] += 64 - sum(steps)
        return [step / 64 for step in steps]
    weights = draw(st.lists(st.floats(0, 1, allow_subnormal=False) | st.integers(0, 4), min_size=k, max_size=k))
    weights = [w if w > 1e-12 else 0.0 for w in weights]
    rest = 0.0 if complete else draw(st.sampled_from([0.0, 1e-9, 0.5, 1.0, 3.0, 50.0]))
    total = sum(weights) + rest
    if total == 0:
        return [1.0 / k] * k if complete else [0.0] * k
    return [w / total for w in weights]


@st.composite
def lists(draw: st.DrawFn, m: int | None = None, *, exact: bool = False, longest: int = 6) -> dict[int, float]:
    """One list over m classes; the classes come in any order."""
    m = draw(st.sampled_from(SIZES)) if m is None else m
    k = draw(st.integers(0, min(m, longest)))
    classes = draw(st.lists(st.integers(0, m - 1), min_size=k, max_size=k, unique=True))
    return dict(zip(classes, draw(confidences(k, complete=k == m, exact=exact)), strict=True))


@st.composite
def cases(draw: st.DrawFn, m: int | None = None, *, exact: bool = False) -> Case:
    """One list with an outcome, which is listed about half of the time."""
    m = draw(st.sampled_from(SIZES)) if m is None else m
    listed = draw(lists(m, exact=exact))
    anything = st.integers(0, m - 1)
    return Case(listed, m, draw(st.sampled_from(sorted(listed)) | anything if listed else anything))


@st.composite
def batches(draw: st.DrawFn, *, exact: bool = False, least: int = 1) -> tuple[tl.TopLists, list[int]]:
    """Lists over one number of classes, or over numbers that differ per case, with their outcomes."""
    m = draw(st.none() | st.sampled_from(SIZES))
    drawn = draw(st.lists(cases(m, exact=exact), min_size=least, max_size=6))
    space = tl.ClassSpace([c.m for c in drawn]) if m is None else m
    return tl.TopLists.from_dicts([c.listed for c in drawn], space), [c.y for c in drawn]


@st.composite
def distributions(draw: st.DrawFn, m: int | None = None) -> list[float]:
    """A distribution over few classes, with ties and zeros."""
    m = draw(st.integers(2, 6)) if m is None else m
    return draw(confidences(m, complete=True, exact=draw(st.booleans())))


def random_batch(seed: int, n: int) -> tuple[tl.TopLists, np.ndarray]:
    """A batch of mixed lengths, large enough to be cut into blocks; a sixth of the lists are invalid."""
    rng = np.random.default_rng(seed)
    m, sizes = 50, rng.integers(0, 12, n)
    flat = np.concatenate([rng.permutation(m)[:k] for k in sizes]).astype(np.int64)
    t = np.concatenate([rng.dirichlet(np.ones(k + 1))[:k] for k in sizes])
    return tl.TopLists.from_ragged(np.concatenate(([0], np.cumsum(sizes))), flat, t, m), rng.integers(0, m, n)
