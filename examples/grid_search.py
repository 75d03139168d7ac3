"""Model selection by the padded Brier score or by accuracy: which one chooses the better calibrated model?

A decision tree for the handwritten digits of scikit-learn, with leaves of at least 1 to 20 training cases.
`GridSearchCV` chooses their size twice on one half of the data: by accuracy, and by the padded Brier score of the three
most likely digits. Both choices are judged on the other half, for several splits: `python examples/grid_search.py`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.tree import DecisionTreeClassifier

import toplist as tl
from toplist.integrations.sklearn import padded_brier_scorer

K = 3
SPLITS = 20
LEAVES = [1, 2, 3, 5, 8, 13, 20]
ACCURACY, BRIER = "by accuracy", "by Brier score"
SCORING = {ACCURACY: "accuracy", BRIER: padded_brier_scorer(k=K)}


@dataclass(frozen=True)
class Choice:
    """What a criterion chose, and how that did on held-out data."""

    leaf: int
    score: float
    calibration_error: float
    accuracy: float


@dataclass(frozen=True)
class Split:
    """One split of the data: the two choices, and their comparison on held-out data."""

    choices: dict[str, Choice]
    board: tl.Leaderboard

    @property
    def interval(self) -> tuple[float, float]:
        """Of the paired difference of Brier scores, by Brier score minus by accuracy; zero for the same choice."""
        found = self.board.difference(BRIER, ACCURACY)
        return (0.0, 0.0) if found.low is None or found.high is None else (found.low, found.high)


def run(seed: int) -> Split:
    """Choose on one half of the digits, and judge on the other."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    tree = DecisionTreeClassifier(random_state=0)
    search = GridSearchCV(tree, {"min_samples_leaf": LEAVES}, scoring=SCORING, refit=False).fit(X_train, y_train)
    leaves, lists = {}, {}
    for criterion in SCORING:
        best = search.cv_results_["params"][int(np.argmax(search.cv_results_[f"mean_test_{criterion}"]))]
        model = clone(tree).set_params(**best).fit(X_train, y_train)
        leaves[criterion] = best["min_samples_leaf"]
        lists[criterion] = tl.TopLists.from_proba(model.predict_proba(X_test), k=K)
    board = tl.compare(lists, y_test, rules="brier")
    choices = {
        name: Choice(
            leaves[name],
            board[name].scores["brier"].mean.value,
            tl.calibration.calibration_error(lists[name], y_test).value,
            board[name].metrics["accuracy"].value,
        )
        for name in SCORING
    }
    return Split(choices, board)


def main(splits: int = SPLITS) -> list[Split]:
    """Print one comparison in full, and how often each choice was the better one."""
    found = [run(seed) for seed in range(splits)]
    pairs = [(one.choices[BRIER], one.choices[ACCURACY]) for one in found]
    print(f"The first of {splits} splits, on held-out data:\n")
    print(found[0].board.to_text(100))
    print(f"\nLeast cases of a leaf: {pairs[0][0].leaf} {BRIER}, {pairs[0][1].leaf} {ACCURACY}.")
    print(f"\nOf {splits} splits, the choice by Brier score has on held-out data")
    print(f"  the smaller Brier score in {sum(a.score < b.score for a, b in pairs)},", end=" ")
    print(f"significantly (paired 95% interval) in {sum(one.interval[1] < 0 for one in found)};")
    print(f"  the larger one in {sum(a.score > b.score for a, b in pairs)},", end=" ")
    print(f"significantly in {sum(one.interval[0] > 0 for one in found)};")
    print(f"  the smaller calibration error in {sum(a.calibration_error < b.calibration_error for a, b in pairs)};")
    print(f"  the smaller accuracy in {sum(a.accuracy < b.accuracy for a, b in pairs)}.")
    print(f"Both choices are the same in {sum(a.leaf == b.leaf for a, b in pairs)}.\n")
    for what in ("score", "calibration_error", "accuracy"):
        means = [np.mean([getattr(one, what) for one in side]) for side in zip(*pairs, strict=True)]
        print(f"mean {what.replace('_', ' '):<18} {means[0]:.4f} {BRIER}, {means[1]:.4f} {ACCURACY}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=SPLITS, help=f"splits of the data, {SPLITS} by default")
    main(parser.parse_args().splits)
