"""Diagnoses say what they said, as text, as figures and as values."""

from __future__ import annotations

import json

import pytest

from tests.golden.conftest import HERE, Golden
from tests.golden.diagnoses import DIAGNOSES, diagnosis


@pytest.mark.parametrize("name", DIAGNOSES)
def test_a_diagnosis_is_as_it_was(name: str, golden: Golden) -> None:
    values = diagnosis(name).to_dict()
    json.dumps(values, allow_nan=False)
    values.pop("calibration")  # long curves, of which the figures say what is in them
    figures = {kind: diagnosis(name).plot(kind).data.words for kind in diagnosis(name).plots}
    golden.json(f"diagnoses/{name}.json", values | {"figures": figures})
    golden.text(f"diagnoses/{name}.txt", diagnosis(name).to_text(100) + "\n")


def test_no_golden_is_left_of_a_diagnosis_that_is_gone() -> None:
    stored = {file.name for file in (HERE / "diagnoses").iterdir()}
    assert stored == {f"{name}.{end}" for name in DIAGNOSES for end in ("json", "txt")}
