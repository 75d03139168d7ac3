"""Log-likelihoods of whole answers as distributions."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toplist.errors import TopListError
from toplist.io.producers.likelihoods import MEANINGS, ScoredChoices, softmax

values = st.floats(-2000, 0, allow_nan=False)


@given(st.lists(values, min_size=1, max_size=8))
def test_the_softmax_is_the_exact_one_rounded(scores):
    with mpmath.workdps(60):
        exact = [mpmath.exp(mpmath.mpf(x)) for x in scores]
        expected = [float(x / mpmath.fsum(exact)) for x in exact]
    np.testing.assert_allclose(softmax(scores), expected, rtol=1e-12, atol=1e-300)


@given(st.lists(values, min_size=2, max_size=6), values)
def test_a_constant_for_all_choices_changes_nothing(scores, constant):
    moved = ScoredChoices([x + constant for x in scores]).probabilities("none")
    np.testing.assert_allclose(moved, softmax(scores), rtol=1e-9, atol=1e-12)


@given(st.lists(st.tuples(values, st.text(min_size=1, max_size=9)), min_size=2, max_size=6))
def test_lengths_are_those_of_python(pairs):
    scores, texts = [x for x, _ in pairs], [text.encode("utf-8", "replace").decode() for _, text in pairs]
    for norm, length in (("chars", len), ("bytes", lambda text: len(text.encode("utf-8")))):
        expected = softmax([x / length(text) for x, text in zip(scores, texts, strict=True)])
        np.testing.assert_array_equal(ScoredChoices(scores, texts).probabilities(norm), expected)


@given(st.lists(st.tuples(values, values, st.integers(1, 50)), min_size=2, max_size=6))
def test_mutual_information_is_a_difference_and_tokens_divide(triples):
    scores, prior, tokens = (list(one) for one in zip(*triples, strict=True))
    choices = ScoredChoices(scores, None, tokens, prior)
    np.testing.assert_array_equal(choices.probabilities("unconditional"), softmax(np.subtract(scores, prior)))
    np.testing.assert_array_equal(choices.probabilities("tokens"), softmax(np.divide(scores, tokens)))


def test_impossible_choices_have_probability_zero_in_every_norm():
    choices = ScoredChoices([-1.0, -math.inf], ["a", "bb"], [1, 2], [-2.0, -math.inf])
    for norm in MEANINGS:
        assert choices.probabilities(norm).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("choices", "norm", "problem"),
    [
        (ScoredChoices([-math.inf, -math.inf]), "none", "every choice has probability 0"),
        (ScoredChoices([-1.0, math.nan]), "none", "choice 1 is not a number"),
        (ScoredChoices([-1.0, 2.5]), "none", "choice 1 is 2.5, but that of a text is at most 0"),
        (ScoredChoices([-1.0, -2.0], ["a", ""]), "chars", "choice 1 is empty"),
        (ScoredChoices([-1.0, -2.0]), "chars", "no texts of the choices here: norm='chars' needs them"),
        (ScoredChoices([-1.0, -2.0]), "tokens", "no numbers of tokens"),
        (ScoredChoices([-1.0, -2.0]), "unconditional", "no log-likelihoods without the question"),
        (ScoredChoices([-1.0, -2.0], None, [1]), "tokens", "2 log-likelihoods, but 1 lengths"),
        (ScoredChoices([-1.0], None, None, [-math.inf]), "unconditional", "probability 0 without the question"),
    ],
)
def test_what_is_no_distribution_is_refused(choices, norm, problem):
    with pytest.raises(TopListError, match=problem):
        choices.probabilities(norm)
