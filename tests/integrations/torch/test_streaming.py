"""Streamed scores are those of all cases at once, whatever the order, split and merging of batches."""

from __future__ import annotations

import copy
import io
import math
import pickle
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from toplist.errors import OutcomeError, ShapeError, TopListError

torch = pytest.importorskip("torch")

from tests.integrations.torch.checking import assert_alike
from toplist.integrations.torch import LogitScores, StreamingScores, scores_from_logits
from toplist.integrations.torch.streaming import added

few = settings(max_examples=25)
KS = (1, 3)


def batch(cases: int = 60, classes: int = 7, seed: int = 0, dtype: Any = torch.float32) -> tuple[Any, Any, Any]:
    """Logits with a mask here and there, outcomes of which some are ignored, and weights."""
    draw = torch.Generator().manual_seed(seed)
    logits = (3 * torch.randn(cases, classes, generator=draw)).to(dtype)
    y = torch.randint(0, classes, (cases,), generator=draw)
    y[::9] = -100
    return logits, y, torch.rand(cases, generator=draw) + 0.01


def streamed(logits: Any, y: Any, weight: Any = None, **options: Any) -> StreamingScores:
    made = StreamingScores(KS, **options)
    made.update(logits, y, weight)
    return made


def weighted_mean(x: np.ndarray, w: np.ndarray) -> tuple[Fraction, float]:
    """The mean by fractions and the standard error in float64, from their definitions."""
    products = [Fraction(float(a * b)) for a, b in zip(x, w, strict=True)]
    total = sum(map(Fraction, w.tolist()))
    mean = sum(products) / total
    deviations = x * w - float(mean) * w
    n = len(x)
    return mean, math.sqrt(math.fsum(deviations**2) * n / (n - 1)) / float(total)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_means_and_errors_are_those_of_the_definition(weighted: bool, dtype: Any) -> None:
    logits, y, weight = batch(dtype=dtype)
    result = streamed(logits, y, weight if weighted else None).result()
    scores, kept = scores_from_logits(logits, y, KS), (y != -100).numpy()
    w = weight.double().numpy()[kept] if weighted else np.ones(kept.sum())
    columns = {}
    for rule in ("brier", "log"):
        columns |= {f"{rule}_top{k}": scores.padded[rule][:, at] for at, k in enumerate(KS)}
        columns[f"{rule}_full"] = scores.full[rule]
    columns |= {"accuracy": scores.rank == 1, "coverage_top3": scores.rank <= 3}
    assert list(result.named) == list(columns)
    for name, column in columns.items():
        mean, error = weighted_mean(column.double().numpy()[kept], w)
        assert result.named[name].value == pytest.approx(float(mean), rel=1e-15), name
        assert result.named[name].error == pytest.approx(error, rel=1e-12), name
    assert (result.cases, result.ignored) == (kept.sum(), (~kept).sum())
    assert result.weight == pytest.approx(math.fsum(w), rel=1e-15)
    assert result.padded["brier"][3] == result.named["brier_top3"]
    assert result.full["log"] == result.named["log_full"]
    assert result.accuracy == result.coverage[1] == result.named["accuracy"]


@few
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_any_split_order_and_merging_gives_the_same(seed: int, weighted: bool) -> None:
    logits, y, weight = batch(seed=seed % 1000)
    rng = np.random.default_rng(seed)
    order = torch.from_numpy(rng.permutation(len(y)))
    cuts = sorted(rng.integers(0, len(y) + 1, 4))
    parts = [streamed(logits[at], y[at], weight[at] if weighted else None) for at in np.split(order, cuts)]
    rng.shuffle(parts)
    while len(parts) > 1:  # a random tree of merges
        one, other = parts.pop(), parts.pop()
        one.merge(other)
        parts.insert(int(rng.integers(0, len(parts) + 1)), one)
    assert_alike(parts[0].result(), streamed(logits, y, weight if weighted else None).result())


def test_a_billion_cases_have_the_mean_of_a_thousand_and_a_state_of_kilobytes() -> None:
    logits, y, weight = batch(1000, seed=4)
    state = streamed(logits, y, weight)
    once, size = state.result(), len(pickle.dumps(state.state_dict()))
    for _ in range(20):
        state.merge(copy.deepcopy(state))
    many = state.result()
    assert many.cases == once.cases * 2**20 > 9 * 10**8
    for name, mean in many.named.items():
        assert mean.value == pytest.approx(once.named[name].value, rel=1e-15)
        n = once.cases
        assert mean.error == pytest.approx(once.named[name].error * math.sqrt((n - 1) / (n * 2**20 - 1)), rel=1e-12)
    assert len(pickle.dumps(state.state_dict())) == size < 5_000


