"""Views: what a path, a condition or a composite id gives is what plain Python says, whatever the types of Arrow.

What is refused of them is in the transcripts.
"""

from __future__ import annotations

import datetime
import decimal
import gzip
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toplist.errors import FileError
from toplist.io.batches import to_batch
from toplist.io.opening import open_path
from toplist.io.options import ReadOptions
from toplist.io.paths import extract, resolve
from toplist.io.readers import MemoryReader, Reader, TableChunk
from toplist.io.recognition import recognise
from toplist.io.sources import Table
from toplist.io.views import RecordConditions, View, view_of, with_columns

NAMES = ("a", "b", "a.b", "x y", 'q"', "key", "é[0]")

# Nested values and what a path gives of them


@st.composite
def _kinds(draw: Any, depth: int = 3) -> pa.DataType:
    """A type of Arrow, nested or not."""
    scalars = st.sampled_from([pa.int64(), pa.float64(), pa.string(), pa.large_string(), pa.bool_()])
    if not depth or draw(st.integers(0, 3)) == 0:
        return draw(scalars)
    inner = draw(_kinds(depth=depth - 1))
    form = draw(st.sampled_from(["struct", "struct", "list", "large_list", "fixed", "view", "map"]))
    if form == "struct":
        names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
        return pa.struct([(name, inner if at == 0 else draw(scalars)) for at, name in enumerate(names)])
    if form == "fixed":
        return pa.list_(inner, 2)
    if form == "view" and not pa.types.is_nested(inner):
        return pa.list_view(inner)
    if form == "map":
        return pa.map_(pa.string(), inner)
    return pa.large_list(inner) if form == "large_list" else pa.list_(inner)


