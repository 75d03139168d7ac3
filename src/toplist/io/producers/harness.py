"""What producers of evaluation harnesses share: tasks, answers without probabilities, and the table of all cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toplist._files import need
from toplist._text import argument, quote
from toplist.errors import FileError, TopListError
from toplist.io.answers import OTHER
from toplist.io.producers.base import (
    CLUSTER,
    GROUP,
    N_CLASSES,
    OUTCOME,
    ProducedReader,
    Request,
    Row,
    batches_of,
    columns_of,
)

if TYPE_CHECKING:
    from pathlib import Path

HARD = (
    "answers have no probabilities: each list is one class with probability 1, and the log score of a wrong one is "
    "infinite."
)


class NoListsError(Exception):
    """A task whose records are not about one correct choice of several; says why."""


def require_files(request: Request) -> tuple[Path, ...]:
    """The files; objects in memory are refused."""
    if request.data is not None:
        raise TopListError(
            f"{request.name}: {argument('producer', request.options.producer)} reads files: give a path."
        )
    return request.paths


def letters(count: int) -> list[str]:
    """The letters of so many options; after 26 of them, numbers from 1.

    >>> letters(3), letters(28)[25:]
    (['A', 'B', 'C'], ['Z', '1', '2'])
    """
    return [chr(ord("A") + at) if at < 26 else str(at - 25) for at in range(count)]


def letter_of(answer: str, choices: Sequence[str]) -> str:
    """The letter of the choice that an answer names, by its letter or by its text; nothing where it names none.

    >>> letter_of(" (b) ", ["red", "blue"]), letter_of("blue", ["red", "blue"]), letter_of("green", ["red", "blue"])
    ('B', 'B', '')
    """
    text, own = answer.strip(), letters(len(choices))
    letter = text.strip("().*: ").upper()
    if letter in own:
        return letter
    found = [one for one, choice in zip(own, choices, strict=True) if choice.strip() == text]
    return found[0] if len(found) == 1 else ""


def hard_label(answer: str, choices: Sequence[str]) -> tuple[list[str], list[float]]:
    """An answer as a list of one class with probability 1: `OTHER` where it is none of the choices."""
    return [answer if answer in choices else OTHER], [1.0]


def others(task: str, rows: Sequence[Row]) -> list[str]:
    """A note of the answers that are none of the choices, if there are any."""
    none = sum(list(row.classes) == [OTHER] for row in rows)
    return [f"{_of_task(task)}{none:,} answers are none of the choices: they are the class {OTHER}."] * bool(none)


def _of_task(task: str) -> str:
    return f"task {quote(task)}: " if task else ""


def known_of(outcome: str, choices: int, *, task: str = "", unit: str = "", **more: Any) -> dict[str, Any]:
    """What is known of a case; `unit` is the document, or question, that several cases may be about."""
    return {OUTCOME: outcome, N_CLASSES: choices, GROUP: task, CLUSTER: unit, **more}


@dataclass(slots=True)
class Cases:
    """Rows of all tasks, with what there is to say about them."""

    request: Request
    rows: list[tuple[str, Row]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)  # tasks, and why
    beside: list[Path] = field(default_factory=list)  # other files that were read

    def reader(self, nothing: str = "there is no record here.") -> ProducedReader:
        """The table of all tasks that have lists; an error where none has.

        A task is a group where there are several, and a unit is a cluster where it is in several cases.
        """
        if not self.rows:
            problems = [f"{_of_task(name)}{why}" for name, why in self.left_out.items()]
            raise FileError(self.request.name, next(iter(problems), nothing))
        notes = [*self.notes, *(f"task {quote(name)} is left out: {why}" for name, why in self.left_out.items())]
        columns = self._columns()
        made = list(batches_of(self.rows, columns))
        paths = (*self.request.paths, *self.beside)
        sentences = dict.fromkeys(f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in notes)
        return ProducedReader(self.request.name, lambda: iter(made), columns, paths, tuple(sentences))

    def _columns(self) -> dict[str, Any]:
        pa, known = need("pyarrow"), [row.known for _, row in self.rows]
        every: dict[str, Any] = {OUTCOME: pa.string(), N_CLASSES: pa.int64()}
        if len({one[GROUP] for one in known}) > 1:
            every[GROUP] = pa.string()
        if max(Counter(one[CLUSTER] for one in known).values()) > 1:
            every[CLUSTER] = pa.string()
        more = dict.fromkeys(name for one in known for name in one if name not in (OUTCOME, N_CLASSES, GROUP, CLUSTER))
        return columns_of(**every, **dict.fromkeys(more, pa.float64()))
