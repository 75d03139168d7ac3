"""Functions of bytes for engines to run: words are counted, by sums and by a shuffle."""

from __future__ import annotations

import json
import os
import signal
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.engines.killing import wait_to_be_killed
from toplist.core.kernel import threads
from toplist.errors import ResourceError, TopListError

BUCKETS = 5


def encode(counts: Counter[str]) -> bytes:
    return json.dumps(counts, sort_keys=True).encode()


def decode(data: bytes) -> Counter[str]:
    return Counter(json.loads(data))


def count_words(task: bytes) -> bytes:
    return encode(Counter(task.decode().split()))


def add_counts(results: Sequence[bytes]) -> bytes:
    assert len(results) > 1, "a single result is not merged"
    return encode(sum((decode(result) for result in results), Counter()))


def split_words(task: bytes) -> Iterator[tuple[int, bytes]]:
    for word in task.decode().split():
        yield zlib.crc32(word.encode()) % BUCKETS, word.encode()


def count_bucket(bucket: int, blocks: Iterable[bytes]) -> bytes:
    words = [block.decode() for block in blocks]
    assert all(zlib.crc32(word.encode()) % BUCKETS == bucket for word in words)
    return encode(Counter(words))


def split_one_bucket(task: bytes) -> Iterator[tuple[int, bytes]]:
    yield 3, task


def split_nothing(task: bytes) -> Iterator[tuple[int, bytes]]:
    yield from ()


def split_large(task: bytes) -> Iterator[tuple[int, bytes]]:
    """Blocks of no bytes, and of more than a row of Spark's takes."""
    for bucket in range(3):
        yield bucket, task * (9 << 20)


def measure_blocks(bucket: int, blocks: Iterable[bytes]) -> bytes:
    return encode(Counter({f"{bucket} {zlib.crc32(block)} {len(block)}": 1 for block in blocks}))


def count_threads(task: bytes) -> bytes:
    return encode(Counter({f"threads={threads()}": 1}))


def fail(task: bytes) -> bytes:
    if task == b"bug":
        raise KeyError("a word that is not there")
    if task == b"own":
        raise TopListError("the task says what is wrong.")
    if task == b"full":
        raise ResourceError("the disk is full.")
    if task == b"memory":
        raise MemoryError
    if task == b"missing":
        raise ModuleNotFoundError("No module named 'toplist.evaluation'", name="toplist.evaluation")
    return count_words(task)


def fail_as_data(task: bytes) -> bytes:
    return encode(Counter({"failures": 1})) if task == b"bad" else count_words(task)


def split_after_kill(task: bytes) -> Iterator[tuple[int, bytes]]:
    """Split words; a process is killed after its first block, once."""
    for count, (bucket, block) in enumerate(split_words(task)):
        yield bucket, block
        if count == 0 and block.startswith(b"/"):
            mark = Path(block.decode()) / "killed-in-split"
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)


def always_killed(task: bytes) -> bytes:
    if task == b"kill":
        os.kill(os.getpid(), signal.SIGKILL)
    return count_words(task)


def wait_and_count(task: bytes) -> bytes:
    """Count words, once a worker was killed."""
    folder, words = task.decode().split(" ", 1)
    wait_to_be_killed(Path(folder))
    return encode(Counter(words.split()))


def marks_or_dies(task: bytes) -> bytes:
    """Die at once, or be done after a while."""
    if task == b"kill":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(1)
    (Path(task.decode()) / "done").touch()
    return count_words(b"")


def print_and_count(task: bytes) -> bytes:
    print("a library says something")
    return count_words(task)


def split_and_fail(task: bytes) -> Iterator[tuple[int, bytes]]:
    yield from split_words(task)
    raise TopListError("there is no more.")