def _values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of a type, null among them."""
    if pa.types.is_struct(kind):
        own = st.fixed_dictionaries({kind.field(i).name: _values(kind.field(i).type) for i in range(kind.num_fields)})
    elif pa.types.is_fixed_size_list(kind):
        own = st.lists(_values(kind.value_type), min_size=2, max_size=2)
    elif pa.types.is_map(kind):
        own = st.lists(st.tuples(st.sampled_from("xyz"), _values(kind.item_type)), max_size=3)
    elif pa.types.is_nested(kind):
        own = st.lists(_values(kind.value_type), max_size=3)
    elif pa.types.is_boolean(kind):
        own = st.booleans()
    elif pa.types.is_integer(kind):
        own = st.integers(-5, 5)
    elif pa.types.is_floating(kind):
        own = st.sampled_from([0.0, 0.5, -1.25])
    else:
        own = st.sampled_from(["", "u", "v, w", "é"])
    return st.none() | own


@st.composite
def _paths(draw: Any, kind: pa.DataType) -> tuple[str, list[Any]]:
    """A path into values of a type as text, and its steps."""
    text, steps = "", []
    while pa.types.is_nested(kind) and draw(st.integers(0, 3)):
        if pa.types.is_struct(kind):
            name = draw(st.sampled_from([kind.field(i).name for i in range(kind.num_fields)]))
            shown = name if not set(name) & set('.["') else _quoted(name)
            text, kind = f"{text}.{shown}", kind.field(name).type
            steps.append(name)
        elif pa.types.is_map(kind) and draw(st.booleans()):
            name = draw(st.sampled_from(["key", "value"]))
            text, kind = f"{text}.{name}", kind.key_type if name == "key" else kind.item_type
            steps.append(name)
        elif draw(st.booleans()):
            item = draw(st.integers(-3, 3))
            text = f"{text}[{item}]"
            kind = (
                pa.struct([("key", kind.key_type), ("value", kind.item_type)])
                if pa.types.is_map(kind)
                else (kind.value_type)
            )
            steps.append(item)
        else:  # through the list
            kind = (
                pa.struct([("key", kind.key_type), ("value", kind.item_type)])
                if pa.types.is_map(kind)
                else (kind.value_type)
            )
            if not pa.types.is_struct(kind):
                break
    return text, steps


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _plain(value: Any) -> Any:
    """Nested values with pairs of maps as objects."""
    if isinstance(value, tuple):
        return {"key": value[0], "value": _plain(value[1])}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def _at(value: Any, steps: Sequence[Any]) -> Any:
    """The oracle: what a path gives of one value."""
    if value is None or not steps:
        return value
    first, *rest = steps
    if isinstance(first, int):
        inside = -len(value) <= first < len(value)
        return _at(value[first], rest) if inside else None
    if isinstance(value, list):
        return [_at(item, steps) for item in value]
    return _at(value[first], rest)


@given(st.data())
def test_a_path_gives_what_plain_python_gives(data: st.DataObject) -> None:
    kind = data.draw(_kinds())
    rows = data.draw(st.lists(_values(kind), min_size=0, max_size=6))
    text, steps = data.draw(_paths(kind))
    lo = data.draw(st.integers(0, len(rows)))
    hi = data.draw(st.integers(lo, len(rows)))
    column = pa.array(rows, kind).slice(lo, hi - lo)
    path = resolve(pa.schema([("root", kind)]), f"root{text}")
    assert path is not None
    made = extract(column, path.steps)
    made.validate(full=True)
    assert _plain(made.to_pylist()) == [_at(_plain(value), steps) for value in rows[lo:hi]]
    assert made.type == path.kind


def test_what_is_under_a_null_stays_hidden() -> None:
    """Arrow may keep values under a null object or a null list: nobody sees them."""
    hidden = pa.StructArray.from_arrays([pa.array(["a", "b"])], names=["x"], mask=pa.array([False, True]))
    assert extract(hidden, ["x"]).to_pylist() == ["a", None]
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), hidden, mask=pa.array([True, False]))
    assert extract(lists, ["x"]).to_pylist() == [None, [None]]
    assert extract(lists, [0, "x"]).to_pylist() == [None, None]


def test_a_field_that_is_there_twice_is_no_path() -> None:
    twice = pa.schema([("a", pa.struct([("x", pa.int64()), ("x", pa.string()), ("y", pa.bool_())]))])
    assert resolve(twice, "a.x") is None
    assert resolve(twice, "a.y") is not None


def test_encoded_values_inside_of_objects_are_decoded() -> None:
    labels = pa.array(["b", "a", "b"]).dictionary_encode()
    column = pa.ListArray.from_arrays(
        pa.array([0, 2, 3], pa.int32()), pa.StructArray.from_arrays([labels], names=["label"])
    )
    made = extract(column, ["label"])
    assert (made.to_pylist(), made.type) == ([["b", "a"], ["b"]], pa.list_(pa.string()))


NESTED = pa.schema(
    [
        ("a", pa.struct([("b", pa.struct([("c", pa.int64()), ("d.e", pa.string())])), ("b.c", pa.bool_())])),
        ("a.b", pa.float64()),
        ("r", pa.list_(pa.struct([("s", pa.float64()), ("xs", pa.list_(pa.string()))]))),
        ("m", pa.map_(pa.string(), pa.float64())),
        ("cats", pa.struct([("P", pa.float64()), ("N", pa.int64())])),
        ('say "x"', pa.int64()),
    ]
)
RESOLVED = {
    "a.b": ("a.b", ()),  # a column whose name has a dot wins over a path
    '"a.b"': ("a.b", ()),
    '"a"."b".c': ("a", ("b", "c")),
    "a.b.c": ("a", ("b.c",)),  # the longest name wins
    'a.b."d.e"': ("a", ("b", "d.e")),
    "a.b.d.e": ("a", ("b", "d.e")),
    "r.s": ("r", ("s",)),
    "r[0].s": ("r", (0, "s")),
    "r[-1].xs[0]": ("r", (-1, "xs", 0)),
    "r.xs[0]": ("r", ("xs", 0)),
    '"say ""x"""': ('say "x"', ()),
    'say "x"': ('say "x"', ()),
    "m.value": ("m", ("value",)),
}


@pytest.mark.parametrize("text", RESOLVED)
def test_names_and_paths_are_resolved(text: str) -> None:
    path = resolve(NESTED, text)
    assert path is not None
    assert (path.root, path.steps) == RESOLVED[text]


