"""The files that the commands of the net read: the same predictions in every layout and format, and damaged ones.

Confidences are multiples of 1/1024, so that sums of them, and of their squares, are the same in any order.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

CLASSES = ["ant", "bee", "cat", "dog", "elk"]
CASES = [f"q{at:02d}" for at in range(1, 41)]
UNIT = 1024

Record = dict[str, Any]
Lists = dict[str, dict[str, float]]  # a list by case


def chance(*words: object) -> random.Random:
    """Draws that are the same everywhere."""
    return random.Random(" ".join(map(str, words)))  # noqa: S311


OUTCOMES = {case: chance("outcome", case).choice(CLASSES) for case in CASES}


def distributions(name: str, skill: float) -> Lists:
    """A model: every class of every case, the outcome more probable in a share of the cases."""
    lists: Lists = {}
    for case in CASES:
        rng = chance(name, case)
        weights = [rng.randint(1, 12) ** 2 for _ in CLASSES]
        if rng.random() < skill:
            weights[CLASSES.index(OUTCOMES[case])] += 150
        parts = [UNIT * weight // sum(weights) for weight in weights]
        parts[parts.index(max(parts))] += UNIT - sum(parts)
        ordered = sorted(zip(CLASSES, parts, strict=True), key=lambda pair: -pair[1])
        lists[case] = {label: part / UNIT for label, part in ordered}
    return lists


def shortened(lists: Lists, longest: int = 4) -> Lists:
    """The first classes of each case, from none to some."""
    return {case: dict(list(one.items())[: at % (longest + 1)]) for at, (case, one) in enumerate(lists.items())}


def first(lists: Lists, k: int) -> Lists:
    """The k first classes of each case."""
    return {case: dict(list(one.items())[:k]) for case, one in lists.items()}


def nucleus(lists: Lists, beta: float) -> Lists:
    """The fewest first classes of each case that hold a share of the probability."""
    nuclei: Lists = {}
    for case, one in lists.items():
        k = next(k for k in range(1, len(one) + 1) if sum(list(one.values())[:k]) >= beta)
        nuclei[case] = dict(list(one.items())[:k])
    return nuclei


def shuffled(records: list[Record], seed: str) -> list[Record]:
    """The same records in another order."""
    return chance(seed).sample(records, len(records))


# Layouts


def as_lists(lists: Lists) -> list[Record]:
    """Classes and confidences side by side."""
    return [{"case": case, "classes": list(one), "confidences": list(one.values())} for case, one in lists.items()]


def as_objects(lists: Lists) -> list[Record]:
    """An object for each class."""
    return [{"case": c, "results": [{"label": x, "score": t} for x, t in one.items()]} for c, one in lists.items()]


def as_long(lists: Lists) -> list[Record]:
    """A row for each class; a blank one for an empty list."""
    blank: list[Any] = [(None, None)]
    return [
        {"case": case, "class": label, "confidence": value}
        for case, one in lists.items()
        for label, value in list(one.items()) or blank
    ]


def as_wide(lists: Lists, prefix: str = "") -> list[Record]:
    """A column for each class."""
    return [{"case": case, **{f"{prefix}{label}": one.get(label) for label in CLASSES}} for case, one in lists.items()]


def as_ranked(lists: Lists, k: int = 3) -> list[Record]:
    """class_1, p_1, class_2, p_2, ..."""
    records = []
    for case, one in lists.items():
        record: Record = {"case": case}
        for rank, (label, value) in enumerate([*one.items(), *[(None, None)] * k][:k], 1):
            record |= {f"class_{rank}": label, f"p_{rank}": value}
        records.append(record)
    return records


def as_labels(lists: Lists) -> list[Record]:
    """The first class of each case."""
    return [{"case": case, "class": next(iter(one), None)} for case, one in lists.items()]


def without(records: list[Record], *columns: str) -> list[Record]:
    """Records without some columns."""
    return [{key: value for key, value in record.items() if key not in columns} for record in records]


def scaled(lists: Lists, change: Any) -> Lists:
    """Other values for the confidences."""
    return {case: {label: change(value) for label, value in one.items()} for case, one in lists.items()}


# Formats


def as_text(records: list[Record], delimiter: str = ",") -> str:
    """Delimited text, with nothing for null."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(records[0])
    writer.writerows(["" if value is None else value for value in record.values()] for record in records)
    return out.getvalue()


