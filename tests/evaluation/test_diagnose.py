"""A diagnosis tells over- from underconfidence and neither from chance, in memory and from files alike."""

import numpy as np
import pytest

import toplist as tl
from tests.golden.diagnoses import CLASSES as M
from tests.golden.diagnoses import drawn
from toplist.errors import OutcomeError, ShapeError, SpaceError, TopListError
from toplist.evaluation import samples
from toplist.evaluation.diagnose import diagnose
from toplist.evaluation.samples import CaseSample, CaseSampler, by_place


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_but_a_command_is_wider_than_asked_for(width):
    found = diagnose(*drawn(power=3.0, k=3))
    text = found.to_text(width, command="toplist recalibrate fit " + "long/" * 40 + "a.csv -o a.json")
    assert [line[:30] for line in text.splitlines() if len(line) > width] == ["Next: toplist recalibrate fit "]
    assert f"(up to \u2212{found.decomposition.miscalibration:.3f} in mean Brier score)" in text


def test_numbers_are_those_of_the_functions_that_have_their_names():
    from toplist import calibration

    lists, y = drawn(power=2.0, k=3)
    found = diagnose(lists, y, inference=0.9)
    assert found.decomposition.score == pytest.approx(tl.score(lists, y).mean())
    assert found.bias == calibration.calibration_bias(lists, y, level=0.9)
    assert found.mass_bias == calibration.calibration_bias(lists, y, of="mass", level=0.9)
    assert found.calibration_error == calibration.calibration_error(lists, y, level=0.9)
    assert found.test == calibration.calibration_test(lists, y, draws=199)
    assert found.calibration.top.hit_rate == pytest.approx(tl.accuracy(lists, y))
    assert [one.of for one in found.calibration.ranks] == [1, 2, 3]
    assert found.exact


def test_classes_may_be_called_anything():
    lists, y = drawn(200, power=2.0, k=3)
    names = [f"class {i}" for i in range(M)]
    named = [{names[c]: t for c, t in one.confidences.items()} for one in lists]
    one, other = diagnose(lists, y), diagnose(named, [names[i] for i in y], space=M)
    assert one.decomposition.score == pytest.approx(other.decomposition.score)
    assert one.test.p == other.test.p


def test_what_cannot_be_scored_is_looked_at_all_the_same():
    found = diagnose([{"a": 0.7, "b": 0.5}, {"a": -9999.0}, {"a": 0.2}], ["a", "b", "a"], space=3)
    assert found.blocking
    assert found.calibration is None
    assert found.miscalibrated is None
    assert {"mass above one", "negative"} <= {one.kind for one in found.issues if one.blocking}
    assert found.verdict.startswith("These predictions cannot be scored as they are: ")
    assert "sum to 1.2" in found.reason
    assert found.plots == ()
    with pytest.raises(TopListError, match="there is no reliability to draw"):
        found.plot()


def test_of_invalid_lists_their_largest_valid_sublists_are_diagnosed():
    lists = tl.TopLists.from_dicts([{"x": 0.5, "y": 0.2}, {"x": 0.0, "y": 0.9}] * 10, 3)
    y = ["x", "y"] * 10
    assert not lists.is_valid().all()
    found = diagnose(lists, y)
    assert found.decomposition.score == pytest.approx(tl.score(lists, y).mean())
    assert found.decomposition.penalty > 0
    assert len(found.calibration.ranks) == int(lists.strictly_valid().sizes.max())
    nothing = diagnose(tl.TopLists.from_dicts([{"x": 0.0}] * 10, 3), ["y"] * 10)
    assert nothing.calibration.top is None


def test_the_number_of_classes_may_differ_from_case_to_case():
    lists = tl.TopLists.from_topk([[0], [1]] * 15, [[0.6], [0.5]] * 15, tl.ClassSpace([2, 5] * 15))
    found = diagnose(lists, [0, 3] * 15)
    assert found.classes == "a number of classes per case"
    assert found.decomposition.score == pytest.approx(tl.score(lists, [0, 3] * 15).mean())


def test_the_same_seed_gives_the_same_diagnosis():
    one, other = (diagnose(*drawn(100, 1.5), inference=tl.Inference(seed=3)) for _ in range(2))
    assert one.to_dict() == other.to_dict()
    assert one.to_dict() != diagnose(*drawn(100, 1.5), inference=tl.Inference(seed=4)).to_dict()


