"""Few draws of the gate at its margin: false passes are rare or come with a warning, on the page too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from simulations import gate
from simulations.gate import GateRow, GateTrial
from studies import folder

PAGE = Path(__file__).parents[2] / "docs" / "gate.md"
DRAWS = 60
ALLOWED = 10  # of 60 at a rate of 5%: more come up once in 4,000 times


def named(setting: str, method: str = "auto") -> GateTrial:
    """The trial of this setting."""
    return next(one for one in gate.trials() if one.setting == setting and one.method == method)


def shown() -> list[GateRow]:
    """The rows of the page, as far as they are read again."""
    (table,) = re.findall(
        r"<!-- simulation -->\n(.*?)\n<!-- end of simulation -->", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return [
        GateRow(name, method, name.startswith("equal"), int(draws.replace(",", "")), *map(_share, shares))
        for name, method, *shares, draws in rows
    ]


def _share(cell: str) -> float:
    return float(cell.partition("%")[0]) / 100


@pytest.mark.parametrize("setting", ["bimodal, n = 100", "hard labels, 3% broken, 2% fixed, n = 500"])
def test_a_model_at_the_margin_seldom_passes(setting: str) -> None:
    row = gate.run(named(setting), DRAWS, seed=1)
    assert row.passed * DRAWS <= ALLOWED
    assert row.failed * DRAWS <= ALLOWED


@pytest.mark.skipif(bool(folder.absent(folder.default(), [gate.NETS])), reason="the networks are not here")
def test_the_same_holds_for_real_differences() -> None:
    row = gate.run(named("mobilenet_v2 and densenet161, n = 200"), DRAWS, seed=1)
    assert row.passed * DRAWS <= ALLOWED


def test_passes_that_rest_on_losses_that_were_not_seen_come_with_a_warning_and_bounded_ones_do_not_pass() -> None:
    row = gate.run(named("0.5% lose nearly 2, n = 100"), DRAWS, seed=1)
    assert row.passed > 0.3
    assert (row.silent, row.warned) == (0.0, 1.0)
    assert gate.run(named("0.5% lose nearly 2, n = 100", "bounded"), DRAWS, seed=1).passed == 0.0


@pytest.mark.parametrize(
    "setting", ["identical but for 1.0% that lose 2, n = 50", "40 clusters of 20, of which 2% lose 0.9"]
)
def test_passes_that_no_difference_was_seen_in_come_with_a_warning(setting: str) -> None:
    row = gate.run(named(setting), DRAWS, seed=1)
    assert row.passed > 0.2
    assert (row.silent, row.warned) == (0.0, 1.0)


@pytest.mark.parametrize("n", [20, 50, 200])
def test_other_lists_with_the_same_scores_do_not_pass_at_the_margin(n: int) -> None:
    setting = f"the same scores but for {5 if n == 20 else 1}% that lose 2, n = {n}"
    assert gate.run(named(setting), DRAWS, seed=1).passed == 0.0
    assert gate.run(named(setting, "bounded"), DRAWS, seed=1).passed == 0.0


def test_on_the_page_false_passes_without_a_warning_are_at_most_as_many_as_allowed() -> None:
    """Up to 7 %, where 5 % are allowed, and three Monte Carlo errors, as for all intervals."""
    rows = shown()
    assert {row.setting for row in gate.trials()} <= {row.setting for row in rows}
    for row in rows:
        if row.power:
            assert row.passed > 0.75
        else:
            assert row.silent <= 0.07 + 3 * (0.07 * 0.93 / row.draws) ** 0.5, row
    kept = [row for row in rows if not row.power and ("n = 1000" in row.setting or "n = 2000" in row.setting)]
    assert all(row.passed <= 0.07 + 3 * row.error for row in kept if "lose" not in row.setting.replace("losses", ""))
