"""Several predictors' lists for the same cases, combined."""

from toplist.improve.pools.linear import linear_pool

__all__ = ["linear_pool"]
