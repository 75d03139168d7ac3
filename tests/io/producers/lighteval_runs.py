"""Details of lighteval, written by its own tracker: `python -m tests.io.producers.lighteval_runs FOLDER`.

`run/` has two tasks with log-likelihoods, one of them with those without the question; `odd/` has a task for each way
in which no list can be had. The counts are those of lighteval's own metric. Nothing is downloaded.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from lighteval.logging.evaluation_tracker import EvaluationTracker
from lighteval.logging.info_loggers import DetailsLogger
from lighteval.metrics.metrics_sample import LoglikelihoodAcc
from lighteval.metrics.normalizations import LogProbCharNorm, LogProbPMINorm, LogProbTokenNorm
from lighteval.models.dummy.dummy_model import DummyModelConfig
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.requests import Doc, SamplingMethod

METRICS = {
    "acc": LoglikelihoodAcc(),
    "acc_chars": LoglikelihoodAcc(LogProbCharNorm(ignore_first_space=True)),
    "acc_tokens": LoglikelihoodAcc(LogProbTokenNorm()),
}


def details(task: str, draws: np.random.Generator, *, unconditional: bool = False, golds: int = 1) -> list[Any]:
    """Twelve documents with three to five choices."""
    found = []
    for at in range(12):
        places = 3 + at % 3
        choices = [f" {'abcde'[place] * int(draws.integers(1, 9))}" for place in range(places)]
        gold: Any = at % places if golds == 1 else [at % places, (at + 1) % places]
        document = Doc(
            query=f"Question {at}?",
            choices=choices,
            gold_index=gold,
            id=str(at),
            task_name=task,
            sampling_methods=[SamplingMethod.LOGPROBS],
        )
        values = (-9.0 + draws.normal(size=places) * 3).tolist()
        prior = (-9.0 + draws.normal(size=places)).tolist() if unconditional else []
        tokens = [[1] * (1 + len(choice) // 2) for choice in choices]
        response = ModelResponse(
            input=f"Question {at}?", logprobs=values + prior, output_tokens=tokens * (1 + unconditional)
        )
        counted = {name: metric.compute(document, response) for name, metric in METRICS.items()}
        if unconditional:
            counted["acc_pmi"] = LoglikelihoodAcc(LogProbPMINorm()).compute(document, response)
        found.append(DetailsLogger.Detail(document, response, counted))
    return found


def generated(task: str) -> list[Any]:
    """Answers that are text."""
    document = Doc(query="?", choices=["yes"], gold_index=0, id="0", task_name=task)
    return [DetailsLogger.Detail(document, ModelResponse(text=["yes"]), {"em": 1})]


def save(folder: Path, tasks: dict[str, list[Any]]) -> None:
    """Write a run."""
    tracker = EvaluationTracker(output_dir=str(folder), save_details=True)
    tracker.general_config_logger.log_model_info(DummyModelConfig(model_name="tests/knowing"))
    for task, every in tasks.items():
        tracker.details_logger.details[task] = every
    tracker.save()


def main(home: Path) -> None:
    """Write all runs."""
    draws = np.random.default_rng(16)
    tasks = {"quiz|0": details("quiz|0", draws), "information|5": details("information|5", draws, unconditional=True)}
    save(home / "run", tasks)
    odd = {"several|0": details("several|0", draws, golds=2), "text|0": generated("text|0")}
    save(home / "odd", {**odd, "quiz|0": tasks["quiz|0"]})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
