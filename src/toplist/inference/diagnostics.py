"""What the intervals of a comparison rest on: rare losses, skewness, dependence in time and by columns of the truth.

Thresholds were set by simulation (docs/inference.md, "What the warnings mean").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from toplist._text import argument, quote
from toplist._typing import Codes, Floats
from toplist.core.kernel import UNIT
from toplist.inference.aggregates import Aggregates, Difference
from toplist.inference.intervals import Intervals
from toplist.inference.long_run_variance import autocorrelation, usual_waves
from toplist.inference.ranking import verdicts
from toplist.inference.results import BoardWarning, Comparison, Diagnostic, Pair
from toplist.inference.settings import TIMED

SAMPLED = 100_000  # cases that are looked at one by one; of more, as many at random
MOST_VALUES = 10_000  # of a column by which cases may depend on each other
FEW = 30  # units
UNSEEN = 3.7  # losses: the 97.5 % bound on the mean of a Poisson variable that was zero
_SETTLED = 10.0  # losses: a lead that is at least that large is not looked at more closely
_ALL_PAIRS = 10  # models up to which all pairs are looked at, not only those of the leader
_RIVALS = 10  # of the leader, the first in the table
_SKEWED = 1 / 5  # skewness of a mean
_BY_CHANCE = 0.05  # how often the skewness of normal differences is larger, on either side
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


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSample:
    """Scores under the first rule: of all cases, or of as many as can be looked at, drawn at random."""

    scores: Floats  # (cases, models); not finite where a model lacks the case
    weights: Floats | None
    share: float  # of all cases
    columns: Mapping[str, TruthColumn] = field(default_factory=dict)  # by which cases may depend on each other

    def contributions(self, a: int, b: int) -> tuple[Floats, Floats]:
        """What the cases of both add to the mean difference, zero elsewhere, and their weights."""
        with np.errstate(invalid="ignore"):
            d = self.scores[:, a] - self.scores[:, b]
        there = np.isfinite(d)
        w = np.where(there, 1.0 if self.weights is None else self.weights, 0.0)
        total = math.fsum(w)  # the order of cases does not show
        d = np.where(there, d, 0.0)
        return (w * (d - math.fsum(w * d) / total) / total if total else np.zeros(len(d))), w


Highest = Callable[[str], float]
"""A bound on the loss of a model against any other in any case, times its weight."""
Lost = Callable[[Mapping[tuple[str, str], float]], Mapping[tuple[str, str], tuple[float, float | None]]]
"""For some pairs with the sums of their differences: the most that the first may lose against the second in one case,
times its weight, and how often such a sum comes up where the probabilities of the second are right (None: unknown)."""


# The lead in largest losses


def with_leads(
    results: Comparison, tally: Aggregates, names: Sequence[str], highest: Highest, lost: Lost
) -> tuple[Pair, ...]:
    """The pairs, with the leads of those that differ significantly under the first rule.

    A lead that is large whatever the lists are is given as what it is at least. For the others `lost` is asked, which
    looks at the lists.
    """
    rows = results.overall.rows
    shown = {row.name for row in (rows if len(rows) <= _ALL_PAIRS else rows[:1])}
    sums: dict[tuple[str, str], float] = {}
    for verdict in verdicts(results, results.rules[0]):
        better, worse = verdict.better, verdict.worse
        if verdict.significant and better is not None and worse is not None and shown & {better, worse}:
            a, b = names.index(better), names.index(worse)
            x = tally.sums["x"][0]
            sums[better, worse] = abs(x[a, b] - x[b, a]) / UNIT
    most = {name: highest(name) for name in {better for better, _ in sums}}
    found: dict[tuple[str, str], float | None] = {
        pair: _in_losses(total, most[pair[0]]) for pair, total in sums.items()
    }
    unsettled = [pair for pair, least in found.items() if least is not None and least < _SETTLED]
    exact = lost({pair: sums[pair] for pair in unsettled}) if unsettled else {}
    for pair in unsettled:
        found[pair] = _in_losses(sums[pair], exact[pair][0]) if pair in exact else None

    def with_lead(pair: Pair) -> Pair:
        which = (pair.a, pair.b) if (pair.a, pair.b) in found else (pair.b, pair.a)
        if pair.rule != results.rules[0] or which not in found:
            return pair
        return replace(pair, lead=found[which], by_chance=exact[which][1] if which in exact else None)

    return tuple(map(with_lead, results.pairs))


def _in_losses(total: float, most: float) -> float:
    """A sum in units of the largest loss.

    >>> _in_losses(2.0, 4.0), _in_losses(2.0, math.inf), _in_losses(2.0, 0.0)
    (0.5, 0.0, inf)
    """
    return total / most if most > 0 else math.inf


def rare_losses(results: Comparison) -> Iterator[BoardWarning]:
    """The leader's lead is so small that a few cases of a kind that was not seen could reverse it.

    It is not doubtful where it would not come up if the other model's own probabilities were right.
    """
    leader = results.overall.rows[0].name
    own = [v for v in verdicts(results, results.rules[0]) if v.significant and leader in (v.pair.a, v.pair.b)]
    small = [
        (v.pair.lead, v)
        for v in own
        if v.pair.lead is not None
        and v.pair.lead < UNSEEN
        and (v.pair.lead == 0 or v.pair.by_chance is None or v.pair.by_chance > 1 - results.level)
    ]
    if not small:
        return
    lead, verdict = min(small, key=lambda one: one[0])
    who = (str(verdict.better), str(verdict.worse))
    more = f" (and over {len(small) - 1} more to less than {UNSEEN:g})" if len(small) > 1 else ""
    if lead == 0:
        sentence = (
            f"the lead of the first over the second{more} is nothing against what one more case could bring: it gives "
            "probability zero to a class to which the other gives some, and would lose infinitely much."
        )
    else:
        few = "a single unseen case" if lead < 1 else f"{math.ceil(lead)} unseen cases of that kind"
        sentence = (
            f"the lead of the first over the second adds up to {lead:.2g} of the largest loss that one more case could "
            f"bring{more}: {few} could reverse it."
        )
    chance = verdict.pair.by_chance
    if chance is not None:
        sentence += f" If the probabilities of the second are right, up to {chance:.0%} of samples have such a lead."
    able = results.unit == "case" and not results.weighted and results.rules[0] != "log"
    bounded = f", but for {argument('method', 'bounded')}" if able else ""
    sentence += f" Intervals and p values know only of losses that were seen{bounded}."
    yield BoardWarning("rare losses", sentence, who)


# Units that are few, or of unequal weight


def few_units(results: Comparison, clusters: int = 0, clusters_like: float = math.inf) -> Iterator[BoardWarning]:
    """Cases, clusters or time points that are, or count like, fewer than thirty; `clusters` are beside time points."""
    everyone = tuple(row.name for row in results.overall.rows)
    like = min(_count_like(results), float(results.units))
    if not any(score.mean.low is not None for row in results.overall.rows for score in row.scores.values()):
        return  # there are no intervals to doubt
    counting = f", which count like {like:.2g}" if like < 0.95 * results.units else ""
    holds = "and they hold less exactly than their level says"
    if results.unit == "case" and results.units < FEW:
        yield BoardWarning(
            "few cases",
            f"intervals and p values rest on {results.units:,} cases{counting}: with fewer than {FEW} they hold only "
            "where differences are not skewed, which so few cases cannot show.",
            everyone,
        )
    elif results.unit == "case" and results.weighted and like < FEW:
        yield BoardWarning(
            "dominant weights",
            f"the weights of the {results.units:,} cases are so unequal that they count like {like:.2g} of equal "
            "weight: intervals and p values rest on these few.",
            everyone,
        )
    elif results.unit != "case" and like < FEW:
        shaky = "the degrees of freedom are few" if results.unit == "cluster" else "dependence in time is hard to see"
        yield BoardWarning(
            f"few {results.unit}s",
            f"intervals and p values rest on {results.units:,} {results.unit}s{counting}: with fewer than {FEW}, "
            f"{shaky}, {holds}.",
            everyone,
        )
    if clusters > 1 and clusters_like < FEW:
        counting = f", which count like {clusters_like:.2g}" if clusters_like < 0.95 * clusters else ""
        yield BoardWarning(
            "few clusters",
            f"intervals and p values rest on {clusters:,} clusters beside the time points{counting}: with fewer than "
            f"{FEW}, the degrees of freedom are few, {holds}.",
            everyone,
        )


def _count_like(results: Comparison) -> float:
    """How many units of equal size tell as much about the first two models."""
    return math.inf if results.effective_units is None else results.effective_units


# Skewness


def skewness(contributions: Floats) -> tuple[float, float]:
    """The skewness of the units, without bias for normal ones, and of their mean.

    >>> [round(value, 4) for value in skewness(np.array([-1.0, -1.0, -1.0, 3.0]))]
    [2.0, 1.0]
    """
    c = contributions[contributions != 0]
    n, squares = len(contributions), math.fsum(c * c)
    if n < 3 or not squares:
        return 0.0, 0.0
    unbiased = math.sqrt(n * (n - 1)) / (n - 2)
    of_mean = math.fsum(c**3) / squares**1.5 * unbiased
    return of_mean * math.sqrt(n), of_mean


def is_skewed(skew: float, of_mean: float, units: int, tests: int = 1) -> bool:
    """Whether intervals are known to miss too often: more skewness than that of normal units, and not enough of them.

    A mean with a skewness above 1/5, that is n < 25 g^2 (Cochran 1977).

    >>> is_skewed(3.0, 3.0 / math.sqrt(100), 100), is_skewed(1.0, 0.1, 100)
    (True, False)
    """
    if units < 3:
        return False
    usual = math.sqrt(6 * units * (units - 1) / ((units - 2) * (units + 1) * (units + 3)))
    return abs(of_mean) > _SKEWED and abs(skew) > _quantile(1 - _BY_CHANCE / tests) * usual


def _quantile(p: float) -> float:
    from scipy.special import ndtri  # noqa: PLC0415  not cheap to import

    return float(ndtri(p))


@dataclass(frozen=True, slots=True)
class _Found:
    """What was measured, and what is doubtful for that reason."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    warnings: list[BoardWarning] = field(default_factory=list)


