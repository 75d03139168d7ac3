"""Probabilistic top lists: one (`TopList`), many (`TopLists`), many on a device (`DeviceLists`)."""

from toplist.lists.anything import as_lists
from toplist.lists.batch import TopLists, require_lists
from toplist.lists.device import DeviceLists
from toplist.lists.logs import from_logs, log_rest
from toplist.lists.one import TopList

__all__ = ["DeviceLists", "TopList", "TopLists", "as_lists", "from_logs", "log_rest", "require_lists"]
