"""A gate: whether a new model is shown to be no worse than a baseline, for continuous integration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from toplist._text import argument
from toplist._typing import Progress
from toplist.errors import TopListError
from toplist.evaluation.gate_checks import GateSpec, PairedCases
from toplist.evaluation.score_files import BaselineScores, ScoreFile, is_score_file
from toplist.evaluation.scored_cases import MISSING, scored_cases
from toplist.evaluation.stream import ScoringSpec
from toplist.inference.settings import Inference, as_inference
from toplist.io.options import ReadOptions, Source
from toplist.report.gate import GateReport
from toplist.scoring.rules import as_rule
from toplist.scoring.scores import as_penalty


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
    progress: Progress | None = None,
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
    data = reference.data if isinstance(reference, Source) else reference
    file = ScoreFile.read(data) if is_score_file(data) else None
    scoring = ScoringSpec((as_rule(rule),), (), as_penalty(penalty))
    scored = scored_cases(
        {name: predicted} if file is not None else {name: predicted, other: reference},
        truth,
        space,
        scoring,
        missing=missing,
        inference=replace(inference, level=1 - 2 * (1 - inference.level)),
        read=read,
        baseline=None if file is None else BaselineScores(other, file, scoring, missing),
        progress=progress,
    )
    if limits.max_loss_group is not None and scored.group is None:
        raise TopListError(f"a margin of groups needs groups: name them with {argument('group')}.")
    return PairedCases.of(scored, limits, inference.level, file).report(command)


def _named(value: Any, default: str) -> tuple[str, Any]:
    """A model with its name: the only entry of a mapping, or anything else by a name that says what it is."""
    if isinstance(value, Mapping):
        if len(value) != 1:
            raise TopListError(f"the {default} model is one model: a mapping has one name, not {len(value)}.")
        ((name, what),) = value.items()
        return str(name), what
    return default, value
