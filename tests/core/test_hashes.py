"""Hashes of ids: the same in both kernels, of numbers that of their text, spread evenly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.core.integers import law
from toplist.core import kernel

MASK = (1 << 64) - 1
seeds = st.integers(0, 2**64 - 1) | st.integers(0, 3)


def mixed(x: int) -> int:
    """The finalizer of SplitMix64 in Python's integers."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def by_hand(text: bytes, seed: int) -> int:
    value = mixed(seed ^ mixed(len(text) + 0x9E3779B97F4A7C15 & MASK))
    for at in range(0, len(text), 8):
        value = mixed(value ^ int.from_bytes(text[at : at + 8], "little"))
    return value


def hashed(texts: list[bytes], seed: int, front: int = 0) -> NDArray[np.uint64]:
    data = np.frombuffer(b"?" * front + b"".join(texts), np.uint8)
    return kernel.hash_text(data, front + np.cumsum([0, *map(len, texts)]), seed)


@pytest.fixture(params=["chosen", "pure"])
def either(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "pure":
        monkeypatch.setattr(kernel, "_compiled", None)
    return str(request.param)


@pytest.mark.usefixtures("either")
class TestHashes:
    @law
    @given(st.lists(st.text().map(lambda text: text.encode("utf-8", "surrogatepass")), max_size=6), seeds)
    def test_of_texts_are_those_by_hand(self, texts: list[bytes], seed: int) -> None:
        assert hashed(texts, seed).tolist() == [by_hand(text, seed) for text in texts]
        assert hashed(texts, seed, front=3).tolist() == [by_hand(text, seed) for text in texts]

    def test_of_long_and_empty_texts_are_those_by_hand(self) -> None:
        texts = [b"", b"\0", b"\0" * 8, b"x" * 5000, "ü".encode() * 4, b"12345678", b"123456789"]
        assert hashed(texts, 5).tolist() == [by_hand(text, 5) for text in texts]
        assert len(set(hashed(texts, 5).tolist())) == len(texts)

    @law
    @given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.integers(0, 2**64 - 1)), seeds)
    def test_of_numbers_are_those_of_their_text(self, signed: list[int], unsigned: list[int], seed: int) -> None:
        for values, dtype in ((signed, np.int64), (unsigned, np.uint64)):
            expected = hashed([str(value).encode() for value in values], seed)
            assert kernel.hash_integers(np.array(values, dtype), seed).tolist() == expected.tolist()

    def test_of_numbers_do_not_depend_on_their_type(self) -> None:
        types = (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64)
        found = {tuple(kernel.hash_integers(np.arange(100).astype(kind)).tolist()) for kind in types}
        assert len(found) == 1

    def test_are_spread_evenly_and_differ_by_seed(self) -> None:
        u = kernel.uniform(kernel.hash_integers(np.arange(20_000), 1))
        other = kernel.uniform(kernel.hash_integers(np.arange(20_000), 2))
        assert u.min() >= 0
        assert u.max() < 1
        counts = np.histogram2d(u, other, bins=10, range=((0, 1), (0, 1)))[0]
        assert ((counts - 200) ** 2 / 200).sum() < 160  # chi squared with 99 degrees of freedom: 1 in 10,000


def test_offsets_that_fall_or_leave_the_text_are_refused() -> None:
    data = np.zeros(4, np.uint8)
    if kernel.NATIVE:
        for offsets in ([0, 5], [3, 2], [-1, 2]):
            with pytest.raises(ValueError, match="offsets must rise"):
                kernel.hash_text(data, np.array(offsets), 0)
