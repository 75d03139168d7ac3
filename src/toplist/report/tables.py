"""Results as tables of text, before anything is drawn: the leaderboard, groups side by side, and every number.

A table is as wide as its columns; `split` makes several of one that is wider than a page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from toplist._text import NOTHING, fixed, visible
from toplist.inference.ranking import judge, metrics_of, significant, verdicts
from toplist.inference.results import Comparison, Estimate, Group, ModelRow, Pair, RuleScore, SourceSummary
from toplist.report import statements
from toplist.report.path_statements import paths_table
from toplist.report.statements import FAR_LEAD, at_once, groups_and_all, stars
from toplist.report.text import (
    LIMIT,
    MOST_DECIMALS,
    Called,
    Column,
    Shown,
    TextTable,
    cells,
    count,
    decimals,
    kind,
    listed,
    names,
    number_of,
    percent,
    plain,
    share,
    shorten,
    small,
    spans,
    stripped,
    value_of,
    whole_range,
)
from toplist.scoring.case_scores import Metric

RULE = 30  # characters of a rule's name in a header
BASELINE = 16
GROUP = 12  # characters of a group's name in a header
STAR, DAGGER = "*", "\u2020"  # significantly worse than the first, and better on the cases of both
GAP = 2  # cells between columns
_NAME = 16  # cells that names keep where a table is split
_WIDE, _WIDER, _WIDEST = 100, 140, 200  # columns of a terminal

Filled = tuple[Column, list[str]]


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence below a table: a sign, a start, items of which some may be left out, and an end."""

    sign: str  # * and † what these mark, = pairs without a significant difference, ! what may mislead
    start: str
    items: tuple[str, ...] = ()
    end: str = ""
    lines: int = 1  # at most, where there are items to leave out
    noun: str = "model"  # what the items are
    nouns: str = ""  # its plural, where that is not made with an s
    between: str = ", "

    def text(self, most: int | None = None) -> str:
        """The sentence, with so many of its items."""
        some = self.items[:most]
        left = len(self.items) - len(some)
        if left and not some:
            return f"{self.start}{number_of(left, self.noun, self.nouns)}"
        return f"{self.start}{self.between.join(some)}{f' and {count(left)} more' if left else ''}{self.end}"


# The leaderboard, its notes, and groups side by side


def leaderboard(results: Comparison) -> TextTable:
    """All columns over all cases, with the notes as sentences."""
    shown = called(results)
    order = "relative " if results.missing == "pairwise" else ""
    title = f"Leaderboard by {order}{kind(results.rules[0])} score"
    said = [str(statements.setting(results)), *map(_sentence, notes(results, shown)), *same_for_all(results)]
    main = made(title, results.overall, columns(results, shown))
    return replace(main, notes=tuple(said), warnings=warnings(results, shown))


def _sentence(note: Note) -> str:
    text = note.text()
    return f"{note.sign} {text}." if note.sign in (STAR, DAGGER) else f"{text[:1].upper()}{text[1:]}."


def warnings(results: Comparison, shown: Shown) -> tuple[str, ...]:
    """Why the board may not be right, a sentence each."""
    return tuple(f"Warning: {one}" for one in statements.doubts(results, shown))


def called(results: Comparison, limit: int | None = None) -> Shown:
    """How models are called: by short names, or by names that are no longer than the limit."""
    who = [row.name for row in results.overall.rows]
    return Called(names(who) if limit is None else names(who, limit, min(limit, LIMIT)))


def made(title: str, section: Group, filled: list[Filled]) -> TextTable:
    """Columns side by side."""
    return TextTable(
        title,
        tuple(column for column, _ in filled),
        tuple(zip(*(found for _, found in filled), strict=True)),
        leaders=frozenset(i for i, row in enumerate(section.rows) if row.rank == 1),
    )


