"""In plain words: which differences are sure and which are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toplist.ranking.results import ConfidenceSet, Results
from toplist.ranking.verdicts import Verdict, verdicts
from toplist.report.notes import needed
from toplist.report.numbers import decimals, fixed, small
from toplist.report.page.flatness import flat
from toplist.report.page.wording import Name, Sentence, Words, kind, listed, scores, sentence
from toplist.words.counts import count, noun, number_of, percent
from toplist.words.names import visible

_MOST = 8  # sentences about single pairs, before the table has to do

Shown = Mapping[str, Name]


def infinities(results: Results, shown: Shown) -> list[Sentence]:
    """Who has infinite scores, by rule; they come first, because ranking counts them first."""
    found = []
    for i, rule in enumerate(results.rules):
        hit = [(row, row.marks[i].infinite) for row in results.overall.standings if row.marks[i].infinite]
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


def best(results: Results, shown: Shown) -> list[Sentence]:
    """Among whom the best one is."""
    chosen = results.confidence_set
    if chosen is None:
        return []
    if not chosen.members:
        why = visible(chosen.why).strip().rstrip(".") or "nobody is in it"
        return [sentence(f"There is no confidence set for the best under {scores(chosen.rule)}: {why}.")]
    found = [_members(results, chosen, shown)]
    if chosen.why:
        found.append(sentence(_ended(visible(chosen.why))))
    return found


def _members(results: Results, chosen: ConfidenceSet, shown: Shown) -> Sentence:
    members = [shown[name] for name in chosen.members]
    rule, level = scores(chosen.rule), percent(chosen.level)
    if len(members) == 1 and chosen.seed is None:  # nothing was tested
        alone = len(results.overall.standings) == 1
        return sentence(members[0], " is alone here." if alone else f" alone has no infinite scores under {rule}.")
    edge = ""
    if set(chosen.members) != _not_ruled_out(results, chosen.rule):
        edge = " That is a test of all at once; tests of pairs draw the line elsewhere, and near it nothing is sure."
    if len(members) == 1:
        said = " is the best" if not edge else " alone is left in the confidence set of the best"
        return sentence(members[0], f"{said} under {rule}, at {level} confidence.{edge}")
    if len(members) == len(results.overall.standings):
        return sentence(f"At {level} confidence nobody can be ruled out as the best under {rule}.{edge}")
    return sentence(f"The best under {rule} is among ", listed(members), f", at {level} confidence.{edge}")


def _not_ruled_out(results: Results, rule: str) -> set[str]:
    """Who is not surely worse than anybody, by tests of pairs."""
    worse = {v.worse for v in verdicts(results, rule) if v.sure}
    return {row.name for row in results.overall.standings if row.name not in worse}


def tally(results: Results, rule: str) -> Sentence:
    """How many pairs are sure, and what that means."""
    found = verdicts(results, rule)
    if not found:
        few = len(results.overall.standings) < 2
        return sentence(
            "There is one predictor only, so there is nothing to tell apart."
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


def sure(results: Results, shown: Shown, rule: str) -> list[Sentence]:
    """Who is surely better than whom: a sentence for each predictor that beats anybody."""
    wins: dict[str, set[str]] = {}
    for v in verdicts(results, rule):
        if v.sure and v.better is not None and v.worse is not None:
            wins.setdefault(v.better, set()).add(v.worse)
    order = [row.name for row in results.overall.standings]
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


def unsure(results: Results, shown: Shown, rule: str) -> list[Sentence]:
    """Pairs that may be equal, with what it would take to tell them apart; the first ones of the table."""
    found = [v for v in verdicts(results, rule) if v.kind == "unsure"]
    tested = sum(v.tested for v in verdicts(results, rule))
    said = [_unsure(v, shown, tested, results.unit, results.units) for v in found[:_MOST]]
    if len(found) > _MOST:
        more = len(found) - _MOST
        said.append(sentence(f"{count(more)} more {noun(more, 'pair')} may be equal; the table below has them all."))
    return said


def _unsure(v: Verdict, shown: Shown, tested: int, unit: str, units: int) -> Sentence:
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
    found = f"difference {fixed(d.value, digits, signed=True)}{interval}, adjusted p {small(pair.adjusted)}."
    return sentence(*between, found, " ", _needed(v, tested, unit, units))


def _needed(v: Verdict, tested: int, unit: str, units: int) -> str:
    if v.pair.more is None:
        return f"How many more {unit}s would tell them apart cannot be said."
    if v.pair.more == 0:
        return f"Alone they would be told apart, but not among {number_of(tested, 'pair')}."
    said = needed(_round(v.pair.more), unit, units).replace("would do it", "like these would tell them apart")
    return f"{said[:1].upper()}{said[1:]}."


def untested(results: Results, shown: Shown, rule: str) -> list[Sentence]:
    """Pairs without a test, for each reason; infinite means have their own sentence."""
    reasons: dict[str, list[Words]] = {}
    for v in verdicts(results, rule):
        if v.kind == "untested":
            why = visible(v.pair.difference.why).strip().rstrip(".") or "there is no p value"
            reasons.setdefault(why, []).append(sentence(shown[v.pair.a], " and ", shown[v.pair.b]))
    return [sentence("Not tested: ", listed(who), f". The reason: {why}.") for why, who in reasons.items()]


def _round(n: int) -> int:
    """Two digits: it is a guess."""
    return round(n, 2 - len(str(n))) if n >= 100 else n


def _ended(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
