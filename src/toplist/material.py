"""What a leaderboard can be asked for later: scores side by side, what the lists show, which files they came from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock

from toplist.errors import FileError
from toplist.evaluation import Seen
from toplist.evidence.findings import Exhibit
from toplist.evidence.gathering import Gathered, exhibit, gather
from toplist.evidence.naming import for_batch
from toplist.inmemory import Together
from toplist.io.sources import Source
from toplist.ranking.panels import Panel
from toplist.ranking.results import FileRecord
from toplist.rules import Rule, name_of
from toplist.sinks import Keeping
from toplist.streaming import Plan, Progress, run


@dataclass(frozen=True, slots=True)
class Material:
    """Everything about the cases that is not in the sums."""

    panel: Panel
    exhibits: tuple[Exhibit, ...]
    files: tuple[FileRecord, ...] = ()


def from_memory(held: Together) -> Material:
    """From predictions in memory."""
    sheets = held.sheets()
    return Material(held.panel(sheets), held.exhibits(sheets))


def from_files(plan: Plan, progress: Progress) -> Material:
    """From the files, which are read once more."""
    rule = plan.scoring.rules[0]
    seen, _ = run(plan, lambda: Witness(plan, rule), progress)
    exhibits = tuple(exhibit(seen.looks[one.name].found, one.name, name_of(rule)) for one in plan.sources)
    return Material(seen.panel(), exhibits, tuple(r for one in (*plan.sources, plan.truth) for r in _records(one)))


@dataclass(slots=True)
class Look:
    """Gathers what the lists of one source show, batch by batch."""

    rule: Rule
    found: Gathered = field(default_factory=Gathered)
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, seen: Seen) -> None:
        """See `streaming.Sink.watchers`."""
        names = for_batch(seen.batch, seen.names, seen.codes, seen.truth, seen.truth_names, seen.outcomes)
        part = gather(seen.lists, seen.y, seen.sheet, rule=self.rule, position=seen.truth.rows, names=names)
        with self._lock:
            self.found = self.found + part


class Witness(Keeping):
    """A sink that keeps every score, and looks at the lists of every source as they are scored."""

    def __init__(self, plan: Plan, rule: Rule) -> None:
        super().__init__(plan)
        self.looks = {source.name: Look(rule) for source in plan.sources}

    @property
    def watchers(self) -> Mapping[str, Callable[[Seen], None]]:
        """See `streaming.Sink`."""
        return self.looks


def _records(source: Source) -> list[FileRecord]:
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