def test_every_plot_that_is_offered_is_made_and_an_unknown_one_refused():
    found = diagnose(*drawn(60))
    assert found.plots == ("reliability", "ranks", "listed", "mass")
    for name in found.plots:
        assert found.plot(name).data.words
    with pytest.raises(TopListError, match="'spam' is no plot of a diagnosis: there are reliability, ranks"):
        found.plot("spam")


def test_the_page_is_text_that_a_terminal_can_show():
    found = diagnose([{"a\x1b[31m": 0.5}, {"b\u202e": 0.9}] * 20, ["a\x1b[31m", "c\x07"] * 20, space=5)
    assert "\x1b" not in repr(found)
    assert "\u202e" not in repr(found)
    assert all(len(line) <= 120 for line in repr(found).split("\n"))


def test_what_cannot_be_meant_is_refused_in_words():
    lists, y = drawn(20)
    with pytest.raises(ShapeError, match="19 outcomes for 20 cases"):
        diagnose(lists, y[:-1])
    with pytest.raises(OutcomeError, match="one outcome per case, not a distribution"):
        diagnose(lists, lists)
    with pytest.raises(SpaceError, match="how many classes are there"):
        diagnose([{"a": 0.5}], ["a"])
    with pytest.raises(TopListError, match="level"):
        diagnose(lists, y, inference=2)
    with pytest.raises(TopListError, match="there is no such file"):
        diagnose("preds.csv", [0, 1], space=3)
    with pytest.raises(TopListError, match="blanks are about files"):
        diagnose(lists, y, read=tl.ReadOptions(blanks="drop"))


def test_many_cases_are_added_up_in_bins_and_the_diagnosis_says_so(monkeypatch):
    lists, y = drawn(2000, power=2.0, k=3)
    exact = diagnose(lists, y)
    monkeypatch.setattr("toplist.evaluation.diagnose.EXACT", 1500)
    found = diagnose(lists, y)
    assert not found.exact
    assert found.tested == 500
    assert any("one case in 4:" in note for note in found.notes)
    assert found.bias.difference == pytest.approx(exact.bias.difference)
    assert found.decomposition.score == pytest.approx(exact.decomposition.score)
    assert found.decomposition.miscalibration == pytest.approx(exact.decomposition.miscalibration, abs=0.005)
    assert found.verdict.split(":")[0] == exact.verdict.split(":")[0]
    assert found.plot("reliability").data.band == ""


@pytest.mark.parametrize("limit", [10**9, 700, 100, 1])
def test_how_cases_come_in_never_shows_in_what_is_held(limit):
    lists, y = drawn(300, k=4)
    orders = [np.arange(300), np.random.default_rng(1).permutation(300)]
    found = []
    for order, step in zip(orders, (300, 37), strict=True):
        into = CaseSampler(limit)
        for lo in range(0, 300, step):
            at = order[lo : lo + step]
            into.add(CaseSample.of(lists[at], y[at], at + 1))
        found.append(into.sample())
    one, other = found
    assert one.every == other.every
    assert one.lists == other.lists
    assert one.y.tolist() == other.y.tolist()
    assert one.binned == other.binned
    assert (one.binned is None) == (limit >= 1200)


def test_places_keep_scores_ranks_and_validity():
    rng = np.random.default_rng(5)
    t = rng.random((50, 3)) * 0.3
    lists = tl.TopLists.from_topk(np.tile([4, 0, 2], (50, 1)), t, 8)
    y = rng.integers(0, 8, 50)
    placed, places = by_place(lists, y)
    assert tl.score(placed, places).tolist() == tl.score(lists, y).tolist()
    assert placed.is_valid().tolist() == lists.is_valid().tolist()
    assert (placed.is_valid() == 0).any()


