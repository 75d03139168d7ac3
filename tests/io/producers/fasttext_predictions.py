"""Predictions of fastText models that are trained here, in Python and as `fasttext predict-prob` prints them.

`python -m tests.io.producers.fasttext_predictions FOLDER` writes them, with the scores that the model computes of its
own matrices.
"""

import json
import sys
from pathlib import Path

import fasttext
import numpy as np

WORDS = {
    "en": "the cat sat on a mat and looked at me",
    "de": "die katze sass auf einer matte und sah mich an",
    "fr": "le chat assis sur un tapis me regardait encore",
    "it": "il gatto seduto su un tappeto mi guardava",
}
TEXTS = ["the cat", "die katze und the mat", "un", "gatto chat", "", "zzzz qqqq", "me regardait the mat"]


def trained(home, loss):
    path = home / "train.txt"
    lines = [f"__label__{label} {word}" for label, text in WORDS.items() for word in text.split() * 3]
    path.write_text("\n".join(lines) + "\n")
    return fasttext.train_supervised(str(path), dim=8, epoch=12, lr=0.4, minn=2, maxn=3, loss=loss, thread=1, verbose=0)


def printed(model, k, threshold=0.0):
    """As the command prints it: a line per text, and six significant digits."""
    labels, probabilities = model.predict(TEXTS, k=k, threshold=threshold)
    lines = [
        " ".join(f"{label} {float(p):g}" for label, p in zip(*pair, strict=True))
        for pair in zip(labels, probabilities, strict=True)
    ]
    return "\n".join(lines) + "\n"


def scores(model):
    """The output matrix times the mean of the vectors of words, which is the hidden layer."""
    hidden = np.array([model.get_sentence_vector(text) for text in TEXTS], dtype=np.float64)
    return hidden, (hidden @ model.get_output_matrix().T.astype(np.float64)).tolist()


def main(home):
    for loss in ("softmax", "hs", "ova"):
        model = trained(home, loss)
        (home / f"{loss}.txt").write_text(printed(model, -1))
        (home / f"{loss}-top2.txt").write_text(printed(model, 2))
        (home / f"{loss}-sure.txt").write_text(printed(model, 4, threshold=0.5))
        labels, probabilities = model.predict(TEXTS, k=4)
        both = {"labels": labels, "probabilities": [one.tolist() for one in probabilities], "known": model.labels}
        one = model.f.predict("the cat\n", 2, 0.0, "strict")  # what `predict` of one text makes its pair of
        both["one"] = {"labels": [label for _, label in one], "probabilities": [p for p, _ in one]}
        (home / f"{loss}.json").write_text(json.dumps({**both, "scores": scores(model)[1], "texts": TEXTS}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
