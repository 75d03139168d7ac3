"""Football matches with odds, as football-data.co.uk has them: a row per match, three columns of odds per bookmaker.

Each bookmaker is a model of its own, named by the beginning of its columns: `B365` of `B365H`, `B365D` and `B365A`.
Closing odds have a C more: `B365CH`. Odds are decimal; the overround is removed here, and told.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np

from toplist._files import need
from toplist._text import did_you_mean, listed, quote
from toplist._typing import Overround
from toplist.errors import FileError
from toplist.io.producers.base import (
    GROUP,
    N_CLASSES,
    OUTCOME,
    Match,
    ProducedReader,
    Producer,
    Request,
    Row,
    batches_of,
    columns_of,
)
from toplist.io.producers.csv_rows import csv_rows
from toplist.io.readers.base import FirstLook
from toplist.lists.odds import fair_probabilities

_RESULTS = ("H", "D", "A")  # home win, draw, away win
_NAMES = {"home": ("HomeTeam", "Home"), "away": ("AwayTeam", "Away"), "result": ("FTR", "Res"), "date": ("Date",)}
_DATES = ("%d/%m/%Y", "%d/%m/%y", "%Y-%m-%d")
_OFFSETS = np.array([0, len(_RESULTS)], dtype=np.int64)


def bookmakers(columns: Sequence[str]) -> list[str]:
    """The beginnings of names of columns with odds for all three results.

    >>> bookmakers(["HomeTeam", "FTR", "B365H", "B365D", "B365A", "B365AHH", "B365AHA", "PSCH", "PSCD", "PSCA"])
    ['B365', 'PSC']
    """
    there = set(columns)
    begun = [name[:-1] for name in columns if name.endswith("H") and len(name) > 1]
    return [name for name in begun if all(name + result in there for result in _RESULTS)]


def _open(request: Request) -> ProducedReader:
    made = _Matches(request)
    rows = [(str(path), row) for path in request.paths for row in made.rows(path)]
    pa = need("pyarrow")
    known = {OUTCOME: pa.string(), N_CLASSES: pa.int64()}
    known |= {GROUP: pa.string()} if len({row.known[GROUP] for _, row in rows}) > 1 else {}
    columns = columns_of(**known)
    batches = list(batches_of(rows, columns))
    return ProducedReader(request.name, lambda: iter(batches), columns, request.paths, tuple(made.notes()))


@dataclass
class _Matches:
    """The matches of some files with the odds of one bookmaker."""

    request: Request
    bookmaker: str = ""
    sums: list[float] = field(default_factory=list)  # of the reciprocals of the odds of each match
    without: Counter[str] = field(default_factory=Counter)  # matches that lack something

    @property
    def overround(self) -> Overround:
        """How it is removed."""
        return self.request.options.overround

    def rows(self, path: Path) -> Iterator[Row]:
        """The matches with odds."""
        header, lines = csv_rows(path)
        names = {what: next((one for one in known if one in header), "") for what, known in _NAMES.items()}
        lacks = next((_NAMES[what][0] for what, name in names.items() if not name), None)
        if lacks is not None:
            raise FileError(str(path), f"there is no column {quote(lacks)}, which football-data.co.uk has.")
        self.bookmaker = _chosen(bookmakers(header), self.request, path)
        for number, line in lines:
            row = self._row(path, number, line, names)
            if row is not None:
                yield row

    def _row(self, path: Path, number: int, line: Mapping[str, str], names: Mapping[str, str]) -> Row | None:
        odds = [line[self.bookmaker + result] for result in _RESULTS]
        if not all(odds):
            self.without[f"odds of {self.bookmaker}"] += 1
            return None
        values = list(map(_number, odds))
        odd = next((at for at, value in enumerate(values) if not 1.0 < value < math.inf), None)
        if odd is not None:
            raise FileError(
                str(path),
                f"{self.bookmaker}{_RESULTS[odd]} is {quote(odds[odd])}: decimal odds are numbers above 1. Leave the "
                "odds of a match blank where there are none.",
                row=number,
            )
        result = line[names["result"]]
        if result not in ("", *_RESULTS):
            raise FileError(str(path), f"{names['result']} is {quote(result)}, not H, D or A.", row=number)
        if not result:
            self.without["result"] += 1
        found = np.array(values, dtype=np.float64)
        self.sums.append(float((1.0 / found).sum()))
        case = f"{_day(line[names['date']], path, number)} {line[names['home']]} - {line[names['away']]}"
        known = {OUTCOME: result or None, N_CLASSES: len(_RESULTS), GROUP: line.get("Div") or line.get("League")}
        return Row(case, _RESULTS, fair_probabilities(found, _OFFSETS, self.overround).tolist(), known)

    def notes(self) -> Iterator[str]:
        """What is to be said of the matches."""
        closing = len(self.bookmaker) > 1 and self.bookmaker.endswith("C") and self.bookmaker not in _NO_CLOSING
        kind = "closing odds" if closing else "odds before the closing"
        if self.sums:
            mean, low, high = (100 * (f(self.sums) - 1.0) for f in (np.mean, min, max))
            yield (
                f"{kind} of {self.bookmaker}: an overround of {mean:.2f} % on average ({low:.2f} to {high:.2f}) is "
                f"removed ({self.overround})"
            )
        below = sum(one < 1.0 for one in self.sums)
        if below:
            yield f"the reciprocals of the odds of {below:,} matches add up to less than 1, and are raised to it"
        for what, count in self.without.items():
            left = " and are left out" if what.startswith("odds") else ""
            yield f"{count:,} matches have no {what}{left}"


_NO_CLOSING = ("VC",)  # bookmakers whose names end in C


def _chosen(found: Sequence[str], request: Request, path: Path) -> str:
    """The bookmaker that is asked for, or the only one."""
    asked = request.options.confidence
    if not found:
        raise FileError(str(path), "no bookmaker has odds for the three results here, as in B365H, B365D and B365A.")
    if asked is None and len(found) == 1:
        return found[0]
    if asked is None:
        a, b = (*found, *found)[:2]
        raise FileError(
            str(path),
            f"it has the odds of {len(found)} bookmakers ({listed(list(found), 40, str)}), each a model of its own. "
            f"Say which: toplist compare {a}={path} {b}={path} --from football --confidence {a}={a} "
            f"--confidence {b}={b}.",
        )
    name = asked.rstrip("*?")
    if name not in found:
        raise FileError(
            str(path),
            f"no bookmaker is called {quote(name)}; there are {listed(list(found), 40, str)}."
            f"{did_you_mean(name, found)}",
        )
    return name


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _day(text: str, path: Path, row: int) -> str:
    """A date as ISO 8601 has it, of day, month and year."""
    for form in _DATES:
        try:
            return datetime.strptime(text, form).date().isoformat()
        except ValueError:
            continue
    raise FileError(str(path), f"Date is {quote(text)}, not a day as in 31/12/2024.", row=row)


def _match(look: FirstLook, match: Match) -> Match | None:
    """Tables of matches with the odds of a bookmaker."""
    columns = look.columns(match.paths[0])
    there = all(any(name in columns for name in known) for known in _NAMES.values())
    found = bookmakers(columns) if there else []
    return Match(match.paths, f"it has teams, results and the odds of {listed(found, 3, str)}") if found else None


PRODUCER = Producer(open=_open, match=_match, options=("confidence", "overround"), files_only=True)
