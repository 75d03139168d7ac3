"""Options of a command: the fields of its records, the files that it reads and how, the labels of `--classes`."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, fields, replace
from dataclasses import field as new_field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from toplist._files import as_path, read_json, shown, url_of
from toplist._text import UTF8_REMEDY, closest, closest_file, did_you_mean, quote
from toplist.cli.output import (
    UsageError,
    as_flag,
    either,
    flag_of,
    keep_freed_memory,
    of_flags,
    progress_bar,
    reading_lines,
    reported,
    require_choice,
)
from toplist.errors import FileError, TopListError
from toplist.io import MISSING as MISSING_CASES
from toplist.io import PRODUCERS, SAME, TRUTH, ReadOptions, ReadRequest, Source, Truth

if TYPE_CHECKING:
    from toplist.evaluation.next_steps import Invocation
    from toplist.inference.settings import Inference

PANELS: dict[str, tuple[str, ...]] = {  # an option that is in none of them is in the first one
    "Options": ("truth", "classes", "rule", "baseline", "missing", "k"),
    "Truth and classes": ("outcome", "group", "weight", "cluster", "time", "ordinal"),
    "Statistics": ("method", "level", "sequential", "penalty", "min_cases", "horizon", "seed", "draws"),
    "Reading odd files": ("producer", "where", "normalize", "read"),
    "Output": ("report", "no_report", "output", "title", "detail", "plot", "no_summary", "json", "quiet", "help"),
    "Beyond one machine": ("engine", "start", "sample"),
}
_PLACES = {name: (panel, at) for panel, names in PANELS.items() for at, name in enumerate(names)}
_FLAGGED = ("producer", "where", "normalize")  # read options that are flags of their own; --read takes all of them
RENAMED = {
    "producers": "toplist --producers",
    "record": "toplist score -o SCORES.parquet, which toplist gate -b reads",
    "sql": "a query of the documentation",
    "--fail-if": "toplist gate",
    "--normalize-only": "--read normalize=MODEL",
    "--list": "--read records=PATH",
    "--by-position": "--read by_position",
    "--workers": "--engine dask=NUMBER",
    "--scheduler": "--engine dask=ADDRESS",
    "--master": "--engine spark=ADDRESS",
    **{
        f"--{name.replace('_', '-')}": f"--read {name}={name.upper()}"
        for name in (field.name for field in fields(ReadOptions))
        if name not in (*_FLAGGED, "by_position", "records")
    },
}
"""What commands and options that are gone are now."""
_COLUMN = ("outcome", "weight", "group", "cluster", "time", "keep")
_METAVARS = {
    **dict.fromkeys(_COLUMN, "COLUMN"),
    "baseline": "MODEL",
    "choose": "k|mass",
    "engine": "ENGINE[=WHERE]",
    "inconclusive": "pass|fail",
    "kind": "KIND",
    "method": "METHOD",
    "missing": "POLICY",
    "producer": "NAME",
    "where": "CONDITION",
    "plot": "FOLDER|FILE",
    "rule": "RULE",
    "weights": "MODEL=NUMBER",
}  # of options whose type does not say what they take


_TYPES: dict[Any, str] = {bool: "", int: "NUMBER", float: "NUMBER", Path: "FILE"}


def metavar(name: str, hint: Any) -> str:
    """What an option takes, as help says it; nothing for a flag.

    >>> metavar("detail", bool), metavar("output", tuple[Path, ...]), metavar("level", float), metavar("outcome", str)
    ('', 'FILE', 'NUMBER', 'COLUMN')
    """
    return _METAVARS.get(name) or _TYPES.get(_base(hint), "TEXT")


def _base(hint: Any) -> Any:
    """The type of one value of an option: of text for words to choose from."""
    inner = [kind for kind in get_args(hint) if kind is not type(None)]
    return str if get_origin(hint) is Literal else _base(inner[0]) if inner else hint


def _untyped(parameters: list[Any]) -> list[Any]:
    """The parameters, without a Python type for arguments and flags."""
    for param in parameters:
        if param.param_type_name == "argument" or getattr(param, "is_flag", False):
            vars(param)["display_type_rich"] = lambda ctx: None
    return parameters


def _require_current(words: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a command or an option that has another name by now."""
    for name in (word.partition("=")[0] for word in words):
        if name in RENAMED and name not in known:
            raise UsageError(f"{name} is gone: use {RENAMED[name]}.")


