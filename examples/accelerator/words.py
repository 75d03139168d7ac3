"""A text that every Python carries, and a small language model of it.

The text is the source of the modules of the standard library, cut into words and signs. Whole modules are held out. The
model is that of Bengio et al. (2003): embeddings of the words before, one hidden layer, and logits over all words.
"""

from __future__ import annotations

import logging
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

log = logging.getLogger(__name__)
BEFORE = 6  # words that the model sees
HELD_OUT = 4  # every so many-th module
_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Words:
    """Words of some modules as codes, each with those before it; a module is a number."""

    before: torch.Tensor
    y: torch.Tensor
    module: torch.Tensor

    def batches(self, size: int, draw: torch.Generator | None = None) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """All words in their order, or in a random one."""
        n = len(self.y)
        order = torch.arange(n) if draw is None else torch.randperm(n, generator=draw)
        for at in order.split(size):
            yield self.before[at], self.y[at]


@dataclass(frozen=True)
class Text:
    """Modules for training and others for judging, over the most frequent words and one class for all others."""

    classes: int
    train: Words
    test: Words
    learned: tuple[str, ...]  # modules
    held_out: tuple[str, ...]

    @property
    def modules(self) -> int:
        """How many modules are held out."""
        return len(self.held_out)


def read(classes: int, train: int, test: int) -> Text:
    """So many words of the text; judged is the same number of words from every fourth module that has as many."""
    lib = Path(sysconfig.get_paths()["stdlib"])
    texts = {
        path.stem: _TOKEN.findall(path.read_text(encoding="utf-8", errors="ignore"))
        for path in sorted(lib.glob("*.py"))
    }
    judged = list(texts)[::HELD_OUT]
    each = test // len(judged)
    judged = [name for name in judged if len(texts[name]) >= each + BEFORE]
    others = [name for at, name in enumerate(texts) if at % HELD_OUT and len(texts[name]) > BEFORE]
    learned, some, left = [], [], train
    for at in torch.randperm(len(others), generator=torch.Generator().manual_seed(0)).tolist():
        if left <= BEFORE:
            break
        learned.append(others[at])
        some.append(texts[others[at]][:left])
        left -= len(some[-1])
    frequent = Counter(word for words in some for word in words).most_common(classes - 1)
    codes = {word: code for code, (word, _) in enumerate(frequent, start=1)}
    held_out = [texts[name][: each + BEFORE] for name in judged]
    return Text(classes, _coded(some, codes), _coded(held_out, codes), tuple(learned), tuple(judged))


def _coded(texts: list[list[str]], codes: dict[str, int]) -> Words:
    before, y, module = [], [], []
    for number, words in enumerate(texts):
        window = torch.tensor([codes.get(word, 0) for word in words]).unfold(0, BEFORE + 1, 1)
        before.append(window[:, :BEFORE])
        y.append(window[:, BEFORE])
        module.append(torch.full((len(window),), number))
    return Words(torch.cat(before), torch.cat(y), torch.cat(module))


class Model(nn.Module):
    """Logits of the next word."""

    def __init__(self, classes: int, width: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(classes, width)
        self.layers = nn.Sequential(
            nn.Linear(BEFORE * width, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, classes)
        )

    def forward(self, before: torch.Tensor) -> torch.Tensor:
        """Logits of shape (n, classes) from words of shape (n, BEFORE)."""
        logits: torch.Tensor = self.layers(self.embedding(before).flatten(1))
        return logits


def trained(text: Text, width: int, hidden: int, epochs: int, seed: int = 0) -> Model:
    """A model trained by cross-entropy."""
    torch.manual_seed(seed)
    model = Model(text.classes, width, hidden, dropout=0.2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    steps = epochs * -(-len(text.train.y) // 256)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    draw = torch.Generator().manual_seed(seed)
    for epoch in range(epochs):
        log.info("language model of %d words: epoch %d of %d", text.classes, epoch + 1, epochs)
        for before, y in text.train.batches(256, draw):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(before), y).backward()
            optimizer.step()
            schedule.step()
    return model.eval()
