"""Score a part of the cases of a comparison, and make the leaderboard of parts, on any number of machines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toplist._files import as_path, shown
from toplist._typing import Progress
from toplist.core.arguments import as_whole
from toplist.errors import FileError, TopListError
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.partials import SAMPLE, PartialResult, finish, merge, score_part
from toplist.evaluation.ranking import Question
from toplist.inference.settings import Inference, as_inference
from toplist.io import (
    ReadOptions,
    ReadRequest,
    has_tables,
    matches,
    names_of,
    plan_of,
    require_path,
    silent,
    with_indicators,
)

SUFFIX = ".tlp"
"""How the name of a file with a partial result ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOptions:
    """Which part of the cases this is, and how much is kept of it.

    Parameters
    ----------
    start : int, default 0
        The position of the first case among the cases of all parts, where cases have no ids.
    sample : int, default 1000
        How many cases are kept to be examined for skewness and dependence: their scores, and hashes of their ids.

    Raises
    ------
    TopListError
        If a value is below zero, or the sample is empty.

    Examples
    --------
    >>> PartOptions(start=1_000_000)
    PartOptions(start=1000000, sample=1000)
    """

    start: int = field(default=0)
    sample: int = field(default=SAMPLE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", as_whole(self.start, "start", 0))
        object.__setattr__(self, "sample", as_whole(self.sample, "sample", 1))


def partial_result(
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
    part: PartOptions = PartOptions(),
    progress: Callable[[str, int, int | None], None] | None = None,
) -> PartialResult:
    """Score some of the cases of a comparison; `merge_results` makes a leaderboard of the parts.

    Parameters
    ----------
    models, truth, space, rules, k, baseline, missing, penalty, inference, read, progress
        As for `compare`, of files and dataframes with some of the cases; the same for all parts. Every case, with its
        outcome and the predictions of all models, belongs to one part.
    part : PartOptions, default PartOptions()
        Where the part begins, where cases have no ids, and how many cases are kept to be examined.

    Returns
    -------
    PartialResult
        Exact sums, counts and a sample of the cases. `to_bytes` makes tens of kilobytes of it.

    Raises
    ------
    TopListError
        If something cannot be read, aligned or scored, or needs all cases at once: cases in time, bootstrap and bounded
        intervals, pairwise comparisons and a number of classes per case.

    See Also
    --------
    merge_results : The leaderboard of all parts.

    Examples
    --------
    >>> import pandas as pd
    >>> import toplist as tl
    >>> ids = pd.Index(range(4), name="id")
    >>> truth = pd.DataFrame({"outcome": ["a", "b", "a", "a"]}, ids)
    >>> lists = pd.DataFrame({"a": [0.7, 0.2, 0.9, 0.4], "b": [0.3, 0.8, 0.1, 0.6]}, ids)
    >>> parts = [tl.partial_result({"m": lists[lo:hi]}, truth[lo:hi]) for lo, hi in ((0, 3), (3, 4))]
    >>> tl.merge_results(parts).to_json() == tl.compare({"m": lists}, truth).to_json()
    True
    """
    question = Question.of(names_of(models), rules, k, baseline, missing, penalty, as_inference(inference))
    if not isinstance(part, PartOptions):
        raise TopListError(f"part is a PartOptions, not {type(part).__name__}.")
    request = with_indicators(ReadRequest.of(models, truth, read), space)
    if not has_tables(request):
        raise TopListError(
            "partial results are of files and dataframes, whose cases have ids: give the predictions and outcomes as "
            "dataframes, or run compare on all of them."
        )
    plan = plan_of(request, space, missing=missing, find=("cluster", "time", "group"))
    if part.start and plan.truth.layout.case is not None:
        raise TopListError("start has no effect: these cases have ids, which tell them apart in all parts.")
    return score_part(
        plan,
        question,
        start=part.start,
        sample=part.sample,
        progress=progress or silent,
    )


def merge_results(parts: Any) -> Leaderboard:
    """Make the leaderboard of parts: that of one run over all of their cases, to the last bit.

    Parameters
    ----------
    parts : path, bytes, PartialResult or iterable of them
        Partial results: as `partial_result` gives them, as bytes, or as files; a pattern such as `"parts/*.tlp"`, or a
        folder, stands for all files that it holds. The order does not matter.

    Returns
    -------
    Leaderboard
        Models from best to worst. It has no cases: what needs these says so, and what to run instead.

    Raises
    ------
    TopListError
        If there are no parts, one is damaged or of another format, two ask different questions or have cases in
        common; the message names them.

    See Also
    --------
    partial_result : Score a part of the cases.

    Examples
    --------
    >>> import pandas as pd
    >>> import toplist as tl
    >>> truth = pd.DataFrame({"id": [1, 2], "outcome": ["a", "b"]})
    >>> lists = pd.DataFrame({"id": [1, 2], "a": [0.7, 0.4], "b": [0.3, 0.6]})
    >>> part = tl.partial_result({"m": lists}, truth)
    >>> board = tl.merge_results([part.to_bytes()])
    >>> board["m"].cases
    2
    """
    found = read_parts(parts)
    return finish(merge(found.values(), list(found)), inputs=list(map(os.path.abspath, found)))


def read_parts(parts: Any, progress: Progress = silent) -> dict[str, PartialResult]:
    """Parts by what they are called; see `merge_results`."""
    given = [parts] if isinstance(parts, str | os.PathLike | bytes | PartialResult) else parts
    if not isinstance(given, Iterable):
        raise TopListError(f"parts are paths, bytes or partial results, not {type(parts).__name__}.")
    out: dict[str, PartialResult] = {}
    for one in given:
        if isinstance(one, str | os.PathLike):
            for path in _files(one):
                name = shown(path)
                if name in out:
                    raise FileError(name, "this partial result is there twice: merge every part once.")
                try:
                    out[name] = PartialResult.from_bytes(path.read_bytes(), name)
                except OSError as error:
                    raise FileError(name, f"this cannot be read: {error.strerror or error}.") from None
                progress("reading parts", len(out), None)
        else:
            name = f"part {len(out) + 1}"
            out[name] = one if isinstance(one, PartialResult) else PartialResult.from_bytes(one, name)
    if not out:
        raise TopListError("there are no partial results to merge.")
    return out


def _files(place: str | os.PathLike[str]) -> list[Path]:
    """The files of partial results that a path, a pattern or a folder stands for, in the order of their names."""
    require_path(place)
    path = as_path(place)
    if not path.is_dir():
        return matches(path)
    files = sorted(one for one in path.iterdir() if one.suffix == SUFFIX)
    if not files:
        raise FileError(shown(place), f"there is no partial result in this folder: their names end in {SUFFIX}.")
    return files
