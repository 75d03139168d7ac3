"""Monitor models against a baseline, case after case, with conclusions that hold however often one looks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument
from toplist._typing import Codes
from toplist.errors import AlignmentError, FileError, SpaceError, TopListError
from toplist.evaluation.arrays import ArrayModels, given, together
from toplist.evaluation.stream import ScoringSpec, coder_of, scorers_of
from toplist.inference.results import SequentialPath
from toplist.inference.sequential import by_step, follow
from toplist.inference.settings import Inference, as_inference
from toplist.io.align import AlignedCases
from toplist.io.batches import Batch, concat
from toplist.io.columns import plain as plain_column
from toplist.io.encoding import ClassEncoder, within_case
from toplist.io.lists import filled, groups_of, in_time
from toplist.io.options import ReadOptions, ReadRequest
from toplist.io.plan import Plan, as_tables, names_of, plan_of
from toplist.lists import TopLists
from toplist.lists.converters import is_soft
from toplist.lists.space import show_size
from toplist.report.export import to_plain
from toplist.report.path_statements import paths_table
from toplist.report.plot import Plot, paths
from toplist.report.terminal import PAGE, page
from toplist.report.text import count, plain
from toplist.scoring.bounds import largest_loss, subtract
from toplist.scoring.case_scores import Grouping
from toplist.scoring.rules import Rule, as_rule, name_of
from toplist.scoring.scores import as_penalty, score

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
    classes: str  # how many there are
    cases: int  # of the truth
    left_out: Mapping[str, int]  # by candidate: cases of the truth that it or the baseline lacks
    unknown: Mapping[str, int]  # by model: predictions for cases that the truth does not have
    paths: tuple[SequentialPath, ...]  # one for each candidate

    # What is in it

    def __iter__(self) -> Iterator[SequentialPath]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, name: str) -> SequentialPath:
        """The path of one candidate."""
        found = next((path for path in self.paths if path.candidate == name), None)
        if found is None:
            raise KeyError(f"{name!r} is not among {', '.join(repr(path.candidate) for path in self.paths)}")
        return found

    # For people

    def __repr__(self) -> str:
        return self.to_text(shutil.get_terminal_size((120, 24)).columns)

    def to_text(self, width: int | None = None) -> str:
        """A line for each candidate, and a sentence that says what may be concluded."""
        made = paths_table(self.paths)
        return page(replace(made, notes=(*made.notes, *self._left_out())), max(60, width or PAGE))

    def _left_out(self) -> list[str]:
        away = [f"{plain(name)} {count(n)}" for name, n in self.left_out.items() if n]
        beyond = [f"{plain(name)} {count(n)}" for name, n in self.unknown.items() if n]
        return [
            *([f"Cases left out, which the candidate or the baseline lacks: {', '.join(away)}."] if away else []),
            *([f"Predictions without a truth left out: {', '.join(beyond)}."] if beyond else []),
        ]

    def plot(self) -> Plot[Any]:
        """The paths: mean differences with their bands, and the evidence below."""
        return paths(self.paths)

    # For other programs

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; paths as in the JSON of a leaderboard."""
        return {
            "schema": SCHEMA,
            "rule": self.rule,
            "baseline": self.baseline,
            "level": self.level,
            "classes": self.classes,
            "cases": self.cases,
            "left_out": dict(self.left_out),
            "unknown": dict(self.unknown),
            "paths": [to_plain(path) for path in self.paths],
        }

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False).replace("\x7f", "\\u007f")


Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AlignedModel:
    """The lists of one model, the outcomes, and where in the truth each case stands."""

    lists: TopLists
    y: Any
    places: Places
    unknown: int = 0  # predictions without a truth


