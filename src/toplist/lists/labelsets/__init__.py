"""Classes that are sets of labels: the space of them, batches of them, and the book of those that have been met."""

from toplist.lists.labelsets.batch import Sets
from toplist.lists.labelsets.codebook import Codebook
from toplist.lists.labelsets.space import LabelSets

__all__ = ["Codebook", "LabelSets", "Sets"]
