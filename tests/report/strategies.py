"""Results of every kind, under names that mean harm."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import Phase, settings
from hypothesis import strategies as st

from tests.draws import draws
from tests.report.results import example
from toplist.inference.results import (
    Comparison,
    ConfidenceSet,
    Estimate,
    Group,
    ModelRow,
    Pair,
    RuleScore,
    SequentialPath,
    SourceSummary,
)
from toplist.scoring.case_scores import metrics_for

KS = (1, 7)
law = settings(
    deadline=None, max_examples=draws(40), derandomize=True, phases=(Phase.explicit, Phase.generate, Phase.shrink)
)

HOSTILE = (
    *("", " ", "a\nb", "\r\n", "tab\there", "null\x00", "del\x7f", "next\x85line", "\u2028", "bell\x07"),
    *("<script>alert(1)</script>", "</td></table>", "\"'><img src=x onerror=y>", "&lt;", "&#x41;", "<!--", "]]>"),
    *("\x1b[31mred\x1b[0m", "\x1b]8;;http://example.org\x07link\x1b]8;;\x07", "\x9b2J", "abc\u202edcba\u202c"),
    *("\u2066isolated\u2069", "\u200emark\u200f", "\u200bzero", "\ufefffirst", "soft\xadhyphen", "\ud800", "a\udc80b"),
    *("=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "\t=1", "\r=1", "'quoted", 'comma, and "quotes"'),
    *("|", "||", "a\\|b", "\\", "\\\\", "`code`", "``", "*", "**bold**", "_it_", "~~gone~~", "[link](http://x)"),
    *("![image](x)", "[1, 2](x)", "<http://x>", "# head", "- item", "1. item", "$x$", "\\(x\\)", "\\[x\\]", "---"),
    *("{}", "}{", "&", "%", "100%", "#", "$", "^", "~", "\\input{x}", "\\\\[2cm]", "[2cm]", "a--b", "[red]", "[/]"),
    *(":smile:", "日本語" * 40, "e" + "\u0301" * 500, "שלום", "نموذج", "👩‍🔬", "x" * 10_000, "\x1b" * 10_000, " edge "),
)

names = (
    st.sampled_from(HOSTILE) | st.text(max_size=80) | st.text("|\\`*_[]<>&%${}#^~=+-@'\" a1\n\x1b\u202e", max_size=12)
)
counts = st.integers(0, 10**9)
shares = st.floats(0, 1) | st.sampled_from([0.0, 1.0, math.nan, 1e-9, 1 - 1e-9])
scores = (
    st.floats(-10, 10)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, -0.0, math.inf, math.nan, 999_999.99999, -999_999.9, 1e300])
)
chances = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 0.0005, 1e-300])
evidence = st.floats(-50, 50) | st.sampled_from([0.0, math.inf])


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    """With an interval, narrow or wide, or without one."""
    value = draw(scores)
    if not math.isfinite(value) or draw(st.booleans()):
        return Estimate(value, reason=draw(names))
    half = st.floats(0, 1) | st.floats(0, 1e-9) | st.floats(0, 1e300)
    error, p = draw(st.none() | half), draw(st.none() | chances)
    return Estimate(value, value - draw(half), value + draw(half), error=error, p=p)


def rule_scores(rule: str) -> st.SearchStrategy[RuleScore]:
    return st.builds(
        RuleScore,
        rule=st.just(rule),
        mean=estimates(),
        unpenalised=scores,
        infinite=st.just(0) | counts,
        finite=scores,
        skill=st.none() | estimates(),
        baseline_skill=st.none() | estimates(),
        difference=st.none() | estimates(),
        relative=st.none() | estimates(),
        adjusted_p=st.none() | chances,
    )


def standings(rules: tuple[str, ...]) -> st.SearchStrategy[ModelRow]:
    return st.builds(
        ModelRow,
        rank=st.integers(1, 9_999),
        rank_interval=st.none() | st.tuples(st.integers(1, 99), st.integers(99, 9_999)),
        name=names,
        cases=counts,
        missing=counts,
        scores=st.fixed_dictionaries({rule: rule_scores(rule) for rule in rules}),
        invalid=st.just(0) | counts,
        metrics=st.fixed_dictionaries(
            {one.name: (shares if one.style == "share" else st.floats(0, 1e9)).map(Estimate) for one in metrics_for(KS)}
        ),
    )


origins = st.builds(
    SourceSummary,
    name=names,
    source=names,
    layout=names,
    cases=counts,
    filled=counts,
    left_out=counts,
    repairs=st.dictionaries(names, counts, max_size=2),
)


pairs = st.builds(
    Pair,
    rule=names,
    a=names,
    b=names,
    cases=counts,
    difference=estimates(),
    adjusted_p=st.none() | chances,
    extra_units=st.none() | st.just(0) | counts,
    simultaneous=estimates(),
    lead=st.none() | st.floats(0, 100),
)
confidence_sets = st.builds(
    ConfidenceSet,
    rule=names,
    level=st.sampled_from([0.9, 0.95]),
    members=st.lists(names, max_size=8).map(tuple),
    p=st.dictionaries(names, chances, max_size=3),
    cases=counts,
    method=names,
    reason=names,
)


@st.composite
def paths(draw: st.DrawFn) -> SequentialPath:
    """With or without a confidence sequence; evidence may be infinite, and so may means."""
    at = tuple(sorted(draw(st.sets(st.integers(1, 10**9), min_size=1, max_size=4))))
    column = st.tuples(*[scores] * len(at))
    ends = column if draw(st.booleans()) else st.just(())
    when = st.none() | st.sampled_from(at)
    return SequentialPath(
        rule=draw(names),
        candidate=draw(names),
        baseline=draw(names),
        level=draw(st.sampled_from([0.9, 0.95])),
        cases=at[-1],
        at=at,
        mean=draw(column),
        low=draw(ends),
        high=draw(ends),
        log_evidence_better=draw(st.tuples(*[evidence] * len(at))),
        log_evidence_worse=draw(st.tuples(*[evidence] * len(at))),
        separated=draw(when),
        shown_better=draw(when),
        shown_worse=draw(when),
        method=draw(names),
        reason=draw(names),
    )


@st.composite
def results(draw: st.DrawFn) -> Comparison:
    """A leaderboard of up to three models, with up to two groups."""
    rules = draw(st.lists(names | st.sampled_from(["brier", "log"]), min_size=1, max_size=3, unique=True).map(tuple))
    rows = st.lists(standings(rules), max_size=3).map(tuple)
    own = st.lists(pairs, max_size=2).map(tuple)
    groups = st.lists(st.builds(Group, group=names, cases=counts, rows=rows, pairs=own), max_size=2).map(tuple)
    return Comparison(
        rules=rules,
        k=KS,
        classes=draw(st.sampled_from(["3", "3 to 5", "2**10000", "infinitely many"]) | names),
        cases=draw(counts),
        compared=draw(counts),
        missing=draw(st.sampled_from(["error", "common", "pairwise", "uniform"])),
        weighted=draw(st.booleans()),
        baseline=draw(st.none() | names),
        penalty=draw(st.none() | st.floats(0, 1e6)),
        level=draw(st.sampled_from([0.9, 0.95, 0.99])),
        method=draw(names),
        group=draw(st.none() | names),
        cluster=draw(st.none() | names),
        time=draw(st.none() | names),
        sources=draw(st.lists(origins, max_size=2).map(tuple)),
        overall=Group(None, draw(counts), draw(rows)),
        groups=draw(groups),
        pairs=draw(st.lists(pairs | pairs.map(lambda pair: replace(pair, rule=rules[0])), max_size=3).map(tuple)),
        confidence_set=draw(st.none() | confidence_sets),
        paths=draw(st.lists(paths(), max_size=2).map(tuple)),
        seed=draw(st.none() | counts),
        weight=draw(st.none() | names),
        unit=draw(st.sampled_from(["case", "cluster", "time point"])),
        units=draw(counts),
    )


def _every_name() -> Comparison:
    """The example with every hostile name as a model, a source, a group and a reason."""
    found = example()
    rules = (HOSTILE[10], HOSTILE[-1])
    row = found.overall.rows[-1]
    row = replace(row, scores=dict(zip(rules, row.scores.values(), strict=True)))
    rows = tuple(replace(row, rank=i + 1, name=name) for i, name in enumerate(HOSTILE))
    groups = tuple(Group(name, 1, (_with_reason(row, name),)) for name in HOSTILE)
    origins = tuple(SourceSummary(name, name, name, 1, repairs={name: 1}) for name in HOSTILE)
    near = replace(found.pairs[0], rule=rules[0], extra_units=7)
    pairs = tuple(replace(near, a=name, b=other) for name, other in zip(HOSTILE, HOSTILE[::-1], strict=True))
    members = replace(found.confidence_set, rule=rules[0], members=HOSTILE, p=dict.fromkeys(HOSTILE, 0.5))  # type: ignore[type-var]
    paths = tuple(replace(path, candidate=name, baseline=name, reason=name) for path in found.paths for name in HOSTILE)
    return replace(
        found,
        overall=Group(None, 9, rows),
        groups=groups,
        rules=rules,
        sources=origins,
        pairs=pairs,
        confidence_set=members,
        paths=paths,
        cluster=HOSTILE[3],
        time=HOSTILE[4],
        weight=HOSTILE[5],
    )


def _with_reason(row: ModelRow, reason: str) -> ModelRow:
    scores = {rule: replace(one, mean=Estimate(1.0, reason=reason)) for rule, one in row.scores.items()}
    return replace(row, name=reason, scores=scores)


EVERY_NAME = _every_name()


def clean(text: str) -> bool:
    """No character in it acts on the reader's screen, but the ends of lines."""
    return all(line.isprintable() for line in text.split("\n"))
