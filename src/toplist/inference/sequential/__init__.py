"""Looking after every case: what may be said of two models at any time, however often one looks."""

from toplist.inference.sequential.path import by_step, follow

__all__ = ["by_step", "follow"]
