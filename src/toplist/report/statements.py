"""Every sentence about results, made once: terminals and markup take it as a string, pages with its names marked.

`shown` says how models are called: `PLAIN` in terminals, shortened and numbered names on a page.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from toplist.inference.ranking import PairwiseVerdict, holm, verdicts
from toplist.inference.results import Comparison, ConfidenceSet, Estimate, Group, ModelRow, SequentialPath
from toplist.inference.results import SourceSummary as Source
from toplist.report.numbers import decimals, fixed, flat, rate, small, spans
from toplist.report.text import (
    LIMIT,
    PLAIN,
    Column,
    Name,
    Sentence,
    Shown,
    TextTable,
    Words,
    capital,
    count,
    kind,
    listed,
    name,
    noun,
    number_of,
    percent,
    plain,
    scores,
    sentence,
    series,
    stripped,
    visible,
)

if TYPE_CHECKING:
    from toplist.calibration.error import CalibrationBias
    from toplist.calibration.testing import CalibrationVerdict
    from toplist.inference.score_difference import Decided

MOST = 3  # pairs that disagree, before the others are counted
SCALE = "scale: "  # how numbers were read, which is no repair
_UNSURE = 8  # sentences about single pairs, before the table has to do
_FAR = 10  # times the units there are: beyond it, what it would take is a guess at nothing
_GUESS = "zero-one"  # the rule that is one minus accuracy
_MISSING = {
    "error": "No prediction is missing",
    "common": "Only cases that every model has are compared",
    "pairwise": "Each model is scored on the cases it has, and compared on those that both have",
    "reject": "A missing prediction counts as an empty list",
}
_DIRECTIONS = {
    "over": "Overconfident in the first guess",
    "mass over": "Overconfident in what is listed",
    "under": "Underconfident in the first guess",
    "mass under": "Underconfident in what is listed",
    "mixed": "Miscalibrated, but not in one direction",
    "unsure": "Not significantly miscalibrated among so many models",
    "undecided": "Undecided, as the interval of a difference excludes zero and the test is not significant",
    "none": "No evidence of miscalibration",
}
_ASSUMED = {
    "case": "All this takes for granted that the outcome of each case is known before the next prediction is made.",
    "time point": "Cases share time points, so that a step is a time point, with the mean of its differences. All this "
    "takes for granted that the outcomes of each time point are known before the predictions of the next are made.",
}


# What was compared


def notes(results: Comparison) -> tuple[str, ...]:
    """The sentences below the main table of a terminal."""
    basis = f"Lower is better; {classes(results)}, {number_of(results.cases, 'case')}"
    found: list[Words] = [f"{basis}{extent(results)}.", *_intervals(results), penalty(results), policy(results, PLAIN)]
    few = [row for row in results.overall.rows if row.rank is None]
    if few and results.min_cases is not None:
        who = listed(f"{plain(row.name)} ({count(row.cases)})" for row in few)
        found.append(f"Not ranked, with fewer than {number_of(results.min_cases, 'compared case')}: {who}.")
    found += [f"{plain(o.name)} was read on the {plain(scale)} scale." for o in results.sources for scale in read_in(o)]
    files = [(o.name, repaired(o)) for o in results.sources] + [("the truth", results.truth_repairs)]
    found += [f"Repaired in {plain(file)}: {done}." for file, counts in files if (done := repairs(counts))]
    if any(mark.infinite for row in _rows(results) for mark in row.scores.values()):
        found.append("A mean over infinite scores is infinite, and ranks after finite ones.")
    found += [*reasons(results.overall), *_apart(results), *best(results, PLAIN)[:1]]
    if results.confidence_set is not None and results.confidence_set.members:
        found.append(f"Confidence set: {stripped(results.confidence_set.method)}.")
    return tuple(map(str, found))


def warnings(results: Comparison) -> tuple[str, ...]:
    """Why the board may not be right, a sentence each."""
    return tuple(f"Warning: {one}" for one in doubts(results, PLAIN))


def doubts(results: Comparison, shown: Shown) -> list[Sentence]:
    """Why the board may not be right, under a heading that says so."""
    return [
        sentence(*series(shown[who] for who in one.models if who in shown), f": {visible(one.sentence)}")
        for one in results.warnings
    ]


def sections(results: Comparison) -> tuple[Group, ...]:
    """All cases, then the groups."""
    return results.overall, *results.groups


def _rows(results: Comparison) -> list[ModelRow]:
    return [row for section in sections(results) for row in section.rows]


def size(results: Comparison, section: Group) -> str:
    """The sentence below the table of a group that says how large it is."""
    return f"{plain(results.group or 'group')} {plain(section.group or '')}: {number_of(section.cases, 'case')}."


def extent(results: Comparison) -> Sentence:
    """How many of the cases are compared and how they are weighted, after the number of cases."""
    compared = "" if results.compared == results.cases else f", {count(results.compared)} of them compared"
    if not results.weighted:
        return sentence(compared, ", all of the same weight")
    return sentence(compared, ", weighted", *((" by ", name(results.weight)) if results.weight else ()))


def classes(results: Comparison) -> str:
    """How many classes there are."""
    many = f"{int(results.classes):,}" if results.classes.isdecimal() else visible(results.classes)
    return "classes per case" if results.classes == "per case" else f"{many} classes"


def _intervals(results: Comparison) -> list[str]:
    marks = [mark for row in _rows(results) for mark in row.scores.values()]
    if not any(_has_interval(e) for mark in marks for e in (mark.mean, mark.difference)):
        return []
    method = stripped(results.method)
    return [f"Intervals are at {percent(results.level)}{': ' if method else ''}{method}."]


def penalty(results: Comparison) -> str:
    """What invalid lists pay."""
    if not any(row.invalid for row in _rows(results)):
        return "No list is invalid, so none pays a penalty."
    if results.penalty is None:
        return "Invalid lists pay the penalty that is the default of each rule."
    return f"Invalid lists pay a penalty of {results.penalty:g}."


def policy(results: Comparison, shown: Shown) -> Sentence:
    """What is done about missing predictions, and to how many of each model."""
    said: list[Words] = [_MISSING.get(results.missing, visible(results.missing))]
    own = [o for o in results.sources if o.name in shown]
    filled, left_out = [(o, o.filled) for o in own if o.filled], [(o, o.left_out) for o in own if o.left_out]
    for what, counts in (("filled in", filled), ("left out", left_out)):
        if counts:
            said += [f"; {what}: ", *series(sentence(shown[o.name], f" {count(n)}") for o, n in counts)]
    return sentence(*said, ".")


def read_in(origin: Source) -> list[str]:
    """The units in which numbers were read, where these are no probabilities."""
    return [what.removeprefix(SCALE) for what, n in origin.repairs.items() if n and what.startswith(SCALE)]


def repaired(origin: Source) -> dict[str, int]:
    """What was repaired, and in how many cases."""
    return {what: n for what, n in origin.repairs.items() if n and not what.startswith(SCALE)}


def repairs(counts: Mapping[str, int], limit: int = LIMIT) -> str:
    """Repairs in a row, with the number of cases of each; nothing where there are none."""
    return listed(f"{plain(repair, limit)} ({number_of(n, 'case')})" for repair, n in counts.items() if n)


# Intervals that are missing or have no width


def _has_interval(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.low is not None and estimate.high is not None


def reasons(section: Group, *, detail: bool = False) -> tuple[str, ...]:
    """Why intervals are missing, a sentence for each reason, for a terminal."""
    return tuple(map(str, missing_intervals(section, PLAIN, detail=detail)))


def missing_intervals(section: Group, shown: Shown, *, detail: bool = False) -> list[Sentence]:
    """Why intervals are missing, each reason once; of differences for the first rule, in detail for all."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for row in section.rows:
        own = list(row.scores.values())
        marks = [(mark, mark.mean) for mark in own]
        marks += [(mark, mark.difference) for mark in own[: None if detail else 1] if mark.difference is not None]
        for mark, estimate in marks:
            why = "" if _has_interval(estimate) else stripped(estimate.reason)
            if why:
                who, rules = found.setdefault(why, ({}, {}))
                who[row.name] = rules[mark.rule] = None
    every, all_rules = len(section.rows), {mark.rule for row in section.rows for mark in row.scores.values()}
    return [
        sentence(
            "No interval for ",
            *(["any model"] if len(who) == every > 1 else series(shown[one] for one in who)),
            "" if len(rules) == len(all_rules) else f" under {listed(map(scores, rules))}",
            f": {why}.",
        )
        for why, (who, rules) in found.items()
    ]


