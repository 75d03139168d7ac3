"""Scores of one model case by case in a small file: the baseline of a gate that is committed to a repository.

The file is JSON with a case per line, in the order of the ids, so that the same scores make the same bytes and a change
is a short diff. Numbers are written so that they are read back to the last bit; sums are exact. A checksum covers all
of it, whatever the white space is.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import as_remote, from_json_number, read_json, shown, to_json_number, write_bytes
from toplist._text import quote, significant, visible
from toplist._typing import Floats
from toplist.core.kernel import BITS, UNIT, exact_sums, version
from toplist.errors import FileError, TopListError
from toplist.report.text import number_of

FAMILY = "toplist.record/"
SCHEMA = f"{FAMILY}1"
_HEAD = re.compile(rb'\s*\{\s*"schema"\s*:\s*"toplist\.record/')
_LOOK = 4096  # bytes in which a record says what it is
_DIGITS = 8  # of the digest of an outcome
_POSITION, _ID = "position", "id"  # by what cases are told apart
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "toplist": str,
    "model": str,
    "rules": list,
    "penalty": (int, float, str, type(None)),
    "classes": str,
    "matched": str,
    "filled": int,
    "warnings": dict,
    "sums": dict,
    "cases": list,
    "checksum": str,
}


def digest(text: str) -> str:
    """A few digits that two different outcomes do not share, but for one time in four thousand million.

    >>> digest("cat of 10"), digest("dog of 10")
    ('12d69296', 'ca3a9637')
    """
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def is_record(data: Any) -> bool:
    """Whether this is the path of a file that says that it is a record, of whatever version."""
    remote = as_remote(data) if isinstance(data, str | os.PathLike) else None
    if remote is None and (not isinstance(data, str | os.PathLike) or not os.path.isfile(data)):
        return False
    if remote is not None and not remote.is_file():  # a folder, or a pattern
        return False
    try:
        with Path(data).open("rb") if remote is None else remote.random_access() as file:
            return _HEAD.match(file.read(_LOOK)) is not None
    except OSError:
        return False


@dataclass(frozen=True, eq=False, repr=False)
class ScoreRecord:
    """Scores of one model case by case, to be kept as the baseline of `gate`. Made by `score_record`.

    Attributes
    ----------
    model : str
        The name of the model.
    rules : tuple of str
        The names of the scoring rules.
    classes : str
        How many classes there are; "per case" where it differs.
    penalty : float or None
        What an invalid list pays; None for 1 % of the uniform score.
    cases : tuple of str
        The ids of the cases, or their positions, in the order of their text.
    outcomes : tuple of str
        A digest of the outcome of each case and of its number of classes.
    scores : ndarray of shape (rules, cases)
        Lower is better.
    by_position : bool
        Whether cases have no ids.
    filled : int
        Missing predictions that were taken as empty lists.
    warnings : mapping from str to tuple of str
        What was doubtful about the predictions, by rule.
    version : str
        The version of the library that made it.
    lists : str
        A fingerprint of all lists; empty where it is not known.

    Examples
    --------
    >>> import toplist as tl
    >>> found = tl.score_record([{"a": 0.7, "b": 0.2}, {"b": 0.5}], ["a", "c"], space=3)
    >>> found
    ScoreRecord('model', brier 0.5075, 2 cases)
    """

    model: str
    rules: tuple[str, ...]
    classes: str
    penalty: float | None
    cases: tuple[str, ...]
    outcomes: tuple[str, ...]
    scores: Floats
    by_position: bool = False
    filled: int = 0
    warnings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    version: str = field(default_factory=version)
    lists: str = ""

    @classmethod
    def of(cls, cases: Sequence[str], outcomes: Sequence[str], scores: Floats, **about: Any) -> ScoreRecord:
        """The record of these cases, in whatever order they come."""
        order = sorted(range(len(cases)), key=cases.__getitem__)
        twice = next((cases[a] for a, b in pairwise(order) if cases[a] == cases[b]), None)
        if twice is not None:
            raise TopListError(f"the case {quote(twice)} is there twice: a record needs one id for each case.")
        ids, digests = (tuple(column[i] for i in order) for column in (cases, outcomes))
        return cls(cases=ids, outcomes=digests, scores=np.ascontiguousarray(scores[:, order]), **about)

    def __len__(self) -> int:
        return len(self.cases)

    def __eq__(self, other: object) -> bool:
        return NotImplemented if not isinstance(other, ScoreRecord) else self._content() == other._content()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        means = ", ".join(f"{rule} {significant(self.mean(rule))}" for rule in self.rules)
        return f"ScoreRecord({quote(visible(self.model))}, {means}, {number_of(len(self), 'case')})"

    def mean(self, rule: str) -> float:
        """The mean score under a rule; infinite where any score is."""
        own = self[rule]
        return float("inf") if np.isinf(own).any() else _exact(own) / (len(own) * UNIT)

    def __getitem__(self, rule: str) -> Floats:
        """The scores under a rule, in the order of `cases`."""
        if rule not in self.rules:
            raise KeyError(f"{rule!r} is not among {', '.join(map(repr, self.rules))}")
        own: Floats = self.scores[self.rules.index(rule)]
        return own

    def places(self, cases: Sequence[str]) -> NDArray[np.int64]:
        """Where these cases are in the record; -1 for those that it lacks."""
        known = self._places
        return np.fromiter((known.get(case, -1) for case in cases), np.int64, len(cases))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {case: at for at, case in enumerate(self.cases)}

    # The file

    def to_text(self) -> str:
        """The record as JSON in ASCII, with a case per line; the same record is the same text."""
        content = self._content()
        cases = content.pop("cases")
        head = "".join(f" {json.dumps(name)}: {_compact(value)},\n" for name, value in content.items())
        lines = ",\n".join(f"  {_compact(case)}" for case in cases)
        return f'{{\n{head} "cases": [\n{lines}\n ],\n "checksum": "{_checksum(content | {"cases": cases})}"\n}}\n'

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the record to a file, whole or not at all.

        Parameters
        ----------
        path : str or path
            Where to write, such as "baseline.json".

        """
        write_bytes(path, self.to_text().encode("ascii"))

    def _content(self) -> dict[str, Any]:
        """All of it but the checksum, as JSON has it."""
        columns = [[to_json_number(score) for score in own.tolist()] for own in self.scores]
        return {
            "schema": SCHEMA,
            "toplist": self.version,
            "model": self.model,
            "rules": list(self.rules),
            "penalty": None if self.penalty is None else to_json_number(self.penalty),
            "classes": self.classes,
            "matched": _POSITION if self.by_position else _ID,
            "filled": self.filled,
            "lists": self.lists,
            "warnings": {rule: list(self.warnings.get(rule, ())) for rule in self.rules},
            "sums": {rule: _sums(self[rule]) for rule in self.rules},
            "cases": [list(row) for row in zip(self.cases, self.outcomes, *columns, strict=True)],
        }

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ScoreRecord:
        """Read a record from a file.

        Parameters
        ----------
        path : str or path
            A file that `write` made, or `toplist record`.

        Returns
        -------
        ScoreRecord
            With the same scores, to the last bit.

        Raises
        ------
        FileError
            If the file is no record, is damaged, or is of a version that is not known.

        """
        name = shown(path)
        saved = read_json(path, "a record of scores, or not all of it")
        schema = saved.get("schema") if isinstance(saved, dict) else None
        if not isinstance(schema, str) or not schema.startswith(FAMILY):
            raise FileError(name, "this is no record of scores: make one with toplist record, or score_record.")
        if schema != SCHEMA:
            problem = f"this record has the format {schema}, and this version of toplist knows {SCHEMA} alone"
            raise FileError(name, f"{problem}: make the record again, or install the version that wrote it.")
        odd = next((one for one, kind in _FIELDS.items() if not isinstance(saved.get(one), kind)), None)
        if odd is not None:
            raise _damaged(name, f"it has no {odd}")
        given = saved.pop("checksum")
        if given != _checksum(saved):
            raise _damaged(name, "its checksum is not that of what is in it")
        try:
            found = cls._of_content(saved)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            raise _damaged(name, "its cases are not an id, a digest and a score for each rule") from None
        sums = {rule: _sums(found[rule]) for rule in found.rules}
        if sums != saved["sums"] or len(found._places) < len(found) or not len(found):
            raise _damaged(name, "its sums are not those of its cases")
        return found

    @classmethod
    def _of_content(cls, saved: Mapping[str, Any]) -> ScoreRecord:
        rules, rows = tuple(map(str, saved["rules"])), saved["cases"]
        if any(len(row) != 2 + len(rules) for row in rows):
            raise ValueError("a row of another length")
        ids, outcomes = (tuple(_text(row[at]) for row in rows) for at in (0, 1))
        scores = np.array([[_number(value) for value in row[2:]] for row in rows], np.float64).reshape(-1, len(rules)).T
        penalty = saved["penalty"]
        return cls(
            saved["model"],
            rules,
            saved["classes"],
            None if penalty is None else _number(penalty),
            ids,
            outcomes,
            np.ascontiguousarray(scores),
            {_POSITION: True, _ID: False}[saved["matched"]],
            saved["filled"],
            {rule: tuple(map(_text, saved["warnings"][rule])) for rule in rules},
            saved["toplist"],
            _text(saved.get("lists", "")),
        )


