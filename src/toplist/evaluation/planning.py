"""How many cases a comparison needs, and whether two models of a leaderboard are equal within a margin."""

from __future__ import annotations

import math

from toplist._arguments import as_number, as_probability, as_whole
from toplist.errors import TopListError
from toplist.evaluation.leaderboard import Leaderboard
from toplist.inference.intervals import estimate
from toplist.inference.power import (
    POWER,
    Equivalence,
    PairPlan,
    SamplePlan,
    detectable,
    one_sided,
    pessimistic,
    required_units,
    two_one_sided,
)
from toplist.inference.results import Estimate

_NO_ERROR = "its intervals do not come from a standard error"


def plan(
    board: Leaderboard,
    smallest: float,
    *,
    rule: str | None = None,
    power: float = POWER,
    models: int | None = None,
) -> SamplePlan:
    """How many cases, clusters or time points find a smallest difference of interest, from a pilot.

    Parameters
    ----------
    board : Leaderboard
        The pilot: a comparison of models like those to be compared, on cases like those to come. Its spread, and how
        its cases depend on each other, are taken over; its differences are not.
    smallest : float
        The smallest difference of mean scores that matters.
    rule : str, optional
        The scoring rule; by default the one that ranks.
    power : float, default 0.8
        How often a true difference of this size is to be significant.
    models : int, optional
        How many models will be compared, every two of them by Holm's method; by default as many as in the pilot. The
        numbers are those of the first step of Holm's method, so that the power is at least the one asked for.

    Returns
    -------
    SamplePlan
        Units needed for every pair of the pilot, what the pilot itself could have found, and the largest number.

    Raises
    ------
    TopListError
        If the pilot has one model only, or a number is out of its range.

    References
    ----------
    Browne, R. H. (1995). On the use of a pilot sample for sample size determination. Statistics in Medicine 14.

    Examples
    --------
    >>> import numpy as np
    >>> import toplist as tl
    >>> P = np.random.default_rng(0).dirichlet(np.full(5, 0.5), size=200)
    >>> y = np.array([np.random.default_rng(i).choice(5, p=p) for i, p in enumerate(P)])
    >>> pilot = tl.compare({"all": P, "top 2": tl.TopLists.from_proba(P, k=2)}, y, rules="brier")
    >>> found = plan(pilot, 0.01)
    >>> found.needed > 200, found.pairs[0].detectable > 0.01
    (True, True)
    """
    chosen, at = _rule(board, rule)
    smallest = as_number(smallest, "smallest", 0, math.inf)
    power = as_probability(power, "power")
    if not smallest > 0:
        raise TopListError("the smallest difference of interest is above zero.")
    results, names = board.comparison, board._spec.names  # noqa: SLF001  a part of the same package
    own = [pair for pair in results.pairs if pair.rule == chosen]
    if not own:
        raise TopListError("a plan needs a pilot of at least two models.")
    count = len(names) if models is None else as_whole(models, "models", 2)
    tested = count * (count - 1) // 2
    level = 1 - (1 - results.level) / tested
    rows = []
    for pair in own:
        found = pair.difference
        units = board._intervals.units(at, names.index(pair.a), names.index(pair.b))  # noqa: SLF001
        if found.error is None or found.freedom is None or not found.error > 0:
            rows.append(PairPlan(pair.a, pair.b, units, None, None, None, None, found.reason or _NO_ERROR))
            continue

        def needed(found: Estimate, units: int = units) -> int | None:
            return required_units(
                found, units, smallest, level=level, power=power, timed=results.unit == "time point"
            )

        rows.append(
            PairPlan(
                pair.a,
                pair.b,
                units,
                found.error,
                detectable(found.error, found.freedom, level, power),
                needed(found),
                needed(pessimistic(found)),
            )
        )
    return SamplePlan(chosen, smallest, power, results.level, tested, results.unit, tuple(rows))


def equivalent(
    board: Leaderboard, a: str, b: str, margin: float, *, rule: str | None = None, pairs: int | None = None
) -> Equivalence:
    """Whether two models are equal within a margin, by two one-sided tests; and whether the first is not worse.

    That a difference is not significant does not show that there is none. This does: it is shown at a level where the
    interval of twice the error probability lies within the margin.

    Parameters
    ----------
    board : Leaderboard
        The comparison.
    a, b : str
        Two of its models.
    margin : float
        The largest difference of mean scores that counts as none, chosen before looking.
    rule : str, optional
        The scoring rule; by default the one that ranks.
    pairs : int, optional
        How many pairs are looked at: p values are multiplied by it (Bonferroni). By default all pairs of the board; 1
        for a pair that was named beforehand.

    Returns
    -------
    Equivalence
        The p values and verdicts, and the interval.

    Raises
    ------
    TopListError
        If a model or rule is not on the board, or the margin is not above zero.

    References
    ----------
    Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach for assessing
    the equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15.

    Examples
    --------
    >>> import numpy as np
    >>> import toplist as tl
    >>> P = np.random.default_rng(0).dirichlet(np.full(5, 0.5), size=200)
    >>> y = np.array([np.random.default_rng(i).choice(5, p=p) for i, p in enumerate(P)])
    >>> board = tl.compare({"all": P, "near": 0.99 * P + 0.002}, y, rules="brier")
    >>> found = equivalent(board, "all", "near", 0.005)
    >>> found.equivalent, found.noninferior
    (True, True)
    """
    chosen, _ = _rule(board, rule)
    margin = as_number(margin, "margin", 0, math.inf)
    if not margin > 0:
        raise TopListError("a margin is above zero.")
    results = board.comparison
    found = board.difference(a, b, chosen)
    every = max(1, sum(pair.rule == chosen and pair.difference.p is not None for pair in results.pairs))
    tested = every if pairs is None else as_whole(pairs, "pairs", 1)
    two, one = two_one_sided(found, margin), one_sided(found, margin)
    if found.error is not None and found.freedom is not None and two is not None:
        found = estimate(found.value, found.error, found.freedom, 1 - 2 * (1 - results.level) / tested)

    def adjusted(p: float | None) -> float | None:
        return None if p is None else min(1.0, tested * p)

    return Equivalence(chosen, a, b, margin, found, results.level, tested, adjusted(two), adjusted(one))


def _rule(board: Leaderboard, rule: str | None) -> tuple[str, int]:
    rules = board.comparison.rules
    chosen = rules[0] if rule is None else rule
    if chosen not in rules:
        raise TopListError(f"{chosen!r} is no rule here: there are {', '.join(map(repr, rules))}.")
    return chosen, rules.index(chosen)
