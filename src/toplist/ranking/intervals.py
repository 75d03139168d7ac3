"""Means and differences of scores with their intervals, from exact sums: rounded once, at the end."""

from __future__ import annotations

import math

from toplist.ranking.results import Estimate
from toplist.tally import UNIT, Tally


def mean_score(tally: Tally, rule: int, a: int, level: float) -> Estimate:
    """The weighted mean score of predictor a. Infinite where any score is; then there is no interval."""
    if tally.sums["infinite"][rule, a, a]:
        return Estimate(math.inf, why="infinite scores have no interval")
    return _estimate(tally, rule, (a, a), (a,), level)


def difference(tally: Tally, rule: int, a: int, b: int, level: float) -> Estimate:
    """The mean of score a minus score b over the cases of both."""
    above, below = tally.sums["infinite"][rule, a, b], tally.sums["infinite"][rule, b, a]
    if above or below:
        value = math.inf if not below else -math.inf if not above else math.nan
        return Estimate(value, why="infinite scores have no interval")
    return _estimate(tally, rule, (a, b), (a, b), level)


def _estimate(tally: Tally, rule: int, pair: tuple[int, int], terms: tuple[int, ...], level: float) -> Estimate:
    """The mean of x_a, or of x_a - x_b, over the cases of the pair."""
    s = {name: tally.sums[name][rule] for name in ("both", "w", "ww", "x", "wx", "xx", "xy")}
    a, b = pair
    cases, w = s["both"][pair], s["w"][pair]
    if not w:
        return Estimate(math.nan, why="there are no cases")
    if len(terms) == 1:
        x, wx, xx = s["x"][pair], s["wx"][pair], s["xx"][pair]
    else:
        x, wx = s["x"][a, b] - s["x"][b, a], s["wx"][a, b] - s["wx"][b, a]
        xx = s["xx"][a, b] - 2 * s["xy"][a, b] + s["xx"][b, a]
    mean = x / w
    if tally.clusters:
        weighty = [found for found in tally.clusters.values() if found[0]]
        units, spread = len(weighty), 0
        for weight, sums in weighty:
            own = sums[rule, a] if len(terms) == 1 else sums[rule, a] - sums[rule, b]
            spread += (w * own - x * weight) ** 2
        spread //= UNIT  # the same units as below; what is cut off is below the last digit
    else:
        units = cases
        spread = w * w * xx - 2 * x * w * wx + x * x * s["ww"][pair]
    if units < 2:
        return Estimate(mean, why="one cluster has no spread" if tally.clusters else "one case has no spread")
    try:
        variance = (spread * units * UNIT) / (w**4 * (units - 1))
    except OverflowError:
        return Estimate(mean, why="the variance is too large for a number")
    half = _quantile(level, units - 1) * math.sqrt(max(variance, 0.0))
    return Estimate(mean, mean - half, mean + half)


def _quantile(level: float, freedom: int) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415  only here, and not cheap to import

    return float(stdtrit(freedom, 0.5 + level / 2))
