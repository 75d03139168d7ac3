"""Predictors in memory or in files, all cases at once: each with what happened, and with the places of its cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.annotations import filled, in_time
from toplist.errors import AlignmentError, FileError, SpaceError
from toplist.evaluation import Seen
from toplist.inmemory import Together
from toplist.io.alignment import Join, OutOfStepError, in_step
from toplist.io.batches import Batch
from toplist.io.coding import Coder, Codes
from toplist.io.columns import plain as plain_column
from toplist.io.engine import connect
from toplist.io.gathering import gathered, some
from toplist.io.optional import need
from toplist.io.temporary import temporary_folder
from toplist.lists import TopLists
from toplist.space import show_size
from toplist.streaming import Plan, lengths, needs_text, require_ids

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Predicted:
    """The lists of one predictor, what happened, and where in the truth each case stands."""

    lists: TopLists
    y: Any
    places: Places
    unknown: int = 0  # predictions without a truth


@dataclass(frozen=True, slots=True)
class Held:
    """All predictors by name. Codes mean the same classes to all, or labels do."""

    predicted: Mapping[str, Predicted]
    cases: int
    classes: str
    moments: Places | None  # the place of each case of the truth in time; None: the truth is in order

    def pair(self, a: str, b: str) -> tuple[TopLists, TopLists, Any, Places | slice]:
        """The lists of two predictors for the cases that both have, what happened, and their order in time."""
        one, other = self.predicted[a], self.predicted[b]
        common, mine, theirs = np.intersect1d(one.places, other.places, assume_unique=True, return_indices=True)
        if not len(common):
            raise AlignmentError(f"{a} and {b} have no case in common.")
        order = slice(None) if self.moments is None else np.argsort(self.moments[common], stable=True)
        lists, y = (one.lists, one.y) if len(mine) == len(one.places) else (one.lists[mine], one.y[mine])
        return lists, other.lists if len(theirs) == len(other.places) else other.lists[theirs], y, order


def from_memory(held: Together) -> Held:
    """Predictors in memory, which all have the same cases."""
    n = len(next(iter(held.lists.values())))
    places = np.arange(n)
    return Held(
        {name: Predicted(lists, held.y, places) for name, lists in held.lists.items()}, n, held.classes, held.moments
    )


def from_files(plan: Plan) -> Held:
    """Files and frames, read whole."""
    require_ids(plan)
    truth, found = _aligned(plan)
    coders = _coders(plan, truth, found)
    seen: list[Seen] = []
    judges = plan.judges({source.name: seen.append for source in plan.sources})
    for judge, coder, one in zip(judges, coders, found, strict=True):
        judge.coder = coder or judge.coder
        judge.sheet(one.batch, truth if len(one.places) == len(truth) else some(truth, one.places))
    predicted = {
        judge.source.name: Predicted(it.lists, it.y, one.places, one.unknown)
        for judge, it, one in zip(judges, seen, found, strict=True)
    }
    moments = None if plan.order is None else in_time(filled(truth, plan.order, "time"), plan.order)
    many = "per case" if plan.space is None else show_size(plan.space.size)
    return Held(predicted, len(truth), many, moments)


@dataclass(frozen=True, slots=True)
class _Found:
    """All of a source that has a truth, in the order of the truth."""

    batch: Batch
    places: Places
    unknown: int = 0


def _aligned(plan: Plan) -> tuple[Batch, list[_Found]]:
    sources = plan.sources
    try:
        parts = list(in_step(plan.truth, sources))
    except OutOfStepError:
        if plan.truth.layout.case is None:
            raise AlignmentError(lengths(plan)) from None
        return _joined(plan)
    if not parts:
        raise FileError(plan.truth.path, "there are no cases.")
    truth = gathered([part for part, _ in parts], plan.truth.path)
    whole = [gathered([batches[i] for _, batches in parts], source.path) for i, source in enumerate(sources)]
    return truth, [_Found(batch, np.arange(len(truth))) for batch in whole]


def _joined(plan: Plan) -> tuple[Batch, list[_Found]]:
    found = []
    with connect() as engine, temporary_folder() as folder:
        join = Join(engine, plan.truth, folder, text=needs_text(plan))
        for source in plan.sources:
            parts = list(join.look_up(source))
            if not parts:
                raise AlignmentError(f"{source.name} has none of the cases of the truth.")
            places = np.concatenate([part.places for part in parts])
            batch = gathered([part.batch for part in parts], source.path)
            order = np.argsort(places)
            found.append(_Found(some(batch, order), places[order], join.unknown.get(source.name, (0, []))[0]))
        return join.truth, found


@dataclass(slots=True)
class _Settled(Coder):
    """Codes that were settled among all sources, for one of them and the truth of its cases."""

    mine: Codes | None = None
    theirs: Codes | None = None

    def codes(
        self, lists: Batch, names: tuple[str, ...], truth: Batch, truth_names: tuple[str, ...]
    ) -> tuple[Codes, Codes]:
        """See `Coder`."""
        if self.mine is None or self.theirs is None:
            return super().codes(lists, names, truth, truth_names)
        return self.mine, self.theirs


def _coders(plan: Plan, truth: Batch, found: Sequence[_Found]) -> Sequence[Coder | None]:
    """A coder for each source where those of the plan would number classes differently; else none."""
    coder = plan.judges({})[0].coder
    if coder.labels is not None or coder.integers:
        return [None] * len(found)
    pa, pc, per_case = need("pyarrow"), need("pyarrow.compute"), plan.space is None
    names = [source.names for source in (*plan.sources, plan.truth)]
    batches, texts = [*(one.batch for one in found), truth], []
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
        places = [*(one.places for one in found), np.arange(len(truth))]
        sizes = [np.diff(batch.offsets) for batch in batches]
        codes = _within_case(np.concatenate(list(map(np.repeat, places, sizes))), codes)
    ends = np.cumsum([len(text) for text in texts])
    *mine, theirs = np.split(codes, ends[:-1])
    return [
        _Settled(plan.space, False, plan.sets, mine=own, theirs=_of_cases(truth, theirs, one.places, per_case))
        for own, one in zip(mine, found, strict=True)
    ]


def _within_case(case: Places, codes: Codes) -> Codes:
    """Codes that start from zero in each case."""
    order = np.lexsort((codes, case))
    new_case, new = np.ones(len(order), bool), np.ones(len(order), bool)
    new_case[1:] = np.diff(case[order]) != 0
    new[1:] = new_case[1:] | (np.diff(codes[order]) != 0)
    place = np.cumsum(new) - 1
    start = np.maximum.accumulate(np.where(new_case, place, 0))
    out = np.empty(len(order), np.int64)
    out[order] = place - start
    return out


def _of_cases(truth: Batch, codes: Codes, places: Places, per_case: bool) -> Codes:
    """The codes of some cases of the truth; of its columns, where these are all there is."""
    if truth.classes is None and not per_case:
        return codes
    sizes = np.diff(truth.offsets)[places]
    ends = np.cumsum(sizes)
    some_codes: Codes = codes[np.repeat(truth.offsets[places] - (ends - sizes), sizes) + np.arange(sizes.sum())]
    return some_codes
