"""Top-beta lists by definition, in fractions: an oracle that shares no code with the library."""

from fractions import Fraction
from itertools import combinations
from math import ceil

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


def expected(values, p):
    return sum((x * s for x, s in zip(p, values, strict=True)), Fraction(0))