def leaders(results: Comparison) -> frozenset[int]:
    """The rows of ranked models that no other one is significantly better than."""
    ranked = {row.name: i for i, row in enumerate(results.overall.rows) if row.rank is not None}
    found = [v for v in verdicts(results, results.rules[0]) if v.significant and {v.better, v.worse} <= {*ranked}]
    return frozenset(ranked.values()) - {ranked[v.worse or ""] for v in found}


def marked(results: Comparison, scores: Iterable[RuleScore]) -> list[bool]:
    """Which models are significantly worse than the leader."""
    return [sign == STAR for sign in signs(results, scores)]


def signs(results: Comparison, scores: Iterable[RuleScore]) -> list[str]:
    """A star for models that are significantly worse than the leader, a dagger for those that are better.

    One that is better stands below the leader where it has other cases, or too few for a rank.
    """
    return [
        ""
        if score.difference is None or not significant(score.difference, score.adjusted_p, results.level)
        else STAR
        if score.difference.value > 0
        else DAGGER
        for score in scores
    ]


def rank_intervals(rows: Iterable[ModelRow]) -> list[str]:
    """What is known of the true ranks."""
    return [NOTHING if row.rank_interval is None else whole_range(*row.rank_interval) for row in rows]


def shown_metrics(results: Comparison) -> list[Metric]:
    """The metrics that say something: of no more classes than k, all are among the first k; accuracy is no error."""
    most = int(results.classes) if results.classes.isdecimal() else None
    return [one for one in metrics_of(results) if one.k is None or (one.k > 1 and (most is None or one.k < most))]


def metric_cell(metric: Metric, row: ModelRow) -> str:
    """What a row says under a metric."""
    value = value_of(row.metrics.get(metric.name))
    return share(value) if metric.style == "share" else fixed(value, 2)


def alike(results: Comparison) -> dict[str, str]:
    """The columns that say the same of several models everywhere, with what they say; accuracy is always shown."""
    rows = [row for s in groups_and_all(results) for row in s.rows]
    if len(results.overall.rows) < 2:
        return {}
    found = {one.heading: {metric_cell(one, row) for row in rows} for one in shown_metrics(results)[1:]}
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1}


def same_for_all(results: Comparison) -> tuple[str, ...]:
    """What all models have in common, said once instead of in columns; that no list is invalid goes without saying."""
    same = {name: value for name, value in alike(results).items() if name != "invalid" or value != share(0.0)}
    said = listed(f"{name} {value}" for name, value in same.items())
    return (f"The same for all: {said}.",) if same else ()


def columns(results: Comparison, shown: Shown) -> list[Filled]:
    """All columns of the leaderboard, with the width of a terminal from which on it has them."""
    rows, first = results.overall.rows, results.rules[0]
    firsts = [row.scores[first] for row in rows]
    found: list[Filled] = [
        (Column("#", essential=True), [NOTHING if row.rank is None else count(row.rank) for row in rows]),
        (Column("model", "left", essential=True, heading=True), [str(shown[row.name]) for row in rows]),
    ]
    if results.missing == "pairwise" or len({row.cases for row in rows}) > 1:
        found.append((Column("cases"), [count(row.cases) for row in rows]))
    if results.missing == "pairwise":
        relative = Column("relative", essential=True, note=_RELATIVE)
        found.append((relative, _values([score.relative for score in firsts])))
        found.append((Column("adjusted", note=_ADJUSTED, least=_WIDEST), _values([score.adjusted for score in firsts])))
    for i, rule in enumerate(results.rules):
        own = [row.scores[rule] for row in rows]
        head, level = kind(rule, RULE), percent(results.level)
        found.append((Column(head, essential=not i), _values([score.mean for score in own])))
        means = [score.mean for score in own]
        found.append(
            (Column(f"{level} CI" if not i else f"{head} {level} CI", least=_WIDEST if i else _WIDE), _ends(means))
        )
        if not i:
            found += _differences(results, firsts)
    found += _rank_columns(results, rows)
    found += _metrics(results, rows)
    found += _answer_mass(results, rows)
    found += _skills(results, firsts)
    found += _faults(results, rows)
    return [(column, own) for column, own in found if column.essential or set(own) - {NOTHING}]


