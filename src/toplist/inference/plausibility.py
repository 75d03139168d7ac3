"""How outcomes and listed classes are written: a bounded look at the first cases.

Boards that cannot be right: what the sums of a comparison say about whether the right things were compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np

from toplist._files import need
from toplist._text import are_codes, argument, quote, spelling_difference
from toplist.core.kernel import UNIT
from toplist.inference.aggregates import Aggregates
from toplist.inference.intervals import same_scores
from toplist.inference.ranking import verdicts
from toplist.inference.results import BoardWarning, Comparison
from toplist.io.columns import plain
from toplist.io.sources import OpenTable
from toplist.lists import TopLists
from toplist.lists.checks.detect import text
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace

_CASES = 100_000
_NAMES = 10_000


def in_file(source: OpenTable, space: ClassSpace | None = None) -> list[str]:
    """The names of classes in the first cases of a file; a number is the label that it is the code of."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    labels = () if space is None or space.labels is None else space.labels
    found: dict[str, None] = dict.fromkeys(source.names)
    cases = 0
    for batch in source.batches(halves=True) if not found else ():
        values = plain(batch.classes) if batch.classes is not None else pa.array([], pa.string())
        values = values if pa.types.is_nested(values.type) else pc.unique(values)
        for value in values[:_NAMES].to_pylist():
            code = isinstance(value, int) and 0 <= value < len(labels)
            found[text(labels[value] if code else value)] = None
        cases += len(batch)
        if cases >= _CASES or len(found) >= _NAMES:
            break
    return list(found)


def in_lists(lists: TopLists) -> list[str]:
    """The names of the classes that the first lists have."""
    codes = np.unique(lists.classes[: int(lists.offsets[min(len(lists), _CASES)])])
    return [text(lists.space.decode(int(code))) for code in codes[:_NAMES]]


def of_outcomes(y: Any, space: ClassSpace) -> list[str]:
    """The names of the first outcomes."""
    if isinstance(y, TopLists):
        return in_lists(y)
    if isinstance(space, LabelSets):
        return []  # a set of labels is the same set however it is written
    values = y[:_CASES] if isinstance(y, list | tuple) else np.asarray(y)[:_CASES]
    if not isinstance(values, list | tuple) and values.ndim != 1:
        return []
    coded = space.labels is not None and not space.numbered
    whole = (int, np.integer)
    names = (space.decode(int(v)) if coded and isinstance(v, whole) else v for v in values)
    return list(dict.fromkeys(map(text, names)))[:_NAMES]


Spelled = Callable[[str], tuple[Sequence[str], Sequence[str]]]  # of a model: names of outcomes, names of its classes
_FEW = 10  # cases up to which nobody wonders that no outcome is listed, unless a spelling explains it
_RARE = 0.01  # how often models that guess at random are called worse than that, all of them together


def warnings(
    results: Comparison, tally: Aggregates, names: Sequence[str], size: Any, spelled: Spelled
) -> tuple[BoardWarning, ...]:
    """All that is doubtful. `names` are the models in the order of the tally, `size` how many classes there are.

    `spelled` is asked only for models that list no outcome: it may read their files once more.
    """
    unlisted = never_listed(results, tally, names, spelled)
    strange = {name for one in unlisted for name in one.models}
    others = [row.name for row in results.overall.rows if row.name not in strange]
    return (
        *unlisted,
        *perfect(results, tally, names),
        *(worse_than_uniform(results) if others else ()),
        *below_chance(results, tally, names, size, others),
        *(same(results, tally, names) if results.missing not in ("worst", "baseline") else ()),
        *beaten_leader(results),
        *leader_with_few_cases(results),
        *little_mass(results, tally, names),
    )


def never_listed(results: Comparison, tally: Aggregates, names: Sequence[str], spelled: Spelled) -> list[BoardWarning]:
    """Models on whose lists no outcome ever stands, with the spelling that may explain it."""
    s, found = tally.sums, {}
    for row in results.overall.rows:
        a = names.index(row.name)
        if s["coverage"][a] or not s["mean_length"][a]:
            continue
        why = spelling(*spelled(row.name))
        if why or row.cases >= _FEW:
            found[row.name] = f"no outcome is ever listed{why or '.'}"
    return _merged("never listed", found)


def _merged(kind: str, sentences: Mapping[str, str]) -> list[BoardWarning]:
    """One warning for all models of whom the same is said."""
    found: dict[str, list[str]] = {}
    for name, sentence in sentences.items():
        found.setdefault(sentence, []).append(name)
    return [BoardWarning(kind, sentence, tuple(names)) for sentence, names in found.items()]


def spelling(outcomes: Sequence[str], listed: Sequence[str]) -> str:
    """Why names of outcomes and names of classes may have nothing in common: what follows a sentence, or nothing.

    >>> spelling(["Owl"], ["fox", "owl"])
    "; 'Owl' (outcome) and 'owl' (listed) differ in case."
    """
    near = None if set(outcomes) & set(listed) else spelling_difference(outcomes, listed)
    if near is not None:
        outcome, own, what = near
        return f"; {quote(outcome)} (outcome) and {quote(own)} (listed) differ in {what}."
    if not outcomes or not listed or are_codes(outcomes) == are_codes(listed):
        return ""
    numbers, texts = ("outcomes", "listed classes") if are_codes(outcomes) else ("listed classes", "outcomes")
    one, other = (outcomes[0], listed[0]) if are_codes(outcomes) else (listed[0], outcomes[0])
    return (
        f"; the {numbers} are numbers such as {quote(one)}, the {texts} are names such as {quote(other)}: "
        "give codes or names in both places."
    )


