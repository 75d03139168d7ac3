"""`toplist partial` and `toplist merge`: parts of a comparison in files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.run_cli import toplist_here


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Predictions of two models and the truth: all cases, and in three parts."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 30)
    rows = {"t": ["id,outcome", *(f"{i},{('owl', 'fox', 'elk')[code]}" for i, code in enumerate(y))]}
    for name, strength in (("a", 2.0), ("b", 0.5)):
        weights = np.exp(rng.normal(size=(30, 3)) + strength * np.eye(3)[y])
        shares = weights / weights.sum(axis=1, keepdims=True)
        rows[name] = ["id,owl,fox,elk", *(",".join([f"{i}", *map(repr, row)]) for i, row in enumerate(shares.tolist()))]
    for at, some in enumerate((slice(None), slice(0, None, 3), slice(1, None, 3), slice(2, None, 3))):
        folder = tmp_path / ("whole", "0", "1", "2")[at]
        folder.mkdir()
        for name, (head, *cases) in rows.items():
            (folder / f"{name}.csv").write_text("\n".join([head, *cases[some], ""]))
    (tmp_path / "parts").mkdir()
    for at in range(3):
        done = toplist_here(
            "partial", f"{at}/a.csv", f"{at}/b.csv", "-t", f"{at}/t.csv", "-o", f"parts/{at}.tlp", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert f"Sums of 10 cases in parts/{at}.tlp" in done.stdout
    return tmp_path


def test_files_folders_and_patterns_are_merged_to_what_compare_says(place: Path) -> None:
    whole = toplist_here("compare", "whole/a.csv", "whole/b.csv", "-t", "whole/t.csv", "--json", cwd=place)
    expected = json.loads(whole.stdout)
    for given in (["parts"], ["parts/*.tlp"], [f"parts/{at}.tlp" for at in (2, 0, 1)]):
        done = toplist_here("merge", *given, "--json", cwd=place)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        for one, other in zip(found["sources"], expected["sources"], strict=True):
            assert one.pop("source") == " | ".join(f"{at}/{one['name']}.csv" for at in range(3))
            assert {**other, "source": None} == {**one, "source": None}
        assert {**found, "sources": None} == {**expected, "sources": None}