@dataclass(frozen=True, slots=True)
class AlignedModels:
    """All models by name. Codes mean the same classes to all, or labels do."""

    predicted: Mapping[str, AlignedModel]
    cases: int
    classes: str
    steps: Places | None  # the step that each case of the truth belongs to; None: each is one of its own, in order
    unit: str  # what a step is

    def pair(self, a: str, b: str) -> tuple[TopLists, TopLists, Any, Places | None]:
        """The lists of two models for the cases that both have, the outcomes, and the step of each case."""
        one, other = self.predicted[a], self.predicted[b]
        common, mine, theirs = np.intersect1d(one.places, other.places, assume_unique=True, return_indices=True)
        if not len(common):
            raise AlignmentError(f"{a} and {b} have no case in common.")
        steps = None if self.steps is None else np.unique(self.steps[common], return_inverse=True)[1]
        lists, y = (one.lists, one.y) if len(mine) == len(one.places) else (one.lists[mine], one.y[mine])
        return lists, other.lists if len(theirs) == len(other.places) else other.lists[theirs], y, steps


def from_memory(held: ArrayModels) -> AlignedModels:
    """Models in memory, which all have the same cases."""
    n = len(next(iter(held.lists.values())))
    places = np.arange(n)
    predicted = {name: AlignedModel(lists, held.y, places) for name, lists in held.lists.items()}
    clusters = None if held.clusters is None else _codes(held.clusters, n)
    return AlignedModels(predicted, n, held.classes, *steps_of(held.times, clusters))


def from_files(plan: Plan, scoring: ScoringSpec) -> AlignedModels:
    """Files and frames, read whole."""
    aligned = AlignedCases((plan.truth, *plan.sources), plan.missing)
    parts = list(aligned.cases())
    if not parts:
        raise FileError(plan.truth.path, "there are no cases.")
    truth = concat([part.first for part in parts], plan.truth.path, plan.truth.names)
    batches = [
        concat([part.others[at] for part in parts], source.path, source.names) for at, source in enumerate(plan.sources)
    ]
    present = [
        np.concatenate([part.present[at] if part.present else np.ones(len(part), bool) for part in parts])
        for at in range(len(plan.sources))
    ]
    places = list(map(np.flatnonzero, present))
    coders = _coders(plan, truth, batches, places)
    predicted = {}
    for scorer, coder, batch, at in zip(scorers_of(plan, scoring), coders, batches, places, strict=True):
        scorer.coder = coder or scorer.coder
        scored = scorer.score(batch, truth if len(at) == len(truth) else truth.take(at))
        name = scorer.source.name
        predicted[name] = AlignedModel(scored.lists, scored.y, at, aligned.unknown[name])
    times = None if plan.time is None else in_time(filled(truth, plan.time, "time"), plan.time)
    many = plan.classes
    clusters = None if plan.cluster is None else _codes(groups_of(filled(truth, plan.cluster, "cluster")), len(truth))
    return AlignedModels(predicted, len(truth), many, *steps_of(times, clusters))


def _codes(clusters: Grouping, n: int) -> Places:
    return np.zeros(n, np.int64) if clusters.codes is None else clusters.codes.astype(np.int64)


