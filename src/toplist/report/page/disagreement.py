"""Where accuracy and scores, or two rules, do not agree on who is better."""

from __future__ import annotations

import math

from toplist.ranking.results import Results
from toplist.report.escape import plain
from toplist.report.numbers import count, fixed, rate
from toplist.report.page.sureness import Shown
from toplist.report.page.verdicts import Verdict, verdicts
from toplist.report.page.wording import Sentence, sentence

_MOST = 3  # pairs, before the others are counted


def against_accuracy(results: Results, shown: Shown) -> list[Sentence]:
    """Pairs where one scores better and the other is right more often: the sure ones first, then by how much."""
    accuracy = {row.name: row.accuracy for row in results.overall.standings}

    def gap(v: Verdict) -> float:
        if v.better is None or v.worse is None or not math.isfinite(v.pair.difference.value):
            return -math.inf
        return accuracy[v.worse] - accuracy[v.better]

    found = [v for v in verdicts(results, results.rules[0]) if gap(v) > 0]
    found.sort(key=lambda v: (v.kind != "sure", -gap(v)))
    said = [_against(v, shown, accuracy, plain(results.rules[0])) for v in found[:_MOST]]
    if len(found) > _MOST:
        said.append(sentence(f"{count(len(found) - _MOST)} more pairs disagree in the same way."))
    return said


def _against(v: Verdict, shown: Shown, accuracy: dict[str, float], rule: str) -> Sentence:
    if v.better is None or v.worse is None:
        return sentence()
    right = f" is right more often ({rate(accuracy[v.worse])} of its first guesses, against {rate(accuracy[v.better])}"
    how = "surely" if v.kind == "sure" else "not surely"
    return sentence(shown[v.worse], right, " for ", shown[v.better], f"), but has the worse {rule} score ({how}).")


def between_rules(results: Results, shown: Shown) -> list[Sentence]:
    """What each further rule says of the leader, and who wins surely under one rule and loses surely under another."""
    said = [_leader(results, shown, i) for i in range(1, len(results.rules)) if len(results.overall.standings) > 1]
    wins = {rule: _wins(results, rule) for rule in results.rules}
    first = results.rules[0]
    for rule in results.rules[1:]:
        crossed = [(a, b) for a, b in wins[first] if (b, a) in wins[rule]]
        said += [
            sentence(
                *(shown[a], " is surely better than ", shown[b]),
                f" under {plain(first)}, and surely worse under {plain(rule)}.",
            )
            for a, b in crossed[:_MOST]
        ]
        if len(crossed) > _MOST:
            said.append(sentence(f"{count(len(crossed) - _MOST)} more pairs cross in the same way."))
    return said


def _leader(results: Results, shown: Shown, i: int) -> Sentence:
    rows, rule = results.overall.standings, plain(results.rules[i])

    def place(at: int) -> tuple[float, float]:
        mark = rows[at].marks[i]
        mean = mark.score.value if math.isfinite(mark.score.value) else mark.finite
        return mark.infinite, math.inf if math.isnan(mean) else mean

    lead = rows[min(range(len(rows)), key=place)]
    found = verdicts(results, results.rules[i])
    sure = sum(v.kind == "sure" for v in found)
    score = fixed(lead.marks[i].score.value, 4)
    tail = f" {count(sure)} of {count(len(found))} pairs are surely different." if found else ""
    if lead.marks[i].infinite:
        return sentence(
            f"Under {rule} every predictor has infinite scores; ", shown[lead.name], " has the fewest.", tail
        )
    also = " leads as well" if lead is rows[0] else " has the lowest mean"
    return sentence(f"Under {rule}, ", shown[lead.name], f"{also}, {score}.", tail)


def _wins(results: Results, rule: str) -> dict[tuple[str, str], None]:
    found = verdicts(results, rule)
    return {
        (v.better, v.worse): None for v in found if v.kind == "sure" and v.better is not None and v.worse is not None
    }
