"""Which producer reads a path, whatever is in it; what is read, said and refused is in the transcripts."""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path
from subprocess import run

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import toplist as tl
from tests.io.producers.reading import recognised, recognised_as, write_lines
from toplist.errors import FileError, TopListError
from toplist.io import producers
from toplist.io.producers import Entry
from toplist.io.readers.first_look import FirstLook

SAMPLE = {
    "doc_id": 0,
    "doc": {},
    "target": "0",
    "arguments": [["q", " yes"], ["q", " no"]],
    "filtered_resps": [[-0.5, False], [-1.0, False]],
    "filter": "none",
    "doc_hash": "q0",
}


def test_a_compressed_file_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(SAMPLE).encode()))
    assert recognised_as(path) == "lm-eval"


def test_a_file_of_typed_records_says_what_to_install(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"choices": [{"message": {"content": "A"}}]}])
    code = f"import sys; sys.modules['msgspec'] = None; import toplist as tl; tl.read_lists({str(path)!r}, 2)"
    for producer in ("", ", producer='openai'", ", producer='inspect-ai'"):
        ran = run([sys.executable, "-c", f"{code[:-1]}{producer})"], capture_output=True, text=True, check=False)
        assert ran.stderr.splitlines()[-1].endswith("files and frames need msgspec: pip install 'toplist[files]'.")


def test_a_module_is_imported_only_where_its_entry_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(producers.PRODUCERS, "broken", Entry("broken", "x", ("*.jsonl",), keys=("other",)))
    assert recognised(write_lines(tmp_path / "a.jsonl", [SAMPLE])) is not None
    with pytest.raises(ModuleNotFoundError):
        producers.load("broken")


def test_what_cannot_be_looked_at_is_no_producers_file(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    content = {
        "empty.jsonl": b"",
        "blank.jsonl": b"  \n\n",
        "bytes.jsonl": generator.bytes(5000),
        "latin.jsonl": '{"doc_id": "é"}'.encode("latin-1"),
        "cut.jsonl": b'{"doc_id": 1, "arguments": ',
        "deep.jsonl": b"[" * 100_000,
        "zeros.jsonl": b"\0" * 1000,
        "number.jsonl": b"1\n2\n",
        "not.jsonl.gz": b"plain",
        "cut.jsonl.gz": gzip.compress(b"x" * 10_000)[:20],
        "no.parquet": b"PAR1 and nothing else",
        "no.arrow": b"ARROW1",
    }
    for name, data in content.items():
        (tmp_path / name).write_bytes(data)
        assert recognised(str(tmp_path / name)) is None, name
    assert recognised(str(tmp_path)) is None
    for odd in (str(tmp_path / "absent.jsonl"), "", "a\0b", "x" * 5000, str(tmp_path / "[")):
        assert recognised(odd) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [SAMPLE])
    path.chmod(0)
    with pytest.raises(FileError, match="may not be read"):
        tl.read_lists(path)


def test_mutated_files_are_read_or_refused_in_a_sentence(tmp_path: Path) -> None:
    data, generator = bytearray(json.dumps(SAMPLE).encode()), np.random.default_rng(1)
    for _ in range(200):
        changed = bytearray(data)
        for _ in range(generator.integers(1, 7)):
            changed[generator.integers(len(changed))] = generator.integers(256)
        (tmp_path / "b.jsonl").write_bytes(changed)
        try:
            recognised(str(tmp_path / "b.jsonl"))
        except TopListError:
            continue


def test_more_files_than_are_looked_at_are_refused_where_some_are_of_a_producer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FirstLook, "most", 3)
    for at in range(5):
        write_lines(tmp_path / "run" / f"{at}.jsonl", [SAMPLE])
        write_lines(tmp_path / "plain" / f"{at}.jsonl", [{"id": 1, "label": "a", "score": 0.5}])
    with pytest.raises(FileError, match="more than 3 files"):
        recognised(str(tmp_path / "run"))
    assert recognised(str(tmp_path / "plain")) is None


def test_a_first_record_is_found_however_long_it_is(tmp_path: Path) -> None:
    record = {"padding": "x" * 200_000, **SAMPLE}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "b.jsonl").write_text("\n  [" + json.dumps(record) + "]")
    assert all(recognised(str(tmp_path / name)) for name in ("a.jsonl", "b.jsonl"))


def test_columns_are_seen_in_text_parquet_and_arrow(tmp_path: Path) -> None:
    table = pa.table({"quiz id": ["q"], "p": [1.0]})
    pq.write_table(table, tmp_path / "a.parquet")
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    for name, mark in (("a.csv", ","), ("b.csv", ";"), ("c.tsv", "\t")):
        (tmp_path / name).write_text(f'"quiz id"{mark}p\nq{mark}1\n')
    look = FirstLook(str(tmp_path))
    assert [look.columns(path) for path in look.files] == [["quiz id", "p"]] * 5


def test_an_unknown_producer_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(TopListError, match=r"no producer 'lm-evel'\. Did you mean 'lm-eval'"):
        tl.read_lists(write_lines(tmp_path / "a.jsonl", [SAMPLE]), producer="lm-evel")


def test_notes_are_in_the_report(tmp_path: Path) -> None:
    tl.compare({"a": write_lines(tmp_path / "a.jsonl", [SAMPLE] * 2)}).report(tmp_path / "board.html")
    assert "the softmax of the log-likelihoods" in (tmp_path / "board.html").read_text()
