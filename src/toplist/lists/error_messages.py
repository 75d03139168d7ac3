"""Errors about bad cases: the problem in the case's own numbers, and the remedy.

The remedies are also those of the data-quality issues in `toplist.lists.checks`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._text import argument, quote
from toplist.core import flags
from toplist.errors import CaseError, ClassError, ConfidenceError, MassError, ShapeError
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace, show_size

_ROUNDED = 1.0501  # a sum up to here may be a rounding of one, 1.05 in single precision included
SENTINEL = -9000.0  # no log-probability is this low; producers mark with -9999 what is not in their list

LEAVE_OUT = "Leave the class out of the list, or leave the case out on purpose: nothing is dropped silently."
PROBABILITIES = "Confidences are probabilities, from 0 to 1."
UNLISTED = "Leave such entries out of the list: what is not listed shares the rest mass."
IF_LOGS = "If these are log-probabilities, pass {logs}."
IF_PERCENT = "If these are percentages, pass {percent}."
IF_WEIGHTS = "If these are unnormalised weights, pass {normalize}."
IF_SUMMED = "If its confidences add up, pass {summed}."
DIVIDE = "pass {normalize} to divide by the sum."
IF_ROUNDED = f"If that is rounding, {DIVIDE}"
COMPLETE = f"A complete list is a distribution: correct it, or {DIVIDE}"
DECLARE = "Declare the right number of classes."
DECLARE_OR_MAP = "Declare the right number of classes, or map the labels first."
MARGINALS = (
    "Independent per-label scores (marginals) are not a distribution over classes: score label by label, or make "
    f"lists of label sets with toplist.multilabel.best_sets. {IF_WEIGHTS}"
)
LABEL_SETS = (
    "Zeros and ones that do not sum to one are label sets: they need a space of label sets, LabelSets([...]), "
    "in which each set is a class."
)

ARGUMENTS: dict[str, tuple[str, Any]] = {  # what the remedies ask for
    "logs": ("scale", "log"),
    "percent": ("scale", "percent"),
    "normalize": ("normalize", True),
    "summed": ("duplicates", "sum"),
    "dropped": ("blanks", "drop"),
}


def typed(remedy: str) -> str:
    """A remedy with its arguments as the reader types them."""
    return remedy.format_map({name: argument(*one) for name, one in ARGUMENTS.items()})


@dataclass(frozen=True, slots=True)
class BadCase:
    """The first bad case of a batch, and how many more there are like it."""

    row: int
    name: str
    classes: list[Any]
    confidences: NDArray[np.float64]
    size: Any
    rest: float | None  # the rest mass that the producer gave
    more: int

    def show(self, at: int) -> str:
        """A class, as the person who has the file open knows it."""
        return f"class {quote(self.classes[at])}"


def first_bad(found: NDArray[np.integer[Any]]) -> tuple[int, int, int]:
    """The first row with a problem, that problem's flag, and how many more rows have the same."""
    row = int(np.flatnonzero(found & flags.PROBLEMS)[0])
    bit = next(bit for bit in _COMPLAINTS if int(found[row]) & bit)
    return row, bit, int(np.count_nonzero(found & bit)) - 1


def complain(bit: int, bad: BadCase) -> CaseError:
    """The error for one kind of problem."""
    kind, describe = _COMPLAINTS[bit]
    problem, remedy = describe(bad)
    error = kind(problem, typed(remedy), case=bad.row, name=bad.name, more=bad.more)
    error.detail = (bit, bad)
    return error


def _not_finite(bad: BadCase) -> tuple[str, str]:
    at = int(np.flatnonzero(~np.isfinite(bad.confidences))[0])
    remedy = IF_LOGS if bad.confidences[at] == -np.inf else LEAVE_OUT
    return f"the confidence of {bad.show(at)} is {bad.confidences[at]}.", remedy


def _negative(bad: BadCase) -> tuple[str, str]:
    if (bad.confidences <= SENTINEL).any():
        at = int(np.argmin(bad.confidences))
        mark = "a producer's mark for 'not in my top list'"
        return f"the confidence of {bad.show(at)} is {bad.confidences[at]:g}, {mark}.", UNLISTED
    at = int(np.flatnonzero(bad.confidences < 0)[0])
    problem = f"the confidence of {bad.show(at)} is negative: {bad.confidences[at]:g}."
    return problem, IF_LOGS if (bad.confidences <= 0).all() else PROBABILITIES


def _above_one(bad: BadCase) -> tuple[str, str]:
    at = int(np.argmax(bad.confidences))
    problem = f"the confidence of {bad.show(at)} is {bad.confidences[at]:g}, which is above 1."
    if len(bad.confidences) == bad.size and (bad.confidences > 1).all() and 0.9 < (1 / bad.confidences).sum() < 1.4:
        return problem, "If these are decimal odds, give reciprocals that sum to 1; unnormalised weights: {normalize}."
    if bad.confidences.max() <= 100 and bad.confidences.sum() <= 150:
        return problem, "If these are percentages, pass {percent}; unnormalised weights: {normalize}."
    return problem, IF_WEIGHTS


