"""Declared answers of a language model: lists over answers from the tokens that a server listed.

A server lists the k most probable tokens of a vocabulary with their log-probabilities. Let p be the smallest listed
probability and r = 1 - (the sum of all listed), the rest. What follows from the list, whatever the model is:

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

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from toplist._files import PathLike, need, read_json, write_json
from toplist._text import did_you_mean, listed, quote
from toplist._typing import Bools, Floats, Ints
from toplist.core import kernel
from toplist.errors import ClassError, FileError, ShapeError, TopListError
from toplist.io.columns import as_arrow, as_numpy, offsets_of
from toplist.io.top_tokens import TopTokens

OTHER = "OTHER"
Other = Literal["class", "unlisted", "normalize"]
Variant = str | bytes | int
# The float32 below 1 is 1 - 2**-24: of listed probabilities that add up to 1, no more than that is known of the rest. A
# floor of 2**-24 / (m - 1) under each class raises at most m - 1 of them, by no more in all than what is not known.
_ROUNDING = 2.0**-24
_TOKEN_ID = re.compile(r"token_id:(\d+)")
_BLANKS = ("", " ", "\n", "▁", "Ġ", "Ċ")  # before a token: none, one, and as tokenizers write them
_MARKS = (("", ""), ("(", ""), ("", ")"), ("(", ")"), ("", "."), ("", ":"), ("**", ""), ("[", ""), ('"', ""), ("'", ""))
_WORDS = ("a", "i")  # letters that text has as words: alone, they stand for no answer A or I
NORMALIZED, EMPTY = "normalized", "empty"


@dataclass(frozen=True, slots=True)
class AnswerLists:
    """Lists over answers, one per case; `counts` says how many tokens and cases were changed, by what."""

    offsets: Ints
    classes: Any  # Arrow text: names of answers, and OTHER
    confidences: Floats
    n_classes: Ints
    answer_mass: Floats  # probability of the listed variants of all answers; NaN where nothing is listed
    counts: Counter[str]
    listed: Ints  # how many tokens of each case count


class AnswerSpace:
    r"""The answers that a language model may give, and the tokens that each of them may be written as.

    A server returns the most probable tokens of a whole vocabulary. An answer space says which of them are answers:
    the probability of an answer is the sum over its listed variants.

    Parameters
    ----------
    answers : mapping or sequence
        The variants of each answer: texts, bytes or token ids. A sequence of answers, or None for the variants of one,
        stands for the usual ones: the answer as it is, in lower case, in capitals and capitalized, each of these alone,
        with `(`, `[`, `**` or a quotation mark before it, or `)`, `.` or `:` after it, or in parentheses, with or
        without a blank or a new line before that (also as tokenizers write these: `▁`, `Ġ`, `Ċ`). A variant that is
        declared beats a generated one, an answer as it is written beats one in another case, and what two answers
        generate belongs to neither. The words "a" and "i" are no variants of the letters A and I, unless declared.
    other : {"class", "unlisted", "normalize"}, default "class"
        What becomes of probability that is on no declared answer. "class": one more class, OTHER. "unlisted": it is
        spread over the answers that are not listed, and where all are listed, confidences are divided by their sum.
        "normalize": lists are conditional on a declared answer.
    strip : bool, default False
        Whether blanks around tokens are ignored, so that the variant "A" stands for " A" and "A\n" as well.

    Raises
    ------
    TopListError
        If there are fewer than two answers, if one has no variant, or if a variant belongs to two of them.

    Examples
    --------
    >>> AnswerSpace({"yes": ["Yes", " Yes", "yes"], "no": ["No", " No", "no"]})
    AnswerSpace('yes', 'no'; 6 variants, other='class')
    >>> AnswerSpace("ABCD").answers
    ('A', 'B', 'C', 'D')
    """

    __slots__ = ("__dict__", "answers", "other", "strip", "variants")

    def __init__(
        self,
        answers: Mapping[str, Iterable[Variant] | None] | Sequence[str],
        *,
        other: Other = "class",
        strip: bool = False,
    ) -> None:
        if other not in get_args(Other):
            near = did_you_mean(other, get_args(Other)) if isinstance(other, str) else ""
            raise TopListError(f"other is 'class', 'unlisted' or 'normalize', not {other!r}.{near}")
        if not isinstance(strip, bool):
            raise TopListError(f"strip is True or False, not {strip!r}.")
        declared = _declared(answers, strip)
        if len(declared) < 2:
            raise TopListError("an answer space has at least two answers.")
        if other == "class" and OTHER in declared:
            raise TopListError(f"{OTHER} is the class of all that is no answer: call this answer by another name.")
        self.answers: tuple[str, ...] = tuple(declared)
        self.other: Other = other
        self.strip = strip
        self.variants: dict[str, tuple[Variant, ...]] = _with_usual(declared, strip)

    @classmethod
    def of(cls, value: Any) -> AnswerSpace:
        """An answer space as it is, or made of what declares one: a mapping, a sequence, or a file that has either."""
        if isinstance(value, AnswerSpace):
            return value
        return cls.load(value) if isinstance(value, str | os.PathLike) else cls(value)

    @classmethod
    def load(cls, path: PathLike) -> AnswerSpace:
        """The answer space of a JSON file: one that `save` wrote, or plain answers, `{"A": ["A", " A"]}` or `["A"]`.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        AnswerSpace
            The answers with their tokens.

        Raises
        ------
        FileError
            If the file is no answer space.
        """
        value = read_json(path, "answers with their tokens")
        full = isinstance(value, dict) and "answers" in value and value.keys() <= {"answers", "other", "strip"}
        try:
            if full and isinstance(value["answers"], dict | list):
                known = {key: value[key] for key in ("other", "strip") if key in value}
                return cls(_from_json(value["answers"]), **known)
            return cls(_from_json(value))
        except FileError:
            raise
        except TopListError as error:
            raise FileError(str(path), str(error)) from None

    def save(self, path: PathLike) -> None:
        """Write a JSON file that `load` reads, and that `--read answers` takes."""
        answers = {
            answer: [{"bytes": list(v)} if isinstance(v, bytes) else v for v in variants]
            for answer, variants in self.variants.items()
        }
        write_json(path, {"answers": answers, "other": self.other, "strip": self.strip})

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of lists over all answers: the answers and, if it is a class, OTHER."""
        return (*self.answers, OTHER) if self.other == "class" else self.answers

    def __repr__(self) -> str:
        count = sum(map(len, self.variants.values()))
        return f"AnswerSpace({listed(self.answers)}; {count:,} variants, other={self.other!r})"

    def __eq__(self, value: object) -> bool:
        if not isinstance(value, AnswerSpace):
            return NotImplemented
        return (self.variants, self.other, self.strip) == (value.variants, value.other, value.strip)

    def __hash__(self) -> int:
        return hash((self.answers, self.other, self.strip))

    def answer_of(self, token: str | None, raw: bytes | None = None, token_id: int | None = None) -> str | None:
        """The answer that a token stands for, or None.

        >>> AnswerSpace(["Yes", "No"]).answer_of(" yes")
        'Yes'
        """
        codes = (self._code(key) for key in (token, token_id, raw) if key is not None)
        return next((self.answers[code] for code in codes if code >= 0), None)

    def lists(
        self,
        tokens: TopTokens,
        *,
        n_answers: Ints | None = None,
        allowed: Sequence[Sequence[str]] | None = None,
        ranked: bool = True,
    ) -> AnswerLists:
        """Lists over answers from the listed tokens of each case, cleaned as `TopTokens.cleaned` does.

        Parameters
        ----------
        tokens : TopTokens
            What the server listed.
        n_answers : array of int, optional
            How many of the answers each case has, from the first on: 3 of A, B, C, D are A, B and C.
        allowed : sequence of sequences of str, optional
            The answers of each case by name, in place of a number.
        ranked : bool, default True
            Whether the tokens are the most probable ones, not some that were asked for.

        Returns
        -------
        AnswerLists
            One list per case. One without tokens is empty: nothing is known.

        Raises
        ------
        CaseError
            Where values are no log-probabilities, or a case has fewer than two answers, or other ones than these.
        """
        tokens, counts = tokens.cleaned(ranked=ranked)
        permitted = self._permitted(len(tokens), n_answers, allowed)
        codes, cases = self._codes(tokens), tokens.cases
        if permitted is None:
            sizes = np.full(len(tokens), len(self.answers))
        else:
            sizes = permitted.sum(axis=1)
            codes = np.where((codes >= 0) & permitted[cases, np.maximum(codes, 0)], codes, -1)
        mass = _Mass.of(tokens, cases, codes, len(self.answers))
        counts[EMPTY] = int(np.count_nonzero(np.diff(tokens.offsets) == 0))
        made = self._completed(mass, sizes, counts)
        return AnswerLists(*made, sizes + (self.other == "class"), mass.on_answers, +counts, np.diff(tokens.offsets))

    def _completed(self, mass: _Mass, sizes: Ints, counts: Counter[str]) -> tuple[Ints, Any, Floats]:
        """Offsets, classes and confidences, with the mass on no answer where `other` says."""
        n, m = len(sizes), len(self.answers)
        absent = sizes - np.bincount(mass.case, minlength=n)
        case, code, p, hidden = mass.case, mass.code, mass.p, absent
        if self.other == "class":
            case, code, p, unlisted, hidden = _with_other(mass, absent, m)
        else:
            unlisted = np.minimum(mass.rest, absent * mass.least)
            total = np.bincount(case, p, minlength=n)
            if self.other == "unlisted":
                scale = np.where((absent == 0) & (total > 0), total, 1.0)
                counts[NORMALIZED] = int(np.count_nonzero(absent == 0))
                unlisted = np.where(absent == 0, 0.0, 1.0 - total)
            else:
                scale = np.where(total > 0, total + unlisted, 1.0)
                unlisted = unlisted / scale
            p = p / scale[case]
        p, unlisted = _floored(case, p, unlisted, hidden)
        offsets = offsets_of(np.bincount(case, minlength=n))
        names = need("pyarrow").array([*self.answers, OTHER], "string")
        return offsets, names.take(as_arrow(code)), _summing_to(offsets, p, unlisted)

    def _permitted(self, n: int, n_answers: Ints | None, allowed: Sequence[Sequence[str]] | None) -> Bools | None:
        """Which answers each case has; None where each has all of them."""
        m = len(self.answers)
        if n_answers is not None and allowed is not None:
            raise TopListError("give the number of answers of each case, or their names.")
        if allowed is not None:
            place = {answer: at for at, answer in enumerate(self.answers)}
            odd = next(((at, one) for at, row in enumerate(allowed) for one in row if one not in place), None)
            if odd is not None:
                raise ClassError(f"{quote(odd[1])} is none of the answers {listed(self.answers)}.", case=odd[0])
            out = np.zeros((n, m), bool)
            for at, row in enumerate(allowed):
                out[at, [place[one] for one in row]] = True
            n_answers = out.sum(axis=1)
        elif n_answers is None:
            return None
        else:
            n_answers = np.asarray(n_answers)
            out = np.arange(m) < n_answers[:, None]
        if len(n_answers) != n:
            raise TopListError(f"there are {len(n_answers):,} numbers of answers for {n:,} cases.")
        bad = np.flatnonzero((n_answers < 2) | (n_answers > m))
        if len(bad):
            problem = f"there are {int(n_answers[bad[0]])} answers."
            raise ShapeError(problem, f"A case has from 2 to {m}, those declared.", case=int(bad[0]), more=len(bad) - 1)
        return out

    def _codes(self, tokens: TopTokens) -> Ints:
        """The place of the answer of each token, or -1."""
        out: Ints = np.full(len(tokens.text), -1)
        for column in (tokens.text, None if tokens.ids is None else as_arrow(tokens.ids), tokens.raw):
            if column is not None:
                encoded = column.dictionary_encode()
                codes = np.array([*map(self._code, encoded.dictionary.to_pylist()), -1], np.int64)
                out = np.where(out < 0, codes[as_numpy(encoded.indices.fill_null(len(codes) - 1))], out)
        return out

    def _code(self, token: Variant | None) -> int:
        """The place of the answer that a text, an id or bytes stand for, or -1."""
        if isinstance(token, str):
            named = _TOKEN_ID.fullmatch(token)
            by_id = self._places.get(int(named[1]), -1) if named else -1
            return self._places.get(token.strip() if self.strip else token, by_id)
        return self._places.get(token, -1)

    @cached_property
    def _places(self) -> dict[Variant | None, int]:
        """The place of the answer of each variant."""
        return {
            one.strip() if self.strip and isinstance(one, str) else one: place
            for place, variants in enumerate(self.variants.values())
            for one in variants
        }

    @property
    def uses_bytes(self) -> bool:
        """Whether some variant is declared by its bytes."""
        return any(isinstance(one, bytes) for one in self._places)


