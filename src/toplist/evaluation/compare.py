"""Compare models on the same cases: read predictions and outcomes, score every case, rank by mean score."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toplist._files import shown, url_of
from toplist._typing import Progress
from toplist.evaluation.arrays import together
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.next_steps import Invocation
from toplist.evaluation.ranking import Question, Scored, held_models, planned, rank
from toplist.evaluation.samples import SampleCollector, columns_of, reading
from toplist.evaluation.stream import MatrixCollector, SumCollector, run, scores_of_files
from toplist.inference.settings import Inference, as_inference
from toplist.io import (
    ReadOptions,
    ReadRequest,
    has_tables,
    names_of,
    plan_of,
    silent,
    with_indicators,
)
from toplist.scoring.case_scores import CaseScores


def compare(
    models: Mapping[str, Any],
    truth: Any = None,
    *,
    space: Any = None,
    rules: Sequence[Any] | Any = ("brier", "log"),
    k: Sequence[int] | int = 5,
    baseline: str | None = None,
    missing: str = "error",
    penalty: float | None = None,
    inference: Inference | str | float = Inference(),  # noqa: B008  frozen
    read: ReadOptions = ReadOptions(),  # noqa: B008  frozen
    engine: Any = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Leaderboard:
    """Rank models of any shape on one scale, with intervals.

    Parameters
    ----------
    models : mapping of str to predictions
        Predictions by the name of the model. In memory: lists, labels, (n, m) probabilities, dicts, sparse matrices,
        in the order of the outcomes. Or files and dataframes, which are aligned by case ids (of a dataframe, its index
        where it is named or not the default one). A `Source` adds read options of its own.
    truth : Truth, path, table or array-like, optional
        The outcomes: one per case, or a distribution over the classes, for which scores are expected scores. A `Truth`
        names weights, groups, clusters and time beside them. "same" takes the outcomes that the files of predictions
        carry, which have to agree; so does None where all of them are files of producers that carry some.
    space : ClassSpace, LabelSets, int, float or sequence, optional
        The classes, or how many there are (`math.inf` too); needed unless lists, arrays or wide tables say it.
    rules : rule, str or sequence of them, default ("brier", "log")
        Scoring rules. The first one ranks.
    k : int or sequence of int, default 5
        For which k the top-k error is shown.
    baseline : str, optional
        The model to which the scores of the others are compared, as skill.
    missing : {"error", "common", "pairwise", "uniform", "worst", "baseline"}, default "error"
        What to do about cases that a model lacks: refuse them, keep the cases that all have, compare every two models
        on the cases of both; or take a missing prediction for the uniform distribution (an empty list), for that of
        the model that scored worst on the case, or for that of the baseline.
    penalty : float, optional
        Added to the score of an invalid list; by default 1 % of the score of the uniform distribution.
    inference : Inference, str or float, default Inference()
        How intervals are made, and which models have a rank; a method such as "bootstrap" or a level such as 0.9 will
        do.
    read : ReadOptions, default ReadOptions()
        How files and dataframes are read, where a `Source` does not say otherwise.
    engine : str, distributed.Client or pyspark.sql.SparkSession, optional
        Where parts of the files are scored: "dask", "dask=4", "spark=spark://host:7077", or a client or session of a
        cluster. The result is the same to the last bit; by default, and where files are not in the order of the truth,
        all is done in this process.
    progress : callable, optional
        Called with what is being done, the rows done so far, and the number of rows where it is known.

    Returns
    -------
    Leaderboard
        Models from best to worst. What makes it doubtful that the right things were compared is in its warnings,
        which are shown first.

    Raises
    ------
    TopListError
        If something cannot be read, aligned or scored; the message names the file, the row and the remedy.

    Examples
    --------
    >>> board = compare({"list": [{"a": 0.7, "b": 0.2}] * 2, "label": ["a", "b"]}, ["a", "b"], space=3)
    >>> [row.name for row in board]
    ['label', 'list']

    Of two cases that belong together, one counts twice:

    >>> from toplist import Truth
    >>> about = Truth(["a", "b", "a"], cluster=[1, 1, 2], weight=[2, 1, 1])
    >>> board = compare({"a": ["a", "a", "a"], "b": ["b", "b", "a"]}, about, space=3, inference=0.9)
    >>> [row.name for row in board]
    ['a', 'b']
    """
    question = Question.of(names_of(models), rules, k, baseline, missing, penalty, as_inference(inference))
    given = ReadRequest.of(models, truth, read)
    request, update, board = with_indicators(given, space), progress or silent, None
    typed = _typed(request, space, question)
    if engine is not None:
        from toplist.evaluation.distributed import compare_on  # noqa: PLC0415  engines are extras

        board = compare_on(engine, given, space, question, update)
    if board is None:
        if has_tables(request):
            scored = _score_files(request, space, question, update)
        else:
            scored = _score_arrays(request, space, question)
        if typed is not None and scored.size is None:
            typed = replace(typed, one_space=False)
        board = rank(question, scored)
    inputs = tuple(shown(path) if url_of(path) else os.path.abspath(path) for path in request.paths)
    return replace(board, _inputs=inputs, _invocation=typed)


def _typed(request: ReadRequest, space: Any, question: Question) -> Invocation | None:
    """How the files are written in a shell; None where they, or their classes, are in memory."""
    if space is not None and (isinstance(space, bool) or not isinstance(space, int | float)):
        return None
    classes = None if space is None else "inf" if space == math.inf else str(space)
    return Invocation.of(request, classes, missing=question.missing, inference=question.inference)


def score_cases(
    model: Any,
    truth: Any = None,
    *,
    space: Any = None,
    rules: Sequence[Any] | Any = ("brier", "log"),
    k: Sequence[int] | int = 5,
    penalty: float | None = None,
    read: ReadOptions = ReadOptions(),  # noqa: B008  frozen
    progress: Progress | None = None,
) -> CaseScores:
    """Score one model case by case.

    Parameters
    ----------
    model : Source, path, frame, TopLists or anything that `as_lists` takes
        The predictions.
    truth : Truth, path, frame or array-like, optional
        The outcomes; with a `Truth`, weights, groups, clusters and times of the cases are in the result. "same", or
        None where a producer's file carries them, takes those of the predictions.
    space : ClassSpace, int or float, optional
        The classes, where the predictions do not say.
    rules : str, Rule or sequence of them, default ("brier", "log")
        The scoring rules.
    k : int or sequence of int, default 5
        The k of top-k errors.
    penalty : float, optional
        What an invalid list pays; by default 1 % of the uniform score.
    read : ReadOptions, optional
        How files and frames are read.
    progress : callable, optional
        Called with what is done, how much of it, and of how much.

    Returns
    -------
    CaseScores
        One row per case of the truth: scores by rule, metrics, and what is known of the cases.

    See Also
    --------
    compare : Rank several models by their mean scores.

    Examples
    --------
    >>> cases = score_cases([{"a": 0.7, "b": 0.2}, {"b": 0.5}], ["a", "c"], space=3, rules="brier", k=2)
    >>> cases["brier"].round(3).tolist(), cases["coverage"].tolist()
    ([0.14, 0.875], [True, False])
    >>> list(cases.columns())
    ['case', 'brier', 'accuracy', 'top_2_error', 'coverage', 'mean_length', 'mean_mass', 'invalid_rate']
    """
    name = "model"
    scoring = Question.of((name,), rules, k, None, "error", penalty, Inference()).scoring
    request = with_indicators(ReadRequest.of({name: model}, truth, read), space)
    if not has_tables(request):
        request.require_outcomes()
        return together(request, space, scoring).scores()[name]
    plan = plan_of(request, space, missing="error", find=("cluster", "time", "group"))
    return scores_of_files(plan, scoring, progress or silent)[name]


def _score_files(request: ReadRequest, space: Any, question: Question, progress: Progress) -> Scored:
    plan, settings = planned(request, space, question, ("cluster", "time", "group"))
    by_case = not settings.by_sums or question.missing == "pairwise" or plan.space is None
    columns = columns_of(plan, settings)
    sums, sample = SumCollector(plan, settings.method == "poisson"), SampleCollector(plan, columns)
    matrix = MatrixCollector(plan) if by_case else None
    read = run(reading(plan, columns), question.scoring, list(filter(None, (sums, sample, matrix))), progress)
    return Scored.of_files(
        plan, question, settings, sums.tallies, None if matrix is None else matrix.panel(), sample, read
    )


def _score_arrays(request: ReadRequest, space: Any, question: Question) -> Scored:
    held, settings = held_models(request, space, question)
    sheets = held.sheets()
    tallies = held.tallies(sheets, drawn=settings.method == "poisson")
    by_case = not settings.by_sums or question.missing == "pairwise" or held.per_case
    return Scored.of_arrays(held, question, settings, sheets, tallies, held.panel(sheets) if by_case else None)
