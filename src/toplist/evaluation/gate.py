"""A gate: whether a new model is shown to be no worse than a baseline, for continuous integration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from toplist._files import shown
from toplist._text import argument
from toplist._typing import Progress
from toplist.errors import TopListError
from toplist.evaluation.gate_checks import GateSpec, PairedCases, ScoredPair
from toplist.evaluation.ranking import Question, Scored, held_models, planned
from toplist.evaluation.samples import SampleCollector, columns_of, reading
from toplist.evaluation.score_files import (
    MISSING,
    BaselineScores,
    Hashes,
    ScoreFile,
    digests_of_lists,
    ids_of,
    is_score_file,
    list_digests,
    outcome_texts,
    outcomes_in_memory,
)
from toplist.evaluation.stream import Collector, MatrixCollector, ScoredRows, SumCollector, run
from toplist.inference.aggregates import tally
from toplist.inference.settings import Inference, as_inference
from toplist.io import Plan, ReadOptions, ReadRequest, Source, as_tables, empty_set_explained, silent, with_indicators
from toplist.report.gate import GateReport


def gate(
    new: Any,
    baseline: Any,
    truth: Any = None,
    *,
    max_loss: float,
    per_case: float | None = None,
    max_loss_group: float | None = None,
    space: Any = None,
    rule: Any = "brier",
    missing: str = "error",
    penalty: float | None = None,
    inference: Inference | str | float = Inference(),  # noqa: B008  frozen
    read: ReadOptions = ReadOptions(),  # noqa: B008  frozen
) -> GateReport:
    """Whether a new model is shown to be no worse than a baseline.

    Parameters
    ----------
    new : predictions, or a mapping from a name to predictions
        Whatever `compare` takes as the predictions of a model.
    baseline : predictions, or a mapping from a name to predictions
        The model that the new one is compared with; or the path of the Parquet file that `toplist score -o` wrote of
        it, which stands in for its predictions, with the same result.
    truth : Truth, path, table or array-like, optional
        The outcomes, as for `compare`. With the `group` of a `Truth`, the mean of every group is checked too.
    max_loss : float
        The margin: the mean loss (score of the new model minus that of the baseline) must be shown to be below it.
    per_case : float, optional
        The most that the new model may lose in any single case.
    max_loss_group : float, optional
        The margin of the groups; by default `max_loss`.
    space : ClassSpace, LabelSets, int, float or sequence, optional
        The classes, or how many there are, as for `compare`.
    rule : str or Rule, default "brier"
        The scoring rule.
    missing : {"error", "common", "uniform"}, default "error"
        What to do about cases that a model lacks: refuse them, keep the cases of both, or take a missing prediction
        for the uniform distribution.
    penalty : float, optional
        Added to the score of an invalid list; by default 1 % of the score of the uniform distribution.
    inference : Inference, str or float, default Inference()
        How bounds are made. Its level is that of each one-sided bound: 0.95 is the upper end of a two-sided 90 %
        interval.
    read : ReadOptions, default ReadOptions()
        How files and dataframes are read.

    Returns
    -------
    GateReport
        The verdict, the checks with their numbers, and what makes them doubtful.

    Raises
    ------
    TopListError
        If something cannot be read, aligned or scored, or the scores of the baseline do not match.

    References
    ----------
    Berger, R. L. (1982). Multiparameter hypothesis testing and acceptance sampling. Technometrics 24.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.random.default_rng(0).dirichlet(np.full(5, 0.5), size=400)
    >>> y = np.array([np.random.default_rng(i).choice(5, p=p) for i, p in enumerate(P)])
    >>> found = gate(0.99 * P + 0.002, P, y, max_loss=0.01, per_case=0.5)
    >>> found.passed, [check.verdict for check in found.checks]
    (True, ['pass', 'pass'])
    """
    limits = GateSpec(max_loss, per_case, max_loss_group)
    return run_gate(
        _named(new, "new"),
        _named(baseline, "baseline"),
        truth,
        limits,
        space=space,
        rule=rule,
        missing=missing,
        penalty=penalty,
        inference=as_inference(inference),
        read=read,
    )


def run_gate(
    new: tuple[str, Any],
    baseline: tuple[str, Any],
    truth: Any,
    limits: GateSpec,
    *,
    space: Any = None,
    rule: Any = "brier",
    missing: str = "error",
    penalty: float | None = None,
    inference: Inference = Inference(),  # noqa: B008  frozen
    read: ReadOptions = ReadOptions(),  # noqa: B008  frozen
    progress: Progress = silent,
    command: str = "",
) -> GateReport:
    """The gate of two models with their names; `command` is how to reproduce it."""
    if missing not in MISSING:
        raise TopListError(f"missing is one of {', '.join(MISSING)}, not {missing!r}.")
    inference.require_default("a gate", "min_cases")
    if not inference.level > 0.5:
        raise TopListError(f"level is above one half for a one-sided bound, not {inference.level:g}.")
    (name, predicted), (other, reference) = new, baseline
    if name == other:
        raise TopListError(f"both models are called {name!r}: give one of them another name.")
    two_sided = replace(inference, level=1 - 2 * (1 - inference.level))
    question = Question.of((name, other), rule, (), None, missing, penalty, two_sided)
    data = reference.data if isinstance(reference, Source) else reference
    scores = BaselineScores(other, ScoreFile.read(data), question) if is_score_file(data) else None
    if scores is not None and isinstance(reference, Source):
        for option, value in reference.options.items():
            raise TopListError(
                f"{other}: {argument(option, value)} has no effect: {shown(data)} holds scores, not lists."
            )
    models = {name: predicted} if scores is not None else {name: predicted, other: reference}
    request = with_indicators(ReadRequest.of(models, truth, read), space)
    tables = as_tables(request, space)
    if tables is None:
        pair = _of_arrays(request, space, question, scores)
    else:
        pair = _of_files(tables, space, question, scores, progress)
    if limits.max_loss_group is not None and pair.scored.group is None:
        raise TopListError(f"a margin of groups needs groups: name them with {argument('group')}.")
    return PairedCases.of(pair, limits, inference.level).report(command)


def _named(value: Any, default: str) -> tuple[str, Any]:
    """A model with its name: the only entry of a mapping, or anything else by a name that says what it is."""
    if isinstance(value, Mapping):
        if len(value) != 1:
            raise TopListError(f"the {default} model is one model: a mapping has one name, not {len(value)}.")
        ((name, what),) = value.items()
        return str(name), what
    return default, value


# Scored cases of both models


def _of_files(
    request: ReadRequest, space: Any, question: Question, baseline: BaselineScores | None, progress: Progress
) -> ScoredPair:
    plan, settings = planned(request, space, question, ("cluster", "time"), MISSING)
    if baseline is not None:
        baseline.require_same_question(plan.classes, plan.space)
    columns = columns_of(plan, settings)
    found = PairCollector(plan, columns, baseline)
    with empty_set_explained(plan.set_separator):
        read = run(reading(plan, columns), question.scoring, [found], progress)
    notes = () if baseline is None else baseline.require_same_cases()
    scored = Scored.of_files(plan, question, settings, {}, found.matrix.panel(), found.sample, read)
    digests = np.concatenate([np.zeros((0, 2), np.uint64), *found.digests])
    return ScoredPair.of(question, scored, tuple(found.ids), found.alone.tallies, digests, baseline, notes)


def _of_arrays(request: ReadRequest, space: Any, question: Question, baseline: BaselineScores | None) -> ScoredPair:
    held, settings = held_models(request, space, question)
    sheets, ids, notes = held.sheets(), held.case_ids, tuple[str, ...]()
    alone, digests = tally(sheets), list(map(digests_of_lists, held.lists.values()))
    if baseline is not None:
        baseline.require_same_question(held.classes, held.space)
        places = baseline.look_up(ids, outcomes_in_memory(held), by_position=held.ids is None)
        notes = baseline.require_same_cases(all_known=True)
        sheets.append(baseline.scores(places, sheets[0]))
        digests.append(baseline.file.lists[places])
    scored = Scored.of_arrays(held, question, settings, sheets, {}, held.panel(sheets))
    return ScoredPair.of(question, scored, ids, alone, np.stack(digests, axis=1), baseline, notes)


class PairCollector(Collector):
    """Keeps the scores of both models with the ids of cases, and what tells their lists apart.

    A baseline whose scores are in a file has these handed on with those that were made. What the truth says of cases
    beside outcomes does not count in the sums over each model `alone`.
    """

    def __init__(self, plan: Plan, columns: Sequence[str], baseline: BaselineScores | None) -> None:
        self.plan, self.baseline = plan, baseline
        self.sample, self.matrix = SampleCollector(plan, columns), MatrixCollector(plan)
        self.alone = SumCollector(replace(plan, group=None, cluster=None, weight=None))
        self.ids: list[str] = []
        self.digests: list[Hashes] = []

    def make(self, rows: ScoredRows) -> Any:
        """See `Collector`."""
        outcomes = None if self.baseline is None else outcome_texts(rows.truth, self.plan)
        digests = list_digests(rows, self.plan)
        return self.alone.make(rows), (rows.truth, rows.scores, ids_of(rows.truth), outcomes, digests)

    def add(self, made: Any) -> None:
        """See `Collector`."""
        alone, (truth, scored, ids, outcomes, digests) = made
        self.alone.add(alone)
        if self.baseline is not None:
            places = self.baseline.look_up(ids, outcomes, by_position=truth.ids is None)
            keep = np.flatnonzero(places >= 0)
            truth, scored, places = truth.take(keep), [one.take(keep) for one in scored], places[keep]
            scored, ids = [*scored, self.baseline.scores(places, scored[0])], [ids[at] for at in keep.tolist()]
            digests = np.column_stack([digests[keep], self.baseline.file.lists[places]])
        if not len(truth):
            return
        rows = ScoredRows(truth, scored)
        self.sample.add(self.sample.make(rows))
        self.matrix.add(self.matrix.make(rows))
        self.ids += ids
        self.digests.append(digests)