def test_small_scores_are_not_lost_beside_large_ones() -> None:
    zero = torch.zeros(2, dtype=torch.long)
    small, both = StreamingScores((1,), "log"), StreamingScores((1,), "log")
    small.update(torch.tensor([[40.0, 0.0]] * 2, dtype=torch.float64), zero)
    tiny = small.result().full["log"].value
    assert tiny == pytest.approx(math.exp(-40), rel=1e-14)
    both.update(torch.tensor([[0.0, 1e30]], dtype=torch.float64), zero[:1])
    both.merge(small)
    both.merge(StreamingScores((1,), "log"))
    high, low = both.state_dict()["sums"][:, 1, 0].tolist()
    assert abs(Fraction(high) + Fraction(low) - Fraction(1e30) - 2 * Fraction(tiny)) < Fraction(1, 10**30)


def test_many_batches_do_not_drift() -> None:
    """Added one after the other, doubles alone would be off by 1e-12 or more."""
    tenth, total = torch.tensor([[0.1], [0.0]], dtype=torch.float64), torch.zeros(2, 1, dtype=torch.float64)
    plain = 0.0
    for _ in range(100_000):
        total, plain = added(total, tenth), plain + 0.1
    want = Fraction(0.1) * 100_000
    assert abs(sum(map(Fraction, total[:, 0].tolist())) - want) < Fraction(1, 10**25)
    assert abs(Fraction(plain) - want) > Fraction(1, 10**10)


def test_equal_scores_have_no_error() -> None:
    """Next to none: squares are rounded, so that an error below 1e-8 of the mean is not resolved."""
    logits, y = torch.zeros(1000, 3, dtype=torch.float64), torch.zeros(1000, dtype=torch.long)
    assert streamed(logits, y).result().full["log"].error < 1e-8
    logits[::2, 0] = 1e-5
    found = streamed(logits, y).result().full["log"]
    scores = scores_from_logits(logits, y, KS).full["log"].numpy()
    assert found.error == pytest.approx(scores.std(ddof=1) / math.sqrt(1000), rel=1e-3)


def test_the_result_is_that_of_a_leaderboard() -> None:
    logits, y, weight = batch(200, dtype=torch.float64)
    kept = y != -100
    logits, y, weight = logits[kept], y[kept], weight[kept]
    result = streamed(logits, y, weight).result()
    p = torch.softmax(logits, dim=1).numpy()
    models = {"full": p, **{f"top{k}": tl.TopLists.from_proba(p, k=k) for k in KS}}
    board = tl.compare(models, tl.Truth(y.numpy(), weight=weight.double().numpy()), inference="normal", k=KS)
    for name, row in ((name, board[name]) for name in models):
        for rule in ("brier", "log"):
            mine, its = result.named[f"{rule}_{name}"], row.scores[rule].mean
            assert mine.value == pytest.approx(its.value, rel=1e-12)
            assert mine.error == pytest.approx(its.error, rel=1e-9)
    assert result.accuracy.value == pytest.approx(board["full"].metrics["accuracy"].value, rel=1e-12)


def test_errors_by_sequence_are_those_of_clusters() -> None:
    logits, y, weight = (one.reshape(15, 12, *one.shape[1:]) for one in batch(180, dtype=torch.float64))
    state = StreamingScores(KS, unit="sequence")
    for at in ([3, 1], [0], list(range(4, 15)), [2]):
        state.update(logits[at], y[at], weight[at])
    result, kept = state.result(), (y != -100).numpy().reshape(-1)
    by_case = streamed(logits, y, weight).result()
    p = torch.softmax(logits.reshape(180, -1), dim=1).numpy()[kept]
    cluster = np.repeat(np.arange(15), 12)[kept]
    truth = tl.Truth(y.numpy().reshape(-1)[kept], weight=weight.double().numpy().reshape(-1)[kept], cluster=cluster)
    board = tl.compare({"full": p}, truth, inference="normal")
    for rule in ("brier", "log"):
        assert result.full[rule].value == pytest.approx(by_case.full[rule].value, rel=1e-14)
        assert result.full[rule].error == pytest.approx(board["full"].scores[rule].mean.error, rel=1e-9)
        assert result.full[rule].error != pytest.approx(by_case.full[rule].error, rel=1e-3)


