"""Situations that none of the twelve boards is in: results, sections of a page and figures, made by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from tests.report import page_results
from tests.report.results import apart, board, drawn, example, exhibit, many
from toplist.inference.results import Action, BoardWarning, Comparison, Estimate, PredictionType
from toplist.lists.checks import Issue
from toplist.report import plot
from toplist.report.html import Page
from toplist.report.plot import Plot

FOUR = ("a", "b", "c", "d")


def rows_changed(results: Comparison, **changes: Any) -> Comparison:
    """With other values for every model."""
    rows = tuple(replace(row, **changes) for row in results.overall.rows)
    return replace(results, overall=replace(results.overall, rows=rows), groups=())


def last_is_better() -> Comparison:
    """The last model is significantly better than the first on the cases of both."""
    results = example()
    *rows, last = results.overall.rows
    better = {"adjusted_p": 0.001, "difference": Estimate(-0.1, -0.2, -0.05)}
    last = replace(last, scores={rule: replace(score, **better) for rule, score in last.scores.items()})
    return replace(results, overall=replace(results.overall, rows=(*rows, last)))


def star_beside_zero() -> Comparison:
    """A significant difference whose simultaneous interval contains zero: Holm's method tests in steps."""
    results = example(groups=False)
    first, second, *rest = results.overall.rows
    score = replace(second.scores["brier"], difference=Estimate(0.05, -0.01, 0.1, p=0.01), adjusted_p=0.02)
    second = replace(second, scores={**second.scores, "brier": score})
    return replace(results, overall=replace(results.overall, rows=(first, second, *rest)))


def uneven() -> Comparison:
    """One model has fewer cases than the others."""
    results = example(groups=False)
    first, *others = results.overall.rows
    return replace(results, overall=replace(results.overall, rows=(replace(first, cases=11), *others)))


def untested() -> Comparison:
    results = example()
    first, second, *others = results.pairs
    reason = replace(results.confidence_set, members=(), p={}, reason="no case has all models")  # type: ignore[type-var]
    pairs = (replace(first, extra_units=0), replace(second, adjusted_p=None), *others)
    return replace(results, pairs=pairs, confidence_set=reason)


def repaired() -> Comparison:
    results = example(groups=False)
    source = replace(results.sources[0], repairs={"scale: log": 40, "normalized": 2})
    return replace(results, classes="128256", sources=(source, *results.sources[1:]))


def warned() -> Comparison:
    sentence = "the truth may be that of other cases, because of " + "this and that, " * 30 + "and more."
    results = example(groups=False)
    return replace(results, warnings=(BoardWarning("perfect", sentence, (results.overall.rows[0].name,)),))


def two(baseline: bool = False, **options: Any) -> Comparison:
    results = drawn(("new", "old"), paths=0, **options)
    return replace(results, baseline=results.overall.rows[0].name if baseline else None)


RESULTS: dict[str, Callable[[], Comparison]] = {
    "example": example,
    "pairwise": lambda: example(missing="pairwise"),
    "common": lambda: example(missing="common", reference=None),
    "penalty": lambda: replace(example(), penalty=0.25, compared=900, weighted=True),
    "calm": lambda: replace(rows_changed(example(), invalid=0), sources=(), missing="error", paths=()),
    "no-rank-intervals": lambda: rows_changed(example(), rank_interval=None),
    "last-is-better": last_is_better,
    "star-beside-zero": star_beside_zero,
    "untested": untested,
    "uneven": uneven,
    "repaired": repaired,
    "warned": warned,
    "one": lambda: drawn(("alone",), cases=50, paths=0, zeros=False),
    "two-near": lambda: two(cases=60, apart=0.01, seed=5),
    "two-far": lambda: two(cases=2000, apart=3.0),
    "two-baseline": lambda: two(baseline=True, cases=2000, apart=3.0),
    "many": lambda: drawn(many(20), cases=300, apart=0.2, paths=0, zeros=False),
    "groups": lambda: drawn(groups=10, paths=0),
    "cases-of-their-own": lambda: apart(drawn(FOUR, cases=200, paths=0), (200, 150, 200, 30)),
}


