"""The likeliest label sets of a chain, against the probabilities of all 2**L sets."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, logsumexp

import toplist as tl
from tests.draws import draws
from toplist.lists.labelsets import Sets
from toplist.multilabel.chain_models import AnyChain, LogisticChain, as_chain
from toplist.multilabel.chains import SearchCutShort, chain_log_p, chain_samples, chain_sets


def every_set(width: int) -> np.ndarray:
    """All sets as rows of zeros and ones."""
    return np.array(list(product((0, 1), repeat=width)), dtype=np.uint8).reshape(2**width, width)


def by_definition(chain: Any, X: np.ndarray) -> np.ndarray:
    """The log-probability of every set for every case: products of what the estimators' predict_proba says."""
    sets = every_set(len(chain.order_))
    out = np.zeros((len(X), len(sets)))
    shown = np.repeat(X, len(sets), axis=0)
    for depth, (label, estimator) in enumerate(zip(chain.order_, chain.estimators_, strict=True)):
        before = np.tile(sets[:, chain.order_[:depth]], (len(X), 1))
        said = estimator.predict_proba(np.hstack((shown, before)))
        p = np.zeros((len(shown), 2))
        p[:, estimator.classes_.astype(int)] = said
        with np.errstate(divide="ignore"):
            out += np.log(p[np.arange(len(p)), np.tile(sets[:, label], len(X))]).reshape(out.shape)
    return out


def fitted(kind: str, width: int, seed: int, *, constant: bool = False) -> tuple[Any, np.ndarray]:
    """A chain of scikit-learn in a random order, on correlated labels, and cases to ask it for."""
    for module in ("sklearn.linear_model", "sklearn.multioutput", "sklearn.naive_bayes", "sklearn.tree"):
        pytest.importorskip(module, reason="a fitted chain needs scikit-learn")
    from sklearn.linear_model import LogisticRegression
    from sklearn.multioutput import ClassifierChain
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4))
    Y = np.zeros((len(X), width), dtype=int)
    for label in range(width):
        score = X @ rng.normal(size=4) + (Y[:, :label] - 0.5) @ rng.normal(0, 2, size=label)
        Y[:, label] = rng.random(len(X)) < expit(score)
        Y[:2, label] = 0, 1
    if constant:
        Y[:, 0], Y[:, -1] = 0, 1
    made = {
        "logistic": LogisticRegression(),
        "trees": DecisionTreeClassifier(max_depth=3, random_state=0),
        "bayes": GaussianNB(),
    }[kind]
    return ClassifierChain(made, order="random", random_state=seed).fit(X, Y), rng.normal(size=(5, 4))


def check_true_top_k(lists: tl.TopLists, log_p: np.ndarray, k: int, *, atol: float = 1e-12) -> None:
    """These are the k likeliest sets, with their probabilities, and the rest is what all others have."""
    width = len(lists.space.names)
    place = lists.space.sets_of(lists.classes).indicators() @ (1 << np.arange(width)[::-1])
    for case in range(len(lists)):
        here = slice(lists.offsets[case], lists.offsets[case + 1])
        order = np.argsort(-log_p[case], kind="stable")
        possible = int(np.count_nonzero(log_p[case] > -np.inf))
        found, t = place[here], lists.confidences[here]
        assert len(t) == min(k, possible)
        assert len(set(found.tolist())) == len(found)
        np.testing.assert_allclose(t, np.exp(log_p[case][order[: len(t)]]), rtol=1e-10, atol=atol)
        np.testing.assert_allclose(t, np.exp(log_p[case][found]), rtol=1e-10, atol=atol)
        others = np.setdiff1d(np.arange(log_p.shape[1]), found)
        expected = logsumexp(log_p[case][others]) if (log_p[case][others] > -np.inf).any() else -np.inf
        assert lists.log_rest is not None
        assert lists.log_rest[case] == pytest.approx(expected, abs=1e-10)
    assert lists.is_valid().all()


class Wrapped:
    """An estimator that shows nothing but its probabilities."""

    def __init__(self, estimator: Any) -> None:
        self.predict_proba, self.classes_ = estimator.predict_proba, estimator.classes_


class Chain:
    """What scikit-learn's chain has when it is fitted."""

    def __init__(self, order: Any, estimators: Any) -> None:
        self.order_, self.estimators_ = order, estimators


