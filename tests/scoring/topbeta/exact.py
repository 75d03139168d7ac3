"""Top-beta lists and their scores by definition, in fractions: an oracle that shares no code with the library."""

from fractions import Fraction
from itertools import combinations, pairwise, permutations
from math import ceil, prod

Listing = tuple[tuple[int, Fraction], ...]  # classes with values, most likely first


def compositions(total, parts):
    """All ways to write a number as a sum of so many parts, in order."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def distributions(m, grid):
    return [tuple(Fraction(x, grid) for x in whole) for whole in compositions(grid, m)]


def longest(m, beta, cap=None):
    return min(ceil(beta * m), m if cap is None else cap)


def length(p, beta, cap=None):
    """The number of classes on the list of a distribution."""
    down = sorted(p, reverse=True)
    k = next(j for j in range(1, len(p) + 1) if sum(down[:j]) >= beta)
    return k if cap is None else min(k, cap)


def true_listings(p, beta, cap=None):
    """All true lists, each as a set of pairs."""
    k = length(p, beta, cap)
    most = sum(sorted(p, reverse=True)[:k])
    return {
        frozenset((c, p[c]) for c in chosen)
        for chosen in combinations(range(len(p)), k)
        if sum(p[c] for c in chosen) == most
    }


def images(m, beta, grid, cap=None):
    """All lists on a grid that are true for some distribution, with the classes that tie in the order of their codes.

    Its padded distribution is the witness: it is true for that, or for none.
    """
    found = []
    for k in range(1, longest(m, beta, cap) + 1):
        for classes in combinations(range(m), k):
            for whole in compositions(grid, k + 1):
                values = [Fraction(x, grid) for x in whole[:-1]]
                rest = 1 - sum(values)
                if k == m and rest:
                    continue
                padded = [rest / (m - k) if k < m else Fraction(0)] * m
                for c, x in zip(classes, values, strict=True):
                    padded[c] = x
                if frozenset(zip(classes, values, strict=True)) in true_listings(padded, beta, cap):
                    found.append(by_size(zip(classes, values, strict=True)))
    return found


def by_size(pairs) -> Listing:
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))


def score(listing: Listing, y, beta, constants, form="M", a=Fraction(2)):
    """The definition, rank by rank."""
    total, before = Fraction(0), Fraction(0)
    for j, (c, t) in enumerate(listing):
        earlier = {other for other, _ in listing[:j]}
        scale = 2 * (1 - before) - t if form == "M" else a - t
        happened = 2 * (y not in earlier) - (y == c) if form == "M" else a - (y == c)
        w = max(beta - before, Fraction(0)) / scale
        total += constants[j] * (w * w * happened - 2 * w * (beta - (y in earlier)))
        before += t
    return total


def averaged(listing: Listing, y, beta, constants, form="M", a=Fraction(2)):
    """The mean over all sortings of the classes that tie."""
    sortings = [s for s in permutations(listing) if all(x[1] >= z[1] for x, z in pairwise(s))]
    return sum(score(s, y, beta, constants, form, a) for s in sortings) / len(sortings)


def scores(listing, m, beta, constants, form="M", a=Fraction(2), rule=score):
    return [rule(listing, y, beta, constants, form, a) for y in range(m)]


def expected(values, p):
    return sum((x * s for x, s in zip(p, values, strict=True)), Fraction(0))


def entropy(p, beta, constants, form="M", a=Fraction(2)):
    """-sum C_j (beta - P_{j-1})_+**2 / L_j over the sorted probabilities."""
    total, before = Fraction(0), Fraction(0)
    for c, x in zip(constants, sorted(p, reverse=True), strict=False):
        if before >= beta:
            break
        total -= c * (beta - before) ** 2 / (2 * (1 - before) - x if form == "M" else a - x)
        before += x
    return total


def wall_ratio(m, beta, i, s, v, form="M", a=Fraction(2)):
    """What C_i / C_{i+1} must be at a distribution with s = beta - P_{i-1} and a tie of ranks i, i + 1 at v."""
    mass = 1 - beta + s
    here, after = (2 * mass - v, 2 * (mass - v) - v) if form == "M" else (a - v, a - v)
    x, w = max(s - v, Fraction(0)) / after, s / here
    return (2 * x - x * x if form == "M" else 2 * x + x * x) / (w * w)


def weights(ratios):
    """C_1 = 1 and what the ratios say."""
    return [Fraction(1) / prod(ratios[:j], start=Fraction(1)) for j in range(len(ratios) + 1)]
