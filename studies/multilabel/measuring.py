"""What the lists of all methods score on one data set, at every length, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import toplist as tl
from studies.multilabel.data import Data
from studies.multilabel.methods import LONGEST
from toplist.calibration.pairs import Bins
from toplist.multilabel import METRICS, f1_sets, instance_f1, mode_sets

Record = dict[str, Any]
LENGTHS = (1, 2, 5, 10, LONGEST)
MAIN = 10  # the length at which methods are compared
HARD = "mode"
REFERENCE = "BR"
RULES = ("brier", "log", "zero-one")
LEVEL = 0.05


def measure(data: Data, lists: Mapping[str, tl.TopLists]) -> Record:
    """Everything that the page says of one data set."""
    y = tl.LabelSets(range(len(data.labels))).sets(data.y_test)
    forms = {HARD: {name: hard(one) for name, one in lists.items()}}
    forms |= {str(k): {name: one.truncate(k) for name, one in lists.items()} for k in LENGTHS}
    boards = {form: tl.compare(members, y, rules=RULES) for form, members in forms.items()}
    return {
        "labels": len(data.labels),
        "training": int(data.y.shape[0]),
        "cases": int(data.y_test.shape[0]),
        "per case": float(data.y_test.sum(axis=1).mean()),
        "unseen": data.unseen,
        "lengths": {form: {name: _row(board, name) for name in lists} for form, board in boards.items()},
        "set": list(boards[str(MAIN)].confidence_set("brier").members),
        "metrics": {name: _metrics(one, y) for name, one in lists.items()},
        "pairs": (pairs := compared(boards[str(MAIN)], lists, y)),
        "crossed": [pair | {"case": _telling(forms[str(MAIN)], pair, data, y)} for pair in crossing(pairs)],
        "reliability": {name: _reliability(one.truncate(MAIN), y) for name, one in lists.items()},
    }


def hard(lists: tl.TopLists) -> tl.TopLists:
    """The most probable set alone, as if it were certain."""
    first = lists.truncate(1)
    return tl.TopLists.from_ragged(first.offsets, first.classes, np.ones(len(first.classes)), first.space)


def _row(board: tl.Leaderboard, name: str) -> Record:
    row = board[name]
    return {
        "brier": _estimate(row.scores["brier"].mean),
        "log": _estimate(row.scores["log"].mean),
        "infinite": row.scores["log"].infinite,
        "finite log": _finite(row.scores["log"].finite),
        "accuracy": row.metrics["accuracy"].value,
        "coverage": row.metrics["coverage"].value,
        "mass": row.metrics["mean_mass"].value,
        "invalid": row.metrics["invalid_rate"].value,
    }


def _metrics(lists: tl.TopLists, y: tl.multilabel.Sets) -> Record:
    """Set metrics of the mode, and instance F1 of the set that is best for it."""
    mode = mode_sets(lists)
    made = {name: float(metric(mode, y).mean()) for name, metric in METRICS.items()}
    return made | {"best f1": float(instance_f1(f1_sets(lists), y).mean())}


def compared(board: tl.Leaderboard, lists: Mapping[str, tl.TopLists], y: tl.multilabel.Sets) -> list[Record]:
    """Every two methods, the better one under the padded Brier score first: differences, lower is better in each."""
    f1 = {name: instance_f1(mode_sets(one), y) for name, one in lists.items()}
    best = {name: instance_f1(f1_sets(one), y) for name, one in lists.items()}
    found = []
    for pair in (pair for pair in board.pairwise if pair.rule == "brier"):
        a, b = pair.a, pair.b
        found.append(
            {
                "a": a,
                "b": b,
                "brier": _estimate(pair.difference) | {"adjusted": pair.adjusted_p},
                "log": _estimate(board.difference(a, b, "log")),
                "zero-one": _estimate(board.difference(a, b, "zero-one")),
                "f1": paired(f1[b], f1[a]),
                "best f1": paired(best[b], best[a]),
            }
        )
    return found


def crossing(pairs: Iterable[Record]) -> list[Record]:
    """Pairs that the padded Brier score significantly ranks one way, and set accuracy or instance F1 the other."""
    significant = [
        pair for pair in pairs if pair["brier"]["adjusted"] is not None and pair["brier"]["adjusted"] <= LEVEL
    ]
    return [pair for pair in significant if contradicted(pair, "zero-one") or contradicted(pair, "f1")]


def contradicted(pair: Record, by: str) -> bool:
    """Whether a metric, looked at alone, says that the second is significantly better."""
    return bool(pair[by]["value"] > 0 and pair[by]["p"] <= LEVEL)


def _telling(lists: Mapping[str, tl.TopLists], pair: Record, data: Data, y: tl.multilabel.Sets) -> Record:
    """The test case that sets the two furthest apart among those whose true set both list: what each says of it."""
    scores = {name: tl.score(lists[name], y) for name in (pair["a"], pair["b"])}
    listed = np.ones(len(y), dtype=bool)
    for name in scores:
        listed &= tl.ranks(lists[name], y) > 0
    apart = np.where(listed, scores[pair["b"]] - scores[pair["a"]], -np.inf)
    case = int(np.argmax(apart))
    return {
        "case": case,
        "true": [data.labels[place] for place in y[case]],
        "says": {name: _said(lists[name], case, data) for name in scores},
        "scores": {name: float(scores[name][case]) for name in scores},
    }


def _said(lists: tl.TopLists, case: int, data: Data) -> list[Any]:
    one = lists[case : case + 1].truncate(3)
    sets = one.space.sets_of(one.classes)
    return [[[data.labels[p] for p in sets[i]], float(t)] for i, t in enumerate(one.normalized_confidences)]


def paired(a: NDArray[np.float64], b: NDArray[np.float64]) -> Record:
    """The mean difference with its t interval at 95 %, and the p value that it is zero."""
    d = a - b
    error = float(d.std(ddof=1) / math.sqrt(len(d)))
    half = float(stats.t.ppf(0.975, len(d) - 1)) * error
    p = float(2 * stats.t.sf(abs(d.mean()) / error, len(d) - 1)) if error else 1.0
    return {"value": float(d.mean()), "low": float(d.mean() - half), "high": float(d.mean() + half), "p": p}


def _reliability(lists: tl.TopLists, y: tl.multilabel.Sets) -> Record:
    """Confidences of the listed sets, and how often each was the true one, in bins."""
    codes = np.repeat(lists.space.encode(y), lists.sizes)
    t, kept = np.asarray(lists.normalized_confidences), lists.classes == codes
    first = np.zeros(len(t), dtype=bool)
    first[lists.offsets[:-1][lists.sizes > 0]] = True
    return {
        what: [[b.low, b.high, b.count, b.mean_confidence, b.hit_rate] for b in Bins.of(t[at], kept[at]).means()]
        for what, at in (("listed", slice(None)), ("top", first))
    }


def _estimate(found: Any) -> Record:
    return {name: _finite(getattr(found, name)) for name in ("value", "low", "high", "p")}


def _finite(x: float | None) -> float | None:
    return None if x is None or not math.isfinite(x) else float(x)
