"""What a comparison claims, and when a claim is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import toplist as tl
from simulations.worlds import FIRST, LEVEL, SECOND, World
from toplist.errors import TopListError
from toplist.inference.ranking import extra_units
from toplist.inference.results import Estimate, Pair

ALPHA = 0.05
MISSES = "misses the true value"
STARS = "significant difference between equal models"
LEAD = 3.7  # largest losses that are still possible at 97.5% where none was seen (Poisson)

# What a comparison warns of where its own intervals and tests may not hold
CAUTIONS = frozenset(
    {
        "few cases",
        "few clusters",
        "few time points",
        "dominant weights",
        "skewed differences",
        "rare losses",
        "ignored dependence",
        "strong autocorrelation",
        "seasonal",
    }
)

# Absent: no statement was made. Left out: the data set is none that the claim is about.
Found = Literal["right", "wrong", "below", "above", "absent", "left out"]
Expected = Literal["promised", "holds", "short", "fails"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of a leaderboard, and how often it may be wrong."""

    text: str
    look: Callable[[World, tl.Leaderboard], Found]
    nominal: float = ALPHA
    expected: Expected | None = None  # where it is not that of the method
    sided: bool = False  # an interval, which misses below or above
    method: str = ""  # who claims it, where the comparison itself does not


@dataclass(frozen=True, slots=True)
class Method:
    """How a world is compared, and what is claimed then.

    What is expected: of default methods what is promised, an error rate of at most 7% where 5% is claimed, or a
    warning; of others that they hold; that they fall short, by a figure that is told; or that they fail, because they
    assume what is not so.
    """

    name: str
    claims: tuple[Claim, ...]
    inference: Any = "auto"
    expected: Expected = "promised"
    without: tuple[str, ...] = ()  # of what is known of the cases
    options: dict[str, Any] = field(default_factory=dict)

    def expectation(self, claim: Claim) -> Expected:
        """Of one of its claims."""
        return claim.expected or self.expected

    def label(self, claim: Claim) -> str:
        """Who makes one of its claims."""
        return claim.method or self.name

    def run(self, world: World) -> tl.Leaderboard | None:
        """The leaderboard; None where the method refuses these data."""
        try:
            return world.compare(self.inference, without=self.without, **self.options)
        except TopListError:
            return None


def warned(board: tl.Leaderboard) -> bool:
    """Whether the leaderboard warns that its intervals or tests may not hold."""
    return any(one.kind in CAUTIONS for one in board.comparison.warnings)


# Intervals


def side(found: Estimate | None, truth: float) -> Found:
    """On which side an interval misses."""
    if found is None or found.low is None or found.high is None:
        return "absent"
    return "below" if found.high < truth else "above" if found.low > truth else "right"


def _estimate(world: World, board: tl.Leaderboard, quantity: str) -> tuple[Estimate | None, float]:
    """What is estimated of the first model, and its true value."""
    if quantity == "difference":
        return board.difference(FIRST, SECOND), world.means[0] - world.means[1]
    scores = board[FIRST].scores[world.rule]
    found = {
        "mean": scores.mean,
        "skill": scores.skill,
        "baseline skill": scores.baseline_skill,
        "relative": scores.relative,
    }
    return found[quantity], world.truth[quantity]


def interval(quantity: str = "difference", expected: Expected | None = None) -> Claim:
    """Of the first model, or of its difference to the second."""
    of = {"difference": "", "baseline skill": " of skill over another", "relative": " of relative skill"}
    text = f"{MISSES}{of.get(quantity, f' of the {quantity}')}"
    return Claim(text, lambda world, board: side(*_estimate(world, board, quantity)), expected=expected, sided=True)


# Tests


def significant(pair: Pair) -> bool:
    """By Holm's method at 5%."""
    return pair.adjusted_p is not None and pair.adjusted_p <= 1 - LEVEL and pair.difference.value != 0


def _wrong_way(world: World, pair: Pair) -> bool:
    """Whether the truly worse one is significantly better."""
    mean = dict(zip(world.models, world.means, strict=True))
    return significant(pair) and (mean[pair.a] - mean[pair.b]) * pair.difference.value < 0


def wrong_way(expected: Expected | None = None) -> Claim:
    """Significance for the worse of two."""

    def look(world: World, board: tl.Leaderboard) -> Found:
        return "wrong" if any(_wrong_way(world, pair) for pair in board.pairwise) else "right"

    return Claim("the worse one is significantly better", look, ALPHA / 2, expected)


def unqualified(expected: Expected | None = None) -> Claim:
    """Significance for the worse of two, without a word that one more case could turn it round."""

    def look(world: World, board: tl.Leaderboard) -> Found:
        found = [pair for pair in board.pairwise if _wrong_way(world, pair)]
        if not found:
            return "left out"
        return "right" if all(pair.lead is not None and pair.lead < LEAD for pair in found) else "wrong"

    return Claim(f"of these, without a lead below {LEAD} largest losses", look, ALPHA, expected)


