"""The top-beta score by its definition, in fractions: entropy by recursion, score as the tangent, by dual numbers."""

from fractions import Fraction
from itertools import pairwise, permutations

from tests.scoring.topbeta.exact import Listing

STEP = Fraction(1, 4)


def values(p, beta, cap=None, step=STEP):
    """V_1, V_2, ... of a distribution, or of a list, in falling order; the last one is zero."""
    p = p if cap is None else p[:cap]
    out = [Fraction(0)]
    for j in reversed(range(len(p))):
        before = sum(p[:j], Fraction(0))
        left, scale = beta - before, 2 * (1 - before) - p[j]
        out.append((left + step * out[-1]) ** 2 / scale if left > 0 else Fraction(0))
    return out[::-1]


def entropy(p, beta, cap=None, step=STEP):
    return -values(sorted(p, reverse=True), beta, cap, step)[0]


def slope(t, towards, beta, step=STEP):
    """V_1 at t, and its derivative along a direction: each number is carried with its derivative."""
    zero = 0 * beta
    value, change = zero, zero
    for j in reversed(range(len(t))):
        before, moved = sum(t[:j], zero), sum(towards[:j], zero)
        left, scale = beta - before, 2 * (1 - before) - t[j]
        if left <= 0:
            value, change = zero, zero
            continue
        reach, of_reach, of_scale = left + step * value, step * change - moved, -2 * moved - towards[j]
        value, change = reach**2 / scale, (2 * reach * of_reach * scale - reach**2 * of_scale) / scale**2
    return value, change


def score(listing: Listing, y, beta, step=STEP):
    """The plane that touches -V_1 at the list, at the distribution that is certain of y."""
    t = [x for _, x in listing]
    value, change = slope(t, [(c == y) - x for c, x in listing], beta, step)
    return -value - change


def averaged(listing: Listing, y, beta):
    """The mean over all sortings of the classes that tie."""
    sortings = [s for s in permutations(listing) if all(x[1] >= z[1] for x, z in pairwise(s))]
    return sum(score(s, y, beta) for s in sortings) / len(sortings)


def scores(listing, m, beta, rule=score):
    """The score at every outcome: unlisted ones score alike."""
    listed = {c: rule(listing, c, beta) for c, _ in listing}
    return [listed[y] if y in listed else rule(listing, -1, beta) for y in range(m)]


def ratios(p, beta, cap=None, step=STEP):
    """For each listed rank s_j, B_j, q_j, L_j and w_j."""
    found, later = [], values(p, beta, cap, step)[1:]
    for j, (x, after) in enumerate(zip(p if cap is None else p[:cap], later, strict=True)):
        before = sum(p[:j], Fraction(0))
        left, rest = beta - before, 1 - before
        if left <= 0:
            break
        reach, scale = left + step * after, 2 * rest - x
        found.append((left, rest, reach, scale, reach / scale))
    return found


def gains(p, beta, cap=None, step=STEP):
    """What each listed rank gains by happening, by the formulas of docs/topbeta.md; zero beyond."""
    w = [one[-1] for one in ratios(p, beta, cap, step)]
    weights = [Fraction(1)]
    for x in w:
        weights.append(weights[-1] * 2 * step * x)
    return [
        weights[j] * w[j] ** 2 - 2 * sum(weights[i] * w[i] * (1 - w[i]) for i in range(j + 1, len(w)))
        for j in range(len(w))
    ]
