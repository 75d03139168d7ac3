"""Results of timm's inference.py, of a model with random weights, in every format of the script."""

import json

import numpy as np
import pytest

import toplist as tl
from tests.io.producers.reading import produced, recognised_as
from tests.io.producers.real import written_by
from toplist.errors import FileError

FORMATS = (".csv", ".parquet", ".json", "-split.json")
every_format = pytest.mark.parametrize("suffix", FORMATS)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return written_by("timm", "tests.io.producers.timm_results", tmp_path_factory)


@pytest.fixture(scope="module")
def known(results):
    return json.loads((results / "known.json").read_text())


def softmax(known):
    z = np.array(known["logits"])
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@every_format
@pytest.mark.parametrize("table", ["separate", "together", "labels", "described"])
def test_lists_are_the_five_most_likely_classes_of_the_softmax(results, known, table, suffix):
    path = results / f"{table}{suffix}"
    assert recognised_as(path) == "timm"
    rows, notes = produced(path)
    p = softmax(known)
    order = np.argsort(-p, axis=1)[:, :5]
    names = {"labels": known["ids"], "described": known["descriptions"]}.get(table, [str(at) for at in range(1000)])
    assert [row["case"] for row in rows] == [f"{at:03d}.jpg" for at in range(6)]
    assert [row["classes"] for row in rows] == [[names[at] for at in few] for few in order]
    found = np.array([row["confidences"] for row in rows])
    np.testing.assert_allclose(found, np.take_along_axis(p, order, 1), rtol=0, atol=1e-6)
    assert notes == (f"Classes are the values of {'label' if table in ('labels', 'described') else 'index'}.",)


@every_format
def test_scores_are_those_of_the_softmax(results, known, suffix):
    p = softmax(known)
    y = np.argmax(p, axis=1)
    lists = tl.read_lists(results / f"separate{suffix}", 1000)
    kept = -np.sort(-p, axis=1)[:, :5]
    rest = 1 - kept.sum(axis=1)
    expected = 1 - 2 * kept[:, 0] + (kept**2).sum(axis=1) + rest**2 / 995
    np.testing.assert_allclose(tl.score(lists, [str(code) for code in y]), expected, rtol=0, atol=1e-6)


def test_labels_are_the_classes_where_they_are_asked_for(results, known):
    rows, _ = produced(results / "separate.csv", "timm", class_column="label")
    assert rows[0]["classes"][0] == known["descriptions"][int(np.argmax(known["logits"][0]))]
    with pytest.raises(FileError, match="--include-index"):
        produced(results / "described.csv", "timm", class_column="index")


@every_format
def test_logits_of_the_most_likely_classes_are_refused(results, suffix):
    assert recognised_as(results / f"logits{suffix}") == "timm"
    with pytest.raises(FileError, match="--output-type prob"):
        produced(results / f"logits{suffix}")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", "-split.json"])
def test_names_of_files_that_are_there_twice_are_refused(results, suffix):
    with pytest.raises(FileError, match=r"row 3: .*'a.jpg' is there twice.*--fullname"):
        produced(results / f"basenames{suffix}")


@every_format
@pytest.mark.parametrize("duplicates", ["error", "sum"])
def test_two_classes_of_one_description_are_never_added_up(results, suffix, duplicates):
    with pytest.raises(FileError, match=r"row 3: the class 'crane' is listed twice.*--include-index"):
        produced(results / f"cranes{suffix}", duplicates=duplicates)


@every_format
def test_probabilities_of_all_classes_are_numbered_and_those_of_some_need_their_classes(results, known, suffix):
    rows, notes = produced(results / f"whole{suffix}")
    found = np.array([row["confidences"] for row in rows])
    np.testing.assert_allclose(found, softmax(known), rtol=0, atol=1e-6)
    assert rows[0]["classes"] == [str(at) for at in range(1000)]
    assert notes == ("Classes are numbered as the columns are.",)
    with pytest.raises(FileError, match="--include-index"):
        produced(results / f"bare{suffix}")


def test_a_table_with_the_first_class_alone_may_be_any_and_is_read_where_timm_is_named(results, known):
    assert recognised_as(results / "first.parquet") is None
    path = results / "first.csv"
    assert recognised_as(path) is None
    rows, _ = produced(path, "timm")
    p = softmax(known)
    assert [row["classes"] for row in rows] == [[known["descriptions"][at]] for at in p.argmax(axis=1)]
    np.testing.assert_allclose([row["confidences"][0] for row in rows], p.max(axis=1), rtol=0, atol=1e-6)


def test_text_that_is_called_json_is_read_by_what_it_is(results, tmp_path):
    """The script writes CSV where it is asked for json-record."""
    path = tmp_path / "model-224.json"
    path.write_bytes((results / "separate.csv").read_bytes())
    assert produced(path, "timm") == produced(results / "separate.csv")
