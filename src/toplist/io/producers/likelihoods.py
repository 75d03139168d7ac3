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

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from toplist._text import argument, significant
from toplist.errors import TopListError

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


class NormError(TopListError):
    """What a norm needs is not known of these choices."""


@dataclass(frozen=True, slots=True)
class ScoredChoices:
    """The choices of one question: their log-likelihoods, and what these may be divided or reduced by."""

    loglikelihoods: Sequence[float]
    texts: Sequence[str] | None = None  # without the blank before them
    tokens: Sequence[int] | None = None  # how many each has
    unconditional: Sequence[float] | None = None  # log-likelihoods without the question

    def probabilities(self, norm: Norm) -> NDArray[np.float64]:
        """The distribution over the choices of this name.

        Raises
        ------
        TopListError
            If values are no log-likelihoods, no choice is possible, or what `norm` needs is not known.

        Examples
        --------
        >>> ScoredChoices([-1.0, -1.0], ["a", "bb"]).probabilities("none").tolist()
        [0.5, 0.5]
        >>> ScoredChoices([-1.0, -1.0], ["a", "bb"]).probabilities("chars").round(3).tolist()
        [0.378, 0.622]
        """
        return softmax(self.scores(norm))

    def scores(self, norm: Norm) -> NDArray[np.float64]:
        """What the softmax is taken of."""
        given = _checked(self.loglikelihoods)
        if norm == "none":
            return given
        if norm == "unconditional":
            if self.unconditional is None:
                raise NormError(_without("log-likelihoods without the question", "unconditional"))
            prior = _checked(self.unconditional)
            impossible = np.isneginf(prior) & ~np.isneginf(given)
            if impossible.any():
                at = int(np.flatnonzero(impossible)[0])
                raise TopListError(f"choice {at} has probability 0 without the question, but not with it.")
            return given - np.where(np.isneginf(given), 0.0, prior)
        return given / self._lengths(norm)

    def _lengths(self, norm: Norm) -> NDArray[np.float64]:
        if norm == "tokens":
            if self.tokens is None:
                raise NormError(_without("numbers of tokens", "tokens"))
            lengths = [float(n) for n in self.tokens]
        else:
            if self.texts is None:
                raise NormError(_without("texts of the choices", norm))
            lengths = [
                float(len(text if norm == "chars" else text.encode("utf-8", "surrogatepass"))) for text in self.texts
            ]
        if len(lengths) != len(self.loglikelihoods):
            raise TopListError(f"{len(self.loglikelihoods)} log-likelihoods, but {len(lengths)} lengths of choices.")
        if not all(lengths):
            raise TopListError(f"choice {lengths.index(0.0)} is empty, and nothing can be said per {norm[:-1]} of it.")
        return np.array(lengths)


def softmax(scores: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """The exponentials of scores, divided by their sum; -inf is a probability of 0.

    >>> softmax([0.0, -math.inf, 0.0]).tolist(), softmax([-1e6, -1e6]).tolist()
    ([0.5, 0.0, 0.5], [0.5, 0.5])
    """
    values = np.asarray(scores, dtype=np.float64)
    top = float(values.max())
    if top == -math.inf:
        raise TopListError("every choice has probability 0: there is no distribution over them.")
    shares = np.exp(values - top)
    total: NDArray[np.float64] = shares / shares.sum()
    return total


def _checked(values: Sequence[float]) -> NDArray[np.float64]:
    found = np.asarray(values, dtype=np.float64)
    if np.isnan(found).any():
        raise TopListError(f"the log-likelihood of choice {int(np.isnan(found).argmax())} is not a number.")
    if (found > _ROUNDING).any():
        at = int((found > _ROUNDING).argmax())
        raise TopListError(
            f"the log-likelihood of choice {at} is {significant(found[at])}, but that of a text is at most 0: these "
            "are other scores."
        )
    return found


def _without(what: str, norm: Norm) -> str:
    return f"there are no {what} here: {argument('norm', norm)} needs them."
