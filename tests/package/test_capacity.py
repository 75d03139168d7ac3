"""The tables of the page on capacity are those that its script makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import capacity
from simulations.page_tables import between, rewrite, shown

from toplist.evaluation.samples import ROOM
from toplist.inference.diagnostics import SAMPLED

PAGE = Path(__file__).parents[2] / "docs" / "capacity.md"


@pytest.mark.parametrize("section", ["constants", "partial results", "costs"])
def test_a_table_is_what_its_constants_make(section: str) -> None:
    assert shown(PAGE, section) == capacity.tables()[section], (
        "run python -m benchmarks.capacity --write docs/capacity.md"
    )


def test_a_merge_holds_the_sample_of_all_parts() -> None:
    assert capacity.Assumptions().sample == ROOM * SAMPLED


def test_costs_fall_with_workers_and_rise_with_cases() -> None:
    def numbers(cases: int, workers: int) -> tuple[float, float]:
        c, a = capacity.Constants.load(), capacity.Assumptions()
        total = cases * (2 * c.list_bytes + c.truth_bytes)
        return cases * c.whole_ns / workers, total / min(workers * a.storage, a.store)

    assert all(few >= many for few, many in zip(numbers(10**9, 1), numbers(10**9, 100), strict=True))
    assert numbers(10**12, 10)[0] == pytest.approx(1000 * numbers(10**9, 10)[0])


def test_a_table_is_rewritten_in_its_place(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nold\n<!-- end of x -->\nb\n")
    rewrite(page, "x", "new\nlines")
    assert shown(page, "x") == "new\nlines"
    assert page.read_text().endswith("<!-- end of x -->\nb\n")
    with pytest.raises(ValueError, match="no table 'y'"):
        between(page.read_text(), "y")


def test_times_and_sizes_are_shown_in_units_that_people_read() -> None:
    assert [capacity._time(one) for one in (45, 600, 7200, 1e6)] == ["45 s", "10 min", "2 h", "11.6 d"]
    assert [capacity._bytes(one) for one in (12, 4800, 1.23e14)] == ["12 B", "4.8 kB", "123 TB"]
