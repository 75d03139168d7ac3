"""Types of arrays, callbacks and options that many modules share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
else:  # only annotations use them, and the help of the command does not wait for numpy
    Floats = Codes = Ints = Bools = Any
Scale = Literal["probability", "percent", "log"]
Duplicates = Literal["error", "sum"]
Blanks = Literal["error", "drop"]
Progress = Callable[[str, int, int | None], None]
"""Called with a source's name, the rows read so far, and the number of rows where it is known."""
