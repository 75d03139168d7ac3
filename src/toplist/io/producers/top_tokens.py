"""The tokens that a language model listed at one place of each answer, as one table; and the lists that it gives.

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

Let p be the smallest listed probability and r = 1 - (the sum of all listed), the rest. What follows from the list about
declared answers, whatever the model is:

- an answer has at least the sum over its variants that are listed, which is what it gets here. Variants that are not
  listed would add to it, each at most p;
- an answer of which no variant is listed has at most r, and each of its tokens at most p. With one token each, all
  `absent` answers together would have at most u = min(r, absent p). The usual variants of a letter are about 120, so
  that this is no bound for them: that absent answers get u, no more, is a convention, and what keeps lists valid.

With `other="class"`, everything that is no declared answer is one more class, OTHER: the listed tokens that are no
answer, and r - u. Absent answers share u. Where no such token is listed, OTHER itself is a class that is not listed,
and shares r with the absent answers if r <= (absent + 1) p; otherwise it is listed with r - absent p, which is more
than p. So every list is valid: what is listed has at least p, and each class that is not has at most p.

Log-probabilities have single precision. A rest below 2**-24 is rounding, and counts as 2**-24: listed probabilities are
then divided so that they sum to 1 - 2**-24. Where classes are not listed, each of all m classes has at least
2**-24 / (m - 1), listed or not, so that lists stay valid. No answer has probability zero, however sure a model is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toplist._files import need
from toplist._text import argument, listed, quote
from toplist._typing import Bools, Floats, Ints
from toplist.core import kernel
from toplist.errors import ClassError, ConfidenceError, MassError, ShapeError, TopListError
from toplist.io.answers import OTHER, AnswerSpace
from toplist.io.columns import as_arrow, offsets_of
from toplist.io.producers.base import ANSWER_MASS, CLASSES, CONFIDENCES, LISTED_TOKENS, N_CLASSES
from toplist.io.producers.tokens import INSIDE, NO_POSITION, NO_TEXT, REFUSED, SEVERAL, WITHOUT, Token

LEAST = -700.0  # no log-probability of a softmax is this low: what is, marks a token without one
_MARK = -100.0
_ABOVE = 1e-4  # by which single precision may exceed a log-probability of zero, or probabilities a sum of one
# The float32 below 1 is 1 - 2**-24: of listed probabilities that add up to 1, no more than that is known of the rest. A
# floor of 2**-24 / (m - 1) under each class raises at most m - 1 of them, by no more in all than what is not known.
_ROUNDING = 2.0**-24
MARKED, SAMPLED, TWICE, UNSORTED = "marked", "sampled", "twice", "unsorted"  # what is removed, and why some is not
NORMALIZED, EMPTY = "normalized", "empty"
_LOGITS = (
    "These may be logits. Let the server return log-probabilities: with vLLM, leave logprobs_mode at raw_logprobs or "
    "set processed_logprobs."
)


class _Codes(dict[str, int]):
    """The code of each text, which is made where it is first seen."""

    def __init__(self, code_of: Callable[[str], int] | None) -> None:
        self.code_of = code_of

    def __missing__(self, text: str) -> int:
        text.encode()  # a UnicodeEncodeError where it has half a character
        code = self[text] = len(self) if self.code_of is None else self.code_of(text)
        return code


@dataclass(frozen=True, slots=True)
class TopTokens:
    """A table of tokens: the case of each, its class, and its natural log-probability."""

    n_cases: int
    case: Ints  # from 0, rising
    code: Ints  # the place of its class; -1 where it stands for no answer
    logprob: Floats
    again: Bools  # whether its case lists the same token with a larger value, or before with the same one
    classes: Sequence[str]  # declared answers, or else the texts of all tokens

    @classmethod
    def of(cls, cases: Iterable[Sequence[Token]], space: AnswerSpace | None) -> TopTokens:
        """The table of the tokens of each case; a ClassError where one is no text."""
        codes = _Codes(None if space is None else space.place)
        sizes, code, logprob, again = list[int](), list[int](), list[float | None](), list[int]()
        for case, tokens in enumerate(cases):
            texts = [token.token for token in tokens]
            if len(set(texts)) < len(texts):
                again += [len(code) + at for at in _repeated(tokens)]
            try:  # here, as to keep the texts of all cases would take twice as long
                code += [codes[text] for text in texts]
            except UnicodeEncodeError:
                problem = "a token is text with half a character (a lone surrogate)."
                raise ClassError(problem, case=case) from None
            if space is not None and not space.texts_only:
                code[len(logprob) :] = [space.place(t.token, t.bytes, t.id) for t in tokens]
            logprob += [token.logprob for token in tokens]
            sizes.append(len(texts))
        twice = np.zeros(len(code), bool)
        twice[again] = True
        return cls(
            len(sizes),
            np.repeat(np.arange(len(sizes)), np.array(sizes, np.int64)),
            np.array(code, np.int64),
            np.array(logprob, np.float64),  # None is NaN
            twice,
            list(codes) if space is None else space.answers,
        )

    def keep(self, entries: Bools) -> TopTokens:
        """Some of the entries."""
        if entries.all():
            return self
        case, code, logprob = self.case[entries], self.code[entries], self.logprob[entries]
        return TopTokens(self.n_cases, case, code, logprob, self.again[entries], self.classes)

    @property
    def sizes(self) -> Ints:
        """How many entries each case has."""
        return np.bincount(self.case, minlength=self.n_cases)

    def sums(self, values: Floats) -> Floats:
        """The sum of some values of the entries of each case."""
        return np.bincount(self.case, values, self.n_cases).astype(np.float64)

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
            good = (self.logprob > LEAST) & (self.logprob != _MARK)
        tokens = self.keep(good)
        removed[MARKED] = int(np.count_nonzero(~good))
        high = np.flatnonzero(tokens.logprob > _ABOVE)
        if len(high):
            cases = np.unique(tokens.case[high])
            problem = f"the log-probability of a token is {tokens.logprob[high[0]]:g}, above zero."
            raise ConfidenceError(problem, _LOGITS, case=int(cases[0]), more=len(cases) - 1)
        starts = offsets_of(tokens.sizes)
        rises = np.flatnonzero(np.diff(tokens.logprob) > _ABOVE) + 1
        cases = tokens.case[rises]
        falls = np.ones(self.n_cases, bool)
        falls[cases[rises - starts[cases] > 1]] = False  # the first entry apart
        removed[UNSORTED] = int(np.count_nonzero(~falls))
        if ranked:
            several = np.flatnonzero(falls & (np.diff(starts) > 1))
            front, last = starts[several], starts[several + 1] - 1
            outside = front[tokens.logprob[front] < tokens.logprob[last]]
            removed[SAMPLED] = len(outside)
            tokens = tokens.keep(~np.isin(np.arange(len(tokens.case)), outside))
        removed[TWICE] = int(np.count_nonzero(tokens.again))
        tokens = tokens.keep(~tokens.again)
        mass = tokens.sums(np.exp(tokens.logprob))
        high = np.flatnonzero(mass > 1 + 10 * _ABOVE)
        if len(high):
            problem = f"the probabilities of the listed tokens sum to {mass[high[0]]:.4g}."
            raise MassError(problem, _LOGITS, case=int(high[0]), more=len(high) - 1)
        return replace(tokens, logprob=np.minimum(tokens.logprob, 0.0)), +removed


def _repeated(tokens: Sequence[Token]) -> list[int]:
    """The places of tokens of a case that are there with a larger value, or before with the same one."""
    best, out = dict[Any, int](), list[int]()
    for place, token in enumerate(tokens):
        key = token.id if token.id is not None or token.bytes is None else bytes(token.bytes)
        if key is None:
            continue
        other = best.setdefault(key, place)
        if other != place:
            better = max(other, place, key=lambda at: (_value(tokens[at]), -at))
            best[key] = better
            out.append(other + place - better)
    return out


def _value(token: Token) -> float:
    value = token.logprob
    return -math.inf if value is None or math.isnan(value) else value


def vocabulary_lists(tokens: TopTokens, *, ranked: bool = True) -> tuple[dict[str, Any], Counter[str]]:
    """Columns with lists over tokens, of which those with the same text are one class; and what was removed."""
    tokens, counts = tokens.cleaned(ranked=ranked)
    keys = tokens.case * len(tokens.classes) + tokens.code
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    p = np.bincount(group, np.exp(tokens.logprob), len(first))[order].astype(np.float64)
    tokens = tokens.keep(first[order])
    p = p / np.maximum(tokens.sums(p), 1.0)[tokens.case]
    return _columns(tokens.sizes, tokens.code, p, tokens.classes), counts


def answer_lists(
    tokens: TopTokens,
    space: AnswerSpace,
    *,
    n_answers: Ints | None = None,
    allowed: Sequence[Sequence[str]] | None = None,
    ranked: bool = True,
) -> tuple[dict[str, Any], Counter[str]]:
    """Columns with lists over answers, and what was changed. A list without tokens is empty: nothing is known.

    Parameters
    ----------
    tokens : TopTokens
        What the server listed.
    space : AnswerSpace
        The answers, as they are the classes of the tokens.
    n_answers : array of int, optional
        How many of the answers each case has, from the first on: 3 of A, B, C, D are A, B and C.
    allowed : sequence of sequences of str, optional
        The answers of each case by name, in place of a number.
    ranked : bool, default True
        Whether the tokens are the most probable ones, not some that were asked for.

    Raises
    ------
    CaseError
        Where values are no log-probabilities, or a case has fewer than two answers, or other ones than these.
    """
    tokens, counts = tokens.cleaned(ranked=ranked)
    n, m = tokens.n_cases, len(space.answers)
    permitted = _permitted(n, space.answers, n_answers, allowed)
    p, total = np.exp(tokens.logprob), tokens.sums(np.exp(tokens.logprob))
    code = np.where((tokens.code >= 0) & permitted[tokens.case, tokens.code], tokens.code, m)
    # A matrix of cases and answers, and a last column of what is none of them.
    cell, shape = tokens.case * (m + 1) + code, (n, m + 1)
    on = np.bincount(cell, minlength=n * (m + 1)).reshape(shape) > 0
    mass = np.bincount(cell, p, n * (m + 1)).reshape(shape).astype(np.float64)
    n_tokens = tokens.sizes
    some = n_tokens > 0
    least, on_answers = np.full(n, np.inf), np.full(n, np.nan)
    least[some] = np.minimum.reduceat(p, offsets_of(n_tokens)[:-1][some]) if some.any() else 0
    on_answers[some] = np.minimum(_sums(on[:, :m], mass[:, :m])[some], 1.0)

    scale = np.minimum(1.0, (1 - _ROUNDING) / np.where(some, total, 1.0))
    mass, least, rest = mass * scale[:, None], least * scale, np.maximum(1 - total, _ROUNDING)
    hidden = permitted.sum(axis=1) - on[:, :m].sum(axis=1)
    unlisted = np.minimum(rest, hidden * least)
    if space.other == "class":
        shared = ~on[:, m] & (hidden > 0) & (rest <= (hidden + 1) * least)  # OTHER is a class that is not listed
        unlisted = np.where(shared, rest, unlisted)
        mass[:, m] += np.where(shared, 0.0, rest - unlisted)
        on[:, m] = ~shared
        hidden = hidden + shared
    else:
        on[:, m] = False
        total = _sums(on, mass)
        if space.other == "unlisted":
            divided = (hidden == 0) & (total > 0)
            counts[NORMALIZED] = int(np.count_nonzero(hidden == 0))
            mass = mass / np.where(divided, total, 1.0)[:, None]
            unlisted = np.where(hidden == 0, 0.0, 1.0 - total)
        else:
            whole = np.where(total > 0, total + unlisted, 1.0)
            mass, unlisted = mass / whole[:, None], unlisted / whole
    mass, unlisted = _floored(on, mass, unlisted, hidden)
    counts[EMPTY] = int(np.count_nonzero(~some))
    sizes = on.sum(axis=1)
    pa = need("pyarrow")
    return {
        **_columns(sizes, np.nonzero(on)[1], _summing_to(sizes, mass[on], unlisted), [*space.answers, OTHER]),
        N_CLASSES: as_arrow(permitted.sum(axis=1) + (space.other == "class")),
        ANSWER_MASS: pa.array(on_answers, pa.float64(), mask=~some),
        LISTED_TOKENS: pa.array(n_tokens, pa.int64(), mask=~some),
    }, +counts


def _columns(sizes: Ints, codes: Ints, p: Floats, classes: Sequence[str]) -> dict[str, Any]:
    """The columns of lists, one after the other."""
    pa, offsets = need("pyarrow"), as_arrow(offsets_of(sizes).astype(np.int32))
    names = pa.array(classes, "string").take(as_arrow(codes))
    return {
        CLASSES: pa.ListArray.from_arrays(offsets, names),
        CONFIDENCES: pa.ListArray.from_arrays(offsets, as_arrow(p)),
    }


def _sums(on: Bools, values: Floats) -> Floats:
    """The sum of each row over what is listed."""
    return np.bincount(np.nonzero(on)[0], values[on], len(on)).astype(np.float64)


def _permitted(
    n: int, answers: Sequence[str], n_answers: Ints | None, allowed: Sequence[Sequence[str]] | None
) -> Bools:
    """Which answers each case has."""
    m = len(answers)
    if n_answers is not None and allowed is not None:
        raise TopListError("give the number of answers of each case, or their names.")
    if allowed is not None:
        place = {answer: at for at, answer in enumerate(answers)}
        permitted = np.zeros((n, m), bool)
        for case, names in enumerate(allowed):
            odd = next((name for name in names if name not in place), None)
            if odd is not None:
                raise ClassError(f"{quote(odd)} is none of the answers {listed(answers)}.", case=case)
            permitted[case, [place[name] for name in names]] = True
        n_answers = permitted.sum(axis=1)
    elif n_answers is not None:
        permitted = np.arange(m) < n_answers[:, None]
    else:
        return np.ones((n, m), bool)
    bad = np.flatnonzero((n_answers < 2) | (n_answers > m))
    if len(bad):
        problem = f"there are {int(n_answers[bad[0]])} answers."
        raise ShapeError(problem, f"A case has from 2 to {m}, those declared.", case=int(bad[0]), more=len(bad) - 1)
    return permitted


def _floored(on: Bools, p: Floats, unlisted: Floats, hidden: Ints) -> tuple[Floats, Floats]:
    """Confidences and unlisted mass in which each of m classes has at least 2**-24 / (m - 1), where some are unlisted.

    What is below that is raised to it, and what is above is moved towards it by one factor: neither changes the order
    of the classes, so that a valid list stays valid.
    """
    m = on.sum(axis=1) + hidden
    floor = np.where(hidden > 0, _ROUNDING / np.maximum(m - 1, 1), 0.0)
    each = unlisted / np.maximum(hidden, 1)
    low = (on & (p < floor[:, None])).any(axis=1) | ((each < floor) & (hidden > 0))
    above, each_above = np.maximum(p - floor[:, None], 0.0), np.maximum(each - floor, 0.0)
    total = _sums(on, above) + hidden * each_above
    factor = (1 - m * floor) / np.where(total > 0, total, 1.0)
    p = np.where(low[:, None], floor[:, None] + factor[:, None] * above, p)
    return p, np.where(low, hidden * (floor + factor * each_above), unlisted)


def _summing_to(sizes: Ints, p: Floats, unlisted: Floats) -> Floats:
    """Confidences that sum to one less the unlisted mass to the last digit: the largest one takes the rounding."""
    some, offsets = np.flatnonzero(sizes), offsets_of(sizes)
    rows = kernel.Rows(offsets, None, p, None, np.full(1, np.inf), np.full(1, np.inf))
    over = kernel.inspect(rows)[0] - unlisted
    case, out = np.repeat(np.arange(len(sizes)), sizes), p.copy()
    largest = np.lexsort((-p, case))[offsets[some]]  # the first of equal ones
    out[largest] += over[some]
    return out


# What is said


def notes_on(position: int | str, cases: int, counts: Counter[str], mass: Floats | None = None) -> Iterator[str]:
    """What there is to say about lists: what was counted, and the mass on declared answers; NaN where none is known."""
    nowhere = counts[NO_POSITION] + counts[NO_TEXT] + counts[INSIDE] + counts[REFUSED] + counts[WITHOUT]
    for kind, say in _SAID.items():
        count = counts[kind] - nowhere * (kind == EMPTY)  # why these are empty was said
        if count > 0:
            yield say.format(n=f"{count:,}", position=position, cases=f"{cases:,}")
    mass = np.zeros(0) if mass is None else mass[~np.isnan(mass)]
    if not len(mass):
        return
    median, low = np.median(mass), int(np.count_nonzero(mass < 0.5))
    yield f"mass on declared answers: median {median:.2f}, below 0.5 in {low:,} of {len(mass):,} cases"
    if median < 0.5:
        yield (
            "most probability is on tokens that are no declared answer: the prompt was measured, not the model. "
            f"Ask for the answer alone, choose its position ({argument('position')}), or declare more of its "
            f"tokens ({argument('answers')})"
        )


_SAID = {
    REFUSED: "{n} of {cases} answers are refusals: their lists are empty",
    WITHOUT: "{n} of {cases} answers have no log-probabilities: their lists are empty",
    NO_POSITION: "{n} of {cases} cases have no token at position {position!r}: their lists are empty",
    NO_TEXT: "{n} of {cases} cases do not have the text {position!r}: their lists are empty",
    INSIDE: "in {n} of {cases} cases the text {position!r} ends inside a token, with more after it: their lists are "
    "empty",
    SEVERAL: "{n} of {cases} cases have the text {position!r} several times: the last one counts",
    EMPTY: "{n} of {cases} cases have no listed token: nothing is known of them",
    MARKED: "{n} tokens have a mark (null, -inf, -100, -9999 or lower) for a log-probability: they are not listed",
    SAMPLED: "in {n} of {cases} cases the first token is smaller than all others: it was sampled from outside the "
    "list, and is not listed",
    UNSORTED: "in {n} of {cases} cases tokens are not in the order of their probabilities: they are taken as tokens "
    "that were asked for, not as the most probable ones",
    TWICE: "{n} tokens are listed twice in one case: they count once",
    NORMALIZED: "in {n} of {cases} cases all answers are listed: confidences were divided by their sum",
}
