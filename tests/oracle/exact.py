"""The exact oracle: what a list scores by definition, in rationals, and in long decimals where a root or a
logarithm is taken.

It reads the confidences as the rational numbers that they are, cleans the list as the library promises to, removes
the smallest confidence while it is below the proxy, and scores the padded distribution: the listed values, and as
many copies of the proxy as there are unlisted classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath as mp

import toplist as tl

DIGITS = 90
EPS = Fraction(1, 2**52)
BITS = {"float64": 53, "float32": 24}
VALIDITY_ATOL = Fraction(1, 10**15)
PENALTY = Fraction(1, 100)
VANISHING = 1e-30  # a score that is zero but for the square of the rounding that the door ignores

Number = Any  # a Fraction, or mpmath's float


@dataclass(frozen=True, slots=True)
class Padded:
    """The padded distribution of the largest valid sublist, and the probability of the outcome in it."""

    listed: tuple[Fraction, ...]
    proxy: Fraction
    unlisted: int
    outcome: Fraction
    hit: bool  # is the outcome on the largest valid sublist?
    invalid: bool  # was the list invalid beyond the tolerance?

    @property
    def others(self) -> list[tuple[Fraction, int]]:
        """Every class but the outcome, as values and how many classes have them."""
        values = list(self.listed)
        if self.hit:
            values.remove(self.outcome)
        return [*((t, 1) for t in values), (self.proxy, self.unlisted - (not self.hit))]

    @property
    def classes(self) -> list[tuple[Fraction, int]]:
        """Every class."""
        return [*((t, 1) for t in self.listed), (self.proxy, self.unlisted)]


def cleaned(confidences: Sequence[float], size: int) -> tuple[list[Fraction], Fraction]:
    """The confidences as they are scored and the rest mass: rounding is divided out or ignored."""
    values = [Fraction(t) for t in confidences]
    mass = sum(values, Fraction(0))
    if len(values) == size or mass > 1:
        return [t / mass for t in values], Fraction(0)
    rest = 1 - mass
    return values, Fraction(0) if rest <= len(values) * EPS else rest


def significant_bits(x: float) -> int:
    """11, 24 or 53: which type holds this number; below the normal range of single precision, its last place counts."""
    mantissa = Fraction(x).numerator
    if x and abs(x) < 2.0**-126:
        places = Fraction(x) * 2**149
        return 53 if places.denominator > 1 else 24 if places % 2**13 else 11
    length = (mantissa // (mantissa & -mantissa)).bit_length() if mantissa else 0
    return next(bits for bits in (11, 24, 53) if length <= bits)


def is_invalid(least: Fraction, rest: Fraction, unlisted: int, k: int, bits: int) -> bool:
    """No list within the rounding is valid: the largest one is not, which has the smallest rest mass."""
    unit = Fraction(1, 2**bits)
    single = max(Fraction(1, 10**6), 4 * k * Fraction(1, 2**24))
    share, off = {
        53: (Fraction(1, 10**9), max(Fraction(1, 10**12), 2 * k * unit)),
        24: (Fraction(1, 10**5), single),
        11: (unit, max(4 * unit, single)),
    }[bits]
    beyond = least * (1 + unit) + VALIDITY_ATOL < (rest - off) / unlisted
    return beyond and least < rest / unlisted * (1 - share) - VALIDITY_ATOL


def pad(confidences: Sequence[float], size: int, place: int, dtype: str = "float64") -> Padded:
    """Clean a list, cut it to its largest valid sublist, pad it. The outcome stands at `place`, or nowhere (-1)."""
    values, rest = cleaned(confidences, size)
    unlisted, order = size - len(values), sorted(range(len(values)), key=values.__getitem__)
    invalid = False
    if order and unlisted:
        bits = min(BITS[dtype], max(map(significant_bits, confidences)))
        invalid = is_invalid(values[order[0]], rest, unlisted, len(values), bits)
    while order and unlisted and values[order[0]] < rest / unlisted:
        rest, unlisted = rest + values[order.pop(0)], unlisted + 1
    proxy = rest / unlisted if unlisted else Fraction(0)
    hit = place in order
    return Padded(tuple(values[i] for i in order), proxy, unlisted, values[place] if hit else proxy, hit, invalid)


def sides(confidences: Sequence[float], size: int, place: int, p: Padded) -> set[Number]:
    """The zero-one scores on both sides of its jump, if the list stands there; otherwise none.

    The zero-one score jumps where the most confident listed class passes the proxy: below, every class ties; above,
    the listed ones are ahead. Lists whose confidences are all equal tie where these are 1 / m up to rounding, see
    `is_even`. Others, which differ in the last digits alone, may be cut to those of their classes that doubles hold to
    be above the proxy: either score is right.
    """
    values, _ = cleaned(confidences, size)
    top = max(values, default=Fraction(0))
    if len(set(values)) < 2 or not 0 < abs(top - p.proxy) <= p.proxy / 10**13:
        return set()
    hit = place >= 0 and values[place] == top
    return {1 - Fraction(1, size), 1 - Fraction(hit, values.count(top))}


def is_even(top: Fraction, size: int) -> bool:
    """Is this 1 / m, as a softmax in doubles has it, or rounded to float32 or float16?"""
    even = Fraction(1, size)
    return top in {rounded(even, 24), rounded(even, 11)} or top <= even * (1 + EPS * Fraction(4 + 2 * math.log(size)))


def rounded(x: Fraction, bits: int) -> Fraction:
    """To so many significant bits; there are no ties between neighbours for 1 / m but where it is one of them."""
    exponent = x.denominator.bit_length() - x.numerator.bit_length() + bits
    return next(Fraction(n, 2**e) for e in (exponent, exponent - 1) if (n := round(x * 2**e)) <= 2**bits)


def decimal(x: Fraction) -> Any:
    """A rational in long decimals."""
    return mp.mpf(x.numerator) / x.denominator


def _sum(terms: Callable[[Any], Any], over: list[tuple[Fraction, int]]) -> Any:
    return mp.fsum(count * terms(decimal(t)) for t, count in over if count)


def brier(p: Padded) -> Number:
    """The squared distance to the outcome."""
    return (1 - p.outcome) ** 2 + sum((count * t**2 for t, count in p.others), Fraction(0))


def log(p: Padded) -> Number:
    """Minus the logarithm of the outcome's probability."""
    return -mp.log(decimal(p.outcome)) if p.outcome else mp.inf


