"""The same predictions give the same leaderboard, bit by bit, however they are written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from scipy import sparse

import toplist as tl
from tests.io.boards import LABELS, SOFT, agree, hard_truth, numbers, only, soft_truth
from tests.io.files import as_labels, as_lists, as_long, everything, save, save_array
from tests.io.strategies import Drawn, brier, chance, draw
from toplist import ClassSpace, TopLists
from toplist.evaluation.compare import compare

KINDS = ("ragged", "full", "top", "hard")


def _means(drawn: Drawn) -> dict[str, float]:
    """What does not depend on the rule."""
    n = len(drawn.ids)
    return {
        "coverage": sum(y in one for y, one in zip(drawn.outcomes, drawn.lists, strict=True)) / n,
        "mean_length": sum(map(len, drawn.lists)) / n,
        "mean_mass": sum(sum(one.values()) for one in drawn.lists) / n,
    }


@pytest.mark.parametrize(
    ("kind", "names"), [("ragged", "text"), ("ragged", "codes"), ("full", "text"), ("top", "codes"), ("hard", "text")]
)
@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_every_layout_and_format_gives_the_same_numbers_bit_by_bit(
    kind: str, names: str, shuffle: bool, tmp_path: Path
) -> None:
    drawn = draw(1, kind=kind, names=names, ids="int" if names == "codes" else "text")
    made = everything(drawn, kind, tmp_path / "all", shuffle=shuffle)
    at = KINDS.index(kind) + shuffle
    board = compare(made, hard_truth(drawn, tmp_path / f"y.{LABELS[at]}"), space=drawn.m, k=(1, 2, 5))
    shared = agree(board)
    assert shared["cases"] == len(drawn.ids)
    means = {key: shared["metrics"][key]["value"] for key in _means(drawn)}
    assert means == pytest.approx(_means(drawn), rel=1e-15)
    assert shared["scores"]["brier"]["mean"]["value"] == pytest.approx(
        float(sum(brier(drawn)) / len(drawn.ids)), rel=1e-14
    )
    assert {origin.cases for origin in board.comparison.sources} == {len(drawn.ids)}
    reference = compare(
        {"memory": TopLists.from_dicts(drawn.lists, ClassSpace(labels=drawn.classes))}, drawn.outcomes, k=(1, 2, 5)
    )
    assert numbers(reference)["None/memory"] == shared


@pytest.mark.parametrize("form", SOFT)
@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_a_soft_truth_in_any_layout_gives_the_same_numbers(form: str, shuffle: bool, tmp_path: Path) -> None:
    drawn = draw(2, 25)
    made = everything(drawn, "ragged", tmp_path / "all", shuffle=shuffle)
    some = {name: made[name] for name in list(made)[SOFT.index(form) :: 4]}
    shared = agree(compare(some, soft_truth(drawn, tmp_path, form), space=drawn.m))
    expected = [
        # the expected score is the squared distance to the mean, and what the truth itself varies
        score + 1 - sum(q * q for q in _padded(drawn, at))
        for at, score in enumerate(_distance(drawn))
    ]
    assert shared["cases"] == len(drawn.ids)
    assert shared["scores"]["brier"]["mean"]["value"] == pytest.approx(float(sum(expected) / len(expected)), rel=1e-13)


def _padded(drawn: Drawn, at: int) -> list[float]:
    one = drawn.soft[at]
    share = (1 - sum(one.values())) / max(drawn.m - len(one), 1)
    return [one.get(name, share) for name in drawn.classes]


def _distance(drawn: Drawn) -> list[float]:
    believed = replace(drawn, soft=drawn.lists)
    pairs = ((_padded(believed, at), _padded(drawn, at)) for at in range(len(drawn.ids)))
    return [sum((p - q) ** 2 for p, q in zip(*pair, strict=True)) for pair in pairs]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_ids_may_be_numbers_in_one_file_and_text_in_the_other(suffix: str, tmp_path: Path) -> None:
    drawn = draw(3)
    as_text = replace(drawn, ids=list(map(str, drawn.ids)))
    truth = hard_truth(as_text.shuffled(5), tmp_path / f"y.{suffix}")
    made = {
        "numbers": save(as_lists(drawn, chance(0)), tmp_path / "numbers.parquet"),
        "text": save(as_long(as_text, chance(0)), tmp_path / "text.parquet"),
        "floats": save(
            as_lists(replace(drawn, ids=list(map(float, drawn.ids))), chance(0)), tmp_path / "floats.parquet"
        ),
        "csv": save(as_long(drawn, chance(0)), tmp_path / "text.csv"),
    }
    assert agree(compare(made, truth, space=drawn.m))["cases"] == len(drawn.ids)
    for name, path in made.items():
        assert only(path, truth, space=drawn.m).cases == len(drawn.ids), name


@pytest.mark.parametrize("kind", KINDS)
def test_without_ids_rows_are_cases_in_their_order(kind: str, tmp_path: Path) -> None:
    drawn = draw(4, kind=kind, names="codes")
    truth = hard_truth(drawn, tmp_path / "y.csv", ids=False)
    records = {"lists.parquet": as_lists(drawn, chance(0)), "lists.jsonl": as_lists(drawn, chance(0))}
    if kind == "hard":
        records |= {"labels.csv": as_labels(drawn, chance(0)), "labels.parquet": as_labels(drawn, chance(0))}
    bare = {name: [{k: v for k, v in r.items() if k != "case"} for r in made] for name, made in records.items()}
    made = {name: save(rows, tmp_path / name) for name, rows in bare.items()}
    if kind == "full":
        made["dense.npy"] = save_array(drawn, tmp_path / "dense.npy", "dense.npy")
    shared = agree(compare(made, truth, space=drawn.m, read=tl.ReadOptions(by_position=True)))
    assert shared["cases"] == len(drawn.ids)
    assert shared["scores"]["brier"]["mean"]["value"] == pytest.approx(
        float(sum(brier(drawn)) / len(drawn.ids)), rel=1e-14
    )


@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_batches_do_not_show(shuffle: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toplist.io.readers.base.ENTRIES", 1)  # a thousand rows at a time, which cut through cases
    drawn = draw(5, 2500, m=4)
    forms = ("lists.parquet", "lists.feather", "long.csv", "scattered.parquet", "wide.csv", "ranked.csv")
    made = everything(drawn, "ragged", tmp_path / "all", shuffle=shuffle)
    board = compare({name: made[name] for name in forms}, hard_truth(drawn, tmp_path / "y.csv"), space=drawn.m)
    shared = agree(board)
    assert shared["cases"] == 2500
    assert shared["scores"]["brier"]["mean"]["value"] == pytest.approx(float(sum(brier(drawn)) / 2500), rel=1e-14)


@pytest.mark.parametrize(("suffix", "shuffle"), [("csv", False), ("parquet", True), ("jsonl", True)])
def test_a_label_file_a_number_and_a_column_of_sizes_agree(suffix: str, shuffle: bool, tmp_path: Path) -> None:
    drawn = draw(6)
    same = replace(drawn, sizes=[drawn.m] * len(drawn.ids))
    truth = hard_truth(same, tmp_path / f"y.{suffix}")
    all_of_them = everything(same, "ragged", tmp_path / "all", shuffle=shuffle)
    made = {name: all_of_them[name] for name in ("lists.parquet", "long.csv", "wide.csv", "ranked.parquet")}
    by = [
        agree(compare(made, truth, space=drawn.m)),
        agree(compare(made, truth, space=ClassSpace(labels=drawn.classes))),
        agree(compare(made, tl.Truth(truth, n_classes="options"))),
    ]
    assert by[0] == by[1] == by[2]
    assert agree(compare({"wide": made["wide.csv"]}, truth)) == by[0]  # its columns say how many there are


@pytest.mark.parametrize("names", ["text", "codes"])
def test_sizes_that_differ_per_case_are_scored_by_the_definition(names: str, tmp_path: Path) -> None:
    drawn = draw(7, names=names, kind="top")
    # more unlisted classes get less each, so that lists stay valid
    truth = hard_truth(drawn, tmp_path / "y.parquet")
    made = everything(drawn, "top", tmp_path / "all", shuffle=True)
    shared = agree(compare({name: made[name] for name in list(made)[::2]}, tl.Truth(truth, n_classes="options")))
    expected = brier(drawn, drawn.sizes)
    assert shared["scores"]["brier"]["mean"]["value"] == pytest.approx(float(sum(expected) / len(expected)), rel=1e-13)


@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_groups_weights_and_clusters_come_from_columns_of_the_truth(shuffle: bool, tmp_path: Path) -> None:
    drawn = draw(8)
    made = everything(drawn, "ragged", tmp_path / "all", shuffle=shuffle)
    some = {name: made[name] for name in ("lists.jsonl", "long.csv", "wide.parquet", "ranked.csv", "scattered.parquet")}
    scores = brier(drawn)
    boards = []
    for suffix in ("csv", "parquet", "jsonl"):
        truth = hard_truth(drawn, tmp_path / f"y.{suffix}")
        board = compare(some, tl.Truth(truth, group="region", weight="weight", cluster="source"), space=drawn.m)
        agree(board)
        boards.append(numbers(board))
        assert sorted(section.group for section in board.groups) == sorted(set(drawn.groups))
        for section in board.groups:
            inside = [at for at, group in enumerate(drawn.groups) if group == section.group]
            assert section.cases == len(inside)
            total = sum(drawn.weights[at] for at in inside)
            mean = float(sum(scores[at] * int(2 * drawn.weights[at]) for at in inside)) / (2 * total)
            assert section.rows[0].scores["brier"].mean.value == pytest.approx(mean, rel=1e-13)
    assert boards[0] == boards[1] == boards[2]


# What holds no lists


def test_a_sparse_matrix_of_scores_per_label_is_refused_with_the_way_that_works(tmp_path: Path) -> None:
    P = sparse.csr_matrix([[0.9, 0.8, 0.0, 0.1], [0.0, 0.3, 0.7, 0.0]])
    sparse.save_npz(tmp_path / "P.npz", P)
    with pytest.raises(tl.TopListError, match="best_sets"):
        tl.read_lists(tmp_path / "P.npz", 4)
    lists = tl.multilabel.best_sets(P.toarray(), 3, tl.LabelSets("abcd"))
    assert tl.score(lists, [{"a", "b"}, {"c"}]).shape == (2,)
