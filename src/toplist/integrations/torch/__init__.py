"""PyTorch: lists and scores straight from logits, losses and divergences of lists, and metrics that merge.

`lists_from_logits` and `scores_from_logits` read a matrix of logits once, by Triton kernels on a CUDA device.
Elsewhere plain torch gives the same. In: tensors of logits or of log probabilities, on any device. Out: tensors on the
same device. Needs torch; Triton comes with its CUDA builds.
"""

from toplist.integrations._logits import LogitLists, LogitScores
from toplist.integrations.torch.divergence import ListDivergence, list_divergence
from toplist.integrations.torch.logits import lists_from_logits, scores_from_logits
from toplist.integrations.torch.losses import ListLoss, ScoreLoss, list_loss, score_loss
from toplist.integrations.torch.streaming import StreamedMean, StreamedScores, StreamingScores

__all__ = [
    "ListDivergence",
    "ListLoss",
    "LogitLists",
    "LogitScores",
    "ScoreLoss",
    "StreamedMean",
    "StreamedScores",
    "StreamingScores",
    "list_divergence",
    "list_loss",
    "lists_from_logits",
    "score_loss",
    "scores_from_logits",
]
