"""Tables in any order, cut anywhere, in memory or on disk, give what tables in the order of the truth give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
from toplist.errors import FileError
from toplist.io import align, columns, sources
from toplist.io.columns import CaseIndex, UniqueIds

pa = pytest.importorskip("pyarrow", reason="files need pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="files need pyarrow")

N = 90
rng = np.random.default_rng(5)
NAMES = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])
OUTCOMES = rng.integers(0, 6, N)
CLASSES = np.array([rng.permutation(6)[:3] for _ in range(N)])
CONFIDENCES = np.sort(rng.dirichlet(np.ones(4), N)[:, :3], axis=1)[:, ::-1]


def lists(cases: Sequence[int], ids: Any = None) -> Any:
    at = np.array(cases, int)
    columns = {
        "case": at if ids is None else ids,
        "classes": NAMES[CLASSES[at]].tolist(),
        "confidences": CONFIDENCES[at].tolist(),
    }
    return pa.table(columns)


def truth() -> Any:
    return pa.table({"case": np.arange(N), "outcome": NAMES[OUTCOMES]})


def wide(cases: Sequence[int], blank: int) -> Any:
    """All classes as columns, one of them blank in a case: batches before it list all classes."""
    at = np.array(cases, int)
    values = np.full((len(at), 6), 0.0)
    np.put_along_axis(values, CLASSES[at], CONFIDENCES[at] / CONFIDENCES[at].sum(axis=1, keepdims=True), axis=1)
    columns = {name: values[:, c].tolist() for c, name in enumerate(NAMES)}
    columns["ant"] = [None if case == blank else value for case, value in zip(cases, columns["ant"], strict=True)]
    return pa.table({"case": at, **columns})


def board(models: dict[str, Any], space: Any = 6, **options: Any) -> str:
    return str(tl.compare(models, truth(), space=space, **options).to_json())


ORDERS = {
    "reversed": list(range(N))[::-1],
    "the same up to the last two": [*range(N - 2), N - 1, N - 2],
    "cut and put together": [*range(50, N), *range(50)],
}


@pytest.mark.parametrize("kept", [1 << 31, 0], ids=["in memory", "on disk"])
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_the_order_shows_nowhere(order: list[int], kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(align, "_IN_MEMORY", kept)
    monkeypatch.setattr(align, "_BLOCK", 7)
    monkeypatch.setattr(align, "_PART", 20)
    same = board({"a": lists(range(N)), "b": lists(range(N)[::-1])})
    assert board({"a": lists(order), "b": lists(range(N))}) == same
    spaces: dict[str, Any] = {"space": list(NAMES)}
    assert board({"a": wide(order, 70)}, **spaces) == board({"a": wide(range(N), 70)}, **spaces)


@pytest.mark.parametrize("missing", ["common", "uniform", "worst", "pairwise"])
def test_cases_that_are_missing_after_the_first_difference_are_the_same_in_any_order(missing: str) -> None:
    some = [case for case in range(N) if case % 7 != 3]
    apart = [*some[:20], *some[20:][::-1]]
    one, other = (board({"a": lists(order), "b": lists(range(N))}, missing=missing) for order in (some, apart))
    assert one == other


@pytest.mark.parametrize("block", [1 << 20, 1], ids=["many batches at once", "no batch is left for the last block"])
def test_a_case_may_not_be_there_before_the_first_difference_and_after_it(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(align, "_BLOCK", block)
    with pytest.raises(FileError, match="row 12: case 3 is there twice"):
        board({"a": lists([*range(10), 11, 3, *range(12, N)])})


def test_what_is_left_out_of_lists_is_counted_where_no_batch_is_left_for_the_last_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(align, "_BLOCK", 1)
    reverse = lists(range(N)[::-1]).to_pylist()
    reverse[4]["confidences"][2] = None
    source = tl.Source(pa.Table.from_pylist(reverse), blanks="drop")
    assert tl.compare({"a": source}, truth(), space=6).comparison.sources[0].repairs == {"blanks left out": 1}


def test_a_bad_row_of_one_of_several_files_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    second = lists(range(40)).to_pylist()
    second[5]["confidences"] = [0.9, 0.9, 0.9]
    pq.write_table(lists(range(40, N)), tmp_path / "a" / "part-1.parquet")
    pq.write_table(pa.Table.from_pylist(second), tmp_path / "a" / "part-2.parquet")
    with pytest.raises(FileError, match=r"part-2.parquet, row 6: case 5: the confidences sum to 2.7"):
        board({"a": tmp_path / "a"})


@pytest.mark.parametrize("room", [1 << 30, 3000, 0], ids=["read once", "read twice from the middle", "read twice"])
def test_rows_of_a_case_in_a_long_table_may_be_anywhere(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_AHEAD", room)
    rows = [
        {"case": case, "class": NAMES[c], "confidence": t}
        for case in range(N)
        for c, t in zip(CLASSES[case], CONFIDENCES[case], strict=True)
    ]
    together = board({"a": pa.Table.from_pylist(rows)})
    for order in (range(len(rows))[::-1], rng.permutation(len(rows)), [*range(1, len(rows)), 0], range(len(rows))):
        table = pa.Table.from_pylist([rows[at] for at in order])
        pieces = pa.concat_tables([table.slice(lo, 20) for lo in range(0, len(table), 20)])
        assert board({"a": pieces}) == together


@pytest.mark.parametrize("kind", [int, str, "case {:04}".format])
def test_ids_are_looked_up_whatever_they_are(kind: Any) -> None:
    ids = pa.array([kind(i) for i in rng.permutation(1000)])
    index = CaseIndex([ids.slice(0, 300), ids.slice(300)], text=kind is not int)
    wanted = [kind(i) for i in (*rng.permutation(1000), 5000, 5001)]
    places, unknown = index.places([pa.array(wanted)])
    assert not len(index.repeated)
    assert index.names(places[:-2]) == wanted[:-2]
    assert (places[-2:].tolist(), unknown.to_pylist()) == ([-1, -1], wanted[-2:])
    assert CaseIndex([ids.slice(0, 0)], text=kind is not int).places([ids])[0].tolist() == [-1] * 1000


def test_texts_with_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    ids, other, same = pa.array(["a", "b", "c", "d"]), pa.array(["c", "x", "a"]), pa.array(["a", "b", "c", "b", "c"])
    hashes = columns.id_hashes
    monkeypatch.setattr(columns, "id_hashes", lambda ids, seed: hashes(ids, seed) % (1 + 3 * seed))
    assert CaseIndex([ids], text=True).places([other])[0].tolist() == [2, -1, 0]
    assert CaseIndex([same], text=True).repeated.tolist() == [1, 3]


def test_ids_rise_by_length_and_then_by_their_characters() -> None:
    def rise(*batches: Sequence[Any]) -> bool:
        unique = UniqueIds()
        for ids in batches:
            unique.see(pa.array(ids))
        return unique.rising

    assert rise(["q8", "q9"], ["q10", "q11"], ["r10"])
    assert rise([], [7], [8, 9])
    assert not rise(["q9"], ["q9"])
    assert not rise(["q9", "q10"], ["q9"])
    assert not rise(["b", "a"])
    assert not rise([3, 3])