def test_infinite_scores_are_counted_and_make_the_mean_infinite() -> None:
    logits, y, _ = batch(30)
    logits[3:6] = torch.tensor([0.0, *[-torch.inf] * 6])
    y[3:6] = torch.tensor([1, 2, 0])
    result = streamed(logits, y).result()
    log = result.full["log"]
    assert (log.value, log.error, log.infinite) == (math.inf, None, 2)
    finite = scores_from_logits(logits, y, KS).full["log"].double()
    assert log.finite == pytest.approx(float(finite[finite.isfinite()].mean()), rel=1e-12)
    assert result.full["brier"].infinite == 0 < result.full["brier"].value < math.inf
    assert re.search(r"^log .*inf \(2\)$", str(result), re.MULTILINE)


def test_a_case_without_weight_is_no_case() -> None:
    logits, y, weight = batch()
    weight[::4] = 0.0
    logits[0], weight[0], y[0] = torch.nan, 0.0, 3
    kept = weight > 0
    without = streamed(logits[kept], y[kept], weight[kept]).result()
    found = streamed(logits, y, weight).result()
    assert found.undefined == 0
    assert_alike(found, without)


def test_nothing_is_nothing() -> None:
    result = StreamingScores(KS).result()
    assert result.cases == 0
    assert math.isnan(result.full["brier"].value)
    assert result.full["brier"].error is None
    state = StreamingScores(KS, unit="sequence")
    state.update(torch.zeros(0, 5, 7), torch.zeros(0, 5, dtype=torch.long))
    assert state.result().cases == 0
    one = streamed(*batch(2)[:2]).result()
    assert (one.cases, one.full["brier"].error) == (1, None)


def test_undefined_rows_are_never_dropped_without_a_word() -> None:
    logits, y, _ = batch(30)
    logits[4, 2], logits[5, 1], logits[6] = torch.nan, torch.inf, -torch.inf
    state = streamed(logits, y)
    with pytest.raises(TopListError, match=r"3 cases: logits that are NaN, plus infinity, or all minus infinity.*skip"):
        state.result()
    skipped = streamed(logits, y, on_error="skip").result()
    kept = torch.ones(30, dtype=torch.bool)
    kept[4:7] = False
    assert skipped.undefined == 3
    assert_alike(skipped, streamed(logits[kept], y[kept]).result())
    assert str(skipped).startswith("23 cases, 4 ignored, 3 undefined\n")


def as_on_a_gpu(scores: LogitScores, row: int) -> LogitScores:
    """What another device than the CPU makes of an outcome outside the classes."""
    rank, nan = scores.rank.clone(), lambda one: one.clone().index_fill_(0, torch.tensor([row]), torch.nan)
    rank[row] = -1
    padded, full = ({name: nan(one) for name, one in side.items()} for side in (scores.padded, scores.full))
    return scores._replace(rank=rank, log_prob=nan(scores.log_prob), padded=padded, full=full)


def test_outcomes_outside_the_classes_are_refused_or_counted() -> None:
    logits, y, _ = batch(30)
    y[7] = 7
    with pytest.raises(OutcomeError, match="case 7: the outcome 7 is outside the 7 classes"):
        StreamingScores(KS).update(logits, y)
    y[7] = 6
    scores = as_on_a_gpu(scores_from_logits(logits, y, KS), 7)
    state, skipping = StreamingScores(KS), StreamingScores(KS, on_error="skip")
    state.update_scores(scores)
    skipping.update_scores(scores)
    with pytest.raises(TopListError, match="1 case: outcome outside the classes of the logits"):
        state.result()
    assert skipping.result().outside == 1
    kept = torch.arange(30) != 7
    assert_alike(skipping.result(), streamed(logits[kept], y[kept]).result())


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, 1e61, 1e-61])
def test_a_weight_that_is_none_is_refused_with_its_case(bad: float) -> None:
    logits, y, _ = batch(8)
    weight = torch.ones(8, dtype=torch.float64)
    weight[5] = bad
    with pytest.raises(ShapeError, match="case 5: the sample weight is"):
        streamed(logits, y, weight)


