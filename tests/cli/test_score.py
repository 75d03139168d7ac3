"""`toplist score` prints the intervals that `toplist compare` has of the same model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

for library in ("pyarrow", "duckdb", "typer", "rich"):
    pytest.importorskip(library, reason="the command and its files are extras")

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