def without_spread(results: Comparison, shown: Shown) -> list[Sentence]:
    """Models whose scores do not vary, and pairs whose difference does not."""
    found, unit = [], results.unit
    for i, rule in enumerate(results.rules):
        who = [shown[row.name] for row in results.overall.rows if flat(row.scores[results.rules[i]].mean)]
        end = f" are the same in every {unit}, so there is no spread to make an interval of. That does not make the"
        if who:
            found.append(sentence(f"The {kind(rule)} scores of ", *series(who), f"{end} mean precise."))
    for rule in results.rules:
        same = [v.pair for v in verdicts(results, rule) if flat(v.pair.difference) and v.pair.difference.value]
        start = f"Under {scores(rule)}, the difference is the same in every {unit} between "
        end = ". A test takes that for certainty; it is for the reader to judge."
        if same:
            found.append(sentence(start, *series(sentence(shown[p.a], " and ", shown[p.b]) for p in same), end))
    return found


# The leader, and whether its lead is significant


def lede(results: Comparison, shown: Shown) -> list[Sentence]:
    """First lines: the leader, whether its lead is significant, and the number of cases."""
    rows = results.overall.rows
    if not rows:
        return [sentence("Nothing was compared.")]
    first, mark = rows[0], rows[0].scores[results.rules[0]]
    if len(rows) == 1:
        score = fixed(mark.mean.value, decimals([mark.mean]))
        return [sentence(shown[first.name], f" has a mean {kind(mark.rule)} score of {score}{_over(results)}.")]
    said = [_leads(results, shown)]
    own = [v for v in verdicts(results, results.rules[0]) if first.name in (v.pair.a, v.pair.b)]
    beaten = sum(v.sure and v.better == first.name for v in own)
    ahead = [shown[v.better] for v in own if v.sure and v.better not in (None, first.name)]
    equal = [shown[v.pair.b if v.pair.a == first.name else v.pair.a] for v in own if v.kind == "unsure"]
    if own and beaten == len(own):
        said.append(sentence(f"It is significantly better than {'the other one' if beaten == 1 else 'all others'}."))
    elif own and not beaten and len(equal) == len(own):
        said.append(sentence("It is not significantly better than any other."))
    elif own and not any(v.tested for v in own):
        said.append(sentence("Whether that is more than chance could not be tested."))
    elif own:
        few = f"It is significantly better than {count(beaten)} of the {count(len(own))} others"
        said.append(sentence(few, *([", while ", *series(equal, 3), " may be as good"] if equal else []), "."))
    if ahead:
        said.append(sentence("On the cases of both it is significantly worse than ", *series(ahead, 3), "."))
    said += [  # infinite scores under another rule
        sentence(f"Under {scores(m.rule)} its mean is infinite, because of {_of_cases(m.infinite, first)}.")
        for m in list(first.scores.values())[1:]
        if m.infinite
    ]
    members = () if results.confidence_set is None else results.confidence_set.members
    told = {shown[who] for who in members} == {shown[first.name], *equal}  # which the sentences above say as well
    return [*said, *best(results, shown)[:1]] if members and not told else said