_RELATIVE = (
    "relative decides the order: the geometric mean of the ratios of mean scores to all models, itself included, on "
    "the cases of both; below 1 is better."
)
_ADJUSTED = (
    "adjusted is the mean over all cases by two-way fixed effects, which assumes that models differ by the same amount "
    "on every case."
)
_SKILL = "skill is the improvement over the uniform prediction: 1 is perfect, 0 is no improvement."


def _rank_columns(results: Comparison, rows: Sequence[ModelRow]) -> list[Filled]:
    """The rank intervals of several models, where there are any."""
    if len(rows) < 2 or not any(row.rank_interval for row in rows):
        return []
    note = (
        "ranks is the rank interval: 1 plus the number of models that are significantly better, to the number of "
        f"models less those that are significantly worse; at {percent(results.level)} all true ranks are in their "
        "intervals at once."
    )
    return [(Column("ranks", note=note, least=_WIDE), rank_intervals(rows))]


def _values(estimates: Sequence[Estimate | None]) -> list[str]:
    digits = decimals(estimates)
    return [fixed(value_of(one), digits) for one in estimates]


def _ends(estimates: Sequence[Estimate | None], *, signed: bool = False) -> list[str]:
    """Intervals, with the digits of their values."""
    digits = decimals(estimates)
    below = signed or any(e is not None and e.low is not None and e.low < 0 for e in estimates)
    return [
        NOTHING
        if e is None or e.low is None or e.high is None
        else (" to " if below else "\u2013").join(fixed(x, digits, signed=signed) for x in (e.low, e.high))
        for e in estimates
    ]


def _differences(results: Comparison, firsts: Sequence[RuleScore]) -> list[Filled]:
    """The difference to the best, with a star where it is significant."""
    away = [score.difference for score in firsts]
    if not any(one is not None for one in away):
        return []
    marks, digits = signs(results, firsts), decimals(away)
    ends = [f" {mark or ' '}" if any(marks) else "" for mark in marks]
    held = at_once(results, results.overall, results.rules[0])
    note = f"\u0394 best is the mean difference to the best model, case by case{held}; {_signs(results, marks)}."
    cells = [fixed(value_of(one), digits, signed=True) + end for one, end in zip(away, ends, strict=True)]
    level = percent(results.level)
    return [
        (Column("\u0394 best", essential=True, note=note), cells),
        (Column(f"\u0394 {level} CI", least=_WIDEST), _ends(away, signed=True)),
        (Column("adjusted p", least=_WIDEST), [small(score.adjusted_p) for score in firsts]),
    ]


def _signs(results: Comparison, marks: Sequence[str]) -> str:
    """What the signs beside differences mean."""
    return f"{stars(results)}{f', {DAGGER} those that are {BETTER}' if DAGGER in marks else ''}"


BETTER = "significantly better than the first on the cases of both"


def _metrics(results: Comparison, rows: Sequence[ModelRow]) -> list[Filled]:
    same = alike(results)
    kept = [one for one in shown_metrics(results) if one.heading not in same]
    last = ("mean_mass", "invalid_rate")
    return [
        (
            Column(one.heading, least=0 if not i else _WIDEST if one.name in last else _WIDER),
            [metric_cell(one, row) for row in rows],
        )
        for i, one in enumerate(kept)
    ]


ANSWER_MASS = "mean probability on declared answers, over the cases of the file"


def answer_masses(results: Comparison, rows: Sequence[ModelRow]) -> list[float | None]:
    """The mean probability on declared answers of each model; none at all where no model has any."""
    known = {one.name: one.answer_mass for one in results.sources}
    found = [known.get(row.name) for row in rows]
    return found if any(one is not None for one in found) else []


