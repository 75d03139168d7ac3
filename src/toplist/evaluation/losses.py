"""The largest losses of one model against another, and how likely its lead is if the other is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from toplist._typing import Bools, Floats
from toplist.core.kernel import exact_sums, to_float
from toplist.evaluation.arrays import ArrayModels
from toplist.evaluation.stream import ScoringSpec, coder_of
from toplist.inference.diagnostics import UNSEEN
from toplist.io import AlignedCases, Plan, lists_of, weights_of
from toplist.lists import TopLists
from toplist.lists.labelsets import LabelSets
from toplist.scoring.bounds import log_mean_gains, most_lost
from toplist.scoring.scores import highest_score

_SLOPES: Final = range(-3, 11)
"""Binary logarithms of t of Chernoff's bound, in units of one over the range of the score."""
_ENTRIES = 2_000_000  # listed classes of both models up to which the bound is made

ModelPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Losses:
    """The largest losses of models."""

    bounds: tuple[float, float]  # of a score
    heaviest: float  # weight of a case
    scores: Callable[[str], float]  # a bound on the scores of a model
    find: Callable[[Mapping[ModelPair, float]], Mapping[ModelPair, PairLoss]]
    """Those of pairs with the sums of their differences, as far as they can be known."""

    def highest(self, name: str) -> float:
        """See `diagnostics.Highest`."""
        return self.heaviest * (self.scores(name) - self.bounds[0])

    def lost(self, sums: Mapping[ModelPair, float]) -> dict[ModelPair, tuple[float, float | None]]:
        """See `diagnostics.Lost`."""
        scale, known = range_of(self.bounds), self.find(sums)
        return {pair: known[pair].result(total, scale, self.heaviest) for pair, total in sums.items() if pair in known}


def losses_in_memory(held: ArrayModels) -> Losses:
    """Those of models in memory."""
    scoring, weights = held.scoring, held.weights
    rule, heaviest = scoring.rules[0], 1.0 if weights is None else float(weights.max())

    def find(sums: Mapping[ModelPair, float]) -> dict[ModelPair, PairLoss]:
        out = {}
        for (a, b), total in sums.items():
            loss = loss_of(scoring, held.lists[a], held.lists[b], weights)
            if total < UNSEEN * loss.most:
                loss += gain_of(scoring, held.lists[a], held.lists[b], weights, slopes(heaviest))
            out[a, b] = loss
        return out

    def highest(name: str) -> float:
        return highest_score(held.lists[name], rule=rule, penalty=scoring.penalty)

    return Losses(rule.bounds(), heaviest, highest, find)


def losses_in_files(plan: Plan, scoring: ScoringSpec, scores: Mapping[str, float], heaviest: float) -> Losses:
    """Those of models in files, whose lists are read once more where they are asked for."""

    def find(sums: Mapping[ModelPair, float]) -> dict[ModelPair, PairLoss]:
        return pair_losses(plan, scoring, [*sums], heaviest)

    return Losses(scoring.rules[0].bounds(), heaviest, scores.__getitem__, find)


@dataclass(frozen=True, slots=True)
class PairLoss:
    """The largest loss of one model against another, and what bounds how likely its lead is if the other is right.

    `gains` are exact sums over cases of the logarithm of the mean of exp(t X), by the binary logarithm of t in units of
    one over the range of the score; None where it is no finite number.
    """

    most: float = -math.inf
    gains: Mapping[int, int | None] = field(default_factory=dict)
    entries: int = 0  # listed classes of both; all classes, where they are ordered

    def __add__(self, other: PairLoss) -> PairLoss:
        """That of the cases of both."""
        gains: Mapping[int, int | None] = {}
        entries = self.entries + other.entries
        if entries <= _ENTRIES:
            mine, theirs = (one.gains if one.entries else None for one in (self, other))
            gains = mine or theirs or {} if mine is None or theirs is None else _added(mine, theirs)
        return PairLoss(max(self.most, other.most), gains, entries)

    def result(self, total: float, scale: float, heaviest: float) -> tuple[float, float | None]:
        """See `diagnostics.Lost`: Chernoff's bound, the least of exp(-t x) E exp(t X) over some t."""
        most = float(f"{self.most:.12g}")  # it depends on the order of a list in the last digits
        if total >= UNSEEN * most or self.entries > _ENTRIES:
            return most, None
        known = {at: self.gains.get(at) for at in slopes(heaviest)}
        gains = {at: gain for at, gain in known.items() if gain is not None}
        if not any(gains.values()):
            return most, None
        least = min(to_float(gain) - 2.0**at / scale * total for at, gain in gains.items())
        return most, float(f"{math.exp(min(0.0, least)):.3g}")


