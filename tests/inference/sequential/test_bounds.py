"""The largest loss is what brute force over all outcomes finds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.paper.rules import RULES
from tests.properties.cases import confidences, law, lists
from toplist.scoring.bounds import largest_loss, subtract

PENALTIES = (None, 0, 0.3, math.inf)
every_rule = pytest.mark.parametrize("name", RULES)


def brute(a: tl.TopLists, b: tl.TopLists, sizes: list[int], **options: Any) -> list[float]:
    """The definition: every class of every case is tried."""
    worst = []
    for case, m in enumerate(sizes):
        one, other = a[[case] * m], b[[case] * m]
        y = np.arange(m)
        worst.append(subtract(tl.score(one, y, **options), tl.score(other, y, **options)).max())
    return worst


@st.composite
def pairs(draw: st.DrawFn) -> tuple[tl.TopLists, tl.TopLists, list[int]]:
    """Two batches over few classes, one number of them or one for each case: ragged, empty, full, tied, invalid."""
    n = draw(st.integers(1, 4))
    per_case = draw(st.booleans())
    sizes = [draw(st.integers(1, 6)) for _ in range(n)] if per_case else [draw(st.integers(1, 6))] * n
    space = tl.ClassSpace(sizes) if per_case else sizes[0]
    made = []
    for _ in range(2):
        exact = draw(st.booleans())
        if not per_case and draw(st.booleans()):
            rows = [draw(confidences(sizes[0], complete=True, exact=exact)) for _ in range(n)]
            made.append(tl.TopLists.from_proba(np.array(rows), normalize=True))
        else:
            made.append(tl.TopLists.from_dicts([draw(lists(m, exact=exact)) for m in sizes], space))
    return made[0], made[1], sizes


@every_rule
@law
@given(drawn=pairs(), penalty=st.sampled_from(PENALTIES))
def test_it_is_the_largest_of_all_differences(name: str, drawn: Any, penalty: float | None) -> None:
    a, b, sizes = drawn
    known = RULES[name]
    with np.errstate(all="ignore"):
        found = largest_loss(a, b, rule=known.rule, penalty=penalty)
        expected = brute(a, b, sizes, rule=known.rule, penalty=penalty)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert not np.isnan(found).any()


@pytest.mark.parametrize("m", [2**40, 10**400, math.inf])
@pytest.mark.parametrize("rule", ["brier", "spherical", "zero-one"])
def test_the_number_of_classes_may_be_huge(m: Any, rule: str) -> None:
    """The classes of either and one other are all there is to try."""
    a, b = tl.TopList({0: 0.6, 7: 0.1}, m), tl.TopList({0: 0.2, 3: 0.7}, m)
    tried = [tl.score(a, y, rule=rule) - tl.score(b, y, rule=rule) for y in (0, 7, 3, 11)]
    assert largest_loss(a, b, rule=rule) == pytest.approx(max(tried), abs=1e-12)


@law
@given(drawn=pairs(), seed=st.integers(0, 99))
def test_names_decide_and_not_their_numbers(drawn: Any, seed: int) -> None:
    """Lists that learned their labels from what they saw first number them differently."""
    a, b, sizes = drawn
    if a.space.per_case:
        return
    names = [f"class {i}" for i in np.random.default_rng(seed).permutation(sizes[0])]

    def named(batch: tl.TopLists) -> tl.TopLists:
        rows = [{names[c]: t for c, t in one.confidences.items()} for one in batch]
        return tl.TopLists.from_dicts(rows, sizes[0], normalize=True)

    assert largest_loss(named(a), named(b)) == pytest.approx(largest_loss(a, b), abs=1e-9)


def test_classes_that_cannot_be_matched_are_refused() -> None:
    learned = tl.TopLists.from_dicts([{"cat": 0.5}], 3)
    coded = tl.TopLists.from_dicts([{0: 0.5}], 3)
    with pytest.raises(tl.SpaceError, match="Give both lists the same space"):
        largest_loss(learned, coded)
    with pytest.raises(tl.SpaceError, match="both need the same classes"):
        largest_loss(coded, tl.TopLists.from_dicts([{0: 0.5}], 4))
    with pytest.raises(tl.SpaceError, match="more than there are classes"):
        largest_loss(tl.TopLists.from_dicts([{"a": 0.5, "b": 0.5}], 2), tl.TopLists.from_dicts([{"c": 0.5}], 2))
    with pytest.raises(tl.ShapeError, match="1 lists against 2"):
        largest_loss(coded, tl.TopLists.from_dicts([{0: 0.5}, {}], 3))
    sets, others = (tl.TopLists.from_labels([{"a"}], tl.LabelSets(labels)) for labels in ("ab", "ba"))
    with pytest.raises(tl.SpaceError, match="Give both"):
        largest_loss(sets, others)


def test_an_empty_list_without_labels_goes_with_any_names() -> None:
    learned, empty = tl.TopLists.from_dicts([{"cat": 0.5}], 3), tl.TopLists.from_dicts([{}], 3)
    best = max(tl.score(learned, ["cat"])[0], tl.score(learned, ["dog"])[0]) - tl.score(empty, ["cat"])[0]
    assert largest_loss(learned, empty) == pytest.approx([best])


def test_no_cases_have_no_losses() -> None:
    none = tl.TopLists.from_dicts([], 3)
    assert largest_loss(none, none).shape == (0,)
