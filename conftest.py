"""Code in the README and in the documentation runs: every `>>>` block is a test."""

import gc
import os
from importlib.util import find_spec

if "PYTEST_XDIST_WORKER" in os.environ:  # a core each: threads of several workers would wait for each other
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser
from xdist.scheduler import LoadScopeScheduling

pytest_collect_file = Sybil(parsers=[PythonCodeBlockParser(), SkipParser()], patterns=["*.md"]).pytest()

settings.register_profile("toplist", derandomize=True, deadline=None)  # the same draws everywhere, every time
settings.load_profile("toplist")

collect_ignore = ["docs/conf.py"]  # needs what only the documentation needs
collect_ignore += ["src/toplist/integrations/torch/metrics.py"]  # its examples run where torchmetrics is tested
if find_spec("torch") is None:
    collect_ignore += ["src/toplist/integrations/torch"]
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


SHARING = ("tests/engines", "tests/lists/device", "tests/report/html", "tests/studies")


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> FilesWhole:
    """Used by `pytest -n`."""
    return FilesWhole(config, log)


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: the garbage collector need not go through them again and again."""
    gc.collect()
    gc.freeze()
