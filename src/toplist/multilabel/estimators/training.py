"""What a booster learns from: the candidates of training cases, as they would look to one who has not seen the case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toplist.labelsets import LabelSets
from toplist.multilabel.estimators.calibration import calibrate, fit_calibrators
from toplist.multilabel.estimators.candidates import Candidates, Ints, Seen, find_candidates
from toplist.multilabel.estimators.features import Rows, describe
from toplist.multilabel.estimators.labels import Bools, Floats

_COLUMNS = 64  # labels with columns of their own: the most frequent


@dataclass(frozen=True, slots=True)
class Way:
    """How candidates are found and described."""

    space: LabelSets
    calibration: str | None
    count: int
    support: bool
    labels: Ints  # those with columns of their own
    low: float  # marginals are taken between this and one minus it, so that they have logarithms

    @classmethod
    def of(cls, space: LabelSets, Y: Bools, *, calibration: str | None, count: int, support: bool) -> Way:
        """The way for some training cases; a marginal is at least half a case among them away from 0 and 1."""
        frequent = np.argsort(-Y.sum(axis=0), kind="stable")[:_COLUMNS]
        return cls(space, calibration, count, support, np.sort(frequent), 0.5 / (len(Y) + 1))

    def inside(self, p: Floats) -> Floats:
        """Marginals that have logarithms."""
        return np.clip(p, self.low, 1 - self.low)

    def rows(self, p: Floats, seen: Seen) -> tuple[Candidates, Rows]:
        """The candidates of cases with these marginals, and a row of features for each."""
        found = find_candidates(self.space, p, self.count, seen if self.support else None)
        return found, describe(p, found, seen, self.labels)


@dataclass(frozen=True, slots=True)
class Examples:
    """A row per candidate, whether it is the true set of its case, and which case that is."""

    rows: Rows
    true: Bools
    case: Ints


def cross_fitted(way: Way, scores: Floats, twice: Sequence[Floats], Y: Bools, fold: Ints) -> Examples:
    """Candidates of each case from classifiers, calibrators, seen sets and frequencies of the other folds.

    `scores` are out of one fold, and `twice[f]`, from which the calibrators for fold f learn, out of that one, too: no
    case has a say in what is shown of it.
    """
    codes, parts = way.space.encode(Y), []
    for held_out in range(int(fold.max()) + 1):
        there = np.flatnonzero(fold == held_out)
        others = fold != held_out
        calibrators = fit_calibrators(way.calibration, twice[held_out][others], Y[others])
        p = way.inside(calibrate(calibrators, scores[there]))
        found, rows = way.rows(p, Seen.of(way.space, Y[others]))
        case = there[found.case]
        parts.append(Examples(rows, codes[case] == found.codes, case))
    return Examples(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.true for part in parts]),
        np.concatenate([part.case for part in parts]),
    )


def missed_share(shown: Examples, p: Floats, cases: int) -> float:
    """How often the true set is no candidate, where the probabilities of the candidates add up to much.

    That is to more than one, or to as much as in the highest tenth of the cases: (missed + 1/2) / (cases + 1) of them.
    """
    total = np.bincount(shown.case, weights=p, minlength=cases)
    hit = np.bincount(shown.case, weights=shown.true, minlength=cases) > 0
    much = total >= min(1.0, float(np.quantile(total, 0.9)))
    return float((np.count_nonzero(much & ~hit) + 0.5) / (np.count_nonzero(much) + 1))
