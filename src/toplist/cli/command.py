"""Commands from records: each field of a record is one option, with its name, type, default and help text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import wraps
from typing import Annotated, Any, Literal, Protocol, get_args, get_origin, get_type_hints

import typer

from toplist.cli.errors import flag_of, of_flags, reported, require_choice
from toplist.cli.output import reading_lines

PANELS = {
    "ReadOptions": "How files are read (VALUE for all files, or NAME=VALUE for one)",
    "Truth": "Truth",
    "Inference": "Intervals",
}


def option(default: Any, help: str, *flags: str, choices: Sequence[str] | str = (), **shown: Any) -> Any:  # noqa: A002
    """A field of a command's record: its default (`...`: none), help text, and flags beside the one of its name.

    `choices` are the words that it takes, or where they are defined, as in "package.module:name".
    """
    about = {"help": help, "flags": flags, "choices": choices, "shown": shown}
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


def option_parameter(one: Field[Any], kind: Any, default: Any, panel: str | None = None) -> inspect.Parameter:
    """The option of a field, or its positional argument."""
    if "metavar" in one.metadata:
        return parameter(
            one.name, kind, ..., typer.Argument(metavar=one.metadata["metavar"], help=one.metadata["help"])
        )
    flags, shown = one.metadata.get("flags", ()), {"rich_help_panel": panel, **one.metadata.get("shown", {})}
    return parameter(
        one.name, kind, default, typer.Option(flag_of(one.name), *flags, help=one.metadata["help"], **shown)
    )


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """The fields of a record as options; with `only`, some of them. Own fields come before inherited ones."""

    record: type[Any]
    only: tuple[str, ...] = ()

    def fields(self) -> list[Field[Any]]:
        """The fields that are options."""
        heirs = self.record.__mro__
        place = {name: at for at, heir in enumerate(heirs) for name in vars(heir).get("__annotations__", ())}
        chosen = [one for one in fields(self.record) if not self.only or one.name in self.only]
        return sorted(chosen, key=lambda one: place[one.name])

    def parameters(self) -> Iterator[inspect.Parameter]:
        """One option for each field."""
        hints, panel = get_type_hints(self.record), PANELS.get(self.record.__name__)
        for one in self.fields():
            several = get_origin(hints[one.name]) is tuple
            default = ... if one.default is MISSING else None if several else one.default
            yield option_parameter(one, _kind(hints[one.name]), default, panel)

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


def command(*reads: Options, examples: Sequence[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command: `reads` are the options of its first parameter, records those of the others.

    A record that is annotated with names of fields, as in Annotated[Inference, "level"], gives these options alone.
    """

    def made(function: Callable[..., None]) -> Callable[..., None]:
        hints = {one: hint for one, hint in get_type_hints(function, include_extras=True).items() if one != "return"}
        own = [RecordOptions(*_record(hint)) for hint in list(hints.values())[len(reads) :]]
        groups: dict[str, Options] = dict(zip(hints, (*reads, *own), strict=True))

        @wraps(function)
        def run(**given: Any) -> None:
            with reported(), reading_lines(given.get("quiet", False)):
                function(**{one: group.build(given) for one, group in groups.items()})

        every = [one for group in groups.values() for one in group.parameters()]
        vars(run).update(
            __signature__=inspect.Signature(every),
            __annotations__={},
            epilog="\n\n".join(["Examples:", *(f"  {line}" for line in examples)]) if examples else None,
        )
        return run

    return made


def _record(hint: Any) -> tuple[type[Any], tuple[str, ...]]:
    if get_origin(hint) is Annotated:
        record, *only = get_args(hint)
        return record, tuple(only)
    return hint, ()
