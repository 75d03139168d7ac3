"""What it costs to import."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.conftest import Races


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_import_costs_little_more_than_numpy(race: Races) -> None:
    race(
        "import toplist: times as long as import numpy",
        lambda: run("import toplist"),
        lambda: run("import numpy"),
        at_most=1.2,
    )
    race(
        "import toplist and its scores: times as long as import numpy",
        lambda: run("import toplist; toplist.score; toplist.TopLists"),
        lambda: run("import numpy"),
        at_most=2,
    )