class Table:
    """A chain of one's own: each prefix has its own probability, some of them zero and one."""

    def __init__(self, width: int, seed: int, *, sure: float = 0.0) -> None:
        rng = np.random.default_rng(seed)
        self.order = rng.permutation(width).tolist()
        self.p = rng.random((width, 2**width)) ** 2
        self.p[rng.random(self.p.shape) < sure / 2] = 0.0
        self.p[rng.random(self.p.shape) < sure / 2] = 1.0

    def conditional(self, X: np.ndarray, prefixes: np.ndarray) -> np.ndarray:
        depth = prefixes.shape[1]
        place = prefixes.astype(np.int64) @ (1 << np.arange(depth))
        return np.where(X[:, 0] > 0, self.p[depth, place], 1 - self.p[depth, place])

    def by_definition(self, X: np.ndarray) -> np.ndarray:
        """Set by set, label by label, in plain Python."""
        sets = every_set(len(self.order))
        out = np.ones((len(X), len(sets)))
        for case, row in enumerate(X):
            for i, one in enumerate(sets):
                for depth, label in enumerate(self.order):
                    before = sum(int(one[self.order[d]]) << d for d in range(depth))
                    p = self.p[depth, before] if row[0] > 0 else 1 - self.p[depth, before]
                    out[case, i] *= p if one[label] else 1 - p
        with np.errstate(divide="ignore"):
            return np.log(out)


class Path:
    """The unlikely start leads to the likeliest set: after `depth` zeros all is decided, after others nothing is."""

    def __init__(self, width: int, depth: int) -> None:
        self.order, self.depth = np.arange(width), depth

    def conditional(self, X: np.ndarray, prefixes: np.ndarray) -> np.ndarray:
        if prefixes.shape[1] < self.depth:
            return np.full(len(prefixes), 0.55)
        return np.where(prefixes[:, : self.depth].any(axis=1), 0.5, 0.001)


# The exact search


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [1, 2, 5, 8])
def test_the_exact_search_lists_the_true_top_k_of_logistic_chains(width: int, seed: int) -> None:
    chain, X = fitted("logistic", width, seed)
    log_p = by_definition(chain, X)
    assert isinstance(as_chain(chain, X)[0], LogisticChain)
    for k in (0, 1, 3, 2**width, 2**width + 5):
        check_true_top_k(chain_sets(chain, X, k), log_p, k)


@pytest.mark.parametrize("kind", ["trees", "bayes"])
@pytest.mark.parametrize("constant", [False, True])
def test_the_exact_search_lists_the_true_top_k_of_any_chain(kind: str, constant: bool) -> None:
    """Labels that were constant in training have one class, and probability zero or one."""
    chain, X = fitted(kind, 6, 1, constant=constant)
    assert min(len(classes) for classes in chain.classes_) == (1 if constant else 2)
    log_p = by_definition(chain, X)
    for k in (1, 7, 64):
        check_true_top_k(chain_sets(chain, X, k), log_p, k)


@settings(max_examples=draws(60))
@given(width=st.integers(1, 6), k=st.integers(0, 70), seed=st.integers(0, 10**6), sure=st.sampled_from([0.0, 0.3, 0.9]))
def test_lists_of_any_chain_are_the_true_top_k(width: int, k: int, seed: int, sure: float) -> None:
    """Valid, of mass one with the rest, and without sets of probability zero."""
    chain, X = Table(width, seed, sure=sure), np.array([[1.0], [-1.0]])
    lists = chain_sets(chain, X, k)
    check_true_top_k(lists, chain.by_definition(X), k)
    assert (lists.confidences > 0).all()
    np.testing.assert_allclose(lists.mass + np.exp(lists.log_rest), 1.0, rtol=1e-12)


def test_the_logistic_path_says_what_predict_proba_says() -> None:
    chain, X = fitted("logistic", 7, 3)
    slow = Chain(chain.order_, [Wrapped(estimator) for estimator in chain.estimators_])
    assert isinstance(as_chain(slow, X)[0], AnyChain)
    mine, theirs = chain_sets(chain, X, 20), chain_sets(slow, X, 20)
    np.testing.assert_array_equal(mine.classes, theirs.classes)
    np.testing.assert_allclose(mine.confidences, theirs.confidences, rtol=1e-12)
    np.testing.assert_allclose(mine.log_rest, theirs.log_rest, rtol=1e-12)


