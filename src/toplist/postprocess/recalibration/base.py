"""Recalibrators as estimators in scikit-learn's manner: they take lists and outcomes, and give valid lists."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from toplist._files import read_json, write_json
from toplist._text import quote
from toplist._typing import Codes, Floats
from toplist.core import flags
from toplist.core.arguments import as_shares
from toplist.errors import ShapeError, TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.converters import as_single_outcomes
from toplist.scoring.rules import RULES, Rule, name_of
from toplist.scoring.scores import plain_scores

SCHEMA = "toplist.recalibrator/1"
KINDS: dict[str, type[Recalibrator]] = {}


@dataclass(frozen=True, slots=True)
class Sample:
    """Strictly valid lists, outcomes as codes, and weights that add up to one."""

    lists: TopLists
    codes: Codes
    weight: Floats

    @classmethod
    def of(cls, lists: Any, y: Any, sample_weight: Any = None, space: Any = None) -> Self:
        """Predictions, outcomes and weights of any shape, checked."""
        lists = as_lists(lists, space)
        codes = as_single_outcomes(y, lists, "recalibration needs")
        if not len(lists):
            raise ShapeError("there are no cases to learn from.", "Give at least one list with its outcome.")
        return cls(strictly_repaired(lists), codes, as_shares(sample_weight, len(lists)))

    @property
    def counting(self) -> int:
        """How many cases have a positive weight."""
        return int(np.count_nonzero(self.weight))

    def take(self, where: Any) -> Self:
        """Some of the cases, with their weights scaled to add up to one."""
        weight = self.weight[where]
        return type(self)(self.lists[where], self.codes[where], weight / weight.sum())

    def thinned(self, most: int) -> Self:
        """About `most` cases of positive weight, evenly spaced; all, where there are not many more."""
        counting = np.flatnonzero(self.weight)
        step = len(counting) // most
        return self.take(counting[::step]) if step > 1 else self

    def loss(self, lists: TopLists, rule: Rule) -> tuple[float, float]:
        """The share of infinite scores of other lists for the same cases, and the mean of the finite ones, or 0."""
        counts = self.weight > 0
        scores, weight = plain_scores(lists, self.codes, rule)[counts], self.weight[counts]
        finite = np.isfinite(scores)
        known = float(weight[finite].sum())
        mean = float(weight[finite] @ scores[finite]) / known if known else 0.0
        return float(weight[~finite].sum()), mean


def strictly_repaired(lists: TopLists) -> TopLists:
    """Lists that are valid without any tolerance, on the same classes."""
    return lists._with(lists.checked.repaired(flags.BELOW)) if lists.checked.any(flags.BELOW) else lists


@dataclass(frozen=True, slots=True)
class State:
    """The saved values of a fitted recalibrator; each is checked when it is read."""

    kind: str
    values: Mapping[str, Any]

    def number(self, name: str, low: float, high: float = math.inf) -> float:
        """A finite number between two others."""
        [value] = self._numbers(name, [self._value(name)])
        if not low <= value <= high:
            raise self.wrong(name, f"{value} where a number between {low:g} and {high:g} is expected")
        return value

    def floats(self, name: str) -> Floats:
        """Finite numbers."""
        return np.array(self._numbers(name, self._value(name)), dtype=np.float64)

    def parts(self, name: str) -> list[State]:
        """Records."""
        values = self._value(name)
        if not isinstance(values, list) or not all(isinstance(part, Mapping) for part in values):
            raise self.wrong(name, "not a list of records")
        return [State(self.kind, part) for part in values]

    def _value(self, name: str) -> Any:
        if name not in self.values:
            raise self.wrong(name, "missing")
        return self.values[name]

    def _numbers(self, name: str, values: Any) -> list[float]:
        try:
            numbers = [float(value) for value in values if type(value) in (int, float)]
            if isinstance(values, list) and len(numbers) == len(values) and all(map(math.isfinite, numbers)):
                return numbers
        except (OverflowError, TypeError):
            pass
        raise self.wrong(name, f"{quote(values)} where finite numbers are expected")

    def wrong(self, name: str, what: str) -> TopListError:
        """The error that names the value."""
        return TopListError(f"the saved {self.kind} is damaged: {name} is {what}. Fit and save it again.")


def _plain(value: Any) -> Any:
    """An option or what was learned, as JSON has it."""
    if isinstance(value, Rule):
        if name_of(value) not in RULES:
            raise TopListError(f"{value!r} cannot be saved; rules that can have a name: {', '.join(RULES)}.")
        return name_of(value)
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(part) for name, part in asdict(value).items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


class Recalibrator(ABC):
    """Base of all recalibrators, which learn from lists and outcomes how to change confidences.

    Classes, ids and the space of lists stay as they are, and so does the order of entries. A subclass stores its
    options unchanged, keeps what it learns in the attributes that `learned` names (each ends in an underscore), and
    implements `parameters`, `_check`, `_fit`, `_transform` and `_restore`. Recalibrators work with scikit-learn's
    `clone` and `Pipeline`; the methods these need are written out here, because scikit-learn is optional.

    Examples
    --------
    >>> import toplist as tl
    >>> P, y = [[0.9, 0.1], [0.8, 0.2], [0.9, 0.1], [0.7, 0.3]], [0, 1, 0, 1]
    >>> model = tl.postprocess.Temperature().fit(P, y)
    >>> model.transform([[0.9, 0.1]])
    TopLists(1 case, k = 2, 2 classes)
    """

    learned: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        known = KINDS.get(cls.__name__)  # no other class of the same name replaces one of the library
        if known is None or not known.__module__.startswith("toplist."):
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
    def _restore(self, state: State) -> None:
        """Take what was learned from a file, checked."""

    def _describe(self) -> str:
        """What was learned, in a few words."""
        return ""

    def fit(self, lists: Any, y: Any, *, sample_weight: Any = None, space: Any = None) -> Self:
        """Learn from predictions and outcomes.

        Parameters
        ----------
        lists : TopLists or anything that `toplist.as_lists` takes
            The predictions to learn from. Those that are not valid are repaired.
        y : array-like
            One outcome per case: a code, a label or a label set.
        sample_weight : array-like, optional
            One weight per case; all are equal by default.
        space : int, ClassSpace or LabelSets, optional
            The classes, where `lists` do not say.

        Returns
        -------
        Recalibrator
            Itself, fitted.
        """
        self._check()
        self._fit(Sample.of(lists, y, sample_weight, space))
        return self

    def transform(self, lists: Any, *, space: Any = None) -> TopLists:
        """Recalibrate predictions.

        Parameters
        ----------
        lists : TopLists or anything that `toplist.as_lists` takes
            Predictions for any cases; those that are not valid are repaired first.
        space : int, ClassSpace or LabelSets, optional
            The classes, where `lists` do not say.

        Returns
        -------
        TopLists
            Valid lists on the same classes with other confidences.
        """
        self.require_fitted()
        return self._transform(strictly_repaired(as_lists(lists, space))).repair()

    def fit_transform(self, lists: Any, y: Any, *, sample_weight: Any = None, space: Any = None) -> TopLists:
        """Learn from predictions and recalibrate the same ones, which score better than new cases will.

        Parameters and the value are those of `fit` and `transform`.
        """
        lists = as_lists(lists, space)
        return self.fit(lists, y, sample_weight=sample_weight).transform(lists)

    @property
    def is_fitted(self) -> bool:
        """Whether it is fitted."""
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
        """Raise if it is not fitted."""
        if not self.is_fitted:
            raise TopListError(f"this {type(self).__name__} is not fitted yet: call fit(lists, y) first.")

    @classmethod
    def _options(cls) -> dict[str, Any]:
        """The names of the options and their defaults."""
        options = inspect.signature(cls.__init__).parameters
        return {name: one.default for name, one in options.items() if one.kind is one.KEYWORD_ONLY}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name; `deep` is part of scikit-learn's signature and changes nothing."""
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

    def clone(self) -> Self:
        """Another recalibrator with the same options that is not fitted."""
        return type(self)(**self.get_params())

    def __repr__(self) -> str:
        default = self._options()
        named = [f"{name}={value!r}" for name, value in self.get_params().items() if value != default[name]]
        found = self._describe() if self.learned and self.is_fitted else ""
        return f"{type(self).__name__}({', '.join(named)}){f' [{found}]' if found else ''}"

    def to_dict(self) -> dict[str, Any]:
        """The kind, the options and what was learned, as plain values."""
        self.require_fitted()
        params = {name: _plain(value) for name, value in self.get_params().items()}
        fitted = {name: _plain(getattr(self, name)) for name in self.learned}
        return {"schema": SCHEMA, "kind": type(self).__name__, "params": params, "fitted": fitted}

    def save(self, path: str | Path) -> None:
        """Write it to a file as JSON; `load` reads it back, to the last bit."""
        write_json(path, self.to_dict())

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Any:
        """The recalibrator of which `to_dict` gave these values; a subclass accepts its own kind only."""
        if not isinstance(saved, Mapping):
            raise TopListError(f"a saved recalibrator is a record with schema {SCHEMA!r}, not {type(saved).__name__}.")
        schema, name, params, fitted = (saved.get(key) for key in ("schema", "kind", "params", "fitted"))
        if schema != SCHEMA:
            raise TopListError(f"the schema is {quote(schema)}; this version of toplist reads {SCHEMA!r}.")
        if not isinstance(name, str) or name not in KINDS:
            raise TopListError(f"no recalibrator is of kind {quote(name)}; there are {', '.join(sorted(KINDS))}.")
        if not issubclass(KINDS[name], cls):
            raise TopListError(f"this is a {name}, not a {cls.__name__}: read it with Recalibrator.")
        if not isinstance(params, Mapping) or not isinstance(fitted, Mapping):
            raise TopListError(f"the saved {name} is damaged: params and fitted are records. Fit and save it again.")
        recalibrator = KINDS[name]().set_params(**{str(option): value for option, value in params.items()})
        recalibrator._check()
        recalibrator._restore(State(name, fitted))
        return recalibrator

    @classmethod
    def load(cls, path: str | Path) -> Any:
        """The recalibrator that was saved in a file; no code in it is run."""
        return cls.from_dict(read_json(path, "a saved recalibrator"))


class Identity(Recalibrator):
    """Lists as they are, those that are not valid repaired: the baseline of the other recalibrators.

    Examples
    --------
    >>> Identity().fit_transform([[0.9, 0.1]], [0]).confidences
    array([0.9, 0.1])
    """

    def __init__(self) -> None:
        pass

    @property
    def parameters(self) -> int:
        """Zero."""
        return 0

    def transform(self, lists: Any, *, space: Any = None) -> TopLists:
        """The same lists; those that are not valid, repaired. Parameters are those of `Recalibrator.transform`."""
        return as_lists(lists, space).repair()

    def _check(self) -> None:
        pass

    def _fit(self, sample: Sample) -> None:
        pass

    def _transform(self, lists: TopLists) -> TopLists:
        return lists

    def _restore(self, state: State) -> None:
        pass
