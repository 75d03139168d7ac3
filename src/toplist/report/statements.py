"""Every sentence about results, made once: terminals and markup take it as a string, pages with its names marked.

`shown` says how models are called. Those on calibration are in `calibration_statements`, those on anytime-valid
comparisons in `path_statements`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

from toplist._text import fixed, visible
from toplist.inference.ranking import PairwiseVerdict, judge, significant, verdicts
from toplist.inference.results import Comparison, Estimate, Group, ModelRow, PairCases, RuleScore
from toplist.inference.results import SourceSummary as Source
from toplist.report.text import (
    FEWEST_DECIMALS,
    LIMIT,
    Name,
    Sentence,
    Shown,
    Words,
    count,
    in_digits_of,
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
    share,
    spelled,
    stripped,
)

MOST = 3  # pairs that disagree, before the others are counted
SCALE = "scale: "  # how numbers were read, which is no repair
FAR_LEAD = 10  # largest losses: a lead of more is not put into words
_FAR = 10  # times the units there are: beyond it, what it would take is a guess at nothing
_FEWEST_PLANNED = 30  # cases from which on their spread tells how many more are needed
_ZERO_ONE = "zero-one"  # the rule that is one minus accuracy
_FEWEST_CASES = 10  # that a difference of accuracies is made of before the normal approximation is used
_MISSING = {
    "error": "No prediction is missing",
    "common": "Only cases that every model predicts are compared",
    "pairwise": "Each model is scored on the cases it predicts, and compared on the cases of both",
    "uniform": "Missing predictions are scored as the uniform prediction",
    "worst": "Missing predictions are scored as those of the model with the worst score in the case, which assumes "
    "that they would have been no better",
    "baseline": "Missing predictions are scored as those of the baseline, which assumes that they would have been as "
    "good",
}
_RULE = 30  # characters of a rule's name
_METHOD = 40  # characters of what an interval is called
_NAMES = 4  # in a verdict, before the others are counted
MOST_WORDS = 40  # of a verdict


# What was compared


def setting(results: Comparison) -> Sentence:
    """What was compared and how, in a line: the rule, how many cases and classes, and the intervals."""
    cases = number_of(results.cases, "case")
    if results.compared != results.cases:
        cases += f" ({count(results.compared)} compared)"
    if results.unit != "case" and results.units:
        cases += f" {'in' if results.unit == 'cluster' else 'at'} {number_of(results.units, results.unit)}"
    by: list[Words] = [", weighted", *((" by ", name(results.weight)) if results.weight else ())]
    score = f"{kind(results.rules[0], _RULE)} score, lower is better."
    if results.missing == "pairwise":
        score = f"Relative {kind(results.rules[0], _RULE)} score on the cases of both, below 1 is better."
    found: list[Words] = [
        f"{score[:1].upper()}{score[1:]} {cases}, {classes(results)}",
        *(by if results.weighted else ()),
        ".",
    ]
    marks = [mark for row in _rows(results) for mark in row.scores.values()]
    if any(_has_interval(e) for mark in marks for e in (mark.mean, mark.difference)):
        brief = re.split(r",| \(| over ", method_text(results))[0].replace(" intervals", "")
        found.append(f" {percent(results.level)} CI{f' ({brief})' if 0 < len(brief) <= _METHOD else ''}.")
    return sentence(*found)


def method_text(results: Comparison) -> str:
    """How intervals are made; of one model nothing is paired."""
    method = stripped(results.method)
    return re.sub(r"\bpaired ", "", method) if len(results.overall.rows) < 2 else method


def method_notes(results: Comparison, shown: Shown) -> tuple[str, ...]:
    """All that is to be said about method and data, for readers who ask for every number."""
    found: list[Words] = [f"Lower is better; {classes(results)}, {number_of(results.cases, 'case')}{extent(results)}."]
    found += [*_intervals(results), *selected(results, shown)]
    if any(row.invalid for row in _rows(results)):
        found.append(penalty(results))
    if results.missing != "error" or any(o.filled or o.left_out for o in results.sources):
        found.append(policy(results, shown))
    few = [row for row in results.overall.rows if row.rank is None]
    if few and results.min_cases is not None:
        who = listed(f"{shown[row.name]} ({count(row.cases)})" for row in few)
        found.append(f"Not ranked, with fewer than {number_of(results.min_cases, 'compared case')}: {who}.")
    found += [*repairs_made(results, shown), *infinities(results, shown), *missing_intervals(results.overall, shown)]
    tested = verdicts(results, results.rules[0])
    if tested:
        found.append(tally(results, results.rules[0]))
    found += [
        *leads(results, shown),
        *best(results, shown),
        *against_ranks(results, shown),
        *between_rules(results, shown),
    ]
    return tuple(map(str, found))


def doubts(results: Comparison, shown: Shown) -> list[Sentence]:
    """Why the board may not be right, under a heading that says so."""
    return [
        sentence(*series(shown[who] for who in one.models if who in shown), f": {visible(one.sentence)}")
        for one in results.warnings
    ]


def groups_and_all(results: Comparison) -> tuple[Group, ...]:
    """All cases, then the groups."""
    return results.overall, *results.groups


def _rows(results: Comparison) -> list[ModelRow]:
    return [row for section in groups_and_all(results) for row in section.rows]


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
    method = method_text(results)
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


def repairs_made(results: Comparison, shown: Shown) -> list[Words]:
    """On which scale confidences were read, and what was repaired in which file."""
    scales = [(shown[source.name], scale) for source in results.sources for scale in read_in(source)]
    files = [(str(shown[one.name]), repaired(one)) for one in results.sources]
    files.append(("the truth", dict(results.truth_repairs)))
    return [
        *(sentence(who, f" was read on the {plain(scale)} scale.") for who, scale in scales),
        *(f"Repaired in {file}: {done}." for file, counts in files if (done := repairs(counts))),
    ]


def repairs(counts: Mapping[str, int], limit: int = LIMIT) -> str:
    """Repairs in a row, with the number of cases of each; nothing where there are none."""
    return listed(f"{plain(repair, limit)} ({number_of(n, 'case')})" for repair, n in counts.items() if n)


# Intervals that are missing or have no width


def _has_interval(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.low is not None and estimate.high is not None


def missing_intervals(section: Group, shown: Shown, *, detail: bool = False) -> list[Sentence]:
    """Why intervals are missing, each reason once; of differences for the first rule, in detail for all."""
    found: dict[tuple[str, bool], tuple[dict[str, None], dict[str, None]]] = {}
    for row in section.rows:
        own = list(row.scores.values())
        marks = [(mark, mark.mean, False) for mark in own]
        marks += [(mark, mark.difference, True) for mark in own[: None if detail else 1] if mark.difference is not None]
        for mark, estimate, to_leader in marks:
            why = "" if _has_interval(estimate) else stripped(estimate.reason)
            if why and not (to_leader and row.name in found.get((why, False), ({}, {}))[0]):
                who, rules = found.setdefault((why, to_leader), ({}, {}))
                who[row.name] = rules[mark.rule] = None
    every, all_rules = len(section.rows), {mark.rule for row in section.rows for mark in row.scores.values()}
    return [
        sentence(
            f"No interval for {'the difference to the leader of ' if to_leader else ''}",
            *(["any model"] if len(who) == every - to_leader > 1 else series(shown[one] for one in who)),
            "" if len(rules) == len(all_rules) else f" under {listed(map(scores, rules))}",
            f": {why}.",
        )
        for (why, to_leader), (who, rules) in found.items()
    ]


# What intervals and stars of differences mean


def at_once(results: Comparison, section: Group, rule: str) -> str:
    """What the intervals of differences hold for, after a comma; nothing where no pair was tested.

    >>> from toplist import compare
    >>> found = compare({"a": [0, 1], "b": [1, 1], "c": [0, 0]}, [0, 1], space=3).comparison
    >>> at_once(found, found.overall, "brier")
    ', with simultaneous 95% intervals for all 3 pairs'
    """
    level, grouped = percent(results.level), section.group is not None
    own = [pair for one in results.groups for pair in one.pairs] if grouped else results.pairs
    tested = sum(pair.adjusted_p is not None for pair in own if pair.rule == rule)
    where = f" in {number_of(len(results.groups), 'group')}" if grouped and len(results.groups) > 1 else ""
    if tested < 2:
        return f", with {level} intervals" if tested else ""
    return f", with simultaneous {level} intervals for all {count(tested)} pairs{where}"


def stars(results: Comparison) -> str:
    """What a star means, and why it may stand beside an interval that contains zero, where it does."""
    every = [*results.pairs, *(pair for group in results.groups for pair in group.pairs)]
    both = any(
        judge(pair, results.level).significant and (pair.simultaneous.low or 0.0) < 0 < (pair.simultaneous.high or 0.0)
        for pair in every
    )
    steps = "; it tests in steps, and may find more than the intervals" if both else ""
    return f"* marks significant ones (Holm, {percent(results.level)}{steps})"


STEPS = "Holm's method tests in steps: a difference may be significant whose simultaneous interval contains zero"


def in_steps(score: RuleScore, level: float) -> bool:
    """Whether the difference to the best is significant though its simultaneous interval contains zero."""
    d = score.difference
    if d is None or d.low is None or d.high is None:
        return False
    return significant(d, score.adjusted_p, level) and d.low < 0 < d.high


# Pairs as seen from one of the two


def pairs_with(results: Comparison, rule: str, model: str) -> dict[str, PairwiseVerdict]:
    """Every pair of a model, by the other one."""
    every = [v for v in verdicts(results, rule) if model in (v.pair.a, v.pair.b)]
    return {v.pair.b if v.pair.a == model else v.pair.a: v for v in every}


def less(first: str, v: PairwiseVerdict) -> Estimate:
    """The mean score of this model minus that of the other one, with the interval that holds for all pairs at once."""
    return v.pair.simultaneous if v.pair.a == first else -v.pair.simultaneous


# The verdict, and how sure it is


@dataclass(frozen=True, slots=True)
class Standing:
    """The models with the first rank under the first rule, and how every other ranked one compares with them."""

    leaders: tuple[str, ...]
    equal: tuple[str, ...]  # not significantly different
    beaten: tuple[str, ...]  # significantly worse
    ahead: tuple[str, ...]  # significantly better on the cases of both, where ranks go by all others
    infinite: tuple[str, ...]  # with infinite scores that the leaders do not have
    untested: tuple[str, ...]

    @property
    def others(self) -> int:
        """How many there are beside the leaders."""
        return sum(map(len, (self.equal, self.beaten, self.ahead, self.infinite, self.untested)))


def standing(results: Comparison, rule: str | None = None, leaders: tuple[str, ...] = ()) -> Standing:
    """How all others compare with the leaders, by `judge` and by nothing else.

    Leaders are the models of the first rank, unless others are named, as for another rule than the first.
    """
    rows = [row for row in results.overall.rows if row.rank is not None] or list(results.overall.rows)
    leaders = leaders or tuple(row.name for row in rows if row.rank == 1) or tuple(row.name for row in rows[:1])
    found: dict[str, list[str]] = {}
    every = verdicts(results, rule or results.rules[0])
    for who in dict.fromkeys(row.name for row in rows if row.name not in leaders):
        own = [v for v in every if who in (v.pair.a, v.pair.b) and {v.pair.a, v.pair.b} & {*leaders}]
        found.setdefault(_relation(own, who), []).append(who)
    return Standing(leaders, **{key: tuple(found.get(key, ())) for key in _RELATIONS})


_RELATIONS = ("equal", "beaten", "ahead", "infinite", "untested")


def _relation(own: Sequence[PairwiseVerdict], who: str) -> str:
    """How one compares with all leaders."""
    if any(v.significant and v.better == who for v in own):
        return "ahead"
    if own and all(v.significant for v in own):
        return "beaten"
    if own and all(v.tested for v in own):
        return "equal"
    return "infinite" if own and all(v.behind == who for v in own) else "untested"


def verdict(results: Comparison, shown: Shown, calibration: Sequence[Sentence] = ()) -> Sentence:
    """The answer in at most 40 words: the best model, and whether it is significantly better than the others.

    Parameters
    ----------
    results : Comparison
        What was compared.
    shown : mapping of str to Name
        How models are called.
    calibration : sequence of Sentence, optional
        What is said of calibration: the first of these that there is room for.

    """
    rows = results.overall.rows
    if not rows:
        return sentence("Nothing was compared.")
    if len(rows) == 1:
        said = [_alone(results, shown)]
    elif len(rows) == 2 and results.pairs and all(row.rank is not None for row in rows):
        said = _of_two(results, shown)
    else:
        said = _of_many(results, shown)
    found = said[0]
    for one in said[1:]:
        if words(found) + words(one) > MOST_WORDS:
            return found
        found = sentence(found, " ", one)
    clause = next((one for one in calibration if words(found) + words(one) <= MOST_WORDS), None)
    return found if clause is None else sentence(found, " ", clause)


def words(text: Sentence) -> int:
    """How many words there are, a name being one."""
    return len("".join("x" if isinstance(part, Name) else part for part in text.parts).split())


def _alone(results: Comparison, shown: Shown) -> Sentence:
    """The mean of the only model."""
    row = results.overall.rows[0]
    mark = row.scores[results.rules[0]]
    if mark.infinite:
        return sentence(
            shown[row.name], f" has infinite {kind(mark.rule, _RULE)} scores in {_of_cases(mark.infinite, row)}."
        )
    value = in_digits_of(mark.mean, mark.mean.value)
    said = f" has a mean {kind(mark.rule, _RULE)} score of {value}{_bracketed(_between(mark.mean, results.level))}"
    better = "" if mark.skill is None else over_uniform(mark.skill.value)
    return sentence(shown[row.name], f"{said}{better}.")


def over_uniform(skill: float) -> str:
    """The skill in words."""
    if not math.isfinite(skill) or not skill:
        return ""
    return f", {percent(round(abs(skill), 2))} {'better' if skill > 0 else 'worse'} than the uniform prediction"


def _between(estimate: Estimate, level: float, *, signed: bool = False) -> str:
    """An interval, to be written after its value; nothing where there is none."""
    if not _has_interval(estimate):
        return ""
    low, high = (in_digits_of(estimate, x, signed=signed) for x in (estimate.low, estimate.high))
    return f"{percent(level)} CI {low} to {high}"


def _of_two(results: Comparison, shown: Shown) -> list[Sentence]:
    """Whether the two are significantly different, by how much, and how many more cases would be needed."""
    found = next((v for v in verdicts(results, results.rules[0])), None)
    if found is None or not found.tested:
        return _of_many(results, shown)
    pair, rule = found.pair, kind(results.rules[0], _RULE)
    one, other = (pair.b, pair.a) if results.baseline == pair.a else (pair.a, pair.b)
    d = less(one, found)
    by, interval = in_digits_of(d, d.value, signed=True), _between(d, results.level, signed=True)
    on = f" on the {number_of(pair.cases, 'case')} of both" if results.missing == "pairwise" else ""
    if found.significant:
        how = "better" if found.better == one else "worse"
        by = f"{by}{_bracketed(interval)}{on}"
        return [sentence(shown[one], f" is significantly {how} than ", shown[other], f": {rule} {by}.")]
    few = needed(pair.extra_units, results)
    minus = sentence(
        f" ({rule}, ", shown[one], " minus ", shown[other], f": {by}{', ' if interval else ''}{interval}{on})"
    )
    both = sentence("No significant difference between ", shown[one], " and ", shown[other])
    return [sentence(both, minus, f"{'; ' if few else ''}{few}.")]


def _bracketed(text: str) -> str:
    return f" ({text})" if text else ""


def _of_many(results: Comparison, shown: Shown) -> list[Sentence]:
    """The best, what it is not significantly better than, and how many are significantly worse."""
    found = standing(results)
    best, one = _best(results, found, shown), len(found.leaders) == 1
    rest = found.others
    if rest and len(found.beaten) == rest:
        many = "both others" if rest == 2 else f"all {count(rest)} others"
        whom = [shown[found.beaten[0]]] if rest == 1 else [many]
        return [sentence(best, ", significantly better than ", *whom, ".")]
    is_ = "is" if one else "are"
    every = len(found.equal) == rest > _NAMES
    equal: Sequence[Words] = ["any of the others"] if every else series([shown[who] for who in found.equal], _NAMES)
    if found.ahead:
        worse = series([shown[who] for who in found.ahead], _NAMES)
        said = [sentence(best, f", but {is_} significantly worse than ", *worse, " on the cases of both.")]
        if equal:
            said.append(sentence(f"{'It is' if one else 'They are'} not significantly better than ", *equal, "."))
    else:
        said = [sentence(best, *([f", but {is_} not significantly better than ", *equal] if equal else []), ".")]
    left = [
        (found.beaten, "is significantly worse", "are significantly worse"),
        (found.infinite, "has infinite scores", "have infinite scores"),
        (found.untested, "could not be tested", "could not be tested"),
    ]
    kinds = sum(bool(who) for who, _, _ in left)
    for who, does, do in left:
        many = f"The other {spelled(len(who))}" if kinds == 1 else f"{spelled(len(who)).capitalize()} others"
        if who:
            said.append(sentence(shown[who[0]] if len(who) == 1 else many, f" {noun(len(who), does, do)}."))
    return said


def _best(results: Comparison, found: Standing, shown: Shown) -> Sentence:
    """Who is best, and by which number, without a full stop."""
    row = next(row for row in results.overall.rows if row.name == found.leaders[0])
    mark = row.scores[results.rules[0]]
    rule, have = kind(mark.rule, _RULE), noun(len(found.leaders), "has", "share")
    if mark.infinite:
        what = f"the fewest infinite {rule} scores, {_of_cases(mark.infinite, row)}"
    elif results.missing == "pairwise" and mark.relative is not None:
        what = f"the best relative {rule} score, {fixed(mark.relative.value, 3)}"
    else:
        what = f"the best mean {rule} score, {fixed(mark.mean.value, FEWEST_DECIMALS)}"
    return sentence(*series([shown[who] for who in found.leaders], _NAMES), f" {have} {what}")


def finding(place: Standing, shown: Mapping[str, str], score: str) -> str:
    """Who is best, as the title of a figure: the verdict without its numbers, and without a full stop.

    Parameters
    ----------
    place : Standing
        How the others compare with the best.
    shown : mapping of str to str
        How models are called.
    score : str
        What the models are compared by, such as "mean Brier score".

    """

    def some(who: Sequence[str]) -> str:
        return shown[who[0]] if len(who) == 1 else f"{count(len(who))} others"

    best, one, rest = listed(shown[who] for who in place.leaders), len(place.leaders) == 1, place.others
    if one and rest == len(place.equal) == 1:
        return f"No significant difference between {best} and {some(place.equal)}"
    if rest and len(place.beaten) == rest:
        every = shown[place.beaten[0]] if rest == 1 else "both others" if rest == 2 else f"all {count(rest)} others"
        return f"{best} {'is' if one else 'are'} significantly better than {every}"
    first = f"{best} {'is' if one else 'are'} best, but"  # by the number that decides the order, as in the verdict
    if place.ahead:
        return f"{first} significantly worse than {some(place.ahead)} on the cases of both"
    if place.equal:
        return f"{first} not significantly better than {some(place.equal)}"
    has = f"{best} {'has' if one else 'share'} the best {score}"
    return f"{has}, significantly better than {count(len(place.beaten))} of {rest} others" if place.beaten else has


def how_sure(results: Comparison, shown: Shown) -> tuple[str, list[Sentence]]:
    """How sure the verdict is: a heading, and one to three sentences.

    Returns
    -------
    str
        Such as "4 others not significantly different".
    list of Sentence
        How many pairs are significantly different, what it would take to tell the first two apart, and the models that
        no other one is significantly better than where these are not the ones that are tied.

    """
    found = verdicts(results, results.rules[0])
    if len(results.overall.rows) < 2 or not found:
        return "Nothing to compare with", [sentence(tally(results, results.rules[0]))]
    place, tested = standing(results), sum(v.tested for v in found)
    many = sum(v.significant for v in found)
    heading = _heading(place, shown) if tested else "Not tested"
    said = [sentence(f"{different(tested, many, len(found))} (Holm, {percent(results.level)}).")]
    first = next((v for v in found if v.kind == "not significant" and v.pair.a in place.leaders), None)
    if first is not None and (few := needed(first.pair.extra_units, results)):
        said.append(sentence(shown[first.pair.a], " and ", shown[first.pair.b], f": {few}."))
    chosen = results.confidence_set
    if chosen is not None and chosen.members and {*chosen.members} != {*place.leaders, *place.equal}:
        said += best(results, shown)[:1]
    return heading, said


def _heading(place: Standing, shown: Shown) -> str:
    """How the others compare with the best: losses of the best first, models that were not tested apart."""
    equal, beaten, lacking = len(place.equal), len(place.beaten), len(place.untested) + len(place.infinite)
    if not place.others:
        return "Equal scores" if len(place.leaders) > 1 else "Nothing to compare with"
    if equal == place.others:
        return "No significant difference"
    found = []
    if place.ahead:
        whom = shown[place.ahead[0]].text if len(place.ahead) == 1 else number_of(len(place.ahead), "other")
        found.append(f"Significantly worse than {whom} on the cases of both")
    if equal:
        found.append(f"{number_of(equal, 'other')} not significantly different")
    elif beaten and not place.ahead:
        many = "" if beaten == place.others == 1 else f" than all {count(beaten)} others"
        if beaten < place.others:
            many = f" than {count(beaten)} of {count(place.others)} others"
        found.append(f"Significantly better{many}")
    if lacking:
        found.append(f"{count(lacking)} not tested")
    return ", ".join(found)


# Two models case by case


@dataclass(frozen=True, slots=True)
class OnlyRight:
    """The cases that one of two models has right and the other has wrong."""

    model: str  # the one that is right
    other: str
    cases: int
    heading: Sentence


def only_one_right(one: PairCases, baseline: str | None, shown: Shown) -> tuple[OnlyRight, ...]:
    """The cases that only one of two models has right; nothing where the truth is a distribution.

    Against a baseline, those that the other model fixes (only it is right), then those that it breaks; between two
    models without one, neutral words in the order of the pair.
    """
    if not one.both_right + one.only_a_right + one.only_b_right + one.both_wrong:
        return ()
    counts = {one.a: one.only_a_right, one.b: one.only_b_right}
    order = (one.a, one.b) if baseline not in counts else tuple(sorted(counts, key=lambda who: who == baseline))
    found = []
    for who, other in (order, order[::-1]):
        cases = number_of(counts[who], "case")
        if baseline not in counts:
            heading = sentence("Only ", called_in(shown, who), f" right: {cases}")
        elif who != baseline:
            start = f"Fixed: {cases} right in "
            heading = sentence(start, called_in(shown, who), ", wrong in ", called_in(shown, other))
        else:
            start = f"Broken: {cases} wrong in "
            heading = sentence(start, called_in(shown, other), ", right in ", called_in(shown, who))
        found.append(OnlyRight(who, other, counts[who], heading))
    return tuple(found)


def top_1_cases(one: PairCases, baseline: str | None, shown: Shown) -> list[Sentence]:
    """Which of two models is right in how many cases, in a sentence; none where the truth is a distribution."""
    found = only_one_right(one, baseline, shown)
    if not found:
        return []
    both = f"both right in {count(one.both_right)}, both wrong in {count(one.both_wrong)}, of "
    both += f"{number_of(one.cases, 'case')}."
    first, second = found
    if baseline in (one.a, one.b):
        who = ("Top-1 predictions of ", called_in(shown, first.model), " against ", called_in(shown, first.other))
        return [sentence(*who, f": {count(first.cases)} fixed, {count(second.cases)} broken, {both}")]
    only = [(called_in(shown, each.model), f" right in {count(each.cases)}, ") for each in found]
    return [sentence("Top-1 predictions: only ", *only[0], "only ", *only[1], both)]


def called_in(shown: Shown, model: str) -> Name:
    """How a model is called, whether or not it is in the leaderboard."""
    return shown[model] if model in shown else name(model)


# The leader


def _of_cases(n: int, row: ModelRow) -> str:
    return f"{count(n)} of {number_of(row.cases, 'case')}"


def selected(results: Comparison, shown: Shown) -> list[Sentence]:
    """That the mean of the leader is optimistic, where it was chosen among more than two."""
    rows = [row for row in results.overall.rows if row.rank is not None]
    if len(rows) < 3 or not _has_interval(rows[0].scores[results.rules[0]].mean):
        return []
    chosen = (
        f" was selected as the best of {count(len(rows))} models on these cases: its mean is too low on average, and "
    )
    rest = f"its interval covers the true mean less often than {percent(results.level)}."
    return [sentence(shown[rows[0].name], chosen, rest)]


def leads(results: Comparison, shown: Shown) -> list[Sentence]:
    """What significant leads of the first model add up to, the smallest first, where one case could undo much of it."""
    leader = results.overall.rows[0].name if results.overall.rows else ""
    found = [v for v in verdicts(results, results.rules[0]) if v.significant and v.better == leader]
    near = sorted((v for v in found if lead(v)), key=lambda v: v.pair.lead or 0.0)
    said = [sentence("The ", *lead_in_losses(v, shown), ".") for v in near[:MOST]]
    if (more := len(near) - MOST) > 0:
        said.append(sentence(f"{count(more)} more {noun(more, 'lead adds', 'leads add')} up to less than {FAR_LEAD}."))
    return said


def lead(v: PairwiseVerdict) -> bool:
    """Whether a significant lead is so small, in units of the largest loss, that it is put into words."""
    return v.significant and v.pair.lead is not None and v.pair.lead < FAR_LEAD


def lead_in_losses(v: PairwiseVerdict, shown: Shown) -> list[Words]:
    """What a lead adds up to, without a full stop."""
    amount = "" if v.pair.lead is None else f"{v.pair.lead:.2g}"
    return [
        *("lead of ", shown[v.better or ""], " over ", shown[v.worse or ""]),
        f" adds up to {amount} of the largest loss that one more case could bring",
    ]


def infinities(results: Comparison, shown: Shown) -> list[Sentence]:
    """Models with infinite scores, by rule."""
    found = []
    for i, rule in enumerate(results.rules):
        hit = [row for row in results.overall.rows if row.scores[results.rules[i]].infinite]
        who = series(
            sentence(shown[row.name], f" ({_of_cases(row.scores[results.rules[i]].infinite, row)})") for row in hit
        )
        first = "" if i else ", and ranking counts these cases first"
        means = f". Such a mean is infinite, has no interval and is not tested{first}."
        if hit:
            found.append(sentence(f"Infinite {kind(rule, _RULE)} scores: ", *who, means))
    if found and results.penalty is None:
        found.append(sentence("A score is infinite where the true class has probability 0."))
    return found


def best(results: Comparison, shown: Shown) -> list[Sentence]:
    """The members of the confidence set of the best model, or why there is no such set."""
    chosen = results.confidence_set
    if chosen is None:
        return []
    what, why = f"confidence set of the best under {scores(chosen.rule)}", stripped(chosen.reason)
    if not chosen.members:
        return [sentence(f"There is no {what}: {why or 'nobody is in it'}.")]
    members = [shown[who] for who in chosen.members]
    ranked = sum(row.rank is not None for row in results.overall.rows)
    some = [f"all {count(ranked)} models"] if len(members) == ranked > 2 else series(members)
    end, why_in = " alone" if len(members) == 1 else "", "no other model is significantly better"
    if len(members) == 1 < ranked:
        beaten = {v.worse for v in verdicts(results, chosen.rule) if v.significant and v.better == chosen.members[0]}
        everyone = chosen.level == results.level and len(beaten) == len(results.overall.rows) - 1
        why_in = (
            "all others are significantly worse"
            if everyone
            else "each other one is significantly worse than some model"
        )
    said = sentence(f"The {what} at {percent(chosen.level)}: ", *some, f"{end} ({why_in}).")
    return [said, *([sentence(f"{why[:1].upper()}{why[1:]}.")] if why else [])]


# Pairs


def different(tested: int, many: int, pairs: int) -> str:
    """How many pairs differ significantly, of those that can be tested.

    >>> different(9, 1, 10), different(10, 4, 10)
    ('1 of 9 pairs that can be tested is significantly different', '4 of 10 pairs are significantly different')
    """
    if not tested:
        return "No pair can be tested"
    if pairs == 1:
        return "The difference is significant" if many else "The difference is not significant"
    which = noun(tested, "pair") + ("" if tested == pairs else " that can be tested")
    are = noun(many, "is", "are")
    return f"{count(many)} of {count(tested)} {which} {are} significantly different"


def needed(more: int | None, results: Comparison) -> str:
    """How many further units would make a difference significant, if the true one is the observed one.

    Nothing where that cannot be said.
    """
    if not more or results.compared < _FEWEST_PLANNED:
        return ""
    if results.units and more > _FAR * results.units:
        return f"more than {_FAR} times as many {results.unit}s needed (80% power)"
    about = round(more, 2 - len(str(more))) if more >= 100 else more  # two digits: it is a guess
    return f"about {count(about)} more {noun(about, results.unit)} needed (80% power)"


def tally(results: Comparison, rule: str) -> str:
    """How many pairs are significantly different, and what that means."""
    found = verdicts(results, rule)
    if not found and len(results.overall.rows) < 2:
        return "There is one model only, so there is nothing to compare."
    if not found:
        return f"Pairs were not tested under {scores(rule)}."
    tested, many = sum(v.tested for v in found), sum(v.significant for v in found)
    if not tested:
        whom = "The pair could not" if len(found) == 1 else f"None of the {number_of(len(found), 'pair')} could"
        return f"{whom} be tested under {scores(rule)}."
    if not many:
        said = f"No difference is significant under {scores(rule)}: the order of the table may be chance."
    elif many == len(found):
        said = (
            f"Every difference is significant under {scores(rule)}." if many > 1 else "The difference is significant."
        )
    else:
        said = f"Of {number_of(len(found), 'pair')}, {count(many)} {noun(many, 'is', 'are')} significantly different "
        said += f"under {scores(rule)}"
        if tested > many:
            said += (
                f" and {count(tested - many)} {noun(tested - many, 'is', 'are')} not: the order of these may be chance"
            )
        said += f"; {count(len(found) - tested)} could not be tested." if tested < len(found) else "."
    return (
        f"{said} Significant means that the p value of the paired difference, adjusted by Holm's method for "
        f"{number_of(tested, 'tested pair')}, is at most {1 - results.level:.6g}."
    )


def _wins(results: Comparison, rule: str) -> dict[tuple[str, str], None]:
    """The significant pairs, the better one first."""
    found = verdicts(results, rule)
    return {(v.better, v.worse): None for v in found if v.significant and v.better is not None and v.worse is not None}


def untested(results: Comparison, shown: Shown, rule: str) -> list[Sentence]:
    """Pairs without a test, for each reason; infinite means have their own sentence."""
    found: dict[str, list[Sentence]] = {}
    for v in verdicts(results, rule):
        if v.kind == "untested":
            why = stripped(v.pair.difference.reason) or "there is no p value"
            found.setdefault(why, []).append(sentence(shown[v.pair.a], " and ", shown[v.pair.b]))
    return [sentence("Not tested: ", *series(who), f". The reason: {why}.") for why, who in found.items()]


def misranked(results: Comparison, *, ranked: bool = True) -> list[PairwiseVerdict]:
    """Pairs of which the lower one in the table is significantly better on the cases of both: of those with a rank."""
    place = {row.name: i for i, row in enumerate(results.overall.rows) if row.rank is not None or not ranked}
    wins = [v for v in verdicts(results, results.rules[0]) if v.significant and {v.pair.a, v.pair.b} <= {*place}]
    return [v for v in wins if place[v.better or ""] > place[v.worse or ""]]


def against_ranks(results: Comparison, shown: Shown) -> list[Sentence]:
    """Pairs whose lower model in the table is significantly better on the cases of both."""
    found = misranked(results, ranked=False)
    said = []
    for v in found[:MOST]:
        by = in_digits_of(v.pair.difference, abs(v.pair.difference.value))
        where = f", yet is significantly worse on the {number_of(v.pair.cases, 'case')} of both, by {by}."
        said.append(sentence(shown[v.worse or ""], " stands above ", shown[v.better or ""], where))
    if (more := len(found) - MOST) > 0:
        said.append(sentence(f"{_others(more, 'stands', 'stand')} in the table against their result."))
    if misranked(results):  # a model without a rank stands below for its few cases
        said.append(sentence("The order goes by how each did against all others, not by single pairs."))
    return said


def _others(n: int, does: str, do: str) -> str:
    return f"{count(n)} more {noun(n, 'pair')} {noun(n, does, do)}"


# Where accuracy, or another rule, ranks two models the other way round


@dataclass(frozen=True, slots=True)
class RankDisagreement:
    """A pair where one has the better score and the other the higher accuracy, by how much."""

    verdict: PairwiseVerdict
    gap: float
    alike: bool  # both predict the same cases


def disagreeing(results: Comparison, against: Sequence[PairCases] = ()) -> tuple[list[RankDisagreement], int]:
    """Pairs where accuracy ranks two models the other way round, beyond noise; how many cannot be compared.

    Those with a significant difference of scores come first, then by how much. The difference in accuracy is beyond
    noise where the zero-one score says so (Holm, as everywhere), or else by the cases that only one of the two has
    right, or by the largest number of these that the two accuracies allow, adjusted for the number of pairs.
    """
    every = verdicts(results, results.rules[0])
    zero_one = {(v.pair.a, v.pair.b): v for v in verdicts(results, _ZERO_ONE)} if _ZERO_ONE in results.rules else {}
    counts = {frozenset((one.a, one.b)): one for one in against}
    rows = {row.name: row for row in results.overall.rows}
    found, left_out = [], 0
    for v in every:
        if v.better is None or v.worse is None or not math.isfinite(v.pair.difference.value):
            continue
        other = zero_one.get((v.pair.a, v.pair.b))
        alike = rows[v.pair.a].cases == rows[v.pair.b].cases == v.pair.cases
        if other is not None:
            gap = other.pair.difference.value * (-1 if other.pair.a == v.worse else 1)
            beyond = other.significant
        elif alike:
            own, its = (rows[who].metrics["accuracy"].value for who in (v.worse, v.better))
            gap, exact = own - its, counts.get(frozenset((v.pair.a, v.pair.b)))
            apart = min(own + its, 2 - own - its) if exact is None else _only_one(exact) / exact.cases
            beyond = (
                results.unit == "case"
                and not results.weighted
                and _beyond_noise(gap, apart, v.pair.cases, results.level, len(every))
            )
        else:
            left_out += 1
            continue
        if gap > 0 and beyond:
            found.append(RankDisagreement(v, gap, alike))
    return sorted(found, key=lambda one: (not one.verdict.significant, -one.gap)), left_out


def _only_one(pair: PairCases) -> int:
    return pair.only_a_right + pair.only_b_right


def _beyond_noise(gap: float, apart: float, cases: int, level: float, pairs: int) -> bool:
    """Whether a difference of two accuracies is significant, if so large a share of the cases has one of them right.

    By the normal approximation for cases that are independent of each other, with Bonferroni's adjustment.
    """
    spread = apart - gap * gap
    if gap <= 0 or not cases:
        return False
    quantile = NormalDist().inv_cdf(1 - (1 - level) / (2 * max(pairs, 1)))
    return gap * math.sqrt(cases) > quantile * math.sqrt(max(spread, 0.0)) and gap * cases >= _FEWEST_CASES


def against_accuracy(results: Comparison, shown: Shown, against: Sequence[PairCases] = ()) -> list[Sentence]:
    """Pairs where one has the better score and the other a higher accuracy, beyond noise."""
    found, left_out = disagreeing(results, against)
    said = [_against(results, one, shown) for one in found[:MOST]]
    if len(found) > MOST:
        said.append(sentence(f"{_others(len(found) - MOST, 'disagrees', 'disagree')} in the same way."))
    if left_out and found:
        are = f"{number_of(left_out, 'pair')} {noun(left_out, 'is', 'are')}"
        remedy = "With the rule zero-one, top-1 predictions are compared on the cases of both."
        said.append(sentence(f"{are} not compared by accuracy, as the two do not predict the same cases. {remedy}"))
    return said


def _against(results: Comparison, one: RankDisagreement, shown: Shown) -> Sentence:
    v, better, worse = one.verdict, one.verdict.better or "", one.verdict.worse or ""
    rows = {row.name: row for row in results.overall.rows}
    how = "significantly worse" if v.significant else "worse, though not significantly worse,"
    but = f", but a {how} {kind(v.pair.rule, _RULE)} score."
    if not one.alike:
        by = f" by {fixed(100 * one.gap, 1)} points on the {number_of(v.pair.cases, 'case')} of both"
        return sentence(shown[worse], " has a higher accuracy than ", shown[better], by, but)
    own, other = (share(rows[who].metrics["accuracy"].value) for who in (worse, better))
    return sentence(shown[worse], " has a higher accuracy than ", shown[better], f" ({own} against {other}){but}")


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
        return sentence(f"Under {rule} no model has cases.")
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
    return (
        f" {different(sum(v.tested for v in found), sum(v.significant for v in found), len(found))}." if found else ""
    )


# Next steps


def with_names(text: str, models: Sequence[str], shown: Shown) -> Sentence:
    """A title or a reason of an `Action` with its models: {0} is the first, {1} the second, {} are all in a row.

    >>> from toplist.report.text import PLAIN
    >>> str(with_names("Recalibrate {0}", ["a"], PLAIN)), str(with_names("Pool {}", ["a", "b", "c"], PLAIN))
    ('Recalibrate a', 'Pool a, b and c')
    """
    found: list[Words] = []
    for part in re.split(r"(\{\d*\})", text):
        if part == "{}":
            found += series([shown[who] for who in models], _NAMES)
        elif re.fullmatch(r"\{\d+\}", part) and int(part[1:-1]) < len(models):
            found.append(shown[models[int(part[1:-1])]])
        else:
            found.append(part)
    return sentence(*found)
