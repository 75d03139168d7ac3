"""Few draws of every trial about calibration: claims hold within Monte Carlo error."""

from __future__ import annotations

import numpy as np
import pytest
from simulations import calibration
from simulations.calibration import TRIALS, Trial, run, run_at
from simulations.page import holds

from toplist.calibration import miscalibration

_FEW = 40


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.setting)
def test_what_claims_to_hold_holds(trial: Trial) -> None:
    """What falls short misses as often as something at 25% at most."""
    few = _FEW if trial.share > 0.05 else 4
    for method, row in zip(trial.methods, run(trial, round(few / trial.share), 1), strict=True):
        assert row.draws == few
        if method.expected == "holds":
            assert holds(row), row
        elif method.expected == "short":
            assert row.measured <= 0.25 + 3 * np.sqrt(0.25 * 0.75 / few), row


def test_a_test_without_a_least_covariance_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test above can fail: sharp lists, of which few clusters have a miss."""
    method = calibration.rejection("test over clusters")
    sharp = Trial("", lambda rng: calibration.clustered(rng, 10, "even", 0.8, sharpness=0.05, k=1), (method,), 1.0)
    assert holds(run(sharp, 200, 1)[0])
    monkeypatch.setattr(miscalibration, "_LEAST", 1e-6)
    monkeypatch.setattr(miscalibration, "_POOLED", 0.0)
    assert not holds(run(sharp, 200, 1)[0])


def test_a_trial_can_be_asked_for_by_its_place() -> None:
    assert run_at(13, 100, 3) == run(TRIALS[13], 100, 3)


def test_worlds_are_what_they_say() -> None:
    rng = np.random.default_rng(0)
    made = [calibration.clustered(rng, 30, "even", 0.3, sharpness=0.45, classes=4, k=4, power=2.5) for _ in range(60)]
    first = [world.lists.truncate(1) for world in made]
    promised = np.mean([one.normalized_confidences.mean() for one in first])
    kept = np.mean([(one.classes == world.y).mean() for one, world in zip(first, made, strict=True)])
    assert promised == pytest.approx(0.82, abs=0.02)
    assert kept == pytest.approx(0.61, abs=0.03)
    assert promised - kept == pytest.approx(made[0].truth, abs=0.02)
    assert calibration.sizes_of("one giant", 5, rng).tolist() == [40, 10, 10, 10, 10]
    shared = [calibration.luck(rng, np.repeat(np.arange(500), 2), 0.8).reshape(500, 2) for _ in range(4)]
    assert 0.7 < np.corrcoef(np.concatenate(shared).T)[0, 1] < 0.85
