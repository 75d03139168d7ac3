"""Rectangular lists that stay where they are: arrays of torch, JAX, CuPy or any array-API library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from toplist import flags, rectangles
from toplist.errors import ShapeError, TopListError
from toplist.lists.complaints import bad_case, complain, first_bad
from toplist.lists.door import Repairs
from toplist.space import ClassSpace, as_space

Array = Any


def is_foreign(x: Any) -> bool:
    """Is this an array of another library than numpy?"""
    if isinstance(x, np.ndarray | list | tuple):
        return False
    return hasattr(x, "__array_namespace__") or type(x).__module__.partition(".")[0] == "torch"


def namespace(*arrays: Any) -> Any:
    """The array-API namespace that the arrays share."""
    import array_api_compat  # noqa: PLC0415 - only for arrays of other libraries

    return array_api_compat.array_namespace(*arrays)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DeviceLists:
    """Lists of one length k as (n, k) arrays on a device; made by `TopLists.from_topk` from such arrays.

    They are checked as all lists are, and scored by the same rules, without a copy to numpy.
    """

    space: ClassSpace
    classes: Array
    confidences: Array
    log_rest: Array | None
    slack: Array
    flags: Array
    xp: Any

    @classmethod
    def from_topk(
        cls, classes: Any, confidences: Any, space: Any, *, log_rest: Any = None, repairs: Repairs | None = None
    ) -> DeviceLists:
        """Check (n, k) arrays where they are."""
        xp = namespace(classes, confidences)
        space, repairs = as_space(space), repairs or Repairs()
        if confidences.ndim != 2 or classes.shape != confidences.shape:
            raise ShapeError(
                f"classes {tuple(classes.shape)} and confidences {tuple(confidences.shape)} must be two arrays of "
                "the same (cases, k) shape."
            )
        if not xp.isdtype(confidences.dtype, "real floating"):
            raise ShapeError(f"confidences must be floating-point numbers, not {confidences.dtype}.")
        if not xp.isdtype(classes.dtype, "integral"):
            raise ShapeError(f"classes must be integer codes, not {classes.dtype}.")
        if repairs != Repairs():
            raise TopListError("repair lists before they go to the device, or build them from numpy arrays.")
        made = cls(space, classes, confidences, log_rest, None, None, xp)
        size, log_size = made.sizes_on_device()
        single = confidences.dtype != xp.float64
        slack, found = rectangles.inspect(xp, classes, confidences, log_rest, size, log_size, single=single)
        if bool(xp.any((found & (flags.PROBLEMS | flags.TINY_NEGATIVE)) != 0)):
            made._complain(found)
        return cls(space, classes, confidences, log_rest, slack, found, xp)

    def sizes_on_device(self) -> tuple[Array, Array]:
        """The number of classes and its logarithm beside the confidences."""
        like = self.confidences
        size, log_size = (
            self.xp.asarray(values.tolist(), dtype=like.dtype, device=_device(like)) for values in self.space.as_floats
        )
        return size, log_size

    def _complain(self, found: Array) -> None:
        numbers = np.array([int(found[i]) for i in range(len(self))], dtype=np.int64)
        numbers[(numbers & flags.TINY_NEGATIVE) != 0] |= flags.NEGATIVE
        row, bit, more = first_bad(numbers)
        k = self.confidences.shape[1]
        classes = [int(self.classes[row, j]) for j in range(k)]
        values = [float(self.confidences[row, j]) for j in range(k)]
        log_rest = None if self.log_rest is None else float(self.log_rest[row])
        raise complain(bit, bad_case(row, more, self.space, classes, values, log_rest=log_rest))

    def __len__(self) -> int:
        return int(self.confidences.shape[0])

    def is_valid(self) -> Array:
        """Per case: is no listed confidence below the proxy (beyond the tolerance of the precision)?"""
        return (self.flags & flags.INVALID) == 0

    def __repr__(self) -> str:
        kind = self.xp.__name__.rpartition(".")[2]
        return f"DeviceLists({len(self):,} cases, k = {self.confidences.shape[1]}, {self.space!r}, {kind})"


def _device(array: Any) -> Any:
    import array_api_compat  # noqa: PLC0415

    return array_api_compat.device(array)
