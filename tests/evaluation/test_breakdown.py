"""Breakdowns by class and group: plain means, paired tests against the average, Holm over all cells."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import toplist as tl
from toplist.core.estimate import of_weights
from toplist.evaluation.breakdown import FEWEST, BreakdownMaker, positions
from toplist.inference.ranking import holm
from toplist.inference.results import Breakdown

N, M, K = 600, 5, 4
LABELS = [f"class {c}" for c in range(M)]


def world(seed: int = 0, n: int = N, m: int = M, k: int = K) -> tuple[dict[str, Any], Any]:
    """Models that are good at some classes and bad at others, and what is true."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, m, n)
    p = {}
    for a in range(k):
        skill = rng.uniform(0.0, 1.5, m)
        z = rng.normal(size=(n, m))
        z[np.arange(n), y] += skill[y]
        p[f"model {a}"] = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return p, y


def made(board: tl.Leaderboard) -> tuple[Breakdown, ...]:
    return board.details().breakdowns(board.comparison, board._intervals)


def maker(board: tl.Leaderboard) -> BreakdownMaker:
    details = board.details()
    return BreakdownMaker(board.comparison, details.names, details.panel, details.right, board._intervals)


def frame(board: tl.Leaderboard, groups: Any, w: Any) -> Any:
    """Scores and hits in a long table, one line per case and model."""
    pd = pytest.importorskip("pandas")
    parts = [
        pd.DataFrame({"group": groups, "model": name, "w": w, "s": one["brier"], "hit": one["accuracy"].astype(float)})
        for name, one in board.scores.items()
    ]
    return pd.concat(parts)


@pytest.mark.parametrize("weighted", [False, True])
def test_means_accuracies_and_differences_are_those_of_pandas(weighted: bool) -> None:
    pytest.importorskip("pandas")
    p, y = world()
    w = np.random.default_rng(1).choice([0.5, 1.0, 4.0], N) if weighted else np.ones(N)
    group = np.array(["n", "s", "w"])[np.arange(N) % 3]
    board = tl.compare(p, tl.Truth(y, weight=w if weighted else None, group=group), space=LABELS)
    for by, groups in zip(made(board), (np.array(LABELS)[y], group), strict=True):
        table = frame(board, groups, w)
        table["d"] = table.s - table.groupby(level=0).s.transform("mean")
        for column, found in (("s", by.means), ("hit", by.accuracy), ("d", by.differences)):
            table["x"] = table[column] * table.w
            sums = table.groupby(["group", "model"])[["x", "w"]].sum()
            want = (sums.x / sums.w).unstack()
            assert np.array(found) == pytest.approx(want.loc[list(by.groups), list(by.models)].to_numpy(), abs=1e-12)
        assert by.cases == tuple(np.count_nonzero(groups == g) for g in by.groups)
        average = np.array(by.means).mean(axis=1)
        assert (np.diff(average) <= 0).all()
        assert by.models == tuple(row.name for row in board)


def test_cells_are_significant_by_paired_t_tests_with_no_error_below_the_pooled_one_and_holm() -> None:
    p, y = world(3)
    board = tl.compare(p, y, space=LABELS)
    (by,) = made(board)
    scores = np.stack([board.scores[name]["brier"] for name in by.models], axis=1)
    d = scores - scores.mean(axis=1, keepdims=True)
    p_values: list[float] = []
    for name in by.groups:
        own = d[y == LABELS.index(name)]
        errors = stats.sem(own, axis=0)
        larger = np.maximum(errors, np.sqrt(np.mean(errors**2)))
        p_values += (2 * stats.t.sf(np.abs(own.mean(axis=0) / larger), len(own) - 1)).tolist()
    want = np.array(holm(p_values), float).reshape(M, K) <= 0.05
    assert 0 < want.sum() < want.size
    assert np.array_equal(np.array(by.significant), want)


