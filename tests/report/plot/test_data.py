"""What is drawn is a function of what was found, and of nothing else."""

import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.report import results as made
from toplist.calibration.pairs import Bin
from toplist.errors import TopListError
from toplist.inference.ranking import judge
from toplist.inference.results import PredictionType
from toplist.report import plot
from toplist.report.plot.canvas import label, labels, width

MEANS = st.one_of(st.floats(-10, 10), st.just(math.inf), st.just(math.nan))


@st.composite
def boards(draw):
    means = draw(st.lists(MEANS, min_size=1, max_size=8))
    who = draw(st.lists(st.text(max_size=6), min_size=len(means), max_size=len(means), unique=True))
    half = draw(st.one_of(st.none(), st.floats(1e-6, 1)))
    members = draw(st.one_of(st.none(), st.integers(0, len(means))))
    groups = draw(st.lists(st.text(max_size=4), max_size=4, unique=True))
    return made.board(who, means, half=half, members=members, groups=groups)


def same(a, b):
    return a == b or (a != a and b != b)


@given(board=boards())
def test_rows_are_the_marks_of_the_table_in_its_order(board):
    data = plot.intervals(board).data
    assert [row.name for row in data.rows] == [s.name for s in board.overall.rows]
    for row, standing in zip(data.rows, board.overall.rows, strict=True):
        score = standing.scores["brier"].mean
        assert same(row.score, score.value)
        assert (row.low, row.high, row.infinite) == (score.low, score.high, standing.scores["brier"].infinite)


@given(board=boards())
def test_members_are_those_of_the_confidence_set(board):
    data = plot.intervals(board).data
    if board.confidence_set is None:
        assert {row.member for row in data.rows} == {None}
        assert data.set_level is None
    else:
        assert tuple(row.name for row in data.rows if row.member) == board.confidence_set.members


def test_each_rule_has_a_confidence_set_of_its_own():
    board = made.board(rules=("brier", "log"), members=2)
    apart = [replace(pair, adjusted_p=0.01) if pair.rule == "log" else pair for pair in board.pairs]
    board = replace(board, pairs=tuple(apart))
    assert [row.member for row in plot.intervals(board).data.rows] == [True, True, False]
    assert [row.member for row in plot.intervals(board, "log").data.rows] == [True, False, False]


def test_under_another_rule_models_come_in_its_order():
    board = made.board(("a", "b"), rules=("brier", "log"))
    first, second = board.overall.rows
    worse = replace(first, scores={**first.scores, "log": made.mark("log", 9.0)})
    infinite = replace(second, scores={**second.scores, "log": made.mark("log", math.inf)})
    ranked = replace(board, overall=replace(board.overall, rows=(worse, second)))
    assert [row.name for row in plot.intervals(ranked, "log").data.rows] == ["b", "a"]
    ranked = replace(board, overall=replace(board.overall, rows=(worse, infinite)))
    assert [row.name for row in plot.intervals(ranked, "log").data.rows] == ["a", "b"]


@pytest.mark.parametrize("kind", plot.OF_RESULTS)
def test_an_unknown_rule_is_named_beside_those_that_are_there(kind):
    with pytest.raises(TopListError, match="'spam' is no rule of this leaderboard: there are 'brier'"):
        plot.PLOTS[kind](made.board(), "spam")


@given(board=boards())
def test_the_matrix_is_antisymmetric_and_holds_every_pair_twice(board):
    data = plot.pairs(board).data
    cells = {(c.row, c.column): c for c in data.cells}
    assert len(cells) == len(data.cells) == 2 * len(board.pairs)
    for (row, column), cell in cells.items():
        other = cells[column, row]
        assert same(cell.difference, -other.difference)
        assert cell.significant == other.significant
        assert row != column


@given(board=boards())
def test_significant_is_what_is_adjusted_to_at_most_one_minus_the_level(board):
    data = plot.pairs(board).data
    place = {name: i for i, name in enumerate(data.names)}
    cells = {(c.row, c.column): c for c in data.cells}
    for pair in board.pairs:
        cell = cells[place[pair.a], place[pair.b]]
        assert same(cell.difference, pair.difference.value)
        assert cell.significant == (
            pair.adjusted_p is not None and pair.adjusted_p <= 1 - board.level and pair.difference.value != 0
        )


@given(board=boards())
def test_written_differences_have_at_most_three_digits(board):
    data = plot.pairs(board).data
    known = [abs(c.difference) for c in data.cells if math.isfinite(c.difference)]
    if any(known):
        assert 10 <= max(known) / 10.0**data.unit < 1000


