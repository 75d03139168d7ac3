"""Exact sums as bytes, and back: what is read must be sums of some cases, whoever wrote it."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from toplist.core.kernel import BITS, FIXED_BITS, UNIT, Integers
from toplist.inference.aggregates import MOST_BITS, MOST_CASES, POWERS, SETS, Aggregates
from toplist.inference.partial_bytes import (
    damaged,
    key_order,
    pack,
    pack_integers,
    pack_keys,
    take,
    unpack,
    unpack_integers,
    unpack_keys,
)

KIND = "sums"
_MODELS, _RULES = "K", "R"
_SHAPES = {  # of sums that are always there; every other name is a metric, with one sum for each model
    **dict.fromkeys(("weight", "thin", "invalid_cases"), _MODELS),
    **dict.fromkeys(("unpenalised", "empty", "unpenalised_infinite"), _MODELS + _RULES),
    "cases": _MODELS + _MODELS,
    **dict.fromkeys(("both", "w", "ww", "x", "wx", "xx", "xy", "infinite"), _RULES + _MODELS + _MODELS),
}
_COUNTS = ("invalid_cases", "unpenalised_infinite", "cases", "both", "infinite")
_SYMMETRIC = ("cases", "both", "w", "ww", "xy", *POWERS)
_SETS = ("set_x", "set_w", "set_empty")
_MOST_MODELS, _MOST_RULES, _MOST_SUMS = 10_000, 1_000, 10_000
_ROUNDING = 40  # bits of a sum of products that are right, if those below the smallest double are none


def sums_to_bytes(tally: Aggregates) -> bytes:
    """The bytes of exact sums: the same for the same sums, in whatever order clusters were added."""
    keys = sorted(tally.clusters, key=key_order)
    clusters = [tally.clusters[key] for key in keys]
    header = {
        "cases": tally.cases,
        "sums": [[name, list(value.shape)] for name, value in sorted(tally.sums.items())],
        "clusters": len(keys),
    }
    flat = [np.zeros(0, object), *(value.ravel() for _, value in sorted(tally.sums.items()))]
    blocks = {"sums": pack_integers(np.concatenate(flat))}
    if keys:
        blocks["keys"] = pack_keys(keys)
        blocks["clusters"] = pack_integers([number for weight, x in clusters for number in (weight, *x.ravel())])
    return pack(KIND, header, blocks)


def sums_from_bytes(data: Any, source: str) -> Aggregates:
    """The sums that `sums_to_bytes` made bytes of; a FileError where they are not, or cannot be, sums of cases."""
    header, blocks = unpack(data, KIND, source)
    cases, count = take(header, "cases", int, source), take(header, "clusters", int, source)
    if not 0 <= cases <= MOST_CASES or not 0 <= count <= cases:
        damaged(source, "its counts cannot be")
    if blocks.keys() != ({"sums", "keys", "clusters"} if count else {"sums"}):
        damaged(source, "its parts are not those of sums")
    sums = _arrays(take(header, "sums", list, source), blocks["sums"], source)
    checked = _Checked(cases, sums, source)
    checked.check()
    clusters: dict[Any, tuple[int, Integers]] = {}
    if count:
        keys = unpack_keys(blocks["keys"], count, source)
        width = 1 + checked.rules * checked.models
        numbers = unpack_integers(blocks["clusters"], count * width, source).reshape(count, width)
        for key, row in zip(keys, numbers, strict=True):
            clusters[key] = (row[0], row[1:].reshape(checked.rules, checked.models))
        checked.check_clusters(numbers)
    return Aggregates(cases, sums, clusters)


def _arrays(described: list[Any], data: bytes, source: str) -> dict[str, Integers]:
    """By name, the numbers in the shape that they are said to have."""
    if len(described) > _MOST_SUMS:
        damaged(source, "it has more sums than there are metrics")
    shapes: dict[str, tuple[int, ...]] = {}
    for one in described:
        if not (isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) and isinstance(one[1], list)):
            damaged(source, "it does not say what its sums are")
        name, shape = one
        fine = name not in shapes and 0 < len(shape) <= 3
        if not fine or not all(type(size) is int and 0 < size <= MOST_CASES for size in shape):
            damaged(source, "the shapes of its sums cannot be")
        shapes[name] = tuple(shape)
    flat = unpack_integers(data, sum(map(math.prod, shapes.values())), source)
    ends = np.cumsum([0, *map(math.prod, shapes.values())])
    return {
        name: flat[lo:hi].reshape(shape)
        for (name, shape), lo, hi in zip(shapes.items(), ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    }


class _Checked:
    """Sums that have to agree with each other as those of any cases do."""

    def __init__(self, cases: int, sums: dict[str, Integers], source: str) -> None:
        self.cases, self.sums, self.source = cases, sums, source
        self.models, self.rules = 0, 0

    def require(self, fine: Any, why: str) -> None:
        if not bool(fine):
            damaged(self.source, why)

    def check(self) -> None:
        """Shapes, counts, and sums of squares."""
        sums = self.sums
        self.require(_SHAPES.keys() <= sums.keys(), "a sum is missing")
        self.require(sums["x"].ndim == 3, "the shapes of its sums cannot be")
        self.rules, self.models, _ = sums["x"].shape
        self.require(self.rules <= _MOST_RULES and self.models <= _MOST_MODELS, "it has too many rules or models")
        weighted = POWERS[0] in sums
        sizes = {_MODELS: self.models, _RULES: self.rules}
        for name, value in sums.items():
            if name in _SETS:
                continue
            letters = _SHAPES.get(name, _RULES + _MODELS * 2 if name in POWERS else _MODELS)
            self.require(value.shape == tuple(sizes[one] for one in letters), "the shapes of its sums do not agree")
            bits = max((number.bit_length() for number in value.ravel()), default=0)
            self.require(bits <= MOST_BITS, f"{name} is larger than any sum of scores")
            if name in _SYMMETRIC:
                self.require((value == np.swapaxes(value, -1, -2)).all(), f"{name} is not the same both ways")
            if name not in ("unpenalised", "empty", "x", "wx", "xy"):
                self.require((value >= 0).all(), f"{name} is below zero")
        self.require(all((name in sums) == weighted for name in POWERS), "a sum is missing")
        self._check_counts()
        self._check_weights(weighted)
        self._check_squares()
        if any(name in sums for name in _SETS):
            self._check_sets()

    def _check_counts(self) -> None:
        s = self.sums
        own = np.diagonal(s["cases"])
        self.require((own <= self.cases).all(), "a model has more cases than there are")
        self.require((s["cases"] <= np.minimum.outer(own, own)).all(), "two models share more cases than one has")
        self.require((s["both"] + s["infinite"] <= s["cases"]).all(), "more scores were added than there are cases")
        self.require((s["invalid_cases"] <= own).all(), "there are more invalid cases than cases")
        self.require((s["unpenalised_infinite"] <= own[:, None]).all(), "there are more infinite scores than cases")

    def _check_weights(self, weighted: bool) -> None:
        s = self.sums
        self.require((s["thin"] <= s["weight"]).all(), "shares are above one")
        whole = np.diagonal(s["w"], axis1=1, axis2=2)
        self.require((whole <= s["weight"]).all(), "the weights of finite scores are above those of all")
        if not weighted:
            self.require((s["weight"] == np.diagonal(s["cases"]) * UNIT).all(), "weights are not numbers of cases")
            self.require((s["w"] == s["both"] * UNIT).all(), "weights are not numbers of cases")
            self.require((s["ww"] == s["w"]).all(), "weights are not numbers of cases")
            self.require((s["wx"] == s["x"]).all(), "weighted scores are not those without weights")
        none = s["both"] == 0
        for name in ("w", "ww", "x", "wx", "xx", "xy"):
            self.require((s[name][none] == 0).all(), "sums of no cases are not zero")

    def _check_squares(self) -> None:
        """Cauchy's inequality: what follows from sums is a variance."""
        s = self.sums
        for r, a, b in product(range(self.rules), range(self.models), range(self.models)):
            n, w, ww, x, wx, xx, yy, xy = (
                s[name][r, i, j]
                for name, i, j in (
                    *((name, a, b) for name in ("both", "w", "ww", "x", "wx", "xx")),
                    ("xx", b, a),
                    ("xy", a, b),
                )
            )
            for one, first, second in ((w, n * UNIT, ww), (x, n * UNIT, xx), (wx, ww, xx), (xy, xx, yy)):
                bound = (first + n) * (second + n)  # products below the smallest double may be lost, one in each case
                fine = one * one << _ROUNDING <= bound * ((1 << _ROUNDING) + 1)
                self.require(fine, "sums of squares are smaller than they can be")

    def _check_sets(self) -> None:
        """Sets of units make up all cases, but for what is cut off in each case."""
        s, k, rules = self.sums, self.models, self.rules
        self.require(all(name in s for name in _SETS), "a sum is missing")
        x, w, empty = (s[name] for name in _SETS)
        pairwise = w.ndim == 3
        widths = (k * k, k * (k + 1) // 2, k) if pairwise else (k, 1, 1)
        fine = x.shape == (rules, widths[0], SETS) and empty.shape == (rules, widths[2], SETS)
        fine = fine and w.shape == ((rules, widths[1], SETS) if pairwise else (1, SETS))
        self.require(fine, "the shapes of its sums do not agree")
        self.require((w >= 0).all(), "the weight of a set is below zero")
        if pairwise:
            a, b = np.triu_indices(k)
            self._near(x, s["x"].reshape(rules, k * k))
            self._near(w, s["w"][:, a, b])
            return
        every = np.diagonal(s["cases"]) == self.cases
        self._near(x[:, every], np.diagonal(s["x"], axis1=1, axis2=2)[:, every])
        self._near(np.broadcast_to(w, (k, SETS))[every], s["weight"][every])
        self._near(np.broadcast_to(empty, (rules, k, SETS))[:, every], s["empty"].T[:, every])

    def _near(self, sets: Integers, exact: Integers) -> None:
        off = abs((sets.sum(axis=-1) << (BITS - FIXED_BITS)) - exact) if exact.size else np.zeros(1, object)
        self.require((off <= self.cases << (BITS - FIXED_BITS)).all(), "sets have other sums than all cases")

    def check_clusters(self, numbers: Integers) -> None:
        """Clusters make up all cases, which are those of every model that lacks none."""
        s, total = self.sums, numbers.sum(axis=0)
        every = np.diagonal(s["cases"]) == self.cases
        self.require((numbers[:, 0] >= 0).all(), "the weight of a cluster is below zero")
        self.require((s["weight"][every] == total[0]).all(), "clusters have another weight than all cases")
        x = np.diagonal(s["x"], axis1=1, axis2=2)[:, every]
        own = total[1:].reshape(self.rules, self.models)[:, every]
        self.require((x == own).all(), "clusters have another sum of scores than all cases")
