"""Reranking: candidate sets of binary relevance, weighted by boosted classifiers of whether a candidate is true."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from toplist._typing import Bools, Floats, Ints
from toplist.core import kernel
from toplist.core.arguments import as_whole
from toplist.errors import TopListError
from toplist.lists import TopLists
from toplist.lists.labelsets import LabelSets, Sets
from toplist.multilabel.estimators.base import (
    Constant,
    SetClassifier,
    Targets,
    fit_labels,
    listed_marginals,
    require_proba,
    require_scores,
    score_labels,
    seeded,
)
from toplist.multilabel.estimators.labels import (
    assign_folds,
    calibrate,
    fit_calibrators,
    given_not_empty,
    out_of_fold,
    out_of_two_folds,
    require_calibration,
)
from toplist.multilabel.set_decisions import as_set_lists, decoded
from toplist.multilabel.sets import best_sets, lists_of_sets, offsets_of, support_log_scores

Rows = NDArray[np.float32]

SUMMARIES = (
    "log product", "gap to the best", "rank", "log prior", "size", "size beyond expected", "least log marginal inside",
    "mean log marginal inside", "largest marginal outside",
)  # fmt: skip
"""The first columns; a column per label follows for whether the set holds it, and one for its marginal."""

RISING, FALLING = (0, 3), (1, 2)
"""Columns in which the probability may only rise, or only fall: all that changes with the product alone, and the
prior. A set is the rarer in the other folds the more frequent it is in its own, and that must not be learnt."""

RATE, ROUNDS, LEAVES, RIDGE, PATIENCE = 0.1, 500, 15, 1.0, 15
"""Learning rate, most rounds, leaves of a tree, penalty on their values, rounds without progress before it stops."""

_ENTRIES = 1 << 24  # of a matrix with a column per training set
_ENTRIES_FEATURES = 1 << 22  # of a matrix with a column per label
_COLUMNS = 64  # labels with columns of their own: the most frequent


@dataclass(frozen=True, slots=True)
class TrainingSets:
    """The different label sets of some cases, their codes in rising order, and how many cases have each."""

    sets: Sets
    codes: Ints
    times: Ints
    cases: int

    @classmethod
    def of(cls, space: LabelSets, Y: Bools) -> TrainingSets:
        """The sets of an indicator matrix."""
        codes, first, times = np.unique(space.encode(Y), return_index=True, return_counts=True)
        return cls(Sets.from_indicators(Y[first]), codes, times, len(Y))

    def count(self, codes: Ints) -> Ints:
        """How many cases have each of these sets."""
        place = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[place] == codes, self.times[place], 0)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Sets with the case of each, cases in rising order, and in each case the most probable first."""

    case: Ints
    sets: Sets
    codes: Ints
    log_p: Floats  # under independent labels
    cases: int

    @property
    def counts(self) -> Ints:
        """How many sets each case has."""
        return np.bincount(self.case, minlength=self.cases)

    @property
    def starts(self) -> Ints:
        """Where the sets of each case begin."""
        counts = self.counts
        return np.cumsum(counts) - counts


def find_candidates(space: LabelSets, p: Floats, count: int, known: TrainingSets | None) -> Candidates:
    """The `count` most probable sets of each case, and as many of the training sets, each once."""
    lists = best_sets(p, count, space)
    case, sets = np.repeat(np.arange(len(p)), lists.sizes), decoded(as_set_lists(lists)[1], lists.classes)
    if known is not None:
        rows, which = _probable_training_sets(p, known, count)
        case, sets = np.concatenate((case, rows)), Sets.join([sets, known.sets.take(which)])
    codes, log_p = space.encode(sets), _log_p(p, case, sets)
    order = np.lexsort((codes, case))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (case[order][1:] != case[order][:-1]) | (codes[order][1:] != codes[order][:-1])
    order = order[new]
    order = order[np.lexsort((codes[order], -log_p[order], case[order]))]
    return Candidates(case[order], sets.take(order), codes[order], log_p[order], len(p))


