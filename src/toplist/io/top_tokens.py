"""The tokens that a language model listed at one place of each answer, with log-probabilities: ragged, and cleaned.

A server lists the k most probable tokens. Four things in such a list are not what they seem, and are removed and
counted here, for every server alike:

- a mark in the place of a log-probability: null, NaN, -inf, -100 exactly, or a number of at most -700, such as -9999
  and -3.4028235e38. Its token is not listed.
- the sampled token in front of a list in which it does not belong: vLLM writes it first, and cuts the list after k
  entries. An entry at the front that is smaller than all the others is either that, or the last one of the list: it is
  not listed, so that what is known of all other tokens stays true (none exceeds the smallest that is listed). This is
  about lists of the most probable tokens, which fall from the second entry on. Where a list does not, its tokens were
  asked for (`logprob_token_ids` of vLLM), and all of them stay.
- a token that is listed twice, by its id or else by its bytes: it counts once, with the larger value. Tokens with the
  same text and other ids or bytes, or with neither, are different tokens.
- log-probabilities above zero are logits: they are refused, as are probabilities that sum to more than one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toplist._files import need
from toplist._typing import Bools, Floats, Ints
from toplist.errors import ConfidenceError, MassError
from toplist.io.columns import as_arrow, as_numpy, blanks, offsets_of

LEAST = -700.0  # no log-probability of a softmax is this low: what is, marks a token without one
_MARK = -100.0
_ABOVE = 1e-4  # by which single precision may exceed a log-probability of zero, or probabilities a sum of one
MARKED, SAMPLED, TWICE = "marked", "sampled", "twice"  # what is removed
UNSORTED = "unsorted"
_LOGITS = (
    "These may be logits. Let the server return log-probabilities: with vLLM, leave logprobs_mode at raw_logprobs or "
    "set processed_logprobs."
)


@dataclass(frozen=True, slots=True)
class TopTokens:
    """Per case the listed tokens: text, natural log-probabilities and, where they are known, ids or bytes."""

    offsets: Ints
    text: Any  # Arrow text, plain or as a dictionary; null where only the id is known
    logprobs: Floats
    ids: Ints | None = None
    raw: Any = None  # Arrow binary: the bytes of each token

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def cases(self) -> Ints:
        """The case of each entry, from 0."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def keep(self, entries: Bools) -> TopTokens:
        """Some of the entries."""
        if entries.all():
            return self
        pick = as_arrow(entries)
        sizes = np.bincount(self.cases[entries], minlength=len(self))
        return TopTokens(
            offsets_of(sizes),
            self.text.filter(pick),
            self.logprobs[entries],
            None if self.ids is None else self.ids[entries],
            None if self.raw is None else self.raw.filter(pick),
        )

    def cleaned(self, *, ranked: bool = True) -> tuple[TopTokens, Counter[str]]:
        """The entries that count, and how many of each kind were removed; see the module.

        Parameters
        ----------
        ranked : bool, default True
            Whether these are lists of the most probable tokens. If not, no entry at the front is removed.

        Raises
        ------
        ConfidenceError, MassError
            Where values are no log-probabilities: the case is the place in this batch.
        """
        removed: Counter[str] = Counter()
        with np.errstate(invalid="ignore"):
            good = (self.logprobs > LEAST) & (self.logprobs != _MARK)
        tokens = self.keep(good)
        removed[MARKED] = int(np.count_nonzero(~good))
        tokens._refuse_logits()
        falls = tokens._falls()
        removed[UNSORTED] = int(np.count_nonzero(~falls))
        if ranked:
            first = tokens._sampled_first(falls)
            removed[SAMPLED] = int(np.count_nonzero(first))
            tokens = tokens.keep(~first)
        again = tokens._again()
        removed[TWICE] = int(np.count_nonzero(again))
        tokens = tokens.keep(~again)
        tokens._refuse_mass()
        return replace(tokens, logprobs=np.minimum(tokens.logprobs, 0.0)), +removed

    def repeats_text(self) -> bool:
        """Whether a case lists the same text twice: then bytes or ids tell whether that is one token."""
        codes = as_numpy(_encoded(self.text).indices.fill_null(-1))
        return _has_pairs(self.cases, codes)

    def _refuse_logits(self) -> None:
        high = np.flatnonzero(self.logprobs > _ABOVE)
        if len(high):
            case = int(self.cases[high[0]])
            more = len(np.unique(self.cases[high])) - 1
            raise ConfidenceError(
                f"the log-probability of a token is {self.logprobs[high[0]]:g}, above zero.",
                _LOGITS,
                case=case,
                more=more,
            )

    def _refuse_mass(self) -> None:
        mass = np.bincount(self.cases, np.exp(self.logprobs), minlength=len(self))
        high = np.flatnonzero(mass > 1 + 10 * _ABOVE)
        if len(high):
            problem = f"the probabilities of the listed tokens sum to {mass[high[0]]:.4g}."
            raise MassError(problem, _LOGITS, case=int(high[0]), more=len(high) - 1)

    def _falls(self) -> Bools:
        """Of each case, whether no entry exceeds the one before it, the first one apart."""
        rises = np.flatnonzero(np.diff(self.logprobs) > _ABOVE) + 1
        cases = np.searchsorted(self.offsets, rises, side="right") - 1
        out = np.ones(len(self), bool)
        out[cases[rises - self.offsets[cases] > 1]] = False
        return out

    def _sampled_first(self, falls: Bools) -> Bools:
        """Whether an entry is at the front of at least two that fall, and smaller than all the others of its case."""
        out = np.zeros(len(self.logprobs), bool)
        several = np.flatnonzero(falls & (np.diff(self.offsets) > 1))
        if len(several):
            starts = self.offsets[several]
            out[starts] = self.logprobs[starts] < self.logprobs[self.offsets[several + 1] - 1]
        return out

    def _again(self) -> Bools:
        """Whether an entry is a token that its case lists with a larger value, or before with the same one."""
        out = np.zeros(len(self.logprobs), bool)
        if self.ids is not None:
            code, known = self.ids, self.ids >= 0
        elif self.raw is not None:
            code, known = as_numpy(_encoded(self.raw).indices.fill_null(-1)), ~blanks(self.raw)
        else:
            return out
        cases = self.cases
        if not _has_pairs(cases[known], code[known]):
            return out
        order = np.lexsort((-self.logprobs, code, cases))
        same = (np.diff(cases[order]) == 0) & (np.diff(code[order]) == 0)
        out[order[1:][same]] = True
        return out & known


def _encoded(values: Any) -> Any:
    return values if need("pyarrow").types.is_dictionary(values.type) else values.dictionary_encode()


def _has_pairs(cases: Ints, codes: Any) -> bool:
    """Whether some case has a code twice."""
    if len(codes) < 2:
        return False
    base = int(codes.min())
    keys = np.sort(cases * (int(codes.max()) - base + 1) + (codes - base))
    return bool((keys[1:] == keys[:-1]).any())
