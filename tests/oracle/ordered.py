"""Scores of ordered classes against exact arithmetic: the lists of `million`, and distributions that are cut.

    python -m tests.oracle.ordered [lists] [--seed SEED]

prints the worst relative error per rule and kind of list; the exit status is 1 above 1e-12. A tenth as many
distributions are cut as lists are drawn.

The oracle adds up the thresholds between listed classes in rationals, or as logarithms of gamma functions in long
decimals, so that many classes are no more work than two. Lists over more classes than can have an order are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np

import toplist as tl
from tests.oracle.draws import Draw, draw
from tests.oracle.exact import cleaned, decimal, relative_error
from tests.oracle.truncated import Truncated, draws, rationals

TOLERANCE = 1e-12
DIGITS = 120
MOST = 100_000  # classes that can have an order
RULES = ("rps", "rps-normalized", "ranked_log")
CUTS = ("a distribution", "logits")
Row = tuple[Sequence[int], Sequence[float], int, int]  # classes, confidences, number of classes, outcome


def pad(classes: Sequence[int], confidences: Sequence[float], size: int) -> tuple[dict[int, Fraction], Fraction]:
    """The probabilities of the largest valid sublist by class, and that of each other class.

    Where the rest mass is rounding, and taken as zero, the listed ones are all there is.
    """
    values, rest = cleaned(confidences, size)
    if not rest:
        values = [t / sum(values) for t in values]
    kept = sorted(zip(values, classes, strict=True))
    unlisted = size - len(kept)
    while kept and unlisted and kept[0][0] < rest / unlisted:
        rest, unlisted = rest + kept.pop(0)[0], unlisted + 1
    return {c: t for t, c in kept}, rest / unlisted if unlisted else Fraction(0)


def score(name: str, listed: Mapping[int, Fraction], proxy: Fraction, size: int, y: int) -> Any:
    """The sum over thresholds, run by run: along a run the probabilities on both sides change by the proxy."""
    starts = sorted({0, y, *listed})
    below, total, before = Fraction(0), mp.mpf(0), -1
    for start, end in zip(starts, [*starts[1:], size - 1], strict=True):
        below += (start - before - 1) * proxy + listed.get(start, proxy)
        before, n = start, end - start
        if n > 0:
            last = below + (n - 1) * proxy
            wrong, right = (below, 1 - last) if start < y else (1 - last, below)  # the least of each side
            total += _logs(right, n, proxy) if name == "ranked_log" else _squares(wrong, n, proxy)
            below, before = last, end - 1
    return total / max(size - 1, 1) if name == "rps-normalized" else total


def _squares(least: Fraction, n: int, step: Fraction) -> Any:
    """The sum over x = least, least + step, ... of x**2."""
    return decimal(n * least**2 + least * step * n * (n - 1) + step**2 * Fraction((n - 1) * n * (2 * n - 1), 6))


def _logs(least: Fraction, n: int, step: Fraction) -> Any:
    """The sum over the same of -log x."""
    if least <= 0:
        return mp.inf
    if not step:
        return -n * mp.log(decimal(least))
    ratio = decimal(least / step)
    return -(n * mp.log(decimal(step)) + mp.loggamma(ratio + n) - mp.loggamma(ratio))


def in_order(drawn: Draw) -> Draw:
    """The lists of a draw over so few classes that they can have an order."""
    few = drawn.sizes <= MOST
    return Draw(*(getattr(drawn, field.name)[few] for field in fields(Draw)))


def rows(drawn: Draw) -> Iterator[Row]:
    """The lists of a draw, one at a time."""
    offsets, classes, confidences = drawn.ragged
    for i in range(len(drawn)):
        here = slice(offsets[i], offsets[i + 1])
        yield classes[here].tolist(), confidences[here].tolist(), int(drawn.sizes[i]), int(drawn.outcomes[i])


def errors_of_draw(drawn: Draw) -> Iterator[tuple[str, str, float]]:
    """Rule, kind and relative error of every list."""
    offsets, classes, confidences = drawn.ragged
    lists = tl.TopLists.from_ragged(offsets, classes, confidences, tl.ClassSpace(drawn.sizes, ordinal=True))
    got = {name: tl.score(lists, drawn.outcomes, rule=name, penalty=0) for name in RULES}
    for i, (own, t, size, y) in enumerate(rows(drawn)):
        listed, proxy = pad(own, t, size)
        for name in RULES:
            yield name, str(drawn.kinds[i]), relative_error(got[name][i], score(name, listed, proxy, size, y))


def errors_of_cut(case: Truncated, way: str) -> Iterator[tuple[str, str, float]]:
    """The same for a distribution that is cut to its most likely classes."""
    values, m = case.p if way == "a distribution" else case.logits, len(case.p)
    space = tl.ClassSpace(m, ordinal=True)
    exact = rationals(values.tolist()) if way == "logits" else [Fraction(x) for x in values.tolist()]
    if way == "logits":
        lists = tl.TopLists.from_logits(values[None], k=case.k, space=space)
    else:
        lists = tl.TopLists.from_proba(values[None], space=space).truncate(case.k)
    mass = sum(exact, Fraction(0))
    kept = np.argsort(-values, kind="stable")[: case.k].tolist()
    listed = {i: exact[i] / mass for i in kept}
    proxy = (1 - sum(listed.values(), Fraction(0))) / (m - case.k)
    for name in RULES:
        right = score(name, listed, proxy, m, case.outcome)
        yield name, f"cut, {way}", relative_error(tl.score(lists, [case.outcome], rule=name)[0], right)


def run(n: int, seed: int) -> dict[tuple[str, str], float]:
    """The worst error by rule and kind of list."""
    worst: dict[tuple[str, str], float] = {}
    rng = np.random.default_rng(seed)
    with mp.workdps(DIGITS):
        for dtype in ("float64", "float32"):
            for name, kind, off in errors_of_draw(in_order(draw(rng, -(-n // 2), np.dtype(dtype)))):
                worst[name, kind] = max(worst.get((name, kind), 0.0), off)
        for case in draws(rng, -(-n // 10)):
            for way in CUTS:
                for name, kind, off in errors_of_cut(case, way):
                    worst[name, kind] = max(worst.get((name, kind), 0.0), off)
    return worst


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.ordered", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("lists", nargs="?", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    worst = run(options.lists, options.seed)
    print(f"{'rule':<16} {'lists':<22} {'worst error':>11}")
    for (name, kind), off in sorted(worst.items()):
        print(f"{name:<16} {kind:<22} {off:11.1e}{f'  above {TOLERANCE}' if off > TOLERANCE else ''}")
    return int(max(worst.values()) > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
