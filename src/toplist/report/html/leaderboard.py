"""Leaderboards as tables: over all cases, and for every group.

Every pair as a row of a table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from toplist.inference.ranking import PairwiseVerdict, verdicts
from toplist.inference.results import Comparison, Group, ModelRow
from toplist.report.html.grid import Cell, Column, Grid, Head, counted, estimated, grid, named, number, shared
from toplist.report.numbers import decimals, small, value_of
from toplist.report.statements import at_once, lead, lead_in_losses, stars
from toplist.report.tables import alike, leaders, marked, rank_intervals, shown_metrics
from toplist.report.text import Shown, Words, count, kind, name, names, number_of, percent, scores, sentence
from toplist.scoring.case_scores import METRICS, Metric

_RULE = 30  # characters of a rule's name in a head


def leaderboard(results: Comparison, shown: Shown) -> Grid:
    """Who came where."""
    rows = results.overall.rows
    firsts = [row.scores[results.rules[0]] for row in rows]
    columns = [_ranks(results, rows, "#"), _models(rows, shown)]
    if len({row.cases for row in rows}) > 1:
        means = "they differ: scores and accuracy are over each model's own cases"
        columns.append((Head("cases", means=means), [counted(row.cases) for row in rows]))
    columns += _relative(results, rows)
    for i, rule in enumerate(results.rules):
        columns.append(_scores(rows, rule))
        if not i:
            columns += _difference(results, results.overall, _shared(results))
    if results.missing != "pairwise" and any(score.skill is not None for score in firsts):
        means = "1 minus the mean score over that of the empty list; 1 is perfect, 0 is no better"
        columns.append((Head("skill", means=means), estimated([score.skill for score in firsts], digits=3)))
    if results.baseline is not None:
        means = "the same against the baseline, on the cases of both"
        versus = name(results.baseline, 16)
        cells = estimated([score.baseline_skill for score in firsts], digits=3)
        columns.append((Head(f"skill vs {versus}", means=means), cells))
    columns.append(_metric(METRICS[0], rows))
    columns += _chosen(results)
    caption = f"Leaderboard, with {percent(results.level)} intervals below the means"
    if len(rows) > 1:
        caption += "; in bold: models that no other one is significantly better than"
    return grid("leaderboard", caption, columns, leaders=leaders(results.overall))


def known(results: Comparison, shown: Shown) -> Grid:
    """What people know beside what is proper, and what the lists are like."""
    rows = results.overall.rows
    same, invalid = alike(results), any(row.invalid for row in rows)
    metrics = [one for one in shown_metrics(results) if one.k != 1 and (invalid or one.name != "invalid_rate")]
    told = ", ".join(f"{one.heading} {same[one.heading]}" for one in metrics if one.heading in same)
    columns = [(Head("#"), [counted(row.rank) for row in rows]), _models(rows, shown)]
    columns += (_metric(one, rows) for one in metrics if one.heading not in same)
    if invalid:
        firsts = [row.scores[results.rules[0]] for row in rows]
        digits = decimals(score.mean for score in firsts)
        means = f"mean {kind(results.rules[0], _RULE)} score without the penalty for invalid lists"
        columns.append((Head("unpenalised", means=means), [number(score.unpenalised, digits) for score in firsts]))
    for rule in results.rules:
        own = [row.scores[rule] for row in rows]
        if any(score.infinite for score in own):
            digits = decimals(score.mean for score in own)
            head = Head(f"finite {kind(rule, _RULE)}", means="mean over the scores that are finite, a diagnostic only")
            columns.append((head, [number(score.finite, digits) for score in own]))
    caption = f"Accuracy and its kin, and what the lists are like{'; the same for all: ' if told else ''}{told}"
    return grid("known", caption, columns, leaders=leaders(results.overall))


def groups(results: Comparison, shown: Shown) -> Grid:
    """Every model in every group."""
    label = name(results.group or "group", 24)
    called = names(section.group or "" for section in results.groups)
    pairs = [(section, row) for section in results.groups for row in section.rows]
    rows = [row for _, row in pairs]
    columns: list[Column] = [
        (Head(label, "name"), [named(called[section.group or ""]) for section, _ in pairs]),
        (Head("model", "text"), [named(shown[row.name]) for row in rows]),
        _ranks(results, rows, "rank"),
        (Head("cases"), [counted(row.cases) for row in rows]),
        *_relative(results, rows),
        _scores(rows, results.rules[0]),
        *_group_differences(results),
        *(_scores(rows, rule, brief=True) for rule in results.rules[1:]),
        _metric(METRICS[0], rows),
    ]
    return grid("group-scores", f"Every model in every group, by {label}", columns)


def _models(rows: Sequence[ModelRow], shown: Shown) -> Column:
    return Head("model", "name"), [named(shown[row.name]) for row in rows]


def _metric(metric: Metric, rows: Sequence[ModelRow]) -> Column:
    values = [value_of(row.metrics.get(metric.name)) for row in rows]
    cells = [shared(x) if metric.style == "share" else number(x, 2) for x in values]
    return Head(metric.heading, means=metric.meaning), cells


def _scores(rows: Sequence[ModelRow], rule: str, *, brief: bool = False) -> Column:
    """Means with their intervals, or briefly without; an infinite one with the number of scores that made it so."""
    own = [row.scores[rule] for row in rows]
    cells = [number(score.mean.value, 3) for score in own] if brief else estimated([score.mean for score in own])
    cells = [
        replace(cell, below=f"{count(score.infinite)} infinite") if score.infinite else cell
        for cell, score in zip(cells, own, strict=True)
    ]
    return Head(kind(rule, _RULE)), cells


def _relative(results: Comparison, rows: Sequence[ModelRow]) -> list[Column]:
    if results.missing != "pairwise":
        return []
    means = (
        "decides the order; geometric mean of the ratios of mean scores to all models, on the cases of both; "
        "below 1 is better"
    )
    own = [row.scores[results.rules[0]] for row in rows]
    effects = (
        "mean over all cases by two-way fixed effects; assumes that models differ by the same amount on every case"
    )
    return [
        (Head("relative", means=means), estimated([score.relative for score in own], digits=3)),
        (Head("adjusted", means=effects), estimated([score.adjusted for score in own])),
    ]


def _shared(results: Comparison) -> Mapping[str, int]:
    """How many cases each has in common with the leader, where that is not the same for all."""
    leader = results.overall.rows[0].name
    own = [pair for pair in results.pairs if pair.rule == results.rules[0] and leader in (pair.a, pair.b)]
    found = {pair.b if pair.a == leader else pair.a: pair.cases for pair in own}
    return found if len({row.cases for row in results.overall.rows}) > 1 else {}


def _difference(results: Comparison, section: Group, common: Mapping[str, int] | None = None) -> list[Column]:
    found = [row.scores[results.rules[0]] for row in section.rows]
    if not any(score.difference for score in found):
        return []
    means = (
        f"mean difference to the leader, case by case{at_once(results, section, results.rules[0])}; {stars(results)}"
    )
    cells = estimated([score.difference for score in found], signed=True, marked=marked(results, found))
    if common:
        means += "; below it, the cases of both"
        cells = [
            replace(cell, also=number_of(common[row.name], "case")) if row.name in common else cell
            for row, cell in zip(section.rows, cells, strict=True)
        ]
    return [(Head("difference", means=means), cells)]


def _group_differences(results: Comparison) -> list[Column]:
    """The differences in all groups, with the same digits."""
    every = replace(results.groups[0], rows=tuple(row for section in results.groups for row in section.rows))
    return _difference(results, every)


def _ranks(results: Comparison, rows: Sequence[ModelRow], head: str) -> Column:
    """Ranks, with their intervals below."""
    cells = [counted(row.rank) for row in rows]
    if not any(row.rank_interval for row in rows):
        return Head(head), cells
    means = (
        "below it, the rank interval: 1 plus the number of models that are significantly better, to the number of "
        f"models less those that are significantly worse; at {percent(results.level)} all true ranks are in their "
        "intervals at once"
    )
    return Head(head, means=means), [
        replace(cell, below=text) for cell, text in zip(cells, rank_intervals(rows), strict=True)
    ]


def _chosen(results: Comparison) -> list[Column]:
    """The p values of the confidence set."""
    found = results.confidence_set
    if found is None or not found.p:
        return []
    means = (
        f"least adjusted p of a pair in which the other model is better under {scores(found.rule)}, 1 where there is "
        f"none; with more than {1 - found.level:.6g} a model is in the confidence set of the best"
    )
    ps = [found.p.get(row.name) for row in results.overall.rows]
    return [(Head("set p", means=means), [Cell(small(p), value=p) for p in ps])]


def pairs(results: Comparison, shown: Shown) -> Grid:
    """All pairs under all rules, with the verdict in words."""
    found = [v for rule in results.rules for v in verdicts(results, rule)]
    unit = results.unit
    differences: list[Cell] = []
    for rule in results.rules:
        own = [v for v in found if v.pair.rule == rule]
        marks = [v.significant for v in own]
        differences += estimated([v.pair.simultaneous for v in own], signed=True, marked=marks)
    means = (
        "mean score of the first minus that of the second: below zero, the first is better"
        f"{at_once(results, results.overall, results.rules[0])}; {stars(results)}"
    )
    columns: list[Column] = [
        (Head("first", "name"), [named(shown[v.pair.a]) for v in found]),
        (Head("second", "name"), [named(shown[v.pair.b]) for v in found]),
        (Head("difference", means=means), differences),
        (Head("adjusted p", means="by Holm's method over all tested pairs under the rule"),
         [Cell(small(v.pair.adjusted_p), value=v.pair.adjusted_p) for v in found]),
        (Head("verdict", "text"), [Cell(verdict(v, shown)) for v in found]),
        (Head(f"extra {unit}s", means=f"with so many more {unit}s the difference would be significant 4 times in 5, if "
              "the true difference and spread are the observed ones; 0 where it is significant"),
         [counted(v.pair.extra_units) for v in found]),
    ]  # fmt: skip
    if len(results.rules) > 1:
        columns.insert(0, (Head("rule", "text"), [Cell(kind(v.pair.rule, 30)) for v in found]))
    if len({v.pair.cases for v in found}) > 1:
        columns.insert(-3, (Head("cases"), [counted(v.pair.cases) for v in found]))
    return grid("pairs", "Every pair of models", columns)


def verdict(v: PairwiseVerdict, shown: Shown) -> Words:
    """The verdict in a few words."""
    if v.significant and v.better is not None:
        said = sentence(shown[v.better], " is significantly better")
        return sentence(said, "; the ", *lead_in_losses(v, shown)) if lead(v) else said
    if v.kind == "infinite":
        both = math.isnan(v.pair.difference.value) or v.better is None
        return "infinite scores on both sides" if both else sentence(shown[v.worse or ""], " has infinite scores")
    return "not tested" if v.kind == "untested" else "no significant difference"
