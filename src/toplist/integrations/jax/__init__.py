"""JAX: lists and scores straight from logits, losses and divergences of lists, as pure functions.

They work under `jit`, `vmap`, `grad`, `jacfwd` and `shard_map`, over rows and over classes that devices share. In:
arrays of logits or of log probabilities. Out: arrays, in named tuples that are pytrees. Needs jax.
"""

from toplist.integrations._logits import LogitLists, LogitScores
from toplist.integrations.jax.logits import lists_from_logits, scores_from_logits
from toplist.integrations.jax.losses import list_divergence, score_loss

__all__ = ["LogitLists", "LogitScores", "list_divergence", "lists_from_logits", "score_loss", "scores_from_logits"]