def _added(one: Mapping[int, int | None], other: Mapping[int, int | None]) -> dict[int, int | None]:
    """Those of the cases of both, at the slopes down to the least of either and up to the lower end of the two."""
    if not one or not other:
        return {}
    out: dict[int, int | None] = {}
    for at in sorted(one.keys() | other.keys()):
        if at <= min(max(one), max(other)):
            x, y = _gain_at(one, at), _gain_at(other, at)
            out[at] = None if x is None or y is None else x + y
    return out


def _gain_at(gains: Mapping[int, int | None], at: int) -> int | None:
    """The sum at a slope; below the least one where it is known, that of the chord to zero, for sums are convex in t.

    Only cases that are far lighter than others lack slopes, and sums of theirs are straight there.
    """
    least = min(gains)
    gain = gains.get(max(at, least))
    if gain is None or at >= least:
        return gain
    lower = gain >> (least - at)
    return lower if lower << (least - at) == gain else None  # half of a unit would depend on the order of parts


def slopes(heaviest: float, more: int = 0) -> range:
    """The binary logarithms of t of Chernoff's bound, where the heaviest case has this weight; `more` smaller ones."""
    weight = math.ceil(math.log2(heaviest)) if heaviest > 0 else 0
    return range(_SLOPES.start - weight - more, _SLOPES.stop - weight)


def range_of(bounds: tuple[float, float]) -> float:
    """How far apart bounds are, or one where there is no end."""
    low, high = bounds
    return high - low if math.isfinite(high - low) else 1.0


def loss_of(scoring: ScoringSpec, a: TopLists, b: TopLists, weights: Floats | None) -> PairLoss:
    """The largest loss of one model against another in some cases."""
    return PairLoss(most_lost(a, b, weights, rule=scoring.rules[0], penalty=scoring.penalty))


def gain_of(
    scoring: ScoringSpec, a: TopLists, b: TopLists, weights: Floats | None, at: Sequence[int], entries: int = 0
) -> PairLoss:
    """How likely the lead is in some cases, at these slopes, where there are not too many entries with those before.

    Cases without weight are none.
    """
    rule, penalty = scoring.rules[0], scoring.penalty
    if weights is not None and not weights.all():
        some = np.flatnonzero(weights)
        a, b, weights = a[some], b[some], weights[some]
    here = len(a.confidences) + len(b.confidences)
    if rule.ordinal:  # every class scores another number
        here = 2 * int(np.broadcast_to(a.checked.rows.size, (len(a),)).sum())
    if entries + here > _ENTRIES or isinstance(b.space, LabelSets):
        return PairLoss(entries=here)
    t = np.array([2.0**slope for slope in at]) / range_of(rule.bounds())
    each = log_mean_gains(a, b, t, weights, rule=rule, penalty=penalty)
    finite: Bools = np.logical_and.reduce(np.isfinite(each), axis=1)
    sums = exact_sums(np.where(finite[:, None], each, 0.0))[0]
    return PairLoss(gains={slope: sums[i] if finite[i] else None for i, slope in enumerate(at)}, entries=here)


def pair_losses(
    plan: Plan, scoring: ScoringSpec, pairs: Sequence[ModelPair], heaviest: float, more: int = 0
) -> dict[ModelPair, PairLoss]:
    """The largest losses of these pairs over the cases of files, where the heaviest of all cases has this weight.

    Those of none where missing predictions are imputed, or classes differ by case.
    """
    space = plan.space
    if not pairs or space is None or plan.missing in ("uniform", "worst", "baseline"):
        return {}
    if plan.missing == "pairwise" and len(pairs) > 1:
        return {pair: pair_losses(plan, scoring, [pair], heaviest, more)[pair] for pair in pairs}
    asked = {name for pair in pairs for name in pair}
    sources = [one for one in plan.sources if plan.missing == "common" or one.name in asked]
    cases = AlignedCases((plan.truth, *sources), "error" if plan.missing == "error" else "common")
    losses, at, coder = dict.fromkeys(pairs, PairLoss()), slopes(heaviest, more), coder_of(plan)
    for truth, *batches in cases.common():
        codes, _ = coder.encode(batches, [source.names for source in sources])
        lists = {
            source.name: lists_of(batch, source.names, own, space, plan.repairs[source.name])
            for source, batch, own in zip(sources, batches, codes, strict=True)
        }
        weights = None if plan.weight is None else weights_of(truth, plan.weight)
        for (a, b), loss in losses.items():
            both = lists[a], lists[b], weights
            losses[a, b] = loss + loss_of(scoring, *both) + gain_of(scoring, *both, at, loss.entries)
    return losses
