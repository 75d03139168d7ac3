"""CuPy: lists and scores straight from logits, by the kernels of `toplist.integrations.torch`, without a copy.

Arrays go to torch and back through DLPack, which shares their memory and orders their streams. In: arrays of logits and
of outcomes, of CuPy or of another library with `from_dlpack`. Out: arrays of that library, on the same device. Needs
torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toplist._files import load
from toplist.errors import ShapeError
from toplist.integrations._logits import LogitLists, LogitScores
from toplist.lists.device import namespace

__all__ = ["lists_from_logits", "scores_from_logits"]

Array = Any


def lists_from_logits(logits: Array, k: int, *, temperature: float = 1.0) -> LogitLists:
    """The k most likely classes of each row of logits, their log probabilities, and the log of what is left over.

    Parameters
    ----------
    logits : array of shape (..., classes)
        Unnormalised log probabilities, in any float type.
    k, temperature
        As for `toplist.integrations.torch.lists_from_logits`.

    Returns
    -------
    LogitLists
        Classes, log confidences and the log of the rest mass.

    Examples
    --------
    >>> import cupy  # doctest: +SKIP
    >>> lists_from_logits(cupy.array([[2.0, 0.0, 1.0]]), 2).classes  # doctest: +SKIP
    array([[0, 2]])
    """
    found = _functions().lists_from_logits(_as_tensor(logits, "logits"), k, temperature=temperature)
    return LogitLists(*(namespace(logits).from_dlpack(part) for part in found))


def scores_from_logits(
    logits: Array,
    y: Array,
    ks: Sequence[int] = (1, 5, 20),
    rules: Any = ("brier", "log"),
    *,
    temperature: float = 1.0,
    ignore_index: int = -100,
) -> LogitScores:
    """Padded scores of the lists of each length and of the full distributions at the outcomes, and their ranks.

    Parameters
    ----------
    logits : array of shape (..., classes)
        Unnormalised log probabilities, in any float type.
    y : array of shape (...)
        Class indices of the outcomes, on the device of the logits.
    ks, rules, temperature, ignore_index
        As for `toplist.integrations.torch.scores_from_logits`.

    Returns
    -------
    LogitScores
        Lists of the largest length, ranks, log probabilities and scores.

    Examples
    --------
    >>> import cupy  # doctest: +SKIP
    >>> scores_from_logits(cupy.array([[2.0, 0.0, 1.0]]), cupy.array([2]), ks=(1, 2)).rank  # doctest: +SKIP
    array([2])
    """
    found = _functions().scores_from_logits(
        _as_tensor(logits, "logits"), _as_tensor(y, "y"), ks, rules, temperature=temperature, ignore_index=ignore_index
    )
    back = namespace(logits).from_dlpack
    return LogitScores(
        LogitLists(*map(back, found.lists)),
        back(found.rank),
        back(found.log_prob),
        {name: back(one) for name, one in found.padded.items()},
        {name: back(one) for name, one in found.full.items()},
        found.ks,
        found.temperature,
    )


def _functions() -> Any:
    return load("toplist.integrations.torch", "CuPy arrays are scored by torch: pip install torch.")


def _as_tensor(array: Any, what: str) -> Any:
    """The same memory as a tensor of torch."""
    if not hasattr(array, "__dlpack__"):
        raise ShapeError(f"{what} is an array of CuPy, not {type(array).__name__}.")
    torch = load("torch", "CuPy arrays are scored by torch: pip install torch.")
    return torch.from_dlpack(array)
