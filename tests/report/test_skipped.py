"""Parts that were skipped are said everywhere, before the table that is without them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.report import results as made
from tests.report.html.no_figures import render_undrawn
from toplist.inference.results import SkippedPart
from toplist.report import statements
from toplist.report.export import as_dict, schema
from toplist.report.html import Page
from toplist.report.markup import as_html, as_latex, as_markdown
from toplist.report.terminal import as_text

FILES = ("a.parquet", "b|c.parquet", "<b>d</b>.parquet", "e.parquet", "f.parquet")


def lost(count: int, *, reasons: int = 1, rows: int | None = 1500) -> Any:
    """A comparison without the parts of so many files."""
    parts = (SkippedPart(name, rows, f"the file is damaged ({i % reasons}).") for i, name in enumerate(FILES[:count]))
    return replace(made.drawn(cases=60), skipped=tuple(parts))


def said(found: Any) -> str:
    return " ".join(map(str, statements.skipped(found)))


def test_nothing_is_said_where_nothing_was_skipped() -> None:
    assert statements.skipped(made.drawn(cases=60)) == []
    assert "skipped" not in as_text(made.drawn(cases=60), 100)


def test_at_most_three_files_are_named_and_the_others_counted() -> None:
    assert said(lost(1)) == (
        "1 part was skipped: a.parquet (1,500 rows): the file is damaged (0). The result is of the other cases."
    )
    text = said(lost(5))
    assert text.startswith("5 parts were skipped: a.parquet (1,500 rows), ")
    assert "and 2 more files: the file is damaged (0). The result is of the other cases." in text
    assert "e.parquet" not in text


def test_each_file_has_its_reason_where_these_differ() -> None:
    text = said(lost(2, reasons=2, rows=None))
    assert "a.parquet (the file is damaged (0)), b|c.parquet (the file is damaged (1))." in text


def test_parts_of_one_file_are_named_once_with_all_their_rows() -> None:
    parts = (SkippedPart("a.parquet", 10, "damaged."), SkippedPart("a.parquet", 32, "damaged."))
    found = replace(made.drawn(cases=60), skipped=parts)
    assert said(found) == "2 parts were skipped: a.parquet (42 rows): damaged. The result is of the other cases."


@pytest.mark.parametrize("detail", [False, True])
def test_it_stands_above_the_table_in_every_format(detail: bool) -> None:
    found = lost(5)
    for text in (as_text(found, 100, detail=detail), as_markdown(found, detail=detail)):
        assert text.count("skipped") == 1
        assert text.index("5 parts were skipped") < text.index("accuracy")
    page = as_html(found, detail=detail)
    assert "5 parts were skipped" in page
    assert "<b>d</b>" not in page
    assert "5 parts were skipped" in as_latex(found, detail=detail)


def test_it_is_the_first_warning_of_the_page_with_names_as_text() -> None:
    text = render_undrawn(Page(lost(3)))
    warnings = re.findall(r'<ul class="warnings".*?</ul>', text, re.DOTALL)
    assert "3 parts were skipped" in warnings[0].split("</li>")[0]
    assert text.index("parts were skipped") < text.index("<table")
    assert "<b>d</b>" not in text


def test_a_summary_for_pull_requests_keeps_its_twelve_lines() -> None:
    found = replace(made.drawn(("a", "b"), cases=60, paths=0, groups=0), skipped=lost(5).skipped)
    assert len(as_markdown(found).rstrip("\n").split("\n")) <= 12


def test_json_has_every_skipped_part_as_the_schema_says() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
    found = as_dict(lost(5, rows=None))
    jsonschema.validate(found, schema())
    assert [one["file"] for one in found["skipped"]] == list(FILES)
    assert set(found["skipped"][0]) == {"file", "rows", "reason"}
