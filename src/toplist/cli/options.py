"""Options of a command: the fields of its records, the files that it reads and how, the labels of `--classes`."""

from __future__ import annotations

import inspect
import math
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cached_property, wraps
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from toplist._files import as_path, shown, url_of
from toplist._text import UTF8_REMEDY, closest, closest_file, did_you_mean, quote
from toplist.cli.output import UsageError, as_flag, flag_of, of_flags, reading_lines, reported, require_choice
from toplist.errors import FileError, TopListError
from toplist.io import MISSING as MISSING_CASES
from toplist.io import PRODUCERS, SAME, TRUTH, ReadOptions, Source, Truth

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


def metavar(name: str, kind: Any) -> str:
    """What an option takes, as help says it; nothing for a flag.

    >>> metavar("detail", bool), metavar("output", list[Path]), metavar("level", float), metavar("outcome", str)
    ('', 'FILE', 'NUMBER', 'COLUMN')
    """
    inner = [one for one in get_args(kind) if one is not type(None)]
    if inner:
        return metavar(name, inner[0])
    return "" if kind is bool else _METAVARS.get(name) or _TYPES.get(kind, "TEXT")


_TYPES: dict[Any, str] = {int: "NUMBER", float: "NUMBER", Path: "FILE"}


def _untyped(parameters: list[Any]) -> list[Any]:
    """The parameters, without a Python type for arguments and flags."""
    for one in parameters:
        if one.param_type_name == "argument" or getattr(one, "is_flag", False):
            vars(one)["display_type_rich"] = lambda ctx: None
    return parameters


def _gone(word: str, known: Iterable[str], following: str = "") -> None:
    """Refuse a command or an option that has another name by now; what is typed for it is said as it is typed now."""
    name, mark, value = word.partition("=")
    if name not in RENAMED or name in known:
        return
    used = RENAMED[name]
    typed = value if mark else "" if re.match(r"-\D", following) else following
    flag, _, setting = used.rpartition(" ")
    key, takes, placeholder = setting.partition("=")
    if typed and takes and placeholder.isupper():
        used = f"{flag} {shlex.quote(f'{key}={typed}')}"
    raise UsageError(f"{name} is gone: use {used}.")


class CommandGroup(TyperGroup):
    """Commands whose help says nothing about Python types."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters."""
        return _untyped(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is meant; one that is gone answers with what to use."""
        with reported():
            _gone(args[0], self.commands)
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
        flags = {flag for one in self.params for flag in one.opts}
        with reported():
            words = args[: args.index("--") if "--" in args else None]
            for word, following in zip_longest(words, words[1:], fillvalue=""):
                if word.startswith("-"):  # files, models and columns may be called as commands that are gone
                    _gone(word, flags, following)
        last = len(args) - 1
        bare = [at for at, word in enumerate(args) if word == "--report" and (at == last or args[at + 1][:1] == "-")]
        for at in reversed(bare):
            args.insert(at + 1, "report.html")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What stands after the name of the command."""
        names = [one.metavar or one.name or "" for one in self.params if one.param_type_name == "argument"]
        return ["[OPTIONS]", *names]


def option(default: Any, help: str, *flags: str, choices: Sequence[str] = ()) -> Any:  # noqa: A002
    """A field of a command's record: default (`...`: none), help text, further flags, and the words that it takes."""
    about = {"help": help, "flags": flags, "choices": choices}
    return field(metadata=about) if default is ... else field(default=default, metadata=about)


def positional(metavar: str, help: str) -> Any:  # noqa: A002
    """A field of a command's record that is typed without a flag, after the files."""
    return field(metadata={"help": help, "metavar": metavar})


class Options(Protocol):
    """A group of options of a command, and what the command gets for them."""

    def parameters(self) -> Iterator[inspect.Parameter]:
        """One parameter for each option."""

    def build(self, given: Mapping[str, Any]) -> Any:
        """What the command gets, from the values of all options."""


def parameter(name: str, kind: Any, default: Any, about: Any) -> inspect.Parameter:
    """A parameter as typer reads it; one without a default (`...`) is required."""
    default = inspect.Parameter.empty if default is ... else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, about])


def option_parameter(one: Field[Any], kind: Any, default: Any, more: str = "") -> inspect.Parameter:
    """The option of a field, or its positional argument; `more` is said after its help text."""
    if "metavar" in one.metadata:
        parser: Any = {"parser": as_path} if _is_path(kind) else {}
        return parameter(
            one.name, kind, ..., typer.Argument(metavar=one.metadata["metavar"], help=one.metadata["help"], **parser)
        )
    flags = one.metadata.get("flags", ())
    about: dict[str, Any] = {"metavar": metavar(one.name, kind)}
    if _is_path(kind):
        about["parser"] = as_path
    return parameter(
        one.name, kind, default, typer.Option(flag_of(one.name), *flags, help=one.metadata["help"] + more, **about)
    )


