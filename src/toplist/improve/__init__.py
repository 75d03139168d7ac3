"""Lists in, better lists out."""

from toplist.improve.pooling import linear_pool

__all__ = ["linear_pool"]
