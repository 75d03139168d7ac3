"""What is odd about predictions: what should give pause, whether or not it can be scored."""

from toplist.diagnosis.oddities.looks import Count, Look, Oddity
from toplist.diagnosis.oddities.repairs import seen_to
from toplist.diagnosis.oddities.words import SERIOUS

__all__ = ["SERIOUS", "Count", "Look", "Oddity", "seen_to"]
