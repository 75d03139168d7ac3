"""Monitoring: any shape, any order, files as arrays; and what it says."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests import flat
from tests.draws import draws
from tests.evaluation.shapes import LABELS, M, as_lists, predictions
from tests.evaluation.tables import SPACE, World
from tests.properties.cases import law
from toplist.evaluation.monitor import Monitor, monitor
from toplist.inference.sequential import BernsteinSequence
from toplist.scoring.bounds import largest_loss, subtract

few = settings(law, max_examples=draws(8))


def same(one: Any, other: Any) -> bool:
    """Two dictionaries of paths, up to rounding."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-11)
    return bool(one == other)


def paths(found: Monitor) -> list[dict[str, Any]]:
    return found.to_dict()["paths"]


@pytest.mark.parametrize("rule", ["brier", "log", "spherical"])
@few
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), penalty=st.sampled_from([None, 0, 0.4, math.inf]))
def test_every_shape_is_followed_by_its_scores(rule: str, seed: int, n: int, penalty: float | None) -> None:
    made, y = predictions(seed, n)
    found = monitor(made, y, space=M, rule=rule, penalty=penalty)
    base = as_lists("labels", made["labels"])
    assert found.baseline == "labels"
    assert [path.candidate for path in found] == [name for name in made if name != "labels"]
    for path in found:
        one = as_lists(path.candidate, made[path.candidate])
        d = subtract(tl.score(one, y, rule=rule, penalty=penalty), tl.score(base, y, rule=rule, penalty=penalty))
        assert path.cases == n
        if np.isfinite(d).all():
            assert path.mean[-1] == pytest.approx(d.mean())
        loss, win = (largest_loss(x, z, rule=rule, penalty=penalty) for x, z in ((one, base), (base, one)))
        for ends, most in ((path.low, win), (path.high, loss)):
            bounded = np.isfinite(np.maximum.accumulate(most)) & (np.abs(d).cumsum() < np.inf)
            assert np.array_equal(np.isfinite(ends or np.full(n, np.inf)), bounded)
        assert not np.isnan(path.log_evidence_better).any()
        assert not np.isnan(path.log_evidence_worse).any()
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.to_json()
    assert "labels" in repr(found)


def test_labels_may_be_learned_by_each_model_alone() -> None:
    rng = np.random.default_rng(0)
    n = 60
    y = rng.choice(LABELS, n)
    rows = [{str(c): 0.4 for c in rng.permutation(LABELS)[:2]} for _ in range(n)]
    other = [{str(c): 0.6 for c in rng.permutation(LABELS)[:1]} for _ in range(n)]
    learned = monitor({"a": rows, "b": other}, y, space=M)
    known = monitor({"a": rows, "b": other}, y, space=tl.ClassSpace(labels=LABELS))
    assert same(paths(learned), paths(known))


@few
@given(seed=st.integers(0, 10**6), n=st.integers(2, 60))
def test_order_is_that_of_sorted_cases(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(M), size=(2, n))
    y, when = rng.integers(0, M, n), rng.permutation(3 * n)[:n]
    at = np.argsort(when, stable=True)
    asked = monitor({"p": p, "q": q}, tl.Truth(y, time=when))
    assert same(paths(asked), paths(monitor({"p": p[at], "q": q[at]}, y[at])))
    assert same(paths(monitor({"p": p, "q": q}, tl.Truth(y.tolist(), time=when.astype(str)))), paths(asked))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Path]:
    made, folder = World(11, 300), tmp_path_factory.mktemp("monitored")
    made.write(folder, seed=4)
    return made, folder


@pytest.mark.parametrize("space", [SPACE, M], ids=["labels", "a number"])
@pytest.mark.parametrize("rule", ["brier", "log"])
def test_files_say_what_arrays_say(world: tuple[World, Path], space: Any, rule: str) -> None:
    """All layouts, each file in an order of its own; by a column of the truth, whose order is another one."""
    made, folder = world
    truth = folder / "truth.parquet"
    order = pytest.importorskip("pyarrow.parquet").read_table(truth).column("case").to_pylist()
    at = [made.ids.index(name) for name in order]
    held = {name: made.dicts(name, at) for name in made.rows}
    y = [LABELS[made.y[i]] for i in at]
    files = monitor(made.paths(folder), str(truth), space=space, rule=rule)
    arrays = monitor(held, y, space=SPACE, rule=rule)
    assert same(paths(files), paths(arrays))
    timed = monitor(made.paths(folder), tl.Truth(str(truth), time="worth"), space=space, rule=rule, baseline="wide")
    again = monitor(held, tl.Truth(y, time=made.weight[at]), space=SPACE, rule=rule, baseline="wide")
    assert same(paths(timed), paths(again))


