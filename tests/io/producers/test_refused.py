"""What holds no lists is recognised, and the ways that messages name work: BirdNET, extreme classification, MAP@k."""

import csv
import re

import numpy as np
import pytest
from scipy import sparse

import toplist
import toplist as tl
from tests.io.producers.reading import recognised_as
from toplist.errors import FileError
from toplist.io.options import ReadOptions
from toplist.io.producers import Request, load
from toplist.io.producers.birdnet import SCORE_A_SPECIES, SCORE_ALL
from toplist.io.producers.map_at_k import TOP_K_ERROR

BIRDS = [  # start, end, species, confidence: two birds at once, then a silent segment, then one bird
    (0, 3, "Turdus merula", "Eurasian Blackbird", 0.9),
    (0, 3, "Parus major", "Great Tit", 0.8),
    (6, 9, "Parus major", "Great Tit", 0.4),
]
RAVEN = (
    "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tCommon Name\tSpecies Code\t"
    "Confidence\tBegin Path\tFile Offset (s)\n"
    "1\tSpectrogram 1\t1\t0\t3\t0\t15000\tEurasian Blackbird\teurbla\t0.9000\ta.wav\t0\n"
)
KALEIDOSCOPE = (
    "INDIR,FOLDER,IN FILE,OFFSET,DURATION,scientific_name,common_name,confidence,lat,lon,week,overlap,sensitivity\n"
    "x,y,a.wav,0,3,Turdus merula,Eurasian Blackbird,0.9,50,8,20,0,1\n"
)


def birdnet_csv(path):
    header = "Start (s),End (s),Scientific name,Common name,Confidence,File\n"
    path.write_text(header + "".join(f"{a},{b},{s},{c},{p},a.wav\n" for a, b, s, c, p in BIRDS))
    return path


def birdnet_parquet(path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"input": "a.wav", "start_time": 0.0, "end_time": 3.0, "species_name": "Parus major", "confidence": 0.5}
    parquet.write_table(pa.table({name: [value] for name, value in columns.items()}), path)
    return path


def written(path, text):
    path.write_text(text)
    return path


BIRDNET = {
    "CSV": lambda home: birdnet_csv(home / "a.BirdNET.results.csv"),
    "Raven": lambda home: written(home / "a.BirdNET.selection.table.txt", RAVEN),
    "Kaleidoscope": lambda home: written(home / "a.csv", KALEIDOSCOPE),
    "Parquet": lambda home: birdnet_parquet(home / "a.parquet"),
}


@pytest.mark.parametrize("table", BIRDNET.values(), ids=BIRDNET)
@pytest.mark.parametrize("producer", ["auto", "birdnet"])
def test_detections_of_birdnet_are_recognised_and_refused_as_lists(tmp_path, table, producer):
    path = table(tmp_path)
    assert recognised_as(path) == "birdnet"
    with pytest.raises(FileError, match=re.escape(SCORE_A_SPECIES)):
        tl.read_lists(path, 6522, producer=producer)


def test_the_ways_that_the_message_about_birdnet_names_work(tmp_path):
    """Over all segments, the silent one included: the Brier score of two classes is twice the squared error."""
    segments, species = [0, 3, 6], ["Turdus merula", "Parus major"]
    with birdnet_csv(tmp_path / "a.csv").open() as file:
        found = {(int(r["Start (s)"]), r["Scientific name"]): float(r["Confidence"]) for r in csv.DictReader(file)}
    P = np.array([[found.get((start, name), 0.0) for name in species] for start in segments])
    heard = np.array([[1, 1], [0, 0], [0, 1]])
    for at in range(len(species)):
        scores = eval(SCORE_A_SPECIES, {"toplist": toplist, "numpy": np, "p": P[:, at], "y": heard[:, at]})  # noqa: S307
        np.testing.assert_allclose(scores, 2 * (P[:, at] - heard[:, at]) ** 2, atol=1e-15)
    lists = eval(SCORE_ALL, {"toplist": toplist, "P": P, "k": 4, "species": species})  # noqa: S307
    sets = [(), (0,), (1,), (0, 1)]
    q = np.array([[np.prod([p[a] if a in one else 1 - p[a] for a in (0, 1)]) for one in sets] for p in P])
    y = [sets.index(tuple(np.flatnonzero(row))) for row in heard]
    np.testing.assert_allclose(tl.score(lists, heard), ((q - np.eye(4)[y]) ** 2).sum(axis=1), atol=1e-12)


# Extreme classification


DIALECTS = {
    "the XMC repository": "3 5\n0:0.91 3:0.2\n\n1:0.4 2:1e-05\n",
    "Omikuji": "12 0.91\t7 0.85\t3 0.1\n4 0.5\t1 0.25\t2 0.1\n",
    "napkinXC": "12:0.91 7:0.85 3:0.1\n4:0.5\n",
}


