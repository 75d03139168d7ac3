"""No command replaces what it reads: every command, every kind of input, however the output is spelled."""

from __future__ import annotations

import io
import json
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.messages import said
from tests.cli.run_cli import toplist_here
from toplist.cli import demo
from toplist.cli.output import progress_bar, reading_lines

DATA = demo.folder()

CASES = [f"case {i}" for i in range(40)]
REFUSED = ("is the input", "lies in the folder", "matches the pattern", "is a file of", "are one file")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs of every kind: files, folders, labels in files of every suffix, a model, weights."""
    home = tmp_path_factory.mktemp("inputs")
    lists = pa.table({
        "case": CASES,
        "classes": [["a", "b"] if i % 3 else ["b", "c"] for i in range(len(CASES))],
        "confidences": [[0.6, 0.3] if i % 2 else [0.5, 0.2] for i in range(len(CASES))],
    })  # fmt: skip
    truth = "case,outcome\n" + "".join(f"{case},{'abc'[i % 3]}\n" for i, case in enumerate(CASES))
    (home / "preds").mkdir()
    (home / "truths").mkdir()
    for name in ("p.parquet", "q.parquet", "preds/one.parquet"):
        pq.write_table(lists, home / name)
    for name in ("y.csv", "truths/y.csv"):
        (home / name).write_text(truth)
    for suffix in ("csv", "parquet", "svg", "html"):
        (home / f"labels.{suffix}").write_text("a\nb\nc\n")
    (home / "labels.json").write_text('["a", "b", "c"]')
    shares = {"schema": "toplist.weights/1", "pool": "linear", "weights": {"p": 0.5, "q": 0.5}}
    (home / "weights.json").write_text(json.dumps(shares))
    code, told = said(
        "recalibrate", "fit", home / "p.parquet", "-t", home / "y.csv", "-c", "3", "-o", home / "model.json",
        "--kind", "temperature", "-q",
    )  # fmt: skip
    assert code == 0, told
    return home


@dataclass(frozen=True)
class Inputs:
    """What a command is given to read; each kind of input can be put in the place of a plain one."""

    predictions: str = "p.parquet"
    truth: str = "y.csv"
    labels: str = "labels.csv"
    model: str = "model.json"
    weights: str = "weights.json"


Words = Callable[[Inputs, str], list[str]]
COMMANDS: dict[str, tuple[str, tuple[str, ...], Words]] = {
    "compare -o": (
        "csv", ("predictions", "truth", "labels"),
        lambda i, o: ["compare", f"p={i.predictions}", "q=q.parquet", "-t", i.truth, "-c", i.labels, "-o", o],
    ),
    "compare, second -o": (
        "json", ("predictions", "truth", "labels"),
        lambda i, o: ["compare", i.predictions, "-t", i.truth, "-c", i.labels, "-o", "new/b.md", "-o", o],
    ),
    "compare --report": (
        "html", ("predictions", "truth", "labels"),
        lambda i, o: ["compare", i.predictions, "-t", i.truth, "-c", i.labels, "--report", o],
    ),
    "score": (
        "csv", ("predictions", "truth", "labels"),
        lambda i, o: ["score", i.predictions, "-t", i.truth, "-c", i.labels, "-o", o],
    ),
    "convert": ("parquet", ("predictions", "labels"), lambda i, o: ["convert", i.predictions, o, "-c", i.labels]),
    "diagnose --plot": (
        "svg", ("predictions", "truth", "labels"),
        lambda i, o: ["diagnose", i.predictions, "-t", i.truth, "-c", i.labels, "--draws", "39", "--plot", o],
    ),
    "recalibrate fit": (
        "json", ("predictions", "truth", "labels"),
        lambda i, o: ["recalibrate", "fit", i.predictions, "-t", i.truth, "-c", i.labels, "-o", o],
    ),
    "recalibrate apply": (
        "parquet", ("predictions", "labels", "model"),
        lambda i, o: ["recalibrate", "apply", i.predictions, i.model, "-c", i.labels, "-o", o],
    ),
    "pool": (
        "parquet", ("predictions", "truth", "labels"),
        lambda i, o: ["pool", f"p={i.predictions}", "q=q.parquet", "-t", i.truth, "-c", i.labels, "-o", o],
    ),
    "pool --weights-from": (
        "csv", ("predictions", "labels", "weights"),
        lambda i, o: [
            "pool", f"p={i.predictions}", "q=q.parquet", "--weights-from", i.weights, "-c", i.labels, "-o", o
        ],
    ),
    "pool --save-weights": (
        "json", ("predictions", "labels"),
        lambda i, o: [
            "pool", f"p={i.predictions}", "q=q.parquet", "-c", i.labels, "-o", "new/p.csv", "--save-weights", o
        ],
    ),
    "truncate": (
        "csv", ("predictions", "truth", "labels"),
        lambda i, o: ["truncate", i.predictions, "-t", i.truth, "-c", i.labels, "-o", o],
    ),
    "truncate -k": ("parquet", ("predictions",), lambda i, o: ["truncate", i.predictions, "-k", "1", "-o", o]),
}  # fmt: skip

# kind of input -> what is named, a file that is read then, and a name that it would read the next time
PLAIN = {"predictions": "p.parquet", "truth": "y.csv", "model": "model.json", "weights": "weights.json"}
MANY = {
    "predictions": {"folder": ("preds", "preds/one.parquet"), "pattern": ("preds/*", "preds/one.parquet")},
    "truth": {"folder": ("truths", "truths/y.csv"), "pattern": ("truths/*", "truths/y.csv")},
}


def table() -> Iterator[tuple[str, str, str, str]]:
    """Command, input, how it is named, how the output is spelled."""
    for command, (suffix, kinds, _) in COMMANDS.items():
        for kind in kinds:
            same = PLAIN.get(kind, f"labels.{suffix}").endswith(f".{suffix}")
            spellings = ("same", "absolute", "relative", "through a link to the folder") if same else ()
            for spelling in (*spellings, "symbolic link", "link to a link", "hard link"):
                yield command, kind, "file", spelling
            for named in MANY.get(kind, {}):
                for spelling in ("inside", "inside, by a linked folder", "symbolic link", "hard link", "a link inside"):
                    yield command, kind, named, spelling


def spelled(home: Path, spelling: str, read: str, suffix: str) -> str:
    """An output that is the file `read`, or stands beside it."""
    link, folder = home / "links" / f"out.{suffix}", (home / read).parent
    (home / "links").mkdir()
    (home / "new").mkdir()
    match spelling:
        case "same":
            return read
        case "absolute":
            return str(home / read)
        case "relative":
            return f"links/../{read}"
        case "through a link to the folder":
            (home / "links/home").symlink_to(home)
            return f"links/home/{read}"
        case "symbolic link":
            link.symlink_to(home / read)
        case "link to a link":
            (home / "links/other").symlink_to(home / read)
            link.symlink_to("other")
        case "hard link":
            os.link(home / read, link)
        case "inside":
            return str(folder / f"new.{suffix}")
        case "inside, by a linked folder":
            (home / "links/folder").symlink_to(folder)
            return f"links/folder/new.{suffix}"
        case "a link inside":
            (folder / f"led.{suffix}").symlink_to(home / f"new/elsewhere.{suffix}")
            return f"{folder.name}/led.{suffix}"
    return str(link)


def contents(home: Path) -> dict[str, bytes | str]:
    """Every file with its bytes, every link with where it leads."""
    found = (path for path in sorted(home.rglob("*")) if path.is_symlink() or path.is_file())
    return {str(one.relative_to(home)): os.readlink(one) if one.is_symlink() else one.read_bytes() for one in found}


@pytest.fixture
def home(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the inputs to work in."""
    for path in place.rglob("*"):
        if path.is_file():
            (tmp_path / path.relative_to(place)).parent.mkdir(exist_ok=True)
            (tmp_path / path.relative_to(place)).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("command", "kind", "named", "spelling"), list(table()))
