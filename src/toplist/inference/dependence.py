"""Dependence of units on each other: the error of a mean over units in time, and warnings of dependence in the data.

Thresholds were set by simulation (docs/inference.md, "What the warnings mean").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from toplist._text import argument, fixed, quote
from toplist._typing import Bools, Codes, Floats
from toplist.inference.results import BoardWarning, Comparison, Diagnostic, Pair

if TYPE_CHECKING:
    from toplist.inference.diagnostics import ScoreSample

_COUNT_LIKE = 9.0  # independent time points
_ENDS = -0.3  # autocorrelation of the residuals of an autoregression that says that dependence ends
_PERSISTENT = 0.6  # autocorrelation from which hac and bootstrap intervals are too short
_SEASON, _RISE = 0.4, 0.6  # an autocorrelation, and how far it lies above one at a shorter lag
_RATIO = 1.5  # of standard errors
_LEAST_VALUES = 5  # of a column
_RARE = 0.01  # how often some column is named by chance


@dataclass(frozen=True, slots=True, eq=False)
class TruthColumn:
    """The values of a column of the truth as codes; where `timed`, they rise with time."""

    codes: Codes
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Findings:
    """What was measured, and what is doubtful for that reason."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    warnings: list[BoardWarning] = field(default_factory=list)


# The error of a mean


def usual_lag(units: int, horizon: int = 1) -> int:
    """The lag up to which dependence is looked for: max(H - 1, floor(4 (n / 100)^(2/9))), below n.

    >>> usual_lag(100), usual_lag(1000, horizon=12)
    (4, 11)
    """
    return max(0, min(units - 1, max(horizon - 1, int(4 * (units / 100) ** (2 / 9)))))


def long_run_error(contributions: Floats, lag: int) -> float:
    """The standard error of a sum of contributions in the order of time, by Bartlett's weights (Newey and West 1987).

    n contributions, each of a unit's deviation from the mean over n, have the variance
    sum of c_t^2 + 2 sum over l = 1..L of (1 - l / (L + 1)) sum of c_t c_(t-l), which is never negative. A time point
    that is missing contributes zero.
    """
    c = contributions
    total = float(c @ c)
    for step in range(1, lag + 1):
        total += 2 * (1 - step / (lag + 1)) * float(c[step:] @ c[:-step])
    return math.sqrt(max(total, 0.0))


