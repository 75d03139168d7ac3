"""Rekognition, Comprehend, Vertex AI and Azure: samples in their documented shapes, and damaged ones."""

import contextlib
import json

import pytest
from hypothesis import given

import toplist as tl
from tests.io.producers.damage import damaged
from tests.io.producers.reading import produced, recognised_as, write_lines
from toplist.errors import FileError, TopListError

REKOGNITION = {
    "Labels": [
        {"Name": "Fox", "Confidence": 75.0, "Instances": [], "Parents": [{"Name": "Animal"}]},
        {"Name": "Dog", "Confidence": 12.5, "Instances": [], "Parents": []},
    ],
    "LabelModelVersion": "3.0",
}
SEVERAL = {"Labels": [{"Name": "Animal", "Confidence": 99.0}, {"Name": "Fox", "Confidence": 75.0}]}
CUSTOM = {"CustomLabels": [{"Name": "Fox", "Confidence": 75.0}, {"Name": "Dog", "Confidence": 12.5}]}
COMPREHEND = {
    "File": "file1.txt",
    "Line": "0",
    "Classes": [{"Name": "Fox", "Score": 0.75}, {"Name": "Dog", "Score": 0.125}],
}
MULTI_LABEL = {
    "File": "file1.txt",
    "Line": "0",
    "Labels": [{"Name": "Fox", "Score": 0.25}, {"Name": "x", "Score": 0.2}],
}
SENTIMENT = {
    "Sentiment": "POSITIVE",
    "SentimentScore": {"Positive": 0.75, "Negative": 0.125, "Neutral": 0.0625, "Mixed": 0.0625},
}
VERTEX = {
    "instance": {"content": "gs://bucket/1.jpg", "mimeType": "image/jpeg"},
    "prediction": {"ids": ["11", "12"], "displayNames": ["Fox", "Dog"], "confidences": [0.75, 0.125]},
}
ONLINE = {"predictions": [VERTEX["prediction"], VERTEX["prediction"]], "deployedModelId": "7"}
TABULAR = {"instance": {"key": "k1"}, "prediction": {"classes": ["Fox", "Dog"], "scores": [0.75, 0.125]}}
AZURE = {
    "results": {
        "documents": [
            {
                "id": "d1",
                "class": [{"category": "Fox", "confidenceScore": 0.75}, {"category": "Dog", "confidenceScore": 0.125}],
                "warnings": [],
            }
        ],
        "errors": [],
        "projectName": "p",
    }
}
JOB = {"jobId": "j", "tasks": {"items": [{"kind": "CustomSingleLabelClassificationLROResults", **AZURE}]}}
RESPONSES = {
    "Rekognition": (REKOGNITION, ["out"]),
    "Rekognition Custom Labels": (CUSTOM, ["out"]),
    "Comprehend": (COMPREHEND, ["file1.txt#0"]),
    "Vertex AI, a batch": (VERTEX, ["gs://bucket/1.jpg"]),
    "Vertex AI, an endpoint": (ONLINE, ["out#0", "out#1"]),
    "Azure": (AZURE, ["d1"]),
    "Azure, a job": (JOB, ["d1"]),
}


def saved(path, value):
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize(("response", "cases"), RESPONSES.values(), ids=RESPONSES)
def test_responses_of_every_service_are_lists(tmp_path, response, cases):
    path = saved(tmp_path / "out.json", response)
    assert recognised_as(path) == "cloud"
    rows, notes = produced(path)
    assert [row["case"] for row in rows] == cases
    for row in rows:
        assert (row["classes"], row["confidences"]) == (["Fox", "Dog"], [0.75, 0.125])
    assert any("not exclusive" in note for note in notes) == ("Confidence" in str(response))


def test_tables_of_vertex_are_read_where_the_service_is_named(tmp_path):
    rows, _ = produced(saved(tmp_path / "out.json", TABULAR), "cloud")
    assert (rows[0]["case"], rows[0]["classes"], rows[0]["confidences"]) == ("k1", ["Fox", "Dog"], [0.75, 0.125])


def test_sentiments_are_distributions_over_four_classes(tmp_path):
    lists = tl.read_lists(saved(tmp_path / "out.json", SENTIMENT), 4)
    assert lists[0].confidences == {"Positive": 0.75, "Negative": 0.125, "Neutral": 0.0625, "Mixed": 0.0625}


def test_lines_with_ids_are_cases_with_ids(tmp_path):
    path = write_lines(tmp_path / "out.jsonl", [{"id": f"c{at}", **REKOGNITION} for at in range(3)])
    assert [row["case"] for row in produced(path)[0]] == ["c0", "c1", "c2"]


def test_labels_that_are_not_exclusive_are_refused_where_they_add_up_to_more_than_one(tmp_path):
    with pytest.raises(FileError, match=r"sum to 1\.74.*not exclusive.*best_sets"):
        produced(saved(tmp_path / "out.json", SEVERAL))
    sure = {"results": {"documents": [{"id": "d", "class": [
        {"category": c, "confidenceScore": 0.9} for c in "ab"
    ]}]}}  # fmt: skip
    with pytest.raises(FileError, match=r"multi-label.*best_sets"):
        produced(saved(tmp_path / "out.json", sure))


def test_scores_of_a_multi_label_classifier_are_refused_whatever_they_add_up_to(tmp_path):
    path = saved(tmp_path / "out.json", MULTI_LABEL)
    assert recognised_as(path) == "cloud"
    with pytest.raises(FileError, match=r"multi-label.*best_sets"):
        produced(path)


def test_classes_of_one_name_go_by_their_ids(tmp_path):
    twice = {**VERTEX, "prediction": {**VERTEX["prediction"], "displayNames": ["Fox", "Fox"]}}
    assert produced(saved(tmp_path / "out.json", twice))[0][0]["classes"] == ["11", "12"]


@given(damaged([one for one, _ in RESPONSES.values()] + [SENTIMENT, TABULAR, MULTI_LABEL]))
def test_damaged_responses_are_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("damaged") / "out.json"
    path.write_text(text)
    for producer in ("cloud", "auto"):
        with contextlib.suppress(TopListError):
            tl.read_lists(path, 5000, producer=producer)
