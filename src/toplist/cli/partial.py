"""`toplist partial` and `toplist merge`: a comparison in parts, on any number of machines."""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from toplist._files import shown_words
from toplist._text import visible
from toplist.cli.compare import BoardOptions, SeveralOptions, print_board, require_boards, say_written
from toplist.cli.options import Inputs, Reads, command, option, parameter
from toplist.cli.output import UsageError, print_json, progress_bar, require_outputs
from toplist.core.memory import keep_freed_memory
from toplist.inference.settings import Inference
from toplist.report.text import number_of

SUFFIX = ".tlp"


@dataclass(frozen=True, kw_only=True)
class PartialOptions(SeveralOptions):
    """The options of `toplist partial`."""

    output: Path = option(..., f"File for the partial result, such as part-7{SUFFIX}.", "-o")
    start: int = option(0, "Position of the first case among those of all parts, where cases have no ids.")
    sample: int = option(1000, "How many cases are kept to be examined for skewness and dependence.")


@command(
    Reads(several=True, truth=True, columns=("outcome", "weight", "group", "cluster", "time", "n_classes")),
    examples=(
        "toplist partial a/part-7.parquet b/part-7.parquet --truth y/part-7.parquet -c 1000 -o parts/7.tlp",
        "seq 0 99 | xargs -P 8 -I{} toplist partial a=a/{}.pq b=b/{}.pq -t y/{}.pq -c 1000 -o parts/{}.tlp",
    ),
)
def partial(inputs: Inputs, options: PartialOptions, inference: Inference) -> None:
    """Score some of the cases, on any machine, for `toplist merge`: sums in a small file."""
    keep_freed_memory()
    _require_suffix(options.output)
    require_outputs([options.output], inputs.paths)
    from toplist._files import write_bytes
    from toplist.evaluation.parts import PartOptions, partial_result

    with progress_bar(options.quiet, len(inputs.files)) as update:
        found = partial_result(
            inputs.models,
            inputs.truth,
            space=inputs.space,
            rules=options.rule,
            k=options.k,
            baseline=options.baseline,
            missing=options.missing,
            penalty=options.penalty,
            inference=inference,
            read=inputs.read,
            part=PartOptions(start=options.start, sample=options.sample),
            progress=update,
        )
        data = found.to_bytes()
        write_bytes(options.output, data)
    cases, output = found.read.cases, str(options.output)
    if options.json:
        print_json({"schema": "toplist.partial/1", "cases": cases, "bytes": len(data), "output": output})
    else:
        typer.echo(f"Sums of {number_of(cases, 'case')} in {visible(output)} ({len(data):,} bytes)")


def _require_suffix(path: Path) -> None:
    if path.suffix.lower() != SUFFIX:
        raise UsageError(f"--output is a partial result: name it {path.stem}{SUFFIX}.")


@dataclass(frozen=True, slots=True)
class PartFiles:
    """The files of partial results, as the arguments of a command."""

    def parameters(self) -> Iterator[inspect.Parameter]:
        """One argument."""
        about = typer.Argument(metavar="PARTS...", help="Partial results: files, folders, or patterns in quotes.")
        yield parameter("parts", list[str], ..., about)

    def build(self, given: Mapping[str, Any]) -> list[str]:
        """The files, folders and patterns."""
        return list(given["parts"])


@dataclass(frozen=True, kw_only=True)
class MergeOptions(BoardOptions):
    """The options of `toplist merge`."""

    output: tuple[Path, ...] = option(
        (),
        "Write the results to a file: .json, .csv, .md, .tex, .html or .txt, or .tlp to merge them again; may be "
        "repeated.",
        "-o",
    )


@command(
    PartFiles(),
    examples=(
        "toplist merge parts/*.tlp --report board.html",
        "toplist merge parts/ -o board.json -o all.tlp",
    ),
)
def merge(parts: list[str], options: MergeOptions) -> None:
    """Merge partial results into one leaderboard, identical to that of a single run."""
    again = [path for path in options.output if path.suffix.lower() == SUFFIX]
    require_boards(options, parts, more=(SUFFIX,))
    from toplist._files import write_bytes
    from toplist.evaluation.partials import finish
    from toplist.evaluation.partials import merge as merged
    from toplist.evaluation.parts import read_parts

    with progress_bar(options.quiet, 1) as update:
        found = read_parts(parts, update)
        whole = merged(found.values(), list(found))
        board = finish(whole, inputs=list(found))
        if options.report is not None:
            typed = shlex.join(["toplist", *shown_words(sys.argv[1:])])
            board.report(options.report, title=options.title, progress=update, command=typed)
    print_board(board, json=options.json, detail=options.detail)
    for path in again:
        write_bytes(path, whole.to_bytes())
    for path in options.output:
        if path not in again:
            board.write(path)
    say_written((options.report, *options.output), options)
