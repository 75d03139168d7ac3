"""Comparisons that may be looked at at any time, in words."""

from __future__ import annotations

from toplist.ranking.results import SequentialPath
from toplist.report.numbers import decimals, fixed
from toplist.report.page.sureness import Shown
from toplist.report.page.wording import Name, Sentence, Words, capital, kind, sentence
from toplist.words.counts import percent
from toplist.words.names import visible
from toplist.words.paths import ended, ending, findings, reason


def told(path: SequentialPath, shown: Shown) -> list[Sentence]:
    """What the path says at its end, and when it first said so."""
    why = reason(path)
    if not path.at:
        who: list[Words] = [shown[path.candidate], " against ", shown[path.baseline]]
        return [sentence(*who, f": {why or 'there are no cases'}.")]

    def called(name: str) -> Name:
        return shown[name]

    end = ending(path)
    value, low, high = (fixed(x, decimals([end]), signed=True) for x in (end.value, end.low, end.high))
    between = f"{low} and {high} at {percent(path.level)}" if path.low else ""
    said: list[Sentence] = [
        sentence(*ended(path, called, kind(path.rule), value, between), ". Below zero, the first is better."),
        *(sentence(*parts, ".") for parts in findings(path, called)),
    ]
    return [*map(capital, said), *([sentence(f"{why}.")] if why else [])]


def method(path: SequentialPath) -> str:
    """How the sequence was made."""
    return visible(path.method).strip().rstrip(".")
