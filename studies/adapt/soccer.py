"""Football matches: win, tie or loss, as forecast by FiveThirtyEight.

The forecasts are rounded to four digits and are written as they are. The baseline is the relative
frequency of each outcome in the matches of earlier days.
"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from studies.adapt import shorten, write

FILES = ("soccer_spi_538_2016_2019.csv.gz",)
NAMES = ("home", "tie", "away")
_FILES = "spi.csv spi-top1.csv spi-mode.csv frequency.arrow"
BOARDS = {"soccer": f"{_FILES} --truth truth.csv --read normalize=spi --group season --baseline frequency -k 2"}


def adapt(data: Path, out: Path) -> None:
    """Write the forecasts, their short forms, the frequencies so far, and the outcomes, by date."""
    with gzip.open(data / FILES[0], "rt", encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda r: r["date"])
    p = np.array([[float(r["prob1"]), float(r["probtie"]), float(r["prob2"])] for r in rows])
    y = np.array([1 - int(np.sign(float(r["score1"]) - float(r["score2"]))) for r in rows])
    dates = np.array([r["date"] for r in rows])
    write.wide(out / "spi.csv", p, NAMES)
    write.lists(out / "spi-top1.csv", *shorten.top(p, 1), NAMES)
    write.labels(out / "spi-mode.csv", p.argmax(axis=1), NAMES)
    write.wide(out / "frequency.arrow", frequencies(y, dates), NAMES)
    write.table(
        out / "truth.csv",
        ("case", "outcome", "date", "league", "season"),
        ((i, NAMES[y[i]], r["date"], r["league"], season(r["date"])) for i, r in enumerate(rows)),
    )


def season(date: str) -> str:
    """The twelve months from August."""
    year = int(date[:4]) - (date[5:7] < "08")
    return f"{year}/{(year + 1) % 100}"


def frequencies(y: NDArray[np.int64], dates: NDArray[np.str_]) -> NDArray[np.float64]:
    """The shares of outcomes before each day, starting as if each had been observed once."""
    counts = np.cumsum(np.vstack([np.ones((1, 3)), np.eye(3)[y]]), axis=0)
    return shorten.distributions(counts[np.searchsorted(dates, dates)])
