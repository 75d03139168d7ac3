"""The space of classes: how many there are, and their labels."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._text import are_codes, closest
from toplist.core.arguments import as_tuple, is_several, read_only
from toplist.errors import SpaceError

UNLISTED = -1  # the code of a class that exists but has no code of its own
_ORDERED = 100_000  # classes that may have an order: their scores spread a list out over all of them
INFINITELY_MANY = "infinitely many"  # the number of classes where it is infinite


@dataclass(frozen=True, eq=False)
class ClassSpace:
    """The classes: how many, optionally with labels. The number is declared, never inferred from predictions.

    Fewer labels than classes is allowed: the other classes exist and are never listed.

    Parameters
    ----------
    size : int, math.inf, sequence of int or sequence of labels, optional
        Number of classes, of any magnitude; `math.inf` for open-ended answers; one integer per case where the
        number of options differs. A sequence of labels stands for `labels`; the integers from 0 on, in order, are
        codes.
    labels : sequence, optional
        Labels, in the order of their codes.
    ordinal : bool, default False
        Whether the order of the labels, or of the codes, means something: the first class is the lowest. Scores of
        ordered classes ("rps", "ranked_log") need it; others ignore it. Every class needs a label then, or none has
        one, and there are at most 100,000. It is no part of the identity of the space.

    Examples
    --------
    >>> ClassSpace(1000)
    ClassSpace(1000)
    >>> ClassSpace(labels=["cat", "dog"]).size
    2
    >>> ClassSpace(["cat", "dog"]) == ClassSpace(labels=["cat", "dog"])
    True
    >>> ClassSpace([3, 4, 5]).size
    array([3, 4, 5])
    >>> ClassSpace(np.array([0, 1, 2]))
    ClassSpace(3)
    >>> ClassSpace(["low", "mid", "high"], ordinal=True)
    ClassSpace(labels=['low', 'mid', 'high'], ordinal=True)
    """

    size: Any = None
    labels: Sequence[Hashable] | None = None
    ordinal: bool = False

    def __post_init__(self) -> None:
        given, labels = self.size, None if self.labels is None else as_tuple(self.labels, "labels", SpaceError)
        if _is_sequence(given):
            given = given if isinstance(given, np.ndarray) else list(given)
            if labels is None and _are_labels(given):
                plain = given.tolist() if isinstance(given, np.ndarray) else given
                given, labels = None, as_tuple(plain, "labels", SpaceError)
            elif _are_codes(given):
                given = len(given)
        if labels is not None and len(set(labels)) < len(labels):
            twice = next(label for i, label in enumerate(labels) if label in labels[:i])
            raise SpaceError(f"label {twice!r} is there twice; every class needs a label of its own.")
        if given is None and labels is None:
            raise SpaceError("say how many classes there are: a number, math.inf, or labels=[...].")
        size = len(labels) if given is None and labels is not None else _as_size(given)
        if labels is not None and np.any(len(labels) > np.asarray(size, dtype=object)):
            raise SpaceError(f"{len(labels)} labels for {size} classes; there is a label too many.")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "size", size)
        if self.ordinal:
            _require_order(self)

    @property
    def per_case(self) -> bool:
        """Whether the number of classes differs from case to case."""
        return isinstance(self.size, np.ndarray)

    @cached_property
    def as_floats(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The size and its logarithm as arrays of one entry, or one per case: all that scoring needs."""
        if not self.per_case:
            return np.array([_to_float(self.size)]), np.array([_log(self.size)])
        if self.size.dtype != object:
            sizes = self.size.astype(np.float64)
            return sizes, np.log(sizes)
        return np.array([_to_float(s) for s in self.size]), np.array([_log(s) for s in self.size])

    @cached_property
    def codes(self) -> Mapping[Hashable, int]:
        """Label to code."""
        return {label: code for code, label in enumerate(self.labels or ())}

    @property
    def complete(self) -> bool:
        """Whether every class has a label."""
        return self.labels is not None and not self.per_case and len(self.labels) == self.size

    @property
    def numbered(self) -> bool:
        """Whether the labels themselves are numbers, so that a number is a label and not a code."""
        return self.labels is not None and isinstance(self.labels[0], int | float | np.number | np.bool_)

    def encode(self, labels: Iterable[Any]) -> NDArray[np.int64]:
        """Codes of labels; `UNLISTED` for a label that is not among the known ones of a larger space.

        >>> ClassSpace(5, labels=["cat", "dog"]).encode(["dog", "fox"])
        array([ 1, -1])
        """
        get = self.codes.get
        return np.fromiter((get(label, UNLISTED) for label in labels), dtype=np.int64)

    def decode(self, code: int) -> Any:
        """The label of a code, or the code itself where there are no labels."""
        return self.labels[code] if self.labels is not None and 0 <= code < len(self.labels) else code

    def suggest(self, label: Any) -> str:
        """A label that was perhaps meant, as a sentence, or nothing."""
        names = [str(known) for known in self.labels or ()]
        near = closest(str(label), names)
        if near is None and self.ordinal and are_codes(names) and not are_codes([str(label)]):
            return _DECLARE_ORDER
        if near is not None and near == str(label):
            return f"There is a label {near}, but of another type than {type(label).__name__}."
        if near is None and are_codes([str(label)]) and not any(map(are_codes, ([name] for name in names))):
            return f"{str(label)!r} is a number: are codes and labels mixed? Give the labels in both places."
        return f"Did you mean {near!r}?" if near is not None else ""

    def take(self, at: Any) -> ClassSpace:
        """The space of some of the cases."""
        return ClassSpace(self.size[at], self.labels, self.ordinal) if self.per_case else self

    def unnamed(self) -> ClassSpace:
        """As many classes in the same order, without labels."""
        return ClassSpace(self.size, ordinal=self.ordinal)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClassSpace) or type(self) is not type(other):
            return NotImplemented
        return bool(np.array_equal(self.size, other.size)) and self.labels == other.labels

    def __hash__(self) -> int:
        size = tuple(self.size.tolist()) if self.per_case else self.size
        return hash((type(self), size, self.labels))

    def _size_text(self) -> str:
        if self.per_case:
            return f"{show_size(self.size)} per case"
        return "inf" if self.size == math.inf else show_size(self.size)

    def __repr__(self) -> str:
        order = ", ordinal=True" if self.ordinal else ""
        if self.labels is None:
            return f"{type(self).__name__}({self._size_text()}{order})"
        shown = ", ".join(map(repr, self.labels[:3])) + (", ..." if len(self.labels) > 3 else "")
        size = "" if self.complete else f"{self._size_text()}, "
        return f"{type(self).__name__}({size}labels=[{shown}]{order})"


