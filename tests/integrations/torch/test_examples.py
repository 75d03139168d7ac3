"""The examples on the way from logits: a short run of each, and a page that shows their results."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytest.importorskip("torch")

from examples.accelerator import classifier, distillation, next_tokens, page, words

import toplist as tl
from toplist.integrations.torch import lists_from_logits


@pytest.fixture(scope="module")
def results() -> Any:
    return json.loads(page.RESULTS.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def text() -> words.Text:
    return words.read(200, 6_000, 1_600)


@pytest.fixture(scope="module")
def teacher(text: words.Text) -> words.Model:
    return words.trained(text, 16, 32, 2)


def test_the_page_shows_the_results(results: Any) -> None:
    shown = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(shown, results) == shown
    assert sorted(re.findall(r"<!-- (?!end)(\w+) -->", shown)) == sorted(page.TABLES)


def test_whole_modules_are_held_out_and_words_follow_each_other(text: words.Text) -> None:
    assert not set(text.learned) & set(text.held_out)
    assert len(text.held_out) > 30
    assert len(text.test.y) % text.modules == 0
    assert int(text.test.y.max()) < text.classes
    same = text.test.module[1:] == text.test.module[:-1]
    assert bool((text.test.before[1:, -1] == text.test.y[:-1])[same].all())


def test_a_truncated_divergence_teaches_overconfidence_in_a_short_run(text: words.Text, teacher: words.Model) -> None:
    found = distillation.run(text, teacher, epochs=2, seeds=1)
    excess = {row["name"]: row["excess"]["value"] for row in found["rows"]}
    assert set(excess) == {distillation.TEACHER, *distillation.LOSSES}
    assert excess[distillation.TRUNCATED] > excess[distillation.BUCKET] + 0.1
    assert distillation.TRUNCATED in found["board"]


def test_the_curve_over_lengths_is_that_of_cut_lists(text: words.Text, teacher: words.Model) -> None:
    found = next_tokens.run(text, teacher, longest=10)
    lists = lists_from_logits(teacher(text.test.before).double(), 10).to_lists(text.classes)
    for k in (1, 4, 10):
        cut = lists.truncate(k)
        for rule in ("brier", "log"):
            mean = tl.score(cut, text.test.y.numpy(), rule=rule).mean()
            assert found["curve"][str(k)][rule][0] == pytest.approx(mean, rel=1e-5)
        assert found["curve"][str(k)]["coverage"][0] == pytest.approx(tl.coverage(cut, text.test.y.numpy()), rel=1e-9)


def test_the_classifier_runs_with_every_loss() -> None:
    found = classifier.run(splits=1, epochs=2)
    assert list(found) == ["0%", "20%"]
    for version in found.values():
        assert [row["name"] for row in version["rows"]] == list(classifier.LOSSES)
        assert all(0.3 < row["accuracy"] <= 1 for row in version["rows"])


def test_what_the_page_says_is_in_the_results(results: Any) -> None:
    rows = {row["name"]: row for row in results["distillation"]["rows"]}
    truncated, bucket, brier = (
        rows[name] for name in (distillation.TRUNCATED, distillation.BUCKET, distillation.BRIER)
    )
    assert truncated["excess"]["value"] > 3 * bucket["excess"]["value"] > 0
    assert rows[distillation.FULL]["excess"]["low"] < 0 < rows[distillation.FULL]["excess"]["high"]
    assert truncated["first"]["low"] > 0.09 > 0.03 > brier["first"]["high"]
    assert min(rows.values(), key=lambda row: row["coverage"]) is brier
    pairs = {(pair["a"], pair["b"]): pair for pair in results["distillation"]["pairs"]}
    assert all(pairs[distillation.BUCKET, distillation.TRUNCATED][rule]["high"] < 0 for rule in ("brier", "log"))
    to_full = pairs[distillation.BUCKET, distillation.FULL]
    assert to_full["brier"]["low"] < 0 < to_full["brier"]["high"]
    assert to_full["log"]["low"] > 0
    seeds = results["distillation"]["seeds"]
    assert max(seeds[distillation.BRIER]) < min(seeds[distillation.TRUNCATED])
    assert max(seeds[distillation.FULL] + seeds[distillation.BUCKET]) < min(seeds[distillation.BRIER])
    found = results["next_tokens"]
    (ten, error), (full, _) = found["curve"]["10"]["brier"], found["full"]["brier"]
    assert 0 < ten - full < error / 10
    assert found["curve"]["100"]["coverage"][0] > 0.9
    clean, noisy = ({row["name"]: row for row in version["rows"]} for version in results["classifier"].values())
    assert [(clean[name]["better"], clean[name]["worse"]) for name in (classifier.BRIER, classifier.PADDED)] == [
        (0, 0),
        (0, 4),
    ]
    assert [noisy[name]["better"] for name in (classifier.BRIER, classifier.PADDED)] == [10, 10]
