"""What is measured: scores of cut lists, and what lists that are longer than they should be gain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import toplist as tl

BETA = 0.9
RULE = f"topbeta:{BETA}"
NETWORKS = "CIFAR-10"
FILES = {
    NETWORKS: "cifar10_14nets.npz",
    "CIFAR-10, cross-validated": "cifar10_cleanlab.npz",
    "newsgroups": "news20_cleanlab.npz",
    "language id": "langid_py3langid_django.npz",
}
SEED = 0
TEMPERATURES = np.exp(np.linspace(np.log(0.25), np.log(4.0), 33))
_BELOW = 1e-9  # how far below the mass the first classes of a stretched list are
_Z = 1.96

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Predictions:
    """Distributions of one model, with outcomes."""

    data: str
    name: str
    p: Floats
    y: NDArray[np.int64]

    @property
    def lists(self) -> tl.TopLists:
        """The distributions as lists of all classes."""
        return tl.TopLists.from_proba(self.p)

    def powered(self, power: float) -> Predictions:
        """The same with every probability to a power, which is one over a temperature."""
        q = self.p**power
        return Predictions(self.data, self.name, q / q.sum(axis=1, keepdims=True), self.y)

    def recalibrated(self) -> tuple[Predictions, float]:
        """One half at the temperature that has the best Brier score of whole distributions on the other half."""
        first = np.random.default_rng(SEED).permutation(len(self.y)) < len(self.y) // 2
        learn, judge = (Predictions(self.data, self.name, self.p[at], self.y[at]) for at in (first, ~first))
        scores = [float(tl.score(one.lists, one.y).mean()) for one in (learn.powered(1 / t) for t in TEMPERATURES)]
        best = float(TEMPERATURES[int(np.argmin(scores))])
        return judge.powered(1 / best), best


def predictions(folder: Path) -> Iterator[Predictions]:
    """All models, data set by data set."""
    for data, file in FILES.items():
        with np.load(folder / file) as found:
            names = [name for name in found.files if name not in ("labels", "classes")]
            for name in names:
                p = found[name].astype(np.float64)
                own = name if data == NETWORKS else data
                yield Predictions(data, own, p / p.sum(axis=1, keepdims=True), found["labels"].astype(np.int64))


def measure(models: Sequence[Predictions]) -> dict[str, Any]:
    """All results."""
    networks = [one for one in models if one.data == NETWORKS]
    return {"board": board(networks), "stretched": [stretched(*one.recalibrated()) for one in models]}


def board(models: Sequence[Predictions]) -> dict[str, Any]:
    """Lists cut at the mass under both rules, and the pairs that the rules rank in opposite ways."""
    cut = {one.name: one.lists.truncate(mass=BETA) for one in models}
    found = tl.compare(cut, models[0].y, rules=[RULE, "brier"]).comparison
    rows = [
        {
            "name": row.name,
            "brier": row.scores["brier"].mean.value,
            "topbeta": row.scores[RULE].mean.value,
            "coverage": row.metrics["coverage"].value,
            "mass": row.metrics["mean_mass"].value,
            "length": row.metrics["mean_length"].value,
        }
        for row in found.overall.rows
    ]
    by_rule: dict[str, dict[frozenset[str], Any]] = {RULE: {}, "brier": {}}
    for pair in found.pairs:
        by_rule[pair.rule][frozenset((pair.a, pair.b))] = pair
    opposed = []
    for names, one in by_rule[RULE].items():
        other = by_rule["brier"][names]
        same = 1.0 if (one.a, one.b) == (other.a, other.b) else -1.0
        if one.difference.value * other.difference.value * same < 0:
            better, worse = (one.a, one.b) if one.difference.value < 0 else (one.b, one.a)
            opposed.append(
                {
                    "better": better,
                    "worse": worse,
                    "topbeta": abs(one.difference.value),
                    "topbeta_p": one.adjusted_p,
                    "brier": abs(other.difference.value),
                    "brier_p": other.adjusted_p,
                }
            )
    return {"rows": rows, "pairs": len(by_rule[RULE]), "opposed": opposed}


def stretched(model: Predictions, temperature: float = 1.0) -> dict[str, Any]:
    """Lists that name one class more than they should, where the model itself expects a better Brier score of them.

    All cases count: where nothing is gained the list is the true one.
    """
    p, n = model.p, len(model.y)
    order = np.argsort(-p, axis=1, kind="stable")
    down = np.take_along_axis(p, order, axis=1)
    m, true = p.shape[1], model.lists.truncate(mass=BETA)
    sizes = true.sizes
    rows: list[dict[int, float]] = []
    gains = 0
    for i in range(n):
        k = int(sizes[i])
        honest = down[i, :k]
        report = honest
        if k < m - 1:
            lowered = honest - (honest.sum() - BETA + _BELOW) / k
            longer = np.append(lowered, down[i, k])
            rest = (1.0 - longer.sum()) / (m - k - 1)
            fits = lowered[-1] >= down[i, k] >= rest and longer.sum() >= BETA
            if fits and _loss(down[i], longer) < _loss(down[i], honest) - 1e-12:
                report = longer
                gains += 1
        rows.append(dict(zip(order[i, : len(report)].tolist(), report.tolist(), strict=True)))
    other = tl.TopLists.from_dicts(rows, m)
    found: dict[str, Any] = {
        "data": model.data,
        "name": model.name,
        "temperature": temperature,
        "share": gains / n,
        "length": {"true": float(sizes.mean()), "stretched": float(other.sizes.mean())},
        "coverage": {"true": tl.coverage(true, model.y), "stretched": tl.coverage(other, model.y)},
    }
    for rule in ("brier", RULE):
        own = {"rule": rule}
        expected = tl.expected_score(other, p, **own) - tl.expected_score(true, p, **own)
        happened = tl.score(other, model.y, **own) - tl.score(true, model.y, **own)
        error = _Z * float(happened.std(ddof=1)) / n**0.5
        value = float(happened.mean())
        found["brier" if rule == "brier" else "topbeta"] = {
            "expected": float(expected.mean()),
            "happened": {"value": value, "low": value - error, "high": value + error},
        }
    return found


def _loss(p: Floats, t: Floats) -> float:
    """Expected padded Brier score of a list of the first classes, above that of the whole distribution."""
    k = len(t)
    rest = (1.0 - t.sum()) / max(len(p) - k, 1)
    return float(((p[:k] - t) ** 2).sum() + ((p[k:] - rest) ** 2).sum())
