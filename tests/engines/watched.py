"""The work of a comparison, whose tasks wait to be killed once a partial result is finished."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.engines.killing import wait_to_be_killed
from toplist.evaluation.tasks import Task
from toplist.evaluation.tasks import finish_bucket as finish
from toplist.evaluation.tasks import run_task as run

_CONTEXT = b"J"  # the block of a bucket that says what is asked


def run_task(data: bytes) -> bytes:
    """See `tasks.run_task`."""
    _wait(data)
    return run(data)


def finish_bucket(bucket: int, blocks: Iterable[bytes]) -> bytes:
    """See `tasks.finish_bucket`."""
    kept = list(blocks)
    _wait(next(block[1:] for block in kept if block[:1] == _CONTEXT))
    return finish(bucket, kept)


def _wait(task: bytes) -> None:
    """In the folder of partial results, where one of them is finished and nothing was killed yet."""
    folder = Path(str(Task.from_bytes(task).keep)).parent
    if any(folder.glob("*.tlp")) and not (folder / "go").exists():
        wait_to_be_killed(folder)