def skewed_differences(results: Comparison, parts: Mapping[str, Floats], share: float) -> _Found:
    """The skewness of the leader's differences over the units; `parts` are the contributions by the rival's name."""
    out, leader = _Found(), results.overall.rows[0].name
    sure = {v.worse for v in verdicts(results, results.rules[0]) if v.significant and v.better == leader}
    second = next(iter(parts), None)
    doubtful: list[tuple[float, float, str]] = []
    for rival, c in parts.items():
        if rival != second and rival not in sure:
            continue
        skew, of_mean = skewness(c)
        of_mean *= math.sqrt(share)
        sentence = f"The differences of {leader} and {rival} have the skewness {skew:.2g} over {_many(results)}."
        out.diagnostics.append(Diagnostic("skewness", f"{leader}, {rival}", _rounded(skew), sentence))
        if is_skewed(skew, of_mean, len(c), len(parts)):
            doubtful.append((abs(of_mean), skew, rival))
    if doubtful:
        _, skew, rival = max(doubtful)
        drawn = argument("method", "wild" if results.weighted or results.unit == "cluster" else "bootstrap")
        remedy = "More time points help." if results.time is not None else f"Use {drawn}, or more {results.unit}s."
        more = f" (and those to {len(doubtful) - 1} more)" if len(doubtful) > 1 else ""
        sentence = (
            f"their differences{more} are skewed, with skewness {skew:.2g} over {_many(results)}: t intervals "
            f"then miss more often than their level says, nearly always on the side of the long tail. {remedy}"
        )
        out.warnings.append(BoardWarning("skewed differences", sentence, (leader, rival)))
    return out


