"""What names of columns and fields usually mean. In each list the most telling names come first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# Ids of cases: names that say id, whatever the values are; names of what a case is; and of what may be anything.
CERTAIN_IDS = (
    "case", "case_id", "id", "ids", "cases", "example_id", "sample_id", "instance_id", "question_id", "query_id",
    "image_id", "doc_id", "document_id", "item_id", "row_id", "record_id", "task_id", "patient_id", "subject_id",
    "obs_id", "observation_id", "custom_id", "clip_id", "uid", "uuid", "guid", "key", "qid",
)  # fmt: skip
LIKELY_IDS = (
    "filename", "file_name", "filepath", "file_path", "file", "path", "img", "image", "example", "sample", "instance",
    "item", "url", "doc", "document", "patient", "subject", "record", "recording", "clip", "observation",
)  # fmt: skip
POSSIBLE_IDS = ("question", "text", "sentence", "name", "date", "timestamp", "unit", "row", "nr", "index")
STRONG_IDS = (*CERTAIN_IDS, *LIKELY_IDS)
CASE = (*STRONG_IDS, *POSSIBLE_IDS)
TRUTH = (
    "outcome", "outcomes", "truth", "true", "true_class", "true_label", "true_category", "target", "targets", "gold",
    "gold_label", "y", "y_true", "y_test", "answer", "correct_answer", "correct_label", "correct_class", "actual",
    "actual_class", "ground_truth", "groundtruth", "resolution", "observed", "expected", "label_true",
)  # fmt: skip
PREDICTED = (
    "prediction", "predicted", "predicted_class", "predicted_label", "pred", "pred_class", "pred_label", "y_pred",
)  # fmt: skip
CLASS = (
    "class", "label", "category", *PREDICTED, "language", "lang", "species", "token", "output_type_id", "classes",
    "labels",
)  # fmt: skip
CONFIDENCE = (
    "confidence", "probability", "prob", "p", "score", "proba", "conf", "value", "percent", "percentage", "logprob",
    "log_prob", "log_probability", "confidences", "probabilities", "probs", "scores", "prediction_score",
    "confidence_score", "predicted_probability", "pred_prob", "max_prob", "top_prob", "certainty",
)  # fmt: skip
# Fields of objects in a list that name its class where no field has one of the names above.
RECORD_CLASS = ("name", "display_name", "text", "title", "option", "choice", "candidate")
# Fields that say where something is: a list of such objects has what was found in an image or a text, not one answer.
PLACE = (
    "box", "bbox", "bounding_box", "boundingbox", "polygon", "mask", "segmentation", "start", "end", "begin", "offset",
    "start_time", "end_time", "timestamp", "x", "y", "xmin", "ymin", "instances",
)  # fmt: skip
# What tells models and runs apart, not cases.
RUN = (
    "model", "model_id", "model_name", "run", "run_id", "system", "method", "team", "forecaster", "annotator", "rater",
    "repeat", "trial",
)  # fmt: skip
# Numbers that describe a case or a run: neither confidences nor classes.
NEITHER = (
    "rank", "k", "n", "count", "size", "length", "fold", "split", "seed", "epoch", "step", "year", "month", "week",
    "day", "hour", "horizon", "age", "weight", "cluster", "group", "order", "latency", "latency_ms", "time", "duration",
    "runtime", "width", "height", "start", "end", "lat", "lon", "latitude", "longitude", "version",
)  # fmt: skip


def spelled(name: str) -> str:
    """A name as these lists spell it.

    >>> spelled(" Image-ID ")
    'image_id'
    """
    return re.sub(r"[\s.-]+", "_", name.strip().lower())


def named(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """The columns that bear one of the known names, the most telling first.

    >>> named(["p", "Label", "class"], CLASS)
    ['class', 'Label']
    """
    order = {name: place for place, name in enumerate(known)}
    return sorted((name for name in names if spelled(name) in order), key=lambda name: order[spelled(name)])


def spelled_field(name: str) -> str:
    """The name of a field of an object as these lists spell it: JSON has capitals inside of words.

    >>> spelled_field("confidenceScore"), spelled_field("Name")
    ('confidence_score', 'name')
    """
    return spelled(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name))


def is_named(name: str, known: Sequence[str]) -> bool:
    """Whether a column bears one of the known names."""
    return spelled(name) in known


def numbered(names: Sequence[str], known: Sequence[str]) -> dict[str, dict[int, str]]:
    """Columns such as class_1, class_2: for each known name that occurs, the columns by their number.

    >>> numbered(["class_1", "class_2", "p1"], CLASS)
    {'class': {1: 'class_1', 2: 'class_2'}}
    """
    columns: dict[str, dict[int, str]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)_?(\d{1,6})", spelled(name))
        if match and match.group(1) in known:
            columns.setdefault(match.group(1), {})[int(match.group(2))] = name
    return columns
