"""Scores of ordered classes: equal to their definitions, proper for distributions, and what padding does to lists."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import scoringrules

import toplist as tl
from tests.cli.messages import said
from toplist.errors import RuleError, SpaceError
from toplist.scoring.bounds import largest_loss

NAMES = ("rps", "rps-normalized", "ranked_log")
LABELS = ["low", "mid", "high", "top"]
Definition = Callable[[Sequence[Any], int], Any]


def rps(p: Sequence[Any], y: int) -> Any:
    """By the definition: squared errors of the cumulative probabilities."""
    return sum((sum(p[: j + 1]) - (y <= j)) ** 2 for j in range(len(p) - 1))


def normalized(p: Sequence[Any], y: int) -> Any:
    return rps(p, y) / max(len(p) - 1, 1)


def ranked_log(p: Sequence[Any], y: int) -> Any:
    """By the definition: log scores of "at most j", from the exact sums on either side."""
    parts = [sum(p[: j + 1]) if y <= j else sum(p[j + 1 :]) for j in range(len(p) - 1)]
    if not all(parts):
        return mpmath.inf
    return -sum((mpmath.log(mpmath.mpf(x.numerator) / x.denominator) for x in parts), mpmath.mpf(0))


DEFINITIONS: dict[str, Definition] = {"rps": rps, "rps-normalized": normalized, "ranked_log": ranked_log}
every_rule = pytest.mark.parametrize("rule", NAMES)


def space(m: int) -> tl.ClassSpace:
    return tl.ClassSpace(m, ordinal=True)


def some_lists(seed: int, many: int, largest: int = 40) -> Iterator[tl.TopLists]:
    """Lists of every length over few and over many classes, one at a time."""
    rng = np.random.default_rng(seed)
    for _ in range(many):
        m = int(rng.integers(1, largest))
        p = rng.dirichlet(np.full(m, rng.choice([0.3, 1.0, 5.0])))
        yield tl.TopLists.from_proba([p], space=space(m)).truncate(int(rng.integers(0, min(m, 7) + 1)))


def exact(lists: tl.TopLists) -> list[Fraction]:
    """The padded distribution of a list of the numbers that it holds, with a sum of exactly one."""
    plain = lists[0]
    listed = {int(c): Fraction(float(t)) for c, t in zip(lists.classes, lists.normalized_confidences, strict=True)}
    m = int(lists.space.size)
    if len(listed) == m:
        total = sum(listed.values())
        return [listed[c] / total for c in range(m)]
    proxy = Fraction(float(plain.rest)) / (m - len(listed))
    found = [listed.get(c, proxy) for c in range(m)]
    total = sum(found)
    return [x / total for x in found]


def expected(definition: Definition, q: list[Fraction], p: list[Fraction]) -> Any:
    return sum((mpmath.mpf(x.numerator) / x.denominator * _real(definition(q, y)) for y, x in enumerate(p) if x),
               mpmath.mpf(0))  # fmt: skip


def _real(x: Any) -> Any:
    return mpmath.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpmath.mpf(x)


@every_rule
def test_scores_entropies_and_expectations_are_those_of_the_definition(rule: str) -> None:
    definition = DEFINITIONS[rule]
    rng = np.random.default_rng(5)
    for lists in some_lists(1, 25, 25):
        m, q = int(lists.space.size), exact(lists)
        for y in {0, m - 1, int(rng.integers(m))}:
            assert tl.score(lists, [y], rule=rule)[0] == pytest.approx(float(definition(q, y)), rel=1e-12, abs=1e-14)
        assert tl.entropy(lists, rule=rule)[0] == pytest.approx(float(expected(definition, q, q)), rel=1e-12, abs=1e-14)
        truth = tl.TopLists.from_proba([rng.dirichlet(np.ones(m))], space=lists.space)
        for p in (truth, truth.truncate(int(rng.integers(0, m + 1)))):
            want = float(expected(definition, q, exact(p)))
            assert tl.expected_score(lists, p, rule=rule)[0] == pytest.approx(want, rel=1e-12, abs=1e-14)


def test_the_ranked_probability_score_is_that_of_scoringrules() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(7), 50)
    y = rng.integers(0, 7, 50)
    np.testing.assert_allclose(tl.score(p, y, rule="rps", space=space(7)), scoringrules.rps_score(y + 1, p), rtol=1e-12)
    lists = tl.TopLists.from_proba(p, space=space(7)).truncate(2)
    np.testing.assert_allclose(
        tl.score(lists, y, rule="rps"), scoringrules.rps_score(y + 1, lists.padded()), rtol=1e-12
    )


def log_run(smallest: Any, step: Any, n: Any) -> Any:
    """The sum of -log over an arithmetic progression of any length, by gamma functions of 120 digits."""
    z = smallest / step
    return -(n * mpmath.log(step) + mpmath.loggamma(z + n) - mpmath.loggamma(z))


@pytest.mark.parametrize("m", [50, 10**4, 10**5])
@pytest.mark.parametrize("confidence", [0.25, 0.9, 1 - 2.0**-20, 1 - 2.0**-40])
def test_runs_of_unlisted_classes_are_summed_to_the_last_digits_however_long_they_are(
    m: int, confidence: float
) -> None:
    listed, y = m // 3, m // 2
    one = tl.TopList({listed: confidence}, space(m))
    with mpmath.workdps(120):
        t, pi = mpmath.mpf(confidence), (1 - mpmath.mpf(confidence)) / (m - 1)
        # below the list, from the list to the outcome, and above the outcome: what is above, above, and below
        log = log_run(1 - listed * pi, pi, mpmath.mpf(listed))
        log += log_run((m - y) * pi, pi, mpmath.mpf(y - listed))
        log += log_run(y * pi + t, pi, mpmath.mpf(m - 1 - y))

        def squares(first: Any, n: int) -> Any:
            return n * first**2 + first * pi * n * (n - 1) + pi**2 * (n - 1) * n * (2 * n - 1) / 6

        square = squares(pi, listed) + squares(t + listed * pi, y - listed) + squares(pi, m - 1 - y)
        wanted = {"rps": float(square), "ranked_log": float(log), "rps-normalized": float(square / (m - 1))}
    for rule, want in wanted.items():
        assert tl.score(one, y, rule=rule) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("m", [2, 3, 17, 1000, 10**5])
def test_the_uniform_distribution_has_the_entropy_of_its_formula(m: int) -> None:
    nothing = tl.TopList({}, space(m))
    assert tl.entropy(nothing, rule="rps") == pytest.approx((m * m - 1) / (6 * m), rel=1e-13)
    f = np.arange(1, m) / m
    want = math.fsum(-f * np.log(f) - (1 - f) * np.log1p(-f))
    assert tl.entropy(nothing, rule="ranked_log") == pytest.approx(want, rel=1e-13)


@every_rule
def test_reversing_the_order_changes_nothing_and_another_permutation_does(rule: str) -> None:
    rng = np.random.default_rng(2)
    p, y = rng.dirichlet(np.ones(6), 20), rng.integers(0, 6, 20)
    for k in (2, 6):
        here = tl.TopLists.from_proba(p, space=space(6)).truncate(k)
        back = tl.TopLists.from_proba(p[:, ::-1], space=space(6)).truncate(k)
        np.testing.assert_allclose(tl.score(here, y, rule=rule), tl.score(back, 5 - y, rule=rule), rtol=1e-12)
    swapped = p[:, [1, 0, 2, 3, 4, 5]]
    one, other = (tl.score(x, np.full(20, 5), rule=rule, space=space(6)) for x in (p, swapped))
    assert not np.allclose(one, other)


def grid(m: int, parts: int) -> Iterator[list[Fraction]]:
    for cuts in itertools.combinations(range(parts + m - 1), m - 1):
        ends = (-1, *cuts, parts + m - 1)
        yield [Fraction(b - a - 1, parts) for a, b in itertools.pairwise(ends)]


@pytest.mark.parametrize("m", [2, 3])
def test_distributions_are_strictly_elicited(m: int) -> None:
    """Exact: the excess is the sum of the squared differences of cumulative probabilities, zero for the truth alone."""
    every = list(grid(m, 6))
    for p, q in itertools.product(every, every):
        excess = sum(x * (rps(q, y) - rps(p, y)) for y, x in enumerate(p))
        assert excess == sum((sum(p[: j + 1]) - sum(q[: j + 1])) ** 2 for j in range(m - 1))
        assert (excess > 0) == (p != q)


def padded(listed: dict[int, Fraction], m: int) -> list[Fraction]:
    rest = (1 - sum(listed.values())) / (m - len(listed))
    return [listed.get(c, rest) for c in range(m)]


def test_the_true_top_list_need_not_score_best_and_neither_need_the_most_likely_class() -> None:
    """The least case where a list is less than a distribution: three classes, one of them listed."""
    p = [Fraction(0), Fraction(3, 5), Fraction(2, 5)]
    true, other = {1: Fraction(3, 5)}, {2: Fraction(13, 25)}
    for definition, name in ((rps, "rps"), (ranked_log, "ranked_log")):
        mean = [expected(definition, padded(one, 3), p) for one in (true, other)]
        assert mean[1] < mean[0]
        made = [tl.TopList({c: float(t) for c, t in one.items()}, space(3)) for one in (true, other)]
        assert all(one.is_valid() for one in made)
        got = [tl.expected_score(one, [float(x) for x in p], rule=name) for one in made]
        assert got == pytest.approx([float(x) for x in mean], rel=1e-12)
    assert expected(rps, padded(true, 3), p) - expected(rps, p, p) == pytest.approx(2 / 25)
    assert expected(rps, padded(other, 3), p) - expected(rps, p, p) == pytest.approx(9 / 125)


def test_a_wrong_confidence_in_the_right_class_may_score_better_too() -> None:
    p = [Fraction(0), Fraction(2, 5), Fraction(3, 5)]
    true, other = ({2: Fraction(3, 5)}, {2: Fraction(17, 25)})
    for definition in (rps, ranked_log):
        assert expected(definition, padded(other, 3), p) < expected(definition, padded(true, 3), p)


@every_rule
def test_the_largest_loss_is_that_over_all_outcomes(rule: str) -> None:
    rng = np.random.default_rng(4)
    for a in some_lists(3, 40, 25):
        m = int(a.space.size)
        b = tl.TopLists.from_proba([rng.dirichlet(np.ones(m))], space=a.space).truncate(int(rng.integers(0, m + 1)))
        each = [tl.score(a, [y], rule=rule)[0] - tl.score(b, [y], rule=rule)[0] for y in range(m)]
        assert largest_loss(a, b, rule=rule)[0] == pytest.approx(max(each), rel=1e-11, abs=1e-12)


def test_a_class_of_no_probability_costs_infinitely_much_under_the_ranked_log_score_only_where_it_counts() -> None:
    sure = tl.TopLists.from_proba([[0.0, 1.0, 0.0]], space=space(3))
    assert [float(tl.score(sure, [y], rule="ranked_log")[0]) for y in range(3)] == [math.inf, 0.0, math.inf]
    assert tl.expected_score(sure, [[0.0, 1.0, 0.0]], rule="ranked_log")[0] == 0.0
    assert tl.expected_score(sure, [[0.0, 0.5, 0.5]], rule="ranked_log")[0] == math.inf


@every_rule
def test_one_class_scores_zero(rule: str) -> None:
    assert tl.score(tl.TopLists.from_proba([[1.0]], space=space(1)), [0], rule=rule)[0] == 0.0


@every_rule
def test_classes_without_a_declared_order_are_refused_with_the_remedy(rule: str) -> None:
    lists = tl.TopLists.from_proba([[0.2, 0.8]])
    for ask in (
        lambda: tl.score(lists, [0], rule=rule),
        lambda: tl.entropy(lists, rule=rule),
        lambda: tl.expected_score(lists, [[0.5, 0.5]], rule=rule),
        lambda: tl.compare({"a": lists, "b": lists}, [0], rules=[rule]),
    ):
        with pytest.raises(SpaceError, match="ordinal=True"):
            ask()


def test_orders_that_cannot_be_are_refused() -> None:
    for size in (math.inf, 100_001, [3, 2**60]):
        with pytest.raises(SpaceError, match="at most 100,000"):
            tl.ClassSpace(size, ordinal=True)
    with pytest.raises(SpaceError, match="places of the others are not known"):
        tl.ClassSpace(5, labels=["low", "high"], ordinal=True)
    with pytest.raises(SpaceError, match="from the lowest to the highest"):
        tl.TopLists.from_dicts([{"low": 0.5}], space(3))
    with pytest.raises(RuleError, match="which of the unlisted classes"):
        tl.RankedProbability().each(None)  # type: ignore[arg-type]


def test_a_decomposition_by_rank_is_refused() -> None:
    with pytest.raises(RuleError, match="rank by rank"):
        tl.calibration.decompose([[0.2, 0.8]], [1], rule="rps", space=space(2))


def test_the_order_is_that_of_the_labels() -> None:
    p, y = [[0.1, 0.2, 0.3, 0.4]], ["high"]
    plain = tl.score(p, [2], rule="rps", space=space(4))
    assert tl.score(p, y, rule="rps", space=tl.ClassSpace(LABELS, ordinal=True)) == plain
    listed = tl.TopLists.from_dicts([dict(zip(LABELS, p[0], strict=True))], tl.ClassSpace(LABELS, ordinal=True))
    assert tl.score(listed, y, rule="rps") == plain


def test_invalid_lists_pay_the_penalty_and_skill_is_about_the_uniform_distribution() -> None:
    low = tl.TopLists.from_dicts([{0: 0.05}, {0: 0.5}], space(4))
    due = tl.score(low, [0, 0], rule="rps") - tl.score(low, [0, 0], rule="rps", penalty=0)
    np.testing.assert_allclose(due, [0.01 * 15 / 24, 0.0], rtol=1e-9)
    mean = float(tl.score(low, [0, 0], rule="rps").mean())
    for row in of_models(tl.compare({"a": low, "b": low}, [0, 0], rules=["rps"]), "rps").values():
        assert row == pytest.approx((mean, 1 - mean / (15 / 24)))


def of_models(board: Any, rule: str) -> dict[str, tuple[float, float]]:
    """The mean score of each model, and its skill."""
    rows = {row["name"]: row["scores"][rule] for row in board.to_dict()["overall"]["rows"]}
    return {name: (one["mean"]["value"], one["skill"]["value"]) for name, one in rows.items()}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rng = np.random.default_rng(7)
    p = rng.dirichlet(np.ones(4), (2, 40))
    for name, rows in zip("ab", p, strict=True):
        lines = [
            f"{i},{LABELS[c]},{row[c]!r}"
            for i, row in enumerate(rows.tolist())
            for c in np.argsort(row)[:1:-1].tolist()
        ]
        (tmp_path / f"{name}.csv").write_text("case,class,confidence\n" + "\n".join(lines) + "\n")
    truth = [f"{i},{LABELS[rng.integers(4)]}" for i in range(40)]
    (tmp_path / "truth.csv").write_text("case,outcome\n" + "\n".join(truth) + "\n")
    (tmp_path / "classes.txt").write_text("\n".join(LABELS) + "\n")
    return tmp_path


def test_files_give_the_scores_of_memory_as_do_partial_results(files: Path) -> None:
    ordered = tl.ClassSpace(LABELS, ordinal=True)
    paths = {name: str(files / f"{name}.csv") for name in "ab"}
    board = tl.compare(paths, str(files / "truth.csv"), rules=["rps", "ranked_log"], space=ordered)
    held = {name: tl.read_lists(path, ordered) for name, path in paths.items()}
    y = [line.split(",")[1] for line in (files / "truth.csv").read_text().splitlines()[1:]]
    memory = tl.compare(held, y, rules=["rps", "ranked_log"])
    part = tl.partial_result(paths, str(files / "truth.csv"), rules=["rps", "ranked_log"], space=ordered)
    merged = tl.merge_results([part])
    for rule, other in itertools.product(("rps", "ranked_log"), (memory, merged)):
        assert of_models(other, rule) == of_models(board, rule)


def test_the_command_wants_the_order_and_says_how_to_give_it(files: Path) -> None:
    words = ["compare", f"{files}/a.csv", f"{files}/b.csv", "-t", f"{files}/truth.csv", "--rule", "rps"]
    code, told = said(*words, "-c", f"{files}/classes.txt", "--ordinal")
    assert code == 0
    assert "RPS score, lower is better" in told
    for more, want in (
        (["-c", f"{files}/classes.txt"], "--ordinal"),
        (["--ordinal"], "--classes FILE"),
        (["-c", "4", "--ordinal"], "from the lowest to the highest"),
        (["-c", "inf", "--ordinal"], "at most 100,000"),
    ):
        code, told = said(*words, *more)
        assert code != 0
        assert want in " ".join(told.split())
