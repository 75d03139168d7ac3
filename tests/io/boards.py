"""Leaderboards as numbers, and truths as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.flat import compare
from tests.io.files import Record, as_lists, as_long, as_wide, save
from tests.io.strategies import Drawn, chance
from toplist.evaluation.leaderboard import Leaderboard

LABELS = ("csv", "tsv", "parquet", "jsonl", "feather")
SOFT = ("lists.parquet", "lists.jsonl", "wide.csv", "wide.parquet", "long.csv")


def hard_truth(drawn: Drawn, path: Path, *, ids: bool = True) -> Path:
    """What happened, with all else that is known of a case."""
    records: list[Record] = [
        {"case": case, "outcome": y, "region": group, "weight": w, "source": c, "options": m}
        for case, y, group, w, c, m in zip(
            drawn.ids, drawn.outcomes, drawn.groups, drawn.weights, drawn.clusters, drawn.sizes, strict=True
        )
    ]
    return save([record if ids else {k: v for k, v in record.items() if k != "case"} for record in records], path)


def soft_truth(drawn: Drawn, folder: Path, form: str) -> Path:
    """What may have happened, as distributions."""
    layout, _, suffix = form.partition(".")
    believed = replace(drawn, lists=drawn.soft)
    make = {"lists": as_lists, "wide": as_wide, "long": as_long}[layout]
    return save(make(believed, chance(1)), folder / f"truth.{suffix}")


def numbers(board: Leaderboard) -> dict[str, dict[str, Any]]:
    """All numbers of each model that do not depend on who else is there."""
    out = {}
    for section in [board.to_dict()["overall"], *board.to_dict()["groups"]]:
        for row in section["rows"]:
            scores = {rule: {k: v for k, v in one.items() if k != "difference"} for rule, one in row["scores"].items()}
            own = {key: value for key, value in row.items() if key not in ("name", "rank", "rank_interval")}
            out[f"{section['group']}/{row['name']}"] = {**own, "scores": scores}
    return out


def agree(board: Leaderboard) -> dict[str, Any]:
    """The numbers that all models share: bit by bit, or it is an error. They share a rank, which may be any."""
    for section in (board.comparison.overall, *board.groups):
        assert {(row.rank, row.rank_interval) for row in section.rows} == {(1, (1, len(section.rows)))}
    seen: dict[str, dict[str, Any]] = {}
    for key, row in numbers(board).items():
        group, name = key.split("/", 1)
        first = seen.setdefault(group, row)
        assert row == first, f"{name} differs in {group}: {row} is not {first}"
    return seen["None"]


def only(what: Any, truth: Any, **options: Any) -> Any:
    """The standing of one model."""
    return compare({"it": what}, truth, **options)["it"]