def pseudospherical(a: float) -> Callable[[Padded], Number]:
    """1 - (q / norm)**(a - 1), with the a-norm."""

    def definition(p: Padded) -> Number:
        norm = _sum(lambda t: t**a, p.classes) ** (1 / mp.mpf(a))
        return 1 - (decimal(p.outcome) / norm) ** (mp.mpf(a) - 1)

    return definition


def power(a: float) -> Callable[[Padded], Number]:
    """(1 - a q**(a - 1)) / (a - 1) + sum of powers."""

    def definition(p: Padded) -> Number:
        if not p.outcome and a < 1:
            return mp.inf
        return (1 - a * decimal(p.outcome) ** (mp.mpf(a) - 1)) / (mp.mpf(a) - 1) + _sum(lambda t: t**a, p.classes)

    return definition


def renyi(a: float) -> Callable[[Padded], Number]:
    """[log M + a q**(a - 1) / M - a] / (1 - a), with M the sum of powers."""

    def definition(p: Padded) -> Number:
        if not p.outcome:
            return mp.inf
        total = _sum(lambda t: t**a, p.classes)
        return (mp.log(total) + a * decimal(p.outcome) ** (mp.mpf(a) - 1) / total - a) / (1 - mp.mpf(a))

    return definition


def zero_one(p: Padded) -> Number:
    """One minus the outcome's share of the classes that tie for the largest probability; see `is_even`."""
    size = len(p.listed) + p.unlisted
    if p.unlisted and len(set(p.listed)) == 1 and is_even(p.listed[0], size):
        return 1 - Fraction(1, size)
    top = max(t for t, count in p.classes if count)
    ties = sum(count for t, count in p.classes if t == top)
    return 1 - Fraction(p.outcome == top, ties)


