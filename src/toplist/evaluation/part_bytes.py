"""Partial results as bytes, and back: what is read must be the state of some cases, whoever wrote it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from toplist._files import need
from toplist.calibration.top_bins import ReliabilityBins
from toplist.core.kernel import exact_sums, uniform
from toplist.errors import TopListError
from toplist.evaluation.compare import score_bounds
from toplist.evaluation.partials import Cover, Failure, PartialResult, PartQuestion, require_sums
from toplist.evaluation.samples import PairLoss, SampledCases, score_range
from toplist.evaluation.stream import ReadSummary, most_repaired
from toplist.inference.aggregates import Aggregates
from toplist.inference.missing import Difficulty
from toplist.inference.partial_bytes import (
    damaged,
    dump_json,
    load_json,
    origin,
    pack,
    pack_integers,
    pack_keys,
    take,
    unpack,
    unpack_integers,
    unpack_keys,
)
from toplist.inference.results import SkippedPart, SourceSummary
from toplist.io.encoding import NamesSeen
from toplist.lists.space import show_size
from toplist.scoring.rules import as_rule

RESULT, FAILURE = "partial result", "failure"
T = TypeVar("T")
_SAFE = 1 << 53  # whole numbers up to here are numbers in every JSON
_DIGITS = 1 << 20  # of a whole number as text
_ROUNDED = 1e-9  # by which a loss may be above a bound
_SLOPE = 4096  # the binary logarithm of a slope is smaller
_WORDS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


# Values of records as JSON


def to_plain(value: Any) -> Any:
    """A record of plain values as what JSON has; numbers that JSON lacks are words."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: to_plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: to_plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return next(word for word, number in _WORDS.items() if number == value or (value != value and word == "nan"))
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _SAFE:
        return hex(value)
    return value


def from_plain(kind: Any, plain: Any, source: str) -> Any:
    """The value of a type that `to_plain` made; whatever is not of the type is refused."""
    if kind is Any:
        return plain
    origin_, inner = get_origin(kind), get_args(kind)
    if origin_ is UnionType:
        return _one_of(inner, plain, source)
    if origin_ is Literal:
        return plain if isinstance(plain, str) and plain in inner else _wrong(source)
    if is_dataclass(kind):
        return _record(kind, plain, source)
    if origin_ is tuple:
        return _tuple(inner, plain, source)
    if isinstance(origin_, type) and issubclass(origin_, Mapping):
        found = plain if isinstance(plain, dict) else _wrong(source)
        return {name: from_plain(inner[1], one, source) for name, one in found.items()}
    if kind is float and type(plain) is int:
        return float(plain)
    if kind is float and isinstance(plain, str) and plain in _WORDS:
        return _WORDS[plain]
    if kind is int and isinstance(plain, str):
        return _long(plain, source)
    return plain if type(plain) is kind else _wrong(source)


def _wrong(source: str) -> Any:
    damaged(source, "a value is not of its type")


def _one_of(kinds: tuple[Any, ...], plain: Any, source: str) -> Any:
    if plain is None:
        return None if NoneType in kinds else _wrong(source)
    if int in kinds and float in kinds:
        whole = type(plain) is int or (isinstance(plain, str) and plain not in _WORDS)
        return from_plain(int if whole else float, plain, source)
    return from_plain(next(one for one in kinds if one is not NoneType), plain, source)


def _long(plain: str, source: str) -> int:
    if len(plain) > _DIGITS or not plain.removeprefix("-").startswith("0x"):
        _wrong(source)
    try:
        return int(plain, 16)
    except ValueError:
        damaged(source, "a value is not of its type")


def _tuple(inner: tuple[Any, ...], plain: Any, source: str) -> tuple[Any, ...]:
    found = plain if isinstance(plain, list) else _wrong(source)
    kinds = [inner[0]] * len(found) if inner[-1] is Ellipsis else list(inner)
    if len(kinds) != len(found):
        _wrong(source)
    return tuple(from_plain(kind, one, source) for kind, one in zip(kinds, found, strict=True))


def _record(kind: Any, plain: Any, source: str) -> Any:
    names = {one.name for one in fields(kind)}
    if not isinstance(plain, dict) or plain.keys() != names:
        damaged(source, f"it does not say what a {kind.__name__} is")
    hints = get_type_hints(kind)
    return kind(**{name: from_plain(hints[name], plain[name], source) for name in names})


# Failures