def _of_cases(n: int, row: ModelRow) -> str:
    return f"{count(n)} of {number_of(row.cases, 'case')}"


def _leads(results: Comparison, shown: Shown) -> Sentence:
    first, mark = results.overall.rows[0], results.overall.rows[0].scores[results.rules[0]]
    rule = kind(mark.rule)
    if mark.infinite:
        how = f"the fewest infinite {rule} scores, {count(mark.infinite)}"
    elif results.missing == "pairwise" and mark.relative is not None:
        how = f"a relative {rule} score of {fixed(mark.relative.value, 3)}, where below 1 is better,"
    else:
        how = f"the lowest mean {rule} score, {fixed(mark.mean.value, decimals([mark.mean]))},"
    return sentence(shown[first.name], f" leads with {how}{_over(results)}.")


def _over(results: Comparison) -> str:
    """On how many cases, in how many clusters or at how many time points."""
    own = results.overall.rows[0].cases
    if own != results.compared:  # clusters are of all cases, so they say nothing about some of these
        return f" over {count(own)} of {number_of(results.compared, 'case')}"
    among = {"cluster": " in ", "time point": " at "}.get(results.unit, "")
    units = f"{among}{number_of(results.units, results.unit)}" if among and results.units else ""
    return f" over {number_of(own, 'case')}{units}"


def infinities(results: Comparison, shown: Shown) -> list[Sentence]:
    """Models with infinite scores, by rule."""
    found = []
    for i, rule in enumerate(results.rules):
        hit = [row for row in results.overall.rows if row.scores[results.rules[i]].infinite]
        who = series(
            sentence(shown[row.name], f" ({_of_cases(row.scores[results.rules[i]].infinite, row)})") for row in hit
        )
        first = "" if i else ", and ranking counts these cases first"
        means = f". Such a mean is infinite, has no interval and cannot be tested{first}."
        if hit:
            found.append(sentence(f"Under {scores(rule)}, some scores are infinite: ", *who, means))
    if found and results.penalty is None:
        found.append(sentence("A score is infinite where what happened was given no chance at all."))
    return found


