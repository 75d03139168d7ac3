r"""Softmax of scores: lists from candidates whose scores are no probabilities.

The candidates of a case have scores :math:`s_j`, and its outcome may be none of them. Listed masses are in proportion
to :math:`e^{a s_j}`, the rest mass to :math:`e^b`. The negative log-likelihood of a case is
:math:`\log(\sum_j e^{a s_j} + e^b)` less :math:`a s_y`, or less b where the outcome is outside: a log-sum-exp of
linear functions of (a, b) less a linear one, so that it is convex, and Newton's method with backtracking finds the
minimum.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Bools, Codes, Floats
from toplist.core.arguments import as_number, as_shares
from toplist.core.kernel import Rows
from toplist.errors import ConfidenceError, ShapeError, TopListError
from toplist.io.lists import table_rows
from toplist.io.options import ReadOptions, hints_of
from toplist.io.sources import open_source
from toplist.lists import TopLists
from toplist.lists.converters import as_single_outcomes, raw_rows
from toplist.lists.log_space import normalised
from toplist.lists.space import ClassSpace, as_space
from toplist.lists.validation import Repairs, row_sums
from toplist.postprocess.recalibration.base import MOST, Recalibrator, Sample
from toplist.postprocess.recalibration.state import State
from toplist.postprocess.selection import as_folds

STANDARDIZATIONS: Final = ("none", "max", "zscore")
_NO_HIT: Final = -1
_STEPS: Final = 200  # of Newton's method; some ten are the rule
_HALVINGS: Final = 60
_CLOSE: Final = 1e-14  # a gradient, on the scale of standardized scores, that is zero up to rounding


@dataclass(frozen=True, slots=True)
class CandidateScores:
    """Candidates with finite scores, and the lists that have the same mass for each of them and for the rest."""

    lists: TopLists
    values: Floats

    @classmethod
    def of(cls, what: Any, space: Any = None) -> Self:
        """Candidates and scores of any form; without a space, classes are without end."""
        if isinstance(what, cls):
            return what
        if isinstance(what, TopLists):
            raise TopListError("these are lists of probabilities, not scores: recalibrate them, as with Temperature().")
        ids: Any = None
        if isinstance(what, str | os.PathLike) or hasattr(what, "columns"):
            rows, known, ids = _of_table(what, space)
        else:
            rows, known = raw_rows(what, space)
        values = rows.confidences.astype(np.float64)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            case = np.searchsorted(rows.offsets, wrong, side="right") - 1
            raise ConfidenceError(
                f"a score is {values[wrong[0]]}.",
                "Scores are finite numbers: leave such candidates out.",
                case=int(case[0]),
                more=len(np.unique(case)) - 1,
            )
        sizes = np.diff(rows.offsets)
        shares = 1.0 / np.maximum(sizes + (sizes < rows.size), 1)
        even = replace(rows, confidences=np.repeat(shares, sizes), log_rest=None, shown=None, precision=None)
        return cls(TopLists._validated(even, known, ids, Repairs()), values)

    @property
    def open(self) -> Bools:
        """Which cases have classes that are no candidates."""
        found: Bools = self.lists.sizes < self.lists.space.as_floats[0]
        return found

    def take(self, where: NDArray[np.intp]) -> Self:
        """Some of the cases, in their order."""
        mine = np.zeros(len(self.lists), dtype=bool)
        mine[where] = True
        return type(self)(self.lists[np.flatnonzero(mine)], self.values[np.repeat(mine, self.lists.sizes)])

    def standardized(self, how: str) -> Self:
        """Scores less the largest of their case, or in units of its standard deviation from its mean."""
        if how == "none" or not len(self.values):
            return self
        sizes, offsets = self.lists.sizes, self.lists.offsets
        some = sizes > 0
        level = np.zeros(len(sizes))
        if how == "max":
            level[some] = np.maximum.reduceat(self.values, offsets[:-1][some])
            return replace(self, values=self.values - np.repeat(level, sizes))
        count = np.maximum(sizes, 1)
        away = self.values - np.repeat(row_sums(self.values, offsets) / count, sizes)
        spread = np.sqrt(row_sums(away**2, offsets) / count)
        return replace(self, values=away / np.repeat(np.where(spread > 0, spread, 1.0), sizes))

    def softmax(self, slope: Any, intercept: Any) -> TopLists:
        """Lists of the softmax with these parameters, one for all or one per case."""
        n, sizes = len(self.lists), self.lists.sizes
        rest = np.where(self.open, np.broadcast_to(intercept, n), -np.inf)
        listed = np.repeat(np.broadcast_to(slope, n), sizes) * self.values
        return normalised(self.lists, listed, rest)


def _of_table(data: Any, space: Any) -> tuple[Rows, ClassSpace, Any]:
    """The candidates and scores of a file or a table, with case ids; a column per class names all classes."""
    known, how = None if space is None else as_space(space), ReadOptions(producer="none")
    source = open_source(data, "scores", hints_of(how, known), how)
    if known is None:
        known = ClassSpace(labels=source.names) if source.names else ClassSpace(math.inf)
    rows, known, ids, _ = table_rows(source, known)
    return rows, known, ids


@dataclass(frozen=True, slots=True)
class _Likelihood:
    """The mean negative log-likelihood of the cases that have candidates, with its derivatives."""

    scores: Floats
    starts: NDArray[np.intp]
    sizes: NDArray[np.int64]
    open: Bools
    weight: Floats
    score: Floats  # by case: the mean score of the outcome, with a share of the pseudo-cases
    rest: Floats  # by case: the same of whether the outcome is outside
    hit: NDArray[np.intp]  # the place of the outcome, or _NO_HIT

    @classmethod
    def of(cls, scores: CandidateScores, codes: Codes, weight: Floats, pseudo: float) -> Self:
        """Of checked cases; `pseudo` cases have an outcome that is spread evenly over candidates and rest."""
        lists = scores.lists
        at = np.full(len(lists), _NO_HIT)
        hits = np.flatnonzero(lists.classes == np.repeat(codes, lists.sizes))
        at[np.repeat(np.arange(len(lists)), lists.sizes)[hits]] = hits
        keep = np.flatnonzero((lists.sizes > 0) & (weight > 0))
        if not len(keep):
            raise ShapeError("no case that counts has candidates.", "Give at least one with its outcome.")
        some = scores.take(keep)
        moved = some.lists.offsets[:-1] - lists.offsets[keep]
        hit = np.where(at[keep] == _NO_HIT, _NO_HIT, at[keep] + moved)
        share = pseudo / (len(keep) + pseudo)
        options = some.lists.sizes + some.open
        own = np.where(hit == _NO_HIT, 0.0, some.values[hit])
        score = (1.0 - share) * own + share * row_sums(some.values, some.lists.offsets) / options
        rest = (1.0 - share) * (hit == _NO_HIT) + share * some.open / options
        weight = weight[keep] / weight[keep].sum()
        starts, sizes = some.lists.offsets[:-1], some.lists.sizes
        return cls(some.values, starts, sizes, some.open, weight, score, rest, hit)

    def masses(self, slope: float, intercept: float) -> tuple[Floats, Floats, Floats]:
        """The mass of each candidate, that of the rest, and the log of what they were divided by."""
        z = slope * self.scores
        top = np.maximum.reduceat(z, self.starts)
        top = np.where(self.open, np.maximum(top, intercept), top)
        p = np.exp(z - np.repeat(top, self.sizes))
        rest = np.where(self.open, np.exp(np.minimum(intercept - top, 0.0)), 0.0)
        total = np.add.reduceat(p, self.starts) + rest
        return p / np.repeat(total, self.sizes), rest / total, top + np.log(total)

    def value(self, theta: Floats) -> tuple[float, Floats, NDArray[np.float64]]:
        """The mean, its gradient and its Hessian in slope and intercept."""
        slope, intercept = theta.tolist()
        p, rest, log_total = self.masses(slope, intercept)
        mean = np.add.reduceat(p * self.scores, self.starts)
        square = np.add.reduceat(p * self.scores**2, self.starts)
        loss = float(self.weight @ (log_total - slope * self.score - intercept * self.rest))
        slopes = np.array([self.weight @ (mean - self.score), self.weight @ (rest - self.rest)])
        mixed = -float(self.weight @ (mean * rest))
        curve = [[self.weight @ (square - mean**2), mixed], [mixed, self.weight @ (rest * (1.0 - rest))]]
        return loss, slopes, np.array(curve)

    def separates(self, theta: Floats) -> bool:
        """Whether the outcome is the likeliest of all in every case: no parameters are then large enough."""
        p, rest, _ = self.masses(*theta.tolist())
        own = np.where(self.hit == _NO_HIT, rest, p[self.hit])
        ties = np.add.reduceat(p >= np.repeat(own, self.sizes), self.starts) + (rest >= own)
        return bool((ties == 1).all())

    @property
    def nearly_separates(self) -> bool:
        """Whether no slope is large enough, though outcomes outside the candidates keep the intercept finite.

        Along the direction (1, t) the likelihood never falls if every outcome among the candidates has the largest
        score of its case, of at least t where there is a rest, and no case with an outcome outside has a score above t.
        """
        top, found = np.maximum.reduceat(self.scores, self.starts), self.hit != _NO_HIT
        if not found.any() or (self.scores[self.hit[found]] < top[found]).any():
            return False
        outside = float(top[~found].max(initial=-np.inf))
        return outside <= float(top[found & self.open].min(initial=np.inf))


class SoftmaxOfScores(Recalibrator):
    r"""Lists from candidate scores that are no probabilities: a temperature, and a weight of the rest.

    Candidates with scores :math:`s_j` get the masses :math:`e^{a s_j} / Z`, and the rest, the classes that are no
    candidates together, :math:`e^b / Z`. Both parameters are fitted by maximum likelihood, on cases other than those
    that the scores were trained on. Larger scores are likelier: negate distances and energies. A list of all classes
    has no rest. The lists are as those of any other model afterwards: other recalibrators may follow.

    Parameters
    ----------
    standardize : {"none", "max", "zscore"}, default "none"
        What is done to the scores of each case first: nothing, so that their level tells how likely the outcome is
        among the candidates; less the largest; or in standard deviations from their mean.
    pseudo_cases : float, default 0.5
        The weight, in cases, of an outcome that is spread evenly over candidates and rest. It keeps the parameters
        finite where the scores separate outcomes from other candidates, or no outcome is outside.

    Attributes
    ----------
    slope_, intercept_ : float
        a and b.
    notes_ : tuple of str
        What is to be known of the fit: that there was nothing to fit a parameter to.

    Examples
    --------
    >>> scores, y = [{"a": 12.1, "b": 9.4}, {"b": 8.0, "c": 7.7}, {"a": 10.3}] * 20, ["a", "c", "d"] * 20
    >>> model = SoftmaxOfScores().fit(scores, y)
    >>> model.transform([{"a": 11.0, "c": 9.0}])
    TopLists(1 case, k = 2, infinitely many classes)
    """

    learned = ("slope_", "intercept_", "notes_")
    slope_: float
    intercept_: float
    notes_: tuple[str, ...]

    def __init__(self, *, standardize: str = "none", pseudo_cases: float = 0.5) -> None:
        self.standardize = standardize
        self.pseudo_cases = pseudo_cases

    @property
    def parameters(self) -> int:
        """Two."""
        return 2

    @property
    def temperature_(self) -> float:
        """What scores are divided by, one over the slope; infinite where they do not count."""
        self.require_fitted()
        return 1.0 / self.slope_ if self.slope_ > 0 else math.inf

    def fit(self, lists: Any, y: Any, *, sample_weight: Any = None, space: Any = None) -> Self:
        """Learn from scores and outcomes.

        Parameters
        ----------
        lists : sequence of mappings, pair or triple of arrays, array of shape (n, m), path or table
            Candidates with scores: a mapping from class to score per case; a pair of classes and scores, (n, k) arrays
            or one sequence of each per case; offsets, classes and scores; what a pipeline of Hugging Face returns; a
            score for every class; or a file or a table of any layout that `toplist.read_lists` takes.
        y : array-like
            One outcome per case: a code or a label, a candidate or not.
        sample_weight : array-like, optional
            One weight per case; all are equal by default.
        space : int, ClassSpace or sequence of labels, optional
            The classes; by default there is no end of them, except for an array with a column per class.

        Returns
        -------
        SoftmaxOfScores
            Itself, fitted.
        """
        self._check()
        scores = CandidateScores.of(lists, space)
        self._fit_scores(scores, _codes(y, scores), as_shares(sample_weight, len(scores.lists)))
        return self

    def transform(self, lists: Any, *, space: Any = None) -> TopLists:
        """Lists of candidates with scores, in any form that `fit` takes; those that are not valid are repaired."""
        self.require_fitted()
        scores = CandidateScores.of(lists, space).standardized(self.standardize)
        return scores.softmax(self.slope_, self.intercept_).repair()

    def fit_transform(self, lists: Any, y: Any, *, sample_weight: Any = None, space: Any = None) -> TopLists:
        """Learn from scores and make lists of the same ones, which score better than new cases will."""
        scores = CandidateScores.of(lists, space)
        return self.fit(scores, y, sample_weight=sample_weight).transform(scores)

    def cross_fit_transform(
        self,
        scores: Any,
        y: Any,
        *,
        folds: int = 5,
        seed: int = 0,
        clusters: Any = None,
        sample_weight: Any = None,
        space: Any = None,
    ) -> TopLists:
        """Lists of each case by a fit to the other folds, which has not seen its outcome.

        Parameters
        ----------
        scores : array-like or table
            Scores of candidates, as in `fit`.
        y : array-like
            One outcome per case.
        folds : int, default 5
            The number of folds.
        seed : int, default 0
            The seed by which folds are drawn.
        clusters : array-like, optional
            Cases of one cluster, which depend on each other, stay in one fold.
        sample_weight : array-like, optional
            How much each case counts.
        space : ClassSpace, int or sequence, optional
            The classes, as in `fit`.

        Returns
        -------
        TopLists
            Valid lists, in the order of the cases.
        """
        self._check()
        all_scores = CandidateScores.of(scores, space)
        n = len(all_scores.lists)
        codes, weight, fold = _codes(y, all_scores), as_shares(sample_weight, n), as_folds(n, folds, seed, clusters)
        slope, intercept = np.zeros(n), np.zeros(n)
        for one in range(int(fold.max()) + 1):
            others, made = np.flatnonzero(fold != one), self.clone()
            made._fit_scores(all_scores.take(others), codes[others], weight[others])
            slope[fold == one], intercept[fold == one] = made.slope_, made.intercept_
        return all_scores.standardized(self.standardize).softmax(slope, intercept).repair()

    def _check(self) -> None:
        if self.standardize not in STANDARDIZATIONS:
            raise TopListError(f"standardize is one of {', '.join(STANDARDIZATIONS)}, not {self.standardize!r}.")
        as_number(self.pseudo_cases, "pseudo_cases", 0, MOST)

    def _fit_scores(self, scores: CandidateScores, codes: Codes, weight: Floats) -> None:
        known = scores.standardized(self.standardize)
        level, spread = _level(known.values)
        table = _Likelihood.of(
            replace(known, values=(known.values - level) / spread), codes, weight, float(self.pseudo_cases)
        )
        free = np.array([bool(np.ptp(table.scores)), bool(table.open.any())])
        theta = _minimum(table, np.zeros(2), free)
        notes = [] if free[0] else ["all scores are equal: candidates share the listed mass evenly"]
        if theta[0] < 0:
            theta = _minimum(table, np.array([0.0, theta[1]]), free & [False, True])
            notes.append("larger scores are not likelier, and do not count: negate them if small ones are good")
        notes += [] if free[1] else ["every case lists all classes: there is no rest"]
        self._require_maximum(table, theta, notes)
        self.slope_ = float(theta[0] / spread)
        self.intercept_, self.notes_ = float(theta[1] + self.slope_ * level), tuple(notes)

    def _require_maximum(self, table: _Likelihood, theta: Floats, notes: list[str]) -> None:
        """Note what only the pseudo-cases keep finite; without them it has no maximum."""
        missed, found = bool((table.hit == _NO_HIT).any()), bool((table.hit != _NO_HIT).any())
        endless = []
        if table.open.any() and not missed:
            endless.append(f"no outcome of {len(table.sizes):,} cases is outside the candidates")
        if not found:
            endless.append(f"no outcome of {len(table.sizes):,} cases is among the candidates")
        if found and theta[0] > 0 and table.separates(theta):
            endless.append("the outcome is the likeliest in every case")
        elif found and theta[0] > 0 and table.nearly_separates:
            endless.append("an outcome that is a candidate always has the largest score")
        if endless and not self.pseudo_cases:
            raise TopListError(f"the likelihood has no maximum: {endless[0]}. Leave pseudo_cases above 0.")
        notes += [f"{one}: the fit is finite by {self.pseudo_cases:g} pseudo-cases" for one in endless]

    def _fit(self, sample: Sample) -> None:
        raise TopListError(_SCORES_ONLY)

    def _transform(self, lists: TopLists) -> TopLists:
        raise TopListError(_SCORES_ONLY)

    def _restore(self, state: State) -> None:
        self.slope_, self.intercept_ = state.number("slope_", 0.0), state.number("intercept_")
        notes = state.get("notes_")
        if not isinstance(notes, list) or not all(isinstance(one, str) for one in notes):
            raise state.wrong("notes_", "not a list of texts")
        self.notes_ = tuple(notes)

    def _describe(self) -> str:
        told = "".join(f"; {one}" for one in self.notes_)
        return f"temperature {self.temperature_:.5g}, rest e^{self.intercept_:.4g}{told}"


_SCORES_ONLY = (
    "SoftmaxOfScores makes lists of scores, and takes no lists: fit it to scores, and recalibrate its lists afterwards."
)


def _codes(y: Any, scores: CandidateScores) -> Codes:
    codes = as_single_outcomes(y, scores.lists, "a softmax needs")
    if not len(codes):
        raise ShapeError("there are no cases to learn from.", "Give at least one with its outcome.")
    return codes


def _level(values: Floats) -> tuple[float, float]:
    """The mean and the spread of all scores, in whose units they are fitted: no unit is then too large or too small."""
    if not len(values):
        return 0.0, 1.0
    largest = float(np.abs(values).max()) or 1.0
    scaled = values / largest
    level = float(scaled.mean())
    spread = float(np.sqrt(np.mean((scaled - level) ** 2)))
    return level * largest, (spread or 1.0) * largest


def _minimum(table: _Likelihood, start: Floats, free: Any) -> Floats:
    """The parameters of the least mean, of those that are free; the others stay."""
    theta = start.astype(np.float64)
    at = np.flatnonzero(free)
    loss, slopes, curve = table.value(theta)
    for _ in range(_STEPS):
        own = slopes[at]
        if not len(at) or np.abs(own).max() <= _CLOSE:
            break
        hold = curve[np.ix_(at, at)]
        step = np.linalg.solve(hold + 1e-14 * max(float(np.trace(hold)), 1e-300) * np.eye(len(at)), -own)
        for halving in range(_HALVINGS):
            tried = theta.copy()
            tried[at] += 0.5**halving * step
            found = table.value(tried)
            rounding = 4 * np.finfo(np.float64).eps * max(abs(loss), 1.0)
            flatter = np.abs(found[1][at]).max() < np.abs(own).max()
            if found[0] < loss - rounding or (found[0] <= loss + rounding and flatter):
                break
        else:
            break  # neither lower nor flatter: the minimum, up to rounding
        theta, (loss, slopes, curve) = tried, found
    return theta
