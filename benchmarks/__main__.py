"""`python -m benchmarks [--quick] [WORD ...]`: run the benchmarks and print a table of ratios and bounds."""

import argparse
import sys

from benchmarks import (
    commands,
    improving,
    leaderboards,
    pooling_files,
    queries,
    runner,
    scoring,
    sets,
    start,
    tokens,
)

MODULES = (start, scoring, sets, improving, queries, commands, pooling_files, tokens, leaderboards)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small data, and no verdict on the ratios")
    parser.add_argument("words", nargs="*", metavar="WORD", help="run only benchmarks with one of these in their name")
    asked = parser.parse_args()
    every = [benchmark for module in MODULES for benchmark in module.BENCHMARKS]
    chosen = [one for one in every if not asked.words or any(word in runner.name(one) for word in asked.words)]
    if not chosen:
        parser.error(f"no benchmark has such a name; there are {', '.join(map(runner.name, every))}")
    return runner.main(chosen, quick=asked.quick)


if __name__ == "__main__":
    sys.exit(main())
