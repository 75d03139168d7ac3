"""Predictions in memory, of any shape and in one order: checked against each other and scored."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._text import quote
from toplist.core.arguments import as_array, as_sample_weight
from toplist.core.kernel import hash_integers
from toplist.errors import AlignmentError, ConfidenceError, MassError, ShapeError, SpaceError, TopListError
from toplist.evaluation.model_details import ArrayNames
from toplist.evaluation.stream import ReadSummary, ScoringSpec, cluster_hashes, matrix_of
from toplist.inference.aggregates import Aggregates, ScoreMatrix, tally
from toplist.inference.results import SourceSummary
from toplist.inference.settings import InferenceSettings
from toplist.io import BLANK, REMEDY, ReadRequest, require_few_groups, untimely
from toplist.lists import TopList, TopLists
from toplist.lists.checks import text
from toplist.lists.converters import as_codes, as_lists, is_soft, require_one_order
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace, as_space, show_size
from toplist.lists.validation import Repairs
from toplist.scoring.case_scores import CaseScores, Grouping, one_if_alike, side_by_side


@dataclass(frozen=True, slots=True)
class ArrayModels:
    """Predictions of all models for the same cases, in one order."""

    lists: Mapping[str, TopLists]
    y: Any
    scoring: ScoringSpec
    weights: NDArray[np.float64] | None
    groups: Grouping | None
    clusters: Grouping | None
    times: NDArray[np.int64] | None  # the place of each case in time
    ordered: bool
    metadata: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # what is known of the cases, as it was given

    def scores(self) -> dict[str, CaseScores]:
        """The scored cases of each model, with what is known of them."""
        case = np.arange(len(self._first)) if self.ids is None else np.asarray(self.ids)
        known = {"case": case, **self.metadata}
        return {name: replace(one, metadata=known) for name, one in zip(self.lists, self.sheets(), strict=True)}

    def sheets(self) -> list[CaseScores]:
        """The scored cases of each model."""
        return [self._scored(name, one) for name, one in self.lists.items()]

    def _scored(self, name: str, lists: TopLists) -> CaseScores:
        how = self.scoring
        try:
            for rule in how.rules:
                rule.require(lists)
        except (MassError, ConfidenceError) as error:  # a list that a rule refuses
            problem = f"{quote(name)}: {error.problem}"
            raise type(error)(problem, error.remedy, case=error.case, more=error.more) from None
        return CaseScores.from_lists(lists, self.y, how.rules, ks=how.ks, penalty=how.penalty)

    def tallies(self, sheets: Sequence[CaseScores], *, drawn: bool = False) -> dict[Hashable, Aggregates]:
        """Exact sums, by group; by cluster where time does not matter. Units may be `drawn` from them."""
        clusters = None if self.ordered else self.clusters
        keys = None
        if drawn:
            keys = self._case_hashes(sheets) if clusters is None else cluster_hashes(clusters)
        return tally(sheets, weights=self.weights, groups=self.groups, clusters=clusters, keys=keys)

    def _case_hashes(self, sheets: Sequence[CaseScores]) -> NDArray[np.uint64]:
        """A hash of the place of each case by its scores, for its row is none: cases with equal scores are alike."""
        columns = [column for one in sheets for column in one.scores]
        order = np.lexsort(columns if self.weights is None else [*columns, self.weights])
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        return hash_integers(places)

    def panel(self, sheets: Sequence[CaseScores]) -> ScoreMatrix:
        """The scores side by side."""
        clusters = None
        if self.clusters is not None:  # one cluster has no codes
            codes = self.clusters.codes
            clusters = np.zeros(len(sheets[0]), np.int64) if codes is None else codes.astype(np.int64)
        empty = one_if_alike([sheets[0].empty.T])
        return matrix_of(
            side_by_side(sheets), empty, self.weights, self.groups, clusters, self.times, ordered=self.ordered
        )

    def true_classes(self) -> Grouping | None:
        """The true class of each case by name, in the order of names; None where the truth is a distribution."""
        lists = self._first
        if is_soft(self.y, lists.space):
            return None
        codes = as_codes(self.y, lists)
        known, codes = np.unique(
            ArrayNames(lists.space, None, self.y).outcomes(np.arange(len(codes)), codes), return_inverse=True
        )
        return Grouping(known.tolist(), codes.astype(np.int32))

    @property
    def ids(self) -> NDArray[Any] | None:
        """The ids of the cases, where any model has them."""
        return next((one.ids for one in self.lists.values() if one.ids is not None), None)

    @property
    def case_ids(self) -> tuple[str, ...]:
        """The ids of the cases, or their positions, as text."""
        return tuple(map(text, range(len(self._first)) if self.ids is None else self.ids))

    def read(self) -> ReadSummary:
        """What was read."""
        n = len(self._first)
        origins = (
            SourceSummary(name, "memory", "lists", n, repairs=dict(one.repairs)) for name, one in self.lists.items()
        )
        return ReadSummary(tuple(origins), n, n)

    @property
    def per_case(self) -> bool:
        """Whether the number of classes differs from case to case."""
        return self.space.per_case

    @property
    def space(self) -> ClassSpace:
        """The classes, as the first model has them."""
        return self._first.space

    @property
    def _first(self) -> TopLists:
        return next(iter(self.lists.values()))

    @property
    def classes(self) -> str:
        """How many there are."""
        return show_size(self.space.size)


def together(
    request: ReadRequest, space: Any, scoring: ScoringSpec, settings: InferenceSettings | None = None
) -> ArrayModels:
    """Models in memory, checked against each other and against the outcomes.

    With `settings`, time counts only where they say that cases follow each other.
    """
    request.require_memory()
    about, y = request.truth, request.truth.data
    known = _space_of(request.models, space)
    lists = {name: _as_lists(what, known, name, request.repairs[name]) for name, what in request.models.items()}
    n = _require_one_length(lists)
    _require_one_order(lists)
    for one in lists.values():
        require_one_order(y, one)
    _require_one_space(lists, known, y)
    time = given(about.time) if settings is None or settings.time is not None else None
    groups, clusters = (
        _per_case(given(about.group), n, "group", blank=True),
        _per_case(given(about.cluster), n, "cluster"),
    )
    metadata = {"group": groups, "cluster": clusters, "time": _per_case(given(about.time), n, "time")}
    metadata["weight"] = None if about.weight is None else as_sample_weight(about.weight, n)
    grouping = None if groups is None else _grouping(groups)
    if grouping is not None:
        require_few_groups(grouping.keys, None)
    return ArrayModels(
        lists,
        y,
        scoring,
        metadata["weight"],
        grouping,
        None if clusters is None else _grouping(clusters),
        None if time is None or metadata["time"] is None else _time_points(metadata["time"]),
        time is not None if settings is None else settings.ordered,
        {name: values for name, values in metadata.items() if values is not None},
    )


def given(values: Any) -> Any:
    """What is known of the cases; None also where a column is to be ignored, which arrays do not have."""
    return None if isinstance(values, str) and not values else values


def _per_case(values: Any, n: int, what: str, *, blank: bool = False) -> NDArray[Any] | None:
    """What is said of each case as an array; every case says something, unless some may be `blank`."""
    if values is None:
        return None
    array = as_array(values, what)
    if array.ndim != 1 or len(array) != n:
        raise ShapeError(f"{what} needs one value per case: {n}.")
    lacking = np.array([value is None or value != value for value in array.tolist()])
    if lacking.any() and not blank:
        raise TopListError(f"{what} has no value for case {int(np.argmax(lacking))}.")
    return array


def _time_points(values: NDArray[Any]) -> NDArray[np.int64]:
    """The place of each case in time, the same for the same value: text as numbers if all of it is, else as dates."""
    if values.dtype.kind in "UO" and all(isinstance(value, str) for value in values):
        for kind in (np.int64, np.float64):  # 20240131093000121 is no double
            with suppress(ValueError, OverflowError):
                values = values.astype(kind)
                break
        else:
            odd = untimely(sorted(set(values.tolist())))
            if odd is not None:
                raise TopListError(f"time has {odd!r} in it, which does not say when: {REMEDY}.")
    try:
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    except TypeError:
        raise TopListError("time has values that cannot be compared with each other.") from None


def _space_of(predictions: Mapping[str, Any], space: Any) -> ClassSpace:
    if space is not None:
        return as_space(space)
    for what in predictions.values():
        if isinstance(what, TopLists):
            return what.space
    for what in predictions.values():
        if getattr(what, "ndim", 1) == 2:
            return ClassSpace(what.shape[1])
    raise SpaceError("how many classes are there? Say so with space=: a number, math.inf or ClassSpace(labels=[...]).")


def _as_lists(what: Any, space: ClassSpace, name: str, repairs: Repairs) -> TopLists:
    """Whatever was predicted, as lists."""
    if isinstance(what, TopLists | TopList):  # over which classes is checked later, for all together
        return what.batch if isinstance(what, TopList) else what
    try:
        return as_lists(what, space, repairs=repairs)
    except TopListError as error:
        error.args = (f"{name}: {error}",)
        raise


def _require_one_length(lists: Mapping[str, TopLists]) -> int:
    sizes = {name: len(one) for name, one in lists.items()}
    if len(set(sizes.values())) > 1:
        raise AlignmentError(f"models differ in length: {', '.join(f'{k} has {v:,}' for k, v in sizes.items())}.")
    n = next(iter(sizes.values()))
    if not n:
        raise ShapeError("there are no cases to compare.")
    return n


def _require_one_order(lists: Mapping[str, TopLists]) -> None:
    named = [(name, one.ids) for name, one in lists.items() if one.ids is not None]
    for name, ids in named[1:]:
        if not np.array_equal(ids, named[0][1]):
            raise AlignmentError(f"the case ids of {named[0][0]} and {name} differ: bring them into one order.")


def _require_one_space(lists: Mapping[str, TopLists], known: ClassSpace, y: Any) -> None:
    """All are over as many classes; and where outcomes are numbers, the numbers mean the same classes to all."""
    for name, one in lists.items():
        if not np.array_equal(one.space.as_floats[1], known.as_floats[1]):
            raise SpaceError(f"{name} is over {one.space!r}, others over {known!r}: all need the same classes.")
        if isinstance(known, LabelSets) and isinstance(one.space, LabelSets) and one.space != known:
            raise SpaceError(f"{name} and the others name or order their labels differently: give all the same space.")
    named = {name: one.space.labels for name, one in lists.items() if one.space.labels is not None}
    if isinstance(y, TopLists):
        odd = next(
            (name for name, one in lists.items() if (one.space.labels is None) != (y.space.labels is None)), None
        )
        if odd is not None and len(y.confidences):
            raise SpaceError(
                f"{odd} and the truth do not both have labels for their classes: give both the same space."
            )
        return
    if not named or not _are_codes(y) or any(one.space.numbered for one in lists.values()):
        return
    learned = next((name for name in named if known.labels is None and not _given(lists[name], known)), None)
    if learned is not None:
        raise SpaceError(
            f"{learned} names its classes, but the outcomes are numbers, and nobody has said which class is which "
            "number: give the outcomes as labels, or space=ClassSpace(labels=[...])."
        )
    if len(set(named.values())) > 1:
        raise SpaceError(f"{' and '.join(named)} number their labels differently: give the outcomes as labels.")


def _given(one: TopLists, known: ClassSpace) -> bool:
    """Whether a space had its labels before it saw predictions: then it has all of them."""
    return one.space.complete or one.space is known


def _are_codes(y: Any) -> bool:
    values = as_array(y, "outcomes") if not isinstance(y, np.ndarray) else y
    return values.dtype.kind in "iufb"


def _grouping(values: NDArray[Any]) -> Grouping:
    """Cases by what is said of them; those of whom nothing is said are a group too."""
    if values.dtype == object or (values.dtype.kind == "f" and np.isnan(values).any()):
        values = np.array([BLANK if value is None or value != value else str(value) for value in values])
    return Grouping.of(values)
