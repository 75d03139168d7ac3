"""Rounding is not dishonesty: a small draw of what `make oracle` does with 100,000 lists per rounding."""

from __future__ import annotations

import numpy as np
import pytest

import toplist as tl
from tests.oracle import rounded


@pytest.mark.parametrize("rounding", rounded.ROUNDINGS, ids=str)
def test_no_true_list_is_invalid_and_no_score_rises_beyond_the_rounding(rounding: str | int) -> None:
    """With a longer list the expected score may rise by the squares of the rounding errors, and by nothing else."""
    found = rounded.run(2000, 1, rounding)
    assert found.honest >= 2000
    assert found.accused == 0
    assert found.rise <= 1
    assert found.caught > found.dishonest / (5 if isinstance(rounding, int) else 2)


@pytest.mark.parametrize("dtype", rounded.DTYPES)
def test_the_curve_over_k_never_rises_beyond_the_rounding(dtype: str) -> None:
    """Of the lists of nine of ten classes, cut by `curve`, and of those of k classes that were rounded themselves."""
    rng = np.random.default_rng(5)
    p = rounded.softmax(rng, 4000, 10, 0.25)
    y = (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1).clip(0, 9)
    lists = rounded.lists_of(p[:, :9], 10, dtype)
    curve = tl.curve(lists, y).score
    assert curve is not None
    unit = {"float64": 2.0**-50, "float32": 2.0**-24, "float16": 2.0**-11}[dtype]
    for k in range(1, 10):
        one = rounded.lists_of(p[:, :k], 10, dtype)
        assert one.is_valid().all()
        assert tl.score(one, y).mean() == pytest.approx(curve[k], abs=20 * unit)
        exact = tl.TopLists.from_proba(p, 10, k, normalize=True)
        assert tl.score(one, y).mean() == pytest.approx(tl.score(exact, y).mean(), abs=20 * unit)


def test_single_precision_pays_no_penalty_at_any_k() -> None:
    """The table of the digits, with a softmax as sharp as that of a network: each k as in double precision."""
    rng = np.random.default_rng(0)
    p = rounded.softmax(rng, 20_000, 10, 0.25)
    y = rng.integers(0, 10, len(p))
    for k in (3, 5, 8, 9):
        double, single = (rounded.lists_of(p[:, :k], 10, dtype) for dtype in ("float64", "float32"))
        assert single.is_valid().all()
        assert "invalid" not in repr(single)
        np.testing.assert_array_equal(tl.score(single, y), tl.score(single, y, penalty=0))
        assert tl.score(single, y).mean() == pytest.approx(tl.score(double, y).mean(), abs=1e-7)


def test_the_command_prints_a_row_per_rounding_and_fails_only_for_valid_lists_called_invalid(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounded, "SHAPES", ((10, (1, 3)),))  # the others are those of the tests above
    monkeypatch.setattr(rounded, "TEMPERATURES", (1.0,))
    assert rounded.main(["60"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(rounded.ROUNDINGS)
    monkeypatch.setattr(rounded, "run", lambda *_: rounded.Found(honest=60, accused=1))
    assert rounded.main(["60"]) == 1
