"""Outputs of pipelines are the lists that they mean, without a copy where they are arrays, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import toplist as tl
from toplist import multilabel as ml
from toplist.lists import as_lists
from toplist.lists.converters import raw_rows

SPACE = tl.ClassSpace(labels=["de", "en", "fr"])
LISTS = tl.TopLists.from_dicts([{"en": 0.7, "de": 0.2}, {"fr": 0.5, "en": 0.4}], SPACE)


def entries(*pairs: tuple[str, float]) -> list[dict[str, Any]]:
    return [{"label": label, "score": score} for label, score in pairs]


CATS = [{"de": 0.2, "en": 0.7, "fr": 0.1}, {"de": 0.1, "en": 0.4, "fr": 0.5}]


def test_two_classes_of_one_name_are_refused() -> None:
    with pytest.raises(tl.ClassError, match="twice"):
        as_lists([entries(("crane", 0.5), ("crane", 0.25))], 1000)


@pytest.mark.parametrize(
    "given",
    [
        [{"sequence": "a", "labels": ["en", "de"], "scores": [0.7, 0.3]}],
        [[{"lang": "en", "score": 0.7}]],
        [{"lang": "en", "score": 0.7}],
        [[{"score": 0.7, "token": 7, "token_str": "en", "sequence": "I speak en"}]],
        (("__label__en", "__label__de"), np.array([0.7, 0.2])),
        (["en", "de"], [0.7, 0.2]),
        [[entries(("en", 0.7)), entries(("de", 0.2))]],
    ],
    ids=["zero-shot", "lang", "the best lang", "fill-mask", "fastText, one text", "one case", "masks"],
)
def test_what_has_no_label_and_score_per_entry_is_refused(given: Any) -> None:
    for function in (as_lists, raw_rows):
        with pytest.raises(tl.TopListError):
            function(given, SPACE)


def test_sigmoid_scores_of_a_pipeline_are_refused_with_a_way_that_works() -> None:
    sigmoid = [entries(("sun", 0.9), ("sea", 0.6), ("rain", 0.1)), entries(("rain", 0.8), ("sun", 0.3), ("sea", 0.2))]
    with pytest.raises(tl.MassError, match="best_sets") as caught:
        tl.score(sigmoid, ["sun", "rain"], space=9)
    assert "label sets" in caught.value.remedy
    labels = ["sun", "sea", "rain"]
    P = np.array([[next(e["score"] for e in row if e["label"] == label) for label in labels] for row in sigmoid])
    lists = ml.best_sets(P, 3, tl.LabelSets(labels))
    assert tl.score(lists, [{"sun", "sea"}, {"rain"}]).shape == (2,)


def test_sigmoid_scores_of_all_classes_that_sum_to_less_than_one_are_refused_too() -> None:
    """As zero-shot classification of pictures by SigLIP gives them."""
    with pytest.raises(tl.MassError, match=r"sum to 0\.31"):
        tl.score([entries(("cat", 0.3), ("dog", 0.01))], ["cat"], space=["cat", "dog"])


def test_logits_of_a_pipeline_are_refused() -> None:
    for values in ([3.1, -0.4], [0.8, -0.4]):
        with pytest.raises(tl.ConfidenceError, match="negative"):
            tl.score([entries(("en", values[0]), ("de", values[1]))], ["en"], space=5)


def test_a_scale_that_is_said_is_not_taken_for_logits() -> None:
    given = [entries(("en", 70.0), ("de", 20.0))]
    board = tl.compare({"a": tl.Source(given, scale="percent")}, ["en"], space=5)
    assert board is not None


def test_entries_of_one_case_or_of_several_are_not_mixed_up() -> None:
    """A picture gives five falling scores, five texts one score each: what may be both is refused."""
    one_picture = entries(("en", 0.5), ("de", 0.3), ("fr", 0.1))
    for function in (as_lists, raw_rows):
        with pytest.raises(tl.ShapeError, match="one case"):
            function(one_picture, 9)
    assert len(as_lists([one_picture], 9)) == 1
    assert len(as_lists([[one] for one in one_picture], 9)) == 3
    for texts in (
        entries(("en", 0.5), ("en", 0.3)),  # a class twice
        entries(("en", 0.5), ("de", 0.6)),  # a score that rises
        entries(("en", 0.9), ("de", 0.8)),  # more than one in all
        entries(("en", 0.5)),  # one of either
    ):
        assert len(as_lists(texts, 9)) == len(texts)


@pytest.mark.parametrize("excess", [1e-5, 3e-5])
def test_the_1e_minus_5_that_fasttext_adds_is_divided_out_and_counted(excess: float) -> None:
    pair = ([["__label__en", "__label__de"], ["__label__fr"]], [np.array([1.0, excess]), np.array([0.5])])
    lists = as_lists(pair, SPACE)
    np.testing.assert_allclose(lists.confidences, [1 / (1 + excess), excess / (1 + excess), 0.5], rtol=1e-15)
    assert lists.repairs == {"normalized": 1}


def test_marginals_of_fasttext_are_refused() -> None:
    pair = ([["__label__en", "__label__de"]], [np.array([0.9, 0.8])])
    with pytest.raises(tl.MassError, match="best_sets"):
        tl.score(pair, ["en"], space=5)


def test_categories_of_spacy_are_distributions_or_marginals() -> None:
    assert as_lists(CATS, SPACE) == tl.TopLists.from_proba(np.array([[*one.values()] for one in CATS]), SPACE)
    with pytest.raises(tl.MassError, match="best_sets"):
        tl.score([{"a": 0.9, "b": 0.8, "c": 0.1}, {"a": 0.1, "b": 0.2, "c": 0.1}], ["a", "b"], space=["a", "b", "c"])


def test_arrays_of_several_outputs_are_refused_with_ways_that_work() -> None:
    rng = np.random.default_rng(0)
    P = [rng.dirichlet([1, 1], 4) for _ in range(3)]
    Y = rng.integers(0, 2, (4, 3))
    for function in (as_lists, raw_rows):
        with pytest.raises(tl.ShapeError, match="one at a time"):
            function(P)
    assert tl.score(P[0], Y[:, 0]).shape == (4,)
    lists = ml.best_sets(np.column_stack([p[:, 1] for p in P]), 4)
    assert tl.score(lists, Y).shape == (4,)
    assert len(as_lists(np.concatenate(P))) == 12


class TestTorch:
    """The largest values of tensors, which lists share."""

    torch = pytest.importorskip("torch")

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_topk_is_not_copied(self, dtype: str) -> None:
        logits = self.torch.randn(50, 20, generator=self.torch.manual_seed(0), dtype=getattr(self.torch, dtype))
        top = self.torch.topk(logits.softmax(-1), 5)
        lists = as_lists(top, 20)
        assert lists.confidences.ctypes.data == top.values.data_ptr()
        assert lists.classes.ctypes.data == top.indices.data_ptr()
        assert (lists.confidences.dtype, lists.classes.dtype) == (np.dtype(dtype), np.int64)
        y = logits.argmax(-1).numpy()
        q = logits.numpy().astype(float)
        q = np.exp(q - q.max(1, keepdims=True))
        q /= q.sum(1, keepdims=True)
        kept = np.sort(q, axis=1)[:, -5:]
        rest = 1 - kept.sum(axis=1)
        brier = 1 - 2 * kept[:, -1] + (kept**2).sum(axis=1) + rest**2 / 15
        tolerance = 1e-6 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(tl.score(top, y, space=20), brier, rtol=0, atol=tolerance)

    def test_pairs_of_arrays_are_told_apart_by_their_types(self) -> None:
        p = self.torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.4, 0.5]], dtype=self.torch.float64)
        top = self.torch.topk(p, 2)
        expected = tl.TopLists.from_topk(top.indices.numpy(), top.values.numpy(), 3)
        values, indices = top.values, top.indices
        for given in (top, (values, indices), (indices, values), [values.numpy(), indices.numpy()]):
            assert as_lists(given, 3) == expected
            rows, _ = raw_rows(given, 3)
            np.testing.assert_array_equal(rows.confidences, expected.confidences)
        assert as_lists(p.sort(descending=True), 3).truncate(2) == expected
        assert as_lists(p.max(dim=1, keepdim=True), 3) == expected.truncate(1)
        for flat in (p.max(dim=1), p[0].topk(2)):
            with pytest.raises(tl.ShapeError, match="keepdim"):
                as_lists(flat, 3)
        assert as_lists(self.torch.topk(p.requires_grad_(), 2), 3) == expected

    def test_the_number_of_classes_is_asked_for(self) -> None:
        with pytest.raises(tl.SpaceError, match="how many classes"):
            tl.score(self.torch.topk(self.torch.full((2, 4), 0.25), 2), [0, 1])

    def test_logits_are_refused(self) -> None:
        with pytest.raises(tl.ConfidenceError, match="above 1"):
            tl.score(self.torch.topk(self.torch.tensor([[3.0, 1.0, -2.0]]), 2), [0], space=3)

    def test_half_precision_is_read_and_bfloat16_named(self) -> None:
        p = self.torch.tensor([[0.75, 0.125, 0.125]])
        assert as_lists(self.torch.topk(p.half(), 2), 3)[0].confidences == {0: 0.75, 1: 0.125}
        with pytest.raises(tl.ShapeError, match="float"):
            as_lists(self.torch.topk(p.bfloat16(), 2), 3)


def test_the_list_of_two_arrays_that_jax_returns_is_read() -> None:
    jax = pytest.importorskip("jax")
    values, indices = jax.lax.top_k(jax.numpy.asarray([[0.75, 0.125, 0.125]]), 2)
    assert as_lists([values, indices], 3)[0].confidences == {0: 0.75, 1: 0.125}
