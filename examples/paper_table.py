"""The paper's table, computed, and an example of mixed predictions scored on one scale."""

import math

import toplist as tl

DISTRIBUTIONS = {
    "p(h)": [0.99, 0.01, 0.0, 0.0, 0.0],
    "p(m)": [0.5, 0.44, 0.03, 0.02, 0.01],
    "p(m) used": [0.5, 0.4, 0.05, 0.03, 0.02],
    "p(l)": [0.25, 0.22, 0.2, 0.18, 0.15],
}


def paper_table() -> None:
    """Expected padded scores of true predictions of growing length (paper, Table 1)."""
    print("Expected scores of true predictions (J. Resin, Table 1); in brackets the excess over the best.\n")
    print(f"{'truth':<10} {'rule':<6} {'mode':>18} {'top-1 list':>18} {'top-2 list':>18} {'distribution':>13}")
    for rule in ("brier", "log"):
        for name, p in DISTRIBUTIONS.items():
            best = tl.expected_score(tl.lists.top_k(p, 5), p, rule=rule)
            lists = [tl.TopList({0: 1.0}, 5), tl.lists.top_k(p, 1), tl.lists.top_k(p, 2)]
            scores = [tl.expected_score(t, p, rule=rule) for t in lists]
            shown = [f"{s:.4f} ({100 * (s / best - 1):.2f}%)" if s < math.inf else "inf" for s in scores]
            print(f"{name:<10} {rule:<6} {shown[0]:>18} {shown[1]:>18} {shown[2]:>18} {best:13.4f}")
    print("\nThe printed table was computed with 'p(m) used', not with the p(m) that the paper prints.")


def mixed_predictions() -> None:
    """A hard label, a short list, a distribution and a reject, on one scale."""
    space = tl.ClassSpace(labels=["cat", "dog", "fox", "owl", "pig"])
    predictions = {
        "hard label": {"cat": 1.0},
        "top-2 list": {"cat": 0.6, "dog": 0.3},
        "distribution": {"cat": 0.6, "dog": 0.3, "fox": 0.05, "owl": 0.03, "pig": 0.02},
        "reject": {},
        "invalid list": {"cat": 0.6, "dog": 0.01},
    }
    outcomes = ["cat", "dog", "fox"]
    print("\nPadded scores of five predictions for three outcomes, lower is better:\n")
    print(f"{'prediction':<14}" + "".join(f"{rule + ', ' + y:>14}" for rule in ("brier", "log") for y in outcomes))
    for name, listed in predictions.items():
        t = tl.TopList(listed, space)
        scores = [tl.score(t, y, rule=rule) for rule in ("brier", "log") for y in outcomes]
        note = "" if t.is_valid() else f"   'dog' is below the proxy {t.proxy:.4g}: scored without it, plus a penalty"
        print(f"{name:<14}" + "".join(f"{s:14.4f}" for s in scores) + note)
    print("\nProbability 0 for the true class is an infinite log score: nothing is clipped.")


if __name__ == "__main__":
    paper_table()
    mixed_predictions()