def best(results: Comparison, shown: Shown) -> list[Sentence]:
    """The members of the confidence set of the best model, or why there is no such set."""
    chosen = results.confidence_set
    if chosen is None:
        return []
    if not chosen.members:
        why = stripped(chosen.reason) or "nobody is in it"
        return [sentence(f"There is no confidence set for the best under {scores(chosen.rule)}: {why}.")]
    why = visible(chosen.reason).strip()
    end = "" if why.endswith((".", "!", "?")) else "."
    return [_members(results, chosen, shown), *([sentence(f"{why[:1].upper()}{why[1:]}{end}")] if why else [])]


def _members(results: Comparison, chosen: ConfidenceSet, shown: Shown) -> Sentence:
    members, every = [shown[who] for who in chosen.members], [row.name for row in results.overall.rows]
    rule, level = scores(chosen.rule), percent(chosen.level)
    if len(members) == 1 and chosen.seed is None:  # nothing was tested
        return sentence(
            members[0], " is alone here." if len(every) == 1 else f" alone has no infinite scores under {rule}."
        )
    pairs, edge = verdicts(results, chosen.rule), ""
    if pairs and set(chosen.members) != set(every) - {v.worse for v in pairs if v.sure}:
        edge = " That is a test of all at once; tests of pairs draw the line elsewhere, and near it nothing is sure."
    if len(members) == 1:
        said = " alone is left in the confidence set of the best" if edge else " is the best"
        return sentence(members[0], f"{said} under {rule}, at {level} confidence.{edge}")
    if len(members) == len(every):
        return sentence(f"At {level} confidence nobody can be ruled out as the best under {rule}.{edge}")
    return sentence(f"The best under {rule} is among ", *series(members), f", at {level} confidence.{edge}")


# Pairs


def different(tested: int, sure: int, pairs: int) -> str:
    """How many pairs differ significantly, of those that can be tested.

    >>> different(9, 1, 10), different(10, 4, 10)
    ('1 of 9 pairs that can be tested is significantly different', '4 of 10 pairs are significantly different')
    """
    if not tested:
        return "No pair can be tested"
    which = noun(tested, "pair") + ("" if tested == pairs else " that can be tested")
    return f"{count(sure)} of {count(tested)} {which} {noun(sure, 'is', 'are')} significantly different"


def _apart(results: Comparison) -> list[str]:
    """How many pairs differ significantly, and how many more units the first pair would need."""
    found = verdicts(results, results.rules[0])
    tested, sure = sum(v.tested for v in found), sum(v.sure for v in found)
    how = f"under {scores(results.rules[0])} (Holm, {percent(results.level)})"
    said = [f"{different(tested, sure, len(found))} {how}."] if tested and len(found) > 1 else []
    if found and (first := found[0].pair).extra_units:
        few = needed(first.extra_units, results.unit, results.units)
        said.append(f"{plain(first.a)} and {plain(first.b)} may be equal; {few}.")
    return said


def needed(more: int, unit: str, units: int) -> str:
    """How many further units would tell two apart, as far as that can be said from so many.

    >>> needed(46, "case", 30)
    'about 46 more cases like these would tell them apart 4 times in 5, looked at alone'
    >>> needed(32_557, "time point", 28)
    'it would take more than 10 times as many time points as there are'
    """
    if units and more > _FAR * units:
        return f"it would take more than {_FAR} times as many {unit}s as there are"
    there = "" if unit == "case" else ", if there are as many"
    like = f"about {count(more)} more {noun(more, unit)} like these"
    return f"{like} would tell them apart 4 times in 5, looked at alone{there}"


def tally(results: Comparison, rule: str) -> str:
    """How many pairs are sure, and what that means."""
    found = verdicts(results, rule)
    if not found and len(results.overall.rows) < 2:
        return "There is one model only, so there is nothing to tell apart."
    if not found:
        return f"Pairs were not tested under {scores(rule)}."
    tested, sure = sum(v.tested for v in found), sum(v.sure for v in found)
    if not tested:
        whom = "The pair could not" if len(found) == 1 else f"None of the {number_of(len(found), 'pair')} could"
        return f"{whom} be tested under {scores(rule)}."
    if not sure:
        said = f"No difference is significant under {scores(rule)}: the order of the table may be chance."
    elif sure == len(found):
        said = (
            f"Every difference is significant under {scores(rule)}." if sure > 1 else "The difference is significant."
        )
    else:
        said = f"Of {number_of(len(found), 'pair')}, {count(sure)} {noun(sure, 'is', 'are')} significantly different "
        said += f"under {scores(rule)} and {count(tested - sure)} may be equal"
        said += f"; {count(len(found) - tested)} could not be tested." if tested < len(found) else "."
    return (
        f"{said} Significant means that the p value of the paired difference, adjusted by Holm's method for looking at "
        f"{number_of(tested, 'pair')}, is at most {1 - results.level:.6g}."
    )


