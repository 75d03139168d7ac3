"""A leaderboard without cases: it shows all that comes from sums, and refuses the rest in one sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.report.html.parse_page import read
from toplist.calibration.binned import ReliabilityBins
from toplist.evaluation.breakdown import groups_of_sums
from toplist.evaluation.case_details import SumDetails
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.partials import PartSums
from toplist.evaluation.stream import ScoringSpec, run
from toplist.inference.results import PartRecord
from toplist.io.options import ReadOptions, ReadRequest
from toplist.io.plan import plan_of
from toplist.report.plot import PLOTS
from toplist.scoring.case_scores import CaseScores

CASES = 400


def predictions(models: int = 3) -> tuple[dict[str, tl.TopLists], np.ndarray]:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 6, CASES)
    found = {}
    for i in range(models):
        z = (1 + 0.5 * i) * rng.normal(size=(CASES, 6))
        z[np.arange(CASES), y] += 2
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        order = np.argsort(-p, axis=1)[:, :3]
        found[f"<i>model {i}</i>"] = tl.TopLists.from_topk(order, np.take_along_axis(p, order, 1), 6)
    return found, y


def of_sums(board: Leaderboard, lists: dict[str, tl.TopLists], y: Any) -> Leaderboard:
    """The board as an engine would make it: with bins, and without a way to the cases."""
    bins = {
        name: ReliabilityBins.of(one, CaseScores.from_lists(one, y, (tl.Brier(),)).metrics["accuracy"])
        for name, one in lists.items()
    }
    return replace(board, _cases=SumDetails(bins, (PartRecord("a.tlp", CASES),)))


@pytest.fixture(scope="module", params=[2, 3])
def boards(request: pytest.FixtureRequest) -> tuple[Leaderboard, Leaderboard]:
    """With its cases, and without."""
    lists, y = predictions(request.param)
    whole = tl.compare(lists, tl.Truth(y, group=np.array(["x", "y", "z", "w"])[np.arange(CASES) % 4]))
    return whole, of_sums(whole, lists, y)


def shown(board: Leaderboard, path: Path) -> str:
    pytest.importorskip("jinja2", reason="reports need jinja2")
    board.report(path)
    return path.read_text(encoding="utf-8")


def sections(text: str) -> list[str]:
    return re.findall(r'<section aria-labelledby="(\w+)"', text)


def test_the_page_has_what_comes_from_sums_and_says_what_is_missing(boards: Any, tmp_path: Path) -> None:
    whole, sums = (sections(shown(board, tmp_path / "board.html")) for board in boards)
    assert [one for one in sums if one != "absent"] == [
        one for one in whole if one not in ("classes", "cases", "lists")
    ]
    text = shown(boards[1], tmp_path / "board.html")
    assert "compare the files themselves, or a sample of their cases" in text
    assert "What to do next" not in text
    assert "a.tlp" in text
    assert "ECE: expected calibration error over 20 bins" in text
    assert "classes listed: 3" in text


def test_both_pages_have_the_same_tables_of_scores_and_groups(boards: Any, tmp_path: Path) -> None:
    """Colours apart, and but for the column on the test of calibration."""

    def table(board: Leaderboard, name: str) -> list[list[str]]:
        page = read(shown(board, tmp_path / "board.html"))
        found = next(one for one in page.every("table") if one.attributes.get("id") == name)
        rows = [[cell.text for cell in row.every("td", "th")] for row in found.every("tr")]
        last = len(rows[0]) - (rows[0][-1] == "calibration")
        return [row[:last] for row in rows]

    for name in ("table-leaderboard", "table-groups"):
        whole, sums = (table(board, name) for board in boards)
        assert whole == sums


def test_names_of_models_are_text(boards: Any, tmp_path: Path) -> None:
    text = shown(boards[1], tmp_path / "board.html")
    assert "<i>" not in text
    assert "&lt;i&gt;model 0&lt;/i&gt;" in text
    assert not re.search(r"(?:src|href)=\"(?!#)", text)


def test_a_report_is_the_same_byte_for_byte(boards: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert shown(boards[1], tmp_path / "a.html") == shown(boards[1], tmp_path / "b.html")


@pytest.mark.parametrize("kind", sorted(set(PLOTS) - {"path"}))
def test_a_figure_is_drawn_or_says_what_to_run(boards: Any, kind: str) -> None:
    board = boards[1]
    if kind == "curves":
        with pytest.raises(
            tl.TopListError, match=rf"no cases: for the plot '{kind}', run toplist compare on the files"
        ):
            board.plot(kind)
        return
    assert board.plot(kind).data == (board if kind == "reliability" else boards[0]).plot(kind).data


def test_the_reliability_diagram_has_the_bins_of_the_report(boards: Any) -> None:
    data = boards[1].plot("reliability").data
    details = boards[0].details()
    for panel in data.panels:
        own = next(one for one in details.exhibits if one.name == panel.name)
        assert panel.bars == own.top
        assert [(p.x, p.y) for p in panel.points] == [(b.mean_confidence, b.hit_rate) for b in own.top]
        assert all(p.low is not None and p.low <= p.y <= p.high for p in panel.points)
    assert "bins of equal width" in data.subtitle
    assert "Clopper-Pearson" in data.subtitle


@pytest.mark.parametrize("ask", [lambda board: board.scores, lambda board: board.details()])
def test_what_needs_cases_is_refused_with_what_to_run(boards: Any, ask: Any) -> None:
    with pytest.raises(tl.TopListError, match=r"^this leaderboard is made from sums .*run toplist compare[^.]*\.$"):
        ask(boards[1])


def test_everything_from_sums_is_the_same(boards: Any) -> None:
    whole, sums = boards
    assert whole == sums
    for made in ("to_json", "to_csv", "to_text", "to_latex", "to_html"):
        assert getattr(whole, made)() == getattr(sums, made)()
    assert whole.to_markdown(detail=True) == sums.to_markdown(detail=True)


def test_clusters_leave_no_intervals_and_the_page_says_why(tmp_path: Path) -> None:
    lists, y = predictions(2)
    board = of_sums(tl.compare(lists, tl.Truth(y, cluster=np.arange(CASES) // 8)), lists, y)
    text = shown(board, tmp_path / "board.html")
    assert "There are no intervals here: cases of one cluster may depend on each other" in text
    assert "Clopper-Pearson" not in text
    assert all(p.low is None for panel in board.plot("reliability").data.panels for p in panel.points)


def test_weights_are_said_not_to_count_in_bins(tmp_path: Path) -> None:
    lists, y = predictions(2)
    board = of_sums(tl.compare(lists, tl.Truth(y, weight=1.0 + np.arange(CASES) % 3)), lists, y)
    assert "Without weights." in shown(board, tmp_path / "board.html")


def test_groups_from_sums_have_the_means_and_tests_of_groups_from_cases(boards: Any) -> None:
    whole, sums = boards
    ours = groups_of_sums(sums.comparison)
    (theirs,) = (one for one in whole.details().breakdowns(whole.comparison, whole._intervals) if one.by == "group")
    assert ours is not None
    assert replace(ours, differences=(), significant=()) == replace(theirs, differences=(), significant=())
    assert np.allclose(ours.differences, theirs.differences, atol=1e-12)
    assert ours.significant == (theirs.significant if len(whole) == 2 else ((False,) * len(whole),) * 4)


@pytest.mark.parametrize("size", [7, 1000])
def test_bins_of_a_part_are_those_of_its_batches(tmp_path: Path, size: int) -> None:
    pa = pytest.importorskip("pyarrow", reason="files need pyarrow")
    from pyarrow import parquet

    (name, lists), y = next(iter(predictions(1)[0].items())), predictions(1)[1]
    ids, columns = np.arange(CASES), (lists.classes, lists.confidences)
    listed = [pa.ListArray.from_arrays(lists.offsets.astype(np.int32), pa.array(column)) for column in columns]
    parquet.write_table(pa.table([ids, *listed], ["case", "classes", "confidences"]), tmp_path / "a.parquet", size)
    parquet.write_table(pa.table([ids, y], ["case", "outcome"]), tmp_path / "y.parquet")
    request = ReadRequest.of({name: tmp_path / "a.parquet"}, tmp_path / "y.parquet", ReadOptions())
    plan = plan_of(request, 6, missing="error", find=())
    sums = PartSums(plan)
    run(plan, ScoringSpec((tl.Brier(),)), [sums])
    right = CaseScores.from_lists(lists, y, (tl.Brier(),)).metrics["accuracy"]
    assert sums.bins[name] == ReliabilityBins.of(lists, right)
    assert sums.bins[name].cases == CASES
