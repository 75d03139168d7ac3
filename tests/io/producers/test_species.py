"""SpeciesNet, MegaDetector, Pl@ntNet and iNaturalist: samples in their documented shapes, and damaged ones."""

import contextlib
import json

import pytest
from hypothesis import given

import toplist as tl
from tests.io.producers.damage import damaged
from tests.io.producers.reading import produced, recognised_as, write_lines
from toplist.errors import FileError, TopListError

FOX = "5c7ce479-8a45-40b3-ae21-7c97dfae22f5;mammalia;carnivora;canidae;vulpes;vulpes;red fox"
CANIDAE = "3184697f-51ad-4608-9a28-9edb5500159c;mammalia;carnivora;canidae;;;canidae family"
DOG = "3d80f1d6-b1df-4966-9ff4-94053c7a902a;mammalia;carnivora;canidae;canis;familiaris;domestic dog"
BLANK = "f1856211-cfb7-4a5b-9158-c0f72fd09ee6;;;;;;blank"
SPECIESNET = {
    "predictions": [
        {
            "filepath": "site/001.jpg",
            "country": "USA",
            "classifications": {"classes": [FOX, DOG, CANIDAE, BLANK], "scores": [0.6, 0.2, 0.1, 0.05]},
            "detections": [{"category": "1", "label": "animal", "conf": 0.98, "bbox": [0.1, 0.2, 0.3, 0.4]}],
            "prediction": CANIDAE,
            "prediction_score": 0.9,
            "prediction_source": "classifier+rollup_to_family",
            "model_version": "4.0.2a",
        },
        {"filepath": "site/002.jpg", "failures": ["CLASSIFIER", "DETECTOR"], "model_version": "4.0.2a"},
        {
            "filepath": "site/003.jpg",
            "failures": ["GEOLOCATION"],
            "classifications": {"classes": [BLANK], "scores": [0.99]},
            "model_version": "4.0.2a",
        },
    ]
}
MEGADETECTOR = {
    "info": {"format_version": "1.6", "detector": "MDV5A", "classifier": "a classifier"},
    "detection_categories": {"1": "animal", "2": "person", "3": "vehicle"},
    "classification_categories": {"0": "fox", "1": "elk", "2": "wolf", "3": "bear", "4": "moose"},
    "images": [
        {
            "file": "a/1.jpg",
            "detections": [
                {
                    "category": "1",
                    "conf": 0.926,
                    "bbox": [0.0, 0.2762, 0.1539, 0.2825],
                    "classifications": [["3", 0.901], ["1", 0.071], ["4", 0.025]],
                },
                {"category": "1", "conf": 0.061, "bbox": [0.0451, 0.1849, 0.3642, 0.4636]},
                {"category": "1", "conf": 0.5, "bbox": [0, 0, 1, 1], "classifications": [["0", 0.5]]},
            ],
        },
        {"file": "a/2.jpg", "detections": [], "failure": None},
        {"file": "a/3.jpg", "failure": "Failure image access", "detections": None},
    ],
}
ROSE = {"scientificNameWithoutAuthor": "Rosa canina", "scientificName": "Rosa canina L.", "commonNames": ["Dog rose"]}
PLANTNET = [
    {
        "query": {"project": "all", "images": ["f5a2"], "organs": ["flower"]},
        "language": "en",
        "bestMatch": "Rosa canina L.",
        "results": [
            {"score": 0.75, "species": ROSE, "gbif": {"id": "8395064"}},
            {"score": 0.125, "species": {"scientificNameWithoutAuthor": "Rosa arvensis"}},
        ],
        "version": "2026-01-01 (7.4)",
        "remainingIdentificationRequests": 499,
    },
    {"query": {"images": ["0c9b"]}, "bestMatch": "", "results": []},
    {"query": {"images": ["77d1"]}, "statusCode": 404, "error": "Not Found", "message": "Species not found"},
    {"query": {"images": ["9e00"]}, "statusCode": 429, "error": "Too Many Requests", "message": "Limit reached"},
]
BENCHMARK = (
    "id;truth;r1 name; r1 score;r2 name; r2 score\n"
    "1001;Rosa canina;Rosa canina; 0.75;Rosa arvensis; 0.125\n"
    "1002;Acer campestre;Acer campestre; 0.5;;\n"
    "1003;Salix alba;;;;\n"
)
INATURALIST = {
    "total_results": 2,
    "results": [
        {
            "combined_score": 97.1,
            "vision_score": 75.0,
            "taxon": {"id": 42069, "name": "Vulpes vulpes", "rank": "species"},
        },
        {
            "combined_score": 2.0,
            "vision_score": 12.5,
            "taxon": {"id": 42051, "name": "Canis latrans", "rank": "species"},
        },
    ],
}