def _damaged(path: str, why: str) -> FileError:
    return FileError(path, f"this record is damaged ({why}): restore it, or make it again with toplist record.")


def _compact(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _checksum(content: Mapping[str, Any]) -> str:
    """Of what is in the record, however it is laid out."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{sha256(text.encode('ascii')).hexdigest()}"


def _exact(scores: Floats) -> int:
    """The exact sum of finite scores, in units of the smallest double."""
    return int(exact_sums(scores[None, np.isfinite(scores)])[0, 0])


def _sums(scores: Floats) -> dict[str, Any]:
    """How many scores there are, how many are infinite, and the exact sum of the others."""
    return {
        "cases": len(scores),
        "infinite": int(np.count_nonzero(np.isinf(scores))),
        "sum": exact_text(_exact(scores)),
    }


def exact_text(total: int) -> str:
    """An exact sum as a whole number, in hexadecimal digits, times a power of two.

    >>> exact_text(3 * UNIT // 8), exact_text(0), exact_text(-UNIT)
    ('0x3p-3', '0x0p+0', '-0x1p+0')
    """
    zeros = (total & -total).bit_length() - 1 if total else BITS
    return f"{total >> zeros:#x}p{zeros - BITS:+d}" if total >= 0 else f"-{exact_text(-total)}"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _number(value: Any) -> float:
    number = from_json_number(value)
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise TypeError("no number")
    return float(number)
