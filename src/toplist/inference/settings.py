"""How intervals are made: what the caller asks for, and the assumptions and the method that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from toplist._text import argument, did_you_mean
from toplist.errors import TopListError

IntervalMethod = Literal["t", "normal", "ewc", "hac", "bootstrap", "poisson", "wild", "bounded"]
Method = Literal["auto", "t", "normal", "ewc", "hac", "bootstrap", "poisson", "wild", "bounded"]
METHODS: tuple[IntervalMethod, ...] = get_args(IntervalMethod)
TIMED: tuple[IntervalMethod, ...] = ("ewc", "hac")  # which take cases as they follow each other
DRAWN: tuple[IntervalMethod, ...] = (
    "bootstrap",
    "poisson",
    "wild",
    "bounded",
)  # which need a seed, and independent units
DRAWS = 1999  # of a bootstrap
_ALIASES = {"cosine": "ewc"}
_MANY = 1000  # time points; with fewer, lags do not catch all dependence
_SHORT = " (of so few they tend to be too short; ewc ones hold better)"
_SEEN = " and that no rare large loss is missing from the sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """How intervals are made and at which level.

    Parameters
    ----------
    method : {"auto", "t", "normal", "ewc", "hac", "bootstrap", "poisson", "wild", "bounded"}, default "auto"
        "auto" follows from what the truth says: "t" for independent cases or clusters; for cases in time "ewc", a
        Diebold-Mariano test with an equally weighted cosine variance, to which that of clusters is added where there
        are both.
        Of independent cases or clusters, "bootstrap" is a bootstrap-t, for skewed scores, "poisson" one that draws
        sets of units a Poisson number of times, for parts that are merged and for more cases than fit on a disk, and
        "wild" a wild bootstrap, for few clusters of unequal size. "bounded" holds for every distribution of
        independent cases under a rule with bounds, at the price of wider intervals.
    level : float, default 0.95
        The confidence level.
    horizon : int, default 1
        How many time points lie between a prediction and its outcome; of "ewc" and "hac" only.
    seed : int, default 0
        Of what is drawn.
    min_cases : int, optional
        Models with fewer cases are shown below the others, without a rank.

    Raises
    ------
    TopListError
        If a value is none of those above.

    Examples
    --------
    >>> Inference(level=0.9)
    Inference(method='auto', level=0.9, horizon=1, seed=0, min_cases=None)
    """

    method: Method = field(
        default="auto",
        metadata={
            "help": "Intervals: t, normal, ewc or hac (time series), bootstrap, poisson (a bootstrap from sums that "
            "merge), wild (few clusters), bounded (any distribution); auto is t, or ewc for cases in time."
        },
    )
    level: float = field(default=0.95, metadata={"help": "Confidence level."})
    horizon: int = field(default=1, metadata={"help": "Time points between a prediction and its outcome."})
    seed: int = field(default=0, metadata={"help": "Random seed."})
    min_cases: int | None = field(
        default=None, metadata={"help": "Rank only models with at least this many compared cases."}
    )

    def __post_init__(self) -> None:
        method = _ALIASES.get(self.method, self.method) if isinstance(self.method, str) else self.method
        known = ("auto", *METHODS)
        if method not in known:
            near = did_you_mean(method, known) if isinstance(method, str) else ""
            raise TopListError(f"method is {', '.join(known[:-1])} or {known[-1]}, not {self.method!r}.{near}")
        object.__setattr__(self, "method", method)
        given = (self.level, self.horizon, self.seed, self.min_cases)
        if given == (0.95, 1, 0, None) and not any(isinstance(one, bool) for one in given):
            return  # the defaults are right, and the help of the command does not wait for numpy
        from toplist.core.arguments import as_probability, as_whole  # noqa: PLC0415

        object.__setattr__(self, "level", as_probability(self.level, "level"))
        object.__setattr__(self, "horizon", as_whole(self.horizon, "horizon", 1))
        object.__setattr__(self, "seed", as_whole(self.seed, "seed", 0))
        if self.min_cases is not None:
            object.__setattr__(self, "min_cases", as_whole(self.min_cases, "min_cases", 1))

    def settings(self, cluster: str | None, time: str | None, *, weighted: bool = False) -> InferenceSettings:
        """The method that follows from what is known of the cases.

        >>> Inference().settings(None, "day").method
        'ewc'
        """
        method: IntervalMethod = ("t" if time is None else "ewc") if self.method == "auto" else self.method
        if method in DRAWN and time is not None:
            raise TopListError(
                f"{argument('method', method)} is not for cases in time: use {argument('method', 'ewc')}, or "
                f"{argument('time', '')} if cases are independent."
            )
        if method == "bounded" and (cluster is not None or weighted):
            raise TopListError(
                f"{argument('method', method)} is for independent cases of equal weight: use {argument('method', 't')}."
            )
        if method in TIMED and cluster is not None and time is None:
            raise TopListError(
                f"{argument('method', method)} takes cases in time: name the time beside the cluster, or pass "
                f"{argument('cluster', '')} to take all cases of the truth in its order."
            )
        if method in ("t", "normal"):
            time = None  # the caller takes cases, or clusters, as independent all the same
        if self.horizon != 1 and method not in TIMED:
            raise TopListError(
                f"a horizon goes with cases in time and {argument('method', 'ewc')} or {argument('method', 'hac')}: "
                "the others need none."
            )
        return InferenceSettings(method, cluster, time, weighted, self.level, self.horizon, self.seed)

    def require_default(self, verb: str, *names: str) -> None:
        """Refuse what has no effect in a function that has no choice of these."""
        plain = Inference()
        vain = next((name for name in names if getattr(self, name) != getattr(plain, name)), None)
        if vain is not None:
            raise TopListError(f"{vain} has no effect on {verb}.")


def as_inference(value: Any) -> Inference:
    """An `Inference` from itself, from a method or from a level.

    >>> as_inference("bootstrap").method, as_inference(0.9).level
    ('bootstrap', 0.9)
    """
    if isinstance(value, Inference):
        return value
    if isinstance(value, str):
        return Inference(method=value)  # type: ignore[arg-type]
    if isinstance(value, bool) or not isinstance(value, float | int):
        raise TopListError(f"inference is an Inference, a method such as 't' or a level such as 0.9, not {value!r}.")
    return Inference(level=value)


@dataclass(frozen=True, slots=True)
class InferenceSettings:
    """The method and its assumptions. Cluster and time go by a name, which may be empty; None where there are none."""

    method: IntervalMethod
    cluster: str | None = None
    time: str | None = None
    weighted: bool = False
    level: float = 0.95
    horizon: int = 1
    seed: int = 0

    @property
    def ordered(self) -> bool:
        """Whether cases follow each other: by what `time` says, or as they come."""
        return self.time is not None or self.method in TIMED

    @property
    def by_sums(self) -> bool:
        """Whether sums over cases, clusters or sets of them say all about means and differences."""
        return self.method in ("t", "normal", "poisson")

    @property
    def unit(self) -> str:
        """What is independent of the others, or follows them in time."""
        return "time point" if self.time is not None else "case" if self.cluster is None else "cluster"

    def describe(self, units: int, effective: float | None = None, clusters: int = 0) -> str:
        """The method, and what it assumes.

        Parameters
        ----------
        units : int
            How many units there are: cases, clusters or time points.
        effective : float, optional
            How many units of equal weight they count like.
        clusters : int, default 0
            How many clusters there are across the time points.
        """
        many, weights = f"{units:,} {self.unit}s", "weighted " if self.weighted else ""
        named = f" by {self.cluster}" if self.cluster else ""
        if self.method in TIMED:
            kind = "Diebold-Mariano" if self.cluster is None else "two-way"
            if effective is not None and effective < 0.99 * units:
                many += f", counting like {_number(effective)},"
            over = many if self.cluster is None else f"{clusters:,} clusters{named} and {many}"
            return f"{weights}{kind} t intervals over {over} in {self._sequence}, with {self._variance(units)}"
        over = f" over {many}{named}" if self.weighted or self.cluster is not None else ""
        if over and effective is not None and effective < 0.99 * units:
            over += f", counting like {_number(effective)}{' of equal weight' if self.cluster is None else ''}"
        apart = f"{'cases' if self.cluster is None else 'clusters'} are independent of each other{_SEEN}"
        if self.method == "bounded":
            return (
                f"betting intervals for bounded means (cases in random orders, seed {self.seed}), which hold for "
                "every distribution of scores within the bounds of the rule and assume that cases are independent of "
                "each other"
            )
        if self.method in DRAWN:
            units_drawn = "paired" if self.cluster is None else "cluster"
            kinds = {"bootstrap": f"{units_drawn} bootstrap-t", "poisson": f"{units_drawn} Poisson bootstrap-t"}
            kind = kinds.get(self.method, "wild bootstrap")
            sets = f" of {self.unit}s in random sets" if self.method == "poisson" else ""
            return (
                f"{weights}{kind} intervals{over} ({DRAWS:,} draws{sets}, seed {self.seed}), which assume that {apart}"
            )
        kind = "paired" if self.cluster is None else "cluster-robust"
        return f"{weights}{kind} {self.method} intervals{over}, which assume that {apart}"

    @property
    def _sequence(self) -> str:
        return f"the order of {self.time}" if self.time else "the order of the truth"

    def _variance(self, units: int) -> str:
        from toplist.inference.dependence import usual_lag, usual_waves  # noqa: PLC0415 - needs numpy

        both = "" if self.cluster is None else "the cluster-robust variance plus "
        if self.method == "ewc":
            ahead = f" for a horizon of {self.horizon}" if self.horizon > 1 else ""
            return (
                f"{both}a variance from {usual_waves(units, self.horizon)} prewhitened cosine waves{ahead}, which "
                f"assume that dependence fades and does not change over time,{_SEEN}"
            )
        return (
            f"{both}a Bartlett variance over {usual_lag(units, self.horizon)} lags and the Harvey-Leybourne-Newbold "
            f"factor for a horizon of {self.horizon}, which assume that dependence fades within these lags{_SEEN}"
            f"{_SHORT if units < _MANY else ''}"
        )


def _number(count: float) -> str:
    """With a digit after the point where it matters.

    >>> _number(4.62), _number(35.4), _number(12345.6)
    ('4.6', '35', '12,346')
    """
    return f"{count:.1f}" if count < 10 else f"{count:,.0f}"
