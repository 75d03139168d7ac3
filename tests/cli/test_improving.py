"""Commands that make better files: what they print, what they write, and what they say of mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import toplist as tl
from tests.cli.run_cli import toplist_here as toplist
from toplist.cli import demo
from toplist.cli.app import app
from toplist.postprocess.combination import linear_pool, pool_weights
from toplist.postprocess.recalibration import Isotonic, Recalibrator, Temperature, select_recalibrator
from toplist.postprocess.truncation import choose_k

DATA = demo.folder()
LABELS = (DATA / "classes.txt").read_text().split()
SPACE = tl.ClassSpace(labels=LABELS)
CLASSES = ("--classes", DATA / "classes.txt")
TRUTH = ("--truth", DATA / "truth.csv")
TWO = (DATA / "py3langid.csv.gz", DATA / "cld2.tsv")


def said(*words: object) -> dict[str, Any]:
    """What a command prints as JSON, in this process."""
    done = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    return found


def lists(path: Path) -> tl.TopLists:
    return tl.read_lists(path, SPACE)


def outcomes() -> list[str]:
    rows = [line.split(",") for line in (DATA / "truth.csv").read_text().splitlines()]
    return [row[rows[0].index("outcome")] if "outcome" in rows[0] else row[1] for row in rows[1:]]


def test_a_recalibrator_is_fitted_saved_and_applied(tmp_path: Path) -> None:
    model, out = tmp_path / "model.json", tmp_path / "out.parquet"
    words = ("recalibrate", "fit", TWO[0], *TRUTH, *CLASSES, "-o", model)
    found = said(*words, "--kind", "temperature")
    assert [row["name"] for row in found["table"]] == ["Identity()", "Temperature()"]
    assert found["kept"] == 1
    want = Temperature().fit(lists(TWO[0]), outcomes())
    saved = Recalibrator.load(model)
    assert saved.to_dict() == found["model"]
    assert saved.temperature_ == pytest.approx(want.temperature_, rel=1e-6)
    done = said("recalibrate", "apply", TWO[0], model, *CLASSES, "-o", out)
    assert done["cases"] == 500
    np.testing.assert_allclose(lists(out).padded(), saved.transform(lists(TWO[0])).padded(), atol=1e-14)


def test_fitting_counts_weights_and_keeps_clusters_together(tmp_path: Path) -> None:
    head, *rows = (DATA / "truth.csv").read_text().splitlines()
    lines = [f"{head},w", *(f"{row},{i % 3}" for i, row in enumerate(rows))]
    (tmp_path / "y.csv").write_text("\n".join(lines) + "\n")
    words = ("recalibrate", "fit", TWO[0], "-t", tmp_path / "y.csv", "--outcome", "language", *CLASSES)
    words += ("-o", tmp_path / "m.json", "--kind", "isotonic", "--weight", "w", "--cluster", "script")
    found = said(*words)["table"]
    scripts = [row.split(",")[2] for row in rows]
    order = list(dict.fromkeys(scripts))  # folds are drawn for clusters as they appear
    want = select_recalibrator(
        lists(TWO[0]),
        outcomes(),
        candidates=[Isotonic()],
        clusters=list(map(order.index, scripts)),
        sample_weight=np.arange(500) % 3,
    )
    for row, one in zip(found, want.table, strict=True):
        assert (row["score"], row["difference"]) == pytest.approx((one.score, one.difference))
    assert found[1]["difference_error"] == pytest.approx(want.table[1].difference_error)
    assert "weighted by w, clusters by script" in CliRunner().invoke(app, [*map(str, words)]).stdout


def test_weights_are_fitted_saved_and_used_again(tmp_path: Path) -> None:
    out, again, weights = tmp_path / "out.parquet", tmp_path / "again.parquet", tmp_path / "w.json"
    done = toplist("pool", *TWO, *TRUTH, *CLASSES, "-o", out, "--save-weights", weights, "-k", 10)
    assert done.returncode == 0, done.stderr
    assert "for disagreement" in done.stdout
    own = {"py3langid": lists(TWO[0]), "cld2": lists(TWO[1])}
    want = pool_weights(own, outcomes())
    saved = json.loads(weights.read_text())
    assert saved["weights"] == pytest.approx(dict(zip(want.names, want.weights, strict=True)))
    made = said("pool", *TWO, *CLASSES, "-o", again, "--weights-from", weights, "-k", 10)
    assert made["weights"] == saved["weights"]
    assert out.read_bytes() == again.read_bytes()
    pooled = linear_pool(own, weights=list(saved["weights"].values()), k=10)
    np.testing.assert_allclose(lists(out).padded(), pooled.padded(), atol=1e-14)


def test_a_pool_with_fitted_weights_scores_as_the_command_says(tmp_path: Path) -> None:
    found = said("pool", *TWO, *TRUTH, *CLASSES, "-o", tmp_path / "out.csv")["fitted"]
    assert tl.score(lists(tmp_path / "out.csv"), outcomes(), penalty=0).mean() == pytest.approx(found["score"])
    mean = sum(found["weights"][name] * found["members"][name] for name in found["weights"])
    assert mean - found["gain"] == pytest.approx(found["score"])


def test_lists_are_cut_to_what_validation_chooses(tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    made = said("truncate", TWO[0], *TRUTH, *CLASSES, "-o", out)
    want = choose_k(lists(TWO[0]), outcomes())
    assert (made["k"], made["best"]) == (want.chosen, want.best)
    assert [row["score"] for row in made["curve"]] == pytest.approx(want.score.tolist())
    assert lists(out).sizes.max() == want.chosen
    assert said("truncate", TWO[0], *TRUTH, *CLASSES, "-o", out, "--choose", "mass", "--rule", "log")["rule"] == "log"


def test_a_length_and_a_recalibrator_are_chosen_by_scores_of_ordered_classes(tmp_path: Path) -> None:
    """As the functions do it over the same ordered space."""
    rule = "rps"
    space, out = tl.ClassSpace(LABELS, ordinal=True), tmp_path / "out.jsonl"
    words = (TWO[0], *TRUTH, *CLASSES, "--rule", rule)
    found = said("truncate", *words, "--ordinal", "-o", out)
    want = choose_k(tl.read_lists(TWO[0], space), outcomes(), rule=rule)
    assert (found["k"], found["rule"]) == (want.chosen, rule)
    fitted = said("recalibrate", "fit", *words, "--ordinal", "--kind", "temperature", "-o", tmp_path / "model.json")
    assert fitted["rule"] == rule
    scores = tl.score(tl.read_lists(TWO[0], space), outcomes(), rule=rule)
    assert fitted["table"][0]["score"] == pytest.approx(scores.mean(), rel=1e-9)
