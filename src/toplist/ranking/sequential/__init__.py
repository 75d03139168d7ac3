"""Looking after every case: what may be said of two predictors at any time, however often one looks."""

from toplist.ranking.sequential.paths import by_moment, follow

__all__ = ["by_moment", "follow"]
