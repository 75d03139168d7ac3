"""What `fasttext predict-prob` prints: labels with their probabilities, a line per text; a blank line is a reject.

fastText adds 1e-5 to what it takes the logarithm of, so that probabilities add up to a little more than one: such
lists are divided by their sum, which is noted. Those of a model with loss ova add up to anything, and are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from toplist._files import need
from toplist.errors import FileError
from toplist.io.columns import as_numpy
from toplist.io.producers.base import CLASSES, CONFIDENCES, Match, ProducedReader, Producer, Request, matched
from toplist.io.producers.cases import DIVIDED, sentences
from toplist.io.readers.base import TableChunk
from toplist.io.readers.delimited import FastTextReader, is_fasttext
from toplist.io.readers.first_look import FirstLook
from toplist.lists.pipelines import REMEDIES, fasttext_excess


def _open(request: Request) -> ProducedReader:
    plain = FastTextReader(request.paths, request.name)
    if request.options.normalize:  # all are divided by their sum, as is asked for
        return _reader(request, plain, lambda: ((p.source, p.table) for p in plain.pieces([CLASSES, CONFIDENCES])))
    divided = empty = 0
    for piece in plain.pieces([CONFIDENCES]):
        offsets, _, excess = _masses(piece)
        divided += int(np.count_nonzero(excess))
        empty += int(np.count_nonzero(np.diff(offsets) == 0))
    notes = sentences([], {("list", DIVIDED): divided, ("list", "without an entry, which are rejects"): empty})
    return _reader(request, plain, lambda: map(_divided, plain.pieces([CLASSES, CONFIDENCES])), notes)


def _reader(request: Request, plain: FastTextReader, batches: Any, notes: tuple[str, ...] = ()) -> ProducedReader:
    columns = dict(zip(plain.schema.names, plain.schema.types, strict=True))
    reader = ProducedReader(request.name, batches, columns, request.paths, notes)
    reader.decimal = True
    return reader


def _divided(piece: TableChunk) -> tuple[str, Any]:
    """Some lines, with lists divided by their sum where it exceeds one."""
    pa = need("pyarrow")
    offsets, values, excess = _masses(piece)
    lists = pa.LargeListArray.from_arrays(
        piece.table.column(CONFIDENCES).offsets, pa.array(values / np.repeat(1 + excess, np.diff(offsets)))
    )
    return piece.source, pa.record_batch([piece.table.column(CLASSES), lists], names=[CLASSES, CONFIDENCES])


def _masses(piece: TableChunk) -> tuple[Any, Any, Any]:
    """Where the lists of some lines begin, their probabilities, and by how much each exceeds one in all."""
    lists = piece.table.column(CONFIDENCES)
    offsets, values = as_numpy(lists.offsets), as_numpy(lists.values)
    excess, explained = fasttext_excess(offsets, values)
    if not explained.all():
        at = int(np.argmin(explained))
        problem = f"the probabilities sum to {1 + excess[at]:.6g}. {REMEDIES['fasttext'].marginals}"
        raise FileError(piece.source, problem, row=piece.start + at + 1)
    return offsets, values, excess


def _match(look: FirstLook, match: Match) -> Match | None:
    """Files whose first word is a label of fastText."""
    reason = "its first label begins with __label__"
    return matched(match, lambda path: reason if look.head(path) and is_fasttext(path) else "")


PRODUCER = Producer(_open, _match, files_only=True)
