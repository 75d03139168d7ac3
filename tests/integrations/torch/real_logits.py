"""Logits of models that were trained: of words of Python source, and of handwritten digits."""

from __future__ import annotations

import functools

import numpy as np
import torch
from examples.accelerator import classifier, words


@functools.cache
def of_words(classes: int, train: int) -> tuple[np.ndarray, np.ndarray]:
    """A language model with so many classes, trained on so many words, on 1,000 words of other modules."""
    text = words.read(classes, train, 2_000)
    model = words.trained(text, 32, 64, 1)
    some = slice(0, len(text.test.y), len(text.test.y) // 1_000)
    with torch.no_grad():
        return model(text.test.before[some]).numpy(), text.test.y[some].numpy()


@functools.cache
def of_digits() -> tuple[np.ndarray, np.ndarray]:
    """A classifier of handwritten digits, on the digits that it learned: most of these are nearly certain."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    given = torch.tensor(X / 16, dtype=torch.float32)
    model = classifier.fit(given, torch.tensor(y), classifier.ENTROPY, 20, 0)
    with torch.no_grad():
        return model(given).numpy(), y
