"""Lists of label sets on disk, so that what took minutes to learn is learnt once."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import toplist as tl
from toplist.lists.labelsets import Sets
from toplist.multilabel.sets import lists_of_sets


def keep(lists: tl.TopLists, path: Path) -> None:
    """Write lists, their sets as the places of their labels."""
    space = lists.space
    if not isinstance(space, tl.LabelSets):
        raise tl.SpaceError("these are not lists of label sets.")
    sets = space.sets_of(lists.classes)
    with np.errstate(divide="ignore"):
        log_rest, log_p = np.log(lists.rest), np.log(lists.normalized_confidences)
    if lists.log_rest is not None:
        log_rest = lists.log_rest
    np.savez_compressed(
        path,
        offsets=lists.offsets,
        set_offsets=sets.offsets,
        set_labels=sets.labels,
        log_p=log_p,
        log_rest=log_rest,
    )


def kept(path: Path, space: tl.LabelSets) -> tl.TopLists:
    """Read them again."""
    with np.load(path) as file:
        sets = Sets(file["set_offsets"], file["set_labels"], len(space.names))
        return lists_of_sets(space, file["offsets"], sets, file["log_p"], log_rest=file["log_rest"])
