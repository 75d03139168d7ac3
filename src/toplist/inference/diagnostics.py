"""What makes a comparison doubtful: what its intervals rest on, and boards that cannot be right.

Intervals: rare losses, few units, skewness, dependence. Thresholds were set by simulation (docs/inference.md, "What the
warnings mean"). Boards: what the sums say about whether the right things were compared, and how outcomes and listed
classes are written, by a look at the first cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import numpy as np

from toplist._text import are_codes, argument, quote, significant, spelling_difference
from toplist._typing import Floats
from toplist.core.estimate import quantile
from toplist.core.kernel import UNIT
from toplist.inference.aggregates import Aggregates
from toplist.inference.dependence import Findings, TruthColumn, dependence_in_time, ignored_dependence
from toplist.inference.estimation import Difference
from toplist.inference.intervals import Intervals, same_scores
from toplist.inference.ranking import verdicts
from toplist.inference.results import BoardWarning, Comparison, Diagnostic, Pair
from toplist.inference.settings import TIMED

SAMPLED = 100_000  # cases that are examined one by one; of more, as many at random
MOST_VALUES = 10_000  # of a column by which cases may depend on each other
FEW = 30  # units
UNSEEN = 3.7  # losses: the 97.5 % bound on the mean of a Poisson variable that was zero
_SETTLED = 10.0  # losses: a lead that is at least that large is not examined more closely
_ALL_PAIRS = 10  # models up to which all pairs are examined, not only those of the leader
_RIVALS = 10  # of the leader, the first in the table
_SKEWED = 1 / 5  # skewness of a mean
_BY_CHANCE = 0.05  # how often the skewness of normal differences is larger, on either side
_FEW = 10  # cases up to which nobody wonders that no outcome is listed, unless a spelling explains it
_RARE = 0.01  # how often models that guess at random are called worse than that, all of them together

Spelled = Callable[[str], tuple[Sequence[str], Sequence[str]]]  # of a model: names of outcomes, names of its classes


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSample:
    """Scores under the first rule: of all cases, or of as many as can be examined, drawn at random."""

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
    like = min(math.inf if results.effective_units is None else results.effective_units, float(results.units))
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
    return abs(of_mean) > _SKEWED and abs(skew) > quantile(1 - _BY_CHANCE / tests) * usual


def skewed_differences(results: Comparison, parts: Mapping[str, Floats], share: float) -> Findings:
    """The skewness of the leader's differences over the units; `parts` are the contributions by the rival's name."""
    out, leader = Findings(), results.overall.rows[0].name
    sure = {v.worse for v in verdicts(results, results.rules[0]) if v.significant and v.better == leader}
    second = next(iter(parts), None)
    doubtful: list[tuple[float, float, str]] = []
    for rival, c in parts.items():
        if rival != second and rival not in sure:
            continue
        skew, of_mean = skewness(c)
        of_mean *= math.sqrt(share)
        sentence = f"The differences of {leader} and {rival} have the skewness {skew:.2g} over {_many(results)}."
        out.diagnostics.append(Diagnostic("skewness", f"{leader}, {rival}", skew, sentence))
        if is_skewed(skew, of_mean, len(c), len(parts)):
            doubtful.append((abs(of_mean), skew, rival))
    if doubtful:
        _, skew, rival = max(doubtful)
        drawn = argument("method", "wild" if results.weighted or results.unit == "cluster" else "bootstrap")
        remedy = "More time points help." if results.time is not None else f"Use {drawn}, or more {results.unit}s."
        more = f" (and those to {len(doubtful) - 1} more)" if len(doubtful) > 1 else ""
        sentence = (
            f"their differences{more} are skewed, with skewness {significant(skew, 2)} over {_many(results)}: t "
            "intervals then miss more often than their level says, nearly always on the side of the long tail. "
            f"{remedy}"
        )
        out.warnings.append(BoardWarning("skewed differences", sentence, (leader, rival)))
    return out


def _rounded(value: float) -> float:
    """Four digits: they are the same in whatever order cases were added up."""
    return float(f"{value:.4g}")


def _many(results: Comparison) -> str:
    return f"{results.units:,} {results.unit}{'' if results.units == 1 else 's'}"


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
    found = [Findings([], [*unseen, *few_units(results, clusters, like)])]
    parts = _parts(results, intervals, names, sample)
    share = 1.0 if sample is None or results.unit != "case" else sample.share
    if results.unit == "case" and results.weighted and results.effective_units:
        share *= results.units / results.effective_units  # the mean is as skewed as that of so few
    if intervals.method in ("t", "normal", *TIMED):
        found.append(skewed_differences(results, parts, share))
    if intervals.matrix is not None and intervals.matrix.ordered and intervals.method not in ("t", "normal"):
        found.append(dependence_in_time(results, parts, intervals.method))
    if sample is not None and sample.columns:
        found.append(ignored_dependence(results, _rivals(results), sample, names))
    return (
        tuple(replace(one, value=_rounded(one.value)) for some in found for one in some.diagnostics),
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
            by_unit = replace(intervals, method="t") if intervals.method == "poisson" else intervals
            units, estimand = by_unit.unit_sums(0), Difference(a, b)
            out[rival] = estimand.contributions(units)[estimand.weights(units) > 0]
        elif intervals.tally.clusters:
            out[rival] = _of_clusters(intervals.tally, a, b)
    return out


def _of_clusters(tally: Aggregates, a: int, b: int) -> Floats:
    """The same from the exact sums of clusters, in the order of these sums."""
    found: list[Any] = sorted((x[0][a] - x[0][b], weight) for weight, x in tally.clusters.values() if weight)
    total, weight = (sum(column) for column in zip(*found, strict=True))
    return np.array([(d * weight - total * w) / (weight * weight) for d, w in found], np.float64)


# Boards that cannot be right


def warnings(
    results: Comparison, tally: Aggregates, names: Sequence[str], size: Any, spelled: Spelled
) -> tuple[BoardWarning, ...]:
    """All that is doubtful. `names` are the models in the order of the tally, `size` how many classes there are.

    `spelled` is asked only for models that list no outcome: it may read their files once more.
    """
    s, rows = tally.sums, [(row, names.index(row.name)) for row in results.overall.rows]
    never, perfect = {}, {}
    certain = " with certainty" if set(results.rules) - {"zero-one"} else ""
    for row, a in rows:
        if s["mean_length"][a] and not s["coverage"][a]:
            why = spelling(*spelled(row.name))
            if why or row.cases >= _FEW:
                never[row.name] = f"no outcome is ever listed{why or '.'}"
        zero = not any(s["x"][r, a, a] or s["infinite"][r, a, a] for r in range(len(results.rules)))
        if zero and s["weight"][a] and s["accuracy"][a] == s["weight"][a]:
            perfect[row.name] = f"every prediction is right{certain}: is this the truth itself?"
    others = [row.name for row, _ in rows if row.name not in never]
    filled = {source.name for source in results.sources if source.filled}  # whose missing predictions are empty lists
    thin = [row.name for row, a in rows if 2 * s["thin"][a] > s["weight"][a] and row.name not in filled]
    masses = {source.name: source.median_answer_mass for source in results.sources}
    off_answer = [row.name for row, _ in rows if (mass := masses.get(row.name)) is not None and mass < 0.5]
    return (
        *_merged("never listed", never),
        *_merged("perfect", perfect),
        *(worse_than_uniform(results) if others else ()),
        *below_chance(results, tally, names, size, others),
        *(same(results, tally, names) if results.missing not in ("worst", "baseline") else ()),
        *beaten_leader(results),
        *leader_with_few_cases(results),
        *_merged("little mass", dict.fromkeys(thin, _LITTLE_MASS)),
        *_merged("little answer mass", dict.fromkeys(off_answer, _LITTLE_ANSWER_MASS)),
        *token_lists_differ(results),
    )


def _merged(kind: str, sentences: Mapping[str, str]) -> list[BoardWarning]:
    """One warning for all models of whom the same is said."""
    found: dict[str, list[str]] = {}
    for name, sentence in sentences.items():
        found.setdefault(sentence, []).append(name)
    return [BoardWarning(kind, sentence, tuple(names)) for sentence, names in found.items()]


def spelling(outcomes: Sequence[str], listed: Sequence[str]) -> str:
    """Why names of outcomes and names of classes may have nothing in common: what follows a sentence, or nothing.

    >>> spelling(["Owl"], ["fox", "owl"])
    "; 'Owl' (outcome) and 'owl' (listed) differ in case."
    """
    near = None if set(outcomes) & set(listed) else spelling_difference(outcomes, listed)
    if near is not None:
        outcome, own, what = near
        return f"; {quote(outcome)} (outcome) and {quote(own)} (listed) differ in {what}."
    if not outcomes or not listed or are_codes(outcomes) == are_codes(listed):
        return ""
    numbers, texts = ("outcomes", "listed classes") if are_codes(outcomes) else ("listed classes", "outcomes")
    one, other = (outcomes[0], listed[0]) if are_codes(outcomes) else (listed[0], outcomes[0])
    return (
        f"; the {numbers} are numbers such as {quote(one)}, the {texts} are names such as {quote(other)}: "
        "give codes or names in both places."
    )


def worse_than_uniform(results: Comparison) -> list[BoardWarning]:
    """All models are significantly worse than the uniform prediction, under the first rule with finite means."""
    rows = results.overall.rows
    for rule in results.rules:
        skills = [skill for row in rows if (skill := row.scores[rule].skill) is not None]
        if len(skills) < len(rows):
            continue
        if not all(skill.high is not None and skill.high < 0 for skill in skills):
            break
        sentence = (
            f"the mean {rule} score is significantly worse than that of the uniform prediction: is the truth that "
            "of these cases, in the same order and with the same classes?"
        )
        return [BoardWarning("worse than uniform", sentence, tuple(row.name for row in rows))]
    return []


def below_chance(
    results: Comparison, tally: Aggregates, names: Sequence[str], size: Any, others: Sequence[str]
) -> list[BoardWarning]:
    """Models whose top-1 prediction is right more rarely than a random class would be, by the binomial test.

    Cases count as so many as their weights make of them, or as their clusters or time points where these are fewer.
    """
    if not isinstance(size, int) or size < 2:
        return []
    level, found = _RARE / max(1, len(names)), []
    for row in results.overall.rows:
        n = _cases(tally, names.index(row.name))
        independent = results.pairs[0].difference.freedom if results.pairs else None  # in time fewer than time points
        n = (
            n
            if results.unit == "case"
            else min(n, results.units, results.units if independent is None else independent)
        )
        accuracy = row.metrics["accuracy"].value
        if row.name in others and n > 0 and accuracy < 1 / size and _at_most(accuracy * n, n, 1 / size) < level:
            sentence = (
                f"accuracy {accuracy:.3g} is significantly below the {1 / size:.3g} of random guesses: is the truth "
                "that of these cases, in the same order and with the same classes?"
            )
            found.append(BoardWarning("below chance", sentence, (row.name,)))
    return found


def _cases(tally: Aggregates, a: int) -> float:
    """How many cases of equal weight tell as much (Kish)."""
    s = tally.sums
    found = [(s["w"][r, a, a] ** 2 / (s["ww"][r, a, a] * UNIT)) for r in range(len(s["w"])) if s["ww"][r, a, a]]
    return max(map(float, found), default=0.0)


def _at_most(hits: float, n: float, p: float) -> float:
    """How often so few of n random guesses are right."""
    from scipy.special import betainc  # noqa: PLC0415  only here, and not cheap to import

    k = math.ceil(hits - 1e-9)
    return 1.0 if k >= n else float(betainc(n - k, k + 1, 1 - p))


def same(results: Comparison, tally: Aggregates, names: Sequence[str]) -> list[BoardWarning]:
    """Models that have the same scores in every case under every rule, each set of them once."""
    sets: list[list[str]] = []
    for name in (row.name for row in results.overall.rows):
        a, rules = names.index(name), range(len(results.rules))
        alike = (
            group
            for group in sets
            if any(all(same_scores(tally, r, names.index(other), a) for r in rules) for other in group)
        )
        mine = next(alike, None)
        if mine is None:
            sets.append([name])
        else:
            mine.append(name)
    sentence = (
        "the scores are the same in every case, up to rounding: these are the same predictions, or as good as that, "
        "and are not tested against each other."
    )
    return [BoardWarning("same scores", sentence, tuple(group)) for group in sets if len(group) > 1]


def beaten_leader(results: Comparison) -> list[BoardWarning]:
    """Models that are significantly better than the leader where both have a case."""
    leader = results.overall.rows[0].name
    own = [v for v in verdicts(results, results.rules[0]) if leader in (v.pair.a, v.pair.b) and v.significant]
    better = [v.better for v in own if v.better not in (None, leader)]
    sentence = "the first leads the table, but is significantly worse than the second on the cases that both have."
    return [BoardWarning("leader beaten", sentence, (leader, str(name))) for name in better]


def leader_with_few_cases(results: Comparison) -> list[BoardWarning]:
    """The leader has less than half as many cases as the median model."""
    rows = [row for row in results.overall.rows if row.rank is not None]
    middle = median(row.cases for row in rows)
    if not rows or 2 * rows[0].cases >= middle:
        return []
    sentence = (
        f"it leads with {rows[0].cases:,} of {results.compared:,} cases, where the median model has {middle:,.0f}: "
        f"rank only those with enough of them, with {argument('min_cases')}."
    )
    return [BoardWarning("leader with few cases", sentence, (rows[0].name,))]


_LITTLE_MASS = (
    "in more than half of the cases less than half of the mass is listed: are the confidences probabilities, and the "
    "lists long enough?"
)
_LITTLE_ANSWER_MASS = (
    "in more than half of the cases most probability is on tokens that are no declared answer: the prompt was "
    "measured, not the model."
)
_LONGER = 1.2  # times as many tokens are another length; a token that was removed is none


def token_lists_differ(results: Comparison) -> list[BoardWarning]:
    """Models whose servers listed different numbers of tokens: one model cut at two lengths has two scores."""
    rows = {row.name for row in results.overall.rows}
    known = {one.name: one.median_listed_tokens for one in results.sources if one.median_listed_tokens is not None}
    known = {name: median for name, median in known.items() if name in rows}
    if not known or max(known.values()) < _LONGER * min(known.values()):
        return []
    sentence = (
        f"servers listed from {min(known.values()):g} to {max(known.values()):g} tokens (medians), and the same model "
        "scores otherwise with shorter lists: ask all of them for the same number of top log-probabilities, or cut the "
        "longer lists."
    )
    return [BoardWarning("token lists differ", sentence, tuple(known))]
