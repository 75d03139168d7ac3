"""The vectorised scores: against fractions, over mixtures of lists, and outside the image."""

import math
import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from tests.scoring.topbeta import exact
from toplist.errors import OutcomeError, SpaceError, TopListError
from toplist.scoring import topbeta

OPTIONS = [(form, kind) for form in ("M", "A") for kind in ("minimal", "simple")]


@st.composite
def reports(draw):
    """A list in the image as fractions, with m, beta and a cap."""
    m = draw(st.integers(1, 7))
    beta = Fraction(draw(st.integers(5, 95)), 100)
    cap = draw(st.sampled_from([None, 1, 2, 3]))
    whole = draw(st.lists(st.sampled_from([0, 1, 1, 2, 7, 40]), min_size=m, max_size=m))
    whole[0] += not any(whole)
    p = [Fraction(x, sum(whole)) for x in whole]
    found = sorted(exact.true_listings(p, beta, cap), key=sorted)
    return m, beta, cap, exact.by_size(sorted(draw(st.sampled_from(found))))


@pytest.mark.parametrize(("form", "kind"), OPTIONS)
@pytest.mark.parametrize("ties", ["fixed", "average"])
@settings(max_examples=draws(40))
@given(report=reports())
def test_doubles_agree_with_fractions(form, kind, ties, report):
    m, beta, cap, listing = report
    constants = topbeta.constants(m, beta, cap, form, kind=kind).exact
    rule = exact.score if ties == "fixed" else exact.averaged
    wanted = exact.scores(listing, m, beta, constants, form, rule=rule)
    lists = tl.TopLists.from_dicts([{c: float(x) for c, x in listing}] * m, m)
    options = {"form": form, "cap": cap, "constants": kind, "ties": ties}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", topbeta.ConditioningWarning)
        found = topbeta.score(lists, np.arange(m), beta, **options)
    assert found == pytest.approx([float(x) for x in wanted], rel=1e-12, abs=1e-12)
    assert found.max() <= topbeta.bound(m, beta, cap, form, constants=kind) + 1e-12


@pytest.mark.parametrize("form", ["N", "M", "A"])
@pytest.mark.parametrize("a", [1.01, 2.0])
@pytest.mark.parametrize(("m", "beta", "cap"), [(3, 0.9, None), (4, 0.6, None), (4, 0.75, 2), (5, 0.3, None)])
def test_no_list_in_the_image_scores_as_much_as_lists_outside(form, a, m, beta, cap):
    level = Fraction(str(beta))
    listings = [t for t in exact.images(m, level, 8 if m > 4 else 12, cap) if t]
    listings += [((0, Fraction(1)),), tuple((c, Fraction(1, m)) for c in range(exact.longest(m, level, cap)))]
    lists = tl.TopLists.from_dicts([{c: float(x) for c, x in t} for t in listings], m)
    assert topbeta.in_image(lists, beta, cap).inside.all()
    worst = max(topbeta.score(lists, np.full(len(lists), y), beta, form=form, cap=cap, a=a).max() for y in range(m))
    (outside,) = topbeta.score(tl.TopLists.from_dicts([{}], m), [0], beta, form=form, cap=cap, a=a)
    assert worst <= topbeta.bound(m, beta, cap, form, a=a) < outside < math.inf


@pytest.mark.parametrize("form", ["M", "A"])
def test_ranks_beyond_the_first_sixty_four_add_nothing_to_the_bound(form):
    """The bound sums the first 64 ranks; what the others could add is far below the margin above it."""
    for m, beta in ((66, 0.999), (80, 0.82), (300, 0.5)):
        assert sum(topbeta.constants(m, beta, None, form).exact[64:]) < Fraction(1, 10**60)


def test_the_outside_is_what_the_caller_says():
    lists = tl.TopLists.from_dicts([{}, {0: 1.0}, {0: 0.5, 1: 0.4}], 3)
    assert topbeta.score(lists, [0, 0, 0], 0.5, outside=math.inf)[[0, 2]].tolist() == [math.inf, math.inf]
    assert topbeta.score(lists, [0, 0, 0], 0.5, outside=0)[0] == 0
    with pytest.raises(TopListError, match="zero or more"):
        topbeta.score(lists, [0, 0, 0], 0.5, outside=-1)


def test_the_order_of_a_list_does_not_matter_without_ties():
    a, b = tl.TopLists.from_dicts([{0: 0.2, 1: 0.5, 2: 0.15}, {1: 0.5, 2: 0.15, 0: 0.2}], 6)
    assert topbeta.score(a, 0, 0.8, cap=3) == topbeta.score(b, 0, 0.8, cap=3)