def test_cases_that_one_lacks_are_left_out_and_counted(tmp_path: Path) -> None:
    made = World(5, 80)
    made.has["ranked"][:7] = False
    made.has["wide"][70:] = False
    made.write(tmp_path, seed=1)
    found = monitor(made.paths(tmp_path), str(tmp_path / "truth.parquet"), space=SPACE, baseline="wide")
    assert found.left_out == {"lists": 10, "long": 10, "ranked": 17, "labels": 10}
    assert found["ranked"].cases == 63
    assert "ranked 17" in found.to_text()


def frames(rows: list[dict[str, Any]]) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pylist(rows)


def test_files_may_have_sizes_that_differ_per_case() -> None:
    """Names are numbered within each case, for all models together."""
    rng = np.random.default_rng(2)
    truth, one, other, sizes, y, held = [], [], [], [], [], ([], [])
    for i in range(40):
        m = int(rng.integers(2, 6))
        names = [f"{i}-{c}" for c in range(m)]
        sizes.append(m)
        y.append(int(rng.integers(m)))
        truth.append({"case": i, "outcome": names[y[-1]], "options": m})
        for table, rows in ((one, held[0]), (other, held[1])):
            c, t = int(rng.integers(m)), float(rng.uniform(0.3, 0.9))
            rows.append({c: t})
            table.append({"case": i, "class": names[c], "confidence": t})
    files = monitor(
        {"one": frames(one), "other": frames(other[::-1])},
        tl.Truth(frames(truth), n_classes="options"),
        read=tl.ReadOptions(confidence="confidence"),
    )
    space = tl.ClassSpace(sizes)
    lists = {name: tl.TopLists.from_dicts(rows, space) for name, rows in zip(("one", "other"), held, strict=True)}
    assert same(paths(files), paths(monitor(lists, y)))


def test_files_may_have_sets_of_labels() -> None:
    """The same set is one class, however its labels are ordered."""
    truth = [{"case": i, "outcome": "a;b" if i % 2 else "c"} for i in range(30)]
    one = [{"case": i, "class": "b;a" if i % 2 else "c", "confidence": 0.8} for i in range(30)]
    other = [{"case": i, "class": "c;a", "confidence": 0.1} for i in range(30)]
    found = monitor(
        {"other": frames(other), "one": frames(one)}, frames(truth), space=8, read=tl.ReadOptions(set_separator=";")
    )
    right, wrong = tl.score(tl.TopList({0: 0.8}, 8), 0), tl.score(tl.TopList({0: 0.1}, 8), 1)
    assert found["one"].mean == pytest.approx([right - wrong] * 30)


def test_more_names_than_classes_are_refused() -> None:
    truth = frames([{"case": i, "outcome": f"c{i}"} for i in range(4)])
    label = frames([{"case": i, "label": f"c{i}"} for i in range(4)])
    with pytest.raises(tl.SpaceError, match="4 different classes"):
        monitor({"a": label, "b": label}, truth, space=3)


def test_a_truth_of_distributions_gives_expected_scores() -> None:
    rng = np.random.default_rng(3)
    p, q, soft = rng.dirichlet(np.ones(M), size=(3, 50))
    found = monitor({"p": p, "q": q}, soft)
    d = tl.expected_score(tl.TopLists.from_proba(q), soft) - tl.expected_score(tl.TopLists.from_proba(p), soft)
    assert found["q"].mean[-1] == pytest.approx(d.mean())
    assert same(paths(found), paths(monitor({"p": p, "q": q}, soft.tolist())))
    assert same(paths(found), paths(monitor({"p": p, "q": q}, tl.TopLists.from_proba(soft))))


def test_what_the_baseline_held_for_impossible_is_told_without_infinities_in_json() -> None:
    y = [0] * 5 + [1] * 5
    found = monitor({"sure": [0] * 10, "open": np.full((10, 2), 0.5)}, y, space=2, rule="log")
    path = found["open"]
    assert path.shown_better == 6
    assert path.log_evidence_better[-1] == math.inf
    assert path.mean[-1] == -math.inf
    (told,) = found.to_dict()["paths"]
    first = told["at"].index(6)
    assert all(isinstance(x, float) for x in told["log_evidence_better"][:first])
    assert set(told["log_evidence_better"][first:]) == {"infinite"}
    assert told["mean"][first:] == [None] * len(told["at"][first:])
    assert all(isinstance(x, float) for x in told["log_evidence_worse"])
    assert "inf" in found.to_text()


