"""Several models' lists for the same cases, combined."""

from toplist.postprocess.combination.diversity import Ambiguity, MemberPair, ambiguity
from toplist.postprocess.combination.pools import geometric_pool, linear_pool
from toplist.postprocess.combination.stacking import Stack, stack
from toplist.postprocess.combination.weights import PoolWeights, pool_weights

__all__ = [
    "Ambiguity",
    "MemberPair",
    "PoolWeights",
    "Stack",
    "ambiguity",
    "geometric_pool",
    "linear_pool",
    "pool_weights",
    "stack",
]
