"""`python -m studies.topbeta [--data FOLDER] [--write]`: score lists cut at a mass, and lists that are stretched."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from studies import folder
from studies.topbeta import page
from studies.topbeta.measuring import FILES, measure, predictions


def main() -> int:
    """Run the study; 1 if a file is absent."""
    parser = argparse.ArgumentParser(prog="python -m studies.topbeta", description=__doc__)
    parser.add_argument("--data", type=Path, default=folder.default(), help="the folder with the original files")
    parser.add_argument("--write", action="store_true", help="write the tables into the documentation")
    asked = parser.parse_args()
    why = folder.absent(asked.data, list(FILES.values()))
    if why:
        sys.stderr.write(f"{why}\n")
        return 1
    results = measure(list(predictions(asked.data)))
    sys.stdout.write(page.tables(results) + "\n")
    if asked.write:
        page.write(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
