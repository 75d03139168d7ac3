"""Code in the README and in the documentation runs: every `>>>` block is a test."""

import os

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


class PagesWhole(LoadScopeScheduling):
    """Tests go to workers one by one, a page of the documentation as a whole: its blocks build on each other."""

    def _split_scope(self, nodeid: str) -> str:
        page, _, _ = nodeid.partition("::")
        return page if page.endswith(".md") else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> PagesWhole:
    """Used by `pytest -n`."""
    return PagesWhole(config, log)
