"""Predictions of every kind with what happened, and what they show when they are gathered in parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from tests.inference.case_score_factories import ragged
from toplist.evaluation.model_details import ArrayNames, DetailsAccumulator, Look, accumulate, finish, truth_of
from toplist.inference.results import ModelDetails
from toplist.scoring.case_scores import CaseScores
from toplist.scoring.rules import as_rule

law = settings(
    deadline=None, max_examples=draws(8), derandomize=True, phases=(Phase.explicit, Phase.generate, Phase.shrink)
)
seeds = st.integers(0, 2**32 - 1)

TABULAR = tl.Savage(lambda v, n: 1 - (n * v * v).sum(axis=-1), lambda v, n: -2 * v)  # the Brier score once more


def batch(kind: str, seed: int, n: int) -> tuple[tl.TopLists, Any]:
    """Lists of one kind and what happened, or what is believed to have."""
    rng = np.random.default_rng(seed)
    return KINDS[kind](rng, n)


def _y(rng: np.random.Generator, lists: tl.TopLists, m: int) -> Any:
    """Outcomes of which most are listed."""
    anything = rng.integers(0, m, len(lists))
    if not len(lists.classes):
        return anything
    start, sizes = lists.offsets[:-1], lists.sizes
    pick = np.minimum(start + (rng.random(len(lists)) * sizes).astype(int), len(lists.classes) - 1)
    return np.where((sizes > 0) & (rng.random(len(lists)) < 0.7), lists.classes[pick], anything)


def _short(rng: np.random.Generator, n: int) -> Any:
    lists = _ragged(rng, n, 9, (0, 1, 2, 3, 4, 7, 9))
    return lists, _y(rng, lists, 9)


def _ragged(rng: np.random.Generator, n: int, m: int, sizes: Sequence[int]) -> tl.TopLists:
    """Lists of these lengths, some of them complete, some not valid."""
    k = rng.choice(sizes, n)
    parts = [rng.dirichlet(np.ones(s)) if s == m else rng.dirichlet(np.ones(s + 1))[:s] for s in k]
    classes = [rng.permutation(m)[:s] for s in k]
    return tl.TopLists.from_ragged(
        np.concatenate(([0], np.cumsum(k))),
        np.concatenate([np.zeros(0, int), *classes]),
        np.concatenate([np.zeros(0), *parts]),
        m,
    )


def _ties(rng: np.random.Generator, n: int) -> Any:
    lists = ragged(rng, n, 30, (1, 2, 3, 5, 11), steps=8) if n else tl.TopLists.from_dicts([], 30)
    return lists, _y(rng, lists, 30)


def _long(rng: np.random.Generator, n: int) -> Any:
    lists = _ragged(rng, n, 2000, (0, 5, 40, 130, 131, 257))
    return lists, _y(rng, lists, 2000)


def _dense(rng: np.random.Generator, n: int) -> Any:
    p = rng.dirichlet(np.full(12, 0.3), n).astype(np.float32)
    return tl.TopLists.from_proba(p), rng.integers(0, 12, n)


def _labels(rng: np.random.Generator, n: int) -> Any:
    names = ["cat", "dog", "fox", "owl"]
    space = tl.ClassSpace(labels=names)
    return tl.TopLists.from_labels(rng.choice(names, n), space), rng.choice(names, n)


def _per_case(rng: np.random.Generator, n: int) -> Any:
    sizes = rng.integers(2, 7, n)
    k = np.minimum(rng.integers(0, 7, n), sizes)
    full = k == sizes
    t = [rng.dirichlet(np.ones(s + 1 - all_)).tolist()[:s] for s, all_ in zip(k, full, strict=True)]
    lists = [dict(enumerate(one)) for one in t]
    return tl.TopLists.from_dicts(lists, tl.ClassSpace(sizes)), (rng.random(n) * sizes).astype(int)


def _open(rng: np.random.Generator, n: int) -> Any:
    lists = _ragged(rng, n, 50, (0, 1, 3, 6))
    wide = tl.TopLists.from_ragged(lists.offsets, lists.classes, lists.confidences, math.inf)
    return wide, _y(rng, lists, 50)


def _huge(rng: np.random.Generator, n: int) -> Any:
    lists = _ragged(rng, n, 50, (0, 1, 3, 6))
    t = np.where(rng.random(len(lists.confidences)) < 0.1, 0.0, lists.confidences)
    return tl.TopLists.from_ragged(lists.offsets, lists.classes, t, 2**10000), _y(rng, lists, 50)


def _logits(rng: np.random.Generator, n: int) -> Any:
    """Rest masses that are known by their logarithms alone."""
    z = rng.normal(size=(n, 40)) * rng.choice([1.0, 30.0, 300.0], (n, 1))
    lists = tl.TopLists.from_logits(z, k=12) if n else tl.TopLists.from_dicts([], 40)
    return lists, rng.integers(0, 40, n)


def _sets(rng: np.random.Generator, n: int) -> Any:
    space = tl.LabelSets(["a", "b", "c", "d"])
    codes, sets = (rng.random((n, 16)).argsort(axis=1)[:, :3], rng.integers(0, 2, (n, 4)))
    return tl.TopLists.from_topk(codes, rng.dirichlet(np.ones(4), n)[:, :3].reshape(n, 3), space), sets


def _soft(rng: np.random.Generator, n: int) -> Any:
    lists = _ragged(rng, n, 9, (0, 1, 2, 4, 9))
    return lists, _ragged(rng, n, 9, (1, 3, 9)).truncate(9)


KINDS = {
    "short": _short,
    "ties": _ties,
    "long": _long,
    "dense": _dense,
    "labels": _labels,
    "per case": _per_case,
    "open": _open,
    "huge": _huge,
    "logits": _logits,
    "sets": _sets,
    "soft": _soft,
}


def gathered(
    lists: tl.TopLists, y: Any, rule: Any = "brier", at: Any = None, penalty: float | None = None
) -> DetailsAccumulator:
    """What some of the cases show, as a batch of their own."""
    at = np.arange(len(lists)) if at is None else at
    part, happened, rule = lists[at], y[at], as_rule(rule)
    made = CaseScores.from_lists(part, happened, (rule,), penalty=penalty)
    names = ArrayNames(part.space, part.ids, happened)
    return accumulate(Look("A", part, truth_of(happened, part), made, names, at), rule)


def shown(lists: tl.TopLists, y: Any, rule: Any = "brier") -> ModelDetails:
    """What all cases show."""
    return finish(gathered(lists, y, rule), "A", str(rule))
