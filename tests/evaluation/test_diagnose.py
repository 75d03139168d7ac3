"""A diagnosis tells over- from underconfidence and neither from chance, in memory and from files alike."""

import json
import math

import numpy as np
import pytest

import toplist as tl
from toplist.errors import OutcomeError, ShapeError, SpaceError, TopListError
from toplist.evaluation import samples
from toplist.evaluation.diagnose import diagnose
from toplist.evaluation.diagnosis import Diagnosis, rank_rows
from toplist.evaluation.samples import CaseSampler, by_place
from toplist.lists import from_logs

M = 6


MEAN = "the mean confidence of the top-1 prediction is 0."


def drawn(n=600, power=1.0, seed=0, k=M):
    """Lists that are true for power 1, too sure of themselves above and not sure enough below."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.6] * M, size=n)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    told = p**power
    return tl.TopLists.from_proba(told / told.sum(axis=1, keepdims=True)).truncate(k), y


@pytest.mark.parametrize(
    ("power", "words"),
    [(3.0, f"Overconfident: {MEAN}"), (0.4, f"Underconfident: {MEAN}")],
)
def test_the_verdict_names_the_direction(power, words):
    found = diagnose(*drawn(power=power))
    assert found.miscalibrated
    assert found.verdict.startswith(words)
    assert found.bias is not None
    assert (found.bias.difference > 0) == (power > 1)


def test_a_difference_that_the_test_does_not_find_is_undecided():
    """The test looks everywhere, and may miss a small shift of the first class whose interval leaves zero out."""
    for seed in range(40):
        found = diagnose(*drawn(300, power=1.2, seed=seed), draws=39)
        sure = [gap is not None and not gap.low <= 0 <= gap.high for gap in (found.bias, found.mass_bias)]
        if not found.miscalibrated and sure[0]:
            assert found.verdict.startswith(f"Undecided: {MEAN}")
            assert "but the test over all ranks is not significant (p = 0." in found.verdict
            assert "o evidence" not in found.verdict
            assert "would have been detected" not in found.verdict
            break
    else:
        pytest.fail("no such sample")


def test_no_evidence_comes_with_the_difference_that_would_have_been_found():
    found = diagnose(*drawn())
    assert not found.miscalibrated
    assert found.verdict.startswith("No evidence of miscalibration in 600 cases (p = 0.")
    least = f"{found.bias.detectable:.3f}"
    assert (
        f"; a difference of {least} between mean confidence and accuracy of the top-1 prediction would have been "
        "detected with 80% power." in found.verdict
    )
    assert found.to_dict()["bias"]["detectable"] == found.bias.detectable
    assert 2 * found.bias.detectable == pytest.approx((found.bias.high - found.bias.low) * 1.43, rel=0.01)


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_but_a_command_is_wider_than_asked_for(width):
    found = diagnose(*drawn(power=3.0, k=3))
    text = found.to_text(width, command="toplist recalibrate fit " + "long/" * 40 + "a.csv -o a.json")
    assert [line[:30] for line in text.splitlines() if len(line) > width] == ["Next: toplist recalibrate fit "]
    assert f"(up to \u2212{found.decomposition.miscalibration:.3f} in mean Brier score)" in text


def test_without_evidence_there_is_nothing_to_do_next():
    found = diagnose(*drawn())
    assert found.gain is None
    assert "Next:" not in found.to_text()


def test_a_calibration_error_below_zero_is_shown_as_zero():
    every = (diagnose(*drawn(seed=seed), draws=39) for seed in range(40))
    found = next(one for one in every if one.calibration_error.value < 0)
    text = " ".join(found.to_text().split())
    assert "Calibration error of the top-1 prediction: 0 (the debiased estimate of its square is below zero" in text
    assert "Intervals are cut at the ends of what is possible." in text


def test_ranks_end_where_all_is_zero():
    found = diagnose(*drawn())
    rows = rank_rows(found.decomposition)
    assert set(rows[-1][2:]) != {"0.0000"}


def test_intervals_in_text_stay_within_what_is_possible():
    y = [0] * 3 + [1]
    found = diagnose(tl.TopLists.from_topk([[0]] * 4, [[0.9]] * 4, 2), y, draws=39)
    assert found.bias.high > 0.9
    assert "to +0.900" in found.to_text()


def test_what_is_off_in_both_directions_is_said_to_have_none():
    n = 400
    t = np.where(np.arange(n) % 2, 0.9, 0.5)[:, None]
    y = np.where(np.arange(n) % 2, np.arange(n) % 10 < 6, np.arange(n) % 20 < 16).astype(int)
    found = diagnose(tl.TopLists.from_topk(np.ones((n, 1), int), t, 2), y)
    assert found.miscalibrated
    assert found.verdict.startswith("Miscalibrated, but not in one direction")


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


@pytest.mark.parametrize(
    "predictions",
    [
        drawn(30)[0],
        drawn(30)[0].padded(),
        (np.zeros((30, 1), int), np.full((30, 1), 0.5)),
        [{0: 0.5, 1: 0.2}] * 30,
        [0, 1, 2] * 10,
    ],
    ids=["lists", "array", "pair", "dicts", "labels"],
)
def test_anything_that_makes_lists_will_do(predictions):
    found = diagnose(predictions, [0, 1, 3] * 10, space=M)
    assert (found.cases, found.classes) == (30, "6 classes")
    assert found.decomposition is not None


def test_what_cannot_be_scored_is_looked_at_all_the_same():
    found = diagnose([{"a": 0.7, "b": 0.5}, {"a": -9999.0}, {"a": 0.2}], ["a", "b", "a"], space=3)
    assert found.blocking
    assert found.calibration is None
    assert found.miscalibrated is None
    assert {"mass above one", "negative"} <= {one.kind for one in found.issues if one.blocking}
    assert found.verdict.startswith("These predictions cannot be scored as they are: ")
    assert "sum to 1.2" in found.reason
    assert found.plots == ("sizes",)
    with pytest.raises(TopListError, match="there is no reliability to draw"):
        found.plot()


def test_repairs_make_it_scorable_and_the_oddity_stays():
    found = diagnose([{"a": 0.7, "b": 0.5}, {"a": 0.2}], ["a", "a"], space=3, read=tl.ReadOptions(normalize=True))
    assert not found.blocking
    told = {one.kind: one.message for one in found.issues}
    assert told["mass above one"].endswith("This is repaired, as requested.")
    assert found.decomposition is not None
    percent = diagnose([[70.0, 30.0], [20.0, 80.0]], [0, 1], read=tl.ReadOptions(scale="percent"))
    assert percent.decomposition is not None


def test_without_outcomes_there_are_oddities_and_the_reason_for_the_rest():
    found = diagnose(["a", "b"] * 20)
    assert found.verdict == found.reason == "No outcomes were given, so nothing is said of calibration."
    assert found.issues
    assert found.classes == "an unknown number of classes"


def test_hard_labels_empty_lists_and_full_distributions_are_diagnosed():
    y = [0, 1] * 10
    hard = diagnose(tl.TopLists.from_labels([0, 0] * 10, 3), y)
    assert hard.bias.mean_confidence == 1
    assert hard.test.p < 0.05
    nothing = diagnose(tl.TopLists.from_dicts([{}] * 20, 3), y)
    assert nothing.bias is None
    assert nothing.calibration.top is None
    assert nothing.calibration.mass.hit_rate == 0
    assert any("Every list is empty" in note for note in nothing.notes)
    assert repr(nothing)


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


def test_label_sets_a_sparse_matrix_and_one_list_will_do():
    from scipy.sparse import csr_array

    space = tl.LabelSets([f"label {i}" for i in range(100)])
    sets = diagnose([{"label 1"}, {"label 2", "label 3"}] * 10, [{"label 1"}, {"label 2"}] * 10, space=space)
    assert (sets.classes, sets.bias.hit_rate) == ("2**100 classes", 0.5)
    sparse = diagnose(csr_array(np.array([[0.5, 0.2, 0.3], [0.0, 1.0, 0.0]])), [0, 1])
    assert sparse.cases == 2
    assert diagnose(tl.TopList({0: 0.5}, 3), 0).bias.hit_rate == 1


@pytest.mark.parametrize("m", [2**10000, math.inf])
def test_any_number_of_classes_will_do(m):
    lists = tl.TopLists.from_dicts([{"x": 0.7, "y": 0.2}, {"z": 0.4}, {}] * 10, m)
    found = diagnose(lists, ["x", "w", "z"] * 10)
    assert math.isfinite(found.decomposition.score)
    assert repr(found)


def test_the_number_of_classes_may_differ_from_case_to_case():
    lists = tl.TopLists.from_topk([[0], [1]] * 15, [[0.6], [0.5]] * 15, tl.ClassSpace([2, 5] * 15))
    found = diagnose(lists, [0, 3] * 15)
    assert found.classes == "a number of classes per case"
    assert found.decomposition.score == pytest.approx(tl.score(lists, [0, 3] * 15).mean())


def test_confidences_that_are_only_logarithms_are_diagnosed():
    lists = from_logs([0, 1, 2], [0, 1], [-3083.0, -0.5], 2**10000)
    placed, y = by_place(lists, [0, 5])
    assert placed.log_confidences is not None
    assert y.tolist() == [0, 1]
    assert math.isfinite(diagnose(lists, [0, 5]).decomposition.score)


def test_one_case_has_no_interval_and_says_so():
    found = diagnose(tl.TopLists.from_topk([[0]], [[0.5]], 3), [0])
    assert found.calibration_error is None
    assert found.bias.low is None
    assert any("calibration error needs two cases" in note for note in found.notes)
    assert repr(found)


def test_no_cases_are_no_error():
    found = diagnose(tl.TopLists.from_dicts([], 3), [])
    assert found.cases == 0
    assert found.verdict.startswith("Calibration cannot be tested.")
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_a_record_is_fit_for_json_under_its_schema():
    record = diagnose(*drawn(60, k=2)).to_dict()
    assert record["schema"] == "toplist.diagnosis/1"
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_the_same_seed_gives_the_same_diagnosis():
    one, other = (diagnose(*drawn(100, 1.5), inference=tl.Inference(seed=3)) for _ in range(2))
    assert one.to_dict() == other.to_dict()
    assert one.to_dict() != diagnose(*drawn(100, 1.5), inference=tl.Inference(seed=4)).to_dict()


def test_every_plot_that_is_offered_is_made_and_an_unknown_one_refused():
    found = diagnose(*drawn(60))
    assert found.plots == ("reliability", "ranks", "listed", "mass", "decomposition", "sizes")
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
            into.add(lists[at], y[at], at + 1)
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
        assert isinstance(one, Diagnosis)
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

    def test_a_file_without_a_truth_has_oddities_alone(self, files):
        found = diagnose(files[0])
        assert found.cases == 300
        assert found.reason.startswith("No outcomes were given")

    def test_a_bad_file_has_serious_oddities_and_no_calibration(self, tmp_path, files):
        (tmp_path / "bad.csv").write_text("case,class,confidence\n0,c0,1.7\n1,c1,0.5\n1,c2,0.7\n")
        found = diagnose(tmp_path / "bad.csv", files[1], space=M)
        assert found.blocking
        assert found.decomposition is None
        assert "Nothing is said of calibration before this is repaired" in repr(found)

    def test_blanks_are_left_out_where_that_is_asked_for(self, tmp_path):
        rows = "".join(f"{i},a,{50 + i},b,{'' if i % 4 else 10}\n" for i in range(20))
        (tmp_path / "p.csv").write_text("case,class1,percent1,class2,percent2\n" + rows)
        (tmp_path / "t.csv").write_text("case,outcome\n" + "".join(f"{i},a\n" for i in range(20)))
        files = tmp_path / "p.csv", tmp_path / "t.csv"
        bad = diagnose(*files, space=30, read=tl.ReadOptions(scale="percent"))
        assert [one.kind for one in bad.issues if one.blocking] == ["class without a confidence"]
        good = diagnose(*files, space=30, read=tl.ReadOptions(scale="percent", blanks="drop"))
        assert not good.blocking
        assert [one.count for one in good.calibration.ranks] == [20, 5]
        with pytest.raises(TopListError, match="blanks are about files"):
            diagnose([{"a": 0.5}], space=3, read=tl.ReadOptions(blanks="drop"))

    def test_a_truth_of_distributions_is_refused(self, files, tmp_path):
        (tmp_path / "soft.csv").write_text("case,c0,c1\n0,0.5,0.5\n1,0.2,0.8\n")
        with pytest.raises(OutcomeError, match="one outcome per case"):
            diagnose(files[0], tmp_path / "soft.csv", space=M)

    def test_classes_that_are_never_listed_or_never_happen_are_found(self, tmp_path):
        (tmp_path / "p.csv").write_text("case,class,confidence\n" + "\n".join(f"{i},a,0.5" for i in range(40)))
        (tmp_path / "t.csv").write_text("case,outcome\n" + "\n".join(f"{i},b" for i in range(40)))
        kinds = " ".join(
            one.kind + one.message for one in diagnose(tmp_path / "p.csv", tmp_path / "t.csv", space=3).issues
        )
        assert "never happens" in kinds
        assert "never listed" in kinds


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
    into = CaseSampler(limit, named=True)
    for at in (slice(12, 20), slice(0, 12)):
        into.add(lists[at], y[at], np.arange(20)[at])
    found = into.sample()
    assert found.named is not None
    assert found.codes is not None
    expected = lists[found.rows]
    assert np.array_equal(found.named.classes, expected.classes)
    assert np.array_equal(found.named.confidences, found.lists.confidences)
    assert np.array_equal(found.codes, y[found.rows])
    assert np.array_equal(by_place(found.named, found.codes)[1], found.y)