class CommandGroup(TyperGroup):
    """Commands whose help says nothing about Python types."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters."""
        return _untyped(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is meant; one that is gone answers with what to use."""
        with reported():
            _require_current(args[:1], self.commands)
        return super().resolve_command(ctx, args)


class Command(TyperCommand):
    """A command whose help says nothing about Python types."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters; --help is no first thing to know."""
        parameters = _untyped(super().get_params(ctx))
        parameters[-1].rich_help_panel = "Output"
        return parameters

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse; a report that is asked for without a name is called report.html."""
        with reported():
            words = args[: args.index("--") if "--" in args else None]
            flags = {flag for param in self.params for flag in param.opts}
            _require_current([word for word in words if word.startswith("-")], flags)  # others may be called so
        last = len(args) - 1
        bare = [at for at, word in enumerate(args) if word == "--report" and (at == last or args[at + 1][:1] == "-")]
        for at in reversed(bare):
            args.insert(at + 1, "report.html")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What stands after the name of the command."""
        names = [param.metavar or param.name or "" for param in self.params if param.param_type_name == "argument"]
        return ["[OPTIONS]", *names]


def option(default: Any, help: str, *flags: str, choices: Sequence[str] = ()) -> Any:  # noqa: A002
    """A field of a command's record: default (`...`: none), help text, further flags, and the words that it takes."""
    about = {"help": help, "flags": flags, "choices": choices}
    return new_field(metadata=about) if default is ... else new_field(default=default, metadata=about)


def positional(metavar: str, help: str) -> Any:  # noqa: A002
    """A field of a command's record that is typed without a flag, after the files."""
    return new_field(metadata={"help": help, "metavar": metavar})


def parameter(name: str, kind: Any, default: Any, about: Any) -> inspect.Parameter:
    """A parameter as typer reads it; one without a default (`...`) is required."""
    default = inspect.Parameter.empty if default is ... else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, about])


def option_parameter(field: Field[Any], hint: Any, more: str = "") -> inspect.Parameter:
    """The option of a field, or its positional argument; `more` is said after its help text."""
    several, base = get_origin(hint) is tuple, _base(hint)
    kind = list[base] | None if several else str if get_origin(hint) is Literal else hint  # type: ignore[valid-type]
    default = ... if field.default is MISSING else None if several else field.default
    about: dict[str, Any] = {"help": field.metadata["help"] + more, "parser": as_path if base is Path else None}
    if "metavar" in field.metadata:
        return parameter(field.name, kind, default, typer.Argument(metavar=field.metadata["metavar"], **about))
    flags = (flag_of(field.name), *field.metadata.get("flags", ()))
    return parameter(field.name, kind, default, typer.Option(*flags, metavar=metavar(field.name, hint), **about))


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """The fields of a record as options; with `only`, some of them."""

    record: type[Any]
    only: tuple[str, ...] = ()

    def fields(self) -> list[Field[Any]]:
        """The fields that are options."""
        return [field for field in fields(self.record) if not self.only or field.name in self.only]

    def parameters(self) -> Iterator[inspect.Parameter]:
        """One option for each field."""
        hints = get_type_hints(self.record)
        return (option_parameter(field, hints[field.name]) for field in self.fields())

    def build(self, given: Mapping[str, Any]) -> Any:
        """The record; what it refuses is said of the flag."""
        values = {field.name: given[field.name] for field in self.fields()}
        for field in self.fields():
            value = values[field.name]
            require_choice(field.name, value, field.metadata.get("choices", ()))
            if isinstance(value, list):
                values[field.name] = tuple(value)
            if not value and isinstance(field.default, tuple):
                values[field.name] = field.default
        with of_flags(values):
            return self.record(**values)


