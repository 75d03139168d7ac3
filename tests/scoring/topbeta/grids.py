"""Every report on a grid against every truth on it, and lists near ties, in exact arithmetic.

`make oracle` runs the large grids; the suite runs small ones.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction

import numpy as np

from tests.scoring.topbeta import exact, nested_exact

MASSES = tuple(Fraction(x, 20) for x in (6, 10, 14, 18, 19))
LARGE = {2: 60, 3: 20, 4: 12, 5: 9, 6: 7}


def truths_on(m, grid):
    """One of each set of distributions that differ in the order of classes."""
    return [q for q in exact.distributions(m, grid) if list(q) == sorted(q, reverse=True)]


def check(m, beta, cap, listings, truths, rule=nested_exact.score):
    """Every report against every truth; how many pairs there were, and how many of a true report."""
    best = [nested_exact.entropy(q, beta, cap) for q in truths]
    true = [exact.true_listings(q, beta, cap) for q in truths]
    met = 0
    for listing in listings:
        values, pairs = nested_exact.scores(listing, m, beta, rule), frozenset(listing)
        assert -(beta**2) <= min(values), listing
        assert max(values) <= 0, listing
        for q, least, theirs in zip(truths, best, true, strict=True):
            excess = exact.expected(values, q) - least
            assert excess >= 0, (listing, q)
            assert (excess == 0) == (pairs in theirs), (listing, q)
            met += excess == 0
    return len(listings) * len(truths), met


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


def check_near_ties(m, beta, cap, rng, count):
    """The lists of distributions near ties against each other."""
    truths = [near_ties(m, rng) for _ in range(count)]
    truths += [tuple(reversed(q)) for q in truths[: count // 4]] + [(Fraction(1, m),) * m]
    listings = [
        exact.by_size(sorted(listing)) for q in truths for listing in list(exact.true_listings(q, beta, cap))[:2]
    ]
    return check(m, beta, cap, listings, truths)


def main():
    """The large grids."""
    total = 0
    for m, grid in LARGE.items():
        for beta in MASSES:
            for cap in (None, 1, 2, 3):
                if cap is not None and cap >= exact.longest(m, beta):
                    continue
                start = time.perf_counter()
                pairs, met = check(m, beta, cap, exact.images(m, beta, grid, cap), truths_on(m, grid))
                total += pairs
                took = f"{time.perf_counter() - start:.1f} s"
                print(f"m = {m}, beta = {beta}, cap = {cap}: {pairs:,} pairs, {met:,} true, {took}", flush=True)
    rng = np.random.default_rng(0)
    for m in range(2, 8):
        for beta in MASSES:
            for cap in (None, 2, 3):
                total += check_near_ties(m, beta, cap, rng, 60)[0]
    print(f"{total:,} pairs, no violation")


if __name__ == "__main__":
    sys.exit(main())
