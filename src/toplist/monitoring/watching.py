"""From predictions and outcomes to what may be said after each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_number, as_probability
from toplist.bounds import largest_loss, subtract
from toplist.errors import TopListError
from toplist.evaluation import Scoring
from toplist.inmemory import together
from toplist.io.options import ReadOptions
from toplist.lists import TopLists
from toplist.lists.door import Blanks, Duplicates, Units
from toplist.monitoring.monitors import Monitor
from toplist.monitoring.reading import Held, from_files, from_memory
from toplist.outcomes import is_soft
from toplist.planning import as_tables, names_of, plan_of, repairs_of
from toplist.ranking.results import SequentialPath
from toplist.ranking.sequential import by_moment, follow
from toplist.rules import Rule, as_rule, name_of
from toplist.scoring import default_penalty, score


def monitor(
    predictions: Mapping[str, Any],
    y: Any,
    *,
    space: Any = None,
    rule: Any = "brier",
    baseline: str | None = None,
    penalty: float | None = None,
    level: float = 0.95,
    order: Any = None,
    units: Units | Mapping[str, Units] = "probability",
    normalize: bool | Mapping[str, bool] = False,
    duplicates: Duplicates | Mapping[str, Duplicates] = "error",
    blanks: Blanks | Mapping[str, Blanks] = "error",
    layout: str | Mapping[str, str] = "auto",
    case: str | Mapping[str, str] | None = None,
    classes: str | Mapping[str, str] | None = None,
    confidences: str | Mapping[str, str] | None = None,
    ignore: str | Sequence[str] | Mapping[str, str | Sequence[str]] = (),
    by_position: bool = False,
    sizes: str | None = None,
    sets: str | None = None,
    outcome: str | None = None,
) -> Monitor:
    """Compare predictors with a baseline after every case, with conclusions that hold however often one looks.

    `predictions` and `y` are what `compare` takes: in memory and in one order, or files and frames that are aligned by
    case id. Cases are taken in the order of the truth, or by `order`: a value for each case, or with files the name of
    a column of the truth. The outcome of each case has to be known before the next prediction is made; where cases
    share a value of `order`, those of one moment are one step, with the mean of their differences. The baseline is the
    first predictor if none is named: who is compared with whom is not for the data to choose. Of each pair the cases
    that both have count. Outcomes may be distributions; then scores are expected scores.

    >>> found = monitor({"coin": np.full((60, 2), 0.5), "seer": np.tile([0.1, 0.9], (60, 1))}, [1] * 60)
    >>> found["seer"].separated, found["seer"].shown_better
    (40, 26)
    """
    names, chosen = names_of(predictions, least=2), as_rule(rule)
    first = names[0] if baseline is None else baseline
    if first not in names:
        raise TopListError(f"the baseline {first!r} is not among the predictors {', '.join(map(repr, names))}.")
    level = as_probability(level, "level")
    penalty = None if penalty is None else as_number(penalty, "the penalty for invalid lists", 0, np.inf)
    repairs = repairs_of(names, units=units, normalize=normalize, duplicates=duplicates, layout=layout, blanks=blanks)
    scoring = Scoring((chosen,), (), penalty)
    options = ReadOptions(layout, case, classes, confidences, outcome, ignore, by_position, sets)
    tables = as_tables(predictions, y, space)
    if tables is not None:
        plan = plan_of(*tables, space, scoring, repairs, options, missing="common", sizes=sizes, order=order)
        held = from_files(plan)
    else:
        options.require_none("with predictions in memory")
        held = from_memory(together(predictions, y, space, scoring, repairs, order=order))
    paths = tuple(_path(held, name, first, chosen, penalty, level) for name in names if name != first)
    return Monitor(
        rule=name_of(chosen),
        baseline=first,
        level=level,
        classes=held.classes,
        cases=held.cases,
        left_out={path.candidate: held.cases - path.cases for path in paths},
        unknown={name: one.unknown for name, one in held.predicted.items()},
        paths=paths,
    )


def _path(held: Held, candidate: str, baseline: str, rule: Rule, penalty: float | None, level: float) -> SequentialPath:
    a, b, y, order = held.pair(candidate, baseline)
    half, why = _half(rule, penalty, a, b)
    scores = [score(one, y, rule=rule, penalty=penalty) for one in (a, b)]
    if is_soft(y, a.space) and np.logical_and(*map(np.isinf, scores)).any():
        raise TopListError(
            f"{candidate} and {baseline}: where the truth gives chances to a class that both hold for impossible, both "
            f"scores in {name_of(rule)} are infinite, and nothing can be said of the other classes."
        )
    columns = [
        subtract(*scores),
        largest_loss(a, b, rule=rule, penalty=penalty),
        largest_loss(b, a, rule=rule, penalty=penalty),
    ]
    moments = _moments(held, candidate, baseline)
    cases, unit = len(columns[0]), "case" if moments is None else "moment"
    steps = [column[order] for column in columns] if moments is None else [by_moment(c, moments) for c in columns]
    return follow(
        *steps,
        half=half,
        level=level,
        rule=name_of(rule),
        candidate=candidate,
        baseline=baseline,
        why=why,
        cases=cases,
        unit=unit,
    )


def _moments(held: Held, a: str, b: str) -> NDArray[np.int64] | None:
    """The moment of each case that both have, where some share one; else None: every case is a step of its own."""
    if held.moments is None:
        return None
    common = np.intersect1d(held.predicted[a].places, held.predicted[b].places, assume_unique=True)
    found, codes = np.unique(held.moments[common], return_inverse=True)
    return None if len(found) == len(common) else codes


def _half(rule: Rule, penalty: float | None, a: TopLists, b: TopLists) -> tuple[float | None, str]:
    """How far apart two scores can be, whatever is predicted; or why there is no end to it."""
    low, high = rule.bounds()
    if not math.isfinite(high - low):
        return None, f"There is no confidence sequence, since differences in {name_of(rule)} have no bounds."
    due = penalty
    if due is None:  # the more classes the larger, and later cases may have more
        due = default_penalty(TopLists.from_dicts([], math.inf) if a.space.per_case else a, rule=rule)
    if math.isinf(due):
        if not (a.is_valid().all() and b.is_valid().all()):
            return None, "There is no confidence sequence, since a list is invalid and the penalty for that infinite."
        due = 0.0
    return high - low + due, ""