def _answer_mass(results: Comparison, rows: Sequence[ModelRow]) -> list[Filled]:
    found = answer_masses(results, rows)
    note = f"answer mass is the {ANSWER_MASS}; the rest is on other tokens."
    return [(Column("answer mass", note=note, least=_WIDE), [share(one) for one in found])] if found else []


def _skills(results: Comparison, firsts: Sequence[RuleScore]) -> list[Filled]:
    found: list[Filled] = []
    if results.baseline is not None:
        header = f"vs {plain(results.baseline, BASELINE)}"
        note = (
            f"{header} is the improvement over {plain(results.baseline)} on the cases of both: 1 is perfect, 0 is none."
        )
        own = [fixed(value_of(score.baseline_skill), 3) for score in firsts]
        found.append((Column(header, note=note, least=_WIDE), own))
    skill = [fixed(value_of(score.skill), 3) for score in firsts]
    return [*found, (Column("skill", note=_SKILL, least=_WIDEST), skill)]


def _faults(results: Comparison, rows: Sequence[ModelRow]) -> list[Filled]:
    """The mean without penalties, and how many scores are infinite."""
    found: list[Filled] = []
    firsts = [row.scores[results.rules[0]] for row in rows]
    if any(row.invalid for row in rows):
        digits = decimals(score.mean for score in firsts)
        note = "unpenalised is the mean without the penalty for invalid lists."
        cells = [fixed(score.unpenalised, digits) for score in firsts]
        found.append((Column("unpenalised", note=note, least=_WIDEST), cells))
    for rule in results.rules:
        if any(row.scores[rule].infinite for row in rows):
            header = "infinite" if len(results.rules) == 1 else f"infinite {kind(rule, RULE)}"
            found.append((Column(header, least=_WIDEST), [count(row.scores[rule].infinite) for row in rows]))
    return found


def notes(results: Comparison, shown: Shown) -> list[Note]:
    """What has to be known to read the leaderboard, the most important first; what did not occur is not said."""
    rows, first = results.overall.rows, results.rules[0]
    found: list[Note] = []
    tested = [pair for pair in results.pairs if pair.rule == first and pair.adjusted_p is not None]
    marks = signs(results, [row.scores[first] for row in rows])
    over = f", Holm-adjusted over all {number_of(len(tested), 'pair')}" if len(tested) > 1 else ""
    said = {STAR: "significantly worse than the best", DAGGER: BETTER}
    found += [Note(sign, f"{text} ({percent(results.level)}{over})") for sign, text in said.items() if sign in marks]
    if any(statements.in_steps(row.scores[first], results.level) for row in rows):
        found.append(Note("", statements.STEPS))
    found += [*_pairs_alike(results, shown), *_infinite(results, shown), *_uncertain(results, shown)]
    found += [*_misranked(results, shown), *_near(results, shown), *_unranked(results, shown)]
    return [*found, *_data(results, shown)]


def _pairs_alike(results: Comparison, shown: Shown) -> list[Note]:
    """Neighbours in the table without a significant difference, and how many other pairs."""
    if len(results.overall.rows) < 3:
        return []
    equal = [v.pair for v in verdicts(results, results.rules[0]) if v.kind == "not significant"]
    order = [row.name for row in results.overall.rows]
    beside = {frozenset(two) for two in pairwise(order)}
    first = [pair for pair in equal if frozenset((pair.a, pair.b)) in beside]
    rest = [pair for pair in equal if frozenset((pair.a, pair.b)) not in beside]
    told = tuple(f"{shown[pair.a]} and {shown[pair.b]} (p {small(pair.adjusted_p)})" for pair in (*first, *rest))
    return [Note("=", "no significant difference: ", told, lines=2, noun="pair")] if told else []


