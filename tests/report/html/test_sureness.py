"""What the page says in plain words is what the numbers say."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report import results as made
from toplist.inference.results import Comparison, ConfidenceSet, Estimate, Pair
from toplist.report import statements
from toplist.report.html.leaderboard import pairs as pair_table
from toplist.report.text import Name, Sentence, names, sentence, series

BASE = {n: made.drawn(tuple("ABCDEFG"[:n]), cases=40, rules=("brier",), zeros=False, paths=0) for n in range(1, 8)}
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)


@st.composite
def judged(draw: st.DrawFn, most: int = 7) -> Comparison:
    """Results with any p values and any differences that go with them, some of them right at the limit."""
    base = BASE[draw(st.integers(2, most))]
    level = draw(st.sampled_from(LEVELS))
    edge = 1 - level
    p = (
        st.none()
        | st.sampled_from([0.0, edge, math.nextafter(edge, 1), math.nextafter(edge, 0), 1.0])
        | st.floats(0, 1)
    )
    value = st.floats(-2, 2).filter(lambda x: abs(x) > 1e-9)
    found = []
    for a, b in combinations([row.name for row in base.overall.rows], 2):
        adjusted, difference = draw(p), draw(value)
        more = draw(st.none() | st.integers(0, 10**9))
        found.append(Pair("brier", a, b, 40, Estimate(difference, p=adjusted), adjusted, more))
    return replace(base, level=level, pairs=tuple(found))


def shown(results: Comparison) -> dict[str, Name]:
    return names(row.name for row in results.overall.rows)


def claims(said: Sentence, order: list[str]) -> set[tuple[str, str]]:
    """Who is said to be better than whom, as a reader takes it who has the table at hand."""
    winner, *others = [part.text for part in said.parts if isinstance(part, Name)]
    assert re.match(rf"{winner} is significantly better than ", str(said))
    if str(said).endswith("than all others."):
        return {(winner, other) for other in order if other != winner}
    if below := re.search(r"and the (\d+) below it in the table\.$", str(said)):
        (first,) = others
        after = order[order.index(first) + 1 :]
        assert len(after) == int(below[1])
        others += after
    return {(winner, other) for other in others}


@given(judged())
def test_a_pair_is_called_sure_exactly_when_its_adjusted_p_is_at_most_one_minus_the_level(results: Comparison) -> None:
    """And the better one is the one that the sign of the difference says."""
    order = [row.name for row in results.overall.rows]
    sure = [pair for pair in results.pairs if pair.adjusted_p is not None and pair.adjusted_p <= 1 - results.level]
    expected = {(p.a, p.b) if p.difference.value < 0 else (p.b, p.a) for p in sure}
    said = [claims(one, order) for one in statements.sure(results, shown(results), "brier")]
    assert set().union(*said) == expected
    assert sum(map(len, said)) == len(expected)


@given(judged(most=4))
def test_every_other_pair_with_a_p_value_is_said_to_be_unsure(results: Comparison) -> None:
    expected = {(p.a, p.b) for p in results.pairs if p.adjusted_p is not None and p.adjusted_p > 1 - results.level}
    said = statements.unsure(results, shown(results), "brier")
    found = [tuple(part.text for part in one.parts if isinstance(part, Name)) for one in said]
    assert set(found) == expected
    assert len(found) == len(expected)
    untested = {(p.a, p.b) for p in results.pairs if p.adjusted_p is None}
    assert bool(statements.untested(results, shown(results), "brier")) == bool(untested)


@given(judged())
def test_the_table_of_pairs_says_the_same(results: Comparison) -> None:
    table = pair_table(results, shown(results))
    heads = [str(head.text) for head in table.heads]
    at = {name: heads.index(name) for name in ("first", "second", "verdict", "difference")}
    by = {(pair.a, pair.b): pair for pair in results.pairs}
    assert len(table.rows) == len(by)
    for row in table.rows:
        pair = by[str(row[at["first"]].text), str(row[at["second"]].text)]
        sure = pair.adjusted_p is not None and pair.adjusted_p <= 1 - results.level
        better = pair.a if pair.difference.value < 0 else pair.b
        unsure = "not tested" if pair.adjusted_p is None else "not significant"
        assert str(row[at["verdict"]].text) == (f"{better} is better" if sure else unsure)
        assert row[at["difference"]].value == pair.difference.value


@given(judged())
def test_the_counts_add_up(results: Comparison) -> None:
    said = str(statements.tally(results, "brier"))
    tested = [p for p in results.pairs if p.adjusted_p is not None]
    sure = [p for p in tested if p.adjusted_p is not None and p.adjusted_p <= 1 - results.level]
    if not tested:
        assert said.startswith(("None of the", "The pair could not"))
    elif not sure:
        assert said.startswith("No difference is significant under the Brier score")
    elif len(sure) == len(results.pairs):
        assert said.startswith(("Every difference is significant", "The difference is significant"))
    else:
        numbers = [int(n) for n in re.findall(r"\d+", said.partition(" Significant means")[0])]
        rest = len(results.pairs) - len(tested)
        assert numbers == [len(results.pairs), len(sure), len(tested) - len(sure), *([rest] if rest else [])]
    assert f"at most {1 - results.level:.6g}." in said or not tested


@given(judged())
def test_the_first_lines_agree_with_the_pairs_of_the_leader(results: Comparison) -> None:
    leader = results.overall.rows[0].name
    own = [p for p in results.pairs if p.a == leader]
    sure = [p for p in own if p.adjusted_p is not None and p.adjusted_p <= 1 - results.level and p.difference.value < 0]
    said = " ".join(map(str, statements.lede(replace(results, confidence_set=None), shown(results))))
    assert said.startswith(f"{leader} leads with the lowest mean Brier score")
    if len(sure) == len(own):
        assert "significantly better than all others" in said or "significantly better than the other one" in said
    elif f"significantly better than {len(sure)} of the {len(own)} others" not in said:
        assert not sure
        told = (
            "not significantly better than any other" if any(p.adjusted_p is not None for p in own) else "not be tested"
        )
        assert told in said


@settings(max_examples=30)
@given(judged())
def test_accuracy_is_said_to_disagree_exactly_where_it_does(results: Comparison) -> None:
    accuracy = {row.name: row.metrics["accuracy"].value for row in results.overall.rows}
    found = statements.against_accuracy(results, shown(results))
    expected = [pair for pair in results.pairs if (accuracy[pair.a] - accuracy[pair.b]) * (pair.difference.value) > 0]
    told = [one for one in found if "is right more often" in str(one)]
    assert len(told) == min(3, len(expected))
    for one in told:
        right, scores = [part.text for part in one.parts if isinstance(part, Name)]
        assert accuracy[right] > accuracy[scores]


def test_nothing_is_sure_where_models_are_alike() -> None:
    alike = made.drawn(cases=60, apart=0.0, zeros=False, seed=5)
    assert str(statements.tally(alike, "brier")).startswith("No difference is significant")
    assert not statements.sure(alike, shown(alike), "brier")
    assert "not significantly better than any other" in " ".join(map(str, statements.lede(alike, shown(alike))))


def test_infinite_scores_come_with_their_counts_and_are_not_tested() -> None:
    found = made.drawn()
    (said, why) = map(str, statements.infinities(found, shown(found)))
    assert said.startswith("Under the log score, some scores are infinite: hard labels (1 of 1,200 cases).")
    assert why == "A score is infinite where what happened was given no chance at all."
    verdicts = [str(row[5].text) for row in pair_table(found, shown(found)).rows if str(row[0].text) == "log"]
    assert verdicts.count("hard labels has infinite scores") == 5


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ("A", "A is the best under the Brier score, at 95% confidence."),
        ("AB", "The best under the Brier score is among A and B, at 95% confidence."),
        ("ABC", "At 95% confidence nobody can be ruled out as the best under the Brier score."),
    ],
)
def test_the_confidence_set_is_told_in_words(members: str, said: str) -> None:
    chosen = ConfidenceSet("brier", 0.95, tuple(members), {}, 40, "bootstrap", 1)
    pairs = tuple(
        Pair("brier", a, b, 40, Estimate(-0.1, -0.2, -0.01, p=0.001), 0.5 if {a, b} <= set(members) else 0.01, 0)
        for a, b in ("AB", "AC", "BC")
    )
    found = replace(BASE[3], confidence_set=chosen, pairs=pairs)
    assert [str(one) for one in statements.best(found, shown(found))] == [said]


def test_where_two_methods_disagree_nobody_is_called_the_best() -> None:
    """The confidence set leaves one, and tests of pairs do not tell it from the others."""
    chosen = ConfidenceSet("brier", 0.95, ("A",), {"A": 1.0, "B": 0.049, "C": 0.04}, 40, "bootstrap", 1)
    pairs = tuple(Pair("brier", a, b, 40, Estimate(-0.1, -0.2, 0.01, p=0.06), 0.12, 9) for a, b in ("AB", "AC", "BC"))
    found = replace(BASE[3], confidence_set=chosen, pairs=pairs)
    (said,) = map(str, statements.best(found, shown(found)))
    assert said.startswith(
        "A alone is left in the confidence set of the best under the Brier score, at 95% confidence."
    )
    assert "near it nothing is sure" in said
    assert "is the best" not in " ".join(map(str, statements.lede(found, shown(found))))


def test_who_alone_is_finite_was_not_tested() -> None:
    chosen = ConfidenceSet("brier", 0.95, ("A",), {"A": 1.0, "B": 0.0, "C": 0.0}, 40, "the only one", None)
    found = replace(BASE[3], confidence_set=chosen)
    assert str(statements.best(found, shown(found))[0]) == "A alone has no infinite scores under the Brier score."


def test_the_first_lines_do_not_hide_that_the_leader_has_infinite_scores() -> None:
    found = made.drawn(("A", "B"), zeros=True, apart=0.0)
    rows = tuple(sorted(found.overall.rows, key=lambda row: -row.scores["log"].infinite))
    found = replace(found, overall=replace(found.overall, rows=rows), confidence_set=None)
    assert "Under the log score its mean is infinite, because of 1 of 1,200 cases." in map(
        str, statements.lede(found, shown(found))
    )


def test_what_it_takes_to_tell_two_apart_is_said() -> None:
    def told(more: int | None) -> str:
        pair = Pair("brier", "A", "B", 40, Estimate(-0.01, -0.03, 0.01, p=0.3), 0.3, more)
        found = replace(BASE[2], pairs=(pair,))
        (said,) = statements.unsure(found, shown(found), "brier")
        return str(said)

    for unit in ("cluster", "time point"):
        pair = Pair("brier", "A", "B", 40, Estimate(-0.01, -0.03, 0.01, p=0.3), 0.3, 12)
        found = replace(BASE[2], pairs=(pair,), unit=unit, units=9)
        (said,) = statements.unsure(found, shown(found), "brier")
        assert str(said).endswith(
            f"About 12 more {unit}s like these would tell them apart 4 times in 5, looked at alone, "
            "if there are as many."
        )
        assert f"extra {unit}s" in [str(head.text) for head in pair_table(found, shown(found)).heads]
    assert told(4123).endswith("About 4,100 more cases like these would tell them apart 4 times in 5, looked at alone.")
    assert told(1).endswith("About 1 more case like these would tell them apart 4 times in 5, looked at alone.")
    far = replace(
        BASE[2],
        pairs=(replace(BASE[2].pairs[0], a="A", b="B", adjusted_p=0.3, extra_units=32_557),),
        unit="time point",
        units=28,
    )
    (said,) = statements.unsure(far, shown(far), "brier")
    assert str(said).endswith("It would take more than 10 times as many time points as there are.")
    assert told(0).endswith("Alone they would be told apart, but not among 1 pair.")
    assert told(None).endswith("cannot be said.")
    assert "difference -0.010 (-0.030 to +0.010), adjusted p 0.300." in told(None)


def test_one_model_is_nothing_to_tell_apart() -> None:
    found = replace(BASE[1], confidence_set=None)
    assert "nothing to tell apart" in str(statements.tally(found, "brier"))
    assert len(statements.lede(found, shown(found))) == 1


@given(st.lists(st.text(min_size=1), min_size=1, max_size=30), st.integers(1, 8))
def test_a_list_names_or_counts_everything(items: list[str], most: int) -> None:
    said = sentence(*series([Name(item) for item in items], most))
    kept = [part.text for part in said.parts if isinstance(part, Name)]
    assert kept == items[: len(kept)]
    more = len(items) - len(kept)
    assert more != 1
    assert str(said.parts[-1]) == (f"{more:,} more" if more else items[-1])
