"""Lists on a device: rectangular arrays of torch, JAX, CuPy or any array-API library."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toplist.core import array_api, flags
from toplist.core.arguments import as_array
from toplist.errors import OutcomeError, ShapeError, TopListError
from toplist.lists.error_messages import bad_case, complain, first_bad
from toplist.lists.space import ClassSpace, as_space, show_size
from toplist.lists.validation import Repairs

Array = Any


def is_foreign(x: Any) -> bool:
    """Is this an array of another library than numpy?"""
    if isinstance(x, np.ndarray | list | tuple):
        return False
    return hasattr(x, "__array_namespace__") or type(x).__module__.partition(".")[0] in ("torch", "cupy")


def namespace(*arrays: Any) -> Any:
    """The array-API namespace that the arrays share."""
    import array_api_compat  # noqa: PLC0415 - only for arrays of other libraries

    try:
        return array_api_compat.array_namespace(*arrays)
    except TypeError:
        kinds = ", ".join(sorted({type(a).__module__.partition(".")[0] for a in arrays}))
        raise ShapeError(f"arrays of one library are needed, not of {kinds}.") from None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DeviceLists:
    """Lists of one length k as (n, k) arrays on a device; made by `TopLists.from_topk` from arrays of another library.

    They are checked as all lists are, and scored by the same rules, without a copy to numpy.

    Attributes
    ----------
    space : ClassSpace
        The classes.
    classes, confidences : array of shape (n, k)
        The listed classes and their confidences, on the device.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> import toplist as tl
    >>> lists = tl.TopLists.from_topk(xp.asarray([[3, 1]]), xp.asarray([[0.6, 0.3]]), 5)
    >>> round(float(tl.score(lists, xp.asarray([3]))[0]), 6)
    0.253333
    """

    space: ClassSpace
    ids: Any
    classes: Array
    confidences: Array
    log_rest: Array | None
    signed_rest: Array
    flags: Array
    xp: Any
    bits: int  # significant ones of the confidences as they were given

    @classmethod
    def from_topk(
        cls, classes: Any, confidences: Any, space: Any, *, log_rest: Any = None, ids: Any = None, repairs: Repairs
    ) -> DeviceLists:
        """Check (n, k) arrays where they are."""
        if repairs != Repairs():
            raise TopListError("repair lists before they go to the device, or build them from numpy arrays.")
        xp, space = namespace(classes, confidences, *([] if log_rest is None else [log_rest])), as_space(space)
        if confidences.ndim != 2 or tuple(classes.shape) != tuple(confidences.shape):
            raise ShapeError(
                f"classes {tuple(classes.shape)} and confidences {tuple(confidences.shape)} must be two arrays of "
                "the same (cases, k) shape."
            )
        if not xp.isdtype(confidences.dtype, "real floating"):
            raise ShapeError(f"confidences must be floating-point numbers, not {confidences.dtype}.")
        if not xp.isdtype(classes.dtype, "integral"):
            raise ShapeError(f"classes must be integer codes, not {classes.dtype}.")
        cases = int(confidences.shape[0])
        names = None if ids is None else as_array(ids, "ids")
        sizes = space.size if space.per_case else None
        for name, values in (("sizes", sizes), ("log_rest", log_rest), ("ids", names)):
            if values is not None and tuple(values.shape) != (cases,):
                raise ShapeError(f"{values.shape[0]} {name} for {cases} cases.", "One per case.")
        if classes.dtype == xp.uint64:
            classes = xp.astype(classes, xp.int64)
        bits = round(1 - math.log2(float(xp.finfo(confidences.dtype).eps)))
        if bits < 24:  # arithmetic is in single precision, as it is for numpy's half floats
            confidences = xp.astype(confidences, xp.float32)
        return cls(space, names, classes, confidences, log_rest, None, None, xp, bits)._checked()

    def _checked(self) -> DeviceLists:
        xp, t = self.xp, self.confidences
        size, log_size = self.sizes_on_device()
        signed_rest, found = array_api.inspect(
            xp, self.classes, t, self.log_rest, size, log_size, bits=self.bits, limit=self.limit()
        )
        if bool(xp.any((found & flags.PROBLEMS) != 0)):
            self._complain(found)
        if bool(xp.any((found & flags.TINY_NEGATIVE) != 0)):
            return replace(self, confidences=xp.where(t < 0, xp.zeros_like(t), t))._checked()
        return replace(self, signed_rest=signed_rest, flags=found)

    def sizes_on_device(self) -> tuple[Array, Array]:
        """The number of classes and its logarithm beside the confidences."""
        size, log_size = (self.beside(values.tolist(), self.confidences.dtype) for values in self.space.as_floats)
        return size, log_size

    def limit(self) -> Array:
        """The number of classes as integers, as far as these go."""
        kind = _integers(self.xp)
        most = self.xp.iinfo(kind).max
        return self.beside([int(min(size, most)) for size in self.space.as_floats[0].tolist()], kind)

    def beside(self, values: Any, dtype: Any) -> Array:
        """Numbers as an array on the same device."""
        import array_api_compat  # noqa: PLC0415

        return self.xp.asarray(values, dtype=dtype, device=array_api_compat.device(self.confidences))

    def codes(self, y: Any) -> Array:
        """Outcomes as codes beside the lists, checked."""
        xp = self.xp
        if (
            not is_foreign(y)
            or namespace(self.confidences, y) is not xp
            or not xp.isdtype(y.dtype, ("integral", "bool"))
        ):
            raise ShapeError("outcomes for lists on a device are integer codes, in an array of the same library.")
        if tuple(y.shape) != (len(self),):
            raise ShapeError(f"outcomes for lists on a device are one array of {len(self)} codes beside them.")
        codes = xp.astype(y, _integers(xp))
        outside = (codes < 0) | (codes >= self.limit())
        if bool(xp.any(outside)):
            row = int(xp.argmax(xp.astype(outside, xp.int32)))
            size = show_size(self.space.size[row] if self.space.per_case else self.space.size)
            raise OutcomeError(
                f"the outcome {int(y[row])} is outside the space of {size} classes.",
                "Declare the right number of classes; codes start at 0.",
                case=row,
                more=int(xp.sum(xp.astype(outside, xp.int32))) - 1,
            )
        return codes

    def _complain(self, found: Array) -> None:
        numbers = np.array([int(found[i]) for i in range(len(self))], dtype=np.int64)
        row, bit, more = first_bad(numbers)
        k = self.confidences.shape[1]
        classes = [int(self.classes[row, j]) for j in range(k)]
        values = [float(self.confidences[row, j]) for j in range(k)]
        log_rest = None if self.log_rest is None else float(self.log_rest[row])
        raise complain(bit, bad_case(row, more, self.space, classes, values, ids=self.ids, log_rest=log_rest))

    def __len__(self) -> int:
        return int(self.confidences.shape[0])

    def is_valid(self) -> Array:
        """Per case: is no listed confidence below the proxy by more than rounding explains?"""
        return (self.flags & flags.INVALID) == 0

    def __repr__(self) -> str:
        library = type(self.confidences).__module__.partition(".")[0].replace("jaxlib", "jax")
        return f"DeviceLists({len(self):,} cases, k = {self.confidences.shape[1]}, {self.space!r}, {library})"


def _integers(xp: Any) -> Any:
    """The widest integers that a library has switched on."""
    return xp.__array_namespace_info__().default_dtypes()["integral"]
