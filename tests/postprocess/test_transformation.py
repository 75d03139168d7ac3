"""Files out, read back, are what the functions make of the same lists in memory."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from tests.io.files import LAYOUTS, save, save_array
from tests.io.strategies import Drawn, chance, draw
from toplist.errors import AlignmentError, FileError, SpaceError, TopListError
from toplist.evaluation.transform import pool_files, recalibrate_file, truncate_file
from toplist.io import align
from toplist.io.options import ReadRequest
from toplist.io.plan import AlignedFiles, open_aligned
from toplist.postprocess.combination import geometric_pool, linear_pool
from toplist.postprocess.recalibration import Temperature
from toplist.postprocess.truncation import truncate_by_gain

M = 9
OUT = ("parquet", "csv", "jsonl")
IN = (
    ("lists", ".parquet"),
    ("lists", ".jsonl"),
    ("long", ".csv"),
    ("scattered", ".parquet"),
    ("wide", ".csv"),
    ("ranked", ".csv"),
    ("ranked", ".parquet"),
)


def aligned(
    models: Any, truth: Any = None, *, space: Any = None, read: tl.ReadOptions | None = None, missing: str = "error"
) -> AlignedFiles:
    return open_aligned(ReadRequest.of(models, truth, read or tl.ReadOptions()), space, missing=missing)


def of(drawn: Drawn) -> tl.TopLists:
    return tl.TopLists.from_dicts(
        drawn.lists, tl.ClassSpace(M, labels=[str(name) for name in drawn.classes]), ids=drawn.ids
    )


def named(drawn: Drawn) -> Drawn:
    """With classes as text: what CSV says of numbers."""
    return replace(
        drawn, classes=list(map(str, drawn.classes)), lists=[{str(c): t for c, t in one.items()} for one in drawn.lists]
    )


def read(path: Path, drawn: Drawn) -> tl.TopLists:
    return tl.read_lists(path, tl.ClassSpace(M, labels=[str(name) for name in drawn.classes]))


def same(a: tl.TopLists, b: tl.TopLists) -> None:
    assert [str(one) for one in a.ids] == [str(one) for one in b.ids]
    assert a.sizes.tolist() == b.sizes.tolist()
    np.testing.assert_allclose(a.padded(), b.padded(), rtol=0, atol=1e-15)


def members(seed: int, **options: Any) -> list[Drawn]:
    """Three models of the same cases."""
    first = draw(seed, **options)
    return [replace(draw(seed + 100 * i, **options), ids=first.ids, outcomes=first.outcomes) for i in range(3)]


@pytest.mark.parametrize("shuffled", [False, True], ids=["in one order", "shuffled"])
@pytest.mark.parametrize(("names", "ids"), [("text", "int"), ("codes", "text")])
@pytest.mark.parametrize("out", OUT)
def test_a_pooled_file_is_the_pool_of_the_lists(
    tmp_path: Path, out: str, names: str, ids: str, *, shuffled: bool
) -> None:
    drawn = members(3, names=names, ids=ids)
    want = linear_pool([of(named(one)) for one in drawn], weights=[0.5, 0.2, 0.3])
    for at in (2, 5):
        paths = {}
        for j, one in enumerate(drawn):
            layout, suffix = IN[(at + j) % len(IN)]
            order = one.shuffled(j) if shuffled and j else one
            paths[f"m{j}"] = save(LAYOUTS[layout](order, chance(at, j)), tmp_path / f"{at}-{j}-{layout}{suffix}")
        done = pool_files(paths, tmp_path / f"out.{out}", weights=[0.5, 0.2, 0.3], space=M)
        assert (done.cases, done.entries, done.faint) == (len(want), len(want.classes), 0)
        same(read(tmp_path / f"out.{out}", drawn[0]), want)


@pytest.mark.parametrize(
    ("kind", "layout", "suffix"),
    [*(("ragged", *one) for one in IN), *((kind, *IN[at]) for kind in ("full", "hard") for at in (0, 2, 4))],
)
def test_files_are_truncated_and_recalibrated_as_lists_are(tmp_path: Path, kind: str, layout: str, suffix: str) -> None:
    drawn = draw(5, kind=kind)
    path = save(LAYOUTS[layout](drawn, chance(1)), tmp_path / f"in{suffix}")
    lists = read(path, drawn)
    space = tl.ClassSpace(M, labels=drawn.classes) if kind != "full" else M
    model = Temperature().fit(lists, drawn.outcomes)
    out = tmp_path / "out.parquet"
    for want, make in (
        (lists.truncate(2), lambda: truncate_file(path, out, k=2, space=space)),
        (lists.truncate(mass=0.6), lambda: truncate_file(path, out, mass=0.6, space=space)),
        (truncate_by_gain(lists, 0.05), lambda: truncate_file(path, out, gain=0.05, space=space)),
        (model.transform(lists), lambda: recalibrate_file(path, model, out, space=space)),
    ):
        assert make().cases == len(lists)
        same(read(out, drawn), want)


@pytest.mark.parametrize("out", OUT)
def test_neither_batches_nor_threads_show_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    drawn = members(11, n=100)
    paths = {f"m{j}": save(LAYOUTS["lists"](one, chance(j)), tmp_path / f"{j}.parquet") for j, one in enumerate(drawn)}
    made = []
    for part in (1, 7, 1 << 15):
        monkeypatch.setattr(align, "_PART", part)
        pool_files(paths, tmp_path / f"by-{part}.{out}", k=3, space=M)
        made.append((tmp_path / f"by-{part}.{out}").read_bytes())
    assert len(set(made)) == 1


def test_ids_and_classes_keep_their_types_and_empty_lists_stay(tmp_path: Path) -> None:
    drawn = draw(2, names="codes")
    path = save(LAYOUTS["lists"](drawn, chance(0)), tmp_path / "in.parquet")
    truncate_file(path, tmp_path / "out.parquet", k=2)
    made = pq.read_table(tmp_path / "out.parquet")
    assert made.schema.field("case").type == pa.int64()
    assert made.schema.field("classes").type.value_type == pa.int64()
    assert made.schema.field("confidences").type.value_type == pa.float64()
    assert made["case"].to_pylist() == drawn.ids
    assert made["classes"].to_pylist()[0] == []
    truncate_file(path, tmp_path / "out.jsonl", k=2)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows == made.to_pylist()


def test_ids_that_look_like_numbers_stay_text(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"case": "007", "classes": ["a"], "confidences": [0.5]}\n')
    truncate_file(tmp_path / "in.jsonl", tmp_path / "out.parquet", k=1)
    assert pq.read_table(tmp_path / "out.parquet")["case"].to_pylist() == ["007"]


def test_whole_numbers_and_labels_of_one_space_are_one_class(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"case": 1, "classes": [1], "confidences": [0.5]}\n')
    (tmp_path / "b.jsonl").write_text('{"case": 1, "classes": ["dog"], "confidences": [0.7]}\n')
    space = tl.ClassSpace(labels=["cat", "dog", "eel"])
    pool_files({"a": tmp_path / "a.jsonl", "b": tmp_path / "b.jsonl"}, tmp_path / "o.jsonl", space=space)
    assert json.loads((tmp_path / "o.jsonl").read_text()) == {"case": 1, "classes": ["dog"], "confidences": [0.6]}


@pytest.mark.parametrize("out", OUT)
def test_label_sets_survive_however_their_labels_are_ordered(tmp_path: Path, out: str) -> None:
    (tmp_path / "a.csv").write_text("case,class,confidence\n1,sun;sea,0.5\n1,{},0.25\n2,rain,0.5\n")
    records = [
        {"case": "1", "classes": [["sea", "sun"], []], "confidences": [0.25, 0.25]},
        {"case": "2", "classes": [], "confidences": []},
    ]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    for space in (tl.ClassSpace(labels=["sun", "sea", "rain"]), 8):
        read = tl.ReadOptions(set_separator=";")
        pool_files({"a": tmp_path / "a.csv", "b": tmp_path / "b.jsonl"}, tmp_path / f"o.{out}", space=space, read=read)
        files = aligned({"o": tmp_path / f"o.{out}"}, space=space, read=read)
        said: dict[str, float] = {}
        for batches in files.cases.common():
            (lists,), _, names = files.lists(batches)
            said |= dict(zip(names.take(lists.classes).to_pylist(), lists.confidences.tolist(), strict=True))
        assert said == pytest.approx({"sea;sun": 0.375, "{}": 0.25, "rain": 0.25 + 0.5 / 8})


@pytest.mark.parametrize("m", [10, 2**10000, math.inf], ids=["10", "huge", "infinite"])
def test_any_number_of_classes_can_be_pooled(tmp_path: Path, m: float) -> None:
    drawn = members(4, m=6)
    paths = {f"m{j}": save(LAYOUTS["long"](one, chance(j)), tmp_path / f"{j}.csv") for j, one in enumerate(drawn)}
    pool_files(paths, tmp_path / "o.jsonl", space=m)
    space = tl.ClassSpace(m, labels=drawn[0].classes)
    want = linear_pool([tl.TopLists.from_dicts(one.lists, space) for one in drawn])
    got = tl.read_lists(tmp_path / "o.jsonl", space)
    np.testing.assert_allclose(got.rest, want.rest, atol=1e-15)
    np.testing.assert_allclose(np.sort(got.confidences), np.sort(want.confidences), atol=1e-15)


def test_geometric_pools_too(tmp_path: Path) -> None:
    lists = [{"a": 0.5, "b": 0.25}, {"a": 0.25, "c": 0.5}]
    for j, one in enumerate(lists):
        (tmp_path / f"{j}.jsonl").write_text(
            json.dumps({"case": 1, "classes": list(one), "confidences": list(one.values())}) + "\n"
        )
    paths = {f"m{j}": tmp_path / f"{j}.jsonl" for j in range(2)}
    pool_files(paths, tmp_path / "o.parquet", pool="geometric", space=M)
    space = tl.ClassSpace(M, labels=["a", "b", "c"])
    want = geometric_pool([tl.TopLists.from_dicts([one], space) for one in lists])
    np.testing.assert_allclose(tl.read_lists(tmp_path / "o.parquet", space).padded(), want.padded(), atol=1e-15)
    with pytest.raises(TopListError, match="linear or geometric"):
        pool_files(paths, tmp_path / "o.parquet", pool="median", space=M)


def test_cases_that_not_all_have_are_an_error_or_left_out(tmp_path: Path) -> None:
    a, b, _ = members(8, n=12)
    save(LAYOUTS["lists"](a.take(list(range(10))), chance(0)), tmp_path / "a.parquet")
    save(LAYOUTS["long"](b.take([11, *range(3, 10)]), chance(1)), tmp_path / "b.csv")
    paths, out = {"a": tmp_path / "a.parquet", "b": tmp_path / "b.csv"}, tmp_path / "o.parquet"
    with pytest.raises(
        AlignmentError, match=rf"b lacks 3 cases \('{a.ids[0]}', .*has 1 case \('{a.ids[11]}'\) that a lacks"
    ):
        pool_files(paths, out, space=M)
    assert not out.exists()
    done = pool_files(paths, out, space=M, missing="common")
    assert (done.cases, done.left_out) == (7, {"a": 3, "b": 1})
    at = list(range(3, 10))
    same(read(out, a), linear_pool([of(a.take(at)), of(b.take(at))]))


def test_files_without_ids_go_by_their_rows_and_stay_without(tmp_path: Path) -> None:
    one = '{"classes": ["a"], "confidences": [0.5]}\n'
    (tmp_path / "a.jsonl").write_text(one * 3)
    (tmp_path / "b.jsonl").write_text(one * 3)
    (tmp_path / "c.jsonl").write_text(one * 2)
    (tmp_path / "d.jsonl").write_text('{"case": 1, "classes": ["a"], "confidences": [0.5]}\n')
    paths = {"a": tmp_path / "a.jsonl", "b": tmp_path / "b.jsonl"}
    assert pool_files(paths, tmp_path / "o.parquet", space=4).cases == 3
    assert pq.read_table(tmp_path / "o.parquet").column_names == ["classes", "confidences"]
    with pytest.raises(TopListError, match="without ids"):
        pool_files(paths, tmp_path / "o.csv", space=4)
    with pytest.raises(AlignmentError, match=r"same number of rows: .* has 2, .* has more"):
        pool_files(paths | {"b": tmp_path / "c.jsonl"}, tmp_path / "o.csv", space=4)
    with pytest.raises(AlignmentError, match="no column with case ids"):
        pool_files(paths | {"b": tmp_path / "d.jsonl"}, tmp_path / "o.csv", space=4)
    assert not (tmp_path / "o.csv").exists()


BAD = {
    "a mass above one": ('{"case": 3, "classes": ["a", "b"], "confidences": [0.9, 0.9]}', "row 3"),
    "a class twice": ('{"case": 3, "classes": ["a", "a"], "confidences": [0.1, 0.2]}', "row 3"),
    "a case twice": ('{"case": 1, "classes": ["a"], "confidences": [0.5]}', "twice"),
    "a length": ('{"case": 3, "classes": ["a", "b"], "confidences": [0.5]}', "row 3"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_data_are_named_and_leave_no_file_behind(tmp_path: Path, what: str) -> None:
    line, said = BAD[what]
    good = [f'{{"case": {case}, "classes": ["a"], "confidences": [0.5]}}' for case in (2, 1)]
    (tmp_path / "in.jsonl").write_text("\n".join([*good, line]) + "\n")
    old = tmp_path / "old.parquet"
    old.write_bytes(b"what was here")
    for out in (tmp_path / "new.parquet", old):
        with pytest.raises(FileError, match=said):
            truncate_file(tmp_path / "in.jsonl", out, k=1, space=5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "old.parquet"]
    assert old.read_bytes() == b"what was here"


def test_a_file_never_replaces_itself(tmp_path: Path) -> None:
    path = save(LAYOUTS["lists"](draw(1), chance(0)), tmp_path / "a.parquet")
    before = path.read_bytes()
    with pytest.raises(TopListError, match="is the input"):
        truncate_file(path, path, k=1)
    with pytest.raises(TopListError, match="lies in the folder"):
        truncate_file(tmp_path, tmp_path / "b.parquet", k=1)
    with pytest.raises(TopListError, match="matches the pattern"):
        pool_files({"a": tmp_path / "*.parquet", "b": path}, tmp_path / "c.parquet", space=M)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_repairs_are_done_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("case,class,confidence\n1,a,80\n1,b,40\n2,a,50\n")
    read = tl.ReadOptions(scale="percent", normalize=True)
    done = truncate_file(tmp_path / "a.csv", tmp_path / "o.jsonl", k=1, read=read)
    assert done.repairs == {"predictions": {"scale: percent": 2, "normalized": 1}}
    first, _ = map(json.loads, (tmp_path / "o.jsonl").read_text().splitlines())
    assert first["confidences"] == pytest.approx([2 / 3])


def test_masses_that_a_file_cannot_hold_are_counted(tmp_path: Path) -> None:
    records = [[-1e-16, -40.0], [-0.1, -900.0], [-0.1, -5.0]]
    lines = [{"case": i, "classes": ["a", "b"], "confidences": t} for i, t in enumerate(records)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    logs = tl.Source(tmp_path / "a.jsonl", scale="log")
    assert truncate_file(logs, tmp_path / "o.parquet", k=1, space=2**100).faint == 1
    both = truncate_file(logs, tmp_path / "o.parquet", k=2, space=2**100)
    assert (both.faint, both.repairs["predictions"]["underflow to zero"]) == (0, 1)


def test_no_cases_make_a_file_without_cases(tmp_path: Path) -> None:
    empty = pa.table(
        {
            "case": pa.array([], pa.int64()),
            "classes": pa.array([], pa.list_(pa.string())),
            "confidences": pa.array([], pa.list_(pa.float64())),
        }
    )
    pq.write_table(empty, tmp_path / "a.parquet")
    for out in OUT:
        assert truncate_file(tmp_path / "a.parquet", tmp_path / f"o.{out}", k=1).cases == 0
        assert (tmp_path / f"o.{out}").exists()
    (tmp_path / "y.csv").write_text("case,outcome\n")
    with pytest.raises(FileError, match="no cases"):
        aligned({"a": tmp_path / "a.parquet"}, tmp_path / "y.csv", space=3).gather()


def test_blank_names_are_refused_in_csv(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"case": "x", "classes": [" "], "confidences": [0.5]}\n')
    with pytest.raises(TopListError, match="blank, which CSV cannot hold"):
        truncate_file(tmp_path / "a.jsonl", tmp_path / "o.csv", k=1)
    assert truncate_file(tmp_path / "a.jsonl", tmp_path / "o.parquet", k=1).cases == 1


def test_arrays_are_read_too(tmp_path: Path) -> None:
    drawn = draw(3, kind="full", names="codes", m=M)
    save_array(drawn, tmp_path / "a.npz", "dense.npz")
    truncate_file(tmp_path / "a.npz", tmp_path / "o.parquet", k=3)
    same(read(tmp_path / "o.parquet", drawn), read(tmp_path / "a.npz", drawn).truncate(3))


@pytest.mark.parametrize("shuffled", [False, True], ids=["in one order", "shuffled"])
@pytest.mark.parametrize("names", ["text", "codes"])
def test_lists_gathered_with_the_truth_score_as_they_do_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: str, *, shuffled: bool
) -> None:
    monkeypatch.setattr(align, "_PART", 7)
    a, b, _ = members(9, names=names)
    for j, one in enumerate((a, b)):
        layout, suffix = (("lists", ".parquet"), ("long", ".csv"))[j]
        save(LAYOUTS[layout](one.shuffled(j) if shuffled else one, chance(j)), tmp_path / f"{j}{suffix}")
    save([{"case": i, "outcome": y} for i, y in zip(a.ids, a.outcomes, strict=True)], tmp_path / "y.parquet")
    files = aligned({"a": tmp_path / "0.parquet", "b": tmp_path / "1.csv"}, tmp_path / "y.parquet", space=M)
    lists, y = files.gather()
    outcomes = list(map(str, a.outcomes))
    for name, one in (("a", a), ("b", b)):
        np.testing.assert_allclose(tl.score(lists[name], y), tl.score(of(named(one)), outcomes), atol=1e-15)
    np.testing.assert_allclose(
        tl.score(linear_pool(lists), y), tl.score(linear_pool([of(named(a)), of(named(b))]), outcomes), atol=1e-15
    )


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("case,class,confidence\n1,a,0.5\n")
    (tmp_path / "y.csv").write_text("case,class,confidence\n1,a,0.5\n")
    path, out = tmp_path / "a.csv", tmp_path / "o.parquet"
    with pytest.raises(TopListError, match="one of the three"):
        truncate_file(path, out, k=1, mass=0.5)
    with pytest.raises(SpaceError, match="one per case"):
        truncate_file(path, out, k=1, space=[3])
    with pytest.raises(SpaceError, match="how many classes"):
        truncate_file(path, out, gain=0.1)
    with pytest.raises(FileError, match="one outcome per case"):
        aligned({"a": path}, tmp_path / "y.csv", space=3)
    with pytest.raises(TopListError, match="missing is"):
        aligned({"a": path}, missing="uniform")
    with pytest.raises(TopListError, match=r"\.parquet"):
        truncate_file(path, tmp_path / "o.xlsx", k=1)
    with pytest.raises(TopListError, match="no folder"):
        truncate_file(path, tmp_path / "no" / "o.parquet", k=1)
    (tmp_path / "y.csv").write_text("case,outcome\n1,\n")
    with pytest.raises(FileError, match="no outcome"):
        aligned({"a": path}, tmp_path / "y.csv", space=3).gather()
    pq.write_table(pa.table({"case": [1], "classes": [[0]], "confidences": [[0.5]]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"case": [1], "outcome": [3]}), tmp_path / "y.parquet")
    with pytest.raises(FileError, match=r"row 1.*outcome 3 is not among the 3 classes"):
        aligned({"a": tmp_path / "a.parquet"}, tmp_path / "y.parquet", space=3).gather()


def test_numbers_are_no_outcomes_among_classes_that_columns_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,cat,dog\n1,0.7,0.3\n2,0.4,0.6\n")
    pq.write_table(pa.table({"id": [1, 2], "outcome": [1, 0]}), tmp_path / "y.parquet")
    with pytest.raises(SpaceError, match="nobody has said which class is which number"):
        aligned({"a": tmp_path / "a.csv"}, tmp_path / "y.parquet")


names_of_classes = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
any_list = st.dictionaries(names_of_classes, st.floats(0, 0.1, exclude_min=True, allow_subnormal=False), max_size=5)


@pytest.mark.parametrize("out", OUT)
@settings(max_examples=draws(30), deadline=None)
@given(lists=st.lists(any_list, min_size=1, max_size=5), ids=st.sampled_from(["int", "text"]))
def test_every_name_and_every_digit_survives_or_is_refused(out: str, lists: list[dict[str, float]], ids: str) -> None:
    table = {
        "case": [i if ids == "int" else f"0{i}" for i in range(len(lists))],
        "classes": pa.array([list(one) for one in lists], pa.list_(pa.string())),
        "confidences": pa.array([list(one.values()) for one in lists], pa.list_(pa.float64())),
    }
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.parquet", Path(folder) / f"out.{out}"
        pq.write_table(pa.table(table), source)
        if out == "csv" and any(not name.strip() for one in lists for name in one):
            with pytest.raises(TopListError, match="CSV cannot hold"):
                truncate_file(source, target, k=9)
            assert not target.exists()
            return
        truncate_file(source, target, k=9)
        files = aligned({"o": target}, space=math.inf)
        got: list[dict[str, float]] = []
        for batches in files.cases.common():
            (made,), _, names = files.lists(batches)
            classes = made.classes.tolist() if names is None else names.take(made.classes).to_pylist()
            entries = list(zip(classes, made.confidences.tolist(), strict=True))
            got += [dict(entries[lo:hi]) for lo, hi in pairwise(made.offsets.tolist())]
        assert got == lists


def test_a_vetoed_case_is_named_with_its_file_and_row(tmp_path: Path) -> None:
    for name, sure in (("a", "x"), ("b", "y")):
        lines = [{"case": f"c{i}", "classes": ["x"], "confidences": [0.5]} for i in range(3)]
        lines.append({"case": "c3", "classes": [sure], "confidences": [1.0]})
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    paths = {name: tmp_path / f"{name}.jsonl" for name in "ab"}
    with pytest.raises(FileError, match=r"a\.jsonl, row 4.*c3"):
        pool_files(paths, tmp_path / "o.csv", pool="geometric", space=5)
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize("cases", ["12", "21"], ids=["in one order", "shuffled"])
def test_what_lacks_its_confidence_is_left_out_where_that_is_asked_for(tmp_path: Path, cases: str) -> None:
    (tmp_path / "a.csv").write_text("case,class_1,p_1\n1,x,0.5\n2,x,0.5\n")
    rows = {"1": "1,x,0.5,y,\n", "2": "2,x,0.25,y,0.25\n"}
    (tmp_path / "b.csv").write_text("case,class_1,p_1,class_2,p_2\n" + "".join(rows[case] for case in cases))
    paths, out = {"a": tmp_path / "a.csv", "b": tmp_path / "b.csv"}, tmp_path / "o.jsonl"
    with pytest.raises(FileError, match="confidence is blank"):
        pool_files(paths, out, space=5)
    done = pool_files(paths | {"b": tl.Source(paths["b"], blanks="drop")}, out, space=5)
    assert done.repairs == {"a": {}, "b": {"blanks left out": 1}}
    first, _ = map(json.loads, out.read_text().splitlines())
    assert (first["classes"], first["confidences"]) == (["x"], [0.5])
