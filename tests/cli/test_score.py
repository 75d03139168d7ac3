"""`toplist score` prints the intervals that `toplist compare` has of the same model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

for library in ("pyarrow", "duckdb", "typer", "rich"):
    pytest.importorskip(library, reason="the command and its files are extras")

from pyarrow import parquet  # noqa: E402

from tests.cli.run_cli import toplist_here  # noqa: E402


@pytest.mark.parametrize(
    ("columns", "flags"),
    [
        ((), ()),
        (("cluster",), ()),
        (("cluster",), ("--cluster", "")),
        (("team",), ("--cluster", "team")),
        (("time",), ()),
        (("cluster", "time"), ()),
    ],
)
@pytest.mark.parametrize("output", [False, True])
def test_clusters_and_time_count_as_in_a_comparison(
    columns: tuple[str, ...], flags: tuple[str, ...], output: bool, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    team = np.arange(60) % 12
    known = {"cluster": team, "team": team, "time": np.arange(60) // 12}
    p = np.clip(0.5 + 0.3 * rng.normal(size=12)[team], 0.05, 0.95)
    truth = ["case,outcome" + "".join(f",{name}" for name in columns)]
    truth += [f"{i},{'ab'[rng.integers(2)]}" + "".join(f",{known[name][i]}" for name in columns) for i in range(60)]
    (tmp_path / "y.csv").write_text("\n".join(truth))
    (tmp_path / "m.csv").write_text("\n".join(["case,class,confidence", *(f"{i},a,{p[i]:.3f}" for i in range(60))]))
    words = ("m.csv", "--truth", "y.csv", "--classes", "2", *flags)
    row = json.loads(toplist_here("compare", *words, "--json", cwd=tmp_path).stdout)["overall"]["rows"][0]
    mean = row["scores"]["brier"]["mean"]
    said = toplist_here("score", *words, *(("-o", "s.csv") if output else ()), cwd=tmp_path).stdout
    numbers = re.search(r"Brier ([\d.]+) \(95% CI ([\d.]+) to ([\d.]+)\)", said)
    assert numbers is not None, said
    expected = [mean["value"], mean["low"], mean["high"]]
    digits = len(numbers[1].partition(".")[2])
    assert [float(one) for one in numbers.groups()] == [round(one, digits) for one in expected]


@pytest.mark.parametrize("penalty", [(), ("--penalty", "5")])
def test_intervals_end_where_the_score_does_as_in_a_comparison(penalty: tuple[str, ...], tmp_path: Path) -> None:
    """With a penalty for invalid lists, as the first one is, that is beyond the largest score of the rule."""
    (tmp_path / "m.csv").write_text("case,class1,p1,class2,p2\n1,a,0.5,b,0.01\n2,a,0.6,b,0.2\n")
    (tmp_path / "y.csv").write_text("case,outcome\n1,a\n2,c\n")
    asked = ("m.csv", "-t", "y.csv", "-c", "4", "--rule", "brier", *penalty)
    printed = toplist_here("score", *asked, cwd=tmp_path).stdout
    row = json.loads(toplist_here("compare", *asked, "--json", cwd=tmp_path).stdout)["overall"]["rows"][0]
    mean = row["scores"]["brier"]["mean"]
    low, high = re.search(r"95% CI ([\d.]+) to ([\d.]+)", printed).groups()  # type: ignore[union-attr]
    assert (low, high) == (f"{mean['low']:.3f}", f"{mean['high']:.3f}")
    assert mean["low"] == 0


def test_a_penalty_that_is_none_is_refused_though_no_list_is_invalid(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("case,class,confidence\n1,a,0.5\n")
    (tmp_path / "y.csv").write_text("case,outcome\n1,a\n")
    for penalty in ("-1", "nan"):
        refused = toplist_here("score", "m.csv", "-t", "y.csv", "-c", "4", f"--penalty={penalty}", cwd=tmp_path)
        assert refused.returncode != 0
        assert "penalty" in refused.stderr


def test_scores_without_ids_are_no_baseline_in_another_order(tmp_path: Path) -> None:
    """Nor with scores that are no numbers, nor without any."""
    (tmp_path / "m.csv").write_text("a,b\n0.5,0.5\n0.75,0.25\n0.25,0.75\n")
    (tmp_path / "y.csv").write_text("outcome\na\na\na\n")
    assert toplist_here("score", "m.csv", "-t", "y.csv", "-o", "old.parquet", cwd=tmp_path).returncode == 0
    table, about = (
        parquet.read_table(tmp_path / "old.parquet"),
        parquet.read_metadata(tmp_path / "old.parquet").metadata,
    )
    about = {key: about[key] for key in about if key.startswith(b"toplist")}
    text = table.set_column(1, "brier", table["brier"].cast("string"))
    for spoiled, why in ((table.take([1, 0, 2]), "another order"), (text, "damaged"), (table.slice(0, 0), "damaged")):
        parquet.write_table(spoiled.replace_schema_metadata(about), tmp_path / "spoiled.parquet")
        refused = toplist_here(
            "gate", "m.csv", "-b", "spoiled.parquet", "-t", "y.csv", "--max-loss", "0.1", cwd=tmp_path
        )
        assert refused.returncode == 1, refused.stdout + refused.stderr
        assert why in refused.stderr


def test_a_rule_whose_every_score_is_infinite_has_no_mean(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("case,class\n1,a\n2,a\n")
    (tmp_path / "y.csv").write_text("case,outcome\n1,b\n2,b\n")
    printed = toplist_here("score", "m.csv", "-t", "y.csv", "-c", "2", "--json", cwd=tmp_path)
    assert printed.returncode == 0, printed.stderr
    means = json.loads(printed.stdout)
    assert (means["mean"], means["infinite"]) == ({"brier": 2.0, "log": None}, {"brier": 0, "log": 2})