def _infinite(results: Comparison, shown: Shown) -> list[Note]:
    found = []
    for rule in results.rules:
        hit = [row for row in results.overall.rows if row.scores[rule].infinite]
        hit.sort(key=lambda row: -row.scores[rule].infinite)
        if hit:
            same = {row.cases for row in hit}
            of = f" of {number_of(hit[0].cases, 'case')}" if len(same) == 1 else ""
            why = " = probability 0 for the true class" if results.penalty is None else ""
            told = tuple(f"{shown[row.name]} {count(row.scores[rule].infinite)}" for row in hit)
            found.append(Note("!", f"infinite {kind(rule, RULE)} score{why}: ", told, of, lines=2))
    return found


def _uncertain(results: Comparison, shown: Shown) -> list[Note]:
    """Models without an interval under the first rule, for another reason than infinite scores."""
    found: dict[str, list[str]] = {}
    for row in results.overall.rows:
        mean = row.scores[results.rules[0]].mean
        if math.isfinite(mean.value) and mean.low is None and mean.reason:
            found.setdefault(stripped(mean.reason), []).append(row.name)
    if len(found) == 1 and all(len(who) == len(results.overall.rows) for who in found.values()):
        return [Note("!", f"no intervals: {why}") for why in found]
    return [
        Note("!", "no interval for ", tuple(str(shown[one]) for one in who), f": {why}") for why, who in found.items()
    ]


def _misranked(results: Comparison, shown: Shown) -> list[Note]:
    """Pairs whose higher ranked model is significantly worse on the cases of both."""
    found = statements.misranked(results)
    told = tuple(f"{shown[v.worse or '']} than {shown[v.better or '']}" for v in found)
    return [Note("!", "ranked higher, but significantly worse on the cases of both: ", told)] if told else []


def _unranked(results: Comparison, shown: Shown) -> list[Note]:
    few = [row for row in results.overall.rows if row.rank is None]
    if not few or results.min_cases is None:
        return []
    told = tuple(f"{shown[row.name]} ({count(row.cases)})" for row in few)
    return [Note("!", f"not ranked, fewer than {number_of(results.min_cases, 'case')}: ", told)]


def _near(results: Comparison, shown: Shown) -> list[Note]:
    """Significant leads that one more case could undo."""
    near = [v for v in verdicts(results, results.rules[0]) if statements.lead(v) and (v.pair.lead or 0) < 1]
    told = tuple(f"{shown[v.better or '']} over {shown[v.worse or '']}" for v in near)
    return [Note("!", "one more case could reverse the order: ", told)] if told else []


def _data(results: Comparison, shown: Shown) -> list[Note]:
    """What was missing, invalid or repaired, and in how many cases of which model."""
    found: dict[str, list[str]] = {}
    for source in results.sources:
        own = [(_FILLED.get(results.missing, "missing predictions filled in"), source.filled)]
        own += [("cases left out", source.left_out)]
        own += [(f"{plain(what)} (repair)", n) for what, n in statements.repaired(source).items()]
        for what, n in own:
            if n:
                found.setdefault(what, []).append(f"{shown[source.name]} {count(n)}")
    for what, n in results.truth_repairs.items():
        if n:
            found.setdefault(f"{plain(what)} (repair)", []).append(f"the truth {count(n)}")
    pay = "" if results.penalty is None else f" of {results.penalty:g}"
    for row in results.overall.rows:
        if row.invalid:
            found.setdefault(f"invalid lists with a penalty{pay}", []).append(f"{shown[row.name]} {count(row.invalid)}")
    told = tuple(f"{what}: {listed(who, 3)}" for what, who in found.items())
    return (
        [Note("!", "", told, lines=2, noun="remark about the data", nouns="remarks about the data", between="; ")]
        if told
        else []
    )


_FILLED = {
    "uniform": "missing predictions scored as uniform",
    "worst": "missing predictions scored as the worst one of the case",
    "baseline": "missing predictions scored as those of the baseline",
}


