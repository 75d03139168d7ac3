"""Five multi-label data sets with their authors' splits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler


@dataclass(frozen=True, slots=True)
class Source:
    """A data set: whether its features are standardised, and how strongly a logistic regression is held back."""

    name: str
    about: str
    standardise: bool
    strength: float  # C of scikit-learn's LogisticRegression

    @property
    def file(self) -> str:
        """What the file is called."""
        return f"multilabel_{self.name}.npz"


SOURCES = {
    source.name: source
    for source in (
        Source("emotions", "moods of pieces of music", standardise=True, strength=0.1),
        Source("scene", "what is to be seen in a photograph", standardise=True, strength=1.0),
        Source("yeast", "functions of a gene", standardise=True, strength=0.1),
        Source("tmc2007-500", "problems named in a flight safety report", standardise=False, strength=1.0),
        Source("bibtex", "tags of a bookmarked publication", standardise=False, strength=1.0),
    )
}


@dataclass(frozen=True, slots=True)
class Data:
    """Features and label sets, to learn from and to be tested on."""

    source: Source
    labels: tuple[str, ...]
    x: Any
    y: NDArray[np.int8]
    x_test: Any
    y_test: NDArray[np.int8]

    @property
    def unseen(self) -> float:
        """The share of test cases whose label set no training case has."""
        seen = set(map(bytes, self.y))
        return float(np.mean([bytes(row) not in seen for row in self.y_test]))


def load(source: Source, folder: Path) -> Data:
    """Read a data set; features that are standardised are so by the training part."""
    with np.load(folder / source.file) as file:
        parts = (file["X_data"], file["X_indices"], file["X_indptr"])
        x: Any = sp.csr_matrix(parts, shape=tuple(file["X_shape"]))
        y, test = file["Y"].astype(np.int8), file["is_test"].astype(bool)
        labels = tuple(map(str, file["label_names"]))
    if source.standardise:
        x = x.toarray()
        x = StandardScaler().fit(x[~test]).transform(x)
    return Data(source, labels, x[~test], y[~test], x[test], y[test])
