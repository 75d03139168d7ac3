"""Label sets from classifier chains: the likeliest ones, the probabilities of given ones, draws."""

from toplist.multilabel.chains.chain_sets import SearchCutShort, chain_log_p, chain_samples, chain_sets
from toplist.multilabel.chains.models import Conditionals

__all__ = ["Conditionals", "SearchCutShort", "chain_log_p", "chain_samples", "chain_sets"]
