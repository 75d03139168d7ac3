"""One classifier per label, and how to ask them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from toplist.errors import TopListError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Constant:
    """A label that all training cases have, or none: (successes + 1/2) / (cases + 1), whatever is asked."""

    p: float

    @classmethod
    def of(cls, y: Bools) -> Constant:
        """The smoothed share of cases (Krichevsky and Trofimov, 1981): never quite 0 or 1."""
        return cls((float(y.sum()) + 0.5) / (len(y) + 1))

    def __call__(self, x: NDArray[Any]) -> Floats:
        """The same for every case."""
        return np.full(len(x), self.p)


def seeded(estimator: Any, rng: np.random.RandomState | None) -> Any:
    """A clone; with `rng`, every `random_state` in it that is None has a seed."""
    copy = clone(estimator)
    if rng is not None:
        missing = [key for key, value in sorted(copy.get_params().items()) if _is_seed(key) and value is None]
        copy.set_params(**{key: int(rng.randint(np.iinfo(np.int32).max)) for key in missing})
    return copy


def fit_labels(
    estimator: Any, X: Any, Y: Bools, *, rng: np.random.RandomState | None = None, n_jobs: int | None = None
) -> list[Any]:
    """A clone of the estimator for each column of Y, fitted to it; `Constant` where it does not vary."""
    copies = [seeded(estimator, rng) for _ in range(Y.shape[1])]
    fitted: list[Any] = Parallel(n_jobs=n_jobs)(
        delayed(_fit_label)(copy, X, Y[:, label]) for label, copy in enumerate(copies)
    )
    return fitted


def score_labels(models: Sequence[Any], X: Any, *, n_jobs: int | None = None) -> Floats:
    """The probability of each label by its classifier; 1 / (1 + exp(-margin)), where that has a margin alone."""
    columns = Parallel(n_jobs=n_jobs)(delayed(_score)(model, X) for model in models)
    return np.stack(columns, axis=1)


def require_scores(estimator: Any, calibration: str | None) -> None:
    """Raise if what the classifier says of a label is no probability, and will not become one."""
    kind = type(estimator).__name__
    if hasattr(estimator, "predict_proba"):
        return
    if not hasattr(estimator, "decision_function"):
        raise TopListError(f"{kind} has neither predict_proba nor decision_function.")
    if calibration is None:
        raise TopListError(f'{kind} has no predict_proba: calibrate its margins with calibration="isotonic" or "beta".')


def _is_seed(key: str) -> bool:
    return key == "random_state" or key.endswith("__random_state")


def _fit_label(estimator: Any, X: Any, y: Bools) -> Any:
    return Constant.of(y) if y.all() or not y.any() else estimator.fit(X, y.astype(np.int64))


def _score(model: Any, X: Any) -> Floats:
    if isinstance(model, Constant):
        return np.full(X.shape[0], model.p)
    says = model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else expit(model.decision_function(X))
    return np.asarray(says, dtype=np.float64)