def test_a_score_too_large_for_squares_is_told() -> None:
    logits = torch.tensor([[1e200, 0.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    with pytest.raises(TopListError, match="1 case: score times sample_weight above 1e144"):
        streamed(logits, torch.tensor([1, 1])).result()


def test_a_state_goes_through_a_file_and_a_copy() -> None:
    logits, y, weight = batch()
    state = streamed(logits, y, weight)
    file = io.BytesIO()
    torch.save(state.state_dict(), file)
    file.seek(0)
    again = StreamingScores(KS)
    again.load_state_dict(torch.load(file, weights_only=True))
    for other in (again, pickle.loads(pickle.dumps(state)), copy.deepcopy(state)):  # noqa: S301
        assert other.result() == state.result()
        other.update(logits, y)
        assert other.result().cases == 2 * state.result().cases
    state.reset()
    assert state.result().cases == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ks": (1, 4)}, r"ks is \[1, 4\], not \[1, 3\]"),
        ({"rules": "log"}, "rules is"),
        ({"temperature": 2.0}, "temperature is 2.0"),
        ({"ignore_index": 0}, "ignore_index is 0"),
        ({"unit": "sequence"}, "unit is 'sequence'"),
    ],
)
def test_sums_of_other_scores_are_not_merged(options: dict[str, Any], words: str) -> None:
    state, other = StreamingScores(KS), StreamingScores(**{"ks": KS} | options)
    with pytest.raises(TopListError, match=words):
        state.merge(other)
    with pytest.raises(TopListError, match=words):
        state.load_state_dict(other.state_dict())


def test_what_is_asked_wrongly_is_refused() -> None:
    for options, words in (
        ({"ks": ()}, "ks are different lengths"),
        ({"ks": (5, 5)}, "ks are different lengths"),
        ({"rules": ()}, "rules names no rule"),
        ({"rules": "zero-one"}, "not computed from logits"),
        ({"unit": "token"}, "unit is"),
        ({"on_error": "ignore"}, "on_error is"),
    ):
        with pytest.raises(TopListError, match=words):
            StreamingScores(**options)
    logits, y, weight = batch()
    state = streamed(logits, y)
    with pytest.raises(ShapeError, match="sample_weight is a tensor of the shape of y"):
        state.update(logits, y, weight[1:])
    with pytest.raises(ShapeError, match="score with the same rules and ks"):
        state.update_scores(scores_from_logits(logits, y, (1, 2, 3)))
    with pytest.raises(ShapeError, match="sequences, tokens, classes"):
        streamed(logits, y, unit="sequence")
    with pytest.raises(TopListError, match="merge takes StreamingScores"):
        state.merge(3)  # type: ignore[arg-type]
    with pytest.raises(TopListError, match="no process group"):
        state.all_reduce()
    with pytest.raises(TopListError, match="not a state of StreamingScores"):
        state.load_state_dict({})


@pytest.mark.gpu
def test_sums_on_a_gpu_are_those_on_the_cpu() -> None:
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    logits, y, weight = batch(5000)
    scores = scores_from_logits(logits, y, KS)
    moved = LogitScores(
        type(scores.lists)(*(one.cuda() for one in scores.lists)),
        scores.rank.cuda(),
        scores.log_prob.cuda(),
        *({name: one.cuda() for name, one in side.items()} for side in (scores.padded, scores.full)),
        *scores[5:],
    )
    for w in (None, weight):
        here, there = StreamingScores(KS), StreamingScores(KS)
        here.update_scores(scores, w)
        there.update_scores(moved, None if w is None else w.cuda())
        assert there.state_dict()["sums"].is_cuda
        assert_alike(there.result(), here.result())


@pytest.mark.parametrize("ks", [(3, 1), (1, 5), (1,)])
def test_scores_of_other_lengths_are_refused(ks: tuple[int, ...]) -> None:
    scores = scores_from_logits(torch.randn(4, 6), torch.arange(4), ks=ks)
    with pytest.raises(ShapeError, match=r"for k = 1, 3: score with the same rules and ks"):
        StreamingScores(ks=(1, 3)).update_scores(scores)


@pytest.mark.parametrize("temperature", [0, -1.0, float("nan"), "2", 1e-9])
def test_what_is_no_temperature_is_refused(temperature: object) -> None:
    with pytest.raises(TopListError, match="temperature is a number from 1e-06"):
        StreamingScores(temperature=temperature)


def test_sums_are_not_merged_with_themselves_and_lengths_are_refused_at_once() -> None:
    total = StreamingScores(ks=(1,))
    total.update(torch.randn(3, 4), torch.arange(3))
    with pytest.raises(TopListError, match="count twice"):
        total.merge(total)
    assert total.result().cases == 3
    assert float(total.result().named["brier_top1"]) == total.result().padded["brier"][1].value
    with pytest.raises(TopListError, match="k is at most 128 here, not 200"):
        StreamingScores(ks=(1, 200))


def test_scores_at_another_temperature_are_refused() -> None:
    scores = scores_from_logits(torch.randn(4, 6), torch.arange(4), ks=(1, 3), temperature=2)
    with pytest.raises(ShapeError, match=r"logits divided by 2\.0, and sums are of logits divided by 1\.0"):
        StreamingScores(ks=(1, 3)).update_scores(scores)
    StreamingScores(ks=(1, 3), temperature=2).update_scores(scores)
