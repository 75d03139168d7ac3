"""Split conformal lists: cut so that what happens is in the set with a chosen probability, whatever the confidences.

A case is scored by how far down its list one must go to meet what happened. With the most confident class first, and u
uniform on [0, 1] where sets are randomised (1 where they are not),

    a(y) = mass listed before y + u * confidence of y               if y is listed
    a(y) = all listed mass + u * rest mass                          if y is not listed and there is rest mass
    a(y) = infinity                                                 if y is not listed and there is none,

where RAPS adds penalty * max(0, rank - k_reg), an unlisted class having the rank behind the last listed one. The
unlisted classes of a case are one block: nothing in the list tells them apart. The set of a case is {y : a(y) <= q}:
the first classes of the list, or, if the block is in it, the whole space. With q the ceil((n + 1) coverage)-th smallest
of the scores of n calibration cases (infinity if there is no such), and a further case that is exchangeable with them,

    P(outcome in set) = P(a_(n+1) <= q) >= coverage,

since the rank of a_(n+1) among the n + 1 exchangeable scores is at most ceil((n + 1) coverage) with at least that
probability, ties included; without ties it is below coverage + 1 / (n + 1). No step asks whether the confidences are
right, how long the lists are or how many classes there are. (Vovk et al. 2005; Romano, Sesia and Candes 2020, APS;
Angelopoulos et al. 2021, RAPS.)

The u of a case is a hash of the seed, its list and, where the calibration cases have ids, its id. So a(y) is one and
the same function of every case, which is all that the argument asks for, for every seed and every way in which cases
come in batches. Cases with the same list and without ids have the same u: their scores tie as they do without
randomisation, so that sets may cover more than they promise, never less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_count, as_number, as_probability, as_whole
from toplist._files import from_json_number, read_json, to_json_number, write_json
from toplist._text import quote
from toplist._typing import Floats
from toplist.calibration.pairs import MISSED, promises
from toplist.errors import TopListError
from toplist.lists import TopLists, require_lists
from toplist.lists.outcomes import as_codes
from toplist.lists.truncate import first_where, keep_first, mass_before, ranks_in, rectangles
from toplist.postprocess.draws import uniform_by_case

SCHEMA = "toplist.conformal/1"
KINDS = ("aps", "raps")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ConformalSets:
    """A set of classes for each case: the first ones of its list, or the whole space."""

    lists: TopLists  # cut to the set; as far as it goes where the set is the whole space
    whole: NDArray[np.bool_]  # where the set is the whole space
    coverage: float

    @property
    def sizes(self) -> Floats:
        """How many classes each set has; the number of classes where it is the whole space."""
        size: Floats = np.where(self.whole, self.lists.admitted.rows.size, self.lists.sizes)
        return size

    def covers(self, y: Any) -> NDArray[np.bool_]:
        """Per case: is what happened in the set?"""
        codes = as_codes(y, self.lists)
        listed = first_where(self.lists.classes == np.repeat(codes, self.lists.sizes), self.lists) < self.lists.sizes
        covered: NDArray[np.bool_] = self.whole | listed
        return covered

    def __repr__(self) -> str:
        some = self.lists.sizes[~self.whole]
        size = f", {some.mean():.3g} classes on average elsewhere" if len(some) else ""
        n = f"{len(self.whole):,} cases, {int(self.whole.sum()):,} the whole space"
        return f"ConformalSets({n}{size}, coverage {self.coverage:g})"


class Conformal:
    """Lists cut so that what happens is among them with a chosen probability (split conformal, APS or RAPS).

    `fit` needs cases that the model has not seen, exchangeable with those to come. The guarantee is marginal, over
    calibration and new cases together, and counts the whole space as a set: `sets` says where that is the set.
    Randomised sets cover nearly exactly, and may be empty unless `empty` is false; sets that are not
    randomised are larger. `penalty` and `k_reg` are RAPS: each rank beyond `k_reg` adds `penalty`, which makes sets
    alike in size. The randomisation of a case is a function of `seed`, its list and its id, so that its set is the same
    in every batch. Cases without ids share it if their lists are identical; sets may then cover more than they promise.

    >>> import toplist as tl
    >>> lists = tl.TopLists.from_proba([[0.6, 0.3, 0.1]] * 9)
    >>> model = Conformal(coverage=0.8, randomized=False).fit(lists, [0, 0, 0, 0, 0, 0, 1, 1, 2])
    >>> round(model.threshold_, 6), model.transform(lists[:1])[0]
    (0.9, TopList({0: 0.6, 1: 0.3}, rest=0.1 over 1 class))
    """

    def __init__(
        self,
        coverage: float = 0.9,
        kind: str = "aps",
        *,
        randomized: bool = True,
        penalty: float = 0.01,
        k_reg: int = 5,
        empty: bool = True,
        seed: int = 0,
    ) -> None:
        if kind not in KINDS:
            raise TopListError(f"conformal lists are 'aps' or 'raps', not {quote(kind)}.")
        if not all(isinstance(one, bool | np.bool_) for one in (randomized, empty)):
            raise TopListError(f"randomized and empty are true or false, not {quote(randomized)} and {quote(empty)}.")
        self.coverage = as_probability(coverage, "the coverage")
        self.kind = kind
        self.randomized = bool(randomized)
        self.penalty = as_number(penalty, "the penalty per rank", 0, 1e100)
        self.k_reg = as_count(k_reg, "k_reg")
        self.empty = bool(empty)
        self.seed = as_whole(seed, "the seed", 0)
        self.threshold_: float | None = None
        self.cases_: int = 0
        self.by_id_: bool = False  # whether ids take part in the randomisation

    def get_params(self, *, deep: bool = True) -> dict[str, Any]:
        """What it was made with."""
        names = ("coverage", "kind", "randomized", "penalty", "k_reg", "empty", "seed")
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Change how it is made; what was fitted is forgotten."""
        unknown = sorted(set(params) - set(self.get_params()))
        if unknown:
            raise TopListError(f"a Conformal has no {unknown[0]}; it has {', '.join(self.get_params())}.")
        type(self).__init__(self, **{**self.get_params(), **params})
        return self

    def fit(self, lists: TopLists, y: Any, coverage: float | None = None, *, sample_weight: Any = None) -> Self:
        """Find the threshold on calibration cases: the ceil((n + 1) coverage)-th smallest score, or infinity."""
        if sample_weight is not None:
            raise TopListError("conformal lists need exchangeable cases, which count one each: leave weights out.")
        if coverage is not None:
            self.coverage = as_probability(coverage, "the coverage")
        made = promises(lists, y)
        ordered, n = made.lists, len(made.lists)
        if not n:
            raise TopListError("there are no cases to calibrate on.")
        by_id = made.lists.ids is not None
        entries, block = self._scores(ordered, self._draws(ordered, by_id=by_id))
        hit = made.place != MISSED
        scores = np.where(hit, 0.0, block)
        scores[hit] = entries[(ordered.offsets[:-1] + made.place)[hit]]
        rank = math.ceil((n + 1) * Fraction(repr(self.coverage)))  # of the decimal that was typed
        self.threshold_ = float(np.partition(scores, rank - 1)[rank - 1]) if rank <= n else math.inf
        self.cases_, self.by_id_ = n, by_id
        return self

    def sets(self, lists: TopLists) -> ConformalSets:
        """The set of each case: the same in every batch."""
        if self.threshold_ is None:
            raise TopListError("this Conformal is not fitted: call fit(lists, y) first.")
        require_lists(lists)
        if self.randomized and self.by_id_ and lists.ids is None:
            raise TopListError(
                "these lists have no ids, but the calibration cases had, and sets are randomised by them: give "
                "the lists their ids, or calibrate without."
            )
        ordered = lists.strictly_valid().ordered()
        entries, block = self._scores(ordered, self._draws(ordered, by_id=self.by_id_))
        limit = self.threshold_
        open_ = ordered.sizes < ordered.admitted.rows.size
        counts = first_where(entries > limit, ordered)
        whole = (open_ & (block <= limit)) | (~open_ & (counts == ordered.sizes))
        if not self.empty:
            counts = np.maximum(counts, np.minimum(ordered.sizes, 1))
            whole = whole | (counts == 0) | (counts == ordered.admitted.rows.size)
        return ConformalSets(keep_first(ordered, np.where(whole, ordered.sizes, counts)), whole, self.coverage)

    def transform(self, lists: TopLists) -> TopLists:
        """Lists cut to their sets; whole lists where the set is the whole space."""
        return self.sets(lists).lists

    def fit_transform(self, lists: TopLists, y: Any) -> TopLists:
        """Refused: sets of the cases that a threshold was found on have no guarantee."""
        raise TopListError("conformal lists hold for new cases: fit on some cases, transform others.")

    def _draws(self, ordered: TopLists, *, by_id: bool) -> Floats:
        """The u of each case."""
        return uniform_by_case(ordered, self.seed, by_id=by_id) if self.randomized else np.ones(len(ordered))

    def _scores(self, ordered: TopLists, u: Floats) -> tuple[Floats, Floats]:
        """The score of each entry as an outcome, and of each case's unlisted classes."""
        sizes, rest = ordered.sizes, ordered.rest
        entries = mass_before(ordered) + np.repeat(u, sizes) * ordered.normalized_confidences
        block = np.where(rest > 0, ordered.mass + u * rest, np.inf)
        if self.kind == "raps":
            entries = entries + self.penalty * np.maximum(ranks_in(ordered) + 1.0 - self.k_reg, 0)
            block = block + self.penalty * np.maximum(sizes + 1.0 - self.k_reg, 0)
        for where in rectangles(ordered):  # they rise, but for rounding
            entries[where] = np.maximum.accumulate(entries[where], axis=1)
            case = np.searchsorted(ordered.offsets, where[:, 0], side="right") - 1
            block[case] = np.maximum(block[case], entries[where[:, -1]])
        return entries, block

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `save` writes them."""
        limit = self.threshold_
        shown = None if limit is None else to_json_number(limit)
        fitted = {"threshold": shown, "cases": self.cases_, "by_id": self.by_id_}
        return {"schema": SCHEMA, **self.get_params(), **fitted}

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """The opposite of `to_dict`."""
        if not isinstance(values, dict) or values.get("schema") != SCHEMA:
            raise TopListError(f"this is no conformal fit: its schema is not {SCHEMA}.")
        known = {"schema", "threshold", "cases", "by_id"}
        params = {name: value for name, value in values.items() if name not in known}
        unknown = sorted(set(params) - set(cls().get_params()))
        if unknown:
            raise TopListError(f"a conformal fit has no {', '.join(unknown)}.")
        made = cls(**params)
        limit = values.get("threshold")
        if limit is not None:
            made.threshold_ = as_number(from_json_number(limit), "the threshold", 0, np.inf)
        made.cases_ = as_whole(values.get("cases", 0), "the number of cases", 0)
        made.by_id_ = values.get("by_id", False)
        if not isinstance(made.by_id_, bool):
            raise TopListError(f"by_id is true or false, not {made.by_id_!r}.")
        return made

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        return cls.from_dict(read_json(path, "a conformal fit"))

    def __repr__(self) -> str:
        fitted = "not fitted" if self.threshold_ is None else f"threshold {self.threshold_:.6g}, {self.cases_:,} cases"
        return f"Conformal({self.kind}, coverage {self.coverage:g}, {fitted})"
