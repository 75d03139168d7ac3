"""Form N of the top-beta score on tables of sorted lists, for any array library: one pass back, one pass forth.

With T_j the mass of the first j classes, s_j = beta - T_{j-1} and L_j = 2 (1 - T_{j-1}) - t_j, the entropy is -V_1:

    V_j = (s_j + V_{j+1} / 4)**2 / L_j  while s_j > 0, up to the cap, and 0 from there on.

Its tangent is a sum over ranks like form M, with weights that the list itself has: w_j = (s_j + V_{j+1} / 4) / L_j, and
A_1 = 1, A_{j+1} = A_j w_j / 2. Nothing depends on the number of classes (docs/topbeta.md).
"""

from __future__ import annotations

from typing import Any, Final

Array = Any

STEP: Final = 0.25  # what the next rank counts in a rank; the largest number that serves lists of every length
RANKS: Final = 64  # what stands after so many more ranks changes no digit: each halves it at least


def ratios(xp: Any, t: Array, beta: float, after: Array | None = None) -> tuple[Array, Array]:
    """V_1 of each sorted row and its w_j, as (n,) and (n, k); `after` is V of what follows the last class."""
    before = exclusive(xp, t)
    left = beta - before
    value = xp.zeros_like(t[:, 0]) if after is None else after
    columns = []
    for j in reversed(range(t.shape[1])):
        some = left[:, j] > 0
        reach = left[:, j] + STEP * value
        w = xp.where(some, reach, 0.0) / xp.where(some, 2.0 * (1.0 - before[:, j]) - t[:, j], 1.0)
        value = reach * w
        columns.append(w)
    return value, xp.stack(columns[::-1], axis=1)


def each(xp: Any, t: Array, beta: float) -> tuple[Array, Array]:
    """The score of sorted rows, (n, k), if the class at each rank happens, and if none of them does."""
    _, w = ratios(xp, t, beta)
    weight, weights = xp.ones_like(t[:, 0]), []
    for j in range(t.shape[1]):
        weights.append(weight)
        weight = weight * (0.5 * w[:, j])
    aw = xp.stack(weights, axis=1) * w
    early = 2.0 * aw * (w - beta)  # the rank is before that of the outcome
    late = 2.0 * (1.0 - beta) * aw  # it is behind
    behind = xp.flip(exclusive(xp, xp.flip(late, axis=1)), axis=1)
    return exclusive(xp, early) + aw * (w - 2.0 * beta) + behind, xp.sum(early, axis=1)


def flat(xp: Any, mass: Array, proxy: Array, beta: float, most: Array) -> Array:
    """V of a run of classes that all have the probability `proxy`, behind classes that have this mass.

    `most` is how many of them the cap leaves. For infinitely many classes the proxy is zero, and V a fixed point.
    """
    value = xp.zeros_like(mass)
    for j in reversed(range(RANKS)):
        before = mass + j * proxy
        left = xp.where(most > j, beta - before, 0.0)
        some = left > 0
        scale = xp.where(some, 2.0 * (1.0 - before) - proxy, 1.0)
        value = xp.where(some, (left + STEP * value) ** 2 / scale, 0.0)
    return value


def share_ties(xp: Any, key: Array, values: Array) -> Array:
    """Values of sorted rows, where classes that have the same key share the mean of theirs."""
    same = key[:, 1:] == key[:, :-1]
    if not bool(xp.any(same)):
        return values
    total, count, runs = values[:, 0], xp.ones_like(values[:, 0]), []
    runs.append((total, count))
    for j in range(1, key.shape[1]):
        tied = same[:, j - 1]
        total = xp.where(tied, total, 0.0) + values[:, j]
        count = xp.where(tied, count, 0.0) + 1.0
        runs.append((total, count))
    mean, means = total / count, [total / count]
    for j in reversed(range(key.shape[1] - 1)):
        total, count = runs[j]
        mean = xp.where(same[:, j], mean, total / count)
        means.append(mean)
    return xp.stack(means[::-1], axis=1)


def exclusive(xp: Any, x: Array) -> Array:
    """Running sums along each row, without the entry itself."""
    return xp.concat([xp.zeros_like(x[:, :1]), xp.cumulative_sum(x, axis=1)[:, :-1]], axis=1)


def sorting_key(xp: Any, t: Array, log_t: Array | None) -> Array:
    """What orders the classes of a row: confidences, and below them the logs of those too small to be numbers."""
    if log_t is None:
        return t
    return xp.where(log_t < 0, log_t, xp.where(t > 0, t, -xp.inf))
