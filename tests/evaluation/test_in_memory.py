"""A comparison says what scoring each model alone says, whatever shapes stand side by side."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests import flat
from tests.core.integers import law
from tests.draws import draws
from tests.evaluation.shapes import LABELS, M, as_lists, predictions
from tests.inference.reference import Brute, agrees

PENALTIES = (None, 0, 0.25, math.inf)
few = settings(law, max_examples=draws(12))


def plain(board: tl.Leaderboard, *, origins: bool = True) -> dict[str, Any]:
    """All that a leaderboard shows, with models by name."""
    found = board.to_dict()
    for section in (found["overall"], *found["groups"]):
        section["rows"] = {row.pop("name"): row for row in section["rows"]}
    found["sources"] = sorted(found["sources"], key=lambda one: str(one["name"])) if origins else None
    return found


def close(a: Any, b: Any) -> bool:
    """The same up to rounding, however deep."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-10, abs_tol=1e-12)
    return bool(a == b)


@few
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), penalty=st.sampled_from(PENALTIES), weighted=st.booleans())
def test_every_shape_is_scored_as_it_would_be_alone(seed: int, n: int, penalty: Any, weighted: bool) -> None:
    """Means, intervals, unpenalised means, simultaneous differences to the leader; accuracy and its kin."""
    made, y = predictions(seed, n)
    w = np.random.default_rng(seed).exponential(size=n) if weighted else None
    board = tl.compare(
        made, tl.Truth(y, weight=w), space=M, rules=("brier", "log", "spherical"), penalty=penalty, k=(1, 3)
    )
    lists = {name: as_lists(name, what) for name, what in made.items()}
    assert {row.name for row in board} == set(made)
    leader = next(iter(board)).name
    invalid = any(row.invalid for row in board)
    pays = 0.0 if not invalid else 0.01 if penalty is None else penalty  # by default, of infinitely many classes
    brutes = {
        rule: Brute.of([tl.score(one, y, rule=rule, penalty=penalty) for one in lists.values()], weights=w)
        for rule in ("brier", "log", "spherical")
    }
    for a, (name, one) in enumerate(lists.items()):
        row = board[name]
        assert row.metrics["accuracy"].value == pytest.approx(tl.accuracy(one, y, sample_weight=w), abs=1e-12)
        assert row.metrics["coverage"].value == pytest.approx(tl.coverage(one, y, sample_weight=w), abs=1e-12)
        assert row.metrics["mean_length"].value == pytest.approx(np.average(one.sizes, weights=w), rel=1e-12)
        assert row.metrics["mean_mass"].value == pytest.approx(np.average(one.mass, weights=w), rel=1e-12)
        assert row.invalid == (~one.is_valid()).sum()
        assert row.metrics["invalid_rate"].value == pytest.approx(np.average(~one.is_valid(), weights=w), rel=1e-12)
        assert (row.cases, row.missing) == (n, 0)
        for k in (1, 3):
            assert row.metrics[f"top_{k}_error"].value == pytest.approx(
                tl.top_k_error(one, y, k=k, sample_weight=w), abs=1e-12
            )
        for mark in row.scores.values():
            brute = brutes[mark.rule]
            want, most = brute.mean(a), {"brier": 2.0, "log": math.inf, "spherical": 1.0}[mark.rule] + pays
            assert mark.infinite == brute.infinite(a)
            if isinstance(want, tuple):
                assert agrees(mark.mean, want, 1e-10, (0.0, most))
            else:
                assert (mark.mean.value, mark.mean.low) == (math.inf, None)
            free = np.average(tl.score(one, y, rule=mark.rule, penalty=0), weights=w)
            assert mark.unpenalised == pytest.approx(free, rel=1e-10)
            assert (mark.difference is None) == (name == leader)
            behind = brute.simultaneous(a, [*lists].index(leader))
            if mark.difference is not None and isinstance(behind, tuple):
                assert agrees(mark.difference, behind, 1e-9, (-most, most))
            if isinstance(want, tuple):
                empty = {"brier": 1 - 1 / M, "log": math.log(M), "spherical": 1 - M**-0.5}[mark.rule]
                assert mark.skill.value == pytest.approx(1 - want[0] / empty, rel=1e-9, abs=1e-12)
    infinite = [row.scores["brier"].infinite for row in board]
    assert infinite == sorted(infinite)
    finite = [row.scores["brier"].mean.value for row in board if not row.scores["brier"].infinite]
    assert finite == sorted(finite)