def test_linear_models_with_another_link_are_not_taken_for_logistic_ones() -> None:
    linear = pytest.importorskip("sklearn.linear_model", reason="needs scikit-learn")
    multioutput = pytest.importorskip("sklearn.multioutput", reason="needs scikit-learn")
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(60, 3)), rng.integers(0, 2, (60, 4))
    for loss, kind in (("log_loss", LogisticChain), ("modified_huber", AnyChain)):
        chain = multioutput.ClassifierChain(linear.SGDClassifier(loss=loss, alpha=1.0, random_state=0)).fit(X, Y)
        assert isinstance(as_chain(chain, X)[0], kind)
        check_true_top_k(chain_sets(chain, X[:3], 5), by_definition(chain, X[:3]), 5)


def test_the_exact_search_finds_what_a_beam_loses() -> None:
    chain, X = Path(12, 3), np.zeros((2, 1))
    lost = chain_sets(chain, X, 1, search="beam", width=2)
    found = chain_sets(chain, X, 1)
    assert found.classes.tolist() == [0, 0]
    np.testing.assert_allclose(found.confidences, 0.45**3 * 0.999**9, rtol=1e-12)
    assert (lost.confidences < found.confidences).all()


def test_sparse_features_are_as_good_as_dense_ones() -> None:
    for kind in ("logistic", "trees"):
        chain, X = fitted(kind, 5, 2)
        X[np.abs(X) < 0.5] = 0.0
        dense = chain_sets(chain, X, 9)
        for form in (sparse.csr_array, sparse.csc_matrix):
            lists = chain_sets(chain, form(X), 9)
            np.testing.assert_array_equal(lists.classes, dense.classes)
            np.testing.assert_allclose(lists.confidences, dense.confidences, rtol=1e-12)


def test_how_the_cases_are_split_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, X = fitted("logistic", 8, 4)
    whole = chain_sets(chain, X, 40)
    for rows in (1, 30, 700):
        for module in ("chains", "chain_models"):
            monkeypatch.setattr(f"toplist.multilabel.{module}.ROWS", rows)
        parts = chain_sets(chain, X, 40)
        np.testing.assert_array_equal(parts.classes, whole.classes)
        np.testing.assert_allclose(parts.confidences, whole.confidences, rtol=1e-12)
        np.testing.assert_allclose(parts.log_rest, whole.log_rest, rtol=1e-10)


def test_without_the_empty_set_all_is_given_that_it_is_not_empty() -> None:
    space = tl.LabelSets("abcdef", empty=False)
    for seed in range(3):
        chain, X = Table(6, seed), np.array([[1.0], [-1.0]])
        log_p = chain.by_definition(X)
        log_p[:, 0] = -np.inf
        log_p -= logsumexp(log_p, axis=1, keepdims=True)
        for k in (0, 1, 10, 63):
            check_true_top_k(chain_sets(chain, X, k, space), log_p, k)
        check_true_top_k(chain_sets(chain, X, 10, space, search="beam", width=64), log_p, 10)


def test_no_case_makes_no_list() -> None:
    for kind in ("logistic", "trees"):
        chain, X = fitted(kind, 3, 0)
        assert len(chain_sets(chain, X[:0], 2)) == 0
        assert len(chain_sets(chain, X[:0], 2, search="beam")) == 0


# Bounds


@pytest.mark.parametrize("seed", range(3))
def test_bounds_are_never_below_the_best_completion(seed: int) -> None:
    """And the ceiling of a case is never below the bound of a prefix."""
    chain, X = fitted("logistic", 6, seed)
    model, rows = as_chain(chain, X)
    found, log_p = model.over(rows, 0), by_definition(chain, X).reshape(len(X), *[2] * 6)
    log_p = np.moveaxis(log_p, np.asarray(chain.order_) + 1, np.arange(1, 7))  # labels in the order of the chain
    tight = []
    for depth in range(7):
        prefixes = every_set(depth)
        case = np.repeat(np.arange(len(X)), len(prefixes))
        bits = np.tile(prefixes, (len(X), 1))
        below = log_p.reshape(len(X), len(prefixes), -1)
        prefix, best = logsumexp(below, axis=2).ravel(), below.max(axis=2).ravel()
        bound, ceiling = found.bound(case, bits), found.ceiling(case, depth)
        assert (prefix + bound >= best - 1e-12).all()
        assert (ceiling >= bound - 1e-12).all()
        assert (bound <= 0).all()
        tight.append(np.mean(prefix + bound - best))
        if depth >= 5:  # nothing open lies between the prefix and the last label
            np.testing.assert_allclose(prefix + bound, best, atol=1e-12)
    assert tight[0] > tight[-1]


# Beams


