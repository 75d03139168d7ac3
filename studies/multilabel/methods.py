"""Ways to predict label sets, each a function from data to lists of the most probable sets of every test case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.linear_model import LogisticRegression

import toplist as tl
from studies.multilabel.data import Data
from toplist.multilabel import BinaryRelevance, LabelPowerset, ProbabilisticChain, Reranker
from toplist.postprocess import linear_pool

LONGEST = 50  # sets on a list
SEED = 0


def _one_label(data: Data) -> LogisticRegression:
    return LogisticRegression(solver="liblinear", C=data.source.strength)


def _lists(model: Any, data: Data) -> tl.TopLists:
    lists: tl.TopLists = model.fit(data.x, data.y).predict_toplist(data.x_test, k=LONGEST)
    return lists


def binary_relevance(data: Data) -> tl.TopLists:
    """A logistic regression per label, and the product of their probabilities."""
    return _lists(BinaryRelevance(_one_label(data)), data)


def calibrated(data: Data) -> tl.TopLists:
    """The same with an isotonic regression per label on cross-fitted probabilities."""
    return _lists(BinaryRelevance(_one_label(data), calibration="isotonic", random_state=SEED), data)


def powerset(data: Data) -> tl.TopLists:
    """A multinomial logistic regression over the label sets of the training part."""
    return _lists(LabelPowerset(LogisticRegression(C=data.source.strength, max_iter=1000)), data)


def chain(data: Data) -> tl.TopLists:
    """A classifier chain in random order, searched for its most probable sets."""
    return _lists(ProbabilisticChain(_one_label(data), order="random", random_state=SEED), data)


def reranked(data: Data) -> tl.TopLists:
    """Binary relevance whose most probable sets a boosted classifier calibrates."""
    return _lists(Reranker(_one_label(data), random_state=SEED), data)


METHODS: Mapping[str, Callable[[Data], tl.TopLists]] = {
    "BR": binary_relevance,
    "BR calibrated": calibrated,
    "powerset": powerset,
    "chain": chain,
    "BR-rerank": reranked,
}
POOL = "pool"


def pool(members: Mapping[str, tl.TopLists]) -> tl.TopLists:
    """The mean of all methods' padded distributions."""
    return linear_pool(members, k=LONGEST)
