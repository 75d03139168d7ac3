"""The score of top-beta lists as a rule of `tl.score`, `tl.compare` and the command: `topbeta:0.9`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from toplist.core.arguments import as_whole
from toplist.core.array_api import CaseColumns, ScoreTable
from toplist.errors import RuleError, TopListError
from toplist.scoring.rules.base import TableRule, pick_scores
from toplist.scoring.topbeta import nested
from toplist.scoring.topbeta.image import as_level, require_image

Array = Any
_FORM = '"topbeta:0.9", or "topbeta:0.9:5" for lists that end after five classes at the latest'


@dataclass(frozen=True, slots=True)
class TopBeta(TableRule):
    """Score of top-beta lists: the most likely classes until they hold the mass beta; from 0 to 1.

    With sorted confidences t_j, T_j = t_1 + ... + t_j, s_j = beta - T_{j-1} and L_j = 2 (1 - T_{j-1}) - t_j, the
    entropy is 1 - V_1 / beta**2, where V_j = (s_j + V_{j+1} / 4)**2 / L_j while s_j > 0, and the score is its tangent:
    0 for a list that is certain and right, 1 for one that is certain and wrong. It is strictly consistent: true
    top-beta lists, and no others, score best in expectation, for any number of classes, also infinitely many
    (docs/topbeta.md has the proof). Classes that tie within a list share the mean of their scores. Lists that are no
    top-beta lists are refused, with the case and what to do; the entropy is that of the top-beta list of the padded
    distribution, whatever the length of the list.

    Parameters
    ----------
    beta : float or Fraction
        Mass to reach, between 0 and 1.
    cap : int, optional
        Largest length of a list. Lists that reach it may have less mass.

    Examples
    --------
    >>> import toplist as tl
    >>> lists = tl.TopLists.from_dicts([{"a": 0.6, "b": 0.3}, {"a": 0.6, "b": 0.3}, {"a": 1.0}], 5)
    >>> tl.score(lists, ["a", "c", "a"], rule="topbeta:0.8").round(4)
    array([0.145 , 0.4614, 0.    ])
    """

    beta: Any
    cap: int | None = None
    name: ClassVar[str] = "topbeta"
    padded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        try:
            as_level(self.beta)
            if self.cap is not None:
                object.__setattr__(self, "cap", as_whole(self.cap, "cap", 1))
        except TopListError as error:
            raise RuleError(f"TopBeta: {error}") from None

    @classmethod
    def parse(cls, text: str) -> TopBeta:
        """The rule that is spelled like this: topbeta:0.9, or topbeta:0.9:5 with a cap."""
        _, *parts = text.split(":")
        try:
            beta = float(parts[0])
            cap = int(parts[1]) if len(parts) > 1 else None
        except (ValueError, IndexError):
            raise RuleError(f"{text!r} is not how the rule for top-beta lists is written: {_FORM}.") from None
        if len(parts) > 2:
            raise RuleError(f"{text!r} is not how the rule for top-beta lists is written: {_FORM}.")
        return cls(beta, cap)

    @property
    def spelling(self) -> str:
        """The text that `parse` takes."""
        return f"{self.name}:{float(self.beta)!r}{'' if self.cap is None else f':{self.cap}'}"

    def require(self, lists: Any) -> None:
        """See `Rule.require`."""
        require_image(lists, self.beta, self.cap)

    def scores(self, cases: CaseColumns) -> Array:
        """See `Rule.scores`: lists in memory are scored rank by rank, whatever their lengths are."""
        lists, codes = getattr(cases, "part", (None, None))
        if lists is None or codes is None:
            return pick_scores(cases, self.each)
        beta = float(self.beta)
        return 1.0 + nested.scores(lists, codes, beta) / beta**2

    def each(self, table: ScoreTable) -> tuple[Array, Array]:
        """See `Rule.each`."""
        xp, t, beta = table.xp, table.t, float(self.beta)
        if not t.shape[1]:
            return t, xp.ones_like(table.rest)
        order = xp.argsort(-t, axis=1)
        t = xp.permute_dims(xp.take_along_axis(t, order, axis=1), (1, 0))
        listed, missed = nested.each(xp, t, beta)
        listed = xp.permute_dims(nested.share_ties(xp, t, listed), (1, 0))
        listed = xp.take_along_axis(listed, xp.argsort(order, axis=1), axis=1)
        return 1.0 + listed / beta**2, 1.0 + missed / beta**2

    def table_entropy(self, table: ScoreTable) -> Array:
        """1 - V_1 / beta**2 of the padded distribution."""
        xp, k, beta = table.xp, table.t.shape[1], float(self.beta)
        room = float("inf") if self.cap is None else max(self.cap - k, 0)
        value = nested.flat(xp, xp.sum(table.t, axis=1), table.proxy, beta, room + 0.0 * table.rest)
        if k:
            t = xp.permute_dims(xp.flip(xp.sort(table.t, axis=1), axis=1), (1, 0))
            value, _ = nested.ratios(xp, t if self.cap is None else t[: self.cap, :], beta, value)
        return 1.0 - value / beta**2

    def bounds(self) -> tuple[float, float]:
        """0 to 1."""
        return 0.0, 1.0
