"""Parts of a comparison: whatever the split, their merge is the leaderboard of one run, and nothing else is merged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
import pytest

import toplist as tl
from toplist.evaluation.partials import PartialResult, finish, merge

pa = pytest.importorskip("pyarrow")

NAMES = ("one", "two", "three")
CLASSES = 6


class Data:
    """Lists of three models over six classes, with what is known of the cases; and any part of them."""

    def __init__(
        self, seed: int, cases: int = 90, *, lacking: float = 0.0, zeros: float = 0.0, odd: float = 0.0
    ) -> None:
        rng = np.random.default_rng(seed)
        y = rng.integers(0, CLASSES, cases)
        self.truth = pa.table(
            {
                "id": [f"case {i}" for i in range(cases)],
                "outcome": y,
                "weight": rng.choice([0.0, 0.5, 1.0, 7.25], cases),
                "site": [f"site {i}" for i in rng.integers(0, 3, cases)],
                "patient": rng.integers(0, 25, cases),
                "day": [f"2024-01-{i:02d}" for i in rng.integers(1, 29, cases)],
            }
        )
        self.models = {}
        for strength, name in enumerate(NAMES, 1):
            classes, confidences = [], []
            for outcome in y:
                first = int(outcome) if rng.random() < 0.3 + 0.2 * strength else int(rng.integers(0, CLASSES))
                p = float(rng.choice([0.5, 0.625, 0.75, 1.0 if rng.random() < zeros else 0.875]))
                small = 0.01 if rng.random() < odd else (1 - p) / 2
                second = (first + 1 + int(rng.integers(0, CLASSES - 1))) % CLASSES
                classes.append([first] if p == 1.0 else [first, second])
                confidences.append([p] if p == 1.0 else [p, small])
            kept = np.flatnonzero(rng.random(cases) >= (lacking if name != "one" else 0.0))
            table = pa.table({"id": self.truth["id"], "classes": classes, "confidences": confidences})
            self.models[name] = table.take(pa.array(kept))
        self.of = rng.integers(0, 7, cases)
        self.rng = rng

    def part(self, chosen: Any) -> tuple[dict[str, Any], Any]:
        """The rows of some cases, in any order."""
        ids = pa.array([f"case {i}" for i in np.flatnonzero(chosen)], pa.string())
        taken = [
            table.filter(pa.compute.is_in(table["id"], value_set=ids)) for table in (self.truth, *self.models.values())
        ]
        truth, *models = (table.take(pa.array(self.rng.permutation(len(table)))) for table in taken)
        return dict(zip(NAMES, models, strict=True)), truth

    def parts(self, count: int, **how: Any) -> list[PartialResult]:
        """The partial results of so many parts."""
        columns = how.pop("columns", {})
        made = [self.part(self.of % count == at) for at in range(count)]
        return [tl.partial_result(models, tl.Truth(truth, **columns), space=CLASSES, **how) for models, truth in made]

    def whole(self, **how: Any) -> tl.Leaderboard:
        """What one run says."""
        return tl.compare(self.models, tl.Truth(self.truth, **how.pop("columns", {})), space=CLASSES, **how)


SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "grouped": ({}, {"columns": {"group": "site"}}),
    "clustered": ({}, {"columns": {"cluster": "patient"}}),
    "weighted": ({}, {"columns": {"weight": "weight"}, "baseline": "one"}),
    "all of these": ({"zeros": 0.5}, {"columns": {"weight": "weight", "group": "site", "cluster": "patient"}}),
    "infinite": ({"zeros": 1.0}, {"rules": ["log", "spherical", "brier"], "k": [1, 2]}),
    "invalid": ({"odd": 0.3}, {"rules": ["brier", tl.Power(1.5)], "penalty": 0.25}),
    "normalized": ({"odd": 0.3}, {"read": tl.ReadOptions(normalize=True)}),
    "common": ({"lacking": 0.3}, {"missing": "common"}),
    "uniform": ({"lacking": 0.3}, {"missing": "uniform", "columns": {"weight": "weight"}}),
    "worst": ({"lacking": 0.3, "zeros": 0.3}, {"missing": "worst", "rules": "log"}),
    "baseline": ({"lacking": 0.3}, {"missing": "baseline", "baseline": "one", "columns": {"group": "site"}}),
    "poisson": ({}, {"inference": "poisson"}),
    "poisson by cluster": ({}, {"inference": "poisson", "columns": {"cluster": "patient", "weight": "weight"}}),
    "other level": ({}, {"inference": tl.Inference(level=0.8, method="normal", min_cases=3)}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_merge_of_any_split_is_one_run_to_the_last_byte(name: str) -> None:
    (data, how), seed = SETTINGS[name], list(SETTINGS).index(name)
    made = Data(seed, **data)
    parts = made.parts(1 + (3 * seed + 1) % 5, **how)
    made.rng.shuffle(parts)  # type: ignore[arg-type]
    data = [one.to_bytes() for one in parts]
    assert [PartialResult.from_bytes(one).to_bytes() for one in data] == data
    assert tl.merge_results([*parts[:1], *data[1:]]).to_json() == made.whole(**how).to_json()
    assert tl.merge_results(data).to_json() == made.whole(**how).to_json()


def test_order_and_shape_of_the_merge_do_not_show_in_the_bytes() -> None:
    parts = Data(3, lacking=0.2).parts(5, missing="common", columns={"group": "site", "weight": "weight"})
    back = [PartialResult.from_bytes(one.to_bytes()) for one in parts]
    assert [one.to_bytes() for one in back] == [one.to_bytes() for one in parts]
    flat, tree = merge(parts[::-1]), merge([merge(back[:2]), reduce(add, back[2:])])
    assert flat.to_bytes() == tree.to_bytes()
    assert finish(PartialResult.from_bytes(flat.to_bytes())).to_json() == tl.merge_results(parts).to_json()


def test_cases_without_ids_go_by_their_position() -> None:
    data = Data(5, cases=40)
    bare = {name: table.drop_columns("id") for name, table in data.models.items()}
    truth = data.truth.select(["outcome"])
    parts = [
        tl.partial_result(
            {name: table[lo:hi] for name, table in bare.items()},
            truth[lo:hi],
            space=CLASSES,
            part=tl.PartOptions(start=lo),
        )
        for lo, hi in ((0, 15), (15, 40))
    ]
    assert tl.merge_results(parts).to_json() == tl.compare(bare, truth, space=CLASSES).to_json()
    again = tl.partial_result(bare, truth, space=CLASSES)
    with pytest.raises(tl.TopListError, match="part 1 and part 2 both have cases 15 to 39, by their position"):
        tl.merge_results([parts[1], again])


def test_label_sets_are_merged_too() -> None:
    rng = np.random.default_rng(0)
    sets = ["a", "b", "a;b", "b;c", "a;b;c"]
    ids = [f"{i}" for i in range(40)]
    truth = pa.table({"id": ids, "outcome": rng.choice(sets, 40)})
    lists = pa.table({"id": ids, "class": rng.choice(sets, 40), "confidence": rng.choice([0.5, 0.75], 40)})
    how: Any = {"space": tl.LabelSets(["a", "b", "c"]), "read": tl.ReadOptions(set_separator=";")}
    parts = [tl.partial_result({"m": lists[lo : lo + 20]}, truth[lo : lo + 20], **how) for lo in (0, 20)]
    assert tl.merge_results(parts).to_json() == tl.compare({"m": lists}, truth, **how).to_json()


def test_a_small_sample_is_said_to_be_one() -> None:
    data = Data(6)
    part = data.parts(1, part=tl.PartOptions(sample=10))[0]
    assert len(part.sample) == 10
    assert 0 < part.sample.threshold < 1
    assert tl.merge_results(part).comparison.pairs == data.whole().comparison.pairs


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "rules": ({"rules": "brier"}, r"rules is \('brier', 'log'\) in the first, and \('brier',\) in the second"),
    "level": ({"inference": 0.9}, "level is 0.95 in the first, and 0.9 in the second"),
    "weights": ({"columns": {"weight": "weight"}}, "weight is None in the first, and 'weight'"),
    "missing": ({"missing": "common"}, "missing is 'error' in the first, and 'common' in the second"),
    "repairs": ({"read": tl.ReadOptions(normalize=True)}, "their lists or outcomes were read with different options"),
    "k": ({"k": 3}, r"k is \(5,\) in the first, and \(3,\) in the second"),
}


@pytest.mark.parametrize(("how", "said"), REFUSED.values(), ids=REFUSED)
def test_parts_of_other_questions_are_refused_with_what_differs(how: dict[str, Any], said: str) -> None:
    data = Data(7)
    with pytest.raises(tl.TopListError, match=f"part 1 and part 2 do not belong together: {said}"):
        tl.merge_results([data.parts(2)[0], data.parts(2, **how)[1]])


def test_cases_that_are_in_two_parts_are_refused() -> None:
    data = Data(8)
    first, second = data.parts(2)
    with pytest.raises(tl.TopListError, match="part 1 and part 3 have cases in common"):
        tl.merge_results([first, second, first.to_bytes()])
    with pytest.raises(tl.TopListError, match=r"part 1 and part 2 have cases in common \(\d+ of those"):
        tl.merge_results([first, data.parts(1)[0]])


@pytest.mark.parametrize(
    ("how", "remedy"),
    [
        ({"inference": "bootstrap"}, "poisson"),
        ({"inference": "wild"}, "poisson"),
        ({"inference": "bounded"}, "run compare without an engine"),
        ({"inference": "ewc"}, "run compare without an engine"),
        ({"columns": {"time": "day"}}, "time"),
        ({"missing": "pairwise"}, "common"),
    ],
)
def test_what_needs_all_cases_is_refused_with_the_remedy(how: dict[str, Any], remedy: str) -> None:
    with pytest.raises(tl.TopListError, match="parts are merged from sums") as refused:
        Data(9).parts(1, **how)
    assert remedy in str(refused.value)


def test_predictions_in_memory_are_refused() -> None:
    with pytest.raises(tl.TopListError, match="partial results are of files and dataframes"):
        tl.partial_result({"a": ["x", "y"]}, ["x", "y"], space=2)


@pytest.mark.parametrize("parts", [[], (), iter([])])
def test_nothing_is_not_merged(parts: Any) -> None:
    with pytest.raises(tl.TopListError, match="there are no partial results to merge"):
        tl.merge_results(parts)


def test_damaged_parts_are_refused_in_one_sentence() -> None:
    """What is wrong with bytes is tested with those of sums, in tests/inference/test_codec.py."""
    first, second = (one.to_bytes() for one in Data(11, cases=24).parts(2))
    sums = merge([PartialResult.from_bytes(first)]).tallies[None].to_bytes()
    flipped = first[:-9] + bytes([first[-9] ^ 4]) + first[-8:]
    for data, said in (
        (flipped, "part 1: this partial result is damaged or cut off: compute it again."),
        (first[:300], "part 1: this partial result is damaged or cut off: compute it again."),
        (first[:8] + b"\1" + first[9:], "part 1: this partial result has format 1, and this version of toplist reads"),
        (b"PAR1", "part 1: this is no partial result of toplist: it begins otherwise."),
        (sums, "part 1: this is not what it should be, or another version of toplist wrote it (Object missing"),
    ):
        with pytest.raises(tl.FileError) as refused:
            tl.merge_results([data, second])
        assert str(refused.value).startswith(said)
        assert "\n" not in str(refused.value)


def two_classes(weights: Sequence[float], seed: int = 0) -> tuple[dict[str, Any], Any]:
    """Two models of as many cases with these weights, all of which have the first class."""
    rng, ids = np.random.default_rng(seed), list(range(len(weights)))
    models = {}
    for name, p in (("sharp", rng.uniform(0.96, 0.97, len(ids))), ("blunt", rng.uniform(0.9, 0.91, len(ids)))):
        models[name] = pa.table({"id": ids, "a": p, "b": 1 - p})
    return models, pa.table({"id": ids, "outcome": ["a"] * len(ids), "weight": list(map(float, weights))})


def of_slices(models: dict[str, Any], truth: Any, *sizes: int, **how: Any) -> list[PartialResult]:
    """The partial results of rows that follow each other."""
    ends = np.cumsum((0, *sizes)).tolist()
    return [
        tl.partial_result(
            {name: table.slice(lo, hi - lo) for name, table in models.items()},
            tl.Truth(truth.slice(lo, hi - lo), weight="weight"),
            **how,
        )
        for lo, hi in pairwise(ends)
    ]


@pytest.mark.parametrize("rule", ["log", "brier"])
@pytest.mark.parametrize("light", [0.0, 2.0**-9, 2.0**-40])
@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**20])
def test_parts_that_are_far_lighter_than_others_change_no_bound_on_a_lead(
    rule: str, light: float, scale: float
) -> None:
    models, truth = two_classes([light * scale] * 20 + [scale] * 20)
    whole = tl.compare(models, tl.Truth(truth, weight="weight"), space=["a", "b"], rules=rule)
    assert whole.comparison.pairs[0].by_chance is not None
    parts = of_slices(models, truth, 7, 13, 9, 11, space=["a", "b"], rules=rule)
    assert tl.merge_results(parts).to_json() == whole.to_json()
    one, two, three, four = parts
    assert ((one + three) + (four + two)).to_bytes() == ((four + (three + two)) + one).to_bytes()


def test_small_slopes_of_light_parts_are_not_lost() -> None:
    rng, labels = np.random.default_rng(124), ["a", "b", "c"]
    p, q = rng.dirichlet([1, 1, 1], 60), rng.dirichlet([1, 1, 1], 60)
    y = [labels[rng.choice(3, p=0.7 * row + 0.3 * np.eye(3)[row.argmax()])] for row in p]
    weights = np.where(np.arange(60) < 30, 2.0**-16, 1.0) * rng.random(60)
    ids = list(range(60))
    models = {
        name: pa.table({"id": ids} | {label: made[:, at] for at, label in enumerate(labels)})
        for name, made in (("p", p), ("q", q))
    }
    truth = pa.table({"id": ids, "outcome": y, "weight": weights})
    whole = tl.compare(models, tl.Truth(truth, weight="weight"), space=labels, rules="log")
    assert (whole.comparison.pairs[0].by_chance or 1.0) < 1e-3
    assert tl.merge_results(of_slices(models, truth, 30, 30, space=labels, rules="log")).to_json() == whole.to_json()


@pytest.mark.filterwarnings("error")
def test_a_case_without_weight_takes_no_bound_away() -> None:
    ids = list(range(21))
    p = {"sharp": [0.97] * 10 + [0.96] * 10 + [0.0], "blunt": [0.9] * 10 + [0.91] * 10 + [0.5]}
    models = {name: pa.table({"id": ids, "a": own, "b": [1 - one for one in own]}) for name, own in p.items()}
    truth = pa.table({"id": ids, "outcome": ["a"] * 20 + ["b"], "weight": [1.0] * 20 + [0.0]})
    board = tl.compare(models, tl.Truth(truth, weight="weight"), space=["a", "b"], rules="log")
    assert board.comparison.pairs[0].by_chance is not None


def test_parts_without_cases_to_compare_are_not_the_same_part() -> None:
    models, truth = two_classes([1.0] * 8)
    own = {"sharp": [0, 1, 2, 3, 4, 5], "blunt": [0, 1, 2, 3, 6, 7]}

    def rows(table: Any, ids: Sequence[int]) -> Any:
        return table.filter(pa.compute.is_in(table["id"], value_set=pa.array(ids, pa.int64())))

    few = {name: rows(table, own[name]) for name, table in models.items()}
    how: dict[str, Any] = {"space": ["a", "b"], "missing": "common"}
    parts = [
        tl.partial_result({name: rows(table, ids) for name, table in few.items()}, rows(truth, ids), **how)
        for ids in ([0, 1, 2, 3], [4, 5], [6, 7], [], [])
    ]
    assert tl.merge_results(parts).to_json() == tl.compare(few, truth, **how).to_json()


def test_a_model_without_rows_in_a_part_does_not_tell_how_others_are_read() -> None:
    ids, lists = [0, 1, 2], {"classes": [["a"], ["b"], ["a"]], "confidences": [[0.5], [0.6], [0.7]]}
    model, truth = pa.table({"id": ids} | lists), pa.table({"id": [0, 1, 2, 3], "outcome": ["a", "b", "a", "b"]})
    nothing = pa.table({name: pa.array([], pa.null()) for name in model.column_names})
    how: dict[str, Any] = {"space": ["a", "b"], "missing": "uniform"}
    parts = [
        tl.partial_result({"m": model}, truth.slice(0, 3), **how),
        tl.partial_result({"m": nothing}, truth.slice(3), **how),
    ]
    assert tl.merge_results(parts).to_json() == tl.compare({"m": model}, truth, **how).to_json()


def test_names_that_are_no_unicode_are_kept() -> None:
    """A file may be called so, and a model after it."""
    data = Data(3)
    part = tl.partial_result({"m\udcff": data.models["one"]}, tl.Truth(data.truth), space=CLASSES)
    assert PartialResult.from_bytes(part.to_bytes()).to_bytes() == part.to_bytes()


def test_a_model_keeps_its_name_and_what_was_repaired_in_it_whatever_the_name(tmp_path):
    name, parts = "gpt-4 | cot", []
    for at in range(2):
        lists, truth = tmp_path / f"{at}.csv", tmp_path / f"truth{at}.csv"
        lists.write_text(f"case,class,confidence\n{at},cat,0.75\n{at},dog,0.5\n")
        truth.write_text(f"case,outcome\n{at},cat\n")
        parts.append(tl.partial_result({name: lists}, truth, space=3, read=tl.ReadOptions(normalize=True)))
    assert f"normalized (repair): {name} 2" in tl.merge_results(parts).to_text()