class TestFiles:
    @pytest.fixture(autouse=True)
    def _readers(self):
        pytest.importorskip("pyarrow", reason="files need pyarrow")
        pytest.importorskip("duckdb", reason="files need DuckDB")

    @pytest.fixture
    def files(self, tmp_path):
        lists, y = drawn(300, power=2.0, k=3)
        order = np.random.default_rng(2).permutation(300)
        rows = ["case,class,confidence"]
        for i in order:
            rows += [f"{i},c{c},{t!r}" for c, t in lists[int(i)].confidences.items()]
        (tmp_path / "preds.csv").write_text("\n".join(rows))
        (tmp_path / "y.csv").write_text("\n".join(["case,outcome", *(f"{i},c{c}" for i, c in enumerate(y))]))
        return tmp_path / "preds.csv", tmp_path / "y.csv", lists, y

    def test_a_file_says_what_the_same_lists_say_in_memory(self, files):
        preds, truth, lists, y = files
        one, other = diagnose(preds, truth, space=M), diagnose(lists, y)
        assert isinstance(one, tl.Diagnosis)
        assert one.name == "preds.csv"
        assert one.test == other.test
        assert one.bias.difference == pytest.approx(other.bias.difference)
        assert one.decomposition.score == pytest.approx(other.decomposition.score)
        assert one.exact

    def test_a_long_file_is_binned_and_sampled(self, files, monkeypatch):
        preds, truth, lists, y = files
        monkeypatch.setattr("toplist.evaluation.diagnose.EXACT", 500)
        found = diagnose(str(preds), str(truth), space=M)
        assert not found.exact
        assert 0 < found.tested < 300
        assert found.decomposition.score == pytest.approx(tl.score(lists, y).mean())

    def test_a_frame_will_do(self, files):
        import pyarrow.csv as csv

        preds, truth, lists, y = files
        found = diagnose(csv.read_csv(preds), csv.read_csv(truth), space=M)
        assert found.test == diagnose(lists, y).test


@pytest.mark.parametrize("exact", [True, False], ids=["held", "bins"])
def test_ranks_that_only_invalid_lists_have_are_not_asked_for(exact, monkeypatch):
    """What is scored of {0: 0.01, 1: 0.5} is {1: 0.5}: no list has a second rank."""
    if not exact:
        monkeypatch.setattr("toplist.evaluation.diagnose.EXACT", 1)
    found = diagnose(tl.TopLists.from_dicts([{0: 0.01, 1: 0.5}, {0: 0.9}], 4), [1, 0])
    assert found.exact == exact
    assert [one.of for one in found.calibration.ranks] == [1]


def test_cases_that_are_not_held_are_in_the_curves(monkeypatch):
    """Bins see every case: the curve is there although all that is held is empty."""
    monkeypatch.setattr("toplist.evaluation.diagnose.EXACT", 1)
    found = diagnose(tl.TopLists.from_dicts([{}, {0: 0.6, 1: 0.3}], 4), [1, 0])
    assert [one.of for one in found.calibration.ranks] == [1, 2]
    assert repr(found)


def test_the_limit_is_a_number_of_listed_classes():
    assert samples.EXACT == 2_000_000


@pytest.mark.parametrize("limit", [1, 20, 60])
def test_a_sample_by_class_is_the_sample_by_place_with_its_classes(limit):
    lists, y = drawn(n=20, k=3)
    named, placed = CaseSampler(limit), CaseSampler(limit)
    for at in (slice(12, 20), slice(0, 12)):
        named.add(CaseSample.of(lists[at], y[at], np.arange(20)[at], named=True))
        placed.add(CaseSample.of(lists[at], y[at], np.arange(20)[at]))
    found, expected = named.sample(), placed.sample()
    assert np.array_equal(found.rows, expected.rows)
    assert np.array_equal(found.lists.classes, lists[found.rows].classes)
    assert np.array_equal(found.y, y[found.rows])
    by_places, positions = found.by_place()
    assert np.array_equal(by_places.classes, expected.lists.classes)
    assert np.array_equal(by_places.confidences, expected.lists.confidences)
    assert np.array_equal(positions, expected.y)
    assert found.binned == expected.binned


@pytest.mark.parametrize("limit", [5, 20])
def test_an_outcome_that_no_list_names_is_beyond_its_list_in_samples_of_any_size(limit):
    lists, y = tl.as_lists([{"x": 0.75}, {"x": 0.5}] * 10, 4), ["x", "y"] * 10
    named, placed = (samples.sample_cases(lists, y, limit=limit, named=known) for known in (True, False))
    assert (named.every, named.binned) == (placed.every, placed.binned)
    assert (named.every > 1) == (limit < 20)
    assert samples.in_order(named).y.tolist() == placed.y.tolist()
    board = tl.compare({"a": lists, "b": [{"x": 0.5}] * 20}, y, space=4)
    assert set(board.details().calibration(board.comparison, seed=0).judged) == {"a", "b"}