def sure(results: Comparison, shown: Shown, rule: str) -> list[Sentence]:
    """The models that each model is significantly better than, a sentence for each that beats any."""
    wins: dict[str, set[str]] = {}
    for better, worse in _wins(results, rule):
        wins.setdefault(better, set()).add(worse)
    order = [row.name for row in results.overall.rows]
    return [
        sentence(shown[who], " is significantly better than ", *_beaten(who, wins[who], order, shown), ".")
        for who in order
        if who in wins
    ]


def _beaten(who: str, beaten: set[str], order: Sequence[str], shown: Shown) -> list[Name | str]:
    """All others, all from one place of the table on, or these."""
    if len(beaten) == len(order) - 1 and len(beaten) > 1:
        return ["all others"]
    first = min(map(order.index, beaten))
    if len(beaten) > 2 and order.index(who) < first and set(order[first:]) == beaten:
        return [shown[order[first]], f" and the {count(len(beaten) - 1)} below it in the table"]
    return series(shown[other] for other in order if other in beaten)


def _wins(results: Comparison, rule: str) -> dict[tuple[str, str], None]:
    """The sure pairs, the better one first."""
    found = verdicts(results, rule)
    return {(v.better, v.worse): None for v in found if v.sure and v.better is not None and v.worse is not None}


def unsure(results: Comparison, shown: Shown, rule: str) -> list[Sentence]:
    """Pairs that may be equal, with what it would take to tell them apart; the first ones of the table."""
    every = verdicts(results, rule)
    found, tested = [v for v in every if v.kind == "unsure"], sum(v.tested for v in every)
    said = [_unsure(results, v, shown, tested) for v in found[:_UNSURE]]
    if (more := len(found) - _UNSURE) > 0:
        said.append(sentence(f"{count(more)} more {noun(more, 'pair')} may be equal; the table below has them all."))
    return said


def _unsure(results: Comparison, v: PairwiseVerdict, shown: Shown, tested: int) -> Sentence:
    pair, d, unit = v.pair, v.pair.difference, results.unit
    both: list[Words] = [shown[pair.a], " and ", shown[pair.b]]
    if flat(d) and d.value == 0:
        return sentence(*both, f" have the same {kind(pair.rule)} score in every {unit}.")
    value, low, high = (fixed(x, decimals([d]), signed=True) for x in (d.value, d.low, d.high))
    interval = f" ({low} to {high})" if _has_interval(d) else ""
    if pair.extra_units is None:
        takes = f"How many more {unit}s would tell them apart cannot be said"
    elif pair.extra_units == 0:
        takes = f"Alone they would be told apart, but not among {number_of(tested, 'pair')}"
    else:  # two digits: it is a guess
        more = round(pair.extra_units, 2 - len(str(pair.extra_units))) if pair.extra_units >= 100 else pair.extra_units
        few = needed(more, unit, results.units)
        takes = f"{few[:1].upper()}{few[1:]}"
    found = f" may be equal: difference {value}{interval}, adjusted p {small(pair.adjusted_p)}. {takes}."
    return sentence(*both, found)


def untested(results: Comparison, shown: Shown, rule: str) -> list[Sentence]:
    """Pairs without a test, for each reason; infinite means have their own sentence."""
    found: dict[str, list[Sentence]] = {}
    for v in verdicts(results, rule):
        if v.kind == "untested":
            why = stripped(v.pair.difference.reason) or "there is no p value"
            found.setdefault(why, []).append(sentence(shown[v.pair.a], " and ", shown[v.pair.b]))
    return [sentence("Not tested: ", *series(who), f". The reason: {why}.") for why, who in found.items()]


def against_ranks(results: Comparison, shown: Shown) -> list[Sentence]:
    """Pairs whose lower ranked model is significantly better on the cases of both, where ranks go by all others."""
    place = {row.name: i for i, row in enumerate(results.overall.rows)}
    wins = [v for v in verdicts(results, results.rules[0]) if v.sure and v.better is not None and v.worse is not None]
    found = [v for v in wins if place.get(v.better or "", 0) > place.get(v.worse or "", len(place))]
    said = []
    for v in found[:MOST]:
        by = fixed(abs(v.pair.difference.value), decimals([v.pair.difference]))
        where = f", yet is significantly worse on the {number_of(v.pair.cases, 'case')} of both, by {by}."
        said.append(sentence(shown[v.worse or ""], " stands above ", shown[v.better or ""], where))
    if (more := len(found) - MOST) > 0:
        said.append(sentence(f"{_others(more, 'stands', 'stand')} in the table against their result."))
    if found:
        said.append(sentence("The order goes by how each did against all others, not by single pairs."))
    return said


