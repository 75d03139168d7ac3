"""Public functions and odd arrays: each pair works, or is refused with a sentence of ours. Nothing else happens."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import toplist as tl
from toplist.calibration import calibration_error, reliability
from toplist.postprocess import Conformal, Temperature, geometric_pool, linear_pool, pool_weights

T = tl.TopLists
ODD: dict[str, Any] = {
    "nothing": None,
    "a number": 3,
    "a text": "abc",
    "bytes": b"abc",
    "an object": object(),
    "a function": len,
    "a type": float,
    "a dict": {"a": 1.0},
    "a set": {1, 2},
    "a generator": "generator",
    "no dimension": np.array(0.5),
    "empty": np.array([]),
    "empty of two dimensions": np.empty((0, 3)),
    "without columns": np.empty((3, 0)),
    "of three dimensions": np.full((2, 2, 2), 0.5),
    "booleans": np.array([True, False]),
    "a matrix of booleans": np.eye(2, dtype=bool),
    "objects": np.array([0.5, None], dtype=object),
    "a matrix of objects": np.array([[0.5, None], ["a", {}]], dtype=object),
    "objects in objects": np.array([np.array([1, 2]), [3], None], dtype=object),
    "complex": np.array([[0.5 + 1j, 0.5]]),
    "dates": np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
    "durations": np.array([1, 2], dtype="timedelta64[s]"),
    "records": np.array([(1, 0.5), (0, 0.5)], dtype=[("a", int), ("b", float)]),
    "masked": np.ma.masked_array([[0.5, 0.5], [0.5, 0.5]], mask=[[True, False], [False, False]]),
    "masked nowhere": np.ma.masked_array([[0.5, 0.5], [0.5, 0.5]]),
    "texts": np.array(["0.5", "0.5"]),
    "a matrix of texts": np.array([["0.5", "0.5"]]),
    "bytes in an array": np.array([b"a", b"b"]),
    "raw memory": np.array([b"ab", b"cd"], dtype="V2"),
    "NaN": np.array([np.nan, 1.0]),
    "a matrix of NaN": np.full((2, 2), np.nan),
    "infinities": np.array([[np.inf, -np.inf]]),
    "huge integers": [2**70, -(2**70)],
    "unsigned": np.array([2**64 - 1, 0], dtype=np.uint64),
    "half precision": np.array([[0.5, 0.5]], dtype=np.float16),
    "long doubles": np.array([[0.5, 0.5]], dtype=np.longdouble),
    "other byte order": np.array([[0.5, 0.5]], dtype=">f8"),
    "strided": np.full((4, 4), 0.25)[::2, ::2],
    "backwards": np.array([0, 1, 2])[::-1],
    "ragged": [[0.5], [0.2, 0.3]],
    "lists in lists in lists": [[[0.5]], [[0.5]]],
    "lists of nothing": [None, None],
    "lists of dicts": [{"a": "b"}, {1: {}}],
    "lists of sets": [{1}, {2}],
    "lists of objects": [object(), object()],
    "label and score": [{"label": 1, "score": 0.5}],
    "labels without scores": [[{"label": "a"}]],
    "labels with texts as scores": [[{"label": "a", "score": "high"}]],
    "labels that cannot be told apart": [[{"label": [], "score": 0.5}]],
    "a pair of nothing": (None, None),
    "a pair of texts": ("ab", "cd"),
    "a triple of nothing": (None, None, None),
    "a triple of numbers": (1, 2, 3),
    "an endless list": [1, 2],
}
ODD["an endless list"].append(ODD["an endless list"])

GOOD = T.from_dicts([{0: 0.6, 1: 0.3}, {1: 0.5}], 5)
FITTED = Temperature().fit(T.from_proba(np.random.default_rng(0).dirichlet(np.ones(3), 40)), np.arange(40) % 3)
PUBLIC: dict[str, Callable[[Any], Any]] = {
    "from_topk, classes": lambda x: T.from_topk(x, [[0.5, 0.5]], 5),
    "from_topk, confidences": lambda x: T.from_topk([[0, 1]], x, 5),
    "from_topk, both": lambda x: T.from_topk(x, x, 5),
    "from_ragged, offsets": lambda x: T.from_ragged(x, [0, 1], [0.5, 0.3], 5),
    "from_ragged, classes": lambda x: T.from_ragged([0, 1, 2], x, [0.5, 0.3], 5),
    "from_ragged, confidences": lambda x: T.from_ragged([0, 1, 2], [0, 1], x, 5),
    "from_ragged, log_rest": lambda x: T.from_ragged([0, 1, 2], [0, 1], [0.5, 0.3], 5, log_rest=x),
    "from_ragged, ids": lambda x: T.from_ragged([0, 1, 2], [0, 1], [0.5, 0.3], 5, ids=x),
    "from_dicts": lambda x: T.from_dicts(x, 5),
    "from_dicts, values": lambda x: T.from_dicts([{"a": x}], 5),
    "from_labels": lambda x: T.from_labels(x, 5),
    "from_labels, of a space": lambda x: T.from_labels(x, tl.ClassSpace(labels=["a", "b"])),
    "from_proba": T.from_proba,
    "from_logits": T.from_logits,
    "from_logits, k": lambda x: T.from_logits(x, k=1),
    "from_csr": T.from_csr,
    "the space": tl.ClassSpace,
    "the labels": lambda x: tl.ClassSpace(labels=x),
    "the space of from_proba": lambda x: T.from_proba([[0.5, 0.5]], x),
    "one list": lambda x: tl.TopList(x, 5),
    "diagnose": lambda x: tl.diagnose(x, [0, 1], space=5),
    "diagnose, outcomes": lambda x: tl.diagnose(GOOD, x),
    "compare": lambda x: tl.compare({"a": x}, [0, 1], space=5),
    "compare, outcomes": lambda x: tl.compare({"a": GOOD}, x),
    "score": lambda x: tl.score(x, [0, 1]),
    "score, in a space": lambda x: tl.score(x, [0, 1], space=5),
    "score, outcomes": lambda x: tl.score(GOOD, x),
    "expected_score": lambda x: tl.expected_score(GOOD, x),
    "divergence": lambda x: tl.divergence(GOOD, x),
    "entropy": tl.entropy,
    "accuracy": lambda x: tl.accuracy(x, [0, 1]),
    "accuracy, weights": lambda x: tl.accuracy(GOOD, [0, 1], sample_weight=x),
    "curve": tl.curve,
    "curve, ks": lambda x: tl.curve(GOOD, ks=x),
    "reliability": lambda x: reliability(x, [0, 1]),
    "calibration_error": lambda x: calibration_error(GOOD, x),
    "recalibrators, fit": lambda x: Temperature().fit(x, [0, 1]),
    "recalibrators, outcomes": lambda x: Temperature().fit(GOOD, x),
    "recalibrators, transform": FITTED.transform,
    "conformal, fit": lambda x: Conformal().fit(x, [0, 1]),
    "pools": lambda x: linear_pool([x, GOOD]),
    "pools, all": geometric_pool,
    "pools, weights": lambda x: linear_pool([GOOD, GOOD], weights=x),
    "weights of pools": lambda x: pool_weights([GOOD, GOOD], x),
    "top_k": lambda x: tl.lists.top_k(x, 1),
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_array_works_or_is_refused_by_name(odd: str) -> None:
    """Every function, with one odd array: all that is not ours is collected."""
    wrong = []
    for name, function in PUBLIC.items():
        given = (x for x in (0.5, 0.5)) if odd == "a generator" else ODD[odd]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                function(given)
            except tl.TopListError as error:
                if len(str(error)) < 15 or not str(error).rstrip().endswith((".", "?", ")")):
                    wrong.append(f"{name}: no sentence: {error}")
            except Exception as error:
                wrong.append(f"{name}: {type(error).__name__}: {str(error)[:100]}")
    assert not wrong, "\n".join(wrong)
