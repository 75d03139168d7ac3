"""A diagnosis as people read it: one sentence, and a short page."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from toplist.diagnosis import Decomposition, Gap, Oddity
from toplist.diagnosis.judging import sure
from toplist.plot.figures.calibration import of_words
from toplist.words.counts import count, number_of, percent
from toplist.words.names import visible
from toplist.words.series import listed

if TYPE_CHECKING:
    from toplist.examination.results import Diagnosis

_WIDTH: Final = 100
_MOST: Final = 12  # parts of a score


def verdict(found: Diagnosis) -> str:
    """The whole diagnosis in one sentence."""
    if found.serious:
        kinds = listed((one.kind for one in found.oddities if one.serious), 4)
        return f"These predictions cannot be scored as they are: {kinds}."
    if found.why:
        return found.why
    if found.test is None:
        return f"Calibration cannot be tested. {' '.join(found.notes)}".rstrip()
    p = f"p = {_p(found.test.p)}"
    top, mass, said = found.gap, found.mass_gap, found.judged.direction()
    first = "" if top is None else f"the first class gets {_means(top, ' on average and is right ')} of the time"
    listing = "" if mass is None else f"lists promise {_means(mass, ' on average and hold what happens ')} of the time"
    if said == "none":
        told = next((f"{text} (difference {_interval(gap)})" for gap, text in ((top, first), (mass, listing))
                     if gap is not None and sure(gap)), "")  # fmt: skip
        return f"No sign of miscalibration in {number_of(found.tested, 'case')} ({p}){f', though {told}' * bool(told)}."
    if top is not None and said in ("over", "under"):
        also = mass is not None and sure(mass) and (_word(mass) != _word(top) or _size(mass) > 1.5 * _size(top))
        more = f"; lists promise {_means(mass, ' and hold what happens ')} of the time" if mass and also else ""
        return f"{_word(top)}: {first} (difference {_interval(top)}){more}."
    if mass is not None and said in ("mass over", "mass under"):
        return f"{_word(mass)} in what is listed: {listing} (difference {_interval(mass)})."
    return f"Miscalibrated, but not in one direction: confidences are off in some places and not in others ({p})."


def page(found: Diagnosis) -> str:
    """A short page of text; what came from outside is made visible."""
    lines = [*_wrapped(found.verdict), "", *_wrapped(_what(found))]
    if found.oddities:
        lines += ["", "What is odd"]
        for one in found.oddities:
            lines += _item(one)
    elif found.cases:
        lines += ["", "Nothing is odd about the numbers."]
    if found.why and not found.serious:
        return "\n".join(visible(line) for line in lines)
    if found.why:
        lines += ["", *_wrapped(found.why)]
    lines += [*_calibration(found), *_score(found)]
    if found.notes:
        lines.append("")
        for note in found.notes:
            lines += _wrapped(note)
    return "\n".join(visible(line) for line in lines)


def _what(found: Diagnosis) -> str:
    lengths = sorted(k for k, n in found.sizes.items() if n)
    if not lengths:
        lists = "no lists"
    elif lengths[0] == lengths[-1]:
        lists = f"lists of {number_of(lengths[0], 'class', 'classes')}" if lengths[0] else "empty lists"
    else:
        lists = f"lists of {lengths[0]:,} to {lengths[-1]:,} classes"
    within = "" if found.clusters is None or not found.exact else f" in {number_of(found.clusters, 'cluster')}"
    return f"{found.name}: {number_of(found.cases, 'case')}{within}, {found.classes}, {lists}."


def _item(one: Oddity) -> list[str]:
    mark = "!" if one.serious else "-"
    return textwrap.wrap(
        one.words, _WIDTH, initial_indent=f"  {mark} ", subsequent_indent="    ", break_long_words=False
    )


def _calibration(found: Diagnosis) -> Iterable[str]:
    curves = found.calibration
    if curves is None or curves.mass is None:
        return
    head = f"difference ({percent(found.level)} interval)"
    yield ""
    yield f"{'Calibration':<24}{'promised':>10}{'kept':>10}   {head}"
    for gap, name in ((found.gap, "first class"), (found.mass_gap, "listed mass")):
        if gap is not None:
            means = "".join(f"{_number(x, _digits(gap)):>10}" for x in (gap.promised, gap.kept))
            yield f"  {name:<22}{means}   {_interval(gap)}"
    for one in curves.ranks[1:]:
        difference = one.promised - one.kept
        means = "".join(f"{_number(x, 3):>10}" for x in (one.promised, one.kept))
        yield f"  {of_words(one.of):<22}{means}   {_number(difference, 3, sign=True)}"
    error, test = found.calibration_error, found.test
    if error is not None:
        yield (
            f"Calibration error of the first class: {_small(error.root)} "
            f"(squared {_small(error.value)}, from {_small(error.low)} to {_small(error.high)}; "
            f"{number_of(error.bins, 'bin')})"
        )
    if test is not None:
        each = "" if found.clusters is None else ", one case of each cluster at a time"
        yield (
            f"Test of all ranks{each}: miscalibration {_small(test.statistic)}, calibrated lists would show "
            f"{_small(test.expected)}; p = {_p(test.p)} ({test.draws:,} draws, seed {test.seed})"
        )


def _score(found: Diagnosis) -> Iterable[str]:
    parts = found.decomposition
    if parts is None:
        return
    yield ""
    if parts.miscalibration is None or parts.discrimination is None:
        yield f"{_rule(parts)} score {_number(parts.score, 4)}. {parts.note}".rstrip()
        return
    terms = [(parts.uncertainty, "uncertainty"), (parts.misses, "misses"), (-parts.discrimination, "discrimination")]
    terms += [(parts.miscalibration, "miscalibration"), (parts.penalty, "penalty"), (parts.within, "within bins")]
    told = [
        f"{'' if not i else '- ' if value < 0 or name == 'discrimination' else '+ '}{_number(abs(value), 4)} {name}"
        for i, (value, name) in enumerate(terms)
        if value or name in ("uncertainty", "discrimination", "miscalibration")
    ]
    yield f"{_rule(parts)} score {_number(parts.score, 4)} = {' '.join(told)}"
    if not parts.parts:
        return
    yield f"  {'':<22}{'entries':>12}{'miscalibration':>16}{'discrimination':>16}{'uncertainty':>14}"
    for part in parts.parts[:_MOST]:
        numbers = f"{_number(part.miscalibration, 4):>16}{_number(part.discrimination, 4):>16}"
        yield f"  {part.name:<22}{count(part.entries):>12}{numbers}{_number(part.uncertainty, 4):>14}"


def _rule(parts: Decomposition) -> str:
    return parts.rule[:1].upper() + parts.rule[1:]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, break_long_words=False) or [""]


def _digits(gap: Gap) -> int:
    """How many decimals show how wide the interval is, from three to six."""
    if gap.low is None or gap.high is None:
        return 3
    half = (gap.high - gap.low) / 2
    return 3 if not half > 0 else min(6, max(3, math.ceil(-math.log10(half))))


def _size(gap: Gap) -> float:
    return abs(gap.difference)


def _word(gap: Gap) -> str:
    return "Overconfident" if gap.difference > 0 else "Underconfident"


def _means(gap: Gap, between: str) -> str:
    digits = _digits(gap)
    return f"{_number(gap.promised, digits)}{between}{_number(gap.kept, digits)}"


def _interval(gap: Gap) -> str:
    digits = _digits(gap)
    value = _number(gap.difference, digits, sign=True)
    if gap.low is None or gap.high is None:
        return f"{value}, no interval"
    return f"{value}, from {_number(gap.low, digits)} to {_number(gap.high, digits)}"


def _number(x: float, digits: int, *, sign: bool = False) -> str:
    """A number with so many decimals; never a negative zero.

    >>> _number(-0.00001, 3), _number(0.25, 2, sign=True), _number(math.inf, 3)
    ('0.000', '+0.25', 'infinite')
    """
    if math.isinf(x):
        return "infinite"
    value = round(x, digits) + 0.0
    return f"{value:{'+' if sign and value else ''}.{digits}f}"


def _small(x: float) -> str:
    return "infinite" if math.isinf(x) else f"{x:.3g}"


def _p(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1g}"
