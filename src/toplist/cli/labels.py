"""The classes that --classes declares: a number, or the labels in a file."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

import toplist as tl
from toplist._text import UTF8_REMEDY, closest, closest_file, did_you_mean, listed, quote
from toplist.cli.errors import UsageError
from toplist.errors import FileError
from toplist.report.text import visible

_TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_LABELS = ("label", "class", "name", "class_name", "label_name", "classname", "category", "labels", "classes", "names")
_CODES = ("id", "code", "index", "class_id", "label_id", "category_id", "idx")


def space_of(text: str | None, truth: str | None) -> tuple[Any, str | None]:
    """What --classes says: a space, or the column of the truth that says how many there are per case."""
    if text is None:
        return None, None
    word = text.strip()
    if word.lower() in ("inf", "infinity", "infinite"):
        return tl.ClassSpace(math.inf), None
    if re.fullmatch(r"\d[\d_,]*", word):
        if len(word) > 4000:
            raise UsageError(f"--classes: a number of {len(word):,} digits is too long: say 2^L or inf.")
        return tl.ClassSpace(int(re.sub(r"[_,]", "", word))), None
    power = re.fullmatch(r"2(?:\^|\*\*)(\d{1,6})", word)
    if power:
        return tl.ClassSpace(2 ** int(power.group(1))), None
    if Path(word).is_file():
        return tl.ClassSpace(labels=read_labels(Path(word))), None
    table, mark, column = word.rpartition(":")
    if mark and Path(table).suffix.lower() in _TABLES and Path(table).is_file():
        return tl.ClassSpace(labels=read_labels(Path(table), column)), None
    columns = _columns(truth)
    if word in columns:
        return None, word
    near = None if Path(word).exists() else closest(word, columns) or closest_file(word, _files_beside(word))
    hint = "" if near is None else f" Did you mean {near!r}?"
    raise UsageError(f"--classes is a number, 2^L, inf, a file of labels or a column of the truth, not {text!r}.{hint}")


def _columns(truth: str | None) -> list[str]:
    if truth is None:
        return []
    from toplist.io.files import open_path

    names: list[str] = open_path(truth).schema.names
    return names


def _files_beside(word: str) -> list[str]:
    folder = Path(word).parent
    return [str(folder / p.name) if str(folder) != "." else p.name for p in folder.iterdir()] if folder.is_dir() else []


def read_labels(path: Path, column: str | None = None) -> list[str]:
    """One label per line, a column of a table (.csv, .tsv), a JSON list, or JSON with a label for each code."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(str(path), f"this is not UTF-8 text. {UTF8_REMEDY}") from None
    except OSError as error:
        raise FileError(str(path), f"this cannot be read: {error.strerror}.") from None
    suffix = path.suffix.lower()
    if suffix == ".json":
        labels = _json_labels(text, str(path))
    elif suffix in _TABLES:
        labels = _table_labels(text, _TABLES[suffix], str(path), column)
    else:
        labels = [line.strip("\r") for line in text.split("\n")]
        if len(labels) > 2 and labels[0].strip().casefold() in _LABELS:
            raise FileError(
                str(path),
                f"the first line, {quote(labels[0])}, may be a header or a class. Remove it if it is a header, or name "
                "the file .csv; if it is a class, do not put it first.",
            )
    labels = [label for label in labels if label.strip()]
    if not labels:
        raise FileError(str(path), "there are no labels in this file.")
    seen: set[str] = set()
    for row, label in enumerate(labels, 1):
        if label in seen:
            raise FileError(str(path), f"the label {quote(label)} is there twice.", row=row)
        seen.add(label)
    return labels


def _json_labels(text: str, path: str) -> list[str]:
    """A list; or an object with a label for each code, or a code for each label, as models keep it (id2label)."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        inner = next((found[key] for key in ("id2label", "label2id") if isinstance(found.get(key), dict)), None)
        labels = _by_code(found if inner is None else inner, path)
        said = found.get("num_labels", len(labels))
        if inner is not None and said != len(labels):
            raise FileError(path, f"num_labels is {quote(said)}, but there are {len(labels):,} labels.")
        return labels
    if not isinstance(found, list) or any(isinstance(label, list | dict) for label in found):
        raise FileError(
            path, "labels are a JSON list, a JSON object with a label for each code (id2label), or one label per line."
        )
    return [str(label) for label in found]


def _by_code(found: Mapping[str, Any], path: str) -> list[str]:
    """The labels of codes that are all from 0 on."""
    pairs: dict[int, str] = {}
    if found and all(re.fullmatch(r"\d{1,9}", key) for key in found):
        pairs = {int(key): str(label) for key, label in found.items() if not isinstance(label, list | dict)}
    elif found and all(type(code) is int for code in found.values()):
        pairs = {code: label for label, code in found.items()}
    if not found or len(pairs) < len(found):
        raise FileError(path, 'a JSON object of labels has one for each code, as in {"0": "cat", "1": "dog"}.')
    gap = next((code for code in range(len(pairs)) if code not in pairs), None)
    if gap is not None:
        raise FileError(path, f"there are {len(pairs):,} labels, but none for the code {gap}: codes are 0, 1, 2, ...")
    return [pairs[code] for code in range(len(pairs))]


def _table_labels(text: str, delimiter: str, path: str, column: str | None) -> list[str]:
    """A column of a table; where there is one column, its first line is a header only if it is called like one."""
    try:
        rows = [
            row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if any(map(str.strip, row))
        ]
    except csv.Error as error:
        raise FileError(path, f"this is no table: {error}.") from None
    head = [name.strip() for name in rows[0]] if rows else []
    known = [name for name in head if name.casefold() in _LABELS]
    odd = next((i for i, row in enumerate(rows) if len(row) != len(head)), None)
    if odd is not None:
        problem = (
            f"{len(rows[odd])} fields, but {len(head)} in the first line. Quote labels that have {delimiter!r} in them"
        )
        raise FileError(path, f"{problem}, or name the file .txt, where every line is a label.", row=odd + 1)
    if column is None and len(head) < 2 and (len(rows) < 2 or head[0].casefold() not in (*_LABELS, *_CODES)):
        return [row[0] for row in rows]
    chosen = column if column is not None else known[0] if len(known) == 1 else head[0] if len(head) == 1 else None
    if chosen is None or chosen not in head:
        near = "" if column is None else did_you_mean(column, head)
        lacks = "which column are the labels?" if column is None else f"there is no column {quote(column)}.{near}"
        remedy = (
            f"Name it, as in --classes {path}:{known[0] if known else head[-1]}, or write the labels to a file alone."
        )
        raise FileError(path, f"{lacks} The columns are {listed(head)}. {remedy}")
    labels = [row[head.index(chosen)] for row in rows[1:]]
    typer.echo(f"labels: {len(labels):,} from the column {visible(chosen)} of {visible(path)}", err=True)
    codes = next((name for name in head if name != chosen and name.casefold() in _CODES), None)
    if codes is None:
        return labels
    numbers = [row[head.index(codes)].strip() for row in rows[1:]]
    if sorted(numbers) != sorted(map(str, range(len(labels)))):
        raise FileError(
            path,
            f"the column {quote(codes)} is not 0 to {len(labels) - 1:,}, as codes of classes are: "
            "write the labels alone to a file, in the order of their codes.",
        )
    return [label for _, label in sorted(zip(map(int, numbers), labels, strict=True))]
