"""CIFAR-10S: lists of one or two classes in percent, as people wrote them down.

Nothing is repaired here: the command refuses what is wrong or, on request, repairs it. A network's
distributions for the same images stand beside, once for each list.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from studies.adapt import write

FILES = ("cifar10s_human_top2_lists.csv", "cifar10_14nets.npz")
NETWORK = "vgg19_bn"
_READ = "--truth truth.csv --cluster image --read scale=people=percent"
_MEND = "--read scale=first=percent --read duplicates=people=sum --read normalize=people --read blanks=people=drop"
BOARDS = {
    "cifar10s": f"people.csv first.csv label.csv {NETWORK}.parquet {_READ} {_MEND}",
    # Only the lists that need no repair.
    "cifar10s-sound": f"people=sound.csv {NETWORK}.parquet {_READ} --missing common",
}


def adapt(data: Path, out: Path) -> None:
    """Write the lists, their first lines, their first classes, and a network's view of each image."""
    with (data / FILES[0]).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    nets = np.load(data / FILES[1])
    names = nets["classes"].tolist()
    header = ("case", "class1", "percent1", "class2", "percent2")
    people = [(i, *(r[name] for name in header[1:])) for i, r in enumerate(rows)]
    write.table(out / "people.csv", header, people)
    write.table(out / "sound.csv", header, (row for row in people if _is_sound(*row[1:])))
    write.table(out / "first.csv", header[:3], (row[:3] for row in people))
    write.table(out / "label.csv", ("case", "class"), ((i, _label(*row)) for i, *row in people))
    image = [int(r["cifar10_test_index"]) for r in rows]
    write.wide(out / f"{NETWORK}.parquet", nets[NETWORK][image], names)
    truth = ((i, r["true_class"], r["cifar10_test_index"]) for i, r in enumerate(rows))
    write.table(out / "truth.csv", ("case", "class", "image"), truth)


def _is_sound(class1: str, percent1: str, class2: str, percent2: str) -> bool:
    """Two different classes, a percentage for each, and not more than all of the mass."""
    return class1 != class2 and bool(class2) == bool(percent2) and float(percent1) + float(percent2 or 0) <= 100


def _label(class1: str, percent1: str, class2: str, percent2: str) -> str:
    """The class with the larger percentage; the first of equals."""
    return class2 if percent2 and float(percent2) > float(percent1) else class1
