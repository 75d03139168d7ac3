"""Multi-label classification, where a class is a set of labels: lists of sets, decisions, metrics, estimators.

In: marginals, samples, chains or features. Out: TopLists over label sets. May import `postprocess` and what lies below.
The estimators need scikit-learn (`pip install 'toplist[sklearn]'`).
"""

from toplist._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
