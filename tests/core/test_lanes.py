"""Short rows of one length are taken four at a time: what is found in a row does not depend on the rows beside it."""

from itertools import pairwise

import numpy as np
import pytest

import toplist as tl
from toplist.core import flags, kernel


def rows_of(offsets, classes, confidences, m):
    size = np.array([float(m)])
    return kernel.Rows(np.asarray(offsets), classes, confidences, None, size, np.log(size))


def draw(rng, sizes, m):
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    classes = np.concatenate([rng.permutation(m)[:size] for size in sizes] or [np.zeros(0, np.int64)])
    parts = [rng.dirichlet(np.full(size + 1, 0.5))[:size] for size in sizes]
    return offsets, classes.astype(np.int64), np.concatenate(parts or [np.zeros(0)])


@pytest.mark.parametrize("k", [0, 1, 2, 5, 10, 31, 32, 40, None])
def test_rows_are_checked_and_scored_as_they_are_one_by_one(k):
    rng = np.random.default_rng(7)
    sizes = rng.integers(0, 40, 43) if k is None else np.full(43, k)
    offsets, classes, confidences = draw(rng, sizes, 60)
    rest, found, _ = kernel.inspect(rows_of(offsets, classes, confidences, 60))
    lists = tl.TopLists.from_ragged(offsets, classes, confidences, 60)
    outcomes = rng.integers(0, 60, 43)
    scores = {rule: tl.score(lists, outcomes, rule=rule) for rule in ("brier", "log", "zero-one")}
    for case, (lo, hi) in enumerate(pairwise(offsets)):
        alone = rows_of([0, hi - lo], classes[lo:hi], confidences[lo:hi], 60)
        own_rest, own_flags, _ = kernel.inspect(alone)
        assert (rest[case], found[case]) == (own_rest[0], own_flags[0]), case
        for rule, values in scores.items():
            single = tl.score(lists[case : case + 1], outcomes[case : case + 1], rule=rule)
            assert values[case] == single[0], (case, rule)


@pytest.mark.parametrize("m", [50, 1 << 40])
@pytest.mark.parametrize("row", range(9))
def test_what_is_wrong_with_a_row_is_said_of_that_row_alone(row, m):
    classes, confidences = np.tile(np.arange(3) * (m // 7), (9, 1)), np.tile([0.5, 0.3, 0.1], (9, 1))
    faults = {
        flags.TWICE: (classes, classes[0, 0]),
        flags.OUTSIDE: (classes, m),
        flags.NOT_FINITE: (confidences, np.nan),
        flags.NEGATIVE: (confidences, -0.2),
        flags.MASS: (confidences, 0.9),
    }
    for bit, (changed, value) in faults.items():
        before, changed[row, 2] = changed[row, 2], value
        _, found, _ = kernel.inspect(rows_of(np.arange(10) * 3, classes.ravel(), confidences.ravel(), m))
        assert np.flatnonzero(found & bit).tolist() == [row], bit
        changed[row, 2] = before
