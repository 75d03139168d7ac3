"""The scores are least in expectation for true lists and for no others: by enumeration, in fractions."""

from fractions import Fraction

import numpy as np
import pytest

import toplist as tl
from tests.scoring.topbeta import exact
from toplist.scoring import topbeta

HALF, NINE = Fraction(1, 2), Fraction(9, 10)
CASES = [
    (3, Fraction(2, 5), 16, None),
    (3, Fraction(7, 10), 16, None),
    (3, NINE, 16, None),
    (3, NINE, 16, 2),
    (3, Fraction(13, 20), 16, 1),
    (4, HALF, 12, None),
    (4, Fraction(3, 4), 12, None),
    (4, NINE, 12, None),
    (4, NINE, 12, 2),
]


def minimal(m, beta, cap, form, a=2):
    return topbeta.constants(m, beta, cap, form, a=a).exact


def check(m, beta, cap, form, a, rule, listings, truths):
    """Every report against every truth; how many pairs of a truth and a true report there were."""
    constants = minimal(m, beta, cap, form, a)
    best = [exact.entropy(q, beta, constants, form, a) for q in truths]
    true = [exact.true_listings(q, beta, cap) for q in truths]
    met = 0
    for listing in listings:
        values, pairs = exact.scores(listing, m, beta, constants, form, a, rule), frozenset(listing)
        for q, least, theirs in zip(truths, best, true, strict=True):
            excess = exact.expected(values, q) - least
            assert excess >= 0, (listing, q)
            assert (excess == 0) == (pairs in theirs), (listing, q)
            met += excess == 0
    return met


@pytest.mark.parametrize("form", ["M", "A"])
@pytest.mark.parametrize(("m", "beta", "grid", "cap"), CASES)
def test_exactly_the_true_lists_have_the_least_expected_score_at_the_minimal_constants(m, beta, grid, cap, form):
    truths = [q for q in exact.distributions(m, grid) if list(q) == sorted(q, reverse=True)]
    listings = exact.images(m, beta, grid, cap)
    assert check(m, beta, cap, form, Fraction(2), exact.score, listings, truths) >= len(truths)


@pytest.mark.parametrize("form", ["M", "A"])
@pytest.mark.parametrize(("m", "beta", "grid", "cap"), [(3, NINE, 10, None), (4, Fraction(3, 4), 4, None)])
def test_the_mean_over_the_orders_of_ties_is_strictly_consistent_too(m, beta, grid, cap, form):
    truths = [q for q in exact.distributions(m, grid) if list(q) == sorted(q, reverse=True)]
    listings = exact.images(m, beta, grid, cap)
    assert check(m, beta, cap, form, Fraction(2), exact.averaged, listings, truths) >= len(truths)


def near_ties(m, rng):
    """A distribution with ties, moved by next to nothing."""
    whole = rng.choice([0, 1, 1, 2, 3, 5], size=m).tolist()
    whole[0] += not any(whole)
    p = [Fraction(x, sum(whole)) for x in whole]
    tiny = Fraction(1, 10 ** int(rng.integers(2, 9)))
    for _ in range(rng.integers(3)):
        up, down = rng.choice(m, size=2, replace=False)
        step = min(tiny, p[down])
        p[up], p[down] = p[up] + step, p[down] - step
    return tuple(p)


@pytest.mark.parametrize("form", ["M", "A"])
@pytest.mark.parametrize("m", [3, 4, 5, 6])
def test_no_list_of_a_close_distribution_does_better_near_a_tie(m, form):
    rng = np.random.default_rng(m)
    for beta in (Fraction(3, 10), HALF, Fraction(4, 5), Fraction(19, 20)):
        cap = (None, 2, 3)[rng.integers(3)]
        truths = [near_ties(m, rng) for _ in range(24)]
        truths += [tuple(reversed(q)) for q in truths[:6]] + [(Fraction(1, m),) * m]
        listings = [
            exact.by_size(sorted(listing)) for q in truths for listing in list(exact.true_listings(q, beta, cap))[:2]
        ]
        a = (Fraction(2), Fraction(101, 100))[rng.integers(2)]
        assert check(m, beta, cap, form, a, exact.score, listings, truths) >= len(truths)


