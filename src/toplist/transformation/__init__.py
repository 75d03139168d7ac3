"""Files in, files out: lists recalibrated, pooled or truncated, batch by batch."""

from toplist.transformation.changes import pool_files, recalibrate_file, truncate_file
from toplist.transformation.reading import Files, Reading
from toplist.transformation.writing import Written, transform

__all__ = ["Files", "Reading", "Written", "pool_files", "recalibrate_file", "transform", "truncate_file"]
