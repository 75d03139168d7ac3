"""MMLU-style tables: as the script of the benchmark heads them, with names, and without a header."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.io.producers.reading import produced, recognised_as
from toplist.errors import FileError, TopListError

LETTERS = "ABCD"


def questions(count=6, seed=0):
    """Question, four choices, answer, whether it is correct, and four probabilities."""
    draws = np.random.default_rng(seed)
    for at in range(count):
        p = draws.dirichlet(np.ones(4)).tolist()
        answer = LETTERS[int(draws.integers(4))]
        yield [
            f"Which, {at}?",
            *(f"choice {one}{at}" for one in LETTERS),
            answer,
            LETTERS[int(np.argmax(p))] == answer,
            *p,
        ]


def write(path, rows, header=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([*([header] if header else []), *rows])
    return path


def head(model, first=("0", "1", "2", "3", "4", "5")):
    return [*first, f"{model}_correct", *(f"{model}_choice{one}_probs" for one in LETTERS)]


NAMED = ("question", "A", "B", "C", "D", "answer")


@pytest.mark.parametrize("first", [("0", "1", "2", "3", "4", "5"), NAMED])
def test_probabilities_and_answers_are_those_of_the_columns(tmp_path, first):
    rows = list(questions())
    path = write(tmp_path / "anatomy.csv", rows, head("org/model-1", first))
    assert recognised_as(path) == "mmlu"
    for row, cells in zip(produced(path)[0], rows, strict=True):
        assert (row["classes"], row["confidences"], row["outcome"]) == (list(LETTERS), cells[7:], cells[5])
        assert row["n_classes"] == 4


def test_without_a_header_the_shape_tells_where_it_is_asked_for(tmp_path):
    rows = list(questions())
    plain = write(tmp_path / "plain" / "anatomy.csv", rows)
    assert recognised_as(plain) is None
    assert produced(plain, "mmlu") == produced(write(tmp_path / "named" / "anatomy.csv", rows, head("m", NAMED)))
    short = write(tmp_path / "short" / "anatomy.csv", [[*row[:6], *row[7:]] for row in rows])
    assert produced(short, "mmlu")[0] == produced(plain, "mmlu")[0]
    with pytest.raises(FileError, match="not the shape of MMLU results"):
        produced(write(tmp_path / "other" / "a.csv", [row[:8] for row in rows]), "mmlu")


def test_two_files_have_the_same_cases_whatever_the_model_and_the_order(tmp_path):
    rows = list(questions())
    one = produced(write(tmp_path / "results_a" / "anatomy.csv", rows, head("a")))[0]
    other = produced(write(tmp_path / "results_b" / "anatomy.csv", rows[::-1], head("b")))[0]
    assert [row["case"] for row in one] == [row["case"] for row in other][::-1]


def test_the_files_of_a_folder_are_subjects(tmp_path):
    for seed, subject in enumerate(("anatomy", "law")):
        write(tmp_path / f"{subject}.csv", list(questions(seed=seed)), head("m"))
    assert [row["group"] for row in produced(tmp_path)[0]] == ["anatomy"] * 6 + ["law"] * 6


def test_one_of_several_models_is_chosen(tmp_path):
    rows = [[*a, *b[6:]] for a, b in zip(questions(), questions(), strict=True)]
    path = write(tmp_path / "anatomy.csv", rows, [*head("small"), *head("large")[6:]])
    with pytest.raises(FileError, match=r"columns of 2 models, 'small', 'large': choose one with where='model=small'"):
        produced(path)
    found, _ = produced(path, where="model=large")
    assert [row["confidences"] for row in found] == [row[12:] for row in rows]
    with pytest.raises(FileError, match="no row fulfils where='model=tiny'"):
        produced(path, where="model=tiny")


def test_a_question_that_is_there_twice_is_two_cases(tmp_path):
    rows = list(questions(1)) * 2
    found, _ = produced(write(tmp_path / "a.csv", rows, head("m")))
    assert [row["case"].count("/") for row in found] == [0, 1]


def test_blank_probabilities_are_choices_that_are_not_there(tmp_path):
    row = ["?", "a", "b", "c", "", "B", True, 0.1, 0.7, 0.2, ""]
    found, _ = produced(write(tmp_path / "a.csv", [row], head("m")))
    assert (found[0]["classes"], found[0]["n_classes"]) == (["A", "B", "C"], 3)


def test_an_answer_may_be_a_place(tmp_path):
    row = ["?", "a", "b", "c", "d", "2", True, 0.1, 0.2, 0.6, 0.1]
    assert produced(write(tmp_path / "a.csv", [row], head("m")))[0][0]["outcome"] == "C"


def test_letters_that_were_not_listed_are_said(tmp_path):
    row = ["?", "a", "b", "c", "d", "A", True, 1.0, 0.0, 3e-44, 0.0]
    _, notes = produced(write(tmp_path / "a.csv", [row], head("m")))
    assert any("n 1 questions a probability is below 1e-30" in note for note in notes)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({5: "E"}, "the answer 'E' is none of 'A', 'B', 'C', 'D'"),
        ({6: False}, "marked as wrong, the answer is A, and A is most probable"),
        ({7: "much"}, "the probability 'much' is no number"),
    ],
)
def test_rows_that_contradict_themselves_are_named(tmp_path, change, problem):
    row = ["?", "a", "b", "c", "d", "A", True, 0.7, 0.1, 0.1, 0.1]
    bad = [change.get(at, cell) for at, cell in enumerate(row)]
    with pytest.raises(FileError, match=problem) as error:
        produced(write(tmp_path / "a.csv", [row, bad], head("m")))
    assert error.value.row == 2


def test_a_table_without_a_column_of_answers_is_refused(tmp_path):
    header = head("m", ("question", "A", "B", "C", "D", "subject"))
    with pytest.raises(FileError, match=r"no column is called 'answer' or .*which one holds the correct answer"):
        produced(write(tmp_path / "a.csv", list(questions()), header))


@given(st.binary(max_size=200), st.integers(0, 400))
def test_whatever_bytes_are_put_in_ends_in_rows_or_in_an_error_of_ours(tmp_path_factory, junk, at):
    path = write(tmp_path_factory.mktemp("junk") / "a.csv", list(questions(3)), head("m"))
    data = path.read_bytes()
    path.write_bytes(data[:at] + junk + data[at:])
    try:
        produced(path, "mmlu")
    except TopListError:
        return


def test_files_of_two_models_have_the_same_cases_whatever_they_are_called(tmp_path):
    one, two = ([row["case"] for row in produced(write(tmp_path / f"{m}.csv", questions(), head(m)))[0]] for m in "ab")
    assert one == two
