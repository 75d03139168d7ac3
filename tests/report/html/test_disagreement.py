"""Accuracies are set against scores on the same cases only, rules against all others, ranks against pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report import results as made
from toplist.inference.results import Comparison, Estimate, Pair, RuleScore
from toplist.report import statements
from toplist.report.text import Name, Sentence, names

BASE = made.drawn(tuple("ABC"), cases=40, rules=("brier",), zeros=False, paths=0)
ORDER = [row.name for row in BASE.overall.rows]
PLACES = ((0, 1), (0, 2), (1, 2))


def board(
    accuracies: Sequence[float] = (0.5, 0.6, 0.7),
    *,
    rules: Sequence[str] = ("brier",),
    differences: dict[str, Sequence[float]] | None = None,
    adjusted: dict[str, Sequence[float | None]] | None = None,
    infinite: Sequence[int] = (0, 0, 0),
) -> Comparison:
    """Three models; under every rule the first is better than the second than the third, significantly, unless said."""
    rows = tuple(
        replace(
            row,
            metrics={**row.metrics, "accuracy": Estimate(accuracy)},
            scores={rule: _mark(row.scores["brier"], rule, i, n) for rule in rules},
        )
        for i, (row, accuracy, n) in enumerate(zip(BASE.overall.rows, accuracies, infinite, strict=True))
    )
    found = []
    for rule in rules:
        values = (differences or {}).get(rule, (-0.1, -0.2, -0.1))
        ps = (adjusted or {}).get(rule, (0.001, 0.001, 0.001))
        for (a, b), value, p in zip(PLACES, values, ps, strict=True):
            difference = Estimate(value, value - 0.05, value + 0.05, p=p)
            found.append(Pair(rule, ORDER[a], ORDER[b], 40, difference, p, 0, difference))
    return replace(BASE, rules=tuple(rules), overall=replace(BASE.overall, rows=rows), pairs=tuple(found))


def _mark(mark: RuleScore, rule: str, i: int, infinite: int) -> RuleScore:
    finite = 0.3 + 0.1 * i
    hit = infinite if rule == "log" else 0
    score = Estimate(math.inf if hit else finite)
    return replace(mark, rule=rule, mean=score, finite=finite, infinite=hit)


def shown(results: Comparison) -> dict[str, Name]:
    return names(row.name for row in results.overall.rows)


def told(found: Sequence[Sentence]) -> str:
    return " ".join(map(str, found))


def against_accuracy(results: Comparison) -> str:
    return told(statements.against_accuracy(results, shown(results)))


def between_rules(results: Comparison) -> str:
    return told(statements.between_rules(results, shown(results)))


def test_accuracies_over_different_cases_are_not_set_against_a_difference_on_the_cases_of_both() -> None:
    found = board((0.1, 0.6, 0.99))
    assert against_accuracy(found).count("has a higher accuracy than") == 3
    assert not against_accuracy(made.apart(found, (40, 30, 20)))
    one = against_accuracy(made.apart(found, (40, 40, 20)))
    assert one.count("has a higher accuracy than") == 1
    assert "2 pairs are not compared by accuracy, as the two do not predict the same cases." in one


def test_differences_of_accuracy_within_noise_are_not_mentioned() -> None:
    assert not against_accuracy(board((0.5, 0.52, 0.54)))


def test_zero_one_scores_compare_top_1_predictions_on_the_cases_of_both() -> None:
    found = board(rules=("brier", "zero-one"), differences={"zero-one": (0.02, -0.1, -0.1)})
    said = against_accuracy(made.apart(found, (40, 30, 20)))
    a, b, _ = ORDER
    assert f"{b} has a higher accuracy than {a} by 2.0 points on the 30 cases of both" in said
    assert "not compared" not in said


@pytest.mark.parametrize(("value", "p", "said"), [(0.1, 0.01, True), (0.1, 0.5, False), (-0.1, 0.01, False)])
def test_with_zero_one_only_significant_differences_in_accuracy_disagree(value: float, p: float, said: bool) -> None:
    found = board(
        (0.5, 0.6, 0.4),
        rules=("brier", "zero-one"),
        differences={"zero-one": (value, -0.1, -0.2)},
        adjusted={"zero-one": (p, 0.01, 0.01)},
    )
    a, b, _ = ORDER
    assert (f"{b} has a higher accuracy than {a}" in against_accuracy(found)) == said


@given(st.permutations(["brier", "log", "zero-one"]), st.sampled_from(range(3)))
def test_significant_contradictions_between_any_two_rules_are_named(rules: list[str], which: int) -> None:
    """One rule turns the first pair around: that contradicts the two others, wherever it stands among them."""
    turned = rules[which]
    said = between_rules(board(rules=rules, differences={turned: (0.1, -0.2, -0.1)}))
    a, b, _ = (f"{name} is significantly better than " for name in ORDER)
    assert said.count(", and significantly worse under ") == 2
    for rule in rules:
        if rule != turned:
            first, second = sorted((rule, turned), key=rules.index)
            who = a if first == rule else b
            name = {"brier": "Brier"}
            ends = f"under the {name.get(first, first)} score, and significantly worse under"
            under = f"{ends} the {name.get(second, second)} score"
            assert who in said
            assert under in said


def test_who_alone_has_no_infinite_scores_is_not_said_to_have_the_lowest_mean() -> None:
    a, b, _ = ORDER
    alone = between_rules(board(rules=("brier", "log"), infinite=(3, 0, 1)))
    assert f"Under the log score, {b} alone has no infinite scores; its mean is 0.4000." in alone
    some = between_rules(board(rules=("brier", "log"), infinite=(0, 0, 1)))
    assert f"Under the log score, {a} leads as well among the 2 without infinite scores, mean 0.3000." in some
    none = between_rules(board(rules=("brier", "log"), infinite=(3, 2, 2)))
    assert f"Under the log score every model has infinite scores; {b} has the fewest." in none


def test_pairs_that_cannot_be_tested_are_not_counted_as_equal() -> None:
    found = board(rules=("brier", "log"), adjusted={"log": (0.001, None, 0.5)})
    assert "1 of 2 pairs that can be tested is significantly different." in between_rules(found)
    found = board(rules=("brier", "log"), adjusted={"log": (None, None, None)})
    assert "No pair can be tested." in between_rules(found)


@given(st.tuples(*[st.sampled_from([-0.1, 0.1])] * 3), st.tuples(*[st.sampled_from([0.01, 0.5, None])] * 3))
def test_a_rank_that_contradicts_a_significant_pair_comes_with_a_warning(
    values: tuple[float, ...], ps: tuple[float | None, ...]
) -> None:
    found = made.apart(board(differences={"brier": values}, adjusted={"brier": ps}), (40, 30, 20))
    said = told(statements.against_ranks(found, shown(found)))
    upset = [(a, b) for (a, b), d, p in zip(PLACES, values, ps, strict=True) if d > 0 and p == 0.01]
    assert said.count("stands above") == len(upset)
    for a, b in upset:
        n = (40, 30, 20)[b]
        assert (
            f"{ORDER[a]} stands above {ORDER[b]}, yet is significantly worse on the {n} cases of both, by 0.100."
            in said
        )
    assert ("not by single pairs" in said) == bool(upset)
    worse = [ORDER[b] for a, b in upset if a == 0]
    verdict = str(statements.verdict(found, shown(found)))
    assert ("is significantly worse than" in verdict) == bool(worse)
    assert all(name in verdict for name in worse)
