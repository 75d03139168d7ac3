"""Probabilistic top lists: one (`TopList`), many (`TopLists`), many on a device (`DeviceLists`)."""

from toplist.lists.converters import as_lists
from toplist.lists.device import DeviceLists
from toplist.lists.log_space import from_logs, log_rest
from toplist.lists.toplist import TopList
from toplist.lists.toplists import TopLists, require_lists

__all__ = ["DeviceLists", "TopList", "TopLists", "as_lists", "from_logs", "log_rest", "require_lists"]
