"""The first lines: who is ahead, how sure that is, and on how many cases."""

from __future__ import annotations

from toplist.ranking.results import Results
from toplist.ranking.verdicts import verdicts
from toplist.report.numbers import decimals, fixed
from toplist.report.page.sureness import Shown, best
from toplist.report.page.wording import Sentence, kind, listed, scores, sentence
from toplist.words.counts import count, number_of
from toplist.words.names import visible


def lede(results: Results, shown: Shown) -> list[Sentence]:
    """What somebody reads who reads nothing else."""
    rows = results.overall.standings
    if not rows:
        return [sentence("Nothing was compared.")]
    first, mark = rows[0], rows[0].marks[0]
    if len(rows) == 1:
        score = fixed(mark.score.value, decimals([mark.score]))
        return [sentence(shown[first.name], f" has a mean {kind(mark.rule)} score of {score}{_over(results)}.")]
    said = [_leads(results, shown)]
    own = [v for v in verdicts(results, results.rules[0]) if first.name in (v.pair.a, v.pair.b)]
    beaten = sum(v.sure and v.better == first.name for v in own)
    ahead = [shown[v.better] for v in own if v.sure and v.better not in (None, first.name)]
    open_ = [shown[v.pair.b if v.pair.a == first.name else v.pair.a] for v in own if v.kind == "unsure"]
    if own and beaten == len(own):
        said.append(sentence("It is surely better than ", "the other one." if beaten == 1 else "all others."))
    elif own and not beaten and len(open_) == len(own):
        said.append(sentence("It is not surely better than any other."))
    elif own and not any(v.tested for v in own):
        said.append(sentence("Whether that is more than chance could not be tested."))
    elif own:
        few = f"It is surely better than {count(beaten)} of the {count(len(own))} others"
        said.append(sentence(few, *([", while ", listed(open_, most=3), " may be as good."] if open_ else ["."])))
    if ahead:
        said.append(sentence("On the cases of both it is surely worse than ", listed(ahead, most=3), "."))
    said += _elsewhere(results)
    members = () if results.confidence_set is None else results.confidence_set.members
    told = {shown[name] for name in members} == {shown[first.name], *open_}  # which the sentences above say as well
    return [*said, *best(results, shown)[:1]] if members and not told else said


def warnings(results: Results, shown: Shown) -> list[Sentence]:
    """Why the board may not be right."""
    return [
        sentence(listed([shown[name] for name in one.predictors if name in shown]), f": {visible(one.sentence)}")
        for one in results.warnings
    ]


def _leads(results: Results, shown: Shown) -> Sentence:
    first, mark = results.overall.standings[0], results.overall.standings[0].marks[0]
    who, rule, over = shown[first.name], kind(mark.rule), _over(results)
    if mark.infinite:
        return sentence(who, f" leads with the fewest infinite {rule} scores, {count(mark.infinite)}{over}.")
    if results.missing == "pairwise" and mark.relative is not None:
        ratio = fixed(mark.relative.value, 3)
        return sentence(who, f" leads with a relative {rule} score of {ratio}, where below 1 is better,{over}.")
    score = fixed(mark.score.value, decimals([mark.score]))
    return sentence(who, f" leads with the lowest mean {rule} score, {score},{over}.")


def _over(results: Results) -> str:
    """On how many cases, in how many clusters or at how many moments."""
    own = results.overall.standings[0].cases
    base = (
        number_of(own, "case") if own == results.compared else f"{count(own)} of {number_of(results.compared, 'case')}"
    )
    among = {"cluster": " in ", "moment": " at "}.get(results.unit, "")
    # clusters are of all cases, so they say nothing about some of these
    return f" over {base}" + (
        f"{among}{number_of(results.units, results.unit)}"
        if among and results.units and own == results.compared
        else ""
    )


def _elsewhere(results: Results) -> list[Sentence]:
    """Where the leader has infinite scores under another rule, which nobody should overlook."""
    first = results.overall.standings[0]
    hit = [(scores(mark.rule), count(mark.infinite)) for mark in first.marks[1:] if mark.infinite]
    return [
        sentence(f"Under {rule} its mean is infinite, because of {n} of {number_of(first.cases, 'case')}.")
        for rule, n in hit
    ]
