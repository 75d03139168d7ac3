"""Classifier chains: lists of their most probable label sets, the probabilities of given sets, and draws.

In: a fitted chain and features. Out: TopLists over label sets, or arrays. May import `multilabel.support` and what lies
below.
"""

from toplist.multilabel.chains.chain_sets import SearchCutShort, chain_log_p, chain_samples, chain_sets
from toplist.multilabel.chains.models import Conditionals

__all__ = ["Conditionals", "SearchCutShort", "chain_log_p", "chain_samples", "chain_sets"]
