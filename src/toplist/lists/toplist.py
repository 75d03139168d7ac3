"""A single top list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from toplist.lists.labelsets import LabelSets
from toplist.lists.space import show_size
from toplist.lists.validation import SMALL

if TYPE_CHECKING:
    from toplist.lists.toplists import TopLists


@dataclass(frozen=True, slots=True, eq=False)
class TopList:
    """A probabilistic top-k list: k classes, each with a confidence.

    Two lists are equal if they name the same classes with the same confidences, in whatever order.

    Parameters
    ----------
    confidences : mapping
        Class to confidence.
    space : ClassSpace, int or sequence of labels
        The classes: how many, or their labels.

    References
    ----------
    .. [1] J. Resin, "From Classification Accuracy to Proper Scoring Rules", section 3.

    Examples
    --------
    >>> t = TopList({"cat": 0.7, "dog": 0.1}, 10)
    >>> t
    TopList({'cat': 0.7, 'dog': 0.1}, rest=0.2 over 8 classes)
    >>> round(t.proxy, 6), t.is_valid()
    (0.025, True)
    """

    confidences: dict[Any, float]
    space: Any
    batch: TopLists = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from toplist.lists.toplists import TopLists  # noqa: PLC0415 - a list is a batch of one, and a batch is of lists

        batch = TopLists.from_dicts([self.confidences], self.space)
        object.__setattr__(self, "batch", batch)
        object.__setattr__(self, "space", batch.space)
        sets = isinstance(batch.space, LabelSets)
        listed = {frozenset(c) if sets else c: float(t) for c, t in self.confidences.items()}
        object.__setattr__(self, "confidences", listed)

    @classmethod
    def of(cls, batch: TopLists) -> TopList:
        """The only list of a batch of one."""
        made = object.__new__(cls)
        space = batch.space
        values = batch.normalized_confidences
        named = {_hashable(space.decode(int(c))): float(t) for c, t in zip(batch.classes, values, strict=True)}
        object.__setattr__(made, "confidences", named)
        object.__setattr__(made, "space", space)
        object.__setattr__(made, "batch", batch)
        return made

    def __len__(self) -> int:
        return len(self.confidences)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The listed classes, in the order given."""
        return tuple(self.confidences)

    @property
    def size(self) -> Any:
        """The number of classes there are."""
        return self.space.size[0] if self.space.per_case else self.space.size

    @property
    def mass(self) -> float:
        """The listed mass."""
        return float(self.batch.mass[0])

    @property
    def rest(self) -> float:
        """The mass that is not listed."""
        return float(self.batch.rest[0])

    @property
    def proxy(self) -> float:
        """The share of the rest mass that each unlisted class gets; 0 if every class is listed."""
        return float(self.batch.proxy[0])

    def padded(self) -> NDArray[np.float64]:
        """The padded distribution over all classes."""
        row: NDArray[np.float64] = self.batch.padded()[0]
        return row

    def is_valid(self) -> bool:
        """Whether some distribution has this as a true list, up to rounding."""
        return bool(self.batch.is_valid()[0])

    def valid(self) -> TopList:
        """The largest valid sublist."""
        return TopList.of(self.batch.valid())

    def repair(self) -> TopList:
        """The valid list on the same classes that has the largest valid sublist's padded distribution."""
        return TopList.of(self.batch.repair())

    def truncate(self, k: int | None = None, *, mass: float | None = None) -> TopList:
        """The k most confident classes, or as many as it takes to reach `mass`."""
        return TopList.of(self.batch.truncate(k, mass=mass))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopList):
            return NotImplemented
        alike = self.confidences == other.confidences and self._small_logs() == other._small_logs()
        return alike and self.size == other.size

    def __hash__(self) -> int:
        return hash((frozenset(self.confidences.items()), self.size))

    def __repr__(self) -> str:
        small, left, log_rest = self._small_logs(), self.size - len(self), self.batch.log_rest
        first = list(self.confidences.items())[:10]
        shown = ", ".join(f"{_name(c, self.space)}: {_show(t, small.get(c))}" for c, t in first)
        more = f", ... {len(self) - 10} more" if len(self) > 10 else ""
        known = float(log_rest[0]) if log_rest is not None and left and self.rest < SMALL else None
        over = f" over {show_size(left)} class{'es' if left != 1 else ''}" if left else ""
        return f"TopList({{{shown}{more}}}, rest={_show(self.rest, known)}{over})"

    def _small_logs(self) -> dict[Any, float]:
        """The logarithms of the confidences that are too small to be numbers."""
        logs = self.batch.checked.small_logs
        return {} if logs is None else {c: x for c, x in zip(self.classes, logs.tolist(), strict=True) if x < 0}


def _name(c: Any, space: Any) -> str:
    """A class; of a label set its labels in their own order."""
    if not isinstance(space, LabelSets) or not isinstance(c, frozenset):
        return repr(c)
    held = [repr(name) for name in space.names if name in c]
    more = f", ... {len(held) - 10:,} more" if len(held) > 10 else ""
    return f"{{{', '.join(held[:10])}{more}}}"


def _hashable(label: Any) -> Any:
    return frozenset(label) if isinstance(label, set) else label


def _show(x: float, log: float | None) -> str:
    """A mass; by its logarithm where it is too small to be a number."""
    return f"{x:.6g}" if log is None or log == -np.inf else f"e^{log:.6g}"
