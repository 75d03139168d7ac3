"""What the caller says about how files are read: for all of them, or for one by its name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toplist.errors import TopListError
from toplist.io.layouts import LayoutHints
from toplist.lists.space import ClassSpace

TRUTH = "truth"  # the name of the truth where options go by name


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How files are read. `layout`, `case`, `classes`, `confidences` and `ignore` are one for all, or by name.

    The name of the truth is "truth"; without a name, `layout`, `classes` and `confidences` are about predictions.
    """

    layout: Any = "auto"
    case: Any = None
    classes: Any = None
    confidences: Any = None
    outcome: str | None = None
    ignore: Any = ()
    by_position: bool = False
    sets: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.by_position, bool):
            raise TopListError(f"by_position is True or False, not {self.by_position!r}.")
        for what in ("layout", "case", "classes", "confidences", "outcome"):
            given = getattr(self, what)
            for value in given.values() if isinstance(given, Mapping) else [given]:
                if value is not None and not isinstance(value, str):
                    raise TopListError(f"{what} is the name of a column, or by file a mapping to names, not {value!r}.")
                if value == "":
                    raise TopListError(f"{what} is empty: name a column, or leave it out.")

    def require_none(self, where: str) -> None:
        """None of them has an effect on what is no file or frame."""
        given = {"case": self.case, "classes": self.classes, "confidences": self.confidences, "outcome": self.outcome}
        given |= {"ignore": self.ignore or None, "by_position": self.by_position or None}
        vain = next((what for what, value in given.items() if value is not None), None)
        if vain is not None:
            raise TopListError(f"{vain} is about files and frames: it has no effect {where}.")

    def require_names(self, names: Sequence[str]) -> None:
        """Options by name are about files that are there."""
        for what in ("layout", "case", "classes", "confidences", "ignore"):
            given = getattr(self, what)
            stray = (
                next((key for key in given if key not in (*names, TRUTH)), None) if isinstance(given, Mapping) else None
            )
            if stray is not None:
                raise TopListError(f"{what}= is given for {stray!r}, which is not among {', '.join(map(repr, names))}.")

    def of(self, name: str, space: ClassSpace | None, marked: str | None, blanks: str) -> LayoutHints:
        """What is said about one file of predictions."""
        return LayoutHints(
            layout=_of(self.layout, name) or "auto",
            case=_of(self.case, name),
            classes=_of(self.classes, name),
            confidences=_of(self.confidences, name),
            labels=_labels(space),
            size=_size(space),
            sets=marked,
            blanks=blanks,
            ignore=self.ignored(name),
            by_position=self.by_position,
        )

    def of_truth(self, space: ClassSpace | None, marked: str | None, extra: tuple[str, ...]) -> LayoutHints:
        """What is said about the truth."""
        by_name = {what: getattr(self, what) for what in ("layout", "case", "classes", "confidences")}
        own = {what: given.get(TRUTH) if isinstance(given, Mapping) else None for what, given in by_name.items()}
        return LayoutHints(
            layout=own["layout"] or "auto",
            case=own["case"],
            classes=self.outcome or own["classes"],
            confidences=own["confidences"],
            labels=_labels(space),
            size=_size(space),
            extra=extra,
            truth=True,
            sets=marked,
            ignore=self.ignored(TRUTH),
            by_position=self.by_position,
        )

    def ignored(self, name: str) -> tuple[str, ...]:
        """The columns, or patterns, to leave out of one file."""
        given = self.ignore.get(name, ()) if isinstance(self.ignore, Mapping) else self.ignore
        return (given,) if isinstance(given, str) else tuple(given)


def _of(option: Any, name: str) -> Any:
    return option.get(name) if isinstance(option, Mapping) else option


def _labels(space: ClassSpace | None) -> Collection[str] | None:
    """The labels in their order, to look names up in."""
    return None if space is None or space.labels is None else dict.fromkeys(map(str, space.labels)).keys()


def _size(space: ClassSpace | None) -> Any:
    return None if space is None or space.per_case else space.size
