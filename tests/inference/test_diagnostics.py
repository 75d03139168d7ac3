"""What intervals rest on is measured right, and warned of where it is known to matter and not where it is not."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

import toplist as tl
from toplist.evaluation.leaderboard import Leaderboard
from toplist.inference.dependence import TruthColumn, autocorrelations, is_persistent, season, variance_ratio
from toplist.inference.diagnostics import ScoreSample, is_skewed, skewness
from toplist.scoring import bounds
from toplist.scoring.bounds import largest_loss, log_mean_gains, most_lost
from toplist.scoring.scores import highest_score

CLASSES = 20


def kinds(board: Leaderboard) -> set[str]:
    """The kinds of warnings."""
    return {one.kind for one in board.comparison.warnings}


def confident(
    rng: np.random.Generator, n: int, *, accuracy: float = 0.995, seen: int = 0
) -> tuple[dict[str, Any], Any]:
    """Two models that agree on the first class: one leaves 1e-4 for the rest, the other 1e-2; `seen` are wrong."""
    y = rng.integers(0, CLASSES, n)
    top = y.copy()
    top[:seen] = (y[:seen] + 1) % CLASSES

    def model(left: float) -> Any:
        rest = left * np.exp(0.1 * rng.normal(size=n))
        p = np.repeat((rest / (CLASSES - 1))[:, None], CLASSES, axis=1)
        p[np.arange(n), top] = 1 - rest
        return p

    return {"sharp": model(1e-4), "soft": model(1e-2)}, y


# The lead


@pytest.mark.parametrize("rule", ["brier", "log", "one-vs-rest"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_lead_is_the_sum_of_differences_over_the_largest_loss(rule: str, weighted: bool) -> None:
    """By brute force over every outcome of every case."""
    rng = np.random.default_rng(1)
    models, y = confident(rng, 60)
    w = rng.exponential(size=60) if weighted else np.ones(60)
    board = tl.compare(models, tl.Truth(y, weight=w) if weighted else y, rules=rule)
    (pair,) = board.comparison.pairs
    a, b = (models[name] for name in (("sharp", "soft") if next(iter(board)).name == "sharp" else ("soft", "sharp")))
    each = [[tl.score(p, np.full(60, c), rule=rule) for c in range(CLASSES)] for p in (a, b)]
    most = (w * (np.array(each[0]) - np.array(each[1])).max(axis=0)).max()
    total = abs(float(w @ (tl.score(a, y, rule=rule) - tl.score(b, y, rule=rule))))
    assert pair.lead == pytest.approx(total / most, rel=1e-9)


def test_a_lead_that_one_unseen_case_could_reverse_is_warned_of() -> None:
    """The world of rare losses: whenever the wrong one is significantly better, its lead is below 3.7 and said."""
    rng, wrong = np.random.default_rng(2), 0
    for _ in range(40):
        models, y = confident(rng, 200, seen=int(rng.binomial(200, 0.005)))
        board = tl.compare(models, y, rules="log")
        (pair,) = board.comparison.pairs
        if next(iter(board)).name == "sharp" and pair.adjusted_p is not None and pair.adjusted_p <= 0.05:
            wrong += 1
            assert (pair.lead or 0) < 3.7
            assert "rare losses" in kinds(board)
    assert wrong >= 5


@pytest.mark.parametrize("rule", ["brier", "log", "spherical", "rps", "rps-normalized", "ranked_log"])
@pytest.mark.parametrize("top", [None, 2])
def test_the_mean_gain_under_the_trailing_model_is_that_of_every_outcome(rule: str, top: int | None) -> None:
    """By brute force over all outcomes, with their probabilities in the lists of the second."""
    rng = np.random.default_rng(6)
    p, q = (rng.dirichlet(np.ones(CLASSES), size=20) for _ in range(2))
    space = tl.ClassSpace(CLASSES, ordinal=True)
    a, b = (tl.TopLists.from_proba(x, k=top, space=space) for x in (p, q))
    w, t = rng.exponential(size=20), np.array([0.3, 1.0, 2.5])
    each = [np.array([tl.score(x, np.full(20, c), rule=rule) for c in range(CLASSES)]) for x in (a, b)]
    chance = b.padded().T
    means = [(chance * np.exp(s * w * (each[1] - each[0]))).sum(axis=0) for s in t]
    assert log_mean_gains(a, b, t, w, rule=rule).sum(axis=1) == pytest.approx(np.log(means).sum(axis=1), rel=1e-9)


@pytest.mark.parametrize("rule", ["rps", "ranked_log"])
def test_a_small_lead_under_a_rule_of_ordered_classes_has_a_chance(rule: str) -> None:
    """The bound that tells rare losses from ordinary leads: all 200 outcomes are those that the other gives .995 to."""
    space, noise = tl.ClassSpace(3, ordinal=True), np.random.default_rng(1).random(200) * 1e-4
    sharp = np.stack([0.998 - noise, 0.0015 + noise, np.full(200, 0.0005)], axis=1)
    board = tl.compare({"sharp": sharp, "soft": [[0.995, 0.003, 0.002]] * 200}, [0] * 200, space=space, rules=rule)
    (pair,) = board.comparison.pairs
    assert pair.by_chance is not None
    assert 0.995**200 - 1e-3 <= pair.by_chance <= 0.5


def test_an_infinite_loss_leaves_a_lead_of_zero_and_says_why() -> None:
    y = np.zeros(50, int)
    rng = np.random.default_rng(3)
    soft = np.stack([0.8 + 0.1 * rng.random(50), 0.1 + 0 * y, 0.1 + 0 * y], axis=1)
    board = tl.compare({"sure": [0] * 50, "soft": soft / soft.sum(axis=1, keepdims=True)}, y, space=3, rules="log")
    assert board.comparison.pairs[0].lead == 0
    assert any("probability zero" in one.sentence for one in board.comparison.warnings)


def test_an_ordinary_lead_is_no_reason_to_warn() -> None:
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(10, 0.3), size=500)
    y = np.array([rng.choice(10, p=row) for row in p])
    board = tl.compare({"distribution": p, "label": p.argmax(axis=1)}, y, space=10, rules="brier")
    (pair,) = board.comparison.pairs
    assert (pair.lead or 0) > 3.7
    assert not kinds(board)


@pytest.mark.parametrize("shuffled", [False, True])
def test_files_have_the_lead_and_the_diagnostics_of_arrays(tmp_path: Path, shuffled: bool) -> None:
    """In one order, and in two, where every file is scored alone."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("duckdb", reason="files are an extra")
    rng = np.random.default_rng(5)
    models, y = confident(rng, 80)
    names = [f"class{c:02}" for c in range(CLASSES)]
    ids = [f"case{i:03}" for i in range(80)]
    for at, (name, p) in enumerate(models.items()):
        frame = pd.DataFrame(p, columns=names)
        frame.insert(0, "case", ids)
        frame = frame.sample(frac=1, random_state=1) if shuffled and at else frame
        frame.to_csv(tmp_path / f"{name}.csv", index=False, float_format="%.17g")
    pd.DataFrame({"case": ids, "outcome": [names[c] for c in y]}).to_csv(tmp_path / "y.csv", index=False)
    files = tl.compare({name: tmp_path / f"{name}.csv" for name in models}, tmp_path / "y.csv", rules="log")
    arrays = tl.compare(models, y, rules="log")
    assert files.comparison.pairs[0].lead == pytest.approx(arrays.comparison.pairs[0].lead, rel=1e-9)
    assert kinds(files) == kinds(arrays) == {"rare losses"}
    assert [one.value for one in files.comparison.diagnostics] == pytest.approx(
        [one.value for one in arrays.comparison.diagnostics], rel=1e-3
    )


