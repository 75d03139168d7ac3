"""Real predictions by other people's models: scores agree with figures computed without this library.

The files are not part of the project. Where the folder is absent (TOPLIST_DATA names it), these tests are skipped.
"""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import toplist as tl

FOLDER = Path(os.environ.get("TOPLIST_DATA", Path(__file__).parents[3] / "shared" / "data"))
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the folder with real predictions is not here")

# accuracy, Brier, log, padded Brier of the top-1 and of the top-3 list, Brier of the mode
CIFAR10 = {
    "densenet121": (0.9272, 0.118734, 0.291106, 0.124799, 0.118930, 0.1456),
    "googlenet": (0.9295, 0.107277, 0.232596, 0.116776, 0.107490, 0.1410),
    "vgg19_bn": (0.9368, 0.111371, 0.366565, 0.115235, 0.111416, 0.1264),
    "resnet_orig": (0.8849, 0.180550, 0.466678, 0.192773, 0.180916, 0.2302),
}
CLEANLAB = {
    "cifar10_cleanlab": (0.9294, 0.109952, 0.249171, 0.119074, 0.110042, 0.1412),
    "news20_cleanlab": (0.9234, 0.192912, np.inf, 0.185220, 0.190576, 0.1532),
}


def check(p: NDArray[Any], y: NDArray[Any], expected: tuple[float, ...], *, normalize: bool = False) -> None:
    full = tl.TopLists.from_proba(p, normalize=normalize)
    mode = tl.TopLists.from_labels(p.argmax(axis=1), p.shape[1])
    found = (
        tl.accuracy(full, y),
        tl.score(full, y).mean(),
        tl.score(full, y, rule="log").mean(),
        tl.score(full.truncate(1), y).mean(),
        tl.score(full.truncate(3), y).mean(),
        tl.score(mode, y).mean(),
    )
    np.testing.assert_allclose(found[0], expected[0], atol=2e-4)  # ties share the credit
    np.testing.assert_allclose(found[1:5], expected[1:5], atol=1e-6)
    np.testing.assert_allclose(found[5], expected[5], atol=5e-5)  # printed to four digits


@pytest.mark.parametrize("name", CIFAR10)
def test_cifar10_networks(name: str) -> None:
    data = np.load(FOLDER / "cifar10_14nets.npz")
    check(data[name], data["labels"], CIFAR10[name])


@pytest.mark.parametrize("name", CLEANLAB)
def test_cross_validated_classifiers(name: str) -> None:
    data = np.load(FOLDER / f"{name}.npz")
    check(data["probs"], data["labels"], CLEANLAB[name], normalize=True)


def test_human_frequencies() -> None:
    counts = np.load(FOLDER / "cifar10_human_cifar10h.npz")["counts"].astype(np.float64)
    y = np.load(FOLDER / "cifar10_14nets.npz")["labels"]
    check(counts, y, (0.9921, 0.020336, np.inf, 0.019578, 0.020234, 0.0158), normalize=True)


def test_football_forecasts() -> None:
    with gzip.open(FOLDER / "soccer_spi_538_2016_2019.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    p = np.array([[float(r["prob1"]), float(r["probtie"]), float(r["prob2"])] for r in rows])
    home, away = (np.array([float(r[s]) for r in rows]) for s in ("score1", "score2"))
    y = np.where(home > away, 0, np.where(home == away, 1, 2))
    full = tl.TopLists.from_proba(p, normalize=True)
    assert full.repairs["normalized"] > 0
    assert tl.score(full, y).mean() == pytest.approx(0.597006, abs=1e-6)
    assert tl.score(full, y, rule="log").mean() == np.inf
    assert tl.score(full.truncate(1), y).mean() == pytest.approx(0.598296, abs=1e-6)


def test_elicited_lists_of_people_are_refused_with_the_reason_until_they_are_repaired() -> None:
    with (FOLDER / "cifar10s_human_top2_lists.csv").open() as file:
        rows = list(csv.DictReader(file))
    names = sorted({r["true_class"] for r in rows})
    above = [r for r in rows if r["class2"] and r["percent2"] and float(r["percent1"]) + float(r["percent2"]) > 100]
    lists = [{r["class1"]: float(r["percent1"]), r["class2"]: float(r["percent2"])} for r in above]
    lists = [t for t in lists if len(t) == 2]
    with pytest.raises(tl.MassError, match=r"the confidences sum to 1\.\d+"):
        tl.TopLists.from_dicts(lists, len(names), scale="percent")
    mended = tl.TopLists.from_dicts(lists, len(names), scale="percent", normalize=True)
    assert mended.repairs["normalized"] == len(lists)
    np.testing.assert_allclose(mended.mass, 1.0)
