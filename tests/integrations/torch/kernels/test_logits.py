"""The kernels give lists, ranks and scores of float64, under Triton's interpreter and on a GPU."""

from __future__ import annotations

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="Triton is not installed")

from tests.integrations.torch.checking import CASES, RELATIVE, agree, agree_on
from tests.integrations.torch.logit_cases import KINDS, RULES, made
from tests.integrations.torch.real_logits import of_digits, of_words
from toplist.integrations.torch import kernels, lists_from_logits, scores_from_logits

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
pytestmark = [
    pytest.mark.skipif(
        not INTERPRETED and not torch.cuda.is_available(), reason="there is no GPU, and TRITON_INTERPRET is not 1"
    ),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # numpy, in the interpreter, warns of log(0)
]


def test_the_kernels_are_used() -> None:
    assert kernels.usable(torch.zeros(1, 1, device=DEVICE))
    assert not kernels.usable(torch.zeros(1, 1, device=DEVICE, dtype=torch.float64))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the interpreter rows are short: what is wide is so from 200 classes on, in tiles of 256."""
    if INTERPRETED:
        from toplist.integrations.torch.kernels import launch

        monkeypatch.setattr(launch, "NARROW", 200)
        monkeypatch.setattr(launch, "BLOCK", 256)


@pytest.mark.parametrize(
    ("dtype", "width", "ks", "kind"),
    [
        *(("float32", 10, (1, 3), kind) for kind in KINDS[::2]),
        *(("bfloat16", 150, (20,), kind) for kind in KINDS[1::2]),
        *(("float32", 1000, (1, 5), kind) for kind in KINDS[::2]),
        *(("bfloat16", 1104, (1, 20), kind) for kind in KINDS),
        ("float32", 1000, (40,), "random"),
        ("float32", 1000, (100,), "tied"),
    ],
)
def test_scores_are_those_of_float64(dtype: str, width: int, ks: tuple[int, ...], kind: str) -> None:
    # A GPU multiplies and adds without rounding in between; the interpreter rounds products of large logits.
    error = 3e-5 if INTERPRETED and kind == "large" else RELATIVE
    agree(kind, dtype, width, ks, rows=2, device=DEVICE, relative=error)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_scores_of_trained_models_are_those_of_float64(dtype: str) -> None:
    some = slice(0, 20) if INTERPRETED else slice(None)
    for (x, y), ks in ((of_digits(), (1, 3)), (of_words(1000, 20_000), (1, 5, 20))):
        agree_on(x[some], y[some], dtype, ks, device=DEVICE)


@pytest.mark.parametrize("width", [150, 600])
def test_masks_of_the_least_float_have_no_share(width: int) -> None:
    """In whole tiles too, of which the first is what exponentials are relative to."""
    x, y = made("random", 3, width)
    logits, outcomes = torch.from_numpy(x).to(DEVICE), torch.from_numpy(y % 9 + width - 10).to(DEVICE)
    hidden = torch.arange(width - 10, device=DEVICE)
    least, never = (logits.index_fill(1, hidden, value) for value in (torch.finfo().min, -torch.inf))
    found, known = (scores_from_logits(z, outcomes, ks=(1, 5)) for z in (least, never))
    assert torch.equal(found.rank, known.rank)
    assert torch.equal(found.lists.classes, known.lists.classes)
    torch.testing.assert_close(found.padded["brier"], known.padded["brier"], rtol=1e-6, atol=0)
    torch.testing.assert_close(found.full["log"], known.full["log"], rtol=1e-6, atol=0)


@pytest.mark.parametrize("width", [30, 600])
def test_a_constant_beside_all_logits_changes_nothing(width: int) -> None:
    """Differences of logits are exact here: they and the constant are multiples of 1/64."""
    x, y = made("random", 3, width)
    logits, outcomes = (torch.from_numpy(x) * 64).round().div(64).to(DEVICE), torch.from_numpy(y).to(DEVICE)
    here, there = (scores_from_logits(one, outcomes, (1, 5), RULES) for one in (logits, logits + 10_000))
    assert torch.equal(here.rank, there.rank)
    for name in here.full:
        torch.testing.assert_close(
            here.padded[name], there.padded[name], rtol=1e-5 if not INTERPRETED else 1e-2, atol=0
        )
        torch.testing.assert_close(here.full[name], there.full[name], rtol=1e-5 if not INTERPRETED else 1e-2, atol=0)


@pytest.mark.gpu
@pytest.mark.skipif(INTERPRETED, reason="takes too long in the interpreter")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("classes", [12_000, 11_999])
def test_scores_of_a_large_vocabulary_are_those_of_float64(classes: int, dtype: str) -> None:
    """Rows of 11,999 logits start anywhere in a group of 16 bytes."""
    x, y = of_words(12_000, 120_000)
    agree_on(x[:, :classes], np.minimum(y, classes - 1), dtype, (1, 5, 20), device=DEVICE)


@pytest.mark.gpu
@pytest.mark.skipif(INTERPRETED, reason="takes too long in the interpreter")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    ("width", "ks"),
    [*CASES[2:], (2056, (1, 20)), (9008, (5,)), (128_256, (1, 5, 20)), (50_257, (128,)), (50_264, (128,))],
)
def test_all_widths_and_types_score_as_float64(kind: str, dtype: str, width: int, ks: tuple[int, ...]) -> None:
    agree(kind, dtype, width, ks, rows=16, device=DEVICE)


@pytest.mark.parametrize("kind", ["random", "tied", "masked", "late"])
@pytest.mark.parametrize(
    ("dtype", "width", "apart", "first"),
    [
        ("float32", 601, 601, 0),
        ("float32", 608, 611, 2),
        ("bfloat16", 601, 604, 0),
        ("bfloat16", 608, 1216, 5),
        ("bfloat16", 767, 777, 3),  # a row may reach into one tile more
        ("float16", 1023, 1023, 0),
    ],
)
def test_wide_rows_of_any_width_and_place_are_read_where_they_are(
    dtype: str, width: int, apart: int, first: int, kind: str
) -> None:
    """Rows of a contiguous tensor, of a padded vocabulary, and others: they start anywhere in a group of 16 bytes."""
    from toplist.integrations.torch.kernels import launch

    x, y = made(kind, 9, width)
    given = np.full((9, apart), np.nan, dtype=np.float32)  # beside the rows
    given[:, :first], given[:, first : first + width] = 1e4, x
    logits = torch.from_numpy(given).to(DEVICE, getattr(torch, dtype))[:, first : first + width]
    outcomes = torch.from_numpy(y).to(DEVICE)
    outcomes[-1] = width - 1
    assert launch.takes(logits, 20)
    known = scores_from_logits(logits.double(), outcomes, ks=(1, 20))
    for one in (logits, logits.t().contiguous().t()):
        found = scores_from_logits(one, outcomes, ks=(1, 20))
        assert torch.equal(found.lists.classes, known.lists.classes)
        assert torch.equal(found.rank, known.rank)
        near = {"rtol": 1e-5, "atol": 1e-30}
        torch.testing.assert_close(found.padded["brier"].double(), known.padded["brier"], **near)
        torch.testing.assert_close(found.full["log"].double(), known.full["log"], **near)
        torch.testing.assert_close(found.lists.log_rest.double(), known.lists.log_rest, **near)


@pytest.mark.parametrize("copied", [1, 2 * 2 * 609 + 100])
def test_rows_that_are_columns_in_memory_are_copied_some_at_a_time(
    copied: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toplist.integrations.torch.kernels import launch

    monkeypatch.setattr(launch, "COPIED", copied)
    x, y = made("tied", 5, 609)
    logits, outcomes = torch.from_numpy(x).to(DEVICE, torch.bfloat16), torch.from_numpy(y).to(DEVICE)
    found, known = (scores_from_logits(one, outcomes) for one in (logits.t().contiguous().t(), logits))
    assert torch.equal(found.lists.classes, known.lists.classes)
    assert torch.equal(found.padded["brier"], known.padded["brier"])


def test_what_is_no_class_stays_none_in_rows_of_any_width() -> None:
    """An outcome just beyond the classes, and rows without a list, whose classes come from the row."""
    logits = torch.zeros(3, 601, device=DEVICE)
    logits[1:] = torch.tensor(-1, dtype=torch.int32).view(torch.float32)  # NaN with a sign comes last
    if not INTERPRETED:  # the CPU refuses it
        found = scores_from_logits(logits, torch.tensor([601, 607, 0], device=DEVICE), ks=(1, 5))
        assert found.rank[:2].tolist() == [-1, -1]
        assert found.full["log"].isnan().all()
    assert (lists_from_logits(logits, 9).classes < 601).all()


def test_rows_of_millions_of_logits_are_left_to_plain_torch() -> None:
    from toplist.integrations.torch.kernels.launch import takes

    assert takes(torch.zeros(1, 80_000, device=DEVICE, dtype=torch.bfloat16), 20)
    assert not takes(torch.zeros(1, 1 << 22, device=DEVICE, dtype=torch.bfloat16), 128)


@pytest.mark.parametrize("width", [30, 600])
def test_any_strides_give_the_same(width: int) -> None:
    x, y = made("random", 2, 2 * width + 1)
    logits, outcomes = torch.from_numpy(x).to(DEVICE), (torch.from_numpy(y) % width).to(DEVICE)
    for view in (logits[:, 1 : width + 1], logits[:, : 2 * width : 2], logits[:, :width].t().contiguous().t()):
        strided, whole = (scores_from_logits(one, outcomes, ks=(1, 5)) for one in (view, view.contiguous()))
        assert torch.equal(strided.lists.classes, whole.lists.classes)
        assert torch.equal(strided.rank, whole.rank)
        torch.testing.assert_close(strided.padded["brier"], whole.padded["brier"], rtol=1e-6, atol=0)


@pytest.mark.parametrize("width", [30, 600])
def test_outcomes_that_are_ignored_or_no_class_and_rows_that_are_no_distribution_have_no_score(width: int) -> None:
    x, y = made("random", 7, width)
    logits, outcomes = torch.from_numpy(x.copy()), torch.from_numpy(y)
    outcomes[0] = -100
    logits[2, 3], logits[3, 3], logits[4] = torch.nan, torch.inf, -torch.inf
    logits[6, 3] = torch.tensor(-1, dtype=torch.int32).view(torch.float32)  # NaN with a sign
    if not INTERPRETED:  # the CPU refuses it
        outcomes[1] = width
    found = scores_from_logits(logits.to(DEVICE), outcomes.to(DEVICE), ks=(1, 5))
    assert found.rank[0] == 0
    assert INTERPRETED or found.rank[1] == -1
    assert found.full["log"].isnan().tolist() == [True, not INTERPRETED, True, True, True, False, True]
    assert found.padded["brier"].isnan().any(dim=1).tolist() == found.full["log"].isnan().tolist()
    assert found.rank[[2, 3, 4, 6]].tolist() == [-2] * 4


@pytest.mark.parametrize("width", [9, 30, 150, 608])
@pytest.mark.parametrize("nan", [torch.nan, -torch.nan])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_nan_shows_wherever_it_is(dtype: str, nan: float, width: int) -> None:
    """Beside the largest logit too, where it is read again and comes first, and in rows that hold nothing else."""
    logits = torch.zeros(4, width, dtype=getattr(torch, dtype), device=DEVICE)
    logits[:, 0] = 10
    for row, at in enumerate((1, width // 2, width - 1)):
        logits[row, at] = nan
    logits[3] = nan
    found = scores_from_logits(logits, torch.zeros(4, dtype=torch.int64, device=DEVICE), ks=(1, 2))
    for score in (found.full["brier"], found.full["log"], found.padded["log"], found.lists.log_rest):
        assert score.isnan().all()
    assert (found.lists.classes >= 0).all()
    assert (found.lists.classes < width).all()
    assert (found.rank == -2).all()


def test_outcomes_need_not_be_neighbours_in_memory() -> None:
    x, y = made("random", 2, 300)
    logits, outcomes = torch.from_numpy(x).to(DEVICE), torch.from_numpy(y).to(DEVICE)
    apart = torch.stack([outcomes, outcomes.flip(0)], dim=1)[:, 0]
    assert torch.equal(scores_from_logits(logits, apart).rank, scores_from_logits(logits, outcomes).rank)


def test_temperature_and_lists_alone() -> None:
    x, _ = made("random", 2, 700)
    logits = torch.from_numpy(x).to(DEVICE)
    warm, by_hand = lists_from_logits(logits, 7, temperature=0.5), lists_from_logits(logits * 2, 7)
    assert torch.equal(warm.classes, by_hand.classes)
    torch.testing.assert_close(warm.log_confidences, by_hand.log_confidences, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(warm.log_rest, by_hand.log_rest, rtol=1e-6, atol=1e-7)
