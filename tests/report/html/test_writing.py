"""A page is the same every time, of bounded size, and written whole or not at all."""

from __future__ import annotations

import importlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.report import results as made
from tests.report.html.no_figures import render_undrawn
from tests.report.html.parse_page import read
from toplist.errors import TopListError
from toplist.report.html import Page, Provenance, render, write
from toplist.report.html import page as writing_module

pytest.importorskip("jinja2", reason="reports need jinja2")


def test_the_same_page_is_the_same_bytes() -> None:
    pytest.importorskip("matplotlib", reason="drawings need matplotlib")
    assert render(made.page(groups=3, cases=200)) == render(made.page(groups=3, cases=200))


def test_many_models_and_groups_stay_below_a_megabyte() -> None:
    found = made.page(names=made.many(12), groups=40, cases=300)
    assert len(render(found).encode()) < 1_000_000


def test_what_is_written_is_what_is_rendered(tmp_path: Path) -> None:
    page = made.page(cases=50, rules=("brier",), names=("a", "b"))
    target = tmp_path / "board.html"
    target.write_text("before")
    write(page, target)
    assert target.read_bytes() == render(page).encode()
    assert [one.name for one in tmp_path.iterdir()] == ["board.html"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    page = made.page(cases=50, rules=("brier",), names=("a", "b"))
    (tmp_path / "link.html").symlink_to(tmp_path / "real.html")
    write(page, str(tmp_path / "link.html"))
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "board.html"
    target.write_text("before")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr(writing_module, "render", lambda _: "after")
    with pytest.raises(TopListError, match=r"board\.html: this cannot be written: No space left on device\."):
        write(made.page(cases=50), target)
    assert target.read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_missing_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TopListError, match=r"there is no folder '.*nowhere' for the output: make it first\."):
        write(made.page(cases=50), tmp_path / "nowhere" / "board.html")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(TopListError, match="is a folder: name a file in it"):
        write(made.page(cases=50), tmp_path)


def test_without_jinja_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def absent(name: str, *more: Any) -> Any:
        if name == "jinja2":
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr("toplist._files.import_module", absent)
    writing_module._environment.cache_clear()
    with pytest.raises(TopListError, match=r"^reports need jinja2: pip install 'toplist\[report\]'$"):
        render(made.page(cases=50))


def test_importing_the_page_needs_no_jinja() -> None:
    source = Path(writing_module.__file__).parent
    assert not [path for path in source.glob("*.py") if "import jinja2" in path.read_text(encoding="utf-8")]


def test_what_is_not_known_of_the_origin_is_left_out() -> None:
    found = made.drawn(cases=50)
    text = render_undrawn(Page(found, provenance=Provenance()))
    assert "<pre" not in text
    assert 'id="table-files"' not in text
    assert "2024-05-01" not in text
    text = render_undrawn(replace(made.page(found), title="Mine"))
    assert "2024-05-01" in text
    assert f"{1:064x}" in text
    assert "--report board.html" in read(text).text
    assert read(text).one("h1").text == "Mine"