def _outside(bad: BadCase) -> tuple[str, str]:
    codes = np.array([c if isinstance(c, int | np.integer) else 0 for c in bad.classes])
    outside = [i for i, c in enumerate(codes) if c < 0 or c >= bad.size]
    at = outside[0] if outside else 0
    if codes[at] < 0:
        return (
            f"{bad.show(at)} is not a class: codes start at 0.",
            "If negative codes pad short lists, leave them out and pass ragged lists (from_ragged, from_dicts).",
        )
    upto = f" (0 to {bad.size - 1})" if bad.size < 10**12 else ""
    return f"{bad.show(at)} is outside the space of {show_size(bad.size)} classes{upto}.", DECLARE_OR_MAP


def _twice(bad: BadCase) -> tuple[str, str]:
    seen: set[Any] = set()
    at = next(i for i, c in enumerate(bad.classes) if c in seen or seen.add(c))  # type: ignore[func-returns-value]
    counts, doubled = Counter(bad.classes), ""
    if len(counts) > 1 and min(counts.values()) > 1:
        doubled = "So is every class of this case: are the same predictions there twice, one after the other? "
    return f"{bad.show(at)} is listed twice.", doubled + IF_SUMMED


def _too_long(bad: BadCase) -> tuple[str, str]:
    return f"{len(bad.confidences)} classes are listed, but there are only {show_size(bad.size)}.", DECLARE


def _not_full(bad: BadCase) -> tuple[str, str]:
    mass = float(bad.confidences.sum())
    problem = f"all {bad.size} classes are listed, but the confidences sum to {_show(mass)}."
    if mass == 0:
        return problem, "There is nothing to divide by: leave the case out, or give an empty list, which is a reject."
    if np.isin(bad.confidences, (0, 1)).all():
        return problem, LABEL_SETS
    return problem, MARGINALS if mass > _ROUNDED or mass < 0.5 else COMPLETE


def _mass(bad: BadCase) -> tuple[str, str]:
    mass = float(bad.confidences.sum())
    if bad.rest is not None:
        return (
            f"the listed mass {mass:.6g} and the given rest mass {bad.rest:.6g} do not add up to 1.",
            "Correct log_rest, or leave it out: it is then one minus the listed mass.",
        )
    return f"the confidences sum to {_show(mass)}, which is above 1.", MARGINALS if mass > _ROUNDED else IF_ROUNDED


def _show(mass: float) -> str:
    """With as many digits as it takes to tell it from one."""
    return next((text for text in (f"{mass:.{digits}g}" for digits in (6, 9, 12)) if text != "1"), repr(mass))


# In the order in which they are looked for: what makes the other checks meaningless comes first.
_COMPLAINTS: dict[int, tuple[type[CaseError], Any]] = {
    flags.NOT_FINITE: (ConfidenceError, _not_finite),
    flags.NEGATIVE: (ConfidenceError, _negative),
    flags.ABOVE_ONE: (ConfidenceError, _above_one),
    flags.TWICE: (ClassError, _twice),  # what is there twice makes a list too long, not the other way round
    flags.TOO_LONG: (ClassError, _too_long),
    flags.OUTSIDE: (ClassError, _outside),
    flags.NOT_FULL: (MassError, _not_full),
    flags.MASS: (MassError, _mass),
}


def bad_case(
    row: int,
    more: int,
    space: ClassSpace,
    classes: Any,
    confidences: Any,
    *,
    ids: Any = None,
    log_rest: float | None = None,
) -> BadCase:
    """Gather what a complaint needs to know about one case."""
    size = space.size[row] if space.per_case else space.size
    named = [space.decode(int(c)) for c in classes]
    name = "" if ids is None else repr(ids[row].item() if hasattr(ids[row], "item") else ids[row])
    rest = None if log_rest is None else float(np.exp(min(log_rest, 700.0)))
    return BadCase(row, name, named, np.asarray(confidences, dtype=np.float64), size, rest, more)


_PER_LABEL = "Probabilities per label are marginals:"


def wrong_width(columns: int, space: ClassSpace, values: NDArray[Any] | None = None) -> ShapeError:
    """The error for a matrix that has not a column per class; `values` are its entries, or those that are not zero."""
    bits = values is not None and are_bits(values)
    if isinstance(space, LabelSets) and columns == len(space.names):
        problem = f"{columns} columns for {space!r}: one per label, not one for each of {show_size(space.size)} sets."
        if bits:
            remedy = "Label sets as zeros and ones are hard predictions: TopLists.from_labels."
        elif space.support is None:
            remedy = f"{_PER_LABEL} make lists of label sets with toplist.multilabel.best_sets(P, k, space)."
        else:
            remedy = f"{_PER_LABEL} score the sets of the support, and list them with toplist.multilabel.support_sets."
        return ShapeError(problem, remedy)
    remedy = "A distribution has one column per class; for lists of fewer classes use from_topk."
    if isinstance(space, LabelSets):
        remedy = "A distribution has a column for each label set; zeros and ones have one for each label."
    elif bits and values is not None and (values.sum(axis=-1) != 1).any():
        remedy = LABEL_SETS
    return ShapeError(f"{columns} columns for {space!r}.", remedy)


def are_bits(values: NDArray[Any]) -> bool:
    """Whether there is nothing but zeros and ones."""
    return values.dtype == np.bool_ or (values.dtype.kind in "iuf" and bool(((values == 0) | (values == 1)).all()))
