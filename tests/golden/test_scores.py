"""4,158 drawn lists under every rule: score, entropy, expected score and divergence are as they were stored, to 1e-12.

That is relative to the number, so that the score of a list that is nearly sure and right keeps its digits, too; under
rules that are given by functions it is 1e-12 of one.

That they are right is shown elsewhere (`tests/paper`, `tests/oracle`); here they only must not move. Invalid lists
are among them and pay the usual penalty. Left out on purpose: confidences so small that they are known by their
logarithms, and more than 1000 ordered classes. An entropy that is given as a function ends at 2**1000 classes. Lists
that are refused are tested where they are refused.

There is one file per rule, `scores/NAME.npz`, with an array per quantity over all lists; numbers have 44 bits, which
makes the files smaller and is more than is compared. `scores/lists.json` has digests of the lists: where the draw
itself is another, the tests say so instead of speaking of scores. Metrics that are means are in `scores/metrics.json`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import toplist as tl
from tests.golden.conftest import CLOSE, HERE, Golden
from tests.golden.lists import Batch, as_lists, batches, top_beta_batch
from toplist.scoring import rules

FOLDER = HERE / "scores"
SMALL = 1e-18  # numbers below it are compared to 1e-30: squares of what rounding leaves
KEPT = 2.0**44  # significands have so many steps: a relative error of 6e-14 at most
QUANTITIES = ("score", "entropy", "expected score", "divergence")
BETAS = (0.5, 0.9)


def small(batch: Batch) -> bool:
    """Whether classes may have an order here, all sums of which are done class by class."""
    return max(case.size for case in batch.cases) <= 1000


def countable(batch: Batch) -> bool:
    """Whether the numbers of classes are numbers that a function of arrays can be given."""
    return max(case.size for case in batch.cases) <= 2**1000


def everything(batch: Batch) -> bool:
    """All lists."""
    return True


def savage() -> tl.Savage:
    """The spherical rule, from its entropy."""

    def norm(values: Any, counts: Any) -> Any:
        return np.sqrt((counts * values * values).sum(axis=-1))

    return tl.Savage(
        lambda values, counts: 1 - norm(values, counts), lambda values, counts: -values / norm(values, counts)[:, None]
    )


@dataclass(frozen=True)
class Scored:
    """A rule and the batches that it can score."""

    rule: Callable[[], Any]
    where: Callable[[Batch], bool] = everything
    ordinal: bool = False
    beta: float | None = None
    floor: float = SMALL  # of the scale to which a difference is relative

    @property
    def batches(self) -> tuple[Batch, ...]:
        """What is scored, in order."""
        if self.beta is not None:
            return (top_beta_batch(self.beta),)
        return tuple(batch for batch in batches() if self.where(batch))

    def quantities(self) -> dict[str, NDArray[np.float64]]:
        """Each of the four over all lists."""
        values: dict[str, list[NDArray[np.float64]]] = {quantity: [] for quantity in QUANTITIES}
        rule = self.rule()
        for batch in self.batches:
            lists, truth = as_lists(batch, self.ordinal)
            values["score"].append(tl.score(lists, batch.outcomes, rule=rule))
            values["entropy"].append(tl.entropy(lists, rule=rule))
            values["expected score"].append(tl.expected_score(lists, truth, rule=rule))
            values["divergence"].append(tl.divergence(lists, truth, rule=rule))
        return {quantity: np.concatenate(parts) for quantity, parts in values.items()}


RULES: dict[str, Scored] = {
    **{name: Scored(lambda name=name: name) for name in rules.RULES},
    **{name: Scored(lambda name=name: name, small, ordinal=True) for name in rules.ORDINAL_RULES},
    "brier-half": Scored(lambda: tl.Brier(scale_by_half=True), small),
    "one-vs-rest-brier": Scored(lambda: tl.OneVsRest("brier"), small),
    "one-vs-rest-boosting": Scored(lambda: tl.OneVsRest("boosting")),
    "pseudospherical-1.5": Scored(lambda: tl.PseudoSpherical(1.5)),
    "pseudospherical-3": Scored(lambda: tl.PseudoSpherical(3.0, normalized=True)),
    "pseudospherical-20": Scored(lambda: tl.PseudoSpherical(20.0), small),
    "power-0.5": Scored(lambda: tl.Power(0.5)),
    "power-1.001": Scored(lambda: tl.Power(1.001)),
    "power-1.5": Scored(lambda: tl.Power(1.5)),
    "renyi-0.5": Scored(lambda: tl.Renyi(0.5)),
    "renyi-0.9": Scored(lambda: tl.Renyi(0.9)),
    "separable": Scored(lambda: tl.Separable(lambda t: t - t * t * t, lambda t: 1 - 3 * t * t), floor=1.0),
    "savage": Scored(savage, countable, floor=1.0),
    "topbeta-0.5": Scored(lambda: "topbeta:0.5", beta=0.5),
    "topbeta-0.9": Scored(lambda: "topbeta:0.9", beta=0.9),
}
"""By the name of the file; those that have a name for users are all here."""


@cache
def quantities(name: str) -> dict[str, NDArray[np.float64]]:
    """What a rule says of all lists, once for the tests of all quantities."""
    return RULES[name].quantities()


@cache
def digests() -> dict[str, str]:
    """Of everything that is drawn."""
    drawn = (*batches(), *map(top_beta_batch, BETAS))
    return {f"{at}: {batch.space}, {batch.dtype}": batch.digest for at, batch in enumerate(drawn)}


def shortened(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """With fewer bits, of which files get smaller: the others are below what is compared."""
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.rint(fraction * KEPT) / KEPT, exponent)


def agree(now: NDArray[np.float64], before: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers are the same to 1e-12 of a scale; infinities and what is no number must be the same."""
    with np.errstate(invalid="ignore"):
        near = np.abs(now - before) <= CLOSE * scale
    same = (now == before) | (np.isnan(now) & np.isnan(before))
    return np.where(np.isfinite(now) & np.isfinite(before), near, same)


