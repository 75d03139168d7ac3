"""A small classifier trained by the padded Brier score of its top list, by the Brier score, and by cross-entropy.

The handwritten digits of scikit-learn, in two versions: as they are, and with a fifth of the training labels replaced
by random ones. Held-out labels are always the true ones: `python -m examples.accelerator classifier`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

import toplist as tl
from toplist.integrations.torch import lists_from_logits, score_loss

log = logging.getLogger(__name__)
K = 3
WRONG = (0.0, 0.2)
ENTROPY, BRIER, PADDED = "cross-entropy", "Brier", f"Brier of top {K}"
LOSSES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    ENTROPY: lambda logits, y: score_loss(logits, y, rule="log"),
    BRIER: lambda logits, y: score_loss(logits, y, rule="brier"),
    PADDED: lambda logits, y: score_loss(logits, y, rule="brier", k=K),
}


def fit(X: torch.Tensor, y: torch.Tensor, loss: str, epochs: int, seed: int) -> nn.Module:
    """A network with one hidden layer."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    draw = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for at in torch.randperm(len(y), generator=draw).split(64):
            optimizer.zero_grad()
            LOSSES[loss](model(X[at]), y[at]).backward()
            optimizer.step()
    return model.eval()


def compare(seed: int, wrong: float, epochs: int) -> tuple[tl.Leaderboard, dict[str, dict[str, float]]]:
    """Train on one half of the digits by each loss, and judge lists of K digits on the other."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=seed, stratify=y)
    rng = np.random.default_rng(seed)
    noisy = np.where(rng.random(len(y_train)) < wrong, rng.integers(0, 10, len(y_train)), y_train)
    train, test = torch.tensor(X_train, dtype=torch.float32), torch.tensor(X_test, dtype=torch.float32)
    lists = {}
    for loss in LOSSES:
        model = fit(train, torch.tensor(noisy), loss, epochs, seed)
        with torch.no_grad():
            lists[loss] = lists_from_logits(model(test).double(), K).to_lists(10)
    board = tl.compare(lists, y_test)
    found = {}
    for row in board:
        bias = tl.calibration.calibration_bias(lists[row.name], y_test)
        found[row.name] = {
            "brier": row.scores["brier"].mean.value,
            "log": row.scores["log"].mean.value,
            "accuracy": row.metrics["accuracy"].value,
            "bias": bias.difference,
        }
    return board, found


def run(*, splits: int = 10, epochs: int = 60) -> dict[str, Any]:
    """Several splits of both versions of the data."""
    return {f"{wrong:.0%}": _version(wrong, splits, epochs) for wrong in WRONG}


def _version(wrong: float, splits: int, epochs: int) -> dict[str, Any]:
    made = []
    for seed in range(splits):
        log.info("digits with %.0f %% of labels wrong: split %d of %d", 100 * wrong, seed + 1, splits)
        made.append(compare(seed, wrong, epochs))
    rows = []
    for loss in LOSSES:
        differences = [board.difference(loss, ENTROPY) for board, _ in made] if loss != ENTROPY else []
        rows.append(
            {
                "name": loss,
                **{what: float(np.mean([found[loss][what] for _, found in made])) for what in made[0][1][loss]},
                "better": sum(one.high is not None and one.high < 0 for one in differences),
                "worse": sum(one.low is not None and one.low > 0 for one in differences),
            }
        )
    return {"splits": splits, "rows": rows, "board": made[0][0].to_text(100)}
