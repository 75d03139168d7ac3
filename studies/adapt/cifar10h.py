"""CIFAR-10H: how many of about fifty people gave each label to an image.

The counts are written as they are; the command divides them by their sum.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.adapt import shorten, write

FILES = ("cifar10_human_cifar10h.npz", "cifar10_14nets.npz")
BOARDS = {"cifar10h": "people.csv people-top3.parquet people-top1.jsonl people-mode.csv -t truth.csv --normalize"}


def adapt(data: Path, out: Path) -> None:
    """Write the counts, the lists of the most frequent labels, and the most frequent label."""
    people, nets = np.load(data / FILES[0]), np.load(data / FILES[1])
    counts, names = people["counts"], nets["classes"].tolist()
    write.wide(out / "people.csv", counts, names)
    write.lists(out / "people-top3.parquet", *shorten.top(counts, 3), names)
    write.lists(out / "people-top1.jsonl", *shorten.top(counts, 1), names)
    write.labels(out / "people-mode.csv", counts.argmax(axis=1), names)
    write.labels(out / "truth.csv", people["labels"], names)
