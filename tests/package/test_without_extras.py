"""`make test` in a fresh clone: programs that only some tests need are not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("src/toplist/integrations", "tests/integrations", "tests/engines", "tests/io/producers", "docs")
MISSING = (
    *("torch", "torchmetrics", "lightning", "triton", "jax", "cupy", "pyspark", "distributed", "moto"),
    *("lm_eval", "inspect_ai", "lighteval", "transformers", "timm", "fasttext", "mlflow", "huggingface_hub", "aiohttp"),
)
COLLECT = """
import importlib.util, sys
missing, find_spec = set(sys.argv[1].split()), importlib.util.find_spec

class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing)
importlib.util.find_spec = lambda name, package=None: None if name in missing else find_spec(name, package)
import pytest
sys.exit(pytest.main(["--collect-only", "-q", "-n", "0", "-p", "no:cacheprovider", *sys.argv[2:]]))
"""


def test_tests_are_collected_without_what_only_some_of_them_need() -> None:
    command = [sys.executable, "-c", COLLECT, " ".join(MISSING), *FOLDERS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
