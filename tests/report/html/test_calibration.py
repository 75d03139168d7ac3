"""The section on calibration: directions by the test, few panels, one p value everywhere, a table without constants."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest

from tests.report import page_results as made
from tests.report.html.undrawn import made as section_of
from tests.report.html.undrawn import section, shown, styled, table, tree
from toplist.report import calibration_statements, plot
from toplist.report.html import Page, calibration, sections
from toplist.report.text import small

pytest.importorskip("jinja2", reason="reports need jinja2")

FOUR = ("a", "b", "c", "d")


def page(names=FOUR, **changes) -> Page:
    return replace(made.whole(names=names, rules=("brier",), paths=0), **changes)


def models(one: Page) -> list[str]:
    return [row.name for row in one.results.overall.rows]


def test_models_are_named_by_direction_and_counted_where_there_are_several() -> None:
    one = page()
    lead, *others = models(one)
    text = section(one, "calibration").text
    assert f"Overconfident (3): {others[0]}, {others[1]} and {others[2]}." in text or "Miscalibrated" in text
    assert f"No evidence of miscalibration: {lead}." in text


def test_what_all_models_share_is_said_without_their_names() -> None:
    one = page()
    judged = {name: made.verdict(0.05) for name in models(one)}
    assert "All 4 models: overconfident." in section(replace(one, judged=judged), "calibration").text


@pytest.mark.parametrize("names", [("a", "b"), FOUR])
def test_few_cases_are_not_judged(names) -> None:
    one = page(names)
    judged = {name: made.verdict(0.05, 0.5, cases=30) for name in models(one)}
    text = section(replace(one, judged=judged), "calibration").text
    assert "Too few cases to judge calibration." in text
    assert "confident" not in text.replace("confidence", "").replace("overconfidence", "")


def test_panels_are_at_most_six_and_the_table_of_more_models_is_folded() -> None:
    one = page([f"m{i}" for i in range(9)])
    curve = made.curve()
    many = replace(one, curves=dict.fromkeys(models(one), curve))
    found = section(many, "calibration")
    assert len(styled(found, "panel")) == 6
    assert [x for x in found.every("details") if list(x.every("table"))]
    few = section(page(), "calibration")
    assert not [x for x in few.every("details") if list(x.every("table"))]


def test_panels_and_table_have_the_same_p_value_which_is_adjusted() -> None:
    """Otherwise a panel could contradict the direction that the adjusted test decides."""
    one = page()
    judged = {name: made.verdict(0.02 * i, 0.004 * (i + 1)) for i, name in enumerate(models(one))}
    seen, draw = {}, plot.calibration_panel

    def keep(name, curve, verdict):
        seen[name] = verdict.test.p
        return draw(name, curve, verdict)

    one = replace(one, judged=judged, curves=dict.fromkeys(models(one), made.curve()))
    with patch.object(plot, "calibration_panel", keep):
        section_of(calibration.calibration, one)
    adjusted = calibration_statements.adjusted(judged)
    assert seen == adjusted
    head, *rows = table(one, "reliability")
    column = next(i for i, text in enumerate(head) if text.startswith("p"))
    assert [row[column] for row in rows] == [small(adjusted[row[0]]) for row in rows]


def test_of_two_models_the_reference_comes_first() -> None:
    one = page(("a", "b"))
    pair = sections.two(one)
    assert pair is not None
    order, draw = [], plot.calibration_panel

    def keep(name, curve, verdict):
        order.append(name)
        return draw(name, curve, verdict)

    with patch.object(plot, "calibration_panel", keep):
        section_of(calibration.calibration, replace(one, curves=dict.fromkeys(models(one), made.curve())))
    assert order == [pair.reference, pair.candidate]


def test_a_truth_of_distributions_has_no_such_section() -> None:
    assert section_of(calibration.calibration, page(judged={}, curves={})) is None


def test_the_panel_that_is_drawn_is_on_the_page() -> None:
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    one = page()
    found = calibration.calibration(one, shown(one))
    assert found is not None
    panels = next(block[1] for block in found.blocks if block[0] == "panels")
    assert len(panels) == 3
    assert all(svg.startswith("<svg") for both in panels for svg in both)
    assert len(set(panels)) == 3
    assert tree(one).identified("calibration").text == "Calibration"