@pytest.mark.parametrize("form", ["M", "A"])
@pytest.mark.parametrize(
    ("m", "beta"), [(3, HALF), (3, NINE), (4, Fraction(3, 4)), (5, HALF), (5, NINE), (6, Fraction(7, 12))]
)
def test_with_a_ratio_one_percent_below_the_least_a_wrong_list_beats_the_true_one(m, beta, form):
    """The witness is built from the distribution where the least ratio is needed (docs/topbeta.md)."""
    a = Fraction(2)
    ratios = topbeta.constants(m, beta, None, form).ratios
    assert len(ratios) == exact.longest(m, beta) - 1
    for i in range(1, len(ratios) + 1):
        loose = list(ratios)
        loose[i - 1] *= Fraction(99, 100)
        constants = exact.weights(loose)
        truth, report = witness(m, beta, i, form, a)
        wrong = exact.expected(exact.scores(report, m, beta, constants, form, a), truth)
        right = exact.entropy(truth, beta, constants, form, a)
        assert wrong < right, (i, truth, report)
        assert frozenset(report) not in exact.true_listings(truth, beta)
        kept = exact.weights(ratios)
        assert exact.expected(exact.scores(report, m, beta, kept, form, a), truth) > exact.entropy(
            truth, beta, kept, form, a
        )


def witness(m, beta, i, form, a):
    """A truth, and the true list of the distribution in which two classes at ranks i and i + 1 trade places."""
    s = where_needed(m, beta, i, form, a)
    v = (1 - beta + s) / (m - i + 1)
    base = [(beta - s) / max(i - 1, 1)] * (i - 1) + [v] * (m - i + 1)
    lean = [Fraction(m - j + (j >= i)) for j in range(m)]  # falls, and is level at ranks i, i + 1
    lean = [x - sum(lean) / m for x in lean]
    p = [x + y / 10**7 for x, y in zip(base, lean, strict=True)]
    assert p[i - 1] == p[i]
    step = Fraction(1, 10**12)
    truth, other = list(p), list(p)
    truth[i - 1], truth[i] = p[i - 1] - step, p[i] + step
    other[i - 1], other[i] = p[i - 1] + step, p[i] - step
    (listing,) = exact.true_listings(other, beta)
    return tuple(truth), exact.by_size(sorted(listing))


def where_needed(m, beta, i, form, a):
    """beta - P_{i-1} where the ratio is largest, from the derivatives in docs/topbeta.md."""
    n, rest = m - i + 1, 1 - beta
    if i == 1:
        return beta
    most = beta - Fraction(i - 1, m)
    if form == "M":
        u = Fraction(2 * n * (n - 1), 4 * n - 5)
        return min(rest / (u - 1), most)
    slope = 2 * n * a - 3 * rest
    return min(2 * rest * slope / ((n - 1) * slope - rest * (n - 3)), most)


@pytest.mark.parametrize("rule", ["brier", "log", "spherical"])
def test_padded_scores_are_not_consistent_for_top_beta_lists(rule):
    """Paper, section 7: a longer list that is nearly true beats the true one, because longer lists say more."""
    p, beta = [0.6, 0.3, 0.1], 0.6
    (true,) = topbeta.true_top_beta(p, beta)
    longer = tl.TopList({0: 0.59, 1: 0.3}, 3)
    assert len(true) == 1
    assert topbeta.in_image(longer, beta).inside.all()
    assert tl.expected_score(longer, p, rule=rule) < tl.expected_score(true, p, rule=rule)
    assert top_beta_risk(longer, p, beta) > top_beta_risk(true, p, beta)


def top_beta_risk(t, p, beta):
    return sum(x * topbeta.score(t, y, beta) for y, x in enumerate(p))
