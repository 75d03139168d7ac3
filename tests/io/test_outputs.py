"""What is written takes its place whole, with the mode and the links that were there, or nothing changes."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import toplist as tl
from toplist import _files
from toplist._files import Output, require_apart, write_bytes
from toplist.errors import FileError, TopListError
from toplist.io.write import Writer

ROWS = pa.table({"case": [f"case {i}" for i in range(5000)], "brier": [i / 7 for i in range(5000)]})


def written_rows(path: Path) -> None:
    with Writer(path) as writer:
        for batch in ROWS.to_batches(max_chunksize=500):
            writer.write(pa.table(batch))


def board() -> Any:
    lists = [{"a": 0.7, "b": 0.2}, {"b": 0.5}] * 4
    return tl.compare({"one": lists, "two": ["a", "b"] * 4}, ["a", "b"] * 4, space=3)


def saved_model(path: Path) -> None:
    lists = tl.TopLists.from_dicts([{"a": 0.8, "b": 0.1}] * 8, 3)
    tl.postprocess.Temperature().fit(lists, ["a", "a", "b", "c"] * 2).save(path)


def saved_figure(path: Path) -> None:
    pytest.importorskip("matplotlib", reason="drawings need matplotlib")
    board().plot("intervals").save(path)


def saved_report(path: Path) -> None:
    pytest.importorskip("jinja2", reason="reports need jinja2")
    board().report(path)


WRITERS = {
    **{f"scores.{suffix}": written_rows for suffix in ("parquet", "csv", "jsonl")},
    **{f"board.{suffix}": lambda path: board().write(path) for suffix in ("json", "csv", "md", "tex", "html", "txt")},
    "model.json": saved_model,
    "report.html": saved_report,
    **{f"figure.{suffix}": saved_figure for suffix in ("svg", "png", "pdf")},
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_keeps_mode_and_link_and_leaves_no_part(name: str, tmp_path: Path) -> None:
    there, real = tmp_path / "there", tmp_path / "real"
    there.mkdir(), real.mkdir()
    link, target = there / name, real / name
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    WRITERS[name](link)
    assert link.is_symlink()
    assert target.read_bytes() != b"old"
    assert target.stat().st_mode & 0o777 == 0o640
    assert os.listdir(there) == os.listdir(real) == [name]


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_keeps_the_old_file_where_it_cannot_write(name: str, tmp_path: Path) -> None:
    """As on a full disk: no file of this process may grow beyond a few bytes."""
    path = tmp_path / name
    path.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    if name.startswith(("figure", "report")):
        WRITERS[name](tmp_path / f"warm-{name}")  # what libraries keep for themselves is written before
        (tmp_path / f"warm-{name}").unlink()
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(FileError, match=r"this cannot be written: File too large\."):
            WRITERS[name](path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [name]


def test_new_files_obey_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_bytes(tmp_path / "a", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "a").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]


def test_an_old_file_keeps_its_mode_whatever_the_umask(tmp_path: Path) -> None:
    for mode in (0o600, 0o666):
        (tmp_path / "a").write_text("old")
        (tmp_path / "a").chmod(mode)
        before = os.umask(0o077)
        try:
            write_bytes(tmp_path / "a", b"new")
        finally:
            os.umask(before)
        assert (tmp_path / "a").stat().st_mode & 0o777 == mode
        assert (tmp_path / "a").read_bytes() == b"new"


def test_whatever_fails_the_old_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "a"
    path.write_text("old")
    for what in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, what, fail)
            with pytest.raises(FileError, match=r"a: this cannot be written: Input/output error\."):
                write_bytes(path, b"new" * 100_000)
    with pytest.raises(ZeroDivisionError), Output(path) as output:
        output.file.write(b"half" * (1 // 0))
    with pytest.raises(ZeroDivisionError), Output(path) as output:
        assert output.file.write(b"half") == 4 / 0
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_all_is_on_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    for what in ("fsync", "replace"):
        real = getattr(os, what)
        monkeypatch.setattr(os, what, lambda *a, what=what, real=real: (order.append(what), real(*a))[1])
    write_bytes(tmp_path / "a", b"new")
    assert order == ["fsync", "replace"]


def test_nobody_else_foresees_the_name_of_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    names = iter(["aaaaaaaa", "bbbbbbbb"])
    monkeypatch.setattr(_files.secrets, "token_hex", lambda _: next(names))
    (tmp_path / ".a.aaaaaaaa.part").symlink_to(victim)
    with pytest.raises(FileError, match="this cannot be written"):
        write_bytes(tmp_path / "a", b"new")
    assert victim.read_text() == "mine"
    write_bytes(tmp_path / "a", b"new")
    assert victim.read_text() == "mine"
    assert not (tmp_path / "a").is_symlink()


def test_what_is_no_file_is_no_place(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name, said in (
        ("pipe", "is no regular file"), ("", "is a folder|is no path"), ("none/a", "there is no folder"),
        ("loop", "leads to itself"), ("a\0b", "is no path"),
    ):  # fmt: skip
        with pytest.raises(TopListError, match=said):
            write_bytes(f"{tmp_path}/{name}", b"new")


def test_names_of_any_length_and_any_bytes(tmp_path: Path) -> None:
    for name in ("x" * 255, os.fsdecode(b"o\xff.csv"), "\u00e9" * 127, "\U0001f600" * 63):
        write_bytes(tmp_path / name, b"new")
        assert (tmp_path / name).read_bytes() == b"new"


MIX = """
import sys, pyarrow as pa
from toplist.io.write import Writer
who, *paths = sys.argv[1:]
table = pa.table({"who": [who] * 20_000})
for path in paths:
    for _ in range(5):
        with Writer(path) as writer:
            for _ in range(5):
                writer.write(table)
