"""Combination of several models' lists for the same cases: pools, fitted weights, stacking, diversity.

In: the lists of several models, by name or in a sequence, each anything that `as_lists` takes. Out: TopLists. May
import `postprocess.selection`, `scoring` and what lies below; recalibrators only to load a saved stack.
"""

from toplist.postprocess.combination.diversity import Ambiguity, MemberPair, ambiguity
from toplist.postprocess.combination.pools import geometric_pool, linear_pool
from toplist.postprocess.combination.stacking import Stack, stack
from toplist.postprocess.combination.weights import PoolWeights, pool_weights

__all__ = [
    "Ambiguity", "MemberPair", "PoolWeights", "Stack", "ambiguity", "geometric_pool", "linear_pool", "pool_weights",
    "stack",
]  # fmt: skip