def saved(path, value):
    path.write_text(json.dumps(value))
    return path


def as_mappings(rows):
    return {row["case"]: dict(zip(row["classes"], row["confidences"], strict=True)) for row in rows}


# SpeciesNet


def test_lists_of_speciesnet_are_those_of_the_classifier_and_failures_are_missing(tmp_path):
    path = saved(tmp_path / "predictions.json", SPECIESNET)
    assert recognised_as(path) == "speciesnet"
    rows, notes = produced(path)
    assert as_mappings(rows) == {
        "site/001.jpg": {FOX: 0.6, DOG: 0.2, CANIDAE: 0.1, BLANK: 0.05},
        "site/003.jpg": {BLANK: 0.99},
    }
    assert "prediction of the ensemble" in notes[0]
    assert notes[1] == "1 picture without a list, because the classifier failed: missing cases"


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ("common_name", ["red fox", "domestic dog", "canidae family", "blank"]),
        ("scientific_name", ["vulpes vulpes", "canis familiaris", "canidae", "blank"]),
        ("uuid", [one.partition(";")[0] for one in (FOX, DOG, CANIDAE, BLANK)]),
    ],
)
def test_classes_of_speciesnet_are_the_parts_that_are_asked_for(tmp_path, part, names):
    rows, _ = produced(saved(tmp_path / "predictions.json", SPECIESNET), "speciesnet", class_column=part)
    assert rows[0]["classes"] == names


def test_a_picture_without_lists_and_without_a_failure_is_refused(tmp_path):
    odd = {"predictions": [*SPECIESNET["predictions"], {"filepath": "x.jpg", "model_version": "4"}]}
    with pytest.raises(FileError, match=r"row 4: 'x.jpg' has neither"):
        produced(saved(tmp_path / "odd.json", odd))


def test_long_documents_are_recognised_by_their_beginning(tmp_path):
    """A real file of a season of pictures has many megabytes, in one line or indented."""
    many = [{**SPECIESNET["predictions"][0], "filepath": f"{at:06d}.jpg"} for at in range(3000)]
    for indent in (None, 1):
        path = tmp_path / "long.json"
        path.write_text(json.dumps({"predictions": many}, indent=indent))
        assert path.stat().st_size > 1 << 20
        assert recognised_as(path) == "speciesnet"
        assert len(tl.read_lists(path, 2498)) == 3000


# MegaDetector


def test_cases_of_megadetector_are_detections_in_clusters_of_files(tmp_path):
    path = saved(tmp_path / "md.json", MEGADETECTOR)
    assert recognised_as(path) == "megadetector"
    rows, notes = produced(path)
    assert as_mappings(rows) == {"a/1.jpg#0": {"bear": 0.901, "elk": 0.071, "moose": 0.025}, "a/1.jpg#2": {"fox": 0.5}}
    assert [(row["n_classes"], row["cluster"]) for row in rows] == [(5, "a/1.jpg")] * 2
    assert notes == (
        "1 file could not be processed: missing cases",
        "1 detection without classifications, which are no cases",
    )


def test_the_number_of_classes_of_megadetector_is_in_the_file(tmp_path):
    path = saved(tmp_path / "md.json", MEGADETECTOR)
    truth = tmp_path / "truth.csv"
    truth.write_text("case,outcome\na/1.jpg#0,bear\na/1.jpg#2,wolf\n")
    assert tl.read_lists(path).space.size == 5
    board = tl.compare({"model": path}, truth)
    brier = [(1 - 0.901) ** 2 + 0.071**2 + 0.025**2 + 0.003**2 / 2, 1 - 2 * 0.125 + 0.25 + 4 * 0.125**2]
    assert board["model"].scores["brier"].mean.value == pytest.approx(sum(brier) / 2, abs=1e-12)


def test_categories_of_one_name_are_told_apart_by_their_numbers(tmp_path):
    twice = {**MEGADETECTOR, "classification_categories": {"0": "fox", "1": "deer", "2": "wolf", "3": "deer", "4": "x"}}
    rows, notes = produced(saved(tmp_path / "md.json", twice))
    assert rows[0]["classes"] == ["3", "1", "4"]
    assert any("not unique" in note for note in notes)


def test_detections_alone_are_no_predictions_of_classes(tmp_path):
    alone = {key: value for key, value in MEGADETECTOR.items() if key != "classification_categories"}
    with pytest.raises(FileError, match="detections alone"):
        produced(saved(tmp_path / "md.json", alone))


# Pl@ntNet


