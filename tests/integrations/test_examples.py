"""The example of model selection says what it finds, and what the documentation says of it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_selection_by_padded_brier_score_chooses_a_better_calibrated_tree(capsys: pytest.CaptureFixture[str]) -> None:
    """Two of its twenty splits."""
    example = runpy.run_path(str(ROOT / "examples" / "grid_search.py"))
    for split in example["main"](splits=2):
        brier, accuracy = (split.choices[name] for name in (example["BRIER"], example["ACCURACY"]))
        assert brier.leaf > accuracy.leaf
        assert brier.score < accuracy.score
        assert brier.calibration_error < accuracy.calibration_error
    printed = capsys.readouterr().out
    assert "by Brier score is significantly better than by accuracy" in printed
    assert "the smaller Brier score in 2," in printed
