"""Files that show so many decimals: half a unit of the last one is no evidence of invalidity, in any order of rows."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import toplist as tl
from toplist.io.columns import decimals
from toplist.io.readers import delimited, json_lines
from toplist.lists.validation import last_places, significant_digits

N, M, K = 300, 10, 5
SPACE = [f"c{i}" for i in range(M)]


def softmax(seed: int = 0) -> Any:
    z = np.random.default_rng(seed).normal(size=(N, M)) * 6
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def rows(text: str, seed: int = 0) -> list[tuple[int, list[str], list[str]]]:
    """Per case its id, its most likely classes, and their confidences as text."""
    p = softmax(seed)
    order = np.argsort(-p, axis=1)[:, :K]
    return [(i, [SPACE[c] for c in order[i]], [text % v for v in np.take(p[i], order[i]).tolist()]) for i in range(N)]


def write(path: Path, lists: list[tuple[int, list[str], list[str]]], layout: str, *, seed: int | None = None) -> Path:
    """A file of one layout, with its rows shuffled by a seed."""
    if layout == "jsonl":
        made = [json.dumps({"id": i, "classes": c, "confidences": [float(v) for v in t]}) for i, c, t in lists]
        if seed is not None:
            np.random.default_rng(seed).shuffle(made)
        path = path.with_suffix(".jsonl")
        path.write_text("\n".join(made) + "\n", encoding="utf-8")
        return path
    if layout == "ranked":
        head = ["id", *(name for j in range(1, K + 1) for name in (f"class{j}", f"p{j}"))]
        body = [[i, *(x for pair in zip(c, t, strict=True) for x in pair)] for i, c, t in lists]
    else:
        head = ["id", "class", "confidence"]
        body = [[i, *pair] for i, c, t in lists for pair in zip(c, t, strict=True)]
    if seed is not None:
        np.random.default_rng(seed).shuffle(body)
    path = path.with_suffix(".csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *body])
    return path


def truth(folder: Path) -> Path:
    y = np.random.default_rng(9).integers(0, M, N)
    path = folder / "truth.csv"
    path.write_text("id,outcome\n" + "".join(f"{i},{SPACE[c]}\n" for i, c in enumerate(y)), encoding="utf-8")
    return path


def board(path: Path, folder: Path, **options: Any) -> Any:
    made = tl.compare({"m": str(path)}, str(truth(folder)), space=M, **options, read=tl.ReadOptions(normalize=True))
    return json.loads(made.to_json())["overall"]["rows"][0]


@pytest.mark.parametrize("layout", ["long", "ranked", "jsonl"])
@pytest.mark.parametrize("places", [2, 3, 4, 5, 6])
def test_rounded_files_of_true_lists_have_no_invalid_list(tmp_path: Path, places: int, layout: str) -> None:
    path = write(tmp_path / "a", rows(f"%.{places}f"), layout)
    lists = tl.read_lists(path, M, normalize=True)
    typed = tl.TopLists.from_ragged(lists.offsets, lists.classes, lists.confidences, M, normalize=True)
    assert lists.is_valid().all()
    assert not typed.is_valid().all()  # the same numbers in memory are what they are
    assert board(path, tmp_path)["invalid"] == 0


@pytest.mark.parametrize("layout", ["long", "ranked", "jsonl"])
def test_the_result_does_not_depend_on_rows_batches_or_threads(
    tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit. Some lists are invalid here, so that the penalty is at stake."""
    lists = rows("%.3f")
    for i in range(0, N, 7):
        lists[i][2][-1] = "0.001"
        lists[i][2][-2] = "0.001"
        lists[i][2][0] = "0.300"
    first = board(write(tmp_path / "a", lists, layout), tmp_path)
    assert 0 < first["invalid"] < N / 5
    for seed, threads, size in ((1, "1", 16), (2, "2", 64), (3, "3", 4096)):
        monkeypatch.setenv("TOPLIST_THREADS", threads)
        monkeypatch.setattr(delimited, "batch_rows", lambda _, size=size: size)
        monkeypatch.setattr(json_lines, "BLOCK", 64 * size)
        assert board(write(tmp_path / f"b{seed}", lists, layout, seed=seed), tmp_path) == first


