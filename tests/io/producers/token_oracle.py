"""Lists over answers from the tokens of a server, in plain Python, from what the documentation says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

ROUNDING = 2.0**-24


class Listed(NamedTuple):
    """A token of a server's list."""

    text: str | None
    logprob: float | None
    key: object = None  # its id, or else its bytes


class Made(NamedTuple):
    """A list over answers."""

    confidences: dict[str, float]
    unlisted: float
    n_classes: int
    answer_mass: float | None


def kept(tokens: Sequence[Listed]) -> list[Listed]:
    """The tokens that count, in a list of the most probable ones."""
    real = [t for t in tokens if t.logprob is not None and t.logprob > -700 and t.logprob != -100]
    if len(real) > 1 and real[0].logprob < min(t.logprob for t in real[1:]):
        real = real[1:]
    best: dict[object, Listed] = {}
    for place, token in enumerate(real):
        key = ("unknown", place) if token.key is None else token.key
        if key not in best or token.logprob > best[key].logprob:
            best[key] = token
    return list(best.values())


def answer_list(tokens: Sequence[Listed], variants: Mapping[str, Sequence[str]], other: str = "class") -> Made:
    """One list."""
    counted = kept(tokens)
    m = len(variants) + (other == "class")
    if not counted:
        return Made({}, 1.0, m, None)
    owner = {variant: answer for answer, every in variants.items() for variant in every}
    p = [math.exp(min(t.logprob, 0.0)) for t in counted]
    total = math.fsum(p)
    scale = min(1.0, (1 - ROUNDING) / total)
    answers: dict[str, list[float]] = {}
    junk = []
    for token, x in zip(counted, p, strict=True):
        if token.text in owner:
            answers.setdefault(owner[token.text], []).append(x)
        else:
            junk.append(x)
    mass = min(1.0, math.fsum(x for xs in answers.values() for x in xs))
    listed = {answer: math.fsum(xs) * scale for answer, xs in answers.items()}
    rest, least, absent = max(1 - total, ROUNDING), min(p) * scale, len(variants) - len(listed)
    declared = math.fsum(listed.values())
    if other == "unlisted":
        if not absent:
            return Made({a: x / declared for a, x in listed.items()}, 0.0, m, mass)
        return _floored(Made(listed, 1 - declared, m, mass))
    if other == "normalize":
        if not listed:
            return Made({}, 1.0, m, mass)
        whole = declared + min(rest, absent * least)
        return _floored(Made({a: x / whole for a, x in listed.items()}, min(rest, absent * least) / whole, m, mass))
    if not junk and absent and rest <= (absent + 1) * least:
        return _floored(Made(listed, rest, m, mass))
    unlisted = min(rest, absent * least)
    return _floored(Made({**listed, "OTHER": math.fsum(junk) * scale + rest - unlisted}, unlisted, m, mass))


def _floored(made: Made) -> Made:
    """Where classes are not listed, the same with at least 2**-24 / (m - 1) for each class, in the same order."""
    names, m = list(made.confidences), made.n_classes
    if len(names) == m or not names:
        return made
    floor = ROUNDING / (m - 1)
    every = [*made.confidences.values(), *[made.unlisted / (m - len(names))] * (m - len(names))]
    if min(every) >= floor:
        return made
    above = [max(x - floor, 0.0) for x in every]
    out = [floor + x * (1 - m * floor) / math.fsum(above) for x in above]
    return made._replace(confidences=dict(zip(names, out, strict=False)), unlisted=math.fsum(out[len(names) :]))
