"""Reliability diagrams say what was found, no more and no less."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.report.plot import calibration_factories as diagnosed
from tests.report.plot.parse_svg import parsed
from toplist.calibration import reliability
from toplist.report import plot
from toplist.report.plot.reliability import POINTS, thinned
from toplist.report.text import Name

UNIT = st.lists(st.floats(0, 1), max_size=60).map(sorted)


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


def test_a_curve_is_the_step_function_and_no_longer_than_it_can_be_seen():
    one = diagnosed.reliability(n=20000)
    (panel,) = plot.reliability(one).data.panels
    assert len(panel.curve) <= POINTS + 2
    assert len(panel.band) <= POINTS + 2
    for x, value in panel.curve:
        assert value == pytest.approx(float(one.steps(x)))
    assert sum(bar.count for bar in panel.bars) == one.count


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


def test_the_largest_count_is_written():
    one = diagnosed.reliability(n=30_000)
    largest = max(b.count for b in one.histogram)
    assert f"{largest:,}" in "".join(parsed(plot.reliability(one).svg()).itertext())


def test_short_names_that_are_given_are_written_and_the_full_one_tells_the_model():
    drawn = plot.calibration_panel(
        "xgboost-depth3-lr0.05", diagnosed.reliability(), shown={"xgboost-depth3-lr0.05": Name("…depth3…")}
    )
    root = parsed(drawn.svg())
    (named,) = [e for e in root.iter() if e.tag.endswith("text") and "…depth3…" in "".join(e.itertext())]
    assert named.get("data-model") == "xgboost-depth3-lr0.05"


def test_what_was_measured_can_be_drawn():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5] * 6, size=80)
    lists, y = tl.TopLists.from_proba(p), rng.integers(0, 6, 80)
    assert len(plot.reliability([reliability(lists, y, of=1), reliability(lists, y, of="mass")]).data.panels) == 2
