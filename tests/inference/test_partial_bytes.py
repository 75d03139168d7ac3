"""Sums as bytes: what is written comes back, and damaged or contradictory bytes are an error in one sentence."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Hashable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
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
from toplist.inference import partial_bytes
from toplist.inference.aggregates import Aggregates, merge, overall, tally
from toplist.inference.partial_bytes import (
    load_json,
    origin,
    pack,
    pack_integers,
    pack_keys,
    unpack,
    unpack_integers,
    unpack_keys,
)

FIXED = 54
LIMIT = 4096


def sealed(data: bytes) -> bytes:
    """Bytes that were changed, with a digest and a length that are right."""
    start = data[:14] + len(data).to_bytes(8, "little")
    return start + hashlib.sha256(start + data[FIXED:]).digest() + data[FIXED:]


def with_header(data: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The same blocks with another header, sealed."""
    size = int.from_bytes(data[10:14], "little")
    described = json.loads(data[FIXED : FIXED + size])
    made = change(described)
    text = made if isinstance(made, bytes) else json.dumps(described).encode()
    return sealed(data[:10] + len(text).to_bytes(4, "little") + data[14:FIXED] + text + data[FIXED + size :])


def refused(data: Any) -> str:
    """The one sentence that these bytes are refused with; it names the source."""
    with pytest.raises(FileError) as caught:
        Aggregates.from_bytes(data, "part.tlp")
    message = str(caught.value)
    assert message.startswith("part.tlp: ")
    assert "\n" not in message
    assert len(message) < 300
    return message


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(kind) or "plain")
def test_sums_come_back_as_they_were(kind: dict[str, bool]) -> None:
    for one in cases(1, 40, **kind).tally().values():
        again = Aggregates.from_bytes(one.to_bytes())
        assert again == one
        assert list(map(type, again.clusters)) == list(map(type, sorted(one.clusters, key=partial_bytes.key_order)))
        assert again.to_bytes() == one.to_bytes()


def test_the_bytes_of_parts_merge_to_those_of_all_cases() -> None:
    made = cases(3, 60, weighted=True, clustered=True)
    parts = [made.at(part).tally()[None] for part in np.array_split(np.random.default_rng(0).permutation(60), 4)]
    read = [Aggregates.from_bytes(part.to_bytes()) for part in parts]
    assert (read[3] + read[1] + (read[0] + read[2])).to_bytes() == made.tally()[None].to_bytes()


def test_two_models_and_two_rules_take_a_few_kilobytes() -> None:
    made = cases(1, 4000)
    two = replace(made, lists=made.lists[:2])
    assert len(two.tally()[None].to_bytes()) < LIMIT


def test_the_kind_and_the_version_are_in_the_bytes() -> None:
    kind, version = origin(cases(1, 5).tally()[None].to_bytes(), "memory")
    assert kind == "sums"
    assert version


@settings(law, max_examples=draws(40))
@given(
    st.lists(st.integers(-(2**2304), 2**2304) | st.integers(-300, 300) | st.integers(0, 2304).map(lambda n: -1 << n))
)
def test_integers_come_back(values: list[int]) -> None:
    data = pack_integers(values)
    assert unpack_integers(data, len(values), "memory").tolist() == values


KEYS: list[Hashable] = [
    *("", "7", "ü\ud800", 7, -(10**30), 7.5, -0.0, float("inf"), True, None, b"\0x", date(2026, 1, 2)),
    *(
        datetime(2026, 1, 2, 3, 4, 5, 6),
        datetime(2026, 1, 2, tzinfo=UTC),
        time(3, 4),
        timedelta(days=-3, microseconds=1),
    ),
    Decimal("1.50"),
]


def test_keys_come_back_with_their_types() -> None:
    again = unpack_keys(pack_keys(KEYS), len(KEYS), "memory")
    assert again == KEYS
    assert list(map(type, again)) == list(map(type, KEYS))
    assert str(unpack_keys(pack_keys([float("nan")]), 1, "memory")) == "[nan]"
    assert unpack_keys(pack_keys([np.int64(3)]), 1, "memory") == [3]


def test_a_key_that_cannot_be_saved_is_refused_with_the_remedy() -> None:
    with pytest.raises(TopListError, match="of the type tuple, which cannot be saved: make it text"):
        pack_keys([(1, 2)])


