"""A rule is one class: arrays, boards, torch and JAX score by its formula, without another word about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import toplist as tl
from toplist.core.array_api import CaseStatistics
from toplist.scoring.rules.base import PowerExcess, Powers, SumRule

LOGITS = np.array([[2.0, 0.5, -1.0, 0.0], [0.0, 0.25, 3.0, -2.0], [-0.5, 0.0, 0.125, 8.0]])
OUTCOMES = np.array([0, 1, 3])
DISTRIBUTIONS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)


@dataclass(frozen=True, slots=True)
class Cubic(SumRule):
    """The power score with the exponent 3, written by someone who does not know `Power`."""

    name: ClassVar[str] = "cubic"
    sum: ClassVar[Powers] = Powers(3.0)
    entropy_sum: ClassVar[PowerExcess] = PowerExcess(3.0)

    def score(self, m: CaseStatistics, others: Any) -> Any:
        """(1 - 3 q**2 + 2 q**3) / 2 + others."""
        return m.miss * m.miss * (0.5 + m.outcome) + others

    def entropy(self, m: CaseStatistics, total: Any) -> Any:
        """(1 - sum of cubes) / 2."""
        return -0.5 * total


def test_a_board_has_a_column_of_a_new_rule() -> None:
    rules = [Cubic(), tl.Power(3.0)]
    board = tl.compare({"a": DISTRIBUTIONS, "b": DISTRIBUTIONS[:, ::-1]}, OUTCOMES, rules=rules)
    for row in board:
        scores = {rule: score.mean.value for rule, score in row.scores.items()}
        assert scores["Cubic()"] == pytest.approx(scores["Power(a=3.0)"], abs=1e-15)
    assert "Cubic()" in board.to_csv()
    entropies = [tl.entropy(DISTRIBUTIONS, rule=rule) for rule in rules]
    np.testing.assert_allclose(*entropies, rtol=1e-14)


def test_torch_scores_and_learns_by_a_new_rule() -> None:
    torch = pytest.importorskip("torch")
    from toplist.integrations.torch import score_loss, scores_from_logits

    y = torch.tensor(OUTCOMES)
    scores = scores_from_logits(torch.tensor(LOGITS), y, ks=(2,), rules=(Cubic(), tl.Power(3.0)))
    np.testing.assert_allclose(scores.padded["Cubic()"], scores.padded["Power(a=3.0)"], rtol=1e-13)
    np.testing.assert_allclose(scores.full["Cubic()"], tl.score(DISTRIBUTIONS, OUTCOMES, rule=Cubic()), rtol=1e-13)
    for k in (None, 2):
        gradients = []
        for rule in (Cubic(), tl.Power(3.0)):
            logits = torch.tensor(LOGITS, requires_grad=True)
            score_loss(logits, y, rule=rule, k=k).backward()
            gradients.append(logits.grad.numpy())
        np.testing.assert_allclose(*gradients, atol=1e-14)


def test_jax_scores_and_learns_by_a_new_rule() -> None:
    jax = pytest.importorskip("jax")
    from toplist.integrations.jax import score_loss, scores_from_logits

    logits, y = jax.numpy.asarray(LOGITS, "float32"), jax.numpy.asarray(OUTCOMES)
    scores = scores_from_logits(logits, y, ks=(2,), rules=(Cubic(),))
    np.testing.assert_allclose(scores.full["Cubic()"], tl.score(DISTRIBUTIONS, OUTCOMES, rule=Cubic()), rtol=1e-5)
    gradients = [
        jax.jit(jax.grad(lambda x, rule=rule: score_loss(x, y, rule=rule)))(logits) for rule in (Cubic(), tl.Power(3.0))
    ]
    np.testing.assert_allclose(*gradients, atol=1e-6)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_what_a_new_rule_has_no_formula_for_is_refused(library: str) -> None:
    """No divergence, and no mean over all outcomes, is guessed from its exponent."""
    xp = pytest.importorskip("torch" if library == "torch" else "jax.numpy")
    module = pytest.importorskip(f"toplist.integrations.{library}")
    asarray = xp.tensor if library == "torch" else xp.asarray
    logits, y = asarray(LOGITS), asarray(OUTCOMES)
    with pytest.raises(tl.RuleError, match="no closed form for label smoothing"):
        module.score_loss(logits, y, rule=Cubic(), label_smoothing=0.1)
    with pytest.raises(tl.RuleError, match="no divergence"):
        module.list_divergence(y[:, None], 0.0 * logits[:, :1] - 0.5, logits, rule=Cubic())
