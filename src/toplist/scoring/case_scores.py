"""Accuracy, coverage and ranks of outcomes; the table of metrics; scores and metrics case by case."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from toplist import _html
from toplist._files import load, need, write_bytes
from toplist._text import significant, visible
from toplist._typing import Floats
from toplist.core import kernel
from toplist.core.arguments import as_count, as_shares
from toplist.errors import TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.converters import as_codes, as_truth, is_soft
from toplist.lists.space import ClassSpace
from toplist.lists.toplists import beliefs
from toplist.scoring.rules import Rule, name_of
from toplist.scoring.scores import entropy, penalise, score

Column = NDArray[Any]


def ranks(lists: Any, y: Any, *, space: Any = None) -> Floats:
    """Rank of the outcome in its list.

    Parameters
    ----------
    lists : TopLists or anything that `as_lists` takes
        The predictions.
    y : array-like
        One outcome per case.
    space : ClassSpace, int or float, optional
        The classes, where the predictions do not say.

    Returns
    -------
    ndarray of float
        1 where the outcome is the most confident class, infinity where it is not listed; ties share their mean rank.

    Examples
    --------
    >>> ranks(TopLists.from_dicts([{"a": 0.6, "b": 0.3}] * 3, 5), ["a", "b", "c"])
    array([ 1.,  2., inf])

    """
    above, equal = _above_and_equal(as_lists(lists, space), y)
    return np.where(equal > 0, 1.0 + above + 0.5 * (equal - 1.0), np.inf)


def accuracy(lists: Any, y: Any, *, sample_weight: Any = None, space: Any = None) -> float:
    """How often the most confident class is the outcome.

    Parameters
    ----------
    lists : TopLists or anything that `as_lists` takes
        The predictions.
    y : array-like
        One outcome per case.
    sample_weight : array-like, optional
        One weight per case.
    space : ClassSpace, int or float, optional
        The classes, where the predictions do not say.

    Returns
    -------
    float
        Tied classes share the credit; an empty list gets none.

    Examples
    --------
    >>> accuracy(TopLists.from_labels([0, 1, 2], 3), [0, 1, 1])
    0.6666666666666666

    """
    return _mean(outcome_ranks(as_lists(lists, space), y).within(1), sample_weight)


def top_k_error(lists: Any, y: Any, *, k: int, sample_weight: Any = None, space: Any = None) -> float:
    """How often the outcome is not among the k most confident listed classes.

    Parameters
    ----------
    lists : TopLists or anything that `as_lists` takes
        The predictions.
    y : array-like
        One outcome per case.
    k : int
        How many classes count; those that tie at the k-th place share what is left.
    sample_weight : array-like, optional
        One weight per case.
    space : ClassSpace, int or float, optional
        The classes, where the predictions do not say.

    Returns
    -------
    float
        The share of cases whose outcome is not among the k most confident classes.

    Examples
    --------
    >>> top_k_error([{"a": 0.6, "b": 0.3}, {"b": 0.5}], ["b", "a"], k=2, space=5)
    0.5

    """
    return _mean(outcome_ranks(as_lists(lists, space), y).beyond(as_count(k)), sample_weight)


def coverage(lists: Any, y: Any, *, sample_weight: Any = None, space: Any = None) -> float:
    """How often the outcome is listed.

    Parameters
    ----------
    lists : TopLists or anything that `as_lists` takes
        The predictions.
    y : array-like
        One outcome per case.
    sample_weight : array-like, optional
        One weight per case.
    space : ClassSpace, int or float, optional
        The classes, where the predictions do not say.

    Returns
    -------
    float
        The share of cases whose outcome is listed.

    Examples
    --------
    >>> coverage([{"a": 0.6, "b": 0.3}, {"b": 0.5}], ["b", "a"], space=5)
    0.5

    """
    return _mean(outcome_ranks(as_lists(lists, space), y).listed, sample_weight)


@dataclass(frozen=True, slots=True)
class HardRanks:
    """Ranks of known outcomes: how many listed classes are more confident, how many are as confident (0: unlisted)."""

    above: NDArray[np.int32]
    equal: NDArray[np.int32]

    @property
    def listed(self) -> Column:
        """Whether the outcome is listed."""
        return self.equal > 0

    def within(self, k: int) -> Column:
        """Whether the outcome is among the k most confident classes; a share where classes tie."""
        if self.equal.max(initial=0) <= 1:
            return self.listed & (self.above < k)
        return np.where(self.listed, np.clip((k - self.above) / np.maximum(self.equal, 1), 0.0, 1.0), 0.0)

    def beyond(self, k: int) -> Column:
        """Whether it is not among them."""
        found = self.within(k)
        return ~found if found.dtype == bool else 1.0 - found


@dataclass(frozen=True, slots=True)
class SoftRanks:
    """The same where the outcome is a distribution: probabilities instead of yes and no.

    One entry for each listed class, by decreasing confidence: its case, its probability, how many are more confident
    and how many as confident.
    """

    cases: int
    case: NDArray[np.intp]
    probability: Floats
    above: NDArray[np.intp]
    equal: NDArray[np.intp]

    @property
    def listed(self) -> Column:
        """The probability of the listed classes."""
        return self._sums(self.probability)

    def within(self, k: int) -> Column:
        """The probability of the k most confident classes."""
        share = np.clip((k - self.above) / self.equal, 0.0, 1.0)
        return self._sums(share * self.probability)

    def _sums(self, values: Floats) -> Floats:
        """Sums by case; of no values at all, numpy returns whole numbers."""
        return np.bincount(self.case, weights=values, minlength=self.cases).astype(np.float64, copy=False)

    def beyond(self, k: int) -> Column:
        """The probability of all others."""
        found: Column = 1.0 - self.within(k)
        return found


def outcome_ranks(lists: TopLists, y: Any) -> HardRanks:
    """Where the outcomes stand in their lists."""
    return HardRanks(*_above_and_equal(lists, y))


def soft_ranks(lists: TopLists, truth: TopLists) -> SoftRanks:
    """Where the classes stand that the truth holds probable."""
    ordered = lists.ordered()
    probability = beliefs(truth, ordered).listed
    case, offsets = np.repeat(np.arange(len(lists)), lists.sizes), ordered.offsets
    t = ordered.confidences
    place = np.arange(len(t)) - offsets[case]
    starts = np.ones(len(t), bool)
    starts[1:] = (t[1:] != t[:-1]) | (case[1:] != case[:-1])
    run = np.cumsum(starts) - 1
    above, equal = place[starts][run] if len(t) else place, np.bincount(run, minlength=1)[run]
    return SoftRanks(len(lists), case, probability, above, equal)


def _above_and_equal(lists: TopLists, y: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return kernel.places(lists.checked.rows, as_codes(y, lists))


def _mean(values: Column, weight: Any) -> float:
    if not len(values):
        raise TopListError("there are no cases to average over.")
    return float(values.mean() if weight is None else np.average(values, weights=as_shares(weight, len(values))))


Ranks = HardRanks | SoftRanks


@dataclass(frozen=True, slots=True)
class Metric:
    """One column of a leaderboard beside the scores: the mean of a number that each case has.

    A metric whose name has `{k}` in it stands for one metric per k of the comparison.
    """

    name: str  # in `CaseScores.metrics`, `ModelRow.metrics`, JSON, CSV and frames
    heading: str  # of the column
    meaning: str  # below tables, and as a tooltip
    per_case: Callable[..., Column]  # of (lists, ranks), or of (lists, ranks, k): one number per case
    better: Literal["higher", "lower"] | None  # None where neither is: the column describes lists
    style: Literal["share", "number"] = "share"
    k: int | None = None

    @property
    def per_k(self) -> bool:
        """Whether it stands for one metric per k."""
        return "{k}" in self.name

    def at(self, k: int) -> Metric:
        """The metric for one k."""
        name, heading, meaning = (text.format(k=k) for text in (self.name, self.heading, self.meaning))
        return replace(self, name=name, heading=heading, meaning=meaning, k=k)

    def values(self, lists: TopLists, ranks: Ranks) -> Column:
        """One number per case."""
        return self.per_case(lists, ranks) if self.k is None else self.per_case(lists, ranks, self.k)


_MOST = 10**9  # classes on a list
_FIRST = 5  # rows that a notebook shows
METRICS: tuple[Metric, ...] = (
    Metric(
        "accuracy",
        "accuracy",
        "share of cases whose top-1 prediction is the true class",
        lambda lists, ranks: ranks.within(1),
        "higher",
    ),
    Metric(
        "top_{k}_error",
        "top-{k} error",
        "share of cases whose true class is not among the {k} most confident ones",
        lambda lists, ranks, k: ranks.beyond(k),
        "lower",
    ),
    Metric(
        "coverage",
        "coverage",
        "share of cases whose true class is listed",
        lambda lists, ranks: ranks.listed,
        "higher",
    ),
    Metric(
        "mean_length",
        "list length",
        "mean number of listed classes",
        lambda lists, ranks: lists.sizes,
        None,
        "number",
    ),
    Metric(
        "mean_mass",
        "listed probability",
        "mean probability of all listed classes together",
        lambda lists, ranks: lists.mass,
        None,
    ),
    Metric(
        "invalid_rate",
        "invalid",
        "share of lists with a class that is less probable than an unlisted one",
        lambda lists, ranks: (~lists.is_valid()).view(np.int8),
        "lower",
    ),
)
"""What a leaderboard shows beside scores. A new column is one entry here."""


def metrics_for(ks: Sequence[int]) -> tuple[Metric, ...]:
    """The metrics of a comparison, with one top-k error for each k.

    >>> [metric.name for metric in metrics_for([5, 3])][:4]
    ['accuracy', 'top_3_error', 'top_5_error', 'coverage']
    """
    each = sorted(set(ks))
    return tuple(one for metric in METRICS for one in ([metric.at(k) for k in each] if metric.per_k else [metric]))


def as_list_lengths(k: Any) -> tuple[int, ...]:
    """The k of top-k errors, one or several."""
    lengths = tuple(as_count(one) for one in (k if isinstance(k, Sequence) else [k]))
    if max(lengths, default=0) > _MOST:
        raise TopListError(f"k is at most {_MOST:,}, not {max(lengths)}.")
    return lengths


@dataclass(frozen=True, slots=True, eq=False)
class CaseScores:
    """Scores and metrics of one model, one row per case.

    Attributes
    ----------
    rules : tuple of str
        The names of the scoring rules.
    scores : ndarray of shape (rules, cases)
        With the penalty for invalid lists; lower is better.
    unpenalised : ndarray of shape (rules, cases)
        Without the penalty; the same object as `scores` where no list is invalid.
    empty : ndarray of shape (rules, cases)
        What the empty list scores in expectation, for skill.
    metrics : mapping from str to ndarray
        By the names of `METRICS`, one number per case; whole numbers and booleans are kept as such.
    metadata : mapping from str to array
        What is known of the cases: any of `case` (ids), `group`, `cluster`, `time`, `weight`.

    Examples
    --------
    >>> import toplist as tl
    >>> scores = CaseScores.from_lists(tl.TopLists.from_labels([0, 1], 3), [0, 2], [tl.Brier()], ks=(2,))
    >>> scores["brier"].tolist(), scores["accuracy"].tolist()
    ([0.0, 2.0], [True, False])

    """

    rules: tuple[str, ...]
    scores: Floats
    unpenalised: Floats
    empty: Floats
    metrics: Mapping[str, Column]
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_lists(
        cls,
        lists: TopLists,
        y: Any,
        rules: Sequence[Rule],
        *,
        ks: Sequence[int] = (),
        penalty: float | None = None,
        idle: int = 0,
    ) -> CaseScores:
        """Score lists by every rule.

        Parameters
        ----------
        lists : TopLists
            The predictions.
        y : array-like or TopLists
            One outcome per case, or one distribution over the classes per case.
        rules : sequence of Rule
            The scoring rules.
        ks : sequence of int, default ()
            The k of top-k errors.
        penalty : float, optional
            What an invalid list pays; by default 1 % of the uniform score.
        idle : int, default 0
            How many of the classes no outcome can be: skill is about the uniform prediction over the others.

        Returns
        -------
        CaseScores
            One row per list.

        """
        n = len(lists)
        soft = is_soft(y, lists.space)
        y = as_truth(y, lists.space, n) if soft else y
        plain = np.array([score(lists, y, rule=rule, penalty=0) for rule in rules]).reshape(len(rules), n)
        full = plain
        if not lists.is_valid().all():
            full = np.array([penalise(s.copy(), lists, rule, penalty) for rule, s in zip(rules, plain, strict=True)])
        ranks = soft_ranks(lists, y) if soft else outcome_ranks(lists, y)
        metrics = {metric.name: metric.values(lists, ranks) for metric in metrics_for(ks)}
        known = {} if lists.ids is None else {"case": np.asarray(lists.ids)}
        return cls(tuple(map(name_of, rules)), full, plain, _empty(lists, rules, idle), metrics, known)

    @classmethod
    def concat(cls, parts: Sequence[CaseScores]) -> CaseScores:
        """The rows of all parts, one after the other.

        Parameters
        ----------
        parts : sequence of CaseScores
            With the same rules and metrics; at least one.

        Returns
        -------
        CaseScores
            As many rows as the parts have together.

        """
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        scores, empty = (
            np.concatenate([getattr(part, name) for part in parts], axis=1) for name in ("scores", "empty")
        )
        plain = scores
        if any(part.unpenalised is not part.scores for part in parts):
            plain = np.concatenate([part.unpenalised for part in parts], axis=1)
        metrics = {name: np.concatenate([part.metrics[name] for part in parts]) for name in first.metrics}
        known = {name: _joined([part.metadata[name] for part in parts]) for name in first.metadata}
        return cls(first.rules, scores, plain, empty, metrics, known)

    def __len__(self) -> int:
        return int(self.scores.shape[1])

    def __getitem__(self, name: str) -> Column:
        """The column of a rule, of a metric or of metadata."""
        if name in self.rules:
            return np.asarray(self.scores[self.rules.index(name)])
        for columns in (self.metrics, self.metadata):
            if name in columns:
                return np.asarray(columns[name])
        raise KeyError(f"{name!r} is not among {', '.join(map(repr, (*self.rules, *self.metrics, *self.metadata)))}")

    @property
    def invalid(self) -> Column:
        """Which lists are invalid."""
        return self.metrics["invalid_rate"]

    def take(self, at: Any) -> CaseScores:
        """Some of the rows.

        Parameters
        ----------
        at : array of int or of bool
            Places of rows, or one boolean per row.

        Returns
        -------
        CaseScores
            These rows, with all their columns.

        """
        scores = self.scores[:, at]
        return CaseScores(
            self.rules,
            scores,
            scores if self.unpenalised is self.scores else self.unpenalised[:, at],
            self.empty[:, at],
            {name: column[at] for name, column in self.metrics.items()},
            {name: _taken(column, at) for name, column in self.metadata.items()},
        )

    def columns(self) -> dict[str, Any]:
        """All columns by name: metadata, scores, scores without the penalty where any list paid it, metrics."""
        found = dict(self.metadata) | dict(zip(self.rules, self.scores, strict=True))
        if self.unpenalised is not self.scores:
            found |= {f"{rule}_unpenalised": column for rule, column in zip(self.rules, self.unpenalised, strict=True)}
        return found | dict(self.metrics)

    def to_arrow(self) -> Any:
        """The columns as a `pyarrow.Table`."""
        pa = need("pyarrow")
        made = {
            name: column if isinstance(column, pa.Array) else _arrow(column) for name, column in self.columns().items()
        }
        return pa.table(made)

    def to_pandas(self) -> Any:
        """The columns as a pandas frame."""
        pandas = load("pandas", "a pandas frame needs pandas: pip install pandas")
        return pandas.DataFrame({name: _plain(column) for name, column in self.columns().items()})

    def to_polars(self) -> Any:
        """The columns as a polars frame."""
        polars = load("polars", "a polars frame needs polars: pip install polars")
        return polars.DataFrame({name: _plain(column) for name, column in self.columns().items()})

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the columns to a Parquet file, whole or not at all.

        Parameters
        ----------
        path : str or path
            Where to write.

        """
        pa, parquet = need("pyarrow"), need("pyarrow.parquet")
        sink = pa.BufferOutputStream()
        parquet.write_table(self.to_arrow(), sink)
        write_bytes(path, sink.getvalue().to_pybytes())

    def __repr__(self) -> str:
        return f"CaseScores({len(self):,} cases: {', '.join(map(visible, self.columns()))})"

    def _repr_html_(self) -> str:
        rows = [[_cell(column[i]) for column in self.columns().values()] for i in range(min(len(self), _FIRST))]
        heads = [
            _html.TableHead("" if name == "case" else name, number=name not in self.metadata, heading=name == "case")
            for name in self.columns()
        ]
        weights = self.metadata.get("weight")
        told = "" if weights is None else " The means in the last row are weighted."
        return _html.fragment(
            _html.paragraph(
                f"{len(self):,} cases, the first {len(rows)} of them and means. Lower scores are better.{told}"
            ),
            _html.table(heads, rows, foot=[self._means()] if len(self) else []),
        )

    def _means(self) -> list[str]:
        """The last row of the table: means of scores and metrics, with the number of infinite scores."""
        weights = self.metadata.get("weight")
        shares = None if weights is None else np.asarray(weights, dtype=float)
        found: list[str] = []
        for name, column in self.columns().items():
            if name in self.metadata:
                found.append("" if found else "mean")
                continue
            values = np.asarray(column, dtype=float)
            infinite = int(np.isinf(values).sum())
            mean = math.inf if infinite else float(np.average(values, weights=shares))
            share = name in self.metrics and column.dtype == bool
            count = f" ({infinite:,} case{'' if infinite == 1 else 's'})" if infinite else ""
            found.append(f"{mean:.1%}" if share else significant(mean) + count)
        return found


