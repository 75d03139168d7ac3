"""`python -m examples.accelerator [classifier] [distillation] [next_tokens] [--write]`: run examples, print tables."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from typing import Any

import torch
from examples.accelerator import classifier, distillation, next_tokens, page, words

NAMES = ("classifier", "distillation", "next_tokens")


def main() -> int:
    """Run what was asked for, by default all."""
    parser = argparse.ArgumentParser(prog="python -m examples.accelerator", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}; all by default")
    parser.add_argument("--write", action="store_true", help="write the tables into the documentation")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in NAMES]
    if unknown:
        parser.error(f"{unknown[0]!r} is not among {', '.join(NAMES)}")
    wanted = asked.names or NAMES
    logging.basicConfig(level=logging.INFO, format="%(message)s")  # what is being done, on standard error
    torch.set_num_threads(1)  # the models are small, and threads would wait for each other
    results: dict[str, Any] = {}
    if "classifier" in wanted:
        results["classifier"] = classifier.run()
        print(page.TABLES["classifier"](results), flush=True)
    if {"distillation", "next_tokens"} & set(wanted):
        text = words.read(1000, 200_000, 20_000)
        teacher = words.trained(text, 32, 128, 5)
        if "next_tokens" in wanted:
            results["next_tokens"] = next_tokens.run(text, teacher)
            print(page.TABLES["curve"](results), flush=True)
        if "distillation" in wanted:
            results["distillation"] = distillation.run(text, teacher)
            for name in ("students", "pairs", "seeds", "board"):
                print(f"\n{page.TABLES[name](results)}", flush=True)
    if asked.write:
        kept = json.loads(page.RESULTS.read_text(encoding="utf-8")) if page.RESULTS.exists() else {}
        everything = kept | results
        page.write({name: everything[name] for name in NAMES if name in everything})
    return 0


if __name__ == "__main__":
    sys.exit(main())
