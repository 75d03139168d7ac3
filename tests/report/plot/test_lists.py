"""Figures of diagnosis and improvement say what was found, no more and no less."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.report.plot import calibration_factories as diagnosed
from tests.report.plot.parse_svg import parsed
from toplist.calibration import decompose, reliability
from toplist.postprocess.selective import rejection_curve
from toplist.postprocess.truncation import choose_k, choose_mass
from toplist.report import plot
from toplist.report.plot.reliability import POINTS, thinned
from toplist.report.text import Name

UNIT = st.lists(st.floats(0, 1), max_size=60).map(sorted)
NUMBERS = st.floats(-3, 3)


@given(x=UNIT, points=st.integers(1, 20))
def test_a_thinned_line_keeps_both_ends_and_gaps_of_the_least_size(x, points):
    kept = thinned(x, points)
    assert kept == sorted(set(kept))
    if x:
        assert kept[0] == 0
        assert kept[-1] == len(x) - 1
        gaps = np.diff([x[i] for i in kept])
        assert (gaps[:-1] >= 1 / points).all()
        assert len(kept) <= points + 2


@given(m=NUMBERS, d=NUMBERS, u=NUMBERS, misses=st.floats(0, 1), penalty=st.floats(0, 1))
def test_the_steps_of_a_decomposition_end_at_the_score(m, d, u, misses, penalty):
    (row,) = plot.decomposition(diagnosed.parts(m, d, u, misses, penalty)).data.rows
    for step, following in zip(row.steps, row.steps[1:], strict=False):
        assert following.start == pytest.approx(step.start + step.change, abs=1e-12)
    assert row.steps[0].start == 0
    assert row.steps[-1].start + row.steps[-1].change == pytest.approx(row.score, abs=1e-9)


def test_a_score_without_parts_has_no_steps():
    rows = diagnosed.PLOTS["decomposition of infinite"].data.rows
    assert [bool(row.steps) for row in rows] == [False, True]
    assert rows[0].score == math.inf


def test_a_curve_is_the_step_function_and_no_longer_than_it_can_be_seen():
    one = diagnosed.reliability(n=20000)
    (panel,) = plot.reliability(one).data.panels
    assert len(panel.curve) <= POINTS + 2
    assert len(panel.band) <= POINTS + 2
    for x, value in panel.curve:
        assert value == pytest.approx(float(one.steps(x)))
    assert sum(bar.count for bar in panel.bars) == one.count


def test_panels_are_named_by_model_or_by_what_they_are_of():
    names = [one.name for one in diagnosed.PLOTS["reliability of ranks"].data.panels]
    assert names == ["rank 1", "rank 2", "rank 3", "rank 4", "rank 5"]
    assert [one.name for one in diagnosed.PLOTS["reliability without bands"].data.panels] == ["a", "b"]


def test_a_panel_says_the_bias_with_its_interval_and_the_p_value():
    (panel,) = diagnosed.PLOTS["panel"].data.panels
    assert panel.found == ["+4.9 pts (4.4 to 5.3)", "p \u22640.005"]
    texts = [e.text for e in parsed(diagnosed.PLOTS["panel"].svg()).iter() if e.tag.endswith("text")]
    titles = "".join(parsed(diagnosed.PLOTS["panel"].svg()).itertext())
    assert all(line in titles for line in panel.found)
    assert "confidence of the top class" in texts
    assert "observed accuracy" in texts


def test_a_panel_is_small_enough_for_a_row_of_them():
    root = parsed(diagnosed.PLOTS["panel"].svg())
    assert float(root.get("width")) == 230
    assert float(root.get("height")) <= 300


def test_at_most_six_curves_are_drawn_and_the_others_are_counted():
    data = diagnosed.PLOTS["reliability of many"].data
    assert [one.name for one in data.panels] == [f"model {i}" for i in (0, 1, 2, 3, 10, 11)]
    assert data.more == 6
    assert data.subtitle.endswith("and 6 more")


def test_the_largest_count_is_written():
    one = diagnosed.reliability(n=30_000)
    largest = max(b.count for b in one.histogram)
    assert f"{largest:,}" in "".join(parsed(plot.reliability(one).svg()).itertext())


def test_the_words_say_confidence_and_accuracy():
    one = diagnosed.reliability()
    words = plot.reliability(one).data.words
    assert f"mean confidence {100 * one.mean_confidence:.1f}%" in words
    assert f"observed accuracy {100 * one.hit_rate:.1f}%" in words


def test_short_names_that_are_given_are_written_and_the_full_one_tells_the_model():
    drawn = plot.calibration_panel(
        "xgboost-depth3-lr0.05", diagnosed.reliability(), shown={"xgboost-depth3-lr0.05": Name("…depth3…")}
    )
    root = parsed(drawn.svg())
    (named,) = [e for e in root.iter() if e.tag.endswith("text") and "…depth3…" in "".join(e.itertext())]
    assert named.get("data-model") == "xgboost-depth3-lr0.05"


def test_the_choice_of_validation_is_said():
    data = diagnosed.PLOTS["truncation to k"].data
    assert data.words.startswith("Lower is better. The lowest mean is 0.362 at k = 5; k = 3 with")
    assert "and that is chosen" in diagnosed.PLOTS["truncation to the best"].data.words


def test_rejection_lines_rise_in_coverage_and_end_with_all_cases():
    for line in diagnosed.PLOTS["rejection of several"].data.lines:
        assert list(line.coverage) == sorted(line.coverage)
        assert line.coverage[-1] == 1
        assert line.accepted[-1] == pytest.approx(line.overall[-1])


def test_what_was_measured_can_be_drawn():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5] * 6, size=80)
    lists, y = tl.TopLists.from_proba(p), rng.integers(0, 6, 80)
    assert [point.at for point in plot.truncation(choose_k(lists, y)).data.points] == list(range(7))
    assert plot.truncation(choose_mass(lists, y)).data.by == "mass"
    (line,) = plot.rejection(rejection_curve(lists, y)).data.lines
    assert line.coverage[-1] == 1
    assert line.accepted[-1] == pytest.approx(tl.score(lists, y).mean())
    (row,) = plot.decomposition(decompose(lists, y)).data.rows
    assert row.score == pytest.approx(tl.score(lists, y).mean())
    assert len(plot.reliability([reliability(lists, y, of=1), reliability(lists, y, of="mass")]).data.panels) == 2


@given(counts=st.dictionaries(st.integers(0, 5000), st.integers(0, 9), max_size=30))
def test_bars_of_lengths_hold_every_list_once(counts):
    data = plot.sizes(counts).data
    assert sum(bar.cases for bar in data.bars) == data.cases == sum(counts.values())
    for k, n in counts.items():
        if n:
            assert sum(bar.low <= k <= bar.high for bar in data.bars) == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["reliability of ranks", "decomposition of several", "truncation to k"])
def test_figures_of_lists_are_drawn_in_both_themes(name, theme):
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    svg = diagnosed.PLOTS[name].svg(theme, inline=False)
    assert parsed(svg).get("role") == "img"


def test_figures_of_lists_are_found_by_name():
    assert all(getattr(plot, name) is made for name, made in plot.OF_LISTS.items())
    assert not set(plot.OF_LISTS) & set(plot.PLOTS)


@given(m=st.floats(0, 1), d=st.floats(0, 1), u=st.floats(1, 2), misses=st.floats(0, 1))
def test_stacked_bars_end_at_the_score(m, d, u, misses):
    for row in plot.decomposition({"a": diagnosed.parts(m, d, u, misses), "b": diagnosed.parts()}).data.rows:
        last = row.stacked[-1]
        assert last.start + last.change == pytest.approx(row.score, abs=1e-9)
