"""Lists calibrated rank by rank on the very cases they are about: what to measure miscalibration against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toplist.diagnosis.parts import REST, Layer, kept_in, layers
from toplist.improve.recalibration.logs import revalued
from toplist.isotonic import pav
from toplist.lists import TopLists
from toplist.lists.admitted import row_sums
from toplist.promises import Promises

Floats = NDArray[np.float64]


def recalibrated(made: Promises, ranks: int) -> TopLists:
    """Each confidence replaced by how often its likes were kept, then divided by what they and the rest add up to.

    They stand for their padded distributions, even where a rate is now below the share of an unlisted class. What
    happened had a part in its own rate, which is therefore positive.
    """
    return _restated(made, ranks, flat=False)


def base_rates(made: Promises, ranks: int) -> TopLists:
    """The same with one rate per rank, whatever the confidences were."""
    return _restated(made, ranks, flat=True)


def _restated(made: Promises, ranks: int, *, flat: bool) -> TopLists:
    lists = made.lists
    t, rest = np.zeros(len(made.rank)), np.zeros(len(lists))
    for layer in layers(made, ranks):
        to = rest if layer.name == REST else t
        to[layer.at] = _rates(layer, kept_in(layer, made), flat=flat)
    total = row_sums(t, lists.offsets) + rest
    t, rest = t / np.repeat(total, lists.sizes), rest / total
    with np.errstate(divide="ignore"):
        log_rest = np.log(rest)
    return revalued(lists, t, log_rest).as_distributions()


def _rates(layer: Layer, kept: NDArray[np.bool_], *, flat: bool) -> Floats:
    """Of the rest every case counts once here: this is about how often, not how much."""
    if not len(kept):
        return np.zeros(0)
    return np.full(len(kept), kept.mean()) if flat else pav(layer.promised, kept)(layer.promised)
