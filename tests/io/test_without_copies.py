"""Lists of Arrow are read where they lie."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import toplist as tl
from toplist.io.tables import open_source
from toplist.lists.space import as_space


def lists_of_arrow(n: int, k: int = 3) -> pa.Table:
    rng = np.random.default_rng(0)
    at = pa.array(np.arange(n + 1, dtype=np.int32) * k)
    confidences = -np.sort(-rng.dirichlet(np.ones(k + 1), n)[:, :k], axis=1)
    classes = rng.permuted(np.tile(np.arange(10), (n, 1)), axis=1)[:, :k]
    return pa.table(
        {
            "case": np.arange(n),
            "classes": pa.ListArray.from_arrays(at, pa.array(classes.ravel())),
            "confidences": pa.ListArray.from_arrays(at, pa.array(confidences.ravel())),
        }
    )


def addresses(table: pa.Table) -> tuple[int, int]:
    return tuple(table[name].chunk(0).values.buffers()[1].address for name in ("classes", "confidences"))


def test_lists_of_a_table_of_arrow_have_its_memory():
    table = lists_of_arrow(100)
    lists = tl.read_lists(table, 10)
    assert (lists.classes.ctypes.data, lists.confidences.ctypes.data) == addresses(table)


def test_batches_of_a_large_table_of_arrow_lie_one_after_the_other_in_its_memory():
    table = lists_of_arrow(300_000)
    batches = list(open_source(table, "a", tl.ReadOptions(), as_space(10)).batches())
    assert len(batches) > 1
    classes, confidences = addresses(table)
    done = 0
    for batch in batches:
        assert batch.confidences.ctypes.data == confidences + 8 * done
        assert batch.classes.buffers()[1].address + 8 * batch.classes.offset == classes + 8 * done
        done += len(batch.confidences)
    assert done == 900_000
