"""A folder with the results of finished tasks, so that a second run does only what is missing or has changed.

A file is the result of one task; its name is a digest of the job, of the rows that the task reads, and of the size and
the last change of their files. `manifest.json` says what the folder is of. A worker writes the result of a task when it
is whole; a file that is damaged counts as missing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toplist._files import read_json, write_errors_explained, write_json
from toplist._text import listed
from toplist.core.kernel import version
from toplist.errors import FileError
from toplist.evaluation.jobs import Job, digest_of
from toplist.evaluation.tasks import TaskResult
from toplist.inference.partial_bytes import FORMAT

MANIFEST = "manifest.json"
_DIGITS = 24  # of a digest in a name
log = logging.getLogger("toplist")


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """Where the results of a job are kept."""

    path: Path
    job: str  # its digest
    stamps: Mapping[str, str]  # of the input files: size and last change

    @classmethod
    def open(cls, path: str | os.PathLike[str], job: Job, stamps: Mapping[str, str]) -> TaskFolder:
        """Make the folder, or take the one that is there; one of another job is refused."""
        if "://" in os.fspath(path):
            raise FileError(
                os.fspath(path), "partial results are kept in a folder of a file system that workers share."
            )
        place = Path(path).absolute()
        with write_errors_explained(place):
            place.mkdir(parents=True, exist_ok=True)
        found = cls(place, job.digest, stamps)
        known = found._manifest()
        if known is not None and known.get("job") != job.digest:
            raise FileError(
                str(place),
                f"this folder holds partial results of another comparison{_differing(known, job)}. Name another "
                "folder, or remove this one.",
            )
        changed = [] if known is None else sorted(_changed(known.get("inputs", {}), stamps))
        if changed:
            log.info(
                "Since the last run, %s changed: what was made of them is computed again; where rows are matched by "
                "case id, that is everything.",
                listed(changed, 3, str),
            )
        return found

    @property
    def way(self) -> str:
        """How the work was split the last time."""
        return str((self._manifest() or {}).get("way", ""))

    def write(self, job: Job, way: str, names: Sequence[str]) -> None:
        """Say what the folder is of."""
        asked = {name: value for name, value in job.plain["question"].items() if name != "inference"}
        record = {
            "format": FORMAT,
            "toplist": version(),
            "job": self.job,
            "way": way,
            "question": asked | {"inference": job.plain["question"]["inference"]},
            "digests": {what: digest_of(value) for what, value in _described(job).items()},
            "inputs": dict(self.stamps),
            "tasks": list(names),
        }
        before = (self._manifest() or {}).get("tasks", [])
        write_json(self.path / MANIFEST, record)
        for name in {*map(str, before)} - {*names}:  # of files that have changed, or of tasks of another size
            with suppress(OSError):
                (self.path / Path(name).name).unlink()

    def name(self, *what: Any, files: Sequence[str]) -> str:
        """The name of the result of a task that reads these files."""
        return digest_of([self.job, what, [[file, self.stamps.get(file, "")] for file in files]])[:_DIGITS]

    def file(self, name: str) -> str:
        """Where a result is."""
        return str(self.path / name)

    def load(self, name: str) -> TaskResult | None:
        """A finished result; None where there is none, or where it is damaged."""
        file = self.path / name
        try:
            data = file.read_bytes()
        except OSError:
            return None
        with suppress(FileError, KeyError, TypeError, ValueError):
            found = TaskResult.from_bytes(data, str(file))
            if not found.failed and not found.out_of_step:
                return found
        log.warning("%s: this partial result is damaged and is computed again.", file)
        return None

    def tell(self, finished: int, of: int, what: str = "tasks") -> None:
        """Say how much was done before."""
        if finished:
            log.info("%s of %s %s were finished before, %s are computed.", finished, of, what, of - finished)

    def _manifest(self) -> dict[str, Any] | None:
        if not (self.path / MANIFEST).exists():
            return None
        found = read_json(self.path / MANIFEST, "the manifest of a folder with partial results")
        kinds = {"inputs": dict, "question": dict, "digests": dict, "tasks": list}
        if not isinstance(found, dict) or any(not isinstance(found.get(k, t()), t) for k, t in kinds.items()):
            raise FileError(str(self.path / MANIFEST), "this is no manifest of toplist: name another folder.")
        return found


def _changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return [file for file in {**before, **now} if before.get(file) != now.get(file)]


def _differing(known: Mapping[str, Any], job: Job) -> str:
    """What tells two jobs apart, where it can be said in a word."""
    if known.get("toplist") != version():
        return f", of toplist {known.get('toplist')}"
    asked, digests = known.get("question", {}), known.get("digests", {})
    odd = [name for name, value in job.plain["question"].items() if asked.get(name) != value]
    odd += [what for what, value in _described(job).items() if digests.get(what) != digest_of(value)]
    return f" ({', '.join(odd)})" if odd else ""


def _described(job: Job) -> dict[str, Any]:
    """What a job is of beside its question, in words."""
    plain = job.plain
    return {
        "other classes, or in another order": plain["space"],
        "other files of predictions, or read in another way": plain["models"],
        "another truth, or read in another way": [plain["truth"], plain["truth_options"]],
    }
