"""Which producer reads a path: recognised by what only its files have, named, or none; said, or refused."""

from __future__ import annotations

import gzip
import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import toplist as tl
from tests.cli.messages import said
from tests.io.producers.reading import recognised
from toplist.errors import FileError, TopListError
from toplist.io import producers
from toplist.io.producers import Entry
from toplist.io.producers.base import ProducedReader, Producer, Request, Row, batches_of, columns_of
from toplist.io.readers.base import FirstLook

QUESTIONS = {"q1": "A", "q2": "B", "q3": "A", "q4": "B"}


def _open(request: Request) -> ProducedReader:
    """Records {"quizzer", "q", "answers", "right"}, in files or in memory; `norm` is noted."""
    columns = columns_of(outcome=pa.string(), n_classes=pa.int64(), group=pa.string(), cluster=pa.string())

    def rows() -> Iterator[tuple[str, Row]]:
        found = [("memory", one) for one in request.data or ()]
        for path in request.paths:
            text = path.read_bytes()
            lines = (gzip.decompress(text) if path.suffix == ".gz" else text).decode().splitlines()
            found += [(str(path), json.loads(line)) for line in lines]
        for source, one in found:
            answers = one["answers"]
            known = {"outcome": one["right"], "n_classes": 3, "group": one["q"][-1], "cluster": one["q"][1:]}
            yield source, Row(one["q"], list(answers), list(answers.values()), known)

    if request.paths and not all(FirstLook(str(path)).records(path) for path in request.paths):
        raise FileError(request.name, "these are no quizzes.")
    return ProducedReader(
        request.name,
        lambda: batches_of(rows(), columns),
        columns,
        request.paths,
        notes=(f"Likelihoods by {request.options.norm}.",),
        origin=request.data,
    )


