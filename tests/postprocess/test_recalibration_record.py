"""What was learned survives a file to the last bit, and nothing else gets in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import toplist as tl
from tests.postprocess.recalibrators import KINDS, mixed, sharpened
from toplist.postprocess.recalibration import Isotonic, Recalibrator, RestFloor, Temperature

load, from_dict = Recalibrator.load, Recalibrator.from_dict

every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_what_is_saved_is_loaded_exactly(kind: str, tmp_path: Path) -> None:
    lists, y = mixed(41, 90)
    made = KINDS[kind].clone().fit(lists, y)
    made.save(tmp_path / "made.json")
    back = load(tmp_path / "made.json")
    assert type(back) is type(made)
    assert back.to_dict() == made.to_dict()
    assert repr(back) == repr(made)
    assert back.transform(lists) == made.transform(lists)
    assert type(made).load(tmp_path / "made.json").transform(lists) == made.transform(lists)
    assert from_dict(json.loads(json.dumps(made.to_dict()))).to_dict() == made.to_dict()


def saved() -> dict[str, Any]:
    """A temperature."""
    lists, y = sharpened(42, 30)
    return Temperature().fit(lists, y).to_dict()


def test_any_kind_is_loaded_by_the_base() -> None:
    assert isinstance(Recalibrator.from_dict(saved()), Temperature)


@pytest.mark.parametrize(
    "change", [{"value": [0.9, 0.1]}, {"low": [0.1]}, {"low": "all"}, {"value": [0.0, 0.5]}, {"high": [None, 0.9]}]
)
def test_steps_that_do_not_rise_are_refused(change: dict[str, Any]) -> None:
    steps = {"low": [0.1, 0.5], "high": [0.4, 0.9], "value": [0.2, 0.6], "weight": [3.0, 4.0]}
    lists, y = sharpened(43, 30)
    kept = Isotonic().fit(lists, y).to_dict()
    assert len(from_dict({**kept, "fitted": {**kept["fitted"], "maps_": [steps]}}).maps_[0]) == 2
    with pytest.raises(tl.TopListError, match="is damaged"):
        from_dict({**kept, "fitted": {**kept["fitted"], "maps_": [{**steps, **change}]}})


def test_rules_are_saved_by_name() -> None:
    lists, y = sharpened(46, 30)
    assert RestFloor(rule=tl.Brier()).fit(lists, y).to_dict()["params"]["rule"] == "brier"


class Halved(Temperature):
    """A kind of somebody's own."""

    learned = ()

    def _fit(self, sample: Any) -> None:
        pass

    def _transform(self, lists: tl.TopLists) -> tl.TopLists:
        return lists

    def _restore(self, state: Any) -> None:
        pass


def test_a_kind_of_ones_own_is_saved_too() -> None:
    lists, y = sharpened(47, 5)
    assert isinstance(from_dict(Halved().fit(lists, y).to_dict()), Halved)


def test_no_other_kind_takes_the_place_of_the_librarys() -> None:
    type("Temperature", (Halved,), {})
    assert type(from_dict(saved())) is Temperature
