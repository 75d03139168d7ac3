"""`python -m studies [NAME ...] [--data FOLDER] [--out FOLDER]`: run the studies and print their leaderboards."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from studies import folder
from studies.adapt import STUDIES
from studies.remarks import REMARKS, Reading
from studies.running import run


def main() -> int:
    """Run what was asked for; 1 if a command failed."""
    parser = argparse.ArgumentParser(prog="python -m studies", description="Put real predictions through toplist.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(STUDIES)}; all by default")
    parser.add_argument("--data", type=Path, default=folder.default(), help="the folder with the original files")
    parser.add_argument("--out", type=Path, help="where files, boards and pages are kept; by default nowhere")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in STUDIES]
    if unknown:
        parser.error(f"{unknown[0]!r} is not among {', '.join(STUDIES)}")
    with tempfile.TemporaryDirectory(prefix="toplist-studies-") as scratch:
        failed = [_show(name, asked.data, (asked.out or Path(scratch)) / name) for name in asked.names or STUDIES]
    return int(any(failed))


def _show(name: str, data: Path, out: Path) -> bool:
    """Run one study and print it; whether a command failed."""
    why = folder.absent(data, STUDIES[name].files)
    if why:
        sys.stdout.write(f"{name}: skipped, {why}\n\n")
        return False
    boards = run(STUDIES[name], data, out)
    for board in boards:
        sys.stdout.write(f"{board.name}\n$ {board.command}\n{board.table or board.complaint}\n")
    failed = any(board.status for board in boards)
    if name in REMARKS and not failed:
        sys.stdout.write(f"{REMARKS[name]({board.name: Reading.of(board.record) for board in boards})}\n\n")
    sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main())