def test_averaging_over_ties_treats_tied_classes_alike():
    t = tl.TopList({0: 0.3, 1: 0.3, 2: 0.3}, 6)
    for form in ("N", "M", "A"):
        fixed, average, default = (
            [topbeta.score(t, y, 0.9, form=form, ties=ties) for y in range(3)] for ties in ("fixed", "average", None)
        )
        assert len(set(fixed)) == 3
        assert average == pytest.approx([np.mean(fixed)] * 3)
        assert default == (average if form == "N" else fixed)


@pytest.mark.parametrize("form", ["N", "M", "A"])
def test_cases_with_numbers_of_classes_of_their_own_score_as_they_do_alone(form):
    space = tl.ClassSpace([3, 5, 4, 5])
    rows = [{0: 0.6, 1: 0.3}, {0: 0.6, 1: 0.3}, {3: 1.0}, {}]
    together = topbeta.score(tl.TopLists.from_dicts(rows, space), [0, 1, 2, 0], 0.8, form=form)
    each = zip(rows, (3, 5, 4, 5), (0, 1, 2, 0), strict=True)
    alone = [topbeta.score(tl.TopList(row, m), y, 0.8, form=form) for row, m, y in each]
    assert together.tolist() == alone


def test_no_cases_have_no_scores():
    assert topbeta.score(tl.TopLists.from_dicts([], 3), [], 0.8).shape == (0,)
    assert len(topbeta.in_image(tl.TopLists.from_dicts([], 3), 0.8)) == 0


def test_two_to_the_ten_thousand_classes_are_scored_with_a_warning():
    lists = tl.TopLists.from_dicts([{0: 0.6, 1: 0.3}, {0: 0.95}], 2**10000)
    with pytest.warns(topbeta.ConditioningWarning, match="resolves 2"):
        found = topbeta.score(lists, [0, 5], 0.8, form="M")
    assert np.isfinite(found).all()
    assert topbeta.score(lists, [0, 5], 0.8, cap=2, form="M") == pytest.approx(found)


def test_lists_too_small_for_numbers_are_scored_up_to_a_cap():
    space = tl.LabelSets([f"l{i}" for i in range(3000)])
    lists = tl.multilabel.best_sets(np.full((1, 3000), 0.4), 2, space=space)
    assert lists.confidences[0] == 0
    found = topbeta.score(lists, [set()], 0.9, cap=2)
    assert -1 < found[0] < 0


@pytest.mark.parametrize("form", ["M", "A"])
def test_a_score_that_doubles_do_not_resolve_warns_with_a_cap_that_is_resolved(form):
    lists = tl.TopLists.from_dicts([{0: 0.95}], 1000)
    with pytest.warns(topbeta.ConditioningWarning, match=r"cap=\d") as said:
        topbeta.score(lists, [0], 0.9, form=form)
    seen = topbeta.conditioning(1000, 0.9, 20, form).resolved
    assert f"cap={seen} " in str(said[0].message)
    topbeta.score(lists, [0], 0.9, form=form, cap=seen)


def test_constants_of_ones_own_are_used_and_checked():
    lists = tl.TopLists.from_dicts([{0: 0.6, 1: 0.3}], 5)
    plain = topbeta.constants(5, 0.8)
    score = partial(topbeta.score, lists, [0], 0.8, form="M")
    assert score(constants=[7 * c for c in plain.exact]) == pytest.approx(7 * score())
    score(constants=plain.floats)
    score(constants=np.array(plain.floats))
    for wrong, words in (
        ([1.0], "4 of them, not 1"),
        ([1, 1, 0, 1], "positive"),
        ([1, 0.9, 0.1, 0.01], "not consistent"),
        ("least", "minimal"),
    ):
        with pytest.raises(TopListError, match=words):
            score(constants=wrong)
    with pytest.warns(topbeta.ConditioningWarning, match="apart"):
        score(constants=[1, 1e-4, 1e-8, 1e-12])


def test_what_cannot_be_scored_is_said():
    lists = tl.TopLists.from_dicts([{0: 0.95}], 5)
    with pytest.raises(OutcomeError, match="one outcome per case"):
        topbeta.score(lists, np.full((1, 5), 0.2), 0.9)
    with pytest.raises(SpaceError, match="finitely many"):
        topbeta.score(tl.TopLists.from_dicts([{0: 0.95}], math.inf), [0], 0.9, form="M")
    with pytest.raises(TopListError, match="has no constants"):
        topbeta.score(lists, [0], 0.9, constants="simple")
    with pytest.raises(TopListError, match="has no constants"):
        topbeta.constants(5, 0.9, form="N")
    with pytest.raises(TopListError, match="fixed"):
        topbeta.score(lists, [0], 0.9, ties="random")
    with pytest.raises(TopListError, match="expected TopLists"):
        topbeta.score([[0.5, 0.5]], [0], 0.9)
