"""Code in the README and in the documentation runs: every `>>>` block is a test."""

import functools
import gc
import os
import shutil
import tempfile
import zlib
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:  # a core each: threads of several workers would wait for each other
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser
from xdist.scheduler import LoadScopeScheduling

pytest_collect_file = Sybil(parsers=[PythonCodeBlockParser(), SkipParser()], patterns=["*.md"]).pytest()

MEMORY = Path("/dev/shm")  # noqa: S108
ROOM = 8 << 30  # bytes, several times what the suite writes
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ["TMPDIR"] = str(MEMORY)  # temporary files of tests, and of processes that they start, go to no disk
    tempfile.tempdir = None

# The same draws everywhere, every time; `make thorough` has 40 times as many. tests/draws.py is for other numbers.
settings.register_profile("toplist", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=1000)
settings.load_profile("toplist")

if find_spec("typer") is not None:
    import typer.main

    typer.main.get_command = functools.cache(typer.main.get_command)  # made anew, it takes longer than many a command

collect_ignore = ["docs/conf.py"]  # needs what only the documentation needs
collect_ignore += ["src/toplist/integrations/torch/metrics.py"]  # its examples run where torchmetrics is tested
if find_spec("torch") is None:
    collect_ignore += [
        "src/toplist/integrations/torch",
        "docs/accelerators.md",
        "docs/distillation.md",
        "docs/streaming.md",
        "tests/integrations/torch/checking.py",
        "tests/integrations/torch/processes.py",
        "tests/integrations/torch/real_logits.py",
    ]
if find_spec("jax") is None:
    collect_ignore += ["src/toplist/integrations/jax", "docs/jax.md"]
if find_spec("triton") is None:
    collect_ignore += ["src/toplist/integrations/torch/kernels"]


class FilesWhole(LoadScopeScheduling):
    """A file goes to one worker, so that what its tests share is made once, and blocks of a page are in their order.

    What JAX compiles, pages of reports, studies and engines are shared by the files of a folder.
    """

    def _split_scope(self, nodeid: str) -> str:
        file, _, _ = nodeid.partition("::")
        folder, _, _ = file.rpartition("/")
        return folder if folder in SHARING else file


SHARING = ("tests/engines", "tests/integrations/jax", "tests/lists/device", "tests/report/html", "tests/studies")


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> FilesWhole:
    """Used by `pytest -n`."""
    return FilesWhole(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--cases 3` runs at most three cases of each test, drawn by their names; `--update-goldens` stores results."""
    parser.addoption("--cases", type=int, default=None, metavar="N", help="run at most N cases of each test")
    parser.addoption("--update-goldens", action="store_true", help="store what tests/golden compares with")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draw cases of tests that have many: the same ones everywhere, whatever other cases there are."""
    most = config.getoption("--cases")
    if most is None:
        return
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    drawn = {
        id(item)
        for some in cases.values()
        for item in sorted(some, key=lambda item: zlib.crc32(item.nodeid.encode()))[:most]
    }
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in drawn])
    items[:] = [item for item in items if id(item) in drawn]


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: the garbage collector need not go through them again and again."""
    gc.collect()
    gc.freeze()