@pytest.mark.parametrize("text", ["", "z", "a.z", "r.", "r[0]s", "r[x]", "a.b.c.d", "a..b", "a[0]", "r.keys()", '"a.b'])
def test_what_is_no_path_is_none(text: str) -> None:
    assert resolve(NESTED, text) is None


@given(st.lists(st.none() | st.fixed_dictionaries({}, optional={k: st.none() | st.floats(0, 1) for k in "xyz"})))
def test_the_keys_and_values_of_objects_are_two_lists(rows: list[dict[str, float] | None]) -> None:
    kind = pa.struct([(key, pa.float64()) for key in "xyz"])
    reader = MemoryReader(pa.table({"cats": pa.array(rows, kind)}), "t")
    view = View(reader, paths=["cats.keys()", "cats.values()"])
    made = [row for piece in view.pieces(view.schema.names[1:]) for row in piece.table.to_pylist()]
    there = [None if one is None else {k: one[k] for k in "xyz" if one.get(k) is not None} for one in rows]
    assert made == [
        {"cats.keys()": one if one is None else list(one), "cats.values()": one if one is None else list(one.values())}
        for one in there
    ]


# Conditions

CELLS: dict[str, Any] = {
    "whole": [1, 2, None, 1, 10**17 + 1],
    "real": [1.0, 0.1, math.nan, -0.0, 2.5],
    "single": pa.array([1.0, 0.1, None, 0.0, 2.5], pa.float32()),
    "text": ["1", "01", "", "1.0 ", "pmf"],
    "date": [datetime.date(2024, 1, day) for day in range(1, 6)],
    "when": [datetime.datetime(2024, 1, 6, hour) for hour in range(5)],
    "flag": [True, False, None, True, True],
    "exact": [decimal.Decimal("1.50"), decimal.Decimal("2.00"), None, None, None],
    "coded": pa.array(["a", "b", "a", None, "c"]).dictionary_encode(),
    "bytes": [b"a", b"b", b"a", None, b"c"],
    "nothing": pa.nulls(5),
    "took": [datetime.timedelta(minutes=at) for at in range(5)],
    "code": pa.array([b"ab", b"cd", b"ab", None, b"ef"], pa.binary(2)),
}
FULFILLED = {
    "whole=1": [1, 4],
    "whole=1.0": [1, 4],
    "whole=+1e0": [1, 4],
    "whole=100000000000000001": [5],
    "whole=": [3],
    "whole!=": [1, 2, 4, 5],
    "whole!=1": [2, 3, 5],
    "real=0.1": [2],
    "real=0": [4],
    "real=": [3],
    "single=0.1": [2],
    "text=1": [1, 4],
    "text=1.0": [1, 4],
    "text=01": [2],  # a code, not a number
    "text = pmf ": [5],
    "text=": [3],
    "text!=pmf": [1, 2, 3, 4],
    "date=2024-01-02": [2],
    "when=2024-01-06": [1],
    "when=2024-01-06 03:00:00": [4],
    "flag=true": [1, 4, 5],
    "flag=True": [1, 4, 5],
    "flag!=true": [2, 3],
    "exact=1.5": [1],
    "coded=a": [1, 3],
    "bytes=a": [1, 3],
    "nothing=": [1, 2, 3, 4, 5],
    "took=120000000": [3],
    "code=": [4],
}


def rows_of_records(table: pa.Table, *where: str) -> list[int]:
    """The numbers of the rows that fulfil conditions, one by one, as producers read them."""
    conditions = RecordConditions(where, "t")
    rows = [row for row, record in enumerate(table.to_pylist(), 1) if conditions.hold(record)]
    conditions.require_met()
    return rows


