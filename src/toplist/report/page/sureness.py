"""In plain words: which differences are sure and which are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toplist.ranking.results import ConfidenceSet, Results
from toplist.report.escape import plain, visible
from toplist.report.notes import cases
from toplist.report.numbers import count, decimals, fixed, percent, small
from toplist.report.page.verdicts import Verdict, verdicts
from toplist.report.page.wording import Name, Sentence, Words, listed, sentence

_MOST = 8  # sentences about single pairs, before the table has to do

Shown = Mapping[str, Name]


def infinities(results: Results, shown: Shown) -> list[Sentence]:
    """Who has infinite scores, by rule; they come first, because ranking counts them first."""
    found = []
    for i, rule in enumerate(results.rules):
        hit = [(row, row.marks[i].infinite) for row in results.overall.standings if row.marks[i].infinite]
        if not hit:
            continue
        who = [sentence(shown[row.name], f" ({count(n)} of {cases(row.cases)})") for row, n in hit]
        means = "Such a mean is infinite, has no interval and cannot be tested" + (
            ", and ranking counts these cases first." if i == 0 else "."
        )
        found.append(sentence(f"Under {plain(rule)}, some scores are infinite: ", listed(who), f". {means}"))
    if found and results.penalty is None:
        found.append(sentence("A score is infinite where what happened was given no chance at all."))
    return found


def best(results: Results, shown: Shown) -> list[Sentence]:
    """Among whom the best one is."""
    chosen = results.confidence_set
    if chosen is None:
        return []
    found = [_members(chosen, shown, len(results.overall.standings))] if chosen.members else []
    if chosen.why:
        found.append(sentence(_ended(visible(chosen.why))))
    return found


def _members(chosen: ConfidenceSet, shown: Shown, everybody: int) -> Sentence:
    members = [shown[name] for name in chosen.members]
    rule, level = plain(chosen.rule), percent(chosen.level)
    if len(members) == 1:
        return sentence(members[0], f" is the best under {rule}, at {level} confidence.")
    if len(members) == everybody:
        return sentence(f"At {level} confidence nobody can be ruled out as the best under {rule}.")
    return sentence(f"The best under {rule} is among ", listed(members), f", at {level} confidence.")


def tally(results: Results, rule: str) -> Sentence:
    """How many pairs are sure, and what that means."""
    found = verdicts(results, rule)
    if not found:
        few = len(results.overall.standings) < 2
        return sentence(
            "There is one predictor only, so there is nothing to tell apart."
            if few
            else f"Pairs were not tested under {plain(rule)}."
        )
    tested = [v for v in found if v.kind in ("sure", "unsure")]
    sure = sum(v.kind == "sure" for v in found)
    means = (
        f"Sure means that the p value of the paired difference, adjusted by Holm's method for looking at "
        f"{_pairs(len(tested))}, is at most {1 - results.level:.6g}."
    )
    if not tested:
        return sentence(f"None of the {_pairs(len(found))} could be tested under {plain(rule)}.")
    if not sure:
        said = f"No difference is sure under {plain(rule)}: the order of the table may be chance."
    elif sure == len(found):
        said = f"Every difference is sure under {plain(rule)}." if sure > 1 else "The difference is sure."
    else:
        said = f"Of {_pairs(len(found))}, {count(sure)} {'is' if sure == 1 else 'are'} surely different under "
        said += f"{plain(rule)} and {count(len(tested) - sure)} may be equal"
        said += f"; {count(len(found) - len(tested))} could not be tested." if len(tested) < len(found) else "."
    return sentence(f"{said} {means}")


def sure(results: Results, shown: Shown, rule: str) -> list[Sentence]:
    """Who is surely better than whom: a sentence for each predictor that beats anybody."""
    wins: dict[str, set[str]] = {}
    for v in verdicts(results, rule):
        if v.kind == "sure" and v.better is not None and v.worse is not None:
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
    tested = sum(v.kind in ("sure", "unsure") for v in verdicts(results, rule))
    said = [_unsure(v, shown, tested) for v in found[:_MOST]]
    if len(found) > _MOST:
        said.append(sentence(f"{count(len(found) - _MOST)} more pairs may be equal; the table below has them all."))
    return said


def _unsure(v: Verdict, shown: Shown, tested: int) -> Sentence:
    pair, d = v.pair, v.pair.difference
    digits = decimals([d])
    between: list[Words] = [shown[pair.a], " and ", shown[pair.b], " may be equal: "]
    interval = (
        f" ({fixed(d.low, digits, signed=True)} to {fixed(d.high, digits, signed=True)})"
        if d.low is not None and d.high is not None
        else ""
    )
    p = small(1.0 if pair.adjusted is None else pair.adjusted)
    found = f"difference {fixed(d.value, digits, signed=True)}{interval}, adjusted p {p}."
    return sentence(*between, found, " ", _needed(v, tested))


def _needed(v: Verdict, tested: int) -> str:
    if v.pair.more is None:
        return "How many more cases would tell them apart cannot be said."
    if v.pair.more == 0:
        return f"Alone they would be told apart, but not among {_pairs(tested)}."
    more = "1 more case like these" if v.pair.more == 1 else f"{count(_round(v.pair.more))} more cases like these"
    return f"About {more} would tell them apart 4 times in 5."


def untested(results: Results, shown: Shown, rule: str) -> list[Sentence]:
    """Pairs without a test, for each reason; infinite means have their own sentence."""
    reasons: dict[str, list[Words]] = {}
    for v in verdicts(results, rule):
        if v.kind == "untested":
            why = visible(v.pair.difference.why).strip().rstrip(".") or "there is no p value"
            reasons.setdefault(why, []).append(sentence(shown[v.pair.a], " and ", shown[v.pair.b]))
    return [sentence("Not tested: ", listed(who, last="and"), f". The reason: {why}.") for why, who in reasons.items()]


def lede(results: Results, shown: Shown) -> list[Sentence]:
    """What somebody reads who reads nothing else."""
    rows = results.overall.standings
    if not rows:
        return [sentence("Nothing was compared.")]
    first, mark, rule = rows[0], rows[0].marks[0], plain(results.rules[0])
    score = fixed(mark.score.value, decimals([mark.score]))
    if len(rows) == 1:
        return [sentence(shown[first.name], f" has a mean {rule} score of {score} over {cases(first.cases)}.")]
    said = [_leads(results, shown, rule, score)]
    own = [v for v in verdicts(results, results.rules[0]) if first.name in (v.pair.a, v.pair.b)]
    beaten = sum(v.kind == "sure" and v.better == first.name for v in own)
    open_ = [shown[v.pair.b if v.pair.a == first.name else v.pair.a] for v in own if v.kind == "unsure"]
    if own and beaten == len(own):
        said.append(sentence("It is surely better than ", "the other one." if beaten == 1 else "all others."))
    elif own and not beaten and len(open_) == len(own):
        said.append(sentence("It is not surely better than any other."))
    elif own:
        few = f"It is surely better than {count(beaten)} of the {count(len(own))} others"
        said.append(sentence(few, *([", while ", listed(open_, most=3), " may be as good."] if open_ else ["."])))
    said += _elsewhere(results)
    chosen = results.confidence_set
    told = own and beaten == len(own) and chosen is not None and chosen.members == (first.name,)
    return said if told or chosen is None or not chosen.members else [*said, *best(results, shown)[:1]]


def _elsewhere(results: Results) -> list[Sentence]:
    """Where the leader has infinite scores under another rule, which nobody should overlook."""
    first = results.overall.standings[0]
    hit = [(plain(mark.rule), count(mark.infinite)) for mark in first.marks[1:] if mark.infinite]
    return [sentence(f"Under {rule} its mean is infinite, because of {n} of {cases(first.cases)}.") for rule, n in hit]


def _leads(results: Results, shown: Shown, rule: str, score: str) -> Sentence:
    first, mark = results.overall.standings[0], results.overall.standings[0].marks[0]
    if mark.infinite:
        return sentence(shown[first.name], f" leads with the fewest infinite {rule} scores, {count(mark.infinite)}.")
    if results.missing == "pairwise" and mark.relative is not None:
        ratio = fixed(mark.relative.value, 3)
        return sentence(shown[first.name], f" leads with a relative {rule} score of {ratio}; below 1 is better.")
    return sentence(shown[first.name], f" leads with the lowest mean {rule} score, {score}.")


def _round(n: int) -> int:
    """Two digits: it is a guess."""
    return round(n, 2 - len(str(n))) if n >= 100 else n


def _pairs(n: int) -> str:
    return "1 pair" if n == 1 else f"{count(n)} pairs"


def _ended(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
