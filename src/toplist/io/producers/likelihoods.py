"""Log-likelihoods of whole answers as a distribution over the choices of a question.

Evaluation harnesses give the model each choice as a continuation of the question, and write down the natural
logarithm of the probability of its text. The softmax of these is the distribution of the model over texts, given that
the text is one of the choices. `norm` names other distributions of the same numbers. None repairs another: each is a
different forecast, with a different most probable choice.

none
    The softmax of the log-likelihoods. Long choices have less probability, as they have for the model.
chars, bytes, tokens
    The softmax of the log-likelihoods per character, per UTF-8 byte or per token of the choice, without the blank
    before it. Its most probable choice is the one that `acc_norm` (characters) and `acc_bytes` of
    lm-evaluation-harness count. The softmax of a mean per character is much flatter than the model.
unconditional
    The softmax of the pointwise mutual information: the log-likelihood given the question minus the log-likelihood
    without it (`acc_mutual_info`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from toplist._text import argument, significant
from toplist.errors import TopListError
from toplist.io.producers.cases import NoListsError

if TYPE_CHECKING:
    from toplist.io.options import Norm

_ROUNDING = 1e-3  # by how much a sum of log-probabilities of low precision may be above zero
MEANINGS: dict[Norm, str] = {
    "none": "the softmax of the log-likelihoods of the choices",
    "chars": "the softmax of the log-likelihoods of the choices per character",
    "bytes": "the softmax of the log-likelihoods of the choices per UTF-8 byte",
    "tokens": "the softmax of the log-likelihoods of the choices per token",
    "unconditional": "the softmax of the log-likelihoods of the choices minus those without the question",
}


@dataclass(frozen=True, slots=True)
class ScoredChoices:
    """The choices of one question: their log-likelihoods, and what these may be divided or reduced by."""

    loglikelihoods: Sequence[float]
    texts: Sequence[str] | None = None  # without the blank before them
    tokens: Sequence[int] | None = None  # how many each has
    unconditional: Sequence[float] | None = None  # log-likelihoods without the question
    error: Callable[[str], TopListError] = field(default=TopListError, compare=False)  # of values that are none

    def probabilities(self, norm: Norm) -> NDArray[np.float64]:
        """The distribution over the choices of this name.

        Raises
        ------
        NoListsError
            If what `norm` needs is not known.
        TopListError
            If values are no log-likelihoods, or no choice is possible.

        Examples
        --------
        >>> ScoredChoices([-1.0, -1.0], ["a", "bb"]).probabilities("none").tolist()
        [0.5, 0.5]
        >>> ScoredChoices([-1.0, -1.0], ["a", "bb"]).probabilities("chars").round(3).tolist()
        [0.378, 0.622]
        """
        return softmax(self.scores(norm))

    def best(self, norm: Norm) -> int:
        """The place of the most probable choice; of several, the first one, as harnesses have it."""
        return int(np.argmax(self.scores(norm)))

    def scores(self, norm: Norm) -> NDArray[np.float64]:
        """What the softmax is taken of."""
        given = self._checked(self.loglikelihoods)
        if np.isneginf(given).all():
            raise self.error("every choice has probability 0: there is no distribution over them.")
        if norm == "none":
            return given
        if norm == "unconditional":
            prior = self._checked(_needed(self.unconditional, "log-likelihoods without the question", norm))
            impossible = np.isneginf(prior) & ~np.isneginf(given)
            if impossible.any():
                at = int(impossible.argmax())
                raise self.error(f"choice {at} has probability 0 without the question, but not with it.")
            return given - np.where(np.isneginf(given), 0.0, prior)
        if norm == "tokens":
            lengths = list(_needed(self.tokens, "numbers of tokens", norm))
        else:
            texts = _needed(self.texts, "texts of the choices", norm)
            lengths = [len(text if norm == "chars" else text.encode("utf-8", "surrogatepass")) for text in texts]
        if len(lengths) != len(given):
            raise self.error(f"{len(given)} log-likelihoods, but {len(lengths)} lengths of choices.")
        if not all(lengths):
            raise self.error(f"choice {lengths.index(0)} is empty, and nothing can be said per {norm[:-1]} of it.")
        return given / np.array(lengths, np.float64)

    def _checked(self, loglikelihoods: Sequence[float]) -> NDArray[np.float64]:
        values = np.asarray(loglikelihoods, dtype=np.float64)
        odd = ~(values <= _ROUNDING)  # no number is neither
        if odd.any():
            at = int(odd.argmax())
            problem = f"{significant(values[at])}, but that of a text is at most 0: these are other scores."
            if np.isnan(values[at]):
                problem = "not a number."
            raise self.error(f"the log-likelihood of choice {at} is {problem}")
        return values


def softmax(scores: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """The exponentials of scores, divided by their sum; -inf is a probability of 0.

    >>> softmax([0.0, -np.inf, 0.0]).tolist(), softmax([-1e6, -1e6]).tolist()
    ([0.5, 0.0, 0.5], [0.5, 0.5])
    """
    values = np.asarray(scores, dtype=np.float64)
    shares = np.exp(values - values.max())
    total: NDArray[np.float64] = shares / shares.sum()
    return total


def _needed(values: Sequence[Any] | None, what: str, norm: Norm) -> Sequence[Any]:
    if values is None:
        raise NoListsError(f"there are no {what} here: {argument('norm', norm)} needs them.")
    return values
