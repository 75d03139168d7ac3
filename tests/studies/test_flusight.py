"""Teams that missed rounds: what the page says of them holds, by plain numpy on the original file."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.studies import pages, plain
from tests.studies.run_study import DATA, Studied, Studying

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Season:
    """Scores by team, date and place; NaN where a team sent nothing."""

    teams: list[str]
    dates: list[str]
    places: list[str]
    brier: Scores
    log: Scores
    passed: NDArray[np.bool_]  # (dates, places): whether the peak had passed

    def of(self, team: str) -> Scores:
        return self.brier[self.teams.index(team)]


@pytest.fixture(scope="module")
def flu(studied: Studying) -> Studied:
    return studied("flusight")


@pytest.fixture(scope="module")
def season(flu: Studied) -> Season:
    original = np.load(DATA / "flusight_peakweek_2024-25.npz")
    p, y = plain.distributions(original["probs"]), original["labels"]
    axes, at = zip(*(np.unique(original[key], return_inverse=True) for key in KEYS), strict=True)
    shape = [len(axis) for axis in axes]
    brier, log = np.full(shape, np.nan), np.full(shape, np.nan)
    brier[at], log[at] = plain.brier(p, y), plain.log(p, y)
    passed = np.zeros(shape[1:], dtype=bool)
    passed[at[1:]] = original["classes"][y] < original["reference_date"]
    return Season(*(axis.tolist() for axis in axes), brier, log, passed)


KEYS = ("model", "reference_date", "location")


def relative(brier: Scores, weights: Scores) -> Scores:
    """The relative skill of every team if places had these weights."""
    out = []
    for a in brier:
        ratios = []
        for b in brier:
            both = ~np.isnan(a + b)
            if both.any():
                x, y = (np.where(both, one, 0.0).sum(axis=0) @ weights for one in (a, b))
                ratios.append(np.log(x / y))
        out.append(np.mean(ratios))
    return np.exp(out)


def test_own_means_rank_the_teams_otherwise_than_relative_skill(flu: Studied, season: Season) -> None:
    ranked = flu.reading("flusight").names
    skill = dict(zip(season.teams, relative(season.brier, np.ones(53)), strict=True))
    own = {team: np.nanmean(season.of(team)) for team in season.teams}
    assert ranked == sorted(season.teams, key=skill.__getitem__)
    assert ranked != sorted(season.teams, key=own.__getitem__)
    assert [ranked.index(team) + 1 for team in sorted(own, key=own.__getitem__)] == [1, 2, 3, 7, 4, 6, 5]


def test_relative_skills_and_their_intervals_follow_from_leaving_weight_on_places(flu: Studied, season: Season) -> None:
    """The error of a function of sums over places, by numerical derivatives along the weight of each place."""
    step = 1e-5
    values = np.log(relative(season.brier, np.ones(53)))
    slopes = []
    for place in range(53):
        change = step * (np.arange(53) == place)
        up, down = (np.log(relative(season.brier, np.ones(53) + sign * change)) for sign in (1, -1))
        slopes.append((up - down) / (2 * step))
    error = np.sqrt(53 / 52 * (np.array(slopes) ** 2).sum(axis=0))
    quantile = 2.0066468050616857  # of Student's t with 52 degrees of freedom, at 0.975
    for team, value, spread in zip(season.teams, values, error, strict=True):
        mark = flu.reading("flusight").mark(team)
        assert mark["relative"]["value"] == pytest.approx(np.exp(value), abs=1e-9)
        assert mark["relative"]["low"] == pytest.approx(np.exp(value - quantile * spread), abs=1e-6)
        assert mark["relative"]["high"] == pytest.approx(np.exp(value + quantile * spread), abs=1e-6)


def clustered_p(difference: Scores) -> tuple[float, float]:
    """The mean over places and dates that are there, and its p value with places as units."""
    from scipy.stats import t

    there = ~np.isnan(difference)
    mean = difference[there].mean()
    sums = np.where(there, difference - mean, 0.0).sum(axis=0)
    error = np.sqrt(53 / 52 * (sums**2).sum()) / there.sum()
    return mean, 2 * t.sf(abs(mean / error), 52)


def test_two_teams_change_places_surely_where_only_the_cases_of_both_count(flu: Studied, season: Season) -> None:
    p = {}
    for a, b in combinations(season.teams, 2):
        difference = season.of(a) - season.of(b)
        if not np.isnan(difference).all():  # two teams never met: there is nothing to test
            p[a, b] = clustered_p(difference)
    adjusted, most = {}, 0.0
    for place, pair in enumerate(sorted(p, key=lambda pair: p[pair][1])):
        most = max(most, min(1.0, (len(p) - place) * p[pair][1]))
        adjusted[pair] = most
    pair = ("UGuelph-CompositeCurve", "VTSanghani-PRIME")
    own = [np.nanmean(season.of(team)) for team in pair]
    assert own[0] < own[1]
    assert p[pair][0] > 0
    assert adjusted[pair] < 0.001
    board = flu.reading("flusight")
    assert sum(map(board.sure, board.pairs())) == sum(value <= 0.05 for value in adjusted.values())
    found = board.pair(*pair)
    assert abs(found["difference"]["value"]) == pytest.approx(p[pair][0], abs=1e-9)
    assert found["adjusted_p"] == pytest.approx(adjusted[pair], rel=1e-6)


def test_relative_skill_ranks_a_team_below_one_that_it_beats(flu: Studied, season: Season) -> None:
    beaten, better = "FluSight-base_seasonal", "UGuelph-CompositeCurve"
    ranked = flu.reading("flusight").names
    mean, p = clustered_p(season.of(better) - season.of(beaten))
    assert ranked.index(beaten) < ranked.index(better)
    assert mean < 0
    assert p < 1e-6


def test_rounds_after_the_peak_are_easier_for_whoever_follows_the_season(season: Season) -> None:
    scores = season.of("PSI-PROF")
    assert not np.isnan(scores).any()
    assert scores[season.passed].mean() < scores[~season.passed].mean() / 5
    late = {team: season.passed[~np.isnan(season.of(team))].mean() for team in season.teams}
    assert late["UGuelph-CompositeCurve"] > 0.8
    assert late["CU-ensemble"] == 0


def test_weeks_show_no_spread_where_forecast_and_outcomes_stay_the_same(flu: Studied, season: Season) -> None:
    name = "FluSight-base_seasonal"
    weekly = np.nanmean(season.of(name)[~np.isnan(season.of(name)).all(axis=1)], axis=1)
    assert np.ptp(weekly) < 1e-6
    by_week, by_place = (flu.reading(board).mark(name)["mean"] for board in ("flusight-weeks", "flusight"))
    assert by_week["high"] - by_week["low"] < 1e-6
    assert by_place["high"] - by_place["low"] > 0.02


def test_errors_by_place_and_week_together_leave_the_first_three_apart_by_chance(flu: Studied) -> None:
    boards = [flu.reading(f"flusight{unit}") for unit in ("", "-weeks", "-cases")]
    for pair in combinations(("PSI-PROF_beta", "PSI-PROF", "FluSight-ensemble"), 2):
        place, week, case = (board.pair(*pair)["difference"]["error"] for board in boards)
        assert abs(boards[0].pair(*pair)["difference"]["value"]) < 1.96 * np.sqrt(place**2 + week**2 - case**2)
    first = ("PSI-PROF_beta", "PSI-PROF", "FluSight-ensemble")
    for pair in (("CU-ensemble", "FluSight-base_seasonal"), *((name, "VTSanghani-PRIME") for name in first)):
        assert all(board.sure(board.pair(*pair)) for board in boards)
    weeks = boards[1]
    for name in {*weeks.names} - {"UGuelph-CompositeCurve"}:
        assert not weeks.sure(weeks.pair(name, "UGuelph-CompositeCurve"))


def test_zeros_on_what_happened_are_counted_and_two_places_have_most_of_the_late_ones(
    flu: Studied, season: Season
) -> None:
    infinite = np.isinf(season.log)
    for team, mine in zip(season.teams, infinite, strict=True):
        assert flu.reading("flusight").mark(team, "log")["infinite"] == mine.sum()
    two = np.isin(season.places, ["10", "18"])
    told = {"PSI-PROF": (31, 50), "FluSight-ensemble": (19, 26)}
    for team, (part, whole) in told.items():
        late = infinite[season.teams.index(team)] & season.passed
        assert (late[:, two].sum(), late.sum()) == (part, whole)
        assert f"{part} of" in pages.flat(pages.page("flusight.md"))
    in_may = [date.startswith("2025-05") for date in season.dates]
    scores = season.of("PSI-PROF")[in_may]
    assert scores[:, two].sum() > 0.99 * scores.sum()


def test_the_confidence_set_of_five_teams_is_that_of_arch_on_means_of_places(flu: Studied, season: Season) -> None:
    from arch.bootstrap import MCS

    board = flu.reading("flusight-common")
    found: Any = board.record["confidence_set"]
    names = sorted(board.names)
    scores = np.stack([season.of(name) for name in names])
    common = ~np.isnan(scores).any(axis=(0, 2))
    assert found["cases"] == 53 * common.sum()
    test = MCS(scores[:, common].mean(axis=1).T, size=0.05, reps=1000, block_size=1, bootstrap="stationary", seed=0)
    test.compute()
    # What is drawn does not follow the rows of a file, so that the two agree up to what 1,000 draws of each leave open.
    for i, p in test.pvalues["Pvalue"].items():
        assert found["p"][names[i]] == pytest.approx(p, abs=4 * np.sqrt(2 * p * (1 - p) / 1000) + 0.004)
    assert set(found["members"]) == {names[i] for i in test.included} == {"PSI-PROF_beta", "PSI-PROF"}
    assert flu.reading("flusight").record["confidence_set"] is None


@pytest.mark.parametrize("page", ["flusight.html", "flusight-common.html"])
def test_the_report_is_one_page_of_moderate_size_with_every_team(flu: Studied, page: str) -> None:
    text = (flu.folder / page).read_text(encoding="utf-8")
    assert len(text.encode()) < pages.LARGEST[".html"]
    board = flu.reading(page.removesuffix(".html"))
    assert all(name in text for name in board.names)


def test_the_page_of_the_documentation_says_what_the_study_prints(flu: Studied) -> None:
    assert not pages.missing("flusight.md", flu.remark)
    empty = f"{1 - 1 / 28:.3f}"
    printed = [flu.remark, *(board.table for board in flu.boards)]
    assert not pages.unfounded("flusight.md", printed, known=[empty])
