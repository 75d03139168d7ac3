"""Few draws of some trials, and the page of all: claims hold within Monte Carlo error or come with a warning."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student
from simulations import calibration, worlds
from simulations.fixed import TRIALS, Trial, run, run_at
from simulations.methods import Claim, Method, interval, needed, shares, side
from simulations.page import holds, page, promised, quiet, table, verdict, warns
from simulations.rows import Row

import toplist as tl
from toplist.inference.results import Estimate

DRAWS = 100
PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
SOME = (  # of every kind
    "Brier scores of forecasts, n = 100",
    "normal, n = 10",
    "log-normal(1), n = 20",
    "log, accuracy 0.995, rest 0.0001 or 0.01, n = 200",
    "1 case holds half, normal, n = 50",
    "10 clusters, one with half of all cases, normal",
    "100 clusters, 2 to 20, skewed",
    "AR(1) 0.5, n = 300",
    "AR(1) 0.95, n = 100",
    "50 places x 30 weeks, both 0.3, AR 0.5",
    "5 equal models, AR(1) 0.8, n = 100",
    "5 equal models in 10 groups of 50",
    "difference of 0.25, n = 128 by extra_units",
)


def named(setting: str) -> Trial:
    """The trial of this setting."""
    return next(trial for trial in TRIALS if trial.setting == setting)


def claims(trial: Trial) -> Iterator[tuple[Method, Claim]]:
    """In the order of the rows."""
    return ((method, claim) for method in trial.methods for claim in method.claims)


def told(trial: Trial, method: Method, claim: Claim) -> Row:
    """What the page of the documentation says about this claim."""
    begins = f"| {trial.setting} | {method.label(claim)} | {claim.text} |"
    (line,) = (line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(begins))
    *_, nominal, measured, below, above, warned, draws, _ = (cell.strip() for cell in line.strip("|").split("|"))
    assert nominal == f"{claim.nominal:.1%}".replace(".0%", "%")
    rate, error = map(_number, measured.split("±"))
    sides = [_number(cell) if cell else None for cell in (below, above, warned)]
    return Row(
        method.label(claim),
        trial.setting,
        claim.text,
        claim.nominal,
        rate,
        error,
        int(draws.replace(",", "")),
        below=sides[0],
        above=sides[1],
        warned=sides[2],
    )


def _number(cell: str) -> float:
    return float(cell.strip().rstrip("%")) / 100


def check(trial: Trial, method: Method, claim: Claim, row: Row) -> None:
    """What is expected of a claim is so in this row."""
    expected = method.expectation(claim)
    if expected == "promised":
        assert promised(row), row
    elif expected == "holds":
        assert holds(row), row
    elif expected == "fails":
        assert not holds(row), row
    if trial.harmless and method.name == "default":
        assert quiet(row), row


@pytest.mark.parametrize("setting", SOME)
def test_what_claims_to_hold_holds_or_warns_and_what_is_known_to_fail_fails(setting: str) -> None:
    """What falls short errs no more often than the page of the documentation says, which has very many draws."""
    trial = named(setting)
    for (method, claim), row in zip(claims(trial), run(trial, round(DRAWS / trial.share), 1), strict=True):
        check(trial, method, claim, row)
        if method.expectation(claim) == "short":
            rate = max(row.nominal, told(trial, method, claim).measured)
            assert row.measured <= rate + 3 * math.sqrt(rate * (1 - rate) / row.draws), row


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.setting)
def test_the_page_in_the_documentation_tells_of_every_trial(trial: Trial) -> None:
    """With very many draws every claim is there as it is expected, and default methods keep what is promised.

    It is written by `python -m simulations --write docs/coverage.md`.
    """
    for method, claim in claims(trial):
        check(trial, method, claim, told(trial, method, claim))


def test_no_page_tells_of_a_trial_that_is_gone() -> None:
    known = {trial.setting for trial in (*TRIALS, *calibration.TRIALS)}
    text = PAGE.read_text(encoding="utf-8").partition("## Looking after every case")[0]
    lines = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    assert set(lines) - {"setting", "---"} == known


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.setting)
def test_every_trial_runs(trial: Trial) -> None:
    """One draw of each, with an answer to every claim."""
    rows = run(trial, 1, 0)
    assert len(rows) == len(list(claims(trial)))
    assert all(row.measured in (0.0, 1.0) for row in rows)


def test_intervals_that_are_too_short_are_noticed() -> None:
    """So that the tests above can fail: intervals at 80% miss more than three Monte Carlo errors too often."""
    trial = replace(
        named("Brier scores of forecasts, n = 100"),
        methods=(Method("short", (interval(), interval("mean")), tl.Inference(level=0.8)),),
    )
    assert not any(holds(row) or promised(row) for row in run(trial, DRAWS, 1))


def test_a_trial_has_draws_of_its_own() -> None:
    at = TRIALS.index(named("normal, n = 30"))
    assert run_at(at, 20, 3) == run(TRIALS[at], 20, 3)
    assert len({trial.setting for trial in TRIALS}) == len(TRIALS)


# Worlds


@pytest.mark.parametrize("sizes", [None, 2, 9])
def test_the_true_means_of_forecasts_are_those_of_very_many(sizes: int | None) -> None:
    """The formula for the mean Brier score, against half a million of them."""
    rng, n = np.random.default_rng(1), 500_000
    known, blurred, y = worlds.forecasts(rng, n, sizes=None if sizes is None else np.full(n, sizes))
    for p, mean in zip((known, blurred), worlds.expected(sizes or worlds.CLASSES), strict=True):
        scores = 1 - 2 * p[np.arange(n), y] + (p * p).sum(axis=1)
        assert abs(scores.mean() - mean) < 5 * scores.std() / math.sqrt(n)


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: worlds.apart(rng, 200, 0.25),
        lambda rng: worlds.skewed(rng, 200, "log-normal(1)"),
        lambda rng: worlds.clustered(rng, 50),
        lambda rng: worlds.clustered(rng, 20, "even", "normal"),
        lambda rng: worlds.timed(rng, 200, "MA(4)"),
        lambda rng: worlds.timed(rng, 200, "AR(1) 0.5", cases=3),
        lambda rng: worlds.crossed(rng, 20, 20, 0.3, 0.3, 0.5),
        lambda rng: worlds.equals(rng, 100, 3, behind=[0.3, 0.0, 0.1]),
        lambda rng: worlds.independent(rng, 200),
    ],
)
def test_worlds_have_the_difference_that_they_say(make: Callable[[worlds.Rng], worlds.World]) -> None:
    """The scores that a comparison sees, averaged over many data sets."""
    rng, found = np.random.default_rng(2), []
    for _ in range(60):
        world = make(rng)
        scores = world.compare("t", without=tuple(world.about)).scores
        found.append(float((scores["m00"][world.rule] - scores["m01"][world.rule]).mean()))
    assert abs(np.mean(found) - (world.means[0] - world.means[1])) < 5 * np.std(found) / math.sqrt(len(found))


@pytest.mark.parametrize(
    "make",
    [
        lambda rng, n: worlds.overconfident(rng, n, 0.97, (1e-3, 0.05)),
        lambda rng, n: worlds.never(rng, n, 0.02),
        lambda rng, n: worlds.hard(rng, n, 0.05),
        worlds.logarithmic,
    ],
)
def test_rare_losses_have_the_means_that_are_claimed(make: Callable[[worlds.Rng, int], worlds.World]) -> None:
    """Against two hundred thousand cases."""
    world = make(np.random.default_rng(3), 200_000)
    scores = world.compare().scores
    for name, mean in zip(world.models, world.means, strict=True):
        own = scores[name][world.rule]
        assert abs(own.mean() - mean) < 5 * own.std() / math.sqrt(len(own)) + 2e-4


def test_scores_in_time_have_variance_one_and_the_autocorrelation_that_is_named() -> None:
    rng = np.random.default_rng(4)
    for kind, lag, rho in (
        ("AR(1) 0.5", 1, 0.5),
        ("AR(1) 0.8", 1, 0.8),
        ("AR(1) 0.8, skewed", 1, 0.8),
        ("seasonal AR 0.8", 12, 0.8),
        ("MA(4)", 1, 0.8),
    ):
        x = worlds.series(rng, 500, 400, kind)
        assert x.std() == pytest.approx(1, abs=0.05)
        assert x[:, 0].std() == pytest.approx(1, abs=0.15)
        assert (x[:, lag:] * x[:, :-lag]).mean() == pytest.approx(rho, abs=0.05)


def test_relative_skill_and_skill_are_those_of_large_worlds() -> None:
    rng = np.random.default_rng(5)
    world = worlds.rounds(rng, 20_000)
    scores = world.compare()["m00"].scores["log"]
    assert scores.relative is not None
    assert scores.baseline_skill is not None
    assert scores.relative.value == pytest.approx(world.truth["relative"], abs=0.03)
    assert scores.baseline_skill.value == pytest.approx(world.truth["baseline skill"], abs=0.03)
    wide = worlds.uneven(rng, 50_000)
    skill = wide.compare()["m00"].scores["brier"].skill
    assert skill is not None
    assert skill.value == pytest.approx(wide.truth["skill"], abs=0.01)


# Counting


def test_an_interval_misses_on_one_side() -> None:
    assert [side(Estimate(0.0, -1.0, 1.0), truth) for truth in (2.0, -2.0, 0.5)] == ["below", "above", "right"]
    assert side(Estimate(0.0, reason="no spread"), 1.0) == side(None, 1.0) == "absent"


def test_data_sets_that_a_claim_is_not_about_do_not_count() -> None:
    draws, wrong, each = shares(["below", "above", "right", "absent", "left out", "left out"])
    assert (draws, wrong) == (4, 0.5)
    assert each == {"below": 0.25, "above": 0.25, "right": 0.25, "absent": 0.25}
    assert shares(["left out"])[:2] == (0, 0.0)


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


def test_what_is_promised_is_seven_percent_or_a_warning() -> None:
    row = Row("m", "s", "misses", 0.05, 0.2, 0.01, 10_000, warned=0.0)
    assert promised(replace(row, measured=0.07))
    assert not promised(row)
    assert promised(replace(row, warned=0.95))
    assert not warns(replace(row, warned=0.8))
    assert quiet(row)
    assert not quiet(replace(row, warned=0.2))


def test_the_page_says_what_was_measured() -> None:
    """A line for each row; what does not hold in bold, with whether it was warned of."""
    rows = [("Independent cases", row) for trial in TRIALS[:2] for row in run(trial, 10, 0)]
    odd = replace(rows[0][1], measured=0.5, warned=0.0, absent=0.0)
    counted = replace(odd, nominal=math.nan, measured=1234.0, error=5.0)
    text = table([*(row for _, row in rows), odd, counted])
    assert text.count("\n") == len(rows) + 3
    assert "**50.0%**, not warned |" in text
    assert "1,234 ± 5" in text
    assert verdict(replace(odd, warned=1.0)) == "**50.0%**, warned"
    assert verdict(replace(odd, measured=0.0, absent=0.25)) == "holds; 25.0% without"
    assert "{" not in page(rows, [counted], seed=0)
