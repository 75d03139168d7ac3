"""Leaderboards as tables: over all cases, and for every group.

Every pair as a row of a table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from toplist.inference.pairwise import PairwiseVerdict, verdicts
from toplist.inference.results import Comparison, Group, ModelRow
from toplist.report.html.grid import Cell, Column, Grid, Head, counted, estimated, grid, named, number, shared
from toplist.report.numbers import decimals, small
from toplist.report.tables import alike
from toplist.report.text import Shown, Words, count, kind, name, names, number_of, percent, scores, sentence

_RULE = 30  # characters of a rule's name in a head


def leaderboard(results: Comparison, shown: Shown) -> Grid:
    """Who came where."""
    rows = results.overall.standings
    firsts = [row.marks[0] for row in rows]
    columns = [*_places(rows, shown)]
    if len({row.cases for row in rows}) > 1:
        means = "they differ: scores, skill and accuracy are over each model's own cases"
        columns.append((Head("cases", means=means), [counted(row.cases) for row in rows]))
    columns += _relative(results, rows)
    for i, rule in enumerate(results.rules):
        columns.append(_scores(rows, i, rule))
        if not i:
            columns += _behind(rows, _shared(results))
    if any(mark.skill is not None for mark in firsts):
        means = "1 minus the mean score over that of the list that says nothing; 1 is perfect, 0 is no better"
        columns.append((Head("skill", means=means), estimated([mark.skill for mark in firsts], digits=3)))
    if results.reference is not None:
        means = "the same against the reference, on the cases of both"
        versus = name(results.reference, 16)
        cells = estimated([mark.reference_skill for mark in firsts], digits=3)
        columns.append((Head(f"skill vs {versus}", means=means), cells))
    columns.append((Head("accuracy"), [shared(row.accuracy) for row in rows]))
    columns += _chosen(results)
    caption = f"Leaderboard, with {percent(results.level)} intervals below the means"
    return grid("leaderboard", caption, columns, leaders=_leaders(results.overall))


def known(results: Comparison, shown: Shown) -> Grid:
    """What people know beside what is proper, and what the lists are like."""
    rows = results.overall.standings
    same = alike(results)
    most = int(results.classes) if results.classes.isdecimal() else None
    sizes = [k for k in sorted({k for row in rows for k in row.top_k_error if k > 1}) if most is None or k < most]
    listed = "how often what happened is listed"
    columns = [
        *_places(rows, shown),
        (
            Head("accuracy", means="how often the most confident class is what happened"),
            [shared(r.accuracy) for r in rows],
        ),
    ]
    kept: dict[str, Column] = {
        **{f"top-{k} error": (Head(f"top-{k} error"), [shared(row.top_k_error.get(k)) for row in rows]) for k in sizes},
        "coverage": (Head("coverage", means=listed), [shared(row.coverage) for row in rows]),
        "mean k": (Head("mean length"), [number(row.mean_size, 2) for row in rows]),
        "mean mass": (Head("mean mass", means="the confidence that is listed"), [shared(r.mean_mass) for r in rows]),
    }
    columns += [column for name_, column in kept.items() if name_ not in same]
    if any(row.invalid for row in rows):
        digits = decimals(row.marks[0].score for row in rows)
        means = f"mean {kind(results.rules[0], _RULE)} score without the penalty for invalid lists"
        columns += [
            (Head("invalid"), [shared(row.invalid_rate) for row in rows]),
            (Head("unpenalised", means=means), [number(row.marks[0].unpenalised, digits) for row in rows]),
        ]
    for i, rule in enumerate(results.rules):
        if any(row.marks[i].infinite for row in rows):
            digits = decimals(row.marks[i].score for row in rows)
            head = Head(f"finite {kind(rule, _RULE)}", means="mean over the scores that are finite, a diagnostic only")
            columns.append((head, [number(row.marks[i].finite, digits) for row in rows]))
    told = ", ".join(f"{name_} {value}" for name_, value in same.items() if name_ in kept)
    caption = f"Accuracy and its kin, and what the lists are like{'; the same for all: ' if told else ''}{told}"
    return grid("known", caption, columns, leaders=_leaders(results.overall))


def groups(results: Comparison, shown: Shown) -> Grid:
    """Every model in every group."""
    label = name(results.by or "group", 24)
    called = names(section.group or "" for section in results.groups)
    pairs = [(section, row) for section in results.groups for row in section.standings]
    rows = [row for _, row in pairs]
    columns: list[Column] = [
        (Head(label, "name"), [named(called[section.group or ""]) for section, _ in pairs]),
        (Head("model", "text"), [named(shown[row.name]) for row in rows]),
        (Head("rank"), [counted(row.rank) for row in rows]),
        (Head("cases"), [counted(row.cases) for row in rows]),
        *_relative(results, rows),
        _scores(rows, 0, results.rules[0]),
        *_behind(rows),
        *(_scores(rows, i, rule, brief=True) for i, rule in enumerate(results.rules) if i),
        (Head("accuracy"), [shared(row.accuracy) for row in rows]),
    ]
    return grid("group-scores", f"Every model in every group, by {label}", columns)


def _places(rows: Sequence[ModelRow], shown: Shown) -> list[Column]:
    return [
        (Head("#"), [counted(row.rank) for row in rows]),
        (Head("model", "name"), [named(shown[row.name]) for row in rows]),
    ]


def _scores(rows: Sequence[ModelRow], i: int, rule: str, *, brief: bool = False) -> Column:
    """Means with their intervals, or briefly without; an infinite one with the number of scores that made it so."""
    marks = [row.marks[i] for row in rows]
    cells = estimated([mark.score for mark in marks])
    if brief:
        cells = [number(mark.score.value, 3) for mark in marks]
    cells = [
        replace(cell, below=f"{count(mark.infinite)} infinite") if mark.infinite else cell
        for cell, mark in zip(cells, marks, strict=True)
    ]
    return Head(kind(rule, _RULE)), cells


def _relative(results: Comparison, rows: Sequence[ModelRow]) -> list[Column]:
    if results.missing != "pairwise":
        return []
    means = (
        "decides the order; geometric mean of the ratios of mean scores to all models, on the cases of both; "
        "below 1 is better"
    )
    return [(Head("relative", means=means), estimated([row.marks[0].relative for row in rows], digits=3))]


def _shared(results: Comparison) -> Mapping[str, int]:
    """How many cases each has in common with the leader, where that is not the same for all."""
    leader = results.overall.standings[0].name
    own = [pair for pair in results.pairs if pair.rule == results.rules[0] and leader in (pair.a, pair.b)]
    found = {pair.b if pair.a == leader else pair.a: pair.cases for pair in own}
    return found if len({row.cases for row in results.overall.standings}) > 1 else {}


def _behind(rows: Sequence[ModelRow], common: Mapping[str, int] | None = None) -> list[Column]:
    behind = [row.marks[0].behind for row in rows]
    if not any(behind):
        return []
    means = "mean difference to the leader, case by case; * marks an interval without zero"
    cells = estimated(behind, signed=True, star=True)
    if common:
        means += "; below it, the cases of both"
        cells = [
            replace(cell, also=number_of(common[row.name], "case")) if row.name in common else cell
            for row, cell in zip(rows, cells, strict=True)
        ]
    return [(Head("behind", means=means), cells)]


def _chosen(results: Comparison) -> list[Column]:
    """The p values of the confidence set."""
    found = results.confidence_set
    if found is None or not found.p:
        return []
    means = (
        f"p value in the confidence set of the best under {scores(found.rule)}; with more than "
        f"{1 - found.level:.6g} a model is in it"
    )
    ps = [found.p.get(row.name) for row in results.overall.standings]
    return [(Head("set p", means=means), [Cell(small(p), value=p) for p in ps])]


def _leaders(section: Group) -> frozenset[int]:
    return frozenset(i for i, row in enumerate(section.standings) if row.rank == 1)


def pairs(results: Comparison, shown: Shown) -> Grid:
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
    return grid("pairs", "Every pair of models", columns)


def verdict(v: PairwiseVerdict, shown: Shown) -> Words:
    """The verdict in a few words."""
    if v.sure and v.better is not None:
        return sentence(shown[v.better], " is better")
    if v.kind == "infinite":
        both = math.isnan(v.pair.difference.value) or v.better is None
        return "infinite scores on both sides" if both else sentence(shown[v.worse or ""], " has infinite scores")
    return "not tested" if v.kind == "untested" else "not sure"
