"""`python -m studies.improving [--data FOLDER] [--write]`: diagnose, recalibrate, pool, cut, reject, draw."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from studies import folder
from studies.improving import page
from studies.improving.data import FILES, models
from studies.improving.figures import pictures
from studies.improving.measuring import measure


def main() -> int:
    """Run the study; 1 if a file is absent."""
    parser = argparse.ArgumentParser(prog="python -m studies.improving", description=__doc__)
    parser.add_argument("--data", type=Path, default=folder.default(), help="the folder with the original files")
    parser.add_argument("--write", action="store_true", help="write tables and figures into the documentation")
    asked = parser.parse_args()
    why = folder.absent(asked.data, list(FILES.values()))
    if why:
        sys.stderr.write(f"{why}\n")
        return 1
    found = list(models(asked.data))
    results = measure(found)
    sys.stdout.write(page.tables(results) + "\n")
    if asked.write:
        page.write(results, pictures(found, results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
