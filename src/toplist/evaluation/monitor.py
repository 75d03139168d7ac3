"""Monitor models against a baseline, case after case, with conclusions that hold however often one looks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from toplist._text import argument
from toplist._typing import Codes, Floats
from toplist.errors import AlignmentError, TopListError
from toplist.evaluation.arrays import given, together
from toplist.evaluation.ranking import Question
from toplist.evaluation.stream import (
    MatrixCollector,
    ScoredRows,
    ScoringSpec,
    Taken,
    coder_of,
    run,
)
from toplist.inference.results import SequentialPath
from toplist.inference.sequential import by_step, follow
from toplist.inference.settings import Inference, as_inference
from toplist.io import (
    Plan,
    ReadOptions,
    ReadRequest,
    class_counts,
    has_tables,
    lists_of,
    names_of,
    plan_of,
    silent,
    with_indicators,
)
from toplist.lists import TopLists
from toplist.lists.converters import is_soft
from toplist.lists.space import ClassSpace
from toplist.report.export import to_json, to_plain
from toplist.report.path_statements import paths_table
from toplist.report.plot import Plot, paths
from toplist.report.terminal import PAGE, page
from toplist.report.text import count, plain
from toplist.scoring.bounds import largest_loss, subtract
from toplist.scoring.rules import as_rule

SCHEMA = "toplist.monitor/1"


@dataclass(frozen=True, slots=True, repr=False)
class Monitor:
    """Sequential comparison of models with a baseline, valid after every case; made by `monitor`.

    Attributes
    ----------
    rule, baseline : str
        The scoring rule, and the model that the others are compared with.
    level : float
        Level of all confidence sequences together.
    classes : str
        Number of classes, as text.
    cases : int
        Number of cases of the truth.
    left_out : mapping
        By candidate: number of cases that it or the baseline lacks.
    unknown : mapping
        By model: number of predictions for cases that the truth does not have.
    paths : tuple of SequentialPath
        One path per candidate.
    """

    rule: str
    baseline: str
    level: float
    classes: str
    cases: int
    left_out: Mapping[str, int]
    unknown: Mapping[str, int]
    paths: tuple[SequentialPath, ...]

    # What is in it

    def __iter__(self) -> Iterator[SequentialPath]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, name: str) -> SequentialPath:
        """The path of one candidate."""
        paths = {path.candidate: path for path in self.paths}
        if name not in paths:
            raise KeyError(f"{name!r} is not among {', '.join(map(repr, paths))}")
        return paths[name]

    # For people

    def __repr__(self) -> str:
        return self.to_text(shutil.get_terminal_size((120, 24)).columns)

    def to_text(self, width: int | None = None) -> str:
        """A line for each candidate, and a sentence that says what may be concluded."""
        table, notes = paths_table(self.paths), []
        for what, counts in (
            ("Cases left out, which the candidate or the baseline lacks", self.left_out),
            ("Predictions without a truth left out", self.unknown),
        ):
            some = [f"{plain(name)} {count(n)}" for name, n in counts.items() if n]
            notes += [f"{what}: {', '.join(some)}."] if some else []
        return page(replace(table, notes=(*table.notes, *notes)), max(60, width or PAGE))

    def plot(self) -> Plot[Any]:
        """The paths: mean differences with their bands, and the evidence below."""
        return paths(self.paths)

    # For other programs

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; paths as in the JSON of a leaderboard."""
        return {"schema": SCHEMA, **to_plain(self)}

    def to_json(self) -> str:
        """The same as text."""
        return to_json(self.to_dict())


Losses = tuple[Floats, Floats]
"""What a candidate may lose against the baseline in each case of both, and what the baseline may lose."""


def losses_between(a: TopLists, b: TopLists, scoring: ScoringSpec) -> Losses:
    """The most that each of two models may lose against the other in every case."""
    loss = partial(largest_loss, rule=scoring.rules[0], penalty=scoring.penalty)
    return loss(a, b), loss(b, a)


