"""What was learned survives a file to the last bit, and nothing else gets in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import toplist as tl
from tests.postprocess.recalibrators import KINDS, mixed, sharpened
from toplist.postprocess.recalibration import Isotonic, Recalibrator, RestFloor, Temperature, VectorScaling
from toplist.postprocess.recalibration.automatic import AutoRecalibrator

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


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": "toplist.recalibrator/9"}, "reads 'toplist.recalibrator/1'"),
        ({"schema": None}, "schema is None"),
        ({"kind": "os.system"}, "no recalibrator is of kind 'os.system'"),
        ({"kind": ["Temperature"]}, "no recalibrator is of kind"),
        ({"params": None}, "params and fitted are records"),
        ({"params": {"colour": "red"}}, "no option 'colour'"),
        ({"params": {"rule": "spherical"}}, "brier"),
        ({"fitted": {}}, "temperature_ is missing"),
        ({"fitted": {"temperature_": "hot"}}, "where a number is expected"),
        ({"fitted": {"temperature_": float("nan")}}, "where a number is expected"),
        ({"fitted": {"temperature_": float("inf")}}, "where a number is expected"),
        ({"fitted": {"temperature_": -1.0}}, "where a number is expected"),
        ({"fitted": {"temperature_": 10**400}}, "where a number is expected"),
        ({"fitted": {"temperature_": True}}, "where a number is expected"),
    ],
)
def test_records_that_are_wrong_are_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(tl.TopListError, match=says):
        from_dict({**saved(), **change})


@pytest.mark.parametrize("garbage", [None, [], "Temperature", 3])
def test_what_is_no_record_is_refused(garbage: Any) -> None:
    with pytest.raises(tl.TopListError, match="a saved recalibrator is a record"):
        from_dict(garbage)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"schema": NaN}', b"import os"])
def test_files_that_are_wrong_are_refused(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(text)
    with pytest.raises(tl.TopListError, match=r"bad\.json"):
        load(tmp_path / "bad.json")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(tl.TopListError, match=r"none\.json: there is no such file"):
        load(tmp_path / "none.json")
    with pytest.raises(tl.TopListError, match="cannot be read"):
        load(tmp_path)


def test_a_kind_loads_its_kind_only() -> None:
    with pytest.raises(tl.TopListError, match="this is a Temperature, not a RestFloor"):
        RestFloor.from_dict(saved())
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


def test_offsets_that_are_no_numbers_are_refused() -> None:
    lists, y = sharpened(44, 30, k=2)
    kept = VectorScaling().fit(lists, y).to_dict()
    with pytest.raises(tl.TopListError, match="offsets_ is not a list of numbers"):
        from_dict({**kept, "fitted": {**kept["fitted"], "offsets_": [0.1, "x"]}})


@pytest.mark.parametrize(
    "change", [{"chosen": 9}, {"chosen": -1}, {"best": None}, {"table": [1]}, {"table": [{"name": 3, "refused": ""}]}]
)
def test_a_choice_that_is_damaged_is_refused(change: dict[str, Any]) -> None:
    lists, y = sharpened(45, 40)
    kept = AutoRecalibrator(candidates=[Temperature()], folds=2).fit(lists, y).to_dict()
    with pytest.raises(tl.TopListError, match=r"damaged|record"):
        from_dict({**kept, "fitted": {**kept["fitted"], **change}})


def test_rules_are_saved_by_name_or_not_at_all() -> None:
    lists, y = sharpened(46, 30)
    assert RestFloor(rule=tl.Brier()).fit(lists, y).to_dict()["params"]["rule"] == "brier"
    with pytest.raises(tl.TopListError, match="cannot be saved"):
        RestFloor(rule=tl.Power(3.0)).fit(lists, y).to_dict()


def test_what_has_learned_nothing_is_not_saved() -> None:
    with pytest.raises(tl.TopListError, match="not fitted yet"):
        Temperature().to_dict()


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


def test_what_kinds_have_in_common_is_no_kind() -> None:
    with pytest.raises(
        tl.TopListError, match="no recalibrator is of kind 'ConfidenceMaps'; there are AutoRecalibrator, Beta"
    ):
        from_dict({**saved(), "kind": "ConfidenceMaps"})


def test_no_other_kind_takes_the_place_of_the_librarys() -> None:
    type("Temperature", (Halved,), {})
    assert type(from_dict(saved())) is Temperature
