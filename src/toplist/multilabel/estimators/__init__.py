"""Multi-label classifiers in scikit-learn's manner that predict top lists of label sets.

In: features and an indicator matrix. Out: TopLists over label sets, and what scikit-learn's classifiers give. May
import `multilabel`, `postprocess` and scikit-learn.
"""

from toplist.errors import TopListError

try:
    from toplist.multilabel.estimators.labels import BinaryRelevance
    from toplist.multilabel.estimators.reranker import Reranker
    from toplist.multilabel.estimators.whole_sets import LabelPowerset, ProbabilisticChain
except ImportError as error:
    if (error.name or "").partition(".")[0] not in ("sklearn", "joblib"):
        raise
    raise TopListError(
        "the multi-label estimators need scikit-learn 1.7 or later: pip install 'toplist[sklearn]'."
    ) from None

__all__ = ["BinaryRelevance", "LabelPowerset", "ProbabilisticChain", "Reranker"]
