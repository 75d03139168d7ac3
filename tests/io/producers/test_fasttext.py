"""Predictions of fastText models that were trained for these tests: printed, in Python, and with each loss."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.io.producers.reading import produced, recognised_as
from tests.io.producers.real import written_by
from toplist.errors import FileError, TopListError
from toplist.lists import as_lists

ADDED = 1e-5  # what fastText adds to each probability


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return written_by("fasttext", "tests.io.producers.fasttext_predictions", tmp_path_factory)


def known(home, loss):
    return json.loads((home / f"{loss}.json").read_text())


def pair_of(made):
    """What `predict` returns for several texts."""
    return made["labels"], [np.array(one, dtype=np.float32) for one in made["probabilities"]]


def names_of(made):
    return [label.removeprefix("__label__") for label in made["known"]]


def softmax(made):
    z = np.array(made["scores"])
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_printed_probabilities_are_the_softmax_and_what_fasttext_adds(home):
    made = known(home, "softmax")
    p, names = softmax(made), names_of(made)
    rows, _ = produced(home / "softmax-top2.txt")
    for row, expected in zip(rows, p, strict=True):
        order = np.argsort(-expected)[:2]
        assert row["classes"] == [names[at] for at in order]
        np.testing.assert_allclose(row["confidences"], expected[order] + ADDED, rtol=0, atol=2e-6)


def test_lists_that_add_up_to_slightly_more_than_one_are_divided_by_the_sum_and_noted(home):
    made = known(home, "softmax")
    p, names = softmax(made), names_of(made)
    rows, notes = produced(home / "softmax.txt")
    assert notes == (
        "7 lists added up to slightly more than 1, because fastText adds 1e-5 to each probability: divided by the sum.",
    )
    for row, expected in zip(rows, p, strict=True):
        exact = {name: (q + ADDED) / (1 + len(names) * ADDED) for name, q in zip(names, expected, strict=True)}
        assert dict(zip(row["classes"], row["confidences"], strict=True)) == pytest.approx(exact, abs=2e-6)
        assert sum(row["confidences"]) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("loss", ["softmax", "hs"])
def test_the_file_and_the_pair_of_lists_in_memory_give_the_same_scores(home, loss):
    made = known(home, loss)
    names, y = names_of(made), ["en", "de", "fr", "it", "de", "fr", "en"]
    of_file, of_pair = tl.read_lists(home / f"{loss}.txt", names), as_lists(pair_of(made), names)
    np.testing.assert_allclose(tl.score(of_file, y), tl.score(of_pair, y), rtol=0, atol=1e-5)
    if loss == "softmax":
        p = softmax(made)
        expected = ((p - (np.array(y)[:, None] == np.array(names))) ** 2).sum(axis=1)
        np.testing.assert_allclose(tl.score(of_pair, y), expected, rtol=0, atol=1e-4)
        assert of_pair.repairs == {"normalized": 7}


@pytest.mark.parametrize("name", ["ova.txt", "ova-top2.txt"])
def test_probabilities_per_label_are_refused_with_the_row(home, name):
    with pytest.raises(FileError, match=r"row 1: .*ova.*best_sets"):
        produced(home / name)
    with pytest.raises(TopListError, match="best_sets"):
        as_lists(pair_of(known(home, "ova")), 4)


def test_a_blank_line_is_a_reject_that_keeps_the_others_in_their_places(home, tmp_path):
    text = (home / "hs-sure.txt").read_text()
    assert "\n\n" in text
    rows, notes = produced(home / "hs-sure.txt")
    lines = text.removesuffix("\n").split("\n")
    assert [len(row["classes"]) for row in rows] == [len(line.split()) // 2 for line in lines]
    assert notes[-1].startswith("3 lists without an entry")
    first = tmp_path / "first.txt"
    first.write_text("\n" + text)
    assert recognised_as(first) == "fasttext"
    assert [row["classes"] for row in produced(first)[0]] == [[], *(row["classes"] for row in rows)]


words = st.sampled_from(["__label__a", "__label__b", "x", "0.5", "1e-5", "-1", "nan", "", "\t", "é", "__label__"])


@given(st.lists(st.lists(words, max_size=5), min_size=1, max_size=4))
def test_damaged_lines_are_read_or_refused(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("damaged") / "out.txt"
    path.write_text("__label__a 0.5\n" + "\n".join(" ".join(line) for line in lines))
    try:
        lists = tl.read_lists(path, 5)
    except TopListError:
        return
    assert len(lists) == path.read_text().count("\n") + (not path.read_text().endswith("\n"))