def _others(n: int, does: str, do: str) -> str:
    return f"{count(n)} more {noun(n, 'pair')} {noun(n, does, do)}"


# Where accuracy, or another rule, says otherwise


@dataclass(frozen=True, slots=True)
class RankDisagreement:
    """A pair where one scores better and the other is right more often, by how much."""

    verdict: PairwiseVerdict
    guess: PairwiseVerdict | None  # of first guesses, on the cases of both
    gap: float
    alike: bool  # both predict the same cases


def disagreeing(results: Comparison) -> tuple[list[RankDisagreement], int]:
    """Pairs where accuracy says otherwise, the sure ones first, then by how much; and how many cannot be looked at.

    Accuracies are compared on the same cases or not at all: a difference of zero-one scores is on the cases of both.
    """
    guesses = {(v.pair.a, v.pair.b): v for v in verdicts(results, _GUESS)} if _GUESS in results.rules else {}
    rows = {row.name: row for row in results.overall.rows}
    found, left_out = [], 0
    for v in verdicts(results, results.rules[0]):
        if v.better is None or v.worse is None or not math.isfinite(v.pair.difference.value):
            continue
        guess = guesses.get((v.pair.a, v.pair.b))
        alike = rows[v.pair.a].cases == rows[v.pair.b].cases == v.pair.cases
        if alike:
            gap = rows[v.worse].metrics["accuracy"].value - rows[v.better].metrics["accuracy"].value
        elif guess is None:
            left_out += 1
            continue
        else:
            gap = guess.pair.difference.value * (-1 if guess.pair.a == v.worse else 1)
        if gap > 0:
            found.append(RankDisagreement(v, guess, gap, alike))
    return sorted(found, key=lambda one: (not one.verdict.sure, -one.gap)), left_out


def against_accuracy(results: Comparison, shown: Shown) -> list[Sentence]:
    """Pairs where one scores better and the other is right more often: the sure ones first, then by how much."""
    found, left_out = disagreeing(results)
    said = [_against(results, one, shown) for one in found[:MOST]]
    if len(found) > MOST:
        said.append(sentence(f"{_others(len(found) - MOST, 'disagrees', 'disagree')} in the same way."))
    if left_out:
        are = f"{number_of(left_out, 'pair')} {noun(left_out, 'is', 'are')}"
        why = "the two did not predict the same cases, so their accuracies do not say who is right more often"
        remedy = "With the rule zero-one, first guesses are compared on the cases of both."
        said.append(sentence(f"{are} not looked at here: {why}. {remedy}"))
    return said


def _against(results: Comparison, one: RankDisagreement, shown: Shown) -> Sentence:
    v, guess, better, worse = one.verdict, one.guess, one.verdict.better or "", one.verdict.worse or ""
    rows = {row.name: row for row in results.overall.rows}
    but = f", but has the worse {kind(v.pair.rule)} score ({'significantly' if v.sure else 'not significantly'})."
    if one.alike:
        own, other = rate(rows[worse].metrics["accuracy"].value), rate(rows[better].metrics["accuracy"].value)
        said = sentence(f" is right more often ({own} of all cases, against {other} for ", shown[better], ")")
    else:
        by = f" by {rate(one.gap)} on the {number_of(v.pair.cases, 'case')} of both"
        said = sentence(" is right more often than ", shown[better], by)
    if guess is not None and guess.tested:
        as_sure = guess.sure and guess.better == worse
        but += f" The difference in accuracy is {'significant too' if as_sure else 'not significant'}."
    return sentence(shown[worse], said, but)


def between_rules(results: Comparison, shown: Shown) -> list[Sentence]:
    """The leader under each further rule, and pairs that two rules order in opposite ways, both significantly."""
    said = [_leader(results, shown, i) for i in range(1, len(results.rules)) if len(results.overall.rows) > 1]
    wins = {rule: _wins(results, rule) for rule in results.rules}
    for one, other in combinations(results.rules, 2):
        crossed = [(a, b) for a, b in wins[one] if (b, a) in wins[other]]
        under = f" under {scores(one)}, and significantly worse under {scores(other)}."
        said += [sentence(shown[a], " is significantly better than ", shown[b], under) for a, b in crossed[:MOST]]
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
    whole = sum(not row.scores[results.rules[i]].infinite for row in rows)
    mark, who = lead.scores[results.rules[i]], shown[lead.name]
    score = fixed(mark.mean.value, 4)
    if not whole:
        few = (
            "has the fewest"
            if len({row.scores[results.rules[i]].infinite for row in rows}) > 1
            else "comes first by the finite ones"
        )
        return sentence(f"Under {rule} every model has infinite scores; ", who, f" {few}.{tail}")
    if whole == 1 and len(rows) > 1:
        return sentence(f"Under {rule}, ", who, f" alone has no infinite scores; its mean is {score}.{tail}")
    among = f" among the {count(whole)} without infinite scores" if whole < len(rows) else ""
    what, value = "mean", score
    if pairwise and mark.relative is not None:
        what, value = "relative score", fixed(mark.relative.value, 3)
    if lead.name == results.overall.rows[0].name:
        return sentence(f"Under {rule}, ", who, f" leads as well{among}, {what} {value}.{tail}")
    return sentence(f"Under {rule}, ", who, f" has the lowest {what}{among}, {value}.{tail}")


