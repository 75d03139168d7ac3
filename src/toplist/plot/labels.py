"""Names and numbers as a figure writes them: names are data, shown and never obeyed, and no wider than their room."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

ROOM = 16.0  # of a name, in units of the font size: about 28 letters
_WORDS = 36.0  # of a name within a sentence
_LONG = 400
_NARROW = frozenset("iljtfrI.,:;'|!()[]{}/\\ ")
_BROAD = frozenset("mwMW@%—…")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def label(name: str, room: float = ROOM) -> str:
    r"""A name on one line, shortened in the middle; what cannot be seen is written as an escape.

    >>> label("a model with a very long and winding name"), label("one\ntwo\u202e"), label("")
    ('a model with…inding name', 'one\\ntwo\\u202e', '""')
    """
    quote = '"' if name != name.strip() or not name else ""
    # a name of ten thousand characters is not looked at as a whole
    parts = _visible(name if len(name) < _LONG else name[: _LONG // 2] + name[-_LONG // 2 :])
    if len(name) < _LONG and sum(map(width, parts)) <= room:
        return quote + "".join(parts) + quote
    half = (room - width("…")) / 2
    return quote + "".join(_leading(parts, half)) + "…" + "".join(_leading(parts[::-1], half)[::-1]) + quote


def labels(names: Iterable[str], room: float = ROOM) -> list[str]:
    """Names as `label` writes them; those that look alike once they are shortened are numbered.

    >>> labels(["a" * 40 + "b" + "c" * 40, "a" * 40 + "d" + "c" * 40, "e"], 8.0)
    ['aaaa…cccc (1)', 'aaaa…cccc (2)', 'e']
    """
    every = list(names)
    shown = [label(name, room) for name in every]
    alike = {
        text for text, found in Counter(text for _, text in {*zip(every, shown, strict=True)}).items() if found > 1
    }
    seen: dict[str, list[str]] = {}
    for i, (name, text) in enumerate(zip(every, shown, strict=True)):
        if text in alike:
            same = seen.setdefault(text, [])
            same += [] if name in same else [name]
            end = f" ({same.index(name) + 1})"
            shown[i] = label(name, room - width(end)) + end
    return shown


def rule_name(rule: str) -> str:
    """A rule as people write it in a sentence.

    >>> rule_name("brier"), rule_name("log")
    ('Brier', 'log')
    """
    return "Brier" if rule == "brier" else rule


def scored(rule: str) -> str:
    """A rule before the word score, no wider than a name."""
    return label(rule_name(rule))


def said(name: str) -> str:
    """A name within a sentence."""
    return label(name, _WORDS)


def width(text: str) -> float:
    """About how wide the text is in a sans serif, in units of the font size; rather too much than too little.

    >>> width("iii") < width("nnn") < width("日本語")
    True
    """
    return sum(map(_width, text))


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


def percent(level: float) -> str:
    """A level of confidence, or a share.

    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * level:.6g}%"


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


def counted(n: int, one: str, many: str = "") -> str:
    """A number of things.

    >>> counted(1, "case"), counted(1200, "case"), counted(0, "pair")
    ('1 case', '1,200 cases', 'no pairs')
    """
    return f"{n:,}" * bool(n) + "no" * (not n) + " " + (one if n == 1 else many or one + "s")


def listing(items: Sequence[str], limit: int = 20) -> str:
    """Items in a row, the last after an "and"; how many more there are beyond the limit.

    >>> listing(["a", "b", "c"]), listing(["a", "b", "c"], 2)
    ('a, b and c', 'a, b and 1 more')
    """
    shown = list(items[:limit])
    if len(items) > limit:
        shown.append(f"{len(items) - limit:,} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def _visible(text: str) -> list[str]:
    """The characters, as escapes if they cannot be seen, or are one accent too many to stay in their line."""
    parts, accents = [], 0
    for c in text:
        accents = accents + 1 if unicodedata.combining(c) else 0
        # not repr: it would double a backslash, which paths are full of
        parts.append(c if c.isprintable() and accents < 3 else c.encode("unicode_escape").decode("ascii"))
    return parts


def _width(character: str) -> float:
    if character in _NARROW:
        return 0.39
    if character in _BROAD:
        return 1.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.05
    return 0.75 if character.isupper() else 0.64


def _leading(parts: Sequence[str], room: float) -> list[str]:
    taken, used = [], 0.0
    for part in parts:
        used += width(part)
        if used > room:
            break
        taken.append(part)
    return taken
