"""Where accuracy says otherwise than the score: what the difference is made of, and the cases that decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toplist.diagnosis.disagreement import Decided, Deciding
from toplist.report.numbers import fixed
from toplist.report.page.grids import Cell, Column, Grid, Head, grid, named, number
from toplist.report.page.sureness import Shown
from toplist.report.page.wording import Sentence, Words, kind, listed, name, sentence
from toplist.words.counts import count, noun, number_of

_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Told:
    """One pair: sentences, and the few cases that count most."""

    sentences: list[Sentence]
    grid: Grid | None


def deciding(decided: Sequence[Decided], shown: Shown) -> list[Told]:
    """What each pair comes down to; pairs of predictors that are not on the page are left out."""
    known = [one for one in decided if one.worse in shown and one.better in shown]
    return [Told([_parts(one, shown), _turning(one, shown)], _cases(one, shown, i)) for i, one in enumerate(known, 1)]


def _parts(one: Decided, shown: Shown) -> Sentence:
    """The difference, and what it is made of."""
    found = one.found
    where: dict[str, Words] = {
        "both right": "both are right",
        "only a right": sentence("only ", shown[one.worse], " is right"),
        "only b right": sentence("only ", shown[one.better], " is right"),
        "both wrong": "both are wrong",
        "shared": "the first place is shared",
    }
    parts = [
        sentence(f"{_signed(part.difference, one)} from {number_of(part.cases, 'case')} where ", where[part.name])
        for part in found.splits
        if part.cases
    ]
    head = f": {_signed(found.difference, one)} in mean {kind(found.rule)} score, made of "
    return sentence(shown[one.worse], " minus ", shown[one.better], head, listed(parts), ".")


def _turning(one: Decided, shown: Shown) -> Sentence:
    few, all_ = one.found.turning, one.found.cases
    which = f"the {count(few)} cases" if few != 1 else "the one case"
    return sentence(
        f"Without {which} of {count(all_)} that {noun(few, 'speaks', 'speak')} most for ",
        shown[one.better],
        ", the difference would be gone.",
    )


def _cases(one: Decided, shown: Shown, place: int) -> Grid | None:
    cases = one.found.favour_b
    if not cases:
        return None
    columns: list[Column] = [
        (Head("case", "name"), [named(name(one.called.get(c.case, ""))) for c in cases]),
        (Head(shown[one.worse]), [number(c.a, _DIGITS) for c in cases]),
        (Head(shown[one.better]), [number(c.b, _DIGITS) for c in cases]),
        (Head("difference"), [number(c.a - c.b, _DIGITS, signed=True) for c in cases]),
        (Head("first guess right", "text"), [Cell(_right(c, one, shown)) for c in cases]),
    ]
    caption = sentence("The cases that speak most for ", shown[one.better], " against ", shown[one.worse])
    return grid(f"deciding-{place}", caption, columns, sorts=False)


def _right(c: Deciding, one: Decided, shown: Shown) -> Words:
    who = [shown[n] for n, right in ((one.worse, c.right_a), (one.better, c.right_b)) if right > 0]
    return "neither" if not who else "both" if len(who) == 2 else sentence(who[0])


def _signed(total: float, one: Decided) -> str:
    return fixed(total / one.weight, _DIGITS, signed=True)
