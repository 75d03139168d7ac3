"""The score: strict consistency by enumeration, every step of the proof, what cannot be improved, in fractions."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from tests.scoring.topbeta import exact, grids, nested_exact
from toplist.scoring import topbeta

SMALL = {2: 12, 3: 10, 4: 7, 5: 5, 6: 5}
NINE = Fraction(9, 10)


@pytest.mark.parametrize("m", SMALL)
@pytest.mark.parametrize("beta", grids.MASSES, ids=str)
def test_exactly_the_true_lists_have_the_least_expected_score(m, beta):
    truths = grids.truths_on(m, SMALL[m])
    for cap in (None, 2):
        _, met = grids.check(m, beta, cap, exact.images(m, beta, SMALL[m], cap), truths)
        assert met >= len(truths)


def test_the_mean_over_the_orders_of_ties_is_strictly_consistent_too():
    for m, grid in ((3, 10), (4, 4)):
        listings = exact.images(m, NINE, grid)
        assert grids.check(m, NINE, None, listings, grids.truths_on(m, grid), nested_exact.averaged)[1] >= 1


@pytest.mark.parametrize("m", [2, 3, 4, 5, 6])
def test_no_list_of_a_close_distribution_does_better_near_a_tie(m):
    rng = np.random.default_rng(m)
    for beta, cap in zip(grids.MASSES, (None, 2, None, 3, None), strict=True):
        grids.check_near_ties(m, beta, cap, rng, 16)


@pytest.mark.parametrize("beta", [Fraction(1, 2), NINE], ids=str)
def test_it_is_strictly_consistent_where_some_of_the_rest_belongs_to_no_listed_class(beta):
    """Infinitely many classes: three that may be listed, and a rest of which no other class has a share that counts.

    Nothing is asked of the last confidence, so that lists count that are invalid for finitely many classes.
    """
    grid, cap = 8, 3
    truths = [q[:3] for q in exact.distributions(4, grid) if list(q[:3]) == sorted(q[:3], reverse=True)]
    reports = set()
    for q in exact.distributions(4, grid):
        down = exact.by_size(enumerate(q[:3]))
        k = next((j for j in range(1, 4) if sum(x for _, x in down[:j]) >= beta), cap)
        reports.add(down[:k])
    for listing in sorted(reports):
        by_class = {c: nested_exact.score(listing, c, beta) for c, _ in listing}
        missed = nested_exact.score(listing, -1, beta)
        for q in truths:
            risk = missed + sum(x * (by_class.get(c, missed) - missed) for c, x in enumerate(q))
            excess = risk - nested_exact.entropy(q, beta, cap)
            k = next((j for j in range(1, 4) if sum(q[:j]) >= beta), cap)  # they are in falling order
            best = sum(q[:k])
            true = len(listing) == k and all(q[c] == x for c, x in listing) and sum(x for _, x in listing) == best
            assert excess >= 0, (listing, q)
            assert (excess == 0) == true, (listing, q)


@st.composite
def falling(draw):
    """A distribution in falling order, perhaps with a rest that belongs to no class, with beta and a cap."""
    whole = draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, 7, 40, 300]), min_size=2, max_size=7))
    total = sum(whole) + draw(st.sampled_from([0, 0, 1, 20]))
    p = sorted((Fraction(x, max(total, 1)) for x in whole), reverse=True)
    beta = draw(st.sampled_from([Fraction(1, 10), Fraction(1, 2), NINE, Fraction(99, 100), Fraction(9999, 10000)]))
    return p, beta, draw(st.sampled_from([None, 2, 4]))


@settings(max_examples=draws(150))
@given(drawn=falling())
def test_the_inequalities_of_the_proof(drawn):
    """Steps 2, 3 and 5 of docs/topbeta.md, and the bound of the remark on the range."""
    p, beta, cap = drawn
    found = nested_exact.ratios(p, beta, cap)
    values = nested_exact.values(p, beta, cap)
    for (left, rest, reach, _, w), value in zip(found, values, strict=False):
        assert value < rest
        assert 0 < w <= left / rest <= beta < 1
        assert 3 * reach <= 4 * left
    assert all(a >= b for a, b in pairwise(values))
    for (*_, w), (*_, after) in pairwise(found):
        assert 1 / after >= 1 / w - Fraction(1, 2)


@settings(max_examples=draws(150))
@given(drawn=falling(), at=st.integers(0, 7))
def test_a_tie_gains_more_at_the_rank_before(drawn, at):
    """Step 4: the difference of gains is what the identity says, and positive."""
    p, beta, cap = drawn
    i = min(at, len(p) - 2)
    v = (p[i] + p[i + 1]) / 2
    p = [*p[:i], v, v, *p[i + 2 :]]
    found, values, gains = (of(p, beta, cap) for of in (nested_exact.ratios, nested_exact.values, nested_exact.gains))
    if i >= len(found):
        return
    weight = math.prod((w / 2 for *_, w in found[:i]), start=Fraction(1))
    later = gains[i + 1] if i + 1 < len(gains) else 0
    *_, scale, w = found[i]
    after = found[i + 1][-1] if i + 1 < len(found) else Fraction(0)
    assert gains[i] - later > 0
    if i + 1 < len(found):
        told = v * (1 - after) ** 2 + Fraction(3, 4) * values[i + 1] - values[i + 2] / 4
        assert gains[i] - later == weight * w * told / scale


@settings(max_examples=draws(100))
@given(drawn=falling())
def test_the_gains_of_the_formula_are_the_derivatives(drawn):
    p, beta, cap = drawn
    found = nested_exact.gains(p, beta, cap)
    t = p[: len(found)]
    for j, gain in enumerate(found):
        assert nested_exact.slope(t, [Fraction(i == j) for i in range(len(t))], beta)[1] == gain


def kink(p, beta, i, step, slack=2):
    """The difference of gains of ranks i and i + 1, which tie: negative where the entropy is not concave."""
    value, w = Fraction(0), []
    for j in reversed(range(len(p))):
        before = sum(p[:j], Fraction(0))
        left = beta - before
        reach, scale = left + step * value, slack * (1 - before) - p[j]
        w.insert(0, reach / scale if left > 0 else Fraction(0))
        value = reach * w[0]
    return w[i - 1] - 2 * step * (2 * w[i] - (slack - 1) * w[i] ** 2)


def test_no_constant_above_a_quarter_serves_all_numbers_of_classes():
    """One class just short of beta, then many alike: rank 2 and rank 3 tie, and the kink is convex."""
    beta, left, v = NINE, Fraction(1, 100), Fraction(1, 10**6)
    p = [beta - left] + [v] * 7  # what stands behind counts a thousandth of a thousandth
    assert kink(p, beta, 2, Fraction(1, 4)) > 0
    assert kink(p, beta, 2, Fraction(26, 100)) < 0


def test_less_slack_in_the_denominator_breaks_it():
    """L_j = 1.3 (1 - T_{j-1}) - t_j in place of 2 (1 - T_{j-1}) - t_j."""
    p = [Fraction(956, 1000), Fraction(22, 1000), Fraction(22, 1000)]
    assert kink(p, Fraction(99, 100), 2, Fraction(1, 4)) > 0
    assert kink(p, Fraction(99, 100), 2, Fraction(1, 4), Fraction(13, 10)) < 0


@pytest.mark.parametrize("step", [0.25, 0.01, 1e-4])
def test_a_power_below_two_has_no_constant_for_all_numbers_of_classes(step):
    """V_j = q_j**a / L_j**(a - 1): convex where a head close to beta is followed by small classes."""
    beta, a = 0.9, 1.5

    def convex_at(left, v):
        value, w = 0.0, []
        for j in reversed(range(12)):
            before = beta - left + (j - 1) * v
            s, t = (beta, beta - left) if j == 0 else (beta - before, v)
            before = 0.0 if j == 0 else before
            reach, scale = max(s, 0.0) + step * value, 2 * (1 - before) - t
            w.insert(0, reach / scale)
            value = reach**a / scale ** (a - 1)
        return (a - 1) * w[1] < step * a * (a * w[2] ** (a - 1) - (a - 1) * w[2] ** a)

    assert convex_at(left=step**2 / 10, v=step**2 / 1e4)


@st.composite
def reports(draw):
    """A list in the image as fractions, with m, beta and a cap."""
    m = draw(st.integers(1, 7))
    beta = Fraction(draw(st.integers(5, 99)), 100)
    cap = draw(st.sampled_from([None, 1, 2, 3]))
    whole = draw(st.lists(st.sampled_from([0, 1, 1, 2, 7, 40]), min_size=m, max_size=m))
    whole[0] += not any(whole)
    p = [Fraction(x, sum(whole)) for x in whole]
    found = sorted(exact.true_listings(p, beta, cap), key=sorted)
    return m, beta, cap, p, exact.by_size(sorted(draw(st.sampled_from(found))))


@settings(max_examples=draws(120))
@given(report=reports())
def test_doubles_agree_with_fractions(report):
    m, beta, cap, p, listing = report
    rule, least = tl.TopBeta(beta, cap), 1 + nested_exact.entropy(p, beta, cap) / beta**2
    wanted = [float(1 + x / beta**2) for x in nested_exact.scores(listing, m, beta, nested_exact.averaged)]
    lists = tl.TopLists.from_dicts([{c: float(x) for c, x in listing}] * m, m)
    tolerance = {"rel": 1e-12, "abs": 1e-12 / float(beta) ** 2}
    assert tl.score(lists, np.arange(m), rule=rule) == pytest.approx(wanted, **tolerance)
    p = [float(x) for x in p]
    assert tl.entropy(tl.TopLists.from_proba([p]), rule=rule)[0] == pytest.approx(float(least), **tolerance)
    assert tl.divergence(lists[:1], p, rule=rule)[0] == pytest.approx(0, abs=1e-15 / float(beta) ** 2)


@settings(max_examples=draws(100))
@given(report=reports(), whole=st.lists(st.integers(0, 9), min_size=7, max_size=7).filter(any))
def test_divergence_is_the_excess_of_the_expected_score(report, whole):
    """Of the true list of one distribution, if another one is true."""
    m, beta, cap, _, listing = report
    p = [Fraction(x + (not any(whole[:m])), max(sum(whole[:m]), m * (not any(whole[:m])))) for x in whole[:m]]
    lists = tl.TopLists.from_dicts([{c: float(x) for c, x in listing}], m)
    values = nested_exact.scores(listing, m, beta, nested_exact.averaged)
    wanted = float((exact.expected(values, p) - nested_exact.entropy(p, beta, cap)) / beta**2)
    excess = tl.divergence(lists, [float(x) for x in p], rule=tl.TopBeta(beta, cap))[0]
    assert excess == pytest.approx(wanted, abs=1e-12 / float(beta) ** 2)


def test_the_number_of_classes_does_not_matter():
    rows = [{0: 0.5, 1: 0.3, 2: 0.15}, {2: 0.95}, {1: 0.46, 0: 0.46}]
    few, many, huge, endless, by_case = (
        tl.score(tl.TopLists.from_dicts(rows, m), [0, 1, 2], rule="topbeta:0.9").tolist()
        for m in (7, 10**6, 2**10000, math.inf, [7, 10**6, 3])
    )
    assert few == many == huge == endless == by_case


def test_long_lists_are_scored_as_fractions_are():
    """With fifty digits, as fractions of so many ranks would have too many."""
    with mpmath.workdps(50):
        t = [mpmath.mpf(3) / (400 + mpmath.mpf(j) / 1000) for j in range(100)]
        t += [mpmath.mpf(1) / (1731 + mpmath.mpf(j) / 1000) for j in range(300)]
        beta = mpmath.mpf("0.9")
        k = next(j for j in range(1, 401) if sum(t[:j]) > beta)
        listing = tuple(enumerate(t[:k]))
        lists = tl.TopLists.from_dicts([{c: float(x) for c, x in listing}] * 4, math.inf)
        wanted = [float(nested_exact.score(listing, y, beta, beta / beta / 4)) for y in (0, 50, 200, 500)]
    assert tl.score(lists, [0, 50, 200, 500], rule="topbeta:0.9") == pytest.approx(
        1 + np.array(wanted) / 0.81, abs=1e-12
    )


@pytest.mark.parametrize("rule", ["brier", "log", "spherical"])
def test_a_longer_list_that_padded_scores_prefer_to_the_true_one_scores_worse(rule):
    """Paper, section 7: a longer list that is nearly true beats the true one, because longer lists say more."""
    p = [0.6, 0.3, 0.1]
    (true,) = topbeta.true_top_beta(p, 0.6)
    longer = tl.TopList({0: 0.59, 1: 0.3}, 3)
    assert len(true) == 1
    assert topbeta.in_image(longer, 0.6).inside.all()
    assert tl.expected_score(longer, p, rule=rule) < tl.expected_score(true, p, rule=rule)
    assert tl.expected_score(longer, p, rule="topbeta:0.6") > tl.expected_score(true, p, rule="topbeta:0.6")


DIGITS = 60
TABLE = [  # what is drawn from, m, the rank that is off, and log10 of the loss (docs/topbeta.md)
    ("geometric 1/2", 10, 4, -6.65),
    ("geometric 1/2", 10**3, 4, -6.63),
    ("geometric 1/2", 10**6, 4, -6.63),
    ("geometric 3/4", 10**2, 8, -9.4),
    ("geometric 3/4", 10**3, 8, -9.4),
    ("geometric 3/4", 10**6, 8, -9.4),
    ("Zipf 2", 10**2, 6, -11.4),
    ("Zipf 2", 10**3, 6, -10.8),
    ("Zipf 2", 10**6, 6, -10.8),
    ("uniform", 10, 9, -8.7),
    ("uniform", 10**2, 10, -11.6),
    ("uniform", 10**3, 10, -13.7),
]


def first_probabilities(kind, m):
    """Of the ten most likely classes, to sixty digits."""
    with mpmath.workdps(DIGITS + 10):
        if kind == "Zipf 2":
            total = mpmath.zeta(2) - mpmath.zeta(2, m + 1)
            found = [1 / (mpmath.mpf(j) ** 2 * total) for j in range(1, 11)]
        elif kind == "uniform":
            found = [mpmath.mpf(1) / m] * 10
        else:
            r = mpmath.mpf(1) / 2 if kind.endswith("1/2") else mpmath.mpf(3) / 4
            found = [r**j * (1 - r) / (1 - r**m) for j in range(10)]
        return [Fraction(int(x * 10**DIGITS), 10**DIGITS) for x in found]


@pytest.mark.parametrize(("kind", "m", "rank", "wanted"), TABLE)
def test_the_table_of_conditioning(kind, m, rank, wanted):
    """The expected loss of a list whose confidence at one rank is a fifth too small."""
    beta, cap = NINE, 10
    p = first_probabilities(kind, m)
    k = next((j for j in range(1, 10) if sum(p[:j]) >= beta), cap)
    p = p[:k]
    off = exact.by_size((c, x * Fraction(4, 5) if c == rank - 1 else x) for c, x in enumerate(p))
    expected = sum(x * nested_exact.score(off, c, beta) for c, x in enumerate(p))
    expected += (1 - sum(p)) * nested_exact.score(off, -1, beta)
    assert math.log10(expected - nested_exact.entropy(p, beta, k)) == pytest.approx(wanted, abs=0.051)
