"""The names that columns are known by, as the documentation lists them."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


STRONG = _words(
    """
    case case_id id ids cases example_id sample_id instance_id question_id query_id image_id doc_id document_id
    item_id row_id record_id task_id patient_id subject_id obs_id observation_id custom_id clip_id uid uuid guid
    key qid filename file_name filepath file_path file path img image example sample instance item url doc
    document patient subject record recording clip observation
    """
)
WEAK = _words("question text sentence name date timestamp unit row nr index")
IDS = (*STRONG, *WEAK)
TRUTHS = _words(
    """
    outcome outcomes truth true true_class true_label true_category target targets gold gold_label y y_true y_test
    answer correct_answer correct_label correct_class actual actual_class ground_truth groundtruth resolution
    observed expected label_true
    """
)
PREDICTED = _words("prediction predicted predicted_class predicted_label pred pred_class pred_label y_pred")
CLASSES = (
    *("class", "label", "category", *PREDICTED, "language", "lang", "species", "token", "output_type_id"),
    *("classes", "labels"),
)
CONFIDENCES = _words(
    """
    confidence probability prob p score proba conf value percent percentage logprob log_prob log_probability
    confidences probabilities probs scores prediction_score confidence_score predicted_probability pred_prob
    max_prob top_prob certainty
    """
)
NEVER = _words(
    """
    rank k n count size length fold split seed epoch step year month week day hour horizon age weight cluster
    group order latency latency_ms time duration runtime width height start end lat lon latitude longitude version
    """
)


def plain(name: str) -> str:
    """A name as it is compared."""
    text = name.strip().lower()
    for mark in " -.":
        text = text.replace(mark, "_")
    return text


def kind(name: str) -> str:
    """id, truth, class, confidence, never or free: what a name says of its column."""
    known = (("id", IDS), ("truth", TRUTHS), ("class", CLASSES), ("confidence", CONFIDENCES), ("never", NEVER))
    return next((word for word, names in known if plain(name) in names), "free")
