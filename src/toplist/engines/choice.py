"""Which engine is meant: by its name, or by an object of its library."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

from toplist._text import argument
from toplist.engines.base import Engine
from toplist.errors import TopListError

NAMES = {"local": "Local", "dask": "Dask", "spark": "Spark", "ray": "Ray"}
"""Engines by name, each in the module of that name."""


def as_engine(value: Any, **options: Any) -> Engine:
    """Return the engine that is meant by a name, or by an object of its library.

    Parameters
    ----------
    value : str, Engine, distributed.Client or pyspark.sql.SparkSession
        "local", "dask", "spark" or "ray", an engine, or what a cluster is reached with.
    **options : Any
        Options of the engine, such as `workers`, `scheduler` or `master`; those that are None are left out.

    Returns
    -------
    Engine
        The engine, with these options.

    Raises
    ------
    TopListError
        There is no such engine, or it has no such option.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.engines.as_engine("local", workers=2, scheduler=None)
    Local(workers=2, task_cases=None, partials=None, on_error='stop')
    """
    given = {name: option for name, option in options.items() if option is not None}
    if isinstance(value, Engine):
        _require_options(type(value), given)
        return value.with_options(**given)
    package = type(value).__module__.partition(".")[0]
    if package == "distributed" and type(value).__name__ == "Client":
        return _engine("dask", given | {"client": value})
    if package == "pyspark" and type(value).__name__ == "SparkSession":
        return _engine("spark", given | {"session": value})
    if not isinstance(value, str) or value not in NAMES:
        names = ", ".join(f'"{name}"' for name in NAMES)
        raise TopListError(
            f"{value!r} is no engine: give one of {names}, one of toplist.engines, a Dask client or a SparkSession."
        )
    return _engine(value, given)


def _engine(name: str, options: dict[str, Any]) -> Engine:
    kind = _class(name)
    _require_options(kind, options)
    return kind(**options)


def _class(name: str) -> type[Engine]:
    found: type[Engine] = getattr(import_module(f"toplist.engines.{name}"), NAMES[name])
    return found


def _require_options(kind: type[Engine], options: dict[str, Any]) -> None:
    """Refuse an option that the engine lacks, and say which engine has it."""
    own = {field.name for field in fields(kind) if field.init}
    for option in options:
        if option not in own:
            others = [name for name in NAMES if option in {field.name for field in fields(_class(name)) if field.init}]
            has = f"it is one of {others[0]!r}" if others else f"it has {', '.join(sorted(own))}"
            raise TopListError(f"the engine {kind.name!r} has no option {argument(option)}: {has}.")
