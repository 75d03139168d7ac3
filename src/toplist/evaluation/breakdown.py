"""Mean scores by model and by group of cases, with paired tests of each model against the average of all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Bools, Codes, Floats
from toplist.core.estimate import of_weights
from toplist.inference.aggregates import ScoreMatrix
from toplist.inference.intervals import Intervals
from toplist.inference.ranking import PairwiseVerdict, holm, judge, significant
from toplist.inference.results import Breakdown, Comparison, Estimate, Group
from toplist.scoring.case_scores import Grouping

FEWEST = 10  # units of a group that is tested
_CLASSES = 50  # classes that are all given
_GROUPS = 30  # groups that are all given, where they have no axis
_ON_AXIS = 400  # the same of groups that are numbers or dates
_SOME = 10  # of more, the hardest, and the easiest or most frequent ones
_SUPPORT = 5  # cases of a class that may be among the hardest of many
_FAINT = 1e-4  # of the range of the score: smaller differences may be rounding, which the intervals tell


class BreakdownMaker:
    """Makes breakdowns of one comparison under its first rule.

    A model is tested in a group by its paired differences to the average score of the ranked models, by the method of
    the comparison's intervals. Models with an infinite score in the group are neither tested nor in the average.
    Holm's method goes over all models and groups, also those that a breakdown leaves out because there are too many;
    of two models, which have the same test, over the groups. Not tested are groups of less than ten units (cases,
    clusters, time points), and groups with cases that a ranked model lacks: means over different cases, which are
    shown, may be in another order than differences on the cases of all.

    The standard error of a test is the larger one of its own and of the root mean square of those of all models in the
    group, with the fewest degrees of freedom of any. A model that happens to have no large loss in a group has far too
    small an error of its own, and would be called better than its equals: with 8 equal models, 10 classes of 30 cases
    and 5% errors some cell was significant on 91% of boards, and on 55% with 100 cases a class (correlation 0.5). With
    this error it is on at most 3.3% of boards of equal models, for 30 to 300 cases a class, 2% to 20% errors and
    correlations from 0 to 0.7. Bounded intervals have no standard error, and hold for any skewness.
    """

    def __init__(
        self,
        results: Comparison,
        names: Sequence[str],  # of the columns
        panel: ScoreMatrix,
        right: Floats,
        intervals: Intervals,  # over all cases
    ) -> None:
        self.results, self.panel, self.right, self.intervals = results, panel, right, intervals
        self.models, self.ranked = _models(results), _ranked(results)
        self.columns = [names.index(name) for name in self.models]
        self.weights = np.broadcast_to(1.0, len(panel)) if panel.weights is None else panel.weights
        # Whether intervals are those of a mean of independent cases:
        self.plain = intervals.method in ("t", "normal") and (panel.units is None or panel.ordered)

    def by_class(self, classes: Grouping) -> Breakdown | None:
        """By true class, the hardest first: all of up to 50, else the ten hardest and the ten most frequent ones."""
        keys, codes = [str(key) for key in classes.keys], _codes(classes.codes, len(self.panel))
        if len(keys) < 2:
            return None
        cases = np.bincount(codes, minlength=len(keys))
        means, accuracy = self._means(codes, len(keys))
        hardest = _hardest(means, cases, keys)
        chosen = hardest
        if len(keys) > _CLASSES:
            frequent = sorted(range(len(keys)), key=lambda g: (-cases[g], keys[g]))[:_SOME]
            some = {*[g for g in hardest if cases[g] >= _SUPPORT][:_SOME], *frequent}
            chosen = [g for g in hardest if g in some]
        cells = self._cells(codes, len(keys))
        marked = self._marked(cells)
        table = GroupTable(self.results, "true class", keys, cases, means, accuracy, chosen)
        made = table.breakdown(cells.value, marked, cells.incomplete)
        return replace(made, reversals=self._reversals(keys, codes, cells, marked, chosen))

    def by_group(self) -> Breakdown | None:
        """By the groups that were asked for: in order where they are numbers or dates, else the hardest first."""
        table = GroupTable.of(self.results)
        if table is None:
            return None
        keys = table.keys
        places = {str(key): place for place, key in enumerate(self.panel.keys)}
        order = np.zeros(max(len(self.panel.keys), 1), np.int64)
        order[[places[key] for key in keys]] = np.arange(len(keys))
        cells = self._cells(order[_codes(self.panel.groups, len(self.panel))], len(keys))
        return table.breakdown(cells.value, self._marked(cells), cells.incomplete)

    @cached_property
    def _scores(self) -> Floats:
        """The scores under the first rule, by case and model in the order of the table."""
        return np.asarray(self.panel.scores[:, 0])[:, self.columns]

    def _means(self, codes: Codes, groups: int) -> tuple[Floats, Floats]:
        """Mean scores and accuracies, by group and model."""
        w, means, accuracy = self.weights, [], []
        for column, right in zip(self._scores.T, (self.right[:, at] for at in self.columns), strict=True):
            at = np.flatnonzero(~np.isnan(column) & (w > 0))
            own, weight, x = codes[at], w[at], column[at]
            total = np.bincount(own, weight, groups)
            with np.errstate(invalid="ignore"):
                means.append(np.bincount(own, weight * x, groups) / total)
                accuracy.append(np.bincount(own, weight * right[at], groups) / total)
        return np.array(means).T, np.array(accuracy).T

    def _cells(self, codes: Codes, groups: int) -> _Cells:
        """Every ranked model against the average of those without infinite scores, by group and model."""
        ranked, weighty = self.ranked, self.weights > 0
        scores = self._scores[:, ranked]
        infinite, lacking = (
            np.array([np.bincount(codes, own, groups) > 0 for own in (there & weighty[:, None]).T], bool)
            .reshape(-1, groups)
            .T
            for there in (np.isinf(scores), np.isnan(scores))
        )
        scores = np.where(infinite[codes], np.nan, scores)
        members = np.maximum(np.count_nonzero(~infinite, axis=1), 1)[codes]
        average = np.where(infinite[codes], 0.0, scores).sum(axis=1) / members  # NaN where any other lacks the case
        pairs = [(i, len(ranked)) for i in range(len(ranked))]
        found = self._tests(np.column_stack([scores, average]), pairs, codes, groups)
        incomplete = np.asarray(lacking.any(axis=1))
        value, p = (np.full((groups, len(self.models)), np.nan) for _ in range(2))
        if found:
            values, own, errors, freedom = (np.column_stack(columns) for columns in zip(*found, strict=True))
            value[:, ranked] = values
            p[:, ranked] = np.where(incomplete[:, None], np.nan, np.maximum(own, _pooled(values, errors, freedom)))
        return _Cells(value, p, incomplete)

    def _marked(self, cells: _Cells) -> Bools:
        """Which cells are significant; two models share one test in each group."""
        if len(self.ranked) != 2:
            return _marked(cells.value, cells.p, self.results.level)
        marked, first = np.zeros(cells.p.shape, bool), self.ranked[:1]
        marked[:, self.ranked] = _marked(cells.value[:, first], cells.p[:, first], self.results.level)
        return marked

    def _reversals(
        self, keys: Sequence[str], codes: Codes, cells: _Cells, marked: Bools, chosen: Sequence[int]
    ) -> tuple[tuple[str, str], ...]:
        """Groups in which a model is significantly better than the leader, by Holm over all groups and models."""
        others = [i for i in self.ranked if i]
        if not others or 0 not in self.ranked:
            return ()
        if len(others) == 1:
            better = (marked & (cells.value < 0))[:, others]
        else:
            found = self._tests(self._scores, [(0, i) for i in others], codes, len(keys))
            value, p = (np.column_stack([getattr(one, name) for one in found]) for name in ("value", "p"))
            better = _marked(value, p, self.results.level) & (value > 0)
        return tuple((keys[g], self.models[i]) for g in chosen for at, i in enumerate(others) if better[g, at])

    def _tests(self, scores: Floats, pairs: Sequence[tuple[int, int]], codes: Codes, groups: int) -> list[_Tested]:
        """Every pair of columns over the cases of both; a group where a score of the pair is infinite has no mean."""
        bounds = self.intervals.bounds
        range_ = math.inf if bounds is None else bounds[0][1] - bounds[0][0]
        weighty, samples = self.weights > 0, {}
        made: list[tuple[_Tested, Bools, _Sample]] = []
        for a, b in pairs:
            x, y = scores[:, a], scores[:, b]
            fine = np.isfinite(x) & np.isfinite(y)
            infinite = np.zeros(groups, bool)
            if not fine.all():
                both = ~np.isnan(x) & ~np.isnan(y) & weighty
                infinite[codes[both & ~fine]] = True
            fine &= weighty
            key = fine.tobytes()
            if key not in samples:
                samples = {key: _Sample.of(np.flatnonzero(fine), codes, self.weights, groups, self.intervals.method)}
            found, faint = samples[key].test(x, y, range_)
            unknown = infinite | (not self.plain)
            value, (p, error, freedom) = found.value, (np.where(unknown, np.nan, one) for one in found[1:])
            asked = ~infinite & (faint if self.plain else samples[key].cases >= FEWEST)
            made.append((_Tested(np.where(infinite, np.nan, value), p, error, freedom), asked, samples[key]))
        if not self.plain or any(asked.any() for _, asked, _ in made):
            self._ask(scores, pairs, codes, made)
        return [found for found, _, _ in made]

    def _ask(
        self,
        scores: Floats,
        pairs: Sequence[tuple[int, int]],
        codes: Codes,
        made: Sequence[tuple[_Tested, Bools, _Sample]],
    ) -> None:
        """The tests of the intervals themselves: where cases are not independent, and where differences are faint."""
        wanted = np.logical_or.reduce([asked for _, asked, _ in made])
        for g in np.flatnonzero(wanted).tolist():
            if self.plain:
                for (a, b), (found, asked, sample) in zip(pairs, made, strict=True):
                    if asked[g]:
                        found.p[g] = self._test(scores[:, [a, b]], sample.at[sample.codes == g], [(0, 1)])[0][0]
            else:
                there = np.flatnonzero(codes == g)
                for (found, asked, _), each in zip(made, self._test(scores, there, pairs), strict=True):
                    if asked[g]:
                        found.p[g], found.error[g], found.freedom[g] = each

    def _test(
        self, scores: Floats, at: NDArray[np.intp], pairs: Iterable[tuple[int, int]]
    ) -> list[tuple[float, float, float]]:
        """The p of pairs of columns in some cases, as the intervals of the comparison have it, with error and freedom.

        NaN where there is none; draws have as many degrees of freedom as there are units, less one.
        """
        matrix = replace(self.panel.some(at), scores=scores[at][:, None])
        bounds = None if self.intervals.bounds is None else self.intervals.bounds[:1]
        matrix = replace(matrix, empty=matrix.empty[:, :1])
        own = replace(self.intervals, tally=matrix.tallies()[None], matrix=matrix, bounds=bounds)
        made = []
        for a, b in pairs:
            units = own.units(0, a, b)
            found = own.difference(0, a, b) if units >= FEWEST else Estimate(math.nan)
            freedom = found.freedom if found.freedom is not None else units - 1
            made.append(tuple(math.nan if x is None else float(x) for x in (found.p, found.error, freedom)))
        return [(p, error, freedom) for p, error, freedom in made]


@dataclass(frozen=True, slots=True)
class GroupTable:
    """Mean scores and accuracies by group of cases and model, and which groups are given."""

    results: Comparison
    by: str
    keys: list[str]
    cases: NDArray[Any]
    means: Floats
    accuracy: Floats
    chosen: list[int]  # groups that are given, in order
    axis: tuple[float, ...] = ()  # where all groups lie
    dates: bool = False
    reversals: tuple[tuple[str, str], ...] = ()
    apart: Bools | None = None  # whether two ranked models differ in a group by the one test of the pair there

    @classmethod
    def of(cls, results: Comparison) -> GroupTable | None:
        """The groups that were asked for, from their standings; None without groups."""
        groups, rule, models = results.groups, results.rules[0], _models(results)
        if not groups:
            return None
        keys = [one.group or "" for one in groups]
        rows = [{row.name: row for row in one.rows} for one in groups]
        means = np.array([[each[name].scores[rule].mean.value for name in models] for each in rows])
        accuracy = np.array([[each[name].metrics["accuracy"].value for name in models] for each in rows])
        cases = np.array([one.cases for one in groups])
        axis, dates = positions(keys)
        chosen = _hardest(means, cases, keys)
        if axis and len(keys) <= _ON_AXIS:
            chosen = sorted(range(len(keys)), key=lambda g: (axis[g], keys[g]))
        else:
            axis = ()
            if len(keys) > _GROUPS:
                chosen = chosen[:_SOME] + chosen[-_SOME:]
        decided = [[verdict for verdict in _verdicts(results, group) if verdict.significant] for group in groups]
        better = [
            (keys[g], verdict.better)
            for g in chosen
            for verdict in decided[g]
            if verdict.worse == models[0] and verdict.better is not None
        ]
        place, order = {keys[g]: i for i, g in enumerate(chosen)}, {name: i for i, name in enumerate(models)}
        better.sort(key=lambda one: (place[one[0]], order[one[1]]))
        pair, apart, by = {models[i] for i in _ranked(results)}, None, str(results.group)
        if len(pair) == 2:
            apart = np.array([any({own.pair.a, own.pair.b} == pair for own in verdicts) for verdicts in decided])
        dates = bool(axis) and dates
        return cls(results, by, keys, cases, means, accuracy, chosen, axis, dates, tuple(better), apart)

    def breakdown(self, differences: Floats, marked: Bools, incomplete: Bools) -> Breakdown:
        """The groups that are given, with the differences of all to the average, and which of them are significant."""
        keys, chosen = self.keys, self.chosen
        if self.apart is not None:
            marked[:, _ranked(self.results)] = (self.apart & ~incomplete)[:, None]
        return Breakdown(
            self.by,
            tuple(keys[g] for g in chosen),
            tuple(int(self.cases[g]) for g in chosen),
            _models(self.results),
            _rows(self.means, chosen),
            _rows(self.accuracy, chosen),
            _rows(differences, chosen),
            _rows(marked, chosen),
            axis=tuple(self.axis[g] for g in chosen) if self.axis else (),
            dates=self.dates,
            left_out=len(keys) - len(chosen),
            reversals=self.reversals,
            incomplete=tuple(keys[g] for g in chosen if incomplete[g]),
        )


def groups_of_sums(results: Comparison) -> Breakdown | None:
    """The groups that were asked for, where cases are not at hand.

    Of two ranked models a difference is significant if that of the pair is; of more, differences to the average are
    not tested.
    """
    table, ranked = GroupTable.of(results), _ranked(results)
    if table is None:
        return None
    models = _models(results)
    lacking = [
        any(row.cases < group.cases for row in group.rows if row.name in {models[i] for i in ranked})
        for group in results.groups
    ]
    incomplete = np.array(lacking, bool)
    differences = np.full(table.means.shape, np.nan)
    for g in np.flatnonzero(~incomplete).tolist():
        finite = [i for i in ranked if math.isfinite(table.means[g, i])]
        differences[g, finite] = table.means[g, finite] - math.fsum(table.means[g, finite]) / max(len(finite), 1)
    return table.breakdown(differences, np.zeros(table.means.shape, bool), incomplete)


def _models(results: Comparison) -> tuple[str, ...]:
    """In the order of the table."""
    return tuple(row.name for row in results.overall.rows)


def _ranked(results: Comparison) -> list[int]:
    """The models that are ranked, among those of the table."""
    return [i for i, row in enumerate(results.overall.rows) if row.rank is not None and row.cases]


def _verdicts(results: Comparison, group: Group) -> list[PairwiseVerdict]:
    """Every pair in one group, by Holm's method over all groups."""
    return [judge(pair, results.level) for pair in group.pairs if pair.rule == results.rules[0]]


