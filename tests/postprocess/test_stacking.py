"""Pools with fitted weights, and lists that were pooled by weights that never saw them."""

from __future__ import annotations

import json
import math
import pathlib
from typing import Any, Self

import numpy as np
import pytest

import toplist as tl
from tests.postprocess.test_pool_weights import KINDS, draw
from toplist.postprocess.combination import Stack, pool_weights, stack
from toplist.postprocess.recalibration import Isotonic, Recalibrator, Temperature


class Flatten:
    """A recalibrator that mixes in the uniform distribution as far as its cases ask for it."""

    share = 0.0

    def fit(self, lists: tl.TopLists, y: Any, *, sample_weight: Any = None) -> Self:
        self.share = 0.1 + 0.001 * float(np.average(y, weights=sample_weight))
        return self

    def transform(self, lists: tl.TopLists) -> tl.TopLists:
        t = lists.confidences * (1 - self.share) + self.share / 6
        return tl.TopLists.from_ragged(lists.offsets, lists.classes, t, lists.space, ids=lists.ids)

    def to_dict(self) -> dict[str, Any]:
        return {"share": self.share}


@pytest.mark.parametrize(("rule", "pool"), KINDS)
def test_every_case_is_pooled_by_weights_of_the_other_folds(rule: str, pool: str) -> None:
    lists, y = draw(0, 3)
    made = stack(lists, y, rule=rule, pool=pool, folds=4, seed=1)
    assert made.pooled is not None
    assert made.fold is not None
    assert sorted(np.bincount(made.fold)) == [15] * 4
    for one in range(4):
        seen = made.fold != one
        weights = pool_weights({name: own[seen] for name, own in lists.items()}, y[seen], rule=rule, pool=pool)
        assert weights.transform({name: own[~seen] for name, own in lists.items()}) == made.pooled[~seen]
    np.testing.assert_array_equal(made.weights.weights, pool_weights(lists, y, rule=rule, pool=pool).weights)


def test_a_cluster_stays_in_one_fold() -> None:
    lists, y = draw(0, 2)
    clusters = np.arange(60) // 3
    made = stack(lists, y, folds=4, clusters=clusters)
    assert made.fold is not None
    assert (made.fold == np.repeat(made.fold[::3], 3)).all()
    assert sorted(np.bincount(made.fold)) == [15] * 4


def test_an_outcome_does_not_change_the_list_of_its_own_case() -> None:
    lists, y = draw(1, 3)
    at = int(np.argmax(np.min([one.sizes for one in lists.values()], axis=0)))
    other = y.copy()
    other[at] = (y[at] + 1) % 6
    one, two = stack(lists, y), stack(lists, other)
    assert one.pooled is not None
    assert two.pooled is not None
    assert one.pooled[at : at + 1] == two.pooled[at : at + 1]
    assert one.pooled != two.pooled


def test_members_are_recalibrated_within_each_fold() -> None:
    lists, y = draw(2, 2)
    made = stack(lists, y, recalibrate=Flatten(), folds=3)
    assert made.recalibrators is not None
    assert made.pooled is not None
    assert made.fold is not None
    seen = made.fold != 0
    better = {name: Flatten().fit(one[seen], y[seen]).transform(one) for name, one in lists.items()}
    weights = pool_weights({name: one[seen] for name, one in better.items()}, y[seen])
    assert weights.transform({name: one[~seen] for name, one in better.items()}) == made.pooled[~seen]
    assert Flatten.share == 0.0, "the one that was given stays as it was"


def test_a_stack_comes_back_from_its_file(tmp_path: pathlib.Path) -> None:
    lists, y = draw(3, 3)
    for rule, pool in KINDS:
        made = stack(lists, y, rule=rule, pool=pool, k=3)
        made.save(tmp_path / "pool.json")
        again = Stack.load(tmp_path / "pool.json")
        assert json.loads((tmp_path / "pool.json").read_text())["schema"] == "toplist.pool/1"
        assert again.pooled is None
        assert again.to_dict() == made.to_dict()
        assert again.transform(lists) == made.transform(lists)
        assert again.transform(lists).sizes.max() <= 3


@pytest.mark.parametrize("kind", [Temperature, Isotonic])
def test_recalibrators_come_back_from_the_file_too(tmp_path: pathlib.Path, kind: type[Recalibrator]) -> None:
    lists, y = draw(4, 2)
    made = stack(lists, y, recalibrate=kind())
    made.save(tmp_path / "pool.json")
    again = Stack.load(tmp_path / "pool.json")
    assert again.transform(lists) == made.transform(lists)
    assert again.recalibrators is not None
    assert [type(one) for one in again.recalibrators] == [kind, kind]


def test_members_are_found_by_name() -> None:
    lists, y = draw(5, 3)
    made = stack(lists, y)
    assert made.transform(dict(reversed(lists.items()))) == made.transform(list(lists.values()))
    with pytest.raises(tl.TopListError, match="p1 is missing"):
        made.transform({"p0": lists["p0"], "p2": lists["p2"]})
    with pytest.raises(tl.TopListError, match="p9 is no member"):
        made.transform({**lists, "p9": lists["p0"]})
    with pytest.raises(tl.TopListError, match="2 members for a pool of 3"):
        made.transform([lists["p0"], lists["p1"]])


def test_sizes_per_case_ids_and_labels_stay_with_their_cases() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(4, 9, 30).tolist()
    rows = [{0: 0.5, int(rng.integers(1, 4)): 0.3} for _ in sizes]
    a = tl.TopLists.from_dicts(rows, sizes, ids=[f"c{i}" for i in range(30)])
    b = tl.TopLists.from_dicts(rows[::-1], sizes)
    made = stack([a, b], [0] * 20 + [1] * 10)
    assert made.pooled is not None
    assert made.pooled.ids is not None
    assert made.pooled.ids.tolist() == [f"c{i}" for i in range(30)]
    np.testing.assert_allclose(made.pooled.rest + np.add.reduceat(made.pooled.confidences, made.pooled.offsets[:-1]), 1)
    assert (made.pooled.checked.rows.size == sizes).all()
    space = tl.ClassSpace(2**1000, ["a", "b", "c"])
    c, d = tl.TopLists.from_dicts([{"a": 0.5}] * 9, space), tl.TopLists.from_dicts([{"a": 0.4, "b": 0.2}] * 9, space)
    far = stack([c, d], ["a"] * 8 + ["b"], rule="log", pool="geometric", folds=3).pooled
    assert far is not None
    assert not far.repairs
    assert tl.score(far, ["b"] * 9, rule="log").max() < math.inf


def test_outcomes_of_any_kind_are_parted() -> None:
    """Label sets as a matrix, as sets and as text of codes teach the same."""
    space = tl.LabelSets(["a", "b", "c"])
    rng = np.random.default_rng(0)
    matrix = rng.integers(0, 2, (20, 3))
    sets = [{name for name, there in zip("abc", row, strict=True) if there} for row in matrix]
    lists = [
        tl.TopLists.from_dicts([{frozenset("a"): 0.4, frozenset(): float(t)} for t in rng.random(20) / 2], space)
        for _ in range(2)
    ]
    found = [stack(lists, y).weights.weights for y in (matrix, sets, space.sets(sets), space.encode(sets))]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize("own", [1, 1.5, True, "x", {"a": 1}, [1]])
def test_damaged_recalibrators_of_a_saved_stack_are_refused(own: Any) -> None:
    lists, y = draw(0, 2)
    with pytest.raises(tl.TopListError):
        Stack.from_dict(stack(lists, y).to_dict() | {"recalibrators": own})
