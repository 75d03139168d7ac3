"""20 newsgroups: cross-validated probabilities, three quarters of them exact zeros, some of these for what was true.

A sparse matrix in double precision, without the zeros. The rest sums to one within rounding, so nothing is left over
for the classes that it leaves out.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.adapt import shorten, write

FILES = ("news20_cleanlab.npz",)
BOARDS = {"news20": "full.npz top3.jsonl top1.csv mode.tsv.gz --truth truth.csv --classes 20"}


def adapt(data: Path, out: Path) -> None:
    """Write the distributions, the own lists of three and of one, and the modes."""
    loaded = np.load(data / FILES[0])
    p = loaded["probs"]
    names = [str(i) for i in range(p.shape[1])]
    write.sparse(out / "full.npz", p)
    write.lists(out / "top3.jsonl", *shorten.top(p, 3), names)
    write.lists(out / "top1.csv", *shorten.top(p, 1), names)
    write.labels(out / "mode.tsv.gz", p.argmax(axis=1), names)
    write.labels(out / "truth.csv", loaded["labels"], names)
