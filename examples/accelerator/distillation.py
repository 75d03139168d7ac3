"""A small language model distilled from the top lists of a larger one, by three losses.

The teacher gives the `K` most likely next words with their probabilities. Students that differ in the loss alone learn
from these lists: by the Kullback-Leibler divergence truncated to the list, by the one with a bucket for the rest, and
by the Brier divergence of lists. One more learns from the full distributions. All are judged on modules that were held
out: `python -m examples.accelerator distillation`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch
from examples.accelerator.words import Model, Text

import toplist as tl
from toplist.integrations.torch import LogitLists, StreamingScores, list_divergence, lists_from_logits

log = logging.getLogger(__name__)
K = 8
TEACHER, TRUNCATED, BUCKET, BRIER, FULL = "teacher", "truncated KL", "tail-bucket KL", "Brier divergence", "full KL"
Loss = Callable[[torch.Tensor, LogitLists, torch.Tensor], torch.Tensor]


def truncated(student: torch.Tensor, lists: LogitLists, teacher: torch.Tensor) -> torch.Tensor:
    """The sum of p log(p / q) over the listed classes alone, which is what people write first."""
    log_q = student.log_softmax(dim=1).gather(1, lists.classes)
    return (lists.log_confidences.exp() * (lists.log_confidences - log_q)).sum(dim=1).mean()


def bucket(student: torch.Tensor, lists: LogitLists, teacher: torch.Tensor) -> torch.Tensor:
    """The Kullback-Leibler divergence of listed classes and the rest."""
    return list_divergence(lists.classes, lists.log_confidences, student, teacher_log_rest=lists.log_rest)


def brier(student: torch.Tensor, lists: LogitLists, teacher: torch.Tensor) -> torch.Tensor:
    """The Brier divergence of listed classes and the rest."""
    return list_divergence(lists.classes, lists.log_confidences, student, teacher_log_rest=lists.log_rest, rule="brier")


def full(student: torch.Tensor, lists: LogitLists, teacher: torch.Tensor) -> torch.Tensor:
    """The Kullback-Leibler divergence over all classes."""
    return torch.nn.functional.kl_div(
        student.log_softmax(dim=1), teacher.log_softmax(dim=1), reduction="batchmean", log_target=True
    )


LOSSES: dict[str, Loss] = {TRUNCATED: truncated, BUCKET: bucket, BRIER: brier, FULL: full}


def distil(text: Text, teacher: Model, width: int, hidden: int, epochs: int, seed: int) -> dict[str, Model]:
    """One student for each loss, from the same start and the same batches."""
    students, steps = {}, epochs * -(-len(text.train.y) // 256)
    for name in LOSSES:
        torch.manual_seed(seed)
        student = Model(text.classes, width, hidden)
        optimizer = torch.optim.AdamW(student.parameters())
        students[name] = student, optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, 8e-3, total_steps=steps)
    draw = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for before, _y in text.train.batches(256, draw):
            with torch.no_grad():
                logits = teacher(before)
            lists = lists_from_logits(logits, K)
            for name, (student, optimizer, schedule) in students.items():
                optimizer.zero_grad()
                LOSSES[name](student(before), lists, logits).backward()
                optimizer.step()
                schedule.step()
    return {name: student.eval() for name, (student, _, _) in students.items()}


@torch.no_grad()
def judge(text: Text, models: dict[str, Model]) -> tuple[tl.Leaderboard, list[dict[str, Any]]]:
    """A leaderboard of lists of K words on the held-out modules, and how calibrated the lists are."""
    lists, streams = {}, {}
    for name, model in models.items():
        stream, found = StreamingScores(ks=(1, K)), []
        for before, y in text.test.batches(2048):
            logits = model(before).double()
            stream.update(logits, y)
            found.append(lists_from_logits(logits, K))
        joined = LogitLists(*(torch.cat(part) for part in zip(*found, strict=True)))
        lists[name], streams[name] = joined.to_lists(text.classes), stream.result()
    y, module = text.test.y.numpy(), text.test.module.numpy()
    board = tl.compare(lists, tl.Truth(y, cluster=module), space=text.classes)
    rows = []
    for row in board:
        mass = tl.calibration.calibration_bias(lists[row.name], y, of="mass", clusters=module)
        first = tl.calibration.calibration_bias(lists[row.name], y, of="top", clusters=module)
        rows.append(
            {
                "name": row.name,
                **{rule: _estimate(row.scores[rule].mean) for rule in ("brier", "log")},
                "full": streams[row.name].full["log"].value,
                "accuracy": row.metrics["accuracy"].value,
                "coverage": mass.hit_rate,
                "mass": mass.mean_confidence,
                "excess": {"value": mass.difference, "low": mass.low, "high": mass.high},
                "first": {"value": first.difference, "low": first.low, "high": first.high},
            }
        )
    return board, rows


def _estimate(found: Any) -> dict[str, float]:
    return {"value": found.value, "low": found.low, "high": found.high}


def run(text: Text, teacher: Model, *, epochs: int = 6, seeds: int = 3) -> dict[str, Any]:
    """Distil and judge with several seeds; the leaderboard is that of the first one."""
    boards, all_rows = [], []
    for seed in range(seeds):
        log.info("students of seed %d of %d", seed + 1, seeds)
        students = distil(text, teacher, 16, 32, epochs, seed)
        board, rows = judge(text, {TEACHER: teacher, **students})
        boards.append(board)
        all_rows.append(rows)
    pairs = [
        {"a": a, "b": b, **{rule: _difference(boards[0], a, b, rule) for rule in ("brier", "log")}}
        for a, b in ((BUCKET, TRUNCATED), (BRIER, TRUNCATED), (BRIER, BUCKET), (BUCKET, FULL))
    ]
    ranks = [[row["name"] for row in rows] for rows in all_rows]
    spread = {
        name: [next(row["brier"]["value"] for row in rows if row["name"] == name) for rows in all_rows]
        for name in ranks[0]
    }
    return {
        "words": {"train": len(text.train.y), "test": len(text.test.y), "modules": text.modules, "k": K},
        "rows": all_rows[0],
        "pairs": pairs,
        "seeds": spread,
        "board": boards[0].to_text(110),
    }


def _difference(board: tl.Leaderboard, a: str, b: str, rule: str) -> dict[str, Any]:
    found = board.difference(a, b, rule=rule)
    return {"value": found.value, "low": found.low, "high": found.high}