@pytest.mark.parametrize("rule", ["brier", "log"])
def test_the_cheap_bound_on_scores_holds_for_every_outcome(rule: str) -> None:
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.full(6, 0.2), size=200)
    for lists in (
        tl.TopLists.from_proba(p),
        tl.TopLists.from_proba(p, k=2),
        tl.TopLists.from_dicts([{0: 0.01}] * 3, 6),
    ):
        worst = max(float(tl.score(lists, np.full(len(lists), c), rule=rule).max()) for c in range(6))
        assert worst <= highest_score(lists, rule=rule) * (1 + 1e-12)


@pytest.mark.parametrize("rule", ["brier", "log"])
def test_distributions_have_their_largest_loss_by_a_formula(rule: str) -> None:
    """The same as over every outcome, also where a class has no probability in one or in both."""
    rng = np.random.default_rng(8)
    p, q = rng.dirichlet(np.full(6, 0.5), (2, 50))
    p[0], q[1] = np.eye(6)[0], np.eye(6)[1]
    p[2] = q[2] = np.eye(6)[3]
    a, b = map(tl.TopLists.from_proba, (p, q))
    for at in (slice(0, 1), slice(1, 2), slice(2, 3), slice(3, 50)):
        assert most_lost(a[at], b[at], rule=rule) == pytest.approx(
            largest_loss(a[at], b[at], rule=rule).max(), rel=1e-9
        )


