"""What toplist makes of a combination: a number with a description, or a sentence."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import toplist as tl
from tests.cli.run_cli import toplist_here as toplist
from tests.flat import compare
from tests.io.recognition.contract import NAME, Combination
from tests.io.recognition.tables import CLASSES, INDEX, M, frame, save
from toplist.cli.output import flag_of


@dataclass(frozen=True)
class Ending:
    """A score and what was said of the files, or a sentence."""

    score: float | None = None
    reading: str = ""
    truth_reading: str = ""
    sentence: str = ""


def in_python(one: Combination, folder: Path) -> Ending:
    """By `tl.compare`; an exception that is not toplist's own goes through."""
    if one.form == "frame":
        prediction, truth = frame(one.prediction), _truth_frame(one)
    else:
        prediction, truth = _files(one, folder)
    space = tl.ClassSpace(labels=list(CLASSES)) if one.labels else M
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            board = compare({NAME: prediction}, truth, space=space, **one.options)
    except tl.TopListError as error:
        return Ending(sentence=str(error))
    told = board.to_dict()
    results: Any = board.comparison
    reading, truth_reading = results.sources[0].reading, results.truth_reading
    assert (told["sources"][0]["reading"], told["truth_reading"]) == (reading, truth_reading)
    return Ending(board[NAME].scores["brier"].mean.value, reading, truth_reading)


def _truth_frame(one: Combination) -> Any:
    made = frame(one.truth)
    if one.truth_as == "table":
        return made
    column = made[next(c.name for c in one.truth.columns if not c.index)]
    return {"series": column, "list": column.tolist(), "array": np.array(column.tolist())}[one.truth_as]


def _files(one: Combination, folder: Path) -> tuple[Path, Path]:
    prediction = save(one.prediction, folder / f"p.{one.form}")
    return prediction, prediction if one.same else save(one.truth, folder / f"t.{one.form}")


def by_command(one: Combination, folder: Path) -> tuple[Ending, int]:
    """By `toplist compare`, with its exit code."""
    prediction, truth = _files(one, folder)
    (folder / "classes.txt").write_text("\n".join(CLASSES) + "\n")
    words = [f"{NAME}={prediction}", "-t", truth, "-c", folder / "classes.txt" if one.labels else M, "--json"]
    done = toplist("compare", *words, *_flags(one.options))
    assert "Traceback" not in done.stderr, done.stderr
    if done.returncode:
        assert not done.stdout
        *_, sentence = done.stderr.splitlines()  # after what is said of files that could be read
        return Ending(sentence=sentence), done.returncode
    told = json.loads(done.stdout)
    (standing,) = told["overall"]["rows"]
    readings = told["sources"][0]["reading"], told["truth_reading"]
    for reading in readings:
        assert reading in done.stderr
    return Ending(standing["scores"]["brier"]["mean"]["value"], *readings), 0


def _flags(options: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for option, value in options.items():
        flag, *key = flag_of(option).split()
        if value is True:
            words += [flag, *key]
            continue
        pairs = value.items() if isinstance(value, dict) else [(None, value)]
        for name, given in pairs:
            for column in [given] if isinstance(given, str) else given:
                words += [flag, "=".join([*key, *([] if name is None else [name]), column])]
    return words


def named(one: Combination) -> tuple[list[str], list[str]]:
    """The columns that a description of each table accounts for; a pattern that was given stands for its columns."""
    given = [v for value in one.options.values() for v in (value.values() if isinstance(value, dict) else [value])]
    patterns = [v.rstrip("*") for v in given if isinstance(v, str) and v.endswith("*")]
    truth = one.truth.names if one.truth_as == "table" else []
    return _told(one.prediction.names, patterns), _told(truth, patterns)


def _told(names: list[str], patterns: list[str]) -> list[str]:
    return [name for name in names if name != INDEX and not any(name.startswith(one) for one in patterns)]
