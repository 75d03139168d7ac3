"""What must not matter: the precision of storage, the order of entries, the names of classes, the company of others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import toplist as tl
from tests.oracle.dense import RULES
from tests.properties.cases import Case, batches, by_every_rule, cases, every_rule, law, lists


@law
@given(drawn=st.lists(lists(8), min_size=1, max_size=5), data=st.data())
@by_every_rule
def test_single_and_double_precision_score_alike(name: str, drawn: list[dict[int, float]], data: st.DataObject) -> None:
    """The same numbers in single and in double precision are the same lists: bit for bit, invalid or not."""
    sizes = [len(t) for t in drawn]
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    classes = np.array([c for t in drawn for c in t], dtype=np.int64)
    single = np.array([x * (1 - 1e-6) for t in drawn for x in t.values()], dtype=np.float32)
    assume(all(k < 8 for k in sizes))  # the tolerance of complete lists depends on the precision
    y = data.draw(st.lists(st.integers(0, 7), min_size=len(drawn), max_size=len(drawn)))
    a, b = (tl.TopLists.from_ragged(offsets, classes, t, 8) for t in (single, single.astype(np.float64)))
    rule = RULES[name].rule
    np.testing.assert_array_equal(tl.score(a, y, rule=rule, penalty=0), tl.score(b, y, rule=rule, penalty=0))
    np.testing.assert_array_equal(tl.entropy(a, rule=rule), tl.entropy(b, rule=rule))


@every_rule
def test_rounding_to_single_precision_moves_a_score_by_no_more_than_rounding(name: str) -> None:
    """Near the corners too: no clipping at an epsilon that depends on the precision."""
    p = np.array([[1 - 1e-4, 6e-5, 4e-5], [0.6, 0.3, 0.1], [0.99, 0.01, 0.0]])
    rule, tol = RULES[name].rule, max(RULES[name].tol, 3e-3)
    for y in range(2):
        double, single = (tl.score(tl.TopLists.from_proba(p.astype(d)), [y] * 3, rule=rule) for d in "df")
        np.testing.assert_allclose(single, double, rtol=tol, atol=1e-7)


@law
@given(case=cases(exact=True), data=st.data())
@by_every_rule
def test_the_order_of_the_entries_does_not_matter(name: str, case: Case, data: st.DataObject) -> None:
    shuffled = dict(data.draw(st.permutations(list(case.listed.items()))))
    one, other = (tl.score(tl.TopList(t, case.m), case.y, rule=RULES[name].rule) for t in (case.listed, shuffled))
    assert one == pytest.approx(other, rel=RULES[name].tol, abs=RULES[name].tol)


@law
@given(case=cases(), data=st.data())
@by_every_rule
def test_the_names_of_the_classes_do_not_matter(name: str, case: Case, data: st.DataObject) -> None:
    """Renaming the classes of the list and of the outcome alike leaves every bit."""
    met = sorted({*case.listed, case.y})
    others = st.lists(st.integers(0, case.m - 1), min_size=len(met), max_size=len(met), unique=True)
    rename = dict(zip(met, data.draw(others), strict=True))
    renamed = Case({rename[c]: t for c, t in case.listed.items()}, case.m, rename[case.y])
    first, second = (tl.score(c.list, c.y, rule=RULES[name].rule) for c in (case, renamed))
    assert first == second


@law
@given(case=cases(m=5))
@by_every_rule
def test_labels_score_as_codes_do(name: str, case: Case) -> None:
    labels = ["ash", "elm", "fir", "oak", "yew"]
    named = tl.TopList({labels[c]: t for c, t in case.listed.items()}, tl.ClassSpace(labels=labels))
    rule = RULES[name].rule
    assert tl.score(named, labels[case.y], rule=rule) == tl.score(case.list, case.y, rule=rule)
    assert tl.entropy(named, rule=rule) == tl.entropy(case.list, rule=rule)


@law
@given(batch=batches())
@by_every_rule
def test_a_list_scores_alone_as_it_does_in_a_batch(name: str, batch: tuple[tl.TopLists, list[int]]) -> None:
    """One by one, made afresh from its dictionary and its own number of classes: bit for bit the same."""
    made, y = batch
    rule = RULES[name].rule
    together, entropies = tl.score(made, y, rule=rule), tl.entropy(made, rule=rule)
    for i, alone in enumerate(made):
        start, stop = made.offsets[i], made.offsets[i + 1]
        given_as = zip(made.classes[start:stop].tolist(), made.confidences[start:stop].tolist(), strict=True)
        fresh = tl.TopList(dict(given_as), alone.size)
        assert tl.score(alone, y[i], rule=rule) == together[i] == tl.score(fresh, y[i], rule=rule)
        assert tl.entropy(alone, rule=rule) == entropies[i] == tl.entropy(fresh, rule=rule)
        assert isinstance(tl.score(alone, y[i], rule=rule), float)


@law
@given(case=cases(m=5))
@by_every_rule
def test_every_way_to_give_a_list_scores_the_same(name: str, case: Case) -> None:
    """Dictionaries, rectangles, ragged columns, with 32-bit or 64-bit classes."""
    classes, t = np.array([list(case.listed)], dtype=np.int64).reshape(1, -1), [list(case.listed.values())]
    rectangle = np.array(t).reshape(1, -1)
    made = [
        tl.TopLists.from_dicts([case.listed], case.m),
        tl.TopLists.from_topk(classes, rectangle, case.m),
        tl.TopLists.from_topk(classes.astype(np.int32), rectangle, case.m),
        tl.TopLists.from_ragged([0, len(case.listed)], classes.ravel(), rectangle.ravel(), case.m),
        tl.TopLists.from_ragged([0, len(case.listed)], classes.ravel(), rectangle.ravel(), [case.m]),
    ]
    scores = {float(tl.score(x, [case.y], rule=RULES[name].rule)[0]) for x in made}
    assert len(scores) == 1
    assert all(x == made[0] for x in made[:-1])


@law
@given(p=st.integers(2, 6).flatmap(lambda m: st.lists(st.integers(0, 9), min_size=m, max_size=m)), data=st.data())
@by_every_rule
def test_a_distribution_is_the_complete_list(name: str, p: list[int], data: st.DataObject) -> None:
    """Dense rows and lists of every class, in whatever order, are one thing."""
    assume(sum(p) > 0)
    dense = np.array([p]) / sum(p)
    y = data.draw(st.integers(0, len(p) - 1))
    order = data.draw(st.permutations(range(len(p))))
    listed = tl.TopLists.from_dicts([{c: float(dense[0, c]) for c in order}], len(p))
    a, b = (float(tl.score(x, [y], rule=RULES[name].rule)[0]) for x in (tl.TopLists.from_proba(dense), listed))
    assert a == pytest.approx(b, rel=RULES[name].tol, abs=RULES[name].tol)
