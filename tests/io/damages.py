"""Ways to spoil a file, or to write the same in another way."""

from __future__ import annotations

import copy
import datetime
import math
import random
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

Records = list[dict[str, Any]]
Rng = random.Random
ALL = ("lists", "long", "wide", "ranked", "labels")
ZOO: tuple[Any, ...] = (
    *(None, "", " ", "abc", "NaN", "50%", "0,5", "0x1p-2", "1_0", "-", "none", "٣", "a\nb", 'q"q', "\x00", "x" * 5000),
    *(math.nan, math.inf, -math.inf, -0.25, -1e-300, 1.5, 55.0, -9999.0, 1e308, 1e-320, 0.3, 0.0, 1.0, 2**40, 10**30),
    *(True, [], ["x"], [["x"]], [0.5, 0.5], {}, {"a": {"b": [1]}}, datetime.date(2020, 2, 2), b"\xff\xfe", "🐦" * 9),
)


@dataclass(frozen=True)
class Damage:
    """A name, what it works on, how, and the layouts in which the file still says the same, or must be refused."""

    name: str
    on: str
    do: Callable[..., Any]
    harmless: Collection[str] = ()
    refused: Collection[str] = ()


DAMAGES: list[Damage] = []


def damage(
    on: str, harmless: Collection[str] = (), refused: Collection[str] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(do: Callable[..., Any]) -> Callable[..., Any]:
        DAMAGES.append(Damage(do.__name__.replace("_", " "), on, do, harmless, refused))
        return do

    return add


# Records, before they are written


@damage("records", ALL)
def nothing(rng: Rng, records: Records) -> Records:
    return records


@damage("records", ALL)
def rows_shuffled(rng: Rng, records: Records) -> Records:
    return rng.sample(records, len(records))


@damage("records", ALL)
def columns_shuffled(rng: Rng, records: Records) -> Records:
    names = rng.sample(list(records[0]), len(records[0]))
    return [{name: record[name] for name in names} for record in records]


@damage("records", ("lists", "long", "ranked"))
def a_further_column(rng: Rng, records: Records) -> Records:
    value = rng.choice([None, "x", 7, 0.1, True])
    return [{**record, "comment": value} for record in records]


@damage("records", ALL)
def ids_as_text(rng: Rng, records: Records) -> Records:
    return [{**record, "case": str(record["case"])} for record in records]


@damage("records")
def a_cell_of_another_kind(rng: Rng, records: Records) -> Records:
    made = copy.deepcopy(records)
    record = rng.choice(made)
    record[rng.choice(list(record))] = rng.choice(ZOO)
    return made


@damage("records")
def a_value_of_another_kind(rng: Rng, records: Records) -> Records:
    """In a list, where there are lists; else in any cell but the id."""
    made = copy.deepcopy(records)
    record = rng.choice(made)
    name = rng.choice([name for name in record if name != "case"])
    if isinstance(record[name], list) and record[name]:
        record[name][rng.randrange(len(record[name]))] = rng.choice(ZOO)
    else:
        record[name] = rng.choice(ZOO)
    return made


@damage("records")
def a_column_of_another_kind(rng: Rng, records: Records) -> Records:
    name, kind = rng.choice(list(records[0])), rng.choice([str, bool, float, int, list, _nested, _bytes])
    return [{**record, name: _each(record[name], kind)} for record in records]


def _each(value: Any, kind: Any) -> Any:
    if value is None or isinstance(value, list):
        return None if value is None else [_each(one, kind) for one in value]
    return kind(value) if kind not in (float, int) or not isinstance(value, str) else len(value)


def _nested(value: Any) -> Any:
    return {"value": value, "more": [{"deep": [value]}]}


def _bytes(value: Any) -> bytes:
    return str(value).encode("latin-1", "replace")


@damage("records")
def a_row_less(rng: Rng, records: Records) -> Records:
    at = rng.randrange(len(records))
    return records[:at] + records[at + 1 :]


@damage("records")
def a_row_twice(rng: Rng, records: Records) -> Records:
    made = list(records)
    made.insert(rng.randrange(len(made)), rng.choice(records))
    return made


@damage("records")
def a_column_less(rng: Rng, records: Records) -> Records:
    gone = rng.choice(list(records[0]))
    return [{name: value for name, value in record.items() if name != gone} for record in records]


@damage("records")
def a_column_by_another_name(rng: Rng, records: Records) -> Records:
    old = rng.choice(list(records[0]))
    new = rng.choice(["zzz", old.upper(), old + " ", "case", "class", "confidence", "p", "x" * 3000, "a,b", 'q"', ""])
    return [{new if name == old else name: value for name, value in record.items()} for record in records]


@damage("records")
def an_id_twice(rng: Rng, records: Records) -> Records:
    made = [dict(record) for record in records]
    made[rng.randrange(len(made))]["case"] = rng.choice(records)["case"]
    return made


@damage("records")
def ids_of_another_kind(rng: Rng, records: Records) -> Records:
    kinds: list[Callable[[Any], Any]] = [
        float,
        lambda i: i + 0.5,
        lambda i: f" {i}",
        lambda i: f"{i}.0",
        lambda i: i + 2**63,
    ]
    kinds += [lambda i: datetime.date(2020, 1, 1) + datetime.timedelta(i), lambda i: None, lambda i: i % 2 == 0]
    kind = rng.choice(kinds)
    return [{**record, "case": kind(record["case"])} for record in records]


@damage("records")
def numbers_in_other_units(rng: Rng, records: Records) -> Records:
    turn = rng.choice([lambda t: 100 * t, lambda t: math.log(t) if t else -math.inf, lambda t: -t, lambda t: t * 1e300])
    return [{name: value if name == "case" else _scaled(value, turn) for name, value in r.items()} for r in records]


def _scaled(value: Any, turn: Callable[[float], float]) -> Any:
    if isinstance(value, list):
        return [_scaled(one, turn) for one in value]
    return turn(value) if isinstance(value, float) else value


@damage("records")
def no_rows(rng: Rng, records: Records) -> Records:
    return [] if rng.random() < 0.1 else records[:1] if rng.random() < 0.3 else records[: len(records) // 2]
