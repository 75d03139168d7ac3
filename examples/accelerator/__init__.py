"""Training and judging by top lists on the way from logits: a classifier, distilled language models, lists of tokens.

Each example runs on a CPU in minutes and needs torch and scikit-learn, and no download:
`python -m examples.accelerator`.
"""