@dataclass(frozen=True, slots=True)
class _Mass:
    """Where the probability of each case is: on answers, entry by entry, on other listed tokens, and unlisted."""

    case: Ints
    code: Ints
    p: Floats
    junk: Floats  # of each case: on listed tokens that are no answer
    has_junk: Bools
    rest: Floats
    least: Floats  # the smallest probability of a listed token; infinite where none is
    on_answers: Floats

    @classmethod
    def of(cls, tokens: TopTokens, cases: Ints, codes: Ints, m: int) -> _Mass:
        n, p = len(tokens), np.exp(tokens.logprobs.astype(np.float64, copy=False))
        total = np.bincount(cases, p, minlength=n)
        scale = np.minimum(1.0, (1 - _ROUNDING) / np.where(total > 0, total, 1.0))
        on = codes >= 0
        keys, place = np.unique(cases[on] * m + codes[on], return_inverse=True)
        case, code = np.divmod(keys, m)
        answers = np.bincount(place, p[on], minlength=len(keys)).astype(np.float64)
        mass = np.bincount(case, answers, minlength=n)
        least = np.full(n, np.inf)
        some = np.flatnonzero(np.diff(tokens.offsets))
        if len(some):
            least[some] = np.minimum.reduceat(p, tokens.offsets[some])
        return cls(
            case,
            code,
            answers * scale[case],
            np.bincount(cases[~on], p[~on], minlength=n).astype(np.float64) * scale,
            np.bincount(cases[~on], minlength=n) > 0,
            np.maximum(1 - total, _ROUNDING),
            least * scale,
            np.where(np.isinf(least), np.nan, np.minimum(mass, 1.0)),
        )