def whole(*names: str, **changes: Any) -> Page:
    """A page of these models with all that there is, under one rule."""
    return replace(page_results.whole(names=names or FOUR, rules=("brier",), paths=0), **changes)


def models(page: Page) -> list[str]:
    return [row.name for row in page.results.overall.rows]


def calibrated(page: Page, difference: float, p: float, cases: int = 1000) -> Page:
    """All models with the same verdict."""
    return replace(page, judged={name: page_results.verdict(difference, p, cases) for name in models(page)})


def with_curves(page: Page, *names: str) -> Page:
    return replace(page, curves=dict.fromkeys(names or models(page), page_results.curve()))


def by_class(page: Page, groups: int = 4, **changes: Any) -> Page:
    names = page_results.CLASSES if groups == 4 else [f"g{number}" for number in range(groups)]
    return replace(page, breakdowns=(page_results.breakdown(models(page), names, **changes),))


def with_infinite_mean(page: Page) -> Page:
    base = page_results.breakdown(models(page))
    means = ((math.inf, *base.means[0][1:]), *base.means[1:])
    differences = ((math.nan,) * 4, *base.differences[1:])
    return by_class(page, means=means, differences=differences, significant=((False,) * 4, *base.significant[1:]))


def against(page: Page, baseline: int | None, **changes: Any) -> Page:
    """Cases by which two models differ, the baseline first."""
    names = models(page)
    base = names[baseline or 0]
    pairs = tuple(page_results.pair(base, name, **changes) for name in names if name != base)
    return replace(page, against=pairs, results=replace(page.results, baseline=None if baseline is None else base))


def worst(page: Page, count: int, **changes: Any) -> Page:
    """So many worst cases of the best model."""
    views = tuple(
        page_results.case(page_results.prediction(models(page)[0]), called=f"case {number}", models=4, **changes)
        for number in range(count)
    )
    return replace(page, exhibits=(replace(page.exhibits[0], worst=views),), against=())


def sound(*issues: Issue) -> Page:
    """Nothing is wrong with any prediction, but for these issues of the first."""
    page = page_results.whole(names=FOUR[:3], rules=("brier", "log"), paths=0, zeros=False)
    results = page.results
    rows = tuple(replace(row, invalid=0, missing=0) for row in results.overall.rows)
    sources = tuple(replace(source, repairs={}, filled=0) for source in results.sources)
    results = replace(results, overall=replace(results.overall, rows=rows), sources=sources, warnings=())
    kinds = (PredictionType("distribution", 1000, 0.3, 0),)
    first, *others = (replace(one, invalid="", shortest=10, longest=10, shapes=kinds) for one in page.exhibits)
    return replace(page, results=results, exhibits=(replace(first, issues=issues), *others))


def alike() -> Page:
    """All models have the same issue."""
    page, issue = sound(), Issue("empty list", 1200, 1200, "All 1,200 cases have an empty list.", False, "")
    return replace(page, exhibits=tuple(replace(one, issues=(issue,)) for one in page.exhibits))


def advised() -> Page:
    """With things to do next."""
    gain = Estimate(-0.0123, -0.02, -0.004)
    command = "toplist recalibrate 'b c'"
    actions = (
        Action("recalibrate", ("b",), "Recalibrate {0}", "overconfident by 4.9 points", gain, command),
        Action("pool", ("a", "b"), "Pool {}", "they differ"),
        Action("plan", ("a",), "Plan for {0}", "few cases"),
    )
    return Page(drawn(FOUR[:3], cases=60, paths=0, zeros=False), actions=actions)


