"""What is read is not replaced, however the output is spelled; for every command in tests/transcripts/outputs.txt."""

from __future__ import annotations

import io
import logging
import os
import re
from pathlib import Path

import pytest

from tests.cli.messages import said
from tests.cli.run_cli import toplist_here
from toplist.cli import demo
from toplist.cli.output import progress_bar, reading_lines

DATA = demo.folder()
FILES = {
    "p.csv": "case,class,confidence\n1,a,0.5\n2,b,0.5\n",
    "y.csv": "case,outcome\n1,a\n2,c\n",
    "labels.parquet": "a\nb\nc\n",
}
# a file that is read, and the predictions and the truth by which it is: files, folders or patterns
READ = {
    "p.csv": ("p.csv", "y.csv"),
    "y.csv": ("p.csv", "y.csv"),
    "labels.parquet": ("p.csv", "y.csv"),
    "preds/p.csv": ("preds", "y.csv"),
    "./preds/p.csv": ("preds/*", "y.csv"),
    "truths/y.csv": ("p.csv", "truths"),
    "./truths/y.csv": ("p.csv", "truths/*"),
}
SPELLINGS = ("absolute", "relative", "through a link to the folder", "symbolic link", "link to a link", "hard link")
INSIDE = ("by a linked folder", "symbolic link", "hard link", "a link inside")
REFUSED = ("is the input", "lies in the folder", "matches the pattern", "is a file of")


def spelled(home: Path, spelling: str, read: str) -> str:
    """An output that is the file `read`, or stands beside it."""
    link, folder = home / f"links/out{Path(read).suffix}", (home / read).parent
    (home / "links").mkdir()
    match spelling:
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
        case "by a linked folder":
            (home / "links/folder").symlink_to(folder)
            return "links/folder/new.csv"
        case "a link inside":
            (folder / "led.csv").symlink_to(home / "links/elsewhere.csv")
            return f"{folder.name}/led.csv"
    return str(link)


def contents(home: Path) -> dict[str, bytes | str]:
    """Every file with its bytes, every link with where it leads."""
    paths = (path for path in sorted(home.rglob("*")) if path.is_symlink() or path.is_file())
    return {str(one.relative_to(home)): os.readlink(one) if one.is_symlink() else one.read_bytes() for one in paths}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for folder, name in (("preds", "p.csv"), ("truths", "y.csv")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(FILES[name])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("read", "spelling"), [(read, one) for read in READ for one in (INSIDE if "/" in read else SPELLINGS)]
)
def test_what_is_read_is_never_replaced_however_the_output_is_spelled(read: str, spelling: str, home: Path) -> None:
    output = spelled(home, spelling, read)
    before = contents(home)
    predictions, truth = READ[read]
    code, told = said("score", predictions, "-t", truth, "-c", "labels.parquet", "-o", output, "-q")
    assert code == 2, told
    assert any(mark in told for mark in REFUSED), told
    assert repr(output) in told
    assert contents(home) == before


def test_what_is_written_elsewhere_is_all_that_changes(home: Path) -> None:
    before = contents(home)
    code, told = said("score", "p.csv", "-t", "y.csv", "-c", "labels.parquet", "-o", "new.csv", "-q")
    assert code == 0, told
    after = contents(home)
    assert after.pop("new.csv")
    assert after == before


def test_two_outputs_are_two_files(home: Path) -> None:
    (home / "l.csv").write_text("old")
    os.link("l.csv", "w.json")
    before = contents(home)
    code, told = said("pool", "p.csv", "preds", "-t", "y.csv", "-c", "3", "-o", "l.csv", "--save-weights", "w.json")
    assert code == 2, told
    assert "are one file: name two" in told
    assert contents(home) == before


@pytest.mark.parametrize("words", [("--json", "-o", DATA / "board.csv"), ("-o", DATA / "truth.csv", "--no-report")])
def test_the_demo_does_not_write_into_its_data(words: tuple[object, ...]) -> None:
    code, told = said("demo", *words)
    assert code == 2, told
    assert "lies in the folder" in told


class Terminal(io.StringIO):
    """A stream that takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


ERASED = "\x1b[1A\x1b[2K"  # a line up, and all of it


def test_progress_is_one_line_that_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    with progress_bar(False, 14) as update:
        for name in ("vgg19_bn", "a model with a very long name indeed"):
            for done in (0, 4000):
                update(f"scoring {name}", done, None)
    shown = screen.getvalue().removesuffix(ERASED)
    assert shown != screen.getvalue()
    (line,) = [line for line in re.sub(r"\x1b\[[?\d]*\w", "", shown).split("\n") if line.strip()]
    assert line.strip() == "Scoring 2 of 14: a model with a very lo\u2026"


def test_a_message_is_not_written_behind_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with reading_lines(False), progress_bar(False) as update:
        update("reading", 10, None)
        logging.getLogger("toplist").info("a.csv: wide")
    assert re.search(r"(^|\n|\x1b\[\?25l|\x1b\[2K)a\.csv: wide\n", screen.getvalue())


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
