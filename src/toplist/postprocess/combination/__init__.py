"""Combination of several models' lists for the same cases: pools, fitted weights, stacking, diversity.

In: the lists of several models, by name or in a sequence, each anything that `as_lists` takes. Out: TopLists. May
import `postprocess.selection`, `scoring` and what lies below; recalibrators only to load a saved stack.
"""

from toplist.postprocess.combination.pools import Ambiguity, MemberPair, ambiguity, geometric_pool, linear_pool
from toplist.postprocess.combination.weights import PoolWeights, Stack, pool_weights, stack

__all__ = [
    "Ambiguity", "MemberPair", "PoolWeights", "Stack", "ambiguity", "geometric_pool", "linear_pool", "pool_weights",
    "stack",
]  # fmt: skip
