"""Columns of a table: what their names usually mean, their values as ids, numbers and text, and a look at the first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument, quote
from toplist.core.kernel import hash_integers, hash_text
from toplist.errors import FileError

if TYPE_CHECKING:
    from toplist.io.readers import Reader, TableChunk


# In each list the most telling names come first.
CASE = (
    "case", "case_id", "id", "ids", "cases", "example_id", "sample_id", "instance_id", "question_id", "query_id",
    "image_id", "doc_id", "document_id", "item_id", "row_id", "record_id", "task_id", "patient_id", "subject_id",
    "obs_id", "observation_id", "custom_id", "clip_id", "uid", "uuid", "guid", "key", "qid", "filename", "file_name",
    "filepath", "file_path", "file", "path", "img", "image", "example", "sample", "instance", "item", "url", "doc",
    "document", "patient", "subject", "record", "recording", "clip", "observation", "question", "text", "sentence",
    "name", "date", "timestamp", "unit", "row", "nr", "index",
)  # fmt: skip
CERTAIN = frozenset(CASE[: CASE.index("filename")])  # names that say id, whatever the values are
TRUTH = (
    "outcome", "outcomes", "truth", "true", "true_class", "true_label", "true_category", "target", "targets", "gold",
    "gold_label", "y", "y_true", "y_test", "answer", "correct_answer", "correct_label", "correct_class", "actual",
    "actual_class", "ground_truth", "groundtruth", "resolution", "observed", "expected", "label_true",
)  # fmt: skip
PREDICTED = (
    "prediction", "predicted", "predicted_class", "predicted_label", "pred", "pred_class", "pred_label", "y_pred",
)  # fmt: skip
CLASS = (
    "class", "label", "category", *PREDICTED, "language", "lang", "species", "token", "output_type_id", "classes",
    "labels",
)  # fmt: skip
CONFIDENCE = (
    "confidence", "probability", "prob", "p", "score", "proba", "conf", "value", "percent", "percentage", "logprob",
    "log_prob", "log_probability", "confidences", "probabilities", "probs", "scores", "prediction_score",
    "confidence_score", "predicted_probability", "pred_prob", "max_prob", "top_prob", "certainty",
)  # fmt: skip
# Fields of objects in a list that name its class where no field has one of the names above.
RECORD_CLASS = ("name", "display_name", "text", "title", "option", "choice", "candidate")
# Fields that say where something is: a list of such objects has what was found in an image or a text, not one answer.
PLACE = (
    "box", "bbox", "bounding_box", "boundingbox", "polygon", "mask", "segmentation", "start", "end", "begin", "offset",
    "start_time", "end_time", "timestamp", "x", "y", "xmin", "ymin", "instances",
)  # fmt: skip
# What tells models and runs apart, not cases.
RUN = (
    "model", "model_id", "model_name", "run", "run_id", "system", "method", "team", "forecaster", "annotator", "rater",
    "repeat", "trial",
)  # fmt: skip
# Numbers that describe a case or a run: neither confidences nor classes.
NEITHER = (
    "rank", "k", "n", "count", "size", "length", "fold", "split", "seed", "epoch", "step", "year", "month", "week",
    "day", "hour", "horizon", "age", "weight", "cluster", "group", "order", "latency", "latency_ms", "time", "duration",
    "runtime", "width", "height", "start", "end", "lat", "lon", "latitude", "longitude", "version",
)  # fmt: skip


def spelled(name: str) -> str:
    """A name as these lists spell it.

    >>> spelled(" Image-ID ")
    'image_id'
    """
    return re.sub(r"[\s.-]+", "_", name.strip().lower())


def named(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """The columns that bear one of the known names, the most telling first.

    >>> named(["p", "Label", "class"], CLASS)
    ['class', 'Label']
    """
    order = {name: place for place, name in enumerate(known)}
    found = [(order[spelled(name)], name) for name in names if spelled(name) in order]
    return [name for _, name in sorted(found, key=lambda pair: pair[0])]


def spelled_field(name: str) -> str:
    """The name of a field of an object as these lists spell it: JSON has capitals inside of words.

    >>> spelled_field("confidenceScore"), spelled_field("Name")
    ('confidence_score', 'name')
    """
    return spelled(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name))


def is_named(name: str, known: Sequence[str]) -> bool:
    """Whether a column bears one of the known names."""
    return spelled(name) in known


def numbered(names: Sequence[str], known: Sequence[str]) -> dict[str, dict[int, str]]:
    """Columns such as class_1, class_2: for each known name that occurs, the columns by their number.

    >>> numbered(["class_1", "class_2", "p1"], CLASS)
    {'class': {1: 'class_1', 2: 'class_2'}}
    """
    found: dict[str, dict[int, str]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)_?(\d{1,6})", spelled(name))
        if match and match.group(1) in known:
            found.setdefault(match.group(1), {})[int(match.group(2))] = name
    return found


Column = Any  # pyarrow.Array
_BLANKS = (b" ", b"\t", b"\n", b"\r", b"\x0b", b"\x0c")
_TYPES = {"double": "f8", "float": "f4"} | {f"int{8 * size}": f"i{size}" for size in (1, 2, 4, 8)}


def identifiers(column: Any, source: str, rows: NDArray[np.int64]) -> Column:
    """Case ids as integers or text."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    ids = plain(column)
    if ids.null_count:
        raise FileError(source, "there is no case id.", row=int(rows[np.flatnonzero(blanks(ids))[0]]))
    if pa.types.is_integer(ids.type):
        return pc.cast(ids, pa.int64()) if not pa.types.is_uint64(ids.type) else pc.cast(ids, pa.string())
    if pa.types.is_string(ids.type):
        return ids
    if pa.types.is_floating(ids.type) or pa.types.is_decimal(ids.type):
        values = as_numpy(pc.cast(ids, pa.float64(), safe=False))
        odd = (values != np.floor(values)) | (np.abs(values) >= 2.0**53)
        if odd.any():
            at = int(np.flatnonzero(odd)[0])
            problem = f"{quote(ids[at].as_py())} is no case id: ids are text, or whole numbers below 2^53 in size."
            raise FileError(source, problem, row=int(rows[at]))
        return pa.array(values.astype(np.int64))
    if pa.types.is_temporal(ids.type) or pa.types.is_boolean(ids.type):
        return pc.cast(ids, pa.string())
    raise FileError(source, f"case ids are text or whole numbers, not {kind_of(ids.type)}.")


