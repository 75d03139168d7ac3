"""What callers pass, as what is meant; or an error that says what was expected."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import ShapeError, TopListError


def as_array(values: Any, what: str) -> NDArray[Any]:
    """Anything array-like, as it is."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ShapeError(f"{what} are masked in places.", "Leave masked entries out.")
    try:
        array = np.asarray(values)
    except ValueError:
        raise ShapeError(f"{what} are rows of different lengths.", "Ragged lists go through from_ragged.") from None
    except (TypeError, RuntimeError, AttributeError, OverflowError) as error:
        raise ShapeError(
            f"{what} cannot be made an array: {error}.", "Give a numpy array, or lists of numbers."
        ) from None
    if array.dtype == object and (array.ndim == 0 or any(isinstance(v, list | np.ndarray) for v in array.flat)):
        raise ShapeError(f"{what} must be an array, not {'nothing' if values is None else type(values).__name__}.")
    return array


def is_several(values: Any) -> bool:
    """Whether one can go through these: an array without dimensions says so of itself, and cannot."""
    return isinstance(values, Iterable) and getattr(values, "shape", None) != ()


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The same values, not to be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def as_floats(values: Any, what: str) -> NDArray[Any]:
    """Contiguous float32 or float64, without a copy where it is that already."""
    array = as_array(values, what)
    if array.dtype not in (np.float32, np.float64):
        if array.dtype.kind not in "biufO":
            raise ShapeError(f"{what} must be numbers, not {array.dtype}.")
        try:
            array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ShapeError(f"{what} must be numbers, not {array.dtype}.") from None
    return np.ascontiguousarray(array)


def as_vector(values: Any, what: str) -> NDArray[np.float64]:
    """One float64 per case."""
    array = as_floats(values, what).astype(np.float64, copy=False)
    if array.ndim != 1:
        raise ShapeError(f"{what} must be one number per case, not an array of shape {array.shape}.")
    return array


def as_sample_weight(values: Any, cases: int) -> NDArray[np.float64]:
    """How much each case counts: one each by default; finite, none below zero and not all zero.

    >>> as_sample_weight(None, 3)
    array([1., 1., 1.])
    """
    if values is None:
        return np.ones(cases)
    weight = as_vector(values, "sample weights")
    if len(weight) != cases:
        raise ShapeError(f"{len(weight):,} sample weights for {cases:,} cases.", "One per case.")
    wrong, remedy = ~(np.isfinite(weight) & (weight >= 0)), "Weights are finite, none below zero and not all zero."
    if wrong.any():
        case = int(np.argmax(wrong))
        raise ShapeError(f"the sample weight is {weight[case]}.", remedy, case=case, more=int(wrong.sum()) - 1)
    if cases and not weight.any():
        raise ShapeError("all sample weights are zero, so that no case counts.", remedy)
    return weight


def as_shares(sample_weight: Any, cases: int) -> NDArray[np.float64]:
    """The same for one case or more, as shares that add up to one, of weights however huge or tiny.

    >>> as_shares([5e307, 1.5e308], 2)
    array([0.25, 0.75])
    """
    weight = as_sample_weight(sample_weight, cases)
    weight = weight / weight.max()
    shares: NDArray[np.float64] = weight / weight.sum()
    return shares


def as_count(k: Any, what: str = "k") -> int:
    """A number of classes, zero or more."""
    number = isinstance(k, int | float | np.number) and not isinstance(k, bool | np.timedelta64)
    if not number or not 0 <= k < math.inf or k != int(k):
        raise TopListError(f"{what} is a number of classes, not {k!r}.")
    return int(k)


def as_whole(n: Any, what: str, least: int) -> int:
    """A whole number, at least so large.

    >>> as_whole(np.int64(3), "seed", 0)
    3
    """
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < least:
        raise TopListError(f"{what} is a whole number, at least {least}, not {n!r}.")
    return int(n)


def as_probability(p: Any, what: str) -> float:
    """A number between 0 and 1, and neither.

    >>> as_probability(0.95, "level")
    0.95
    """
    found = as_number(p, what, 0, 1)
    if not 0 < found < 1:
        raise TopListError(f"{what} is between 0 and 1, not {found}.")
    return found


def as_number(x: Any, what: str, low: float, high: float) -> float:
    """A number between two others."""
    if not isinstance(x, int | float | np.number) or isinstance(x, bool) or not low <= x <= high:
        bounds = (
            f"between {low:g} and {high:g}"
            if math.isfinite(high)
            else "zero or more"
            if low == 0
            else f"{low:g} or more"
        )
        raise TopListError(f"{what} is {bounds}, not {x!r}.")
    try:
        return float(x)
    except OverflowError:
        raise TopListError(f"{what} is too large for a number.") from None


def as_tuple(values: Any, what: str, error: type[TopListError]) -> tuple[Any, ...]:
    """Things that can be told apart: a tuple of hashable values."""
    if not is_several(values):
        raise error(f"{what} must be a sequence, not {values!r}.")
    made = tuple(values)
    try:
        set(made)
    except TypeError:
        raise error(f"{what} must be strings, numbers or tuples, which can be told apart.") from None
    return made


def as_units(clusters: Any, cases: int) -> NDArray[np.intp]:
    """The number of each case's cluster, from zero; without clusters every case is one of its own.

    >>> as_units(["b", "a", "b"], 3)
    array([1, 0, 1])
    """
    if clusters is None:
        return np.arange(cases)
    named = as_array(clusters, "clusters")
    if named.shape != (cases,):
        raise ShapeError(f"clusters of shape {named.shape} for {cases:,} cases.", "One per case.")
    unsaid = np.array([value is None or value != value for value in named.tolist()], dtype=bool)
    if unsaid.any():
        raise ShapeError(f"case {int(np.argmax(unsaid))} has no cluster.", "Give a case alone a cluster of its own.")
    named = named.astype(np.str_) if named.dtype == object else named
    _, units = np.unique(named, return_inverse=True)
    return units.astype(np.intp, copy=False)
