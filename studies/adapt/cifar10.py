"""CIFAR-10: fourteen networks, and a cross-validated classifier.

Distributions are wide Parquet in single precision, as they were stored. For five models the shorter forms are
written beside: the three most probable classes as lists in Parquet, the first with its probability as JSON lines, and
the first alone as CSV.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.adapt import shorten, write

FILES = ("cifar10_14nets.npz", "cifar10_cleanlab.npz")
SHORTENED = ("densenet121", "googlenet", "vgg19_bn", "resnet_orig", "cleanlab")
# What accuracy says is tested like the scores: the zero-one rule is its complement.
_RULES = "--rule brier --rule log --rule zero-one"
BOARDS = {
    "cifar10": f"nets/*.parquet --truth truth.csv {_RULES} --report cifar10.html --title 'CIFAR-10: fourteen networks'",
    # The rows of this classifier are off one by up to 2e-7, more than rounding in double precision can be.
    "cifar10-lists": f"lists/* --truth truth.csv --read normalize=cleanlab {_RULES}",
}


def adapt(data: Path, out: Path) -> None:
    """Write fourteen networks, and five models in four forms each."""
    nets, other = np.load(data / FILES[0]), np.load(data / FILES[1])
    names = nets["classes"].tolist()
    models = [key for key in nets.files if key not in ("labels", "classes")]
    for folder in ("nets", "lists"):
        (out / folder).mkdir(exist_ok=True)
    for name in models:
        write.wide(out / "nets" / f"{name}.parquet", nets[name], names)
    for name in SHORTENED:
        p = other["probs"] if name == "cleanlab" else nets[name]
        write.wide(out / "lists" / f"{name}.parquet", p, names)
        write.lists(out / "lists" / f"{name}-top3.parquet", *shorten.top(p, 3), names)
        write.lists(out / "lists" / f"{name}-top1.jsonl", *shorten.top(p, 1), names)
        write.labels(out / "lists" / f"{name}-mode.csv", p.argmax(axis=1), names)
    write.labels(out / "truth.csv", nets["labels"], names)
