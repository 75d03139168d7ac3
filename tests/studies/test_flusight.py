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
Pair = tuple[str, str]


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
        mark = flu.reading("flusight-places").mark(team)
        assert mark["relative"]["value"] == pytest.approx(np.exp(value), abs=1e-9)
        assert mark["relative"]["low"] == pytest.approx(np.exp(value - quantile * spread), abs=1e-6)
        assert mark["relative"]["high"] == pytest.approx(np.exp(value + quantile * spread), abs=1e-6)


def influences(difference: Scores) -> tuple[float, Scores]:
    """The mean over the dates and places that are there, and the part that each of these has in its error."""
    there = ~np.isnan(difference)
    mean = difference[there].mean()
    return mean, np.where(there, difference - mean, 0.0) / there.sum()


def place_variance(parts: Scores) -> float:
    """Of a mean, with the 53 places as units, which all have as many cases."""
    return float(53 / 52 * (parts.sum(axis=0) ** 2).sum())


def autocorrelation(series: Scores) -> float:
    """The first one, without its bias (Kendall 1954), at most 1 - 4 / n."""
    n = len(series)
    raw = (series[1:] * series[:-1]).sum() / (series**2).sum()
    return float(min((n * raw + 1) / (n - 4), 1 - 4 / n))


def week_variance(series: Scores, r: float) -> tuple[float, int]:
    """Of a mean, from prewhitened cosines over consecutive dates, and how many cosines there are."""
    n = len(series)
    waves, middle = max(2, int(0.4 * n ** (2 / 3))), np.pi * (np.arange(n) + 0.5) / n
    assert r > 1 / np.sqrt(n)
    squares = []
    for j in range(1, waves + 1):
        spectrum = (1 - 2 * r * np.cos(np.pi * j / n) + r**2) / (1 - r) ** 2
        squares.append(2 * spectrum * (series * np.cos(j * middle)).sum() ** 2)
    return float(np.mean(squares)), waves


def holm(p: dict[Pair, float]) -> dict[Pair, float]:
    adjusted, most = {}, 0.0
    for place, pair in enumerate(sorted(p, key=p.__getitem__)):
        most = max(most, min(1.0, (len(p) - place) * p[pair]))
        adjusted[pair] = most
    return adjusted


def test_pairs_by_place_are_those_of_plain_numpy(flu: Studied, season: Season) -> None:
    from scipy.stats import t

    p = {}
    board = flu.reading("flusight-places")
    for a, b in combinations(season.teams, 2):
        difference = season.of(a) - season.of(b)
        if not np.isnan(difference).all():  # two teams never met: there is nothing to test
            mean, parts = influences(difference)
            p[a, b] = 2 * t.sf(abs(mean) / np.sqrt(place_variance(parts)), 52)
            assert abs(board.pair(a, b)["difference"]["value"]) == pytest.approx(abs(mean), abs=1e-9)
    adjusted = holm(p)
    for pair, value in adjusted.items():
        assert board.pair(*pair)["adjusted_p"] == pytest.approx(value, rel=1e-6)
    assert sum(map(board.significant, board.pairs())) == sum(value <= 0.05 for value in adjusted.values()) == 15


def test_both_ways_of_five_teams_are_those_of_plain_numpy(flu: Studied, season: Season) -> None:
    """CR2 over places plus prewhitened cosines over dates, Satterthwaite's degrees of freedom, Holm, the set."""
    from scipy.stats import t

    board = flu.reading("flusight-common")
    common = ~np.isnan([season.of(name) for name in board.names]).any(axis=(0, 2))
    assert common.sum() == 16
    found = {(a, b): influences((season.of(a) - season.of(b))[common]) for a, b in combinations(board.names, 2)}
    own = {pair: autocorrelation(parts.sum(axis=1)) for pair, (_, parts) in found.items()}
    p, worse = {}, {}
    for (a, b), (mean, parts) in found.items():
        by_week, waves = week_variance(parts.sum(axis=1), max(own[a, b], float(np.mean(list(own.values())))))
        by_place = place_variance(parts)
        freedom = (by_place + by_week) ** 2 / (by_place**2 / 52 + by_week**2 / waves)
        p[a, b] = 2 * t.sf(abs(mean) / np.sqrt(by_place + by_week), freedom)
        worse[a, b] = b if mean < 0 else a
        difference, simultaneous = (board.pair(a, b)[key] for key in ("difference", "simultaneous"))
        assert difference["value"] == pytest.approx(mean, abs=1e-9)
        assert difference["error"] == pytest.approx(np.sqrt(by_place + by_week), rel=1e-6)
        assert difference["freedom"] == pytest.approx(freedom, rel=1e-6)
        for estimate, tail in ((difference, 0.025), (simultaneous, 0.025 / len(found))):
            half = t.isf(tail, freedom) * np.sqrt(by_place + by_week)
            assert estimate["low"] == pytest.approx(max(mean - half, -2), rel=1e-6)
            assert estimate["high"] == pytest.approx(min(mean + half, 2), rel=1e-6)
    adjusted = holm(p)
    for pair, value in adjusted.items():
        assert board.pair(*pair)["adjusted_p"] == pytest.approx(value, rel=1e-6)
    least = {name: min([1.0, *(adjusted[q] for q in p if worse[q] == name)]) for name in board.names}
    best: Any = board.record["confidence_set"]
    assert best["p"] == pytest.approx(least, rel=1e-6)
    assert set(best["members"]) == {name for name, value in least.items() if value > 0.05} == set(board.names)
    assert best["cases"] == 53 * common.sum()