def test_names_are_data() -> None:
    bad = "red\x1b[31m"
    found = monitor({"old": [0, 1], bad: [1, 0]}, [0, 1], space=2, rule="log")
    assert "\x1b" not in found.to_text()
    assert "\x1b" not in found.to_json()


@pytest.mark.parametrize("penalty", [None, 0, 1.0])
def test_bounds_are_those_of_each_case_and_count_the_penalty(penalty: float | None) -> None:
    """The first interval is as wide as the bounds of the first case let it be."""
    rows, fine = [{0: 0.5, 1: 0.01}] * 3, tl.TopLists.from_proba(np.tile([0.5, 0.25, 0.25], (3, 1)))
    path = monitor({"a": fine, "b": rows}, [0] * 3, space=3, penalty=penalty)["b"]
    b = tl.TopLists.from_dicts(rows, 3)
    loss, win = (largest_loss(x, z, penalty=penalty)[:1] for x, z in ((b, fine), (fine, b)))
    d = subtract(tl.score(b, [0] * 3, penalty=penalty), tl.score(fine, [0] * 3, penalty=penalty))[:1]
    one = np.array([1])
    assert path.low[0] == pytest.approx(d[0] - BernsteinSequence(d, win, loss, alpha=0.025).radius(one)[0])
    assert path.high[0] == pytest.approx(d[0] + BernsteinSequence(-d, loss, win, alpha=0.025).radius(one)[0])


def test_log_scores_have_a_sequence_until_a_list_has_a_zero() -> None:
    rng = np.random.default_rng(8)
    p = rng.dirichlet(np.ones(M), size=(2, 50))
    found = monitor({"p": p[0], "q": p[1]}, rng.integers(0, M, 50), rule="log")["q"]
    assert np.isfinite([*found.low, *found.high]).all()
    assert not found.reason
    q = p[1].copy()
    q[20] = np.eye(M)[0]
    ended = monitor({"p": p[0], "q": q}, [0] * 50, rule="log")["q"]
    assert np.isfinite(ended.low).all()
    assert np.isinf(ended.high).tolist() == [False] * 20 + [True] * 30
    assert "From case 21 on the confidence sequence has no upper bound" in ended.reason
    assert ended.high[-1] == math.inf
    assert "+\u221e]" in monitor({"p": p[0], "q": q}, [0] * 50, rule="log").to_text()
    assert None in monitor({"p": p[0], "q": q}, [0] * 50, rule="log").to_dict()["paths"][0]["high"]


def test_what_cannot_be_monitored_is_refused() -> None:
    two = {"a": [0, 1], "b": [0, 1]}
    for models, options, problem in (
        ({"a": [0, 1]}, {}, "at least two"),
        ([[0, 1]], {}, "mapping"),
        (two, {"baseline": "c"}, "the baseline 'c' is not among"),
        ({"a": [0, 1], "b": [0]}, {}, "differ in length"),
        ({"a": [0, 1, 1], "b": [1, 1, 0]}, {}, "2 outcomes for 3 lists"),
        (two, {"level": 1.0}, "level is between 0 and 1"),
        (two, {"penalty": -1}, "penalty"),
        (two, {"time": [1, 2, 3]}, "time needs one value per case"),
        (two, {"rule": "bier"}, "Did you mean 'brier'"),
        (two, {"weight": [1, 2]}, "weight has no effect on monitor: bets are on"),
        (two, {"group": [1, 2]}, "group has no effect on monitor: which cases count"),
        (two, {"cluster": [1, 1], "time": [1, 2]}, "clusters go over several time points"),
        (two, {"method": "hac"}, "method has no effect on monitor"),
        ({"a": [0, 1], "b": "b.csv"}, {}, "there is no such file"),
        ({1: [0, 1], "1": [0, 1]}, {}, "a name of its own"),
    ):
        with pytest.raises(tl.TopListError, match=problem):
            flat.monitor(models, [0, 1], space=2, **options)  # type: ignore[arg-type]


def test_a_candidate_that_is_not_there_is_a_key_error() -> None:
    found = monitor({"a": [0, 1], "b": [1, 1]}, [0, 1], space=2)
    with pytest.raises(KeyError, match="'a' is not among 'b'"):
        found["a"]
    assert len(found) == 1


