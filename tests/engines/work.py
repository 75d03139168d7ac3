"""Work for engines: words are counted."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from tests.engines.killing import wait_to_be_killed
from toplist.evaluation import distributed


def count_words(task: str, ignored: str) -> Counter[str]:
    return Counter(word for word in task.split() if word not in ignored.split())


def add_counts(results: Sequence[Counter[str]]) -> Counter[str]:
    assert len(results) > 0
    return reduce(add, results)


def fail(task: str, ignored: str) -> Counter[str]:
    errors = {
        "bug": KeyError("a word that is not there"),
        "memory": MemoryError(),
        "missing": ModuleNotFoundError("No module named 'toplist.evaluation'", name="toplist.evaluation"),
    }
    if task in errors:
        raise errors[task]
    return count_words(task, ignored)


def always_killed(task: str, ignored: str) -> Counter[str]:
    if task == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    return count_words(task, ignored)


def score_when_killed(folder: str, part: distributed.Part, job: distributed.Job) -> Any:
    """Score a part; from the third one on, wait until a process was killed."""
    if len(list(Path(folder).glob("*.part"))) >= 2 and not Path(folder, "go").exists():
        wait_to_be_killed(Path(folder))
    result = distributed._score(part, job)
    Path(folder, f"{part.number}.part").touch()
    return result
