"""Sums as bytes: what is written comes back, to the last bit, and damaged bytes are an error in one sentence."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.integers import law
from tests.draws import draws
from tests.inference.case_score_factories import cases, sheet_of
from tests.inference.test_tallies import KINDS
from toplist.errors import FileError, TopListError
from toplist.inference.aggregates import Aggregates, merge, tally
from toplist.inference.codec import encoded, from_bytes, to_bytes
from toplist.inference.missing import Difficulty

pytest.importorskip("msgspec")
LIMIT = 4096


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(kind) or "plain")
def test_sums_come_back_as_they_were(kind: dict[str, bool]) -> None:
    for one in cases(1, 40, **kind).tally().values():
        again = Aggregates.from_bytes(one.to_bytes())
        assert again == one
        assert [*map(type, again.clusters)] == [type(key) for key in sorted(one.clusters)]
        assert again.to_bytes() == one.to_bytes()


def test_the_bytes_of_parts_merge_to_those_of_all_cases() -> None:
    made = cases(3, 60, weighted=True, clustered=True)
    parts = [made.at(part).tally()[None] for part in np.array_split(np.random.default_rng(0).permutation(60), 4)]
    read = [Aggregates.from_bytes(part.to_bytes()) for part in parts]
    assert (read[3] + read[1] + (read[0] + read[2])).to_bytes() == made.tally()[None].to_bytes()


def test_two_models_and_two_rules_take_a_few_kilobytes() -> None:
    made = cases(1, 4000)
    assert len(replace(made, lists=made.lists[:2]).tally()[None].to_bytes()) < LIMIT


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 5e-324, 1e149])
def test_tiny_and_huge_scores_come_back(scale: float) -> None:
    one = tally([sheet_of(np.array([1.0, 2.0, 3.0]) * scale), sheet_of(np.array([3.0, 3.0, 1.0]) * scale)])[None]
    assert Aggregates.from_bytes(one.to_bytes()) == one


def test_sums_of_different_comparisons_are_not_added() -> None:
    one = cases(1, 8).tally()
    for other in (cases(1, 8, weighted=True).tally(), replace(cases(1, 8), lists=cases(1, 8).lists[:2]).tally()):
        with pytest.raises(TopListError, match="they cannot be added"):
            merge(one, other)


@dataclass(frozen=True)
class Record:
    """Values of all kinds that partial results have."""

    whole: tuple[int, ...] = ()
    number: float | None = None
    text: str = ""
    by: dict[str | int | None, int] | None = None
    array: Any = None


whole = st.integers(-(2**2304), 2**2304) | st.integers(-300, 300) | st.integers(60, 2304).map(lambda n: -1 << n)


@settings(law, max_examples=draws(60))
@given(st.lists(whole), st.none() | st.floats(allow_nan=False), st.text(st.characters(), max_size=5), st.data())
def test_values_come_back(numbers: list[int], number: float | None, text: str, data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.text(max_size=3) | st.integers(-5, 5) | st.none(), unique=True, max_size=4))
    record = Record(tuple(numbers), number, text, dict.fromkeys(keys, 3))
    again = from_bytes(to_bytes(record), Record, "memory")
    assert again == record
    assert encoded(again) == encoded(replace(record, by=dict.fromkeys(reversed(keys), 3)))


def test_numbers_and_names_that_others_have_no_room_for_come_back() -> None:
    for record in (Record(number=float("inf")), Record(text="ü\ud800.csv"), Record(by={None: 1, "": 2, 7: 3, "7": 4})):
        assert from_bytes(to_bytes(record), Record, "memory") == record
    for array in (np.array([[1, 1 << 3000], [-5, 0]], object), np.arange(6, dtype=np.uint64).reshape(2, 3)):
        again = from_bytes(to_bytes(Record(array=array)), Record, "memory").array
        assert again.dtype == array.dtype
        assert np.array_equal(again, array)


def test_a_key_that_cannot_be_saved_is_refused_with_the_remedy() -> None:
    one = cases(1, 12, clustered=True).tally()[None]
    with pytest.raises(TopListError, match="of the type date, which cannot be saved: make it text"):
        replace(one, clusters={date(2026, 1, 2): next(iter(one.clusters.values()))}).to_bytes()


# Damage

DATA = cases(1, 12, weighted=True, clustered=True).tally()[None].to_bytes()


def refused(data: Any) -> str:
    """The one sentence that these bytes are refused with; it names the source."""
    with pytest.raises(FileError) as caught:
        Aggregates.from_bytes(data, "part.tlp")
    message = str(caught.value)
    assert message.startswith("part.tlp: ")
    assert "\n" not in message
    assert len(message) < 300
    return message


def test_each_changed_byte_is_found() -> None:
    rng = random.Random(1)  # noqa: S311
    for at in [*range(80), *rng.sample(range(len(DATA)), 200)]:
        refused(DATA[:at] + bytes([DATA[at] ^ 1 << rng.randrange(8)]) + DATA[at + 1 :])


def test_bytes_that_are_cut_off_or_go_on_are_found() -> None:
    for at in [*range(60), *range(60, len(DATA), 97)]:
        refused(DATA[:at])
    assert "damaged or cut off: compute it again" in refused(DATA[:-1])
    for more in (b"\0", DATA):
        assert "damaged" in refused(DATA + more)


@pytest.mark.parametrize("other", [b"", b"PAR1", b"{}", DATA[1:], b"\0" * 100, "text", None, 3], ids=range(8))
def test_what_was_never_a_partial_result_is_found(other: Any) -> None:
    assert ("this is no partial result of toplist" in refused(other)) == isinstance(other, bytes)


@pytest.mark.parametrize("version", [1, 7])
def test_another_format_says_what_to_do(version: int) -> None:
    said = refused(DATA[:8] + version.to_bytes(2, "little") + DATA[10:])
    assert f"has format {version}, and this version of toplist reads format 2: compute it again." in said


@pytest.mark.parametrize("record", [Record(), Difficulty(2), {"cases": "x", "sums": {}}, [], None, 3], ids=str)
def test_another_record_is_refused(record: Any) -> None:
    assert "another version of toplist wrote it" in refused(to_bytes(record))
