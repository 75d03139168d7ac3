"""A worker process of the local engine: it reads jobs from its standard input and writes results to its output.

A frame is a line of JSON, with the lengths of the byte strings that follow it. Blocks of a shuffle do not go through
the pipes: each task writes its own into one file, and says which bytes of it belong to which bucket.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from secrets import token_hex
from typing import Any, BinaryIO

from toplist._files import disk_full_explained
from toplist.core.memory import keep_freed_memory
from toplist.engines.base import explain
from toplist.errors import ResourceError, TopListError

START = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from toplist.engines.worker import serve; serve()"
)
"""The program of a worker. It is no child of `multiprocessing`, so the caller's script is not imported again."""

Frame = tuple[dict[str, Any], list[bytes]]


def write_frame(file: BinaryIO, head: dict[str, Any], blobs: Sequence[bytes] = ()) -> None:
    """One message of either side."""
    file.write(json.dumps(head | {"sizes": [len(blob) for blob in blobs]}).encode() + b"\n")
    file.writelines(blobs)
    file.flush()


def read_frame(file: BinaryIO) -> Frame:
    """The next message; EOFError where the other side has ended."""
    line = file.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    head = json.loads(line)
    blobs = [file.read(size) for size in head["sizes"]]
    if [len(blob) for blob in blobs] != head["sizes"]:
        raise EOFError
    return head, blobs


def name_of(function: Callable[..., Any]) -> str:
    """Where another process finds a function."""
    return f"{function.__module__}:{function.__qualname__}"


@cache
def function_named(name: str) -> Callable[..., Any]:
    """A function of a module, by the name that `name_of` gave it."""
    module, _, attribute = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), attribute)
    return found


def run_job(head: dict[str, Any], blobs: Sequence[bytes]) -> bytes:
    """Do one job: run a task, merge results, split a task into blocks, or finish a bucket."""
    function = function_named(head["function"])
    match head["job"]:
        case "work":
            result: bytes = function(blobs[0])
        case "merge":
            result = function(blobs)
        case "split":
            result = _write_blocks(function(blobs[0]), Path(head["folder"]))
        case _:
            result = function(head["bucket"], _read_blocks(head["blocks"]))
    return result


def error_of(head: dict[str, Any]) -> TopListError | None:
    """The error that a worker reports, if it does."""
    if "error" not in head:
        return None
    kind = ResourceError if head["error"] == "ResourceError" else TopListError
    return kind(head["message"])


def serve() -> None:
    """Do jobs until there are no more."""
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no result
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine ends its workers itself
    keep_freed_memory()
    jobs: SimpleQueue[Frame | None] = SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(jobs, busy), daemon=True).start()
    while (frame := jobs.get()) is not None:
        busy.set()
        head, blobs = frame
        try:
            answer: Frame = {}, [run_job(head, blobs)]
        except Exception as error:
            problem = explain(error, "the local engine")
            kind = "ResourceError" if isinstance(problem, ResourceError) else "TopListError"
            answer = {"error": kind, "message": str(problem)}, []
        busy.clear()
        try:
            write_frame(results, *answer)
        except BrokenPipeError:
            return


def _listen(jobs: SimpleQueue[Frame | None], busy: threading.Event) -> None:
    """Take jobs from the pipe; where it is closed in the middle of a job, nobody waits for the result."""
    try:
        while True:
            jobs.put(read_frame(sys.stdin.buffer))
    except EOFError:
        if busy.is_set():
            os._exit(1)
        jobs.put(None)


def _write_blocks(blocks: Iterable[tuple[int, bytes]], folder: Path) -> bytes:
    """Write the blocks of a task; the result says where they are. A second attempt writes another file."""
    path, offset, index = folder / f"{token_hex(8)}.blocks", 0, []
    with disk_full_explained(), path.open("xb") as file:
        for bucket, block in blocks:
            file.write(block)
            index.append((bucket, offset, len(block)))
            offset += len(block)
    return json.dumps({"path": str(path), "blocks": index}).encode()


def _read_blocks(places: Iterable[tuple[str, int, int]]) -> Iterator[bytes]:
    for path, offset, size in places:
        with Path(path).open("rb") as file:
            file.seek(offset)
            yield file.read(size)