def test_the_variance_of_both_ways_is_that_of_places_plus_that_of_weeks(flu: Studied) -> None:
    both, places, weeks = (flu.reading(f"flusight{unit}") for unit in ("", "-places", "-weeks"))
    tested = [pair for pair in both.pairs() if pair["adjusted_p"] is not None]
    assert len(tested) == 20
    for pair in tested:
        alone = [board.pair(pair["a"], pair["b"])["difference"]["error"] for board in (places, weeks)]
        assert pair["difference"]["error"] == pytest.approx(np.hypot(*alone), rel=1e-9)


def test_two_teams_change_places_where_only_the_cases_of_both_count(flu: Studied, season: Season) -> None:
    """Significantly if places alone are drawn anew, and not if weeks are, too."""
    a, b = "UGuelph-CompositeCurve", "VTSanghani-PRIME"
    assert np.nanmean(season.of(a)) < np.nanmean(season.of(b))
    difference = season.of(a) - season.of(b)
    assert np.nanmean(difference) > 0
    assert (~np.isnan(difference)).any(axis=1).sum() == 5
    both, places = flu.reading("flusight"), flu.reading("flusight-places")
    assert places.significant(places.pair(a, b))
    assert both.pair(a, b)["difference"]["p"] > 0.5


def test_relative_skill_ranks_a_team_below_one_with_the_higher_mean_on_the_cases_of_both(
    flu: Studied, season: Season
) -> None:
    beaten, better = "FluSight-base_seasonal", "UGuelph-CompositeCurve"
    ranked = flu.reading("flusight").names
    assert ranked.index(beaten) < ranked.index(better)
    assert np.nanmean(season.of(better) - season.of(beaten)) < -0.2
    assert not flu.reading("flusight").significant(flu.reading("flusight").pair(beaten, better))


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
    by_week, by_place = (flu.reading(f"flusight-{unit}").mark(name)["mean"] for unit in ("weeks", "places"))
    assert by_week["low"] is None
    assert by_week["reason"].startswith("no spread")
    assert by_place["high"] - by_place["low"] > 0.02


def test_with_both_ways_two_pairs_are_significant_and_they_rest_on_few_dates(flu: Studied, season: Season) -> None:
    board = flu.reading("flusight")
    assert {(pair["a"], pair["b"]) for pair in board.pairs() if board.significant(pair)} == {
        ("CU-ensemble", "VTSanghani-PRIME"),
        ("CU-ensemble", "FluSight-base_seasonal"),
    }
    for other, dates in (("VTSanghani-PRIME", 4), ("FluSight-base_seasonal", 5)):
        assert (~np.isnan(season.of("CU-ensemble") - season.of(other))).any(axis=1).sum() == dates
    first = ("PSI-PROF_beta", "PSI-PROF", "FluSight-ensemble")
    for name in first:
        pair = board.pair(name, "VTSanghani-PRIME")
        assert pair["difference"]["p"] < 0.05 < pair["adjusted_p"]
    places, weeks = flu.reading("flusight-places"), flu.reading("flusight-weeks")
    assert all(places.significant(places.pair(name, "FluSight-ensemble")) for name in first[:2])
    assert not any(map(weeks.significant, weeks.pairs()))
    assert board.record["confidence_set"]["members"] == [*first, "CU-ensemble", "UGuelph-CompositeCurve"]


def test_each_board_warns_of_what_its_page_says(flu: Studied) -> None:
    both, places = (flu.reading(name).record["warnings"] for name in ("flusight", "flusight-places"))
    lacking = {name for one in both if one["kind"] == "missing cases differ" for name in one["models"]}
    assert lacking == {"CU-ensemble", "VTSanghani-PRIME"}
    assert "few time points" in {one["kind"] for one in both}
    (ignored,) = (one for one in places if one["kind"] == "ignored dependence")
    assert ignored["models"] == ["PSI-PROF_beta", "UGuelph-CompositeCurve"]
    for words in ("'reference_date'", "would be 15 times as large"):
        assert words in ignored["sentence"]
    assert "would be 15 times as large" in pages.flat(pages.page("flusight.md"))


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
