"""Where accuracy and score disagree, the page shows what decides, adding up to the difference that the table has."""

from __future__ import annotations

import re

import numpy as np
import pytest

import toplist as tl
from tests.report import results as made
from tests.report.html.hostile import HOSTILE
from tests.report.html.no_figures import render_undrawn
from toplist.inference.score_difference import Decided, split
from toplist.report.html import Page, tables
from toplist.report.statements import deciding
from toplist.report.text import names

N = 120


def board(ids=None):
    """The bold one is right more often, and pays where it is not."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet([0.5] * 5, size=N)
    y = (p.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1)
    bold = tl.TopLists.from_labels(p.argmax(axis=1), 5, ids=ids)
    shy = tl.TopLists.from_proba(0.5 * p + 0.5 * rng.dirichlet([0.5] * 5, size=N))
    return tl.compare({"bold": bold, "shy": shy}, y), bold, shy, y


def one(worse="worse", better="better", called="case 7"):
    a, b = np.array([0.2, 2.0, 0.0]), np.array([0.3, 0.5, 0.4])
    found = split(a, b, np.array([1.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]), rule="brier")
    return Decided(worse, better, 3.0, found, {1: called})


def test_material_finds_the_cases_that_decide_on_the_cases_of_both() -> None:
    found, bold, shy, y = board(ids=[f"id {i}" for i in range(N)])
    (decided,) = found.details().decided([(0, 1)], ("bold", "shy"), "brier", 5)
    d = tl.score(bold, y) - tl.score(shy, y)
    assert decided.found.difference / decided.weight == pytest.approx(found.difference("bold", "shy").value)
    assert [x.case for x in decided.found.favour_b] == np.argsort(-d, kind="stable")[:5].tolist()
    assert all(decided.called[x.case] == f"id {x.case}" for x in decided.found.favour_b)
    assert decided.found.accuracy_a == pytest.approx(tl.accuracy(bold, y))


def test_sentences_add_up_to_the_difference_of_the_means() -> None:
    shown = names(["worse", "better"])
    first, second = map(str, deciding(one(), shown))
    whole, *parts = [float(x) for x in re.findall(r"[+-]\d\.\d{4}", first.replace("\u2212", "-"))]
    assert sum(parts) == pytest.approx(whole, abs=2e-4)
    assert "where only worse is right" in first
    assert second == "Without the one case of 3 that speaks most for better, the difference would be gone."
    grid = tables.deciding(one(), shown, 1)
    assert grid is not None
    assert str(grid.rows[0][0].text) == "case 7"


def test_pairs_of_models_that_are_not_on_the_page_are_left_out() -> None:
    pytest.importorskip("jinja2", reason="reports need jinja2")
    found = made.drawn(("worse", "better"), cases=30, paths=0)
    assert "table-deciding" not in render_undrawn(Page(found, decided=(one("worse", "stranger"),)))


def test_a_page_shows_the_pair_under_where_accuracy_says_otherwise(tmp_path) -> None:
    pytest.importorskip("jinja2", reason="reports need jinja2")
    pytest.importorskip("matplotlib", reason="drawings need matplotlib")
    found, *_ = board()
    for name in ("one.html", "two.html"):
        found.report(tmp_path / name)
    text = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert text == (tmp_path / "two.html").read_text(encoding="utf-8")
    assert text.index("Where accuracy says otherwise") < text.index('id="table-deciding-1"')


def test_files_name_the_deciding_cases_by_their_ids(tmp_path) -> None:
    pytest.importorskip("pyarrow", reason="files need pyarrow")
    pytest.importorskip("duckdb", reason="files need DuckDB")
    _, bold, shy, y = board()
    order = np.random.default_rng(0).permutation(N)
    for name, lists in (("bold", bold), ("shy", shy)):
        rows = [f"x{i},{c},{float(t)!r}" for i in order for c, t in lists[int(i)].confidences.items()]
        (tmp_path / f"{name}.csv").write_text("\n".join(["case,class,confidence", *rows]))
    (tmp_path / "y.csv").write_text("\n".join(["case,outcome", *(f"x{i},{c}" for i, c in enumerate(y))]))
    files = {name: tmp_path / f"{name}.csv" for name in ("bold", "shy")}
    found = tl.compare(files, tmp_path / "y.csv", space=5)
    (decided,) = found.details().decided([(0, 1)], ("bold", "shy"), "brier", 3)
    assert decided.found.accuracy_a == pytest.approx(tl.accuracy(bold, y))
    assert all(decided.called[x.case] == f"x{x.case}" for x in (*decided.found.favour_a, *decided.found.favour_b))


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_of_cases_stay_text(kind) -> None:
    pytest.importorskip("jinja2", reason="reports need jinja2")
    found = made.drawn(("worse", "better"), cases=30, paths=0)
    text = render_undrawn(Page(found, decided=(one(called=HOSTILE[kind]),)))
    assert 'id="table-deciding-1"' in text
    assert "<script>alert" not in text
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
