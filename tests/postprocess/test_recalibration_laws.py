"""What holds for every recalibrator: valid lists out, on the same classes, the same each time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from tests.postprocess.recalibrators import KINDS, huge, mixed, open_ended, sharpened
from tests.properties.cases import batches, law
from toplist.postprocess.recalibration import Recalibrator, Temperature

every_kind = pytest.mark.parametrize("kind", KINDS)


def check(lists: tl.TopLists, out: tl.TopLists) -> None:
    """Valid, and about the same cases and classes in the same order."""
    assert out.is_valid().all()
    assert out.space == lists.space
    assert (out.ids is None) == (lists.ids is None)
    assert out.ids is None or np.array_equal(out.ids, lists.ids)
    assert np.array_equal(out.offsets, lists.offsets)
    assert np.array_equal(out.classes, lists.classes)
    assert np.isfinite(out.confidences).all()
    np.testing.assert_allclose(
        np.add.reduceat(np.append(out.normalized_confidences, 0.0), out.offsets[:-1]) * (out.sizes > 0) + out.rest,
        1.0,
        atol=1e-9,
    )


@every_kind
@law
@given(batch=batches(least=2), data=st.data())
def test_valid_lists_come_out_on_the_same_classes(
    kind: str, batch: tuple[tl.TopLists, list[int]], data: st.DataObject
) -> None:
    """Whatever was learned from, and whatever is changed: empty, full, hard, invalid, with any number of classes."""
    lists, y = batch
    made = KINDS[kind].clone().fit(lists, y)
    check(lists, made.transform(lists))
    other, _ = data.draw(batches())
    check(other, made.transform(other))


@every_kind
@pytest.mark.parametrize("per_case", [False, True])
def test_lists_of_all_kinds_together_come_out_valid(kind: str, per_case: bool) -> None:
    lists, y = mixed(1, 120, per_case=per_case)
    check(lists, KINDS[kind].clone().fit_transform(lists, y))


@every_kind
def test_lists_known_by_their_logarithms_come_out_valid(kind: str) -> None:
    """2**10000 classes, confidences of e^-3000."""
    lists, y = huge()
    check(lists, KINDS[kind].clone().fit_transform(lists, y))


@every_kind
def test_infinitely_many_classes_are_served(kind: str) -> None:
    lists, y = open_ended()
    check(lists, KINDS[kind].clone().fit_transform(lists, y))


@every_kind
def test_no_cases_can_be_changed(kind: str) -> None:
    lists, y = sharpened(2, 60, k=3)
    assert len(KINDS[kind].clone().fit(lists, y).transform(lists[:0])) == 0


@every_kind
def test_empty_lists_teach_nothing_and_stay_empty(kind: str) -> None:
    empty = tl.TopLists.from_dicts([{}] * 6, 4)
    out = KINDS[kind].clone().fit_transform(empty, [0, 1, 2, 3, 0, 1])
    assert out == empty


@every_kind
def test_a_fit_is_the_same_each_time(kind: str) -> None:
    lists, y = mixed(3, 80)
    first, second = KINDS[kind].clone().fit(lists, y), KINDS[kind].clone().fit(lists, y)
    assert first.to_dict() == second.to_dict()
    assert first.fit(lists, y).to_dict() == second.to_dict()


@every_kind
def test_weights_count_as_cases_that_are_there_as_often(kind: str) -> None:
    """Up to what counts cases: a weight of two is not twice the evidence for a ridge or for half a case."""
    lists, y = sharpened(4, 200, k=3)
    none = np.arange(200) % 2
    part = np.flatnonzero(none)
    heavy = KINDS[kind].clone().fit(lists, y, sample_weight=none * 7.0).transform(lists)
    alone = KINDS[kind].clone().fit(lists[part], y[part]).transform(lists)
    np.testing.assert_allclose(heavy.confidences, alone.confidences, rtol=1e-4, atol=1e-6)


@every_kind
def test_the_order_of_cases_does_not_matter(kind: str) -> None:
    lists, y = sharpened(5, 150, k=4)
    back = np.arange(150)[::-1]
    there = KINDS[kind].clone().fit(lists, y).transform(lists)
    again = KINDS[kind].clone().fit(lists[back], y[back]).transform(lists)
    np.testing.assert_allclose(there.confidences, again.confidences, rtol=1e-4, atol=1e-6)


@every_kind
def test_classes_called_by_other_numbers_are_not_mixed_up(kind: str) -> None:
    """Labels 10, 20, ... are labels; codes are their places."""
    lists, y = sharpened(6, 100, m=5, k=3)
    space = tl.ClassSpace(labels=[10, 20, 30, 40, 50])
    named = tl.TopLists.from_ragged(lists.offsets, (lists.classes + 1) * 10, lists.confidences, space)
    want = KINDS[kind].clone().fit_transform(lists, y)
    got = KINDS[kind].clone().fit_transform(named, (y + 1) * 10)
    np.testing.assert_allclose(got.confidences, want.confidences, rtol=1e-6, atol=1e-9)
    assert np.array_equal(got.classes, want.classes)


def test_label_sets_are_classes_like_others() -> None:
    space = tl.LabelSets(["a", "b", "c"])
    lists = tl.TopLists.from_dicts([{frozenset("a"): 0.9}, {frozenset("ab"): 0.8, frozenset(): 0.1}] * 4, space)
    y = [{"a"}, set(), {"b"}, {"a", "b"}] * 2
    out = Temperature().fit_transform(lists, y)
    check(lists, out)
    assert tl.score(out, y).mean() < tl.score(lists, y).mean()


@every_kind
@settings(max_examples=draws(5))
@given(seed=st.integers(0, 1000))
def test_what_was_too_sure_gets_better(kind: str, seed: int) -> None:
    """On other cases than were learned from; the identity, and a floor, at least do no harm."""
    lists, y = sharpened(seed, 600, k=4, power=2.5)
    other, z = sharpened(seed + 1, 600, k=4, power=2.5)
    made: Recalibrator = KINDS[kind].clone().fit(lists, y)
    before, after = tl.score(other, z).mean(), tl.score(made.transform(other), z).mean()
    assert after <= before + (1e-12 if kind in ("identity", "rest floor given") else -0.01)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("identity", "rest floor given")])
def test_many_cases_are_learned_from_some_first_and_end_in_the_same_place(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists, y = sharpened(8, 2000, k=3)
    whole = KINDS[kind].clone().fit(lists, y).transform(lists)
    for name in ("_ROUGH_GRID", "_ROUGH_FIT", "_ROUGH"):
        monkeypatch.setattr(f"toplist.postprocess.recalibration.standard.{name}", 100)
    parts = KINDS[kind].clone().fit(lists, y).transform(lists)
    np.testing.assert_allclose(parts.confidences, whole.confidences, rtol=1e-4, atol=1e-6)


def test_single_precision_is_no_obstacle() -> None:
    p = np.random.default_rng(9).dirichlet(np.full(6, 0.3), 100).astype(np.float32)
    lists = tl.TopLists.from_proba(p / p.sum(axis=1, keepdims=True)).truncate(3)
    y = np.arange(100) % 6
    for made in KINDS.values():
        check(lists, made.clone().fit_transform(lists, y))
