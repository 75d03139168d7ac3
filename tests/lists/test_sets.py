"""Batches of label sets: read from what people have, coded without being enumerated, and told again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from toplist.lists.labelsets import Codebook, Sets

WIDTHS = [1, 5, 62, 63, 159]


def draw(width: int, n: int = 30, seed: int = 0) -> Any:
    return np.random.default_rng(seed).random((n, width)) < 0.2


@pytest.mark.parametrize("width", WIDTHS)
def test_every_form_of_the_same_sets_reads_the_same(width: int) -> None:
    """Dense of any type, sparse of any kind, a data frame, names, texts."""
    import pandas as pd

    y = draw(width)
    names = [f"label {i}" for i in range(width)]
    space = tl.LabelSets(names)
    want = Sets.from_indicators(y)
    by_name = [{names[i] for i in np.flatnonzero(row)} for row in y]
    forms = [y.astype(kind) for kind in (np.int8, np.float64, np.uint8, object)]
    forms += [make(y.astype(np.int8)) for make in (sp.csr_matrix, sp.csc_matrix, sp.coo_array, sp.lil_matrix)]
    forms += [pd.DataFrame(y, columns=names), by_name, [sorted(s, reverse=True) for s in by_name], want]
    forms += [space.split([" ; ".join(sorted(s)) for s in by_name], sep=";")]
    for form in forms:
        assert space.sets(form) == want
        assert space.encode(form).tolist() == space.encode(want).tolist()
    assert (want.indicators() == y).all()
    assert space.named(want) == by_name


@pytest.mark.parametrize("width", WIDTHS)
def test_one_set_out_of_a_batch_is_its_row(width: int) -> None:
    y = draw(width)
    sets = Sets.from_indicators(y)
    at = np.array([3, 0, 3, 29])
    assert sets.take(at) == Sets.from_indicators(y[at])
    assert Sets.join([sets.take(at), sets]) == Sets.from_indicators(np.concatenate((y[at], y)))
    assert [sets[i] for i in range(len(sets))] == [tuple(np.flatnonzero(row)) for row in y]
    assert sets[-1] == sets[29]
    with pytest.raises(IndexError):
        sets[30]


@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize("width", [1, 5, 62])
def test_a_mask_tells_its_set(width: int, empty: bool) -> None:
    y = draw(width)
    y = y if empty else y[y.any(axis=1)]
    space = tl.LabelSets(range(width), empty=empty)
    assert space.sets_of(space.encode(y)) == Sets.from_indicators(y)


def test_a_place_in_the_support_tells_its_set() -> None:
    y = np.unique(draw(100), axis=0)
    space = tl.LabelSets(range(100), support=[set(np.flatnonzero(row).tolist()) for row in y])
    assert space.encode(y).tolist() == list(range(len(y)))
    assert space.sets_of(np.arange(len(y))[::-1]) == Sets.from_indicators(y[::-1])
    assert space.encode(~y).tolist() == [-1] * len(y)


@given(st.integers(0, 1000))
def test_a_book_tells_sets_from_digests(seed: int) -> None:
    """Sets as they are, and sets as a base with some labels flipped."""
    rng = np.random.default_rng(seed)
    width = int(rng.integers(63, 200))
    space = tl.LabelSets(range(width))
    bases, flips = rng.random((3, width)) < 0.1, rng.random((12, width)) < 0.03
    base = rng.integers(-1, 3, 12)
    y = flips ^ np.where(base[:, None] >= 0, bases[base], False)
    packed = np.packbits(bases, axis=1, bitorder="little")
    book = Codebook(space.encode(y), packed, base, Sets.from_indicators(flips))
    plain = Codebook.of(Sets.from_indicators(y))
    for known in (book, plain, Codebook.join([plain, book]), Codebook.join([book, book])):
        at = rng.permutation(12)
        assert space.with_book(known).sets_of(space.encode(y[at])) == Sets.from_indicators(y[at])
    with pytest.raises(tl.SpaceError, match="digest of a set that these lists do not hold"):
        book.find(np.array([space.encode(y)[0] ^ 1]))


def test_lists_of_many_labels_say_which_sets_they_list() -> None:
    """Without a book a digest is all that there is; lists that were made from sets bring theirs."""
    space = tl.LabelSets(range(100))
    lists = tl.TopLists.from_dicts([{frozenset({3, 99}): 0.5}, {frozenset(): 0.25}], space)
    assert lists.space == space
    assert space.book is None
    assert lists[1:][0].confidences == {frozenset(): 0.25}
    assert lists.truncate(1)[0].confidences == {frozenset({3, 99}): 0.5}
    with pytest.raises(tl.SpaceError, match="cannot be told from their codes"):
        space.sets_of([1])


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda s: s.sets(np.array([[0.5, 1, 0]])), "zeros and ones"),
        (lambda s: s.sets(sp.csr_matrix(np.array([[0.5, 1, 0]]))), "zeros and ones"),
        (lambda s: s.sets(np.zeros((2, 4))), "4 columns for 3 labels"),
        (lambda s: s.sets("cat"), "one per case, in a sequence"),
        (lambda s: s.sets(["cat;dog"]), "split"),
        (lambda s: s.sets([{"cow"}]), "'cow' is not a label. Did you mean 'cat'|'cow' is not a label."),
        (lambda s: s.split("cat;dog", sep=";"), "one per case"),
        (lambda s: s.split(["cat;dgo"], sep=";"), "'dgo' is not a label. Did you mean 'dog'?"),
        (lambda s: s.split([None], sep=";"), "None is not a text"),
        (lambda s: s.split(["cat"], sep=""), "separator"),
        (lambda s: s.sets(sp.csr_matrix(([1, 1], [0, 0], [0, 2]), shape=(1, 3))), "twice in one row"),
    ],
    ids=["half", "sparse half", "wide", "text", "texts", "unknown", "one text", "typo", "none", "sep", "twice"],
)
def test_what_is_no_label_set_is_refused(use: Any, said: str) -> None:
    with pytest.raises(tl.SpaceError, match=said):
        use(tl.LabelSets(["cat", "dog", "fox"]))


def test_a_list_shows_its_sets_in_the_order_of_the_labels() -> None:
    space = tl.LabelSets(["sun", "sea", "rain"])
    one = tl.TopList({("rain", "sun"): 0.5, (): 0.25}, space)
    assert repr(one) == "TopList({sun, rain} 0.5, {} 0.25; unlisted 0.25 over 6 classes)"
    wide = tl.TopList({tuple(range(100)): 0.5}, tl.LabelSets(range(200)))
    assert repr(wide).startswith("TopList({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … 90 more} 0.5; unlisted 0.5 over ")


@pytest.mark.parametrize("names", [range(3), ["sun", "sea", "rain"]], ids=["numbers", "names"])
def test_rows_of_zeros_and_ones_are_indicators_also_as_lists(names: Any) -> None:
    """Also where the labels are numbers, and a row could be read as two of them."""
    y = [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    space = tl.LabelSets(names)
    for form in (y, list(np.array(y)), [tuple(row) for row in y]):
        assert space.sets(form) == Sets.from_indicators(y)
    assert tl.LabelSets(range(3)).sets([{0, 1}, {2}, set()]) == Sets.from_indicators([[1, 1, 0], [0, 0, 1], [0, 0, 0]])


def test_the_columns_of_a_frame_go_by_their_names() -> None:
    import pandas as pd

    from toplist.multilabel import best_sets

    names = ["sun", "sea", "rain"]
    space = tl.LabelSets(names)
    y = pd.DataFrame([[1, 1, 0], [0, 0, 1]], columns=names)
    assert space.sets(y[names[::-1]]) == space.sets(y) == Sets.from_indicators(y.to_numpy())
    assert space.sets(pd.DataFrame(y.to_numpy())) == space.sets(y)
    with pytest.raises(tl.SpaceError, match="none is called 'rain'"):
        space.sets(y.rename(columns={"rain": "snow"}))
    p = pd.DataFrame([[0.9, 0.6, 0.1]], columns=names)
    assert best_sets(p[names[::-1]], 2, space) == best_sets(p, 2, space) == best_sets(p, 2)
    assert best_sets(p, 1).space == space


def test_what_is_wrong_with_a_matrix_is_named() -> None:
    space = tl.LabelSets("abc")
    for value, said in ((np.array([[0, 1, 2]]), "row 0 has 2"), (np.array([[1, -1, 1]]), "give Y > 0")):
        with pytest.raises(tl.SpaceError, match=said):
            space.sets(value)
    with pytest.raises(tl.SpaceError, match="best_sets"):
        space.sets(np.array([[0.0, 0.3, 1.0]]))
    with pytest.raises(tl.SpaceError, match="maps labels to values"):
        space.sets([{"a": 1, "b": 0}])
    assert space.named([[1, 0, 1]]) == [frozenset("ac")]
