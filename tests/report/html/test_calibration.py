"""The section on calibration: directions by the test, few panels, one p value everywhere, a table without constants."""

from __future__ import annotations

import re
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report import page_results as made
from tests.report.html.undrawn import made as section_of
from tests.report.html.undrawn import section, table
from toplist.report import calibration_statements, plot, text
from toplist.report.html import Page, calibration, sections

pytest.importorskip("jinja2", reason="reports need jinja2")

FOUR = ("a", "b", "c", "d")


def page(names=FOUR, **changes) -> Page:
    return replace(made.whole(names=names, rules=("brier",), paths=0), **changes)


def models(one: Page) -> list[str]:
    return [row.name for row in one.results.overall.rows]


def test_panels_and_table_have_the_same_p_value_which_is_adjusted() -> None:
    """Otherwise a panel could contradict the direction that the adjusted test decides."""
    one = page()
    judged = {name: made.verdict(0.02 * i, 0.004 * (i + 1)) for i, name in enumerate(models(one))}
    seen, draw = {}, plot.calibration_panel

    def keep(name, curve, verdict, p):
        seen[name] = p
        return draw(name, curve, verdict, p)

    one = replace(one, judged=judged, curves=dict.fromkeys(models(one), made.curve()))
    with patch.object(plot, "calibration_panel", keep):
        section_of(calibration.calibration, one)
    adjusted = calibration_statements.adjusted(judged)
    assert seen == adjusted
    head, *rows = table(one, "reliability")
    column = next(i for i, text in enumerate(head) if text.startswith("p"))
    told = {name: calibration_statements.p_value(adjusted[name], judged[name].test) for name in judged}
    assert [row[column] for row in rows] == [told[row[0]] for row in rows]


def test_a_saved_figure_has_the_p_values_of_the_page() -> None:
    judged = {name: made.verdict(0.02 * i, 0.004 * (i + 1)) for i, name in enumerate("abc")}
    drawn = plot.reliability(dict.fromkeys(judged, made.curve()), judged).data
    adjusted = calibration_statements.adjusted(judged)
    assert {one.name: one.p for one in drawn.panels} == adjusted
    assert [one.p_text for one in drawn.panels] == [
        calibration_statements.p_value(adjusted[name], judged[name].test) for name in judged
    ]
    assert "Holm over 3 models" in drawn.subtitle
    assert "Holm" not in plot.calibration_panel("a", made.curve(), judged["a"]).data.subtitle


@given(st.floats(0, 1), st.integers(1, 5000))
def test_a_p_value_from_draws_is_never_shown_below_what_these_can_tell(p: float, draws: int) -> None:
    test = replace(made.verdict(0.1, 0.5).test, draws=draws)
    text = calibration_statements.p_value(p, test)
    least = 1 / (draws + 1)
    assert text.startswith("\u2264") == (p <= least * (1 + 1e-9))
    if text.startswith("\u2264"):
        assert least <= float(text[1:]) + 1e-9 <= 1.1 * least + 1e-9


def test_an_interval_of_a_bias_stays_within_what_is_possible() -> None:
    bias = replace(made.verdict(0.1, 0.5).bias, mean_confidence=0.9, low=-1.4, high=1.6)
    assert calibration_statements.bias_ends(bias) == (0.9 - 1.0, 0.9)


KINDS = {"over": (0.05, 0.001), "under": (-0.05, 0.001), "none": (0.0, 0.9)}


@given(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=6))
def test_the_clause_speaks_of_the_best_model_first_and_is_right_about_everyone_it_counts(kinds: list[str]) -> None:
    names = [f"m{i}" for i in range(len(kinds))]
    judged = {name: made.verdict(*KINDS[kind]) for name, kind in zip(names, kinds, strict=True)}
    p = calibration_statements.adjusted(judged)
    found = [calibration_statements.calibration_kind(judged[name], p[name]) for name in names]
    word = {"over": "overconfident", "under": "underconfident", "none": "no evidence of miscalibration"}
    full, *_ = map(str, calibration_statements.calibration_clause(judged, text.names(names), names[0]))
    first, _, second = full.partition("; ")
    assert word[found[0]] in first.lower()
    if len(names) > 1 and len(set(found)) == 1:
        assert not second
        return
    assert first.startswith("m0 ")
    more = re.search(r"and (\d+) other", first)
    assert found.count(found[0]) - 1 == (int(more[1]) if more else 0)
    if second:
        (other,) = {kind for kind in found if word[kind] in second}
        many = re.match(r"(?:the other )?(\d+)", second)
        assert found.count(other) == (int(many[1]) if many else 1)


def test_the_legend_explains_the_words_in_the_column_and_no_others() -> None:
    judged = {"a": made.verdict(0.05, 0.001), "b": made.verdict(0.0, 0.9)}
    told = calibration_statements.chip_legend(judged)
    assert "pts are" in told
    assert "no evidence means" in told
    assert "inconclusive" not in told


def test_accuracy_of_fewer_cases_than_in_the_leaderboard_is_said_to_be() -> None:
    one = page()
    first, *_ = models(one)
    cases = {row.name: row.cases for row in one.results.overall.rows}

    def told(fewer: int) -> str:
        judged = {
            name: replace(each, bias=replace(each.bias, cases=cases[name] - fewer * (name == first), hit_rate=0.123))
            for name, each in one.judged.items()
        }
        return section(replace(one, judged=judged), "calibration").text

    assert f"of the cases with a prediction that names a class: {first} (" in told(7)
    assert "names a class" not in told(0)


def test_of_two_models_the_reference_comes_first() -> None:
    one = page(("a", "b"))
    pair = sections.two(one)
    assert pair is not None
    order, draw = [], plot.calibration_panel

    def keep(name, curve, verdict, p):
        order.append(name)
        return draw(name, curve, verdict, p)

    with patch.object(plot, "calibration_panel", keep):
        section_of(calibration.calibration, replace(one, curves=dict.fromkeys(models(one), made.curve())))
    assert order == [pair.reference, pair.candidate]
