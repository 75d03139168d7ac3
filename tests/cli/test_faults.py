"""Faults from outside: signals, full disks, little memory, closed streams and odd names end in one sentence."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from tests.cli.messages import said
from tests.cli.run_cli import TOPLIST, complaints, toplist_here

CASES = 60_000
CLASSES = [f"class {i}" for i in range(20)]


def long_table(order: np.ndarray) -> pa.Table:
    at = np.repeat(order, 3)
    classes = np.array(CLASSES)[(np.tile(np.arange(3), CASES) * 5 + at) % 20]
    return pa.table({
        "case": [f"case {i:08d}" for i in at], "class": classes, "confidence": np.tile([0.5, 0.3, 0.1], CASES)
    })  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Predictions in two orders, with the truth in a third, so that every command sorts and joins."""
    home, rng = tmp_path_factory.mktemp("faults"), np.random.default_rng(0)
    pc.write_csv(long_table(np.arange(CASES)), home / "a.csv")
    pc.write_csv(long_table(rng.permutation(CASES)), home / "b.csv")
    truth = {"case": [f"case {i:08d}" for i in rng.permutation(CASES)], "outcome": rng.choice(CLASSES, CASES)}
    pc.write_csv(pa.table(truth), home / "y.csv")
    return home


def run(home: Path, *words: str, tmp: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    tmp = tmp or home / "tmp"
    tmp.mkdir(exist_ok=True)
    told = {**os.environ, "TMPDIR": str(tmp), **env}
    return subprocess.run([TOPLIST, *words], cwd=home, env=told, capture_output=True, encoding="latin-1", check=False)


def require_sentence(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    told = complaints(done.stderr)
    assert len(told.splitlines()) == 1, done.stderr
    assert told.startswith("toplist: ")
    for word in (*words, "."):
        assert word in told
    assert "Traceback" not in done.stderr


COMMANDS = {
    "pool": ["pool", "a.csv", "b.csv", "-c", "20", "-o", "o.csv"],
    "compare": ["compare", "b.csv", "-t", "y.csv", "-c", "20", "-o", "o.json"],
    "check": ["check", "b.csv", "-c", "20"],
}


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_signal_stops_the_command_and_nothing_temporary_stays(command: str, name: str, folder: Path) -> None:
    """Once a temporary folder is there, the signal comes at once; an interrupt later too."""
    number, tmp = getattr(signal, name), folder / f"tmp-{command}-{name}"
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("this signal is ignored here, as under nohup, and stays so")
    tmp.mkdir()
    words = COMMANDS[command]
    if "-o" in words:
        Path(folder / words[-1]).write_text("old")
    for pause in (0.0, 0.05) if name == "SIGINT" else (0.0,):
        process = subprocess.Popen(
            [TOPLIST, *words], cwd=folder, env={**os.environ, "TMPDIR": str(tmp)}, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while not os.listdir(tmp) and process.poll() is None:
            time.sleep(0.005)
        time.sleep(pause)
        process.send_signal(number)
        out, err = process.communicate()
        assert (process.returncode, out, complaints(err)) == (128 + number, "", "toplist: stopped.\n")
        assert os.listdir(tmp) == []
    if "-o" in words:
        assert (folder / words[-1]).read_text() == "old"
    assert not [path for path in os.listdir(folder) if path.endswith(".part")]


def test_an_ignored_signal_stays_ignored(folder: Path) -> None:
    """As under nohup."""
    tmp = folder / "tmp-nohup"
    tmp.mkdir()
    process = subprocess.Popen(
        ["/bin/bash", "-c", f'trap "" HUP; exec "{TOPLIST}" check b.csv -c 20'], cwd=folder,
        env={**os.environ, "TMPDIR": str(tmp)}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    while not os.listdir(tmp) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGHUP)
    assert process.wait() == 0


def test_an_interrupt_while_rows_of_cases_are_brought_together_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB raises its own errors for it, and Arrow carries the text of a traceback."""
    from toplist.io import batches

    monkeypatch.chdir(tmp_path)
    Path("apart.csv").write_text("case,class,confidence\n1,a,0.5\n2,a,0.5\n1,b,0.25\n")
    monkeypatch.setattr(batches, "guarded", interrupted(batches.guarded))
    code, text = said("check", "apart.csv", "-c", "20")
    assert (code, complaints(text)) == (130, "toplist: stopped.\n")


def interrupted(guarded: Callable[..., Any]) -> Callable[..., Any]:
    """The same door to the engine, which is interrupted while it reads the first batch."""

    def broken() -> Iterator[Any]:
        raise KeyboardInterrupt
        yield

    return lambda batches, *how: guarded(broken(), *how)


def test_what_the_engine_says_of_an_interrupt_is_one() -> None:
    import duckdb

    from toplist.io.readers.base import connect, guarded

    for error in (RuntimeError("Query interrupted"), duckdb.InterruptException("INTERRUPT Error: Interrupted!")):
        with pytest.raises(KeyboardInterrupt), connect("x"):
            raise error
        with (
            pytest.raises(KeyboardInterrupt),
            connect("x") as engine,
            guarded(iter(()), pa.schema([("id", pa.int64())]), engine),
        ):
            raise error


@pytest.mark.parametrize("command", COMMANDS)
def test_little_memory_is_one_sentence(command: str, folder: Path) -> None:
    done = run(folder, *COMMANDS[command], TOPLIST_MEMORY="1MB")
    assert not done.stdout  # it is no problem of the file
    require_sentence(done, 1, "more than 1MB of memory", "a larger TOPLIST_MEMORY")
    assert os.listdir(folder / "tmp") == []


def test_the_memory_that_unique_ids_take_is_guarded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    from toplist.errors import ResourceError
    from toplist.io.readers.base import connect

    with (
        pytest.raises(ResourceError, match=r"^x: it takes more than .* of memory\. Allow more with TOPLIST_MEMORY=4GB"),
        connect("x"),
    ):
        raise duckdb.OutOfMemoryException("Out of Memory Error: failed to pin block of size 256.0 KiB\n\nPossible")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A disk of one megabyte."""
    place = tmp_path / "tiny"
    place.mkdir()
    done = subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", "size=1m", "none", place], check=False, capture_output=True
    )
    if done.returncode:
        pytest.skip("nothing can be mounted here")
    return place


def unmounted(place: Path) -> None:
    subprocess.run(["/bin/umount", place], check=True)


def test_a_full_disk_is_one_sentence_and_leaves_nothing(folder: Path, tiny: Path) -> None:
    try:
        for command in COMMANDS.values():  # what fits into memory needs no room for temporary files
            assert run(folder, *command, tmp=tiny).returncode == 0
        (tiny / "o.csv").write_text("old")
        for name in ("o.csv", "o.jsonl"):
            done = toplist_here("truncate", "a.csv", "-k", "3", "-o", tiny / name, cwd=folder)
            require_sentence(done, 1, name, "this cannot be written: No space left on device")
        assert os.listdir(tiny) == ["o.csv"]
        assert (tiny / "o.csv").read_text() == "old"
    finally:
        unmounted(tiny)


def test_lists_that_are_mapped_do_not_end_the_process_on_a_full_disk(
    folder: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    from toplist.io import align

    try:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(align, "_IN_MEMORY", 0)
        made, told = said("compare", "b.csv", "-t", "y.csv", "-c", "20", "-q")
        assert made == 0, told
        pq.write_table(
            pa.table({"case": [f"case {i:08d}" for i in range(CASES)], "class": ["class 1"] * CASES}), "l.pq"
        )
        monkeypatch.setattr(tempfile, "tempdir", str(tiny))
        code, told = said("compare", "l.pq", "-t", "y.csv", "-c", "20", "-q")
        assert code == 1, told
        assert "there is no room for temporary files" in told
        assert os.listdir(tiny) == []
    finally:
        unmounted(tiny)


def test_an_arrow_file_that_is_cut_while_it_is_read_is_refused(tmp_path: Path) -> None:
    """Mapped, it would end the process."""
    from toplist.errors import FileError
    from toplist.io.readers.arrow import ArrowReader

    path = tmp_path / "a.arrow"
    table = pa.table({"case": np.arange(400_000), "class": np.arange(400_000) % 7, "other": np.arange(400_000)})
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=20_000)
    whole = list(ArrowReader((path,), "a").pieces(["class", "case"]))
    assert sum(len(piece.table) for piece in whole) == 400_000
    assert whole[0].table.schema.names == ["class", "case"]
    pieces = ArrowReader((path,), "a").pieces(["class"])
    first = next(pieces)
    os.truncate(path, 4096)
    assert first.table.column(0).to_pylist()[:8] == [0, 1, 2, 3, 4, 5, 6, 0]
    with pytest.raises(FileError, match="it is damaged"):
        list(pieces)


NAMES = {"csv": b"p\xff.csv", "jsonl": b"p\xff.jsonl", "parquet": b"p\xff.parquet", "arrow": b"p\xff.arrow"}


def once(alone: bool, words: Sequence[object], home: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own for one command; the others differ by what is read and written alone."""
    if not alone:
        return toplist_here(*words, cwd=home)
    return subprocess.run([TOPLIST, *words], cwd=home, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", NAMES)
def test_names_that_are_not_text_are_refused_on_the_way_in(kind: str, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/" + NAMES[kind]
    Path(os.fsdecode(path)).write_bytes(b"case,class\n1,a\n")
    (tmp_path / "y.csv").write_text("case,outcome\n1,a\n")
    for words in (["check", path], ["score", path, "-t", "y.csv", "-c", "3"], ["check", os.fsencode(tmp_path / "*f*")]):
        done = once(kind == "csv" and words[0] == "score", words, tmp_path)
        if b"*" not in words[1]:
            require_sentence(done, 1, "is not UTF-8 text: rename it", "\\udcff")
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_names_that_are_not_text_are_written(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("case,class,confidence\n1,a,.5\n")
    (tmp_path / "y.csv").write_text("case,outcome\n1,a\n")
    out = b"o\xff." + suffix.encode()
    for words in (["truncate", "p.csv", "-k", "1", "-o", out], ["score", "p.csv", "-t", "y.csv", "-c", "3", "-o", out]):
        for more in ([], ["--json"]):
            done = once(suffix == "csv" and not more, [*words, *more], tmp_path)
            assert done.returncode == 0, done.stderr
            assert "\\udcff" in done.stdout
    assert out in os.listdir(os.fsencode(tmp_path))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "p.csv").write_text("case,class,confidence\n1,caf\u00e9,.5\n2,b,.4\n", encoding="utf-8")
    (tmp_path / "y.csv").write_text("case,outcome\n1,caf\u00e9\n2,b\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_a_stream_cannot_encode_is_escaped(encoding: str, small: Path) -> None:
    import json

    def told(*words: str) -> subprocess.CompletedProcess[str]:
        if encoding == "ascii":
            return run(small, *words, PYTHONIOENCODING="ascii:strict")
        return toplist_here(*words, cwd=small, encoding=encoding)

    words = ["compare", "\u00fc\U0001f600=p.csv", "-t", "y.csv", "-c", "3"]
    done = told(*words, "-o", "b.txt")
    assert done.returncode == 0, done.stderr
    assert "\\U0001f600" in done.stdout
    done = told(*words, "--json")
    assert json.loads(done.stdout)["sources"][0]["name"] == "\u00fc\U0001f600"
    gone = told("check", "\u20ac.csv")
    require_sentence(gone, 1, ".csv: there is no such file")


@pytest.mark.parametrize("closed", ["1", "2", "0 1 2"])
def test_closed_streams_change_nothing_else(closed: str, small: Path) -> None:
    shut = " ".join(f"{one}>&-" for one in closed.split())
    line = f'"{TOPLIST}" compare p.csv -t y.csv -c 3 -o b.json {shut}'
    done = subprocess.run(["/bin/bash", "-c", line], cwd=small, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert '"schema"' in (small / "b.json").read_text()


@pytest.mark.parametrize("words", ["--help", "compare --help", "--version", "check p.csv", "score p.csv -t y.csv -c 3"])
def test_a_full_disk_behind_the_standard_output_is_one_sentence(words: str, small: Path) -> None:
    line = f'"{TOPLIST}" {words} > /dev/full'
    done = subprocess.run(["/bin/bash", "-c", line], cwd=small, capture_output=True, text=True, check=False)
    require_sentence(done, 1, "No space left on device")


def test_names_are_shown_on_the_progress_bar_as_they_are(small: Path) -> None:
    """Neither as markup nor as controls of the terminal."""
    main, other = pty.openpty()
    (small / "q.csv").write_text("case,class,confidence\n2,b,.4\n1,b,.5\n")
    words = ["compare", "[/red]\\[/red]\x1b[31mX=q.csv", "-t", "y.csv", "-c", "3"]
    process = subprocess.Popen([TOPLIST, *words], cwd=small, stdout=subprocess.PIPE, stderr=other, text=True)
    os.close(other)
    told = b""
    while process.poll() is None or select.select([main], [], [], 0.1)[0]:
        if select.select([main], [], [], 0.1)[0]:
            try:
                told += os.read(main, 1 << 16)
            except OSError:
                break
    out, _ = process.communicate()
    os.close(main)
    assert process.returncode == 0, told
    assert b"Traceback" not in told
    assert b"\x1b[31mX" not in told
    assert "[/red]" in out


def test_a_number_of_classes_that_nobody_can_read_is_refused(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small)
    code, told = said("compare", "p.csv", "-t", "y.csv", "-c", "9" * 5000)
    assert (code, len(told) < 200) == (2, True), told
    assert "5,000 digits" in told


def test_a_long_value_in_a_model_is_shortened(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small)
    long = "x" * 200_000
    for text in (f'{{"schema": "{long}"}}', f'{{"schema": "toplist.recalibrator/1", "kind": "{long}"}}'):
        (small / "m.json").write_text(text)
        code, told = said("recalibrate", "apply", "p.csv", "m.json", "-c", "3", "-o", "o.csv")
        assert code == 1, told
        assert len(told) < 1000


def test_no_more_threads_or_memory_is_one_sentence() -> None:
    import typer

    from toplist.cli.output import reported

    for error in (RuntimeError("can't start new thread"), MemoryError()):
        with pytest.raises(typer.Exit) as end, reported():
            raise error
        assert end.value.exit_code == 1
    with pytest.raises(RuntimeError, match="something else"), reported():
        raise RuntimeError("something else")


def test_a_file_that_cannot_be_written_is_no_mistake_of_usage(small: Path) -> None:
    """The limit is in blocks of a kilobyte; boards, reports and lists end alike."""
    for words in ("compare p.csv -t y.csv -c 3 -o b.html", "compare p.csv -t y.csv -c 3 --report r.html"):
        name = words.split()[-1]
        (small / name).write_text("old")
        line = f'ulimit -f 1; "{TOPLIST}" {words}'
        done = subprocess.run(["/bin/bash", "-c", line], cwd=small, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stderr
        assert complaints(done.stderr) == f"toplist: {name}: this cannot be written: File too large.\n"
        assert (small / name).read_text() == "old"