@pytest.fixture(autouse=True)
def quizzer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer of quizzes, and one whose files lack a key."""
    for name in ("quizzer", "examiner"):
        module = ModuleType(f"toplist.io.producers.{name}")
        module.PRODUCER = Producer(open=_open, options=("norm",))  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        entry = Entry(name, f"{name} logs", ("*.jsonl", "*.jsonl.gz", "*.log"), keys=(name, "answers"))
        monkeypatch.setitem(producers.PRODUCERS, name, entry)


def quiz(path: Path, shift: float = 0.0, keys: tuple[str, ...] = ("quizzer",), **cases: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps(dict.fromkeys(keys, 1) | {"q": q, "answers": {"A": 0.6 + shift, "B": 0.3 - shift}, "right": right})
        for q, right in (cases or QUESTIONS).items()
    ]
    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def table(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("case,class,confidence\n" + "".join(f"{q},A,0.7\n{q},B,0.2\n" for q in QUESTIONS))
    return path


def truth(path: Path) -> Path:
    path.write_text("case,outcome\n" + "".join(f"{q},{right}\n" for q, right in QUESTIONS.items()))
    return path


# What is recognised


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.log"])
def test_a_file_is_read_by_the_producer_whose_keys_it_has(tmp_path: Path, name: str) -> None:
    found = recognised(str(quiz(tmp_path / name)))
    assert found is not None
    assert found[0] == "quizzer"
    assert found[1].reason == "its records have 'quizzer', 'answers'"


def test_a_file_that_lacks_a_key_is_a_plain_table(tmp_path: Path) -> None:
    assert recognised(str(quiz(tmp_path / "a.jsonl", keys=()))) is None


def test_a_module_is_imported_only_where_its_entry_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(producers.PRODUCERS, "broken", Entry("broken", "x", ("*.jsonl",), keys=("other",)))
    assert recognised(str(quiz(tmp_path / "a.jsonl"))) is not None
    with pytest.raises(ModuleNotFoundError):
        producers.load("broken")


def test_a_file_of_two_producers_is_refused_with_both_ways_to_read_it(tmp_path: Path) -> None:
    path = quiz(tmp_path / "a.jsonl", keys=("quizzer", "examiner"))
    with pytest.raises(FileError, match=r"producer='quizzer' or producer='examiner'"):
        recognised(str(path))
    for name in ("quizzer", "examiner"):
        assert len(tl.read_lists(path, producer=name)) == len(QUESTIONS)
    code, told = said("check", path)
    assert code == 1
    assert "--from quizzer or --from examiner" in told


def test_a_folder_with_files_of_two_producers_is_refused(tmp_path: Path) -> None:
    quiz(tmp_path / "run" / "a.jsonl")
    quiz(tmp_path / "run" / "deep" / "b.jsonl", keys=("examiner",))
    with pytest.raises(FileError, match="quizzer, examiner"):
        recognised(str(tmp_path / "run"))


def test_every_file_of_a_folder_is_looked_at_and_other_tables_are_noted(tmp_path: Path) -> None:
    run = tmp_path / "run"
    quiz(run / "a.jsonl", q1="A", q2="B")
    quiz(run / "deep" / "b.jsonl", q3="A", q4="B")
    quiz(run / "c.jsonl", keys=())
    table(run / "extra.csv")
    (run / "readme.md").write_text("about")
    quiz(run / ".hidden" / "d.jsonl")
    found = recognised(str(run))
    assert found is not None
    assert sorted(path.name for path in found[1].paths) == ["a.jsonl", "b.jsonl"]
    board = tl.compare({"run": run})
    assert "Not read, since they are other tables: c.jsonl, extra.csv." in board.comparison.sources[0].notes
    assert board.comparison.cases == len(QUESTIONS)


def test_the_files_of_a_pattern_are_one_model(tmp_path: Path) -> None:
    quiz(tmp_path / "a-1.jsonl", q1="A", q2="B")
    quiz(tmp_path / "a-2.jsonl", q3="A", q4="B")
    assert len(tl.read_lists(tmp_path / "a-*.jsonl")) == len(QUESTIONS)


def test_what_cannot_be_looked_at_is_no_producers_file(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    content = {
        "empty.jsonl": b"",
        "blank.jsonl": b"  \n\n",
        "bytes.jsonl": generator.bytes(5000),
        "latin.jsonl": '{"quizzer": "é"}'.encode("latin-1"),
        "cut.jsonl": b'{"quizzer": 1, "answers": ',
        "deep.jsonl": b"[" * 100_000,
        "zeros.jsonl": b"\0" * 1000,
        "number.jsonl": b"1\n2\n",
        "not.jsonl.gz": b"plain",
        "cut.jsonl.gz": gzip.compress(b"x" * 10_000)[:20],
        "no.parquet": b"PAR1 and nothing else",
        "no.arrow": b"ARROW1",
    }
    for name, data in content.items():
        (tmp_path / name).write_bytes(data)
        assert recognised(str(tmp_path / name)) is None, name
    assert recognised(str(tmp_path)) is None
    for odd in (str(tmp_path / "absent.jsonl"), "", "a\0b", "x" * 5000, str(tmp_path / "[")):
        assert recognised(odd) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    path = quiz(tmp_path / "a.jsonl")
    path.chmod(0)
    with pytest.raises(FileError, match="may not be read"):
        tl.read_lists(path)


def test_mutated_files_are_read_or_refused_in_a_sentence(tmp_path: Path) -> None:
    data, generator = bytearray(quiz(tmp_path / "a.jsonl").read_bytes()), np.random.default_rng(1)
    for _ in range(200):
        changed = bytearray(data)
        for _ in range(generator.integers(1, 7)):
            changed[generator.integers(len(changed))] = generator.integers(256)
        (tmp_path / "b.jsonl").write_bytes(changed)
        try:
            recognised(str(tmp_path / "b.jsonl"))
        except TopListError:
            continue


def test_more_files_than_are_looked_at_are_refused_where_some_are_of_a_producer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FirstLook, "most", 3)
    for at in range(5):
        quiz(tmp_path / "run" / f"{at}.jsonl")
        table(tmp_path / "plain" / f"{at}.csv")
    with pytest.raises(FileError, match="more than 3 files"):
        recognised(str(tmp_path / "run"))
    assert recognised(str(tmp_path / "plain")) is None


def test_a_first_record_is_found_however_long_it_is(tmp_path: Path) -> None:
    record = {"padding": "x" * 200_000, "quizzer": 1, "answers": {"A": 1.0}}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "b.jsonl").write_text("\n  [" + json.dumps(record) + "]")
    assert all(recognised(str(tmp_path / name)) for name in ("a.jsonl", "b.jsonl"))


def test_columns_are_seen_in_text_parquet_and_arrow(tmp_path: Path) -> None:
    made = pa.table({"quiz id": ["q"], "p": [1.0]})
    pq.write_table(made, tmp_path / "a.parquet")
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink, pa.ipc.new_file(sink, made.schema) as writer:
        writer.write_table(made)
    for name, mark in (("a.csv", ","), ("b.csv", ";"), ("c.tsv", "\t")):
        (tmp_path / name).write_text(f'"quiz id"{mark}p\nq{mark}1\n')
    look = FirstLook(str(tmp_path))
    assert [look.columns(path) for path in look.files] == [["quiz id", "p"]] * 5


# What the caller says


def test_options_of_a_plain_table_win_over_a_producer_and_that_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        "".join(
            json.dumps({"quizzer": 1, "q": q, "answers": {"A": 1.0}, "label": "A", "score": 0.5}) + "\n"
            for q in QUESTIONS
        )
    )
    read = tl.ReadOptions(class_column="label", confidence="score", case="q")
    board = tl.compare({"a": path}, truth(tmp_path / "y.csv"), space=3, read=read)
    (source,) = board.comparison.sources
    assert source.layout != "lists"
    (note,) = source.notes
    assert note.startswith(
        "Read as a plain table, as class_column='label' and confidence='score' says, though it looks"
    )
    assert note.endswith("like quizzer logs (its records have 'quizzer', 'answers').")
    plain = tl.compare({"a": tl.Source(path, producer="none", case="q", ignore="answers")}, tmp_path / "y.csv", space=3)
    assert plain.comparison.sources[0].notes == ()


def test_an_unknown_producer_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(TopListError, match=r"no producer 'quiz'\. Did you mean 'quizzer'"):
        tl.read_lists(quiz(tmp_path / "a.jsonl"), producer="quiz")
    code, told = said("check", tmp_path / "a.jsonl", "--from", "hubvers")
    assert code == 2
    assert "hubverse" in told


def test_a_named_producer_refuses_files_that_are_not_its_own(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="these are no quizzes"):
        tl.read_lists(table(tmp_path / "a.csv"), producer="quizzer")
    with pytest.raises(FileError, match="there is no such file"):
        tl.read_lists(tmp_path / "absent.jsonl", producer="quizzer")


def test_objects_in_memory_are_read_by_a_named_producer() -> None:
    objects = [{"q": q, "answers": {"A": 0.6, "B": 0.3}, "right": right} for q, right in QUESTIONS.items()]
    lists = tl.read_lists(objects, producer="quizzer")
    assert list(lists.ids) == list(QUESTIONS)
    assert lists.space.size == 3
    board = tl.compare({"a": tl.Source(objects, producer="quizzer")})
    a, b = 0.4**2 + 0.3**2 + 0.1**2, 0.6**2 + 0.7**2 + 0.1**2  # the Brier scores of both outcomes
    assert board["a"].scores["brier"].mean.value == pytest.approx((a + b) / 2, abs=1e-15)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"norm": "chars"}, r"a: norm='chars' has no effect: it is about log-likelihoods of evaluation harnesses"),
        ({"position": 1}, "tokens of language models"),
        ({"answers": {"A": ["A"]}}, "tokens of language models"),
        ({"overround": "power"}, "odds"),
    ],
)
def test_an_option_of_producers_has_no_effect_on_a_plain_table(
    tmp_path: Path, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(TopListError, match=told):
        tl.compare({"a": tl.Source(table(tmp_path / "a.csv"), **options)}, truth(tmp_path / "y.csv"), space=3)


@pytest.mark.parametrize("options", [{"scale": "percent"}, {"position": 1}, {"overround": "power"}])
def test_an_option_that_a_producer_does_not_use_is_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(TopListError, match=f"{next(iter(options))}=.* has no effect: .* is read as quizzer logs"):
        tl.compare({"a": quiz(tmp_path / "a.jsonl")}, read=tl.ReadOptions(**options))


def test_an_option_for_all_files_has_an_effect_where_one_of_them_uses_it(tmp_path: Path) -> None:
    models = {"a": quiz(tmp_path / "a.jsonl"), "b": table(tmp_path / "b.csv")}
    read = tl.ReadOptions(norm="chars", confidence=None)
    board = tl.compare(models, truth(tmp_path / "y.csv"), space=3, read=read)
    assert board.comparison.sources[0].notes == ("Likelihoods by chars.",)


def test_the_columns_of_a_produced_table_take_conditions_and_case_ids(tmp_path: Path) -> None:
    path = quiz(tmp_path / "a.jsonl")
    kept = tl.read_lists(path, where="outcome=A")
    assert list(kept.ids) == ["q1", "q3"]
    assert list(tl.read_lists(path, case="cluster,case").ids) != list(tl.read_lists(path).ids)
    with pytest.raises(FileError, match="there is no column 'nothing'"):
        tl.read_lists(path, where="nothing=1")


def test_how_many_rows_conditions_keep_is_noted_after_they_are_read(tmp_path: Path) -> None:
    board = tl.compare({"a": tl.Source(quiz(tmp_path / "a.jsonl"), where="outcome=A")})
    (source,) = board.comparison.sources
    assert source.notes[-1] == "Read: 2 of 4 rows, those with outcome=A."
    assert source.reading.endswith("; rows with outcome=A")


def test_the_truth_may_be_a_producers_file_that_carries_outcomes(tmp_path: Path) -> None:
    models = {"a": table(tmp_path / "a.csv")}
    wanted = tl.compare(models, truth(tmp_path / "y.csv"), space=3)
    found = tl.compare(models, tl.Truth(quiz(tmp_path / "b.jsonl"), cluster=""), space=3)
    assert found["a"].scores == wanted["a"].scores


def test_other_outcomes_than_those_that_are_carried_are_used_where_they_are_given(tmp_path: Path) -> None:
    path = quiz(tmp_path / "a.jsonl")
    other = pd.DataFrame({"case": list(QUESTIONS), "outcome": ["C"] * 4})
    assert tl.compare({"a": path}, other)["a"].metrics["accuracy"].value == 0


# What is told


def test_reading_is_told_with_the_producer_the_reason_and_the_notes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "toplist"):
        board = tl.compare({"a": quiz(tmp_path / "a.jsonl")})
    reading = "quizzer logs (its records have 'quizzer', 'answers')"
    assert [one.getMessage() for one in caplog.records] == [
        f"{tmp_path / 'a.jsonl'}: {reading}",
        f"truth: {tmp_path / 'a.jsonl'}: outcomes in 'outcome' of these predictions; also used: 'cluster', 'n_classes'",
        f"{tmp_path / 'a.jsonl'}: Likelihoods by none.",
    ]
    (source,) = board.comparison.sources
    assert (source.reading, source.notes) == (reading, ("Likelihoods by none.",))
    assert json.loads(board.to_json())["sources"][0]["notes"] == ["Likelihoods by none."]


def test_notes_are_in_the_report_in_diagnose_and_in_check(tmp_path: Path) -> None:
    path = quiz(tmp_path / "a.jsonl")
    tl.compare({"a": path}).report(tmp_path / "board.html")
    assert "Likelihoods by none." in (tmp_path / "board.html").read_text()
    assert "Likelihoods by none." in tl.diagnose(path).to_text()
    assert "Likelihoods by none." in said("check", path)[1]


def test_files_that_are_read_alike_are_told_in_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    models = {f"m{at}": table(tmp_path / f"m{at:02d}.csv") for at in range(14)}
    with caplog.at_level(logging.INFO, "toplist"):
        tl.compare(models, truth(tmp_path / "y.csv"), space=3)
    lines = [one.getMessage() for one in caplog.records]
    assert len(lines) == 2
    assert lines[0].startswith("14 files (")
    assert lines[0].endswith("case id in 'case'")


# What the commands read


def test_convert_writes_lists_that_read_back_identically(tmp_path: Path) -> None:
    path, out = quiz(tmp_path / "a.jsonl", 0.05), tmp_path / "lists.parquet"
    assert said("convert", path, out)[0] == 0
    before, after = tl.read_lists(path, 3), tl.read_lists(out, 3)
    assert list(before.ids) == list(after.ids)
    for what in ("offsets", "classes", "confidences"):
        assert getattr(before, what).tolist() == getattr(after, what).tolist()


def test_commands_that_change_files_use_the_classes_that_a_producer_knows(tmp_path: Path) -> None:
    a, b = quiz(tmp_path / "a.jsonl"), quiz(tmp_path / "b.jsonl", 0.1)
    for words in (
        ("pool", a, b, "-o", tmp_path / "pool.parquet"),
        ("truncate", a, "-k", "1", "-o", tmp_path / "short.parquet"),
        ("recalibrate", "fit", a, "--folds", "2", "--kind", "temperature", "-o", tmp_path / "model.json"),
        ("recalibrate", "apply", a, tmp_path / "model.json", "-o", tmp_path / "better.parquet"),
        ("score", a, "-o", tmp_path / "scores.csv"),
        ("plan", a, b, "--smallest", "0.1"),
        ("diagnose", a),
        ("check", a),
    ):
        code, told = said(*words)
        assert code == 0, told


def test_options_for_one_file_are_typed_with_its_name(tmp_path: Path) -> None:
    a, b = quiz(tmp_path / "a.jsonl"), quiz(tmp_path / "b.jsonl", 0.1, keys=("quizzer", "examiner"))
    code, told = said("compare", a, b)
    assert code == 1
    assert "--from quizzer or --from examiner" in told
    code, told = said("compare", a, b, "--from", "b=examiner", "--norm", "b=chars")
    assert code == 2  # no producer of the package is called so
    board = tl.compare({"a": a, "b": tl.Source(b, producer="examiner", norm="chars")})
    assert [one.notes for one in board.comparison.sources] == [("Likelihoods by none.",), ("Likelihoods by chars.",)]
