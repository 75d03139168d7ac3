"""Ways to spoil what is written: text, lines of JSON, bytes, arrays."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.io.damages import ALL, Rng, damage

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