def id_hashes(ids: Column, seed: int) -> NDArray[np.uint64]:
    """A hash of the text of each id, which is an integer or a text: 7 and "7" have the same."""
    pa, ids = need("pyarrow"), plain(ids)
    if pa.types.is_integer(ids.type):
        return hash_integers(as_numpy(ids), seed)
    text = need("pyarrow.compute").cast(ids, pa.large_string())
    _, offsets, data = text.buffers()
    at = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    return hash_text(np.frombuffer(b"" if data is None else data, np.uint8), at, seed)


def numbers(
    column: Any,
    source: str,
    rows: NDArray[np.int64] | Callable[[], NDArray[np.int64]],
    name: str = "",
    hint: str = "",
) -> NDArray[Any]:
    """Confidences as float32 or float64; nulls, which others have dealt with, as NaN.

    `rows` are the rows of the values, or a function that makes them: they are needed where one is no number.
    """
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    kind = column.type
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return as_numpy(column)
    if pa.types.is_float16(kind):
        return as_numpy(pc.cast(column, pa.float32()))
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return as_numpy(pc.cast(column, pa.float64(), safe=False))
    text, where = plain(column), f" in {quote(name)}" if name else ""
    if not pa.types.is_string(text.type):
        raise FileError(source, f"the values{where} are {kind_of(kind)}, but confidences are numbers.{hint}")
    trimmed = pc.utf8_trim_whitespace(text)
    try:
        return as_numpy(pc.cast(trimmed, pa.float64()))
    except pa.ArrowInvalid:
        bad = next(i for i, value in enumerate(trimmed.to_pylist()) if value is not None and not _is_number(value))
        problem = f"{quote(text[bad].as_py())}{where} is no number.{_remedy(trimmed[bad].as_py()) or hint}"
        raise FileError(source, problem, row=int((rows() if callable(rows) else rows)[bad])) from None