def _is_path(kind: Any) -> bool:
    """Whether the values of an option are paths."""
    return kind is Path or any(map(_is_path, get_args(kind)))


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """The fields of a record as options; with `only`, some of them."""

    record: type[Any]
    only: tuple[str, ...] = ()

    def fields(self) -> list[Field[Any]]:
        """The fields that are options."""
        return [one for one in fields(self.record) if not self.only or one.name in self.only]

    def parameters(self) -> Iterator[inspect.Parameter]:
        """One option for each field."""
        hints = get_type_hints(self.record)
        for one in self.fields():
            several = get_origin(hints[one.name]) is tuple
            default = ... if one.default is MISSING else None if several else one.default
            yield option_parameter(one, _kind(hints[one.name]), default)

    def build(self, given: Mapping[str, Any]) -> Any:
        """The record; what it refuses is said of the flag."""
        values = {one.name: given[one.name] for one in self.fields()}
        for one in self.fields():
            require_choice(one.name, values[one.name], one.metadata.get("choices", ()))
            if isinstance(one.default, tuple):
                values[one.name] = tuple(values[one.name] or one.default)
        with of_flags(values):
            return self.record(**values)


def _kind(hint: Any) -> Any:
    """The type of an option: any number of values for a tuple, text for words to choose from."""
    origin = get_origin(hint)
    return list[get_args(hint)[0]] | None if origin is tuple else str if origin is Literal else hint  # type: ignore[misc]


