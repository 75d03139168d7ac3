"""Text and numbers as people read them, in terminals, pages and figures: counts, digits, series, names, sentences.

Names are data: characters that would move a cursor, reverse a line or be invisible are escaped, and text of a file is
kept apart from text of the package.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Literal, TypeVar

from toplist._text import NOTHING, fixed, shown, visible

if TYPE_CHECKING:
    from toplist.inference.results import Estimate

T = TypeVar("T")
FEWEST_DECIMALS, MOST_DECIMALS, _USUAL_DECIMALS = 3, 6, 4
_LARGE = 1e6  # from here on powers of ten
_LITTLE = 1e-9  # of the value, and a thousandth of that of the scale of scores: what rounding leaves
LIMIT = 60  # characters of a name
SHORT = 36  # characters of a name in a table or a sentence
FEW = 6  # items in a sentence, before the others are counted
LONG = 24  # characters of a name, beyond which what all names share is elided
_TOLD = 3  # characters that are left of it at least, where there are so many
_DIGEST = 6  # characters that tell names apart which would otherwise look alike
_HINT = 300  # characters of a name that is shown when a pointer rests on it
_BREAKS = "-_./ "  # between the words of a name
_WORD = re.compile(r"[^-_./ ]+[-_./ ]*|[-_./ ]+")
_SPELLED = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_RULES = frozenset({"brier", "log", "spherical", "zero-one"})


def cells(text: str) -> int:
    r"""How many cells of a terminal the text takes.

    >>> cells("abc"), cells("日本"), cells("e\u0301")
    (3, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_cell, text))


def pad(text: str, width: int, align: str = "left") -> str:
    """The text in a field of so many cells.

    >>> pad("日本", 6, "right")
    '  日本'
    """
    blanks = " " * (width - cells(text))
    return blanks + text if align == "right" else text + blanks


def shorten(parts: Sequence[str], limit: float, size: Callable[[str], float] = cells, mark: str = "…") -> str:
    """The parts in a row, those in the middle left out where they would take more room than the limit.

    >>> shorten("a long name, version 2", 12)
    'a lon…sion 2'
    """
    if sum(map(size, parts)) <= limit:
        return "".join(parts)
    room = limit - size(mark)
    head = _leading(parts, room / 2, size)
    tail = _leading(parts[::-1], room - sum(map(size, head)), size)
    return "".join(head) + mark + "".join(tail[::-1])


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most so many cells; a word that is longer than a line is broken.

    >>> wrap("the quick brown fox", 10)
    ['the quick', 'brown fox']
    """
    lines = [""]
    for word in text.split():
        rest = word
        if lines[-1] and cells(lines[-1]) + 1 + cells(rest) <= width:
            lines[-1] += " " + rest
            continue
        while rest:
            piece = "".join(_leading(rest, max(width, 2), cells))
            lines.append(piece)
            rest = rest[len(piece) :]
    return lines[1:]


def _cell(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _leading(parts: Iterable[str], limit: float, size: Callable[[str], float]) -> list[str]:
    """As many parts from the start as there is room for."""
    taken, used = [], 0.0
    for part in parts:
        used += size(part)
        if used > limit:
            break
        taken.append(part)
    return taken


def count(n: int) -> str:
    """A count with commas.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{n:,}"


def number_of(n: int, one: str, many: str = "") -> str:
    """So many things.

    >>> number_of(1, "case"), number_of(1200, "case"), number_of(0, "pair")
    ('1 case', '1,200 cases', 'no pairs')
    """
    return f"{count(n) if n else 'no'} {noun(n, one, many)}"


def spelled(n: int) -> str:
    """A count in a sentence, up to twelve in words.

    >>> spelled(9), spelled(13)
    ('nine', '13')
    """
    return _SPELLED[n] if n < len(_SPELLED) else count(n)


def noun(n: int, one: str, many: str = "") -> str:
    """What so many things are called.

    >>> noun(1, "case"), noun(2, "case"), noun(2, "is", "are")
    ('case', 'cases', 'are')
    """
    return one if n == 1 else many or f"{one}s"