def failure_to_bytes(found: Failure) -> bytes:
    """Why a part could not be scored, as bytes."""
    return pack(FAILURE, {"skipped": to_plain(found.skipped)}, {})


def part_from_bytes(data: bytes, source: str = "memory") -> PartialResult | Failure:
    """A partial result, or why there is none.

    Parameters
    ----------
    data : bytes
        What `to_bytes` made.
    source : str, default "memory"
        What the bytes are called in errors.

    Returns
    -------
    PartialResult or Failure
        What was saved.

    Raises
    ------
    FileError
        If the bytes are damaged, of another format, or cannot be the state of any cases.
    """
    if origin(data, source)[0] != FAILURE:
        return result_from_bytes(data, source)
    header, _ = unpack(data, FAILURE, source)
    found = from_plain(tuple[SkippedPart, ...], take(header, "skipped", list, source), source)
    return Failure(found) if found else _wrong(source)


# Results


def result_to_bytes(found: PartialResult) -> bytes:
    """The state of some cases as bytes; equal states have equal bytes."""
    read, sample = found.read, found.sample
    keys = sorted(found.tallies, key=lambda key: (key is not None, str(key)))
    pairs = None if found.losses is None else sorted(found.losses)
    gains = [found.losses[pair].gains for pair in pairs] if found.losses is not None and pairs is not None else []
    header = {
        "question": to_plain(found.question),
        "covers": to_plain(found.covers),
        "skipped": to_plain(found.skipped),
        "origins": to_plain(read.origins),
        "cases": read.cases,
        "compared": read.compared,
        "truth": read.truth,
        "highest": to_plain(read.highest),
        "difficulty": None if read.difficulty is None else read.difficulty.to_plain(),
        "repaired": to_plain(read.repaired),
        "matched": list(read.matched),
        "names": to_plain(read.names),
        "heaviest": found.heaviest,
        "groups": len(keys),
        "sample": {"cases": len(sample), "threshold": sample.threshold, "columns": list(sample.columns)},
        "losses": None
        if found.losses is None or pairs is None
        else [
            [*pair, to_plain(found.losses[pair].most), found.losses[pair].entries, _slopes(found.losses[pair].gains)]
            for pair in pairs
        ],
        "spelled": to_plain(found.spelled),
        "bins": {name: one.to_plain() for name, one in found.bins.items()},
        "written": found.written,
    }
    blocks = {
        "groups": pack_keys(keys),
        **{f"sums {at}": found.tallies[key].to_bytes() for at, key in enumerate(keys)},
        "gains": pack_integers([one[at] or 0 for one in gains for at in sorted(one)]),
        "keys": sample.keys.astype("<u8").tobytes(),
        "scores": np.ascontiguousarray(sample.scores, "<f8").tobytes(),
        "weights": b"" if sample.weights is None else np.ascontiguousarray(sample.weights, "<f8").tobytes(),
        "columns": dump_json([values.to_pylist() for values in sample.columns.values()]),
    }
    return pack(RESULT, {**header, "digests": _digests(blocks)}, blocks)


def _digests(blocks: Mapping[str, bytes]) -> dict[str, str]:
    """What ties each block to its name."""
    return {name: hashlib.sha256(block).hexdigest() for name, block in blocks.items()}


def _slopes(gains: Mapping[int, int | None]) -> list[list[int]]:
    """The slopes of which there are sums, and those of which there are none."""
    return [sorted(gains), sorted(at for at, gain in gains.items() if gain is None)]


