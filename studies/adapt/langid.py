"""Language identification: py3langid on translated messages, 140 languages.

The distributions are numpy's, in single precision; the five most probable languages are numbered columns, the first
with its probability JSON lines, and the first alone is text with tabs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.adapt import shorten, write

FILES = ("langid_py3langid_django.npz",)
BOARDS = {"langid": "full.npz top5.csv top1.jsonl mode.tsv --truth truth.csv --classes languages.txt"}


def adapt(data: Path, out: Path) -> None:
    """Write the distributions, the own lists of five and of one, and the modes."""
    loaded = np.load(data / FILES[0])
    p, names = loaded["probs"], loaded["classes"].tolist()
    write.wide(out / "full.npz", p, names)
    write.lists(out / "top5.csv", *shorten.top(p, 5), names)
    write.lists(out / "top1.jsonl", *shorten.top(p, 1), names)
    write.labels(out / "mode.tsv", p.argmax(axis=1), names)
    write.labels(out / "truth.csv", loaded["labels"], names)
    (out / "languages.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
