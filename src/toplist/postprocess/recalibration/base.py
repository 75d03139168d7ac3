"""What all recalibrators are: estimators in scikit-learn's manner that take lists and give valid lists.

What recalibrators learn from: lists as they are scored, what happened, and how much each case counts.

The recalibrator that changes nothing, against which the others are held.

Recalibrators one after the other.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_shares
from toplist._files import read_json, write_json
from toplist._text import quote
from toplist._typing import Floats
from toplist.core import flags
from toplist.errors import ShapeError, TopListError
from toplist.lists import TopLists, require_lists
from toplist.lists.outcomes import as_happened
from toplist.postprocess.recalibration import state as saved_state
from toplist.postprocess.recalibration.state import State
from toplist.scoring.rules import Rule, as_rule
from toplist.scoring.scores import plain_scores


@dataclass(frozen=True, slots=True)
class Sample:
    """Strictly valid lists, outcomes as codes, and weights that add up to one."""

    lists: TopLists
    codes: NDArray[np.int64]
    weight: Floats

    @classmethod
    def of(cls, lists: Any, y: Any, sample_weight: Any = None) -> Self:
        """Everything checked."""
        require_lists(lists)
        codes = as_happened(y, lists, "recalibration learns from")
        if not len(lists):
            raise ShapeError("there are no cases to learn from.", "Give at least one list with its outcome.")
        return cls(mended(lists), codes, as_shares(sample_weight, len(lists)))

    @property
    def counting(self) -> int:
        """How many cases count."""
        return int(np.count_nonzero(self.weight))

    def at(self, where: Any) -> Self:
        """Some of the cases, with what they weigh among themselves."""
        weight = self.weight[where]
        return type(self)(self.lists[where], self.codes[where], weight / weight.sum())

    def thinned(self, most: int) -> Self:
        """About `most` cases that count, evenly spaced; all, where there are not many more."""
        counting = np.flatnonzero(self.weight)
        step = len(counting) // most
        return self.at(counting[::step]) if step > 1 else self

    def loss(self, lists: TopLists, rule: Rule) -> tuple[float, float]:
        """The share of infinite scores of other lists for the same cases, and the mean of the finite ones."""
        return mean_loss(plain_scores(lists, self.codes, rule), self.weight)


def mean_loss(scores: Floats, weight: Floats) -> tuple[float, float]:
    """The share of infinite scores, and the mean of the finite ones: 0 where there are none."""
    counts = weight > 0
    scores, weight = scores[counts], weight[counts]
    finite = np.isfinite(scores)
    known = float(weight[finite].sum())
    mean = float(weight[finite] @ scores[finite]) / known if known else 0.0
    return float(weight[~finite].sum()), mean


def mended(lists: TopLists) -> TopLists:
    """Lists that are valid without any tolerance, on the same classes."""
    if not lists.admitted.any(flags.BELOW):
        return lists
    return lists._with(lists.admitted.repaired(flags.BELOW))


KINDS: dict[str, type[Recalibrator]] = {}
MOST = 1e100  # so large are options and slopes at most: their products are still numbers


class Recalibrator(ABC):
    """Learns from lists and outcomes how to change confidences; classes, ids and the space stay as they are.

    A kind stores its options unchanged, keeps what it learns in the attributes that `learned` names (each ends in an
    underscore), and leaves the entries of lists in their order.
    """

    learned: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not _is_own(KINDS.get(cls.__name__)):
            KINDS[cls.__name__] = cls

    @property
    @abstractmethod
    def parameters(self) -> int:
        """How many numbers it has learned: the fewer, the simpler."""

    @abstractmethod
    def _check(self) -> None:
        """Raise if an option makes no sense."""

    @abstractmethod
    def _fit(self, sample: Sample) -> None:
        """Learn from checked cases."""

    @abstractmethod
    def _transform(self, lists: TopLists) -> TopLists:
        """Other confidences for strictly valid lists, on the same classes in the same order."""

    @abstractmethod
    def _restore(self, state: saved_state.State) -> None:
        """Take what was learned from a file, checked."""

    def _kept(self) -> dict[str, Any]:
        """What was learned, as plain values."""
        return {name: saved_state.plain(getattr(self, name)) for name in self.learned}

    def _said(self) -> str:
        """What was learned, in a few words."""
        return ""

    # Learning and using

    def fit(self, lists: TopLists, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from lists and what happened; `y` are codes, labels or label sets."""
        self._check()
        self._fit(Sample.of(lists, y, sample_weight))
        return self

    def transform(self, lists: TopLists) -> TopLists:
        """The same lists with other confidences, valid; of a list that is not valid, its repair is changed."""
        self.require_fitted()
        require_lists(lists)
        return self._transform(mended(lists)).repair()

    def fit_transform(self, lists: TopLists, y: Any, *, sample_weight: Any = None) -> TopLists:
        """Learn, and change the same lists: for a look only, since they look better than lists not seen before."""
        return self.fit(lists, y, sample_weight=sample_weight).transform(lists)

    @property
    def is_fitted(self) -> bool:
        """Whether it has learned."""
        return all(hasattr(self, name) for name in self.learned)

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags  # noqa: PLC0415 - only scikit-learn asks

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(two_d_array=False),
        )

    def require_fitted(self) -> None:
        """Raise if it has not learned."""
        if not self.is_fitted:
            raise TopListError(f"this {type(self).__name__} is not fitted yet: call fit(lists, y) first.")

    # Options

    @classmethod
    def _options(cls) -> dict[str, Any]:
        """The names of the options and their usual values."""
        return {
            name: one.default
            for name, one in inspect.signature(cls.__init__).parameters.items()
            if one.kind is one.KEYWORD_ONLY
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name; `deep` is there because scikit-learn says it."""
        return {name: getattr(self, name) for name in self._options()}

    def set_params(self, **params: Any) -> Self:
        """Change options by name."""
        known = self._options()
        for name in params:
            if name not in known:
                have = ", ".join(known) or "none"
                raise TopListError(f"{type(self).__name__} has no option {quote(name)}; its options: {have}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def unfitted(self) -> Self:
        """Another one with the same options, which has learned nothing."""
        return type(self)(**self.get_params())

    def __repr__(self) -> str:
        usual = self._options()
        named = [f"{name}={value!r}" for name, value in self.get_params().items() if value != usual[name]]
        said = self._said() if self.learned and self.is_fitted else ""
        return f"{type(self).__name__}({', '.join(named)}){f' [{said}]' if said else ''}"

    # Keeping

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values: the kind, the options, and what was learned."""
        self.require_fitted()
        fitted = self._kept()
        params = {name: saved_state.plain(value) for name, value in self.get_params().items()}
        return {"schema": saved_state.SCHEMA, "kind": type(self).__name__, "params": params, "fitted": fitted}

    def save(self, path: str | Path) -> None:
        """Write it down as JSON; `load` reads it back, to the last bit."""
        write_json(path, self.to_dict())

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Any:
        """The recalibrator that `to_dict` described; a kind of its own accepts only its kind."""
        kind, params, state = saved_state.read(saved, _kinds())
        if not issubclass(kind, cls):
            raise TopListError(f"this is a {kind.__name__}, not a {cls.__name__}: read it with Recalibrator.")
        made = kind().set_params(**{str(name): _revived(value) for name, value in params.items()})
        made._check()
        made._restore(state)
        return made

    @classmethod
    def load(cls, path: str | Path) -> Any:
        """The recalibrator that was saved in a file; nothing in it is run."""
        return cls.from_dict(read_json(path, "a saved recalibrator"))


def _is_own(kind: type[Recalibrator] | None) -> bool:
    """Whether it is one of the library's kinds, which no other of the same name replaces."""
    return kind is not None and kind.__module__.startswith("toplist.")


def _kinds() -> dict[str, type[Recalibrator]]:
    return {name: kind for name, kind in KINDS.items() if not inspect.isabstract(kind)}


def _revived(value: Any) -> Any:
    """An option as it was: recalibrators among the options of another are saved without what they learned."""
    if isinstance(value, list):
        return tuple(map(_revived, value))
    if not isinstance(value, Mapping):
        return value
    kind, params, _ = saved_state.read({**value, "fitted": {}}, _kinds())
    made = kind().set_params(**{name: _revived(one) for name, one in params.items()})
    made._check()
    return made


def require_fit_rule(rule: Any) -> str:
    """Which of the two scores something is fitted by, "brier" or "log"."""
    name = as_rule(rule).name if isinstance(rule, Rule) else rule
    if name not in ("brier", "log"):
        raise TopListError(f'this is fitted by the score "brier" or "log", not {quote(rule)}.')
    return str(name)


class Identity(Recalibrator):
    """Lists as they are; those that are not valid, repaired."""

    def __init__(self) -> None:
        pass

    @property
    def parameters(self) -> int:
        """None."""
        return 0

    def transform(self, lists: TopLists) -> TopLists:
        """The same lists; those that are not valid, repaired."""
        require_lists(lists)
        return lists.repair()

    def _check(self) -> None:
        pass

    def _fit(self, sample: Sample) -> None:
        pass

    def _transform(self, lists: TopLists) -> TopLists:
        return lists

    def _restore(self, state: State) -> None:
        pass


class Chain(Recalibrator):
    """Each step learns from the lists that the steps before it give: a temperature, then a floor.

    >>> import toplist as tl
    >>> from toplist.postprocess.recalibration.floor import RestFloor
    >>> from toplist.postprocess.recalibration.scaling import Temperature
    >>> labels = tl.TopLists.from_labels([0, 1, 2, 0], 3)
    >>> Chain(steps=[Temperature(), RestFloor(floor=0.1)]).fit_transform(labels, [0, 1, 2, 1]).rest
    array([0.1, 0.1, 0.1, 0.1])
    """

    learned = ("steps_",)
    steps_: tuple[Recalibrator, ...]

    def __init__(self, *, steps: Sequence[Recalibrator] = ()) -> None:
        self.steps = steps

    @property
    def parameters(self) -> int:
        """Those of all steps."""
        return sum(one.parameters for one in (self.steps_ if self.is_fitted else self.steps))

    def _check(self) -> None:
        if not isinstance(self.steps, Sequence) or not len(self.steps):
            raise TopListError("a chain needs at least one step: Chain(steps=[Temperature(), RestFloor()]).")
        for one in self.steps:
            if not isinstance(one, Recalibrator):
                raise TopListError(f"steps are recalibrators such as Temperature(), not {quote(one)}.")
            one._check()

    def _fit(self, sample: Sample) -> None:
        made = []
        for one in self.steps:
            step = one.unfitted()
            step._fit(sample)
            sample = replace(sample, lists=mended(step.transform(sample.lists)))
            made.append(step)
        self.steps_ = tuple(made)

    def _transform(self, lists: TopLists) -> TopLists:
        for one in self.steps_:
            lists = one.transform(lists)
        return lists

    def _kept(self) -> dict[str, Any]:
        return {"steps": [one.to_dict() for one in self.steps_]}

    def _restore(self, state: State) -> None:
        self.steps_ = tuple(Recalibrator.from_dict(part.values) for part in state.parts("steps"))
        if len(self.steps_) != len(self.steps):
            raise state.wrong("steps", f"{len(self.steps_)} for {len(self.steps)} that were asked for")

    def _said(self) -> str:
        return ", then ".join(map(repr, self.steps_))
