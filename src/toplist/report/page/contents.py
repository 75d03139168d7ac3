"""What goes into a report, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toplist.diagnosis.disagreement import Decided
from toplist.diagnosis.judging import Judged
from toplist.evidence.findings import Exhibit
from toplist.ranking.results import FileRecord, Results


@dataclass(frozen=True, slots=True)
class Provenance:
    """How the numbers came about, so that somebody else can make them again.

    Nothing is looked up here: the same provenance makes the same page, byte for byte.
    """

    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    files: tuple[FileRecord, ...] = ()
    written: str = ""  # a date, or nothing


@dataclass(frozen=True, slots=True)
class Page:
    """All that a report shows."""

    results: Results
    exhibits: tuple[Exhibit, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)
    title: str = "Comparison of predictions"
    decided: tuple[Decided, ...] = ()  # pairs where accuracy says otherwise, with the cases that decide
    judged: Mapping[str, Judged] = field(default_factory=dict)  # the test of calibration, by predictor