def test_long_lists_and_short_ones_have_the_same_largest_losses() -> None:
    """Classes are compared with each other, or sorted where there are many: the numbers are the same."""
    rng = np.random.default_rng(7)
    p, q = rng.dirichlet(np.ones(8), (2, 300))
    k, j = rng.integers(0, 8, (2, 300))
    a, b = (
        tl.TopLists.from_dicts([dict(enumerate(row.tolist()[:n])) for row, n in zip(*each, strict=True)], 9)
        for each in ((p, k), (q, j))
    )
    found = [bounds._scores(one, tl.Brier(), None) for one in (a, b)]
    codes, sizes = found[1].lists.classes, [one.lists.sizes for one in found]
    compared = [
        bounds._compared(*found, codes, np.array([i]), int(sizes[0][i]), int(sizes[1][i]))[0] for i in range(300)
    ]
    assert np.array_equal(compared, bounds._join_sorted(*found, codes))
    assert most_lost(a, b) == pytest.approx(largest_loss(a, b).max(), rel=1e-9)


# Skewness


def test_skewness_is_that_of_scipy() -> None:
    x = np.random.default_rng(8).exponential(size=40)
    skew, of_mean = skewness(x - x.mean())
    assert skew == pytest.approx(float(stats.skew(x, bias=False)))
    assert of_mean == pytest.approx(skew / math.sqrt(40))


def warned(draws: Any) -> float:
    """The share of data sets whose differences are called skewed."""
    found = [is_skewed(*skewness(row - row.mean()), len(row)) for row in draws]
    return sum(found) / len(found)


def test_skewed_differences_are_called_so_and_normal_ones_are_not() -> None:
    rng, draws = np.random.default_rng(9), 400
    assert warned(rng.lognormal(0, 1, (draws, 30))) > 0.9
    assert warned(rng.lognormal(0, 2, (draws, 200))) > 0.9
    assert warned(rng.pareto(1.5, (draws, 200))) > 0.9
    for n in (10, 20, 30, 100, 1000):
        assert warned(rng.normal(size=(draws, n))) < 0.13  # 10 %, and three standard errors


# Time


def autoregressive(rng: np.random.Generator, rho: float, n: int, lag: int = 1, draws: int = 150) -> Any:
    """Series that depend on their value some time points ago."""
    burn = 200 * lag
    return lfilter([1], [1, *[0] * (lag - 1), -rho], rng.normal(size=(draws, n + burn)), axis=1)[:, burn:]


def test_autocorrelations_are_those_of_statsmodels() -> None:
    tools = pytest.importorskip("statsmodels.tsa.stattools")
    x = np.random.default_rng(10).normal(size=60)
    assert autocorrelations(x, 12) == pytest.approx(tools.acf(x, nlags=12, fft=False)[1:])


def test_dependence_that_lasts_is_told_from_dependence_that_ends() -> None:
    rng, n = np.random.default_rng(11), 100
    moving = np.cumsum(rng.normal(size=(150, n + 5)), axis=1)
    moving = moving[:, 5:] - moving[:, :-5]  # a moving average of five
    assert np.mean([is_persistent(x) for x in autoregressive(rng, 0.95, n)]) > 0.87
    for harmless in (rng.normal(size=(150, n)), autoregressive(rng, 0.5, n), moving):
        assert np.mean([is_persistent(x) for x in harmless]) < 0.1


def test_seasons_are_found_at_their_lag() -> None:
    rng = np.random.default_rng(12)
    found = [season(x) for x in autoregressive(rng, 0.8, 60, lag=12)]
    assert np.mean([lag == 12 for lag in found]) > 0.85
    for harmless in (rng.normal(size=(150, 60)), autoregressive(rng, 0.5, 60), autoregressive(rng, 0.95, 60)):
        assert np.mean([season(x) is not None for x in harmless]) < 0.1


@pytest.mark.parametrize(("rho", "lag", "kind"), [(0.97, 1, "strong autocorrelation"), (0.9, 12, "seasonal")])
def test_a_board_in_time_says_how_its_differences_depend_on_each_other(rho: float, lag: int, kind: str) -> None:
    rng, n = np.random.default_rng(13), 96
    shared = autoregressive(rng, rho, n, lag, draws=1)[0]
    level = 1 / (1 + np.exp(-shared / shared.std()))
    y = np.zeros(n, int)
    board = tl.compare(
        {"a": np.stack([level, 1 - level], axis=1), "b": np.full((n, 2), 0.5)}, tl.Truth(y, time=np.arange(n))
    )
    assert kind in kinds(board)
    first = [one for one in board.comparison.diagnostics if one.kind == "autocorrelation"]
    assert all("standard error" in one.sentence for one in first)
    assert first


# Columns of the truth


