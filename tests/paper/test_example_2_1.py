"""Example 2.1: set accuracy and instance F1 want different sets, and a list has the answer to both."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import toplist as tl
from tests.paper.test_section2_scores import EXAMPLE_2_1, instance_f1, sets_of
from toplist.multilabel.metrics import METRICS, SetMetric
from toplist.multilabel.set_decisions import f1_sets, hamming_sets, jaccard_sets, marginals, mode_sets

SPACE = tl.LabelSets([1, 2, 3, 4, 5])
EVERY = sets_of(range(1, 6))
TRUE = [{x: float(q) for x, q in EXAMPLE_2_1.items()}]
MODE, ONE = frozenset({1, 2}), frozenset({1})


def expected(metric: SetMetric) -> dict[frozenset[int], Fraction]:
    """The expectation of the library's metric for every set that could be predicted, in exact numbers."""
    out = {}
    for x in EVERY:
        values = metric([x] * len(EXAMPLE_2_1), list(EXAMPLE_2_1), SPACE)
        exact = [Fraction(float(v)).limit_denominator(60) for v in values]
        np.testing.assert_allclose(values, [float(v) for v in exact], rtol=0, atol=1e-15)
        out[x] = sum((q * v for q, v in zip(EXAMPLE_2_1.values(), exact, strict=True)), Fraction(0))
    return out


def best(metric: SetMetric) -> list[frozenset[int]]:
    values = expected(metric)
    wanted = max(values.values()) if metric.better == "higher" else min(values.values())
    return [x for x, value in values.items() if value == wanted]


def test_expected_f1_of_the_mode_is_surpassed_by_a_single_label() -> None:
    """0.64 < 2/3: the library's metric has the paper's numbers."""
    f1 = expected(METRICS["instance_f1"])
    assert f1 == {x: sum(q * instance_f1(x, y) for y, q in EXAMPLE_2_1.items()) for x in EVERY}
    assert f1[MODE] == Fraction(64, 100) < f1[ONE] == Fraction(2, 3) == max(f1.values())


def test_set_accuracy_prefers_the_mode() -> None:
    accuracy = expected(METRICS["set_accuracy"])
    assert accuracy == {x: EXAMPLE_2_1.get(x, Fraction(0)) for x in EVERY}
    assert best(METRICS["set_accuracy"]) == [MODE]


def test_each_metric_has_one_answer_and_they_are_not_the_same() -> None:
    answers = {name: best(metric) for name, metric in METRICS.items()}
    assert answers == {"set_accuracy": [MODE], "instance_f1": [ONE], "jaccard": [MODE], "hamming": [ONE]}


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_the_true_list_has_the_answer_to_every_metric(metric: SetMetric) -> None:
    lists = tl.TopLists.from_dicts(TRUE, SPACE)
    assert SPACE.named(metric.decide(lists)) == best(metric)


def test_decisions_of_the_example() -> None:
    lists = tl.TopLists.from_dicts(TRUE, SPACE)
    assert marginals(lists).tolist() == [pytest.approx([1.0, 0.28, 0.24, 0.24, 0.24], abs=1e-15)]
    assert SPACE.named(mode_sets(lists)) == SPACE.named(jaccard_sets(lists)) == [MODE]
    assert SPACE.named(f1_sets(lists)) == SPACE.named(hamming_sets(lists)) == [ONE]


def test_the_padded_brier_score_prefers_the_true_list() -> None:
    """Whichever set a metric asks for, as a bare set it scores worse than the truth, and worse than its probability."""
    truth = tl.TopLists.from_dicts(TRUE, SPACE)
    full = tl.expected_score(truth, truth)[0]
    assert full == pytest.approx(float(1 - sum(q * q for q in EXAMPLE_2_1.values())), abs=1e-15)
    guesses = tl.TopLists.from_dicts([{x: 1.0} for x in EVERY], SPACE)
    scores = tl.expected_score(guesses, truth[[0] * len(EVERY)])
    np.testing.assert_allclose(scores, [2 * float(1 - EXAMPLE_2_1.get(x, Fraction(0))) for x in EVERY], atol=1e-15)
    single = tl.expected_score(truth.truncate(1), truth)[0]
    rest = Fraction(72, 100)
    assert single == pytest.approx(float(1 - Fraction(28, 100) ** 2 - rest**2 / 31), abs=1e-15)
    assert full < single < scores.min()


def test_jaccard_is_not_consistent_for_the_mode_either() -> None:
    """With one set more of the same kind: {1} is never right and never far off."""
    p = {frozenset({1, 2}): Fraction(24, 100)} | {frozenset({1, j}): Fraction(19, 100) for j in (3, 4, 5, 6)}
    space = tl.LabelSets(range(1, 7))

    def index(x: frozenset[int]) -> Fraction:
        return sum((q * Fraction(len(x & y), len(x | y)) for y, q in p.items()), Fraction(0))

    values = {x: index(x) for x in sets_of(range(1, 7))}
    assert values[MODE] == Fraction(148, 300) < values[ONE] == Fraction(1, 2) == max(values.values())
    lists = tl.TopLists.from_dicts([{x: float(q) for x, q in p.items()}], space)
    assert space.named(jaccard_sets(lists)) == [ONE]
    assert space.named(mode_sets(lists)) == [MODE]
