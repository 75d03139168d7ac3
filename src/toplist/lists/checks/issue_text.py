"""What is odd, in words: which counts are worth a sentence, and what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toplist._text import listed, quote
from toplist.lists.checks.detect import DIGITS, EDGES

if TYPE_CHECKING:
    from toplist.lists.checks.summary import Count, QualityCounts


_COARSE: Final = 1000  # finer steps than one over this are no oddity
_ENOUGH: Final = 30  # confidences, or cases, before something that all have in common is remarkable
VARIES: Final = b"varies"  # in place of the digest of one list
_WITHOUT: Final = 'complete the file, or pass blanks="drop" to leave such entries out'


@dataclass(frozen=True, slots=True)
class IssueText:
    """A kind of oddity, and what is said of it."""

    kind: str
    cases: int
    words: str
    serious: bool
    first: str = ""


def sentences(look: QualityCounts) -> Iterator[IssueText]:
    """What is worth saying, what cannot be scored before what can."""
    for kind, say in _COUNTED.items():
        count = look.count(kind)
        if count.cases:
            words = _told(count.cases, look, say(look))
            yield IssueText(kind, count.cases, words + _first(count), kind in SERIOUS, count.name)
    for find in _TOGETHER:
        said = find(look)
        if said is not None:
            yield said


SERIOUS: Final = frozenset(
    {
        "not finite",
        "negative",
        "above one",
        "mass above one",
        "incomplete distribution",
        "class twice",
        "class outside the space",
        "too many classes",
        "class without a confidence",
        "confidence without a class",
        "case twice",
    }
)
"""The kinds of single cases that cannot be scored without a repair."""


def _told(cases: int, look: QualityCounts, words: str) -> str:
    """So many cases, and what they do; the first word is a verb."""
    verb, rest = words.split(" ", 1)
    if cases == 1:
        verb = {"are": "is", "have": "has"}.get(verb, f"{verb}s")
    every = f"All {cases:,} cases" if cases > 1 else "The one case"
    who = every if cases == look.cases else f"{cases:,} of {look.cases:,} cases"
    return f"{who} {verb} {rest}"


def _first(count: Count) -> str:
    if not count.name:
        return ""
    called = count.name if re.fullmatch(r"row \d+|[\w.-]{1,40}", count.name) else quote(count.name)
    return f" {'The first' if count.cases > 1 else 'It'} is {'' if called.startswith('row ') else 'case '}{called}."


_COUNTED: Final[Mapping[str, Callable[[QualityCounts], str]]] = {
    "not finite": lambda look: "list a confidence that is not finite: leave the class out, or the case on purpose.",
    "negative": lambda look: "list a negative confidence.",
    "above one": lambda look: (
        f"list a confidence above 1 (the largest is {look.numbers.largest:g}"
        + {"probability": "", "percent": " percent", "log": " as a logarithm"}[look.units]
        + "); unnormalised weights: normalize=True."
    ),
    "mass above one": lambda look: (
        f"list more mass than 1, up to {_excess(look.sums[1])}: normalize=True divides by the sum." + _rounding(look)
    ),
    "incomplete distribution": lambda look: (
        f"list every class, and the confidences do not sum to 1{_spread(look)}: normalize=True divides by the sum."
        + _rounding(look)
    ),
    "class twice": lambda look: 'list a class twice: duplicates="sum" adds up its confidences.',
    "class outside the space": lambda look: "list a class that is not in the space: map the labels, or declare all.",
    "too many classes": lambda look: "list more classes than there are: declare the right number.",
    "class without a confidence": lambda look: f"name a class without a confidence: {_WITHOUT}.",
    "confidence without a class": lambda look: f"have a confidence without a class: {_WITHOUT}.",
    "case twice": lambda look: "have an id that an earlier case has.",
    "invalid": lambda look: (
        "are invalid: a listed confidence is below what each unlisted class gets. "
        "The largest valid sublist is scored, with a penalty; a repair of these lists would avoid that."
    ),
    "list of zeros": lambda look: "list nothing but zeros.",
    "empty list": lambda look: "have an empty list: all classes are alike.",
}


def _spread(look: QualityCounts) -> str:
    """How far off the sums are, where all lists are complete."""
    low, high = (f"{value:.7g}" for value in look.sums)
    return "" if look.count("short").cases else f" (but to {low})" if low == high else f" (but from {low} to {high})"


def _rounding(look: QualityCounts) -> str:
    """What rounding has to do with masses that are not one."""
    step = look.numbers.step
    if step is None or look.numbers.inner < _ENOUGH:
        return ""
    near = next((n for d, n in zip(DIGITS, look.misses, strict=True) if 10**d % step == 0 and 10**d >= step), 0)
    return f" Rounding explains {near:,} of the masses that are not 1." if near else ""


def _sentinel(look: QualityCounts) -> IssueText | None:
    """The same impossible number again and again."""
    in_logs = look.units == "log" or _logs(look) is not None
    found = look.numbers.mark(in_logs=in_logs)
    if found is None or (look.units == "probability" and _percent(look) is not None and 0 < found[0] <= 100):
        return None
    value, times = found
    cases = look.count("negative" if value < 0 else "above one")
    words = (
        f"The number {value:.15g} comes back {times:,} times: a mark for what is not there? "
        "Leave such entries out of the lists."
    )
    return IssueText("sentinel", min(times, cases.cases), words, True, cases.name)


def _percent(look: QualityCounts) -> IssueText | None:
    """Numbers that would do as percentages, in half of all lists or more."""
    found = look.count("percent")
    if not found.cases or 2 * found.cases < _filled(look):
        return None
    words = _told(found.cases, look, 'look like percentages: if they are, pass units="percent".')
    return IssueText("looks like percent", found.cases, words, True, found.name)


def _logs(look: QualityCounts) -> IssueText | None:
    """Numbers that would do as logarithms, in half of all lists or more, and none above zero."""
    found = look.count("logs")
    if not found.cases or 2 * found.cases < _filled(look) or look.numbers.largest > 0:
        return None
    words = _told(found.cases, look, 'look like log-probabilities: if they are, pass units="log".')
    return IssueText("looks like log-probabilities", found.cases, words, True, found.name)


def _not_percent(look: QualityCounts) -> IssueText | None:
    """Percentages that never reach even one."""
    if look.units != "percent" or not 0 < look.numbers.largest <= 1 or look.numbers.inner < _ENOUGH:
        return None
    words = f'No value is above {look.numbers.largest:g} percent: units="percent" may be wrong.'
    return IssueText("looks like probabilities", look.cases, words, False)


def _marginals(look: QualityCounts) -> IssueText | None:
    """Probabilities whose sums are mostly not one and differ widely; see `toplist.lists.error_messages`."""
    off, sound, filled = look.count("off"), look.count("sound").cases, _filled(look)
    low, high = look.sums
    if sound < filled or filled < 2 or 2 * off.cases <= filled or high - low <= 0.05:
        return None
    if not (high > 1.05 or (high < 0.5 and not look.count("short").cases)):
        return None
    if look.numbers.step == 1:
        words = "are nothing but zeros and ones: label sets need a space of label sets, LabelSets([...])."
        return IssueText("looks like label sets", off.cases, _told(off.cases, look, words), True, off.name)
    words = (
        f"have sums from {low:.4g} to {high:.4g} of numbers that are probabilities one by one: if they are marginals, "
        "make lists of label sets with toplist.multilabel.best_sets."
    )
    return IssueText("looks like marginals", off.cases, _told(off.cases, look, words), True, off.name)


def _order(look: QualityCounts) -> IssueText | None:
    """Lists that are not in falling order where all are said to be, or nearly all are."""
    found = look.count("not in falling order")
    if not found.cases or not (look.ranked or (10 * found.cases <= _filled(look) and _filled(look) >= _ENOUGH)):
        return None
    words = (
        "list a class after one with a smaller confidence: the order is not used, but ranks may have been mistaken "
        f"for it.{_first(found)}"
    )
    return IssueText("not in falling order", found.cases, _told(found.cases, look, words), False, found.name)


def _rounded(look: QualityCounts) -> IssueText | None:
    """All confidences are multiples of one number; four digits are as many as people write."""
    step = look.numbers.step
    if step is None or step == 1 or step > _COARSE or look.numbers.inner < _ENOUGH:
        return None
    unit = f"{1 / step:g}" if 10_000 % step == 0 else f"1/{step}"
    different = "" if look.numbers.distinct is None else f", with {len(look.numbers.distinct):,} different values"
    words = f"All confidences are multiples of {unit}{different}: they have been rounded, or are shares of few votes."
    return IssueText("rounded", look.cases, words, False)


def _zeros(look: QualityCounts) -> IssueText | None:
    found = look.count("listed zero")
    if not found.cases:
        return None
    words = _told(found.cases, look, "list a class with confidence 0: if it happens, the log score is infinite.")
    return IssueText("listed zero", found.cases, words, False, found.name)


def _cut(look: QualityCounts) -> IssueText | None:
    """All lists end at one confidence. That they have one length is what top lists are."""
    filled = _filled(look)
    if filled < _ENOUGH or look.count("short").cases < filled or look.count("hard").cases == filled:
        return None
    for edge, count in zip(EDGES, look.edges, strict=True):
        coarse = look.numbers.step is not None and edge < 1.5 / look.numbers.step
        if edge * (1 - 1e-6) <= look.least < 1.05 * edge and count >= max(5, 0.05 * filled) and not coarse:
            words = f"No listed confidence is below {edge:g}, and {count:,} lists end near it: a cut-off."
            return IssueText("cut at a threshold", count, words, False)
    return None


def _hard(look: QualityCounts) -> IssueText | None:
    cases = look.count("hard").cases
    if not cases or cases < _filled(look):
        return None
    return IssueText("hard labels only", cases, "All predictions are hard labels: no doubt is ever expressed.", False)


def _constant(look: QualityCounts) -> IssueText | None:
    if look.pattern in (b"", VARIES) or look.cases < 5:
        return None
    return IssueText("all lists equal", look.cases, f"All {look.cases:,} cases have the same list.", False)


def _never_happen(look: QualityCounts) -> IssueText | None:
    found = look.classes.never_happen
    if not found:
        return None
    cases = sum(found.values())
    words = _told(cases, look, f"have a first guess that never happens: {_listed(found)}.")
    return IssueText("never happens", cases, words, False)


def _never_listed(look: QualityCounts) -> IssueText | None:
    found = look.classes.never_listed
    if not found:
        return None
    cases = sum(found.values())
    words = _told(cases, look, f"have an outcome that is never listed: {_listed(found)}.")
    return IssueText("never listed", cases, words, False)


def _listed(found: Mapping[str, int]) -> str:
    return listed(list(found), 3)


def _filled(look: QualityCounts) -> int:
    return look.cases - look.sizes.get(0, 0)


_TOGETHER: Final = (
    _sentinel,
    _percent,
    _logs,
    _marginals,
    _not_percent,
    _order,
    _zeros,
    _rounded,
    _cut,
    _hard,
    _constant,
    _never_happen,
    _never_listed,
)


def _excess(mass: float) -> str:
    """A mass above one with enough digits to see that it is.

    >>> _excess(1.25), _excess(1.00000004)
    ('1.25', '1 + 4e-08')
    """
    return f"1 + {mass - 1:.1g}" if 0 < mass - 1 < 1e-5 else f"{mass:.6g}"
