"""What makes no sense is refused in words, by every function of label sets."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.multilabel.test_chains import Table
from toplist.multilabel import METRICS, best_sets, f1_sets, hamming_sets, mode_sets, sampled_sets, support_sets
from toplist.multilabel.chains import chain_sets
from toplist.multilabel.sets import support_log_scores

SPACE, AB, NOT_EMPTY = tl.LabelSets("abc"), tl.LabelSets("ab"), tl.LabelSets("ab", empty=False)
P, ONES, TWO = np.full((3, 2), 0.5), np.ones((2, 1)), [["a", "a"], ["b", "b"]]
IDS, MORE = "1 ids for 2 cases. One per case.", " 1 more case has the same problem."
LOGITS, NAN = 'If these are log-odds, pass scale="logit".', np.array([[0.5, 0.5], [0.5, math.nan], [0.5, 0.5]])
DROPPED, EMPTY = "Leave the case out on purpose", "every label has probability zero, and the empty set is not a class"


class Says:
    """A chain of two labels with one answer for all prefixes."""

    order = (1, 0)

    def __init__(self, answer: Callable[[np.ndarray, int], Any]) -> None:
        self.answer = answer

    def conditional(self, X: np.ndarray, prefixes: np.ndarray) -> Any:
        return self.answer(X, len(prefixes))


def ordered(order: Any) -> Table:
    chain = Table(2, 0)
    chain.order = order
    return chain


def chained(said: str, *, chain: Any = None, X: Any = ONES, k: int = 3, **options: Any) -> Any:
    return lambda: chain_sets(Table(3, 0) if chain is None else chain, X, k, **options), said


def marginal(said: str, p: Any = P, *, k: Any = 3, **options: Any) -> Any:
    return lambda: best_sets(p, k, **options), said


def sampled(said: str, samples: Any = TWO, *, k: Any = None, space: Any = SPACE, **options: Any) -> Any:
    return lambda: sampled_sets(samples, k, space, **options), said


def supported(said: str, *, support: Any = ("a", "b"), k: Any = 1, space: Any = SPACE, **options: Any) -> Any:
    scores = options.pop("log_scores", np.zeros((2, 2)))
    return lambda: support_sets(scores, [set(s) for s in support], k, space, **options), said


def measured(said: str, x: Any, y: Any, **options: Any) -> Any:
    def every() -> None:
        refused = []
        for metric in METRICS.values():
            with pytest.raises(tl.TopListError) as caught:
                metric(x, y, **options)
            refused.append(str(caught.value))
        raise tl.TopListError(min(refused, key=lambda text: said in text))

    return every, said


REFUSED = [
    chained('search is "exact" or "beam", not \'best\'.', search="best"),
    chained('the width is that of a beam; pass search="beam" with it.', width=5),
    chained("most is the limit of an exact search; a beam has its width.", search="beam", most=5),
    chained("a beam of width 2 ends with 2 sets; 3 need one of 3 at least.", search="beam", width=2),
    chained("width is a whole number, at least 1, not 2.5.", search="beam", width=2.5),
    chained("most is a whole number, at least 1, not 0.", most=0),
    chained("k is a number of classes, not -1.", k=-1),
    chained("the chain has 3 labels, and the space 2.", space=AB),
    chained("the classes are label sets; the space is a LabelSets, not 8.", space=8),
    chained("this space has a support: a chain gives a", space=tl.LabelSets("abc", support=["a", "bc"])),
    chained("X has a row per case.", X=np.float64(3.0)),
    chained("expected a fitted ClassifierChain, or an object with `order` and `conditional(X, prefixes)`", chain=5),
    chained(IDS, ids=["a"]),
    *(chained("the order of a chain names each label once", chain=ordered(o)) for o in ([0, 0], [1, 2], [[0]], ["a"])),
    chained("case 1: the chain gives nan for the label at", chain=Says(lambda X, n: np.where(np.arange(n), np.nan, 1))),
    chained("case 0: the chain gives 1.5 for the label at place 0", chain=Says(lambda X, n: np.full(n, 1.5))),
    chained("no probability. P(next label = 1) is from 0 to 1." + MORE, chain=Says(lambda X, n: np.full(n, 1.5))),
    chained("conditional gives (2, 2) for 2 prefixes.", chain=Says(lambda X, n: np.full((n, 2), 0.5))),
    chained(
        "case 1: the chain gives probability one to the empty set, which is not a class of this space. Allow it",
        chain=Says(lambda X, n: X[:, 0]), X=np.array([[0.5], [0.0]]), space=NOT_EMPTY,
    ),
    marginal(f"case 1: the probability of label 1 is nan. {DROPPED}", NAN),
    marginal(f"case 1 ('y'): the probability of label 1 is -0.5. Probabilities are from 0 to 1. {LOGITS}",
             [[0.5, 0.5], [0.5, -0.5]], ids=["x", "y"]),
    marginal("case 0: the probability of label 'a' is 70. If these are percentages, divide", P * 140, space=AB),
    marginal("2 more cases have the same problem.", P * 140, space=AB),
    marginal(f"case 1: the log-odds of label 1 are nan. {DROPPED}", NAN, scale="logit"),
    marginal(f"case 0: {EMPTY}", P * 0, space=NOT_EMPTY),
    marginal(f"case 0: {EMPTY}", P - np.inf, space=NOT_EMPTY, scale="logit"),
    marginal("not one of shape (2,). One case is one row: [[0.9, 0.2]].", P[0]),
    marginal("the marginals have 2 labels, and the space 3.", space=SPACE),
    marginal("this space has a support: support_sets lists", space=tl.LabelSets("ab", support=["a"])),
    marginal("the classes are label sets; the space is a LabelSets, not 4.", space=4),
    marginal('scale is "probability" or "logit", not \'percent\'.', scale="percent"),
    marginal("k is a whole number, at least 1, not 0.", k=0),
    marginal("k is a whole number, at least 1, not 1.5.", k=1.5),
    marginal("k is at most 134,217,728 label sets of a case, not 1,000,000,000.", np.full((1, 40), 0.5), k=10**9),
    marginal("1 ids for 3 cases. One per case.", ids=["x"]),
    sampled("draws are an array (cases, draws, labels), not one of shape (2, 3).", np.zeros((2, 3))),
    sampled("the draws have 4 labels, and the space 3.", np.zeros((1, 2, 4))),
    sampled("an indicator matrix holds zeros and ones; row 0 has 2.", np.full((1, 2, 3), 2)),
    sampled("draws are an array (cases, draws, labels), or label sets for each case, not int.", 5),
    sampled("case 1: there are no draws. A case needs one at least.", [["a"], []]),
    sampled("'d' is not a label.", [["a"], ["d"]]),
    sampled("draws of any form need a space=LabelSets(...)", space=None),
    sampled("draws are label sets; the space is a LabelSets, not 8.", space=8),
    sampled("case 1: {'b'} was drawn, which is not in the support", space=tl.LabelSets("abc", support=["a"])),
    sampled("unseen is a number or \"good-turing\", not 'all'.", unseen="all"),
    sampled("case 0: unseen is 1. It is a mass from 0 to below 1." + MORE, unseen=1),
    sampled("with log_p the mass of sets that were not drawn", unseen="good-turing", log_p=lambda c, s: [0, 0]),
    sampled("log_p has a number for each draw of each case.", log_p=[[0.0], [0.0]]),
    sampled("log_p gives (2, 2) for 2 sets. One log-probability per set.", log_p=lambda c, s: np.zeros((2, 2))),
    sampled("case 1: log_p is -inf for a set that was drawn.", log_p=lambda c, s: [-1.0, -math.inf]),
    sampled("case 1: one set has two log-probabilities, -1 and -2.", log_p=[[-1.0, -1.0], [-1.0, -2.0]]),
    sampled("sum to 1.3", [["a", "b"]], log_p=[[math.log(0.7), math.log(0.6)]]),
    sampled("k is a number of classes, not -1.", k=-1),
    sampled(IDS, ids=["x"]),
    supported("a support is of label sets; the space is a LabelSets, not 8.", space=8),
    supported("a label set is in the support twice; its scores have one column.", support=("a", "a")),
    supported("{'b'} is scored, but is not in the support of the space.", space=tl.LabelSets("abc", support=["a"])),
    supported("log scores of shape (1, 1) for 2 sets. A row per case, a column per set.", log_scores=[[0.0]]),
    *(
        supported("case 1: a log score is NaN or infinite, or all are minus infinity.", log_scores=[[0.0, 1.0], bad])
        for bad in ([math.nan, 0.0], [-math.inf, -math.inf], [math.inf, 0.0])
    ),
    supported("case 0: unseen is 1. It is a mass from 0 to below 1." + MORE, unseen=1.0),
    supported("case 1: unseen is -0.1. It is a mass from 0 to below 1.", unseen=[0.0, -0.1]),
    supported("1 masses of unseen sets for 2 cases. One number, or one per case.", unseen=[0.0]),
    supported("case 0: every set of the space is there", space=tl.LabelSets("abc", support=["a", "b"]), unseen=0.1),
    supported("k is a number of classes, not 1.5.", k=1.5),
    supported(IDS, ids=["x"]),
    (lambda: support_log_scores([[0.1, 0.2]], np.zeros((1, 3))), "marginals of shape (1, 2) for sets of 3 labels."),
    (lambda: support_log_scores([[0.1], [np.nan]], [[1]]), "case 1: a marginal is no probability."),
    (lambda: mode_sets(tl.TopLists.from_proba([[0.5, 0.5]])), "needs lists over LabelSets, not over ClassSpace(2)"),
    (lambda: f1_sets([[0.5, 0.5]]), "needs lists over LabelSets, not over ClassSpace(2)"),
    (lambda: hamming_sets([{("a",): 0.5}], space=SPACE, rest="keep"), "\"drop\"ped, not 'keep'"),  # type: ignore[arg-type]
    (
        lambda: mode_sets(tl.TopLists.from_topk([[5, 7]], [[0.5, 0.2]], tl.LabelSets(range(100)))),
        "the sets of 100 labels cannot be told from their codes",
    ),
    measured("3 predicted sets for 2 true ones", np.eye(3), np.eye(3)[:2]),
    measured("the predicted sets are of 3 labels, the true ones of 4", np.eye(3), np.eye(4)[:3]),
    measured("3 columns for 4 labels", np.eye(3), np.eye(3), space=tl.LabelSets("abcd")),
    measured("label sets are a matrix of zeros and ones", np.eye(3) / 2, np.eye(3)),
    measured("collections of labels need a space=LabelSets(...)", [{"a"}], [{"b"}]),
    measured("collections of labels need a space", [["a"], ["a", "b"]], [["b"], []]),
    measured("Did you mean 'dog'", [{"dgo"}], [{"dog"}], space=tl.LabelSets(["dog"])),
    measured("label sets are a matrix", None, np.eye(3)),
    measured("these are top lists, not sets. Decide first: mode_sets", tl.TopLists.from_proba(np.eye(2)), np.eye(2)),
]  # fmt: skip


@pytest.mark.parametrize(("call", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_makes_no_sense_is_refused(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(tl.TopListError) as caught:
        call()
    assert said in str(caught.value)
