"""Fourteen networks: the confidence set and the pairs that accuracy ranks the other way, by numpy and scipy."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from studies.remarks.cifar10 import crossed
from studies.remarks.reading import Reading

from tests.studies import pages, plain
from tests.studies.run_study import DATA, Studied, Studying

Scores = dict[str, NDArray[np.float64]]
Pair = tuple[str, str]


@pytest.fixture(scope="module")
def nets(studied: Studying) -> Studied:
    return studied("cifar10")


@pytest.fixture(scope="module")
def distributions(nets: Studied) -> Scores:
    original = np.load(DATA / "cifar10_14nets.npz")
    return {name: plain.distributions(original[name]) for name in nets.reading("cifar10").names}


@pytest.fixture(scope="module")
def labels(nets: Studied) -> NDArray[Any]:
    found: NDArray[Any] = np.load(DATA / "cifar10_14nets.npz")["labels"]
    return found


def compared(scores: Scores) -> dict[Pair, tuple[float, float, float]]:
    """For each pair the mean difference, its p value by the paired t test, and that adjusted by Holm's method."""
    from scipy.stats import ttest_rel

    with np.errstate(invalid="ignore"):
        found = {(a, b): float(ttest_rel(scores[a], scores[b]).pvalue) for a, b in combinations(scores, 2)}
    p = {pair: value for pair, value in found.items() if not np.isnan(value)}
    out, most = dict.fromkeys(found.keys() - p.keys(), (0.0, 1.0, 1.0)), 0.0  # the same everywhere: not tested
    for place, (a, b) in enumerate(sorted(p, key=p.__getitem__)):
        most = max(most, min(1.0, (len(p) - place) * p[a, b]))
        out[a, b] = (float((scores[a] - scores[b]).mean()), p[a, b], most)
    return out


def opposed(one: Scores, other: Scores) -> dict[Pair, tuple[float, float, float]]:
    """Pairs that two scores rank in opposite ways, better by the first one first: adjusted p, p and adjusted p."""
    first, second = compared(one), compared(other)
    return {
        (a, b) if first[a, b][0] < 0 else (b, a): (first[a, b][2], *second[a, b][1:])
        for a, b in first
        if first[a, b][0] * second[a, b][0] < 0
    }


def same(board: Reading, rule: str, expected: dict[Pair, tuple[float, float, float]]) -> None:
    """The board has these pairs, with these p values."""
    found = {
        (one["a"], one["b"]) if one["difference"]["value"] < 0 else (one["b"], one["a"]): (
            one["adjusted_p"],
            other["difference"]["p"],
            other["adjusted_p"],
        )
        for one, other in crossed(board, rule)
    }
    assert found.keys() == expected.keys()
    for pair, values in found.items():
        assert values == pytest.approx(expected[pair], rel=1e-6)


def test_ranks_and_the_confidence_set_follow_from_paired_t_tests_adjusted_by_holm(
    nets: Studied, distributions: Scores, labels: NDArray[Any]
) -> None:
    found = compared({name: plain.brier(p, labels) for name, p in distributions.items()})
    better: dict[str, list[float]] = {name: [] for name in distributions}  # adjusted p of pairs with a better one
    ranks = {name: [1, len(distributions)] for name in distributions}
    for (a, b), (difference, _, adjusted) in found.items():
        winner, loser = (a, b) if difference < 0 else (b, a)
        better[loser].append(adjusted)
        if adjusted <= 0.05:
            ranks[loser][0] += 1
            ranks[winner][1] -= 1
    board = nets.reading("cifar10")
    best = board.record["confidence_set"]
    assert best["p"] == pytest.approx({name: min([1.0, *p]) for name, p in better.items()}, rel=1e-6)
    assert {name: board.row(name)["rank_interval"] for name in board.names} == ranks
    assert best["members"] == [name for name in board.names if ranks[name][0] == 1]
    assert best["members"] == ["googlenet", "inception_v3", "vgg19_bn", "densenet161", "vgg13_bn"]


