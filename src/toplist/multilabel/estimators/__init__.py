"""Multi-label classifiers in scikit-learn's manners that predict top lists of label sets."""