def decimals(column: Any) -> NDArray[np.int64] | None:
    """How many decimals each number shows, those of its exponent included; None where numbers are no text.

    >>> import pyarrow as pa
    >>> decimals(pa.array(["0.50", " 1", "2.5e-05", ".125 "]))
    array([2, 0, 6, 3])
    """
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    text = plain(column)
    if not pa.types.is_string(text.type):
        return None
    at, written = _characters(text)
    if not written.isascii() or any(blank in written for blank in _BLANKS):
        at, written = _characters(pc.utf8_trim_whitespace(text))
    characters, ends = np.frombuffer(written, np.uint8), at[1:]
    dots = np.flatnonzero(characters == ord("."))
    each = len(dots) == len(text) and bool((dots >= at[:-1]).all() and (dots < ends).all())
    if each and b"e" not in written and b"E" not in written:
        return ends - dots - 1
    exponents = np.flatnonzero((characters | 32) == ord("e"))
    small = np.searchsorted(at, exponents, side="right") - 1
    stops, holder = ends.copy(), np.arange(len(text)) if each else np.searchsorted(at, dots, side="right") - 1
    stops[small] = exponents
    found = np.zeros(len(text), np.int64)
    found[holder] = stops[holder] - dots - 1
    found[small] -= _whole(characters, exponents + 1, ends[small])
    return np.clip(found, 0, 300)


def _characters(text: Any) -> tuple[NDArray[np.int64], bytes]:
    """Where each text begins, and the end, and all their characters."""
    _, starts, buffer = text.buffers()
    if not len(text) or buffer is None:
        return np.zeros(len(text) + 1, np.int64), b""
    at = np.frombuffer(starts, np.int32)[text.offset : text.offset + len(text) + 1].astype(np.int64)
    return at - at[0], buffer[int(at[0]) : int(at[-1])].to_pybytes()


def _whole(written: NDArray[np.uint8], start: NDArray[np.int64], stop: NDArray[np.int64]) -> NDArray[np.int64]:
    """The whole numbers of at most four digits that stand there, with their signs."""
    value, negative = np.zeros(len(start), np.int64), np.zeros(len(start), bool)
    for place in range(5):
        inside = start + place < stop
        if not inside.any():
            break
        character = written[np.where(inside, start + place, 0)]
        digit = inside & (character >= ord("0")) & (character <= ord("9"))
        value = np.where(digit, 10 * value + character - ord("0"), value)
        negative |= inside & (character == ord("-"))
    return np.where(negative, -value, value)


def _is_number(value: str) -> bool:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    try:
        pc.cast(pa.array([value]), pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _remedy(value: str) -> str:
    if value.endswith("%") and _is_number(value[:-1].strip()):
        return f" Leave out the percent signs and pass {argument('scale', 'percent')}."
    if value.count(",") == 1 and _is_number(value.replace(",", ".")):
        return " Write numbers with a decimal point."
    return ""


def plain(column: Any) -> Column:
    """One array, not chunked or encoded; text as Arrow's string."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = pc.cast(column, pa.string())
    return column


def is_list(kind: Any) -> bool:
    """Whether values are lists, in one of the usual layouts of Arrow; see `readers.column_types` for the others."""
    types = need("pyarrow").types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def offsets_of(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Where each list begins, and the end."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


def blanks(column: Any) -> NDArray[np.bool_]:
    """Which values are null."""
    return truths(column.is_null())


def truths(column: Any) -> NDArray[np.bool_]:
    """A column of true and false, none of them null; Arrow's own way takes ten times as long."""
    if not len(column):
        return np.zeros(0, bool)
    bits = np.frombuffer(column.buffers()[1], np.uint8)
    return np.unpackbits(bits, count=column.offset + len(column), bitorder="little")[column.offset :].view(bool)


def as_numpy(column: Column) -> NDArray[Any]:
    """The values of a column. Numbers come straight from its buffer: Arrow's own way would import pandas."""
    kind = _TYPES.get(str(column.type))
    if kind is None or column.null_count:
        array: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return array
    buffer = column.buffers()[1]
    if buffer is None or not len(column):
        return np.zeros(0, kind)
    return np.frombuffer(buffer, kind)[column.offset : column.offset + len(column)]


def as_arrow(values: NDArray[Any]) -> Column:
    """The way back, without a copy of numbers."""
    pa, n = need("pyarrow"), len(values)
    if values.dtype == bool:
        return pa.Array.from_buffers(pa.bool_(), n, [None, pa.py_buffer(np.packbits(values, bitorder="little"))])
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), n, [None, buffer])


def text_if_none(column: Column) -> Column:
    """A column that holds nothing, and so has no type, as text."""
    pa = need("pyarrow")
    return column.cast(pa.string()) if pa.types.is_null(column.type) else column


def is_half(kind: Any) -> bool:
    """Whether numbers of this type, or lists of them, are half floats."""
    return is_half(kind.value_type) if is_list(kind) else bool(need("pyarrow").types.is_float16(kind))