def correlated(seed: int, weeks: int = 30, each: int = 50) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Two models that are equally good, and cases of a week that have one and the same outcome."""
    rng = np.random.default_rng(seed)
    week = np.repeat(np.arange(weeks), each)
    y = np.repeat(rng.integers(0, 2, weeks), each)
    lean = np.repeat(rng.choice([-0.2, 0.2], weeks), each)
    p = np.stack([0.5 + lean, 0.5 - lean], axis=1)
    return {"p": p, "q": p[:, ::-1]}, y, week


def test_the_order_of_cases_within_a_time_point_does_not_show() -> None:
    made, y, week = correlated(3, weeks=12, each=5)
    y = np.random.default_rng(1).integers(0, 2, len(y))
    at = np.random.default_rng(2).permutation(len(y))
    one = monitor(made, tl.Truth(y, time=week))
    other = monitor({name: p[at] for name, p in made.items()}, tl.Truth(y[at], time=week[at]))
    assert same(paths(one), paths(other))
    assert "A step is a time point, with the sum of the differences of its cases" in " ".join(one.to_text().split())
    assert "after 12 time points" in one.to_text() or "in 12 time points" in one.to_text()


def test_infinite_scores_on_both_sides_of_one_time_point_leave_no_mean() -> None:
    found = monitor({"a": [0, 1, 0], "b": [1, 0, 0]}, tl.Truth([0, 0, 0], time=[1, 1, 2]), space=2, rule="log")["b"]
    assert found.at == (1, 2)
    assert np.isnan(found.mean).all()
    assert "From time point 1 on there is no mean difference" in found.reason


def test_means_are_over_cases_whatever_the_sizes_of_time_points() -> None:
    made, y, _ = correlated(5, weeks=20, each=5)
    rng = np.random.default_rng(0)
    y, week = rng.integers(0, 2, 100), rng.integers(0, 9, 100) ** 2
    path = monitor(made, tl.Truth(y, time=week))["q"]
    d = tl.score(tl.TopLists.from_proba(made["q"]), y) - tl.score(tl.TopLists.from_proba(made["p"]), y)
    assert path.at[-1] == len(set(week.tolist()))
    assert path.mean[-1] == pytest.approx(d.mean())


def test_a_step_may_be_a_cluster() -> None:
    """As a time point is, in the order of the truth; with both, a cluster lies within a time point."""
    made, y, week = correlated(6, weeks=15, each=4)
    y = np.random.default_rng(1).integers(0, 2, len(y))
    by_time = monitor(made, tl.Truth(y, time=week))
    by_name = monitor(made, tl.Truth(y, cluster=[f"c{(7 * w) % 15}" for w in week]))
    both = monitor(made, tl.Truth(y, time=week, cluster=np.arange(len(y)) // 2))
    assert by_name["q"].unit == "cluster"
    for name in ("at", "mean", "low", "high", "log_evidence_better", "separated", "shown_better", "cases"):
        assert getattr(by_name["q"], name) == getattr(by_time["q"], name) == getattr(both["q"], name)
    assert "after 15 clusters" in by_name.to_text() or "in 15 clusters" in by_name.to_text()
    single = monitor(made, tl.Truth(y, cluster=np.arange(len(y))))
    assert same(paths(single), paths(monitor(made, y)))


def test_a_cluster_has_to_be_over_before_the_next_begins() -> None:
    made, y, _ = correlated(6, weeks=2, each=3)
    with pytest.raises(tl.TopListError, match=r"begins at case 1 and goes on at case 4.*sort the cases by cluster"):
        monitor(made, tl.Truth(y, cluster=["x", "a", "a", "b", "a", "b"]))


def test_clusters_of_files_are_those_of_arrays() -> None:
    rng = np.random.default_rng(3)
    y, cluster = rng.integers(0, M, 30), np.repeat(np.arange(10)[::-1], 3)
    rows = {name: [{int(rng.integers(M)): float(t)} for t in rng.uniform(0.3, 0.9, 30)] for name in "pq"}
    tables = {
        name: frames([{"case": i, "class": c, "confidence": t} for i, row in enumerate(made) for c, t in row.items()])
        for name, made in rows.items()
    }
    truth = frames([{"case": i, "outcome": int(y[i]), "who": int(cluster[i])} for i in range(30)])
    found = monitor(tables, tl.Truth(truth, cluster="who"), space=M)
    assert same(paths(found), paths(monitor(rows, tl.Truth(y, cluster=cluster), space=M)))
    assert found["q"].unit == "cluster"
    with pytest.raises(tl.TopListError, match="clusters go over several time points"):
        monitor(tables, tl.Truth(truth, cluster="who", time="outcome"), space=M)
