"""From what a classifier says of a label to how often that is right: isotonic and beta calibration, label by label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from toplist.errors import TopListError
from toplist.improve.recalibration.betamap import fit_beta
from toplist.multilabel.estimators.labels import Bools, Constant, Floats

Calibrator = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Isotonic:
    """A rising step function of the score, with straight lines between the steps."""

    x: Floats
    y: Floats

    @classmethod
    def of(cls, score: Floats, y: Bools) -> Isotonic:
        """The isotonic regression of outcomes on scores, with a case of one half at either end of these.

        The plain regression says 0 below the first success and 1 above the last failure, after however few cases, and
        one wrong 0 makes a log score infinite. A case that is half a success and half a failure turns the lowest
        block, of n cases and s successes, into (s + 1/2) / (n + 1), the rule of Krichevsky and Trofimov, and so the
        highest; where that passes a block in between, the two become one, so that the function still rises.
        """
        model = IsotonicRegression(out_of_bounds="clip")
        model.fit(np.concatenate((score, [score.min(), score.max()])), np.concatenate((y, [0.5, 0.5])))
        return cls(model.X_thresholds_, model.y_thresholds_)

    def __call__(self, score: Floats) -> Floats:
        """The calibrated probabilities."""
        return np.interp(score, self.x, self.y)


def _isotonic(score: Floats, y: Bools) -> Calibrator:
    return Isotonic.of(score, y)


CALIBRATIONS: Mapping[str, Callable[[Floats, Bools], Calibrator]] = {"isotonic": _isotonic, "beta": fit_beta}


def require_calibration(kind: Any) -> None:
    """Raise if there is no such calibration."""
    if kind is not None and kind not in CALIBRATIONS:
        raise TopListError(f"calibration is None, {' or '.join(map(repr, CALIBRATIONS))}, not {kind!r}.")


def fit_calibrators(kind: str | None, scores: NDArray[Any], Y: Bools) -> list[Calibrator] | None:
    """A calibrator per label; None where scores are taken as they are."""
    if kind is None:
        return None
    fit = CALIBRATIONS[kind]
    return [
        fit(score, y) if y.any() and not y.all() else Constant.of(y)
        for score, y in zip(scores.T, Y.T, strict=True)
    ]  # fmt: skip


def calibrate(calibrators: Sequence[Calibrator] | None, scores: Floats) -> Floats:
    """The calibrated probability of each label."""
    if calibrators is None:
        return scores
    return np.stack([one(score) for one, score in zip(calibrators, scores.T, strict=True)], axis=1)