def result_from_bytes(data: bytes, source: str = "memory") -> PartialResult:
    """The state that `result_to_bytes` made bytes of; see `part_from_bytes`."""
    header, blocks = unpack(data, RESULT, source)

    def value(name: str, kind: Any) -> Any:
        return from_plain(kind, take(header, name, object, source), source)

    def block(name: str) -> bytes:
        return blocks[name] if name in blocks else damaged(source, f"it has no {name}")

    question = value("question", PartQuestion)
    count = value("groups", int)
    if not 0 <= count <= len(blocks):
        damaged(source, "its parts are not those of a result")
    keys = unpack_keys(block("groups"), count, source)
    names = {f"sums {at}" for at in range(count)} | {"groups", "gains", "keys", "scores", "weights", "columns"}
    if blocks.keys() != names or value("digests", Mapping[str, str]) != _digests(blocks):
        damaged(source, "its parts are not those of a result")
    repaired = value("repaired", tuple[Mapping[str, int], ...])
    if not repaired:
        damaged(source, "it has no models")
    difficulty = take(header, "difficulty", object, source)
    read = ReadSummary(
        value("origins", tuple[SourceSummary, ...]),
        value("cases", int),
        value("compared", int),
        value("truth", str),
        most_repaired(repaired),
        value("highest", Mapping[str, float]),
        None if difficulty is None else Difficulty.from_plain(difficulty, source),
        repaired,
        value("matched", tuple[int, ...]),
        value("names", tuple[NamesSeen, ...]),
    )
    found = PartialResult(
        question,
        value("covers", tuple[Cover, ...]),
        {key: Aggregates.from_bytes(block(f"sums {at}"), source) for at, key in enumerate(keys)},
        read,
        value("heaviest", float),
        _sample(take(header, "sample", dict, source), blocks, len(question.models), question.weight, source),
        _losses(take(header, "losses", object, source), block("gains"), source),
        value("spelled", Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]),
        _bins(take(header, "bins", dict, source), source),
        value("skipped", tuple[SkippedPart, ...]),
        value("written", str),
    )
    _Checked(found, source).check()
    return found


def _bins(plain: Mapping[str, Any], source: str) -> dict[str, ReliabilityBins]:
    try:
        return {name: ReliabilityBins.from_plain(one) for name, one in plain.items()}
    except TopListError as error:
        damaged(source, str(error).rstrip("."))


def _losses(plain: Any, data: bytes, source: str) -> dict[tuple[str, str], PairLoss] | None:
    if plain is None:
        return None
    kind = tuple[tuple[str, str, float, int, tuple[tuple[int, ...], tuple[int, ...]]], ...]
    rows = from_plain(kind, plain, source)
    sums = unpack_integers(data, sum(len(slopes) for *_, (slopes, _) in rows), source).tolist()
    out: dict[tuple[str, str], PairLoss] = {}
    for a, b, most, entries, (slopes, without) in rows:
        strange = list(slopes) != sorted(set(slopes)) or not set(without) <= set(slopes)
        if strange or (a, b) in out or a == b or entries < 0 or any(abs(at) > _SLOPE for at in slopes):
            damaged(source, "its largest losses cannot be")
        own, sums = sums[: len(slopes)], sums[len(slopes) :]
        out[a, b] = PairLoss(
            most, {at: None if at in without else gain for at, gain in zip(slopes, own, strict=True)}, entries
        )
    return out


def _sample(
    plain: Mapping[str, Any], blocks: Mapping[str, bytes], models: int, weight: str | None, source: str
) -> SampledCases:
    pa = need("pyarrow")
    cases, threshold = take(plain, "cases", int, source), from_plain(float, plain.get("threshold"), source)
    names = from_plain(tuple[str, ...], plain.get("columns"), source)
    sizes = {"keys": 16 * cases, "scores": 8 * models * cases, "weights": 0 if weight is None else 8 * cases}
    if cases < 0 or any(len(blocks[name]) != size for name, size in sizes.items()):
        damaged(source, "its sample has another number of cases than it says")
    columns = load_json(blocks["columns"], source)
    kind = tuple[tuple[str | None, ...], ...]
    values = from_plain(kind, columns, source)
    if len(values) != len(names) or len(set(names)) < len(names) or any(len(one) != cases for one in values):
        damaged(source, "the columns of its sample cannot be")
    return SampledCases(
        threshold,
        np.frombuffer(blocks["keys"], "<u8").astype(np.uint64).reshape(cases, 2),
        np.frombuffer(blocks["scores"], "<f8").astype(np.float64).reshape(cases, models),
        None if weight is None else np.frombuffer(blocks["weights"], "<f8").astype(np.float64),
        {name: pa.array(one, pa.string()) for name, one in zip(names, values, strict=True)},
    )