def test_the_ratio_by_a_column_is_that_of_the_cluster_robust_error() -> None:
    rng = np.random.default_rng(14)
    g = rng.integers(0, 12, 200)
    d = rng.normal(size=12)[g] + rng.normal(size=200)
    ratio, _, count = variance_ratio((d - d.mean()) / 200, TruthColumn(g))
    api = pytest.importorskip("statsmodels.api")
    fit = api.OLS(d, np.ones(200)).fit(cov_type="cluster", cov_kwds={"groups": g, "use_correction": False})
    plain = float(((d - d.mean()) ** 2).sum()) / 200**2
    assert ratio == pytest.approx(12 / 11 * float(fit.bse[0]) ** 2 / plain)
    assert count == 12


def test_a_share_of_the_cases_tells_the_ratio_of_all() -> None:
    """Products of two cases are seen with the square of the share."""
    rng = np.random.default_rng(15)
    g = rng.integers(0, 40, 40_000)
    d = 0.3 * rng.normal(size=40)[g] + rng.normal(size=40_000)
    whole, _, _ = variance_ratio(d - d.mean(), TruthColumn(g))
    at = rng.random(40_000) < 0.2
    part, _, _ = variance_ratio(d[at] - d[at].mean(), TruthColumn(g[at]))
    assert 1 + (part - 1) / 0.2 == pytest.approx(whole, rel=0.1)


def weekly(rng: np.random.Generator, shared: float, n: int = 600) -> Any:
    """A table of outcomes with a week, and two models whose difference depends on the week."""
    pd = pytest.importorskip("pandas")
    week, y = rng.integers(0, 40, n), rng.integers(0, 3, n)
    push = shared * rng.normal(size=40)[week]

    def model(shift: Any) -> Any:
        z = rng.normal(size=(n, 3))
        z[np.arange(n), y] += 1 + shift
        p = np.exp(z)
        frame = pd.DataFrame(p / p.sum(axis=1, keepdims=True), columns=["ant", "bee", "cat"])
        frame.insert(0, "case", np.arange(n))
        return frame

    truth = pd.DataFrame({"case": np.arange(n), "outcome": np.array(["ant", "bee", "cat"])[y], "week": week})
    return {"a": model(push), "b": model(-push)}, truth


def test_a_column_by_which_cases_depend_is_named_with_its_remedy() -> None:
    pytest.importorskip("duckdb", reason="files are an extra")
    models, truth = weekly(np.random.default_rng(16), 1.0)
    board = tl.compare(models, truth)
    (one,) = [one for one in board.comparison.warnings if one.kind == "ignored dependence"]
    assert "cluster='week'" in one.sentence
    (found,) = [one for one in board.comparison.diagnostics if one.kind == "dependence"]
    used = tl.compare(models, tl.Truth(truth, cluster="week"))
    assert "ignored dependence" not in kinds(used)
    errors = [each.comparison.pairs[0].difference.error for each in (used, board)]
    assert found.value == pytest.approx(errors[0] / errors[1], rel=0.05)


def test_a_random_column_is_seldom_named() -> None:
    rng, named = np.random.default_rng(17), 0
    for _ in range(300):
        d, g = rng.standard_t(4, 300), rng.integers(0, 30, 300)
        sample = ScoreSample(np.stack([d, np.zeros(300)], axis=1), None, 1.0, {"week": TruthColumn(g)})
        c, _ = sample.contributions(0, 1)
        ratio, freedom, _ = variance_ratio(c, sample.columns["week"])
        named += math.sqrt(ratio) > 1.5 and ratio > stats.f.ppf(0.99, freedom, 299)
    assert named <= 15


# Units


def test_few_clusters_and_dominant_weights_are_said_to_count_like_fewer() -> None:
    rng = np.random.default_rng(18)
    p, q = rng.dirichlet(np.ones(3), (2, 100))
    y = rng.integers(0, 3, 100)
    board = tl.compare({"p": p, "q": q}, tl.Truth(y, cluster=np.arange(100) // 10))
    assert any(one.kind == "few clusters" and "10 clusters" in one.sentence for one in board.comparison.warnings)
    heavy = np.ones(100)
    heavy[:3] = 400 / 3
    board = tl.compare({"p": p, "q": q}, tl.Truth(y, weight=heavy))
    assert any(one.kind == "dominant weights" and "like 3" in one.sentence for one in board.comparison.warnings)
    board = tl.compare({"p": p, "q": q}, tl.Truth(y, time=np.arange(100) // 5))
    assert any(one.kind == "few time points" for one in board.comparison.warnings)
    board = tl.compare({"p": p, "q": q}, tl.Truth(y, time=np.arange(100) // 2, cluster=np.arange(100) % 10))
    assert any(one.kind == "few clusters" and "10 clusters" in one.sentence for one in board.comparison.warnings)
    assert not {"few clusters", "few time points", "dominant weights"} & kinds(tl.compare({"p": p, "q": q}, y))
