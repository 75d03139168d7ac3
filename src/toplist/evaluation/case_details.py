"""What a leaderboard can be asked for later: scores side by side, what the lists show, which files they came from."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import disk_full_explained
from toplist._typing import Progress
from toplist.calibration.miscalibration import CalibrationVerdict
from toplist.errors import FileError, TopListError
from toplist.evaluation.arrays import ArrayModels
from toplist.evaluation.case_sample import (
    EXACT,
    TESTED,
    CaseSample,
    CaseSampler,
    by_place,
    calibration_verdict,
    sample_cases,
)
from toplist.evaluation.model_details import DetailsAccumulator, accumulate, finish
from toplist.evaluation.stream import MatrixCollector, ScoredBatch, ScoringSpec, coder_of, run
from toplist.inference.results import FileRecord, ModelDetails
from toplist.inference.score_difference import Decided, split
from toplist.inference.score_matrix import ScoreMatrix
from toplist.io.batches import Batch
from toplist.io.checks import for_batch
from toplist.io.lists import filled
from toplist.io.plan import Plan
from toplist.io.sources import OpenTable
from toplist.lists.checks.detect import text
from toplist.lists.converters import as_codes, is_soft
from toplist.scoring.case_scores import CaseScores
from toplist.scoring.rules import Rule, name_of


@dataclass(frozen=True, slots=True)
class CaseDetails:
    """Everything about the cases that is not in the sums."""

    panel: ScoreMatrix
    exhibits: tuple[ModelDetails, ...]
    right: NDArray[np.floating[Any]]  # (cases, models): whether first guesses were right; ties share
    called: Callable[[Sequence[int]], list[str]]  # what cases are called, by their places
    held: Callable[[str], CaseSample | None]  # the lists of a model by place; None where the truth is soft
    files: tuple[FileRecord, ...] = ()

    def judged(self, names: Sequence[str], *, level: float, seed: int) -> dict[str, CalibrationVerdict]:
        """The test of calibration that a diagnosis makes, of every model whose truth is what happened."""
        found = {name: self.held(name) for name in names}
        known = {name: one for name, one in found.items() if one is not None}
        return {name: calibration_verdict(one, level=level, seed=seed) for name, one in known.items()}

    def decided(
        self, pairs: Sequence[tuple[int, int]], names: Sequence[str], rule: str, most: int
    ) -> tuple[Decided, ...]:
        """Of pairs (worse, better), under the first rule and on the cases of both: the cases that decide."""
        found = []
        for a, b in pairs:
            scores = self.panel.scores[:, 0, [a, b]]
            both = np.flatnonzero(~np.isnan(scores).any(axis=1))
            w = None if self.panel.weights is None else self.panel.weights[both]
            right = self.right[both][:, [a, b]].astype(np.float64)
            parts = split(*scores[both].T, *right.T, rule=rule, most=most, weights=w)
            cases = [one.case for one in (*parts.favour_a, *parts.favour_b)]
            whole = float(len(both)) if w is None else float(w.sum())
            places = [int(both[case]) for case in cases]
            found.append((names[a], names[b], whole, parts, dict(zip(cases, places, strict=True))))
        every = sorted({place for *_, places in found for place in places.values()})
        called = dict(zip(every, self.called(every), strict=True))
        return tuple(
            Decided(worse, better, whole, parts, {case: called[place] for case, place in places.items()})
            for worse, better, whole, parts, places in found
        )


@dataclass
class CaseReader:
    """Reads the cases of a comparison again, for details and for scores, each once."""

    _read: Callable[[Progress], CaseDetails]
    scores: Callable[[], Mapping[str, CaseScores]]
    _found: CaseDetails | None = None

    def details(self, agrees: Callable[[CaseDetails], bool], progress: Progress) -> CaseDetails:
        """The details, or an error where they do not agree with what was compared."""
        if self._found is None:
            found = self._read(progress)
            if not agrees(found):
                raise TopListError("the predictions or outcomes have changed since they were compared: compare again.")
            self._found = found
        return self._found


def from_memory(given: ArrayModels) -> CaseDetails:
    """From predictions in memory."""
    sheets = given.sheets()
    right = np.stack([np.asarray(one.metrics["accuracy"], np.float64) for one in sheets], axis=1)
    ids = next((one.ids for one in given.lists.values() if one.ids is not None), None)

    def called(places: Sequence[int]) -> list[str]:
        return [str(place) if ids is None else text(ids[place]) for place in places]

    return CaseDetails(given.panel(sheets), given.exhibits(sheets), right, called, partial(_held, given))


def _held(given: ArrayModels, name: str) -> CaseSample | None:
    lists, clusters = given.lists[name], given.clusters
    if is_soft(given.y, lists.space):
        return None
    units = None if clusters is None or clusters.codes is None else clusters.codes.astype(np.intp)
    return sample_cases(*by_place(lists, given.y), units, named=(lists, as_codes(given.y, lists)))


def from_files(plan: Plan, scoring: ScoringSpec, progress: Progress) -> CaseDetails:
    """From the files, which are read once more."""
    rule = scoring.rules[0]
    seen, _ = run(plan, scoring, lambda: DetailsCollector(plan, rule), progress)
    exhibits = tuple(finish(seen.looks[one.name].found, one.name, name_of(rule)) for one in plan.sources)
    records = tuple(r for one in (*plan.sources, plan.truth) for r in _records(one))
    return CaseDetails(seen.panel(), exhibits, seen.right(), seen.called, seen.held, records)


@dataclass(slots=True)
class DetailsWatcher:
    """Gathers what the lists of one source show, batch by batch."""

    rule: Rule
    ranked: bool = False
    holding: CaseSampler | None = None  # where the truth says what happened
    cluster: str | None = None  # a column of the truth
    found: DetailsAccumulator = field(default_factory=DetailsAccumulator)
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, seen: ScoredBatch) -> None:
        """See `streaming.Sink.watchers`."""
        names = for_batch(seen.batch, seen.names, seen.codes, seen.truth, seen.truth_names, seen.outcomes)
        part = accumulate(
            seen.lists,
            seen.y,
            seen.scores,
            rule=self.rule,
            position=seen.truth.rows,
            names=names,
            ranked=self.ranked,
        )
        if self.holding is not None:
            clusters = None if self.cluster is None else filled(seen.truth, self.cluster, "cluster")
            self.holding.add(seen.lists, seen.y, seen.truth.rows, seen.truth.source, clusters)
        with self._lock:
            self.found = self.found + part


class DetailsCollector(MatrixCollector):
    """A sink that keeps every score and first guess, and looks at the lists of every source as they are scored."""

    def __init__(self, plan: Plan, rule: Rule) -> None:
        super().__init__(plan)
        self.guesses = tempfile.TemporaryFile(prefix="toplist-")  # noqa: SIM115  lives as long as this
        self.rows: list[tuple[str, NDArray[np.int64]]] = []  # where in the truth the cases stand
        happened, limit = plan.truth.layout.kind == "labels", TESTED if plan.cluster is None else EXACT
        coder = coder_of(plan)
        named = plan.space is not None and plan.set_separator is None and (coder.labels is not None or coder.integers)
        self.looks = {
            one.name: DetailsWatcher(
                rule, one.layout.kind == "ranked", CaseSampler(limit, named) if happened else None, plan.cluster
            )
            for one in plan.sources
        }

    def __del__(self) -> None:
        self.guesses.close()
        super().__del__()

    @property
    def watchers(self) -> Mapping[str, Callable[[ScoredBatch], None]]:
        """See `streaming.Sink`."""
        return self.looks

    def make(self, truth: Batch, sheets: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `streaming.Sink`."""
        right = np.stack([np.asarray(one.metrics["accuracy"], np.float32) for one in sheets], axis=1)
        return super().make(truth, sheets, present), right, (truth.source, truth.rows)

    def add(self, made: Any) -> None:
        """See `streaming.Sink`."""
        scored, right, rows = made
        super().add(scored)
        with disk_full_explained():
            self.guesses.write(right.tobytes())
        self.rows.append(rows)

    def right(self) -> NDArray[np.floating[Any]]:
        """Whether first guesses were right, by case and model."""
        with disk_full_explained():
            self.guesses.flush()
        return np.memmap(self.guesses, np.float32, "r").reshape(-1, len(self.plan.sources))

    def held(self, name: str) -> CaseSample | None:
        """The lists of a source by place: as many as the test of calibration looks at."""
        holding = self.looks[name].holding
        return None if holding is None or not holding.parts else holding.sample()

    def called(self, places: Sequence[int]) -> list[str]:
        """The ids of cases, or their rows; the truth is read once more for them."""
        starts = np.cumsum([0, *(len(rows) for _, rows in self.rows)])
        wanted: dict[tuple[str, int], str] = {}
        keys = []
        for place in places:
            part = int(np.searchsorted(starts, place, "right")) - 1
            source, rows = self.rows[part]
            keys.append((source, int(rows[place - starts[part]])))
        for batch in self.plan.truth.batches(together=True) if keys else ():
            for source, row in keys:
                at = np.flatnonzero(batch.rows == row)
                if source == batch.source and len(at):
                    wanted[source, row] = f"row {row}" if batch.ids is None else text(batch.ids[int(at[0])].as_py())
        return [wanted.get(key, f"row {key[1]}") for key in keys]


def _records(source: OpenTable) -> list[FileRecord]:
    """The files of a source, with their digests."""
    out = []
    for path in source.reader.paths:
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            out.append(FileRecord(source.name, str(path), path.stat().st_size, digest))
        except OSError as error:
            raise FileError(str(path), f"this file cannot be read any more: {error.strerror}.") from None
    return out