@pytest.mark.parametrize("text", DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize("producer", ["auto", "extreme"])
def test_scores_of_extreme_classification_are_recognised_and_refused_as_lists(tmp_path, text, producer):
    path = written(tmp_path / "predictions.txt", text)
    assert recognised_as(path) == "extreme"
    with pytest.raises(FileError, match=r"toplist\.multilabel\.best_sets\(P, k, toplist\.LabelSets\(labels\)\)"):
        tl.read_lists(path, 31_000, producer=producer)


@pytest.mark.parametrize("text", ["1 2\n3 4\n", "12:30 arrival\n", "a:0.5 b:0.4\n", "__label__1 0.5\n", "", "3 5\nx\n"])
def test_other_text_is_not_taken_for_them(tmp_path, text):
    assert recognised_as(written(tmp_path / "notes.txt", text)) != "extreme"


def test_a_sparse_matrix_of_scores_is_refused_and_the_way_that_is_named_works(tmp_path):
    """What PECOS saves is like any sparse matrix: rows that sum to more than one are no lists."""
    P = sparse.csr_matrix([[0.9, 0.8, 0.0, 0.1], [0.0, 0.3, 0.7, 0.0]])
    path = tmp_path / "P.npz"
    sparse.save_npz(path, P)
    with pytest.raises(tl.TopListError, match="best_sets"):
        tl.read_lists(path, 4)
    with pytest.raises(FileError, match=r"P\.toarray\(\)"):
        tl.read_lists(path, 4, producer="extreme")
    lists = toplist.multilabel.best_sets(P.toarray(), 3, toplist.LabelSets(["a", "b", "c", "d"]))
    assert tl.score(lists, [{"a", "b"}, {"c"}]).shape == (2,)


# Ranks without probabilities


RANKED = "id,predictions\nx1,new_whale w_1 w_2\nx2,w_2 new_whale w_7\nx3,w_7 w_9 new_whale\n"


def test_ranked_labels_are_refused_and_never_one_label(tmp_path):
    path = written(tmp_path / "submission.csv", RANKED)
    assert recognised_as(path) == "map-at-k"
    with pytest.raises(FileError, match=r"3 labels by their rank.*producer='map-at-k'.*top-3 error"):
        tl.read_lists(path, 5005)


def test_the_two_things_that_can_be_had_of_ranked_labels(tmp_path):
    path = written(tmp_path / "submission.csv", RANKED)
    made = load("map-at-k").open(Request("submission", ReadOptions(producer="map-at-k"), (path,)))
    assert made.notes == (
        "hard labels: the first of up to 3 ranked labels of each case; the others have no probabilities",
    )
    lists = tl.read_lists(path, 5005, producer="map-at-k")
    assert lists == tl.TopLists.from_labels(["new_whale", "w_2", "w_7"], 5005, ids=["x1", "x2", "x3"])
    assert tl.accuracy(lists, ["new_whale", "new_whale", "w_1"]) == pytest.approx(1 / 3)
    column = [line.partition(",")[2] for line in RANKED.splitlines()[1:]]
    error = eval(TOP_K_ERROR, {"outcomes": ["new_whale", "new_whale", "w_1"], "column": column})  # noqa: S307
    assert error == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "text",
    [
        "id,species\n1,Turdus merula\n2,Parus major\n3,Turdus pilaris\n",  # the words of a name keep their places
        "id,label\n1,polar bear\n2,brown bear\n3,polar bear\n",
        "id,tags\n1,haze primary\n2,agriculture clear primary water\n3,clear primary\n",  # sets of any size
        "id,label\n1,cat\n2,dog\n",
        "id,text\n1,a b c\n",
        "id,a,b\n1,x y,y x\n2,y x,x y\n",
    ],
)
def test_names_with_blanks_and_sets_are_not_taken_for_ranks(tmp_path, text):
    assert recognised_as(written(tmp_path / "labels.csv", text)) is None


def test_label_sets_with_blanks_between_them_are_read_as_sets(tmp_path):
    path = written(tmp_path / "sets.csv", "id,labels\n1,a b\n2,b a\n3,a c\n")
    truth = written(tmp_path / "truth.csv", "id,labels\n1,b a\n2,a b\n3,a b\n")
    assert recognised_as(path) == recognised_as(truth) == "map-at-k"
    space, read = tl.LabelSets(["a", "b", "c"]), tl.ReadOptions(set_separator=" ")
    board = tl.compare({"model": path}, truth, space=space, read=read)
    assert board["model"].metrics["accuracy"].value == pytest.approx(2 / 3)