def kind_of(kind: Any) -> str:
    """A type of Arrow in a plain word."""
    types = need("pyarrow").types
    known = (
        (types.is_boolean, "true or false"),
        (types.is_struct, "objects"),
        (types.is_map, "maps"),
        (types.is_nested, "lists"),
        (types.is_temporal, "dates or times"),
        (types.is_null, "blank"),
        (types.is_string, "text"),
        (types.is_integer, "numbers"),
        (types.is_floating, "numbers"),
        (types.is_decimal, "numbers"),
    )
    return next((word for test, word in known if test(kind)), str(kind))


def sound(piece: TableChunk) -> TableChunk:
    """The same piece, if its columns fit together and its text is UTF-8; bytes become text, half floats floats."""
    pa, columns, changed = need("pyarrow"), [], False
    for column in piece.table.columns:
        kind = _known_kind(column.type)
        changed |= kind is not None
        try:
            column.validate(full=True)
            columns.append(column if kind is None else column.cast(kind))
        except pa.ArrowInvalid as error:
            raise _damage(str(error), column, piece) from None
    return replace(piece, table=pa.record_batch(columns, names=piece.table.schema.names)) if changed else piece


def _known_kind(kind: Any) -> Any:
    """The type that bytes and half floats, or lists of them, are read as; None for all else."""
    pa = need("pyarrow")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = _known_kind(kind.value_type)
        return None if inner is None else (pa.list_ if pa.types.is_list(kind) else pa.large_list)(inner)
    if pa.types.is_float16(kind):
        return pa.float32()
    small, large = pa.types.is_binary(kind) or pa.types.is_binary_view(kind), pa.types.is_large_binary(kind)
    return pa.string() if small else pa.large_string() if large else None


def _damage(problem: str, column: Any, piece: TableChunk) -> FileError:
    """What Arrow said; nothing in the column can be relied on."""
    if "utf8" not in problem.lower():
        return FileError(piece.source, "this file is damaged: its columns do not fit together.")
    found, types = re.search(r"string index (\d+)", problem), need("pyarrow").types
    at = None if found is None else int(found.group(1))
    if at is None:  # bytes, which are what they are
        at = next(row for row, value in enumerate(column.to_pylist()) if not _is_text(value))
    elif types.is_list(column.type) or types.is_large_list(column.type):
        at = int(np.searchsorted(as_numpy(column.offsets), at, side="right")) - 1
    elif types.is_dictionary(column.type):
        at = None
    row = None if at is None else piece.start + min(max(at, 0), len(column) - 1) + 1
    return FileError(piece.source, "this is not UTF-8 text.", row=row)


