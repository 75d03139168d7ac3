"""What `fasttext predict-prob` prints: labels with their probabilities, a line per text; a blank line is a reject.

fastText adds 1e-5 to what it takes the logarithm of, so that probabilities add up to a little more than one: such
lists are divided by their sum, which is noted. Those of a model with loss ova add up to anything, and are refused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from toplist._files import need
from toplist.errors import FileError
from toplist.io.columns import as_numpy
from toplist.io.producers.base import CLASSES, CONFIDENCES, Match, ProducedReader, Producer, Request, matched
from toplist.io.producers.cases import DIVIDED, PER_LABEL, sentences
from toplist.io.readers.base import TableChunk
from toplist.io.readers.delimited import FastTextReader, is_fasttext
from toplist.io.readers.first_look import FirstLook
from toplist.lists.rows import fasttext_excess

_MARGINALS = f'Probabilities of a model that was trained with loss="ova" {PER_LABEL}'


def _open(request: Request) -> ProducedReader:
    counts = Counter[tuple[str, str]]()
    pieces = FastTextReader(request.paths, request.name).pieces([CLASSES, CONFIDENCES])
    chunks = [piece if request.options.normalize else _divided(piece, counts) for piece in pieces]
    return ProducedReader(request.name, chunks, request.paths, sentences([], counts), decimal=True)


def _divided(piece: TableChunk, counts: Counter[tuple[str, str]]) -> TableChunk:
    """Some lines, with lists divided by their sum where it exceeds one."""
    pa, (labels, lists) = need("pyarrow"), piece.table.columns
    offsets, values = as_numpy(lists.offsets), as_numpy(lists.values)
    excess, explained = fasttext_excess(offsets, values)
    if not explained.all():
        at = int(np.argmin(explained))
        problem = f"the probabilities sum to {1 + excess[at]:.6g}. {_MARGINALS}"
        raise FileError(piece.source, problem, row=piece.start + at + 1)
    sizes = np.diff(offsets)
    counts["list", DIVIDED] += int(np.count_nonzero(excess))
    counts["list", "without an entry, which are rejects"] += int(np.count_nonzero(sizes == 0))
    divided = pa.LargeListArray.from_arrays(lists.offsets, pa.array(values / np.repeat(1 + excess, sizes)))
    return replace(piece, table=pa.record_batch([labels, divided], names=[CLASSES, CONFIDENCES]))


def _match(look: FirstLook, match: Match) -> Match | None:
    """Files whose first word is a label of fastText."""
    reason = "its first label begins with __label__"
    return matched(match, lambda path: reason if look.head(path) and is_fasttext(path) else "")


PRODUCER = Producer(_open, _match, files_only=True)
