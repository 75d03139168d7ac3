"""What was wrong in each file, and what was done about it."""

from __future__ import annotations

from collections.abc import Sequence

from toplist.evidence.findings import Exhibit
from toplist.ranking.results import Origin, Results
from toplist.report.escape import plain, visible
from toplist.report.notes import cases
from toplist.report.numbers import NOTHING
from toplist.report.page.grids import Cell, Column, Grid, Head, grid, named, odd
from toplist.report.page.sureness import Shown
from toplist.report.page.wording import Sentence, Words, listed, sentence

_WORDS = 400  # characters of what is said of an invalid list


def faults(results: Results, shown: Shown) -> Grid:
    """A row per predictor, with counts of everything that was odd."""
    rows = {row.name: row for row in results.overall.standings}
    origins = [o for o in results.origins if o.name in rows]
    columns: list[Column] = [
        (Head("predictor", "name"), [named(shown[o.name]) for o in origins]),
        (Head("missing", means="cases of the truth without a prediction"),
         [odd(rows[o.name].missing) for o in origins]),
        (Head("filled", means="missing predictions taken as empty lists"), [odd(o.filled) for o in origins]),
        (Head("left out", means="cases that were not compared"), [odd(o.left_out) for o in origins]),
        (Head("invalid lists"), [odd(rows[o.name].invalid) for o in origins]),
        *((Head(f"infinite {plain(rule, 30)}"), [odd(rows[o.name].marks[i].infinite) for o in origins])
          for i, rule in enumerate(results.rules)),
        (Head("repairs", "text"), [Cell(_repairs(o)) for o in origins]),
    ]  # fmt: skip
    return grid("faults", "What was odd in each file, and how often", columns)


def sentences(results: Results, exhibits: Sequence[Exhibit], shown: Shown) -> list[Sentence]:
    """What was wrong in words: the first invalid list of each predictor, and who had no fault at all."""
    found = [
        sentence(
            shown[e.name], ": the first invalid list is ", plain(visible(e.invalid).strip().rstrip("."), _WORDS), "."
        )
        for e in exhibits
        if e.invalid
    ]
    rows = {row.name: row for row in results.overall.standings}
    clean: list[Words] = [
        shown[o.name]
        for o in results.origins
        if o.name in rows and not (o.filled or o.left_out or any(o.repairs.values()) or _odd(results, o.name))
    ]
    if len(clean) == len(rows):
        return [*found, sentence("Nothing was wrong in any file.")]
    return [*found, sentence("Nothing was wrong with ", listed(clean), ".")] if clean else found


def _odd(results: Results, who: str) -> bool:
    row = next(row for row in results.overall.standings if row.name == who)
    return bool(row.missing or row.invalid or any(mark.infinite for mark in row.marks))


def _repairs(origin: Origin) -> str:
    done = [f"{plain(repair, 40)} ({cases(n)})" for repair, n in origin.repairs.items() if n]
    return str(listed(done)) if done else NOTHING