def command(
    *reads: Options, examples: Sequence[str] = (), more: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command: `reads` are the options of its first parameter, records those of the others.

    A record that is annotated with names of fields, as in Annotated[Inference, "level"], gives these options alone.
    Help ends with the examples and with `more`.
    """

    def made(function: Callable[..., None]) -> Callable[..., None]:
        hints = {one: hint for one, hint in get_type_hints(function, include_extras=True).items() if one != "return"}
        own = [
            RecordOptions((get_args(hint) or (hint,))[0], get_args(hint)[1:])
            for hint in list(hints.values())[len(reads) :]
        ]
        groups: dict[str, Options] = dict(zip(hints, (*reads, *own), strict=True))

        @wraps(function)
        def run(**given: Any) -> None:
            with reported(), reading_lines(given.get("quiet", False)):
                function(**{one: group.build(given) for one, group in groups.items()})

        first = "What to compare" if function.__name__ in ("compare", "gate", "partial", "plan") else None
        every = _by_panels([one for group in groups.values() for one in group.parameters()], first)
        vars(run).update(
            __signature__=inspect.Signature(every),
            __annotations__={},
            epilog="\n\n".join(["Examples:", *(f"  {line}" for line in examples), *more]) if examples else None,
        )
        return run

    return made


def _by_panels(parameters: list[inspect.Parameter], first: str | None) -> list[inspect.Parameter]:
    """The parameters with their panels in help, of which the first may have a name of its own."""
    panels = list(PANELS)
    for one in parameters:
        (about,) = one.annotation.__metadata__
        if isinstance(about, typer.models.OptionInfo):
            panel = _PLACES.get(one.name, (panels[0], 0))[0]
            about.rich_help_panel = first if panel == panels[0] else panel
    last = len(parameters)

    def place(one: inspect.Parameter) -> tuple[bool, int, int]:
        panel, at = _PLACES.get(one.name, (panels[0], last))
        return not isinstance(one.annotation.__metadata__[0], typer.models.ArgumentInfo), panels.index(panel), at

    return sorted(parameters, key=place)


_TABLES = (".csv", ".tsv", ".tab")
_LABELS = ("label", "class", "name", "class_name", "label_name", "classname", "category", "labels", "classes", "names")


def space_of(text: str | None, truth: str | None) -> tuple[Any, str | None]:
    """What --classes says: how many there are, their labels, or the column of the truth with their number."""
    if text is None:
        return None, None
    word = text.strip()
    if word.lower() in ("inf", "infinity", "infinite"):
        return math.inf, None
    if re.fullmatch(r"\d[\d_,]*", word):
        if len(word) > 4000:
            raise UsageError(f"--classes: a number of {len(word):,} digits is too long: say 2^L or inf.")
        return int(re.sub(r"[_,]", "", word)), None
    power = re.fullmatch(r"2(?:\^|\*\*)(\d{1,6})", word)
    if power:
        return 2 ** int(power.group(1)), None
    file = as_path(word)
    if file.is_file():
        return read_labels(file), None
    if url_of(word):
        raise UsageError(f"--classes: there is no file {shown(word)!r}.")
    columns = _columns(truth)
    if word in columns:
        return None, word
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
    return [str(folder / p.name) if str(folder) != "." else p.name for p in folder.iterdir()] if folder.is_dir() else []


def read_labels(path: Path) -> list[str]:
    """One label per line, a JSON list, or JSON with a label for each code."""
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
        raise FileError(str(path), "labels are one per line, without a header: write them alone to a .txt file.")
    else:
        labels = [line.strip("\r") for line in text.split("\n")]
        if len(labels) > 2 and labels[0].strip().casefold() in _LABELS:
            raise FileError(
                str(path),
                f"the first line, {quote(labels[0])}, may be a header or a class. Remove it if it is a header; if it "
                "is a class, do not put it first.",
            )
    rows = {}
    for row, label in enumerate(labels, 1):
        if label in rows:
            raise FileError(str(path), f"the label {quote(label)} is there twice.", row=row)
        if label.strip():
            rows[label] = row
    if not rows:
        raise FileError(str(path), "there are no labels in this file.")
    return list(rows)


def _json_labels(text: str, path: str) -> list[str]:
    """A list; or an object with a label for each code, as configurations of models have it (id2label)."""
    from toplist.io import RepeatedFieldError, json_value

    try:
        labels = json_value(text)
    except RepeatedFieldError as error:
        raise FileError(path, str(error)) from None
    except (ValueError, RecursionError):
        labels = None
    if isinstance(labels, dict):
        stated = labels.get("num_labels") if "id2label" in labels else None
        by_code = labels.get("id2label", labels)
        is_coded = isinstance(by_code, dict) and by_code and all(re.fullmatch(r"\d{1,9}", code) for code in by_code)
        labels = [label for _, label in sorted(by_code.items(), key=lambda item: int(item[0]))] if is_coded else None
        codes = set(map(int, by_code)) if is_coded else set()
        gap = next((code for code in range(len(labels or ())) if code not in codes), None)
        if gap is not None:
            many = f"there are {len(by_code):,} labels, but none for the code {gap}"
            raise FileError(path, f"{many}: codes are 0, 1, 2, ...")
        if labels is not None and stated not in (None, len(labels)):
            raise FileError(path, f"num_labels is {quote(stated)}, but there are {len(labels):,} labels.")
    if not isinstance(labels, list) or not all(type(label) in (str, int) for label in labels):
        raise FileError(
            path,
            'labels are one per line, a JSON list, or a JSON object with a label for each code, as in {"0": "cat", '
            '"1": "dog"} or in the id2label of a model.',
        )
    blank = next((code for code, label in enumerate(labels) if not str(label).strip()), None)
    if blank is not None:  # left out, it would give its code to the next one
        raise FileError(path, f"the label of code {blank} is blank.")
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
_OF_TRUTH = (
    "layout",
    "case",
    "class_column",
    "confidence",
    "ignore",
    "records",
    "where",
    "producer",
)  # what may be said of the truth too


def missing_option(choices: Sequence[str] = MISSING_CASES) -> Any:
    """The option --missing of a command that knows these ways to treat missing cases."""
    *most, last = choices
    return option("error", f"What to do about missing predictions: {', '.join(most)} or {last}.", choices=choices)


KEYS = (
    "Keys of --read:",
    *(f"  {one.name}: {one.metadata['help']}" for one in fields(ReadOptions) if one.name not in _FLAGGED),
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
    baseline: bool = False  # whether the second of two models is given by an option
    truth: bool | None = None
    columns: tuple[str, ...] = ("outcome",)
    why: str = _OUTCOMES
    ordinal: bool = False

    def parameters(self) -> Iterator[inspect.Parameter]:
        """The files, the truth and its columns, the classes, and how files are read."""
        if self.baseline:
            yield parameter("file", str, ..., typer.Argument(metavar="FILE", help=_NEW))
            yield parameter("baseline", str, ..., typer.Option("--baseline", "-b", metavar="FILE", help=_BASELINE))
        elif self.several:
            yield parameter("files", list[str], ..., typer.Argument(metavar="FILES...", help=_FILES))
        else:
            yield parameter("file", str, ..., typer.Argument(metavar="FILE", help=_FILE))
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
            for one in fields(Truth):
                if one.name in self.columns and one.name != "n_classes":
                    yield option_parameter(one, str | None, None)
        for one in fields(ReadOptions):
            if one.name in _FLAGGED:
                kind = bool if isinstance(one.default, bool) else list[str] | None
                more = f" One of {', '.join(PRODUCERS)}; none reads plain tables." if one.name == "producer" else ""
                yield option_parameter(one, kind, False if kind is bool else None, more)
        about = typer.Option("--read", help=_READ, metavar="KEY=VALUE")
        yield parameter("read", list[str] | None, None, about)

    def build(self, given: Mapping[str, Any]) -> Inputs:
        """The files as they were named."""
        words, only = _read_words(given)
        columns = {name: given[name] for name in self.columns if given.get(name) is not None}
        for name, value in {**columns, **words}.items():
            require_named(name, value)
        if words["by_position"] and words["case"]:
            raise UsageError("--read by_position and --read case contradict each other: give one of them.")
        files = named_files(given["files"] if self.several else [given["file"]])
        if not self.several and len(files) > 1:
            raise UsageError(f"{given['file']}: this pattern matches {len(files):,} folders. Name one of them.")
        truth = given.get("truth")
        named = [name for name, value in columns.items() if value]
        if truth is None and (named if self.truth else columns):
            flags = " and ".join(map(flag_of, named or columns))
            raise UsageError(
                f"{flags}: a column of the truth, which is not given. Give --truth too: a file, or same where the "
                "outcomes are in the files of predictions."
            )
        truth = SAME if truth is None and columns else truth
        found = Inputs(files, truth, given["classes"], columns, words, only, ordinal=bool(given.get("ordinal")))
        if found.n_classes is not None and "n_classes" not in self.columns:
            raise UsageError("--classes is a number, 2^L, inf or a file of labels here, the same for all cases.")
        return found


def _read_words(given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What was typed for each field of `ReadOptions`, and the models that alone are normalized."""
    words: dict[str, Any] = {one.name: given.get(one.name) for one in fields(ReadOptions)}
    words |= {"by_position": False, "normalize": bool(given["normalize"])}
    only: list[str] = []
    for text in given["read"] or ():
        typed, mark, value = text.partition("=")
        key = typed.strip().replace("-", "_")
        if key not in words:
            raise UsageError(
                f"--read {text}: the keys are {', '.join(words)}, as in --read case=COLUMN.{did_you_mean(key, words)}"
            )
        if key == "normalize" and mark:
            only.append(value)
        elif isinstance(words[key], bool):
            if mark:
                raise UsageError(f"--read {key} takes no value: it is about all files.")
            words[key] = True
        elif not mark:
            raise UsageError(f"--read {key}: say {key}=VALUE, or {key}=MODEL=VALUE for one file.")
        elif key == "set_separator":
            if words[key] is not None:
                raise UsageError("--read set_separator is given twice: it is one for all files.")
            words[key] = value
        else:
            words[key] = [*(words[key] or ()), value]
    return words, tuple(only)


def require_named(name: str, value: Any) -> None:
    """An option that names columns names some; for --cluster and --time alone, no name means no column."""
    given = value if isinstance(value, list | tuple) else [value]
    if name not in (*_NAMELESS, "set_separator") and any(isinstance(one, str) and not one.strip() for one in given):
        raise UsageError(f"{flag_of(name)} names a column: what is given is empty.")


@dataclass(frozen=True)
class Inputs:
    """Files by name, the truth with its columns, the classes, and what was typed for each field of `ReadOptions`."""

    files: Mapping[str, str]
    truth_file: str | None
    classes: str | None
    columns: Mapping[str, str]
    words: Mapping[str, Any]
    normalize_only: tuple[str, ...]
    ordinal: bool = False

    @property
    def name(self) -> str:
        """The name of the only file."""
        (name,) = self.files
        return name

    @property
    def paths(self) -> list[str]:
        """Everything that is read."""
        word = (self.classes or "").strip()
        every = (*self.files.values(), self.truth_file, word if os.path.isfile(word) or url_of(word) else None)
        return [path for path in every if path not in (None, SAME)]

    @cached_property
    def _classes(self) -> tuple[Any, str | None]:
        file = next(iter(self.files.values())) if self.truth_file == SAME else self.truth_file
        space, column = space_of(self.classes, file)
        if not self.ordinal:
            return space, column
        if space is None:
            raise UsageError(
                "--ordinal says that the order of the classes means something, and no order is given: add --classes "
                "FILE, a file with one class per line, the lowest first."
            )
        from toplist.lists.space import ClassSpace

        return ClassSpace(space, ordinal=True), None

    @property
    def space(self) -> Any:
        """The classes, as far as --classes says."""
        return self._classes[0]

    @property
    def n_classes(self) -> str | None:
        """The column of the truth with the number of classes."""
        return self._classes[1]

    @cached_property
    def read(self) -> ReadOptions:
        """How all files are read."""
        with of_flags(self.words):
            return ReadOptions(**self._typed[""])

    @cached_property
    def models(self) -> dict[str, Any]:
        """The predictions of each model, with what was typed for it alone."""
        with of_flags(self.words):
            return {name: Source(path, **self._typed[name]) for name, path in self.files.items()}

    def invocation(self, missing: str, inference: Inference, *, per_case: bool = False) -> Invocation | None:
        """How the files and their options are written in a shell, for the commands that are suggested.

        `per_case` says that cases have different numbers of classes, as far as the files tell.
        """
        from toplist.evaluation.next_steps import Invocation
        from toplist.io import ReadRequest

        request = ReadRequest.of(self.models, self.truth, self.read)
        made = Invocation.of(request, self.classes, missing=missing, inference=inference)
        return replace(made, one_space=False) if made is not None and per_case else made

    @property
    def truth(self) -> Truth | None:
        """The truth, with its columns and what was typed for it alone."""
        return self.truth_with()

    @property
    def carried(self) -> Truth | None:
        """The truth, where predictions carry it."""
        return self.truth if self.truth_file == SAME else None

    def truth_with(self, **columns: str | None) -> Truth | None:
        """The same with these columns in place of those that were typed."""
        file = SAME if self.truth_file is None and any(columns.values()) else self.truth_file
        if file is None:
            return None
        named = {**self.columns, "n_classes": self.n_classes, **columns}
        with of_flags((*self.words, *named)):
            return Truth(file, **named, **self._typed[TRUTH])

    @cached_property
    def _typed(self) -> dict[str, dict[str, Any]]:
        """Fields of `ReadOptions` by the name of the file that they were typed for; those for all have no name."""
        found: dict[str, dict[str, Any]] = {name: {} for name in ("", *self.files, TRUTH)}
        for key, given in self.words.items():
            if not isinstance(given, list):
                found[""] |= {} if given is None else {key: given}
                continue
            for word in given:
                name, value = self._for_one(key, word)
                if not value:
                    raise UsageError(f"{as_flag(key, word, '')}: name a column.")
                if key == "producer":
                    require_choice(key, value, ("auto", "none", *PRODUCERS))
                if key in _REPEATED:
                    found[name][key] = (*found[name].get(key, ()), value)
                elif key in found[name]:
                    raise UsageError(self._twice(key, name, found[name][key], value))
                else:
                    found[name][key] = int(value) if key == "position" and re.fullmatch(r"-?\d+", value) else value
        for key in _REPEATED:
            for name in (*self.files, TRUTH):
                if key in found[name]:
                    found[name][key] = (*found[""].get(key, ()), *found[name][key])
        for name in self.normalize_only:
            if name not in self.files:
                known = ", ".join(map(repr, self.files))
                raise UsageError(f"--read normalize={name}: say one of {known}.{did_you_mean(name, self.files)}")
            found[name]["normalize"] = True
        return found

    def _for_one(self, field: str, word: str) -> tuple[str, str]:
        """`name=value`, where the name is that of a file or "truth"; else a value for all files, which have no name."""
        able = [*self.files, *([TRUTH] if self.truth_file is not None and field in _OF_TRUTH else [])]
        name, mark, value = word.rpartition("=") if field in _CHOSEN else word.partition("=")
        if mark and name in able and (field != "where" or "=" in value):
            if name == TRUTH and TRUTH in self.files:
                typed = as_flag(field, word, "")
                raise UsageError(f"{typed}: a model is called truth as well. Give it another name: NAME=FILE.")
            return name, value
        if mark and field in _CHOSEN:
            known = ", ".join(map(repr, self.files))
            raise UsageError(
                f"{as_flag(field, word, '')}: {name!r} is not among {known}.{did_you_mean(name, self.files)}"
            )
        return "", word

    def _twice(self, field: str, name: str, first: str, second: str) -> str:
        told = f"{flag_of(field)} is given twice{f' for {name!r}' if name else ''}: {first!r} and {second!r}."
        return told if name else f"{told} For one file, say {as_flag(field, first, next(iter(self.files)))}."


def named_files(words: Sequence[str]) -> dict[str, str]:
    """Models by name."""
    from toplist.io import models_by_path

    try:
        return models_by_path(*words)
    except TopListError as error:
        raise UsageError(str(error)) from None