def _tested(results: Comparison, rule: str) -> str:
    found = verdicts(results, rule)
    return f" {different(sum(v.tested for v in found), sum(v.sure for v in found), len(found))}." if found else ""


def deciding(one: Decided, shown: Shown) -> list[Sentence]:
    """What the difference of two models is made of, and how few cases it hangs on."""
    found, better, worse = one.found, shown[one.better], shown[one.worse]
    where: dict[str, Words] = {
        "both right": "both are right",
        "only a right": sentence("only ", worse, " is right"),
        "only b right": sentence("only ", better, " is right"),
        "both wrong": "both are wrong",
        "shared": "the first place is shared",
    }

    def signed(total: float) -> str:
        return fixed(total / one.weight, 4, signed=True)

    parts = [
        sentence(f"{signed(part.difference)} from {number_of(part.cases, 'case')} where ", where[part.name])
        for part in found.splits
        if part.cases
    ]
    whole = f": {signed(found.difference)} in mean {kind(found.rule)} score, made of "
    few = "the one case" if found.turning == 1 else f"the {count(found.turning)} cases"
    most = f"Without {few} of {count(found.cases)} that {noun(found.turning, 'speaks', 'speak')} most for "
    return [
        sentence(worse, " minus ", better, whole, *series(parts), "."),
        sentence(most, better, ", the difference would be gone."),
    ]


# Calibration


def confidence(judged: Mapping[str, CalibrationVerdict], shown: Shown) -> list[Sentence]:
    """Models that are over- or underconfident by the test of calibration, adjusted for the number of tested models."""
    from toplist.calibration.testing import SIGNIFICANT  # noqa: PLC0415  terminals do without

    tested = {who: one for who, one in judged.items() if who in shown and one.test is not None}
    adjusted = holm([None if one.test is None else one.test.tail for one in tested.values()])
    groups: dict[str, list[Sentence]] = {}
    for (who, one), p in zip(tested.items(), adjusted, strict=True):
        alone, found = one.direction(), one.direction(p)
        if one.test is None or p is None or alone is None or found is None:
            continue
        key, how = str(found), f"p = {small(one.test.p)}"
        if one.test.p <= SIGNIFICANT < p:
            key, how = "unsure", f"{how} alone, {small(p)} among {number_of(len(tested), 'model')}"
        gap = one.mass_bias if found.startswith("mass") else one.biased if key == "undecided" else one.bias
        groups.setdefault(key, []).append(sentence(shown[who], f" ({how}{_bias(gap)}{_detectable(gap, key)})"))
    said = [sentence(f"{_DIRECTIONS[key]}: ", *series(groups[key], 20), ".") for key in _DIRECTIONS if key in groups]
    many = f", also when adjusted by Holm's method for {number_of(len(tested), 'model')}," if len(tested) > 1 else ""
    means = f"p is that of the test of calibration; only what it finds at {percent(SIGNIFICANT)}{many} is called so."
    beside = [  # whose test is of some of the cases, and who has none
        sentence(shown[who], f": {note}")
        for who, one in judged.items()
        if who in shown
        for note in one.notes
        if note.startswith(("The test", "There is no test"))
    ]
    return [*said, *([sentence(means)] if said else []), *beside]


def _bias(gap: CalibrationBias | None) -> str:
    """The difference of the mean confidence and the rate of hits, with its interval."""
    if gap is None:
        return ""
    away = Estimate(gap.difference, gap.low, gap.high)
    value, low, high = (fixed(x, decimals([away]), signed=True) for x in (away.value, away.low, away.high))
    between = "" if gap.low is None else f", {percent(gap.level)} interval {low} to {high}"
    return f"; confidence {rate(gap.mean_confidence)}, right {rate(gap.hit_rate)}: difference {value}{between}"


