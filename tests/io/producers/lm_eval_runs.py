"""Runs of lm-evaluation-harness on small tasks, with a model that knows the answers to some degree.

`python -m tests.io.producers.lm_eval_runs FOLDER` writes `weak/` and `strong/`, two runs of the same three tasks, and
`odd/`, one task for each way in which its samples may differ. Nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

import numpy as np
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

DOCUMENTS = 36
MULTIPLE_CHOICE = """\
output_type: multiple_choice
doc_to_text: "Q: {{question}} A:"
doc_to_choice: choices
doc_to_target: gold
"""
COUNTS = ("acc", "acc_norm", "acc_bytes")
TASKS = {  # what each task says beside what all have in common, and its metrics
    "quiz": (MULTIPLE_CHOICE, COUNTS),
    "quiz_reworded": (MULTIPLE_CHOICE.replace("Q:", "Please answer:"), COUNTS),
    "verdict": (MULTIPLE_CHOICE.replace("choices\n", "['no', 'yes']\n").replace("gold", "even"), ("acc",)),
    "by_text": (MULTIPLE_CHOICE.replace("gold", "right") + 'target_delimiter: "\\n"\n', COUNTS),
    "digits": (MULTIPLE_CHOICE.replace("choices\n", "['1', '2', '0']\n").replace("gold", "third"), ("acc",)),
    "information": (MULTIPLE_CHOICE, ("acc", "acc_mutual_info")),
    "several": (MULTIPLE_CHOICE.replace("gold", "both"), ("acc",)),
    "in_context": (
        """\
output_type: multiple_choice
doc_to_text: even
doc_to_choice: "{{['It is odd: ' + question, 'It is even: ' + question]}}"
doc_to_target: ending
""",
        ("acc",),
    ),
    "one_text": ('output_type: loglikelihood\ndoc_to_text: "{{question}}"\ndoc_to_target: right\n', ("acc",)),
    "letters": (
        """\
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: letter
filter_list:
  - name: strict
    filter:
      - {function: regex, regex_pattern: "ANSWER: ([A-E])"}
      - {function: take_first}
  - name: loose
    filter:
      - {function: regex, regex_pattern: "([A-E])"}
      - {function: take_first}
""",
        ("exact_match",),
    ),
    "free": ('output_type: generate_until\ndoc_to_text: "{{question}}"\ndoc_to_target: ending\n', ("exact_match",)),
}


def documents() -> list[dict[str, Any]]:
    """Questions with three, four and five choices; two of them are the same question."""
    draws = np.random.default_rng(16)
    every = []
    for at in range(DOCUMENTS):
        places = 3 + at % 3
        gold = int(draws.integers(places))
        choices = [f"é{'abcde'[place] * int(draws.integers(1, 6))} {at}" for place in range(places)]
        every.append(
            {
                "question": f"Question {at}?",
                "choices": choices,
                "gold": gold,
                "right": choices[gold],
                "letter": "ABCDE"[gold],
                "even": gold % 2,
                "third": gold % 3,
                "both": [gold, (gold + 1) % places],
                "ending": "so they say",
            }
        )
    return [*every, every[0]]


class Knowing(LM):
    """Prefers the right text by `quality`, with noise that depends on what is asked."""

    def __init__(self, quality: float) -> None:
        super().__init__()
        self.quality = quality

    def loglikelihood(self, requests: list[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """A sum over characters, more noise, and a bonus for what is right."""
        return [(self._value(one), False) for one in requests]

    def _value(self, request: Any) -> float:
        context, text = request.args[:2]
        digest = hashlib.sha256(f"{context}|{text}|{self.quality}".encode()).digest()
        noise = np.random.default_rng(int.from_bytes(digest[:8], "little")).normal()
        known = request.doc
        right = text.strip() in (known["right"], ["no", "yes"][known["even"]], "120"[known["third"]])
        right |= context.startswith(("It is odd", "It is even")[known["even"]])
        return -9.0 - 0.4 * len(text) + noise + self.quality * right * bool(context)

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """The right letter for most questions, without the word for some, and none for some."""
        ways = ("ANSWER: {}", "It is {}", "ANSWER: A", "no idea")
        return [ways[len(one.doc["right"]) % 4].format(one.doc["letter"]) for one in requests]

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        """Not asked for."""
        raise NotImplementedError


def main(home: Path) -> None:
    """Write the tasks, and run them."""
    tasks = home / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents()))
    for name, (text, metrics) in TASKS.items():
        data = (
            f"dataset_path: json\ndataset_kwargs: {{data_files: {{test: {tasks / 'docs.jsonl'}}}}}\ntest_split: test\n"
        )
        counts = "".join(f"  - {{metric: {one}, aggregation: mean, higher_is_better: true}}\n" for one in metrics)
        (tasks / f"{name}.yaml").write_text(f"task: {name}\n{data}{text}metric_list:\n{counts}")
    manager = TaskManager(include_path=str(tasks), include_defaults=False)
    for run, quality, names in (
        ("weak", 1.0, list(TASKS)[:3]),
        ("strong", 3.0, list(TASKS)[:3]),
        ("odd", 2.0, list(TASKS)[3:]),
    ):
        tracker = EvaluationTracker(output_path=str(home / run))
        tracker.general_config_tracker.model_name_sanitized = "tests__knowing"
        found = simple_evaluate(
            Knowing(quality), tasks=names, task_manager=manager, log_samples=True, bootstrap_iters=0, verbosity="ERROR"
        )
        samples = found.pop("samples")
        tracker.save_results_aggregated(found, samples)
        for name in names:
            tracker.save_results_samples(name, samples[name])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
