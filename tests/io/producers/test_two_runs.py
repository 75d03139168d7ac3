"""Two runs of different quality, compared by the command with nothing but their folders.

What it says equals what numpy makes of the raw logs: means, the paired difference, and its standard error by clusters.
"""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.io.producers.reading import read_lines
from tests.io.producers.real import written_by
from toplist.cli.app import app

CLOSE = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return written_by("lm_eval", "tests.io.producers.lm_eval_runs", tmp_path_factory)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    return written_by("inspect_ai", "tests.io.producers.inspect_runs", tmp_path_factory)


def compared(home, folder):
    """The record of `toplist compare weak/ strong/ --report board.html`, and the report."""
    page = folder / "board.html"
    done = CliRunner().invoke(
        app, ["compare", f"{home / 'weak'}/", f"{home / 'strong'}/", "--report", str(page), "--json"]
    )
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), page.read_text(), done.stderr


# Independent numbers: one record per case with the distribution, the outcome and the cluster


def of_samples(home, run):
    """Cases of lm-evaluation-harness, by task and document, from its files."""
    found = {}
    for path in sorted((home / run).rglob("samples_*.jsonl")):
        for record in read_lines(path):
            values = np.array([float(value) for value, _ in record["filtered_resps"]])
            p = np.exp(values - values.max())
            task = path.name.partition("_2")[0]
            found[task, record["doc_id"]] = (p / p.sum(), int(record["target"]), record["doc_hash"])
    return found


def of_logs(home, run):
    """Cases of inspect_ai, by sample and epoch, from what it reads itself: letters, and the rest as one more class."""
    found = {}
    for sample in json.loads((home / "raw" / run / "quiz.json").read_text()):
        letters = "ABCDE"[: sample["choices"]]
        p = np.zeros(len(letters) + 1)
        for token, value in sample["tokens"].items():
            place = letters.find(token.strip().upper())
            p[place if len(token.strip()) == 1 else -1] += math.exp(value) if place >= 0 else 0.0
        p[-1] = 1 - p[:-1].sum()
        found[sample["id"], sample["epoch"]] = (p, letters.index(sample["target"]), sample["id"])
    return found


def scores(cases):
    """Brier scores, log scores and accuracy of each case."""
    brier = [np.sum(p**2) + 1 - 2 * p[y] for p, y, _ in cases.values()]
    log = [-math.log(p[y]) for p, y, _ in cases.values()]
    hit = [(p[y] == p.max()) / np.sum(p == p.max()) for p, y, _ in cases.values()]
    return np.array(brier), np.array(log), np.array(hit)


def clustered(values, clusters):
    """The standard error of a mean and its degrees of freedom by clusters (CR2; Bell and McCaffrey 2002)."""
    names = sorted(set(clusters))
    member = np.array([[c == name for c in clusters] for name in names], float)
    sums, share = member @ (values - values.mean()) / len(values), member.sum(axis=1) / len(values)
    root = np.diag(1 / np.sqrt(1 - share))
    m = root @ (np.diag(share) - np.outer(share, share)) @ root
    return [math.sqrt(np.sum(sums**2 / (1 - share))), np.trace(m) ** 2 / np.trace(m @ m)]


def same(said, values, clusters):
    error, freedom = clustered(values, clusters)
    np.testing.assert_allclose([said["value"], said["error"]], [values.mean(), error], **CLOSE)
    np.testing.assert_allclose(said["freedom"], freedom, rtol=1e-9)


def check(record, weak, strong):
    assert weak.keys() == strong.keys()
    clusters = [cluster for _, _, cluster in weak.values()]
    rows = {row["name"]: row for row in record["overall"]["rows"]}
    assert record["cases"] == len(weak)
    assert record["classes"] == "per case"
    assert record["units"] == len(set(clusters))
    by_rule = {}
    for name, cases in (("weak", weak), ("strong", strong)):
        brier, log, hit = scores(cases)
        by_rule[name] = {"brier": brier, "log": log}
        np.testing.assert_allclose(rows[name]["metrics"]["accuracy"]["value"], hit.mean(), **CLOSE)
        for rule, values in by_rule[name].items():
            same(rows[name]["scores"][rule]["mean"], values, clusters)
    for rule in ("brier", "log"):
        same(rows["weak"]["scores"][rule]["difference"], by_rule["weak"][rule] - by_rule["strong"][rule], clusters)
    assert rows["strong"]["rank"] == 1


def test_two_runs_of_lm_evaluation_harness(samples, tmp_path):
    record, page, told = compared(samples, tmp_path)
    weak, strong = of_samples(samples, "weak"), of_samples(samples, "strong")
    check(record, weak, strong)
    assert {len(p) for p, _, _ in weak.values()} == {2, 3, 4, 5}
    assert "lm-evaluation-harness samples" in told
    assert "softmax of the log-likelihoods" in page
    assert [group["group"] for group in record["groups"]] == ["quiz", "quiz_reworded", "verdict"]


def test_two_logs_of_inspect_ai_with_epochs(logs, tmp_path):
    record, page, told = compared(logs, tmp_path)
    check(record, of_logs(logs, "weak"), of_logs(logs, "strong"))
    assert record["cluster"] == "cluster"
    assert "inspect_ai log" in told
    assert "mass on declared answers" in page