@few
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30))
def test_the_order_of_the_cases_does_not_show(seed: int, n: int) -> None:
    """Not in the last bit, with weights, groups and clusters."""
    made, y = predictions(seed, n)
    rng = np.random.default_rng(seed + 1)
    w, by, clusters = rng.exponential(size=n), rng.choice(["x", "y"], n), rng.integers(0, 4, n)
    order = rng.permutation(n)

    def turned(what: Any) -> Any:
        return [what[i] for i in order] if isinstance(what, list) else what[order]

    again = {name: turned(what) for name, what in made.items()}
    for options in ({}, {"weight": w, "group": by}, {"cluster": clusters, "weight": w}):
        one = flat.compare(made, y, space=M, **options)
        other = flat.compare(again, y[order], space=M, **{k: v[order] for k, v in options.items()})
        assert one.to_dict() == other.to_dict()
        assert one._intervals.tally == other._intervals.tally


@few
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30))
def test_the_order_of_the_models_does_not_show(seed: int, n: int) -> None:
    """But in the order of those that tie."""
    made, y = predictions(seed, n)
    del made["rows"]  # under the log score of few cases it may tie with its mirror
    boards = [tl.compare(dict(items), y, space=M) for items in (made.items(), reversed(made.items()))]
    one, other = map(plain, boards)
    means = [(row.scores["brier"].infinite, row.scores["brier"].mean.value) for row in boards[0]]
    if len(set(means)) == len(means):
        assert one == other


@few
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), data=st.data())
def test_the_names_of_the_classes_do_not_show(seed: int, n: int, data: st.DataObject) -> None:
    """Codes, codes in another order, and labels: the same leaderboard."""
    made, y = predictions(seed, n)
    rename = np.array(data.draw(st.permutations(range(M))))
    back = np.argsort(rename)

    def renamed(name: str, what: Any, to: Any) -> Any:
        if name == "labels":
            return [to[c] for c in what]
        if name in ("dicts", "tied"):
            return [{to[c]: t for c, t in row.items()} for row in what]
        if name == "lists":
            return tl.TopLists.from_ragged(what.offsets, rename[what.classes], what.confidences, space)
        if name == "sparse":
            return what[:, back]
        return np.asarray(what)[:, back]

    codes, names = dict(enumerate(rename.tolist())), {c: LABELS[rename[c]] for c in range(M)}
    one = plain(tl.compare(made, y, space=M, k=(1, 2)))
    space: Any = M
    other = {name: renamed(name, what, codes) for name, what in made.items()}
    assert close(one, plain(tl.compare(other, [codes[c] for c in y], space=M, k=(1, 2))))
    space = tl.ClassSpace(labels=LABELS)
    other = {name: renamed(name, what, names) for name, what in made.items()}
    assert close(one, plain(tl.compare(other, [names[c] for c in y], space=space, k=(1, 2))))


@few
@given(seed=st.integers(0, 10**6), n=st.integers(2, 20))
def test_a_sure_distribution_as_truth_is_an_outcome(seed: int, n: int) -> None:
    made, y = predictions(seed, n)
    soft = np.eye(M)[y]
    assert close(plain(tl.compare(made, y, space=M)), plain(tl.compare(made, soft, space=M)))


@few
@given(seed=st.integers(0, 10**6), n=st.integers(2, 20))
def test_under_a_soft_truth_scores_are_expected_scores(seed: int, n: int) -> None:
    made, _ = predictions(seed, n)
    truth = np.random.default_rng(seed).dirichlet(np.ones(M), size=n)
    for y in (truth, tl.TopLists.from_proba(truth)):
        board = tl.compare(made, y, space=M)
        for name, what in made.items():
            for mark in board[name].scores.values():
                want = np.mean(tl.expected_score(as_lists(name, what), truth, rule=mark.rule))
                assert mark.mean.value == pytest.approx(want, rel=1e-12)


def test_the_penalty_is_paid_by_invalid_lists_only() -> None:
    """None is the default of each rule; zero is none; infinity cannot be averaged."""
    made = {"invalid": [{0: 0.9, 1: 0.001}, {0: 0.5}], "valid": [{0: 0.9}, {0: 0.5}]}
    y = [0, 0]
    default = tl.scoring.default_penalty(tl.TopLists.from_dicts(made["invalid"], M), rule="brier")
    for penalty, due in ((None, default), (0, 0.0), (0.5, 0.5), (math.inf, math.inf)):
        board = tl.compare(made, y, space=M, rules="brier", penalty=penalty)
        one, other = board["invalid"], board["valid"]
        assert (one.invalid, one.metrics["invalid_rate"].value) == (1, 0.5)
        assert one.scores["brier"].mean.value == pytest.approx(one.scores["brier"].unpenalised + due / 2)
        assert one.scores["brier"].unpenalised == pytest.approx(other.scores["brier"].mean.value)
        assert other.scores["brier"].mean.value == other.scores["brier"].unpenalised
        assert one.scores["brier"].infinite == (due == math.inf)


