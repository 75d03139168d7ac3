"""Score probabilistic predictions over classes: labels, top lists and distributions on one scale, with error bars.

The public names are listed in `__init__.pyi` and loaded when they are first used.
"""

from toplist._lazy import attach

_get, __dir__, __all__ = attach(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("toplist")
    return _get(name)
