"""Generated text with the top tokens at each of its positions: the one form to which every server is mapped.

`Positions.at` chooses the position of the answer: by its number, or as the first token after a text. The text is
searched in the generated tokens, joined; the last place where it occurs counts. The token after it is the first one
that begins where the text ends, or later, and is not blank. Where there is no such position, the list is empty: it is
never taken from another one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from toplist._files import need
from toplist._text import argument
from toplist._typing import Floats, Ints
from toplist.errors import TopListError
from toplist.io.answers import EMPTY, NORMALIZED
from toplist.io.columns import as_arrow, as_numpy, offsets_of, plain
from toplist.io.producers.base import CLASSES, CONFIDENCES
from toplist.io.top_tokens import MARKED, SAMPLED, TWICE, UNSORTED, TopTokens

_NUMBER = re.compile(r"[+-]?\d+")
NO_POSITION, NO_TEXT, INSIDE, SEVERAL = "no position", "no text", "inside", "several"


class Token(NamedTuple):
    """One listed token; `logprob` is None, and `token_id` and `raw` are, where they are not known."""

    text: str | None
    logprob: float | None
    token_id: int | None = None
    raw: bytes | None = None


class Position(NamedTuple):
    """A generated token, and what was listed in its place."""

    sampled: str | None
    top: Sequence[Token]


@dataclass(frozen=True, slots=True)
class Positions:
    """Per case the generated tokens; at each of them the listed ones, as `TopTokens` of all positions."""

    offsets: Ints  # the positions of each case
    sampled: Any  # Arrow text: the generated token of each position; null where it is not known
    top: TopTokens

    @classmethod
    def of(cls, cases: Sequence[Sequence[Position]]) -> Positions:
        """From objects in Python."""
        pa = need("pyarrow")
        flat = [position for case in cases for position in case]
        tokens = [token for position in flat for token in position.top]
        ids = [token.token_id for token in tokens]
        raw = [token.raw for token in tokens]
        top = TopTokens(
            offsets_of(np.array([len(position.top) for position in flat], np.int64)),
            pa.array([token.text for token in tokens], "string"),
            np.array([np.nan if token.logprob is None else token.logprob for token in tokens], np.float64),
            None if all(one is None for one in ids) else np.array([-1 if one is None else one for one in ids]),
            None if all(one is None for one in raw) else pa.array(raw, "binary"),
        )
        sizes = np.array([len(case) for case in cases], np.int64)
        return cls(offsets_of(sizes), pa.array([one.sampled for one in flat], "string"), top)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def at(self, position: int | str) -> tuple[TopTokens, Counter[str]]:
        """The listed tokens at the position of the answer of each case, and how many cases have none, and why."""
        position = as_position(position)
        if isinstance(position, str):
            chosen, counts = self._after(position)
        else:
            chosen = (self.offsets[:-1] if position >= 0 else self.offsets[1:]) + position
            found = (chosen >= self.offsets[:-1]) & (chosen < self.offsets[1:])
            chosen = np.where(found, chosen, -1)
            counts = Counter({NO_POSITION: int(np.count_nonzero(~found))})
        return self._chosen(chosen), +counts

    def _chosen(self, chosen: Ints) -> TopTokens:
        """The lists of one position per case; none where it is -1."""
        top = self.top
        if np.array_equal(chosen, np.arange(len(top))):
            return top
        at = np.maximum(chosen, 0)
        starts = np.where(chosen < 0, 0, np.append(top.offsets, 0)[at])
        sizes = np.where(chosen < 0, 0, np.append(np.diff(top.offsets), 0)[at])
        offsets = offsets_of(sizes)
        entries = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
        where = as_arrow(entries)
        return TopTokens(
            offsets,
            top.text.take(where),
            top.logprobs[entries],
            None if top.ids is None else top.ids[entries],
            None if top.raw is None else top.raw.take(where),
        )

    def _after(self, text: str) -> tuple[Ints, Counter[str]]:
        """The position of the first token after a text, of each case."""
        if not text.strip():
            raise TopListError("position is the number of a token, or a text before the answer: this text is blank.")
        sampled = self.sampled.to_pylist()
        chosen, counts = np.full(len(self), -1, np.int64), Counter[str]()
        for case, (lo, hi) in enumerate(zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)):
            at, problem = after(text, [one or "" for one in sampled[lo:hi]])
            counts.update(problem)
            if at is not None:
                chosen[case] = lo + at
        return chosen, counts


def joined_positions(parts: Sequence[Positions]) -> Positions:
    """The cases of several, in one; a single one as it is."""
    if len(parts) == 1:
        return parts[0]
    pa = need("pyarrow")
    tops = [one.top for one in parts]
    ids = [one.ids for one in tops if one.ids is not None]
    top = TopTokens(
        offsets_of(np.concatenate([np.diff(one.offsets) for one in tops] or [np.zeros(0, np.int64)])),
        pa.concat_arrays([one.text for one in tops]) if tops else pa.array([], "string"),
        np.concatenate([one.logprobs for one in tops] or [np.zeros(0)]),
        np.concatenate(ids) if len(ids) == len(tops) and ids else None,
    )
    sizes = np.concatenate([np.diff(one.offsets) for one in parts] or [np.zeros(0, np.int64)])
    sampled = pa.concat_arrays([one.sampled for one in parts]) if parts else pa.array([], "string")
    return Positions(offsets_of(sizes), sampled, top)


def as_position(value: int | str) -> int | str:
    """A number, also where it is written as text, as a command has it, or a text.

    >>> as_position("0"), as_position("-1"), as_position("ANSWER:")
    (0, -1, 'ANSWER:')
    """
    return int(value) if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) else value


def after(text: str, tokens: Sequence[str]) -> tuple[int | None, list[str]]:
    """The place of the first token after a text that is not blank, or None; and what is to be said about it.

    >>> after("ANSWER:", ["So", " ANS", "WER", ":", " ", "B"])
    (5, [])
    >>> after("ANSWER:", ["ANSWER", ": B"])
    (None, ['inside'])
    """
    whole = "".join(tokens)
    start = whole.rfind(text)
    if start < 0:
        return None, [NO_TEXT]
    said = [SEVERAL] if whole.count(text) > 1 else []
    end, at = start + len(text), 0
    for place, token in enumerate(tokens):
        if at >= end and token.strip():
            return place, said
        if at < end < at + len(token) and token[end - at :].strip():
            return None, [*said, INSIDE]
        at += len(token)
    return None, [*said, NO_POSITION]


def nested(offsets: Ints, values: Any) -> Any:
    """Lists of Arrow."""
    return need("pyarrow").ListArray.from_arrays(as_arrow(offsets.astype(np.int32)), values)


def vocabulary_lists(tokens: TopTokens) -> dict[str, Any]:
    """Lists over tokens: tokens with the same text are one class."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    text = tokens.text
    if text.null_count:
        ids = np.full(len(text), -1) if tokens.ids is None else tokens.ids
        named_ids = pa.array([f"token_id:{one}" for one in ids.tolist()], "string")
        text = pc.coalesce(plain(text), named_ids)
    codes = as_numpy(text.dictionary_encode().indices).astype(np.int64)
    keys = tokens.cases * (int(codes.max(initial=0)) + 1) + codes
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    p = np.bincount(group, np.exp(tokens.logprobs.astype(np.float64, copy=False)), minlength=len(first))
    order = np.argsort(first)
    cases = tokens.cases[first[order]]
    offsets = offsets_of(np.bincount(cases, minlength=len(tokens)))
    total = np.bincount(cases, p[order], minlength=len(tokens))
    p = p[order] / np.maximum(total, 1.0)[cases]
    return {
        CLASSES: nested(offsets, plain(text.take(as_arrow(first[order])))),
        CONFIDENCES: nested(offsets, as_arrow(p)),
    }