def usual_waves(units: int, horizon: int = 1) -> int:
    """How many cosine waves the error is taken from: 0.4 n^(2/3) (Lazarus et al. 2018), at least two, below n.

    With a horizon of H they are at most n / (2 H), so that even the fastest is slow compared with it.

    >>> usual_waves(5), usual_waves(50), usual_waves(1000), usual_waves(50, horizon=8)
    (2, 5, 39, 3)
    """
    waves = int(0.4 * units ** (2 / 3))
    return max(1, min(units - 1, max(2, waves if horizon == 1 else min(waves, units // (2 * horizon)))))


def autocorrelation(contributions: Floats, there: Bools) -> float:
    """The first autocorrelation of contributions, without the bias of a sample (Kendall 1954), at most 1 - 4 / n.

    Time points that are missing are not there, and contribute zero.

    >>> round(autocorrelation(np.cos(np.arange(50) / 5), np.ones(50, bool)), 2)
    0.92
    """
    n, neighbours = int(np.count_nonzero(there)), int(np.count_nonzero(there[1:] & there[:-1]))
    squares = float(contributions @ contributions)
    if n < 5 or not neighbours or not squares:
        return 0.0
    found = float(contributions[1:] @ contributions[:-1]) / squares * (n - 1) / neighbours
    return min((n * found + 1) / (n - 4), 1 - 4 / n)


def cosine_error(contributions: Floats, there: Bools, waves: int, persistence: float = 0.0) -> tuple[float, float]:
    """The standard error of a sum of contributions in the order of time, from slow cosine waves, and its freedom.

    The squares of sum over t of c_t cos(pi j (t - 1/2) / n) for j = 1..B, averaged and doubled (Müller 2004). Over its
    error the sum has Student's distribution with B degrees of freedom, however far dependence reaches among many units.
    Among few, the waves are faster than dependence that lasts: where neighbours have a correlation above the noise of
    1 / sqrt(n), each square is divided by the spectrum of a first-order autoregression at its frequency in units of
    that at zero (prewhitening: Andrews and Monahan 1992).

    Time points that are missing contribute zero. Waves are then taken relative to those that are there, on which they
    are neither of equal length nor orthogonal; degrees of freedom follow (Satterthwaite 1946).
    """
    from scipy.fft import dct  # noqa: PLC0415  not cheap to import

    count, at = len(contributions), np.arange(1, waves + 1)
    waved = dct(contributions)[1 : waves + 1] / 2
    n = int(np.count_nonzero(there))
    persistent = persistence > 1 / math.sqrt(n)
    if n == count and not persistent:
        return math.sqrt(2 / waves * float(waved @ waved)), float(waves)
    scale, freedom = np.full(waves, 2.0), float(waves)
    if n < count:
        sums = np.zeros(2 * count + 1)  # of cosine k over the time points that are there
        sums[:count] = dct(there.astype(np.float64)) / 2
        sums[count + 1 :] = -sums[count - 1 :: -1]
        gram = (sums[at[:, None] + at] + sums[np.abs(at[:, None] - at)]) / 2 - np.outer(sums[at], sums[at]) / n
        scale = n / np.diag(gram)
        freedom = waves**2 / float((gram**2 * np.outer(scale, scale)).sum() / n**2)
    if persistent:
        rest = 1 - persistence
        scale = scale * (1 + 4 * persistence * np.sin(math.pi * at / (2 * count)) ** 2 / (rest * rest))
    return math.sqrt(float(scale @ (waved * waved)) / waves), freedom


def small_sample_factor(units: int, horizon: int = 1) -> float:
    """What the statistic of Diebold and Mariano is multiplied by (Harvey, Leybourne and Newbold 1997).

    sqrt((n + 1 - 2 H + H (H - 1) / n) / n) = sqrt((n - H) (n - H + 1)) / n: with a horizon of one and no lag, what
    makes it the t statistic. Zero where the horizon is as long as the series, or longer.

    >>> small_sample_factor(4) == math.sqrt(3 / 4)
    True
    """
    left = max(units - horizon, 0)
    return math.sqrt(left * (left + 1)) / units


# Dependence in time


def autocorrelations(contributions: Floats, lags: int) -> Floats:
    """The autocorrelations at lags 1 to `lags` of contributions in the order of time.

    >>> autocorrelations(np.array([1.0, -1.0, 1.0, -1.0]), 2)
    array([-0.75,  0.5 ])
    """
    c = contributions - contributions.mean()
    squares = float(c @ c)
    found = [float(c[h:] @ c[:-h]) for h in range(1, min(lags, len(c) - 1) + 1)]
    return np.array(found) / squares if squares else np.zeros(len(found))


def _persistence(contributions: Floats) -> float:
    return autocorrelation(contributions, np.ones(len(contributions), bool))


def is_persistent(contributions: Floats) -> bool:
    """Whether dependence in time lasts so long that time points count like fewer than nine independent ones.

    So an autoregression of first order says; it is not believed where its residuals, or the autocorrelations at lags 3
    to 8, say that dependence ends within a few time points.
    """
    c = contributions - contributions.mean()
    n = len(c)
    if n < 12 or not c.any():
        return False
    own = autocorrelations(c, 10)
    rho = _persistence(c)
    residuals = autocorrelations(c[1:] - own[0] * c[:-1], 10)[1:]
    few = n * (1 - rho) < _COUNT_LIKE * (1 + rho)
    return bool(few and residuals.min() > _ENDS and own[2:8].mean() > 0)


def season(contributions: Floats) -> int | None:
    """The lag of up to a third of all time points at which dependence returns; None where it does not.

    >>> season(np.tile([3.0, 0.0, -1.0, -2.0], 10) + np.arange(40) % 3)
    4
    """
    r = autocorrelations(contributions, len(contributions) // 3)
    if len(r) < 3:
        return None
    rise = np.where(r[2:] > _SEASON, r[2:] - np.minimum.accumulate(r)[1:-1], -np.inf)
    lag = int(np.argmax(r[2:] * (rise > _RISE)))
    return lag + 3 if rise[lag] > _RISE else None


def dependence_in_time(results: Comparison, parts: Mapping[str, Floats], method: str) -> Findings:
    """The autocorrelation of the leader's differences, what it does to the error, and where that is not enough."""
    out, leader = Findings(), results.overall.rows[0].name
    lasting: list[tuple[float, str]] = []
    seasonal: list[tuple[int, str]] = []
    firsts = {rival: float(autocorrelations(c, 1)[0]) for rival, c in parts.items() if len(c) > 2}
    widest = max(firsts, key=lambda rival: abs(firsts[rival]), default=None)
    for rival, first in firsts.items():
        c = parts[rival]
        if rival in (next(iter(firsts)), widest):
            error, plain = _error(results, leader, rival), math.sqrt(len(c) / (len(c) - 1) * float(c @ c))
            effect = f": the standard error is {error / plain:.2g} times that of independent ones" if plain else ""
            sentence = (
                f"The differences of {leader} and {rival} at neighbouring time points have the correlation "
                f"{first:.2f}{effect}."
            )
            out.diagnostics.append(Diagnostic("autocorrelation", f"{leader}, {rival}", first, sentence))
        if is_persistent(c) or (method != "ewc" and _persistence(c) > _PERSISTENT):
            lasting.append((first, rival))
        lag = season(c)
        if lag is not None:
            seasonal.append((lag, rival))
    if lasting:
        first, rival = max(lasting)
        rho, n = _persistence(parts[rival]), len(parts[rival])
        like = max(1.0, n * (1 - rho) / (1 + rho))
        remedy = "" if method == "ewc" else f" Use {argument('method', 'ewc')}."
        sentence = (
            f"their differences at neighbouring time points have the correlation {fixed(first, 2)}: {n:,} time points "
            f"count like {like:.0f}, and such intervals miss more often than their level says.{remedy}"
        )
        out.warnings.append(BoardWarning("strong autocorrelation", sentence, (leader, rival)))
    if seasonal:
        lag, rival = seasonal[0]
        r = float(autocorrelations(parts[rival], lag)[-1])
        sentence = (
            f"their differences have the correlation {fixed(r, 2)} at a distance of {lag} time points, as in seasons: "
            "intervals that take dependence to fade with time may then be much too short, unless the season is the "
            "same in all years and the cases cover whole years. Make one time point of each "
            f"season with {argument('time')}, or more seasons."
        )
        out.warnings.append(BoardWarning("seasonal", sentence, (leader, rival)))
    return out


def _error(results: Comparison, a: str, b: str) -> float:
    """The standard error of a difference under the first rule."""
    pairs = (p for p in results.pairs if p.rule == results.rules[0] and {p.a, p.b} == {a, b})
    return next((p.difference.error for p in pairs if p.difference.error is not None), math.nan)


# Dependence by columns of the truth


def variance_ratio(contributions: Floats, column: TruthColumn) -> tuple[float, float, int]:
    """The variance of the sum if cases depend on each other by a column, over that if they do not.

    Also its degrees of freedom, and how many values there are. Cases with the same value are a cluster; values in time
    are summed and get a variance from cosine waves.
    """
    c, codes = contributions, column.codes
    sizes = np.bincount(codes)
    sums, sizes = np.bincount(codes, c)[sizes > 0], sizes[sizes > 0]
    count, squares = len(sizes), float(c @ c)
    if count < 2 or not squares:
        return 1.0, 0.0, count
    if column.timed:
        from scipy.fft import dct  # noqa: PLC0415  not cheap to import

        waves = usual_waves(count)
        waved = dct(sums)[1 : waves + 1] / 2
        return 2 / waves * float(waved @ waved) / squares, float(waves), count
    like = float(sizes.sum()) ** 2 / float((sizes.astype(np.float64) ** 2).sum())
    return count / (count - 1) * float(sums @ sums) / squares, like - 1, count


def ignored_dependence(
    results: Comparison, rivals: Sequence[Pair], sample: ScoreSample, names: Sequence[str]
) -> Findings:
    """Columns of the truth by which the error of the leader's differences would be much larger than it is.

    In a share of the cases, products of two cases are seen with the square of the share.
    """
    from scipy.special import fdtri  # noqa: PLC0415  not cheap to import

    out, leader = Findings(), results.overall.rows[0].name
    tests = max(1, len(rivals) * len(sample.columns))
    doubtful: list[tuple[float, str, str, int]] = []
    for name, column in sample.columns.items():
        largest: tuple[float, str, str, int] | None = None
        for pair in rivals:
            rival = pair.b if pair.a == leader else pair.a
            c, _ = sample.contributions(names.index(leader), names.index(rival))
            error, own = float(pair.difference.error or 0.0), float(c @ c) * sample.share
            seen, freedom, count = variance_ratio(c, column)
            if not error or not own or count < _LEAST_VALUES or freedom <= 0:
                continue
            used = error * error / own  # what the method in use makes of it
            free = 1e9 if pair.difference.freedom is None else min(pair.difference.freedom, 1e9)
            chance = float(fdtri(freedom, free, 1 - _RARE / tests)) * (1 + sample.share * (used - 1))
            ratio = math.sqrt(max(1 + (seen - 1) / sample.share, 0.0) / used)
            if ratio > _RATIO and seen > chance and (largest is None or ratio > largest[0]):
                largest = ratio, name, rival, count
        if largest is not None:
            doubtful.append(largest)
            said = f"{leader} and {largest[2]}: {_by(column, *largest)}."
            out.diagnostics.append(Diagnostic("dependence", name, largest[0], said))
    if doubtful:
        most = max(doubtful)
        also = [quote(name) for _, name, *_ in doubtful if name != most[1]]
        others = f" (and larger by {', '.join(also)}, too)" if also else ""
        column = sample.columns[most[1]]
        sentence = (
            f"{_by(column, *most)}{others}. If new cases come with "
            f"new values of it, name it with {argument('time' if column.timed else 'cluster', most[1])}."
        )
        out.warnings.append(BoardWarning("ignored dependence", sentence, (leader, most[2])))
    return out


def _by(column: TruthColumn, ratio: float, name: str, rival: str, count: int) -> str:
    how = "in the order of" if column.timed else "by"
    much = f"{ratio:.2g} times as large as it is here"
    return f"{how} {quote(name)} ({count:,} values) the standard error of their difference would be {much}"
