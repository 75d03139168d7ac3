"""How a batch is cut never shows: slices, concatenations, blocks and threads give the same bits."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.oracle.dense import RULES
from tests.properties.cases import Case, batches, by_every_rule, cases, every_rule, law, random_batch
from toplist.core import kernel


@law
@given(batch=batches(), data=st.data())
@by_every_rule
def test_scores_of_a_slice_are_a_slice_of_the_scores(
    name: str, batch: tuple[tl.TopLists, list[int]], data: st.DataObject
) -> None:
    """Invalid lists among the neighbours make no difference."""
    lists, y = batch
    a, b = sorted(data.draw(st.tuples(*[st.integers(0, len(lists))] * 2)))
    rule = RULES[name].rule
    np.testing.assert_array_equal(tl.score(lists[a:b], y[a:b], rule=rule), tl.score(lists, y, rule=rule)[a:b])
    np.testing.assert_array_equal(tl.entropy(lists[a:b], rule=rule), tl.entropy(lists, rule=rule)[a:b])


@law
@given(batch=batches(), data=st.data())
@by_every_rule
def test_scores_of_chosen_cases_are_the_chosen_scores(
    name: str, batch: tuple[tl.TopLists, list[int]], data: st.DataObject
) -> None:
    """Any selection, with repeats, by a mask, or backwards."""
    lists, y = batch
    rule, whole = RULES[name].rule, tl.score(lists, y, rule=RULES[name].rule)
    at = np.array(data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=8)), dtype=np.intp)
    codes = np.array(y)
    np.testing.assert_array_equal(tl.score(lists[at], codes[at], rule=rule), whole[at])
    mask = np.isin(np.arange(len(lists)), at)
    np.testing.assert_array_equal(tl.score(lists[mask], codes[mask], rule=rule), whole[mask])
    np.testing.assert_array_equal(tl.score(lists[::-1], codes[::-1], rule=rule), whole[::-1])


@law
@given(first=st.lists(cases(m=5), max_size=4), second=st.lists(cases(m=5), max_size=4))
@by_every_rule
def test_scores_of_a_concatenation_are_a_concatenation_of_scores(
    name: str, first: list[Case], second: list[Case]
) -> None:
    def scored(part: list[Case]) -> np.ndarray:
        lists = tl.TopLists.from_dicts([c.listed for c in part], 5)
        return tl.score(lists, [c.y for c in part], rule=RULES[name].rule)

    np.testing.assert_array_equal(scored(first + second), np.concatenate([scored(first), scored(second)]))


LISTS, Y = random_batch(21, 150)
TRUTH, _ = random_batch(22, 150)
WORK: dict[str, Callable[[tl.Rule], np.ndarray]] = {
    "score": lambda rule: tl.score(LISTS, Y, rule=rule),
    "entropy": lambda rule: tl.entropy(LISTS, rule=rule),
    "expected score": lambda rule: tl.expected_score(LISTS, TRUTH, rule=rule),
    "score from scratch": lambda rule: tl.score(random_batch(21, 150)[0], Y, rule=rule),
}


@pytest.fixture
def every_batch_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads be worth their while for a few hundred lists."""
    monkeypatch.setattr(kernel, "_THREADED", 1)
    monkeypatch.setattr(kernel, "BLOCK", 16)


@every_rule
@pytest.mark.parametrize("what", WORK)
@pytest.mark.usefixtures("every_batch_is_large")
def test_the_number_of_threads_does_not_show(name: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("TOPLIST_THREADS", threads)
        assert kernel.threads() == int(threads)
        results.append(WORK[what](RULES[name].rule))
    np.testing.assert_array_equal(results[0], results[1])


@every_rule
@pytest.mark.parametrize("what", WORK)
def test_the_size_of_a_block_does_not_show(name: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch in one piece, in pieces of 7 and of 50."""
    whole = WORK[what](RULES[name].rule)
    for block in (7, 50):
        monkeypatch.setattr(kernel, "BLOCK", block)
        np.testing.assert_array_equal(WORK[what](RULES[name].rule), whole)


@pytest.mark.usefixtures("every_batch_is_large")
def test_several_threads_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The laws above would hold trivially if one thread did everything."""
    seen: set[int] = set()
    monkeypatch.setenv("TOPLIST_THREADS", "4")
    barrier = threading.Barrier(4, timeout=10)

    def work(lo: int, hi: int) -> None:
        if threading.get_ident() not in seen:
            seen.add(threading.get_ident())
            barrier.wait()

    kernel.over_blocks(150, 150, work)
    assert len(seen) == 4


def test_the_batch_holds_what_could_go_wrong() -> None:
    """Invalid lists in every block, lists of every length, hits and misses."""
    assert 0.05 < (~LISTS.is_valid()).mean() < 0.9
    assert set(LISTS.sizes.tolist()) == set(range(12))
    assert 0.05 < tl.coverage(LISTS, Y) < 0.5