def _detectable(gap: CalibrationBias | None, key: str) -> str:
    """The difference that would have been found, where there is no evidence of one."""
    if key != "none" or gap is None or gap.detectable is None:
        return ""
    least = fixed(gap.detectable, decimals([Estimate(gap.difference, gap.low, gap.high)]))
    return f"; {least} or more would have been found 4 times in 5"


# Anytime-valid comparisons


def assumed(paths: Sequence[SequentialPath]) -> str:
    """What is taken for granted, and by which steps the paths go."""
    units = dict.fromkeys(path.unit for path in paths) or {"case": None}
    return " ".join(_ASSUMED[unit] for unit in units)


def ending(path: SequentialPath) -> Estimate:
    """The mean difference after all cases, with its anytime-valid interval."""
    if not path.mean:
        return Estimate(math.nan, reason=path.reason or "there are no cases")
    low, high = (path.low[-1], path.high[-1]) if path.low else (None, None)
    return Estimate(path.mean[-1], low, high, path.reason)


def findings(path: SequentialPath, shown: Shown) -> list[Sentence]:
    """What was shown and when, without a full stop: who was better at some time, and who on average."""
    a, b = path.candidate, path.baseline
    found = [(path.shown_better, a, b, "at some time"), (path.shown_worse, b, a, "at some time")]
    if path.separated is not None:
        mean = path.mean[min(bisect_left(path.at, path.separated), len(path.at) - 1)]
        found.append((path.separated, *((a, b) if mean < 0 else (b, a)), "on average"))
    said = [
        sentence(f"after {_steps(when, path)} ", shown[one], " was shown to be better than ", shown[other], f" {how}")
        for when, one, other, how in found
        if when is not None
    ]
    last = path.at[-1] if path.at else 0
    return said or [sentence("no difference to ", shown[b], f" is shown in {_steps(last, path)}")]


def _steps(n: int, path: SequentialPath) -> str:
    return number_of(n, path.unit)


def path_story(path: SequentialPath, shown: Shown) -> list[Sentence]:
    """What the path says at its end, when it first said so, and why it does not say more."""
    why, a, b = stripped(path.reason), shown[path.candidate], shown[path.baseline]
    if not path.at:
        return [sentence(a, " against ", b, f": {why or 'there are no cases'}.")]
    end = ending(path)
    value, low, high = (fixed(x, decimals([end]), signed=True) for x in (end.value, end.low, end.high))
    between = f", between {low} and {high} at {percent(path.level)} however often one looks" if path.low else ""
    start = f"after {_steps(path.at[-1], path)}, the mean {kind(path.rule)} score of "
    last = sentence(start, a, " minus that of ", b, f" is {value}{between}. Below zero, the first is better")
    told = [last, *findings(path, shown), *([sentence(why)] if why else [])]
    return [sentence(capital(one), ".") for one in told]


def conclusions(path: SequentialPath) -> list[str]:
    """What may be said of the candidate in a terminal, and why not more."""
    who, why = plain(path.candidate), stripped(path.reason)
    return [f"{who}: {'; '.join(map(str, findings(path, PLAIN)))}.", *([f"{who}: {why}."] if why else [])]


def paths_table(paths: Sequence[SequentialPath]) -> TextTable:
    """All candidates against one baseline under one rule, with a sentence for each that says what may be concluded."""
    first, timed = paths[0], any(path.unit == "time point" for path in paths)
    level = percent(first.level)
    columns = (
        Column("candidate", "left", essential=True, heading=True),
        Column("cases"),
        *([Column("time points")] if timed else []),
        Column(f"mean difference, {level}", "left", essential=True),
        Column("e better"),
        Column("e worse"),
    )
    rows = tuple(
        (
            *(plain(path.candidate), count(path.cases), *([count(path.at[-1])] if timed else [])),
            *(shown, e_value(path.log_evidence_better[-1]), e_value(path.log_evidence_worse[-1])),
        )
        for path, shown in zip(paths, spans(list(map(ending, paths)), signed=True), strict=True)
    )
    title = f"Against {plain(first.baseline)} by {plain(first.rule)}, however often one looks"
    said = [said for path in paths for said in conclusions(path)]
    enough = f"Below zero the candidate is better; an e-value of {1 / (1 - first.level):.4g} shows it at {level}."
    return TextTable(title, columns, rows, (*said, enough, assumed(paths)))


def e_value(log: float) -> str:
    """An e-value from its logarithm, however large.

    >>> e_value(0.0), e_value(2000.0), e_value(math.inf)
    ('1', '1e+869', 'inf')
    """
    if math.isinf(log) or abs(log) < 600:
        return f"{math.exp(log):.3g}"
    return f"1e{log / math.log(10):+.0f}"