"""


def test_processes_with_the_same_outputs_leave_whole_files(tmp_path: Path) -> None:
    paths = [tmp_path / f"out.{suffix}" for suffix in ("csv", "parquet", "jsonl")]
    running = [subprocess.Popen([sys.executable, "-c", MIX, who, *map(str, paths)]) for who in ("aaaa", "bbbb", "cccc")]
    assert [one.wait() for one in running] == [0, 0, 0]
    for path in paths:
        if path.suffix == ".parquet":
            values = pq.read_table(path)["who"].to_pylist()
        else:
            values = [line.strip('"{}').removeprefix('who": "') for line in path.read_text().splitlines()]
            values = values[1:] if path.suffix == ".csv" else values
        assert len(values) == 100_000
        assert len(set(values)) == 1
    assert {path.name for path in paths} == set(os.listdir(tmp_path))


PATTERNS = {
    "preds/*.csv": {"preds/new.csv": True, "preds/.new.csv": False, "preds/sub/new.csv": False, "new.csv": False},
    "preds/**/*.csv": {"preds/new.csv": True, "preds/sub/new.csv": True, "preds/none/new.csv": True, "x/n.csv": False},
    "preds/**": {"preds/a.json": True, "preds/sub/a.json": True},
    "p*/[ab].csv": {"preds/a.csv": True, "preds/c.csv": False, "linked/a.csv": False, "elsewhere/a.csv": True},
    "preds/?.csv": {"preds/a.csv": True, "preds/ab.csv": False},
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_is_apart_from_what_it_would_find(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle is `glob` itself, once the file is there."""
    import glob

    monkeypatch.chdir(tmp_path)
    (tmp_path / "preds/sub").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "x").mkdir()
    (tmp_path / "plinked").symlink_to("elsewhere")
    (tmp_path / "linked").mkdir()
    for name, found in PATTERNS[pattern].items():
        for spelled in (name, f"./x/../{name}", str(tmp_path / name)):
            if found:
                with pytest.raises(TopListError, match="matches the pattern"):
                    require_apart([spelled], [pattern])
            else:
                require_apart([spelled], [pattern])
        made = tmp_path / name
        made.parent.mkdir(exist_ok=True)
        made.write_text("")
        real = {os.path.realpath(one) for one in glob.glob(pattern, recursive=True)}
        assert (os.path.realpath(made) in real) is found
        made.unlink()


def test_a_name_that_is_there_is_no_pattern(tmp_path: Path) -> None:
    (tmp_path / "a[1].csv").write_text("")
    require_apart([tmp_path / "a1.csv"], [tmp_path / "a[1].csv"])
    with pytest.raises(TopListError, match="is the input"):
        require_apart([tmp_path / "a[1].csv"], [tmp_path / "a[1].csv"])


def test_tables_in_memory_are_no_inputs(tmp_path: Path) -> None:
    require_apart([tmp_path / "a.csv"], [ROWS, None, ["a.csv"]])


def test_a_board_does_not_replace_the_files_it_was_made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("case,class,confidence\n1,a,.5\n2,b,.7\n")
    Path("y.csv").write_text("case,outcome\n1,a\n2,b\n")
    made = tl.compare({"p": "p.csv"}, "y.csv", space=3)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")  # what was read stays what it is
    for output in ("../p.csv", tmp_path / "y.csv"):
        with pytest.raises(TopListError, match="is the input"):
            made.write(output)
    os.link(tmp_path / "y.csv", "r.html")
    with pytest.raises(TopListError, match="is the input"):
        made.report("r.html")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    made.write("board.csv")
