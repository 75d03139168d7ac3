"""A single top list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from toplist import _html
from toplist._text import SHORTEST, label, probability
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import show_size
from toplist.lists.validation import SMALL

if TYPE_CHECKING:
    from toplist.lists.toplists import TopLists

_SHOWN = 5  # classes in a representation as text
_ROWS = 10  # classes in a table


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
    TopList(cat 0.7, dog 0.1; unlisted 0.2 over 8 classes)
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
        return self.confidences == other.confidences and self.size == other.size

    def __hash__(self) -> int:
        return hash((frozenset(self.confidences.items()), self.size))

    def __repr__(self) -> str:
        every = self._by_confidence()
        shown: list[str] = []
        for c, t in every[:_SHOWN]:
            shown.append(f"{_label(c, self.space)} {self._show(t)}")
            if t < SHORTEST <= every[0][1]:
                break
        more = f", … {len(every) - len(shown):,} more" if len(every) > len(shown) else ""
        return f"TopList({', '.join(shown) or 'empty'}{more}; unlisted {self._unlisted()}{self._over(' over ')})"

    def _repr_html_(self) -> str:
        rows = [
            (_html.name(_label(c, self.space, str)), _html.Html(_html.bar(t) + _html.safe(self._show(t))))
            for c, t in self._by_confidence()[:_ROWS]
        ]
        if len(self) > _ROWS:
            rest = sum(t for _, t in self._by_confidence()[_ROWS:])
            told = _html.Html(_html.bar(rest) + probability(rest))
            rows.append((_html.muted(f"and {len(self) - _ROWS:,} more"), told))
        unlisted = _html.Html(_html.bar(self.rest, rest=True) + _html.safe(self._unlisted()))
        rows.append((_html.muted(f"unlisted{self._over(': ')}"), unlisted))
        heads = (_html.TableHead("class", heading=True), _html.TableHead("probability"))
        return _html.fragment(_html.table(heads, rows))

    def in_cells(self, most: int) -> list[str]:
        """The most confident classes, each with a small bar, for so many cells of a table in a notebook."""
        found = self._by_confidence()[:most]
        named = [_html.name(_label(c, self.space, str), 24) for c, _ in found]
        bars = [(_html.bar(t, small=True), _html.muted(self._show(t))) for _, t in found]
        cells: list[str] = [_html.Html(f"{bar}{name} {t}") for (bar, t), name in zip(bars, named, strict=True)]
        return cells + [""] * (most - len(found))

    def _by_confidence(self) -> list[tuple[Any, float]]:
        """Classes with their confidences, the most confident first; ties keep their order."""
        return sorted(self.confidences.items(), key=lambda pair: -pair[1])

    def _unlisted(self) -> str:
        """The rest mass; by its logarithm where it is too small to be a number."""
        log_rest = self.batch.log_rest
        if log_rest is not None and self.size > len(self) and self.rest < SMALL and log_rest[0] > -np.inf:
            return f"e^{float(log_rest[0]):.6g}"
        return self._show(self.rest)

    def _show(self, x: float) -> str:
        """A probability, with digits where all are small."""
        small = 0 < max(self.confidences.values(), default=0.0) < SHORTEST
        return f"{x:.3g}" if small and x < SHORTEST else probability(x)

    def _over(self, before: str) -> str:
        left = self.size - len(self)
        return f"{before}{show_size(left)} class{'es' if left != 1 else ''}" if left else ""


def _label(c: Any, space: Any, show: Callable[[Any], str] = label) -> str:
    """A class; of a label set its labels in their own order."""
    if not isinstance(space, LabelSets) or not isinstance(c, frozenset):
        return show(c)
    held = [show(name) for name in space.names if name in c]
    more = f", … {len(held) - 10:,} more" if len(held) > 10 else ""
    return f"{{{', '.join(held[:10])}{more}}}"


def _hashable(label: Any) -> Any:
    return frozenset(label) if isinstance(label, set) else label
