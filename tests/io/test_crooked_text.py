"""Text tables that are not quite tables: short rows, missing headers, comments, padding, thousands of columns."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.io.boards import only
from toplist.errors import FileError
from toplist.io.opening import open_path
from toplist.io.readers import delimited

TRUTH = "case,class\n1,a\n2,b\n3,c\n4,a\n"
RANKED = "case,class_1,p_1,class_2,p_2\n1,a,0.5,b,0.25\n2,b,0.5\n3\n4,c,0.5,a,0.25\n"
FULL = RANKED.replace("0.5\n3\n", "0.5,,\n3,,,,\n")


@pytest.fixture(autouse=True, params=[1 << 18, 3], ids=["small", "large"])
def large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are small, which `csv` reads, or taken for large ones, which DuckDB reads as far as it can."""
    monkeypatch.setattr(delimited, "_FIRST", request.param)


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    return _put(tmp_path / "y.csv", TRUTH)


def _put(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize("suffix", [".csv.gz", ".tsv"])
def test_a_short_row_of_ranks_is_a_short_list(suffix: str, truth: Path) -> None:
    scores = []
    for text in (FULL, RANKED):
        data = text.replace(",", "\t") if suffix == ".tsv" else text
        path = _put(truth.parent / f"p{suffix}", gzip.compress(data.encode()) if suffix.endswith("gz") else data)
        row = only(path, truth, space=5)
        assert (row.cases, row.metrics["mean_length"].value) == (4, 1.25)
        scores.append(row.scores["brier"].mean.value)
    assert scores[0] == scores[1]


def test_short_rows_may_come_after_many_long_ones(tmp_path: Path) -> None:
    rows = [f'{i},a,0.5,"b\nb",0.25' if i % 97 else f"{i},a,0.5" for i in range(1, 30_001)]
    path = _put(tmp_path / "p.csv", "\n".join(["case,class_1,p_1,class_2,p_2", *rows, ""]))
    truth = _put(tmp_path / "y.csv", "case,class\n" + "".join(f"{i},a\n" for i in range(1, 30_001)))
    row = only(path, truth, space=5)
    assert (row.cases, row.metrics["mean_length"].value) == (30_000, pytest.approx(2 - 309 / 30_000))


@pytest.mark.parametrize("rest", ["\n", "", "\nthird,b,0.5,a,0.25\n"])
def test_a_quote_without_an_end_is_no_short_list(rest: str, truth: Path) -> None:
    path = truth.with_name("p.csv")
    path.write_text(f'case,class_1,p_1,class_2,p_2\nfirst,a,0.5\nsecond,"b,0.5{rest}')
    with pytest.raises(FileError, match=r"p\.csv, row 2: this row cannot be taken apart: unexpected end of data"):
        only(path, truth, space=4)


def test_a_file_that_is_cut_in_its_last_row_is_no_short_list(truth: Path) -> None:
    whole = "case,class_1,p_1,class_2,p_2\n1,a,0.5,b,0.25\n2,b,0.5\n3,c,0.5\n4,c,0.5,a,0.25\n"
    path = _put(truth.parent / "p.csv", whole[: -len(",a,0.25\n")])
    with pytest.raises(FileError, match=r"p\.csv: the last row is short and has no line end: is the file cut\?"):
        only(path, truth, space=5)


TOLD = {
    "Latin-1": ("case,class,p\n1,é,0.5\n".encode("latin-1"), "row 1: this is not UTF-8 text: .*iconv -f latin1"),
    "a control character": (b"case,class,p\n1,a,\x1f.5\n", r"row 1: '\\x1f\.5' in 'p' is no number"),
    "Latin-1 in the header": ("case,é,p\n1,1,0.5\n".encode("latin-1"), "this is not UTF-8 text: save it as UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("what", TOLD)
def test_what_is_crooked_is_told_with_a_remedy(what: str, truth: Path) -> None:
    data, sentence = TOLD[what]
    with pytest.raises(FileError, match=rf"p\.csv(: |, ){sentence}"):
        only(_put(truth.parent / "p.csv", data), truth, space=5)


HEADERS = (
    "id,y\n1,y\n2,n\n3,y\n",  # the class y, as in yes
    "0,1,2\n0,1,0\n1,0,0\n0,0,1\n",  # one-hot, with codes for names
    "0.5,1.0,1.5\n0.25,0.5,0.25\n0.5,0.25,0.25\n",  # ratings
    "0.0,1.0\n0.25,0.75\n",  # codes that were floats once
    "case,class,p\n1,a,0.5\ncase,class,p\n2,b,0.5\n",  # is found out later: 'p' is no number
)


@pytest.mark.parametrize("text", HEADERS)
def test_a_header_is_not_taken_for_a_row(text: str, tmp_path: Path) -> None:
    schema = open_path(_put(tmp_path / "p.csv", text)).schema
    assert schema.names == text.partition("\n")[0].split(",")


LONG = "case,class,confidence\n1,a,0.5\n2,b,0.25\n3,c,1\n4,b,0.75\n"
SAME = {
    "an old Mac, blank lines first": "\r\r" + LONG.replace("\n", "\r"),
    "Windows, blank lines first": "\r\n\r\n" + LONG.replace("\n", "\r\n"),
    "quotes behind spaces": 'case, "class", "confidence"\n1, "a", "0.5"\n2, "b", 0.25\n3, "c", 1\n4, b, 0.75\n',
    "quotes before spaces": '"case" ,"class" ,confidence\n1 ,"a" ,0.5\n2 ,"b" ,0.25\n3 ,"c" ,1\n4 ,"b" ,0.75\n',
    "quotes behind spaces in rows": 'case,class,confidence\n1, "a",0.5\n2, "b",0.25\n3, "c",1\n4,b,0.75\n',
    "quotes before spaces in rows": 'case,class,confidence\n1,"a" ,0.5\n2,"b" ,0.25\n3,"c" ,1\n4,b,0.75\n',
}


@pytest.mark.parametrize("what", SAME)
def test_it_says_the_same(what: str, truth: Path) -> None:
    plain = only(_put(truth.parent / "q.csv", LONG), truth, space=5).scores["brier"].mean.value
    row = only(_put(truth.parent / "p.csv", SAME[what]), truth, space=5)
    assert (row.cases, row.scores["brier"].mean.value) == (4, plain)


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_a_file_that_ends_in_megabytes_of_zeros_is_damaged(packed: bool, end: str, truth: Path) -> None:
    data = LONG.encode() + bytes(66 << 20) + end.encode()
    path = truth.parent / ("p.csv.gz" if packed else "p.csv")
    with pytest.raises(FileError, match=r"p\.csv.*: this file ends in zero bytes: it was damaged"):
        only(_put(path, gzip.compress(data, 1) if packed else data), truth, space=5, missing="uniform")


def test_a_file_that_ends_in_a_huge_line_is_refused(truth: Path) -> None:
    with pytest.raises(FileError, match=r"p\.csv: this file ends in a line of more than 4,194,304 bytes"):
        only(_put(truth.parent / "p.csv", LONG + "x" * (66 << 20)), truth, space=5, missing="uniform")


def test_a_text_file_beside_tables_is_no_part_of_them(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    _put(tmp_path / "parts" / "README.txt", "read me")
    path = _put(tmp_path / "parts" / "a.csv", LONG)
    assert open_path(tmp_path / "parts").paths == (path,)


def _wide(width: int, cells: dict[tuple[int, int], str], rows: int = 5) -> str:
    lines = ["case," + ",".join(f"k{i}" for i in range(width))]
    lines += [f"{row}," + ",".join(cells.get((row, i), "") for i in range(width)) for row in range(rows)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("width", [200, 2500], ids=["by DuckDB", "by csv"])
def test_thousands_of_columns_are_read_as_a_few_are(width: int, tmp_path: Path) -> None:
    cells = {(0, 3): "0.5", (0, 150): " 0.25", (1, 199): "1", (2, 0): "0.75", (4, 7): "0.5", (4, 5): "0.125"}
    truth = _put(tmp_path / "y.csv", "case,class\n4,k5\n3,k1\n2,k0\n1,k199\n0,k150\n")
    row = only(_put(tmp_path / "p.csv", _wide(width, cells)), truth, space=width)
    assert (row.cases, row.metrics["mean_length"].value, row.metrics["mean_mass"].value) == (5, 1.2, 0.625)
    share = [0.25 / (width - 2), 0, 0.25 / (width - 1), 1 / width, 0.375 / (width - 2)]
    listed = [[0.5, 0.25], [1], [0.75], [], [0.5, 0.125]]
    hit = [0.25, 1, 0.75, share[3], 0.125]
    expected = [
        sum(t * t for t in p) + (width - len(p)) * s * s - 2 * h + 1 for p, s, h in zip(listed, share, hit, strict=True)
    ]
    assert row.scores["brier"].mean.value == pytest.approx(sum(expected) / 5, rel=1e-12)


def test_thousands_of_columns_that_are_all_filled_are_a_distribution(tmp_path: Path) -> None:
    cells = {(row, i): "0.0004" for row in range(5) for i in range(2500)}
    truth = _put(tmp_path / "y.csv", "case,class\n" + "".join(f"{i},k5\n" for i in range(5)))
    row = only(_put(tmp_path / "p.csv", _wide(2500, cells)), truth, space=2500)
    assert (row.metrics["mean_length"].value, row.scores["brier"].mean.value) == (2500, pytest.approx(1 - 1 / 2500))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (",0.5,", ",half,", "(row 5: 'half' in 'k7' is no number|.*'k7' is not clearly so)"),
        ("\n2,", "\n2,,", "row 3: the number of fields is 2502, but 2501 in the header"),
        ("\n2,,", "\n2,", "row 3: the number of fields is 2500, but 2501 in the header"),
        ("\n2,", '\n2,"', "row 3: this row cannot be taken apart: unexpected end of data"),
    ],
)
def test_what_is_wrong_among_thousands_of_columns_is_named(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    text = _wide(2500, {(2, 2499): "0.5", (4, 7): "0.5"})
    at = text.rindex(old) if "half" in new else text.index(old)
    truth = _put(tmp_path / "y.csv", "case,class\n" + "".join(f"{i},k5\n" for i in range(5)))
    with pytest.raises(FileError, match=rf"p\.csv[:,] {sentence}"):
        only(_put(tmp_path / "p.csv", text[:at] + new + text[at + len(old) :]), truth, space=2500)
