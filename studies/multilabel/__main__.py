"""`python -m studies.multilabel [NAME ...] [--data FOLDER] [--out FOLDER] [--write]`: learn, predict, score, draw."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import toplist as tl
from studies import folder
from studies.multilabel import page
from studies.multilabel.data import SOURCES, Data, load
from studies.multilabel.keeping import keep, kept
from studies.multilabel.measuring import measure
from studies.multilabel.methods import METHODS, POOL, pool


def main() -> int:
    """Run the study on the data sets that were asked for; 1 if a file is absent."""
    parser = argparse.ArgumentParser(prog="python -m studies.multilabel", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(SOURCES)}; all by default")
    parser.add_argument("--data", type=Path, default=folder.default(), help="the folder with the original files")
    kept_in = folder.ROOT / "build" / "multilabel"
    parser.add_argument("--out", type=Path, default=kept_in, help="where lists are kept, and found again")
    parser.add_argument("--write", action="store_true", help="write tables and figures into the documentation")
    asked = parser.parse_args()
    names = asked.names or list(SOURCES)
    for name in names:
        if name not in SOURCES:
            parser.error(f"{name!r} is not among {', '.join(SOURCES)}")
    why = folder.absent(asked.data, [SOURCES[name].file for name in names])
    if why:
        sys.stderr.write(f"{why}\n")
        return 1
    asked.out.mkdir(parents=True, exist_ok=True)
    results = {name: _study(load(SOURCES[name], asked.data), asked.out) for name in names}
    (asked.out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(page.tables(results) + "\n")
    if asked.write:
        page.write(results)
    return 0


def _study(data: Data, out: Path) -> dict[str, Any]:
    space = tl.LabelSets(range(len(data.labels)))
    lists: dict[str, tl.TopLists] = {}
    for name, method in METHODS.items():
        path = out / f"{data.source.name}-{name.replace(' ', '-')}.npz"
        if path.exists():
            lists[name] = kept(path, space)
            continue
        _say(f"{data.source.name}: {name} ...")
        start = time.perf_counter()
        lists[name] = method(data)
        keep(lists[name], path)
        _say(f" {time.perf_counter() - start:.0f} s\n")
    lists[POOL] = pool(lists)
    return measure(data, lists)


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