def percent(level: float) -> str:
    """A level of confidence, or a share.

    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * level:.6g}%"


# Digits: as many as the interval supports


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

    >>> from toplist.inference.results import Estimate
    >>> decimals([Estimate(0.3142, 0.3121, 0.3163)]), decimals([Estimate(12.0, 11.0, 13.0)])
    (4, 3)
    """
    known = [e for e in estimates if e is not None]
    pairs = [(e.value, (e.high - e.low) / 2) for e in known if e.low is not None and e.high is not None]
    halves = [h for x, h in pairs if _LITTLE * (abs(x) + 1e-3) < h < math.inf]  # what does not vary asks for no digits
    wanted = 1 - int(f"{min(halves):.1e}".partition("e")[2]) if halves else _USUAL_DECIMALS
    largest = max((abs(e.value) for e in known if math.isfinite(e.value)), default=0.0)
    affordable = MOST_DECIMALS + 1 - len(str(int(min(largest, _LARGE))))
    return max(FEWEST_DECIMALS, min(wanted, affordable, MOST_DECIMALS))


def round_numbers(low: float, high: float, most: int, *, least: int = 1) -> tuple[tuple[float, ...], int]:
    """About so many round numbers in a range, in steps of 1, 2 or 5 times a power of ten, and their decimals.

    >>> round_numbers(0.103, 0.19, 5)
    ((0.12, 0.14, 0.16, 0.18), 2)
    """
    x = (high - low) / most
    e = exponent(x)
    m, e = next(((m, e) for m in (1, 2, 5) if float(f"{m}e{e}") >= x * (1 - 1e-9)), (1, e + 1))
    step = float(f"{m}e{e}")
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if last - first + 1 < least:
        return round_numbers(low, high, 2 * most, least=least)
    return tuple(float(f"{i * m}e{e}") for i in range(first, last + 1)), max(0, -e)  # 3 * 0.1 is not 0.3


def exponent(x: float) -> int:
    """The power of ten of the first digit."""
    return int(f"{x:e}".partition("e")[2])


def in_digits_of(estimate: Estimate, x: float | None, *, signed: bool = False) -> str:
    """A number with as many decimals as an estimate supports.

    >>> from toplist.inference.results import Estimate
    >>> in_digits_of(Estimate(-0.3142, -0.3163, -0.3121), 0.3142)
    '0.3142'
    """
    return fixed(x, decimals([estimate]), signed=signed)


def value_of(estimate: Estimate | None) -> float | None:
    """The value alone, where there is one."""
    return None if estimate is None else estimate.value


def spans(estimates: Sequence[Estimate | None], *, signed: bool = False, marked: Sequence[bool] = ()) -> list[str]:
    """A column of values with their intervals, and a star behind those that are marked.

    >>> from toplist.inference.results import Estimate
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


# Names and sentences


def plain(text: str, limit: int = LIMIT) -> str:
    r"""A name on one line, shortened in the middle; in quotes where its ends would not be seen.

    >>> plain("a model with a long and winding name", 16), plain("one\ntwo"), plain("")
    ('a model…ing name', 'one\\ntwo', '""')
    """
    quote = quotes(text)
    return quote + shorten([shown(c) for c in text], limit - 2 * len(quote), _size) + quote


def quotes(text: str) -> str:
    """What a name stands between: a quote where its ends would not be seen, or else nothing."""
    return '"' if text != text.strip() or not text else ""


def _size(part: str) -> int:
    """The larger of characters and cells, so that a limit holds for both: accents take no cell."""
    return max(len(part), cells(part))


def series(items: Iterable[T], most: int = FEW) -> list[T | str]:
    """Items with commas and one "and" between them; where there are many, the first ones and how many more.

    >>> series([1, 2, 3])
    [1, ', ', 2, ' and ', 3]
    """
    every = list(items)
    kept: list[T | str] = [*every] if len(every) <= most + 1 else [*every[:most], f"{count(len(every) - most)} more"]
    found: list[T | str] = []
    for i, item in enumerate(kept):
        found += [*([] if not i else [" and "] if i == len(kept) - 1 else [", "]), item]
    return found


def listed(items: Iterable[str], most: int = FEW) -> str:
    """The items of `series` in one string.

    >>> listed("ABC"), listed("ABCD", 3), listed("ABCDEFGH", 3)
    ('A, B and C', 'A, B, C and D', 'A, B, C and 5 more')
    """
    return "".join(map(str, series(items, most)))


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it is shown, and the longer form where it was shortened."""

    text: str
    hint: str = ""

    def __str__(self) -> str:
        return self.text

    def __html__(self) -> str:
        """An element of its own: a name from right to left does not turn the sentence around."""
        hint = f' title="{escape(self.hint)}"' if self.hint else ""
        return f'<bdi class="n"{hint}>{escape(self.text)}</bdi>'


