"""In plain words: which differences are sure and which are not.

Where accuracy and scores, two rules, or ranks and pairs do not agree on who is better.

Where accuracy says otherwise than the score: what the difference is made of, and the cases that decide.

Why intervals are missing, in the names that the page has.

Comparisons that may be looked at at any time, in words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from toplist.inference.pairwise import PairwiseVerdict, verdicts
from toplist.inference.results import Comparison, ConfidenceSet, ModelRow, SequentialPath
from toplist.inference.score_difference import Decided, DecidingCase
from toplist.report.html.grid import Cell, Column, Grid, Head, flat, grid, named, number
from toplist.report.html.safe_text import Name, Sentence, Words, capital, kind, listed, name, scores, sentence
from toplist.report.numbers import decimals, fixed, rate, small
from toplist.report.statements import ended, ending, findings, gaps, needed, reason
from toplist.report.text import count, noun, number_of, percent, visible

_MOST = 8  # sentences about single pairs, before the table has to do

Shown = Mapping[str, Name]


def infinities(results: Comparison, shown: Shown) -> list[Sentence]:
    """Who has infinite scores, by rule; they come first, because ranking counts them first."""
    found = []
    for i, rule in enumerate(results.rules):
        hit = [(row, row.scores[rule].infinite) for row in results.overall.rows if row.scores[rule].infinite]
        if not hit:
            continue
        who = [sentence(shown[row.name], f" ({count(n)} of {number_of(row.cases, 'case')})") for row, n in hit]
        means = "Such a mean is infinite, has no interval and cannot be tested" + (
            ", and ranking counts these cases first." if i == 0 else "."
        )
        found.append(sentence(f"Under {scores(rule)}, some scores are infinite: ", listed(who), f". {means}"))
    if found and results.penalty is None:
        found.append(sentence("A score is infinite where what happened was given no chance at all."))
    return found


def best(results: Comparison, shown: Shown) -> list[Sentence]:
    """Among whom the best one is."""
    chosen = results.confidence_set
    if chosen is None:
        return []
    if not chosen.members:
        why = visible(chosen.reason).strip().rstrip(".") or "nobody is in it"
        return [sentence(f"There is no confidence set for the best under {scores(chosen.rule)}: {why}.")]
    found = [_members(results, chosen, shown)]
    if chosen.reason:
        found.append(sentence(_ended(visible(chosen.reason))))
    return found


def _members(results: Comparison, chosen: ConfidenceSet, shown: Shown) -> Sentence:
    members = [shown[name] for name in chosen.members]
    rule, level = scores(chosen.rule), percent(chosen.level)
    if len(members) == 1 and chosen.seed is None:  # nothing was tested
        alone = len(results.overall.rows) == 1
        return sentence(members[0], " is alone here." if alone else f" alone has no infinite scores under {rule}.")
    edge = ""
    if set(chosen.members) != _not_ruled_out(results, chosen.rule):
        edge = " That is a test of all at once; tests of pairs draw the line elsewhere, and near it nothing is sure."
    if len(members) == 1:
        said = " is the best" if not edge else " alone is left in the confidence set of the best"
        return sentence(members[0], f"{said} under {rule}, at {level} confidence.{edge}")
    if len(members) == len(results.overall.rows):
        return sentence(f"At {level} confidence nobody can be ruled out as the best under {rule}.{edge}")
    return sentence(f"The best under {rule} is among ", listed(members), f", at {level} confidence.{edge}")


def _not_ruled_out(results: Comparison, rule: str) -> set[str]:
    """Who is not surely worse than anybody, by tests of pairs."""
    worse = {v.worse for v in verdicts(results, rule) if v.sure}
    return {row.name for row in results.overall.rows if row.name not in worse}


def tally(results: Comparison, rule: str) -> Sentence:
    """How many pairs are sure, and what that means."""
    found = verdicts(results, rule)
    if not found:
        few = len(results.overall.rows) < 2
        return sentence(
            "There is one model only, so there is nothing to tell apart."
            if few
            else f"Pairs were not tested under {scores(rule)}."
        )
    tested = [v for v in found if v.tested]
    sure = sum(v.sure for v in found)
    means = (
        f"Sure means that the p value of the paired difference, adjusted by Holm's method for looking at "
        f"{number_of(len(tested), 'pair')}, is at most {1 - results.level:.6g}."
    )
    if not tested:
        whom = "The pair" if len(found) == 1 else f"None of the {number_of(len(found), 'pair')}"
        return sentence(f"{whom} could {'not ' if len(found) == 1 else ''}be tested under {scores(rule)}.")
    if not sure:
        said = f"No difference is sure under {scores(rule)}: the order of the table may be chance."
    elif sure == len(found):
        said = f"Every difference is sure under {scores(rule)}." if sure > 1 else "The difference is sure."
    else:
        said = f"Of {number_of(len(found), 'pair')}, {count(sure)} {noun(sure, 'is', 'are')} surely different under "
        said += f"{scores(rule)} and {count(len(tested) - sure)} may be equal"
        said += f"; {count(len(found) - len(tested))} could not be tested." if len(tested) < len(found) else "."
    return sentence(f"{said} {means}")


def sure(results: Comparison, shown: Shown, rule: str) -> list[Sentence]:
    """Who is surely better than whom: a sentence for each model that beats anybody."""
    wins: dict[str, set[str]] = {}
    for v in verdicts(results, rule):
        if v.sure and v.better is not None and v.worse is not None:
            wins.setdefault(v.better, set()).add(v.worse)
    order = [row.name for row in results.overall.rows]
    return [
        sentence(shown[name], " is surely better than ", _beaten(name, wins[name], order, shown), ".")
        for name in order
        if name in wins
    ]


def _beaten(name: str, beaten: set[str], order: Sequence[str], shown: Shown) -> Sentence:
    """All others, all from one place of the table on, or these."""
    if len(beaten) == len(order) - 1 and len(beaten) > 1:
        return sentence("all others")
    first = min(map(order.index, beaten))
    if len(beaten) > 2 and order.index(name) < first and set(order[first:]) == beaten:
        return sentence(shown[order[first]], f" and the {count(len(beaten) - 1)} below it in the table")
    return listed([shown[other] for other in order if other in beaten])


def unsure(results: Comparison, shown: Shown, rule: str) -> list[Sentence]:
    """Pairs that may be equal, with what it would take to tell them apart; the first ones of the table."""
    found = [v for v in verdicts(results, rule) if v.kind == "unsure"]
    tested = sum(v.tested for v in verdicts(results, rule))
    said = [_unsure(v, shown, tested, results.unit, results.units) for v in found[:_MOST]]
    if len(found) > _MOST:
        more = len(found) - _MOST
        said.append(sentence(f"{count(more)} more {noun(more, 'pair')} may be equal; the table below has them all."))
    return said


def _unsure(v: PairwiseVerdict, shown: Shown, tested: int, unit: str, units: int) -> Sentence:
    pair, d = v.pair, v.pair.difference
    if flat(d) and d.value == 0:
        return sentence(
            shown[pair.a], " and ", shown[pair.b], f" have the same {kind(pair.rule)} score in every {unit}."
        )
    digits = decimals([d])
    between: list[Words] = [shown[pair.a], " and ", shown[pair.b], " may be equal: "]
    interval = (
        f" ({fixed(d.low, digits, signed=True)} to {fixed(d.high, digits, signed=True)})"
        if d.low is not None and d.high is not None
        else ""
    )
    found = f"difference {fixed(d.value, digits, signed=True)}{interval}, adjusted p {small(pair.adjusted_p)}."
    return sentence(*between, found, " ", _needed(v, tested, unit, units))


def _needed(v: PairwiseVerdict, tested: int, unit: str, units: int) -> str:
    if v.pair.extra_units is None:
        return f"How many more {unit}s would tell them apart cannot be said."
    if v.pair.extra_units == 0:
        return f"Alone they would be told apart, but not among {number_of(tested, 'pair')}."
    said = needed(_round(v.pair.extra_units), unit, units).replace("would do it", "like these would tell them apart")
    return f"{said[:1].upper()}{said[1:]}."


def untested(results: Comparison, shown: Shown, rule: str) -> list[Sentence]:
    """Pairs without a test, for each reason; infinite means have their own sentence."""
    reasons: dict[str, list[Words]] = {}
    for v in verdicts(results, rule):
        if v.kind == "untested":
            why = visible(v.pair.difference.reason).strip().rstrip(".") or "there is no p value"
            reasons.setdefault(why, []).append(sentence(shown[v.pair.a], " and ", shown[v.pair.b]))
    return [sentence("Not tested: ", listed(who), f". The reason: {why}.") for why, who in reasons.items()]


def _round(n: int) -> int:
    """Two digits: it is a guess."""
    return round(n, 2 - len(str(n))) if n >= 100 else n


def _ended(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


MOST = 3  # pairs, before the others are counted
_GUESS = "zero-one"  # the rule that is one minus accuracy


@dataclass(frozen=True, slots=True)
class RankDisagreement:
    """A pair where one scores better and the other is right more often, by how much."""

    verdict: PairwiseVerdict
    guess: PairwiseVerdict | None  # of first guesses, on the cases of both
    gap: float


def disagreeing(results: Comparison) -> tuple[list[RankDisagreement], int]:
    """Pairs where accuracy says otherwise, the sure ones first, then by how much; and how many cannot be looked at.

    Accuracies are compared on the same cases or not at all: a difference of zero-one scores is on the cases of both.
    """
    guesses = {(v.pair.a, v.pair.b): v for v in verdicts(results, _GUESS)} if _GUESS in results.rules else {}
    found, left_out = [], 0
    for v in verdicts(results, results.rules[0]):
        if v.better is None or v.worse is None or not math.isfinite(v.pair.difference.value):
            continue
        guess = guesses.get((v.pair.a, v.pair.b))
        if not _alike(results, v) and guess is None:
            left_out += 1
        elif (gap := _gap(results, v, guess)) > 0:
            found.append(RankDisagreement(v, guess, gap))
    return sorted(found, key=lambda one: (not one.verdict.sure, -one.gap)), left_out


def against_accuracy(results: Comparison, shown: Shown) -> list[Sentence]:
    """Pairs where one scores better and the other is right more often: the sure ones first, then by how much."""
    found, left_out = disagreeing(results)
    said = [_against(results, one.verdict, one.guess, one.gap, shown) for one in found[:MOST]]
    if len(found) > MOST:
        said.append(sentence(f"{_others(len(found) - MOST, 'disagrees', 'disagree')} in the same way."))
    if left_out:
        said.append(
            sentence(
                f"{number_of(left_out, 'pair')} {noun(left_out, 'is', 'are')}",
                " not looked at here: the two did not predict the same cases, so their accuracies do not say who is"
                " right more often. With the rule zero-one, first guesses are compared on the cases of both.",
            )
        )
    return said


def _rows(results: Comparison) -> dict[str, ModelRow]:
    return {row.name: row for row in results.overall.rows}


def _alike(results: Comparison, v: PairwiseVerdict) -> bool:
    """Whether both predict the same cases, those of the pair."""
    rows = _rows(results)
    return rows[v.pair.a].cases == rows[v.pair.b].cases == v.pair.cases


def _gap(results: Comparison, v: PairwiseVerdict, guess: PairwiseVerdict | None) -> float:
    """How much more often the one with the worse score is right."""
    if _alike(results, v) or guess is None:
        rows = _rows(results)
        return rows[v.worse or ""].metrics["accuracy"].value - rows[v.better or ""].metrics["accuracy"].value
    value = guess.pair.difference.value
    return -value if guess.pair.a == v.worse else value


def _against(
    results: Comparison, v: PairwiseVerdict, guess: PairwiseVerdict | None, gap: float, shown: Shown
) -> Sentence:
    rows, better, worse = _rows(results), v.better or "", v.worse or ""
    how = "surely" if v.sure else "not surely"
    but = f", but has the worse {kind(v.pair.rule)} score ({how})."
    if _alike(results, v):
        often = f" is right more often ({rate(rows[worse].metrics['accuracy'].value)} of all cases, against "
        told = sentence(
            shown[worse], f"{often}{rate(rows[better].metrics['accuracy'].value)} for ", shown[better], ")", but
        )
    else:
        often = f" by {rate(gap)} on the {number_of(v.pair.cases, 'case')} of both"
        told = sentence(shown[worse], " is right more often than ", shown[better], often, but)
    if guess is None or not guess.tested:
        return told
    sure = guess.sure and guess.better == worse
    return sentence(told, f" The difference in accuracy is {'sure as well' if sure else 'not sure'}.")


def between_rules(results: Comparison, shown: Shown) -> list[Sentence]:
    """What each further rule says of the leader, and who wins surely under one rule and loses surely under another."""
    said = [_leader(results, shown, i) for i in range(1, len(results.rules)) if len(results.overall.rows) > 1]
    wins = {rule: _wins(results, rule) for rule in results.rules}
    for one, other in combinations(results.rules, 2):
        crossed = [(a, b) for a, b in wins[one] if (b, a) in wins[other]]
        said += [
            sentence(
                *(shown[a], " is surely better than ", shown[b]),
                f" under {scores(one)}, and surely worse under {scores(other)}.",
            )
            for a, b in crossed[:MOST]
        ]
        if len(crossed) > MOST:
            said.append(sentence(f"{_others(len(crossed) - MOST, 'crosses', 'cross')} in the same way."))
    return said


def _leader(results: Comparison, shown: Shown, i: int) -> Sentence:
    rule, pairwise = scores(results.rules[i]), results.missing == "pairwise"
    rows = [row for row in results.overall.rows if row.cases]

    def place(row: ModelRow) -> tuple[float, float, float]:
        mark = row.scores[results.rules[i]]
        mean = mark.mean.value if math.isfinite(mark.mean.value) else mark.finite
        ratio = math.inf if mark.relative is None else mark.relative.value
        return mark.infinite, ratio if pairwise else 0.0, math.inf if math.isnan(mean) else mean

    if not rows:
        return sentence(f"Under {rule} nobody has cases.")
    lead, tail = min(rows, key=place), _tested(results, results.rules[i])
    whole = [row for row in rows if not row.scores[results.rules[i]].infinite]
    mark = lead.scores[results.rules[i]]
    score = fixed(mark.mean.value, 4)
    if not whole:
        differ = len({row.scores[results.rules[i]].infinite for row in rows}) > 1
        few = "has the fewest" if differ else "comes first by the finite ones"
        return sentence(f"Under {rule} every model has infinite scores; ", shown[lead.name], f" {few}.", tail)
    if len(whole) == 1 and len(rows) > 1:
        return sentence(
            f"Under {rule}, ", shown[lead.name], f" alone has no infinite scores; its mean is {score}.", tail
        )
    among = f" among the {count(len(whole))} without infinite scores" if len(whole) < len(rows) else ""
    relative = mark.relative if pairwise else None
    what = "mean" if relative is None else "relative score"
    value = score if relative is None else fixed(relative.value, 3)
    if lead.name == results.overall.rows[0].name:
        return sentence(f"Under {rule}, ", shown[lead.name], f" leads as well{among}, {what} {value}.", tail)
    return sentence(f"Under {rule}, ", shown[lead.name], f" has the lowest {what}{among}, {value}.", tail)


def _tested(results: Comparison, rule: str) -> str:
    """How many pairs are told apart, of those that can be."""
    found = verdicts(results, rule)
    tested = sum(v.tested for v in found)
    sure = sum(v.sure for v in found)
    if not found:
        return ""
    if not tested:
        return " No pair can be tested."
    which = "pairs" if tested == len(found) else "pairs that can be tested"
    return f" {count(sure)} of {count(tested)} {which} {noun(sure, 'is', 'are')} surely different."


def _wins(results: Comparison, rule: str) -> dict[tuple[str, str], None]:
    found = verdicts(results, rule)
    return {(v.better, v.worse): None for v in found if v.sure and v.better is not None and v.worse is not None}


def against_ranks(results: Comparison, shown: Shown) -> list[Sentence]:
    """Pairs whose lower one is surely better on the cases of both: ranks go by all others, pairs by two."""
    place = {row.name: i for i, row in enumerate(results.overall.rows)}
    found = [
        v
        for v in verdicts(results, results.rules[0])
        if v.sure and place.get(v.better or "", 0) > place.get(v.worse or "", len(place))
    ]
    why = sentence("The order goes by how each did against all others, not by single pairs.")
    return [*_upset(found[:MOST], shown), *_more(len(found) - MOST), *([why] if found else [])]


def _upset(found: Sequence[PairwiseVerdict], shown: Shown) -> list[Sentence]:
    said = []
    for v in found:
        d = v.pair.difference
        by = fixed(abs(d.value), decimals([d]))
        said.append(
            sentence(
                shown[v.worse or ""],
                " stands above ",
                shown[v.better or ""],
                ", yet is surely worse on the ",
                f"{number_of(v.pair.cases, 'case')} of both, by {by}.",
            )
        )
    return said


def _more(n: int) -> list[Sentence]:
    return [sentence(f"{_others(n, 'stands', 'stand')} in the table against their result.")] if n > 0 else []


def _others(n: int, does: str, do: str) -> str:
    return f"{count(n)} more {noun(n, 'pair')} {noun(n, does, do)}"


_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Statement:
    """One pair: sentences, and the few cases that count most."""

    sentences: list[Sentence]
    grid: Grid | None


def deciding(decided: Sequence[Decided], shown: Shown) -> list[Statement]:
    """What each pair comes down to; pairs of models that are not on the page are left out."""
    known = [one for one in decided if one.worse in shown and one.better in shown]
    return [
        Statement([_parts(one, shown), _turning(one, shown)], _cases(one, shown, i)) for i, one in enumerate(known, 1)
    ]


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


def _right(c: DecidingCase, one: Decided, shown: Shown) -> Words:
    who = [shown[n] for n, right in ((one.worse, c.right_a), (one.better, c.right_b)) if right > 0]
    return "neither" if not who else "both" if len(who) == 2 else sentence(who[0])


def _signed(total: float, one: Decided) -> str:
    return fixed(total / one.weight, _DIGITS, signed=True)


def sentences(results: Comparison, shown: Shown) -> list[Sentence]:
    """A sentence for each reason."""
    return [
        sentence(
            "No interval for ",
            "any model" if gap.names is None else listed(shown[name] for name in gap.names),
            *(() if gap.rules is None else (" under ", listed(map(scores, gap.rules)))),
            f": {gap.why}.",
        )
        for gap in gaps(results.overall)
    ]


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