@pytest.mark.parametrize("condition", FULFILLED)
def test_rows_are_kept_by_what_their_values_are(condition: str) -> None:
    view = View(MemoryReader(pa.table(CELLS), "t"), where=condition)
    kept = [row for piece in view.pieces(["whole"]) for row in piece.row_numbers.tolist()]
    assert kept == FULFILLED[condition]
    assert (view.kept, view.total) == (len(kept), 5)
    assert view.filtering == f"{len(kept)} of 5 rows, those with {condition}"
    if condition.partition("=")[0] in ("single", "bytes"):  # no values of a record
        return
    assert rows_of_records(pa.table(CELLS), condition) == kept


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), min_size=1, max_size=30),
    st.sampled_from("abc"),
    st.integers(0, 2),
    st.booleans(),
)
def test_conditions_are_a_conjunction_and_rows_keep_their_numbers(
    rows: list[tuple[str, int]], letter: str, number: int, unequal: bool
) -> None:
    table = pa.table({"letter": [row[0] for row in rows], "number": [row[1] for row in rows], "row": range(len(rows))})
    pieces = pa.Table.from_batches(table.to_batches(max_chunksize=4))
    view = View(MemoryReader(pieces, "t"), where=(f"letter={letter}", f"number{'!' * unequal}={number}"))
    wanted = [at for at, row in enumerate(rows) if row[0] == letter and (row[1] == number) != unequal]
    if not wanted:
        with pytest.raises(FileError, match="no row fulfils"):
            list(view.pieces(["row"]))
        return
    seen = list(view.pieces(["row"]))
    assert [row for piece in seen for row in piece.table.column(0).to_pylist()] == wanted
    assert [row - 1 for piece in seen for row in piece.row_numbers.tolist()] == wanted


def test_records_of_any_values_can_be_compared() -> None:
    values = ["1", 1, 1.0, "1.00", True, None, 10**400, "\ud83d"]
    kept = [value for value in values if RecordConditions(("x=1",), "t").hold({"x": value})]
    assert kept == ["1", 1, 1.0, "1.00"]
    conditions = RecordConditions(("x!=1", "y.z="), "t")
    assert conditions.hold({"x": 2, "y": None})
    assert conditions.hold({"x": 2, "y": {"z": None}})
    conditions.require_met()


def test_a_condition_on_a_wide_file_with_very_many_classes_keeps_those_of_its_rows(tmp_path: Path) -> None:
    lines = [{"id": i, "kind": "pq"[i % 2], **{f"c{j}": 1 / 400 for j in range(i, 400)}} for i in range(6)]
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    view = view_of(open_path(path), ReadOptions(where="kind=q"))
    layout = recognise(Table(view), "id")
    view.prepare(layout)
    (piece,) = view.pieces(layout.columns)
    assert piece.row_numbers.tolist() == [2, 4, 6]
    assert to_batch(piece, layout).offsets.tolist() == [0, 399, 399 + 397, 399 + 397 + 395]


@pytest.mark.parametrize("number", ["1" * 5000, "1e999", "-1e999", "0.0000000000000000000001"])
def test_a_number_of_any_size_is_looked_for(number: str) -> None:
    table = pa.table({"whole": [1], "real": [1.0], "text": ["1"], "exact": [decimal.Decimal("1.5")]})
    for name in table.column_names:
        with pytest.raises(FileError, match="no row fulfils it"):
            list(View(MemoryReader(table, "t"), where=f"{name}={number}").pieces(["whole"]))


# Composite ids

_TEXT = st.text(st.sampled_from('a,\\"1. é'), min_size=1, max_size=4).filter(lambda text: bool(text.strip()))


@given(st.lists(st.tuples(_TEXT, _TEXT, _TEXT), min_size=1, max_size=20))
def test_different_tuples_have_different_ids_and_equal_ones_the_same(rows: list[tuple[str, str, str]]) -> None:
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate("xyz")})
    view = View(MemoryReader(table, "t"), case="x,y,z")
    ids = [text for piece in view.pieces(["x,y,z"]) for text in piece.table.column(0).to_pylist()]
    assert len(ids) == len(rows)
    for a, left in zip(rows, ids, strict=True):
        for b, right in zip(rows, ids, strict=True):
            assert (a == b) == (left == right)


