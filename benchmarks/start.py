"""What it costs to import."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.race import Race


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def imports_against_numpy(race: Race) -> None:
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


BENCHMARKS = (imports_against_numpy,)