def test_numbers_of_classes_may_differ_per_case() -> None:
    sizes = [2, 4, 8, 3]
    made = {"dicts": [{0: 0.5}, {1: 0.75}, {}, {2: 1.0}], "labels": [0, 0, 7, 2]}
    y = [0, 1, 7, 1]
    board = tl.compare(made, y, space=sizes, rules=("brier", "zero-one"))
    assert board.comparison.classes == "2 to 8"
    for name, lists in (
        ("dicts", tl.TopLists.from_dicts(made["dicts"], tl.ClassSpace(sizes))),
        ("labels", tl.TopLists.from_labels(made["labels"], tl.ClassSpace(sizes))),
    ):
        score, empty = tl.score(lists, y).mean(), np.mean(1 - 1 / np.array(sizes))
        assert board[name].scores["brier"].mean.value == pytest.approx(score, rel=1e-14)
        assert board[name].scores["brier"].skill.value == pytest.approx(1 - score / empty, rel=1e-12)


def test_there_may_be_infinitely_many_classes() -> None:
    """What is unlisted has no probability then: the Brier score of the empty list is one, its log score infinite."""
    board = tl.compare({"a": [{"x": 0.5}, {}], "b": ["x", "y"]}, ["x", "z"], space=math.inf)
    assert board.comparison.classes == "infinitely many"
    a = list(board["a"].scores.values())
    assert a[0].skill.value == pytest.approx(1 - (0.25 + 1.0) / 2)
    assert (a[1].infinite, a[1].skill) == (1, None)


def test_label_sets_are_classes() -> None:
    space = tl.LabelSets("abc")
    made = {"lists": tl.TopLists.from_dicts([{frozenset("ab"): 0.75, frozenset(): 0.25}] * 2, space)}
    board = tl.compare(made, [{"a", "b"}, {"c"}], rules="brier")
    assert board["lists"].metrics["accuracy"].value == 0.5
    assert board.comparison.classes == "8"


def test_the_number_of_classes_is_found_where_a_shape_says_it() -> None:
    """From lists, or from the columns of distributions; never from labels."""
    p = np.eye(3)
    for made in ({"a": p, "b": [0, 1, 2]}, {"a": tl.TopLists.from_labels([0, 1, 2], 3), "b": p}):
        assert tl.compare(made, [0, 1, 1]).comparison.classes == "3"


def test_a_single_list_is_a_batch_of_one() -> None:
    board = tl.compare({"a": tl.TopList({0: 0.5}, 3)}, [0], space=3, rules="brier")
    assert board["a"].scores["brier"].mean.value == tl.score(tl.TopList({0: 0.5}, 3), 0)
    assert board["a"].scores["brier"].mean.reason == "one case has no spread"


def test_repairs_are_asked_for_by_model_and_counted() -> None:
    p = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    made = {
        "percent": tl.Source(100 * p, scale="percent"),
        "log": tl.Source(np.log(p), scale="log"),
        "mass": tl.Source(2 * p, normalize=True),
        "plain": p,
    }
    board = tl.compare(made, [0, 1])
    values = {row.name: row.scores["brier"].mean.value for row in board}
    assert max(values.values()) == pytest.approx(min(values.values()), rel=1e-12)
    repairs = {one.name: dict(one.repairs) for one in board.comparison.sources}
    assert repairs == {
        "percent": {"scale: percent": 2},
        "log": {"scale: log": 2},
        "mass": {"normalized": 2},
        "plain": {},
    }


def test_groups_and_clusters_are_numbers_text_or_anything_that_has_a_name() -> None:
    made, y = predictions(1, 6)
    for by, names in (
        ([2, 1, 2, 1, 2, 1], ["1", "2"]),
        (["b", "a"] * 3, ["a", "b"]),
        ([True, False] * 3, ["False", "True"]),
        ([1, "a", 1, "a", 1, "a"], ["1", "a"]),
        ([None, "a"] * 3, ["(blank)", "a"]),
        ([1.5, math.nan] * 3, ["(blank)", "1.5"]),
        (np.array(["2020-01-01", "2021-01-01"] * 3, "datetime64[D]"), ["2020-01-01", "2021-01-01"]),
    ):
        board = tl.compare(made, tl.Truth(y, group=by), space=M)
        assert [one.group for one in board.groups] == names
        assert [one.cases for one in board.groups] == [3, 3]
        if "(blank)" in names:
            with pytest.raises(tl.TopListError, match="cluster has no value for case"):
                tl.compare(made, tl.Truth(y, cluster=by), space=M)
            continue
        clustered = tl.compare(made, tl.Truth(y, cluster=by), space=M)
        assert len(clustered._intervals.tally.clusters) == 2