@dataclass(frozen=True, slots=True)
class Sentence:
    """Text with names in it: a string for terminals and markup, escaped by `__html__` for pages."""

    parts: tuple[str | Name, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))

    def __html__(self) -> str:
        """Its words escaped, its names as they are in tables."""
        return "".join(part.__html__() if isinstance(part, Name) else escape(part) for part in self.parts)


Words = str | Name | Sentence
Shown = Mapping[str, Name]  # how each model is called


def sentence(*parts: Words) -> Sentence:
    """Words, names and parts of sentences in a row."""
    found: list[str | Name] = []
    for part in parts:
        found += part.parts if isinstance(part, Sentence) else [part]
    return Sentence(tuple(found))


def capital(text: Sentence) -> Sentence:
    """The sentence with a capital where it begins with a word, not with a name.

    >>> str(capital(sentence("after all, ", name("a"))))
    'After all, a'
    """
    first, *others = text.parts
    return Sentence((first[:1].upper() + first[1:] if isinstance(first, str) else first, *others))


def stripped(text: str) -> str:
    """Text of a method or a reason, visible, without blanks around it and without the full stop.

    >>> stripped(" no spread. ")
    'no spread'
    """
    return visible(text).strip().rstrip(".")


def name(text: str, limit: int = SHORT) -> Name:
    """A name on one line, shortened in the middle.

    >>> name("a model with a long and winding name", 16)
    Name(text='a model…ing name', hint='a model with a long and winding name')
    """
    short = plain(text, limit)
    return Name(short, "" if short == plain(text, len(text) * 10 + 2) else plain(text, _HINT))


def names(texts: Iterable[str], limit: int = SHORT, long: int = LONG) -> dict[str, Name]:
    """Short names, the same on every surface: distinct names stay distinct, and the hint is the full name.

    Where one is longer than `long`, the words that all share at the beginning and at the end are elided; what is still
    longer than the limit is cut.

    >>> [str(n) for n in names(f"xgboost-depth{i}-lr0.05-subsample0.8" for i in (3, 12)).values()]
    ['…depth3…', '…depth12…']
    >>> [str(n) for n in names(["resnet18", "resnet50"]).values()]
    ['resnet18', 'resnet50']
    """
    every = list(dict.fromkeys(texts))
    full = [plain(_ends(text), 10 * len(text) + 2) for text in every]
    short = _elided(full) if len(every) > 1 and max(map(_size, full)) > long else full
    short = _told_apart(every, full, [shorten(text, limit, _size) for text in short], limit)
    return {
        text: Name(own, "" if own == whole else plain(text, _HINT))
        for text, whole, own in zip(every, full, short, strict=True)
    }


def _ends(text: str) -> str:
    """The text, or the beginning and the end of one that is much too long to be shown."""
    return text if len(text) <= 2 * _HINT else f"{text[:_HINT]}…{text[-_HINT:]}"


def _elided(texts: Sequence[str]) -> list[str]:
    """The texts without the words that all of them share at the beginning and at the end, of which one word is left."""
    words = [_WORD.findall(text) for text in texts]
    most = min(map(len, words)) - 1
    head = _shared(words, most)
    tail = _shared([own[::-1] for own in words], most - head)
    while head and min(_size("".join(own[head : len(own) - tail])) for own in words) < _TOLD:
        head -= 1
    before, after = "".join(words[0][:head]), "".join(words[0][len(words[0]) - tail :])
    head, tail = head * (_size(before) > 2), tail * (_size(after) > 2)
    return [
        _between("".join(own[head : len(own) - tail]), before="…" * (head > 0), after="…" * (tail > 0)) for own in words
    ]