def test_responses_of_plantnet_are_lists_rejects_and_missing_cases(tmp_path):
    path = write_lines(tmp_path / "responses.jsonl", PLANTNET)
    assert recognised_as(path) == "plantnet"
    rows, notes = produced(path)
    assert as_mappings(rows) == {"f5a2": {"Rosa canina": 0.75, "Rosa arvensis": 0.125}, "0c9b": {}, "77d1": {}}
    assert notes == ("2 empty lists where nothing was recognised: rejects", "1 request failed: missing cases")


def test_a_response_in_a_file_of_its_own_is_called_like_the_file(tmp_path):
    for at, one in enumerate(PLANTNET[:2]):
        saved(tmp_path / f"plant{at}.json", one)
    rows, _ = produced(tmp_path)
    assert [row["case"] for row in rows] == ["plant0", "plant1"]


def test_the_benchmark_of_plantnet_has_a_blank_before_the_names_of_scores(tmp_path):
    path = tmp_path / "benchmark.csv"
    path.write_text(BENCHMARK)
    assert recognised_as(path) == "plantnet"
    rows, notes = produced(path)
    assert as_mappings(rows) == {
        "1001": {"Rosa canina": 0.75, "Rosa arvensis": 0.125},
        "1002": {"Acer campestre": 0.5},
        "1003": {},
    }
    assert notes == ("1 empty list where nothing was recognised: rejects",)


def test_a_name_without_a_score_is_refused_with_its_row(tmp_path):
    path = tmp_path / "benchmark.csv"
    path.write_text(BENCHMARK.replace("Acer campestre; 0.5", "Acer campestre;"))
    with pytest.raises(FileError, match=r"row 2: the score of 'Acer campestre' should be a number"):
        produced(path)


# iNaturalist


def test_vision_scores_are_percent_and_come_with_a_warning(tmp_path):
    path = saved(tmp_path / "fox.json", INATURALIST)
    assert recognised_as(path) == "inaturalist"
    rows, notes = produced(path)
    assert as_mappings(rows) == {"fox": {"Vulpes vulpes": 0.75, "Canis latrans": 0.125}}
    assert len(notes) == 1
    assert notes[0].startswith("warning")
    assert "none of its scores are probabilities" in notes[0]


def test_combined_scores_are_read_only_where_they_are_asked_for(tmp_path):
    combined = {"results": [{"combined_score": 97.0, "taxon": {"id": 1, "name": "Vulpes vulpes"}}]}
    path = saved(tmp_path / "fox.json", combined)
    with pytest.raises(FileError, match=r"combined_score is no probability.*confidence='combined_score'"):
        produced(path)
    rows, _ = produced(path, "inaturalist", confidence="combined_score", class_column="taxon.id")
    assert as_mappings(rows) == {"fox": {"1": 0.97}}


def test_a_scale_beside_what_is_converted_already_is_refused(tmp_path):
    for producer in ("inaturalist", "auto"):
        with pytest.raises(TopListError, match="scale"):
            tl.read_lists(saved(tmp_path / "fox.json", INATURALIST), 90_000, producer=producer, scale="percent")


# Damaged documents


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"classification_categories": {**MEGADETECTOR["classification_categories"], "3": None}},
            "name of category '3'",
        ),
        ({"images": [{"file": "a", "detections": [7]}]}, "a detection of 'a' should be an object"),
        ({"images": [{"file": "a", "detections": [{"classifications": {}}]}]}, "classifications should be a list"),
    ],
)
def test_no_part_of_a_damaged_detection_is_passed_over(tmp_path, change, said):
    with pytest.raises(FileError, match=said):
        produced(saved(tmp_path / "out.json", {**MEGADETECTOR, **change}), "megadetector")


@given(damaged([SPECIESNET, MEGADETECTOR, PLANTNET[0], INATURALIST]))
def test_damaged_documents_are_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("damaged") / "out.json"
    path.write_text(text)
    for producer in ("speciesnet", "megadetector", "plantnet", "inaturalist", "auto"):
        with contextlib.suppress(TopListError):
            tl.read_lists(path, 5000, producer=producer)


def test_a_file_with_one_detection_may_be_matched_by_its_name(tmp_path):
    one = {"category": "1", "conf": 0.9, "bbox": [0, 0, 1, 1], "classifications": [["0", 0.7]]}
    document = {
        "info": {"format_version": "1.3"},
        "detection_categories": {"1": "animal"},
        "classification_categories": {"0": "deer", "1": "fox"},
        "images": [{"file": f"{at}.jpg", "detections": [one]} for at in range(2)],
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))
    rows, notes = produced(path)
    assert [(row["case"], row["file"]) for row in rows] == [("0.jpg#0", "0.jpg"), ("1.jpg#0", "1.jpg")]
    assert any("pass case='file'" in note for note in notes)
    document["images"][0]["detections"] *= 2
    path.write_text(json.dumps(document))
    assert "file" not in produced(path)[0][0]