def pivot(results: Comparison, shown: Shown, groups: Sequence[Group]) -> TextTable:
    """Mean scores under the first rule by model and group; a star marks those that are worse than the best of it."""
    first, order = results.rules[0], [row.name for row in results.overall.rows]
    heads = names([group.group or "" for group in groups], GROUP, GROUP)
    filled: list[Filled] = [(Column("model", "left", essential=True, heading=True), [str(shown[who]) for who in order])]
    digits = decimals(row.scores[first].mean for group in groups for row in group.rows)
    every: set[str] = set()
    for group in groups:
        marks = dict(
            zip(
                (row.name for row in group.rows),
                signs(results, [row.scores[first] for row in group.rows]),
                strict=True,
            )
        )
        own = {row.name: row.scores[first].mean.value for row in group.rows}
        every.update(marks.values())
        cells = [f"{fixed(own.get(who), min(digits, 4))} {marks.get(who) or ' '}" for who in order]
        filled.append((Column(str(heads[group.group or ""]), below=f"n {count(group.cases)}"), cells))
    title = f"By {plain(results.group or 'group')}: mean {kind(first)} score"
    tested = sum(p.adjusted_p is not None for g in results.groups for p in g.pairs if p.rule == first)
    over = f", Holm-adjusted over all {number_of(tested, 'pair')}" if tested > 1 else ""
    said = {STAR: "significantly worse than the best of the group", DAGGER: f"{BETTER}, in the group"}
    told = [f"{sign} {text} ({percent(results.level)}{over})." for sign, text in said.items() if sign in every]
    return replace(made(title, results.overall, filled), notes=tuple(told))


def telling(results: Comparison, most: int) -> tuple[Group, ...]:
    """The groups that differ most from all cases: where a leader is beaten, and where differences are unusual.

    What is unusual is measured in standard errors: the root of the number of cases times the root mean square of the
    means, less those of the model and of the group.
    """
    if len(results.groups) <= most:
        return results.groups
    first, overall = results.rules[0], {}
    for row in results.overall.rows:
        overall[row.name] = row.scores[results.rules[0]].mean.value
    leader = next(iter(overall), "")

    def unusual(group: Group) -> tuple[bool, float]:
        reversed_ = any(
            judge(pair, results.level).significant and judge(pair, results.level).worse == leader
            for pair in group.pairs
            if pair.rule == first
        )
        away = [row.scores[first].mean.value - overall.get(row.name, math.nan) for row in group.rows]
        away = [x for x in away if math.isfinite(x)]
        if not away:
            return reversed_, 0.0
        middle = math.fsum(away) / len(away)
        return reversed_, math.sqrt(group.cases) * math.hypot(*(x - middle for x in away))

    chosen = sorted(results.groups, key=unusual, reverse=True)[:most]
    return tuple(group for group in results.groups if any(group is one for one in chosen))


# Every number


def details(results: Comparison) -> list[TextTable]:
    """One table per rule and one of the lists, for all cases and for each group; then where the lists came from."""
    shown = called(results, LIMIT)
    found = _section(results, results.overall, shown)
    found[0] = replace(found[0], warnings=warnings(results, shown))
    found[-1] = replace(found[-1], notes=statements.method_notes(results, shown))
    for section in results.groups:
        group = _section(results, section, shown)
        reasons = map(str, statements.missing_intervals(section, shown, detail=True))
        found += [*group[:-1], replace(group[-1], notes=(statements.size(results, section), *reasons))]
    found += [_pairs(results, rule, shown) for rule in results.rules if results.pairs]
    if results.paths:
        found.append(paths_table(results.paths, shown))
    return once([*found, _sources(results.sources)])


def once(tables: Iterable[TextTable]) -> list[TextTable]:
    """The tables, without what was said below an earlier one."""
    said: set[str] = set()
    found = []
    for table in tables:
        columns = tuple(replace(column, note="" if column.note in said else column.note) for column in table.columns)
        found.append(replace(table, columns=columns, notes=tuple(note for note in table.notes if note not in said)))
        said.update(table.sentences)
    return found