class TestDamage:
    """No byte can be changed, cut off or added without an error."""

    data = cases(1, 12, weighted=True, clustered=True).tally()[None].to_bytes()

    def test_each_changed_byte_is_found(self) -> None:
        rng = random.Random(1)  # noqa: S311
        for at in [*range(FIXED + 40), *rng.sample(range(len(self.data)), 200)]:
            refused(self.data[:at] + bytes([self.data[at] ^ 1 << rng.randrange(8)]) + self.data[at + 1 :])

    def test_bytes_that_are_cut_off_or_go_on_are_found(self) -> None:
        for at in [*range(FIXED + 5), *range(FIXED + 5, len(self.data), 97)]:
            refused(self.data[:at])
        refused(self.data + b"\0")
        refused(self.data + self.data)

    def test_what_was_never_a_partial_result_is_found(self) -> None:
        for other in (b"", b"PAR1", b"{}", self.data[1:], b"\0" * 100, "text", None, 3):
            refused(other)

    def test_an_unknown_format_says_what_to_do(self) -> None:
        newer = sealed(self.data[:8] + b"\x07\0" + self.data[10:])
        assert "has format 7, and this version of toplist reads format 1: install" in refused(newer)

    def test_another_kind_is_named(self) -> None:
        assert "this holds 'else', and what is needed is 'sums'" in refused(pack("else", {}, {}))


class TestHostileHeaders:
    """A right digest makes no right content."""

    data = TestDamage.data

    @pytest.mark.parametrize(
        "text",
        [
            *(b"", b"null", b"[]", b"{", b"\xff\xfe", b'{"kind": "sums"}', b'{"a": NaN}', b'{"a": 1e999}'),
            *(b"[" * 100_000, b'{"a":' * 100_000, b'{"a": 1, "a": 2}', b'{"a": ' + b"9" * 100_000 + b"}"),
            b"[" * 50 + b"]" * 50,
        ],
        ids=range(13),
    )
    def test_that_are_no_json_of_ours_are_refused(self, text: bytes) -> None:
        refused(with_header(self.data, lambda header: text))
        with pytest.raises(FileError):
            unpack_keys(text, 1, "keys")

    @pytest.mark.parametrize("name", ["kind", "toplist", "blocks", "header"])
    @pytest.mark.parametrize("value", [None, 1, 2.5, True, "x", [], {}, [[]], [["sums", -1]], [["sums", 2**70]]])
    def test_with_values_of_other_types_are_refused(self, name: str, value: Any) -> None:
        if (name, value) != ("toplist", "x"):
            refused(with_header(self.data, lambda header: header.update({name: value})))

    @pytest.mark.parametrize("name", ["cases", "sums", "clusters"])
    @pytest.mark.parametrize(
        "value",
        [
            *(None, -1, 2**63, 1.0, True, "12", {}, [["x", [1]]], [["x", [2**40, 2**40, 2**40]]], [["x", [0]]]),
            *([["x", [-1, -1, 1]]], [["x", "ab"]], [[1, [1]]], [["x", [True]]], [["x", [1]], ["x", [1]]], [["x", []]]),
        ],
        ids=range(16),
    )
    def test_with_other_counts_or_shapes_are_refused(self, name: str, value: Any) -> None:
        refused(with_header(self.data, lambda header: header["header"].update({name: value})))

    def test_with_parts_twice_or_too_short_are_refused(self) -> None:
        refused(with_header(self.data, lambda header: header["blocks"].append(header["blocks"][0])))
        refused(with_header(self.data, lambda header: header["blocks"].append(["more", 0])))
        refused(with_header(self.data, lambda header: header["blocks"].pop()))

    def test_lengths_beyond_the_bytes_are_refused_before_anything_is_made(self) -> None:
        refused(sealed(self.data[:10] + b"\xff" * 4 + self.data[14:]))
        refused(self.data[:14] + b"\xff" * 8 + self.data[22:])
        for count in (-1, 2**40, 3):
            with pytest.raises(FileError, match=r"numbers are missing|another length"):
                unpack_integers(b"\0" * 8, count, "here")
        with pytest.raises(FileError, match="larger than any sum"):
            unpack_integers(np.array([65535, 0], "<u2").tobytes(), 1, "here")

    @pytest.mark.parametrize(
        "plain",
        [
            *({"types": [["s", 2]], "values": ["a", "a"]}, {"types": [["?", 2]], "values": ["a", "b"]}),
            *({"types": [["s", 1]], "values": ["a", "b"]}, {"types": [["s", 3]], "values": ["a", "b"]}),
            *({"types": [["i", 2]], "values": ["1", "x"]}, {"types": [["i", 2]], "values": ["1", "9" * 5000]}),
            *({"types": [["m", 2]], "values": ["1", "sNaN"]}, {"types": [["t", 2]], "values": ["1", "2026"]}),
            *({"types": [["s", 2]], "values": ["a", 1]}, {"types": [["l", 2]], "values": ["1", "9" * 40]}),
            *({"types": [["b", 2]], "values": ["0", "2"]}, {"types": [["f", 2]], "values": ["0x1p0", "0x1p9999"]}),
            *({"types": [2], "values": ["0", "2"]}, {"types": [["s", True], ["s", 1]], "values": ["a", "b"]}),
        ],
        ids=range(14),
    )
    def test_keys_that_cannot_be_are_refused(self, plain: Any) -> None:
        with pytest.raises(FileError, match=r"^keys: "):
            unpack_keys(json.dumps(plain).encode(), 2, "keys")


