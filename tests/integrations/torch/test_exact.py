"""Exact sums on a device are the sums of fractions, whatever the order and split of the numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from toplist.integrations.torch import exact

UNIT = Fraction(1, 2**1074)
few = settings(max_examples=60)
numbers = st.floats(-(2.0**500), 2.0**500, allow_nan=False)
ordinary = st.one_of(
    st.floats(-1e6, 1e6).map(lambda x: x if abs(x) > 1e-150 else 0.0), st.sampled_from([0.1, 2.0**400])
)


def column(values: list[float]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)[:, None]


@few
@given(st.lists(numbers, min_size=1, max_size=30))
def test_a_sum_is_that_of_fractions(values: list[float]) -> None:
    (found,) = exact.to_integers(exact.sums_of(column(values)))
    assert found * UNIT == sum(map(Fraction, values), Fraction(0))


@few
@given(st.lists(st.tuples(ordinary, ordinary), min_size=1, max_size=30))
def test_a_sum_of_products_is_that_of_fractions(pairs: list[tuple[float, float]]) -> None:
    x, y = (column(list(side)) for side in zip(*pairs, strict=True))
    (found,) = exact.to_integers(exact.products_of(x, y))
    assert found * UNIT == sum(Fraction(a) * Fraction(b) for a, b in pairs)


@few
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=10))
def test_of_products_no_more_is_cut_off_than_three_units_each(pairs: list[tuple[float, float]]) -> None:
    x, y = (column(list(side)) for side in zip(*pairs, strict=True))
    (found,) = exact.to_integers(exact.products_of(x, y))
    true = sum(Fraction(a) * Fraction(b) for a, b in pairs)
    assert 0 <= true / UNIT - found < 3 * len(pairs)


@few
@given(st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=1, max_size=20))
def test_products_of_numbers_of_32_bits_take_one_term(values: list[float]) -> None:
    x = column(values)
    assert torch.equal(exact.products_of(x, x, narrow=True), exact.products_of(x, x))


def test_every_split_gives_the_same_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = torch.randn(1000, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) ** 9
    whole = [exact.to_integers(made) for made in (exact.sums_of(rows), exact.products_of(rows, rows))]
    monkeypatch.setattr(exact, "CHUNK", 21)
    assert [exact.to_integers(made) for made in (exact.sums_of(rows), exact.products_of(rows, rows))] == whole
    shuffled = rows[torch.randperm(1000, generator=torch.Generator().manual_seed(1))]
    assert exact.to_integers(exact.sums_of(shuffled)) == whole[0]


def test_carrying_changes_no_sum_and_leaves_room() -> None:
    limbs = torch.randint(-(2**62), 2**62, (4, exact.LIMBS), generator=torch.Generator().manual_seed(0))
    carried = exact.carried(limbs)
    assert exact.to_integers(carried) == exact.to_integers(limbs)
    assert int(carried[:, :-1].abs().max()) < 2**33
