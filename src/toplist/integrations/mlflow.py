"""Leaderboards in MLflow: a metric per model and number, the table, and the report, in a run.

`Leaderboard.log_to_mlflow` is the way in. MLflow is loaded when something is logged.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from toplist._files import load, temporary_folder
from toplist._text import quote
from toplist.core.kernel import versions
from toplist.errors import TopListError
from toplist.inference.results import Comparison, Estimate, ModelRow
from toplist.report.statements import verdict
from toplist.report.tables import called

_REFUSED = re.compile(r"[^\w.\- ]")  # what a part of a name in MLflow cannot have, or what would divide it
_LONGEST = 60  # characters of a part of a name: in a file store each part is a folder or a file
_METRICS, _OTHERS = 1000, 100  # how many MLflow takes at once, of metrics, and of parameters or tags
_PARENT, _RUN_NAME = "mlflow.parentRunId", "mlflow.runName"


class Board(Protocol):
    """What is logged of a leaderboard."""

    @property
    def comparison(self) -> Comparison:
        """All results as plain values."""

    def to_csv(self) -> str:
        """One line per group, model and rule."""

    def to_json(self) -> str:
        """Everything, under a versioned schema."""

    def report(self, path: Any) -> None:
        """Write one HTML page with everything."""


def log_leaderboard(
    board: Board, run: Any = None, *, prefix: str = "toplist", report: bool = True, nested: bool = False
) -> str:
    """Log a leaderboard to MLflow: metrics of every model, the settings, the table and the report.

    Metrics are called `prefix/model/number`, such as `toplist/cld2/brier`, with `brier_low` and `brier_high` for the
    interval, `brier_infinite` for the number of infinite scores, `accuracy` and the other columns of the table. Stores
    of MLflow do not agree about infinite numbers: a mean that is infinite is not logged, and the tag `prefix.infinite`
    names it. Groups of cases are in the table.

    Parameters
    ----------
    board : Leaderboard
        What `compare` made.
    run : str or mlflow.ActiveRun, optional
        The run, or its id. By default the active one; where none is, a new one, which ends here.
    prefix : str, default "toplist"
        What all names begin with, and the folder of the artifacts.
    report : bool, default True
        Whether the HTML report is made, for which files are read again.
    nested : bool, default False
        Whether every model gets a run below this one, with the same metrics as `prefix/number`: MLflow then compares
        models as it compares runs.

    Returns
    -------
    str
        The id of the run.

    Raises
    ------
    TopListError
        If MLflow is not installed, the prefix is no name, or the run has other settings under it already.

    Examples
    --------
    >>> import toplist as tl
    >>> board = tl.compare({"list": [{"a": 0.7, "b": 0.2}] * 2, "label": ["a", "b"]}, ["a", "b"], space=3)
    >>> run_id = log_leaderboard(board)  # doctest: +SKIP
    """
    mlflow = load("mlflow", "logging to MLflow needs mlflow: pip install 'toplist[mlflow]'.")
    prefix = _prefix(prefix)
    results, client = board.comparison, mlflow.MlflowClient()
    names = dict(zip([row.name for row in results.overall.rows], _parts(results), strict=True))
    found = {f"{prefix}/{names[row.name]}/{key}": x for row in results.overall.rows for key, x in _numbers(row)}
    metrics, infinite = _split(found)
    settings = {f"{prefix}/{name}": text for name, text in _settings(results).items()}
    tags = {f"{prefix}.{name}": text for name, text in _tags(results, infinite).items()}
    with temporary_folder() as folder:
        files = _files(board, folder, report)
        with _chosen(mlflow, run) as run_id:
            known = client.get_run(run_id)
            _require_same(known.data.params, settings, prefix)
            _log(mlflow, client, run_id, metrics, settings, tags)
            for path in files:
                client.log_artifact(run_id, str(path), prefix)
            if nested:
                for row in results.overall.rows:
                    _log_model(mlflow, client, known.info, row, prefix)
    return str(run_id)


@contextmanager
def _chosen(mlflow: Any, run: Any) -> Iterator[str]:
    """The id of the run that is named, of the active one, or of a new one."""
    if run is None and mlflow.active_run() is None:
        with mlflow.start_run() as made:
            yield made.info.run_id
        return
    run = mlflow.active_run() if run is None else run
    found = run if isinstance(run, str) else getattr(getattr(run, "info", None), "run_id", None)
    if not isinstance(found, str) or not found:
        raise TopListError(f"run is a run of MLflow or its id, not {quote(run)}.")
    yield found


def _log(
    mlflow: Any,
    client: Any,
    run_id: str,
    metrics: Mapping[str, float],
    settings: Mapping[str, str],
    tags: Mapping[str, str],
) -> None:
    """Everything but files, in as few calls as MLflow allows."""
    entities, now = mlflow.entities, int(time.time() * 1000)
    for some in _chunks([entities.Metric(key, x, now, 0) for key, x in metrics.items()], _METRICS):
        client.log_batch(run_id, metrics=some)
    for some in _chunks([entities.Param(key, text) for key, text in settings.items()], _OTHERS):
        client.log_batch(run_id, params=some)
    for some in _chunks([entities.RunTag(key, text) for key, text in tags.items()], _OTHERS):
        client.log_batch(run_id, tags=some)


def _log_model(mlflow: Any, client: Any, parent: Any, row: ModelRow, prefix: str) -> None:
    """A run of one model below that of the leaderboard."""
    tags = {_PARENT: parent.run_id, _RUN_NAME: row.name}
    run_id = client.create_run(parent.experiment_id, tags=tags, run_name=row.name).info.run_id
    metrics, infinite = _split({f"{prefix}/{key}": x for key, x in _numbers(row)})
    tags = {f"{prefix}.{name}": text for name, text in _infinite(infinite).items()}
    _log(mlflow, client, run_id, metrics, {f"{prefix}/model": row.name}, tags)
    client.set_terminated(run_id)


def _files(board: Board, folder: Path, report: bool) -> list[Path]:
    """The table, all results, and the report if it is wanted."""
    table, results, page = folder / "leaderboard.csv", folder / "leaderboard.json", folder / "report.html"
    table.write_text(board.to_csv(), encoding="utf-8")
    results.write_text(board.to_json(), encoding="utf-8")
    if not report:
        return [table, results]
    board.report(page)
    return [table, results, page]


def _numbers(row: ModelRow) -> Iterator[tuple[str, float]]:
    """The numbers of a model by their names: scores with intervals, metrics, counts."""
    if row.rank is not None:
        yield "rank", row.rank
    yield from (("cases", row.cases), ("missing", row.missing), ("invalid", row.invalid))
    for rule, score in row.scores.items():
        name = _part(rule)
        yield from _with_ends(name, score.mean)
        yield f"{name}_infinite", score.infinite
        for what in ("skill", "baseline_skill", "difference"):
            estimate = getattr(score, what)
            if estimate is not None:
                yield from _with_ends(f"{name}_{what}", estimate)
    yield from ((_part(name), estimate.value) for name, estimate in row.metrics.items())


def _with_ends(name: str, estimate: Estimate) -> Iterator[tuple[str, float]]:
    yield name, estimate.value
    for end in ("low", "high"):
        x = getattr(estimate, end)
        if x is not None:
            yield f"{name}_{end}", x


def _split(found: Mapping[str, float]) -> tuple[dict[str, float], list[str]]:
    """Finite numbers, and the names of infinite ones; what does not exist is left out."""
    finite = {key: float(x) for key, x in found.items() if math.isfinite(x)}
    return finite, [key for key, x in found.items() if math.isinf(x)]


def _settings(results: Comparison) -> dict[str, str]:
    """What was compared and how, as text: what is None was not asked for."""
    chosen = {
        "rules": ", ".join(results.rules),
        "models": len(results.overall.rows),
        "classes": results.classes,
        "cases": results.cases,
        "compared": results.compared,
        "missing": results.missing,
        "level": results.level,
        "method": results.method,
        "baseline": results.baseline,
        "penalty": results.penalty,
        "cluster": results.cluster,
        "time": results.time,
        "group": results.group,
        "weight": results.weight,
    }
    return {name: str(value) for name, value in chosen.items() if value not in (None, "")}


def _tags(results: Comparison, infinite: Sequence[str]) -> dict[str, str]:
    leader = next((row.name for row in results.overall.rows if row.rank == 1), None)
    said = {"version": str(versions()["toplist"]), **({} if leader is None else {"leader": leader})}
    said["verdict"] = str(verdict(results, called(results)))
    return said | _infinite(infinite)


def _infinite(names: Sequence[str]) -> dict[str, str]:
    return {"infinite": ", ".join(names)} if names else {}


def _require_same(known: Mapping[str, str], settings: Mapping[str, str], prefix: str) -> None:
    """MLflow keeps the first value of a parameter: another one would be refused halfway."""
    other = next((key for key, text in settings.items() if known.get(key, text) != text), None)
    if other is not None:
        raise TopListError(
            f"this run has {other} = {quote(known[other])} already, not {quote(settings[other])}: log to another run, "
            f"or with another prefix than {quote(prefix)}."
        )


def _prefix(prefix: Any) -> str:
    parts = prefix.split("/") if isinstance(prefix, str) else [""]
    if not all(part.strip(".") and not _REFUSED.search(part) and len(part) <= _LONGEST for part in parts):
        raise TopListError(
            f"prefix is a name of letters, digits, blanks, _, - and ., with / between its parts, not {quote(prefix)}."
        )
    return "/".join(parts)


def _parts(results: Comparison) -> list[str]:
    """The models as parts of names, no two of them the same."""
    made: list[str] = []
    for row in results.overall.rows:
        name = plain = _part(row.name)
        number = 2
        while name in made:
            name, number = f"{plain} {number}", number + 1
        made.append(name)
    return made


def _part(name: str) -> str:
    """A name as one part of a name in MLflow.

    >>> _part("runs/a b.csv"), _part(".."), len(_part("a" * 100))
    ('runs_a b.csv', '__', 60)
    """
    plain = _REFUSED.sub("_", name)
    plain = plain if plain.strip(".") else plain.replace(".", "_") or "_"
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST // 2]}{plain[len(plain) - _LONGEST // 2 :]}"


def _chunks(items: Sequence[Any], most: int) -> Iterable[Sequence[Any]]:
    return (items[at : at + most] for at in range(0, len(items), most))


__all__ = ["log_leaderboard"]