def changed(one: Aggregates, name: str, at: Any, value: Any) -> Aggregates:
    column = one.sums[name].copy()
    column[at] = value
    return replace(one, sums={**one.sums, name: column})


class TestContradictions:
    """Sums that no cases have, in bytes with a right digest."""

    plain = overall(cases(2, 30).tally())
    weighted = overall(cases(2, 30, weighted=True, clustered=True).tally())

    @pytest.mark.parametrize("name", ["both", "w", "ww", "cases", "xy"])
    def test_what_is_the_same_both_ways_must_be(self, name: str) -> None:
        at = (0, 1) if name == "cases" else (0, 0, 1)
        value = self.weighted.sums[name][at] - 1
        assert "same both ways" in refused(changed(self.weighted, name, at, value).to_bytes())

    @pytest.mark.parametrize(
        "name", ["weight", "thin", "invalid_cases", "unpenalised_infinite", "infinite", "accuracy", "xx", "w5"]
    )
    def test_what_cannot_be_negative_must_not_be(self, name: str) -> None:
        at = (0,) * self.weighted.sums[name].ndim
        assert "below zero" in refused(changed(self.weighted, name, at, -1).to_bytes())

    @pytest.mark.parametrize("name", ["cases", "both", "infinite", "invalid_cases", "unpenalised_infinite"])
    def test_no_count_is_above_the_number_of_cases(self, name: str) -> None:
        refused(changed(self.plain, name, ..., 31).to_bytes())

    @pytest.mark.parametrize("name", ["x", "xx", "xy", "wx", "weight", "w", "empty"])
    def test_a_sum_that_is_no_number_is_refused(self, name: str) -> None:
        refused(changed(self.plain, name, ..., 1 << 2200).to_bytes())

    @pytest.mark.parametrize("name", ["weight", "w", "ww", "wx"])
    def test_without_weights_weights_are_counts(self, name: str) -> None:
        refused(changed(self.plain, name, ..., self.plain.sums[name] + 1).to_bytes())

    def test_squares_are_not_smaller_than_sums_allow(self) -> None:
        for name in ("xx", "ww"):
            less = changed(self.weighted, name, ..., self.weighted.sums[name] // 100)
            assert "smaller than they can be" in refused(less.to_bytes())
        more = changed(self.weighted, "xy", ..., self.weighted.sums["xy"] * 100)
        assert "smaller than they can be" in refused(more.to_bytes())

    def test_a_sum_that_is_missing_is_refused(self) -> None:
        for name in ("x", "weight", "both", "w4"):
            sums = {other: value for other, value in self.weighted.sums.items() if other != name}
            refused(replace(self.weighted, sums=sums).to_bytes())

    def test_shapes_that_do_not_agree_are_refused(self) -> None:
        for name, value in self.weighted.sums.items():
            sums = {**self.weighted.sums, name: np.concatenate([value, value])}
            refused(replace(self.weighted, sums=sums).to_bytes())

    def test_clusters_that_are_not_all_cases_are_refused(self) -> None:
        (key, (weight, x)), *others = self.weighted.clusters.items()
        for one in ((weight + 1, x), (weight, x + 1), (-weight, x)):
            refused(replace(self.weighted, clusters={key: one, **dict(others)}).to_bytes())
        refused(replace(self.weighted, clusters=dict(others)).to_bytes())


def test_tiny_scores_whose_squares_are_no_numbers_come_back() -> None:
    for scale in (1e-200, 1e-160, 5e-324, 1e149):
        one = tally([sheet_of(np.array([1.0, 2.0, 3.0]) * scale), sheet_of(np.array([3.0, 3.0, 1.0]) * scale)])[None]
        assert Aggregates.from_bytes(one.to_bytes()) == one


def test_sums_of_different_comparisons_are_not_added() -> None:
    one = cases(1, 8).tally()
    for other in (cases(1, 8, weighted=True).tally(), replace(cases(1, 8), lists=cases(1, 8).lists[:2]).tally()):
        with pytest.raises(TopListError, match="they cannot be added"):
            merge(one, other)


def test_load_json_keeps_plain_values() -> None:
    plain = {"a": [1, 2.5, None, True, "ü\ud800"], "b": {"c": 10**60}}
    assert load_json(partial_bytes.dump_json(plain), "here") == plain
    assert unpack(pack("x", plain, {}), "x", "here") == (plain, {})
