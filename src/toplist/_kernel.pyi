"""The compiled kernels. Every array is C-contiguous; outputs are filled in place."""

from typing import Any

from numpy.typing import NDArray

EXACT_BYTES: int

def inspect(
    offsets: NDArray[Any],
    classes: NDArray[Any] | None,
    confidences: NDArray[Any],
    log_rest: NDArray[Any] | None,
    size: NDArray[Any],
    log_size: NDArray[Any],
    slack: NDArray[Any],
    flags: NDArray[Any],
) -> int: ...
def reduce(
    kind: int,
    exponent: float,
    offsets: NDArray[Any],
    classes: NDArray[Any] | None,
    confidences: NDArray[Any],
    log_rest: NDArray[Any] | None,
    size: NDArray[Any],
    log_size: NDArray[Any],
    slack: NDArray[Any],
    flags: NDArray[Any],
    outcomes: NDArray[Any] | None,
    out: NDArray[Any],
    hit: NDArray[Any],
) -> None: ...
def select(p: NDArray[Any], classes: NDArray[Any], confidences: NDArray[Any], tail: NDArray[Any]) -> None: ...
def best_sets(
    p: NDArray[Any],
    keys: NDArray[Any],
    logit: bool,
    empty: bool,
    counts: NDArray[Any],
    codes: NDArray[Any],
    log_p: NDArray[Any],
    log_rest: NDArray[Any],
    bits: NDArray[Any] | None,
    flip_counts: NDArray[Any] | None,
    flips: NDArray[Any] | None,
) -> tuple[int, int, int]: ...
def places(
    offsets: NDArray[Any],
    classes: NDArray[Any] | None,
    confidences: NDArray[Any],
    outcomes: NDArray[Any],
    above: NDArray[Any],
    equal: NDArray[Any],
) -> None: ...
def pool(
    geometric: bool,
    members: list[tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any], NDArray[Any], NDArray[Any] | None]],
    weights: NDArray[Any],
    size: NDArray[Any],
    log_size: NDArray[Any],
    most: int,
    classes: NDArray[Any],
    confidences: NDArray[Any],
    logs: NDArray[Any] | None,
    counts: NDArray[Any],
    slack: NDArray[Any],
    log_rest: NDArray[Any],
) -> tuple[int, bool, int, int]: ...
def accumulate(
    columns: NDArray[Any],
    left: NDArray[Any],
    right: NDArray[Any],
    codes: NDArray[Any] | None,
    out: NDArray[Any],
) -> None: ...
