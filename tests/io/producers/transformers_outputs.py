"""Outputs of pipelines of transformers with tiny random models, and the logits that they were made of.

`python -m tests.io.producers.transformers_outputs FOLDER` writes them; nothing is downloaded.
"""

import json
import sys
from pathlib import Path

import torch

sys.modules["torchvision"] = None  # not needed here, and its operators may not fit the installed torch

from PIL import Image  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers, processors  # noqa: E402
from transformers import (  # noqa: E402
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessorPil,
    pipeline,
)

from toplist.io.producers.transformers import UNIQUE_NAMES  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "This", "example", "is", ".", "a", "cat", "dog", "fox", "owl"]
TEXTS = ["a cat", "a dog is a dog", "fox", "owl owl owl", "a fox . a cat", "is a cat a dog"]
CANDIDATES = ["cat", "dog", "owl"]
NLI = ["contradiction", "neutral", "entailment"]
DOUBLED = ["cat", "crane", "dog", "crane"]  # as two classes of ImageNet are called


def tokenizer():
    made = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token=WORDS[1]))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=32, **special)


def sharp(model, factor=12):
    """Weights so large that probabilities differ."""
    for parameter in model.parameters():
        parameter.data *= factor
    return model.eval()


def bert(labels, **more):
    names = dict(enumerate(labels))
    return BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
        id2label=names,
        label2id={name: at for at, name in names.items()},
        **more,
    )


def logits_of(model, inputs):
    """Logits one by one, as a pipeline without batches has them."""
    with torch.no_grad():
        return [model(**one).logits[0].double().tolist() for one in inputs]


def texts_and_logits(model, tokens):
    return logits_of(model, [tokens(text, return_tensors="pt") for text in TEXTS])


def main(home):
    torch.manual_seed(0)
    tokens, made = tokenizer(), {}

    model = sharp(BertForSequenceClassification(bert([f"LABEL_{at}" for at in range(5)])))
    text = pipeline("text-classification", model=model, tokenizer=tokens)
    made["text"] = {
        "logits": texts_and_logits(model, tokens),
        "top1": text(TEXTS),
        "top3": text(TEXTS, top_k=3),
        "all": text(TEXTS, top_k=None),
        "one": text(TEXTS[0], top_k=3),
        "raw": text(TEXTS, top_k=None, function_to_apply="none"),
    }
    doubled = BertForSequenceClassification(bert([f"class {at}" for at in range(4)])).eval()
    pipe = pipeline("text-classification", model=doubled, tokenizer=tokens)
    doubled.config.id2label = dict(enumerate(DOUBLED))
    made["doubled"] = {"names": pipe(TEXTS, top_k=None)}
    exec(UNIQUE_NAMES)  # noqa: S102  what the message about names says
    made["doubled"] |= {"ids": pipe(TEXTS, top_k=None), "logits": texts_and_logits(doubled, tokens)}

    several = sharp(BertForSequenceClassification(bert(CANDIDATES, problem_type="multi_label_classification")))
    pipe = pipeline("text-classification", model=several, tokenizer=tokens)
    made["multi_label"] = {"all": pipe(TEXTS, top_k=None)}
    single = BertForSequenceClassification(bert(["LABEL_0"])).eval()
    made["one_label"] = {"all": pipeline("text-classification", model=single, tokenizer=tokens)(TEXTS)}

    entailing = sharp(BertForSequenceClassification(bert(NLI)))
    zero_shot = pipeline("zero-shot-classification", model=entailing, tokenizer=tokens)
    hypotheses = [
        logits_of(entailing, [tokens(text, f"This example is {one}.", return_tensors="pt") for one in CANDIDATES])
        for text in TEXTS
    ]
    made["zero_shot"] = {
        "logits": [[row[NLI.index("entailment")] for row in case] for case in hypotheses],
        "candidates": CANDIDATES,
        "one": zero_shot(TEXTS[0], candidate_labels=CANDIDATES),
        "all": zero_shot(TEXTS, candidate_labels=CANDIDATES),
        "multi_label": zero_shot(TEXTS, candidate_labels=CANDIDATES, multi_label=True),
        "single": zero_shot(TEXTS, candidate_labels=CANDIDATES[:1]),
    }

    masked = sharp(BertForMaskedLM(bert(["LABEL_0", "LABEL_1"])), 6)
    fill = pipeline("fill-mask", model=masked, tokenizer=tokens)
    holes = ["a [MASK]", "[MASK] is a dog"]
    with torch.no_grad():
        inputs = [tokens(text, return_tensors="pt") for text in holes]
        at = [one.input_ids[0].tolist().index(WORDS.index("[MASK]")) for one in inputs]
        logits = [masked(**one).logits[0, place].double().tolist() for one, place in zip(inputs, at, strict=True)]
    made["fill_mask"] = {
        "logits": logits,
        "words": WORDS,
        "top5": fill(holes, top_k=5),
        "targets": fill(holes, targets=["cat", "dog"]),
        "masks": fill(["a [MASK] [MASK]", "a [MASK]"], top_k=2),
    }

    seeing = ViTForImageClassification(
        ViTConfig(
            image_size=8,
            patch_size=4,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            id2label={at: f"n{at:08d}" for at in range(7)},
            label2id={f"n{at:08d}": at for at in range(7)},
        )
    )
    processor = ViTImageProcessorPil(size={"height": 8, "width": 8})
    image = pipeline("image-classification", model=sharp(seeing, 6), image_processor=processor)
    pictures = [Image.new("RGB", (8, 8), (40 * at, 100, 255 - 40 * at)) for at in range(5)]
    made["image"] = {
        "logits": logits_of(seeing, [processor(one, return_tensors="pt") for one in pictures]),
        "top5": image(pictures),
        "one": image(pictures[0]),
    }
    (home / "outputs.json").write_text(json.dumps(made))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
