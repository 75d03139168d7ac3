"""Few draws of every trial: claims hold within Monte Carlo error, and methods that assume too much are caught."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student
from simulations import worlds
from simulations.fixed import TRIALS, Trial, run, run_at
from simulations.methods import Method, needed
from simulations.page import holds, page, table
from simulations.rows import Row

from toplist.inference import intervals

DRAWS = 200
PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"


def told(trial: Trial, method: Method) -> list[str]:
    """The cells of the line in the documentation about this method."""
    begins = f"| {trial.setting} | {method.name} | {method.claim} |"
    (line,) = (line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(begins))
    return [cell.strip() for cell in line.strip("|").split("|")]


def measured(trial: Trial, method: Method) -> float:
    """How often it is wrong by the documentation."""
    return float(told(trial, method)[4].partition("%")[0]) / 100


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.setting)
def test_what_claims_to_hold_holds_and_what_is_known_to_fail_fails(trial: Trial) -> None:
    """What falls short errs no more often than the page of the documentation says, which has very many draws."""
    if any(what in trial.setting for what in ("resampled", "five")):
        pytest.importorskip("arch", reason="resampling in time comes with the extra 'report'")
    for method, row in zip(trial.methods, run(trial, DRAWS, 1), strict=True):
        if method.expected == "holds":
            assert holds(row), row
        elif method.expected == "fails":
            assert not holds(row), row
        else:
            rate = max(row.nominal, measured(trial, method))
            assert row.measured <= rate + 3 * math.sqrt(rate * (1 - rate) / row.draws), row


def test_intervals_that_are_too_short_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test above can fail: two thirds of the width miss more than three Monte Carlo errors too often."""
    trial = next(trial for trial in TRIALS if trial.setting == "independent, n = 100")
    assert all(map(holds, run(trial, DRAWS, 1)))
    plain = intervals.quantile
    monkeypatch.setattr(intervals, "quantile", lambda *at: 2 / 3 * plain(*at))
    assert not any(map(holds, run(trial, DRAWS, 1)))


def test_a_trial_has_draws_of_its_own() -> None:
    at = next(i for i, trial in enumerate(TRIALS) if trial.setting == "independent, n = 30")
    assert run_at(at, 20, 3) == run(TRIALS[at], 20, 3)
    assert len({trial.setting for trial in TRIALS}) == len(TRIALS)


@pytest.mark.parametrize("sizes", [None, 2, 9])
def test_the_true_means_of_forecasts_are_those_of_very_many(sizes: int | None) -> None:
    """The formula for the mean Brier score, against half a million of them."""
    rng, n = np.random.default_rng(1), 500_000
    known, blurred = worlds.forecasts(rng, n, sizes=None if sizes is None else np.full(n, sizes))
    for scores, mean in zip((known, blurred), worlds.expected(sizes or worlds.CLASSES), strict=True):
        assert abs(scores.mean() - mean) < 5 * scores.std() / math.sqrt(n)


def test_other_worlds_have_the_means_that_they_say() -> None:
    """Averages over many small worlds; the statistics of ratios are near what they estimate in large ones."""
    rng = np.random.default_rng(2)
    for make in (
        lambda: worlds.clustered(rng, 50),
        lambda: worlds.clustered(rng, 50, even=True),
        lambda: worlds.timed(rng, 200, "MA(4)"),
        lambda: worlds.timed(rng, 200, "AR(1) 0.5", cases=3),
        lambda: worlds.apart(rng, 200, 0.25),
    ):
        found = [make() for _ in range(300)]
        means = [float((w.scores[0] - w.scores[1]).mean()) for w in found]
        assert abs(np.mean(means) - found[0].truth["difference"]) < 5 * np.std(means) / math.sqrt(300)
    for kind in ("MA(4)", "AR(1) 0.5"):
        assert worlds.series(rng, 20_000, 1, kind).std() == pytest.approx(1, abs=0.05)
    large = worlds.rounds(rng, 200_000)
    both = ~np.isnan(large.scores[0]) & ~np.isnan(large.scores[3])
    ratio = large.scores[0, both].sum() / large.scores[3, both].sum()
    assert 1 - ratio == pytest.approx(large.truth["skill over another"], abs=0.02)
    assert worlds.rare(rng, 200_000).scores[0].mean() == pytest.approx(0.04, abs=0.003)
    wide = worlds.uneven(rng, 200_000)
    assert 1 - wide.scores[0].mean() / wide.empty.mean() == pytest.approx(wide.truth["skill"], abs=0.01)


def test_what_is_needed_is_what_the_formula_says() -> None:
    """The fewest cases whose mean is far enough from zero, by Student's quantiles."""
    for difference in (0.1, 0.25):
        n = np.arange(2, 2000)
        enough = difference * np.sqrt(n) >= student.ppf(0.975, n - 1) + student.ppf(0.8, n - 1)
        assert needed(difference) == n[enough][0]


def test_a_claim_holds_on_its_own_side() -> None:
    """An error rate may be too low, a power too high."""
    rate = Row("m", "s", "misses", 0.05, 0.05, 0.01, 1000)
    power = replace(rate, nominal=0.8)
    assert [holds(replace(rate, measured=x)) for x in (0.0, 0.05, 0.07, 0.072, 0.5)] == [True, True, True, False, False]
    assert [holds(replace(power, measured=x)) for x in (1.0, 0.8, 0.77, 0.75)] == [True, True, True, False]


def test_the_page_says_what_was_measured() -> None:
    """A line for each row; what does not hold in bold."""
    rows = [row for trial in TRIALS[:2] for row in run(trial, 10, 0)]
    odd = replace(rows[0], measured=0.5)
    counted = replace(rows[0], nominal=math.nan, measured=1234.0, error=5.0)
    text = table([*rows, odd, counted])
    assert text.count("\n") == len(rows) + 3
    assert "**50.0%**" in text
    assert "1,234 ± 5" in text
    assert "{" not in page(rows, [counted], seed=0)


def test_the_page_in_the_documentation_tells_of_every_trial() -> None:
    """With very many draws, what claims to hold holds there, and what is known to fail fails.

    It is written by `python -m simulations --write docs/coverage.md`.
    """
    for trial in TRIALS:
        for method in trial.methods:
            *_, verdict = line = told(trial, method)
            if method.expected != "short":
                assert (verdict == "holds") == (method.expected == "holds"), line
