"""Clusters, time and resamples through the front door: arrays and files say the same, in any order of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests import flat
from tests.evaluation.files import KINDS, N, columns, drawn, files, options_of, record, write_csv
from tests.evaluation.shapes import M, predictions
from tests.evaluation.test_in_memory import close
from toplist.inference.settings import DRAWN, METHODS, TIMED


@pytest.mark.parametrize("how", METHODS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_and_arrays_give_the_same_board(suffix: str, kind: str, how: str, tmp_path: Path) -> None:
    """Means, differences, skill and pairs, with every interval; whichever order models come in."""
    if how == "poisson" and kind != "clusters":
        pytest.skip("cases of files are drawn by their ids, which cases in memory do not have")
    asked = options_of(kind, how)
    if how == "poisson" and kind != "clusters":
        pytest.skip("cases are drawn by their ids, which arrays lack")
    made, y = drawn(1)
    extra = columns(1)
    given = {key: extra.get(value, value) for key, value in asked.items()}
    want = record(flat.compare(made, y, baseline="q", **given))
    for seed in (None, 3):
        paths, truth = files(tmp_path, made, y, extra, suffix=suffix, seed=seed)
        if seed is not None and how in TIMED and kind in ("plain", "weights"):
            continue  # without anything else said, cases come in the order of the truth
        assert close(record(flat.compare(paths, truth, baseline="q", **asked)), want)


@pytest.mark.parametrize("how", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_groups_are_the_leaderboards_of_their_cases(kind: str, how: str) -> None:
    """With every interval of a mean or of one pair; only what holds for all pairs at once counts all groups."""
    if how == "poisson" and kind != "clusters":
        pytest.skip("cases in memory are drawn by their places among all")
    asked = options_of(kind, how)
    if how == "poisson" and kind != "clusters":
        pytest.skip("cases without ids are drawn by their place among all")
    made, y = drawn(2)
    extra = columns(2) | {"group": np.arange(N) % 2}
    given = {key: extra.get(value, value) for key, value in asked.items()}
    board = flat.compare(made, y, group=extra["group"], **given)
    for group in board.groups:
        at = np.flatnonzero(extra["group"] == int(str(group.group)))
        alone = flat.compare(
            {name: p[at] for name, p in made.items()},
            y[at],
            **{key: value[at] if isinstance(value, np.ndarray) else value for key, value in given.items()},
        )
        for mine, theirs in zip(group.rows, alone, strict=True):
            assert mine.name == theirs.name
            for one, other in zip(mine.scores.values(), theirs.scores.values(), strict=True):
                if one.mean.low is None:  # bounded intervals of a rule without bounds
                    assert one.mean == other.mean
                    continue
                assert one.mean.low == pytest.approx(other.mean.low, rel=1e-9)
                assert one.mean.p == pytest.approx(other.mean.p, rel=1e-9)
        for pair, same in zip(group.pairs, alone.pairwise, strict=True):
            assert (pair.a, pair.b, pair.rule) == (same.a, same.b, same.rule)
            assert (pair.difference.low is None) == (same.difference.low is None)
            if pair.difference.low is not None:
                assert pair.difference.low == pytest.approx(same.difference.low, rel=1e-9, abs=1e-12)
            if pair.adjusted_p is not None and same.adjusted_p is not None:
                assert pair.adjusted_p >= same.adjusted_p * (1 - 1e-9)


MOMENTS = {
    "numbers": [7, 8, 9, 10, 11, 100],
    "numbers in text": ["7", "8", "9", "10", "11", "100"],
    "numbers with signs": ["-1.5", "-1", "0", "2e-3", "1", "3e5"],
    "dates in text": ["2024-12-31", "2025-01-01", "2025-01-02", "2025-01-10", "2025-02-01", "2025-10-01"],
    "years and weeks": ["2023-W51", "2023-W52", "2024-W01", "2024-W02", "2024-W09", "2024-W10"],
}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("kind", MOMENTS)
def test_moments_are_in_the_order_that_people_mean(kind: str, suffix: str, tmp_path: Path) -> None:
    """Nine comes before ten, also in text; dates in text by the calendar."""
    made, y = drawn(3)
    place = np.arange(N) // 10
    values = np.array(MOMENTS[kind], object)[place]
    want = record(tl.compare(made, tl.Truth(y, time=place)))
    paths, truth = files(tmp_path, made, y, {"when": values}, suffix=suffix, seed=5)
    assert close(record(tl.compare(paths, tl.Truth(truth, time="when"))), want)


def test_timestamps_and_dates_are_moments(tmp_path: Path) -> None:
    made, y = drawn(4)
    day = np.arange(N) // 3
    want = record(tl.compare(made, tl.Truth(y, time=day)))
    stamps = np.array("2024-02-27", "datetime64[D]") + day.astype("timedelta64[D]")
    assert close(record(tl.compare(made, tl.Truth(y, time=stamps))), want)
    for unit in ("D", "s", "ns"):
        values = stamps.astype(f"datetime64[{unit}]")
        paths, truth = files(tmp_path, made, y, {"when": values}, suffix="parquet", seed=6)
        assert close(record(tl.compare(paths, tl.Truth(truth, time="when"))), want)


@pytest.mark.parametrize("kind", ["numbers", "years and weeks", "dates in text", "numbers in text"])
def test_arrays_of_moments_are_in_the_order_that_people_mean(kind: str) -> None:
    made, y = drawn(3)
    place = np.arange(N) // 10
    values = np.array(MOMENTS[kind])[place]
    assert record(tl.compare(made, tl.Truth(y, time=values))) == record(tl.compare(made, tl.Truth(y, time=place)))


@pytest.mark.parametrize(
    "values", [["1/1/2024", "10/1/2024"], ["Jan 3", "Feb 1"], ["w4", "5"], ["2024-1-5", "2024-11-5"]]
)
def test_text_that_would_be_sorted_wrongly_is_refused(values: list[str], tmp_path: Path) -> None:
    """Dates that begin with the day sort by the day: better no interval than one from the wrong order."""
    made, y = drawn(3)
    when = [values[i % 2] for i in range(N)]
    with pytest.raises(tl.TopListError, match="begin with the year"):
        tl.compare(made, tl.Truth(y, time=when))
    paths, truth = files(tmp_path, made, y, {"when": np.array(when, object)}, suffix="csv", seed=None)
    with pytest.raises(tl.TopListError, match="begin with the year"):
        tl.compare(paths, tl.Truth(truth, time="when"))


def test_a_blank_cluster_is_an_error_that_names_file_and_row(tmp_path: Path) -> None:
    """Cases whose cluster nobody knows are not one cluster."""
    made, y = drawn(5)
    values: list[Any] = [f"g{i % 9}" for i in range(N)]
    values[7] = None
    paths, truth = files(tmp_path, made, y, {"team": values}, suffix="csv", seed=None)
    with pytest.raises(tl.TopListError, match=r"truth\.csv, row 8: there is no cluster in .?team"):
        tl.compare(paths, tl.Truth(truth, cluster="team"))


def test_a_second_look_at_other_predictions_is_refused(tmp_path: Path) -> None:
    """A report of half old and half new numbers would be worse than none."""
    made, y = drawn(5)
    paths, truth = files(tmp_path, made, y, {}, suffix="csv", seed=None)
    board = tl.compare(paths, truth)
    (tmp_path / Path(paths["p"]).name).write_text(Path(paths["q"]).read_text())
    with pytest.raises(tl.TopListError, match="changed since they were compared"):
        board.details()
    copies = {name: np.array(P) for name, P in made.items()}
    board = tl.compare(copies, y, space=M)
    copies["p"][:] = 1 / M
    with pytest.raises(tl.TopListError, match="changed since they were compared"):
        board.details()


BLANKS = [("csv", None), ("csv", "  "), ("csv", "NaN"), ("parquet", None), ("parquet", ""), ("parquet", "nan")]


@pytest.mark.parametrize(("suffix", "blank"), BLANKS, ids=str)
def test_a_blank_moment_is_an_error_that_names_file_and_row(suffix: str, blank: str | None, tmp_path: Path) -> None:
    made, y = drawn(5)
    values: list[Any] = [str(i) for i in range(N)]
    values[7] = blank
    paths, truth = files(tmp_path, made, y, {"when": values}, suffix=suffix, seed=None)
    said = r"truth\.\w+.*row \d+.*there is no time in .?when"
    with pytest.raises(tl.TopListError, match=said):
        tl.compare(paths, tl.Truth(truth, time="when"))
    with pytest.raises(tl.TopListError, match="nowhen"):
        tl.compare(paths, tl.Truth(truth, time="nowhen"))


def test_a_moment_that_is_no_number_is_an_error(tmp_path: Path) -> None:
    made, y = drawn(5)
    values = np.arange(N, dtype=float)
    values[3] = np.nan
    paths, truth = files(tmp_path, made, y, {"when": values}, suffix="parquet", seed=None)
    with pytest.raises(tl.TopListError, match=r"there is no time in .?when"):
        tl.compare(paths, tl.Truth(truth, time="when"))


def test_columns_with_telling_names_are_what_they_say(tmp_path: Path) -> None:
    """Clusters and time, both where both are there; an empty name takes none. Weights are always named."""
    made, y = drawn(6)
    extra = columns(6)
    telling = {"weight": extra["worth"], "cluster": extra["team"], "time": extra["when"]}
    paths, truth = files(tmp_path, made, y, telling, suffix="csv", seed=7)
    found = tl.compare(paths, truth)
    both = tl.compare(made, tl.Truth(y, cluster=extra["team"], time=extra["when"]))
    assert close(record(found), record(both))
    assert (found.comparison.weight, found.comparison.cluster, found.comparison.time) == (None, "cluster", "time")
    assert "clusters by cluster and" in found.comparison.method
    assert "time points in the order of time" in found.comparison.method
    for options in ({"time": ""}, {"method": "t"}, {"cluster": "cluster"}):
        grouped = flat.compare(paths, truth, **options)
        assert close(record(grouped), record(tl.compare(made, tl.Truth(y, cluster=extra["team"]))))
    for options in ({"cluster": ""}, {"time": "time"}):
        timed = flat.compare(paths, truth, weight="weight", **options)
        assert close(record(timed), record(tl.compare(made, tl.Truth(y, weight=extra["worth"], time=extra["when"]))))
        assert timed.comparison.time == "time"
    bare = tl.compare(paths, tl.Truth(truth, cluster="", time=""))
    assert close(record(bare), record(tl.compare(made, y)))
    assert bare.comparison.method.startswith("paired t intervals")


def holes(made: dict[str, Any]) -> dict[str, list[int]]:
    """The cases that each model has: the first one lacks some, and the second others."""
    return {"p": [i for i in range(N) if i % 5], "q": [i for i in range(N) if i % 7]}


@pytest.mark.parametrize("how", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_missing_cases_go_with_every_interval(kind: str, how: str, tmp_path: Path) -> None:
    """Pairs on the cases of both: as a comparison of these cases alone says, to nine digits."""
    if how == "poisson" and kind == "clusters":
        pytest.skip("these clusters are too few")
    asked = options_of(kind, how)
    made, y = drawn(7)
    extra = columns(7)
    paths, truth = files(tmp_path, made, y, extra, suffix="csv", seed=None)
    there = holes(made)
    for name, at in there.items():
        header = ["case", *(f"k{c}" for c in range(M))]
        write_csv(Path(paths[name]), header, [[f"c{i:03d}", *made[name][i].tolist()] for i in at])
    board = flat.compare(paths, truth, missing="pairwise", **asked)
    both = sorted(set(there["p"]) & set(there["q"]))
    given = {key: extra[value][both] if value in extra else value for key, value in asked.items()}
    alone = flat.compare({name: p[both] for name, p in made.items()}, y[both], **given)
    mine, theirs = board.difference("p", "q"), alone.difference("p", "q")
    assert mine.value == pytest.approx(theirs.value, rel=1e-12)
    if how not in ("bootstrap", "poisson", "wild", "ewc", "hac"):  # draws are of all cases, and gaps in time stay
        assert (mine.low, mine.high, mine.p) == pytest.approx((theirs.low, theirs.high, theirs.p), rel=1e-9)
    if mine.reason:
        assert (how, kind, mine.reason) == ("poisson", "clusters", "11 clusters are too few to draw from")
        return
    assert mine.low < mine.high  # type: ignore[operator]
    for row in board if how != "bounded" else ():  # which has no ratios of means
        for mark in row.scores.values():
            assert mark.relative is not None
            assert mark.relative.low < mark.relative.value < mark.relative.high  # type: ignore[operator]
            assert mark.skill is not None
            assert mark.skill.low < mark.skill.value < mark.skill.high  # type: ignore[operator]


def test_skill_with_classes_per_case_and_missing_predictions_knows_every_case(tmp_path: Path) -> None:
    """What the empty list scores on a case is known from those who have it, though the first model lacks it."""
    rng = np.random.default_rng(8)
    sizes, outcome = rng.integers(3, 9, N), rng.integers(0, 3, N)
    t = rng.uniform(0.2, 0.9, (2, N))
    truth = write_csv(
        tmp_path / "truth.csv", ["case", "outcome", "sizes"], [[i, outcome[i], sizes[i]] for i in range(N)]
    )
    paths = {}
    for a, (name, keep) in enumerate({"first": range(0, N, 2), "second": range(N)}.items()):
        rows = [[i, int(outcome[i]), t[a, i]] for i in keep]
        paths[name] = write_csv(tmp_path / f"{name}.csv", ["case", "class", "confidence"], rows)
    pytest.importorskip("duckdb")
    found = (
        tl.compare(paths, tl.Truth(truth, n_classes="sizes"), missing="pairwise", rules="brier")["second"]
        .scores["brier"]
        .skill
    )
    lists = tl.TopLists.from_dicts([{int(outcome[i]): float(t[1, i])} for i in range(N)], tl.ClassSpace(sizes.tolist()))
    alone = tl.compare({"second": lists}, outcome, rules="brier")["second"].scores["brier"].skill
    assert found is not None
    assert alone is not None
    assert (found.value, found.low, found.high) == pytest.approx((alone.value, alone.low, alone.high), rel=1e-9)


def test_time_and_clusters_are_told_in_the_results() -> None:
    made, y = predictions(9, 40)
    when = np.arange(40) // 2
    timed = tl.compare(made, tl.Truth(y, time=when), space=M, inference=tl.Inference(horizon=3))
    assert "over 20 time points" in timed.comparison.method
    assert "horizon of 3" in timed.comparison.method
    assert timed.comparison.time is not None
    assert timed.comparison.seed is None
    drawn_ = tl.compare(made, y, space=M, inference=tl.Inference(method="bootstrap", seed=5))
    assert drawn_.comparison.seed == 5
    assert "seed 5" in drawn_.comparison.method
    assert (
        tl.compare(made, y, space=M, inference=tl.Inference(method="bootstrap", seed=6)).to_dict() != drawn_.to_dict()
    )
    assert (
        tl.compare(made, y, space=M, inference=tl.Inference(method="bootstrap", seed=5)).to_dict() == drawn_.to_dict()
    )


def test_without_order_hac_takes_cases_as_they_come() -> None:
    made, y = drawn(10)
    one = tl.compare(made, y, inference="hac")
    other = tl.compare(made, tl.Truth(y, time=np.arange(N)), inference="hac")
    assert one.difference("p", "q") == other.difference("p", "q")
    assert "in the order of the truth" in one.comparison.method


def test_ordered_boards_can_be_compared() -> None:
    made, y = drawn(11)
    for how in METHODS:
        assert tl.compare(made, y, inference=tl.Inference(method=how)) == tl.compare(
            made, y, inference=tl.Inference(method=how)
        )
    assert tl.compare(made, y, inference="hac") != tl.compare(made, y, inference="t")


@pytest.mark.parametrize("how", METHODS)
@pytest.mark.parametrize("kind", ["cases", "clusters", "time points", "weights"])
def test_the_order_of_rows_does_not_show_in_any_digit(kind: str, how: str) -> None:
    """Wherever it does not say when cases were; whole numbers beyond 2^53 are clusters of their own.

    Labels have few different scores, so that many cases have those of another one, or those of the other model.
    """
    if how in ("ewc", "hac") and kind != "time points":
        pytest.skip("the order of rows is that of time")
    if (kind == "time points" and how in DRAWN) or (kind != "cases" and how == "bounded"):
        pytest.skip("refused")
    rng = np.random.default_rng(3)
    n = 90
    p, q = rng.dirichlet(np.ones(3), (2, n))
    y = rng.integers(0, 3, n)
    extra = {
        "cases": {},
        "clusters": {"cluster": 2**60 + np.arange(n) // 3},
        "time points": {"time": np.arange(n) // 3},
        "weights": {"weight": rng.exponential(size=n)},
    }[kind]
    at = rng.permutation(n)
    moved = {key: value[at] for key, value in extra.items()}
    for a, b in ((p, q), (p.argmax(axis=1), q.argmax(axis=1))):
        one = flat.compare({"p": a, "q": b}, y, **extra, space=3, method=how)
        other = flat.compare({"p": a[at], "q": b[at]}, y[at], **moved, space=3, method=how)
        assert one.to_json() == other.to_json()


@pytest.mark.parametrize("kind", ["cluster", "time", ""])
def test_the_order_of_rows_does_not_show_in_the_confidence_set(kind: str) -> None:
    rng = np.random.default_rng(4)
    n = 60
    made = {name: rng.dirichlet(np.ones(3), n) for name in "abc"}
    y, units, at = rng.integers(0, 3, n), np.arange(n) // 2, rng.permutation(n)
    given = {kind: units} if kind else {}
    one = flat.compare(made, y, **given).confidence_set()
    other = flat.compare({k: p[at] for k, p in made.items()}, y[at], **{k: u[at] for k, u in given.items()})
    assert one == other.confidence_set()


def test_clusters_that_are_whole_numbers_beyond_doubles_keep_their_order() -> None:
    pa = pytest.importorskip("pyarrow", reason="files need pyarrow")
    from toplist.io.truth import clusters_in_order

    numbers = [2**53 + 3, 2**53 + 1, 2**53 + 2, 2**53 + 1, 9, -4]
    assert clusters_in_order(pa.array(numbers)).tolist() == [4, 2, 3, 2, 1, 0]
