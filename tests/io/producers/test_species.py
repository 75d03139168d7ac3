"""Long files of SpeciesNet; what is read of short ones, and of Pl@ntNet, is in the transcripts."""

import json

import pytest

import toplist as tl
from tests.io.producers.reading import produced, recognised_as

FOX = "5c7ce479-8a45-40b3-ae21-7c97dfae22f5;mammalia;carnivora;canidae;vulpes;vulpes;red fox"
PICTURE = {
    "filepath": "site/001.jpg",
    "classifications": {"classes": [FOX, "f1856211-cfb7-4a5b-9158-c0f72fd09ee6;;;;;;blank"], "scores": [0.6, 0.05]},
    "detections": [{"category": "1", "label": "animal", "conf": 0.98, "bbox": [0.1, 0.2, 0.3, 0.4]}],
    "prediction": FOX,
    "prediction_score": 0.9,
    "prediction_source": "classifier",
    "model_version": "4.0.2a",
}


def test_long_documents_are_recognised_by_their_beginning(tmp_path):
    """A real file of a season of pictures has many megabytes, in one line or indented."""
    many = [{**PICTURE, "filepath": f"{at:06d}.jpg"} for at in range(3000)]
    for indent in (None, 1):
        path = tmp_path / "long.json"
        path.write_text(json.dumps({"predictions": many}, indent=indent))
        assert path.stat().st_size > 1 << 20
        assert recognised_as(path) == "speciesnet"
        assert len(tl.read_lists(path, 2498)) == 3000


@pytest.mark.parametrize("classifications", [{}, [], "x", {"classes": None, "scores": None}, {"scores": []}])
def test_classifications_without_classes_are_no_empty_list(tmp_path, classifications):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"predictions": [PICTURE, {**PICTURE, "classifications": classifications}]}))
    with pytest.raises(tl.FileError, match=r"the classifications of 'site/001\.jpg' are not as many classes as scores"):
        produced(path, "speciesnet")