class _Checked:
    """What is known of some cases in several ways has to agree."""

    def __init__(self, found: PartialResult, source: str) -> None:
        self.found, self.source = found, source

    def require(self, fine: Any, why: str) -> None:
        if not bool(fine):
            damaged(self.source, why)

    def check(self) -> None:
        self._check_question()
        self._check_counts()
        self._check_tallies()
        self._check_sample()
        self._check_losses()
        self._check_bins()

    def _check_question(self) -> None:
        asked = self.found.question
        self.require(asked.models and len({*asked.models}) == len(asked.models), "its models cannot be")
        self.require(asked.rules and len({*asked.rules}) == len(asked.rules), "its rules cannot be")
        self.require(asked.baseline is None or asked.baseline in asked.models, "its baseline is none of the models")
        self.require(asked.k and all(k > 0 for k in asked.k), "the k of its top-k errors cannot be")
        self.require(asked.penalty is None or asked.penalty >= 0, "its penalty is below zero")
        self.require(asked.size > 0, "its number of classes cannot be")
        self.require(asked.classes == show_size(asked.size), "its numbers of classes differ")
        self.require(
            len(asked.bounds) == len(asked.penalised) == len(asked.rules), "the bounds of its rules are missing"
        )
        for (low, high), (least, most) in zip(asked.bounds, asked.penalised, strict=True):
            self.require(low == least and low <= high <= most, "the bounds of its rules cannot be")
        self.require(asked.scale > 0 and math.isfinite(asked.scale), "the range of its first rule cannot be")
        self._check_rules()
        self.require(
            asked.settings.weighted == (asked.weight is not None), "its weights are not those of its intervals"
        )
        self.require(set(asked.repairs) == {*asked.models, ""}, "its repairs are not those of its models")
        try:
            question = asked.question
            settings = question.inference.settings(asked.settings.cluster, None, weighted=asked.settings.weighted)
            require_sums(settings, asked.missing, per_case=False)
        except TopListError:
            damaged(self.source, "its settings have no partial results")
        self.require(settings == asked.settings, "its settings contradict each other")

    def _check_rules(self) -> None:
        """The bounds of rules that are known by name are theirs; of others, a part holds the name alone."""
        asked = self.found.question
        self.require(all(name.isprintable() and name.strip() for name in asked.rules), "its rules cannot be")
        for at, name in enumerate(asked.rules):
            try:
                rule = as_rule(name)
            except TopListError:
                continue
            bounds = [score_bounds(rule, asked.penalty, penalised=penalised) for penalised in (False, True)]
            fine = bounds == [asked.bounds[at], asked.penalised[at]] and (at > 0 or asked.scale == score_range(rule))
            self.require(fine, f"the scores and the penalty of {name} are not those of this rule")

    def _check_counts(self) -> None:
        found, read, asked = self.found, self.found.read, self.found.question
        self.require(tuple(one.name for one in read.origins) == asked.models, "its sources are not its models")
        self.require(tuple(read.highest) == asked.models or {*read.highest} == {*asked.models}, "scores have no model")
        self.require(
            len(read.matched) == len(read.repaired) == len(read.names) == len(asked.models),
            "its counts are not those of its models",
        )
        self.require(0 <= read.compared <= read.cases, "more cases were compared than there are")
        counts = [count for one in (*read.repaired, *(o.repairs for o in read.origins)) for count in one.values()]
        self.require(all(count >= 0 for count in counts), "a count is below zero")
        for origin_, matched in zip(read.origins, read.matched, strict=True):
            self.require(
                origin_.cases == matched and 0 <= matched <= read.cases, "a model has other cases than it says"
            )
            filled = read.compared - matched if asked.missing in ("uniform", "worst", "baseline") else 0
            self.require(origin_.filled == filled, "its counts of missing predictions cannot be")
            least = matched - read.compared if asked.missing == "common" else 0
            self.require(origin_.left_out >= least, "its counts of cases that were left out cannot be")
            if asked.missing == "error":
                self.require(origin_.left_out == 0, "its counts of cases that were left out cannot be")
        whole = asked.missing in ("error", "uniform", "baseline")
        self.require(not whole or read.compared == read.cases, "cases are missing without a word")
        if asked.missing == "error":
            self.require(all(one == read.cases for one in read.matched), "cases are missing without a word")
        self.require((read.difficulty is None) == (asked.missing == "error"), "what is missing is not described")
        self.require(read.difficulty is None or read.difficulty.models == len(asked.models), "its models differ")
        self.require(not found.covers or sum(one.cases for one in found.covers) == read.cases, "its parts are not all")
        self.require(all(one.cases >= 0 for one in found.covers), "a part has fewer cases than none")
        self.require({*found.spelled} <= {*asked.models}, "a spelling has no model")
        self.require({*found.bins} <= {*asked.models}, "a reliability curve has no model")

    def _check_tallies(self) -> None:
        found, asked = self.found, self.found.question
        shape = len(asked.rules), len(asked.models), len(asked.models)
        self.require(sum(one.cases for one in found.tallies.values()) == found.read.compared, "its cases are not all")
        self.require(asked.group is not None or {*found.tallies} <= {None}, "there are groups by nothing")
        self.require(asked.group is None or all(isinstance(one, str) for one in found.tallies), "a group has no name")
        first = next(iter(found.tallies.values()), None)
        for one in found.tallies.values():
            self.require(one.cases, "a group has no cases")
            self.require(one.sums["x"].shape == shape, "its sums are not those of its models and rules")
            self.require(first is not None and one.sums.keys() == first.sums.keys(), "groups have different sums")
            self.require(("w3" in one.sums) == (asked.weight is not None), "its weights are not those of its sums")
            self.require((one.sums["cases"] == one.cases).all(), "a model lacks cases that were compared")
            self.require(
                bool(one.clusters) == (asked.settings.cluster is not None), "its clusters are not those of its sums"
            )
            names = [f"top_{k}_error" for k in asked.k if k > 1]
            self.require(all(name in one.sums for name in names), "a metric is missing")

    def _check_sample(self) -> None:
        found, sample = self.found, self.found.sample
        keys, compared = sample.keys, found.read.compared
        self.require(0 < sample.threshold <= 1, "the threshold of its sample cannot be")
        self.require((uniform(keys[:, 0]) < sample.threshold).all(), "its sample has cases that do not belong to it")
        self.require(len(keys) <= compared, "its sample is larger than all cases")
        self.require(sample.threshold < 1 or len(keys) == compared, "its sample lacks cases")
        order = np.lexsort(keys.T[::-1])
        self.require((order == np.arange(len(keys))).all(), "its sample is not in order")
        self.require(not (keys[1:] == keys[:-1]).all(axis=1).any(), "a case is there twice")
        weights = np.ones(len(keys)) if sample.weights is None else sample.weights
        self.require((np.isfinite(weights) & (weights >= 0)).all(), "the weights of its sample cannot be")
        self.require(found.heaviest >= weights.max(initial=0.0), "a case is heavier than the heaviest")
        self.require(math.isfinite(found.heaviest), "the heaviest case has no weight")
        self.require(
            found.question.weight is not None or found.heaviest == bool(compared), "cases without weights have one"
        )
        if sample.threshold == 1 and compared:
            self._check_sums(weights)

    def _check_sums(self, weights: Any) -> None:
        """A sample of all cases adds up to the sums."""
        scores = self.found.sample.scores
        finite = np.isfinite(scores)
        self.require(not np.isnan(scores).any(), "a score is no number")
        made = exact_sums(np.ascontiguousarray(np.where(finite, scores, 0.0).T * weights))[0]
        infinite = (~finite & (weights > 0)[:, None]).sum(axis=0)
        for a in range(scores.shape[1]):
            x = sum(one.sums["x"][0, a, a] for one in self.found.tallies.values())
            count = sum(one.sums["infinite"][0, a, a] for one in self.found.tallies.values())
            self.require(x == made[a] and count == infinite[a], "its sample has other scores than its sums")

    def _check_bins(self) -> None:
        """Reliability curves are of the cases of their models; without weights, they have the same hits."""
        read, asked = self.found.read, self.found.question
        for a, (name, matched) in enumerate(zip(asked.models, read.matched, strict=True)):
            own = self.found.bins.get(name, ReliabilityBins())
            fine = matched <= own.cases <= max(matched, read.compared)
            self.require(fine, "a reliability curve has other cases than its model")
            if asked.missing == "error" and asked.weight is None:
                sums = [one.sums for one in self.found.tallies.values()]
                self.require(all("accuracy" in one for one in sums), "a metric is missing")
                hits, known = sum(own.bins.columns[2]), sum(one["accuracy"][a] for one in sums)
                self.require(hits <= known, "a reliability curve has more hits than its model")
                self.require(not own.shortest or hits == known, "a reliability curve has other hits than its model")

    def _check_losses(self) -> None:
        losses, models = self.found.losses, {*self.found.question.models}
        self.require(all({*pair} <= models for pair in losses or ()), "a loss is that of no model")
        low, high = self.found.question.penalised[0]
        for one in (losses or {}).values():
            self.require(not math.isnan(one.most), "a loss is no number")
            largest = self.found.heaviest * (high - low) * (1 + _ROUNDED) if math.isfinite(high) else math.inf
            self.require(one.most <= largest, "a loss is larger than any score")
        for highest in self.found.read.highest.values():
            self.require(highest <= high + abs(high) * _ROUNDED, "a score is higher than any")
