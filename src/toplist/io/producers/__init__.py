"""Programs that write predictions, one module each: their files become tables with one list per row.

A new producer is a module with a `Producer` called `PRODUCER`, and an entry in `PRODUCERS` here. Modules are imported
when a file has what their entry says, or when they are asked for by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fnmatch import filter as filter_names
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

from toplist._text import argument, listed
from toplist.errors import FileError
from toplist.io.paths import format_of
from toplist.io.producers.base import FirstLook, Match, ProducedReader, Producer, Request, at_path


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

_BEGINNING = 1 << 16  # bytes in which the beginning of a file is looked for

PRODUCERS: dict[str, Entry] = {
    "openai": Entry("openai", "OpenAI chat completions", ("*.json*",), keys=("choices.0.message",)),
    "openai-batch": Entry("openai", "OpenAI batch output", ("*.json*",), keys=("custom_id", "response.body")),
    "openai-responses": Entry("openai", "OpenAI responses", ("*.json*",), keys=("output.0.content",)),
    "openai-legacy": Entry(
        "openai",
        "legacy completions",
        ("*.json*",),
        keys=("choices.0.logprobs.tokens", "choices.0.logprobs.top_logprobs"),
    ),
    "vllm": Entry("vllm", "vLLM outputs", ("*.json*",), asked=True),
    "sglang": Entry("sglang", "SGLang responses", ("*.json*",), keys=("meta_info.output_top_logprobs",)),
    "ollama": Entry("ollama", "ollama responses", ("*.json*",), keys=("logprobs.0.top_logprobs", "done")),
    "llama-cpp": Entry("llama_cpp", "llama.cpp completions", ("*.json*",), keys=("completion_probabilities",)),
    "gemini": Entry("gemini", "Gemini responses", ("*.json*",), keys=("candidates.0.content",)),
    "gemini-batch": Entry("gemini", "Gemini batch output", ("*.json*",), keys=("response.candidates.0.content",)),
    "football": Entry(
        "football", "football-data.co.uk matches", ("*.csv",), columns=("Home*", "Away*", "*H", "*D", "*A")
    ),
    "hubverse": Entry(
        "hubverse", "hubverse model output", ("*.csv", "*.parquet"), columns=("output_type", "output_type_id", "value")
    ),
    "every-eval-ever": Entry(
        "every_eval_ever",
        "Every Eval Ever records",
        ("*.jsonl", "*.jsonl.gz", "*.jsonl.zst"),
        keys=("schema_version", "evaluation_id", "sample_id", "input.raw"),
    ),
    "helm": Entry("helm", "HELM scenario state", ("scenario_state.json",), head='"adapter_spec"'),
    "inspect-ai": Entry(
        "inspect_ai",
        "inspect_ai log",
        ("*.eval", "*.json"),
        head=r'\APK\x03\x04|\A\s*\{\s*"version":\s*\d+,\s*"status":\s*"\w+",\s*"eval"',
    ),
    "transformers": Entry("transformers", "outputs of Hugging Face pipelines", JSON, head='"score'),
    "keras": Entry("keras", "decode_predictions of Keras", JSON, keys=("0.0", "0.1", "0.2")),
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
    "speciesnet": Entry("speciesnet", "SpeciesNet", ("*.json",), keys=("predictions.0.filepath",)),
    "megadetector": Entry(
        "megadetector", "the MegaDetector format", ("*.json",), keys=("info.format_version", "detection_categories")
    ),
    "plantnet": Entry("plantnet", "Pl@ntNet", (*JSON, "*.csv"), head="r1 name|scientificName|bestMatch"),
    "inaturalist": Entry("inaturalist", "suggestions of iNaturalist", JSON, keys=("results.0.taxon",)),
    "birdnet": Entry(
        "birdnet",
        "BirdNET",
        ("*.csv", "*.txt", "*.tsv", "*.parquet"),
        head=r"(?i)\(s\)|OFFSET|start_time",
    ),
    "extreme": Entry("extreme", "scores of extreme classification", ("*.txt", "*.txt.gz", "*.pred", "*.preds")),
    "map-at-k": Entry(
        "map_at_k", "ranked labels, as for MAP@k", ("*.csv", "*.csv.gz"), head=r"\A[^\n]+\n[^,;\t\n]+[,;\t]\"?\S+ \S"
    ),
    "cloud": Entry(
        "cloud",
        "Rekognition, Comprehend, Vertex AI or Azure AI Language",
        JSON,
        head='Labels"|"Classes"|"SentimentScore"|"displayNames"|"confidenceScore"',
    ),
    "manifold": Entry(
        "manifold", "Manifold markets", ("*.json", "*.jsonl"), keys=("shouldAnswersSumToOne", "answers", "mechanism")
    ),
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
    "simple-evals": Entry("simple_evals", "simple-evals results", ("*.json",), head='"(chars|convos)"'),
}


def load(name: str) -> Producer:
    """The producer of this name."""
    producer: Producer = import_module(f"toplist.io.producers.{PRODUCERS[name].module}").PRODUCER
    return producer


def recognised(path: str) -> tuple[str, Match] | None:
    """The producer whose files these certainly are, with the reason; an error where there are two; or None.

    A module is imported only where a file has all that its entry says. In a folder, or among the files that match a
    pattern, every file is looked at: tables that are not of the producer are noted.
    """
    look = FirstLook(path)
    found = {}
    for name, entry in PRODUCERS.items():
        match = None if entry.asked else _fits(look, entry)
        match = None if match is None else load(name).match(look, match)
        if match is not None:
            found[name] = match
    if len(found) > 1:
        ways = " or ".join(argument("producer", name) for name in found)
        saw = "; ".join(f"{PRODUCERS[name].title}: {match.reason}" for name, match in found.items())
        raise FileError(path, f"this may come from {listed(list(found), show=str)} ({saw}). Say which: {ways}.")
    if not found:
        return None
    (one,) = found.items()
    if look.too_many:
        raise FileError(
            path,
            f"these are more than {look.most:,} files, some of them of {PRODUCERS[one[0]].title}: name those to read, "
            "as a folder or by a pattern.",
        )
    name, match = one
    own = set(match.paths)
    return name, replace(match, beside=tuple(path for path in look.files if path not in own and _is_table(path)))


def files_of(name: str, look: FirstLook) -> tuple[Path, ...]:
    """The files that a producer reads which is asked for: those with its names or, where there are none, all."""
    return tuple(p for p in look.files if _is_named(p, PRODUCERS[name])) or look.files


def _is_table(path: Path) -> bool:
    """Whether a file may be taken for predictions; one of JSON mostly describes those beside it."""
    found = format_of(path)
    return found is not None and found.certain and found.beside


def _fits(look: FirstLook, entry: Entry) -> Match | None:
    """The files that have all that an entry says."""
    if not (entry.keys or entry.columns) and "*" in entry.names:
        return None
    able = (path for path in look.files if _is_named(path, entry) and _may_fit(look, path, entry))
    reasons = {path: reason for path in able for reason in [_reason(look, path, entry)] if reason}
    return Match(tuple(reasons), next(iter(reasons.values()))) if reasons else None


def _is_named(path: Path, entry: Entry) -> bool:
    return any(fnmatch(path.name.lower(), pattern) for pattern in entry.names)


def _may_fit(look: FirstLook, path: Path, entry: Entry) -> bool:
    """Whether a file has the words that an entry needs: most have not, and need not be taken apart."""
    sight = look.sight(path)
    words = [max(pattern.split("*"), key=len) for pattern in entry.columns]
    words += [f'"{part}"' for key in entry.keys for part in key.split(".") if not part.isdigit()]
    if entry.head and not re.search(entry.head.encode(), sight[:_BEGINNING]):
        return False
    line = sight.partition(b"\n")[0].rstrip()
    whole = not entry.keys or line[-1:] in (b"}", b"]")  # a header, or a record in a line of its own
    return all(word.encode() in (line if whole else sight) for word in words)


def _reason(look: FirstLook, path: Path, entry: Entry) -> str:
    """What tells that a file has all that an entry says; nothing where it has not."""
    if entry.keys:
        record: Any = look.first(path)
        seen = record is not None and all(at_path(record, key) is not None for key in entry.keys)
        return f"its records have {listed(list(entry.keys))}" if seen else ""
    if not entry.columns:
        return f"it is called {path.name}"
    names = look.columns(path)
    seen = all(pattern in names or filter_names(names, pattern) for pattern in entry.columns)
    return f"it has the columns {listed(list(entry.columns))}" if seen else ""


__all__ = [
    "PRODUCERS",
    "Entry",
    "FirstLook",
    "Match",
    "ProducedReader",
    "Producer",
    "Request",
    "files_of",
    "load",
    "recognised",
]
