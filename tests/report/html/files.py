"""Whole pages, made once for all tests."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.report import results as made
from tests.report.html.hostile import HOSTILE
from toplist.calibration.binned import ReliabilityBins
from toplist.evaluation.case_details import SumDetails
from toplist.inference.results import CaseView, Comparison, FileRecord, PartRecord, PredictionView
from toplist.lists import TopLists
from toplist.report.html import Page, Provenance, render

ONE = ("alone",)
PAGES = {
    "six": lambda: made.page(groups=6),
    "one": lambda: made.page(names=ONE, zeros=False),
    "two": lambda: made.page(names=("a", "b"), rules=("brier",), paths=0),
    "pairwise": lambda: made.page(
        made.apart(
            made.drawn(groups=2, reference="random forest", rules=("log", "brier"), paths=2),
            (1200, 1100, 1000, 900, 800, 700),
        )
    ),
    "bare": lambda: Page(made.drawn(paths=0)),
    "sums": lambda: sums(made.drawn(groups=3, paths=0)),
    "strangers": lambda: Page(made.drawn(paths=2), made.exhibits(made.drawn(("x", "y"))), Provenance()),
}


@cache
def text(which: str) -> str:
    pytest.importorskip("jinja2", reason="reports need jinja2")
    pytest.importorskip("matplotlib", reason="drawings need matplotlib")
    return render(PAGES[which]())


def everywhere(name: str) -> Page:
    """A page with the name wherever a name can be."""
    found = made.drawn((name, name + "2", "plain"), cases=30, groups=2, zeros=False)
    groups = tuple(replace(section, group=name + str(section.group)) for section in found.groups)
    origins = tuple(replace(o, source=name, layout=name, repairs={name: 2}) for o in found.sources)
    found = replace(
        found,
        group=name,
        cluster=name,
        time=name,
        classes=name,
        method=name,
        baseline=name,
        groups=groups,
        sources=origins,
    )
    exhibits = tuple(
        replace(
            e,
            invalid=name,
            worst=(CaseView(name, name, (PredictionView(e.name, 1.0, 0.0, ((name, 0.5),), 0.5, 1, 0.5),)),),
        )
        for e in made.exhibits(found)
    )
    provenance = Provenance(name, {name: name}, (FileRecord(name, name, 1, name),), name)
    return Page(found, exhibits, provenance, name)


def sums(found: Comparison, called: str = "part") -> Page:
    """A page of a board without cases."""
    rng, cases = np.random.default_rng(0), found.overall.rows[0].cases
    bins = {}
    for row in found.overall.rows:
        confidence = rng.random(cases)
        lists = TopLists.from_topk(np.zeros((cases, 1), int), confidence[:, None], 9)
        bins[row.name] = ReliabilityBins.of(lists, rng.random(cases) < confidence**2)
    parts = tuple(PartRecord(f"{called}-{i}.tlp", 10) for i in range(60))
    return SumDetails(bins, parts).page(found, Provenance())


@cache
def drawn(kind: str) -> str:
    """The whole page with a hostile name everywhere."""
    return render(everywhere(HOSTILE[kind]))
