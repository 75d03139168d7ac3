"""Run benchmarks one after the other, each in a process of its own, and print a table of all of them at the end."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import textwrap
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.race import SMALL, TOLERANCE, Race, Row

Benchmark = Callable[[Race], None]

_HEAD = ("benchmark", "ours", "baseline", "ratio", "bound", "verdict")
_WIDTH = 150  # of the table, where it is not printed on a terminal
_NARROWEST = 20  # of its first column, on a narrow one
_SCALES = {
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")),
}


def main(benchmarks: Sequence[Benchmark], *, quick: bool) -> int:
    """Run all; 0 unless something crashed, gave a wrong result, or missed its bound by more than the tolerance."""
    start, rows, output, interrupted = time.perf_counter(), [], "", False
    try:
        for at, benchmark in enumerate(benchmarks):
            _progress(f"[{at + 1} of {len(benchmarks)}] {name(benchmark)}")
            measured, said = measure(benchmark, quick=quick)
            rows += measured
            output += said
    except KeyboardInterrupt:
        interrupted = True
        rows.append(Row(name(benchmark), trouble="interrupted"))
    _progress("")
    sys.stderr.write(output)
    sys.stderr.flush()
    print(table(rows))
    print(f"\n{_summary(rows, quick=quick)} {time.perf_counter() - start:.0f} seconds in all.")
    return 130 if interrupted else int(any(row.failed for row in rows))


def name(benchmark: Benchmark) -> str:
    """The module and the function, in words."""
    return f"{benchmark.__module__.rpartition('.')[2]}: {benchmark.__name__}".replace("_", " ")


def measure(benchmark: Benchmark, *, quick: bool) -> tuple[list[Row], str]:
    """The rows of one benchmark, and what it wrote if it failed. Its files are removed, its memory is given back."""
    spawn, rows = multiprocessing.get_context("spawn"), []
    with tempfile.TemporaryDirectory(prefix="toplist-benchmark-") as made:
        folder, log = Path(made, "files"), Path(made, "output")
        folder.mkdir()
        receive, send = spawn.Pipe(duplex=False)
        process = spawn.Process(target=_work, args=(benchmark, quick, folder, log, send))
        process.start()
        send.close()
        try:
            with receive, suppress(EOFError):
                while True:
                    rows.append(receive.recv())
        except BaseException:
            process.terminate()
            raise
        finally:
            process.join()
        if process.exitcode and not any(row.trouble for row in rows):
            rows.append(Row(name(benchmark), trouble=f"crashed: {_ending(process.exitcode)}"))
        failed = any(row.trouble for row in rows) and log.exists()
        return rows, f"{name(benchmark)}:\n{log.read_text(errors='replace')}\n" if failed else ""


def _work(benchmark: Benchmark, quick: bool, folder: Path, log: Path, send: Connection) -> None:
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)  # also what its commands write
        os.dup2(file.fileno(), 2)
    try:
        benchmark(Race(quick, folder, send.send))
    except Exception as error:
        traceback.print_exc()
        what = next((line for line in str(error).splitlines() if line.strip()), "")
        kind = "wrong" if isinstance(error, AssertionError) else f"crashed: {type(error).__name__}"
        send.send(Row(name(benchmark), trouble=textwrap.shorten(f"{kind}: {what}".rstrip(": "), 80)))


def _ending(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"


def _progress(line: str) -> None:
    """On a terminal one line that is written again and again, elsewhere a line per step."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1])
    elif line:
        sys.stderr.write(line + "\n")
    sys.stderr.flush()


def table(rows: Sequence[Row]) -> str:
    """Every row, the numbers to the right; a long claim goes on in the next line."""
    cells = [_HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(5)]
    verdicts = max(len(text) for text in (_HEAD[-1], *(row.verdict for row in rows if not row.trouble)))
    total = shutil.get_terminal_size((_WIDTH, 0)).columns
    widths[0] = min(widths[0], max(_NARROWEST, total - sum(widths[1:]) - verdicts - 2 * len(widths)))
    lines = []
    for claim, *numbers, verdict in cells:
        first, *more = textwrap.wrap(claim, widths[0])
        shown = (
            [f"{number:>{width}}" for number, width in zip(numbers, widths[1:], strict=True)] if any(numbers) else []
        )
        lines += ["  ".join((f"{first:<{widths[0]}}", *shown, verdict)).rstrip(), *more]
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    if row.ours is None:
        return (row.claim, "", "", "", "", row.verdict)
    baseline, ratio = "", ""
    if row.baseline is not None:
        baseline, ratio = _amount(row.baseline, row.unit), f"{row.value:.2f}"
    bound = ""
    if row.at_least is not None:
        bound = f"at least {row.at_least:g}"
    elif row.at_most is not None:
        bound = f"at most {_amount(row.at_most, row.unit) if row.baseline is None else format(row.at_most, 'g')}"
    return (row.claim, _amount(row.ours, row.unit), baseline, ratio, bound, row.verdict)


def _amount(number: float, unit: str) -> str:
    """Three digits and a unit."""
    scale, label = next((one for one in _SCALES[unit] if number >= one[0]), _SCALES[unit][-1])
    return f"{number / scale:.3g} {label}"


def _summary(rows: Sequence[Row], *, quick: bool) -> str:
    bounded = [row for row in rows if not row.trouble and (row.at_least, row.at_most) != (None, None)]
    met, far = sum(not row.missed_by for row in bounded), sum(row.failed for row in bounded)
    near = len(bounded) - met - far
    held = f"Bounds: {met} met, {near} missed by {100 * TOLERANCE:g} % or less, {far} by more."
    troubled = sum(bool(row.trouble) for row in rows)
    failures = f" Benchmarks that failed: {troubled}." if troubled else ""
    return (
        f"Quick: 1/{SMALL} of the cases named above, and no ratio is held against its bound." if quick else held
    ) + failures
