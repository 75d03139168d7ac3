"""BirdNET: detections of species in segments of recordings, which are no lists, and what can be done with them.

Its confidences are a probability per species, a sigmoid of each logit, and what is below min_conf is left out: padded
as a list, a segment with two birds would have more mass than one, and a silent one would not be there at all.
"""

from __future__ import annotations

from toplist.io.producers.base import Match, Producer
from toplist.io.producers.entries import matched, refusal
from toplist.io.readers.base import FirstLook

# The columns of its tables: CSV, Raven, Kaleidoscope, and those of the birdnet package.
_TABLES = (
    ("Start (s)", "End (s)", "Scientific name", "Confidence"),
    ("Selection", "Begin Time (s)", "Species Code", "Confidence"),
    ("INDIR", "OFFSET", "scientific_name", "confidence"),
    ("start_time", "end_time", "species_name", "confidence"),
)
SCORE_A_SPECIES = "toplist.score(numpy.column_stack([1 - p, p]), y)"
SCORE_ALL = "toplist.multilabel.best_sets(P, k, toplist.LabelSets(species))"
_WHY = (
    "the confidences of BirdNET are a probability per species, and segments without a detection are not there: these "
    "are no lists of exclusive classes. Score species by species, over all segments: with p the confidences of a "
    "species, 0 where it was not detected (run BirdNET with a min_conf near 0), and y 1 where it was heard and 0 "
    f"elsewhere, {SCORE_A_SPECIES}. With all of them as a matrix P, a row per segment and a column per species, "
    f"{SCORE_ALL} makes lists of label sets."
)


def _match(look: FirstLook, match: Match) -> Match | None:
    """Tables with all columns of one kind."""
    return matched(match, lambda path: _seen(look.columns(path)))


def _seen(names: list[str]) -> str:
    kind = next((columns for columns in _TABLES if set(columns) <= set(names)), ())
    return f"it has the columns {', '.join(kind)}" if kind else ""


PRODUCER = Producer(refusal(_WHY), _match)
