"""`make bench`: a line per step, nothing else until the table, and a table whatever happens."""

from __future__ import annotations

import inspect
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import runner
from benchmarks.race import TOLERANCE, Race, Row

ROOT = Path(__file__).parents[2]


def met(race: Race) -> None:
    print("noise")
    subprocess.run([sys.executable, "-c", "import sys; print('more noise', file=sys.stderr)"], check=True)
    race.record("met by far: times as fast", 1.0, 9.0, at_least=8)


def nearly_met(race: Race) -> None:
    race.record("nearly met: times as fast", 1.0, 7.8, at_least=8)
    race.record("nearly met: times as long", 2.1, 1.0, at_most=2)


def missed(race: Race) -> None:
    race.record("far from it: times as long", 3.0, 1.0, at_most=2)


def crashing(race: Race) -> None:
    race.record("before the crash: times as fast", 1.0, 9.0, at_least=8)
    raise ValueError("no such thing")


def wrong(race: Race) -> None:
    assert race.size(10) == 11, "sizes differ"


def killed(race: Race) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leaving(race: Race) -> None:
    os._exit(3)


def filling(race: Race) -> None:
    (race.folder / "large").write_text("data")
    race.record(str(race.folder), 1.0, None, unit="B")


def run(capfd: pytest.CaptureFixture[str], *benchmarks: runner.Benchmark, quick: bool = False) -> tuple[int, str, str]:
    """The exit code, the table and what was written beside it."""
    code = runner.main(benchmarks, quick=quick)
    out, err = capfd.readouterr()
    return code, out, err


def row(out: str, start: str) -> str:
    return next(line for line in out.splitlines() if line.startswith(start))


def test_a_run_is_a_line_per_step_and_a_table(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capfd, met, nearly_met)
    assert err.splitlines() == ["[1 of 2] test benchmarks: met", "[2 of 2] test benchmarks: nearly met"]
    assert out.split()[:6] == ["benchmark", "ours", "baseline", "ratio", "bound", "verdict"]
    assert row(out, "met by far").split()[-9:] == ["1", "s", "9", "s", "9.00", "at", "least", "8", "met"]
    assert code == 0


def test_a_bound_missed_by_a_few_percent_is_reported_and_does_not_fail_the_command(
    capfd: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run(capfd, nearly_met)
    assert row(out, "nearly met: times as fast").endswith("7.80  at least 8  missed by 2.5 %")
    assert row(out, "nearly met: times as long").endswith("2.10   at most 2  missed by 5 %")
    assert "Bounds: 0 met, 2 missed by 10 % or less, 0 by more." in out
    assert code == 0


def test_a_bound_missed_by_a_wide_margin_fails_the_command_at_its_end(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, missed, met)
    assert row(out, "far from it").endswith("missed by 50 %")
    assert row(out, "met by far").endswith("met")
    assert "Bounds: 1 met, 0 missed by 10 % or less, 1 by more." in out
    assert code == 1


@pytest.mark.parametrize("bound", ["at_least", "at_most"])
def test_the_tolerance_is_a_share_of_the_bound(bound: str) -> None:
    for share, failed in ((0.9 * TOLERANCE, False), (1.1 * TOLERANCE, True)):
        ours, baseline = (1.0, 4 * (1 - share)) if bound == "at_least" else (4 * (1 + share), 1.0)
        assert Row("", ours, baseline, **{bound: 4.0}).missed_by == pytest.approx(share)
        assert Row("", ours, baseline, **{bound: 4.0}).failed == failed


@pytest.mark.parametrize("number", [0.0, -1.0, math.inf, math.nan])
def test_what_is_no_measurement_is_refused_on_either_side(number: float, tmp_path: Path) -> None:
    race = Race(False, tmp_path, lambda row: pytest.fail(f"{row} was reported"))
    for sides in ((number, 1.0), (1.0, number), (number, None)):
        with pytest.raises(ValueError, match="is no measurement: a claim"):
            race.record("a claim", *sides, at_most=2)


def test_a_quick_run_judges_no_ratio(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, missed, quick=True)
    assert "missed" not in out
    assert code == 0
    assert run(capfd, crashing, quick=True)[0] == 1


def test_a_crash_is_a_row_and_the_others_are_in_the_table(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capfd, crashing, met)
    assert row(out, "before the crash").endswith("met")
    assert row(out, "test benchmarks: crashing").endswith("crashed: ValueError: no such thing")
    assert row(out, "met by far").endswith("met")
    assert "Benchmarks that failed: 1." in out
    assert err.index("[2 of 2]") < err.index("Traceback"), "where it crashed is said after the last step"
    assert code == 1


def test_a_wrong_result_is_a_row(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, wrong)
    assert row(out, "test benchmarks: wrong").endswith("wrong: sizes differ")
    assert code == 1


@pytest.mark.parametrize(
    ("ending", "what"), [(killed, "crashed: killed by SIGKILL"), (leaving, "crashed: exit code 3")]
)
def test_a_process_that_ends_without_a_word_is_a_row(
    ending: runner.Benchmark, what: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capfd, ending)
    assert row(out, f"test benchmarks: {ending.__name__}").endswith(what)
    assert code == 1


def test_an_interrupted_run_prints_what_was_measured(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(benchmark: runner.Benchmark, *, quick: bool) -> tuple[list[Row], str]:
        if benchmark is missed:
            raise KeyboardInterrupt
        return [Row("measured", 1.0, 2.0)], ""

    monkeypatch.setattr(runner, "measure", measure)
    code, out, _ = run(capfd, met, missed, nearly_met)
    assert [line.split("  ")[0] for line in out.splitlines()[1:3]] == ["measured", "test benchmarks: missed"]
    assert row(out, "test benchmarks: missed").endswith("interrupted")
    assert code == 130


def test_files_are_removed_when_a_benchmark_ends() -> None:
    rows, _ = runner.measure(filling, quick=False)
    assert not Path(rows[0].claim).parent.exists()


def test_on_a_terminal_the_progress_line_is_rewritten(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "24")
    _, _, err = run(capfd, missed, met)
    assert err == "\r\x1b[K[1 of 2] test benchmark\r\x1b[K[2 of 2] test benchmark\r\x1b[K"


def test_a_long_claim_goes_on_in_the_next_line_of_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = runner.table([Row("one " * 20 + "end", 1.0, 2.0, at_least=1)]).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].endswith("end")


def test_amounts_have_three_digits_and_a_unit() -> None:
    line = runner.table([Row("x", 0.00123, 65.0), Row("y", 4.567e8, None, "B", at_most=1.5e9)]).splitlines()
    assert line[1].split() == ["x", "1.23", "ms", "65", "s", "0.00"]
    assert line[2].split() == ["y", "457", "MB", "at", "most", "1.5", "GB", "met"]


def test_every_benchmark_that_is_defined_is_run() -> None:
    from benchmarks.__main__ import MODULES  # loads much, which the processes of the other tests need not

    for module in MODULES:
        functions = [one for _, one in inspect.getmembers(module, inspect.isfunction)]
        told = {one: inspect.getfullargspec(one).annotations for one in functions}
        defined = {one for one, types in told.items() if types == {"race": "Race", "return": "None"}}
        assert defined == set(module.BENCHMARKS), module.__name__


def test_a_word_that_names_no_benchmark_is_refused() -> None:
    asked = subprocess.run(
        [sys.executable, "-m", "benchmarks", "nonsense"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert asked.returncode == 2
    assert "no benchmark has such a name" in asked.stderr
