"""Lists in, better lists out."""

from toplist.improve.pools import linear_pool

__all__ = ["linear_pool"]
