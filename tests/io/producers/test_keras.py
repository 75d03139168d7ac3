"""`decode_predictions` of Keras as JSON, in its documented shape."""

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given

import toplist as tl
from tests.io.producers.damage import damaged
from tests.io.producers.reading import produced, recognised_as
from toplist.errors import FileError, TopListError
from toplist.lists import as_lists

DECODED = [
    [("n02012849", "crane", 0.5), ("n03126707", "crane", 0.25), ("n02123045", "tabby", 0.125)],
    [("n02123045", "tabby", 0.75), ("n02123159", "tiger_cat", 0.125), ("n02012849", "crane", 0.0625)],
]


def saved(path, value):
    path.write_text(json.dumps(value))
    return path


def test_the_file_and_the_object_in_memory_are_the_same_lists(tmp_path):
    path = saved(tmp_path / "top.json", DECODED)
    assert recognised_as(path) == "keras"
    rows, notes = produced(path)
    assert [row["classes"] for row in rows] == [[wnid for wnid, _, _ in one] for one in DECODED]
    assert "WordNet" in notes[0]
    in_memory = [[(wnid, name, np.float32(p)) for wnid, name, p in one] for one in DECODED]
    assert tl.read_lists(path, 1000) == as_lists(in_memory, 1000)


def test_other_triples_are_not_taken_for_it(tmp_path):
    path = saved(tmp_path / "other.json", [[["a", "b", 0.5]]])
    assert recognised_as(path) is None
    with pytest.raises(FileError, match="n02123045"):
        produced(path, "keras")


@given(damaged([[[list(entry) for entry in one] for one in DECODED]]))
def test_damaged_files_are_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("damaged") / "top.json"
    path.write_text(text)
    for producer in ("keras", "auto"):
        with contextlib.suppress(TopListError):
            tl.read_lists(path, 1000, producer=producer)
