"""Declared answers of a language model, and the tokens that each may be written as."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, get_args

from toplist._files import PathLike, read_json, write_json
from toplist._text import did_you_mean, listed, quote
from toplist.errors import FileError, TopListError

OTHER = "OTHER"
Other = Literal["class", "unlisted", "normalize"]
Variant = str | bytes | int
_TOKEN_ID = re.compile(r"token_id:(\d+)")
_BLANKS = ("", " ", "\n", "▁", "Ġ", "Ċ")  # before a token: none, one, and as tokenizers write them
_MARKS = (("", ""), ("(", ""), ("", ")"), ("(", ")"), ("", "."), ("", ":"), ("**", ""), ("[", ""), ('"', ""), ("'", ""))
_WORDS = ("a", "i")  # letters that text has as words: alone, they stand for no answer A or I


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
        place = self.place(token, raw, token_id)
        return None if place < 0 else self.answers[place]

    def place(self, text: str | None, raw: Iterable[int] | None = None, token_id: int | None = None) -> int:
        """The place of the answer that a token stands for, by its text, its id or its bytes; -1 for none."""
        keys: list[Variant | None] = [token_id, None if raw is None else bytes(raw)]
        if text is not None:
            named = _TOKEN_ID.fullmatch(text)
            keys = [text.strip() if self.strip else text, int(named[1]) if named else None, *keys]
        return next((self._places[key] for key in keys if key in self._places), -1)

    @cached_property
    def _places(self) -> dict[Variant | None, int]:
        """The place of the answer of each variant."""
        return {
            key: place
            for place, variants in enumerate(self.variants.values())
            for variant in variants
            for key in _keys(variant, self.strip)[:1]
        }

    @cached_property
    def texts_only(self) -> bool:
        """Whether no variant is declared by its bytes or its id."""
        return all(isinstance(key, str) for key in self._places)


def _declared(answers: Any, strip: bool) -> dict[str, tuple[Variant, ...] | None]:
    """The variants of each answer as they were given; None where they are the usual ones."""
    if isinstance(answers, Mapping):
        pairs = [(answer, [own] if isinstance(own, str | bytes | int) else own) for answer, own in answers.items()]
    elif isinstance(answers, Iterable) and not isinstance(answers, bytes):
        pairs = [(answer, None) for answer in answers]
    else:
        raise TopListError(f"answers are a mapping to their tokens, or a sequence, not {quote(answers)}.")
    out: dict[str, tuple[Variant, ...] | None] = {}
    for answer, variants in pairs:
        if not isinstance(answer, str) or not answer.strip():
            raise TopListError(f"an answer is a text, not {quote(answer)}.")
        if answer in out:
            raise TopListError(f"the answer {quote(answer)} is there twice.")
        if not isinstance(variants, Iterable | None):
            raise TopListError(f"the tokens of {quote(answer)} are a list, not {quote(variants)}.")
        tokens: list[Any] | None = None if variants is None else list(variants)
        for token in tokens or ():
            is_id = isinstance(token, int) and not isinstance(token, bool) and token >= 0
            if not (is_id or (isinstance(token, str | bytes) and token)):
                raise TopListError(f"a token of {quote(answer)} is a text, bytes or a token id, not {quote(token)}.")
            if strip and isinstance(token, str) and not token.strip():
                raise TopListError(f"the token {quote(token)} of {quote(answer)} is blank: blanks are ignored (strip).")
        out[answer] = None if tokens is None else tuple(dict.fromkeys(tokens))
    return out


def _with_usual(declared: Mapping[str, tuple[Variant, ...] | None], strip: bool) -> dict[str, tuple[Variant, ...]]:
    """The variants of all answers: those declared, and the usual ones of the others."""
    owner: dict[Variant, str] = {}
    for answer, variants in declared.items():
        for variant in variants or ():
            for key in _keys(variant, strip):
                if owner.setdefault(key, answer) != answer:
                    both = f"{quote(owner[key])} and to {quote(answer)}"
                    raise TopListError(f"the token {quote(variant)} belongs to {both}: name it once.")
    usual = {answer: _usual(answer) for answer, variants in declared.items() if variants is None}
    claims: dict[Variant, list[tuple[int, str]]] = {}  # of each key: who generates it, and how far-fetched it is
    for answer, texts in usual.items():
        for text, level in texts.items():
            claims.setdefault(_keys(text, strip)[0], []).append((level, answer))
    for key, claimants in claims.items():
        nearest = {answer for level, answer in claimants if level == min(claimants)[0]}
        if len(nearest) == 1:
            owner.setdefault(key, nearest.pop())
    for answer, texts in usual.items():
        declared = {**declared, answer: tuple(text for text in texts if owner.get(_keys(text, strip)[0]) == answer)}
    for answer, variants in declared.items():
        if not variants:
            raise TopListError(f"the answer {quote(answer)} has no token of its own: declare one.")
    return {answer: variants or () for answer, variants in declared.items()}


def _keys(variant: Variant, strip: bool) -> list[Variant]:
    """What a token is looked up by, and what no other answer may declare: its text, and the bytes of that."""
    if isinstance(variant, str):
        text = variant.strip() if strip else variant
        return [text, text.encode("utf-8", "surrogatepass")]
    return [variant]


def _usual(answer: str) -> dict[str, int]:
    """The usual tokens of an answer: 0 as it is, 1 with marks around it, 2 in another case."""
    out: dict[str, int] = {}
    for form in (answer, answer.lower(), answer.upper(), answer.capitalize()):
        for before, after in _MARKS:
            if form in _WORDS and form != answer and before + after == "":
                continue
            for blank in _BLANKS:
                out.setdefault(f"{blank}{before}{form}{after}", 2 if form != answer else int(before + after != ""))
    return out


def _from_json(value: Any) -> Any:
    """Answers as JSON has them: bytes are objects."""
    if not isinstance(value, dict | list):
        raise TopListError('answers are an object such as {"A": ["A", " A"]}, or a list such as ["A", "B"].')
    if isinstance(value, list):
        return value
    return {
        answer: [_variant(token) for token in variants] if isinstance(variants, list) else variants
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