def save(path: Path, records: list[Record]) -> None:
    """Write records in the format that the name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    if suffix in (".parquet", ".feather", ".arrow"):
        table = pa.Table.from_pylist(records)
        if suffix == ".parquet":
            pa.parquet.write_table(table, path)
        elif suffix == ".feather":
            pa.feather.write_feather(table, str(path))
        else:
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
                stream.write_table(table, max_chunksize=7)
    elif suffix == ".json":
        path.write_text(json.dumps(records, ensure_ascii=False, indent=1), encoding="utf-8")
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records), encoding="utf-8")
    elif suffix == ".csv.gz":
        path.write_bytes(gzip.compress(as_text(records).encode(), mtime=0))
    else:
        path.write_text(as_text(records, "\t" if suffix == ".tsv" else ","), encoding="utf-8")


def save_arrays(home: Path, full: Lists, top: Lists) -> None:
    """The files of numpy: classes by their numbers."""
    codes = {label: code for code, label in enumerate(CLASSES)}
    dense = np.array([[one[label] for label in CLASSES] for one in full.values()])
    ids = np.array(list(full))
    offsets = np.cumsum([0, *(len(one) for one in top.values())])
    classes = np.array([codes[label] for one in top.values() for label in one], np.int32)
    values = np.array([value for one in top.values() for value in one.values()])
    shape = (len(ids), -1)
    np.save(home / "dense.npy", dense)
    np.savez(home / "dense.npz", probs=dense, classes=np.array(CLASSES), ids=ids)
    np.savez(home / "top.npz", classes=classes.reshape(shape), confidences=values.reshape(shape), ids=ids)
    np.savez(home / "flat.npz", offsets=offsets, classes=classes, confidences=values, ids=ids)
    size = np.array([len(ids), len(CLASSES)])
    np.savez(home / "csr.npz", data=values, indices=classes, indptr=offsets, shape=size, format=b"csr", ids=ids)


# The truth


def truth() -> list[Record]:
    """What happened, and all else that is known of a case."""
    records = []
    for at, case in enumerate(CASES):
        rng = chance("truth", case)
        records.append(
            {
                "case": case,
                "outcome": OUTCOMES[case],
                "region": rng.choice(["north", "south", "west, far"]),
                "weight": rng.choice([0.5, 1.0, 2.0]),
                "source": f"s{rng.randint(1, 8)}",
                "week": f"2026-{1 + at // 16:02d}-{1 + at % 16:02d}",
                "options": 5 + rng.randint(0, 3),
            }
        )
    return records


LABEL_SETS = ["red", "green", "blue", "red|green", "green|blue", "{}"]


def save_label_sets(home: Path) -> None:
    """Predictions over sets of labels."""
    for name in ("sets", "sets-b"):
        records = []
        for case in CASES[:20]:
            rng = chance(name, case)
            parts = sorted(rng.sample(range(100, 500), 2), reverse=True)
            records += [
                {"case": case, "class": label, "confidence": part / UNIT}
                for label, part in zip(rng.sample(LABEL_SETS, 2), parts, strict=True)
            ]
        save(home / f"{name}.csv", records)
    save(
        home / "y-sets.csv",
        [{"case": case, "outcome": chance("set", case).choice(LABEL_SETS)} for case in CASES[:20]],
    )


def write_tables(home: Path) -> None:
    """All tables."""
    a, b = distributions("a", 0.8), distributions("b", 0.5)
    short, top = shortened(a), first(a, 3)
    known = truth()
    save(home / "a.csv", as_wide(a))
    save(home / "b.csv", as_wide(b))
    save(home / "c.jsonl", as_lists(shortened(distributions("c", 0.7), 5)))
    save(home / "bad.csv", as_wide(distributions("bad", 0.0)))
    save(home / "hard.csv", as_labels(b))
    save(home / "nucleus.jsonl", as_lists(nucleus(a, 0.5)))
    save(home / "nucleus-b.jsonl", as_lists(nucleus(b, 0.5)))
    for suffix in ("parquet", "feather", "arrow", "jsonl", "json"):
        save(home / f"lists.{suffix}", as_lists(short))
    for suffix in ("parquet", "jsonl", "json"):
        save(home / f"objects.{suffix}", as_objects(short))
    save(home / "nested.jsonl", [{"case": one.pop("case"), "output": one} for one in as_objects(short)])
    for suffix in ("csv", "tsv", "csv.gz", "parquet", "jsonl"):
        save(home / f"long.{suffix}", as_long(short))
    for suffix in ("csv", "tsv", "parquet", "jsonl"):
        save(home / f"wide.{suffix}", as_wide(a))
    save(home / "prefixed.csv", [{**record, "note": 7} for record in as_wide(a, "prob_")])
    for suffix in ("csv", "parquet"):
        save(home / f"ranked.{suffix}", as_ranked(top))
    save(home / "labels.tsv", as_labels(b))
    save_arrays(home, a, top)
    save(
        home / "renamed.csv",
        [{"sample": r["case"], "species": r["class"], "sure": r["confidence"]} for r in as_long(short)],
    )
    # other orders, none, and parts
    save(home / "long-shuffled.csv", shuffled(as_long(short), "rows"))
    save(home / "lists-shuffled.parquet", shuffled(as_lists(short), "rows"))
    save(home / "a-shuffled.csv", shuffled(as_wide(a), "rows"))
    save(home / "a-bare.csv", without(as_wide(a), "case"))
    save(home / "lists-bare.jsonl", without(as_lists(short), "case"))
    save(home / "parts" / "1.csv", as_wide(a)[:25])
    save(home / "parts" / "2.csv", as_wide(a)[25:])
    for half, some in (("1", slice(0, 25)), ("2", slice(25, None))):
        save(home / f"half-{half}" / "a.csv", as_wide(a)[some])
        save(home / f"half-{half}" / "b.csv", as_wide(b)[some])
        save(home / f"half-{half}" / "y.csv", known[some])
    save(home / "runs.csv", [{"seed": seed, **r} for seed, one in ((1, a), (2, b)) for r in as_wide(one)])
    save(
        home / "runs.jsonl",
        [{**r, "about": {"seed": seed, "t": t}} for seed, t, one in ((1, 0.5, a), (2, 0.7, b)) for r in as_lists(one)],
    )
    # the truth
    for suffix in ("csv", "tsv", "parquet", "jsonl", "json"):
        save(home / f"y.{suffix}", known)
    save(home / "y-shuffled.csv", shuffled(known, "truth"))
    save(home / "y-plain.csv", [{"case": r["case"], "outcome": r["outcome"]} for r in known])
    save(home / "y-bare.csv", [{"outcome": r["outcome"]} for r in known])
    save(home / "y-codes.csv", [{"case": r["case"], "outcome": CLASSES.index(r["outcome"])} for r in known])
    save(home / "y-bare-codes.csv", [{"outcome": CLASSES.index(r["outcome"])} for r in known])
    save(home / "y-named.csv", [{"cluster": r["source"], "time": r["week"], **r} for r in known])
    soft = distributions("soft", 0.9)
    save(home / "soft.csv", as_wide(soft))
    save(home / "soft.jsonl", as_lists(soft))
    save(home / "soft-short.jsonl", as_lists(first(soft, 3)))
    save(home / "with-truth.csv", [{**r, "answer": OUTCOMES[r["case"]]} for r in as_wide(a)])
    save(home / "with-truth-b.csv", [{**r, "answer": OUTCOMES[r["case"]]} for r in as_wide(b)])
    (home / "classes.txt").write_text("".join(f"{label}\n" for label in CLASSES))
    (home / "classes.json").write_text(json.dumps(CLASSES))
    save_label_sets(home)
    # values
    save(home / "percent.csv", as_long(scaled(short, lambda value: 100 * value)))
    save(home / "log.csv", as_long(scaled(short, math.log)))
    save(home / "rounded.csv", as_wide(scaled(a, lambda value: round(value, 2))))
    save(home / "above-one.jsonl", as_lists(scaled(top, lambda value: 1.25 * value)))
    save(home / "twice.csv", [r for r in as_long(short) for _ in range(2 if r["case"] == "q03" else 1)])
    blank = as_long(short)
    blank[5]["confidence"] = None
    save(home / "blank.csv", blank)
    save(
        home / "invalid.jsonl",
        as_lists(
            {c: {**one, "elk": 0.001} if at % 4 == 1 else one for at, (c, one) in enumerate(shortened(a, 2).items())}
        ),
    )
    zeros = {case: {label: float(label == next(iter(one))) for label in CLASSES} for case, one in b.items()}
    save(home / "zeros.csv", as_wide(zeros))
    save(home / "missing.csv", as_wide(a)[:34])
    save(home / "missing-b.csv", as_wide(b)[3:])
    # what cannot be read
    negative = as_long(short)
    negative[3]["confidence"] = -0.25
    save(home / "negative.csv", negative)
    wordy = as_long(short)
    wordy[3]["confidence"] = "much"
    save(home / "wordy.csv", wordy)
    save(
        home / "large.csv",
        [{**r, "confidence": 7.5 if at == 4 else r["confidence"]} for at, r in enumerate(as_long(short))],
    )
    save(home / "others.csv", [{**r, "case": f"x{r['case']}"} for r in as_wide(a)])
    save(
        home / "strange.csv", [{**r, "class": "yak" if at == 9 else r["class"]} for at, r in enumerate(as_long(short))]
    )
    save(home / "repeated.csv", [*as_wide(a), as_wide(a)[4]])
    save(home / "y-strange.csv", [{**r, "outcome": "yak" if r["case"] == "q07" else r["outcome"]} for r in known])
    save(home / "y-repeated.csv", [*known, known[6]])
    save(home / "y-blank.csv", [{**r, "outcome": None if r["case"] == "q07" else r["outcome"]} for r in known])
    save(home / "two-ids.csv", [{"left": at, "right": 2 * at, **r} for at, r in enumerate(without(as_wide(a), "case"))])
    save(home / "y-two-ids.csv", [{"left": at, "right": 2 * at, "outcome": r["outcome"]} for at, r in enumerate(known)])
    save(home / "logits.csv", as_wide(scaled(a, lambda value: round(20 * value - 4, 3))))
    save(home / "marginals.csv", as_wide(scaled(a, lambda value: min(1.0, 0.3 + value))))
    save(
        home / "lengths.jsonl",
        [{**r, "classes": r["classes"][:-1]} if r["case"] == "q04" else r for r in as_lists(short)],
    )
    (home / "cut.jsonl").write_text((home / "lists.jsonl").read_text()[:-30])
    (home / "cut.parquet").write_bytes((home / "lists.parquet").read_bytes()[:-40])
    (home / "keys.jsonl").write_text('{"case": "q01", "case": "q02", "classes": ["ant"], "confidences": [0.5]}\n')
    (home / "empty.csv").write_text("")
    (home / "header.csv").write_text("case,class,confidence\n")
    (home / "notes.txt").write_text("nothing to score here\n")
    (home / "model.json").write_text('{"schema": "something/1"}')
