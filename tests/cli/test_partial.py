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


def test_a_merge_is_written_as_a_board_a_page_and_a_part(place: Path) -> None:
    done = toplist_here(
        "merge", "parts", "-o", "m.json", "-o", "m.tlp", "--report", "m.html", "--title", "All", cwd=place
    )
    assert done.returncode == 0, done.stderr
    assert "All" in (place / "m.html").read_text()
    again = toplist_here("merge", "m.tlp", "--json", cwd=place)
    assert again.stdout.strip() == (place / "m.json").read_text().strip()
    refused = toplist_here("merge", "m.tlp", "parts/1.tlp", cwd=place)
    assert refused.returncode == 1
    assert "m.tlp and parts/1.tlp hold the same part, 1/t.csv: merge every part once." in refused.stderr


LOCAL = ["compare", "0/a.csv", "-t", "0/t.csv", "--engine", "local"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["merge", "0"], "there is no partial result in this folder"),
        (["merge", "none*.tlp"], "no file matches this pattern"),
        (["merge", "none.tlp"], "there is no such file"),
        (["merge", "0/a.csv"], "this is no partial result of toplist"),
        (["merge", "parts/0.tlp", "parts/0.tlp"], "merge every part once"),
        (["merge", "parts", "-o", "parts/0.tlp"], "lies in the folder 'parts'"),
        (["merge", "parts", "--title", "All"], "--title goes with --report"),
        (["partial", "0/a.csv", "-t", "0/t.csv", "-o", "part.json"], "name it part.tlp"),
        (["partial", "0/a.csv", "-t", "0/t.csv", "-o", "part.tlp", "--inference", "bootstrap"], "--inference poisson"),
        (["compare", "0/a.csv", "-t", "0/t.csv", "--workers", "2"], "--workers goes with --engine"),
        ([*LOCAL, "--workers", "0"], "--workers is a whole number of at least 1, not 0."),
        ([*LOCAL, "--task-cases", "-1"], "--task-cases is a whole number of at least 1, not -1."),
        ([*LOCAL, "--scheduler", "tcp://a:1"], "the engine 'local' has no option --scheduler: it is one of 'dask'."),
        ([*LOCAL[:-1], "lokal"], "--engine is local, dask, spark or ray here, not 'lokal'. Did you mean 'local'?"),
    ],
)
def test_what_cannot_be_merged_is_refused_in_a_sentence(words: list[str], said: str, place: Path) -> None:
    done = toplist_here(*words, cwd=place)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