def test_the_method_says_what_was_done() -> None:
    made, y = predictions(2, 6)
    plain, weighted = tl.compare(made, y, space=M), tl.compare(made, tl.Truth(y, weight=[1, 2, 3, 4, 5, 6]), space=M)
    clustered = tl.compare(made, tl.Truth(y, cluster=[0, 0, 1, 1, 2, 2]), space=M)
    assert plain.comparison.method.startswith("paired t intervals")
    assert weighted.comparison.method.startswith("weighted paired t intervals")
    assert clustered.comparison.method.startswith("cluster-robust t intervals")
    assert (plain.comparison.weighted, weighted.comparison.weighted) == (False, True)


def test_pairwise_without_missing_cases_is_the_proportion_of_means() -> None:
    made, y = predictions(3, 40)
    board = tl.compare(made, y, space=M, rules="brier", missing="pairwise")
    means = np.array([row.scores["brier"].mean.value for row in board])
    relative = np.array([row.scores["brier"].relative.value for row in board])
    np.testing.assert_allclose(relative, means / np.exp(np.log(means).mean()), rtol=1e-12)


def test_in_memory_kernels_and_threads_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    from toplist.core import kernel

    made, y = predictions(4, 500)
    want = tl.compare(made, tl.Truth(y, group=y % 3, cluster=y % 4, weight=1 + y), space=M).to_dict()
    monkeypatch.setattr(kernel, "_THREADED", 64)
    monkeypatch.setattr(kernel, "BLOCK", 100)
    for workers in ("1", "2", "3"):
        monkeypatch.setenv("TOPLIST_THREADS", workers)
        assert tl.compare(made, tl.Truth(y, group=y % 3, cluster=y % 4, weight=1 + y), space=M).to_dict() == want


def test_label_sets_of_other_names_are_other_classes() -> None:
    """As many sets, and the same codes for others."""
    a, b = (tl.TopLists.from_labels([{"a"}], tl.LabelSets(names)) for names in ("ab", "ba"))
    with pytest.raises(tl.SpaceError, match="name or order their labels differently"):
        tl.compare({"a": a, "b": b}, [{"a"}])


def test_a_sparse_matrix_of_labels_needs_a_space_of_label_sets() -> None:
    import scipy.sparse as sp

    y = sp.csr_matrix([[1, 1, 0], [0, 0, 1]])
    with pytest.raises(tl.ShapeError, match="LabelSets"):
        tl.score(tl.TopLists.from_labels([0, 1], 3), y)
    hard = tl.TopLists.from_labels(y, tl.LabelSets("abc"))
    assert tl.score(hard, y).tolist() == [0.0, 0.0]


def test_lists_in_memory_are_not_rescaled_beside_a_file_in_percent(tmp_path):
    lists = tl.TopLists.from_dicts([{"a": 0.5}, {"b": 0.75, "a": 0.125}], ["a", "b", "c"])
    percent = tmp_path / "percent.csv"
    percent.write_text("class,confidence,case\na,50,0\nb,75,1\na,12.5,1\n")
    truth = tmp_path / "truth.csv"
    truth.write_text("case,outcome\n0,a\n1,a\n")
    held = tl.TopLists.from_dicts([{"a": 0.5}, {"b": 0.75, "a": 0.125}], ["a", "b", "c"], ids=["0", "1"])
    board = tl.compare({"held": held, "file": percent}, truth, read=tl.ReadOptions(scale="percent"), space=lists.space)
    means = {row.name: row.scores["brier"].mean.value for row in board.comparison.overall.rows}
    assert means["held"] == means["file"] == tl.score(lists, ["a", "a"]).mean()


def test_columns_of_the_truth_that_nobody_asked_for_may_hold_bytes_of_one_length(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    n = 40
    keys = pa.array([bytes([255, at]) for at in range(n)], pa.binary(2))
    table = pa.table({"case": range(n), "outcome": ["a", "b"] * (n // 2), "key": keys})
    parquet.write_table(table, tmp_path / "truth.parquet")
    rows = "".join(f"{at},a,0.{at % 7 + 2}\n" for at in range(n))
    (tmp_path / "p.csv").write_text(f"case,class,confidence\n{rows}")
    assert tl.compare({"p": tmp_path / "p.csv"}, tmp_path / "truth.parquet", space=3).comparison.compared == n