def _rounded(value: float) -> float:
    """Four digits: they are the same in whatever order cases were added up."""
    return float(f"{value:.4g}")


def _many(results: Comparison) -> str:
    return f"{results.units:,} {results.unit}{'' if results.units == 1 else 's'}"


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


def dependence_in_time(results: Comparison, parts: Mapping[str, Floats], method: str) -> _Found:
    """The autocorrelation of the leader's differences, what it does to the error, and where that is not enough."""
    out, leader = _Found(), results.overall.rows[0].name
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
            out.diagnostics.append(Diagnostic("autocorrelation", f"{leader}, {rival}", _rounded(first), sentence))
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
            f"their differences at neighbouring time points have the correlation {first:.2f}: {n:,} time points count "
            f"like {like:.0f}, and such intervals miss more often than their level says.{remedy}"
        )
        out.warnings.append(BoardWarning("strong autocorrelation", sentence, (leader, rival)))
    if seasonal:
        lag, rival = seasonal[0]
        r = float(autocorrelations(parts[rival], lag)[-1])
        sentence = (
            f"their differences have the correlation {r:.2f} at a distance of {lag} time points, as in seasons: "
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


def ignored_dependence(results: Comparison, sample: ScoreSample, names: Sequence[str]) -> _Found:
    """Columns of the truth by which the error of the leader's differences would be much larger than it is.

    In a share of the cases, products of two cases are seen with the square of the share.
    """
    from scipy.special import fdtri  # noqa: PLC0415  not cheap to import

    out, leader = _Found(), results.overall.rows[0].name
    rivals = _rivals(results)
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
            out.diagnostics.append(Diagnostic("dependence", name, _rounded(largest[0]), said))
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


# All together


def diagnose(
    results: Comparison, intervals: Intervals, names: Sequence[str], sample: ScoreSample | None
) -> tuple[tuple[Diagnostic, ...], tuple[BoardWarning, ...]]:
    """What was measured about the leader's differences, and what makes the intervals doubtful."""
    unseen = rare_losses(results) if intervals.method != "bounded" else ()
    across = None if intervals.matrix is None else intervals.matrix.clusters
    clusters = 0 if across is None else len(np.unique(across))
    first = [names.index(row.name) for row in results.overall.rows[:2]]
    like = intervals.clusters_count_like(0, *first)
    found = [_Found([], [*unseen, *few_units(results, clusters, like)])]
    parts = _parts(results, intervals, names, sample)
    share = 1.0 if sample is None or results.unit != "case" else sample.share
    if results.unit == "case" and results.weighted and results.effective_units:
        share *= results.units / results.effective_units  # the mean is as skewed as that of so few
    if intervals.method in ("t", "normal", *TIMED):
        found.append(skewed_differences(results, parts, share))
    if intervals.matrix is not None and intervals.matrix.ordered and intervals.method not in ("t", "normal"):
        found.append(dependence_in_time(results, parts, intervals.method))
    if sample is not None and sample.columns:
        found.append(ignored_dependence(results, sample, names))
    return (
        tuple(one for some in found for one in some.diagnostics),
        tuple(one for some in found for one in some.warnings),
    )


def _rivals(results: Comparison) -> list[Pair]:
    """The leader's pairs under the first rule that have an error, in the order of the table."""
    leader = results.overall.rows[0].name
    own = [p for p in results.pairs if p.rule == results.rules[0] and leader in (p.a, p.b) and p.difference.error]
    return own[:_RIVALS]


def _parts(
    results: Comparison, intervals: Intervals, names: Sequence[str], sample: ScoreSample | None
) -> dict[str, Floats]:
    """What the units that count contribute to the leader's differences, by the rival's name."""
    leader, out = results.overall.rows[0].name, {}
    for pair in _rivals(results):
        rival = pair.b if pair.a == leader else pair.a
        a, b = names.index(leader), names.index(rival)
        if results.unit == "case" and sample is not None:
            c, w = replace(sample, weights=None).contributions(a, b)  # a weight is no skewness
            out[rival] = c[w > 0]
        elif intervals.matrix is not None and (intervals.matrix.units is not None or intervals.matrix.ordered):
            units, estimand = intervals.unit_sums(0), Difference(a, b)
            out[rival] = estimand.contributions(units)[estimand.weights(units) > 0]
        elif intervals.tally.clusters:
            out[rival] = _of_clusters(intervals.tally, a, b)
    return out


def _of_clusters(tally: Aggregates, a: int, b: int) -> Floats:
    """The same from the exact sums of clusters."""
    found: list[Any] = [(x[0][a] - x[0][b], weight) for weight, x in tally.clusters.values() if weight]
    total, weight = (sum(column) for column in zip(*found, strict=True))
    return np.array([(d * weight - total * w) / (weight * weight) for d, w in found], np.float64)
