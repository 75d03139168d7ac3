"""The multi-label study: the numbers that came with the data, and a page that shows what was found."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.studies import pages

pytest.importorskip("sklearn", reason="the study learns with scikit-learn")
pytest.importorskip("matplotlib", reason="the study draws figures")

from studies import folder
from studies.multilabel import page
from studies.multilabel.data import SOURCES, Data, load
from studies.multilabel.keeping import keep, kept
from studies.multilabel.measuring import hard, measure, paired
from studies.multilabel.methods import METHODS, binary_relevance, pool

import toplist as tl
from tests.studies.run_study import DATA
from toplist.multilabel import instance_f1, mode_sets

# What came with the data: binary relevance by scikit-learn's liblinear, lists of the k most probable sets.
MANIFEST = {
    "bibtex": (0.1638, 0.3623, 0.3958, 1.0228, 1.0184, 1.6724),
    "tmc2007-500": (0.2483, 0.6029, 0.2958, 0.9234, 0.8890, 1.5035),
    "scene": (0.4406, 0.5925, 0.6764, 0.8364, 0.7879, 1.1187),
    "emotions": (0.2376, 0.5952, 0.2566, 0.9211, 0.8800, 1.5248),
    "yeast": (0.1570, 0.6014, 0.0544, 0.9674, 0.9629, 1.6859),
}
PAGE = "multilabel-study.md"


@pytest.fixture(scope="module")
def results() -> Any:
    return json.loads(page.RESULTS.read_text(encoding="utf-8"))


def data_of(name: str) -> Data:
    why = folder.absent(DATA, [SOURCES[name].file])
    if why:
        pytest.skip(why)
    return load(SOURCES[name], DATA)


@pytest.mark.parametrize("name", MANIFEST)
def test_binary_relevance_scores_as_the_manifest_says(name: str, results: Any) -> None:
    """Set accuracy, instance F1, mean confidence, padded Brier of one and of ten sets, and of the mode."""
    data = data_of(name)
    lists = binary_relevance(data)
    y = lists.space.sets(data.y_test)
    found = (
        tl.accuracy(lists, y),
        instance_f1(mode_sets(lists), y).mean(),
        lists.truncate(1).confidences.mean(),
        tl.score(lists.truncate(1), y).mean(),
        tl.score(lists.truncate(10), y).mean(),
        tl.score(hard(lists), y).mean(),
    )
    np.testing.assert_allclose(found, MANIFEST[name], atol=1e-3)
    assert found[4] == pytest.approx(results[name]["lengths"]["10"]["BR"]["brier"]["value"], abs=1e-6)


def test_the_smallest_data_set_gives_the_results_of_the_page_again(results: Any, tmp_path: Any) -> None:
    """All methods, their pool, all measures; lists survive being kept."""
    data = data_of("emotions")
    lists = {name: method(data) for name, method in METHODS.items()}
    for name, one in lists.items():
        keep(one, tmp_path / f"{name}.npz")
        again = kept(tmp_path / f"{name}.npz", tl.LabelSets(range(6)))
        np.testing.assert_allclose(tl.score(again, data.y_test), tl.score(one, data.y_test), atol=1e-12)
    lists["pool"] = pool(lists)
    found = measure(data, lists)
    for form, rows in found["lengths"].items():
        for name, row in rows.items():
            want = results["emotions"]["lengths"][form][name]["brier"]["value"]
            assert row["brier"]["value"] == pytest.approx(want, abs=2e-3), (form, name)


def test_every_list_of_the_study_is_valid(results: Any) -> None:
    for found in results.values():
        assert all(row["invalid"] == 0 for rows in found["lengths"].values() for row in rows.values())


def test_reranking_is_better_than_binary_relevance_on_every_data_set(results: Any) -> None:
    """In padded Brier score with lists of ten sets, the interval of the difference below zero."""
    assert set(results) == set(SOURCES)
    for name, found in results.items():
        _, low, high = page.against(found, page.REFERENCE, page.RERANK, "brier")
        assert low < high < 0, name


def test_the_confidence_set_has_the_methods_that_no_other_one_is_significantly_better_than(results: Any) -> None:
    """By Holm's method from the p values of the pairs."""
    for name, found in results.items():
        p = sorted(pair["brier"]["p"] for pair in found["pairs"])
        adjusted = np.maximum.accumulate([min(1.0, (len(p) - i) * one) for i, one in enumerate(p)])
        worse = set()
        for pair in found["pairs"]:
            brier = pair["brier"]
            assert brier["adjusted"] == pytest.approx(adjusted[p.index(brier["p"])], rel=1e-6)
            if brier["adjusted"] <= 0.05:
                worse.add(pair["b"] if brier["value"] < 0 else pair["a"])
        assert len(p) == 15
        assert set(found["set"]) == set(found["metrics"]) - worse, name
    assert {name: found["set"] for name, found in results.items() if len(found["set"]) > 1} == {
        "yeast": ["BR-rerank", "powerset"]
    }


def test_a_longer_list_is_not_worse_by_much(results: Any) -> None:
    """True lists gain with length; what is learnt is near enough to true for that to show."""
    for found in results.values():
        for name in found["metrics"]:
            scores = [found["lengths"][k][name]["brier"]["value"] for k in ("1", "2", "5", "10", "50")]
            assert all(b < a + 1e-3 for a, b in pairwise(scores)), name


def test_the_page_shows_the_results(results: Any) -> None:
    """Every table is made of what was found, and every number in the text is in a table or among what was found."""
    text = pages.page(PAGE)
    assert page.filled(text, results) == text
    assert len(re.findall(r"<!-- \w+ -->", text)) == len(page.TABLES) + text.count("<!-- end -->")


def test_its_figures_are_there_and_small(results: Any) -> None:
    shown = {path.name: path for path in pages.pictures(PAGE)}
    assert set(shown) == set(page.pictures(results))
    for path in shown.values():
        assert 0 < path.stat().st_size < pages.LARGEST[path.suffix], path.name


def test_figures_say_in_words_what_they_show(results: Any) -> None:
    for name, plot in page.pictures(results).items():
        assert len(plot.data.words) > 100, name
        assert "<svg" in plot.svg(), name


def test_paired_differences_are_those_of_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(0)
    a, b = rng.random(50), rng.random(50)
    want = stats.ttest_rel(a, b)
    low, high = want.confidence_interval(0.95)
    assert paired(a, b) == pytest.approx({"value": (a - b).mean(), "low": low, "high": high, "p": want.pvalue})
