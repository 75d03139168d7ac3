"""JSON documents: whatever the shape, their records are read as lines of JSON are, or one sentence says what to do.

The rows of each shape of a document are in the transcripts.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from toplist.errors import FileError
from toplist.io.opening import open_path, stem_of
from toplist.io.readers import json as documents
from toplist.io.readers import json_lines

LIST = [{"label": "cat", "score": 0.5}, {"label": 'dog "]},\\', "score": 0.25}]


def _saved(folder: Path, content: Any, name: str = "p.json") -> Path:
    """A document, or text as it is."""
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    data = text.encode() if isinstance(text, str) else text
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def _rows(path: Path, records: str = "") -> list[dict[str, Any]]:
    """All rows of a file, without fields that are null."""
    reader = open_path(path)
    reader.look_for(records)
    found = [row for piece in reader.pieces(reader.schema.names) for row in piece.table.to_pylist()]
    return [{key: value for key, value in row.items() if value is not None} for row in found]


_RECORDS = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 99)},
        optional={
            "t": st.text('"\\{}[],\n', max_size=8),
            "r": st.lists(st.fixed_dictionaries({"x": st.text()}), max_size=3),
        },
    ),
    min_size=1,
    max_size=8,
)
_INDENTS = st.sampled_from([None, 0, 3])
_JUNK = st.sampled_from(
    [b",", b", ,", b"]", b"[", b"},{", b"1", b"NaN", b"\n", b'"', b"\\", b"[" * 5000, b"\xff", b"01"]
)


@given(_RECORDS, _INDENTS, st.booleans(), st.integers(1, 40) | st.integers(100, 2000))
def test_the_records_of_an_array_are_found_wherever_chunks_end(
    records: list[dict[str, Any]], indent: int | None, ascii_only: bool, chunk: int
) -> None:
    text = json.dumps(records, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    wrapped = b'{"info": {"n": [1, 2]}, "rows": ' + text + b', "more": "]}"}'
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(documents, "_CHUNK", chunk)
        for shape, data in ((documents._Shape("array"), text), (documents._Shape("member", "rows"), wrapped)):
            with tempfile.TemporaryDirectory() as folder:
                found = list(documents._records(_saved(Path(folder), data), shape))
            assert [json.loads(line) for line in found] == records


@settings(max_examples=draws(300))
@given(st.lists(_RECORDS, max_size=3), _INDENTS, st.integers(0, 3000), st.binary(max_size=2) | _JUNK, st.integers(0, 3))
def test_elements_that_are_taken_together_are_those_that_are_taken_one_by_one(
    records: list[list[dict[str, Any]]], indent: int | None, at: int, junk: bytes, lost: int
) -> None:
    """Whatever is wrong with an array, it is the same lines up to the same error."""
    text = json.dumps([one for some in records for one in some] * 3, indent=indent).encode()
    at %= len(text) + 1

    def lines(path: Path) -> list[Any]:
        found: list[Any] = []
        try:
            found.extend(documents._records(path, documents._Shape("array")))
        except FileError as error:
            found.append(str(error))
        return found

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        path = _saved(Path(folder), text[:at] + junk + text[at + lost :])
        together = lines(path)
        patched.setattr(documents._Document, "_several", lambda self: ())
        assert together == lines(path)


@settings(max_examples=draws(20))
@given(_RECORDS, _INDENTS)
def test_an_array_of_records_is_read_as_its_lines_are(records: list[dict[str, Any]], indent: int | None) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = "".join(json.dumps(record) + "\n" for record in records)
        expected = _rows(_saved(folder, lines, "p.jsonl"))
        assert _rows(_saved(folder, json.dumps(records, indent=indent))) == expected
        assert _rows(_saved(folder, json.dumps({"n": 1, "rows": records}, indent=indent))) == expected


def test_a_compressed_document_is_read_and_called_as_the_same_without(tmp_path: Path) -> None:
    for content in ([{"id": 1}, {"id": 2}], {"rows": [{"id": 1}], "n": 1}, {"a": {"cat": 0.5}, "b": {"cat": 0.25}}):
        plain, compressed = (_saved(tmp_path, content, name) for name in ("p.json", "p.json.gz"))
        assert _rows(compressed) == _rows(plain)
        assert open_path(compressed).row == open_path(plain).row
        assert stem_of(compressed) == stem_of(plain) == "p"


REFUSED: dict[str, tuple[Any, str]] = {
    "nothing": ("", "there is no record in this file"),
    "a deep document": ("[" * 100_000, "row 1: this record is no JSON object"),
    "deep records": ("[" + "[" * 9000 + "]" * 9000 + "]", "row 1: this record is no JSON object"),
    "UTF-16": ("[{}]".encode("utf-16"), "this is UTF-16 text"),
    "Latin-1": ('[{"id": "é"}]'.encode("latin-1"), "row 1: this is not UTF-8 text"),
    "compressed by another name": (gzip.compress(b"[{}]"), r"this is compressed by gzip: add \.gz"),
    "zero bytes": (bytes(99), "this is no JSON document"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_table_is_told_in_a_sentence(what: str, tmp_path: Path) -> None:
    content, sentence = REFUSED[what]
    with pytest.raises(FileError, match=rf"p\.json(: |, ){sentence}") as error:
        _rows(_saved(tmp_path, content))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400 + len(str(tmp_path))


def test_a_document_that_is_cut_is_never_read_as_a_shorter_one(tmp_path: Path) -> None:
    for content in ([{"id": i, "results": LIST} for i in range(3)], {"rows": [{"id": 1}, {"id": 2}], "n": 1}):
        text = json.dumps(content, indent=1)
        for length in range(len(text)):
            with pytest.raises(FileError):
                _rows(_saved(tmp_path, text[:length]))


def test_numbers_that_json_does_not_have_are_read_as_in_lines(tmp_path: Path) -> None:
    for text in ('[{"id": 1, "p": NaN}]', '[{"id": 1, "p": 1e999}]', '[{"id": 100000000000000000000, "p": 1}]'):
        lines = _saved(tmp_path, text[1:-1] + "\n", "p.jsonl")
        said = []
        for path in (_saved(tmp_path, text), lines):
            try:
                said.append(repr(_rows(path)))
            except FileError as error:
                said.append(error.problem)
        assert said[0] == said[1]


def test_a_document_is_not_in_memory_as_a_whole(tmp_path: Path) -> None:
    record = {"id": 1, "results": LIST * 10, "text": "x" * 1000}
    path = _saved(tmp_path, "[" + ",\n".join([json.dumps(record)] * 16_000) + "]")
    assert path.stat().st_size > 24e6
    tracemalloc.start()
    try:
        rows = sum(1 for _ in open_path(path).lines(path))  # type: ignore[attr-defined]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows == 16_000
    assert peak < 24e6


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_a_record_of_many_megabytes_is_read(suffix: str, tmp_path: Path) -> None:
    """What a language model says at every token of a long text."""
    tokens = [{"token": f"t{i}", "logprob": -0.5} for i in range(230_000)]
    records = [{"id": 1, "top": tokens[:1]}, {"id": 2, "top": tokens}]
    lines = "\n".join(json.dumps(record) for record in records)
    path = _saved(tmp_path, lines if suffix == "jsonl" else records, f"p.{suffix}")
    assert path.stat().st_size > 2 * json_lines.BLOCK
    reader = open_path(path)
    sizes = [n for piece in reader.pieces(["top"]) for n in piece.table.column(0).value_lengths().to_pylist()]
    assert sizes == [1, 230_000]


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_a_record_that_is_too_long_is_named(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((json_lines, "LONGEST"), (documents, "LONGEST"), (json_lines, "BLOCK"), (documents, "_CHUNK")):
        monkeypatch.setattr(module, name, 1000)
    records = [{"id": 1}, {"id": 2, "text": "x" * 5000}]
    text = json.dumps(records) if suffix == "json" else "\n".join(map(json.dumps, records))
    with pytest.raises(FileError, match=rf"p\.{suffix}, row 2: this (line|record) is longer than 1,000 bytes"):
        _rows(_saved(tmp_path, text, f"p.{suffix}"))


def test_objects_with_very_many_keys_are_read_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column for each of them, for all rows of a block, would not fit in memory."""
    monkeypatch.setattr(json_lines, "ENTRIES", 400)
    rows = [{"id": i, "cats": {f"c{(7 * i + j) % 100}": 0.125 for j in range(3)}} for i in range(50)]
    lists = tl.read_lists(_saved(tmp_path, rows), 200, records="cats")
    assert lists.offsets.tolist() == list(range(0, 151, 3))


def test_dates_stay_text(tmp_path: Path) -> None:
    reader = open_path(_saved(tmp_path, [{"id": "2020-01-01"}] * 300))
    assert reader.schema.field("id").type == pa.string()
    assert reader.rows == 300
