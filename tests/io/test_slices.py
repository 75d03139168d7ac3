"""Some rows of a table read as those of the whole table do, and nothing else is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from tests.evaluation.random_files import write
from toplist.errors import FileError
from toplist.io.options import ReadOptions
from toplist.io.readers.base import Span, spans_between
from toplist.io.sources import OpenTable
from toplist.io.tables import open_source

N = 50
SIZES = (17, 3, 30)  # rows of the files of a dataset


def rows_of(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [
        {"case": f"c{i}", "classes": ["a", "b"], "confidences": [i / 100, 0.2]} for i in range(start, start + count)
    ]


def dataset(folder: Path, kind: str) -> OpenTable:
    """A table in three files with groups, or batches, of four rows."""
    folder.mkdir(exist_ok=True)
    start = 0
    for at, size in enumerate(SIZES):
        table = pa.Table.from_pylist(rows_of(size, start))
        path = folder / f"part-{at}.{kind}"
        if kind == "parquet":
            pa.parquet.write_table(table, path, row_group_size=4)
        elif kind == "arrow":
            pa.feather.write_feather(table, path, chunksize=4, compression="uncompressed")
        else:
            write(path, rows_of(size, start))
        start += size
    return open_source(str(folder), "m", ReadOptions())


def read(table: OpenTable) -> list[tuple[str, int, str, tuple[float, ...]]]:
    """File, row, id and confidences of every case."""
    found = []
    for batch in table.batches():
        lists = np.split(batch.confidences, batch.offsets[1:-1])
        cases = zip(batch.rows.tolist(), batch.ids.to_pylist(), lists, strict=True)
        found += [(batch.source, row, one, tuple(values.tolist())) for row, one, values in cases]
    return found


@pytest.mark.parametrize("kind", ["parquet", "arrow", "jsonl"])
def test_a_range_of_rows_has_the_files_and_the_row_numbers_of_the_whole(tmp_path: Path, kind: str) -> None:
    table = dataset(tmp_path / "m", kind)
    whole = read(table)
    for lo, hi in ((0, N), (0, 1), (5, 9), (16, 21), (18, 49), (49, 50), (17, 20)):
        part = table.part(spans_between(SIZES, lo, hi))
        assert read(part) == whole[lo:hi]
        assert part.reader.rows == hi - lo
        assert part.reading == table.reading
    groups = [(4, 4, 4, 4, 1), (3,), (4, 4, 4, 4, 4, 4, 4, 2)]
    assert table.reader.sizes() == ([None] * 3 if kind == "jsonl" else groups)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_groups_of_rows_that_are_not_asked_for_are_not_read(tmp_path: Path, kind: str) -> None:
    table = dataset(tmp_path / "m", kind)
    path = tmp_path / "m" / "part-2.parquet" if kind == "parquet" else tmp_path / "m" / "part-2.arrow"
    whole = read(table)
    data = bytearray(path.read_bytes())
    if kind == "parquet":
        meta = pa.parquet.ParquetFile(path).metadata.row_group(0).column(0)
        start = meta.dictionary_page_offset or meta.data_page_offset
        data[start : start + 40] = bytes(40)
    else:
        at = bytes(data).index(b"c20")  # the values of the first batch
        data[at : at + 3] = b"\xff\xff\xff"
    path.write_bytes(bytes(data))
    with pytest.raises(FileError):
        read(table.part([Span(2, 0, 4)]))
    assert read(table.part([Span(2, 6, 30)])) == whole[26:]


def test_rows_of_numpy_are_read_where_they_lie(tmp_path: Path) -> None:
    values = np.random.default_rng(0).dirichlet(np.ones(4), N)
    path = tmp_path / "p.npy"
    np.save(path, values)
    table = open_source(str(path), "p", ReadOptions())
    part = list(table.part([Span(0, 13, 29)]).batches())
    assert np.array_equal(np.concatenate([one.confidences for one in part]), values[13:29].ravel())
    assert part[0].rows.tolist()[0] == 14
    assert table.reader.sizes() == ((N,),)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 8)
    assert len(next(iter(table.part([Span(0, 0, 5)]).batches()))) == 5
    with pytest.raises(FileError, match="it has changed, or is damaged"):
        list(table.part([Span(0, 40, N)]).batches())
