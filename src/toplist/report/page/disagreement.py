"""Where accuracy and scores, two rules, or ranks and pairs do not agree on who is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from toplist.ranking.results import Results, Standing
from toplist.ranking.verdicts import Verdict, verdicts
from toplist.report.numbers import decimals, fixed, rate
from toplist.report.page.sureness import Shown
from toplist.report.page.wording import Sentence, kind, scores, sentence
from toplist.words.counts import count, noun, number_of

MOST = 3  # pairs, before the others are counted
_GUESS = "zero-one"  # the rule that is one minus accuracy


@dataclass(frozen=True, slots=True)
class Otherwise:
    """A pair where one scores better and the other is right more often, by how much."""

    verdict: Verdict
    guess: Verdict | None  # of first guesses, on the cases of both
    gap: float


def disagreeing(results: Results) -> tuple[list[Otherwise], int]:
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
            found.append(Otherwise(v, guess, gap))
    return sorted(found, key=lambda one: (not one.verdict.sure, -one.gap)), left_out


def against_accuracy(results: Results, shown: Shown) -> list[Sentence]:
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


def _rows(results: Results) -> dict[str, Standing]:
    return {row.name: row for row in results.overall.standings}


def _alike(results: Results, v: Verdict) -> bool:
    """Whether both predict the same cases, those of the pair."""
    rows = _rows(results)
    return rows[v.pair.a].cases == rows[v.pair.b].cases == v.pair.cases


def _gap(results: Results, v: Verdict, guess: Verdict | None) -> float:
    """How much more often the one with the worse score is right."""
    if _alike(results, v) or guess is None:
        rows = _rows(results)
        return rows[v.worse or ""].accuracy - rows[v.better or ""].accuracy
    value = guess.pair.difference.value
    return -value if guess.pair.a == v.worse else value


def _against(results: Results, v: Verdict, guess: Verdict | None, gap: float, shown: Shown) -> Sentence:
    rows, better, worse = _rows(results), v.better or "", v.worse or ""
    how = "surely" if v.sure else "not surely"
    but = f", but has the worse {kind(v.pair.rule)} score ({how})."
    if _alike(results, v):
        often = f" is right more often ({rate(rows[worse].accuracy)} of all cases, against "
        told = sentence(shown[worse], f"{often}{rate(rows[better].accuracy)} for ", shown[better], ")", but)
    else:
        often = f" by {rate(gap)} on the {number_of(v.pair.cases, 'case')} of both"
        told = sentence(shown[worse], " is right more often than ", shown[better], often, but)
    if guess is None or not guess.tested:
        return told
    sure = guess.sure and guess.better == worse
    return sentence(told, f" The difference in accuracy is {'sure as well' if sure else 'not sure'}.")


def between_rules(results: Results, shown: Shown) -> list[Sentence]:
    """What each further rule says of the leader, and who wins surely under one rule and loses surely under another."""
    said = [_leader(results, shown, i) for i in range(1, len(results.rules)) if len(results.overall.standings) > 1]
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


def _leader(results: Results, shown: Shown, i: int) -> Sentence:
    rule, pairwise = scores(results.rules[i]), results.missing == "pairwise"
    rows = [row for row in results.overall.standings if row.cases]

    def place(row: Standing) -> tuple[float, float, float]:
        mark = row.marks[i]
        mean = mark.score.value if math.isfinite(mark.score.value) else mark.finite
        ratio = math.inf if mark.relative is None else mark.relative.value
        return mark.infinite, ratio if pairwise else 0.0, math.inf if math.isnan(mean) else mean

    if not rows:
        return sentence(f"Under {rule} nobody has cases.")
    lead, tail = min(rows, key=place), _tested(results, results.rules[i])
    whole = [row for row in rows if not row.marks[i].infinite]
    mark = lead.marks[i]
    score = fixed(mark.score.value, 4)
    if not whole:
        few = "has the fewest" if len({row.marks[i].infinite for row in rows}) > 1 else "comes first by the finite ones"
        return sentence(f"Under {rule} every predictor has infinite scores; ", shown[lead.name], f" {few}.", tail)
    if len(whole) == 1 and len(rows) > 1:
        return sentence(
            f"Under {rule}, ", shown[lead.name], f" alone has no infinite scores; its mean is {score}.", tail
        )
    among = f" among the {count(len(whole))} without infinite scores" if len(whole) < len(rows) else ""
    relative = mark.relative if pairwise else None
    what = "mean" if relative is None else "relative score"
    value = score if relative is None else fixed(relative.value, 3)
    if lead.name == results.overall.standings[0].name:
        return sentence(f"Under {rule}, ", shown[lead.name], f" leads as well{among}, {what} {value}.", tail)
    return sentence(f"Under {rule}, ", shown[lead.name], f" has the lowest {what}{among}, {value}.", tail)


def _tested(results: Results, rule: str) -> str:
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


def _wins(results: Results, rule: str) -> dict[tuple[str, str], None]:
    found = verdicts(results, rule)
    return {(v.better, v.worse): None for v in found if v.sure and v.better is not None and v.worse is not None}


def against_ranks(results: Results, shown: Shown) -> list[Sentence]:
    """Pairs whose lower one is surely better on the cases of both: ranks go by all others, pairs by two."""
    place = {row.name: i for i, row in enumerate(results.overall.standings)}
    found = [
        v
        for v in verdicts(results, results.rules[0])
        if v.sure and place.get(v.better or "", 0) > place.get(v.worse or "", len(place))
    ]
    why = sentence("The order goes by how each did against all others, not by single pairs.")
    return [*_upset(found[:MOST], shown), *_more(len(found) - MOST), *([why] if found else [])]


def _upset(found: Sequence[Verdict], shown: Shown) -> list[Sentence]:
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