def _between(text: str, *, before: str, after: str) -> str:
    """The text between these, without the blanks and dashes beside them."""
    text = text.lstrip(_BREAKS) if before else text
    return before + (text.rstrip(_BREAKS) if after else text) + after


def _shared(words: Sequence[Sequence[str]], most: int) -> int:
    """How many words all begin with, and no more than so many."""
    same = (len(set(column)) == 1 for column in zip(*words, strict=False))
    return sum(1 for _ in takewhile(bool, islice(same, max(most, 0))))


def _told_apart(every: Sequence[str], full: Sequence[str], short: Sequence[str], limit: int) -> list[str]:
    """The short names; those that look alike are cut to where they differ, or else get a digest of the full name."""
    found, alike = list(short), Counter(short)
    for text, many in alike.items():
        if many > 1:
            which = [i for i, one in enumerate(short) if one == text]
            for i, own in zip(which, _different([full[i] for i in which], limit), strict=True):
                found[i] = own
    same = Counter(found)
    return [
        own if same[own] == 1 else f"{shorten(own, limit - _DIGEST - 1, _size)}#{_digest(text)}"
        for text, own in zip(every, found, strict=True)
    ]


def _different(texts: Sequence[str], limit: int) -> list[str]:
    """Long texts, cut to the part where they differ."""
    most = min(map(len, texts))
    head = _shared(texts, most)
    tail = _shared([text[::-1] for text in texts], most - head)
    start = max(head - _TOLD, 0)
    ends = [len(text) - max(tail - _TOLD, 0) for text in texts]
    return [
        "…" * (start > 0) + shorten(text[start:end], limit - 2, _size) + "…" * (end < len(text))
        for text, end in zip(texts, ends, strict=True)
    ]


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


class Called(dict[str, Name]):
    """Names that are known, and every other one as it is, on one line."""

    def __missing__(self, text: str) -> Name:
        return Name(plain(text))

    def __contains__(self, _: object) -> bool:
        return True


PLAIN: Shown = Called()


_COMMON_NAMES = {"brier": "Brier", "rps": "RPS", "rps-normalized": "normalized RPS", "ranked_log": "ranked log"}


def rule_name(rule: str) -> str:
    """A rule as it is written in a sentence.

    >>> rule_name("brier"), rule_name("log"), rule_name("rps")
    ('Brier', 'log', 'RPS')
    """
    return _COMMON_NAMES.get(rule, rule)


def kind(rule: str, limit: int = LIMIT) -> str:
    """A rule before the word score, on one line.

    >>> kind("brier"), kind("Power(1.5)")
    ('Brier', 'Power(1.5)')
    """
    return plain(rule_name(rule), limit)


def scores(rule: str) -> str:
    """A rule by itself in a sentence; one that has no common name goes by its own.

    >>> scores("brier"), scores("Power(1.5)")
    ('the Brier score', 'Power(1.5)')
    """
    return f"the {kind(rule)} score" if rule in _RULES else kind(rule)


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column, the side where its cells stand, and whether a narrow page keeps it."""

    header: str
    align: Literal["left", "right"] = "right"
    essential: bool = False
    heading: bool = False  # its cells name the rows
    note: str = ""  # what it means, where that is not plain
    least: int = 0  # columns of a terminal from which on it is shown
    below: str = ""  # a second line of the head


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table whose every string is safe to show, but not escaped for any markup."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    leaders: frozenset[int] = frozenset()  # rows that rank first
    warnings: tuple[str, ...] = ()  # why the table may not be right, before all else that is said below it

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that stands below the table: warnings, the first note, what the columns mean, the other notes."""
        return (
            *self.warnings,
            *self.notes[:1],
            *(column.note for column in self.columns if column.note),
            *self.notes[1:],
        )