def _is_text(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_text, value))
    try:
        (value or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


_SAMPLE = 1000  # rows that are looked at


@dataclass(slots=True)
class FirstRows:
    """What the first values of a column are."""

    nested: bool = False  # lists or objects
    blank: bool = False  # nothing but blanks
    number: bool = False
    fractional: bool = False  # some are no whole numbers
    low: float = 0.0
    high: float = 0.0
    ranked: int = 0  # labels that each text ranks, with blanks between them


@dataclass(frozen=True)
class Table:
    """The columns of a file or frame, with their types and a look at their first values."""

    reader: Reader
    _looks: dict[str, FirstRows] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The path, or the name of a table in memory."""
        return self.reader.name

    @cached_property
    def names(self) -> list[str]:
        """The columns."""
        return [str(name) for name in self.schema.names]

    @cached_property
    def schema(self) -> Any:
        """Names and types."""
        return self.reader.schema

    @property
    def index(self) -> str | None:
        """The column that was the index of a dataframe."""
        return self.reader.index

    @property
    def named_index(self) -> bool:
        """Whether the index of a dataframe has a name of its own."""
        return self.index is not None and self.reader.named_index

    @property
    def bare(self) -> bool:
        """Whether this is a list or an array, which can be matched by position only."""
        return self.reader.bare

    def is_list(self, name: str) -> bool:
        """Whether a column holds lists."""
        return is_list(self.schema.field(name).type)

    def is_object(self, name: str) -> bool:
        """Whether a column holds objects, or lists of them."""
        kind = self.schema.field(name).type
        while is_list(kind):
            kind = kind.value_type
        return bool(need("pyarrow").types.is_nested(kind))

    def is_scalar(self, name: str) -> bool:
        """Whether a column holds one value per row."""
        return not need("pyarrow").types.is_nested(self.schema.field(name).type)

    def look(self, name: str) -> FirstRows:
        """What the first values of a column are."""
        if name not in self._looks:
            self._looks.update(_looked(self.reader, self.names))
        return self._looks[name]

    def is_number(self, name: str) -> bool:
        """Whether a column holds numbers, or nothing."""
        look = self.look(name)
        return look.number or look.blank

    def is_fraction(self, name: str) -> bool:
        """Whether a column holds numbers that are no ids, codes or counts."""
        look = self.look(name)
        return look.number and look.fractional

    def could_be_confidence(self, name: str) -> bool:
        """Whether a column may hold confidences: by its name, as lists or objects, or as numbers of their range."""
        if is_named(name, CONFIDENCE):
            return True
        look = self.look(name)
        if look.nested or look.blank or not look.number:
            return look.nested or look.blank
        if is_named(name, (*NEITHER, *CASE)):  # a rank or an id, unless it is a fraction
            return look.fractional and look.low >= 0 and look.high <= 1
        inside = look.low >= 0 and look.high <= 100
        return inside or (look.fractional and look.high <= 0)

    def is_id(self, name: str) -> bool:
        """Whether a column bears the name of an id, and holds no fractions: a class may be called image as well."""
        if not is_named(name, CASE) or not self.is_scalar(name):
            return False
        look = self.look(name)
        if look.fractional:
            return False
        return spelled(name) in CERTAIN or not (look.number and look.low >= 0 and look.high <= 1)


def _looked(reader: Reader, names: list[str]) -> dict[str, FirstRows]:
    """The look of every column, from one read of the first rows."""
    types = need("pyarrow").types
    nested = {name for name in names if types.is_nested(reader.schema.field(name).type)}
    scalar = [name for name in names if name not in nested]
    first = next(iter(reader.pieces(scalar)), None) if scalar else None
    if first is not None:
        first = replace(first, table=first.table.slice(0, _SAMPLE), rows=None)
        first = first if reader.text else sound(first)
    looks = {name: FirstRows(nested=True) for name in nested}
    for at, name in enumerate(scalar):
        looks[name] = FirstRows(blank=True) if first is None else _look(first.table.column(at))
    return looks


def _look(column: Any) -> FirstRows:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    values = plain(column).drop_null()
    if pa.types.is_string(values.type):
        values = pc.utf8_trim_whitespace(values)
        values = values.filter(pc.not_equal(values, ""))
    if not len(values):
        return FirstRows(blank=True)
    try:
        if pa.types.is_boolean(values.type) or pa.types.is_temporal(values.type):
            return FirstRows()
        x = as_numpy(pc.cast(_numeric(values), pa.float64(), safe=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return FirstRows(ranked=_ranked(values.to_pylist()) if pa.types.is_string(values.type) else 0)
    x = x[np.isfinite(x)]
    if not len(x):
        return FirstRows(number=True)
    return FirstRows(number=True, fractional=bool((x % 1 != 0).any()), low=float(x.min()), high=float(x.max()))


def _ranked(texts: Sequence[str]) -> int:
    """How many labels each text ranks; 0 where that is not certain.

    It is where all have equally many different words, and a word stands at different places: the words of one label
    keep their order.
    """
    ranks = [text.split() for text in texts]
    if len({len(words) for words in ranks}) > 1 or any(len(set(words)) < len(words) for words in ranks):
        return 0
    places: dict[str, int] = {}
    moved = any(places.setdefault(word, at) != at for words in ranks for at, word in enumerate(words))
    return len(ranks[0]) if moved else 0


def _numeric(values: Any) -> Any:
    """Text that is mostly numbers, without what is none: that is an error of its row, not of the column."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if not pa.types.is_string(values.type):
        return values
    numbers = pc.match_substring_regex(values, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    return values.filter(numbers) if 2 * pc.sum(numbers).as_py() > len(values) else values


def unique_values(table: Table, name: str) -> bool:
    """Whether no value of a column is there twice; the whole column is read."""
    pa, pc, seen = need("pyarrow"), need("pyarrow.compute"), None
    count = 0
    try:
        for piece in table.reader.pieces([name]):
            values = plain(piece.table.column(0)).drop_null()
            values = values if pa.types.is_string(values.type) else pc.cast(values, pa.string())
            count += len(values)
            seen = pc.unique(values if seen is None else pa.concat_arrays([seen, values]))
    except (pa.ArrowException, FileError):
        return False
    return seen is not None and len(seen) == count > 0
