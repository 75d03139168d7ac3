"""What is cut off a distribution is known to the last digit, and so is what the largest confidence lacks to one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import toplist as tl
from tests.oracle import exact, truncated
from tests.oracle.truncated import WAYS, Truncated, draws, pad_exactly

TOLERANCE = 1e-12


@cache
def cases(way: str) -> list[tuple[Truncated, tl.TopLists, exact.Padded]]:
    """Distributions, what the library makes of them, and the same exactly."""
    drawn = draws(np.random.default_rng(7), 25)
    return [(case, WAYS[way](case), pad_exactly(case, way)) for case in drawn]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", exact.DEFINITIONS)
def test_scores_of_truncated_lists_are_exact_to_twelve_digits(name: str, way: str) -> None:
    rule = exact.DEFINITIONS[name][0]
    for case, lists, padded in cases(way):
        got = float(tl.score(lists, [case.outcome], rule=rule)[0])
        assert exact.relative_error(got, exact.score_padded(name, padded)) < TOLERANCE, (case, got)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", exact.DEFINITIONS)
def test_entropies_of_truncated_lists_are_exact_to_twelve_digits(name: str, way: str) -> None:
    rule = exact.DEFINITIONS[name][0]
    for case, lists, padded in cases(way):
        got = float(tl.entropy(lists, rule=rule)[0])
        assert exact.relative_error(got, exact.entropy(name, padded)) < TOLERANCE, (case, got)


@pytest.mark.parametrize("rule", ["brier", "log", "spherical"])
def test_a_list_that_is_not_shortened_scores_as_before(rule: str) -> None:
    """Its rest mass is one minus the sum still, also where that is rounding and set to zero."""
    for t in ([1 - 2**-53], [0.7, 0.3 - 2**-54], [0.9, 0.05], [0.6, 0.4 + 1e-9]):
        lists = tl.TopLists.from_dicts([dict(enumerate(t))], 5)
        again = lists.truncate(len(t))
        for y in (0, 4):
            assert tl.score(again, [y], rule=rule)[0] == pytest.approx(tl.score(lists, [y], rule=rule)[0], rel=1e-14)


def test_a_part_of_a_batch_knows_the_rest_as_the_batch_does() -> None:
    """Selected, joined to others or in another order, a truncated list scores the same bits."""
    p = np.array([[1 - 3e-13, 2e-13, 1e-13], [0.5, 0.3, 0.2], [1e-13, 1 - 3e-13, 2e-13]])
    lists = tl.TopLists.from_proba(p).truncate(1)
    whole = tl.score(lists, [0, 0, 1])
    assert whole[0] == pytest.approx(9e-26 + 2 * 1.5e-13**2, rel=1e-3)
    for part in ([0], [2, 0], [1, 2, 0]):
        np.testing.assert_array_equal(tl.score(lists[part], np.array([0, 0, 1])[part]), whole[part])
    assert [tl.score(lists[i], y) for i, y in enumerate([0, 0, 1])] == whole.tolist()


def test_the_command_reports_and_fails_only_above_the_tolerance(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert truncated.main(["2", "--seed", "3"]) == 0
    assert "logits" in capsys.readouterr().out
    monkeypatch.setattr(truncated, "TOLERANCE", 0.0)
    assert truncated.main(["2", "--seed", "3"]) == 1
