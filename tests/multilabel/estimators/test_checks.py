"""scikit-learn's own checks of estimators."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.estimator_checks import check_classifier_multioutput, check_estimator

from toplist.multilabel import BinaryRelevance, LabelPowerset, ProbabilisticChain, Reranker

SMALL = HistGradientBoostingClassifier(max_iter=5)
MODE = "predict gives the likeliest set, which need not be the labels that are more likely than not"


@pytest.mark.parametrize(
    ("estimator", "exceptions"),
    [
        (BinaryRelevance(), {}),
        (BinaryRelevance(calibration="isotonic", random_state=0), {}),
        (LabelPowerset(), {}),
        (ProbabilisticChain(random_state=0), {}),
        (Reranker(booster=SMALL, cv=3, random_state=0), {"check_classifier_multioutput": MODE}),
    ],
    ids=repr,
)
def test_it_does_what_scikit_learn_asks_of_an_estimator(estimator: Any, exceptions: dict[str, str]) -> None:
    results = check_estimator(estimator, on_skip=None, expected_failed_checks=exceptions)
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input", "check_classifiers_multilabel_output_format_decision_function"}
    assert len(results) > 50


def test_with_the_hamming_decision_a_reranker_is_held_to_that_too() -> None:
    check_classifier_multioutput("Reranker", Reranker(cv=3, decision="hamming", random_state=0))
