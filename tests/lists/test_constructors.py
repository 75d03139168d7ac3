"""All roads lead to the same lists: constructors agree, share memory where they can, and never change a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import toplist as tl

T = tl.TopLists
N, K, M = 30, 4, 11
LABELS = [f"class {i}" for i in range(M)]


def content(seed: int = 1) -> tuple[Any, Any]:
    """Codes and confidences of N lists of K classes among M, all valid."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(M, 0.3), size=N)
    order = np.argsort(-p, axis=1, stable=True)[:, :K]
    return order, np.take_along_axis(p, order, axis=1)


def csr_of(classes: Any, t: Any, m: int) -> Any:
    """What scipy makes of it."""
    sparse = pytest.importorskip("scipy.sparse", reason="scipy makes the matrix")
    n, k = classes.shape
    return sparse.csr_array((t.ravel(), classes.ravel(), np.arange(n + 1) * k), shape=(n, m))


ROADS: dict[str, Callable[[Any, Any], tl.TopLists]] = {
    "topk": lambda c, t: T.from_topk(c, t, M),
    "topk lists": lambda c, t: T.from_topk(c.tolist(), t.tolist(), M),
    "topk tuples": lambda c, t: T.from_topk(tuple(map(tuple, c.tolist())), tuple(map(tuple, t.tolist())), M),
    "topk fortran": lambda c, t: T.from_topk(np.asfortranarray(c), np.asfortranarray(t), M),
    "topk reversed": lambda c, t: T.from_topk(c[:, ::-1], t[:, ::-1], M),
    "topk strided": lambda c, t: T.from_topk(np.repeat(c, 2, axis=1)[:, ::2], np.repeat(t, 2, axis=1)[:, ::2], M),
    "topk big-endian": lambda c, t: T.from_topk(c.astype(">i8"), t.astype(">f8"), M),
    "topk whole floats": lambda c, t: T.from_topk(c.astype(float), t, M),
    "topk int16": lambda c, t: T.from_topk(c.astype(np.int16), t, M),
    "topk uint64": lambda c, t: T.from_topk(c.astype(np.uint64), t, M),
    "topk objects": lambda c, t: T.from_topk(c.astype(object), t.astype(object), M),
    "topk long double": lambda c, t: T.from_topk(c, t.astype(np.longdouble), M),
    "ragged": lambda c, t: T.from_ragged(np.arange(N + 1) * K, c.ravel(), t.ravel(), M),
    "ragged int32": lambda c, t: T.from_ragged(
        (np.arange(N + 1) * K).astype(np.int32), c.ravel().astype(np.int32), t.ravel(), M
    ),
    "ragged from a part": lambda c, t: T.from_ragged(
        3 + np.arange(N + 1) * K, np.r_[[-7] * 3, c.ravel(), 99], np.r_[[math.nan] * 3, t.ravel(), 5.0], M
    ),
    "dicts": lambda c, t: T.from_dicts(map(dict, map(zip, c.tolist(), t.tolist())), M),
    "csr": lambda c, t: T.from_csr(csr_of(c, t, M)),
    "one by one": lambda c, t: T.from_ragged(
        np.arange(N + 1) * K,
        np.concatenate([one.batch.classes for one in T.from_topk(c, t, M)]),
        np.concatenate([one.batch.confidences for one in T.from_topk(c, t, M)]),
        M,
    ),
    "log rest": lambda c, t: T.from_topk(c, t, M, log_rest=np.log(1 - t.sum(axis=1))),
    "truncated": lambda c, t: T.from_topk(c, t, M).truncate(K),
    "parts": lambda c, t: T.from_topk(np.r_[c, c], np.r_[t, t], M)[N:],
}  # fmt: skip