@dataclass(slots=True)
class Summary:
    """What there is to say about lists over answers, block by block: counts, and the mass on declared answers."""

    position: int | str = 0
    cases: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    masses: list[Floats] = field(default_factory=list)

    def add(self, cases: int, counts: Counter[str], mass: Floats | None = None) -> None:
        """The counts of some more cases, and their mass on declared answers; NaN where nothing was listed."""
        self.cases += cases
        self.counts.update(counts)
        if mass is not None:
            self.masses.append(mass[~np.isnan(mass)])

    @property
    def nowhere(self) -> int:
        """How many cases do not have the position."""
        return self.counts[NO_POSITION] + self.counts[NO_TEXT] + self.counts[INSIDE]

    def notes(self, explained: int = 0) -> list[str]:
        """Sentences; of so many cases it was said already why their lists are empty."""
        counts = self.counts.copy()
        counts[NO_TEXT if counts[NO_TEXT] else NO_POSITION] -= explained
        counts[EMPTY] -= self.nowhere  # these say why
        notes = [
            say.format(n=f"{counts[kind]:,}", position=self.position, cases=f"{self.cases:,}")
            for kind, say in _SAID.items()
            if counts[kind] > 0
        ]
        mass = np.concatenate(self.masses) if self.masses else np.zeros(0)
        return [*notes, *mass_notes(mass)]


def mass_notes(mass: Floats) -> list[str]:
    """What the mass on declared answers says about the prompt.

    >>> mass_notes(np.array([0.9, 0.8, 0.3]))
    ['mass on declared answers: median 0.80, below 0.5 in 1 of 3 cases']
    """
    if not len(mass):
        return []
    low = int(np.count_nonzero(mass < 0.5))
    notes = [f"mass on declared answers: median {np.median(mass):.2f}, below 0.5 in {low:,} of {len(mass):,} cases"]
    if np.median(mass) < 0.5:
        notes.append(
            "most probability is on tokens that are no declared answer: the prompt was measured, not the model. Ask "
            f"for the answer alone, choose its position ({argument('position')}), or declare more of its tokens "
            f"({argument('answers')})"
        )
    return notes


_SAID = {
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
