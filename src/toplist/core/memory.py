"""Memory of processes that work on one batch after the other."""

from __future__ import annotations

import ctypes
import sys

_TRIM, _PAD, _MMAP = -1, -2, -3  # the names of glibc's malloc.h
_KEEP = 1 << 30


def keep_freed_memory() -> None:
    """Batches of one size come one after the other: freed memory is kept for the next instead of given back.

    Otherwise a fifth of the time of a long comparison goes into page faults. Only glibc needs to be told.
    """
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    for option, value in ((_TRIM, _KEEP), (_PAD, 1 << 26), (_MMAP, _KEEP)):
        mallopt(option, value)