@given(board=boards())
def test_groups_hold_the_mean_of_every_model_in_the_order_of_the_table(board):
    data = plot.groups(board).data
    assert data.names == tuple(s.name for s in board.overall.rows)
    assert tuple(g.name for g in data.groups) == tuple(s.group for s in board.groups)
    for group, section in zip(data.groups, board.groups, strict=True):
        means = {s.name: s.scores["brier"].mean.value for s in section.rows}
        assert all(same(mean, means[name]) for mean, name in zip(group.means, data.names, strict=True))
        known = [m for m in group.means if math.isfinite(m)]
        assert group.lowest is None if not known else group.means[group.lowest] == min(known)


def test_a_dot_of_a_group_is_hollow_where_another_model_is_significantly_better_in_it():
    board = made.drawn(tuple("ABCD"), cases=300, groups=3, zeros=False, apart=4.0)
    for panel, section in zip(plot.groups(board).data.groups, board.groups, strict=True):
        verdicts = [judge(pair, board.level) for pair in section.pairs if pair.rule == "brier"]
        worse = {v.worse for v in verdicts if v.significant}
        assert panel.beaten == tuple(row.name in worse for row in board.overall.rows)
        assert any(panel.beaten)


def test_a_model_without_cases_in_a_group_has_no_mean_there():
    board = made.board(groups=("x",))
    short = replace(board.groups[0], rows=board.groups[0].rows[1:])
    (group,) = plot.groups(replace(board, groups=(short,))).data.groups
    assert math.isnan(group.means[0])
    assert (group.low, group.high) == (None, None)


def test_curves_are_those_of_the_exhibits_and_others_are_named():
    exhibits = [made.exhibit("a"), made.exhibit("soft", curve=()), made.exhibit("b", place=2)]
    data = plot.curves(iter(exhibits)).data
    assert [(c.name, c.ks, c.scores) for c in data.curves] == [(e.name, e.ks, e.curve) for e in exhibits if e.curve]
    assert data.without == ("soft",)


@pytest.mark.parametrize(
    ("ks", "logarithmic"), [((1, 5, 31), False), ((1, 5, 32), True), ((0, 40), True), ((1,), False)]
)
def test_the_axis_of_k_is_logarithmic_beyond_a_span_of_thirty(ks, logarithmic):
    assert plot.curves([made.exhibit("a", ks=ks)]).data.logarithmic is logarithmic


def test_e_values_are_powers_of_ten_and_the_threshold_is_one_over_one_minus_the_level():
    found = made.path()
    data = plot.path(found).data
    assert 10**data.threshold == pytest.approx(20)
    assert [10**x for x in data.better[:5]] == pytest.approx([math.exp(x) for x in found.log_evidence_better[:5]])
    assert data.of == found
    assert plot.paths([found, found]).data.paths == (data, data)


def test_reliability_takes_one_exhibit_or_several_and_leaves_out_empty_bins():
    empty = Bin(0.0, 0.1, 0, math.nan, math.nan)
    one = replace(made.exhibit("a"), top=(empty, *made.bins()))
    assert plot.reliability(one).data == plot.reliability([one]).data
    (panel,) = plot.reliability(one).data.panels
    assert panel.top == made.bins()
    assert panel.listed == one.listed


@given(cases=st.lists(st.integers(0, 1000), min_size=4, max_size=4))
def test_shares_of_shapes_add_up_to_one(cases):
    kinds = ("empty list", "hard label", "top list", "distribution")
    shapes = [PredictionType(kind, n, 0.3, 0) for kind, n in zip(kinds, cases, strict=True)]
    (row,) = plot.shapes([made.exhibit("a", shapes=shapes)]).data.rows
    assert {part.kind for part in row.parts} == {s.kind for s in shapes if s.cases}
    assert sum(part.share for part in row.parts) == pytest.approx(1 if any(cases) else 0)


def test_plots_and_their_values_are_frozen():
    drawn = plot.intervals(made.board())
    with pytest.raises(FrozenInstanceError):
        drawn.data = None
    with pytest.raises(FrozenInstanceError):
        drawn.data.rows[0].score = 0.0


def test_words_say_what_is_infinite_missing_and_in_the_set():
    board = made.board(("a", "b", "c"), [0.3, math.inf, math.nan], members=1)
    words = plot.intervals(board).data.words
    assert "a 0.300 (0.296 to 0.304)" in words
    assert "b has an infinite mean, with 17 infinite scores" in words
    assert "c has no cases" in words
    assert "confidence set of the best: a and c." in words  # of whom nothing is known