def test_what_is_read_is_never_replaced(command: str, kind: str, named: str, spelling: str, home: Path) -> None:
    suffix, _, words = COMMANDS[command]
    plain = PLAIN.get(kind, f"labels.{suffix}")
    source, read = (plain, plain) if named == "file" else MANY[kind][named]
    output = spelled(home, spelling, read, suffix)
    before = contents(home)
    code, told = said(*words(Inputs(**{kind: source}), output), "-q")
    assert code == 2, told
    assert any(mark in told for mark in REFUSED), told
    assert repr(output) in told.replace("\\\\", "\\")
    assert repr(source) in told
    assert contents(home) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_the_same_commands_write_elsewhere(command: str, home: Path) -> None:
    if command == "compare --report":
        pytest.importorskip("jinja2", reason="reports need jinja2")
    if command == "diagnose --plot":
        pytest.importorskip("matplotlib", reason="drawings need matplotlib")
    suffix, _, words = COMMANDS[command]
    (home / "new").mkdir()
    before = contents(home)
    code, told = said(*words(Inputs(), f"new/out.{suffix}"), "-q")
    assert code == 0, told
    assert (home / f"new/out.{suffix}").stat().st_size
    after = contents(home)
    assert {name: after[name] for name in before} == before
    assert not [name for name in after if name.endswith(".part")]


