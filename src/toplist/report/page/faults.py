"""What was wrong in each file, and what was done about it."""

from __future__ import annotations

from collections.abc import Sequence

from toplist.evidence.findings import Exhibit
from toplist.ranking.results import Origin, Results
from toplist.report.notes import repaired
from toplist.report.numbers import NOTHING
from toplist.report.page.grids import Cell, Column, Grid, Head, grid, named, odd
from toplist.report.page.sureness import Shown
from toplist.report.page.wording import Sentence, Words, kind, listed, sentence
from toplist.words.counts import number_of
from toplist.words.names import plain, visible

_WORDS = 400  # characters of what is said of an invalid list


def faults(results: Results, shown: Shown) -> Grid | None:
    """Counts of what was odd: a row for each predictor that has any, a column for each thing that occurs."""
    rows = {row.name: row for row in results.overall.standings}
    origins = [o for o in results.origins if o.name in rows and not _clean(results, o)]
    columns: list[Column] = [
        (Head("predictor", "name"), [named(shown[o.name]) for o in origins]),
        (Head("missing", means="cases of the truth without a prediction"),
         [odd(rows[o.name].missing) for o in origins]),
        (Head("filled", means="missing predictions taken as empty lists"), [odd(o.filled) for o in origins]),
        (Head("left out", means="cases that were not compared"), [odd(o.left_out) for o in origins]),
        (Head("invalid lists"), [odd(rows[o.name].invalid) for o in origins]),
        *((Head(f"infinite {kind(rule, 30)}"), [odd(rows[o.name].marks[i].infinite) for o in origins])
          for i, rule in enumerate(results.rules)),
        (Head("repairs", "text"), [Cell(_repairs(o)) for o in origins]),
    ]  # fmt: skip
    kept = [(head, cells) for head, cells in columns if head.row or any(_tells(cell) for cell in cells)]
    return grid("faults", "What was odd, and how often", kept) if origins else None


def _tells(cell: Cell) -> bool:
    return bool(cell.value) if cell.value is not None else cell.text != NOTHING


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
    clean: list[Words] = [shown[o.name] for o in results.origins if o.name in rows and _clean(results, o)]
    if len(clean) == len(rows):
        return [*found, sentence("Nothing was wrong in any file.")]
    return [*found, sentence("Nothing was wrong with ", listed(clean), ".")] if clean else found


def _clean(results: Results, origin: Origin) -> bool:
    row = next(row for row in results.overall.standings if row.name == origin.name)
    odd_lists = row.missing or row.invalid or any(mark.infinite for mark in row.marks)
    return not (odd_lists or origin.filled or origin.left_out or repaired(origin))


def _repairs(origin: Origin) -> str:
    done = [f"{plain(repair, 40)} ({number_of(n, 'case')})" for repair, n in repaired(origin).items()]
    return str(listed(done)) if done else NOTHING