def perfect(results: Comparison, tally: Aggregates, names: Sequence[str]) -> list[BoardWarning]:
    """Models that are always right, and certain of it."""
    s, found = tally.sums, {}
    for row in results.overall.rows:
        a = names.index(row.name)
        zero = not any(s["x"][r, a, a] or s["infinite"][r, a, a] for r in range(len(results.rules)))
        if zero and s["weight"][a] and s["accuracy"][a] == s["weight"][a]:
            certain = " with certainty" if set(results.rules) - {"zero-one"} else ""
            found[row.name] = f"every prediction is right{certain}: is this the truth itself?"
    return _merged("perfect", found)


def worse_than_uniform(results: Comparison) -> list[BoardWarning]:
    """All models are significantly worse than the empty list, under the first rule with finite means."""
    rows = results.overall.rows
    for rule in results.rules:
        skills = [row.scores[rule].skill for row in rows]
        if any(skill is None for skill in skills):
            continue
        if all(skill is not None and skill.high is not None and skill.high < 0 for skill in skills):
            sentence = (
                f"the mean {rule} score is significantly worse than that of the empty list: is the truth that of "
                "these cases, in the same order and with the same classes?"
            )
            return [BoardWarning("worse than uniform", sentence, tuple(row.name for row in rows))]
        return []
    return []


def below_chance(
    results: Comparison, tally: Aggregates, names: Sequence[str], size: Any, others: Sequence[str]
) -> list[BoardWarning]:
    """Models whose first guess is right more rarely than a random class would be, by the binomial test.

    Cases count as so many as their weights make of them, or as their clusters or time points where these are fewer.
    """
    if not isinstance(size, int) or size < 2:
        return []
    level, found = _RARE / max(1, len(names)), []
    for row in results.overall.rows:
        n = _cases(tally, names.index(row.name))
        independent = results.pairs[0].difference.freedom if results.pairs else None  # in time fewer than time points
        n = (
            n
            if results.unit == "case"
            else min(n, results.units, results.units if independent is None else independent)
        )
        accuracy = row.metrics["accuracy"].value
        if row.name in others and n > 0 and accuracy < 1 / size and _at_most(accuracy * n, n, 1 / size) < level:
            sentence = (
                f"accuracy {accuracy:.3g} is significantly below the {1 / size:.3g} of random guesses: is the truth "
                "that of these cases, in the same order and with the same classes?"
            )
            found.append(BoardWarning("below chance", sentence, (row.name,)))
    return found


def _cases(tally: Aggregates, a: int) -> float:
    """How many cases of equal weight tell as much (Kish)."""
    s = tally.sums
    found = [(s["w"][r, a, a] ** 2 / (s["ww"][r, a, a] * UNIT)) for r in range(len(s["w"])) if s["ww"][r, a, a]]
    return max(map(float, found), default=0.0)


def _at_most(hits: float, n: float, p: float) -> float:
    """How often so few of n random guesses are right."""
    from scipy.special import betainc  # noqa: PLC0415  only here, and not cheap to import

    k = math.ceil(hits - 1e-9)
    return 1.0 if k >= n else float(betainc(n - k, k + 1, 1 - p))


def same(results: Comparison, tally: Aggregates, names: Sequence[str]) -> list[BoardWarning]:
    """Models that have the same scores in every case under every rule, each set of them once."""
    sets: list[list[str]] = []
    order = [row.name for row in results.overall.rows]
    for one, other in combinations(order, 2):
        a, b = names.index(one), names.index(other)
        if all(same_scores(tally, r, a, b) for r in range(len(results.rules))):
            mine = next((group for group in sets if one in group), None)
            if mine is None:
                sets.append([one, other])
            elif other not in mine:
                mine.append(other)
    sentence = (
        "the scores are the same in every case, up to rounding: these are the same predictions, or as good as that, "
        "and are not tested against each other."
    )
    return [BoardWarning("same scores", sentence, tuple(group)) for group in sets]


def beaten_leader(results: Comparison) -> list[BoardWarning]:
    """Models that are significantly better than the leader where both have a case."""
    leader = results.overall.rows[0].name
    own = [v for v in verdicts(results, results.rules[0]) if leader in (v.pair.a, v.pair.b) and v.significant]
    better = [v.better for v in own if v.better not in (None, leader)]
    sentence = "the first leads the table, but is significantly worse than the second on the cases that both have."
    return [BoardWarning("leader beaten", sentence, (leader, str(name))) for name in better]


def leader_with_few_cases(results: Comparison) -> list[BoardWarning]:
    """The leader has less than half as many cases as the median model."""
    rows = [row for row in results.overall.rows if row.rank is not None]
    middle = median(row.cases for row in rows)
    if not rows or 2 * rows[0].cases >= middle:
        return []
    sentence = (
        f"it leads with {rows[0].cases:,} of {results.compared:,} cases, where the median model has {middle:,.0f}: "
        f"rank only those with enough of them, with {argument('min_cases')}."
    )
    return [BoardWarning("leader with few cases", sentence, (rows[0].name,))]


def little_mass(results: Comparison, tally: Aggregates, names: Sequence[str]) -> list[BoardWarning]:
    """Models whose median rest mass is above one half."""
    s = tally.sums
    rows = [row.name for row in results.overall.rows]
    sentence = (
        "in more than half of the cases less than half of the mass is listed: are the confidences probabilities, and "
        "the lists long enough?"
    )
    filled = {one.name for one in results.sources if one.filled}  # whose missing predictions are empty lists
    thin = [name for name in rows if 2 * s["thin"][names.index(name)] > s["weight"][names.index(name)]]
    thin = [name for name in thin if name not in filled]
    return _merged("little mass", dict.fromkeys(thin, sentence))