class _Tested(NamedTuple):
    """Two columns of scores by group; NaN where there is no mean, or no test."""

    value: Floats  # the mean difference
    p: Floats
    error: Floats
    freedom: Floats


class _Cells(NamedTuple):
    """Every model against the average, by group and model."""

    value: Floats  # the mean difference
    p: Floats  # NaN: not tested
    incomplete: Bools  # by group: whether a ranked model lacks cases


@dataclass(frozen=True, slots=True)
class _Sample:
    """Independent cases by group, and what does not depend on their scores."""

    at: NDArray[np.intp]  # among all cases
    codes: Codes
    weights: Floats
    cases: NDArray[Any]  # by group
    total: Floats  # weight
    factor: Floats  # of the sum of squared contributions
    freedom: Floats

    @classmethod
    def of(cls, at: NDArray[np.intp], codes: Codes, weights: Floats, groups: int, method: str) -> _Sample:
        """Some cases with positive weights."""
        own, w = codes[at], weights[at]
        cases = np.bincount(own, minlength=groups)
        total = np.bincount(own, w, groups).astype(np.float64)
        enough = np.maximum(cases - 1, 1)
        factor, freedom = cases / enough, enough.astype(np.float64)
        if method == "normal":
            return cls(at, own, w, cases, total, factor, np.full(groups, np.inf))
        squares = np.bincount(own, w * w, groups)
        uneven = np.flatnonzero((cases >= FEWEST) & (cases * squares > total * total * (1 + 1e-12)))
        if len(uneven):
            shares = w / total[own]
            sums = np.array([np.bincount(own, shares**power, groups) for power in (2, 3, 4, 5)])
            for g in uneven.tolist():
                factor[g], freedom[g] = of_weights(sums[:, g].tolist())
        return cls(at, own, w, cases, total, factor, freedom)

    def test(self, a: Floats, b: Floats, range_: float) -> tuple[_Tested, Bools]:
        """The mean of a minus b by group (p is NaN in small groups), and where it is too faint for these formulas."""
        from scipy.special import ndtr, stdtr  # noqa: PLC0415  not cheap to import

        groups, w, x, y = len(self.cases), self.weights, a[self.at], b[self.at]

        def add(column: Floats) -> Floats:
            return np.bincount(self.codes, column, groups).astype(np.float64)

        d = x - y
        with np.errstate(invalid="ignore", divide="ignore"):
            value = add(w * d) / self.total
            centred = w * (d - value[self.codes])
            squares = add(centred * centred)
            error = np.sqrt(self.factor * squares) / self.total
            far = -np.abs(value / error)
            p = 2 * np.where(np.isinf(self.freedom), ndtr(far), stdtr(self.freedom, far))
            size = np.maximum(add(w * np.abs(x)), add(w * np.abs(y))) / self.total
            spread = np.sqrt(squares / add(w * w))
            faint = ~(spread > _FAINT * (range_ if math.isfinite(range_) else size))
            faint |= np.abs(value) <= _FAINT * _FAINT * size
        small = self.cases < FEWEST
        nothing = small | (add((d != 0).astype(np.float64)) == 0)
        return _Tested(value, np.where(nothing | faint, np.nan, p), error, self.freedom), faint & ~nothing


