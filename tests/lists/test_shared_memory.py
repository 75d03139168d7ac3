"""Nobody reaches the kernels with offsets that lie, and nobody changes offsets behind a check."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import toplist as tl
from toplist.core import kernel
from toplist.lists import from_logs
from toplist.lists.converters import raw_rows

LYING: dict[str, Any] = {
    "beyond the end": np.array([0, 1, 10**9]),
    "far beyond": np.array([0, 1, 2**62]),
    "beyond in the middle": np.array([0, 10**9, 2]),
    "negative": np.array([-5, 1, 2]),
    "all negative": np.array([-(2**40), -(2**40) + 1, -1]),
    "falling": np.array([0, 2, 1]),
    "overflowing": np.array([0, 1, 2**64 - 1], dtype=np.uint64),
    "empty": np.array([], dtype=np.int64),
    "two-dimensional": np.array([[0, 1], [1, 2]]),
    "a scalar": np.array(3),
    "booleans": np.array([False, True, True]),
    "objects": np.array([0, 1, 2], dtype=object),
    "texts": np.array(["0", "1", "2"]),
    "fractions": np.array([0.0, 1.0, 2.0]),
    "complex": np.array([0j, 1j]),
    "dates": np.array(["2020-01-01"] * 3, dtype="datetime64[D]"),
    "huge integers": [0, 1, 2**70],
    "nothing": None,
}
every_lie = pytest.mark.parametrize("offsets", LYING.values(), ids=LYING)
CODES, T = np.array([0, 1]), np.array([0.5, 0.3])


class Matrix:
    """What passes for a CSR matrix."""

    format = "csr"

    def __init__(self, indptr: Any, indices: Any = CODES, data: Any = T, shape: Any = (2, 5)) -> None:
        self.indptr, self.indices, self.data, self.shape = indptr, indices, data, shape


@every_lie
def test_offsets_that_lie_are_refused_at_every_door(offsets: Any) -> None:
    matrix = Matrix(offsets)
    for attempt in (
        lambda: tl.TopLists.from_ragged(offsets, CODES, T, 5),
        lambda: tl.TopLists.from_csr(matrix),
        lambda: from_logs(offsets, CODES, np.log(T), 5),
        lambda: raw_rows((offsets, CODES, T), 5),
        lambda: raw_rows(matrix),
        lambda: tl.diagnose((offsets, CODES, T), [0, 1], space=5),
        lambda: tl.diagnose(matrix, [0, 1], space=5),
        lambda: tl.compare({"a": matrix}, [0, 1], space=5),
    ):
        with pytest.raises(tl.TopListError):
            attempt()


def test_a_sparse_matrix_whose_parts_were_exchanged_is_refused() -> None:
    """scipy does not check what is written to its parts."""
    for lie in (np.array([0, 1, 10**9]), np.array([0, 10**9, 2]), np.array([-3, 1, 2]), np.array([0, 1])):
        matrix = sparse.csr_matrix(([0.5, 0.3], [0, 1], [0, 1, 2]), shape=(2, 5))
        matrix.indptr = lie
        with pytest.raises(tl.TopListError):
            tl.diagnose(matrix, [0, 1])
        with pytest.raises(tl.TopListError):
            tl.TopLists.from_csr(matrix)
    for shape in ((2,), "25", (2, 5.5), None, (3, 5)):
        with pytest.raises(tl.TopListError):
            tl.TopLists.from_csr(Matrix(np.array([0, 1, 2]), shape=shape))
    with pytest.raises(tl.TopListError, match="csc"):
        tl.diagnose(sparse.csc_matrix(np.eye(3)), [0, 1, 2])


def test_offsets_that_end_early_leave_the_entries_behind_them_out() -> None:
    matrix = Matrix(np.array([0, 1, 1]))
    assert len(raw_rows(matrix)[0].confidences) == 1
    assert tl.diagnose(matrix, [0, 1]).cases == 2


def test_what_lists_hand_out_cannot_be_written_to() -> None:
    lists = tl.TopLists.from_ragged([0, 1, 2], CODES, T, 5, ids=np.array(["a", "b"]), log_rest=np.log([0.5, 0.7]))
    for made in (lists, lists[:1], lists[[1, 0]], lists.truncate(1), lists.ordered(), lists.valid()):
        for name in ("offsets", "classes", "confidences", "ids", "log_rest"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(made, name)[0] = 10**6
    with pytest.raises(ValueError, match="read-only"):
        lists.offsets[1] = 10**9
    with pytest.raises(ValueError, match="read-only"):
        tl.ClassSpace([3, 4]).size[0] = 1


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_offsets_are_an_own_copy(dtype: Any) -> None:
    offsets = np.array([0, 1, 2], dtype=dtype)
    matrix = sparse.csr_matrix(([0.5, 0.3], [0, 1], offsets), shape=(2, 5))
    for made in (tl.TopLists.from_ragged(offsets, CODES, T, 5), tl.TopLists.from_csr(matrix)):
        before = tl.score(made, [0, 1])
        offsets[:] = matrix.indptr[:] = 10**9
        np.testing.assert_array_equal(made.offsets, [0, 1, 2])
        np.testing.assert_array_equal(tl.score(made, [0, 1]), before)
        offsets[:] = matrix.indptr[:] = [0, 1, 2]


@pytest.mark.parametrize("value", [math.nan, math.inf, -5.0, 1e300])
def test_confidences_written_after_the_check_give_wrong_numbers_but_never_a_crash(value: float) -> None:
    """Of long and of short lists, complete or not, valid or not: shared memory is the caller's."""
    rng = np.random.default_rng(0)
    for m, k in ((60, None), (6, None), (400, 40), (9, 3)):
        p = rng.dirichlet(np.ones(m), 50)
        t = p.copy() if k is None else np.sort(p, axis=1)[:, -k:].copy() * 0.1
        codes = np.tile(np.arange(m if k is None else k), (50, 1))
        lists = tl.TopLists.from_proba(t) if k is None else tl.TopLists.from_topk(codes, t, m)
        assert np.shares_memory(lists.confidences, t)
        t[rng.random(t.shape) < 0.5] = value
        y = rng.integers(0, m, 50)
        with np.errstate(all="ignore"):
            for rule in ("brier", "log", "spherical", "zero-one", tl.Power(1.5), tl.PseudoSpherical(12)):
                assert tl.score(lists, y, rule=rule).shape == (50,)
            assert len(lists.truncate(2)) == len(lists.strictly_valid()) == len(lists.ordered()) == 50
            assert tl.ranks(lists, y).shape == (50,)


