"""Scripts that make real outputs of other programs: they run in processes of their own, and hold no tests."""

collect_ignore = [
    "fasttext_predictions.py",
    "inspect_runs.py",
    "lighteval_runs.py",
    "lm_eval_runs.py",
    "timm_results.py",
    "transformers_outputs.py",
]