def test_words_of_a_path_say_when_something_was_shown():
    found = replace(made.path(), separated=120, shown_better=400)
    words = plot.path(found).data.words
    assert "After 120 cases new is significantly better than old on average over the cases so far" in words
    assert "After 400 cases there is significant evidence that new had a lower expected score than old" in words
    assert "No significant difference to old in 1,000 cases." in plot.path(made.path(drift=0.0)).data.words
    one = replace(made.path(1), cases=1, at=(1,))
    assert plot.path(one).data.words.startswith("After 1 case, the mean Brier score of new minus that of old is ")


def test_an_estimate_without_an_interval_has_none_in_the_figure():
    board = made.board(("a",), half=None)
    (row,) = plot.intervals(board).data.rows
    assert (row.low, row.high) == (None, None)


def test_what_does_not_exist_says_why():
    assert "a 0.300 (no interval: no interval)" in plot.intervals(made.board(("a",), half=None)).data.words
    assert "Scores have no known bound." in plot.path(made.path(band=False)).data.words


def pairwise(board, ratios):
    """The board with these relative scores, in the order of the table; None where there is none."""

    def related(section):
        rows = tuple(
            replace(
                row,
                scores={
                    m.rule: replace(m, relative=None if r is None else made.estimate(r)) for m in row.scores.values()
                },
            )
            for row, r in zip(section.rows, ratios, strict=True)
        )
        return replace(section, rows=rows)

    groups = tuple(related(section) for section in board.groups)
    return replace(board, missing="pairwise", overall=related(board.overall), groups=groups)


def test_where_cases_differ_what_is_drawn_is_relative_to_the_others_on_the_cases_of_both():
    board = pairwise(made.board(("a", "b", "c"), [0.3, 0.2, math.inf], groups=("x",)), (0.8, 1.3, None))
    data = plot.intervals(board).data
    assert [row.score for row in data.rows] == [0.8, 1.3, math.inf]
    assert (data.rows[0].low, data.rows[0].high) == (pytest.approx(0.796), pytest.approx(0.804))
    assert data.line == 1
    assert data.title == "Relative Brier score of 3 models"
    assert "Below 1 is better" in data.words
    (group,) = plot.groups(board).data.groups
    assert group.means == (0.8, 1.3, math.inf)
    assert plot.groups(board).data.title.startswith("Relative Brier score")


def test_elsewhere_means_are_drawn_and_the_leader_is_the_line():
    data = plot.intervals(made.board(("a", "b"), [0.3, 0.4])).data
    assert (data.line, data.relative) == (0.3, False)


def test_who_has_no_relative_score_is_not_placed_by_another():
    data = plot.intervals(pairwise(made.board(("a", "b"), [0.3, 0.4]), (0.8, None))).data
    assert math.isnan(data.rows[1].score)
    assert "b has no relative score" in data.words


def test_under_another_rule_models_come_by_their_relative_scores():
    board = pairwise(made.board(("a", "b"), rules=("brier", "log")), (1.2, 0.7))
    assert [row.name for row in plot.intervals(board, "log").data.rows] == ["b", "a"]


def test_a_confidence_set_without_p_values_is_not_shown():
    board = made.board(members=2)
    board = replace(board, pairs=tuple(replace(pair, adjusted_p=None) for pair in board.pairs))
    data = plot.intervals(board).data
    assert data.set_level is None
    assert {row.member for row in data.rows} == {None}


@given(st.lists(st.text(alphabet="abW日", max_size=60), unique=True, max_size=6), st.floats(5, 20))
def test_different_names_have_different_labels_that_fit(who, room):
    shown = labels(who, room)
    assert len(set(shown)) == len(who)
    assert all(width(text) <= room + 1.5 for text in shown)


def test_the_same_name_has_the_same_label():
    assert labels(["x" * 90, "x" * 90, "y"], 8.0) == [label("x" * 90, 8.0)] * 2 + ["y"]


def test_the_steps_of_colour_are_found_once_however_many_pairs_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at all pairs for each of them would be the fourth power of the number of models."""
    from toplist.report.plot import leaderboard as figure

    calls = []
    found = figure.edges
    monkeypatch.setattr(figure, "edges", lambda *given: calls.append(1) or found(*given))
    rng = np.random.default_rng(0)
    made = {f"m{i}": rng.dirichlet(np.ones(3), 20) for i in range(6)}
    tl.compare(made, rng.integers(0, 3, 20), rules="brier").plot("pairs").figure()
    assert len(calls) <= 2
