"""Ways to spoil a file, or to write the same in another way."""

from __future__ import annotations

import copy
import csv
import datetime
import io
import math
import random
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

Records = list[dict[str, Any]]
Rng = random.Random
ALL = ("lists", "long", "wide", "ranked", "labels")
ZOO: tuple[Any, ...] = (
    *(None, "", " ", "abc", "NaN", "50%", "0,5", "0x1p-2", "1_0", "-", "none", "٣", "a\nb", 'q"q', "\x00", "x" * 5000),
    *(math.nan, math.inf, -math.inf, -0.25, -1e-300, 1.5, 55.0, -9999.0, 1e308, 1e-320, 0.3, 0.0, 1.0, 2**40, 10**30),
    *(True, [], ["x"], [["x"]], [0.5, 0.5], {}, {"a": {"b": [1]}}, datetime.date(2020, 2, 2), b"\xff\xfe", "🐦" * 9),
)


@dataclass(frozen=True)
class Damage:
    """A name, what it works on, how, and the layouts in which the file still says the same."""

    name: str
    on: str
    do: Callable[..., Any]
    harmless: Collection[str] = ()


DAMAGES: list[Damage] = []


def damage(on: str, harmless: Collection[str] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(do: Callable[..., Any]) -> Callable[..., Any]:
        DAMAGES.append(Damage(do.__name__.replace("_", " "), on, do, harmless))
        return do

    return add


# Records, before they are written


@damage("records", ALL)
def nothing(rng: Rng, records: Records) -> Records:
    return records


@damage("records", ALL)
def rows_shuffled(rng: Rng, records: Records) -> Records:
    return rng.sample(records, len(records))


@damage("records", ALL)
def columns_shuffled(rng: Rng, records: Records) -> Records:
    names = rng.sample(list(records[0]), len(records[0]))
    return [{name: record[name] for name in names} for record in records]


@damage("records", ("lists", "long", "ranked", "labels"))
def a_further_column(rng: Rng, records: Records) -> Records:
    value = rng.choice([None, "x", 7, 0.1, True])
    return [{**record, "comment": value} for record in records]


@damage("records", ALL)
def ids_as_text(rng: Rng, records: Records) -> Records:
    return [{**record, "case": str(record["case"])} for record in records]


@damage("records")
def a_cell_of_another_kind(rng: Rng, records: Records) -> Records:
    made = copy.deepcopy(records)
    record = rng.choice(made)
    record[rng.choice(list(record))] = rng.choice(ZOO)
    return made


@damage("records")
def a_value_of_another_kind(rng: Rng, records: Records) -> Records:
    """In a list, where there are lists; else in any cell but the id."""
    made = copy.deepcopy(records)
    record = rng.choice(made)
    name = rng.choice([name for name in record if name != "case"])
    if isinstance(record[name], list) and record[name]:
        record[name][rng.randrange(len(record[name]))] = rng.choice(ZOO)
    else:
        record[name] = rng.choice(ZOO)
    return made


@damage("records")
def a_column_of_another_kind(rng: Rng, records: Records) -> Records:
    name, kind = rng.choice(list(records[0])), rng.choice([str, bool, float, int, list, _nested, _bytes])
    return [{**record, name: _each(record[name], kind)} for record in records]


def _each(value: Any, kind: Any) -> Any:
    if value is None or isinstance(value, list):
        return None if value is None else [_each(one, kind) for one in value]
    return kind(value) if kind not in (float, int) or not isinstance(value, str) else len(value)


def _nested(value: Any) -> Any:
    return {"value": value, "more": [{"deep": [value]}]}


def _bytes(value: Any) -> bytes:
    return str(value).encode("latin-1", "replace")


@damage("records")
def a_row_less(rng: Rng, records: Records) -> Records:
    at = rng.randrange(len(records))
    return records[:at] + records[at + 1 :]


@damage("records")
def a_row_twice(rng: Rng, records: Records) -> Records:
    made = list(records)
    made.insert(rng.randrange(len(made)), rng.choice(records))
    return made


@damage("records")
def a_column_less(rng: Rng, records: Records) -> Records:
    gone = rng.choice(list(records[0]))
    return [{name: value for name, value in record.items() if name != gone} for record in records]


@damage("records")
def a_column_by_another_name(rng: Rng, records: Records) -> Records:
    old = rng.choice(list(records[0]))
    new = rng.choice(["zzz", old.upper(), old + " ", "case", "class", "confidence", "p", "x" * 3000, "a,b", 'q"', ""])
    return [{new if name == old else name: value for name, value in record.items()} for record in records]


@damage("records")
def an_id_twice(rng: Rng, records: Records) -> Records:
    made = [dict(record) for record in records]
    made[rng.randrange(len(made))]["case"] = rng.choice(records)["case"]
    return made


@damage("records")
def ids_of_another_kind(rng: Rng, records: Records) -> Records:
    kinds: list[Callable[[Any], Any]] = [
        float,
        lambda i: i + 0.5,
        lambda i: f" {i}",
        lambda i: f"{i}.0",
        lambda i: i + 2**63,
    ]
    kinds += [lambda i: datetime.date(2020, 1, 1) + datetime.timedelta(i), lambda i: None, lambda i: i % 2 == 0]
    kind = rng.choice(kinds)
    return [{**record, "case": kind(record["case"])} for record in records]


@damage("records")
def numbers_in_other_units(rng: Rng, records: Records) -> Records:
    turn = rng.choice([lambda t: 100 * t, lambda t: math.log(t) if t else -math.inf, lambda t: -t, lambda t: t * 1e300])
    return [{name: value if name == "case" else _scaled(value, turn) for name, value in r.items()} for r in records]


def _scaled(value: Any, turn: Callable[[float], float]) -> Any:
    if isinstance(value, list):
        return [_scaled(one, turn) for one in value]
    return turn(value) if isinstance(value, float) else value


@damage("records")
def no_rows(rng: Rng, records: Records) -> Records:
    return [] if rng.random() < 0.1 else records[:1] if rng.random() < 0.3 else records[: len(records) // 2]


# Delimited text


@damage("csv", ALL)
def lines_end_as_on_windows(rng: Rng, text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


@damage("csv", ALL)
def a_mark_before_the_text(rng: Rng, text: str) -> bytes:
    return b"\xef\xbb\xbf" + text.encode()


@damage("csv", ALL)
def blank_lines(rng: Rng, text: str) -> bytes:
    return text.replace("\n", "\n\n", rng.randint(1, 5)).encode() + b"\n"


@damage("csv", ALL)
def blank_lines_first(rng: Rng, text: str) -> bytes:
    return b"\n" * rng.randint(1, 3) + text.encode()


@damage("csv", ALL)
def no_end_of_the_last_line(rng: Rng, text: str) -> bytes:
    return text[:-1].encode()


@damage("csv", ALL)
def everything_quoted(rng: Rng, text: str) -> bytes:
    return _again(text, quoting=csv.QUOTE_ALL)


@damage("csv", ALL)
def spaces_after_commas(rng: Rng, text: str) -> bytes:
    if '"' in text:
        raise ValueError("a quote after a space is none")
    return text.replace(",", ", ").encode()


@damage("csv", ALL)
def another_delimiter(rng: Rng, text: str) -> bytes:
    return _again(text, delimiter=rng.choice([";", "\t", "|"]))


def _again(text: str, **options: Any) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", **options).writerows(csv.reader(io.StringIO(text, newline="")))
    return out.getvalue().encode()


@damage("csv")
def lines_end_in_two_ways(rng: Rng, text: str) -> bytes:
    lines = text.splitlines()
    return "".join(line + rng.choice(["\n", "\n", "\r\n", "\r"]) for line in lines).encode()


@damage("csv")
def a_field_too_many_or_too_few(rng: Rng, text: str) -> bytes:
    lines = text.splitlines()
    at = rng.randrange(len(lines))
    lines[at] = lines[at] + ",0.5" if rng.random() < 0.5 else lines[at].rpartition(",")[0]
    return "\n".join(lines).encode()


@damage("csv")
def no_header(rng: Rng, text: str) -> bytes:
    return text.partition("\n")[2].encode()


@damage("csv")
def the_header_again(rng: Rng, text: str) -> bytes:
    return text.encode() + text.partition("\n")[0].encode() + b"\n"


@damage("csv")
def a_line_of_something_else(rng: Rng, text: str) -> bytes:
    lines = text.splitlines()
    lines.insert(
        rng.randrange(len(lines) + 1), rng.choice(["# a comment", "   ", '"', "---", ",,", '""', "\t", "NULL"])
    )
    return "\n".join(lines).encode()


# Lines of JSON


@damage("jsonl", ALL)
def lines_of_json_with_blanks(rng: Rng, text: str) -> bytes:
    return rng.choice(
        [text.replace("\n", "\r\n"), "\n\n" + text, text.replace("\n", "\n\n"), text[:-1], "\ufeff" + text]
    ).encode()


@damage("jsonl")
def another_line(rng: Rng, text: str) -> bytes:
    lines = text.splitlines()
    odd = ["null", "5", "[1]", "{}", '"x"', "{", "# no", "[" * 9000, '{"case": 1, "case": 1}', '{"a": NaN}', "{'a': 1}"]
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(odd))
    return "\n".join(lines).encode()


@damage("jsonl")
def one_array(rng: Rng, text: str) -> bytes:
    return ("[" + ",\n".join(text.splitlines()) + "]").encode()


@damage("jsonl")
def numbers_as_they_should_not_be(rng: Rng, text: str) -> bytes:
    return text.replace("0.", rng.choice(["NaN, 0.", "1e999, 0.", "00.", "+0.", "'0.", ".", "-0.", "0x0."]), 1).encode()


# Bytes


@damage("bytes")
def cut_short(rng: Rng, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


@damage("bytes")
def some_bytes_changed(rng: Rng, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 3, 20])):
        made[rng.randrange(len(made))] = rng.randrange(256)
    return bytes(made)


@damage("bytes")
def some_bytes_gone_or_twice(rng: Rng, data: bytes) -> bytes:
    lo = rng.randrange(len(data))
    hi = min(len(data), lo + rng.randint(1, 40))
    return data[:lo] + data[hi:] if rng.random() < 0.5 else data[:hi] + data[lo:]


@damage("bytes")
def text_that_is_not_utf8(rng: Rng, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + rng.choice([b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\x00", b"\xe9", b"\x1a"]) + data[at:]


@damage("bytes")
def another_kind_of_file(rng: Rng, data: bytes) -> bytes:
    import gzip

    other = [
        b"",
        b"PK\x03\x04" + data,
        b"\xd0\xcf\x11\xe0" + data,
        gzip.compress(data),
        b"PAR1",
        b"ARROW1\0\0",
        b"{}",
        b"\n\n",
    ]
    other += [rng.randbytes(300), b"<html></html>", data.decode("latin-1").encode("utf-16"), b"\xef\xbb\xbf", data * 2]
    return rng.choice(other)


# Arrays


@damage("arrays", ALL)
def arrays_in_another_form(rng: Rng, arrays: dict[str, Any]) -> dict[str, Any]:
    ways = [
        np.asfortranarray,
        lambda a: a.astype("f4") if a.dtype == "f8" else a,
        lambda a: a.astype(a.dtype.newbyteorder(">")),
    ]
    way = rng.choice(ways)
    return {key: way(value) if value.dtype.kind in "fi" and value.ndim else value for key, value in arrays.items()}


@damage("arrays")
def an_array_changed(rng: Rng, arrays: dict[str, Any]) -> dict[str, Any]:
    key = rng.choice(list(arrays))
    value = arrays[key]
    ways: list[Callable[[Any], Any]] = [
        *(lambda a: a[:-1] if a.ndim else a, lambda a: a[None], np.ravel, np.transpose, lambda a: a.astype(str)),
        *(lambda a: a.astype(object), lambda a: np.zeros(0), lambda a: np.array(5), lambda a: a.astype("M8[s]")),
        *(lambda a: a + 1, lambda a: -a, lambda a: a * 1e300, lambda a: a.astype("f2"), lambda a: a.astype(complex)),
        *(lambda a: a > 0, lambda a: a.astype("S"), lambda a: a.astype("u8"), lambda a: np.full(a.shape, np.nan)),
        lambda a: np.repeat(a[:1], len(a), axis=0),
    ]
    try:
        return {**arrays, key: rng.choice(ways)(value)}
    except (TypeError, ValueError):
        return {**arrays, key: np.array([None, {}], dtype=object)}


@damage("arrays")
def an_array_less_or_by_another_name(rng: Rng, arrays: dict[str, Any]) -> dict[str, Any]:
    key = rng.choice(list(arrays))
    new = rng.choice([None, "zzz", "probs", "classes", "offsets", "case", "x" * 200])
    return {new if name == key else name: value for name, value in arrays.items() if name != key or new is not None}


@damage("arrays")
def a_value_in_an_array(rng: Rng, arrays: dict[str, Any]) -> dict[str, Any]:
    key = rng.choice([key for key, value in arrays.items() if value.size and value.dtype.kind in "fi"])
    made = arrays[key].copy()
    odd = [np.nan, np.inf, -0.5, 7.0, 1e300, 0.0] if made.dtype.kind == "f" else [-1, 10**6, 0, 3, -(2**31)]
    made.flat[rng.randrange(made.size)] = rng.choice(odd)
    return {**arrays, key: made}
