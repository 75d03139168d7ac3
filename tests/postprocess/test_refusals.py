"""What makes no sense is refused in words, by every function that changes lists, and damaged files by whoever reads."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.postprocess.recalibrators import KINDS, sharpened
from tests.postprocess.test_pool_weights import draw
from toplist.postprocess import Conformal, Stack, linear_pool, load, stack
from toplist.postprocess.combination import ambiguity, pool_weights
from toplist.postprocess.decisions import decide
from toplist.postprocess.recalibration import Isotonic, Recalibrator, RestFloor, Temperature, select_recalibrator
from toplist.postprocess.selection import as_folds
from toplist.postprocess.selective import reject_below, rejection_curve
from toplist.postprocess.truncation import choose_k, choose_mass

LABELS = tl.TopLists.from_labels
ONE, TWO, NONE = LABELS([0], 3), LABELS([0, 1], 3), tl.TopLists.from_dicts([], 3)
HARD, PAIR = LABELS([0, 1], 3), [tl.TopLists.from_dicts([{0: 0.5}, {}], 3)] * 2
HALF, MANY = tl.TopLists.from_proba([[0.5, 0.5]]), np.arange(60) // 3


def decided(words: str, costs: Any, **options: Any) -> Any:
    return lambda: decide([{0: 0.5, 1: 0.2}], costs, **{"space": 3, **options}), words


def chosen(words: str, **options: Any) -> Any:
    return lambda: choose_k(TWO, [0, 1], **options), words


def pooled(words: str, lists: Any, **options: Any) -> Any:
    return lambda: linear_pool(lists, **options), words


def weighed(words: str, lists: Any = PAIR, y: Any = (0, 1), **options: Any) -> Any:
    return lambda: pool_weights(lists, list(y), **options), words


def stacked(words: str, **options: Any) -> Any:
    lists, y = draw(6, 2)
    return lambda: stack(lists, options.pop("y", y), **options), words


def fitted(words: str, model: Recalibrator | None = None, **options: Any) -> Any:
    lists, y = sharpened(76, 3)
    given = {"lists": lists, "y": y, **options}
    return lambda: (model or Temperature()).clone().fit(given.pop("lists"), given.pop("y"), **given), words


def selected(candidates: Any, words: str = "candidates are recalibrators") -> Any:
    return lambda: select_recalibrator(*sharpened(61, 20), candidates=candidates), words


def restored(words: str, **change: Any) -> Any:
    return lambda: Recalibrator.from_dict({**Temperature().fit(*sharpened(42, 30)).to_dict(), **change}), words


def hot(value: Any, words: str = "where finite numbers are expected") -> Any:
    return restored(words, fitted={"temperature_": value})


def conformal(words: str, **change: Any) -> Any:
    return lambda: Conformal.from_dict(Conformal().to_dict() | change), words


REFUSED = [
    decided("1 rows for 3 classes. Name the actions", [[0, 1, 2]]),
    decided("column per class", [[0, 1]], actions=["a"]),
    decided("1 rows for 2 actions", [[0, 1, 2]], actions=["a", "b"]),
    decided("the cost of 'a' when 2 happens is inf. Costs are finite", [[0, 1, math.inf]], actions=["a"]),
    decided("at least one", np.eye(3), actions=[]),
    decided("each named once", np.eye(3), actions=["a", "b", "a"]),
    decided("finite", np.eye(3), reject=math.inf),
    decided("column per class", np.eye(3), space=tl.ClassSpace([3])),
    decided("costs", {(0, 1): 1.0}),
    decided("costs", lambda action, outcome: 1.0),
    (lambda: reject_below(ONE, 0.5, by="mood"), "by 'entropy' or 'confidence'"),  # type: ignore[arg-type]
    (lambda: reject_below(ONE, math.nan), "threshold"),
    (lambda: reject_below(ONE, 50), "from 0 to 1"),
    (lambda: rejection_curve(NONE, []), "no cases"),
    chosen("numbers of classes", ks=3),
    chosen("number of classes", ks=[-1]),
    chosen("at least one", ks=[]),
    chosen("1 sample weights for 2 cases", sample_weight=[1.0]),
    chosen("none below zero", sample_weight=[-1.0, 2.0]),
    (lambda: choose_k(NONE, []), "no cases"),
    (lambda: choose_k(HALF, [[0.5, 0.5]]), "not a distribution"),
    (lambda: choose_mass(ONE, [0], masses=0.5), "masses"),
    (lambda: choose_mass(ONE, [0], masses=[]), "at least one"),
    (lambda: ambiguity([NONE, NONE]), "no cases"),
    pooled("there is nothing to pool.", []),
    pooled("give all the same space", [ONE, LABELS([0], 4)]),
    pooled("1 and 2 lists", [ONE, TWO]),
    pooled("2 weights for 1 members", [ONE], weights=[0.5, 0.5]),
    pooled("these add up to 0.5", [ONE], weights=[0.5]),
    pooled("Divide each by 3.", [ONE, ONE], weights=[1.0, 2.0]),
    pooled("not negative", [ONE, ONE], weights=[1.5, -0.5]),
    pooled("the pool is of a, b; d is no member.", {"a": ONE, "b": ONE}, weights={"a": 0.5, "b": 0.3, "d": 0.2}),
    pooled("how many classes are there", [[0.5, 0.5]]),
    pooled("different cases", [LABELS([0], 3, ids=["x"]), LABELS([0], 3, ids=["y"])]),
    pooled("one model alone", ONE),
    pooled("several models", None),
    pooled("same name", {1: ONE, "1": ONE}),
    weighed("not convex in the weights. Use rule='log'", pool="geometric"),
    weighed("spherical score of a linear pool is not", rule="spherical"),
    weighed('"linear" or "geometric", not \'harmonic\'', pool="harmonic"),
    weighed("ridge", ridge=-1),
    weighed("1 sample weights for 2 cases", sample_weight=[1.0]),
    weighed("not all zero", sample_weight=[0.0, 0.0]),
    weighed("weights are fitted to one outcome per case", [HALF, HALF], [[0.5, 0.5]]),
    weighed("no cases to learn", [NONE], []),
    weighed("every member gives zero to some outcome", [HARD, HARD[[1, 0]]], [0, 0], rule="log", pool="geometric"),
    weighed("no weights are better than others", [HARD, HARD], [1, 2], rule="log"),
    stacked("folds", folds=1),
    stacked("100 folds of 60 cases", folds=100),
    stacked("21 folds of 20 clusters", folds=21, clusters=MANY),
    stacked("seed", seed=-1),
    stacked("k is", k=-1),
    stacked("59 outcomes for 60 lists", y=[0] * 59),
    stacked("not 'temperature'", recalibrate="temperature"),
    (lambda: as_folds(3, 5, 0), "5 folds of 3 cases"),
    (lambda: as_folds(3, 1, 0), "folds is a whole number, at least 2"),
    (lambda: as_folds(60, 4, 0, MANY[:5]), "One per case"),
    fitted("2 outcomes for 3 lists", y=[0, 1]),
    fitted("outside the space", y=[0, 1, 99]),
    fitted("one outcome per case", y=np.full((3, 8), 0.125)),
    fitted("expected TopLists", lists="abc"),
    fitted("2 sample weights for 3 cases", sample_weight=[1, 2]),
    fitted("case 1: the sample weight is -2", sample_weight=[1, -2, 1]),
    fitted("case 1: the sample weight is nan", sample_weight=[1, np.nan, 1]),
    fitted("no case counts", sample_weight=[0, 0, 0]),
    fitted('by the score "brier" or "log"', Temperature(rule="spherical")),
    *(fitted("floor is", RestFloor(floor=wrong)) for wrong in (0, 1, -0.1, math.nan, "much")),  # type: ignore[arg-type]
    *(fitted("no cases to learn from", model, lists=sharpened(2, 3)[0][:0], y=[]) for model in KINDS.values()),
    *(
        (lambda model=model: model.clone().transform(ONE), "not fitted yet: call fit(lists, y) first")
        for name, model in KINDS.items() if name != "identity"
    ),
    (lambda: Temperature().fit(*sharpened(77, 10)).transform({"a": 0.5}), "expected TopLists"),
    (lambda: Temperature().set_params(heat=3), "has no option 'heat'; its options: rule"),
    (Temperature().to_dict, "not fitted yet"),
    (lambda: RestFloor(rule=tl.Power(3.0)).fit(*sharpened(46, 30)).to_dict(), "cannot be saved"),
    *map(selected, ([Temperature], ["temperature"], 3)),
    selected([Isotonic(ranks=0)], "ranks is"),
    restored("reads 'toplist.recalibrator/1'", schema="toplist.recalibrator/9"),
    restored("schema is None", schema=None),
    restored("no recalibrator is of kind 'os.system'", kind="os.system"),
    restored("no recalibrator is of kind", kind=["Temperature"]),
    restored("params and fitted are records", params=None),
    restored("no option 'colour'", params={"colour": "red"}),
    restored("brier", params={"rule": "spherical"}),
    restored("temperature_ is missing", fitted={}),
    *map(hot, ("hot", math.nan, math.inf, 10**400, True)),
    hot(-1.0, "where a number between 1e-300 and inf is expected"),
    *((lambda x=x: Recalibrator.from_dict(x), "a saved recalibrator is a record") for x in (None, [], "Temperature")),
    (lambda: RestFloor.from_dict(Temperature().fit(*sharpened(42, 30)).to_dict()), "this is a Temperature, not a Res"),
    (lambda: Conformal(coverage=1.0), "coverage"),
    (lambda: Conformal(kind="lac"), "lac"),
    *((lambda x=x: Conformal(0.8, "raps", penalty=x), "penalty") for x in (-1, math.inf, 1e308)),
    (lambda: Conformal(k_reg=-1), "k_reg"),
    (lambda: Conformal(seed=-1), "seed"),
    (lambda: Conformal().set_params(colour=1), "no colour"),
    (lambda: Conformal().transform(ONE), "not fitted"),
    (lambda: Conformal().fit(ONE, [0], sample_weight=[1.0]), "exchangeable"),
    (lambda: Conformal().fit(NONE, []), "no cases"),
    (lambda: Conformal().fit_transform(ONE, [0]), "new cases"),
    conformal("by_id", by_id="no"),
    conformal("true or false", randomized="no"),
    conformal("true or false", empty="no"),
    (lambda: Conformal.from_dict({"schema": "toplist.conformal/1", "colour": 1}), "colour"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_makes_no_sense_is_refused(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(tl.TopListError, match=re.escape(words)):
        call()


@pytest.mark.parametrize("read", [load, Recalibrator.load, Stack.load, Conformal.load])
def test_files_that_are_wrong_are_refused_by_name(read: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    for text in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"schema": NaN}'):
        path.write_bytes(text)
        with pytest.raises(tl.TopListError, match=r"bad\.json"):
            read(path)
    for text in (b"[]", b"{}", b'{"schema": "toplist.pool/2"}'):
        path.write_bytes(text)
        with pytest.raises(tl.TopListError, match=r"schema|a record"):
            read(path)
    for other in ("conformal", "pool", "recalibrator"):
        path.write_text(f'{{"schema": "toplist.{other}/1", "threshold": -1}}')
        with pytest.raises(tl.TopListError):
            read(path)
    with pytest.raises(tl.TopListError, match=r"none\.json: there is no such file"):
        read(tmp_path / "none.json")
    with pytest.raises(tl.TopListError, match="cannot be read"):
        read(tmp_path)
