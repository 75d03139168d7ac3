"""Classes that are sets of labels: the space of them, batches of them, and the book of those that have been met."""

from toplist.labelsets.batch import Sets
from toplist.labelsets.book import Book
from toplist.labelsets.space import LabelSets

__all__ = ["Book", "LabelSets", "Sets"]
