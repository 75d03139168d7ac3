"""Numbers as text, in tables, sentences and figures: as many digits as the interval supports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from toplist._text import NOTHING, fixed
from toplist.inference.results import Estimate

FEWEST, MOST, USUAL = 3, 6, 4
_LARGE = 1e6  # from here on powers of ten
_LITTLE = 1e-9  # of the value, and a thousandth of that of the scale of scores: what rounding leaves


def rate(x: float | None) -> str:
    """A share with three decimals, which is 0 or 1 only if it is exactly that.

    >>> rate(0.25), rate(0.0), rate(1e-5), rate(0.9999)
    ('0.250', '0.000', '<0.001', '>0.999')
    """
    if x is not None and 0 < x < 0.0005:
        return "<0.001"
    if x is not None and 0.9995 <= x < 1:
        return ">0.999"
    return fixed(x, 3)


def small(p: float | None) -> str:
    """A p value with three decimals, a dash where there is none.

    >>> small(0.0413), small(0.00001), small(None)
    ('0.041', '<0.001', '\u2013')
    """
    if p is None:
        return NOTHING
    return "<0.001" if p < 0.0005 else f"{p:.3f}"


def share(x: float | None) -> str:
    """A share in per cent, which is 0 or 100 only if it is exactly that.

    >>> share(0.85), share(0.0), share(1e-5), share(0.99999), share(None)
    ('85.0%', '0.0%', '<0.1%', '>99.9%', '\u2013')
    """
    if x is None or math.isnan(x):
        return NOTHING
    if 0 < x < 0.0005:
        return "<0.1%"
    if 0.9995 <= x < 1:
        return ">99.9%"
    return f"{100 * x:.1f}%"


def infinite(cases: int) -> str:
    """An infinite mean, with how many cases made it so.

    >>> infinite(44), infinite(1)
    ('\u221e (44 cases)', '\u221e (1 case)')
    """
    return f"\u221e ({cases:,} case{'' if cases == 1 else 's'})"


def decimals(estimates: Iterable[Estimate | None]) -> int:
    """How many decimals show two digits of the narrowest half width, within reason.

    >>> decimals([Estimate(0.3142, 0.3121, 0.3163)]), decimals([Estimate(12.0, 11.0, 13.0)])
    (4, 3)
    """
    known = [e for e in estimates if e is not None]
    pairs = [(e.value, (e.high - e.low) / 2) for e in known if e.low is not None and e.high is not None]
    halves = [h for x, h in pairs if _LITTLE * (abs(x) + 1e-3) < h < math.inf]  # what does not vary asks for no digits
    wanted = 1 - int(f"{min(halves):.1e}".partition("e")[2]) if halves else USUAL
    largest = max((abs(e.value) for e in known if math.isfinite(e.value)), default=0.0)
    affordable = MOST + 1 - len(str(int(min(largest, _LARGE))))
    return max(FEWEST, min(wanted, affordable, MOST))


def value_of(estimate: Estimate | None) -> float | None:
    """The value alone, where there is one."""
    return None if estimate is None else estimate.value


def spans(estimates: Sequence[Estimate | None], *, signed: bool = False, marked: Sequence[bool] = ()) -> list[str]:
    """A column of values with their intervals, and a star behind those that are marked.

    >>> spans([Estimate(0.3142, 0.3121, 0.3163), Estimate(float("inf"))])
    ['0.3142 [0.3121, 0.3163]', '     ∞']
    >>> spans([None, Estimate(0.012, 0.01, 0.014)], signed=True, marked=[False, True])
    ['\u2013', '+0.0120 [+0.0100, +0.0140]*']
    """
    digits = decimals(estimates)
    values = [None if e is None else fixed(e.value, digits, signed=signed) for e in estimates]
    width = max((len(v) for v in values if v is not None), default=0)
    stars = ["*" if star else "" for star in marked] or [""] * len(values)
    return [
        NOTHING if e is None or v is None else v.rjust(width) + _interval(e, digits, signed) + star
        for e, v, star in zip(estimates, values, stars, strict=True)
    ]


def _interval(estimate: Estimate, digits: int, signed: bool) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = (fixed(x, digits, signed=signed) for x in (estimate.low, estimate.high))
    return f" [{low}, {high}]"


def whole_range(low: int, high: int) -> str:
    """Two whole numbers, from one to the other.

    >>> whole_range(1, 3), whole_range(2, 2)
    ('1\u20133', '2')
    """
    return f"{low:,}" if low == high else f"{low:,}\u2013{high:,}"


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_ten(exponent: int) -> str:
    """A power of ten, the small ones written out.

    >>> power_of_ten(2), power_of_ten(-2), power_of_ten(20)
    ('100', '0.01', '10²⁰')
    """
    return f"{10.0**exponent:g}" if -3 <= exponent <= 3 else "10" + str(exponent).translate(_SUPERSCRIPTS)
