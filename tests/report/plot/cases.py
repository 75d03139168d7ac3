"""Everything that may have to be drawn, by name."""

import math
from dataclasses import replace

from tests.report import results as made
from tests.report.plot import calibration_factories as diagnosed
from toplist.inference.results import Breakdown
from toplist.report import plot

TWENTY = tuple(f"model number {i}" for i in range(20))
FORTY = tuple(f"xgboost-depth{i}-lr0.05-subsample0.8" for i in range(40))
LONG = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def _boards():
    inf, nan = math.inf, math.nan
    return {
        "one": made.board(("alone",)),
        "two": made.board(("a", "b")),
        "twenty": made.board(TWENTY, members=4),
        "infinite": made.board(("a", "b", "c", "d"), [0.3, inf, inf, 0.4], members=2, groups=("x", "y")),
        "all infinite": made.board(("a", "b"), [inf, inf], groups=("x",)),
        "not a number": made.board(("a", "b", "c"), [0.3, nan, nan], groups=("x",)),
        "nothing but that": made.board(("a", "b"), [nan, nan], groups=("x",)),
        "no intervals": made.board(half=None, groups=("x", "y")),
        "equal": made.board(("a", "b", "c"), [0.3, 0.3, 0.3], half=0.0),
        "zero": made.board(("a", "b"), [0.0, 0.0], half=None, groups=("x",)),
        "tiny": made.board(("a", "b"), [1e-300, 3e-300], half=None, groups=("x",)),
        "huge": made.board(("a", "b"), [1e15, 3e15], half=1e14, groups=("x",)),
        "wide intervals": made.board(("a", "b"), half=1e6),
        "hostile": made.board(made.HOSTILE, members=3, groups=made.HOSTILE),
        "hostile rule": made.board(rules=(made.HOSTILE[0], made.HOSTILE[5]), members=1, groups=("x",)),
        "weeks": made.board(TWENTY, groups=("2025-01-04", "2025-01-11", "2025-01-18", "2025-03-01")),
        "years": made.board(("a", "b"), [0.3, inf], groups=tuple(f"{year}-07-01" for year in range(1990, 2025))),
        "numbers": made.board(("a", "b"), groups=("0.5", "1", "10")),
        "forty": made.board(FORTY, members=4, groups=("x", "y", "z")),
        "hundred groups": made.board(TWENTY, groups=tuple(f"group {i}" for i in range(100))),
        "another rule": made.board(rules=("brier", "log"), groups=("x",)),
        "ratios": made.related(made.board(TWENTY, groups=("1", "2", "3")), 0.8),
        "pairwise": made.related(made.board(("a", "b", "c", "d"), [0.3, 0.4, inf, nan], groups=("x",)), 0.8),
    }


def breakdown(groups=("cat", "dog", "ship"), models=("a", "b"), **changes):
    rows = [[0.1 + 0.05 * g + 0.01 * m for m in range(len(models))] for g in range(len(groups))]
    means = tuple(map(tuple, rows))
    middle = (len(models) - 1) / 2
    differences = tuple(tuple(0.01 * (m - middle) for m in range(len(models))) for _ in groups)
    significant = tuple(tuple(abs(d) > 0.004 for d in row) for row in differences)
    own = {"by": "true class", "groups": groups, "cases": tuple(range(10, 10 + len(groups))), "models": models}
    own |= {"means": means, "accuracy": means, "differences": differences, "significant": significant}
    return Breakdown(**(own | changes))


BREAKDOWNS = {
    "classes": breakdown(),
    "one class": breakdown(("cat",)),
    "many models": breakdown(models=FORTY),
    "reversals": breakdown(reversals=(("cat", "b"), ("dog", "b")), left_out=7),
    "places": breakdown(("1", "2", "4"), FORTY, axis=(1.0, 2.0, 4.0)),
    "dates": breakdown(("2025-01-01", "2025-06-01", "2026-01-01"), axis=(20089.0, 20240.0, 20454.0), dates=True),
    "nothing": breakdown((), ()),
    "hostile": breakdown(made.HOSTILE, made.HOSTILE),
}


def _exhibits():
    inf, nan = math.inf, math.nan
    bare = replace(made.exhibit("bare", curve=(), shapes=()), listed=(), top=(), mass=())
    return {
        "none": [],
        "one": [made.exhibit("alone")],
        "twenty": [made.exhibit(name, place=i, ks=LONG) for i, name in enumerate(TWENTY)],
        "infinite": [made.exhibit("a", curve=(inf, inf, 0.5, 0.4, 0.4)), made.exhibit("b", curve=(inf,) * 5)],
        "not a number": [made.exhibit("a", curve=(nan, 0.5, 0.4, nan, 0.4))],
        "one k": [made.exhibit("a", ks=(3,))],
        "k from zero": [made.exhibit("a", ks=(0, 1, 2, 50))],
        "bare": [bare, made.exhibit("a")],
        "all bare": [bare],
        "one bin": [made.exhibit("a", count=1)],
        "hostile": [made.exhibit(name, place=i) for i, name in enumerate(made.HOSTILE)],
    }


def _paths():
    inf = math.inf
    found = made.path(4)
    open_ended = replace(
        found,
        low=(-inf,) * 4,
        high=(inf,) * 4,
        log_evidence_better=(-inf, 0.0, inf, inf),
        log_evidence_worse=(-inf,) * 4,
    )
    nothing = dict.fromkeys(("at", "mean", "low", "high", "log_evidence_better", "log_evidence_worse"), ())
    return {
        "short": found,
        "long": made.path(5000, drift=-0.01),
        "worse": made.path(drift=0.05),
        "strong": made.path(300, drift=-5.0),
        "no band": made.path(band=False),
        "infinite": open_ended,
        "infinite means": replace(found, mean=(inf, -inf, math.nan, inf), low=(), high=()),
        "no bets": replace(found, log_evidence_better=(), log_evidence_worse=()),
        "no cases": replace(found, cases=0, separated=None, shown_better=None, shown_worse=None, **nothing),
        "one case": made.path(1),
        "hostile": made.path(candidate=made.HOSTILE[0], baseline=made.HOSTILE[6]),
    }


PLOTS = {
    **{f"{kind} of {name}": made_(of) for kind, made_ in plot.OF_RESULTS.items() for name, of in _boards().items()},
    **{f"{kind} of {name}": made_(of) for kind, made_ in plot.OF_EXHIBITS.items() for name, of in _exhibits().items()},
    **{f"path of {name}": plot.path(of) for name, of in _paths().items()},
    **{f"breakdown of {name}": plot.groups(of, "brier") for name, of in BREAKDOWNS.items()},
    "paths": plot.paths(list(_paths().values())[:3]),
    "no paths": plot.paths([]),
    **diagnosed.PLOTS,
    "intervals under another rule": plot.intervals(_boards()["another rule"], "log"),
}