def losses_in_batch(rows: ScoredRows, plan: Plan, scoring: ScoringSpec, baseline: str) -> dict[str, Losses]:
    """The same by candidate, in the cases of a batch that it and the baseline have."""
    lists, losses = {batch.name: batch for batch in rows.lists}, {}
    b = lists.pop(baseline)
    for name, a in lists.items():
        _, *places = np.intersect1d(a.truth.rows, b.truth.rows, assume_unique=True, return_indices=True)
        at, of = map(np.sort, places)  # in the order of the truth
        first, second, truth = a.batch.take(at), b.batch.take(of), a.truth.take(at)
        space = ClassSpace(class_counts(truth, str(plan.n_classes))) if plan.space is None else plan.space
        mine, theirs = coder_of(plan).encode((first, second), (a.names, b.names))[0]
        losses[name] = losses_between(
            lists_of(first, a.names, mine, space, plan.repairs[a.name]),
            lists_of(second, b.names, theirs, space, plan.repairs[b.name]),
            scoring,
        )
    return losses


def steps_of(times: Codes | None, clusters: Codes | None) -> tuple[Codes | None, str]:
    """The step that each case belongs to, in order, and what a step is: all cases that wait for each other's outcomes.

    >>> steps_of(None, np.array([7, 7, 3])), steps_of(np.array([1, 0, 1]), None)
    ((array([0, 0, 1]), 'cluster'), (array([1, 0, 1]), 'time point'))
    """
    if clusters is None:
        return times, "case" if times is None else "time point"
    if times is None:
        starts = np.append(True, clusters[1:] != clusters[:-1])
        again = np.flatnonzero(starts)[np.bincount(clusters[starts])[clusters[starts]] > 1]
        if len(again):
            begin, on = np.flatnonzero(starts & (clusters == clusters[again[0]]))[:2]
            raise TopListError(
                f"a cluster begins at case {begin} and goes on at case {on}, with other clusters between, but a step "
                "of monitor is a cluster, and has to be over before the next begins. If no prediction uses outcomes of "
                "other clusters, sort the cases by cluster; if each outcome is known before the next prediction is "
                f"made, leave out the clusters; otherwise name time points, {argument('time')}."
            )
        return np.cumsum(starts) - 1, "cluster"
    once = np.empty(int(clusters.max()) + 1, np.int64)
    once[clusters] = times
    if (once[clusters] != times).any():
        raise TopListError(
            "clusters go over several time points, but a step of monitor is a time point, and what cases share with "
            "earlier ones is known by then. Leave out the clusters, and what is found is about these clusters alone; "
            "or leave out the time and sort the cases by cluster, if no prediction uses outcomes of other clusters."
        )
    return times, "time point"


