"""Extreme classification: scores of labels as text, which are no lists, and what can be done with them.

There are three dialects: a header with the numbers of cases and labels, then `label:score ...` per line (the XMC
repository); `label score` with tabs between them (Omikuji); and `label:score ...` without a header (napkinXC). PECOS
writes a sparse matrix, which looks like any other: where its rows sum to more than one, they are refused as lists too.
"""

from __future__ import annotations

import re

from toplist.io.producers.base import Match, Producer
from toplist.io.producers.entries import matched, refusal
from toplist.io.readers.base import FirstLook
from toplist.lists.pipelines import PER_LABEL

_NUMBER = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_HEADER = re.compile(r"\d+ \d+")
_COLONS = re.compile(rf"\d+:{_NUMBER}(?: \d+:{_NUMBER})*")
_TABS = re.compile(rf"\d+ {_NUMBER}(?:\t\d+ {_NUMBER})*")
_LINES = 20  # that are looked at
_WHY = f"scores of extreme classification {PER_LABEL} Of a sparse matrix, P.toarray() is that matrix."


def _match(look: FirstLook, match: Match) -> Match | None:
    """Files whose first lines are all of one dialect."""
    return matched(match, lambda path: _dialect(look.head(path)))


def _dialect(head: str) -> str:
    """What tells one of the dialects; nothing where the text is none of them."""
    lines = [line.strip(" \r") for line in head.split("\n")[: _LINES + 1]]
    filled = [line for line in lines[:-1] or lines if line]  # the last one may be cut
    if not filled:
        return ""
    if _HEADER.fullmatch(filled[0]) and len(filled) > 1 and all(map(_COLONS.fullmatch, filled[1:])):
        return "its lines are label:score, after a header with two numbers"
    if all(map(_COLONS.fullmatch, filled)):
        return "its lines are label:score"
    if all(map(_TABS.fullmatch, filled)) and any("\t" in line for line in filled):
        return "its lines are labels and scores with tabs between them"
    return ""


PRODUCER = Producer(refusal(_WHY), _match)
