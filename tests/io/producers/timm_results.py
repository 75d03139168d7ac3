"""Results of timm as its inference.py writes them, of a model with random weights, and the logits behind them.

`python -m tests.io.producers.timm_results FOLDER` writes them. The script is not part of the package: what follows the
model (softmax, topk, labels, the columns of the table and its formats) is written as the script does it.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch

register, torch.library.register_fake = torch.library.register_fake, lambda *_, **__: lambda function: function
import torchvision  # noqa: E402, F401  its compiled operators, which may not fit the installed torch, are not needed

torch.library.register_fake = register
import timm  # noqa: E402
from timm.data import ImageNetInfo  # noqa: E402

K = 5
CRANES = (134, 517)  # two classes with one description
FORMATS = {
    "csv": lambda frame, path: frame.to_csv(f"{path}.csv", index=False),
    "parquet": lambda frame, path: frame.set_index("filename").to_parquet(f"{path}.parquet"),
    "json": lambda frame, path: frame.set_index("filename").to_json(f"{path}.json", indent=4, orient="index"),
    "json-split": lambda frame, path: frame.to_json(f"{path}-split.json", indent=4, orient="split", index=False),
}


def results(logits, filenames, *, index=False, label="description", probabilities=True, k=K, separate=True):
    """The table of the script for these options."""
    output = logits.softmax(-1) if probabilities else logits
    data = {"filename": filenames}
    columns = {}
    if k:
        output, indices = output.topk(k)
        info = ImageNetInfo("imagenet-1k")
        name = {"description": info.index_to_description, "name": info.index_to_label_name}.get(label)
        if index:
            columns["index"] = indices.numpy()
        if name is not None:
            columns["label"] = np.vectorize(name, otypes=[object])(indices.numpy())
    columns["prob" if probabilities else "logit"] = output.float().numpy().astype(np.float32)
    for field, values in columns.items():
        if separate and values.shape[-1] > 1:
            data |= {f"{field}_{at}": values[:, at] for at in range(values.shape[-1])}
        else:
            data[field] = list(values.squeeze(-1) if values.shape[-1] == 1 else values)
    return pd.DataFrame(data)


def main(home):
    torch.manual_seed(0)
    np.set_printoptions(threshold=sys.maxsize)
    model = timm.create_model("test_resnet", pretrained=False).eval()
    with torch.no_grad():
        logits = 40 * model(torch.rand(6, *model.pretrained_cfg["input_size"]))
    filenames = [f"{at:03d}.jpg" for at in range(6)]
    tables = {
        "separate": results(logits, filenames, index=True),
        "labels": results(logits, filenames, label="name"),
        "together": results(logits, filenames, index=True, separate=False),
        "described": results(logits, filenames, separate=False),
        "first": results(logits, filenames, k=1),
        "logits": results(logits, filenames, probabilities=False),
        "bare": results(logits, filenames, label="none"),
        "whole": results(logits, filenames, k=0),
    }
    cranes = logits.clone()
    cranes[2, list(CRANES)] = cranes.max() + 1
    tables["cranes"] = results(cranes, filenames)
    tables["basenames"] = results(logits, ["a.jpg", "b.jpg", "a.jpg", "c.jpg", "d.jpg", "e.jpg"])
    for name, frame in tables.items():
        for form, write in FORMATS.items():
            if form != "json" or frame["filename"].is_unique:  # pandas refuses the others
                write(frame, home / name)
    info = ImageNetInfo("imagenet-1k")
    known = {"ids": [info.index_to_label_name(at) for at in range(1000)], "logits": logits.double().tolist()}
    known["descriptions"] = [info.index_to_description(at) for at in range(1000)]
    (home / "known.json").write_text(json.dumps(known))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
