"""Every pair as a row of a table."""

from __future__ import annotations

import math

from toplist.ranking.results import Results
from toplist.ranking.verdicts import Verdict, verdicts
from toplist.report.numbers import small
from toplist.report.page.grids import Cell, Column, Grid, Head, counted, estimated, grid, named
from toplist.report.page.sureness import Shown
from toplist.report.page.wording import Words, kind, sentence


def pairs(results: Results, shown: Shown) -> Grid:
    """All pairs under all rules, with the verdict in words."""
    found = [v for rule in results.rules for v in verdicts(results, rule)]
    unit = results.unit
    differences: list[Cell] = []
    for rule in results.rules:
        differences += estimated([v.pair.difference for v in found if v.pair.rule == rule], signed=True)
    columns: list[Column] = [
        (Head("first", "name"), [named(shown[v.pair.a]) for v in found]),
        (Head("second", "name"), [named(shown[v.pair.b]) for v in found]),
        (Head("difference", means="mean score of the first minus that of the second: below zero, the first is better"),
         differences),
        (Head("adjusted p", means="by Holm's method over all tested pairs under the rule"),
         [Cell(small(v.pair.adjusted), value=v.pair.adjusted) for v in found]),
        (Head("verdict", "text"), [Cell(verdict(v, shown)) for v in found]),
        (Head(f"more {unit}s", means=f"further {unit}s that would tell the two apart 4 times in 5, if difference and "
              "spread stay as they are; 0: told apart already, looked at alone"),
         [counted(v.pair.more) for v in found]),
    ]  # fmt: skip
    if len(results.rules) > 1:
        columns.insert(0, (Head("rule", "text"), [Cell(kind(v.pair.rule, 30)) for v in found]))
    if len({v.pair.cases for v in found}) > 1:
        columns.insert(-3, (Head("cases"), [counted(v.pair.cases) for v in found]))
    return grid("pairs", "Every pair of predictors", columns)


def verdict(v: Verdict, shown: Shown) -> Words:
    """The verdict in a few words."""
    if v.sure and v.better is not None:
        return sentence(shown[v.better], " is better")
    if v.kind == "infinite":
        both = math.isnan(v.pair.difference.value) or v.better is None
        return "infinite scores on both sides" if both else sentence(shown[v.worse or ""], " has infinite scores")
    return "not tested" if v.kind == "untested" else "not sure"
