"""Split conformal lists: cut so that the outcome is in the set with a chosen probability, whatever the confidences.

A case is scored by how far down its list the outcome stands. With the most confident class first, and u uniform on
[0, 1] where sets are randomised (1 where they are not),

    a(y) = mass listed before y + u * confidence of y               if y is listed
    a(y) = all listed mass + u * rest mass                          if y is not listed and there is rest mass
    a(y) = infinity                                                 if y is not listed and there is none,

where RAPS adds penalty * max(0, rank - k_reg), an unlisted class having the rank behind the last listed one. The
unlisted classes of a case are one block: nothing in the list tells them apart. The set of a case is {y : a(y) <= q}:
the first classes of the list, or, if the block is in it, the whole space. With q the ceil((n + 1) coverage)-th smallest
of the scores of n calibration cases (infinity if there is no such), and a further case that is exchangeable with them,

    P(outcome in set) = P(a_(n+1) <= q) >= coverage,

since the rank of a_(n+1) among the n + 1 exchangeable scores is at most ceil((n + 1) coverage) with at least that
probability, ties included; without ties it is below coverage + 1 / (n + 1). No step assumes that the confidences are
right, or anything about the length of lists or the number of classes. (Vovk et al. 2005; Romano, Sesia and Candes 2020,
APS; Angelopoulos et al. 2021, RAPS.)

The u of a case is a hash of the seed, its list and, where the calibration cases have ids, its id. So a(y) is the same
function of every case, which is all that the argument needs, for every seed and every way in which cases come in
batches. Cases with the same list and without ids have the same u: their scores tie as they do without randomisation, so
that sets may cover more than the chosen probability, never less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from toplist._files import from_json_number, read_json, to_json_number, write_json
from toplist._text import quote
from toplist._typing import Bools, Floats
from toplist.calibration.pairs import MISSED, calibration_pairs
from toplist.core.arguments import as_count, as_number, as_probability, as_whole
from toplist.core.kernel import GOLDEN, mix
from toplist.errors import TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.converters import as_codes
from toplist.lists.labelsets import LabelSets
from toplist.lists.toplists import first_where, keep_first, mass_before, ranks_in, rectangles
from toplist.lists.validation import over_rows

Words = NDArray[np.uint64]


def uniform_by_case(lists: TopLists, seed: int, *, by_id: bool) -> Floats:
    """One number in [0, 1) per case: a hash of the seed, of its list and, with `by_id`, of its id.

    The list counts as a set of classes with confidences. Classes count by their labels, where they have some: the codes
    of labels that a batch has met depend on the batch.

    >>> a, b = (TopLists.from_dicts(rows, 5) for rows in ([{"x": 0.5}, {"y": 0.7, "x": 0.1}], [{"x": 0.1, "y": 0.7}]))
    >>> bool(uniform_by_case(a, 3, by_id=False)[1] == uniform_by_case(b, 3, by_id=False)[0])
    True
    """
    words = _mix(_class_words(lists) ^ _mix((lists.normalized_confidences + 0.0).view(np.uint64)))
    rows = _mix(over_rows(np.add, words, lists.offsets, 0) ^ _words([seed])[0])
    if by_id and lists.ids is not None:
        rows = _mix(rows ^ _words(lists.ids.tolist()))
    return (rows >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _class_words(lists: TopLists) -> Words:
    codes, space = lists.classes, lists.space
    if space.labels is None or isinstance(space, LabelSets):
        return _mix(codes.astype(np.int64).view(np.uint64))
    met, place = np.unique(codes, return_inverse=True)
    return _words(space.decode(int(code)) for code in met)[place]


def _words(values: Iterable[Any]) -> Words:
    """A word of 64 bits for each value, by what it is called: 7 and "7" are the same."""
    digests = b"".join(blake2b(str(value).encode(errors="surrogatepass"), digest_size=8).digest() for value in values)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _mix(x: Words) -> Words:
    """Every bit of the result depends on every bit of the argument (splitmix64)."""
    return mix(x + GOLDEN)


SCHEMA = "toplist.conformal/1"
KINDS = ("aps", "raps")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ConformalSets:
    """A set of classes for each case: the first ones of its list, or the whole space.

    Attributes
    ----------
    lists : TopLists
        Lists cut to their sets; whole lists where the set is the whole space.
    whole : ndarray of bool
        Where the set is the whole space.
    coverage : float
        The probability with which sets cover.
    """

    lists: TopLists
    whole: Bools
    coverage: float

    @property
    def sizes(self) -> Floats:
        """How many classes each set has; the number of classes where it is the whole space."""
        size: Floats = np.where(self.whole, self.lists.checked.rows.size, self.lists.sizes)
        return size

    def covers(self, y: Any) -> Bools:
        """Whether the outcome of each case, a code, label or label set, is in its set."""
        codes = as_codes(y, self.lists)
        listed = first_where(self.lists.classes == np.repeat(codes, self.lists.sizes), self.lists) < self.lists.sizes
        covered: Bools = self.whole | listed
        return covered

    def __repr__(self) -> str:
        some = self.lists.sizes[~self.whole]
        size = f", {some.mean():.3g} classes on average elsewhere" if len(some) else ""
        n = f"{len(self.whole):,} cases, {int(self.whole.sum()):,} the whole space"
        return f"ConformalSets({n}{size}, coverage {self.coverage:g})"


class Conformal:
    """Split conformal prediction (APS or RAPS): lists cut so that they cover with a chosen probability.

    The guarantee is marginal, over calibration and new cases together, for cases that are exchangeable with those of
    `fit`, which the model must not have been trained on. It counts the whole space as a set: `sets` says where that is
    the set. The set of a case is the same in every batch.

    Parameters
    ----------
    coverage : float, default 0.9
        The probability that the outcome is in the set.
    kind : {"aps", "raps"}, default "aps"
        Adaptive prediction sets, or regularised ones, which are more alike in size.
    randomized : bool, default True
        Randomised sets cover nearly exactly; others are larger. The randomisation of a case depends on `seed`, its list
        and its id. Cases without ids share it if their lists are identical, and then sets may cover more.
    penalty, k_reg : float, int
        RAPS adds `penalty`, 0.01 by default, for each rank beyond `k_reg`, 5 by default.
    empty : bool, default True
        Whether randomised sets may be empty.
    seed : int, default 0
        The seed of the randomisation.

    Attributes
    ----------
    threshold_ : float or None
        The largest score of a class in a set; None before `fit`.
    cases_ : int
        The number of calibration cases.
    by_id_ : bool
        Whether ids take part in the randomisation.

    References
    ----------
    Romano, Sesia and Candes (2020), Classification with valid and adaptive coverage, NeurIPS.
    Angelopoulos, Bates, Malik and Jordan (2021), Uncertainty sets for image classifiers, ICLR.

    Examples
    --------
    >>> P = [[0.6, 0.3, 0.1]] * 9
    >>> model = Conformal(coverage=0.8, randomized=False).fit(P, [0, 0, 0, 0, 0, 0, 1, 1, 2])
    >>> round(model.threshold_, 6), model.transform(P[:1])[0]
    (0.9, TopList(0 0.6, 1 0.3; unlisted 0.1 over 1 class))
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
        """The options by name."""
        names = ("coverage", "kind", "randomized", "penalty", "k_reg", "empty", "seed")
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Change options by name; it must be fitted again."""
        unknown = sorted(set(params) - set(self.get_params()))
        if unknown:
            raise TopListError(f"a Conformal has no {unknown[0]}; it has {', '.join(self.get_params())}.")
        type(self).__init__(self, **{**self.get_params(), **params})
        return self

    def fit(
        self, lists: Any, y: Any, coverage: float | None = None, *, sample_weight: Any = None, space: Any = None
    ) -> Self:
        """Find the threshold on calibration cases: the ceil((n + 1) coverage)-th smallest score, or infinity.

        Parameters
        ----------
        lists : TopLists or anything that `toplist.as_lists` takes
            Predictions for calibration cases.
        y : array-like
            One outcome per case.
        coverage : float, optional
            Replaces the option.
        sample_weight : None
            Weights are refused: exchangeable cases count one each.
        space : int, ClassSpace or LabelSets, optional
            The classes, where `lists` do not say.

        Returns
        -------
        Conformal
            Itself, fitted.
        """
        if sample_weight is not None:
            raise TopListError("conformal lists need exchangeable cases, which count one each: leave weights out.")
        if coverage is not None:
            self.coverage = as_probability(coverage, "the coverage")
        made = calibration_pairs(as_lists(lists, space), y)
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

    def sets(self, lists: Any, *, space: Any = None) -> ConformalSets:
        """The set of each case of predictions that `toplist.as_lists` takes; see `fit` for `space`."""
        if self.threshold_ is None:
            raise TopListError("this Conformal is not fitted: call fit(lists, y) first.")
        lists = as_lists(lists, space)
        if self.randomized and self.by_id_ and lists.ids is None:
            raise TopListError(
                "these lists have no ids, but the calibration cases had, and sets are randomised by them: give "
                "the lists their ids, or calibrate without."
            )
        ordered = lists.strictly_valid().ordered()
        entries, block = self._scores(ordered, self._draws(ordered, by_id=self.by_id_))
        limit = self.threshold_
        open_ = ordered.sizes < ordered.checked.rows.size
        counts = first_where(entries > limit, ordered)
        whole = (open_ & (block <= limit)) | (~open_ & (counts == ordered.sizes))
        if not self.empty:
            counts = np.maximum(counts, np.minimum(ordered.sizes, 1))
            whole = whole | (counts == 0) | (counts == ordered.checked.rows.size)
        return ConformalSets(keep_first(ordered, np.where(whole, ordered.sizes, counts)), whole, self.coverage)

    def transform(self, lists: Any, *, space: Any = None) -> TopLists:
        """Lists cut to their sets; whole lists where the set is the whole space."""
        return self.sets(lists, space=space).lists

    def fit_transform(self, lists: Any, y: Any) -> TopLists:
        """Refuse: sets of the cases that a threshold was found on have no guarantee."""
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
        threshold = None if self.threshold_ is None else to_json_number(self.threshold_)
        fitted = {"threshold": threshold, "cases": self.cases_, "by_id": self.by_id_}
        return {"schema": SCHEMA, **self.get_params(), **fitted}

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """The fit of which `to_dict` gave these values."""
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
