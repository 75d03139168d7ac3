"""Programs that write predictions: their files become tables with one list per row.

A producer is an entry here, which says what its files look like, and a module with a `PRODUCER`: a function that adds
the cases of all records (`toplist.io.producers.cases`). Modules are imported when a file has what their entry says, or
when they are asked for by name; one with several producers has them in `PRODUCERS`. Nothing is imported here that takes
long: the help of the command has these names.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from toplist._files import need

if TYPE_CHECKING:
    from toplist.io.producers.base import Producer


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a producer before its module is imported: what its files look like, and nothing else does."""

    module: str
    title: str  # as documentation and messages call it
    names: tuple[str, ...] = ("*",)  # patterns of the names of its files
    keys: tuple[str, ...] = ()  # paths that its first record has, all of them
    columns: tuple[str, ...] = ()  # columns, or patterns of them, that its tables have, all of them
    head: str = ""  # a regular expression that the beginning of its files has, or the columns of its Parquet files
    asked: bool = False  # whether it is used only where it is asked for by name


JSON = ("*.json", "*.jsonl", "*.ndjson", "*.json.gz", "*.jsonl.gz", "*.ndjson.gz")


PRODUCERS: dict[str, Entry] = {
    "openai": Entry("responses", "OpenAI chat completions", ("*.json*",), keys=("choices.0.message",)),
    "openai-batch": Entry("responses", "OpenAI batch output", ("*.json*",), keys=("custom_id", "response.body")),
    "openai-responses": Entry("responses", "OpenAI responses", ("*.json*",), keys=("output.0.type",)),
    "openai-legacy": Entry(
        "responses",
        "legacy completions",
        ("*.json*",),
        keys=("choices.0.logprobs.tokens", "choices.0.logprobs.top_logprobs"),
    ),
    "vllm": Entry("responses", "vLLM outputs", ("*.json*",), asked=True),
    "sglang": Entry("responses", "SGLang responses", ("*.json*",), keys=("meta_info.output_top_logprobs",)),
    "ollama": Entry("responses", "ollama responses", ("*.json*",), keys=("logprobs.0.top_logprobs", "done")),
    "llama-cpp": Entry("responses", "llama.cpp completions", ("*.json*",), keys=("completion_probabilities",)),
    "gemini": Entry("responses", "Gemini responses", ("*.json*",), keys=("candidates.0.content",)),
    "gemini-batch": Entry("responses", "Gemini batch output", ("*.json*",), keys=("response.candidates.0.content",)),
    "hubverse": Entry(
        "hubverse", "hubverse model output", ("*.csv", "*.parquet"), columns=("output_type", "output_type_id", "value")
    ),
    "every-eval-ever": Entry(
        "every_eval_ever",
        "Every Eval Ever records",
        ("*.jsonl", "*.jsonl.gz", "*.jsonl.zst"),
        keys=("schema_version", "evaluation_id", "sample_id", "input.raw"),
    ),
    "inspect-ai": Entry(
        "inspect_ai",
        "inspect_ai log",
        ("*.eval", "*.json"),
        head=r'\APK\x03\x04|\A\s*\{\s*"version":\s*\d+,\s*"status":\s*"\w+",\s*"eval"',
    ),
    "transformers": Entry("transformers", "outputs of Hugging Face pipelines", JSON, head='"score'),
    "timm": Entry(
        "timm",
        "results of timm's inference.py",
        ("*.csv", "*.json", "*.parquet"),
        head="filename|prob|logit",
    ),
    "fasttext": Entry(
        "fasttext",
        "fasttext predict-prob",
        ("*.txt", "*.txt.gz", "*.txt.zst", "*.csv", "*.csv.gz"),
        head="__label__",
    ),
    "speciesnet": Entry("species", "SpeciesNet", ("*.json",), keys=("predictions.0.filepath",)),
    "plantnet": Entry("species", "Pl@ntNet", (*JSON, "*.csv"), head="r1 name|scientificName|bestMatch"),
    "metaculus": Entry(
        "metaculus",
        "Metaculus forecasts",
        ("forecast_data*.csv",),
        columns=("Question ID", "Probability Yes Per Category"),
    ),
    "lm-eval": Entry(
        "lm_eval",
        "lm-evaluation-harness samples",
        ("*.jsonl", "*.jsonl.gz", "*.jsonl.zst"),
        keys=("doc_id", "arguments", "filtered_resps"),
    ),
    "lighteval": Entry("lighteval", "lighteval details", ("details_*.parquet",)),
    "mmlu": Entry("mmlu", "MMLU-style results", ("*.csv", "*.csv.gz"), columns=("*_choiceA_prob*", "*_choiceB_prob*")),
}


def load(name: str) -> Producer:
    """The producer of this name."""
    try:
        module = import_module(f"toplist.io.producers.{PRODUCERS[name].module}")
    except ModuleNotFoundError as error:
        if error.name == "msgspec":  # typed records are classes of it: their modules cannot do without
            need("msgspec")
        raise
    producer: Producer = module.PRODUCERS[name] if hasattr(module, "PRODUCERS") else module.PRODUCER
    return producer
