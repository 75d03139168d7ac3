"""Exact sums on a device: integers in units of 2**-1074, the smallest double, cut into limbs of 32 bits.

A double is an integer times a power of two, so that adding doubles is adding integers, and no order, split or merge of
them changes the result. A sum is one row of `LIMBS` numbers of 64 bits, of which each has room for carries: sums are
merged by adding these rows, which is what processes and metrics can do. Numbers of 64 bits are needed, and no floating
point: results are the same on every device. The unit is that of `toplist.core.kernel.exact_sums`.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from toplist.core.kernel import BITS

Tensor = torch.Tensor
LIMB = 32
LARGEST = 2.0**480  # a number of which a million may be added and squared, and 2**62 such squares added
LIMBS = 67  # for 1074 bits of fractions, 1000 before the point, and a count of 62
CHUNK = 1 << 18  # numbers that are worked on at once
_HALF = 27
_LANES = 64  # places for atomic additions of the same sum, so that they seldom wait for each other
_MASK = (1 << LIMB) - 1


def carried(limbs: Tensor) -> Tensor:
    """The same sums with what is above 32 bits moved to the next limb, so that there is room for 2**29 additions."""
    above = limbs >> LIMB
    above[..., -1] = 0  # the last limb keeps its sign
    found = limbs - (above << LIMB)
    found[..., 1:] += above[..., :-1]
    return found


def to_integers(limbs: Tensor) -> list[int]:
    """The sums as Python integers, in units of 2**-1074; sums of any shape come in a flat list.

    >>> to_integers(sums_of(torch.tensor([[0.5], [0.25]], dtype=torch.float64))) == [3 << 1072]
    True
    """
    rows = limbs.detach().cpu().reshape(-1, limbs.shape[-1]).tolist()
    return [sum(limb << (LIMB * at) for at, limb in enumerate(row) if limb) for row in rows]


def sums_of(x: Tensor) -> Tensor:
    """The exact sum of each column of (n, columns) doubles, as (columns, LIMBS).

    No number may be above 2**500, a million times the largest score, nor be infinite or NaN.
    """
    found = x.new_zeros((x.shape[1], LIMBS), dtype=torch.int64)
    for (part,) in _chunks(x):
        found += _gathered([_parts(part)])
        found = carried(found)
    return found


def products_of(x: Tensor, y: Tensor, *, narrow: bool = False) -> Tensor:
    """The exact sum of each column of the products of (n, columns) doubles, as (columns, LIMBS).

    Of a product below 2**-1022, what is below 2**-1074 is cut off.

    Parameters
    ----------
    x, y : Tensor of shape (n, columns)
        Doubles of at most 2**500.
    narrow : bool, default False
        Whether all of them have at most 26 significant bits, as numbers of 32 bits have.

    Examples
    --------
    >>> x = torch.tensor([[0.5], [3.0]], dtype=torch.float64)
    >>> to_integers(products_of(x, x)) == [37 << 1072]
    True
    """
    found = x.new_zeros((x.shape[1], LIMBS), dtype=torch.int64)
    for one, other in _chunks(x, y):
        (m, place), (n, beside) = _parts(one), _parts(other)
        at = place + beside - BITS
        a, c = m >> _HALF, n >> _HALF
        terms = [_shifted(a * c, at + 2 * _HALF)]
        if not narrow:
            b, d = m & ((1 << _HALF) - 1), n & ((1 << _HALF) - 1)
            terms += [_shifted(a * d + b * c, at + _HALF), _shifted(b * d, at)]
        found += _gathered(terms)
        found = carried(found)
    return found


def _chunks(*columns: Tensor) -> Iterator[tuple[Tensor, ...]]:
    step = max(1, CHUNK // max(columns[0].shape[1], 1))
    for at in range(0, columns[0].shape[0], step):
        yield tuple(one[at : at + step] for one in columns)


def _parts(x: Tensor) -> tuple[Tensor, Tensor]:
    """Doubles as integers of 53 bits and a sign, and the places of their last bits."""
    bits = x.contiguous().view(torch.int64)
    exponent = (bits >> 52) & 0x7FF
    fraction = bits & ((1 << 52) - 1)
    magnitude = torch.where(exponent > 0, fraction | (1 << 52), fraction)
    return torch.where(bits < 0, -magnitude, magnitude), (exponent - 1).clamp(min=0)


def _shifted(m: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
    """The same without what lies below the unit."""
    return m >> (-place).clamp(0, 63), place.clamp(min=0)


def _gathered(terms: list[tuple[Tensor, Tensor]]) -> Tensor:
    """The sums of integers below 2**55 at their places, in limbs; each of these is below 2**36 times the rows."""
    m, place = (torch.stack(one) for one in zip(*terms, strict=True))
    _, rows, columns = m.shape
    at, shift = place >> 5, place & 31
    low, high = (m & _MASK) << shift, (m >> LIMB) << shift
    pieces = torch.stack([low & _MASK, (low >> LIMB) + (high & _MASK), high >> LIMB])
    lanes = 1 if m.device.type == "cpu" else _LANES
    row, column = torch.arange(rows, device=m.device), torch.arange(columns, device=m.device)
    start = ((row % lanes)[:, None] * columns + column) * LIMBS + at
    index = torch.stack([start, start + 1, start + 2])
    flat = m.new_zeros(lanes * columns * LIMBS)
    flat.scatter_add_(0, index.reshape(-1), pieces.reshape(-1))
    return flat.reshape(lanes, columns, LIMBS).sum(dim=0)
