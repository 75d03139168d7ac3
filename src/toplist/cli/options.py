"""The options that several commands share, and the examples in their help.

From the words of a command line to what they mean.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from toplist._text import UTF8_REMEDY, closest, closest_file, did_you_mean, listed, quote
from toplist.cli.errors import UsageError
from toplist.errors import FileError
from toplist.io.files import open_path, stem_of
from toplist.io.layouts import KINDS
from toplist.io.options import TRUTH, ReadOptions
from toplist.lists.space import ClassSpace
from toplist.lists.validation import Repairs
from toplist.report.text import visible
from toplist.scoring.rules import RULES

_READING = "How files are read"
_VALUES = "What values mean"
_SURE = "How sure it is"

Truth = Annotated[str, typer.Option("--truth", "-t", help="What happened: a file with case ids and outcomes.")]
MaybeTruth = Annotated[
    str | None, typer.Option("--truth", "-t", help="What happened: a file with case ids and outcomes.")
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes", "-c", help="How many there are: a number, 2^L, inf, a file of labels, or a column of the truth."
    ),
]
OneCount = Annotated[
    str | None,
    typer.Option("--classes", "-c", help="How many there are: a number, 2^L, inf, or a file of labels."),
]
Rules = Annotated[
    list[str] | None,
    typer.Option(
        "--rule", help="brier, log, spherical, zero-one, one-vs-rest; may be given several times. The first ranks."
    ),
]
Penalty = Annotated[float | None, typer.Option(help="What an invalid list pays; by default 1 % of the uniform score.")]
Layouts = Annotated[
    list[str] | None,
    typer.Option("--layout", help="lists, long, wide, ranked or labels; or name=layout.", rich_help_panel=_READING),
]
Case = Annotated[
    list[str] | None,
    typer.Option(
        "--case", help="The column with case ids; or name=column, also truth=column.", rich_help_panel=_READING
    ),
]
Class = Annotated[
    list[str] | None,
    typer.Option("--class", help="The column with classes; or name=column.", rich_help_panel=_READING),
]
Confidence = Annotated[
    list[str] | None,
    typer.Option(
        "--confidence",
        help="The column with confidences, or a pattern such as 'prob_*' for a column per class; or name=column.",
        rich_help_panel=_READING,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        help="A column, or a pattern of columns, to leave out; or name=column. May be given several times.",
        rich_help_panel=_READING,
    ),
]
ByPosition = Annotated[
    bool,
    typer.Option(
        "--by-position", help="Match rows by their position: all files have the same order.", rich_help_panel=_READING
    ),
]
Outcome = Annotated[str | None, typer.Option(help="The column of the truth with outcomes.", rich_help_panel=_READING)]
Sets = Annotated[
    str | None, typer.Option(help="Classes are label sets, with this delimiter; {} is empty.", rich_help_panel=_READING)
]
UnitsOption = Annotated[
    list[str] | None,
    typer.Option("--units", help="probability, percent or log; or name=units.", rich_help_panel=_VALUES),
]
Normalize = Annotated[
    bool,
    typer.Option("--normalize", help="Divide masses by their sum, where they are off.", rich_help_panel=_VALUES),
]
NormalizeOnly = Annotated[
    list[str] | None,
    typer.Option("--normalize-only", help="The same for one model, by its name.", rich_help_panel=_VALUES),
]
DuplicatesOption = Annotated[
    list[str] | None,
    typer.Option("--duplicates", help="error or sum; or name=sum.", rich_help_panel=_VALUES),
]
BlanksOption = Annotated[
    list[str] | None,
    typer.Option(
        "--blanks",
        help="Entries that lack their class or their confidence: error, or drop to leave them out; or name=drop.",
        rich_help_panel=_VALUES,
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="A column of the truth: cases that belong together (one called cluster is found).", rich_help_panel=_SURE
    ),
]
Order = Annotated[
    str | None,
    typer.Option(help="A column of the truth: when each case was (one called order is found).", rich_help_panel=_SURE),
]
Intervals = Annotated[
    str,
    typer.Option(
        help="t, normal, hac or cosine (for cases in time), bootstrap; auto follows from what the truth says.",
        rich_help_panel=_SURE,
    ),
]
Level = Annotated[float, typer.Option(help="Confidence level.", rich_help_panel=_SURE)]
Horizon = Annotated[
    int, typer.Option(help="How many moments lie between a forecast and what happens.", rich_help_panel=_SURE)
]
Draws = Annotated[int, typer.Option(help="Outcomes drawn for the test and the bands.", rich_help_panel=_SURE)]
Seed = Annotated[int, typer.Option(help="Of what is drawn.", rich_help_panel=_SURE)]
ConfidenceSet = Annotated[
    bool, typer.Option("--confidence-set", help="Say among whom the best one is.", rich_help_panel=_SURE)
]
Sequential = Annotated[
    bool,
    typer.Option("--sequential", help="What may be said at any time, for those who look often.", rich_help_panel=_SURE),
]
Baseline = Annotated[
    str | None,
    typer.Option(help="With --sequential, whom the others are compared with; else the first.", rich_help_panel=_SURE),
]
One = Annotated[str, typer.Argument(metavar="FILE", help="Predictions: a path, a folder or a pattern.")]
ListsOut = Annotated[Path, typer.Option("--output", "-o", help="Where to: .parquet, .csv or .jsonl.")]
Rule = Annotated[
    str, typer.Option("--rule", help="The score that counts: brier, log, spherical, zero-one, one-vs-rest, ...")
]
Common = Annotated[str, typer.Option("--missing", help="What to do about missing cases: error or common.")]
Report = Annotated[Path | None, typer.Option("--report", help="Write everything on one HTML page, such as board.html.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress bar while files are read; results and errors are shown.")
]

COMPARE_EXAMPLES = """Examples:

  toplist compare a.parquet b.jsonl c.csv --truth y.csv --classes 1000

  toplist compare old=run1/*.parquet new=run2/*.parquet -t y.parquet -c labels.txt --fail-if "new worse than old"

  toplist compare hub/*.csv -t truth.csv -c 28 --missing pairwise --order week --report board.html
"""
SCORE_EXAMPLES = """Examples:

  toplist score preds.parquet --truth y.csv --classes 1000 -o scores.parquet

  toplist score answers.jsonl -t key.csv -c n_options --rule log --units log -o scores.csv
"""
CHECK_EXAMPLES = """Examples:

  toplist check preds.parquet --classes 1000

  toplist check survey.csv --units percent --json
"""
DIAGNOSE_EXAMPLES = """Examples:

  toplist diagnose preds.parquet --truth y.csv --classes 1000 --plot figures

  toplist diagnose survey.csv --units percent --json
"""
CONVERT_EXAMPLES = """Examples:

  toplist convert scores.csv lists.parquet --units percent
"""
FIT_EXAMPLES = """Examples:

  toplist recalibrate fit valid.parquet --truth y.csv --classes 1000 -o model.json

  toplist recalibrate fit valid.parquet -t y.csv -c 1000 --kind temperature -o model.json
"""
APPLY_EXAMPLES = """Examples:

  toplist recalibrate apply preds.parquet model.json --classes 1000 -o better.parquet
"""
POOL_EXAMPLES = """Examples:

  toplist pool a.parquet b.jsonl --classes 1000 -o pool.parquet

  toplist pool a.parquet b.jsonl -c 1000 --truth y.csv --save-weights weights.json -o pool.parquet
"""
TRUNCATE_EXAMPLES = """Examples:

  toplist truncate preds.parquet -k 5 --classes 1000 -o short.parquet

  toplist truncate preds.parquet -c 1000 --truth y.csv --choose mass -o short.parquet
"""


_TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_LABELS = ("label", "class", "name", "class_name", "label_name", "classname", "category", "labels", "classes", "names")
_CODES = ("id", "code", "index", "class_id", "label_id", "category_id", "idx")


def named_files(words: Sequence[str]) -> dict[str, str]:
    """Models by name: `name=path`, or a path, which is named after its file."""
    pairs = []
    for word in words:
        name, mark, path = word.partition("=")
        if mark and name and path and not os.path.exists(word):
            pairs.append((name, path))
        else:
            pairs.append((stem_of(word), word))
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        pairs = [(_with_folder(name, path) if names.count(name) > 1 else name, path) for name, path in pairs]
        names = [name for name, _ in pairs]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise UsageError(f"two files are called {twice!r}: give them names, as in old={dict(pairs)[twice]}.")
    return dict(pairs)


def _with_folder(name: str, path: str) -> str:
    folder = Path(path).parent.name
    return f"{folder}/{name}" if folder else name


def space_of(text: str | None, truth: str | None) -> tuple[ClassSpace | None, str | None]:
    """What --classes says: a space, or the column of the truth that says how many there are per case."""
    if text is None:
        return None, None
    word = text.strip()
    if word.lower() in ("inf", "infinity", "infinite"):
        return ClassSpace(math.inf), None
    if re.fullmatch(r"\d[\d_,]*", word):
        if len(word) > 4000:
            raise UsageError(f"--classes: a number of {len(word):,} digits is too long: say 2^L or inf.")
        return ClassSpace(int(re.sub(r"[_,]", "", word))), None
    power = re.fullmatch(r"2(?:\^|\*\*)(\d{1,6})", word)
    if power:
        return ClassSpace(2 ** int(power.group(1))), None
    if Path(word).is_file():
        return ClassSpace(labels=read_labels(Path(word))), None
    table, mark, column = word.rpartition(":")
    if mark and Path(table).suffix.lower() in _TABLES and Path(table).is_file():
        return ClassSpace(labels=read_labels(Path(table), column)), None
    columns = open_path(truth).schema.names if truth is not None else []
    if word in columns:
        return None, word
    hint = "" if Path(word).exists() else _near_count(word, columns)
    raise UsageError(f"--classes is a number, 2^L, inf, a file of labels or a column of the truth, not {text!r}.{hint}")


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


def _near_count(word: str, columns: Sequence[str]) -> str:
    """A column or a file that was perhaps meant by a word that is no number of classes."""
    near = closest(word, columns) or closest_file(word, _files_beside(word))
    return "" if near is None else f" Did you mean {near!r}?"


def _files_beside(word: str) -> list[str]:
    folder = Path(word).parent
    return [str(folder / p.name) if str(folder) != "." else p.name for p in folder.iterdir()] if folder.is_dir() else []


_CHOICES = {
    "layout": ("auto", *KINDS),
    "units": ("probability", "percent", "log"),
    "duplicates": ("error", "sum"),
    "blanks": ("error", "drop"),
}


def repairs_of(
    name: str,
    units: Sequence[str] | None,
    normalize: bool,
    duplicates: Sequence[str] | None,
    blanks: Sequence[str] | None = None,
) -> Repairs:
    """What is repaired in the file of a command that takes one."""
    return Repairs(
        units=per_model(units, [name], "units")[name],
        normalize=normalize,
        duplicates=per_model(duplicates, [name], "duplicates")[name],
        blanks=per_model(blanks, [name], "blanks")[name],
    )


def per_model(words: Sequence[str] | None, names: Sequence[str], what: str, able: Sequence[str] = ()) -> Any:
    """A choice for all models, or `name=value` for some; the first of what there is to choose is the default."""
    known = _CHOICES[what]
    chosen: dict[str, str] = {}
    for word in words or ():
        name, mark, value = word.rpartition("=")
        if value not in known:
            raise UsageError(
                f"--{what} is {', '.join(known)}, or name=one of them; not {word!r}.{did_you_mean(value, known)}"
            )
        if mark and name not in (able or names):
            raise UsageError(
                f"--{what} {word}: {name!r} is not among {', '.join(map(repr, names))}.{did_you_mean(name, names)}"
            )
        chosen.update({name: value} if mark else dict.fromkeys(names, value))
    return {name: chosen.get(name, known[0]) for name in dict.fromkeys([*names, *chosen])}


def options_of(
    names: Sequence[str],
    *,
    layout: Sequence[str] | None,
    case: Sequence[str] | None,
    class_: Sequence[str] | None,
    confidence: Sequence[str] | None,
    ignore: Sequence[str] | None,
    by_position: bool,
    sets: str | None,
    outcome: str | None = None,
) -> ReadOptions:
    """How files are read: each option for all of them, or for one as `name=value`."""
    if by_position and case:
        raise UsageError("--by-position and --case contradict each other: give one of them.")
    columns = {"--case": case, "--class": class_, "--confidence": confidence}
    found = {flag: _columns(words, names, flag) for flag, words in columns.items()}
    return ReadOptions(
        per_model(layout, names, "layout", [*names, TRUTH]),
        found["--case"],
        found["--class"],
        found["--confidence"],
        outcome,
        _ignored(ignore, names),
        by_position,
        sets,
    )


def _columns(words: Sequence[str] | None, names: Sequence[str], flag: str) -> Any:
    """A column for all files, or by the name of a file where any is given so."""
    every: list[str] = []
    own: dict[str, str] = {}
    for word in words or ():
        name, value = _for_one(word, names)
        if not value:
            raise UsageError(f"{flag} {word!r}: name a column.")
        if name is None:
            every.append(value)
        elif name in own:
            raise UsageError(f"{flag} is given twice for {name!r}: {own[name]!r} and {value!r}.")
        else:
            own[name] = value
    if len(every) > 1:
        raise UsageError(
            f"{flag} is given twice: {every[0]!r} and {every[1]!r}. For one file, say {names[0]}={every[0]}."
        )
    if not own:
        return every[0] if every else None
    return {**dict.fromkeys(names, every[0]), **own} if every else own


def _ignored(words: Sequence[str] | None, names: Sequence[str]) -> Any:
    """Columns to be ignored in all files, or in those that are named."""
    pairs = [_for_one(word, names) for word in words or ()]
    every = [value for name, value in pairs if name is None]
    if len(every) == len(pairs):
        return tuple(every)
    return {name: (*every, *(value for own, value in pairs if own == name)) for name in (*names, TRUTH)}


def _for_one(word: str, names: Sequence[str]) -> tuple[str | None, str]:
    """`name=value`, where the name is that of a file or "truth"; else a value for all files."""
    name, mark, value = word.partition("=")
    return (name, value) if mark and name in (*names, TRUTH) else (None, word)


def flagged(always: bool, words: Sequence[str] | None, names: Sequence[str], what: str) -> Mapping[str, bool]:
    """A switch for all models, or for the named ones."""
    for word in words or ():
        if word not in names:
            raise UsageError(f"--{what} {word}: say one of {', '.join(map(repr, names))}.{did_you_mean(word, names)}")
    return {name: always or name in (words or ()) for name in names}


def rules_of(words: Sequence[str] | None) -> list[str]:
    """The rules; Brier and log by default."""
    for word in words or ():
        if word not in RULES:
            raise UsageError(f"--rule is one of {', '.join(RULES)}, not {word!r}.{did_you_mean(word, RULES)}")
    return list(dict.fromkeys(words or ("brier", "log")))
