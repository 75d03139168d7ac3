"""Scores of logits against float64: what both paths, in plain torch and by kernels, must show."""

from __future__ import annotations

import numpy as np
import pytest

from tests.integrations.torch.logit_cases import RULES, made, oracle
from toplist.integrations.torch import scores_from_logits
from toplist.integrations.torch.streaming import StreamedScores
from toplist.scoring.rules.standard import as_rule, name_of

CASES = [(10, (1, 3)), (1000, (1, 2, 5)), (1000, (20,)), (2049, (1, 20)), (9001, (1, 5, 20)), (5000, (100,))]
RELATIVE, ABSOLUTE = 1e-5, 1e-30  # float32 has no smaller squares


def agree(
    kind: str, dtype: str, width: int, ks: tuple[int, ...], *, rows: int, device: str, relative: float = RELATIVE
) -> None:
    """`agree_on` logits of a kind."""
    agree_on(*made(kind, rows, width), dtype, ks, device=device, relative=relative)


def agree_on(
    x: np.ndarray, y: np.ndarray, dtype: str, ks: tuple[int, ...], *, device: str, relative: float = RELATIVE
) -> None:
    """Lists and ranks are equal, log probabilities and scores are within 1e-5, of these very logits."""
    import torch

    given = torch.from_numpy(x).to(device=device, dtype=getattr(torch, dtype))
    found = scores_from_logits(given, torch.from_numpy(y).to(device), ks=ks, rules=RULES)
    known = oracle(given.double().cpu().numpy(), y, ks)
    np.testing.assert_array_equal(found.lists.classes.cpu(), known["classes"])
    np.testing.assert_array_equal(found.rank.cpu(), known["rank"])
    near = {"rtol": 1e-9 if dtype == "float64" else relative, "atol": ABSOLUTE}
    np.testing.assert_allclose(found.lists.log_confidences.cpu(), known["logs"], **near)
    np.testing.assert_allclose(found.lists.log_rest.cpu(), known["log_rest"], **near)
    for rule in RULES:
        name, scores = name_of(as_rule(rule)), known[str(rule)]
        np.testing.assert_allclose(found.padded[name].cpu(), scores[:, :-1], **near, err_msg=name)
        np.testing.assert_allclose(found.full[name].cpu(), scores[:, -1], **near, err_msg=name)


def assert_alike(one: StreamedScores, other: StreamedScores) -> None:
    """The same cases, and the same means and errors but for the rounding of sums."""
    assert (one.cases, one.named.keys()) == (other.cases, other.named.keys())
    assert one.weight == pytest.approx(other.weight, rel=1e-14)
    for name, mean in one.named.items():
        want = other.named[name]
        assert mean.value == pytest.approx(want.value, rel=1e-14, nan_ok=True), name
        assert mean.error == (None if want.error is None else pytest.approx(want.error, rel=1e-11, abs=1e-15)), name
        assert mean.infinite == want.infinite, name