def _section(results: Comparison, section: Group, shown: Shown) -> list[TextTable]:
    rows = section.rows
    about = "all cases" if section.group is None else f"{plain(results.group or 'group')}: {plain(section.group)}"
    first: list[Filled] = [
        (Column("#", essential=True), [NOTHING if row.rank is None else count(row.rank) for row in rows]),
        (Column("model", "left", essential=True, heading=True), [str(shown[row.name]) for row in rows]),
    ]
    found = [
        made(f"{about}, {kind(rule, RULE)} score", section, [*first, *_numbers(results, section, rule)])
        for rule in results.rules
    ]
    counts: list[Filled] = [
        (Column("cases"), [count(row.cases) for row in rows]),
        (Column("missing"), [count(row.missing) for row in rows]),
        *_rank_columns(results, rows),
        *((Column(one.heading), [metric_cell(one, row) for row in rows]) for one in shown_metrics(results)),
        (Column("invalid lists"), [count(row.invalid) for row in rows]),
    ]
    return [*found, made(f"{about}, lists", section, [*first, *counts])]


def _numbers(results: Comparison, section: Group, rule: str) -> list[Filled]:
    scores = [row.scores[rule] for row in section.rows]
    away = [score.difference or Estimate(math.nan) for score in scores]
    marks = signs(results, scores)
    note = (
        "\u0394 best is the mean score minus that of the best model, case by case"
        f"{at_once(results, section, rule)}; {_signs(results, marks)}. p is adjusted by Holm's method for these pairs."
    )
    differences = _fixed([e.value for e in away], signed=True)

    def known(header: str, of: Callable[[RuleScore], Estimate | None], note: str = "") -> list[Filled]:
        """A column of estimates, where there are any."""
        own = [of(score) for score in scores]
        return [(Column(header, "left", note=note), spans(own))] if any(e is not None for e in own) else []

    return [
        (Column("mean", essential=True), _fixed([score.mean.value for score in scores])),
        (Column("low"), _fixed([score.mean.low for score in scores])),
        (Column("high"), _fixed([score.mean.high for score in scores])),
        (Column("\u0394 best", note=note), [f"{x} {mark or ' '}" for x, mark in zip(differences, marks, strict=True)]),
        (Column("\u0394 low"), _fixed([e.low for e in away], signed=True)),
        (Column("\u0394 high"), _fixed([e.high for e in away], signed=True)),
        (Column("p"), [small(score.adjusted_p) for score in scores]),
        (Column("unpenalised"), _fixed([score.unpenalised for score in scores])),
        (Column("infinite"), [count(score.infinite) for score in scores]),
        (Column("mean of finite"), _fixed([score.finite for score in scores])),
        *known("skill", lambda score: score.skill, _SKILL),
        *known("vs baseline", lambda score: score.baseline_skill),
        *known("relative", lambda score: score.relative if results.missing == "pairwise" else None, _RELATIVE),
        *known("adjusted", lambda score: score.adjusted, _ADJUSTED),
    ]


def _fixed(values: Sequence[float | None], *, signed: bool = False) -> list[str]:
    return [fixed(x, MOST_DECIMALS, signed=signed) for x in values]


def _pairs(results: Comparison, rule: str, shown: Shown) -> TextTable:
    """Every two models: their difference and its significance."""
    found = [pair for pair in results.pairs if pair.rule == rule]
    note = (
        "difference is the mean score of the first minus that of the second: below zero, the first is better"
        f"{at_once(results, results.overall, rule)}; {stars(results)}. p is adjusted by Holm's method for these pairs. "
        f"So many extra {results.unit}s are needed to find the difference significant with 80% power, if the true "
        "difference and spread are the observed ones."
    )
    columns = (
        Column("first", "left", essential=True, heading=True),
        Column("second", "left", essential=True, heading=True),
        Column("cases"),
        Column("difference", "left", essential=True, note=note),
        Column("p"),
        Column(f"extra {results.unit}s"),
        *([Column("lead", note=_LEAD)] if any(pair.lead is not None for pair in found) else []),
    )
    marks = [judge(pair, results.level).significant for pair in found]
    cells = spans([pair.simultaneous for pair in found], signed=True, marked=marks)
    rows = tuple(
        (
            *(str(shown[pair.a]), str(shown[pair.b]), count(pair.cases), cell),
            small(pair.adjusted_p),
            NOTHING if pair.extra_units is None else count(pair.extra_units),
            *([_lead(pair, mark)] if len(columns) > 6 else []),
        )
        for pair, cell, mark in zip(found, cells, marks, strict=True)
    )
    return TextTable(f"pairs, {kind(rule, RULE)} score", columns, rows)


