"""The tables of the page on capacity are those that its scripts make, and the simulation behaves as queues do."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import capacity
from simulations import merge_tree
from simulations.merge_tree import CALM, Run, Setting, simulate
from simulations.page_tables import between, rewrite, shown

from toplist.evaluation.samples import ROOM
from toplist.inference.diagnostics import SAMPLED

PAGE = Path(__file__).parents[2] / "docs" / "capacity.md"


@pytest.mark.parametrize("section", ["constants", "partial results", "costs"])
def test_a_table_is_what_its_constants_make(section: str) -> None:
    assert shown(PAGE, section) == capacity.tables()[section], (
        "run python -m benchmarks.capacity --write docs/capacity.md"
    )


def test_the_driver_holds_the_sample_of_all_parts() -> None:
    assert capacity.Assumptions().sample == ROOM * SAMPLED


def test_rows_of_the_simulation_are_what_the_script_makes() -> None:
    lines = shown(PAGE, merge_tree.SECTION).splitlines()[2:]
    every = list(merge_tree.rows())
    assert len(lines) == len(every)
    for at in (0, 3):  # those of ten workers, which are fast
        assert lines[at] == merge_tree.line(*every[at])


def test_costs_fall_with_workers_and_rise_with_cases() -> None:
    def numbers(cases: int, workers: int) -> tuple[float, float]:
        c, a = capacity.Constants.load(), capacity.Assumptions()
        total = cases * (2 * c.list_bytes + c.truth_bytes)
        return cases * c.whole_ns / workers, total / min(workers * a.storage, a.store)

    assert all(few >= many for few, many in zip(numbers(10**9, 1), numbers(10**9, 100), strict=True))
    assert numbers(10**12, 10)[0] == pytest.approx(1000 * numbers(10**9, 10)[0])


def test_without_spread_tail_and_merging_the_time_is_ideal() -> None:
    (one,) = simulate(Setting(workers=5, spread=0.0, merge=0.0), draws=1)
    assert one.time == pytest.approx(1.0)
    assert one.attempts == 1.0


@pytest.mark.parametrize("copies", [False, True])
def test_every_task_counts_once_whatever_fails(copies: bool) -> None:
    setting = Setting(workers=7, per_worker=9, slow=0.1, failures=0.3, copies=copies, fan_in=4)
    for seed in range(10):
        run = Run(setting, np.random.default_rng(seed))
        outcome = run.finish()
        assert (len(run.done), run.results) == (setting.tasks, 1)
        assert outcome.attempts >= 1.0
        assert outcome.waiting <= setting.fan_in


def test_more_workers_than_a_tree_of_two_needs_are_no_slower_than_merging_in_one_place() -> None:
    tree, flat = (
        float(np.mean([one.time for one in simulate(replace(CALM, workers=20, fan_in=fan, merge=0.05), draws=10)]))
        for fan in (4, 200)
    )
    assert tree < flat


def test_copies_help_against_stragglers() -> None:
    world = replace(CALM, workers=20, slow=0.05)
    plain, copied = (simulate(replace(world, copies=one), draws=10) for one in (False, True))
    assert np.mean([one.time for one in copied]) < np.mean([one.time for one in plain])


def test_a_table_is_rewritten_in_its_place(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nold\n<!-- end of x -->\nb\n")
    rewrite(page, "x", "new\nlines")
    assert shown(page, "x") == "new\nlines"
    assert page.read_text().endswith("<!-- end of x -->\nb\n")
    with pytest.raises(ValueError, match="no table 'y'"):
        between(page.read_text(), "y")


def test_times_and_sizes_are_shown_in_units_that_people_read() -> None:
    assert math.isclose(capacity.Assumptions().network, 125e6)
    assert [capacity._time(one) for one in (45, 600, 7200, 1e6)] == ["45 s", "10 min", "2 h", "11.6 d"]
    assert [capacity._bytes(one) for one in (12, 4800, 1.23e14)] == ["12 B", "4.8 kB", "123 TB"]
