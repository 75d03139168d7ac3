"""Predictions: top lists over a space of classes, validated once.

In: predictions in memory in any form. Out: `TopLists` (a batch), `TopList` (one), `DeviceLists` (on a device), outcomes
as codes, data-quality issues. Imports `core` and the root modules.
"""

from toplist.lists.converters import as_lists
from toplist.lists.device import DeviceLists
from toplist.lists.theory import TrueLists, is_calibrated, is_true, is_valid, top_k, top_mass, true_lists
from toplist.lists.toplists import TopList, TopLists
from toplist.lists.toplists import from_logs as from_logs
from toplist.lists.toplists import log_rest as log_rest
from toplist.lists.toplists import require_lists as require_lists

__all__ = [
    "DeviceLists",
    "TopList",
    "TopLists",
    "TrueLists",
    "as_lists",
    "is_calibrated",
    "is_true",
    "is_valid",
    "top_k",
    "top_mass",
    "true_lists",
]