def failing(seed: int, rate: float, rho: float, cases: int, m: int = 10, k: int = 8) -> tuple[dict[str, Any], Any]:
    """Equal models that are right with confidence, except in cases that are hard for all (rho) or for one of them."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(m), cases)
    hard, p = rng.normal(size=len(y)), {}
    for a in range(k):
        z = math.sqrt(rho) * hard + math.sqrt(1 - rho) * rng.normal(size=len(y))
        true = np.where(z > stats.norm.isf(rate), 0.02, 0.98)
        p[f"model {a}"] = np.where(np.eye(m)[y] == 1, true[:, None], (1 - true[:, None]) / (m - 1))
    return p, y


@pytest.mark.parametrize(
    ("rate", "rho", "cases"), [(0.05, 0.0, 30), (0.02, 0.0, 100), (0.05, 0.5, 100), (0.2, 0.7, 30)]
)
def test_of_equal_models_with_rare_failures_none_is_significantly_different(
    rate: float, rho: float, cases: int
) -> None:
    """Those without a failure in a class have far too small an error of their own, which gave 55% to 91% of boards."""
    boards = [failing(seed, rate, rho, cases) for seed in range(12)]
    found = [np.any(made(tl.compare(p, y, space=10, rules="brier"))[0].significant) for p, y in boards]
    assert sum(found) <= 2


@pytest.mark.parametrize("seed", range(30))
def test_of_two_models_cells_reversals_and_stars_agree(seed: int) -> None:
    """One test per group: a is worse in the first group only, by little."""
    rng = np.random.default_rng(seed)
    y, n, m = np.repeat(np.arange(4), 50), 200, 4
    base, better = rng.normal(0.6, 0.1, n), np.where(np.arange(n) < 50, -0.03, 0.05)
    p = {}
    for name, shift in (("a", better), ("b", np.zeros(n))):
        true = np.clip(base + rng.normal(0, 0.08, n) + shift, 0.02, 0.98)[:, None]
        p[name] = np.where(np.eye(m)[y] == 1, true, (1 - true) / (m - 1))
    board = tl.compare(p, tl.Truth(y, group=y.astype(str)), space=m, rules="brier")
    by_class, by_group = made(board)
    for by in (by_class, by_group):
        leader_worse = {
            g for g, d, s in zip(by.groups, by.differences, by.significant, strict=True) if s[0] and d[0] > 0
        }
        assert {g for g, _ in by.reversals} == leader_worse
        assert all(s[0] == s[1] for s in by.significant)
        want = {one.group: any(q is not None and q <= 0.05 for q in (pair.adjusted_p for pair in one.pairs))
                for one in board.groups}  # fmt: skip
        assert {g: s[0] for g, s in zip(by.groups, by.significant, strict=True)} == want


def test_reversals_are_paired_t_tests_against_the_leader_and_holm() -> None:
    p, y = world(3)
    board = tl.compare(p, y, space=LABELS)
    (by,) = made(board)
    scores = np.stack([board.scores[name]["brier"] for name in by.models], axis=1)
    cells = [(g, a) for g in by.groups for a in range(1, K)]
    tests = [stats.ttest_rel(*scores[y == LABELS.index(g)][:, [0, a]].T) for g, a in cells]
    adjusted = holm([float(one.pvalue) for one in tests])
    want = tuple(
        (g, by.models[a])
        for (g, a), one, q in zip(cells, tests, adjusted, strict=True)
        if q is not None and q <= 0.05 and one.statistic > 0
    )
    assert want
    assert by.reversals == want


KNOWN: dict[str, dict[str, Any]] = {
    "cases": {},
    "weights": {"weight": "worth"},
    "clusters": {"cluster": "team", "weight": "worth"},
    "time": {"time": "when"},
    "time and clusters": {"time": "when", "cluster": "team"},
}


METHODS = ("t", "normal", "ewc", "hac", "bootstrap", "wild", "bounded")
WAYS = [
    (method, known)
    for known in KNOWN
    for method in METHODS
    if method == "t" or (method in ("ewc", "hac")) == ("time" in known)
    if method != "bounded" or known == "cases"
]


def measured(known: str) -> tuple[dict[str, Any], Any, dict[str, Any]]:
    """Three models of three classes, and what is known of the cases."""
    rng = np.random.default_rng(5)
    p, y = world(5, 240, 3, 3)
    columns = {"worth": rng.choice([0.5, 1.0, 3.0], 240), "team": rng.integers(0, 30, 240), "when": np.arange(240) // 3}
    return p, y, {option: columns[name] for option, name in KNOWN[known].items()}


@pytest.mark.parametrize(("method", "known"), WAYS)
def test_p_values_are_those_of_the_interval_engine(method: str, known: str) -> None:
    """Of the average as one more model, compared with each in the cases of one group."""
    p, y, about = measured(known)
    board = tl.compare(p, tl.Truth(y, **about), space=3, inference=method)
    found = maker(board)
    value, p_values, _ = found._cells(y.astype(np.int64), 3)
    scores = np.stack([board.scores[row.name]["brier"] for row in board], axis=1)
    matrix = np.column_stack([scores, scores.mean(axis=1)])
    for g in range(3):
        own, errors, freedom = np.array(found._test(matrix, np.flatnonzero(y == g), [(a, 3) for a in range(3)])).T
        assert np.isnan(errors).all() == (method == "bounded")
        pooled = 2 * stats.t.sf(np.abs(value[g]) / np.sqrt(np.mean(errors**2)), freedom.min())
        assert p_values[g] == pytest.approx(np.fmax(own, pooled), rel=1e-9)
        means = [np.average(matrix[y == g, a] - matrix[y == g, 3], weights=about.get("weight", np.ones(240))[y == g])
                 for a in range(3)]  # fmt: skip
        assert value[g] == pytest.approx(means, abs=1e-12)


@pytest.mark.parametrize(("method", "known"), WAYS)
def test_p_values_against_the_leader_are_those_of_the_pairs_of_a_group(method: str, known: str) -> None:
    p, y, about = measured(known)
    board = tl.compare(p, tl.Truth(y, group=y, **about), space=3, inference=method)
    found = maker(board)
    names = [row.name for row in board]
    tests = found._tests(found._scores, [(0, 1), (0, 2)], y.astype(np.int64), 3)
    for g, group in enumerate(board.groups):
        pairs = {frozenset((pair.a, pair.b)): pair for pair in group.pairs if pair.rule == "brier"}
        for a, (value, p_values, _, _) in enumerate(tests, 1):
            pair = pairs[frozenset((names[0], names[a]))]
            sign = 1 if pair.a == names[0] else -1
            assert value[g] == pytest.approx(sign * pair.difference.value, rel=1e-9)
            if method not in ("bootstrap", "wild", "bounded") or sign == 1:  # draws are of the difference as it stands
                assert p_values[g] == pytest.approx(pair.difference.p, rel=1e-7)


def test_unequal_weights_have_the_degrees_of_freedom_of_the_engine() -> None:
    p, y = world(2, 200, 2, 2)
    w = np.random.default_rng(2).exponential(size=200)
    board = tl.compare(p, tl.Truth(y, weight=w), space=2)
    _, p_values, _ = maker(board)._cells(y.astype(np.int64), 2)
    scores = np.stack([board.scores[row.name]["brier"] for row in board], axis=1)
    d = (scores - scores.mean(axis=1, keepdims=True))[y == 0, 0]
    h = w[y == 0] / w[y == 0].sum()
    factor, freedom = of_weights([float((h**power).sum()) for power in (2, 3, 4, 5)])
    mean = float(h @ d)
    error = math.sqrt(factor * float((h * h) @ (d - mean) ** 2))
    assert p_values[0, 0] == pytest.approx(2 * stats.t.sf(abs(mean / error), freedom), rel=1e-9)


def test_groups_of_less_than_ten_units_are_not_tested() -> None:
    p, y = world(3, 300)
    y = np.where(np.arange(300) < FEWEST - 1, 4, y % 4)
    sharp = 0.5 * np.eye(5)[y] + 0.5 * p["model 0"]
    board = tl.compare({"sharp": sharp, "blunt": p["model 0"]}, y, space=LABELS)
    (by,) = made(board)
    assert dict(zip(by.groups, map(any, by.significant), strict=True)) == {name: name != "class 4" for name in LABELS}
    clusters = np.arange(300) % (FEWEST - 1)
    board = tl.compare(p, tl.Truth(y, cluster=clusters), space=LABELS)
    assert not np.any(made(board)[0].significant)


def test_what_differs_by_rounding_only_is_not_significant() -> None:
    p, y = world(4)
    first = p["model 0"]
    board = tl.compare({"a": first, "b": first.astype(np.float32), "c": first.copy()}, y, space=LABELS)
    (by,) = made(board)
    assert not np.any(by.significant)
    assert by.reversals == ()


def test_a_model_with_an_infinite_score_in_a_group_is_neither_tested_nor_in_the_average_there() -> None:
    p, y = world(6, 200, 2, 3)
    p["model 0"] = np.where(np.arange(200)[:, None] == 7, 1.0 - np.eye(2)[y[7]], p["model 0"])
    board = tl.compare(p, y, space=["no", "yes"], rules="log")
    (by,) = made(board)
    where = by.groups.index(["no", "yes"][y[7]])
    a = by.models.index("model 0")
    assert [math.isinf(row[a]) for row in by.means] == [math.isnan(row[a]) for row in by.differences]
    assert [math.isinf(row[a]) for row in by.means] == [g == where for g in range(2)]
    assert where == 0
    assert not by.significant[where][a]
    others = [i for i in range(3) if i != a]
    scores = np.stack([board.scores[by.models[i]]["log"] for i in others], axis=1)[y == y[7]]
    d = (scores - scores.mean(axis=1, keepdims=True)).mean(axis=0)
    assert [by.differences[where][i] for i in others] == pytest.approx(d.tolist())


def test_of_two_models_one_with_an_infinite_score_is_not_tested_there() -> None:
    p, y = world(6, 200, 2, 2)
    p["model 0"] = 0.01 + 0.98 * np.eye(2)[y]
    p["model 0"][7] = 1.0 - np.eye(2)[y[7]]
    board = tl.compare(p, tl.Truth(y, group=y), space=2, rules="log")
    for by in made(board):
        assert dict(zip(by.groups, map(any, by.significant), strict=True)) == {str(c): c != y[7] for c in (0, 1)}


def in_files(folder: Path, p: dict[str, Any], y: Any, has: list[Any], **options: Any) -> tl.Leaderboard:
    """The comparison of models of which each has some of the cases, over classes x, y, z."""
    pytest.importorskip("duckdb")
    space = list("xyz"[: next(iter(p.values())).shape[1]])
    for (name, one), own in zip(p.items(), has, strict=True):
        rows = [f"{i},{','.join(map(repr, one[i].tolist()))}" for i in np.flatnonzero(own)]
        (folder / f"{name}.csv").write_text("\n".join([f"case,{','.join(space)}", *rows]))
    (folder / "t.csv").write_text("case,outcome\n" + "".join(f"{i},{space[c]}\n" for i, c in enumerate(y)))
    paths = {name: folder / f"{name}.csv" for name in p}
    return tl.compare(paths, folder / "t.csv", space=space, missing="pairwise", **options)


def test_models_that_lack_cases_are_compared_on_those_that_all_have(tmp_path: Path) -> None:
    p, y = world(7, 90, 3, 3)
    board = in_files(tmp_path, p, y, [np.arange(90) % 10 != a for a in range(3)])
    (by,) = made(board)
    has = np.stack([np.arange(90) % 10 != list(p).index(name) for name in by.models], axis=1)
    scores = np.stack([tl.score(p[name], y) for name in by.models], axis=1)
    for g, mean, difference in zip(by.groups, by.means, by.differences, strict=True):
        own = y == "xyz".index(g)
        assert mean == pytest.approx([scores[own & has[:, a], a].mean() for a in range(3)])
        some = scores[own & has.all(axis=1)]
        assert difference == pytest.approx((some - some.mean(axis=1, keepdims=True)).mean(axis=0))


def test_where_a_ranked_model_lacks_cases_nothing_is_significant(tmp_path: Path) -> None:
    """The first model is the best on the cases of all, and has the largest mean, for it predicts the hard ones too."""
    rng, y = np.random.default_rng(4), np.repeat([0, 1], 200)
    hard = (np.arange(400) % 4 == 0) & (y == 0)
    p = {}
    for name, more in (("a", 0.03), ("b", 0.0), ("c", 0.0)):
        true = (np.where(hard, 0.25, 0.8) + more + rng.normal(0, 0.02, 400))[:, None]
        p[name] = np.where(np.eye(2)[y] == 1, true, 1 - true)
    (by,) = made(in_files(tmp_path, p, y, [np.ones(400, bool), ~hard, ~hard]))
    assert by.incomplete == ("x",)
    row = dict(zip(by.models, by.means[by.groups.index("x")], strict=True))
    assert row["a"] == max(row.values())
    assert dict(zip(by.groups, map(any, by.significant), strict=True)) == {"x": False, "y": True}


def test_of_many_classes_the_hardest_and_the_most_frequent_are_given() -> None:
    rng = np.random.default_rng(8)
    m, n = 80, 4000
    y = np.minimum((rng.exponential(12, n)).astype(int), m - 1)
    p = {name: rng.dirichlet(np.ones(m), n) for name in ("a", "b")}
    board = tl.compare(p, y)
    (by,) = made(board)
    scores = np.stack([board.scores[name]["brier"] for name in p], axis=1).mean(axis=1)
    known = np.unique(y)
    support = np.bincount(y, minlength=m)
    hard = sorted(known, key=lambda c: -scores[y == c].mean())
    want = {*[c for c in hard if support[c] >= 5][:10], *sorted(known, key=lambda c: (-support[c], str(c)))[:10]}
    assert len(known) > 50
    assert by.groups == tuple(str(c) for c in hard if c in want)
    assert by.left_out == len(known) - len(want)


def test_one_class_is_not_broken_down() -> None:
    assert made(tl.compare({"a": np.full((20, 2), 0.5)}, np.zeros(20, int))) == ()


def grouped(values: Any, n: int = 2000) -> Breakdown:
    rng = np.random.default_rng(9)
    p = {name: rng.dirichlet(np.ones(3), n) for name in ("a", "b")}
    group = np.array(values)[np.arange(n) % len(values)]
    return made(tl.compare(p, tl.Truth(rng.integers(0, 3, n), group=group)))[-1]


def test_groups_are_given_up_to_thirty_and_else_the_hardest_and_the_easiest() -> None:
    every = grouped([f"g{i}" for i in range(30)])
    assert (len(every.groups), every.left_out, every.axis, every.by) == (30, 0, (), "group")
    some = grouped([f"g{i}" for i in range(40)])
    assert (len(some.groups), some.left_out) == (20, 20)
    average = np.array(some.means).mean(axis=1)
    assert (np.diff(average) <= 0).all()


def test_numbers_and_dates_are_in_order_on_an_axis() -> None:
    numbers = grouped(list(range(40)))
    assert numbers.groups == tuple(map(str, range(40)))
    assert (numbers.axis, numbers.dates) == (tuple(map(float, range(40))), False)
    days = grouped(["2024-03-01", "2024-02-29", "2023-12-31"])
    assert days.groups == ("2023-12-31", "2024-02-29", "2024-03-01")
    assert days.dates
    assert np.diff(days.axis).tolist() == [60.0, 1.0]
    assert grouped(list(range(401))).axis == ()
    for keys in (["1", "b"], ["nan", "1"], ["inf"], ["2024-01-01", "x"], ["1_0", "2"], ["", "1"]):
        assert positions(keys) == ((), False), keys


def test_a_model_that_is_not_ranked_is_not_in_the_average(tmp_path: Path) -> None:
    p, y = world(11, 120, 2, 3)
    has = [np.arange(120) < 9, np.ones(120, bool), np.ones(120, bool)]
    (by,) = made(in_files(tmp_path, p, y, has, inference=tl.Inference(min_cases=20)))
    assert by.models[-1] == "model 0"
    scores = np.stack([tl.score(p[name], y) for name in by.models[:2]], axis=1)
    for g, difference in zip(by.groups, by.differences, strict=True):
        some = scores[y == "xy".index(g)]
        assert difference[:2] == pytest.approx((some - some.mean(axis=1, keepdims=True)).mean(axis=0))
        assert math.isnan(difference[2])