def _with_other(mass: _Mass, absent: Ints, m: int) -> tuple[Ints, Ints, Floats, Floats, Ints]:
    """Cases, codes and confidences of the entries with OTHER, whose code is m, and the unlisted mass and classes."""
    hidden = ~mass.has_junk & (absent > 0)  # OTHER may be one of the classes that are not listed
    with np.errstate(invalid="ignore"):
        shared = hidden & (mass.rest <= (absent + 1) * mass.least)
        unlisted = np.where(shared, mass.rest, np.minimum(mass.rest, np.where(absent > 0, absent * mass.least, 0.0)))
    other = np.flatnonzero(~shared)
    case = np.concatenate([mass.case, other])
    code = np.concatenate([mass.code, np.full(len(other), m)])
    p = np.concatenate([mass.p, (mass.junk + (mass.rest - unlisted))[other]])
    order = np.argsort(case, kind="stable")
    return case[order], code[order], p[order], unlisted, absent + shared


def _floored(case: Ints, p: Floats, unlisted: Floats, hidden: Ints) -> tuple[Floats, Floats]:
    """Confidences and unlisted mass in which each of m classes has at least 2**-24 / (m - 1), where some are unlisted.

    What is below that is raised to it, and what is above is moved towards it by one factor: neither changes the order
    of the classes, so that a valid list stays valid.
    """
    n = len(unlisted)
    m = np.bincount(case, minlength=n) + hidden
    floor = np.where(hidden > 0, _ROUNDING / np.maximum(m - 1, 1), 0.0)
    each = unlisted / np.maximum(hidden, 1)
    low = (np.bincount(case, p < floor[case], minlength=n) > 0) | ((each < floor) & (hidden > 0))
    above, each_above = np.maximum(p - floor[case], 0.0), np.maximum(each - floor, 0.0)
    total = np.bincount(case, above, minlength=n) + hidden * each_above
    factor = (1 - m * floor) / np.where(total > 0, total, 1.0)
    p = np.where(low[case], floor[case] + factor[case] * above, p)
    return p, np.where(low, hidden * (floor + factor * each_above), unlisted)


