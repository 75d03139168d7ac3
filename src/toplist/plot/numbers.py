"""Numbers as a figure writes them."""

from __future__ import annotations

import math

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(x: float, digits: int) -> str:
    """A number with so many decimals, and a minus that is one.

    >>> number(-0.1234, 2), number(-1e-9, 2), number(math.inf, 2), number(1234567.0, 0)
    ('\u22120.12', '0.00', 'inf', '1,234,567')
    """
    if not math.isfinite(x):
        return str(x).replace("-", "\u2212")
    if abs(x) >= 1e9 or (digits >= 9 and 0 < abs(x) < 1e-9):
        return f"{x:.3g}".replace("-", "\u2212")
    return f"{round(x, digits) + 0.0:,.{digits}f}".replace("-", "\u2212")


def signed(x: float, digits: int) -> str:
    """The same with a plus before what is above zero.

    >>> signed(0.5, 1), signed(-0.5, 1), signed(0.0, 1)
    ('+0.5', '\u22120.5', '0.0')
    """
    shown = number(x, digits)
    return "+" + shown if x > 0 and any(c in "123456789i" for c in shown) else shown


def power_of_ten(exponent: int) -> str:
    """A power of ten, the small ones written out.

    >>> power_of_ten(2), power_of_ten(-2), power_of_ten(20)
    ('100', '0.01', '10²⁰')
    """
    return f"{10.0**exponent:g}" if -3 <= exponent <= 3 else "10" + str(exponent).translate(_SUPERSCRIPTS)


def share(x: float) -> str:
    """A share in percent, which is 0 or 100 only if it is exactly that.

    >>> share(0.25), share(0.001), share(0.9999)
    ('25%', '<1%', '>99%')
    """
    if 0 < x < 0.01:
        return "<1%"
    if 0.99 < x < 1:
        return ">99%"
    return f"{100 * x:.0f}%" if math.isfinite(x) else "-"
