"""Label sets from classifier chains: the likeliest ones, the probabilities of given ones, draws."""

from toplist.multilabel.chains.links import Conditionals
from toplist.multilabel.chains.listing import SearchCutShort, chain_log_p, chain_samples, chain_sets

__all__ = ["Conditionals", "SearchCutShort", "chain_log_p", "chain_samples", "chain_sets"]
