"""Further columns, other names, ids that lack, folders of unlike parts, late fields: what must be recognised."""

from __future__ import annotations

from typing import Any

from tests.io.damages import ALL, Records, Rng, damage

HARMLESS = ("note", "comment", "site", "source")
TRUTHS = ("outcome", "truth", "target", "gold", "y_true", "true_label", "answer")
BUT_WIDE = ("lists", "long", "ranked", "labels")


def _beside(records: Records, name: str, values: list[Any]) -> Records:
    return [{**record, name: values[at % len(values)]} for at, record in enumerate(records)]


def _renamed(records: Records, old: str, new: str) -> Records:
    if old not in records[0]:
        raise ValueError("there is no such column")
    return [{new if name == old else name: value for name, value in record.items()} for record in records]


def _whole(records: Records, name: str) -> bool:
    return all(isinstance(record[name], int | None) for record in records)


# Further columns


@damage("records", BUT_WIDE, refused=("wide",))
def a_column_of_text(rng: Rng, records: Records) -> Records:
    texts = rng.choice([["v2"], ["oak", "elm"], [f"t{at}" for at in range(len(records))]])
    return _beside(records, rng.choice(HARMLESS), texts)


@damage("records", ("lists", "long", "ranked"), refused=("labels",))
def a_column_that_may_be_confidences(rng: Rng, records: Records) -> Records:
    kinds: list[list[Any]] = [[0.25, 0.5, 0.75], [12.5, 88.25], [-0.5, -2.25], [3, 40, 97], [0, 1], [None]]
    return _beside(records, rng.choice(HARMLESS), rng.choice(kinds))


@damage("records", BUT_WIDE)
def a_column_of_large_numbers(rng: Rng, records: Records) -> Records:
    return _beside(records, rng.choice([*HARMLESS, "year", "latency_ms"]), rng.choice([[1700, 2900], [170.25, 2900.5]]))


@damage("typed", ("ranked",), refused=("labels", "wide"))
def a_column_of_lists_or_structs(rng: Rng, records: Records) -> Records:
    return _beside(records, rng.choice(HARMLESS), rng.choice([[[0.5, 0.25]], [["a", "b"]], [{"x": 1, "y": "z"}]]))


@damage("records", refused=("long", "wide"))
def a_second_confidence(rng: Rng, records: Records) -> Records:
    if set(records[0]) == {"case", "class"}:
        raise ValueError("then it is the first")
    return _beside(records, rng.choice(["score", "probability", "certainty"]), [0.25, 0.5, 0.75])


@damage("records", refused=("long", "labels", "wide"))
def a_second_class(rng: Rng, records: Records) -> Records:
    return _beside(records, rng.choice(["prediction", "pred_label"]), ["ant", "bee"])


@damage("predictions", BUT_WIDE, refused=("wide",))
def the_truth_beside_the_prediction(rng: Rng, records: Records, truth: Records) -> tuple[Records, Records]:
    happened = {one["case"]: one["class"] for one in truth}
    if set(records[0]) == {"case", "class"} and _whole(truth, "class"):
        raise ValueError("codes beside codes may be confidences")
    name = rng.choice(TRUTHS)
    return [{**record, name: happened[record["case"]]} for record in records], truth


# Other names


@damage("records", ALL)
def the_id_by_another_known_name(rng: Rng, records: Records) -> Records:
    return _renamed(records, "case", rng.choice(["id", "image_id", "filename", "nr", "Case ID"]))


@damage("records", refused=ALL)
def the_id_by_an_unknown_name(rng: Rng, records: Records) -> Records:
    return _renamed(records, "case", "specimen")


@damage("predictions", ("long", "labels"))
def the_class_by_another_known_name(rng: Rng, records: Records, truth: Records) -> tuple[Records, Records]:
    return _renamed(records, "class", rng.choice(["label", "prediction", "species", "Label"])), truth


@damage("records", ("labels",), refused=("long",))
def the_class_by_an_unknown_name(rng: Rng, records: Records) -> Records:
    made = _renamed(records, "class", "klass")
    if _whole(made, "klass"):
        raise ValueError("codes of an unknown name may be anything")
    return made


@damage("records", ("long",))
def the_confidence_by_another_known_name(rng: Rng, records: Records) -> Records:
    return _renamed(records, "confidence", rng.choice(["p", "score", "prob", "certainty", "Confidence"]))


@damage("records", refused=("long",))
def the_confidence_by_an_unknown_name(rng: Rng, records: Records) -> Records:
    return _renamed(records, "confidence", "sureness")


# Ids that lack


@damage("records", refused=ALL)
def no_id_column(rng: Rng, records: Records) -> Records:
    kept = [{name: value for name, value in record.items() if name != "case"} for record in records]
    return rng.sample(kept, len(kept)) if rng.random() < 0.5 else kept


def _without_ids(records: Records) -> Records:
    return [{name: value for name, value in record.items() if name != "case"} for record in records]


@damage("predictions", ("lists", "ranked", "wide"))
def ids_in_neither_file(rng: Rng, records: Records, truth: Records) -> tuple[Records, Records]:
    return _without_ids(records), _without_ids(truth)