def test_no_brier_difference_of_distributions_contradicts_accuracy_significantly(
    nets: Studied, distributions: Scores, labels: NDArray[Any]
) -> None:
    brier = {name: plain.brier(p, labels) for name, p in distributions.items()}
    errors = {name: 1 - plain.hits(p, labels) for name, p in distributions.items()}
    found = opposed(brier, errors)
    same(nets.reading("cifar10"), "brier", found)
    assert len(found) == 8
    assert all(by_score > 0.05 and by_accuracy > 0.05 for by_score, _, by_accuracy in found.values())


def test_the_logarithmic_score_and_accuracy_are_opposed_and_both_significant_for_three_pairs(
    nets: Studied, distributions: Scores, labels: NDArray[Any]
) -> None:
    logs = {name: plain.log(p, labels) for name, p in distributions.items()}
    errors = {name: 1 - plain.hits(p, labels) for name, p in distributions.items()}
    found = opposed(logs, errors)
    same(nets.reading("cifar10"), "log", found)
    significant = {pair for pair, (by_score, _, by_accuracy) in found.items() if max(by_score, by_accuracy) <= 0.05}
    assert significant == {("densenet121", "vgg19_bn"), ("densenet169", "vgg19_bn"), ("mobilenet_v2", "resnet34")}


def forms(name: str, p: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """A distribution, its padded three and one most probable classes, and the first alone."""
    order = np.argsort(-p, axis=1, kind="stable")
    out = {name: p}
    for k in (3, 1):
        rest = order[:, k:]
        padded = p.copy()
        np.put_along_axis(padded, rest, np.take_along_axis(p, rest, axis=1).mean(axis=1, keepdims=True), axis=1)
        out[f"{name}-top{k}"] = padded
    out[f"{name}-mode"] = np.eye(10)[p.argmax(axis=1)]
    return out


def test_a_bare_label_is_right_more_often_and_has_a_significantly_worse_padded_brier_score(
    nets: Studied, distributions: Scores, labels: NDArray[Any]
) -> None:
    other = plain.distributions(np.load(DATA / "cifar10_cleanlab.npz")["probs"])
    rows: Scores = {}
    for name in ("densenet121", "googlenet", "vgg19_bn", "resnet_orig"):
        rows |= forms(name, distributions[name])
    rows |= forms("cleanlab", other)
    found = opposed(
        {name: plain.brier(p, labels) for name, p in rows.items()},
        {name: 1 - plain.hits(p, labels) for name, p in rows.items()},
    )
    same(nets.reading("cifar10-lists"), "brier", found)
    significant = {pair: values for pair, values in found.items() if values[0] <= 0.05}
    assert len(significant) == 12
    by_score, alone, by_accuracy = significant["googlenet", "vgg19_bn-mode"]
    assert by_score < 0.01
    assert alone < 0.01
    assert all(values[2] > 0.05 for values in significant.values()), "no difference in accuracy is significant"
    assert by_accuracy > 0.4


def test_the_report_is_one_page_of_moderate_size_with_every_network(nets: Studied) -> None:
    text = (nets.folder / "cifar10.html").read_text(encoding="utf-8")
    assert len(text.encode()) < pages.LARGEST[".html"]
    assert all(name in text for name in nets.reading("cifar10").names)


def test_the_page_of_the_documentation_says_what_the_study_prints(
    nets: Studied, distributions: Scores, labels: NDArray[Any]
) -> None:
    assert not pages.missing("cifar.md", nets.remark)
    known = []
    for name in ("vgg19_bn", "googlenet"):
        p = distributions[name]
        wrong = p.argmax(axis=1) != labels
        known += [f"{p.max(axis=1).mean():.3f}", f"{p.max(axis=1)[wrong].mean():.3f}"]
    printed = [nets.remark, *(board.table for board in nets.boards)]
    assert not pages.unfounded("cifar.md", printed, known)
    assert all(number in pages.page("cifar.md") for number in known)
    logs = nets.reading("cifar10")
    ranked = sorted(logs.names, key=lambda name: logs.mark(name, "log")["mean"]["value"])
    assert ranked.index("vgg19_bn") + 1 == 9