@pytest.mark.parametrize("road", ROADS.values(), ids=ROADS)
def test_constructors_agree_on_the_same_content(road: Callable[[Any, Any], tl.TopLists]) -> None:
    """Classes, confidences, rest and every score, case by case."""
    classes, t = content()
    lists, y = road(classes, t), np.arange(N) % M
    assert len(lists) == N
    for i, one in enumerate(lists):
        assert one.confidences == dict(zip(classes[i].tolist(), t[i].tolist(), strict=True))
    np.testing.assert_allclose(lists.rest, 1 - t.sum(axis=1), rtol=1e-12)
    want = tl.score(T.from_topk(classes, t, M), y)
    np.testing.assert_allclose(tl.score(lists, y), want, rtol=1e-13)
    assert lists == T.from_topk(classes, t, M)


@pytest.mark.parametrize(
    "space", [tl.ClassSpace(labels=LABELS), tl.ClassSpace(50, LABELS), tl.ClassSpace(math.inf, LABELS)]
)
def test_labels_and_codes_agree(space: tl.ClassSpace) -> None:
    """Labels are names for codes, in whichever array they come."""
    classes, t = content()
    named = np.array(LABELS)[classes]
    want = T.from_topk(classes, t, space)
    rows = [dict(zip(a, b, strict=True)) for a, b in zip(named.tolist(), t.tolist(), strict=True)]
    for lists in (
        T.from_topk(named, t, space),
        T.from_topk(named.astype(object), t, space),
        T.from_topk(named.tolist(), t, space),
        T.from_ragged(np.arange(N + 1) * K, named.ravel(), t.ravel(), space),
        T.from_dicts(rows, space),
    ):
        assert lists == want
    y = np.arange(N) % M
    assert tl.score(want, np.array(LABELS)[y]).tolist() == tl.score(want, y).tolist()


def test_labels_are_learnt_where_none_are_declared() -> None:
    """In the order of their appearance; the number of classes is the declared one."""
    lists = T.from_dicts([{"b": 0.5}, {}, {"a": 0.25, "b": 0.5}], 1000)
    assert lists.space == tl.ClassSpace(1000, ["b", "a"])
    assert lists.classes.tolist() == [0, 1, 0]
    assert [one.confidences for one in lists] == [{"b": 0.5}, {}, {"a": 0.25, "b": 0.5}]


def test_distributions_are_lists_of_every_class() -> None:
    """However they are written, and whether they are cut afterwards or at once."""
    p = np.random.default_rng(2).dirichlet(np.ones(M), size=N)
    want = T.from_topk(np.tile(np.arange(M), (N, 1)), p, M)
    for full in (T.from_proba(p), T.from_proba(p.tolist()), T.from_proba(np.asfortranarray(p), M)):
        assert full == want
        assert np.array_equal(full.classes, want.classes)
        assert full.rest.tolist() == [0.0] * N
    np.testing.assert_allclose(T.from_csr(csr_of(np.tile(np.arange(M), (N, 1)), p, M)).padded(), want.padded())
    assert T.from_proba(p, k=K) == T.from_proba(p).truncate(K)


@pytest.mark.parametrize(
    "labels", [[2, 0, 1], np.array([2, 0, 1], np.int8), ["c", "a", "b"], np.array(["c", "a", "b"])]
)
def test_hard_labels_are_lists_of_one_with_confidence_one(labels: Any) -> None:
    space = tl.ClassSpace(labels=["a", "b", "c"])
    lists = T.from_labels(labels, space)
    assert [one.confidences for one in lists] == [{"c": 1.0}, {"a": 1.0}, {"b": 1.0}]
    assert lists == T.from_topk(np.array([[2], [0], [1]]), np.ones((3, 1)), space)