def _summing_to(offsets: Ints, p: Floats, unlisted: Floats) -> Floats:
    """Confidences that sum to one less the unlisted mass to the last digit: the largest one takes the rounding."""
    some = np.flatnonzero(np.diff(offsets))
    if not len(some):
        return p
    starts = offsets[some]
    rows = kernel.Rows(offsets, None, p, None, np.full(1, np.inf), np.full(1, np.inf))
    over = kernel.inspect(rows)[0][some] - unlisted[some]
    case = np.repeat(np.arange(len(some)), np.diff(offsets)[some])
    top = np.flatnonzero(p == np.maximum.reduceat(p, starts)[case])
    top = top[np.unique(case[top], return_index=True)[1]]
    out = p.copy()
    out[top] += over
    return out


def _declared(answers: Any, strip: bool) -> dict[str, tuple[Variant, ...] | None]:
    """The variants of each answer as they were given; None where they are the usual ones."""
    if isinstance(answers, Mapping):
        pairs = list(answers.items())
    elif isinstance(answers, Iterable) and not isinstance(answers, bytes):
        pairs = [(one, None) for one in answers]
    else:
        raise TopListError(f"answers are a mapping to their tokens, or a sequence, not {quote(answers)}.")
    out: dict[str, tuple[Variant, ...] | None] = {}
    for answer, variants in pairs:
        if not isinstance(answer, str) or not answer.strip():
            raise TopListError(f"an answer is a text, not {quote(answer)}.")
        if answer in out:
            raise TopListError(f"the answer {quote(answer)} is there twice.")
        out[answer] = None if variants is None else _given(answer, variants, strip)
    return out


