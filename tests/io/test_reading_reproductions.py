"""Files that were once read as something else, as people have them: the right answer now, or a refusal with a remedy.

Right answers are computed here from the definition, in exact arithmetic, from the lists that each file holds.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import toplist as tl
from tests.cli.run_cli import toplist_here as toplist

Lists = Sequence[Mapping[str, Any]]


def brier(lists: Lists, outcomes: Sequence[str | Mapping[str, Any]], m: int) -> float:
    """The mean padded Brier score by its definition; expected, where an outcome is a distribution."""
    total = Fraction(0)
    for one, outcome in zip(lists, outcomes, strict=True):
        p = {name: Fraction(str(t)) for name, t in one.items()}
        q = {outcome: Fraction(1)} if isinstance(outcome, str) else {y: Fraction(str(t)) for y, t in outcome.items()}
        share = (1 - sum(p.values())) / (m - len(p)) if len(p) < m else Fraction(0)
        squares = sum(t * t for t in p.values()) + (m - len(p)) * share * share
        total += squares + 1 - 2 * sum(w * p.get(y, share) for y, w in q.items())
    return float(total / len(lists))


def put(folder: Path, **texts: str) -> None:
    """Files by name, with the last underscore for the dot."""
    for name, text in texts.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text, encoding="utf-8")


def lines(records: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def scored(folder: Path, command: str, *more: str) -> float:
    """The Brier score of the one file that a command ranks or scores."""
    done = toplist(*command.split(), *more, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return _score(done.stdout)


def _score(text: str) -> float:
    told = json.loads(text)
    if "overall" in told:
        (standing,) = told["overall"]["rows"]
        return float(standing["scores"]["brier"]["mean"]["value"])
    return float(told["mean"]["brier"])


def refused(folder: Path, command: str, *names: str, options: Sequence[str]) -> str:
    """One sentence that names one of these things and one of these options, and nothing on the screen."""
    done = toplist(*command.split(), cwd=folder)
    assert done.returncode in (1, 2), f"{done.stdout}\n{done.stderr}"
    assert not done.stdout
    *_, sentence = done.stderr.splitlines()  # after what is said of files that could be read
    _require(sentence, names, options)
    return sentence


def _require(sentence: str, names: Sequence[str], options: Sequence[str]) -> None:
    assert sentence.startswith("toplist: ")
    assert len(sentence.splitlines()) == 1, sentence
    assert not names or any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence) for name in names), sentence
    assert not options or any(option in sentence for option in options), sentence


def right_or_refused(folder: Path, command: str, right: Sequence[float], *names: str, options: Sequence[str]) -> None:
    """One of the right answers, or a sentence as above."""
    done = toplist(*command.split(), "--json", cwd=folder)
    if done.returncode:
        assert not done.stdout
        _require(done.stderr, names, options)
    else:
        assert min(abs(_score(done.stdout) - one) for one in right) < 1e-9, (done.stdout[:2000], done.stderr)


def ended(predictions: dict[str, Any], truth: Any, m: int) -> float | str:
    """The Brier score of the one model, or the sentence that was said instead."""
    (name,) = predictions
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few cases, or all of them right
            return float(tl.compare(predictions, truth, space=m)[name].scores["brier"].mean.value)
    except tl.TopListError as error:
        return str(error)


def entries(lists: tl.TopLists) -> list[dict[str, float]]:
    """What is listed in each case."""
    return [dict(one.confidences) for one in lists]


# A1: labels beside probabilities

SENTIMENT: Lists = [{"positive": 0.91}, {"negative": 0.6}, {"neutral": 0.5}]
FELT = ["positive", "negative", "neutral"]
HF = [{"label": name, "score": t} for one in SENTIMENT for name, t in one.items()]


@pytest.mark.parametrize("option", ["", "--confidence score", "--class-column label --confidence score"])
def test_label_and_score_without_an_id_are_one_list_per_row(option: str, tmp_path: Path) -> None:
    put(
        tmp_path,
        p_csv="label,score\npositive,0.91\nnegative,0.6\nneutral,0.5\n",
        t_csv="label\n" + "\n".join(FELT) + "\n",
    )
    right = brier(SENTIMENT, FELT, 3)
    assert scored(tmp_path, f"compare p.csv -t t.csv -c 3 {option}") == pytest.approx(right, abs=1e-12)


def test_lines_of_a_hugging_face_pipeline_are_lists_of_one(tmp_path: Path) -> None:
    put(tmp_path, p_jsonl=lines(HF), t_jsonl=lines([{"label": y} for y in FELT]))
    right = pytest.approx(brier(SENTIMENT, FELT, 3), abs=1e-12)
    assert scored(tmp_path, "compare p.jsonl -t t.jsonl -c 3") == right
    assert scored(tmp_path, "score p.jsonl -t t.jsonl -c 3") == right


def test_lines_of_a_hugging_face_pipeline_with_ids_are_matched_by_them(tmp_path: Path) -> None:
    ided = [{"id": f"r{i}", **record} for i, record in enumerate(HF)]
    put(tmp_path, p_jsonl=lines(ided[::-1]), t_jsonl=lines([{"id": f"r{i}", "label": y} for i, y in enumerate(FELT)]))
    right = brier(SENTIMENT, FELT, 3)
    assert scored(tmp_path, "compare p.jsonl -t t.jsonl -c 3") == pytest.approx(right, abs=1e-12)


def test_lines_of_a_hugging_face_pipeline_with_ids_on_one_side_are_refused(tmp_path: Path) -> None:
    ided = [{"id": f"r{i}", **record} for i, record in enumerate(HF)]
    put(tmp_path, p_jsonl=lines(ided), t_jsonl=lines([{"label": y} for y in FELT]))
    refused(tmp_path, "compare p.jsonl -t t.jsonl -c 3", "id", options=["--by-position", "--case"])
    by_hand = scored(tmp_path, "compare p.jsonl -t t.jsonl -c 3 --by-position")
    assert by_hand == pytest.approx(brier(SENTIMENT, FELT, 3), abs=1e-12)


@pytest.mark.parametrize("header", ["file,label,score", "filename,pred,prob", "text,label,score"])
def test_a_file_name_or_a_text_is_an_id(header: str, tmp_path: Path) -> None:
    case = header.partition(",")[0]
    put(tmp_path, p_csv=f"{header}\nc,cat,0.5\na,dog,0.75\nb,cat,0.625\n", t_csv=f"{case},label\na,dog\nb,fox\nc,cat\n")
    right = brier([{"dog": 0.75}, {"cat": 0.625}, {"cat": 0.5}], ["dog", "fox", "cat"], 5)
    assert scored(tmp_path, "compare p.csv -t t.csv -c 5") == pytest.approx(right, abs=1e-12)


AUTOML = "id,label,cat,dog,fox\n1,cat,.7,.2,.1\n2,cat,.3,.6,.1\n"
AUTO: Lists = [{"cat": 0.7, "dog": 0.2, "fox": 0.1}, {"cat": 0.3, "dog": 0.6, "fox": 0.1}]


@pytest.mark.parametrize("command", ["score w.csv -t w.csv -c 3", "compare w.csv -t w.csv -c 3"])
def test_a_table_of_probabilities_beside_its_label_is_not_scored_against_itself(command: str, tmp_path: Path) -> None:
    put(tmp_path, w_csv=AUTOML)
    refused(tmp_path, command, options=["--outcome"])
    right = brier(AUTO, ["cat", "cat"], 3)
    assert scored(tmp_path, f"{command} --outcome label") == pytest.approx(right, abs=1e-12)


def test_a_table_of_probabilities_beside_its_label_is_asked_about(tmp_path: Path) -> None:
    put(tmp_path, w_csv=AUTOML, t_csv="id,outcome\n1,cat\n2,fox\n")
    refused(tmp_path, "compare w.csv -t t.csv -c 3", "label", "cat", options=["--ignore", "--layout", "--confidence"])
    refused(tmp_path, "score w.csv -t t.csv -c 3", "label", "cat", options=["--ignore", "--layout", "--confidence"])
    right = brier(AUTO, ["cat", "fox"], 3)
    assert scored(tmp_path, "compare w.csv -t t.csv -c 3 --ignore label") == pytest.approx(right, abs=1e-12)


def test_checking_a_table_of_probabilities_beside_its_label_does_not_pass(tmp_path: Path) -> None:
    put(tmp_path, w_csv=AUTOML)
    done = toplist("check", "w.csv", "-c", "3", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert "label" in done.stdout + done.stderr
    assert "--ignore" in done.stdout + done.stderr


def test_prefixed_probabilities_beside_a_label_are_read_by_a_pattern(tmp_path: Path) -> None:
    put(
        tmp_path,
        w_csv=AUTOML.replace("cat,dog,fox\n", "prob_cat,prob_dog,prob_fox\n"),
        t_csv="id,outcome\n1,cat\n2,fox\n",
    )
    refused(
        tmp_path, "compare w.csv -t t.csv -c 3", "label", "prob_cat", options=["--confidence", "--ignore", "--layout"]
    )
    right = brier(AUTO, ["cat", "fox"], 3)
    assert scored(tmp_path, "compare w.csv -t t.csv -c 3 --confidence prob_*") == pytest.approx(right, abs=1e-12)


PLANTS: Lists = [{"Quercus robur": 0.75, "Quercus petraea": 0.125}, {"Acer campestre": 0.5, "Acer platanoides": 0.25}]
GREW = ["Quercus robur", "Acer platanoides"]


def test_lines_of_plantnet_are_nested_results_not_a_language(tmp_path: Path) -> None:
    records = [
        {
            "query": {"project": "all", "images": [f"img{i}.jpg"], "organs": ["leaf"]},
            "language": "en",
            "bestMatch": next(iter(one)),
            "results": [
                {"score": t, "species": {"scientificNameWithoutAuthor": name, "commonNames": []}, "gbif": {"id": "1"}}
                for name, t in one.items()
            ],
            "remainingIdentificationRequests": 498 - i,
        }
        for i, one in enumerate(PLANTS)
    ]
    put(tmp_path, p_jsonl=lines(records), t_csv="species\n" + "\n".join(GREW) + "\n")
    right = brier(PLANTS, GREW, 10)
    options = ["--ignore", "--confidence", "--class-column", "--layout", "--case", "--by-position"]
    for command in ("compare p.jsonl -t t.csv -c 10", "compare p.jsonl -t t.csv -c 10 --by-position"):
        right_or_refused(tmp_path, command, [right], "results", "language", "query", "case", options=options)


def test_lines_of_speciesnet_are_not_hard_labels(tmp_path: Path) -> None:
    seen: Lists = [{"deer": 0.75, "cow": 0.125}, {"fox": 0.5, "dog": 0.25}]
    records = [
        {
            "filepath": f"cam/{i}.jpg",
            "classifications": {"classes": list(one), "scores": list(one.values())},
            "detections": [{"category": "1", "label": "animal", "conf": 0.9, "bbox": [0.1, 0.1, 0.5, 0.5]}],
            "prediction": next(iter(one)),
            "prediction_score": next(iter(one.values())),
            "prediction_source": "classifier",
            "model_version": "4.0.1a",
        }
        for i, one in enumerate(seen)
    ]
    put(tmp_path, p_jsonl=lines(records[::-1]), t_csv="filepath,label\ncam/0.jpg,deer\ncam/1.jpg,dog\n")
    nested = brier(seen, ["deer", "dog"], 10)
    top = brier([dict([next(iter(one.items()))]) for one in seen], ["deer", "dog"], 10)  # with the score beside it
    options = ["--ignore", "--confidence", "--class-column", "--layout"]
    right_or_refused(
        tmp_path, "compare p.jsonl -t t.csv -c 10", [nested, top], "classifications", "detections", options=options
    )


PLACES = ("01", "02", "US")
HUB: Lists = [
    {"decrease": 0.25, "stable": 0.5, "increase": 0.25},
    {"decrease": 0.125, "stable": 0.125, "increase": 0.75},
    {"decrease": 0.5, "stable": 0.375, "increase": 0.125},
]
CHANGED = ["stable", "increase", "increase"]


def hub(order: Sequence[int] = (0, 1, 2)) -> str:
    """Rows as hubs have them: task ids, output_type, output_type_id, value."""
    header = "reference_date,target,horizon,target_end_date,location,output_type,output_type_id,value"
    task = "2024-12-14,wk flu hosp rate change,1,2024-12-21"
    rows = [f"{task},{PLACES[at]},pmf,{name},{t}" for at in order for name, t in HUB[at].items()]
    return "\n".join([header, *rows]) + "\n"


def test_two_raw_submissions_to_a_hub_are_not_both_perfect(tmp_path: Path) -> None:
    (tmp_path / "hub").mkdir()
    put(tmp_path / "hub", a_csv=hub(), b_csv=hub((2, 1, 0)))
    refused(tmp_path, "compare hub/a.csv hub/b.csv -t hub/a.csv -c 10", options=["--outcome"])
    refused(tmp_path, "compare hub/b.csv -t hub/a.csv -c 10", options=["--case", "--by-position", "--outcome"])


def test_a_raw_submission_to_a_hub_is_matched_by_what_tells_the_outcomes_apart(tmp_path: Path) -> None:
    put(
        tmp_path,
        a_csv=hub((1, 2, 0)),
        t_csv="location,outcome\n" + "".join(f"{p},{y}\n" for p, y in zip(PLACES, CHANGED, strict=True)),
    )
    right = pytest.approx(brier(HUB, CHANGED, 10), abs=1e-12)
    assert scored(tmp_path, "compare a.csv -t t.csv -c 10 --case location") == right
    assert scored(tmp_path, "compare a.csv -t t.csv -c 10") == right


def test_a_raw_submission_to_a_hub_beside_the_target_data_of_the_hub(tmp_path: Path) -> None:
    rows = "".join(f"2024-12-21,{place},{y}\n" for place, y in zip(PLACES, CHANGED, strict=True))
    put(tmp_path, a_csv=hub((1, 2, 0)), t_csv="target_end_date,location,observation\n" + rows)
    right = brier(HUB, CHANGED, 10)
    options = ["--case", "--outcome", "--by-position", "--class-column", "--ignore"]
    right_or_refused(tmp_path, "compare a.csv -t t.csv -c 10", [right], "observation", "location", options=options)
    named = scored(tmp_path, "compare a.csv -t t.csv -c 10 --case location --outcome observation")
    assert named == pytest.approx(right, abs=1e-12)


def test_output_of_fasttext_does_not_lose_its_first_line(tmp_path: Path) -> None:
    put(tmp_path, p_csv="__label__en 0.75\n__label__de 0.5\n__label__fr 0.625\n", t_csv="label\n" + "en\nde\nen\n")
    right = brier([{"en": 0.75}, {"de": 0.5}, {"fr": 0.625}], ["en", "de", "en"], 176)
    right_or_refused(tmp_path, "compare p.csv -t t.csv -c 176", [right], "p.csv", "p", options=[])


@pytest.mark.parametrize("options", [{}, {"confidence": "score"}, {"class_column": "label", "confidence": "score"}])
def test_a_frame_of_labels_and_scores_is_lists_of_one(options: dict[str, str]) -> None:
    lists = tl.read_lists(pd.DataFrame({"label": ["a", "b"], "score": [0.9, 0.5]}), 3, **options)
    assert entries(lists) == [{"a": 0.9}, {"b": 0.5}]


# A2: a truth read as a distribution


RANKED = "id,class1,p1,class2,p2,outcome\n1,cat,.7,dog,.2,cat\n2,dog,.6,cat,.3,cat\n"


def test_a_column_called_outcome_is_the_outcome(tmp_path: Path) -> None:
    put(tmp_path, o_csv=RANKED, t_csv=RANKED)
    right = brier([{"cat": 0.7, "dog": 0.2}, {"dog": 0.6, "cat": 0.3}], ["cat", "cat"], 5)
    assert right == pytest.approx(0.493333, abs=1e-6)
    refused(tmp_path, "score o.csv -t o.csv -c 5", options=["--outcome"])
    assert scored(tmp_path, "score o.csv -t o.csv -c 5 --outcome outcome") == pytest.approx(right, abs=1e-12)
    assert scored(tmp_path, "score o.csv -t t.csv -c 5") == pytest.approx(right, abs=1e-12)


def test_the_same_file_by_another_way_is_the_same_file(tmp_path: Path) -> None:
    put(tmp_path, o_csv=RANKED)
    (tmp_path / "link.csv").symlink_to("o.csv")
    refused(tmp_path, "score o.csv -t ./o.csv -c 5", options=["--outcome"])
    refused(tmp_path, f"score o.csv -t {tmp_path}/o.csv -c 5", options=["--outcome"])
    refused(tmp_path, "score o.csv -t link.csv -c 5", options=["--outcome"])


def test_a_file_with_its_truth_in_the_column_true_needs_it_named(tmp_path: Path) -> None:
    put(tmp_path, full_csv="true,class1,p1,class2,p2\nen,en,.75,de,.5\nde,de,.5,en,.25\n")
    refused(tmp_path, "score full.csv -t full.csv -c 176 --normalize", options=["--outcome"])
    right = brier([{"en": 0.6, "de": 0.4}, {"de": 0.5, "en": 0.25}], ["en", "de"], 176)
    named = scored(tmp_path, "score full.csv -t full.csv -c 176 --normalize --outcome true")
    assert named == pytest.approx(right, abs=1e-9)


LONG = "case,class,confidence\n1,cat,.5\n1,dog,.25\n2,dog,.625\n3,fox,.75\n"
LABELS = "case,class\n1,cat\n2,dog\n3,dog\n"


def test_predictions_as_truth_are_refused(tmp_path: Path) -> None:
    put(tmp_path, a_csv=LONG, y_csv=LABELS)
    refused(tmp_path, "compare y.csv -t a.csv -c 5", "a.csv", options=["--outcome", "sum"])


def test_a_folder_of_predictions_as_truth_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    put(tmp_path, a_csv=LONG)
    header, *rows = LONG.splitlines(keepends=True)
    put(tmp_path / "folder", b_csv=header + "".join(rows[:3]), c_csv=header + rows[3])
    refused(tmp_path, "compare a.csv -t folder -c 5", "folder", "b.csv", "c.csv", options=[])


# A3: the index of a pandas frame


def shuffled() -> tuple[pd.DataFrame, pd.Series, Lists]:
    """What predict_proba gives after a split: rows in another order, and the index tells which."""
    proba = np.array([[0.75, 0.25, 0.0], [0.125, 0.625, 0.25], [0.25, 0.25, 0.5], [0.5, 0.375, 0.125]])
    names = ["setosa", "versicolor", "virginica"]
    frame = pd.DataFrame(proba, columns=names, index=[114, 62, 33, 107])
    y = pd.Series(["setosa", "versicolor", "versicolor", "virginica"], index=frame.index, name="species")
    return frame, y, [dict(zip(names, map(float, row), strict=True)) for row in proba]


def test_an_index_is_never_a_class() -> None:
    frame, y, made = shuffled()
    lists = tl.read_lists(frame)
    assert entries(lists) == made
    assert lists.ids is not None
    assert list(lists.ids) == list(frame.index)
    assert float(np.mean(tl.score(lists, y.tolist()))) == pytest.approx(brier(made, y.tolist(), 3), abs=1e-12)


@pytest.mark.parametrize("index", ["whole", "text", "named"])
def test_an_index_is_the_id(index: str) -> None:
    frame, y, made = shuffled()
    if index == "text":
        frame.index = y.index = pd.Index([f"row {i}" for i in frame.index])
    if index == "named":
        frame.index.name = y.index.name = "specimen"
    right = pytest.approx(brier(made, y.tolist(), 3), abs=1e-12)
    other = [2, 0, 3, 1]
    for truth in (y.iloc[other], y.iloc[other].to_frame("outcome"), y, y.to_frame("label")):
        assert ended({"m": frame}, truth, 3) == right


def test_labels_with_a_shuffled_index_are_matched_by_it() -> None:
    truth = pd.DataFrame({"label": list("abcaabbc")}, index=[17, 3, 29, 11, 5, 2, 31, 7])
    guess = truth.sample(frac=1, random_state=3)
    assert guess["label"].tolist() != truth["label"].tolist()
    assert ended({"m": guess}, truth, 3) == 0


def test_a_frame_goes_with_a_list_a_series_or_an_array() -> None:
    frame, y, made = shuffled()
    frame, y = frame.reset_index(drop=True), y.reset_index(drop=True)
    for truth in (y, y.tolist(), y.to_numpy()):
        assert ended({"m": frame}, truth, 3) == pytest.approx(brier(made, y.tolist(), 3), abs=1e-12)


# A4: rows matched by position though both files share an id


def test_a_column_that_both_files_have_is_the_id(tmp_path: Path) -> None:
    put(tmp_path, t_csv="file,label\nb.jpg,cat\na.jpg,dog\n", p_csv="file,label,score\na.jpg,dog,.7\nb.jpg,cat,.6\n")
    right = brier([{"dog": 0.7}, {"cat": 0.6}], ["dog", "cat"], 5)
    assert right == pytest.approx(0.156, abs=1e-3)
    assert scored(tmp_path, "compare p.csv -t t.csv -c 5") == pytest.approx(right, abs=1e-12)


def test_a_column_of_an_unknown_name_that_both_files_have_is_the_id(tmp_path: Path) -> None:
    put(tmp_path, t_csv="specimen,label\nb,cat\na,dog\n", p_csv="specimen,label,score\na,dog,.7\nb,cat,.6\n")
    right = brier([{"dog": 0.7}, {"cat": 0.6}], ["dog", "cat"], 5)
    assert scored(tmp_path, "compare p.csv -t t.csv -c 5") == pytest.approx(right, abs=1e-12)


# A7: a header in a file of labels


def test_the_header_of_a_file_of_labels_is_no_class(tmp_path: Path) -> None:
    put(tmp_path, a_csv=LONG, y_csv=LABELS, classes_csv="class\ncat\ndog\nfox\nhen\nowl\n")
    right = brier([{"cat": 0.5, "dog": 0.25}, {"dog": 0.625}, {"fox": 0.75}], ["cat", "dog", "dog"], 5)
    right_or_refused(
        tmp_path, "compare a.csv -t y.csv -c classes.csv", [right], "class", "header", options=["header", "--classes"]
    )


# A8: a truth that is normalised


def test_a_truth_is_not_normalised_without_a_word(tmp_path: Path) -> None:
    ids = np.arange(3)
    lists: Lists = [{"0": 0.5, "1": 0.25}, {"2": 0.75, "3": 0.125}, {"4": 0.5, "0": 0.25}]
    flat = [(int(c), float(t)) for one in lists for c, t in one.items()]
    shape = np.array([3, 6])
    np.savez(
        tmp_path / "P.npz",
        data=np.array([t for _, t in flat]),
        indices=np.array([c for c, _ in flat], np.int32),
        indptr=np.array([0, 2, 4, 6]),
        shape=shape,
        format=np.array(b"csr"),
        ids=ids,
    )
    np.savez(
        tmp_path / "Y.npz",
        data=np.ones(5),
        indices=np.array([0, 1, 2, 4, 5], np.int32),
        indptr=np.array([0, 2, 3, 5]),
        shape=shape,
        format=np.array(b"csr"),
        ids=ids,
    )
    refused(tmp_path, "compare P.npz -t Y.npz -c 6", "Y.npz", options=["--normalize", "--outcome"])
    done = toplist("compare", "P.npz", "-t", "Y.npz", "-c", "6", "--normalize", cwd=tmp_path)
    if done.returncode:
        _require(done.stderr, ["Y.npz"], ["sum"])
        return
    right = brier(lists, [{"0": 0.5, "1": 0.5}, {"2": 1}, {"4": 0.5, "5": 0.5}], 6)
    assert scored(tmp_path, "compare P.npz -t Y.npz -c 6 --normalize") == pytest.approx(right, abs=1e-9)
    said = " ".join((done.stdout + done.stderr).split())
    assert re.search(
        r"truth[^.]*normali[^.]*\b2\b|truth[^.]*\b2\b[^.]*normali|normali[^.]*truth[^.]*\b2\b|\b2\b[^.]*truth[^.]*normali",
        said,
        re.IGNORECASE,
    ), said


# S1: a confidence that is not read where there is no id


BARE = "class,confidence\ncat,0.6\ndog,0.7\nfox,0.9\ncat,0.3\n"
HAPPENED = ["cat", "cat", "fox", "dog"]
TOPS: Lists = [{"cat": 0.6}, {"dog": 0.7}, {"fox": 0.9}, {"cat": 0.3}]


@pytest.mark.parametrize("option", ["", "--confidence confidence"])
def test_a_confidence_counts_where_no_id_is(option: str, tmp_path: Path) -> None:
    put(tmp_path, a_csv=BARE, y_csv="outcome\n" + "\n".join(HAPPENED) + "\n")
    right = brier(TOPS, HAPPENED, 5)
    assert right == pytest.approx(0.609, abs=1e-3)
    assert scored(tmp_path, f"score a.csv -t y.csv -c 5 {option}") == pytest.approx(right, abs=1e-12)
    assert scored(tmp_path, f"compare a.csv -t y.csv -c 5 {option}") == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"confidence": "confidence"}])
def test_a_confidence_counts_in_a_frame_without_an_id(options: dict[str, str]) -> None:
    frame = pd.DataFrame({"class": ["cat", "dog"], "confidence": [0.6, 0.7]})
    assert entries(tl.read_lists(frame, 5, **options)) == [{"cat": 0.6}, {"dog": 0.7}]


@pytest.mark.parametrize("start", ["", "\ufeff", "\ufeff\ufeff", "\n\ufeff", "\ufeff\n\ufeff"])
@pytest.mark.parametrize("case", ["nr", "case", "specimen"])
def test_a_confidence_counts_beside_an_id_of_any_name(case: str, start: str, tmp_path: Path) -> None:
    rows = BARE.splitlines()[1:]
    p = f"{start}{case},class,confidence\n" + "".join(f"{i + 7},{row}\n" for i, row in reversed(list(enumerate(rows))))
    put(tmp_path, a_csv=p, y_csv=f"{case},outcome\n" + "".join(f"{i + 7},{y}\n" for i, y in enumerate(HAPPENED)))
    right = brier(TOPS, HAPPENED, 5)
    found = ended({"a": tmp_path / "a.csv"}, tmp_path / "y.csv", 5)
    if isinstance(found, str):
        assert start not in ("", "\ufeff"), found  # marks that nobody wants may be refused
        assert "a.csv" in found
    else:
        assert found == pytest.approx(right, abs=1e-12)


# S4: classes whose names look like columns


@pytest.mark.parametrize("name", ["y", "label", "target", "language", "token"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_one_hot_table_with_a_class_of_a_known_name_is_not_labels(name: str, suffix: str, tmp_path: Path) -> None:
    happened = ["x", name, "z", name]
    hot = pd.DataFrame({"case": [1, 2, 3, 4], **{c: [int(c == y) for y in happened] for c in ("x", name, "z")}})
    pa.parquet.write_table(pa.Table.from_pandas(hot, preserve_index=False), tmp_path / "p.parquet")
    hot.to_csv(tmp_path / "p.csv", index=False)
    put(tmp_path, t_csv="case,outcome\n" + "".join(f"{i},{y}\n" for i, y in enumerate(happened, 1)))
    for m in (5, 3):
        found = ended({"p": tmp_path / f"p.{suffix}"}, tmp_path / "t.csv", m)
        if isinstance(found, str):
            assert name in found
            assert any(f"{option}=" in found for option in ("ignore", "layout", "classes", "confidences", "space"))
        else:
            assert found == 0


def test_fractions_that_come_late_in_a_wide_table_count(tmp_path: Path) -> None:
    rows = [(1, 0, 0)] * 130 + [(0.25, 0.5, 0.25)] * 20
    body = "".join(f"{i},{a},{b},{c}\n" for i, (a, b, c) in enumerate(rows))
    put(tmp_path, p_csv=f"case,x,y,z\n{body}", t_csv="case,outcome\n" + "".join(f"{i},x\n" for i in range(150)))
    right = brier([dict(zip("xyz", row, strict=True)) for row in rows], ["x"] * 150, 3)
    for m in (3, 5):  # nothing is left for classes that have no column
        right_or_refused(tmp_path, f"compare p.csv -t t.csv -c {m}", [right], "y", options=["--ignore", "--layout"])


# S10: a truth without an outcome


@pytest.mark.parametrize("rows", ["1,,\n2,dog,1\n", "1,cat,.5\n1,dog,.4\n2,dog,1\n", "1,cat,0\n2,dog,1\n"])
def test_a_case_without_an_outcome_is_not_scored_as_uniform(rows: str, tmp_path: Path) -> None:
    put(tmp_path, p_csv="case,class,confidence\n1,cat,.5\n2,dog,.75\n", t_csv=f"case,class,confidence\n{rows}")
    sentence = refused(tmp_path, "compare p.csv -t t.csv -c 5", "t.csv", options=[])
    assert re.search(r"\b(case|row) '?1\b", sentence), sentence


# B3: a message that advises what was done


def test_what_lacks_is_named_not_what_was_given(tmp_path: Path) -> None:
    put(tmp_path, hub_csv=hub())
    command = "check hub.csv --layout long --class-column output_type_id --confidence value -c 10"
    done = toplist(*command.split(), cwd=tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode in (1, 2)
    assert "--case" in said, said
    assert "name them with --class-column and --confidence" not in said


def test_python_names_its_own_parameters() -> None:
    frame = pd.DataFrame({"klass": ["a", "b"], "sureness": [0.5, 0.25], "more": ["x", "y"]})
    with pytest.raises(tl.TopListError) as error:
        tl.read_lists(frame, 3)
    assert "--" not in str(error.value)
    assert any(f"{name}=" in str(error.value) for name in ("class_column", "confidence", "layout", "ignore"))


# B5: columns of one file


def test_columns_are_named_per_file(tmp_path: Path) -> None:
    put(
        tmp_path,
        a_csv="ref,klass,sure\n2,dog,.5\n1,cat,.75\n",
        b_csv="num;guess\n1;cat\n2;cat\n".replace(";", ","),
        t_csv="case,outcome\n1,cat\n2,dog\n",
    )
    names = "--case a=ref --case b=num --class-column a=klass --class-column b=guess --confidence a=sure"
    done = toplist(*f"compare a.csv b.csv -t t.csv -c 5 {names} --json".split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {row["name"]: row["scores"]["brier"]["mean"]["value"] for row in json.loads(done.stdout)["overall"]["rows"]}
    assert found["a"] == pytest.approx(brier([{"cat": 0.75}, {"dog": 0.5}], ["cat", "dog"], 5), abs=1e-12)
    assert found["b"] == pytest.approx(brier([{"cat": 1}, {"cat": 1}], ["cat", "dog"], 5), abs=1e-12)


def test_columns_of_the_truth_are_named_apart(tmp_path: Path) -> None:
    put(tmp_path, a_csv="case,class,confidence\n2,dog,.5\n1,cat,.75\n", t_csv="ref,what\n1,cat\n2,dog\n")
    right = brier([{"cat": 0.75}, {"dog": 0.5}], ["cat", "dog"], 5)
    named = scored(tmp_path, "compare a.csv -t t.csv -c 5 --case truth=ref --outcome what")
    assert named == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize("option", ["--case x=ref", "--class-column x=klass", "--confidence x=sure", "--ignore x=sure"])
def test_columns_of_nobody_are_refused(option: str, tmp_path: Path) -> None:
    put(tmp_path, a_csv="case,class,confidence\n2,dog,.5\n1,cat,.75\n", t_csv="case,outcome\n1,cat\n2,dog\n")
    refused(tmp_path, f"compare a.csv -t t.csv -c 5 {option}", "x", options=["x"])


# L16: the truth among the predictions


@pytest.mark.parametrize("given", ["*", "*.csv", ".", "{}/*", "{}"])
def test_a_pattern_or_a_folder_that_holds_the_truth_is_refused(given: str, tmp_path: Path) -> None:
    given = given.format(tmp_path)
    put(tmp_path, y_csv=LABELS)
    refused(tmp_path, f"score {given} -t y.csv -c 5", "y.csv", options=[])
    put(tmp_path, a_csv=LABELS)
    refused(tmp_path, f"score {given} -t y.csv -c 5", "y.csv", options=[])
