"""The study of lists cut at a mass: its page is its results, and one model is done again."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from studies import folder
from studies.topbeta import page
from studies.topbeta.measuring import BETA, FILES, NETWORKS, predictions, stretched

import toplist as tl
from tests.studies import pages
from tests.studies.run_study import DATA

PAGE = "topbeta-study.md"


@pytest.fixture(scope="module")
def results() -> Any:
    return json.loads(page.RESULTS.read_text(encoding="utf-8"))


def test_the_page_shows_the_results(results: Any) -> None:
    text = pages.page(PAGE)
    assert page.filled(text, results) == text
    assert len(re.findall(r"<!-- (?!end)\w+ -->", text)) == len(page.TABLES) == text.count("<!-- end -->")


def test_stretched_lists_are_expected_to_gain_under_the_brier_score_and_to_lose_under_the_top_beta_score(
    results: Any,
) -> None:
    assert len(results["stretched"]) == 17
    for row in results["stretched"]:
        assert 0.035 < row["share"] < 0.145
        assert -3e-4 < row["brier"]["expected"] < 0 < row["topbeta"]["expected"] < 3.5e-5
        assert row["brier"]["happened"]["value"] < 0
        assert row["length"]["stretched"] > row["length"]["true"]
    assert sum(row["brier"]["happened"]["high"] < 0 for row in results["stretched"]) == 8
    apart = [row["name"] for row in results["stretched"] if row["topbeta"]["happened"]["high"] < 0]
    assert apart == ["inception_v3", "resnet_orig"]
    assert all(row["topbeta"]["happened"]["low"] < 0 for row in results["stretched"])


def test_the_rules_differ_in_pairs_that_are_not_significant(results: Any) -> None:
    board = results["board"]
    assert board["pairs"] == 91
    assert len(board["opposed"]) == 5
    covered = {row["name"]: row["coverage"] for row in board["rows"]}
    for pair in board["opposed"]:
        assert covered[pair["better"]] > covered[pair["worse"]]
        assert min(pair["topbeta_p"], pair["brier_p"]) > 0.05
    assert all(row["mass"] > row["coverage"] for row in board["rows"])


def test_one_network_and_its_stretched_lists_are_scored_again(results: Any) -> None:
    why = folder.absent(DATA, list(FILES.values()))
    if why:
        pytest.skip(why)
    one = next(one for one in predictions(DATA) if one.data == NETWORKS and one.name == "googlenet")
    (known,) = (row for row in results["board"]["rows"] if row["name"] == one.name)
    cut = one.lists.truncate(mass=BETA)
    assert tl.score(cut, one.y, rule="topbeta:0.9").mean() == pytest.approx(known["topbeta"], rel=1e-7)
    assert tl.score(cut, one.y).mean() == pytest.approx(known["brier"], rel=1e-7)
    (known,) = (row for row in results["stretched"] if row["name"] == one.name)
    judged, temperature = one.recalibrated()
    found = stretched(judged, temperature)
    for name in ("share", "temperature"):
        assert found[name] == pytest.approx(known[name], rel=1e-7)
    for rule in ("brier", "topbeta"):
        assert found[rule]["expected"] == pytest.approx(known[rule]["expected"], rel=1e-6, abs=1e-11)
