"""Files as other programs write them, in their documented shapes: for what the command makes of them."""

from __future__ import annotations

import csv
import json
import math
import zipfile
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.golden.command_files import UNIT, Record, chance, save
from tests.io.producers import answers_of_servers as servers
from tests.io.producers.token_oracle import Listed

QUESTIONS = [f"q{at}" for at in range(1, 13)]
TOKENS = ("Yes", "No", "yes", " No", "The", "<think>")
RIGHT = {question: chance("right", question).choice(["yes", "no"]) for question in QUESTIONS}


def write_producers(home: Path) -> None:
    """All files of other programs."""
    write_servers(home)
    write_lm_eval(home / "lm-eval")
    write_inspect(home / "inspect")
    write_lighteval(home / "lighteval")
    write_tables_of_choices(home)
    write_pipelines(home)
    write_species(home)
    write_hub(home / "hub")
    write_metaculus(home / "metaculus")


def parts(total: int, count: int, *words: object) -> list[float]:
    """Probabilities that add up to a share of UNIT, the largest first."""
    rng = chance(*words)
    weights = sorted((rng.randint(1, 20) ** 2 for _ in range(count)), reverse=True)
    shares = [max(1, total * weight // sum(weights)) for weight in weights]
    shares[0] += total - sum(shares)
    return [share / UNIT for share in shares]


# Servers of language models


def tokens(*words: object) -> list[Listed]:
    """What a server lists at one position."""
    values = parts(UNIT - 40, len(TOKENS), *words)
    names = chance(*words).sample(TOKENS, len(TOKENS))
    return [Listed(name, math.log(p), name.encode()) for name, p in zip(names, values, strict=True)]


def write_servers(home: Path) -> None:
    """Every server, with the same tokens; `answers.json` and `questions.csv` belong to them."""
    before = ("ANSWER:", [Listed("ANSWER:", math.log(0.875), b"ANSWER:"), Listed("So", math.log(0.0625), b"So")])
    shapes: dict[str, Any] = {
        "openai": servers.chat, "openai-responses": servers.response, "openai-legacy": servers.legacy,
        "sglang": servers.sglang, "ollama": servers.ollama, "llama-cpp": servers.llama_cpp, "gemini": servers.gemini,
    }  # fmt: skip
    for name, shape in shapes.items():
        for model in ("", "-b"):
            records = [shape([("Yes", tokens(model, q))], question_id=q) for q in QUESTIONS]
            for record in records:
                number_tokens(record)
            save(home / f"{name}{model}.jsonl", records)
    save(home / "openai-batch.jsonl", [servers.batch([("Yes", tokens("", q))], q) for q in QUESTIONS[::-1]])
    failed = [servers.failed(q) if q == "q3" else servers.batch([("Yes", tokens("", q))], q) for q in QUESTIONS]
    save(home / "openai-batch-failed.jsonl", failed)
    save(home / "openai-stream.jsonl", [c for q in QUESTIONS for c in servers.chunks([("Yes", tokens("", q))], q)])
    positions = [servers.chat([before, ("Yes", tokens("", q))], question_id=q) for q in QUESTIONS]
    save(home / "openai-position.jsonl", positions)
    save(home / "openai.json", [servers.chat([("Yes", tokens("", q))], question_id=q) for q in QUESTIONS])
    carried = [servers.chat([("Yes", tokens("", q))], question_id=q, target=RIGHT[q]) for q in QUESTIONS]
    save(home / "openai-target.jsonl", carried)
    chunks = [c for q in QUESTIONS for c in servers.ollama_chunks([("Yes", tokens("", q))], question_id=q)]
    save(home / "ollama-stream.jsonl", chunks)
    after = [servers.llama_cpp([("Yes", tokens("", q))], after=True, question_id=q) for q in QUESTIONS]
    for record in after:
        number_tokens(record)
    save(home / "llama-cpp-after.jsonl", after)
    batch = [{"key": q, "response": servers.gemini([("Yes", tokens("", q))])} for q in QUESTIONS]
    save(home / "gemini-batch.jsonl", batch)
    logits = [Listed("Yes", 12.5, b"Yes"), Listed("No", 9.0, b"No")]
    save(home / "openai-logits.jsonl", [servers.chat([("Yes", logits)], question_id=q) for q in QUESTIONS])
    save(home / "openai-none.jsonl", [servers.chat([], question_id=q) for q in QUESTIONS])
    save(home / "questions.csv", [{"question_id": q, "outcome": RIGHT[q]} for q in QUESTIONS])
    save(home / "questions-case.csv", [{"case": q, "outcome": RIGHT[q]} for q in QUESTIONS])
    save(home / "questions-bare.csv", [{"outcome": RIGHT[q]} for q in QUESTIONS])
    (home / "answers.json").write_text(json.dumps({"yes": ["Yes", "yes", " Yes"], "no": ["No", "no", " No"]}))


def number_tokens(record: Record) -> None:
    """Numbers of tokens by their texts, the same in every process."""
    for place in record.get("completion_probabilities", ()):
        for token in (place, *place.get("top_logprobs", ()), *place.get("top_probs", ())):
            token["id"] = TOKENS.index(token["token"])


# Harnesses


def likelihoods(count: int, *words: object) -> list[float]:
    """Log-likelihoods of choices, in quarters."""
    rng = chance(*words)
    return [-rng.randint(2, 40) / 4 - place / 64 for place in range(count)]


def lm_eval_sample(task: str, model: str, at: int, choices: list[str], target: int) -> Record:
    """A record as version 0.4.13 writes it."""
    values = likelihoods(len(choices), task, model, at)
    best = values.index(max(values))
    lengths = [value / len(choice) for value, choice in zip(values, choices, strict=True)]
    return {
        "doc_id": at,
        "doc": {"question": f"Question {at}?", "level": 1 + at % 3, "about": [{"topic": "xyz"[at % 3]}]},
        "target": str(target),
        "arguments": {
            f"gen_args_{place}": {"arg_0": f"Question {at}?", "arg_1": f" {choice}"}
            for place, choice in enumerate(choices)
        },
        "resps": [[[str(value), "False"]] for value in values],
        "filtered_resps": [[str(value), "False"] for value in values],
        "filter": "none",
        "metrics": ["acc", "acc_norm"],
        "doc_hash": f"{at:016x}" * 4,
        "acc": float(best == target),
        "acc_norm": float(lengths.index(max(lengths)) == target),
    }


def write_lm_eval(place: Path) -> None:
    """Two models, two tasks: choices of their own for each question, and the same ones throughout."""
    for model in ("base", "tuned"):
        quiz, verdict = [], []
        for at in range(12):
            rng = chance("quiz", at)
            choices = [f"{'abcd'[n] * rng.randint(1, 6)}" for n in range(3 + at % 2)]
            quiz.append(lm_eval_sample("quiz", model, at, choices, rng.randrange(len(choices))))
            verdict.append(lm_eval_sample("verdict", model, at, ["no", "yes"], rng.randrange(2)))
        save(place / model / "org__m" / "samples_quiz_2026-01-01T00-00-00.000001.jsonl", quiz)
        save(place / model / "org__m" / "samples_verdict_2026-01-01T00-00-00.000001.jsonl", verdict)
    folder = place / "twice" / "org__m"
    other = [lm_eval_sample("quiz", "other", at, ["a", "b", "c", "d"][: 3 + at % 2], 0) for at in range(3)]
    save(folder / "samples_quiz_2026-01-01T00-00-00.000001.jsonl", quiz)
    save(folder / "samples_quiz_2026-01-02T00-00-00.000001.jsonl", other)
    save(place / "repeated" / "samples_quiz.jsonl", quiz + quiz[:6])
    save(place / "wrong" / "samples_quiz.jsonl", [{**record, "acc": 1.0 - record["acc"]} for record in quiz])


def inspect_sample(model: str, at: int, *, listed: bool = True) -> Record:
    """A question with three choices."""
    target = chance("inspect", at).choice("ABC")
    values = parts(UNIT - 64, 4, "inspect", model, at)
    names = chance("letters", model, at).sample(["A", "B", "C", "The"], 4)
    top = [{"token": name, "logprob": math.log(p)} for name, p in zip(names, values, strict=True)]
    answer = next(name for name in names if name != "The")
    content = [{"token": answer, "logprob": top[0]["logprob"], "top_logprobs": top}]
    choice = {"message": {"content": answer}, **({"logprobs": {"content": content}} if listed else {})}
    return {
        "id": f"s{at}",
        "epoch": 1,
        "input": f"Question {at}?",
        "choices": ["one", "two", "three"],
        "target": target,
        "output": {"completion": answer, "choices": [choice]},
        "scores": {"choice": {"value": "C" if answer == target else "I", "answer": answer}},
    }


def write_inspect(place: Path) -> None:
    """Logs in both formats, and one without log-probabilities."""
    about = {"version": 2, "status": "success", "eval": {"task": "quiz", "model": "m"}}
    for name, listed in (("base", True), ("tuned", True), ("labels", False)):
        samples = [inspect_sample(name, at, listed=listed) for at in range(12)]
        (place / name).mkdir(parents=True)
        if name == "tuned":
            with zipfile.ZipFile(place / name / "log.eval", "w") as archive:
                archive.writestr("header.json", json.dumps(about))
                for sample in samples:
                    archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        else:
            (place / name / "log.json").write_text(json.dumps({**about, "samples": samples}))


def write_lighteval(place: Path) -> None:
    """Details of two models."""
    for model in ("base", "tuned"):
        records = []
        for at in range(12):
            values = likelihoods(3, "lighteval", model, at)
            choices = [f" {'abc'[n] * chance('lengths', at, n).randint(1, 5)}" for n in range(3)]
            gold = chance("gold", at).randrange(3)
            hit = int(values.index(max(values)) == gold)
            records.append({
                "doc": {"query": f"Question {at}?", "choices": choices, "gold_index": gold, "id": str(at)},
                "model_response": {"logprobs": values, "output_tokens": [[1] * (1 + len(c) // 2) for c in choices]},
                "metric": {"acc": hit},
            })  # fmt: skip
        (place / model).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(records), place / model / "details_quiz|0_2026-01-01T00-00-00.parquet")


def write_tables_of_choices(home: Path) -> None:
    """MMLU-style tables and records of Every Eval Ever."""
    letters = "ABCD"
    for model, subject in product(("base", "tuned"), ("anatomy", "law")):
        rows: list[list[Any]] = [
            [*"012345", f"{model}_correct", *(f"{model}_choice{letter}_probs" for letter in letters)]
        ]
        for at in range(8):
            values = chance("order", model, subject, at).sample(parts(UNIT, 4, "mmlu", model, subject, at), 4)
            answer = chance("mmlu", subject, at).choice(letters)
            hit = letters[values.index(max(values))] == answer
            rows.append([f"Which, {at}?", *(f"choice {x}{at}" for x in letters), answer, hit, *values])
        path = home / f"mmlu-{model}" / f"{subject}.csv"
        path.parent.mkdir(exist_ok=True)
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    colours = ["red", "green", "blue"]
    for model in ("base", "tuned"):
        records = []
        for at in range(12):
            answer = chance("every", model, at).choice(["A", "B", "C", "purple"])
            right = chance("every", at).choice(colours)
            hit = dict(zip("ABC", colours, strict=True)).get(answer) == right
            steps = {"turn_idx": 0, "source": "output.raw", "extracted_value": answer}
            records.append({
                "schema_version": "0.2.1", "evaluation_id": "e", "model_id": f"org/{model}",
                "evaluation_name": "colours", "sample_id": f"id{at}", "sample_hash": f"{at:064x}",
                "interaction_type": "single_turn",
                "input": {"raw": "Which?", "formatted": None, "reference": [right], "choices": colours},
                "output": {"raw": [f" {answer}"], "reasoning_trace": []},
                "answer_attribution": [{**steps, "extraction_method": "exact_match", "is_terminal": True}],
                "evaluation": {"score": float(hit), "is_correct": hit}, "error": None,
            })  # fmt: skip
        save(home / f"every-{model}.jsonl", records)
    save(home / "every-two.jsonl", [json.loads(line) for model in ("base", "tuned")
                                    for line in (home / f"every-{model}.jsonl").read_text().splitlines()])  # fmt: skip


# Pipelines and libraries

PICTURES = [f"{at:03d}.jpg" for at in range(10)]
SEEN = ["tabby", "tiger cat", "lynx", "red fox", "wolf", "owl"]


def write_pipelines(home: Path) -> None:
    """Hugging Face, timm and fastText."""
    outputs: list[list[Record]] = []
    zero_shot, sigmoids, raw = [], [], []
    for at, picture in enumerate(PICTURES):
        values = parts(UNIT - 100, 3, "pipeline", picture)
        names = chance("seen", picture).sample(SEEN, 3)
        outputs.append([{"label": name, "score": p} for name, p in zip(names, values, strict=True)])
        all_of_it = parts(UNIT, 3, "zero-shot", picture)
        zero_shot.append({"sequence": f"text {at}", "labels": names[:3], "scores": all_of_it})
        sigmoids.append([{"label": name, "score": 0.75} for name in names])
        raw.append([{"label": name, "score": 4.0 * p} for name, p in zip(names, values, strict=True)])
    for name, value in (("pipeline", outputs), ("zero-shot", zero_shot), ("sigmoids", sigmoids), ("raw", raw)):
        (home / f"{name}.json").write_text(json.dumps(value))
    (home / "config.json").write_text(json.dumps({"model_type": "vit", "id2label": dict(enumerate(SEEN))}))
    save(home / "y-pictures.csv", [{"filename": p, "outcome": chance("picture", p).choice(SEEN)} for p in PICTURES])
    save(home / "y-pictures-bare.csv", [{"outcome": chance("picture", p).choice(SEEN)} for p in PICTURES])
    save(home / "y-candidates.csv", [{"outcome": one["labels"][at % 3]} for at, one in enumerate(zero_shot)])
    codes = [{"filename": p, "outcome": SEEN.index(chance("picture", p).choice(SEEN))} for p in PICTURES]
    save(home / "y-indices.csv", codes)
    rows = []
    for picture, listed in zip(PICTURES, outputs, strict=True):
        row: Record = {"filename": picture}
        row |= {f"index_{at}": SEEN.index(str(one["label"])) for at, one in enumerate(listed)}
        row |= {f"label_{at}": one["label"] for at, one in enumerate(listed)}
        rows.append(row | {f"prob_{at}": one["score"] for at, one in enumerate(listed)})
    save(home / "timm.csv", rows)
    save(home / "timm.parquet", rows)
    (home / "timm.json").write_text(
        json.dumps({row["filename"]: {k: v for k, v in row.items() if k != "filename"} for row in rows})
    )
    save(home / "timm-logits.csv", [{k.replace("prob", "logit"): v for k, v in row.items()} for row in rows])
    text = []
    for at, listed in enumerate(outputs):
        words = (f"__label__{str(one['label']).replace(' ', '_')} {one['score'] + 1e-5:g}" for one in listed)
        text.append(" ".join(words) if at != 4 else "")
    (home / "fasttext.txt").write_text("\n".join(text) + "\n")
    (home / "fasttext-ova.txt").write_text("__label__owl 0.9 __label__wolf 0.8\n" * len(PICTURES))
    save(home / "y-fasttext.csv", [{"outcome": chance("picture", p).choice(SEEN).replace(" ", "_")} for p in PICTURES])


def write_species(home: Path) -> None:
    """SpeciesNet and Pl@ntNet."""
    taxa = [
        f"{number:08d}-8a45-40b3-ae21-7c97dfae22f5;mammalia;carnivora;canidae;{genus};{species};{common}"
        for number, (genus, species, common) in enumerate(
            [("vulpes", "vulpes", "red fox"), ("canis", "familiaris", "domestic dog"), ("", "", "canidae family")]
        )
    ] + ["f1856211-cfb7-4a5b-9158-c0f72fd09ee6;;;;;;blank"]
    predictions: list[Record] = []
    for picture in PICTURES:
        values = parts(UNIT - 64, 3, "species", picture)
        listed: Record = {"classes": chance("taxa", picture).sample(taxa, 3), "scores": values}
        ensemble = {
            "prediction": listed["classes"][0],
            "prediction_score": values[0],
            "prediction_source": "classifier",
        }
        predictions.append({"filepath": picture, "classifications": listed, **ensemble, "model_version": "4.0.2a"})
    predictions[3] = {"filepath": PICTURES[3], "failures": ["CLASSIFIER"], "model_version": "4.0.2a"}
    (home / "speciesnet.json").write_text(json.dumps({"predictions": predictions}))
    save(home / "y-species.csv", [{"filepath": p, "outcome": chance("taxon", p).choice(taxa)} for p in PICTURES])
    common = [{"filepath": p, "outcome": chance("taxon", p).choice(taxa).split(";")[-1]} for p in PICTURES]
    save(home / "y-common.csv", common)
    plants = ["Rosa canina", "Rosa arvensis", "Acer campestre", "Salix alba"]
    responses: list[Record] = []
    lines = ["id;truth;r1 name; r1 score;r2 name; r2 score"]
    truths = []
    for at in range(10):
        values = parts(UNIT - 200, 2, "plant", at)
        names = chance("plants", at).sample(plants, 2)
        right = chance("plant", at).choice(plants)
        results = [
            {"score": p, "species": {"scientificNameWithoutAuthor": name, "scientificName": f"{name} L."}}
            for name, p in zip(names, values, strict=True)
        ]
        responses.append({"query": {"images": [f"i{at}"]}, "bestMatch": f"{names[0]} L.", "results": results})
        lines.append(f"{1000 + at};{right};{names[0]}; {values[0]};{names[1]}; {values[1]}")
        truths.append({"image": f"i{at}", "outcome": right})
    responses[2] = {"query": {"images": ["i2"]}, "bestMatch": "", "results": []}
    save(home / "plantnet.jsonl", responses)
    save(home / "y-plants.csv", truths)
    save(home / "y-benchmark.csv", [{"id": 1000 + at, "outcome": one["outcome"]} for at, one in enumerate(truths)])
    (home / "plantnet-benchmark.csv").write_text("\n".join(lines) + "\n")


# Hubs

LEVELS = ["low", "moderate", "high"]


def write_hub(place: Path) -> None:
    """A hub of the hubverse with an ordinal target, two teams, three rounds and two places."""
    rounds, places, target = ["2024-11-23", "2024-11-30", "2024-12-07"], ["US", "01"], "wk flu hosp rate category"
    ids = {
        "reference_date": {"required": None, "optional": rounds},
        "location": {"required": None, "optional": places},
        "target": {"required": None, "optional": [target]},
    }
    value = {"type": "double", "minimum": 0, "maximum": 1}
    about = {"target_id": target, "target_name": target, "target_units": "", "target_keys": {"target": target}}
    task = {
        "task_ids": ids,
        "output_type": {"pmf": {"output_type_id": {"required": LEVELS}, "is_required": True, "value": value}},
        "target_metadata": [{**about, "target_type": "ordinal", "is_step_ahead": True, "time_unit": "week"}],
    }
    schema = "https://raw.githubusercontent.com/hubverse-org/schemas/main/v6.0.0/tasks-schema.json"
    round_ = {
        "round_id_from_variable": True,
        "round_id": "reference_date",
        "model_tasks": [task],
        "submissions_due": {},
    }
    (place / "hub-config").mkdir(parents=True)
    (place / "hub-config" / "tasks.json").write_text(json.dumps({"schema_version": schema, "rounds": [round_]}))
    happened = {(day, where): chance("hub", day, where).choice(LEVELS) for day, where in product(rounds, places)}
    oracle = [
        {"reference_date": day, "location": where, "target": target, "output_type": "pmf", "output_type_id": level,
         "oracle_value": int(level == happened[day, where])}
        for day, where in product(rounds, places) for level in LEVELS
    ]  # fmt: skip
    save(place / "target-data" / "oracle-output.csv", oracle)
    for team in ("Alpha-base", "Beta-net"):
        for day in rounds[team == "Beta-net" :]:
            rows = [
                {"reference_date": day, "location": where, "target": target, "output_type": "pmf",
                 "output_type_id": level, "value": p}
                for where in places
                for level, p in zip(
                    chance(team, day, where).sample(LEVELS, 3), parts(UNIT, 3, team, day, where), strict=True
                )
            ]  # fmt: skip
            save(place / "model-output" / team / f"{day}-{team}.csv", rows)


def write_metaculus(place: Path) -> None:
    """A download with three forecasters' last forecasts and one question that is open."""
    place.mkdir()
    close = "2026-06-10 12:00:00+00:00"
    questions, forecasts = [], []
    for number in range(1, 9):
        options = ["Ada", "Bob", "Cai", "Other"][: 2 + number % 3]
        resolution = "" if number == 8 else chance("resolved", number).choice(options)
        questions.append({
            "Question ID": number, "Question Title": f"Who wins {number}?", "Post ID": 10 * number,
            "Question Type": "multiple_choice", "MC Options (Current)": options, "MC Options (All)": options,
            "MC Options History": "", "Open Time": "2026-06-01 12:00:00+00:00", "Actual Close Time": close,
            "Resolution": resolution,
        })  # fmt: skip
        for day in (2, 5, 20):
            values = chance("metaculus", number, day).sample(parts(UNIT, len(options), number, day), len(options))
            forecasts.append({
                "Question ID": number, "Forecaster ID": 7, "Forecaster Username": "ann", "Is Bot": False,
                "Start Time": f"2026-06-{day:02d} 12:00:00.5+00:00", "End Time": "", "Forecaster Count": "",
                "Probability Yes": "", "Probability Yes Per Category": values, "Continuous CDF": "",
            })  # fmt: skip
    save(place / "question_data.csv", questions)
    save(place / "forecast_data.csv", forecasts)
