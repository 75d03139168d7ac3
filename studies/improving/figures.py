"""The figures of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from studies.improving.data import NETWORKS, Model
from studies.improving.measuring import recalibrated
from studies.whiskers import Difference, Differences, Row, whiskers
from toplist.calibration import reliability
from toplist.report import plot
from toplist.report.plot import Plot

Record = Mapping[str, Any]
SHOWN = ("googlenet", "vgg19_bn", "newsgroups", "language id", "VTSanghani-PRIME", "MNIST")


def pictures(models: Sequence[Model], results: Record) -> dict[str, Plot[Any]]:
    """All figures by the names of their files."""
    called = {_called(one): one for one in models}
    shown = [called[name] for name in SHOWN]
    after = {_called(one): (recalibrated(one)[0], one.y) for one in shown}
    return {
        "gallery-before.svg": plot.reliability(
            {_called(one): reliability(one.lists, one.y, of="top") for one in shown}
        ),
        "gallery-after.svg": plot.reliability({name: reliability(*made, of="top") for name, made in after.items()}),
        "gallery-ranks.svg": plot.reliability(
            [reliability(called["language id"].lists, called["language id"].y, of=rank) for rank in (1, 2, 3)]
        ),
        "gallery-differences.svg": differences(results["recalibration"]),
    }


def _called(one: Model) -> str:
    """The name of a model among several of one data set, or that of the data set."""
    return one.name if one.data in (NETWORKS, "FluSight") else one.data


def differences(rows: Sequence[Record]) -> Plot[Differences]:
    """What recalibration did to each model; filled where the test rejects calibration."""
    data = list(dict.fromkeys(row["data"] for row in rows))
    made = tuple(
        Row(row["data"], row["name"], data.index(row["data"]), (_difference(row["difference"], row["miscalibrated"]),))
        for row in rows
    )
    lower = sum(row.values[0].value < 0 for row in made)
    return whiskers(
        Differences(
            f"Recalibration lowers the mean Brier score of {lower} of {len(made)} models",
            "Mean padded Brier score after minus before, on cases not used for fitting, with 95% intervals",
            ("difference of mean Brier scores (below 0: recalibrated is better)",),
            made,
            (
                "filled: the test of calibration rejects; hollow: it does not",
                "intervals at the edge continue beyond it",
            ),
            reach=1.2,
        )
    )


def _difference(found: Record, filled: bool) -> Difference:
    """The value and its interval, of no width where there is none."""
    value, low, high = (found[end] for end in ("value", "low", "high"))
    return Difference(value, *((value, value) if low is None else (low, high)), filled=bool(filled))
