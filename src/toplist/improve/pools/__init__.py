"""Several predictors' lists for the same cases, combined."""

from toplist.improve.pools.diversity import Ambiguity, Pair, ambiguity
from toplist.improve.pools.geometric import geometric_pool
from toplist.improve.pools.linear import linear_pool
from toplist.improve.pools.stacking import Stack, stack
from toplist.improve.pools.weights import PoolWeights, pool_weights

__all__ = [
    "Ambiguity",
    "Pair",
    "PoolWeights",
    "Stack",
    "ambiguity",
    "geometric_pool",
    "linear_pool",
    "pool_weights",
    "stack",
]
