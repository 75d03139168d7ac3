"""One file per format: each gives the columns of a table, batch by batch, in the order of the file."""

from toplist.io.readers.arrow import MemoryReader
from toplist.io.readers.base import Piece, Reader
from toplist.io.readers.lines import JsonReader
from toplist.io.readers.opening import open_frame, open_path, prepare

__all__ = ["JsonReader", "MemoryReader", "Piece", "Reader", "open_frame", "open_path", "prepare"]