@damage("predictions", refused=ALL)
def ids_in_neither_file_but_a_text(rng: Rng, records: Records, truth: Records) -> tuple[Records, Records]:
    named = _beside(records, rng.choice(HARMLESS), [f"t{at}" for at in range(len(records))])
    return _without_ids(rng.sample(named, len(named))), _without_ids(truth)


# Folders


@damage("parts", ALL)
def parts_alike(rng: Rng, first: Records, second: Records) -> tuple[Records, ...]:
    return first, second


@damage("parts")
def a_column_in_one_part(rng: Rng, first: Records, second: Records) -> tuple[Records, ...]:
    more = _beside(second, rng.choice(["note", "yak", "target"]), rng.choice([["oak"], [0.25], [None], [7]]))
    return (first, more) if rng.random() < 0.5 else (more, first)


@damage("parts")
def a_column_less_in_one_part(rng: Rng, first: Records, second: Records) -> tuple[Records, ...]:
    gone = rng.choice(list(second[0]))
    less = [{name: value for name, value in record.items() if name != gone} for record in second]
    return (first, less) if rng.random() < 0.5 else (less, first)


@damage("parts")
def a_column_by_another_name_in_one_part(rng: Rng, first: Records, second: Records) -> tuple[Records, ...]:
    old = rng.choice([name for name in second[0] if name != "case"])
    new = {"class": "label", "confidence": "score"}.get(old, "yak")
    return (first, _renamed(second, old, new)) if rng.random() < 0.5 else (_renamed(second, old, new), first)


@damage("parts")
def labels_in_one_part(rng: Rng, first: Records, second: Records) -> tuple[Records, ...]:
    if set(second[0]) != {"case", "class", "confidence"}:
        raise ValueError("only a long table has such a twin")
    tops = {record["case"]: {"case": record["case"], "class": record["class"]} for record in second}
    hard = list(tops.values())
    return (first, hard) if rng.random() < 0.5 else (hard, first)


@damage("parts")
def ids_as_text_in_one_part(rng: Rng, first: Records, second: Records) -> tuple[Records, ...]:
    text = [{**record, "case": str(record["case"])} for record in second]
    return (first, text) if rng.random() < 0.5 else (text, first)


@damage("parts")
def a_case_in_both_parts(rng: Rng, first: Records, second: Records) -> tuple[Records, ...]:
    return first, [*second, rng.choice(first)]


@damage("parts", ALL)
def columns_in_another_order_in_one_part(rng: Rng, first: Records, second: Records) -> tuple[Records, ...]:
    names = rng.sample(list(second[0]), len(second[0]))
    return first, [{name: record[name] for name in names} for record in second]


@damage("parts")
def values_of_another_kind_in_one_part(rng: Rng, first: Records, second: Records) -> tuple[Records, ...]:
    name, turn = rng.choice(list(second[0])), rng.choice([str, bool, lambda x: f"0{x}", lambda x: [x]])
    turned = [{**record, name: None if record[name] is None else turn(record[name])} for record in second]
    return (first, turned) if rng.random() < 0.5 else (turned, first)


@damage("parts")
def no_probability_in_one_part(rng: Rng, first: Records, second: Records) -> tuple[Records, ...]:
    bad, made = rng.choice([-0.25, 1.5]), [dict(record) for record in second]
    for name, value in made[-1].items():
        if isinstance(value, list) and value and isinstance(value[0], float):
            made[-1][name] = [bad, *value[1:]]
        elif isinstance(value, float):
            made[-1][name] = bad
    return first, made


# Fields of JSON lines that come late


@damage("late", ALL)
def nothing_late(rng: Rng, records: Records) -> Records:
    return records


@damage("late")
def fields_that_come_late(rng: Rng, records: Records) -> Records:
    """A class of a wide table, or the later ranks, are there from row 131 on."""
    names = [name for name in records[0] if name not in ("case", "class", "confidence", "classes", "confidences")]
    if not names:
        raise ValueError("every field is needed")
    late = {rng.choice(names)} if "class_1" not in names else {name for name in names if not name.endswith("_1")}
    return [{k: None if k in late and at < 130 else v for k, v in r.items()} for at, r in enumerate(records)]


@damage("late", refused=("long", "labels", "lists"))
def other_names_that_come_late(rng: Rng, records: Records) -> Records:
    new = {"class": "label", "confidence": "score", "classes": "labels", "confidences": "scores"}
    if not new.keys() & records[0].keys():
        raise ValueError("no such fields")
    return [{new.get(k, k) if at >= 130 else k: v for k, v in r.items()} for at, r in enumerate(records)]


@damage("late")
def a_bad_value_that_comes_late(rng: Rng, records: Records) -> Records:
    made = [dict(record) for record in records]
    names = [name for name, value in made[-3].items() if isinstance(value, float)]
    if not names:
        raise ValueError("no numbers")
    made[-3][rng.choice(names)] = rng.choice([1.5, -0.25, "high", True])
    return made