NO_RIGHT = dict.fromkeys(("both_right", "only_a_right", "only_b_right", "both_wrong"), 0)
NONE_WRONG = (Issue("listed zero", 3, 1200, "3 cases list a class with confidence 0.", False, ""),)
SECTIONS: dict[str, tuple[str, Callable[[], Page]]] = {
    "all": ("", whole),
    "advised": ("", advised),
    "cases-of-their-own": ("leaderboard", lambda: Page(RESULTS["cases-of-their-own"]())),
    "infinite": ("leaderboard", lambda: Page(drawn(cases=1400))),
    "one": ("leaderboard", lambda: Page(RESULTS["one"]())),
    "directions": ("calibration", whole),
    "all-overconfident": ("calibration", lambda: calibrated(whole(), 0.05, 0.001)),
    "few-to-judge": ("calibration", lambda: calibrated(whole(), 0.05, 0.5, cases=30)),
    "few-of-two": ("calibration", lambda: calibrated(whole("a", "b"), 0.05, 0.5, cases=30)),
    "nine": ("calibration", lambda: with_curves(whole(*(f"m{number}" for number in range(9))))),
    "panels-of-all": ("calibration", lambda: with_curves(whole())),
    "panels-of-some": ("calibration", lambda: with_curves(whole(), "a", "d")),
    "no-difference": ("classes", lambda: by_class(whole(), least=9.0)),
    "as-many-cases": ("classes", lambda: by_class(whole(), cases=(100,) * 4)),
    "reversal": ("classes", lambda: by_class(whole(), reversals=(("ship", models(whole())[1]),))),
    "infinite-mean": ("classes", lambda: with_infinite_mean(whole())),
    "two-by-class": ("classes", lambda: by_class(whole("a", "b"), spread=0.05, least=0.06)),
    "fifteen-classes": ("classes", lambda: by_class(whole(), 15)),
    "thirty-five-classes": ("classes", lambda: by_class(whole(), 35)),
    "groups": ("groups", lambda: page_results.whole(names=FOUR, rules=("brier",), paths=0, groups=3)),
    "four": ("cases", whole),
    "four-to-baseline": ("cases", lambda: against(whole(), 0)),
    "two": ("cases", lambda: against(whole("a", "b"), None)),
    "two-to-first": ("cases", lambda: against(whole("a", "b"), 0)),
    "two-to-second": ("cases", lambda: against(whole("a", "b"), 1)),
    "soft-of-two": ("cases", lambda: against(whole("a", "b"), 0, **NO_RIGHT)),
    "soft-of-four": ("cases", lambda: against(whole(), None, **NO_RIGHT)),
    "twenty-cases": ("cases", lambda: worst(whole(), 20)),
    "labels-to-check": ("cases", lambda: worst(whole(), 10, right=0.0)),
    "sound": ("quality", sound),
    "issues": ("quality", lambda: sound(*NONE_WRONG, Issue("odd", 5, 1200, "Odd.", False, ""))),
    "issue-of-all": ("quality", alike),
    "repairs": ("quality", lambda: page_results.whole(paths=0)),
}


def titled() -> dict[str, Plot]:
    """Figures of intervals and of curves that have another title each."""
    inf = math.inf
    boards = {
        "best of three": board(FOUR[:3], members=1),
        "two tied": board(FOUR, members=2),
        "three tied": board(FOUR, members=3),
        "two alike": board(FOUR[:2], members=2),
        "two apart": board(FOUR[:2], members=1),
        "alone": board(FOUR[:1]),
        "none finite": board(FOUR[:2], [inf, inf]),
        "one finite": board(FOUR[:2], [0.3, inf]),
        "two finite": board(FOUR[:3], [0.3, 0.9, inf]),
        "not tested": replace(
            board(members=2), pairs=tuple(replace(pair, adjusted_p=None) for pair in board(members=2).pairs)
        ),
    }
    curves = {
        "short lists that are enough": (0.5, 0.4, 0.301, 0.3, 0.3),
        "long lists that are best": (0.5, 0.45, 0.4, 0.35, 0.3),
        "short lists that are best": (0.5, 0.2, 0.4, 0.35, 0.3),
    }
    return {f"intervals of {name}": plot.intervals(results) for name, results in boards.items()} | {
        f"curves of {name}": plot.curves([exhibit("a", curve=curve)]) for name, curve in curves.items()
    }


@cache
def results(name: str) -> Comparison:
    """Results by the name of their situation."""
    return RESULTS[name]()