def _cell(value: Any) -> str:
    """One value of a column."""
    value = value.as_py() if hasattr(value, "as_py") else value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return significant(value) if isinstance(value, float) else _html.name(value)


def side_by_side(sheets: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]] = ()) -> Floats:
    """The scores of all sheets as (cases, rules, models), NaN where a model lacks the case."""
    scores = np.stack([sheet.scores.T for sheet in sheets], axis=2)
    for a, there in enumerate(present):
        scores[~there, :, a] = np.nan
    return scores


def one_if_alike(parts: Sequence[Floats]) -> Floats:
    """Rows that are all the same as one row, others as they are.

    >>> one_if_alike([np.ones((2, 1)), np.ones((3, 1))]).shape
    (1, 1)
    """
    whole = np.concatenate([part[:1] if part.strides[0] == 0 else part for part in parts])
    return whole[:1] if (whole == whole[:1]).all() else np.concatenate(parts)


def _empty(lists: TopLists, rules: Sequence[Rule], idle: int = 0) -> Floats:
    """What the empty list scores in expectation: one number for all cases where they have the same classes."""
    n = len(lists)
    space = ClassSpace(lists.space.size - idle, ordinal=lists.space.ordinal) if idle else lists.space
    cases = n if lists.space.per_case else min(n, 1)
    none = TopLists.from_ragged(np.zeros(cases + 1, np.int64), np.zeros(0, np.int64), np.zeros(0), space)
    each = np.array([entropy(none, rule=rule) for rule in rules]).reshape(len(rules), cases)
    # Only what holds for all cases is one number: a single case with classes of its own says nothing of others.
    return each if lists.space.per_case else np.broadcast_to(each, (len(rules), n))


def _taken(column: Any, at: Any) -> Any:
    """Some entries of an array of numpy or pyarrow."""
    if isinstance(column, np.ndarray):
        return column[at]
    return column.take(need("pyarrow").array(np.flatnonzero(at) if np.asarray(at).dtype == bool else at))


def _joined(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return need("pyarrow").chunked_array(parts).combine_chunks()


def _arrow(column: Any) -> Any:
    return need("pyarrow").array(column.tolist() if column.dtype.kind in "UO" else np.ascontiguousarray(column))


def _plain(column: Any) -> Any:
    """A column for frames: arrays of numpy as they are, others as Python values."""
    return column if isinstance(column, np.ndarray) else column.to_pylist()


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which group each case belongs to: `codes` into `keys`. One key: all cases together."""

    keys: Sequence[Hashable]
    codes: NDArray[np.int32] | None = None

    @classmethod
    def of(cls, values: Any) -> Grouping:
        """The groups of an array of numbers or strings.

        >>> Grouping.of(np.array(["b", "a", "b"])).keys
        ['a', 'b']
        """
        keys, codes = np.unique(values, return_inverse=True)
        return cls(keys.tolist(), codes.astype(np.int32))
