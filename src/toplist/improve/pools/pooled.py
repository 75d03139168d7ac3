"""Pooled numbers as lists: the most confident class first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toplist.errors import MassError
from toplist.improve.pools.compiled import pool_rows
from toplist.improve.pools.members import Members
from toplist.improve.pools.union import Union, logs_of
from toplist.kernel import Rows
from toplist.lists import TopLists, log_rest
from toplist.lists.admitted import Admitted
from toplist.lists.door import Repairs
from toplist.lists.sources import exponentiate, to_rows

Floats = NDArray[np.float64]


def from_kernel(members: Members, w: Floats, k: int | None, *, geometric: bool) -> TopLists:
    """Pooled by the compiled kernel. Pools of valid lists are valid, so nothing is left to check."""
    made = pool_rows(members, w, k, geometric=geometric)
    if made.vetoed is not None:
        raise vetoed(members, made.vetoed, made.vetoes)
    flags = np.zeros(members.cases, np.uint16)
    return TopLists(members.space, members.ids, Admitted(made.rows, made.slack, flags, {}))


def from_union(union: Union, t: Floats, log_rest: Floats, k: int | None, *, in_logs: bool) -> TopLists:
    """Pooled class by class: the confidences, or their logarithms, and the log of the rest mass."""
    members = union.members
    rows = to_rows(union.offsets, union.classes, t, members.space, log_rest)  # codes, also where labels are numbers
    pooled = TopLists._admit(exponentiate(rows) if in_logs else rows, members.space, members.ids, Repairs())
    ordered = pooled.as_distributions().ordered()  # not valid by a rounding error at most
    return ordered if k is None else ordered.truncate(k).as_distributions()


def together(parts: Sequence[TopLists], order: NDArray[np.intp], members: Members) -> TopLists:
    """Pools of different cases of the same members, one after the other and then brought into an order."""
    rows = [one.admitted.rows for one in parts]
    sizes = np.concatenate([one.sizes for one in parts])
    logs = None
    if any(one.log_confidences is not None for one in parts):
        logs = np.concatenate([logs_of(one) for one in parts])
    space = members.space.take(np.argsort(order))
    made = Rows(
        np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64))),
        np.concatenate([one.classes for one in parts]),
        np.concatenate([one.confidences for one in rows]),
        np.concatenate([log_rest(one) for one in parts]),
        *space.as_floats,
        logs,
    )
    slack = np.concatenate([one.admitted.slack for one in parts])
    whole = TopLists(space, None, Admitted(made, slack, np.zeros(len(sizes), np.uint16), {}))[order]
    return TopLists(members.space, members.ids, whole.admitted)


def vetoed(members: Members, case: int, cases: int) -> MassError:
    """The error that every class of a case is given zero by some member."""
    name = "" if members.ids is None else repr(members.ids[case : case + 1].tolist()[0])
    return MassError(
        "every class is given zero by some member, so that nothing is left of their product.",
        "Give each list some rest mass first (improve.RestFloor), pool linearly, or give weight zero to such a member.",
        case=case,
        name=name,
        more=cases - 1,
    )