def stored(name: str) -> dict[str, NDArray[np.float64]]:
    """The goldens of a rule, or nothing where there are none yet."""
    file = FOLDER / f"{name}.npz"
    if not file.exists():
        return {}
    with np.load(file) as arrays:
        return dict(arrays)


def test_no_golden_is_left_of_a_rule_that_is_gone() -> None:
    assert not {file.stem for file in FOLDER.glob("*.npz")} - RULES.keys()


def test_the_lists_are_those_that_were_stored(golden: Golden) -> None:
    golden.json("scores/lists.json", digests())


def test_ranks_accuracy_and_coverage_are_as_they_were(golden: Golden) -> None:
    values = {}
    for number, batch in enumerate(batches()):
        (lists, _), y = as_lists(batch, False), batch.outcomes
        ranks = tl.ranks(lists, y)
        values[f"{number}: {batch.space}, {batch.dtype}"] = {
            "accuracy": tl.accuracy(lists, y),
            "coverage": tl.coverage(lists, y),
            **{f"top-{k} error": tl.top_k_error(lists, y, k=k) for k in (1, 3)},
            "sum of ranks": float(ranks[np.isfinite(ranks)].sum()),
            "infinite ranks": int(np.isinf(ranks).sum()),
        }
    golden.json("scores/metrics.json", values)


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("name", RULES)
def test_every_quantity_of_every_rule_is_as_it_was(name: str, quantity: str, golden: Golden) -> None:
    """A divergence is a difference from the expected score, and so good as that one."""
    now, before = quantities(name)[quantity], stored(name)
    scale = before.get("expected score" if quantity == "divergence" else quantity)
    scale = None if scale is None else np.fmax(np.abs(scale), RULES[name].floor)
    if golden.update:
        if scale is None or len(scale) != len(now) or not agree(now, before[quantity], scale).all():
            FOLDER.mkdir(exist_ok=True)
            np.savez_compressed(FOLDER / f"{name}.npz", **{key: shortened(of) for key, of in quantities(name).items()})
        return
    if json.loads((FOLDER / "lists.json").read_text()) != digests():
        pytest.fail("other lists were drawn than those whose scores are stored; of the scores this says nothing.")
    assert scale is not None, f"nothing is stored of the {quantity} of {name}; --update-goldens stores it."
    assert len(now) == len(scale), f"{name} scores {len(now)} lists now, and {len(scale)} before."
    differs = np.flatnonzero(~agree(now, before[quantity], scale))
    if len(differs):
        at = int(differs[0])
        batch, place = [(batch, place) for batch in RULES[name].batches for place in range(len(batch.cases))][at]
        truth = f"\ntruth, {batch.truths[place]}" if quantity in ("expected score", "divergence") else ""
        pytest.fail(
            f"the {quantity} of {name} differs for {len(differs)} of {len(now)} lists; the first one is number {at} "
            f"({batch.space}, {batch.dtype}):\nnow {float(now[at])!r}, stored {float(before[quantity][at])!r}\n"
            f"{batch.cases[place]}{truth}"
        )
