"""Code in the README and in the documentation runs: every `>>>` block is a test."""

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

pytest_collect_file = Sybil(parsers=[PythonCodeBlockParser(), SkipParser()], patterns=["*.md"]).pytest()

collect_ignore = ["docs/conf.py"]  # needs what only the documentation needs
