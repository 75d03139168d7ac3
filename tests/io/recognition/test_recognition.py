"""A file is read as what it is, or refused with the option to type: over names, shapes, further columns and options."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path

import pytest

import toplist as tl
from tests import flat
from tests.draws import thorough
from tests.io.recognition import vocabulary
from tests.io.recognition.combinations import table
from tests.io.recognition.contract import Combination, Decision, decide, expected
from tests.io.recognition.run import Ending, by_command, in_python, named
from tests.io.strategies import chance

TABLE = {one.id: one for one in table()}
DECIDED = {name: decide(one) for name, one in TABLE.items()}
SOME = list(TABLE) if thorough() else sorted(chance("some").sample(list(TABLE), len(TABLE) // 3))
FILES = [name for name, one in TABLE.items() if one.form != "frame"]
COMMANDS = [
    name
    for verdict in ("read", "refuse")
    for name in sorted(chance(verdict).sample([name for name in FILES if DECIDED[name].verdict == verdict], 20))
]


@pytest.mark.parametrize("name", SOME)
def test_a_right_answer_or_a_refusal_and_nothing_else(name: str, tmp_path: Path) -> None:
    one, decision = TABLE[name], DECIDED[name]
    _judge(one, decision, in_python(one, tmp_path))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_says_the_same(name: str, tmp_path: Path) -> None:
    one, decision = TABLE[name], DECIDED[name]
    ending, code = by_command(one, tmp_path)
    _judge(one, decision, ending, command=True)
    assert code in ((1, 2) if ending.sentence else (0,))


def _judge(one: Combination, decision: Decision, ending: Ending, *, command: bool = False) -> None:
    if ending.score is not None:
        assert ending.score == pytest.approx(expected(one, decision), abs=1e-9), f"a wrong answer; {ending.reading}"
        assert decision.verdict != "refuse", f"an answer, though: {decision.why}; {ending.reading}"
        _require_accounts(one, ending)
        return
    assert decision.verdict != "read", ending.sentence
    assert "\n" not in ending.sentence.strip(), ending.sentence
    if command:
        assert ending.sentence.startswith("toplist: ")
    if decision.verdict == "refuse":
        _require_remedy(decision, ending.sentence, command)


def _require_accounts(one: Combination, ending: Ending) -> None:
    """Every column is named, as used or as ignored."""
    for names, told in zip(named(one), (ending.reading, ending.truth_reading), strict=True):
        missing = [name for name in names if not _says(told, name)]
        assert not missing, f"{missing} in {told!r}"


def _require_remedy(decision: Decision, sentence: str, command: bool) -> None:
    """A column that is concerned, and an option to type; of any of the reasons, where there are several."""
    columns = [name for reason in decision.reasons for name in reason.columns]
    options = [name for reason in decision.reasons for name in reason.options]
    if columns and all(reason.columns for reason in decision.reasons):
        assert any(_says(sentence, name) for name in columns), f"none of {columns} in: {sentence}"
    if options and all(reason.options for reason in decision.reasons):
        typed = [f"--{name.replace('_', '-')}" if command else f"{name}=" for name in options]
        assert any(word in sentence for word in typed), f"none of {typed} in: {sentence}"


def _says(text: str, name: str) -> bool:
    """Whether a name stands in a text as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


# Several predictions


def _scores(folder: Path, files: dict[str, str], m: int = 5) -> dict[str, float]:
    """The Brier score of each file but the truth."""
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    paths = {name: folder / f"{name}.csv" for name in files if name != "t"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such a board is too good to be true
        board = tl.compare(paths, folder / "t.csv", space=m)
    return {row.name: row.scores["brier"].mean.value for row in board}


def test_the_id_is_one_that_all_files_have(tmp_path: Path) -> None:
    """Here the numbers are those of rows, which are shuffled, and one file has none."""
    files = {
        "a": "id,file,class\n1,x,cat\n2,y,dog\n3,z,fox\n",
        "b": "file,class\nz,fox\nx,cat\ny,dog\n",
        "t": "id,file,outcome\n1,z,fox\n2,y,dog\n3,x,cat\n",
    }
    assert _scores(tmp_path, files) == {"a": 0, "b": 0}


def test_each_file_may_have_an_id_of_its_own_name(tmp_path: Path) -> None:
    files = {
        "a": "image_id,class\nx,cat\ny,dog\nz,fox\n",
        "b": "file,class,p\nz,fox,1\nx,cat,1\ny,dog,1\n",
        "t": "uuid,outcome\nz,fox\ny,dog\nx,cat\n",
    }
    assert _scores(tmp_path, files) == {"a": 0, "b": 0}


def test_a_file_without_an_id_among_others_is_named(tmp_path: Path) -> None:
    files = {"a": "id,class\n1,cat\n2,dog\n", "b": "class\ncat\ndog\n", "t": "id,outcome\n1,cat\n2,dog\n"}
    with pytest.raises(tl.TopListError, match=r"b\.csv.*(case=|by_position=)"):
        _scores(tmp_path, files)


def test_an_unknown_column_that_one_file_lacks_is_no_id(tmp_path: Path) -> None:
    files = {
        "a": "specimen,class\n1,cat\n2,dog\n",
        "b": "class\ncat\ndog\n",
        "t": "specimen,outcome\n1,cat\n2,dog\n",
    }
    with pytest.raises(tl.TopListError, match=r"specimen.*(case=|by_position=|ignore=)"):
        _scores(tmp_path, files)


def test_options_may_concern_one_of_several_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,class,confidence,score\n1,cat,.5,7\n2,dog,.75,9\n")
    (tmp_path / "b.csv").write_text("id,class,confidence\n1,cat,.5\n2,dog,.75\n")
    (tmp_path / "t.csv").write_text("id,outcome\n1,cat\n2,dog\n")
    files = {name: tmp_path / f"{name}.csv" for name in "ab"}
    for options in ({"ignore": {"a": "score"}}, {"ignore": "score"}, {"confidence": {"a": "confidence"}}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the two are the same
            board = flat.compare(files, tmp_path / "t.csv", space=5, **options)
        assert board["a"].scores["brier"].mean.value == board["b"].scores["brier"].mean.value == (0.3125 + 0.078125) / 2


# The table itself


def test_the_table_is_large_and_leaves_little_open() -> None:
    verdicts = Counter(decision.verdict for decision in DECIDED.values())
    assert len(TABLE) >= 300
    assert min(verdicts["read"], verdicts["refuse"]) > len(TABLE) // 4
    assert verdicts["open"] < 0.15 * len(TABLE)


def test_no_name_has_two_meanings() -> None:
    known = [
        *vocabulary.IDS,
        *vocabulary.TRUTHS,
        *vocabulary.CLASSES,
        *vocabulary.CONFIDENCES,
        *vocabulary.NEVER,
    ]
    assert not [name for name, count in Counter(known).items() if count > 1]


def test_the_wrong_pairing_would_show() -> None:
    """Where rows are shuffled, matching them by position would give another number."""
    for name, one in TABLE.items():
        if DECIDED[name].by_position or one.prediction.cases == one.truth.cases or not one.prediction.rows_are_cases:
            continue
        if DECIDED[name].verdict == "read" and not one.same and one.truth.rows_are_cases:
            pairs = list(zip(one.prediction.cases, one.truth.cases, strict=True))
            assert one.world.brier(pairs) != one.world.brier(), name