def _given(answer: str, variants: Any, strip: bool) -> tuple[Variant, ...]:
    if isinstance(variants, str | bytes | int):
        variants = [variants]
    if not isinstance(variants, Iterable):
        raise TopListError(f"the tokens of {quote(answer)} are a list, not {quote(variants)}.")
    out = []
    for one in variants:
        right = isinstance(one, str | bytes) or (isinstance(one, int) and not isinstance(one, bool) and one >= 0)
        if not right or one in ("", b""):
            raise TopListError(f"a token of {quote(answer)} is a text, bytes or a token id, not {quote(one)}.")
        if strip and isinstance(one, str) and not one.strip():
            raise TopListError(f"the token {quote(one)} of {quote(answer)} is blank, and blanks are ignored (strip).")
        out.append(one)
    if not out:
        raise TopListError(f"the answer {quote(answer)} has no token.")
    return tuple(dict.fromkeys(out))


def _with_usual(declared: Mapping[str, tuple[Variant, ...] | None], strip: bool) -> dict[str, tuple[Variant, ...]]:
    """The variants of all answers: those declared, and the usual ones of the others."""
    owner: dict[Any, str] = {}
    for answer, variants in declared.items():
        for one in variants or ():
            for key in _keys(one, strip):
                if owner.setdefault(key, answer) != answer:
                    raise TopListError(
                        f"the token {quote(one)} belongs to {quote(owner[key])} and to {quote(answer)}: name it once."
                    )
    usual = {answer: _usual(answer) for answer, variants in declared.items() if variants is None}
    claims: dict[str, list[tuple[int, str]]] = {}  # of each key: who generates it, and how far-fetched it is
    for answer, texts in usual.items():
        for text, level in texts.items():
            claims.setdefault(_keys(text, strip)[0], []).append((level, answer))
    for key, claimants in claims.items():
        nearest = {answer for level, answer in claimants if level == min(claimants)[0]}
        if len(nearest) == 1:
            owner.setdefault(key, nearest.pop())
    out: dict[str, tuple[Variant, ...]] = {}
    for answer, variants in declared.items():
        texts = usual.get(answer, {})
        out[answer] = variants or tuple(text for text in texts if owner.get(_keys(text, strip)[0]) == answer)
        if not out[answer]:
            raise TopListError(f"every usual token of {quote(answer)} belongs to another answer: declare its tokens.")
    return out


def _keys(variant: Variant, strip: bool) -> list[Any]:
    """What a token is looked up by, and what no other answer may declare: its text, and the bytes of that."""
    if isinstance(variant, str):
        text = variant.strip() if strip else variant
        return [text, text.encode("utf-8", "surrogatepass")]
    return [variant]


def _usual(answer: str) -> dict[str, int]:
    """The usual tokens of an answer: 0 as it is, 1 with marks around it, 2 in another case."""
    out: dict[str, int] = {}
    for form in (answer, answer.lower(), answer.upper(), answer.capitalize()):
        for mark in _MARKS:
            if form in _WORDS and form != answer and mark == ("", ""):
                continue
            for blank in _BLANKS:
                out.setdefault(f"{blank}{mark[0]}{form}{mark[1]}", 2 if form != answer else int(mark != ("", "")))
    return out


def _from_json(value: Any) -> Any:
    """Answers as JSON has them: bytes are objects."""
    if not isinstance(value, dict):
        if not isinstance(value, list):
            raise TopListError('answers are an object such as {"A": ["A", " A"]}, or a list such as ["A", "B"].')
        return value
    return {
        answer: [_variant(one) for one in variants] if isinstance(variants, list) else variants
        for answer, variants in value.items()
    }


def _variant(value: Any) -> Any:
    """A variant as JSON has it."""
    if isinstance(value, dict) and value.keys() == {"bytes"}:
        try:
            return bytes(value["bytes"])
        except (TypeError, ValueError):
            raise TopListError(f"bytes are whole numbers from 0 to 255, not {quote(value['bytes'])}.") from None
    return value