_DECLARE_ORDER = (
    'Declare ordered classes from the lowest to the highest, such as ClassSpace(["low", "mid", "high"], ordinal=True), '
    "or --classes FILE --ordinal."
)


def as_space(space: Any) -> ClassSpace:
    """A `ClassSpace` as it is; anything else as the number of classes, or as their labels."""
    return space if isinstance(space, ClassSpace) else ClassSpace(space)


def require_declared_order(space: ClassSpace) -> None:
    """Refuse labels that are met where classes have an order, but no labels."""
    if space.ordinal:
        raise SpaceError(f"the classes have an order, and labels were met of which it is not known. {_DECLARE_ORDER}")


def _require_order(space: ClassSpace) -> None:
    """Refuse classes that cannot be put in order."""
    if np.any(np.asarray(space.size, dtype=object) > _ORDERED):
        raise SpaceError(
            f"ordered classes are at most {_ORDERED:,}, not {show_size(space.size)}: their scores add up all "
            "thresholds between them. Give the number of classes, put neighbours together, or leave out ordinal=True."
        )
    if space.labels is not None and not space.complete:
        raise SpaceError(
            f"{len(space.labels)} labels for {show_size(space.size)} ordered classes: the places of the others are not "
            "known. Give every class its label, in order, or none."
        )


def _is_sequence(given: Any) -> bool:
    """Whether there is a value for each of several things: classes, or cases."""
    if isinstance(given, set | frozenset):
        raise SpaceError("labels need an order, which a set has not: give them as a list.")
    return is_several(given) and not isinstance(given, str | bytes | Mapping | np.generic)


def _is_bool(given: Any) -> bool:
    return all(isinstance(one, bool | np.bool_) for one in given)


def _are_labels(given: Any) -> bool:
    """Whether a sequence names classes: no number is in it, or nothing but truth values."""
    if not len(given) or (isinstance(given, np.ndarray) and given.dtype.kind in "iufcmM"):
        return False
    return _is_bool(given) or not any(isinstance(one, int | float | complex | np.number | np.bool_) for one in given)


def _are_codes(given: Any) -> bool:
    """Whether a sequence counts the classes: 0, 1, 2, ... A number of classes per case is never 0."""
    first = given[0] if len(given) else None
    if isinstance(first, bool | np.bool_) or not isinstance(first, int | np.integer) or first != 0:
        return False
    if all(isinstance(one, int | np.integer) and one == code for code, one in enumerate(given)):
        return True
    raise SpaceError(
        "a sequence with 0 in it is no number of classes per case; labels that are numbers go as labels=[...]."
    )


def _as_size(size: Any) -> Any:
    if isinstance(size, (str, bytes)):
        raise SpaceError(f"{size!r} is not a number of classes; give labels as labels=[...].")
    if _is_sequence(size):
        if np.ma.isMaskedArray(size) or any(map(_is_sequence, size)):
            raise SpaceError("numbers of classes are one, or one per case.")
        sizes = [_as_size(s) for s in size]
        if not all(isinstance(s, int) for s in sizes):
            raise SpaceError("sizes that differ per case must be finite.")
        return read_only(np.array(sizes, dtype=np.int64 if not sizes or max(sizes) < 2**53 else object))
    if isinstance(size, float | np.floating) and (math.isinf(size) or not float(size).is_integer()):
        if size == math.inf:
            return math.inf
        raise SpaceError(f"{size!r} is not a number of classes.")
    if isinstance(size, bool | np.bool_ | np.complexfloating):
        raise SpaceError(f"{size!r} is not a number of classes.")
    try:
        count = int(size)
    except (TypeError, ValueError):
        raise SpaceError(f"{size!r} is not a number of classes.") from None
    if count < 1:
        raise SpaceError(f"there is at least one class, not {count}.")
    return count


def _to_float(size: Any) -> float:
    try:
        return float(size)
    except OverflowError:
        return math.inf


def _log(size: Any) -> float:
    return math.log(size) if size != math.inf else math.inf


def show_size(size: Any) -> str:
    """A number of classes as people write it, however large it is.

    >>> show_size(1000), show_size(math.inf), show_size(2**10000), show_size(np.array([3, 5]))
    ('1000', 'infinitely many', '2**10000', '3 to 5')
    """
    if isinstance(size, np.ndarray):
        return f"{show_size(min(size))} to {show_size(max(size))}" if len(size) else "per case"
    if size == math.inf:
        return INFINITELY_MANY
    if size < 10**12:
        return str(size)
    power = int(size).bit_length() - 1
    return f"2**{power}" if size == 2**power else f"about 2**{math.log2(size):.6g}"
