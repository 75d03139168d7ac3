"""`python -m studies.pictures [--data FOLDER] [--out FOLDER]`: draw what the documentation shows of the studies."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import toplist as tl
from studies import folder
from studies.adapt import STUDIES

# The name of a picture: which study, what it shows, under which rule.
PICTURES = {
    "cifar-intervals.svg": ("cifar10", "intervals", "brier"),
    "cifar-pairs.svg": ("cifar10", "pairs", "brier"),
    "cifar-reliability.svg": ("cifar10-few", "reliability", "brier"),
    "flusight-pairs.svg": ("flusight", "pairs", "brier"),
}


def draw(data: Path, out: Path) -> list[Path]:
    """Write every picture whose data are there."""
    made = []
    for study in dict.fromkeys(study for study, _, _ in PICTURES.values()):
        adapter = STUDIES[study.partition("-")[0]]
        why = folder.absent(data, adapter.files)
        if why:
            sys.stdout.write(f"{study}: no pictures, {why}\n")
            continue
        with tempfile.TemporaryDirectory(prefix="toplist-pictures-") as scratch:
            adapter.adapt(data, Path(scratch))
            with _inside(Path(scratch)):
                board = BOARDS[study]()
                drawn = {
                    name: board.plot(kind, rule=rule) for name, (of, kind, rule) in PICTURES.items() if of == study
                }
        for name, plot in drawn.items():
            plot.save(out / name)
            made.append(out / name)
    return made


def _nets() -> tl.Leaderboard:
    return tl.compare({path.stem: path for path in sorted(Path("nets").iterdir())}, "truth.csv")


def _few() -> tl.Leaderboard:
    names = ("googlenet", "vgg19_bn", "densenet169")
    return tl.compare({name: Path("nets") / f"{name}.parquet" for name in names}, "truth.csv")


def _teams() -> tl.Leaderboard:
    weeks = Path("weeks.txt").read_text(encoding="utf-8").split()
    return tl.compare(
        {path.stem: path for path in sorted(Path("teams").iterdir())},
        tl.Truth("truth.csv", cluster="location", time="reference_date"),
        space=tl.ClassSpace(labels=weeks),
        missing="pairwise",
        read=tl.ReadOptions(normalize=True),
    )


BOARDS: dict[str, Callable[[], tl.Leaderboard]] = {"cifar10": _nets, "cifar10-few": _few, "flusight": _teams}


@contextmanager
def _inside(where: Path) -> Iterator[None]:
    """With this working folder: files have short names."""
    before = Path.cwd()
    os.chdir(where)
    try:
        yield
    finally:
        os.chdir(before)


def main() -> None:
    """Draw, and say what was drawn."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.pictures", description="Draw what the documentation shows."
    )
    parser.add_argument("--data", type=Path, default=folder.default(), help="the folder with the original files")
    parser.add_argument("--out", type=Path, default=folder.ROOT / "docs" / "_static", help="where the pictures go")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    for path in draw(asked.data, asked.out.resolve()):
        sys.stdout.write(f"{path.name}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