def positions(keys: Sequence[str]) -> tuple[tuple[float, ...], bool]:
    """Where groups lie on an axis, and whether they are dates (days since 1970-01-01); nothing if some lie nowhere.

    >>> positions(["2", "10"]), positions(["1970-01-11", "1970-02"]), positions(["2", "b"])
    (((2.0, 10.0), False), ((10.0, 31.0), True), ((), False))
    """
    for parse, dates in ((lambda key: float(key.replace("_", "?")), False), (_day, True)):
        with suppress(ValueError):
            places = tuple(map(parse, keys))
            if all(map(math.isfinite, places)):
                return places, dates
    return (), False


def _day(text: str) -> float:
    """A date, a month, or a date with a time, in days since 1970-01-01."""
    found = datetime.fromisoformat(f"{text}-01" if len(text) == 7 and text[4:5] == "-" else text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() / 86400


def _codes(codes: Any, cases: int) -> Codes:
    """One group has no codes."""
    return np.zeros(cases, np.int64) if codes is None else np.asarray(codes, np.int64)


def _hardest(means: Floats, cases: NDArray[Any], keys: Sequence[str]) -> list[int]:
    """Groups by the average of the models' means, largest first; those without a mean last."""

    def key(g: int) -> tuple[Any, ...]:
        known = means[g][~np.isnan(means[g])]
        if not len(known):
            return True, 0.0, 0, 0, keys[g]
        return False, -math.fsum(known.tolist()) / len(known), -int(np.isinf(known).sum()), -int(cases[g]), keys[g]

    return sorted(range(len(keys)), key=key)


def _pooled(value: Floats, error: Floats, freedom: Floats) -> Floats:
    """The p by the root mean square of the standard errors in a group; zero in a group that has none."""
    from scipy.special import ndtr, stdtr  # noqa: PLC0415  not cheap to import

    known = np.isfinite(error) & (error > 0)
    count = np.count_nonzero(known, axis=1)[:, None]
    squares = np.where(known, error, 0.0) ** 2
    pooled = np.sqrt(squares.sum(axis=1, keepdims=True) / np.maximum(count, 1))
    least = np.where(known, freedom, np.inf).min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        far = -np.abs(value / pooled)
        return np.where(count, 2 * np.where(np.isinf(least), ndtr(far), stdtr(least, far)), 0.0)


def _marked(value: Floats, p: Floats, level: float) -> Bools:
    """Which differences are significant by Holm's method over all that have a p."""
    marked = np.zeros(p.shape, bool)
    tested = np.flatnonzero(~np.isnan(p))
    adjusted = holm(p.ravel()[tested].tolist())
    found = [significant(Estimate(v), q, level) for v, q in zip(value.ravel()[tested].tolist(), adjusted, strict=True)]
    marked.ravel()[tested] = found
    return marked


def _rows(table: NDArray[Any], chosen: Sequence[int]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(table[g].tolist()) for g in chosen)
