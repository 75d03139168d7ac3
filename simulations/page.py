"""What was measured, as a page of Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simulations.rows import Row

_HEAD = """| setting | method | what is counted | should be | measured | draws | |
| --- | --- | --- | ---: | ---: | ---: | --- |"""
_SURE = 3  # Monte Carlo errors


def holds(row: Row) -> bool:
    """Whether what was measured is as good as it should be, up to three Monte Carlo errors.

    An error rate may be lower than it should be, a power higher.
    """
    error = _SURE * math.sqrt(row.nominal * (1 - row.nominal) / row.draws)
    return row.measured <= row.nominal + error if row.nominal < 0.5 else row.measured >= row.nominal - error


def table(rows: Sequence[Row], *, head: bool = True) -> str:
    """A line for each."""
    return "\n".join([*([_HEAD] if head else []), *map(_line, rows)])


def _line(row: Row) -> str:
    if math.isnan(row.nominal):
        cells = ("", f"{row.measured:,.0f} ± {row.error:,.0f}", f"{row.draws:,}", "")
    else:
        verdict = "holds" if holds(row) else f"**{row.measured:.1%}**"
        cells = (f"{row.nominal:.0%}", f"{row.measured:.1%} ± {row.error:.1%}", f"{row.draws:,}", verdict)
    return "| " + " | ".join((row.setting, row.method, row.claim, *cells)) + " |"


def page(fixed: Sequence[Row], always: Sequence[Row], *, seed: int) -> str:
    """The whole page."""
    command = "python -m simulations --write docs/coverage.md"
    if seed:
        command += f" --seed {seed}"
    return _PAGE.format(command=command, fixed=table(fixed), always=table(always), **_figures(fixed))


def _figures(rows: Sequence[Row]) -> dict[str, str]:
    """The numbers that the text speaks of."""
    known = {(row.setting, row.method, row.claim): row.measured for row in rows}

    def rate(setting: str, method: str) -> str:
        return next((f"{x:.1%}" for (s, m, _), x in known.items() if (s, m) == (setting, method)), "-")

    alone = "t, as if cases were independent"
    return {
        "t30": rate("independent, n = 30", "t"),
        "t100": rate("independent, n = 100", "t"),
        "t1000": rate("independent, n = 1000", "t"),
        "normal30": rate("independent, n = 30", "normal"),
        "boot30": rate("independent, resampled, n = 30", "paired bootstrap"),
        "weighted30": rate("weights of log-normal size, n = 30", "weighted t"),
        "weighted1000": rate("weights of log-normal size, n = 1000", "weighted t"),
        "rare": rate("one event in fifty, n = 100", "t, of the mean"),
        "cluster10": rate("10 clusters of 2 to 20, skewed", "cluster-robust t"),
        "cluster100": rate("100 clusters of 2 to 20, skewed", "cluster-robust t"),
        "even10": rate("10 clusters of 10, normal", "cluster-robust t"),
        "cluster_alone": rate("100 clusters of 2 to 20, skewed", alone),
        "hac": rate("MA(4), n = 300", "hac"),
        "hac50": rate("MA(4), n = 50", "hac"),
        "hac1000": rate("MA(4), n = 1000", "hac"),
        "ewc": rate("MA(4), n = 300", "ewc"),
        "ewc50": rate("MA(4), n = 50", "ewc"),
        "ewc1000": rate("MA(4), n = 1000", "ewc"),
        "hac_alone": rate("MA(4), n = 300", alone),
        "stationary": rate("MA(4), resampled, n = 300", "stationary bootstrap"),
        "relative50": rate("three rounds in ten missing, n = 50", "t, of relative skill"),
        "relative300": rate("three rounds in ten missing, n = 300", "t, of relative skill"),
        "holm": rate("five equal models, n = 100", "Holm"),
        "plain": rate("five equal models, n = 100", "p values as they are"),
        "set": rate("five equal models, resampled, n = 100", "confidence set"),
        "set_timed": rate("five equal models, MA(4), n = 300", "confidence set"),
    }


_PAGE = """# How often intervals miss

Every method was applied to simulated scores whose true means are known, and its errors were counted. An interval at 95%
should miss 5% of the time; a test at 5% should reject a true hypothesis 5% of the time. "Holds" means
that the error rate is not above that by more than three Monte Carlo errors; otherwise the last column has
the measured rate. With fewer draws less can be shown.
This page is written by `{command}`.

## Summary

- **t intervals** of independent cases, skewed as Brier scores are, come close: {t30} misses with 30 cases, {t100} with
  a hundred, {t1000} with a thousand. **Normal** ones miss more with few cases ({normal30} with 30), and so does the
  **paired bootstrap** ({boot30}): it needs no formula, but more cases. Use t.
- **Scores that are rarely other than zero** are the exception: where one case in fifty has an event, the interval of
  the mean misses {rare} of the time with a hundred cases, which is how often there is no event at all, and no spread.
- **Weights** that differ much leave few cases that count: with log-normal weights {weighted30} misses with 30 cases,
  {weighted1000} with a thousand.
- **Clusters**: ignoring them misses {cluster_alone} of the time. The cluster-robust interval is right with ten even,
  normal clusters ({even10}); with skewed ones of different sizes it misses {cluster10} with ten of them, {cluster100}
  with a hundred. Thirty clusters are few, ten very few.
- **Time**: under a moving average over five time points and n = 300, ignoring time misses {hac_alone} of the time,
  **hac** {hac}, the **stationary bootstrap** {stationary}; hac misses {hac50} with n = 50, {hac1000} with n = 1000,
  because dependence is underestimated and its quantile does not account for that. **ewc**, whose quantile does,
  misses {ewc50}, {ewc} and {ewc1000} with 50, 300 and 1000 time points. Its intervals are wider.
- **Relative skill** with missing rounds: {relative50} misses with 50 rounds, {relative300} with 300.
- **Many pairs**: among five equal models, p values as they are find a difference in {plain} of all runs, Holm's in
  {holm}.
- **The confidence set** leaves out one of five equal models in {set} of all runs; under a moving average, in
  {set_timed}: it draws as the stationary bootstrap does.

## At one time that was fixed beforehand

{fixed}

The confidence set of five equal models must contain all five; where one is better, that one. "By extra_units" means
that n is the number of cases that the leaderboard computes for a power of 80%.

## Looking after every case

{always}

"Ever" means at any of 2,000 cases. A median without a percentage is a number of cases; 2,001 stands for never.
"""
