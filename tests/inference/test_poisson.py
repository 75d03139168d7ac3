"""The Poisson bootstrap: sums over sets of units merge in any order, and intervals are those of resamples by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import toplist as tl
from tests.core.integers import law
from tests.inference.case_score_factories import Cases, cases, sheet_of
from tests.inference.test_tallies import KINDS
from toplist.core import kernel
from toplist.errors import TopListError
from toplist.inference.aggregates import SETS, Aggregates, UnitSums, merge, overall, tally
from toplist.inference.bootstrap import poisson
from toplist.inference.intervals import Intervals
from toplist.scoring.case_scores import Grouping


def keys_of(made: Cases, ids: Any) -> Any:
    return kernel.hash_integers(ids if made.clusters is None else made.clusters, 0)


def drawn(made: Cases, ids: Any) -> dict[Any, Aggregates]:
    """Tallies with sums over sets."""
    return tally(
        made.sheets(),
        present=made.present,
        weights=made.weights,
        groups=None if made.groups is None else Grouping.of(made.groups),
        clusters=None if made.clusters is None else Grouping.of(made.clusters),
        keys=keys_of(made, ids),
        pairwise=bool(made.present),
    )


# Sums


@pytest.fixture(params=["chosen", "pure"])
def _either(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure":
        monkeypatch.setattr(kernel, "_compiled", None)


@pytest.mark.usefixtures("_either")
class TestFixedSums:
    @law
    @given(st.lists(st.tuples(st.floats(-(2.0**30), 2.0**30) | st.floats(-1, 1), st.integers(0, 2)), max_size=20))
    def test_are_those_of_numbers_that_are_cut_off(self, rows: list[tuple[float, int]]) -> None:
        x, codes = np.array([x for x, _ in rows], float), np.array([code for _, code in rows], np.int32)
        want = [sum(math.trunc(v * 2.0**60) for v, code in rows if code == group) for group in range(3)]
        assert kernel.fixed_sums(np.stack([x, -x]), codes, 3)[:, 0].tolist() == want
        assert kernel.fixed_sums(x[None], codes, 3)[:, 0].tolist() == want

    def test_of_many_large_numbers_do_not_overflow(self) -> None:
        x = np.full((1, 200_000), 2.0**30)
        assert kernel.fixed_sums(x, np.zeros(200_000, np.int32), 1)[0, 0] == 200_000 << 90


@pytest.mark.parametrize("kind", KINDS[:6], ids=lambda kind: "-".join(kind) or "plain")
def test_sums_over_sets_merge_in_any_order_and_come_back_from_bytes(kind: dict[str, bool]) -> None:
    made, ids = cases(1, 90, **kind), np.arange(90)
    made = replace(made, weights=None if made.weights is None else np.minimum(made.weights, 7.0))
    want = drawn(made, ids)
    rng = np.random.default_rng(2)
    parts = [drawn(made.at(part), ids[part]) for part in np.array_split(rng.permutation(90), [1, 40])]
    assert merge(*parts) == want
    assert merge(merge(*parts[1:]), parts[0]) == want
    for one in list(want.values())[:2]:
        assert Aggregates.from_bytes(one.to_bytes()) == one
    assert overall(want) == drawn(replace(made, groups=None), ids)[None]


@pytest.mark.parametrize("missing", [False, True])
def test_sums_over_sets_are_those_of_the_cases_with_the_same_hash(missing: bool) -> None:
    made = cases(4, 300, missing=missing, weighted=True)
    made = replace(made, weights=np.minimum(made.weights, 7.0))
    one = drawn(made, np.arange(300) // 2)[None]
    sets = kernel.mix(keys_of(made, np.arange(300) // 2)) >> np.uint64(54)
    assert (sets[::2] == sets[1::2]).all()
    for rule in range(3):
        units = UnitSums.of_sets(one, rule)
        scores = np.array([sheet.scores[rule] for sheet in made.sheets()])
        there = np.array([np.ones(300, bool) if p is None else p for p in made.present or [None] * 4])
        fine = np.isfinite(scores) & there
        for a in range(4):
            for b in range(4):
                both = fine[a] & (fine[b] if missing else True)
                x = np.where(both, np.where(fine[a], scores[a], 0.0) * made.weights, 0.0)
                np.testing.assert_allclose(units.x(a, b), np.bincount(sets, x, SETS), atol=1e-13)
                w = np.where(fine[a] & fine[b], made.weights, 0.0) if missing else made.weights
                np.testing.assert_allclose(units.w(a, b), np.bincount(sets, w, SETS), atol=1e-13)


def test_scores_that_are_too_large_are_refused() -> None:
    with pytest.raises(TopListError, match="too large for a Poisson bootstrap: scale the weights"):
        tally([sheet_of(np.full(3, 2e9))], keys=np.arange(3, dtype=np.uint64))


# Draws


def test_units_are_drawn_a_poisson_number_of_times() -> None:
    codes = poisson(200, 500, 3).codes
    counts = np.bincount(codes.ravel(), minlength=8)[:6]
    want = stats.poisson(1).pmf(np.arange(6)) * codes.size
    assert ((counts - want) ** 2 / want).sum() < 30  # chi squared with five degrees of freedom: 1 in 100,000
    for axis in (0, 1):
        sums = codes.sum(axis=axis)
        assert sums.var() == pytest.approx(codes.shape[axis], rel=0.35)  # neither units nor draws are alike
    assert (poisson(200, 500, 3).codes == codes).all()
    assert (poisson(200, 500, 4).codes != codes).mean() > 0.5
    assert (poisson(100, 50, 3).codes == codes[:50, :100]).all()  # of each unit and draw alone


# Intervals


def by_hand(d: Any, seed: int, draws: int, level: float) -> tuple[float, float]:
    """Resample by resample: the mean of the drawn cases, and its standard error."""
    codes = poisson(SETS, draws, seed).codes[:, kernel.mix(kernel.hash_integers(np.arange(len(d)), 0)) >> np.uint64(54)]
    n, mean, t = len(d), d.mean(), []
    for often in codes.astype(float):
        total = often.sum()
        own = often @ d / total
        t.append((own - mean) / math.sqrt(n / (n - 1) * (often @ (d - own) ** 2) / total**2))
    t.sort()
    error, tail = d.std(ddof=1) / math.sqrt(n), round((draws + 1) * (1 - level) / 2)
    return mean - t[-tail] * error, mean - t[tail - 1] * error


def test_an_interval_is_that_of_resamples_by_hand() -> None:
    rng = np.random.default_rng(6)
    ids = np.arange(60)
    sets = kernel.mix(kernel.hash_integers(ids, 0)) >> np.uint64(54)
    keep = np.unique(sets, return_index=True)[1]
    assert len(keep) >= 55
    n = int(np.setdiff1d(ids, keep).min(initial=60))  # the first cases, of which no two are in one set
    a, b = rng.exponential(1, (2, n))
    one = tally([sheet_of(a), sheet_of(b)], keys=kernel.hash_integers(ids[:n], 0))[None]
    found = Intervals(one, 0.9, "poisson", seed=5, draws=199).difference(0, 0, 1)
    assert (found.low, found.high) == pytest.approx(by_hand(a - b, 5, 199, 0.9), rel=1e-9)


def test_what_has_no_interval_says_why() -> None:
    def of(*scores: Any, weights: Any = None) -> Intervals:
        keys = kernel.hash_integers(np.arange(len(scores[0])), 0)
        return Intervals(tally([sheet_of(s) for s in scores], keys=keys, weights=weights)[None], 0.95, "poisson")

    rng = np.random.default_rng(8)
    a, b = rng.exponential(1, (2, 50))
    assert "too few to draw from" in of(a[:12], b[:12]).difference(0, 0, 1).reason
    assert "infinite" in of(np.where(a > 1, np.inf, a), b).difference(0, 0, 1).reason
    assert "no spread" in of(np.ones(50), b).mean(0, 0).reason
    assert "weights are too small" in of(a, b, weights=np.full(50, 1e-20)).difference(0, 0, 1).reason
    assert "scores are too small" in of(a * 1e-16, b * 1e-16).difference(0, 0, 1).reason
    assert "too few for a level" in Intervals(of(a, b).tally, 0.9999, "poisson").difference(0, 0, 1).reason
    with pytest.raises(TopListError, match="is for leaderboards"):
        Intervals(tally([sheet_of(a), sheet_of(b)])[None], 0.95, "poisson").difference(0, 0, 1)


# Comparisons


def files(folder: Path, order: Any, *, ids: bool = True) -> tuple[dict[str, str], str]:
    """Two models and a truth with clusters, weights and groups, in some order."""
    rng = np.random.default_rng(9)
    n = 240
    p = rng.dirichlet(np.ones(3), n)
    y = np.array([rng.choice(3, p=one) for one in p])
    for name, q in (("a", p), ("b", 0.7 * p + 0.1)):
        rows = [",".join(map(str, (at, *q[at].tolist()))) for at in order]
        (folder / f"{name}.csv").write_text("case,red,green,blue\n" + "\n".join(rows) + "\n", encoding="utf-8")
    rows = [f"{at},{('red', 'green', 'blue')[y[at]]},{at % 2},{at % 40},{1 + at % 3}" for at in order]
    (folder / "y.csv").write_text("case,outcome,part,user,w\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return {name: str(folder / f"{name}.csv") for name in "ab"}, str(folder / "y.csv")


@pytest.mark.parametrize("about", [{}, {"group": "part"}, {"cluster": "user"}, {"weight": "w"}], ids=str)
def test_the_order_of_cases_shows_in_no_digit(tmp_path: Path, about: dict[str, str]) -> None:
    found = []
    for at, order in enumerate((np.arange(240), np.random.default_rng(1).permutation(240))):
        folder = tmp_path / str(at)
        folder.mkdir()
        models, truth = files(folder, order)
        board = tl.compare(models, tl.Truth(truth, **about), inference="poisson")
        text = json.loads(board.to_json())
        found.append({name: text[name] for name in ("models", "pairs", "groups") if name in text})
        assert board.comparison.seed == 0
        assert "Poisson bootstrap-t" in board.comparison.method
        assert board.difference("a", "b").low is not None
    assert found[0] == found[1]


def test_numbers_of_classes_that_differ_and_missing_rounds_have_intervals(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    lists = [{k: 1 / (k + 3) for k in range(rng.integers(1, 4))} for _ in range(80)]
    sizes = [len(one) + int(rng.integers(1, 9)) for one in lists]
    models = {"a": lists, "b": [{0: 0.5}] * 80}
    board = tl.compare(models, [0] * 80, space=tl.ClassSpace(sizes), inference="poisson")
    skill = board["a"].scores["brier"].skill
    assert skill is not None
    assert skill.low is not None
    made, truth = files(tmp_path, np.arange(240))
    text = Path(made["b"]).read_text(encoding="utf-8").splitlines()
    Path(made["b"]).write_text("\n".join(text[:200]) + "\n", encoding="utf-8")
    board = tl.compare(made, truth, missing="pairwise", inference="poisson")
    assert board.difference("a", "b").low is not None
    assert board["a"].scores["brier"].relative.low is not None


def test_time_is_refused_and_a_gate_says_what_to_use() -> None:
    with pytest.raises(TopListError, match="not for cases in time"):
        tl.compare({"a": ["x", "y"]}, tl.Truth(["x", "y"], time=[1, 2]), space=2, inference="poisson")
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), 60)
    with pytest.raises(TopListError, match="use method='bootstrap' here"):
        tl.gate(p, 0.9 * p + 0.1 / 3, rng.integers(0, 3, 60), max_loss=0.1, inference="poisson")