def stars(expected: Expected | None = None, *, groups: bool = False) -> Claim:
    """Any significant difference where all are equal: over all cases, or in any of the groups."""

    def look(world: World, board: tl.Leaderboard) -> Found:
        parts = [group.pairs for group in board.groups] if groups else [board.pairwise]
        return "wrong" if any(significant(pair) for part in parts for pair in part) else "right"

    return Claim(f"{STARS}{' in any group' if groups else ''}", look, expected=expected)


def unadjusted(expected: Expected = "fails") -> Claim:
    """The same by p values of single pairs."""

    def look(world: World, board: tl.Leaderboard) -> Found:
        return (
            "wrong"
            if any(pair.difference.p is not None and pair.difference.p <= ALPHA for pair in board.pairwise)
            else "right"
        )

    return Claim(STARS, look, expected=expected, method="p of single pairs")


# Statements about a whole board


def _worst(found: Sequence[Found]) -> Found:
    """Of several at once: wrong if any is."""
    if all(one == "absent" for one in found):
        return "absent"
    return "wrong" if any(one in ("below", "above", "wrong") for one in found) else "right"


def behind(expected: Expected | None = None) -> Claim:
    """Intervals of the difference to the leader, all at once."""

    def look(world: World, board: tl.Leaderboard) -> Found:
        mean = dict(zip(world.models, world.means, strict=True))
        rows = [row for row in board if row.scores[world.rule].difference is not None]
        return _worst([side(row.scores[world.rule].difference, mean[row.name] - mean[board[0].name]) for row in rows])

    return Claim("any interval of a difference to the leader misses", look, expected=expected)


def at_once(expected: Expected | None = None) -> Claim:
    """Simultaneous intervals of all pairs."""

    def look(world: World, board: tl.Leaderboard) -> Found:
        mean = dict(zip(world.models, world.means, strict=True))
        return _worst([side(pair.simultaneous, mean[pair.a] - mean[pair.b]) for pair in board.pairwise])

    return Claim("any simultaneous interval of a pair misses", look, expected=expected)


def leader(expected: Expected = "short") -> Claim:
    """The mean of the one that leads, which was chosen by the same data."""

    def look(world: World, board: tl.Leaderboard) -> Found:
        mean = dict(zip(world.models, world.means, strict=True))
        return side(board[0].scores[world.rule].mean, mean[board[0].name])

    return Claim("the leader's own mean is missed", look, expected=expected, sided=True, method="t after selection")


def ranks(expected: Expected | None = None) -> Claim:
    """Rank intervals, all at once: each has all ranks that the model may truly have, which are several among equals."""

    def look(world: World, board: tl.Leaderboard) -> Found:
        mean = dict(zip(world.models, world.means, strict=True))
        found: list[Found] = []
        for row in board:
            best = 1 + sum(other < mean[row.name] for other in world.means)
            last = sum(other <= mean[row.name] for other in world.means)
            held = row.rank_interval
            found.append("absent" if held is None else "right" if held[0] <= best and last <= held[1] else "wrong")
        return _worst(found)

    return Claim("any rank interval misses a true rank", look, expected=expected)


def left_out(expected: Expected | None = None) -> Claim:
    """The confidence set of the best."""

    def look(world: World, board: tl.Leaderboard) -> Found:
        found = board.confidence_set()
        if not found.members:
            return "absent"
        best = {name for name, mean in zip(world.models, world.means, strict=True) if mean == min(world.means)}
        return "right" if best <= set(found.members) else "wrong"

    return Claim("the confidence set leaves out a best model", look, expected=expected)


# Power


def separates() -> Claim:
    """Whether as many cases as the power calculation asks for separate two models."""

    def look(world: World, board: tl.Leaderboard) -> Found:
        return "right" if side(board.difference(FIRST, SECOND), 0.0) == "right" else "wrong"

    return Claim("separates, 4 times in 5", look, 0.8, "holds")


def needed(difference: float) -> int:
    """How many cases separate these two, by the package's own calculation from a hundred cases of variance one."""
    found = Estimate(difference, difference - 1, difference + 1, error=0.1, freedom=99)
    extra = extra_units(found, 100, LEVEL)
    if extra is None:
        raise ValueError(f"no number of cases is given for a difference of {difference}")
    return 100 + extra


def shares(found: Sequence[Found]) -> tuple[int, float, dict[Found, float]]:
    """How many data sets a claim is about, how often it is wrong, and each answer as a share of them."""
    counted = [one for one in found if one != "left out"]
    many = max(1, len(counted))
    each: dict[Found, float] = {what: counted.count(what) / many for what in set(counted)}
    wrong = math.fsum(each.get(what, 0.0) for what in ("wrong", "below", "above"))
    return len(counted), wrong, each