def one_vs_rest(happens: Callable[[Any], Any], fails: Callable[[Any], Any]) -> Callable[[Padded], Number]:
    """A binary score for each class, added up."""
    return lambda p: happens(decimal(p.outcome)) + _sum(fails, p.others)


def _ratio_root(x: Any, y: Any) -> Any:
    return mp.sqrt(x / y) if y else mp.inf


DEFINITIONS: dict[str, tuple[tl.Rule, Callable[[Padded], Number]]] = {
    "brier": (tl.Brier(), brier),
    "log": (tl.Log(), log),
    "spherical": (tl.Spherical(), pseudospherical(2.0)),
    "zero-one": (tl.ZeroOne(), zero_one),
    "power 0.5": (tl.Power(0.5), power(0.5)),
    "power 1.5": (tl.Power(1.5), power(1.5)),
    "power 2": (tl.Power(2.0), power(2.0)),
    "power 3": (tl.Power(3.0), power(3.0)),
    "power 1.1": (tl.Power(1.1), power(1.1)),
    "pseudospherical 1.5": (tl.PseudoSpherical(1.5), pseudospherical(1.5)),
    "pseudospherical 3": (tl.PseudoSpherical(3.0), pseudospherical(3.0)),
    "renyi 0.5": (tl.Renyi(0.5), renyi(0.5)),
    "renyi 0.9": (tl.Renyi(0.9), renyi(0.9)),
    "one-vs-rest log": (
        tl.OneVsRest("log"),
        one_vs_rest(lambda q: -mp.log(q) if q else mp.inf, lambda t: -mp.log1p(-t) if t < 1 else mp.inf),
    ),
    "one-vs-rest brier": (tl.OneVsRest("brier"), one_vs_rest(lambda q: (1 - q) ** 2, lambda t: t * t)),
    "one-vs-rest boosting": (
        tl.OneVsRest("boosting"),
        one_vs_rest(lambda q: _ratio_root(1 - q, q), lambda t: _ratio_root(t, 1 - t)),
    ),
}


@cache
def default_penalty(name: str, size: int) -> Number:
    """What an invalid list pays: a hundredth of the score of the uniform distribution."""
    return PENALTY * score_padded(name, Padded((), Fraction(1, size), size, Fraction(1, size), False, False))


def score_padded(name: str, p: Padded) -> Number:
    """The score by definition."""
    with mp.workdps(DIGITS):
        return DEFINITIONS[name][1](p)


def score(name: str, p: Padded, size: int) -> Number:
    """The score by definition, with the default penalty if the list was invalid."""
    with mp.workdps(DIGITS):
        plain = score_padded(name, p)
        return plain + default_penalty(name, size) if p.invalid else plain


def entropy(name: str, p: Padded) -> Number:
    """The expected score of a padded distribution under itself, by definition; 0 * infinity = 0."""
    with mp.workdps(DIGITS):
        listed = [Padded(p.listed, p.proxy, p.unlisted, t, True, False) for t in p.listed]
        blocks = [*((q, 1) for q in listed), (Padded(p.listed, p.proxy, p.unlisted, p.proxy, False, False), p.unlisted)]
        return mp.fsum(
            count * decimal(q.outcome) * as_decimal(score_padded(name, q)) for q, count in blocks if count and q.outcome
        )


def as_decimal(x: Number) -> Any:
    """A rational or a long decimal as the latter."""
    return decimal(x) if isinstance(x, Fraction) else x


def relative_error(got: float, expected: Number) -> float:
    """How far off a score is, relative to the exact one; absolute where that vanishes; infinities must match."""
    if expected in (mp.inf, -mp.inf) or got != got or abs(got) == float("inf"):
        return 0.0 if expected == got else float("inf")
    with mp.workdps(DIGITS):
        exact = as_decimal(expected)
        return float(abs(mp.mpf(got) - exact) / (abs(exact) if abs(exact) > VANISHING else 1))