@pytest.mark.skipif(not kernel.NATIVE, reason="the compiled kernel was not built, or not asked for")
class TestTheBinding:
    """The compiled functions themselves refuse what does not fit, with a ValueError."""

    size, log_size = np.array([5.0]), np.log([5.0])

    def rows(self, offsets: Any, codes: Any = CODES, t: Any = T) -> tuple[Any, ...]:
        return (np.asarray(offsets), codes, t, None, self.size, self.log_size)

    @pytest.mark.parametrize("lie", [k for k, v in LYING.items() if isinstance(v, np.ndarray) and v.dtype == np.int64])
    def test_offsets_that_lie(self, lie: str) -> None:
        offsets = LYING[lie]
        n = max(len(offsets) - 1, 0) if offsets.ndim == 1 else 1
        run, slack, flags = kernel._compiled, np.zeros(n), np.zeros(n, np.uint16)
        y, places = np.zeros(n, np.int64), np.zeros(n, np.int32)
        out, hit = np.zeros((7, n)), np.zeros(n, np.uint8)
        weights, room = np.ones(1), (np.zeros(9, np.int64), np.zeros(9), np.zeros(9))
        member = (offsets, CODES, T, slack, np.zeros(n))
        for codes in (CODES, None):
            for attempt in (
                lambda codes=codes: run.inspect(*self.rows(offsets, codes), 53, slack, flags),
                lambda codes=codes: run.reduce(1, 2.0, *self.rows(offsets, codes), slack, flags, y, out, hit),
                lambda codes=codes: run.places(offsets, codes, T, y, places, places.copy()),
                lambda: run.pool(
                    False, [member], weights, self.size, self.log_size, -1, *room, np.zeros(n, np.int64), slack, slack
                ),
            ):
                with pytest.raises((ValueError, TypeError)):
                    attempt()

    def test_lengths_that_do_not_fit(self) -> None:
        run, at = kernel._compiled, np.array([0, 1, 2])
        two, flags, y, places = np.zeros(2), np.zeros(2, np.uint16), np.zeros(2, np.int64), np.zeros(2, np.int32)
        out, hit = np.zeros((7, 2)), np.zeros(2, np.uint8)
        one_code, one = np.zeros(1, np.int64), np.zeros(1)
        p, k = np.full((2, 3), 0.3), np.zeros((2, 2), np.int32)
        columns, left = np.ones((2, 4)), np.zeros(1, np.int32)
        exact = np.zeros((2, 3, run.EXACT_BYTES), np.uint8)
        groups = np.array([0, 1, 0, 1], np.int32)
        attempts = (
            lambda: run.inspect(*self.rows(at, one_code), 53, two, flags),
            lambda: run.inspect(*self.rows(at), 53, one, flags),
            lambda: run.inspect(*self.rows(at), 53, two, flags[:1]),
            lambda: run.inspect(at, CODES, T, one, self.size, self.log_size, 53, two, flags),
            lambda: run.reduce(1, 2.0, *self.rows(at), one, flags, y, out, hit),
            lambda: run.reduce(1, 2.0, *self.rows(at), two, flags[:1], y, out, hit),
            lambda: run.reduce(1, 2.0, *self.rows(at), two, flags, one_code, out, hit),
            lambda: run.reduce(1, 2.0, *self.rows(at), two, flags, y, out, hit[:1]),
            lambda: run.reduce(4, 2.0, *self.rows(at), two, flags, y, out, hit),
            lambda: run.reduce(-1, 2.0, *self.rows(at), two, flags, y, out, hit),
            lambda: run.places(at, CODES, T, one_code, places, places.copy()),
            lambda: run.places(at, CODES, T, y, places[:1], places.copy()),
            lambda: run.select(p, np.zeros((2, 4), np.int32), np.zeros((2, 4)), two),
            lambda: run.select(p, k[:1], np.zeros((2, 2)), two),
            lambda: run.select(p, k, np.zeros((2, 1)), two),
            lambda: run.select(p, k, np.zeros((2, 2)), one),
            lambda: run.accumulate(columns, left + 2, left, groups, exact),
            lambda: run.accumulate(columns, left, left - 1, groups, exact),
            lambda: run.accumulate(columns, left, left[:0], groups, exact),
            lambda: run.accumulate(columns, left, left, groups + 1, exact),
            lambda: run.accumulate(columns, left, left, groups - 1, exact),
            lambda: run.accumulate(columns, left, left, groups[:3], exact),
        )
        for attempt in attempts:
            with pytest.raises(ValueError, match=r"must|room|no such|such"):
                attempt()
        run.accumulate(columns, left, left, groups, exact)
        run.inspect(*self.rows(at), 53, two, flags)
