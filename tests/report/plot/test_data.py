"""What is drawn is a function of what was found, and of nothing else."""

import math
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report import results as made
from tests.report.plot.cases import BREAKDOWNS, FORTY
from tests.report.plot.parse_svg import parsed
from toplist.errors import TopListError
from toplist.inference.ranking import judge
from toplist.report import plot

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


def test_each_rule_has_pairs_of_its_own():
    board = made.board(rules=("brier", "log"), members=2)
    apart = [replace(pair, adjusted_p=0.01) if pair.rule == "log" else pair for pair in board.pairs]
    board = replace(board, pairs=tuple(apart))
    assert [row.worse for row in plot.intervals(board).data.rows] == [False, False, True]
    assert [row.worse for row in plot.intervals(board, "log").data.rows] == [False, True, True]


def test_bars_join_runs_in_which_no_two_are_significantly_different():
    data = plot.intervals(made.board(("a", "b", "c", "d"), members=2)).data
    assert data.ties == ((0, 1), (2, 3))


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
def test_the_matrix_holds_every_pair_once_the_lower_row_minus_the_higher_column(board):
    data = plot.pairs(board).data
    place = {name: i for i, name in enumerate(data.names)}
    cells = {(c.row, c.column): c for c in data.cells}
    assert len(cells) == len(data.cells) == len(board.pairs)
    for pair in board.pairs:
        a, b = place[pair.a], place[pair.b]
        cell = cells[max(a, b), min(a, b)]
        assert same(cell.difference, pair.difference.value if a > b else -pair.difference.value)
        assert cell.significant == (
            pair.adjusted_p is not None and pair.adjusted_p <= 1 - board.level and pair.difference.value != 0
        )


@given(board=boards())
def test_only_significant_pairs_are_coloured_and_on_the_side_of_their_sign(board):
    for cell in plot.pairs(board).data.cells:
        assert (cell.shade != 0) == cell.significant
        assert cell.shade == 0 or (cell.shade > 0) == (cell.difference > 0)


def test_colour_is_deeper_the_larger_a_difference_is_in_standard_errors():
    def shade(errors):
        return plot.leaderboard.PairCell(1, 0, 0.01, None, None, 0.01 / errors, 0.01, True).shade

    assert [shade(errors) for errors in (2, 4, 6, 10, 100)] == [1, 2, 3, 4, 4]


@given(board=boards())
def test_groups_hold_the_mean_of_every_model_in_the_order_of_the_table(board):
    data = plot.groups(board).data
    assert data.models == tuple(s.name for s in board.overall.rows)
    sections = {section.group: section for section in board.groups}
    assert set(data.groups) == set(sections)
    for group, row in zip(data.groups, data.means, strict=True):
        means = {s.name: s.scores["brier"].mean.value for s in sections[group].rows}
        assert all(same(mean, means[name]) for mean, name in zip(row, data.models, strict=True))


def test_a_cell_of_a_group_is_coloured_where_another_model_is_significantly_better_in_it():
    board = made.drawn(tuple("ABCD"), cases=300, groups=3, zeros=False, apart=4.0)
    data, sections = plot.groups(board).data, {section.group: section for section in board.groups}
    for group, shades in zip(data.groups, data.shades, strict=True):
        verdicts = [judge(pair, board.level) for pair in sections[group].pairs if pair.rule == "brier"]
        worse = {v.worse for v in verdicts if v.significant}
        assert tuple(map(bool, shades)) == tuple(name in worse for name in data.models)
        assert any(shades)


def test_a_model_without_cases_in_a_group_has_no_mean_there():
    board = made.board(groups=("x",))
    short = replace(board.groups[0], rows=board.groups[0].rows[1:])
    (row,) = plot.groups(replace(board, groups=(short,))).data.means
    assert math.isnan(row[0])


def test_of_a_breakdown_what_is_significant_is_coloured_and_nothing_else():
    data = plot.groups(BREAKDOWNS["many models"], "brier").data
    for shades, marked in zip(data.shades, BREAKDOWNS["many models"].significant, strict=True):
        assert tuple(map(bool, shades)) == marked


@pytest.mark.parametrize(
    ("groups", "lines", "dates"),
    [
        (("2025-01-04", "2025-01-11"), True, True),
        (("1", "2", "10"), True, False),
        (("b", "a"), False, False),
        (("1", "nan"), False, False),
    ],
)
def test_groups_that_are_numbers_or_dates_lie_on_an_axis(groups, lines, dates):
    data = plot.groups(made.board(groups=groups)).data
    assert (data.lines, data.dates) == (lines, dates)


def test_groups_of_other_names_come_hardest_first():
    data = plot.groups(made.board(groups=("x", "y", "z"))).data
    middles = [data.middle(i) for i in range(3)]
    assert middles == sorted(middles, reverse=True)
    assert data.title.startswith(f"Hardest group: {data.groups[0]}")


def test_curves_are_those_of_the_exhibits_and_others_are_named():
    exhibits = [made.exhibit("a"), made.exhibit("soft", curve=()), made.exhibit("b", place=2)]
    data = plot.curves(iter(exhibits)).data
    assert [(c.name, c.ks, c.curve) for c in data.curves] == [(e.name, e.ks, e.curve) for e in exhibits if e.curve]
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


def test_plots_and_their_values_are_frozen():
    drawn = plot.intervals(made.board())
    with pytest.raises(FrozenInstanceError):
        drawn.data = None
    with pytest.raises(FrozenInstanceError):
        drawn.data.rows[0].score = 0.0


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
    assert data.subtitle.startswith("Relative Brier score with 95% intervals, 1,000 cases; below 1 is better")
    assert "Below 1 is better" in data.words
    assert plot.groups(board).data.means == ((0.8, 1.3, math.inf),)


def test_who_has_no_relative_score_is_not_placed_by_another():
    data = plot.intervals(pairwise(made.board(("a", "b"), [0.3, 0.4]), (0.8, None))).data
    assert math.isnan(data.rows[1].score)
    assert "b no relative score" in data.words


def test_under_another_rule_models_come_by_their_relative_scores():
    board = pairwise(made.board(("a", "b"), rules=("brier", "log")), (1.2, 0.7))
    assert [row.name for row in plot.intervals(board, "log").data.rows] == ["b", "a"]


def test_decimals_are_found_once_however_many_pairs_there_are(monkeypatch):
    """Looking at all pairs for each of them would be the fourth power of the number of models."""
    calls = []
    found = plot.leaderboard.decimals
    monkeypatch.setattr(plot.leaderboard, "decimals", lambda *given, **more: calls.append(1) or found(*given, **more))
    plot.pairs(made.board(FORTY)).svg()
    assert len(calls) <= 3


@pytest.mark.parametrize(
    ("drawn", "sentence"),
    [
        (plot.curves([made.exhibit("a", ks=(3,))]), "All lists have one length: k = 3."),
        (plot.groups(BREAKDOWNS["one class"], "brier"), "All cases are in one group: cat."),
        (plot.pairs(made.board(("a",))), "There are no pairs of models to compare."),
    ],
)
def test_a_figure_of_one_value_is_a_sentence(drawn, sentence):
    assert drawn.data.single == sentence
    assert not drawn.sheet().panels
    text = "".join(parsed(drawn.svg()).itertext())
    assert sentence in text
