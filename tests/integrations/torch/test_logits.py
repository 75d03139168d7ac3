"""Lists, ranks and scores from logits, in plain torch, are those of numpy's float64 and of `toplist.score`."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import toplist as tl
from tests.integrations.torch.checking import CASES, agree, agree_on
from tests.integrations.torch.logit_cases import KINDS, made
from tests.integrations.torch.real_logits import of_digits, of_words
from toplist.integrations.torch import kernels, list_divergence, lists_from_logits, score_loss, scores_from_logits
from toplist.integrations.torch import statistics as plain


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "usable", lambda _: False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("dtype", "width", "ks"),
    [
        *(("float32", width, ks) for width, ks in [*CASES[:4], (1, (1,)), (2, (1, 2)), (7, (7,))]),
        *((dtype, width, ks) for dtype in ("float64", "bfloat16") for width, ks in CASES[:2]),
    ],
)
def test_scores_are_those_of_float64(kind: str, dtype: str, width: int, ks: tuple[int, ...]) -> None:
    agree(kind, dtype, width, ks, rows=5, device="cpu")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_scores_of_trained_models_are_those_of_float64(dtype: str) -> None:
    agree_on(*of_digits(), dtype, (1, 3), device="cpu")
    agree_on(*of_words(1000, 20_000), dtype, (1, 5, 20), device="cpu")


def test_an_outcome_is_listed_if_and_only_if_its_rank_says_so() -> None:
    """Also where logits differ by less than the rounding of their difference to the largest."""
    x = torch.tensor([[100.0, 0.0, 1e-6, -5.0]]).repeat(2, 1)
    found = scores_from_logits(x, torch.tensor([1, 2]), ks=(2,))
    assert found.lists.classes[0].tolist() == [0, 2]
    assert found.rank.tolist() == [3, 2]
    torch.manual_seed(0)
    x, y = 3 * torch.randn(300, 5000), torch.randint(0, 5000, (300,))
    x[:, 0] = 40
    for k in (1, 20, 128):
        y[:k] = x[:k].argsort(dim=1, descending=True)[torch.arange(k), torch.arange(k)]
        found = scores_from_logits(x, y, ks=(k,))
        assert torch.equal(found.rank <= k, (found.lists.classes == y[:, None]).any(dim=1))
        assert torch.equal(found.rank, scores_from_logits(x.double(), y, ks=(k,)).rank)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lists_for_the_library_are_valid_and_have_the_same_scores(dtype: str, kind: str) -> None:
    """Ties too, where rounding decides whether a listed class has less than an unlisted one is given."""
    for width, ks in ((3, (1, 2)), (1000, (1, 5, 128)), (50_257, (1, 20))):
        x, y = made(kind, 6, width)
        logits = torch.from_numpy(x).to(getattr(torch, dtype))
        found = scores_from_logits(logits, torch.from_numpy(y), ks=ks)
        for at, k in enumerate(ks):
            lists = lists_from_logits(logits, k).to_lists(width)
            assert lists.is_valid().all()
            for rule in ("brier", "log"):
                score = tl.score(lists, y, rule=rule)
                np.testing.assert_allclose(score, found.padded[rule][:, at], rtol=1e-5, atol=1e-6)


def test_probabilities_in_place_of_logits_are_warned_about() -> None:
    x, y = torch.randn(5, 7), torch.arange(5)
    lists = lists_from_logits(x, 2)
    for call in (
        lambda z: lists_from_logits(z, 2),
        lambda z: scores_from_logits(z, y, ks=(1,)),
        lambda z: score_loss(z, y),
        lambda z: list_divergence(*lists[:2], z),
    ):
        for kind in (torch.float32, torch.bfloat16):
            with pytest.warns(UserWarning, match="if they are probabilities, pass their logs"):
                call(x.softmax(dim=1).to(kind))
        call(x)
        call(torch.zeros(5, 7))
        call(x.log_softmax(dim=1))


def test_masks_of_the_least_float_have_no_share() -> None:
    x, y = (torch.from_numpy(one) for one in made("random", 6, 300))
    y[:] = torch.arange(6) + 200
    least, never = (x.index_fill(1, torch.arange(200), value) for value in (torch.finfo().min, -torch.inf))
    found, known = (scores_from_logits(z, y, ks=(1, 5)) for z in (least, never))
    assert torch.equal(found.lists.classes, known.lists.classes)
    assert torch.equal(found.padded["brier"], known.padded["brier"])
    assert torch.equal(found.full["log"], known.full["log"])


def test_what_is_ignored_may_be_a_number_of_numpy() -> None:
    x, y = torch.randn(2, 5), torch.tensor([0, -7])
    assert scores_from_logits(x, y, ks=(1,), ignore_index=np.int64(-7)).rank[1] == 0


def test_rows_are_worked_on_some_at_a_time_and_nothing_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = (torch.from_numpy(one) for one in made("random", 50, 40))
    whole = scores_from_logits(x, y)
    monkeypatch.setattr(plain, "CHUNK", 7 * 40)
    parts = scores_from_logits(x, y)
    assert torch.equal(whole.lists.classes, parts.lists.classes)
    torch.testing.assert_close(whole.padded["brier"], parts.padded["brier"], rtol=1e-6, atol=0)


def test_leading_dimensions_and_strides_are_kept() -> None:
    x, y = (torch.from_numpy(one) for one in made("random", 24, 30))
    flat = scores_from_logits(x, y, ks=(1, 3))
    cube = scores_from_logits(x.reshape(4, 6, 30), y.reshape(4, 6), ks=(1, 3))
    turned = scores_from_logits(x.t().contiguous().t(), y, ks=(1, 3))
    assert cube.padded["log"].shape == (4, 6, 2)
    assert cube.rank.shape == (4, 6)
    assert torch.equal(cube.padded["log"].reshape(24, 2), flat.padded["log"])
    assert torch.equal(turned.full["brier"], flat.full["brier"])
    assert scores_from_logits(x[:0], y[:0]).padded["brier"].shape == (0, 3)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32"])
def test_outcomes_of_any_integer_type_are_the_same(dtype: str) -> None:
    x, y = (torch.from_numpy(one) for one in made("random", 6, 200))
    y = (y % 120).long()
    if dtype == "uint8":
        y[0] = 156  # not -100
    found = scores_from_logits(x, y.to(getattr(torch, dtype)))
    assert torch.equal(found.rank, scores_from_logits(x, y).rank)


def test_what_is_ignored_has_no_score_and_rank_zero() -> None:
    x, y = (torch.from_numpy(one) for one in made("random", 6, 30))
    y[2] = -100
    found = scores_from_logits(x, y)
    assert found.rank.eq(0).tolist() == [False, False, True, False, False, False]
    assert found.padded["brier"].isnan().any(dim=1).tolist() == found.rank.eq(0).tolist()


def test_a_row_that_is_no_distribution_has_no_score() -> None:
    x, y = (torch.from_numpy(one) for one in made("random", 4, 30))
    x[0, 3], x[1, 3], x[2] = torch.nan, torch.inf, -torch.inf
    found = scores_from_logits(x, y)
    assert found.full["log"].isnan().tolist() == [True, True, True, False]


def test_an_outcome_outside_the_classes_is_refused() -> None:
    x, y = (torch.from_numpy(one) for one in made("random", 4, 30))
    y[1] = 30
    with pytest.raises(tl.TopListError, match=r"outcome 30 is outside the 30 classes"):
        scores_from_logits(x, y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ks": (31,)}, "k is at most 30 here, not 31"),
        ({"ks": ()}, "ks names no length"),
        ({"ks": (0,)}, "k is a whole number, at least 1"),
        ({"temperature": 0}, "temperature is a number from"),
        ({"rules": "zero-one"}, "zero-one is not computed from logits"),
    ],
)
def test_what_cannot_be_is_said(given: dict[str, object], message: str) -> None:
    x, y = (torch.from_numpy(one) for one in made("random", 4, 30))
    with pytest.raises(tl.TopListError, match=message):
        scores_from_logits(x, y, **{"ks": (1, 5), **given})


def test_lists_go_on_as_top_lists() -> None:
    x, y = (torch.from_numpy(one) for one in made("random", 8, 30))
    lists = lists_from_logits(x.double(), 5).to_lists(30)
    direct = tl.TopLists.from_logits(x.double().numpy(), k=5)
    np.testing.assert_allclose(tl.score(lists, y.numpy()), tl.score(direct, y.numpy()), rtol=1e-12)


def test_temperature_divides_logits() -> None:
    x, y = (torch.from_numpy(one) for one in made("random", 8, 30))
    x = x.double()
    warm, by_hand = scores_from_logits(x, y, temperature=2.5), scores_from_logits(x / 2.5, y)
    torch.testing.assert_close(warm.padded["brier"], by_hand.padded["brier"], rtol=1e-12, atol=0)


def test_logits_with_gradients_give_lists_without() -> None:
    x = torch.randn(3, 10, requires_grad=True)
    assert not lists_from_logits(x, 2).log_confidences.requires_grad


def test_rows_that_are_no_distribution_have_no_rank() -> None:
    """So that they count in no accuracy; an outcome that is ignored stays ignored."""
    logits = torch.randn(5, 6)
    logits[0, 2], logits[1, 2], logits[2], logits[3] = torch.nan, torch.inf, -torch.inf, torch.nan
    y = torch.tensor([0, 1, 2, -100, 4])
    rank = scores_from_logits(logits, y, ks=(1, 3)).rank
    assert rank[:4].tolist() == [-2, -2, -2, 0]
    assert rank[4] > 0