def _probable_training_sets(p: Floats, known: TrainingSets, count: int) -> tuple[Ints, Ints]:
    """For each case the most probable of the training sets: cases, and places among these sets."""
    most, step = min(count, len(known.sets)), max(1, _ENTRIES // len(known.sets))
    which = np.empty((len(p), most), np.int64)
    for at in range(0, len(p), step):
        log_p = support_log_scores(p[at : at + step], known.sets)
        which[at : at + step] = kernel.select(np.ascontiguousarray(log_p), most)[0]
    return np.repeat(np.arange(len(p)), most), which.ravel()


def _log_p(p: Floats, case: Ints, sets: Sets) -> Floats:
    """sum_in log p + sum_out log(1 - p)."""
    log_in, log_out = np.log(p), np.log1p(-p)
    row, label = sets.rows, sets.labels
    gain = (log_in - log_out)[case[row], label]
    log_p: Floats = log_out.sum(axis=1)[case] + np.bincount(row, weights=gain, minlength=len(sets))
    return log_p


def describe(p: Floats, candidates: Candidates, known: TrainingSets, labels: Ints) -> Rows:
    """A row per candidate, with columns of their own for some labels, by their places."""
    own = len(SUMMARIES)
    out = np.empty((len(candidates.case), own + 2 * len(labels)), np.float32)
    _summarize(out, p, candidates, known)
    step = max(1, _ENTRIES_FEATURES // p.shape[1])
    for first in range(0, len(out), step):
        here = slice(first, first + step)
        held = candidates.sets.take(here).indicators()
        marginal = p[candidates.case[here]]
        out[here, own - 1] = np.where(held, 0.0, marginal).max(axis=1)
        out[here, own : own + len(labels)] = held[:, labels]
        out[here, own + len(labels) :] = marginal[:, labels]
    return out


def monotone(columns: int) -> list[int]:
    """The direction of each column, 0 where it may go either way."""
    return [1 if at in RISING else -1 if at in FALLING else 0 for at in range(columns)]


def _summarize(out: Rows, p: Floats, candidates: Candidates, known: TrainingSets) -> None:
    case, sets, starts = candidates.case, candidates.sets, candidates.starts
    inside = np.log(p)[case[sets.rows], sets.labels]
    size, filled = sets.sizes, sets.sizes > 0
    least, mean = np.zeros(len(case)), np.zeros(len(case))
    if filled.any():
        begin = sets.offsets[:-1][filled]
        least[filled] = np.minimum.reduceat(inside, begin)
        mean[filled] = np.add.reduceat(inside, begin) / size[filled]
    out[:, 0] = candidates.log_p
    out[:, 1] = candidates.log_p[starts][case] - candidates.log_p
    out[:, 2] = np.arange(len(case)) - starts[case]
    out[:, 3] = np.log((known.count(candidates.codes) + 0.5) / (known.cases + 1))
    out[:, 4] = size
    out[:, 5] = size - p.sum(axis=1)[case]
    out[:, 6], out[:, 7] = least, mean


def fit_boosters(
    booster: Any, rows: Rows, true: Bools, fold: Ints, *, rng: np.random.RandomState, n_jobs: int | None
) -> list[Any]:
    """A classifier for each fold, fitted to the other folds until the score of this one gets worse.

    `fold` is that of a row's case, so that no case is on both sides. A user's classifier is fitted to the other folds
    as well, without that stop.
    """
    if true.all() or not true.any():
        return [Constant.of(true)]
    fitted = []
    for held_out in range(int(fold.max()) + 1):
        there, seed = fold == held_out, int(rng.randint(np.iinfo(np.int32).max))
        known = true[~there]
        if known.all() or not known.any():
            fitted.append(Constant.of(known))
        elif not isinstance(booster, str):
            fitted.append(seeded(booster, rng).fit(rows[~there], known.astype(np.int64)))
        else:
            fitted.append(BOOSTERS[booster](rows[~there], known, rows[there], true[there], seed, n_jobs))
    return fitted


def mean_probability(fitted: Sequence[Any], rows: Rows) -> Floats:
    """The mean probability that a row is the true set."""
    each = [one(rows) if isinstance(one, Constant) else one.predict_proba(rows)[:, 1] for one in fitted]
    return np.asarray(np.mean(each, axis=0), dtype=np.float64)


def out_of_fold_probability(fitted: Sequence[Any], rows: Rows, fold: Ints) -> Floats:
    """The probability that a row is the true set, by the classifier that was fitted to the other folds."""
    if len(fitted) == 1:
        return mean_probability(fitted, rows)
    out = np.empty(len(rows))
    for held_out, one in enumerate(fitted):
        there = fold == held_out
        if there.any():
            out[there] = mean_probability([one], rows[there])
    return out


def require_booster(booster: Any) -> None:
    """Raise if there is no such booster."""
    if isinstance(booster, str):
        if booster not in BOOSTERS:
            raise TopListError(f"the booster is {' or '.join(map(repr, BOOSTERS))} or a classifier, not {booster!r}.")
        if booster == "lightgbm":
            _lightgbm()
    else:
        require_proba(booster)


def _hist(rows: Rows, true: Bools, later: Rows, truth: Bools, seed: int, _: int | None) -> Any:
    model = HistGradientBoostingClassifier(
        learning_rate=RATE,
        max_iter=ROUNDS,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=_smallest(rows),
        l2_regularization=RIDGE,
        monotonic_cst=monotone(rows.shape[1]),
        early_stopping=True,
        n_iter_no_change=PATIENCE,
        random_state=seed,
    )
    return model.fit(rows, true, X_val=later, y_val=truth)


def _light(rows: Rows, true: Bools, later: Rows, truth: Bools, seed: int, n_jobs: int | None) -> Any:
    lightgbm = _lightgbm()
    model = lightgbm.LGBMClassifier(
        learning_rate=RATE,
        n_estimators=ROUNDS,
        num_leaves=LEAVES,
        min_child_samples=_smallest(rows),
        reg_lambda=RIDGE,
        monotone_constraints=monotone(rows.shape[1]),
        deterministic=True,
        force_row_wise=True,
        verbosity=-1,
        random_state=seed,
        n_jobs=n_jobs,
    )
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    new = "eval_X" in signature(model.fit).parameters
    watched = {"eval_X": later, "eval_y": truth} if new else {"eval_set": [(later, truth)]}
    return model.fit(rows, true, **watched, callbacks=[stop])


BOOSTERS: Mapping[str, Callable[..., Any]] = {"hist": _hist, "lightgbm": _light}


def _smallest(rows: Rows) -> int:
    """The fewest rows of a leaf: 50, and fewer where there are few."""
    return min(50, 1 + len(rows) // 20)


def _lightgbm() -> Any:
    try:
        return import_module("lightgbm")
    except ImportError:
        raise TopListError('booster="lightgbm" needs LightGBM: pip install lightgbm, or take booster="hist".') from None


@dataclass(frozen=True, slots=True)
class FoldModel:
    """How candidates of a case are found, and turned into rows of features."""

    space: LabelSets
    calibration: str | None
    count: int
    support: bool
    labels: Ints  # those with columns of their own
    low: float  # marginals are taken between this and one minus it, so that they have logarithms

    @classmethod
    def of(cls, space: LabelSets, Y: Bools, *, calibration: str | None, count: int, support: bool) -> FoldModel:
        """From training cases; a marginal is at least half a case among them away from 0 and 1."""
        frequent = np.argsort(-Y.sum(axis=0), kind="stable")[:_COLUMNS]
        return cls(space, calibration, count, support, np.sort(frequent), 0.5 / (len(Y) + 1))

    def inside(self, p: Floats) -> Floats:
        """Marginals that have logarithms."""
        return np.clip(p, self.low, 1 - self.low)

    def rows(self, p: Floats, known: TrainingSets) -> tuple[Candidates, Rows]:
        """The candidates of cases with these marginals, and a row of features for each."""
        found = find_candidates(self.space, p, self.count, known if self.support else None)
        return found, describe(p, found, known, self.labels)


@dataclass(frozen=True, slots=True)
class Examples:
    """A row per candidate, whether it is the true set of its case, and which case that is."""

    rows: Rows
    true: Bools
    case: Ints


def cross_fitted(model: FoldModel, scores: Floats, twice: Sequence[Floats], Y: Bools, fold: Ints) -> Examples:
    """Candidates of each case from classifiers, calibrators, training sets and frequencies of the other folds.

    `scores` are out of one fold, and `twice[f]`, to which the calibrators for fold f are fitted, out of that one, too:
    no row of a case depends on its labels.
    """
    codes, parts = model.space.encode(Y), []
    for held_out in range(int(fold.max()) + 1):
        there = np.flatnonzero(fold == held_out)
        others = fold != held_out
        calibrators = fit_calibrators(model.calibration, twice[held_out][others], Y[others])
        p = model.inside(calibrate(calibrators, scores[there]))
        found, rows = model.rows(p, TrainingSets.of(model.space, Y[others]))
        case = there[found.case]
        parts.append((rows, codes[case] == found.codes, case))
    return Examples(*map(np.concatenate, zip(*parts, strict=True)))


def missed_share(shown: Examples, p: Floats, cases: int) -> float:
    """The share of cases whose true set is no candidate, where the probabilities of the candidates have a large sum.

    That is more than one, or as much as in the highest tenth of the cases: (missed + 1/2) / (cases + 1) of them.
    """
    total = np.bincount(shown.case, weights=p, minlength=cases)
    hit = np.bincount(shown.case, weights=shown.true, minlength=cases) > 0
    much = total >= min(1.0, float(np.quantile(total, 0.9)))
    return float((np.count_nonzero(much & ~hit) + 0.5) / (np.count_nonzero(much) + 1))


class Reranker(SetClassifier):
    """BR-rerank: candidate sets of binary relevance, with probabilities by boosted classifiers.

    1. A classifier per label (`estimator`) and a calibrator per label, as in `BinaryRelevance`.
    2. The `candidates` most probable sets of a case under independent labels and, with `support`, as many of the sets
       that occur in training.
    3. A boosted classifier of whether a candidate is the true set: from its probability under independent labels, in
       which it is monotone, its frequency in training, its size, its labels, and the marginals.
    4. Its probabilities, divided by their sum where that is too large, and the largest valid sublist. The sets that are
       no candidates keep as much as their share was among the training cases with such sums, cross-fitted.

    The third step is fitted to what it will get later: the marginals of a training case come from classifiers and
    calibrators that were fitted to other folds, and its candidates and their frequencies from the other folds. In
    `predict_proba` the labels of sets that are no candidates are as probable as under the first step.

    Parameters
    ----------
    estimator, calibration, cv
        As in `BinaryRelevance`; `calibration` is "beta" by default.
    booster : {"hist", "lightgbm"} or classifier, default "hist"
        scikit-learn's, LightGBM's, or any classifier with `predict_proba`. It is fitted once per fold, the first two
        until the score of the fold gets worse, and averaged.
    candidates : int, default 30
        How many sets of each kind are candidates.
    support : bool, default True
        Whether sets that occur in training are candidates.
    decision : {"mode", "f1", "hamming"}, default "mode"
        What `predict` takes from a list: the most probable set, the best for instance F1, the labels more probable
        than not.
    k : int, default 10
        The length of the lists.
    empty : bool, default True
        Whether the empty set is a class.
    n_jobs : int, optional
        How many labels are fitted at once.
    random_state : int or RandomState, optional
        With it every random part has a seed.

    References
    ----------
    Li, Pavlu, Aslam, Wang and Qin (2020), Learning to calibrate and rerank multi-label predictions, ECML PKDD 2019.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = [[i % 4] for i in range(24)], [[1, 0], [1, 0], [1, 1], [0, 1]] * 6
    >>> Reranker(booster=LogisticRegression(), candidates=2, cv=3, random_state=0).fit(X, Y).predict([[0]])
    array([[1, 0]])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        calibration: str | None = "beta",
        booster: Any = "hist",
        candidates: int = 30,
        support: bool = True,
        cv: Any = 5,
        decision: str = "mode",
        k: int = 10,
        empty: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.calibration = calibration
        self.booster = booster
        self.candidates = candidates
        self.support = support
        self.cv = cv
        self.decision = decision
        self.k = k
        self.empty = empty
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, X: Any, targets: Targets) -> None:
        require_calibration(self.calibration)
        require_booster(self.booster)
        as_whole(self.candidates, "candidates", 1)
        learner, y = self._learner(), targets.matrix
        require_scores(learner, self.calibration)
        rng, seeds = self._random()
        fold = assign_folds(self.cv, X, y, rng)
        scores = out_of_fold(learner, X, y, fold, rng=seeds, n_jobs=self.n_jobs)
        self.fold_model_ = FoldModel.of(
            self.space_, y, calibration=self.calibration, count=self.candidates, support=self.support
        )
        twice = [scores] * (int(fold.max()) + 1)
        if self.calibration is not None:
            twice = out_of_two_folds(learner, X, y, fold, rng=seeds, n_jobs=self.n_jobs)
        shown = cross_fitted(self.fold_model_, scores, twice, y, fold)
        folds = fold[shown.case]
        self.boosters_ = fit_boosters(self.booster, shown.rows, shown.true, folds, rng=rng, n_jobs=self.n_jobs)
        self.missed_ = missed_share(shown, out_of_fold_probability(self.boosters_, shown.rows, folds), len(y))
        self.training_sets_ = TrainingSets.of(self.space_, y)
        self.calibrators_ = fit_calibrators(self.calibration, scores, y)
        self.estimators_ = fit_labels(learner, X, y, rng=seeds, n_jobs=self.n_jobs)

    def _labels(self, X: Any) -> Floats:
        scores = score_labels(self.estimators_, X, n_jobs=self.n_jobs)
        return self.fold_model_.inside(calibrate(self.calibrators_, scores))

    def _weigh(self, p: Floats) -> TopLists:
        """All candidates of cases with these marginals, as valid lists."""
        found, rows = self.fold_model_.rows(p, self.training_sets_)
        return _as_lists(self.space_, found, mean_probability(self.boosters_, rows), self.missed_).valid()

    def _lists(self, X: Any, k: int) -> TopLists:
        return self._weigh(self._labels(X)).truncate(k)

    def _marginals(self, X: Any) -> Floats:
        p = self._labels(X)
        return listed_marginals(self._weigh(p), p if self.empty else given_not_empty(p))


def _as_lists(space: LabelSets, found: Candidates, p: Floats, missed: float) -> TopLists:
    """Lists in falling order, their masses at most 1 - `missed`, or one, where every set of the space is a candidate.

    A case whose candidates all have probability zero keeps what they have under independent labels.
    """
    total = np.bincount(found.case, weights=p, minlength=found.cases)
    p = np.where(total[found.case] > 0, p, np.exp(found.log_p))
    total = np.bincount(found.case, weights=p, minlength=found.cases)
    divisor = np.where(found.counts == space.size, total, np.maximum(total / (1.0 - missed), 1.0))
    order = np.lexsort((-p, found.case))
    order = order[p[order] > 0]
    offsets = offsets_of(np.bincount(found.case[order], minlength=found.cases))
    log_p = np.log(p[order]) - np.log(divisor)[found.case[order]]
    return lists_of_sets(space, offsets, found.sets.take(order), log_p)