def steps_of(times: Places | None, clusters: Places | None) -> tuple[Places | None, str]:
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
            one, other = np.flatnonzero(starts & (clusters == clusters[again[0]]))[:2]
            raise TopListError(
                f"a cluster begins at case {one} and goes on at case {other}, with other clusters between, but a step "
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


@dataclass(slots=True)
class _Settled(ClassEncoder):
    """Codes that were settled among all sources, for one of them and the truth of its cases."""

    mine: Codes | None = None
    theirs: Codes | None = None

    def codes(
        self, lists: Batch, names: tuple[str, ...], truth: Batch, truth_names: tuple[str, ...]
    ) -> tuple[Codes, Codes]:
        """See `ClassEncoder`."""
        if self.mine is None or self.theirs is None:
            return super().codes(lists, names, truth, truth_names)
        return self.mine, self.theirs


def _coders(plan: Plan, truth: Batch, lists: Sequence[Batch], cases: Sequence[Places]) -> Sequence[ClassEncoder | None]:
    """A coder for each source where those of the plan would number classes differently; else none."""
    coder = coder_of(plan)
    if coder.labels is not None or coder.integers:
        return [None] * len(lists)
    pa, pc, per_case = need("pyarrow"), need("pyarrow.compute"), plan.space is None
    names = [source.names for source in (*plan.sources, plan.truth)]
    batches, texts = [*lists, truth], []
    for batch, columns in zip(batches, names, strict=True):
        values = pc.cast(plain_column(coder.values(batch, columns)), pa.string())
        if per_case and batch.classes is None:
            values = values.take(pa.array(np.tile(np.arange(len(values)), len(batch))))
        texts.append(values)
    coded = pa.concat_arrays(texts).dictionary_encode()
    if plan.space is not None and len(coded.dictionary) > plan.space.size:
        raise SpaceError(
            f"{len(coded.dictionary):,} different classes have been named, but there are only "
            f"{show_size(plan.space.size)}. Declare the right number of classes."
        )
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    if per_case:
        places = [*cases, np.arange(len(truth))]
        sizes = [np.diff(batch.offsets) for batch in batches]
        codes = within_case(np.concatenate(list(map(np.repeat, places, sizes))), codes)
    ends = np.cumsum([len(text) for text in texts])
    *mine, theirs = np.split(codes, ends[:-1])
    return [
        _Settled(plan.space, False, plan.set_separator, mine=own, theirs=_of_cases(truth, theirs, at, per_case))
        for own, at in zip(mine, cases, strict=True)
    ]


def _of_cases(truth: Batch, codes: Codes, places: Places, per_case: bool) -> Codes:
    """The codes of some cases of the truth; of its columns, where these are all there is."""
    if truth.classes is None and not per_case:
        return codes
    sizes = np.diff(truth.offsets)[places]
    ends = np.cumsum(sizes)
    some_codes: Codes = codes[np.repeat(truth.offsets[places] - (ends - sizes), sizes) + np.arange(sizes.sum())]
    return some_codes


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
    >>> found = monitor({"coin": np.full((60, 2), 0.5), "seer": np.tile([0.1, 0.9], (60, 1))}, [1] * 60)
    >>> found["seer"].separated, found["seer"].shown_better
    (21, 26)
    """
    names, chosen, asked = names_of(models, least=2), as_rule(rule), as_inference(inference)
    asked.require_default("monitor", "method", "horizon", "seed", "min_cases")
    first = names[0] if baseline is None else baseline
    if first not in names:
        raise TopListError(f"the baseline {first!r} is not among the models {', '.join(map(repr, names))}.")
    request = ReadRequest.of(models, truth, read)
    for what, why in (
        ("weight", "bets are on differences of scores as they are: multiply none, or use compare"),
        ("group", "which cases count is to be known beforehand: give monitor the cases of one group"),
    ):
        if given(getattr(request.truth, what)) is not None:
            raise TopListError(f"{what} has no effect on monitor: {why}.")
    scoring, tables = ScoringSpec((chosen,), (), as_penalty(penalty)), as_tables(request, space)
    if tables is None:
        request.require_outcomes()
        held = from_memory(together(request, space, scoring))
    else:
        held = from_files(plan_of(tables, space, missing="common"), scoring)
    paths, tell = [], progress or (lambda what, done, total: None)
    for name in names:
        if name != first:
            paths.append(_path(held, name, first, chosen, penalty, asked.level, len(names) - 1))
            tell("monitoring", len(paths), len(names) - 1)
    return Monitor(
        rule=name_of(chosen),
        baseline=first,
        level=asked.level,
        classes=held.classes,
        cases=held.cases,
        left_out={path.candidate: held.cases - path.cases for path in paths},
        unknown={name: one.unknown for name, one in held.predicted.items()},
        paths=tuple(paths),
    )


def _path(
    held: AlignedModels,
    candidate: str,
    baseline: str,
    rule: Rule,
    penalty: float | None,
    level: float,
    candidates: int,
) -> SequentialPath:
    a, b, y, steps = held.pair(candidate, baseline)
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
    sizes = None
    if steps is not None:
        columns, sizes = [by_step(column, steps) for column in columns], np.bincount(steps).astype(np.float64)
    alone = sizes is None or len(sizes) == len(y)
    return follow(
        *columns,
        sizes=None if alone else sizes,
        level=level,
        rule=name_of(rule),
        candidate=candidate,
        baseline=baseline,
        unit="case" if alone else held.unit,
        candidates=candidates,
    )