@pytest.mark.parametrize("units", ["percent", "log"])
@pytest.mark.parametrize("layout", ["long", "ranked", "jsonl"])
def test_percentages_and_logarithms_are_rounded_in_their_own_units(tmp_path: Path, layout: str, units: Any) -> None:
    p = softmax()
    order = np.argsort(-p, axis=1)[:, :K]
    t = np.take_along_axis(p, order, axis=1)
    shown = np.char.mod("%.1f" if units == "percent" else "%.2f", 100 * t if units == "percent" else np.log(t))
    lists = [(i, [SPACE[c] for c in order[i]], shown[i].tolist()) for i in range(N)]
    path = write(tmp_path / "a", lists, layout)
    found = tl.read_lists(path, M, scale=units, normalize=True)
    assert found.is_valid().all()
    typed = tl.TopLists.from_ragged(found.offsets, found.classes, found.confidences, M, normalize=True)
    assert not typed.is_valid().all()


@pytest.mark.parametrize("layout", ["long", "ranked", "jsonl"])
@pytest.mark.parametrize("text", ["%.9g", "%.7g"])
def test_numbers_cut_at_a_significant_digit_are_rounded_there(tmp_path: Path, layout: str, text: str) -> None:
    """As pandas writes a column of float32: small numbers have more decimals, and tell nothing of the large ones."""
    z = np.random.default_rng(1).normal(size=(N, M)) * 8
    e = np.exp(z - z.max(axis=1, keepdims=True))
    p = -np.sort(-(e / e.sum(axis=1, keepdims=True)).astype(np.float32), axis=1)[:, :9]
    written = [(i, SPACE[:9], [text % float(v) for v in p[i]]) for i in range(N)]
    shorter = [(i, c[:K], t[:K]) for i, c, t in written]
    path = write(tmp_path / "a", shorter if layout == "ranked" else written, layout)
    assert tl.read_lists(path, M, normalize=True).is_valid().all()


def test_json_of_single_precision_numbers_is_rounded_as_these_are(tmp_path: Path) -> None:
    """`tolist` writes float32 numbers with all digits of a double."""
    z = np.random.default_rng(1).normal(size=(N, M)) * 8
    e = np.exp(z - z.max(axis=1, keepdims=True)).astype(np.float32)
    p = -np.sort(-(e / e.sum(axis=1, keepdims=True)), axis=1)[:, :9]
    written = [json.dumps({"id": i, "classes": SPACE[:9], "confidences": p[i].tolist()}) for i in range(N)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(written), encoding="utf-8")
    assert tl.read_lists(path, M, normalize=True).is_valid().all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_typed_files_are_rounded_as_their_type_is(tmp_path: Path, dtype: Any) -> None:
    z = np.random.default_rng(1).normal(size=(N, M)) * 8
    e = np.exp(z - z.max(axis=1, keepdims=True))
    p = -np.sort(-(e / e.sum(axis=1, keepdims=True)), axis=1)[:, :9].astype(dtype)
    lists = pa.ListArray.from_arrays(np.arange(N + 1, dtype=np.int32) * 9, pa.array(p.ravel()))
    classes = pa.ListArray.from_arrays(np.arange(N + 1, dtype=np.int32) * 9, pa.array(SPACE[:9] * N))
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"id": np.arange(N), "classes": classes, "confidences": lists}), path)
    found = tl.read_lists(path, M)
    assert found.is_valid().all()
    assert (found.rest < 2e-3).any()
    assert board(path, tmp_path)["invalid"] == 0
    np.savez(tmp_path / "a.npz", ids=np.arange(N), classes=np.tile(np.arange(9), (N, 1)), confidences=p)
    assert tl.read_lists(tmp_path / "a.npz", M).is_valid().all()


def test_decimals_are_counted_as_they_are_shown() -> None:
    text = ["0.50", "1", "2.5e-05", ".125", " 0.1 ", "1e-5", "-3.20E+1", "1E10", "12.", None, "0.000001"]
    assert decimals(pa.array(text)).tolist() == [2, 0, 6, 3, 1, 5, 1, 0, 0, 0, 6]  # type: ignore[union-attr]
    assert decimals(pa.array(text).slice(2, 3)).tolist() == [6, 3, 1]  # type: ignore[union-attr]
    assert decimals(pa.array([0.5])) is None
    assert decimals(pa.array([], pa.string())).tolist() == []  # type: ignore[union-attr]


def test_the_digits_of_a_number_are_found_from_its_value() -> None:
    rng = np.random.default_rng(0)
    for d in range(1, 10):
        t = np.round(rng.random(50), d)
        most = max(len(repr(float(v)).partition(".")[2]) for v in t if "e" not in repr(float(v)))
        assert last_places(t, np.array([0, 50]))[0] == pytest.approx(0.5 * 10.0**-most)
        few = np.array([float(f"{v:.{d}g}") for v in rng.random(50) * 1e-4])
        assert significant_digits(few, np.array([0, 50]))[0] == d
