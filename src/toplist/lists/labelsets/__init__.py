"""Classes that are sets of labels: their space, batches of them, and the codebook of those that occurred."""

from toplist.lists.labelsets.batch import Sets
from toplist.lists.labelsets.codebook import Codebook
from toplist.lists.labelsets.space import LabelSets

__all__ = ["Codebook", "LabelSets", "Sets"]
