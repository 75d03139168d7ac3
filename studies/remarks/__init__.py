"""What the boards of a study say together, in words and tables: Markdown, as the documentation shows it."""

from collections.abc import Callable, Mapping

from studies.remarks import cifar10, flusight
from studies.remarks.reading import Reading

REMARKS: dict[str, Callable[[Mapping[str, Reading]], str]] = {
    "cifar10": cifar10.remark,
    "flusight": flusight.remark,
}

__all__ = ["REMARKS", "Reading"]