def command(
    reads: Reads | None = None, *, examples: Sequence[str] = (), more: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command: `reads` are the options of its `Inputs`, records those of its other parameters.

    A record that is annotated with names of fields, as in Annotated[Inference, "level"], gives these options alone.
    Help ends with the examples and with `more`.
    """

    def as_command(function: Callable[..., None]) -> Callable[..., None]:
        groups: dict[str, Any] = {}
        for name, hint in get_type_hints(function, include_extras=True).items():
            record, *only = get_args(hint) or (hint,)
            if name != "return":
                groups[name] = reads if record is Inputs else RecordOptions(record, tuple(only))

        @wraps(function)
        def run(**given: Any) -> None:
            with reported(), reading_lines(given.get("quiet", False)):
                keep_freed_memory()
                function(**{name: group.build(given) for name, group in groups.items()})

        first = "What to compare" if function.__name__ in ("compare", "gate", "partial", "plan") else None
        every = _by_panels([param for group in groups.values() for param in group.parameters()], first)
        vars(run).update(
            __signature__=inspect.Signature(every),
            __annotations__={},
            epilog="\n\n".join(["Examples:", *(f"  {line}" for line in examples), *more]) if examples else None,
        )
        return run

    return as_command


def _by_panels(parameters: list[inspect.Parameter], first: str | None) -> list[inspect.Parameter]:
    """The parameters with their panels in help, of which the first may have a name of its own."""
    panels = list(PANELS)
    for param in parameters:
        (about,) = param.annotation.__metadata__
        if isinstance(about, typer.models.OptionInfo):
            panel = _PLACES.get(param.name, (panels[0], 0))[0]
            about.rich_help_panel = first if panel == panels[0] else panel
    last = len(parameters)

    def place(param: inspect.Parameter) -> tuple[bool, int, int]:
        panel, at = _PLACES.get(param.name, (panels[0], last))
        return not isinstance(param.annotation.__metadata__[0], typer.models.ArgumentInfo), panels.index(panel), at

    return sorted(parameters, key=place)


_TABLES = (".csv", ".tsv", ".tab")
_LABELS = ("label", "class", "name", "class_name", "label_name", "classname", "category", "labels", "classes", "names")


def space_of(text: str | None, truth: str | None) -> tuple[Any, str | None, str | None]:
    """What --classes says: how many there are, or their labels, or the column of the truth with their number.

    The last of the three is the file with the labels, where it is one.
    """
    if text is None:
        return None, None, None
    word = text.strip()
    if word.lower() in ("inf", "infinity", "infinite"):
        return math.inf, None, None
    if re.fullmatch(r"\d[\d_,]*", word):
        if len(word) > 4000:
            raise UsageError(f"--classes: a number of {len(word):,} digits is too long: say 2^L or inf.")
        return int(re.sub(r"[_,]", "", word)), None, None
    power = re.fullmatch(r"2(?:\^|\*\*)(\d{1,6})", word)
    if power:
        return 2 ** int(power.group(1)), None, None
    file = as_path(word)
    if file.is_file():
        return read_labels(file), None, word
    if url_of(word):
        raise UsageError(f"--classes: there is no file {shown(word)!r}.")
    columns = _columns(truth)
    if word in columns:
        return None, word, None
    near = None if Path(word).exists() else closest(word, columns) or closest_file(word, _files_beside(word))
    hint = "" if near is None else f" Did you mean {near!r}?"
    raise UsageError(f"--classes is a number, 2^L, inf, a file of labels or a column of the truth, not {text!r}.{hint}")


def _columns(truth: str | None) -> list[str]:
    if truth is None:
        return []
    from toplist.io import open_path

    names: list[str] = open_path(truth).schema.names
    return names


def _files_beside(word: str) -> list[str]:
    folder = Path(word).parent
    return [str(folder / path.name) for path in folder.iterdir()] if folder.is_dir() else []


def read_labels(path: Path) -> list[str]:
    """One label per line, a JSON list, or JSON with a label for each code."""
    if path.suffix.lower() == ".json":
        labels = _json_labels(path)
    elif path.suffix.lower() in _TABLES:
        raise FileError(str(path), "labels are one per line, without a header: write them alone to a .txt file.")
    else:
        try:
            labels = [line.strip("\r") for line in path.read_bytes().decode("utf-8-sig").split("\n")]
        except UnicodeDecodeError:
            raise FileError(str(path), f"this is not UTF-8 text. {UTF8_REMEDY}") from None
        except OSError as error:
            raise FileError(str(path), f"this cannot be read: {error.strerror}.") from None
        if len(labels) > 2 and labels[0].strip().casefold() in _LABELS:
            raise FileError(
                str(path),
                f"the first line, {quote(labels[0])}, may be a header or a class. Remove it if it is a header; if it "
                "is a class, do not put it first.",
            )
    rows: dict[str, int] = {}
    for row, label in enumerate(labels, 1):
        if label in rows:
            raise FileError(str(path), f"the label {quote(label)} is there twice.", row=row)
        if label.strip():
            rows[label] = row
    if not rows:
        raise FileError(str(path), "there are no labels in this file.")
    return list(rows)


def _json_labels(path: Path) -> list[str]:
    """A list; or an object with a label for each code, as configurations of models have it (id2label)."""
    labels = read_json(path, "a list of labels")
    by_code = labels.get("id2label", labels) if isinstance(labels, dict) else None
    stated = None if by_code in (None, labels) else labels.get("num_labels")
    if isinstance(by_code, dict) and by_code and all(re.fullmatch(r"\d{1,9}", code) for code in by_code):
        codes = sorted(by_code, key=int)
        labels = [by_code[code] for code in codes]
        gap = next((at for at, code in enumerate(codes) if int(code) != at), None)
        if gap is not None:
            many = f"there are {len(codes):,} labels, but none for the code {gap}"
            raise FileError(str(path), f"{many}: codes are 0, 1, 2, ...")
        if stated not in (None, len(codes)):
            raise FileError(str(path), f"num_labels is {quote(stated)}, but there are {len(codes):,} labels.")
    if not isinstance(labels, list) or not all(type(label) in (str, int) for label in labels):
        raise FileError(
            str(path),
            'labels are one per line, a JSON list, or a JSON object with a label for each code, as in {"0": "cat", '
            '"1": "dog"} or in the id2label of a model.',
        )
    blank = next((code for code, label in enumerate(labels) if not str(label).strip()), None)
    if blank is not None:  # left out, it would give its code to the next one
        raise FileError(str(path), f"the label of code {blank} is blank.")
    return [str(label) for label in labels]


_READ = (
    "How odd files are read, for all of them or, as KEY=MODEL=VALUE, for one; may be repeated. The keys and what they "
    "take: toplist check --help."
)
_FILE = "Predictions: a file, a folder or a pattern."
_FILES = "Predictions: files, folders or patterns, each may be named: NAME=FILE."
_NEW = "Predictions of the new model; NAME=FILE names it."
_BASELINE = "Predictions of the baseline, or its scores in Parquet by toplist score -o; NAME=FILE names it."
_OUTCOMES = "File with the outcome of each case; same: the outcomes are in the files of predictions."
_CARRIED = " The default where producers write them there."
_ORDINAL = (
    "The classes are in order: --classes is a file of labels from the lowest to the highest, or the number of classes "
    "where they are whole numbers from 0 on. For --rule rps, rps-normalized and ranked_log."
)
_CLASSES = "Number of classes: a number, 2^L, inf, {}."
_NAMELESS = ("cluster", "time", "group")  # no name means no column: that of this name is not looked for
_CHOSEN = ("layout", "scale", "duplicates", "blanks", "producer", "norm")  # take one of a few words
_REPEATED = ("ignore", "where")  # fields that may be given several times
_OF_TRUTH = ("layout", "case", "class_column", "confidence", "ignore", "records", "where", "producer")
_FIELDS = {field.name: field for field in fields(ReadOptions)}


def missing_option(choices: Sequence[str] = MISSING_CASES) -> Any:
    """The option --missing of a command that knows these ways to treat missing cases."""
    return option("error", f"What to do about missing predictions: {either(choices)}.", choices=choices)


KEYS = (
    "Keys of --read:",
    *(f"  {field.name}: {field.metadata['help']}" for field in _FIELDS.values() if field.name not in _FLAGGED),
)
"""What `--read` takes, for the end of a command's help."""


@dataclass(frozen=True, kw_only=True)
class Printing:
    """What is printed."""

    json: bool = option(False, "Print JSON.")
    quiet: bool = option(False, "Print results and errors only, not progress or how files are read.", "-q")


def penalty_option() -> Any:
    """The option --penalty."""
    return option(None, "Penalty of an invalid list; 1% of the score of the uniform prediction by default.")


@dataclass(frozen=True, slots=True)
class Reads:
    """The options of a command about the files that it reads.

    `truth` is True where it is needed, unless predictions carry outcomes, and False where it may be given; `columns`
    are those of the truth that count. `ordinal`: whether classes may be declared to be in order, also where the truth
    need not be given.
    """

    several: bool = False
    baseline: bool = False  # whether there is a second model, by an option, which may be scores
    truth: bool | None = None
    columns: tuple[str, ...] = ("outcome",)
    why: str = _OUTCOMES
    ordinal: bool = False

    def parameters(self) -> Iterator[inspect.Parameter]:
        """The files, the truth and its columns, the classes, and how files are read."""
        if self.several:
            yield parameter("files", list[str], ..., typer.Argument(metavar="FILES...", help=_FILES))
        else:
            yield parameter("file", str, ..., typer.Argument(metavar="FILE", help=_NEW if self.baseline else _FILE))
        if self.baseline:
            yield parameter("baseline", str, ..., typer.Option("--baseline", "-b", metavar="FILE", help=_BASELINE))
        labels = "a file of labels, or a column of the truth" if "n_classes" in self.columns else "or a file of labels"
        takes = "NUMBER|FILE|COLUMN" if "n_classes" in self.columns else "NUMBER|FILE"
        about = typer.Option("--classes", "-c", help=_CLASSES.format(labels), metavar=takes)
        yield parameter("classes", str | None, None, about)
        if self.truth or self.ordinal:
            yield parameter("ordinal", bool, False, typer.Option("--ordinal", help=_ORDINAL, metavar=""))
        if self.truth is not None:
            why = self.why + _CARRIED if self.truth else self.why
            about = typer.Option("--truth", "-t", help=why, metavar="FILE|same")
            yield parameter("truth", str | None, None, about)
            for field in fields(Truth):
                if field.name in self.columns and field.name != "n_classes":
                    yield option_parameter(field, str | None)
        producers = f" One of {', '.join(PRODUCERS)}; none reads plain tables."
        yield option_parameter(_FIELDS["producer"], tuple[str, ...], producers)
        yield option_parameter(_FIELDS["where"], tuple[str, ...])
        yield option_parameter(_FIELDS["normalize"], bool)
        about = typer.Option("--read", help=_READ, metavar="KEY=VALUE")
        yield parameter("read", list[str] | None, None, about)

    def build(self, given: Mapping[str, Any]) -> Inputs:
        """The files as they were named, and what was typed of each."""
        columns = {name: given[name] for name in self.columns if given.get(name) is not None}
        for name, value in columns.items():
            require_named(name, [value])
        words = given["files"] if self.several else [given["file"], *([given["baseline"]] if self.baseline else [])]
        files, scores = named_files(words), {}
        for word in [] if self.several or len(files) == len(words) else words:
            if len(named_files([word])) > 1:
                raise UsageError(
                    f"{word}: this pattern matches {len(named_files([word])):,} folders. Name one of them."
                )
        if self.baseline:
            from toplist.evaluation.score_files import is_score_file

            *_, (name, path) = files.items()
            scores = {name: files.pop(name)} if is_score_file(path) else {}
        truth = given.get("truth")
        named = [name for name, value in columns.items() if value]
        if truth is None and (named if self.truth else columns):
            flags = " and ".join(map(flag_of, named or columns))
            raise UsageError(
                f"{flags}: a column of the truth, which is not given. Give --truth too: a file, or same where the "
                "outcomes are in the files of predictions."
            )
        truth = SAME if truth is None and columns else truth
        read = _read_options(given, files, is_of_truth=truth is not None)
        space, n_classes, labels = space_of(given["classes"], next(iter(files.values())) if truth == SAME else truth)
        if n_classes is not None and "n_classes" not in self.columns:
            raise UsageError("--classes is a number, 2^L, inf or a file of labels here, the same for all cases.")
        if given.get("ordinal"):
            space = _ordered(space)
        columns |= {} if n_classes is None else {"n_classes": n_classes}
        paths = [path for path in (*files.values(), truth, labels, *scores.values()) if path not in (None, SAME)]
        return Inputs(files, scores, truth, columns, given["classes"], space, read, paths)


def _ordered(space: Any) -> Any:
    if space is None:
        raise UsageError(
            "--ordinal says that the order of the classes means something, and no order is given: add --classes "
            "FILE, a file with one class per line, the lowest first."
        )
    from toplist.lists.space import ClassSpace

    return ClassSpace(space, ordinal=True)


def _read_options(
    given: Mapping[str, Any], files: Mapping[str, str], *, is_of_truth: bool
) -> dict[str, dict[str, Any]]:
    """Fields of `ReadOptions` by the name of the file that they were typed for; those for all have no name."""
    typed = [(name, "=", word) for name in ("producer", "where") for word in given[name] or ()]
    typed += [("normalize", "", "")] if given["normalize"] else []
    for text in given["read"] or ():
        word, mark, value = text.partition("=")
        key = word.strip().replace("-", "_")
        if key not in _FIELDS:
            near = did_you_mean(key, _FIELDS)
            raise UsageError(f"--read {text}: the keys are {', '.join(_FIELDS)}, as in --read case=COLUMN.{near}")
        typed.append((key, mark, value))
    able = {key: [*files, *([TRUTH] if is_of_truth and key in _OF_TRUTH else [])] for key in _FIELDS}
    read: dict[str, dict[str, Any]] = {name: {} for name in ("", *files, TRUTH)}
    for key, mark, text in typed:
        name, value = _of_one(key, mark, text, able[key])
        options = read[name]
        if name == TRUTH and is_of_truth and TRUTH in files:
            typed_so = as_flag(key, text, "")
            raise UsageError(f"{typed_so}: a model is called truth as well. Give it another name: NAME=FILE.")
        if key in _REPEATED:
            options[key] = (*options.get(key, ()), value)
        elif key in options and value is not True:
            raise UsageError(_twice(key, name, options[key], value, next(iter(files))))
        else:
            options[key] = value
    if read[""].get("by_position") and any("case" in options for options in read.values()):
        raise UsageError("--read by_position and --read case contradict each other: give one of them.")
    for name in (*files, TRUTH):
        read[name] |= {key: (*read[""].get(key, ()), *read[name][key]) for key in _REPEATED if key in read[name]}
    return read


def _of_one(key: str, mark: str, text: str, able: Sequence[str]) -> tuple[str, Any]:
    """The name of the file that a setting is for and its value; one for all files has no name."""
    if isinstance(_FIELDS[key].default, bool):
        if mark and key == "by_position":
            raise UsageError(f"--read {key} takes no value: it is about all files.")
        if mark and text not in able:
            known = ", ".join(map(repr, able))
            raise UsageError(f"--read {key}={text}: say one of {known}.{did_you_mean(text, able)}")
        return text, True
    if not mark:
        raise UsageError(f"--read {key}: say {key}=VALUE, or {key}=MODEL=VALUE for one file.")
    if key == "set_separator":
        return "", text
    name, split, value = text.rpartition("=") if key in _CHOSEN else text.partition("=")
    if not (split and name in able and (key != "where" or "=" in value)):
        if split and key in _CHOSEN:
            known = ", ".join(map(repr, able))
            raise UsageError(f"{as_flag(key, text, '')}: {name!r} is not among {known}.{did_you_mean(name, able)}")
        name, value = "", text
    require_named(key, [value])
    if key == "producer":
        require_choice(key, value, ("auto", "none", *PRODUCERS))
    return name, int(value) if key == "position" and re.fullmatch(r"-?\d+", value) else value


def _twice(key: str, name: str, first: Any, second: Any, file: str) -> str:
    problem = f"{flag_of(key)} is given twice{f' for {name!r}' if name else ''}: {first!r} and {second!r}."
    return problem if name or key == "set_separator" else f"{problem} For one file, say {as_flag(key, first, file)}."


def require_named(name: str, values: Sequence[str]) -> None:
    """An option that names columns names some; for --cluster and --time alone, no name means no column."""
    if name not in _NAMELESS and not all(value.strip() for value in values):
        raise UsageError(f"{flag_of(name)} names a column: what is given is empty.")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is read: files by name, the truth with its columns, the classes, and how every file is read."""

    files: Mapping[str, str]
    scores: Mapping[str, str]  # of a baseline that was scored before
    truth_file: str | None
    columns: Mapping[str, str]
    classes: str | None  # as it was typed
    space: Any  # as far as --classes says
    options: Mapping[str, Mapping[str, Any]]  # fields of `ReadOptions` by the name of the file; those for all have none
    paths: Sequence[str]

    @property
    def name(self) -> str:
        """The name of the only file."""
        (name,) = self.files
        return name

    @property
    def read(self) -> ReadOptions:
        """How all files are read."""
        with of_flags(_FIELDS):
            return ReadOptions(**self.options[""])

    @property
    def models(self) -> dict[str, Any]:
        """The predictions of each model, with what was typed for it alone."""
        with of_flags(_FIELDS):
            return {name: Source(path, **self.options[name]) for name, path in self.files.items()}

    @property
    def truth(self) -> Truth | None:
        """The truth, with its columns and what was typed for it alone."""
        return self.truth_with()

    def truth_with(self, **columns: str | None) -> Truth | None:
        """The same with these columns in place of those that were typed."""
        file = SAME if self.truth_file is None and any(columns.values()) else self.truth_file
        if file is None:
            return None
        named = {**self.columns, **columns}
        with of_flags((*_FIELDS, *named)):
            return Truth(file, **named, **self.options[TRUTH])

    @property
    def carried(self) -> Truth | None:
        """The truth, where predictions carry it."""
        return self.truth if self.truth_file == SAME else None

    @contextmanager
    def reading(self, quiet: bool) -> Iterator[dict[str, Any]]:
        """What every function is told of how files are read, and whom it tells how far it is."""
        with progress_bar(quiet, len(self.files)) as update:
            yield {"space": self.space, "read": self.read, "progress": update}

    def invocation(self, missing: str, inference: Inference, *, per_case: bool = False) -> Invocation:
        """How the files and their options are written in a shell, for the commands that are suggested.

        `per_case` says that cases have different numbers of classes, as far as the files tell.
        """
        from toplist.evaluation.next_steps import Invocation

        request = ReadRequest.of(self.models, self.truth, self.read)
        typed = Invocation.of(request, self.classes, missing=missing, inference=inference)
        return replace(typed, one_space=False) if per_case else typed


def named_files(words: Sequence[str]) -> dict[str, str]:
    """Models by name."""
    from toplist.io import models_by_path

    try:
        return models_by_path(*words)
    except TopListError as error:
        raise UsageError(str(error)) from None
