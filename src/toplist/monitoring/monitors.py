"""What monitoring found: to be read, printed and handed on."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toplist.ranking.results import Estimate, SequentialPath
from toplist.report.cells import wrap
from toplist.report.escape import plain, visible
from toplist.report.fit import GAP
from toplist.report.numbers import count, percent, spans
from toplist.report.tables import Column, Table
from toplist.report.text import lines

SCHEMA = "toplist.monitor/1"
_PAGE = 100


@dataclass(frozen=True, slots=True, repr=False)
class Monitor:
    """Predictors against a baseline, looked at after every case. Made by `monitor`."""

    rule: str
    baseline: str
    level: float
    classes: str  # how many there are
    cases: int  # of the truth
    left_out: Mapping[str, int]  # by candidate: cases of the truth that it or the baseline lacks
    unknown: Mapping[str, int]  # by predictor: predictions for cases that the truth does not have
    paths: tuple[SequentialPath, ...]  # one for each candidate

    # What is in it

    def __iter__(self) -> Iterator[SequentialPath]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, name: str) -> SequentialPath:
        """The path of one candidate."""
        found = next((path for path in self.paths if path.candidate == name), None)
        if found is None:
            raise KeyError(f"{name!r} is not among {', '.join(repr(path.candidate) for path in self.paths)}")
        return found

    # For people

    def __repr__(self) -> str:
        return self.to_text(shutil.get_terminal_size((120, 24)).columns)

    def to_text(self, width: int | None = None) -> str:
        """A line for each candidate, and a sentence that says what may be concluded."""
        page = max(60, width or _PAGE)
        said = [*(sentence for path in self.paths for sentence in self._said(path)), *self._notes()]
        grid = ((" " * GAP).join(line).rstrip() for line in lines(self._table()))
        title = f"Against {plain(self.baseline)} by {plain(self.rule)}, however often one looks"
        return "\n".join([*wrap(title, page), "", *grid, "", *(line for one in said for line in wrap(one, page))])

    def _table(self) -> Table:
        ends = [
            Estimate(path.mean[-1], *((path.low[-1], path.high[-1]) if path.low else (None, None)))
            for path in self.paths
        ]
        columns = (
            Column("candidate", "left", heading=True),
            Column("cases"),
            Column(f"mean difference, {percent(self.level)}", "left"),
            Column("e better"),
            Column("e worse"),
        )
        rows = tuple(
            (plain(path.candidate), count(path.cases), shown, _e_value(path.better[-1]), _e_value(path.worse[-1]))
            for path, shown in zip(self.paths, spans(ends, signed=True), strict=True)
        )
        return Table("", columns, rows)

    def _said(self, path: SequentialPath) -> list[str]:
        a, b = plain(path.candidate), plain(path.baseline)
        found = []
        for one, other, when in ((a, b, path.shown_better), (b, a, path.shown_worse)):
            if when is not None:
                found.append(f"after {_cases(when)} {one} was shown to be better than {other} at some time")
        if path.separated is not None:
            mean = path.mean[path.at.index(path.separated)]
            sooner, later = (a, b) if mean < 0 else (b, a)
            found.append(f"after {_cases(path.separated)} {sooner} was shown to be better than {later} on average")
        said = "; ".join(found) if found else f"no difference to {b} is shown in {_cases(path.cases)}"
        left = self.left_out[path.candidate]
        told = [f"{a}: {said}."]
        if left:
            told.append(f"{a}: {_cases(left)} of the truth left out, which it or {b} lacks.")
        if path.why:
            told.append(f"{a}: {visible(path.why)}")
        return told

    def _notes(self) -> list[str]:
        beyond = [f"{plain(name)} has {count(n)}" for name, n in self.unknown.items() if n]
        needed = f"{1 / (1 - self.level):.4g}"
        return [
            *([f"Predictions without a truth were left out: {', '.join(beyond)}."] if beyond else []),
            f"Below zero the candidate is better; an e-value of {needed} shows it at {percent(self.level)}.",
            "All this takes for granted that the outcome of each case is known before the next prediction is made.",
        ]

    # For other programs

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON.

        JSON has no infinity: what is infinite, or no number, is null, and `infinite_from` says after how many cases
        the mean score of the candidate, that of the baseline, and the evidence first were infinite.
        """
        return {
            "schema": SCHEMA,
            "rule": self.rule,
            "baseline": self.baseline,
            "level": self.level,
            "classes": self.classes,
            "cases": self.cases,
            "unknown": dict(self.unknown),
            "paths": [_path(path, self.left_out[path.candidate]) for path in self.paths],
        }

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False).replace("\x7f", "\\u007f")


def _path(path: SequentialPath, left_out: int) -> dict[str, Any]:
    above = _first(path.at, [x == math.inf or math.isnan(x) for x in path.mean])
    below = _first(path.at, [x == -math.inf or math.isnan(x) for x in path.mean])
    return {
        "candidate": path.candidate,
        "baseline": path.baseline,
        "rule": path.rule,
        "level": path.level,
        "cases": path.cases,
        "left_out": left_out,
        "at": list(path.at),
        "mean": _finite(path.mean),
        "low": _finite(path.low) if path.low else None,
        "high": _finite(path.high) if path.high else None,
        "log_e_better": _finite(path.better),
        "log_e_worse": _finite(path.worse),
        "infinite_from": {
            "candidate": above,
            "baseline": below,
            "log_e_better": _first(path.at, [x == math.inf for x in path.better]),
            "log_e_worse": _first(path.at, [x == math.inf for x in path.worse]),
        },
        "separated": path.separated,
        "shown_better": path.shown_better,
        "shown_worse": path.shown_worse,
        "method": path.method,
        "why": path.why,
    }


def _finite(values: Sequence[float]) -> list[float | None]:
    return [x if math.isfinite(x) else None for x in values]


def _first(at: Sequence[int], true: Sequence[bool]) -> int | None:
    return next((t for t, yes in zip(at, true, strict=True) if yes), None)


def _cases(n: int) -> str:
    return f"{count(n)} case{'' if n == 1 else 's'}"


def _e_value(log: float) -> str:
    """An e-value from its logarithm, however large."""
    if math.isinf(log) or abs(log) < 600:
        return f"{math.exp(log):.3g}"
    return f"1e{log / math.log(10):+.0f}"