def monitor(
    models: Mapping[str, Any],
    truth: Any = None,
    *,
    space: Any = None,
    rule: Any = "brier",
    baseline: str | None = None,
    penalty: float | None = None,
    inference: Inference | float = Inference(),  # noqa: B008  frozen
    read: ReadOptions = ReadOptions(),  # noqa: B008  frozen
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Monitor:
    """Compare models with a baseline after every case, with conclusions that hold however often one looks.

    The outcomes of each step have to be known before the predictions of the next are made. A step is a case, in the
    order of the truth; with `time`, all cases of a time point; with `cluster`, all cases of a cluster: then cases of a
    step may depend on each other in any way, and differences are added up. Of each pair of models the cases count that
    both have. With several candidates the level is that of all together.

    Parameters
    ----------
    models : mapping of str to predictions
        At least two models, as `compare` takes them.
    truth : Truth, path, table or array-like, optional
        The outcomes, as `compare` takes them; of a `Truth`, `time` and `cluster` are used. They may be distributions
        over the classes: then scores are expected scores.
    space : ClassSpace, LabelSets, int, float or sequence, optional
        The classes, or how many there are; needed unless lists, arrays or wide tables say it.
    rule : rule or str, default "brier"
        The scoring rule.
    baseline : str, optional
        The model with which the others are compared; by default the first, since that is not for the data to choose.
    penalty : float, optional
        Added to the score of an invalid list; by default 1 % of the score of the uniform distribution.
    inference : Inference or float, default Inference()
        The confidence level, of all candidates together.
    read : ReadOptions, default ReadOptions()
        How files and dataframes are read, where a `Source` does not say otherwise.
    progress : callable, optional
        Called with what is being done, the number done so far, and the number of all.

    Returns
    -------
    Monitor
        A path for each model but the baseline.

    Examples
    --------
    >>> monitored = monitor({"coin": np.full((60, 2), 0.5), "seer": np.tile([0.1, 0.9], (60, 1))}, [1] * 60)
    >>> monitored["seer"].separated, monitored["seer"].shown_better
    (21, 26)
    """
    names, how = names_of(models, least=2), as_inference(inference)
    how.require_default("monitor", "method", "horizon", "seed", "min_cases")
    first = names[0] if baseline is None else baseline
    question = Question.of(names, as_rule(rule), (), first, "pairwise", penalty, how)
    scoring, (label,) = question.scoring, question.rules
    request = with_indicators(ReadRequest.of(models, truth, read), space)
    for what, why in (
        ("weight", "bets are on differences of scores as they are: multiply none, or use compare"),
        ("group", "which cases count is to be known beforehand: give monitor the cases of one group"),
    ):
        if given(getattr(request.truth, what)) is not None:
            raise TopListError(f"{what} has no effect on monitor: {why}.")
    candidates = [name for name in names if name != first]
    if not has_tables(request):
        request.require_outcomes()
        held = together(request, space, scoring)
        panel, summary, classes = held.panel(held.sheets()), held.read(), held.classes
        losses = {name: losses_between(held.lists[name], held.lists[first], scoring) for name in candidates}
        soft = is_soft(held.y, held.space)
    else:
        plan = plan_of(request, space, missing="pairwise")
        plan = replace(plan, ordered=plan.time is not None)
        matrix, batches = MatrixCollector(plan), list[dict[str, Losses]]()
        find = partial(losses_in_batch, plan=plan, scoring=scoring, baseline=first)
        summary = run(plan, scoring, [matrix, Taken(find, batches.append)], progress or silent)
        panel, classes = matrix.panel(), plan.classes
        losses = {
            name: (np.concatenate([one[name][0] for one in batches]), np.concatenate([one[name][1] for one in batches]))
            for name in candidates
        }
        soft = plan.truth.layout.kind != "labels"
    steps, unit = steps_of(*((panel.units, panel.clusters) if panel.ordered else (None, panel.units)))
    follow_by = partial(follow, level=how.level, rule=label, baseline=first, candidates=len(candidates))
    paths = []
    for name in candidates:
        scores = np.asarray(panel.scores[:, 0, [names.index(name), names.index(first)]])
        both = np.flatnonzero(~np.isnan(scores).any(axis=1))
        if not len(both):
            raise AlignmentError(f"{name} and {first} have no case in common.")
        if soft and np.isinf(scores[both]).all(axis=1).any():
            raise TopListError(
                f"{name} and {first}: where the truth gives chances to a class that both hold for impossible, both "
                f"scores in {label} are infinite, and nothing can be said of the other classes."
            )
        columns, sizes = [subtract(*scores[both].T), *losses[name]], None
        if steps is not None:
            codes = np.unique(steps[both], return_inverse=True)[1]
            columns, sizes = [by_step(column, codes) for column in columns], np.bincount(codes).astype(np.float64)
        if sizes is None or len(sizes) == len(both):
            paths.append(follow_by(*columns, candidate=name))
        else:
            paths.append(follow_by(*columns, candidate=name, sizes=sizes, unit=unit))
    return Monitor(
        rule=label,
        baseline=first,
        level=how.level,
        classes=classes,
        cases=summary.cases,
        left_out={path.candidate: summary.cases - path.cases for path in paths},
        unknown={origin.name: origin.left_out for origin in summary.origins},
        paths=tuple(paths),
    )