TWICE = {
    "two boards": ["compare", "p.parquet", "-t", "y.csv", "-c", "3", "-o", "b.json", "-o", "./b.json"],
    "a board and a report": ["compare", "p.parquet", "-t", "y.csv", "-c", "3", "-o", "b.html", "--report", "b.html"],
    "lists and weights": ["pool", "p.parquet", "q.parquet", "-c", "3", "-o", "l.csv", "--save-weights", "w.json"],
    "the demo's board and report": ["demo", "-o", "d.html", "--report", "d.html"],
}  # fmt: skip


@pytest.mark.parametrize("command", TWICE)
def test_two_outputs_are_two_files(command: str, home: Path) -> None:
    if command == "lists and weights":
        (home / "l.csv").write_text("old")
        os.link("l.csv", "w.json")
    before = contents(home)
    code, told = said(*TWICE[command])
    assert code == 2, told
    assert "are one file: name two" in told
    assert contents(home) == before


def test_figures_are_not_drawn_into_a_folder_that_is_read(home: Path) -> None:
    before = contents(home)
    for output in ("preds", "preds/figures", "./preds/../preds"):
        code, told = said("diagnose", "preds", "-t", "y.csv", "-c", "3", "--plot", output, "-q")
        assert code == 2, told
        assert "lies in the folder 'preds'" in told
    assert contents(home) == before


def test_the_demo_does_not_write_into_its_data(monkeypatch: pytest.MonkeyPatch) -> None:
    from toplist.cli import demo

    code, told = said("demo", "--json", "-o", demo.folder() / "board.csv")
    assert code == 2, told
    assert "lies in the folder" in told
    code, told = said("demo", "-o", demo.folder() / "truth.csv", "--no-report")
    assert code == 2, told


class Terminal(io.StringIO):
    """A stream that takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_that_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("COLUMNS", "40")
    with progress_bar(False, 14) as update:
        for name in ("vgg19_bn", "a model with a very long name indeed"):
            for done in (0, 4000):
                update(f"scoring {name}", done, None)
    written = screen.getvalue()
    assert "\n" not in written
    lines = written.split("\r\x1b[K")
    assert lines[:2] == ["", "Scoring 1 of 14: vgg19_bn, 0 cases"]
    assert max(map(len, lines)) < 40
    assert not lines[-1]


def test_a_message_is_not_written_behind_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with reading_lines(False), progress_bar(False) as update:
        update("reading", 10, None)
        logging.getLogger("toplist").info("a.csv: wide")
    assert "\r\x1b[Ka.csv: wide\n" in screen.getvalue()


@pytest.mark.parametrize("quiet", [True, False])
def test_there_is_no_progress_where_nobody_looks(quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal() if quiet else io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    with progress_bar(quiet) as update:
        update("reading", 10, None)
    assert not screen.getvalue()


@pytest.mark.parametrize(
    ("encoding", "able"), [("utf-8", True), ("ascii", False), ("latin-1", False), ("cp437", False)]
)
def test_signs_are_ascii_where_the_stream_cannot_write_others(encoding: str, able: bool) -> None:
    files = [DATA / "cld2.tsv", DATA / "lingua.parquet"]
    done = toplist_here("compare", *files, "-t", DATA / "truth.csv", "-c", DATA / "classes.txt", encoding=encoding)
    assert done.returncode == 0, done.stderr
    assert ("\u2212" in done.stdout) == able
    assert done.stdout.isascii() == (not able)
    assert "\\u" not in done.stdout