@pytest.mark.parametrize("integer", [np.int32, np.int64])
@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_arrays_of_the_right_kind_are_shared_not_copied(integer: Any, real: Any) -> None:
    """Classes and confidences of every constructor that is given such arrays."""
    classes, t = content()
    classes, t = np.ascontiguousarray(classes, dtype=integer), np.ascontiguousarray(t * 0.99, dtype=real)
    offsets = np.arange(N + 1) * K
    csr = SimpleNamespace(indptr=offsets, indices=classes.ravel(), data=t.ravel(), shape=(N, M), format="csr")
    for lists in (
        T.from_topk(classes, t, M),
        T.from_ragged(offsets, classes.ravel(), t.ravel(), M),
        T.from_csr(csr),
    ):
        assert np.shares_memory(lists.classes, classes)
        assert np.shares_memory(lists.confidences, t)
        assert lists.confidences.dtype == real
        assert lists.classes.dtype == integer
        part = lists[3:9]
        assert np.shares_memory(part.classes, classes)
        assert np.shares_memory(part.confidences, t)
    p = np.full((N, 4), 0.25, real)
    assert np.shares_memory(T.from_proba(p).confidences, p)


def test_the_entries_of_ragged_lists_and_sparse_matrices_are_shared_too_but_no_offsets() -> None:
    offsets, classes, t = np.array([0, 2, 2, 3]), np.array([0, 1, 4], np.int32), np.array([0.5, 0.25, 0.75])
    assert not np.shares_memory(T.from_ragged(offsets, classes, t, 5).offsets, offsets)
    shifted = T.from_ragged(offsets[1:], classes, t, 5)  # from the second case on
    assert np.shares_memory(shifted.confidences, t)
    sparse = pytest.importorskip("scipy.sparse", reason="scipy makes the matrix")
    for kind in (sparse.csr_array, sparse.csr_matrix):
        matrix = kind((t, classes, offsets.astype(np.int32)), shape=(3, 5))
        lists = T.from_csr(matrix)
        assert np.shares_memory(lists.confidences, matrix.data)
        assert np.shares_memory(lists.classes, matrix.indices)


def test_memory_that_cannot_be_written_is_fine() -> None:
    """Memory maps and Arrow buffers are read-only."""
    classes, t = content()
    classes, t = classes.copy(), t.copy()
    classes.flags.writeable = t.flags.writeable = False
    lists = T.from_topk(classes, t, M)
    assert np.shares_memory(lists.confidences, t)
    assert np.isfinite(tl.score(lists, np.zeros(N, int))).all()
    assert len(T.from_proba(np.broadcast_to([0.5, 0.5], (9, 2)), k=1)) == 9


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64, ">i4", ">i8"])
def test_other_integers_become_codes_without_changing_value(kind: Any) -> None:
    top = min(int(np.iinfo(kind).max), 2**62)
    lists = T.from_topk(np.array([[0, top]], kind), [[0.5, 0.25]], 2**63)
    assert lists.classes.tolist() == [0, top]


def test_codes_that_do_not_fit_are_refused_and_not_wrapped() -> None:
    """2**64 - 1 is not -1, and 2**63 + 5 is no other class."""
    for code in (2**63 + 5, 2**64 - 1):
        with pytest.raises(tl.TopListError) as caught:
            T.from_topk(np.array([[0, code]], np.uint64), [[0.5, 0.25]], 2**70)
        assert "class -" not in str(caught.value)


@pytest.mark.parametrize("kind", [np.float16, np.int64, np.uint8, bool, ">f4", ">f8", np.longdouble])
def test_other_numbers_become_confidences_without_changing_value(kind: Any) -> None:
    """Half precision as single, the others as double."""
    t = np.array([[1, 0], [0, 1]], kind)
    lists = T.from_topk([[0, 1], [0, 1]], t, 5)
    assert lists.confidences.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert lists.confidences.dtype == (np.float32 if np.dtype(kind).itemsize == 2 else np.float64)


def test_ids_stay_with_their_cases() -> None:
    classes, t = content()
    lists = T.from_topk(classes, t, M, ids=[f"case {i}" for i in range(N)])
    assert lists.ids is not None
    assert lists[[5, 2]].ids.tolist() == ["case 5", "case 2"]
    assert lists[3:5].ids.tolist() == ["case 3", "case 4"]
    assert lists.truncate(1).ids.tolist() == lists.valid().ids.tolist() == lists.ids.tolist()
