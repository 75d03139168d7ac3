"""What can go wrong, as a tree: catch `TopListError` for all of it.

::

    TopListError (a ValueError)
    ├── SpaceError             the classes do not make sense: a size below one, a label twice
    ├── RuleError              a scoring rule that is not known, or a parameter outside its range
    │   └── ImproperRuleError  a rule that rewards lying; carries the pair of distributions that shows it
    ├── FileError              a file, or a table, cannot be read as predictions, or a file cannot be written; carries
    │                          the source and the row
    ├── ResourceError          memory, or room for temporary files, does not suffice, or a server cannot be reached
    ├── AlignmentError         the models and the truth are not about the same cases
    └── CaseError              a case is wrong; carries the case, the problem, the remedy and how many more
        ├── ShapeError         lengths that differ, an array of the wrong shape
        ├── ConfidenceError    a value that is no probability: NaN, negative, above one, percent, a sentinel
        ├── MassError          values that do not add up: mass above one, marginals, an incomplete distribution
        ├── ClassError         a class twice, outside the space, or more classes than there are
        └── OutcomeError       an outcome outside the space
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class TopListError(ValueError):
    """The root of everything that toplist raises on purpose."""


class SpaceError(TopListError):
    """The classes do not make sense."""


class RuleError(TopListError):
    """A scoring rule is not known, or its parameter is outside the range where it is proper."""


class ImproperRuleError(RuleError):
    """Under the truth `p` the report `q` scores better than `p` itself, by `gain`."""

    def __init__(self, message: str, p: Sequence[float], q: Sequence[float], gain: float) -> None:
        super().__init__(message)
        self.p = tuple(p)
        self.q = tuple(q)
        self.gain = gain

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.p, self.q, self.gain)


class FileError(TopListError):
    """A file, or a table, cannot be read as predictions, or written. `row` counts from 1, without the header."""

    def __init__(self, source: str, problem: str, *, row: int | None = None) -> None:
        super().__init__(f"{source}{'' if row is None else f', row {row:,}'}: {problem}")
        self.source = source
        self.problem = problem
        self.row = row

    def __reduce__(self) -> tuple[object, ...]:
        return _file_again, (self.source, self.problem, self.row)


class ResourceError(TopListError):
    """Memory, or room for temporary files, does not suffice, or a server cannot be reached."""


class AlignmentError(TopListError):
    """The models and the truth are not about the same cases."""


class CaseError(TopListError):
    """A case is wrong. `case` is its row, `more` counts further cases with the same problem."""

    def __init__(self, problem: str, remedy: str = "", *, case: int | None = None, name: str = "", more: int = 0):
        where = "" if case is None else f"case {case}{f' ({name})' if name else ''}: "
        others = "" if not more else f" {more:,} more case{'s have' if more > 1 else ' has'} the same problem."
        super().__init__(f"{where}{problem}{' ' + remedy if remedy else ''}{others}")
        self.case = case
        self.name = name
        self.problem = problem
        self.remedy = remedy
        self.more = more
        self.detail: Any = None  # what the message was made of, to say it with other names for the classes

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.problem, self.remedy, self.case, self.name, self.more)


class ShapeError(CaseError):
    """Lengths differ, or an array has the wrong shape."""


class ConfidenceError(CaseError):
    """A value is no probability."""


class MassError(CaseError):
    """The values of a case do not add up."""


class ClassError(CaseError):
    """A class is listed twice, is outside the space, or there are more classes than the space has."""


class OutcomeError(CaseError):
    """An outcome is outside the space."""


def _again(kind: type[CaseError], problem: str, remedy: str, case: int | None, name: str, more: int) -> CaseError:
    """A copy of an error, for another process."""
    return kind(problem, remedy, case=case, name=name, more=more)


def _file_again(source: str, problem: str, row: int | None) -> FileError:
    return FileError(source, problem, row=row)
