"""FluSight: in which week do flu admissions of a state peak? Seven teams, some of which missed rounds.

One long CSV per team, with the column names of the hub. A case is a state on a date. Values are the stored ones to the
last digit.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.adapt import write

FILES = ("flusight_peakweek_2024-25.npz",)
OFTEN = ("FluSight-base_seasonal", "FluSight-ensemble", "PSI-PROF", "PSI-PROF_beta", "VTSanghani-PRIME")
# Single precision leaves the sums off one by up to 5e-8, and text does not say that it was single precision.
_READ = "--truth truth.csv --classes weeks.txt --normalize"
_PAIRWISE = f"teams/*.csv {_READ} --missing pairwise"
_BOTH = "--cluster location --time reference_date"
BOARDS = {
    # The outcome of a state is the same in every week, and a week is as difficult for all states: both are units.
    "flusight": f"{_PAIRWISE} {_BOTH} --group peak --report flusight.html --title 'FluSight 2024/25: peak week'",
    # The same with other units, to see what depends on that choice.
    "flusight-places": f"{_PAIRWISE} --cluster location",
    "flusight-weeks": f"{_PAIRWISE} --time reference_date",
    "flusight-cases": f"{_PAIRWISE} --group month",
    # Not one case has all seven teams; with these five there are 848.
    "flusight-common": f"{' '.join(f'teams/{name}.csv' for name in OFTEN)} {_READ} --missing common {_BOTH} "
    "--report flusight-common.html --title 'FluSight 2024/25: peak week, rounds of five teams'",
    "flusight-uniform": f"teams/*.csv {_READ} --missing uniform {_BOTH}",
}


def adapt(data: Path, out: Path) -> None:
    """Write a file per team, the weeks, and the outcomes."""
    loaded = np.load(data / FILES[0])
    weeks = loaded["classes"].tolist()
    dates, places = loaded["reference_date"].tolist(), loaded["location"].tolist()
    outcome = [weeks[y] for y in loaded["labels"]]
    (out / "teams").mkdir(exist_ok=True)
    header = ("case", "reference_date", "location", "output_type_id", "value")
    probs = loaded["probs"].astype(np.float64).tolist()
    for team in np.unique(loaded["model"]).tolist():
        write.table(
            out / "teams" / f"{team}.csv",
            header,
            (
                (f"{dates[i]} {places[i]}", dates[i], places[i], week, value)
                for i in np.flatnonzero(loaded["model"] == team)
                for week, value in zip(weeks, probs[i], strict=True)
            ),
        )
    truth = sorted(set(zip(dates, places, outcome, strict=True)))
    write.table(
        out / "truth.csv",
        ("case", "outcome", "reference_date", "month", "location", "peak"),
        ((f"{d} {p}", week, d, d[:7], p, "passed" if week < d else "ahead") for d, p, week in truth),
    )
    (out / "weeks.txt").write_text("\n".join(weeks) + "\n", encoding="utf-8")
