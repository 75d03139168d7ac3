"""Whether two predictors have the same scores in every case, up to rounding: a test of that would test noise."""

from __future__ import annotations

from dataclasses import dataclass

from toplist.ranking.inference import Inference
from toplist.ranking.results import Estimate
from toplist.tally import Tally

SAME = "the scores are the same in every case, up to rounding"
_ROUNDING = 10**9  # no case differs by more than this part of the root mean square of the scores


def same_scores(tally: Tally, rule: int, a: int, b: int) -> bool:
    """Whether no score of a differs from that of b on the cases of both, infinite ones included."""
    s = {name: tally.sums[name][rule] for name in ("both", "xx", "xy", "infinite")}
    both, infinite, cases = s["both"][a, b], s["infinite"], tally.sums["cases"]
    if infinite[a, b] != infinite[b, a] or not both + infinite[a, b]:
        return False
    if infinite[a, b] and not (cases[a, b] == cases[a, a] == cases[b, b] and both == s["both"][a, a]):
        return False  # infinite in different cases, or nobody knows in which
    squares = s["xx"][a, b] - 2 * s["xy"][a, b] + s["xx"][b, a]
    return bool(both * squares * _ROUNDING**2 <= max(s["xx"][a, b], s["xx"][b, a]))


@dataclass(frozen=True, slots=True)
class Apart:
    """Estimates as `inner` has them, but no interval and no test between predictors with the same scores."""

    inner: Inference
    tally: Tally

    def mean(self, rule: int, a: int) -> Estimate:
        """See `Inference`."""
        return self.inner.mean(rule, a)

    def difference(self, rule: int, a: int, b: int) -> Estimate:
        """See `Inference`."""
        found = self.inner.difference(rule, a, b)
        alike = a != b and found.low is not None and same_scores(self.tally, rule, a, b)
        return Estimate(found.value, why=SAME) if alike else found

    def distance(self, rule: int, a: int, b: int) -> float:
        """See `Inference`."""
        return self.inner.distance(rule, a, b)

    def units(self, rule: int, a: int, b: int) -> int:
        """See `Inference`."""
        return self.inner.units(rule, a, b)

    def skill(self, rule: int, a: int) -> Estimate | None:
        """See `Inference`."""
        return self.inner.skill(rule, a)

    def reference_skill(self, rule: int, a: int, reference: int) -> Estimate | None:
        """See `Inference`."""
        return self.inner.reference_skill(rule, a, reference)

    def relative(self, rule: int, a: int, value: float, others: tuple[int, ...]) -> Estimate:
        """See `Inference`."""
        return self.inner.relative(rule, a, value, others)
