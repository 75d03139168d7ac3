"""Whole pages, made once for all tests."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from tests.report import results as made
from tests.report.html.hostile import HOSTILE
from toplist.inference.results import CaseView, FileRecord, PredictionView
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


@cache
def drawn(kind: str) -> str:
    """The whole page with a hostile name everywhere."""
    return render(everywhere(HOSTILE[kind]))
