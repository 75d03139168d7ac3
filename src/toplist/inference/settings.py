"""What is taken for granted about the cases, and the method that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from toplist.errors import TopListError
from toplist.inference.long_run_variance import usual_lag, usual_waves

IntervalMethod = Literal["t", "normal", "cosine", "hac", "bootstrap"]
METHODS: tuple[IntervalMethod, ...] = get_args(IntervalMethod)
TIMED: tuple[IntervalMethod, ...] = ("cosine", "hac")  # which take cases as they follow each other
DRAWS = 1999  # of a bootstrap
_MANY = 1000  # moments; with fewer, lags do not catch all dependence
_FEW = " (of so few they tend to be too short; cosine ones hold better)"


@dataclass(frozen=True, slots=True)
class InferenceSettings:
    """How the intervals are made. Clusters and order go by a name, which may be empty; None where there are none."""

    how: IntervalMethod
    clusters: str | None = None
    order: str | None = None
    weighted: bool = False
    horizon: int = 1
    seed: int = 0

    @classmethod
    def of(
        cls, intervals: str, clusters: str | None, order: str | None, *, weighted: bool, horizon: int, seed: int
    ) -> InferenceSettings:
        """As the caller says, or ("auto") as it follows from what is known of the cases.

        >>> InferenceSettings.of("auto", None, "day", weighted=False, horizon=1, seed=0).how
        'cosine'
        """
        usual: IntervalMethod = "t" if order is None else "cosine" if horizon == 1 else "hac"
        how = next((one for one in METHODS if one == intervals), usual)
        if clusters is not None and (order is not None or how in TIMED):
            raise TopListError(
                "clusters and order do not go together: name the one by which cases depend on each other."
            )
        if horizon != 1 and how != "hac":
            raise TopListError('a horizon goes with cases in time and intervals="hac": the others need none.')
        if how in ("t", "normal"):
            order = None  # the caller takes cases as independent all the same
        return cls(how, clusters, order, weighted, horizon, seed)

    @property
    def ordered(self) -> bool:
        """Whether cases follow each other: by what `order` says, or as they come."""
        return self.order is not None or self.how in TIMED

    @property
    def by_sums(self) -> bool:
        """Whether sums over cases or clusters say all about means and differences."""
        return self.how in ("t", "normal")

    @property
    def unit(self) -> str:
        """What is independent of the others, or follows them in time."""
        return "cluster" if self.clusters is not None else "case" if self.order is None else "moment"

    def in_words(self, units: int) -> str:
        """The method, and what it assumes."""
        many = f"{units:,} {self.unit}s"
        by = "" if self.clusters is None else f" over {many}{f' by {self.clusters}' if self.clusters else ''}"
        apart = f"{'cases' if self.clusters is None else 'clusters'} are independent of each other"
        weights = "weighted " if self.weighted else ""
        if self.how in TIMED:
            return f"{weights}Diebold-Mariano t intervals over {many} in {self._order}, with {self._variance(units)}"
        if self.how == "bootstrap":
            drawn = f"({DRAWS:,} draws, seed {self.seed})"
            if self.ordered:
                return (
                    f"stationary bootstrap percentile intervals over {many} in {self._order} {drawn}, which assume "
                    "that dependence fades and does not change over time"
                )
            kind = "paired" if self.clusters is None else "cluster"
            return f"{weights}{kind} bootstrap percentile intervals{by} {drawn}, which assume that {apart}"
        kind = "paired" if self.clusters is None else "cluster-robust"
        return f"{weights}{kind} {self.how} intervals{by}, which assume that {apart}"

    @property
    def _order(self) -> str:
        return f"the order of {self.order}" if self.order else "the order of the truth"

    def _variance(self, units: int) -> str:
        if self.how == "cosine":
            return (
                f"a variance from {usual_waves(units)} cosine waves and as many degrees of freedom, which assume that "
                "dependence fades and does not change over time"
            )
        return (
            f"a Bartlett variance over {usual_lag(units, self.horizon)} lags and the Harvey-Leybourne-Newbold factor "
            f"for a horizon of {self.horizon}, which assume that dependence fades within these lags"
            f"{_FEW if units < _MANY else ''}"
        )
