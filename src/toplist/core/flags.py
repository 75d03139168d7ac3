"""Properties of a list, one bit each; `core/native/list_view.hpp` holds the same numbers."""

from __future__ import annotations

from typing import Final

BELOW: Final = 1  # a listed confidence is below the proxy: the largest valid sublist is scored
INVALID: Final = 2  # ... by more than rounding explains: the penalty applies
NOT_FINITE: Final = 4
NEGATIVE: Final = 8
ABOVE_ONE: Final = 16
MASS: Final = 32  # the listed mass exceeds one, or disagrees with the rest mass that was given
NOT_FULL: Final = 64  # every class is listed and the confidences do not sum to one
TWICE: Final = 128
OUTSIDE: Final = 256
TOO_LONG: Final = 512
TINY_NEGATIVE: Final = 1024  # rounding below zero: set to zero
KNOWN_REST: Final = 2048  # the rest mass is known better than as one minus the listed mass

PROBLEMS: Final = NOT_FINITE | NEGATIVE | ABOVE_ONE | MASS | NOT_FULL | TWICE | OUTSIDE | TOO_LONG