@pytest.mark.parametrize("seed", range(3))
def test_a_beam_that_drops_nothing_is_exact(seed: int) -> None:
    chain, X = fitted("logistic", 6, seed)
    for k in (1, 10, 64):
        exact, beam = chain_sets(chain, X, k), chain_sets(chain, X, k, search="beam", width=64)
        np.testing.assert_array_equal(beam.classes, exact.classes)
        np.testing.assert_allclose(beam.confidences, exact.confidences, rtol=1e-12)
        np.testing.assert_allclose(beam.log_rest, exact.log_rest, atol=1e-10)


@settings(max_examples=draws(50))
@given(seed=st.integers(0, 10**6), k=st.integers(1, 8), more=st.integers(0, 4))
def test_a_beam_lists_exact_probabilities_and_knows_the_rest(seed: int, k: int, more: int) -> None:
    chain, X = Table(6, seed, sure=0.2), np.array([[1.0], [-1.0]])
    beam, exact = chain_sets(chain, X, k, search="beam", width=k + more), chain_sets(chain, X, k)
    case = np.repeat(np.arange(2), beam.sizes)
    np.testing.assert_array_equal(beam.sizes, exact.sizes)
    np.testing.assert_allclose(
        np.log(beam.confidences), chain_log_p(chain, X[case], beam.space.sets_of(beam.classes)), atol=1e-12
    )
    np.testing.assert_allclose(beam.mass + np.exp(beam.log_rest), 1.0, rtol=1e-12)
    assert (beam.mass <= exact.mass + 1e-12).all()


# The limit


def test_a_search_that_is_cut_short_says_so_and_still_lists() -> None:
    """The probabilities are exact, and no list is worse than the beam's."""
    chain, X = Path(12, 4), np.zeros((3, 1))
    with pytest.warns(SearchCutShort, match=r"3 of 3 searches ended after 10 prefixes: .* Raise most="):
        cut = chain_sets(chain, X, 5, most=10)
    exact, case = chain_sets(chain, X, 5), np.repeat(np.arange(3), 5)
    assert cut.sizes.tolist() == [5, 5, 5]
    np.testing.assert_allclose(
        np.log(cut.confidences), chain_log_p(chain, X[case], cut.space.sets_of(cut.classes)), atol=1e-12
    )
    np.testing.assert_allclose(cut.mass + np.exp(cut.log_rest), 1.0, rtol=1e-12)
    assert (cut.mass < exact.mass).all()


@settings(max_examples=draws(50))
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), most=st.integers(1, 60))
@pytest.mark.filterwarnings("ignore::toplist.multilabel.chains.SearchCutShort")
def test_no_list_that_is_cut_short_is_worse_than_the_beam_it_began_with(seed: int, k: int, most: int) -> None:
    chain, X = Table(7, seed, sure=0.1), np.array([[1.0]])
    cut, beam = chain_sets(chain, X, k, most=most), chain_sets(chain, X, k, search="beam", width=2 * k)
    assert cut.sizes == beam.sizes
    assert cut.mass[0] >= beam.mass[0] - 1e-12
    assert cut.mass[0] + np.exp(cut.log_rest[0]) == pytest.approx(1.0, rel=1e-12)


def test_where_no_one_says_it_was_cut_short_the_list_is_exact() -> None:
    """A limit that only drops what could not have been listed is no loss."""
    quiet = 0
    for seed in range(30):
        chain, X = Table(6, seed), np.array([[1.0]])
        try:
            cut = chain_sets(chain, X, 2, most=20)
        except SearchCutShort:
            continue
        quiet += 1
        check_true_top_k(cut, chain.by_definition(X), 2)
    assert 0 < quiet < 30


# Many labels


def wide_chain(width: int, seed: int) -> tuple[Any, np.ndarray]:
    """A logistic chain of rare labels."""

    class Logistic:
        def __init__(self, weights: np.ndarray, start: float) -> None:
            self.coef_, self.intercept_, self.classes_ = weights[None], np.array([start]), np.array([0, 1])

        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            p = expit(X @ self.coef_[0] + self.intercept_[0])
            return np.stack((1 - p, p), axis=1)

    rng = np.random.default_rng(seed)
    estimators = [Logistic(rng.normal(size=3 + depth) / 2, -5.0) for depth in range(width)]
    return Chain(rng.permutation(width), estimators), rng.normal(size=(4, 3))