SAME = {
    "1": [1, 1.0, "1", decimal.Decimal("1.00")],
    "-3": [-3, -3.0, "-3"],
    "2.5": [2.5, "2.5", decimal.Decimal("2.5")],
    "2024-01-06": [datetime.date(2024, 1, 6), datetime.datetime(2024, 1, 6), "2024-01-06"],
    "2024-01-06 12:30:00": [datetime.datetime(2024, 1, 6, 12, 30), "2024-01-06 12:30:00"],
    "2024-01-06 00:00:00.5": [datetime.datetime(2024, 1, 6, 0, 0, 0, 500_000)],
    str(2**62 + 1): [2**62 + 1, str(2**62 + 1)],
}


@pytest.mark.parametrize("text", SAME)
def test_the_same_value_is_the_same_text_whatever_its_type(text: str) -> None:
    for value in SAME[text]:
        view = View(MemoryReader(pa.table({"v": [value], "w": ["x"]}), "t"), case="v,w")
        assert [piece.table.column(0).to_pylist() for piece in view.pieces(["v,w"])] == [[f"{text},x"]]


def test_other_tables_get_the_same_composite_where_they_have_its_columns() -> None:
    having, lacking = (MemoryReader(pa.table({name: ["1"] for name in names}), "t") for names in ("aby", "ay"))
    assert view_of(having, ReadOptions(), also="a,b").schema.names == ["a", "b", "y", "a,b"]
    assert view_of(lacking, ReadOptions(), also="a,b") is lacking
    assert view_of(having, ReadOptions(case="a"), also="a,b") is having


# Readers under a view


class Counting(Reader):
    """Ten batches, and how many of them were read."""

    paths, name = (), "counting"

    def __init__(self) -> None:
        self.read = 0

    @property
    def schema(self) -> Any:
        return pa.schema([("n", pa.int64()), ("s", pa.struct([("t", pa.string())]))])

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        for at in range(10):
            self.read += 1
            made = pa.record_batch([pa.array([at]), pa.array([{"t": str(at)}])], names=["n", "s"])
            yield TableChunk("counting", at, made.select(list(columns)))


def test_a_view_reads_batch_by_batch() -> None:
    reader = Counting()
    pieces = View(reader, where="n!=0", case="n,s.t", paths=["s.t"]).pieces(["n,s.t", "s.t"])
    assert reader.read == 0
    assert next(pieces).table.to_pylist() == [{"n,s.t": "1,1", "s.t": "1"}]
    assert reader.read == 2


def test_nothing_asked_for_is_the_reader_itself() -> None:
    reader = Counting()
    assert view_of(reader, ReadOptions(case="n")) is reader
    assert with_columns(reader, ["n"]) is reader


def test_columns_can_be_added_to_a_view() -> None:
    view = with_columns(View(Counting(), where="n=3", case="n,s.t"), ["n,s.t", "s.t"])
    assert [piece.table.to_pylist() for piece in view.pieces(["s.t", "n,s.t"])] == [[{"s.t": "3", "n,s.t": "3,3"}]]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "jsonl.gz", "json", "parquet", "arrow"])
def test_every_format_gives_the_same_view(suffix: str, tmp_path: Path) -> None:
    rows = [{"id": i, "day": f"2024-01-{i + 1:02d}", "kind": "ab"[i % 2], "p": i / 8} for i in range(8)]
    path = tmp_path / f"p.{suffix}"
    if suffix == "csv":
        path.write_text("id,day,kind,p\n" + "".join(",".join(map(str, row.values())) + "\n" for row in rows))
    elif suffix == "json":
        path.write_text(json.dumps(rows))
    elif suffix.startswith("jsonl"):
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    else:
        table = pa.Table.from_pylist(rows)
        table = table.set_column(1, "day", table.column("day").cast(pa.date32()))
        if suffix == "parquet":
            pa.parquet.write_table(table, path, row_group_size=3)
        else:
            pa.feather.write_feather(table, str(path), chunksize=3)
    view = View(open_path(path), where=("kind=b", "id!=3.0"), case="day,id")
    seen = list(view.pieces(["day,id"]))
    assert [i for piece in seen for i in piece.table.column(0).to_pylist()] == [
        "2024-01-02,1",
        "2024-01-06,5",
        "2024-01-08,7",
    ]
    assert [row for piece in seen for row in piece.row_numbers.tolist()] == [2, 6, 8]