_LEAD = (
    "lead is what a significant difference adds up to over all cases, in units of the largest loss that one more case "
    "could bring to the better model."
)


def _lead(pair: Pair, marked: bool) -> str:
    if pair.lead is None or not marked:
        return NOTHING
    return f"{pair.lead:.2g}" if pair.lead < FAR_LEAD else f">{FAR_LEAD}"


def _sources(origins: Sequence[SourceSummary]) -> TextTable:
    columns = (
        Column("model", "left", essential=True, heading=True),
        Column("layout", "left"),
        *(Column(header) for header in ("cases", "filled in", "left out")),
    )
    rows = tuple((plain(o.name), plain(o.layout, RULE), *map(count, (o.cases, o.filled, o.left_out))) for o in origins)
    return TextTable("sources", columns, rows, tuple(map(_source, origins)))


def _source(origin: SourceSummary) -> str:
    """The file of a model, how it was read, and what was repaired."""
    repairs = ", ".join(f"{plain(what)} {count(n)}" for what, n in origin.repairs.items())
    told = [plain(origin.source), visible(origin.reading), f"repairs: {repairs}" if repairs else ""]
    return " ".join([f"{plain(origin.name)}: {'; '.join(filter(None, told))}.", *map(visible, origin.notes)])


# Tables that are wider than a page


def widths(table: TextTable) -> list[int]:
    """The cells that each column takes."""
    return [
        max(map(cells, (column.header, column.below, *(row[i] for row in table.rows))))
        for i, column in enumerate(table.columns)
    ]


def split(table: TextTable, width: int, mark: str = "…") -> list[TextTable]:
    """The table in several ones that are no wider than the page: the names in each, the columns in one of them."""
    own = widths(table)
    if sum(own) + GAP * (len(own) - 1) <= width:
        return [table]
    heads = [i for i, column in enumerate(table.columns) if column.heading or column.header == "#"]
    named = [i for i in heads if table.columns[i].heading]
    rank = sum(own[i] + GAP for i in heads if i not in named)
    widest = max((own[i] for i in range(len(own)) if i not in heads), default=0)
    most = max(
        (width - rank - min(widest, width // 2) - GAP * len(named)) // max(len(named), 1), min(_NAME, width // 3), 1
    )
    rows = [
        [shorten(cell, most, mark=mark) if i in named else cell for i, cell in enumerate(row)] for row in table.rows
    ]
    for i in named:
        own[i] = max([cells(table.columns[i].header), *(cells(row[i]) for row in rows)])
    start = sum(own[i] + GAP for i in heads)
    parts: list[list[int]] = [[]]
    used = start
    for i in (i for i in range(len(own)) if i not in heads):
        own[i] = min(own[i], max(width - start, 1))
        if parts[-1] and used + own[i] > width:
            parts.append([])
            used = start
        parts[-1].append(i)
        used += own[i] + GAP
    found = []
    for at, part in enumerate(parts):
        kept = [*heads, *part]
        cut = tuple(tuple(shorten(row[i], own[i], mark=mark) if i in part else row[i] for i in kept) for row in rows)
        title = table.title if not at else f"{table.title} (continued)"
        found.append(replace(table, title=title, columns=tuple(table.columns[i] for i in kept), rows=cut))
    return found