@pytest.mark.parametrize("options", [{}, {"search": "beam", "width": 30}], ids=["exact", "beam"])
def test_sets_of_many_labels_have_digests_and_can_be_told(options: Any) -> None:
    chain, X = wide_chain(70, 0)
    lists = chain_sets(chain, X, 12, **options)
    sets = lists.space.sets_of(lists.classes)
    assert sets.width == 70
    assert len({(c, s) for c, s in zip(np.repeat(range(4), 12).tolist(), sets, strict=True)}) == 48
    np.testing.assert_allclose(np.log(lists.confidences), chain_log_p(chain, np.repeat(X, 12, axis=0), sets), atol=1e-9)
    np.testing.assert_allclose(lists.mass + np.exp(lists.log_rest), 1.0, rtol=1e-12)
    happened = sets.take(np.arange(4) * 12)
    np.testing.assert_allclose(tl.score(lists, happened, rule="log"), -np.log(lists.confidences[::12]), rtol=1e-12)


def test_probabilities_as_small_as_numbers_can_be() -> None:
    class Coins:
        order = range(1000)

        def conditional(self, X: np.ndarray, prefixes: np.ndarray) -> np.ndarray:
            return np.full(len(prefixes), 0.5)

    lists = chain_sets(Coins(), np.zeros((1, 1)), 3, search="beam", width=3)
    assert lists.sizes.tolist() == [3]
    assert np.log(lists.confidences) == pytest.approx(-1000 * np.log(2), rel=1e-12)
    assert lists.log_rest == pytest.approx(0.0, abs=1e-12)


# Given sets, draws


@pytest.mark.parametrize("kind", ["logistic", "trees"])
def test_the_probabilities_of_all_sets_are_the_products(kind: str) -> None:
    chain, X = fitted(kind, 5, 7)
    log_p = by_definition(chain, X)
    for i, one in enumerate(every_set(5)):
        said = chain_log_p(chain, X, np.tile(one, (len(X), 1)))
        np.testing.assert_allclose(said, log_p[:, i], rtol=1e-12)
        np.testing.assert_array_equal(said, chain_log_p(chain, X, Sets.from_indicators(np.tile(one, (len(X), 1)))))


def test_draws_have_the_frequencies_of_the_chain() -> None:
    chain, X = Table(3, 1), np.array([[1.0], [-1.0]])
    draws = chain_samples(chain, X, 20_000, rng=np.random.default_rng(0))
    assert draws.shape == (2, 20_000, 3)
    counts = np.stack([np.bincount(case @ [4, 2, 1], minlength=8) for case in draws])
    expected = 20_000 * np.exp(chain.by_definition(X))
    assert (((counts - expected) ** 2 / expected).sum(axis=1) < 24.3).all()  # chi-square, 7 degrees, one in a thousand


# Errors


def test_a_fitted_chain_must_speak_of_label_sets() -> None:
    """Each problem by its own words."""
    chain, X = fitted("logistic", 3, 0)
    from sklearn.linear_model import LogisticRegression
    from sklearn.multioutput import ClassifierChain
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (40, 2))
    data = rng.normal(size=(40, 4))
    averaged = ClassifierChain(LogisticRegression(), cv=2, chain_method="predict_proba").fit(data, Y)
    for bad, problem in (
        (ClassifierChain(LogisticRegression()), "got ClassifierChain. Fit it first."),
        (ClassifierChain(LinearSVC()).fit(data, Y), "LinearSVC, which decides label 0, has no predict_proba"),
        (ClassifierChain(LogisticRegression()).fit(data, 2 * Y - 1), r"label 0 of the chain is one of \[-1, 1\]"),
        (averaged, "this chain was trained on predict_proba of earlier labels"),
        (Chain([0, 1], chain.estimators_), "the chain has 3 estimators for 2 labels"),
    ):
        with pytest.raises(tl.TopListError, match=problem):
            chain_sets(bad, X, 1)
    assert len(chain_sets(ClassifierChain(LogisticRegression(), cv=2).fit(data, Y), X, 1)) == 5
    with pytest.raises(tl.TopListError, match=r"X has shape \(5, 3\); the chain was trained on 4 features"):
        chain_sets(chain, X[:, :3], 1)
    for form in (np.asarray, sparse.csr_array):
        X[3, 2] = np.nan
        with pytest.raises(tl.TopListError, match=r"^case 3: a feature is NaN or infinite"):
            chain_sets(chain, form(X), 1)
    with pytest.raises(tl.TopListError, match="5 sets of 2 labels for 5 cases and a chain of 3"):
        chain_log_p(chain, np.zeros((5, 4)), np.zeros((5, 2)))
