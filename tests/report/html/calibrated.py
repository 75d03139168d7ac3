"""Models that are calibrated although they know different things, and how a report groups them."""

from __future__ import annotations

import numpy as np

import toplist as tl
from toplist.calibration.miscalibration import CalibrationVerdict
from toplist.evaluation.samples import calibration_verdict, sample_cases
from toplist.report import calibration_statements
from toplist.report.text import names


def world(n: int, models: int, seed: int, classes: int = 4) -> tuple[dict[str, tl.TopLists], np.ndarray]:
    """Outcomes of unknown chances, of which each model sees a sample: what it believes afterwards is true."""
    rng = np.random.default_rng(seed)
    prior = np.full(classes, 0.6)
    chances = rng.dirichlet(prior, size=n)
    y = (chances.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    seen = [np.array([rng.multinomial(2 + 5 * j, p) for p in chances]) for j in range(models)]
    lists = {
        f"m{j}": tl.TopLists.from_proba((prior + s) / (prior.sum() + s.sum(1)[:, None])) for j, s in enumerate(seen)
    }
    return lists, y


def judgements(lists: dict[str, tl.TopLists], y: np.ndarray) -> dict[str, CalibrationVerdict]:
    return {name: calibration_verdict(sample_cases(one, y), level=0.95) for name, one in lists.items()}


def said(found: dict[str, CalibrationVerdict]) -> str:
    """The models by direction, as a report names them."""
    groups = calibration_statements.calibration_groups(found, names(found))
    return " ".join(f"{direction}: {', '.join(who)}." for direction, who in groups)


def accuses(text: str) -> bool:
    return "Overconfident" in text or "Underconfident" in text
