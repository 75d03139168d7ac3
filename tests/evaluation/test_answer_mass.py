"""Chat completions from files to a leaderboard: the numbers, and the mass on declared answers."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

import toplist as tl
from tests.io.producers import answers_of_servers as servers
from tests.io.producers.reading import write_lines
from tests.io.producers.token_oracle import Listed, answer_list

ABCD = tl.AnswerSpace("ABCD")
READ = tl.ReadOptions(answers=ABCD)
JUNK = ["The", "<think>", "I", "**", " answer"]


def completions(seed: int, sharpness: float, on_answers: float, cases: int = 60):
    """Records of questions with two to four answers, and the tokens of each."""
    rng = np.random.default_rng(seed)
    for case in range(cases):
        n, target = 2 + case % 3, case % 2
        answers = rng.dirichlet(np.ones(n) + sharpness * (np.arange(n) == target))
        weights = {
            **dict(zip("ABCD", answers * on_answers, strict=False)),
            **dict(zip(JUNK, rng.dirichlet(np.ones(5)) * (1 - on_answers) * 0.99, strict=True)),
        }
        order = sorted(weights, key=weights.__getitem__, reverse=True)[:6]
        tokens = [Listed(text, float(np.float32(math.log(weights[text]))), text.encode()) for text in order]
        yield servers.chat([("A", tokens)], question_id=f"q{case}", target="ABCD"[target], n_classes=n), tokens


def brier(tokens: list[Listed], n: int, outcome: str) -> float:
    """The padded Brier score in plain Python."""
    made = answer_list(tokens, dict(list(ABCD.variants.items())[:n]))
    hidden = made.n_classes - len(made.confidences)
    share = made.unlisted / max(hidden, 1)
    p = [*made.confidences.values(), *[share] * hidden]
    return 1 - 2 * made.confidences.get(outcome, share) + math.fsum(x * x for x in p)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    made = {"sharp": list(completions(1, 6.0, 0.9)), "chatty": list(completions(2, 1.0, 0.3))}
    paths = {name: write_lines(folder / f"{name}.jsonl", [record for record, _ in run]) for name, run in made.items()}
    return made, paths


@pytest.fixture(scope="module")
def board(runs):
    return tl.compare(runs[1], None, read=READ)


def test_mean_scores_of_chat_completions_are_those_of_plain_python(runs, board):
    for name, run in runs[0].items():
        own = [brier(tokens, record["n_classes"], record["target"]) for record, tokens in run]
        assert board[name].scores["brier"].mean.value == pytest.approx(math.fsum(own) / len(own), rel=0, abs=1e-12)
    assert board.comparison.compared == 60


def test_the_mass_on_declared_answers_is_a_column_and_in_the_summary_of_a_source(runs, board, tmp_path):
    for source in board.comparison.sources:
        mass = [
            answer_list(tokens, dict(list(ABCD.variants.items())[: record["n_classes"]])).answer_mass
            for record, tokens in runs[0][source.name]
        ]
        assert source.answer_mass == pytest.approx(statistics.fmean(mass), abs=1e-12)
        assert source.median_answer_mass == pytest.approx(statistics.median(mass), abs=1e-12)
    assert "answer mass" in board.to_text(200)
    board.report(tmp_path / "report.html")
    assert "answer mass" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert any("Mass on declared answers: median" in note for one in board.comparison.sources for note in one.notes)


def test_a_model_that_mostly_says_something_else_is_warned_of(board):
    found = [one for one in board.comparison.warnings if one.kind == "little answer mass"]
    assert [one.models for one in found] == [("chatty",)]
    assert "the prompt was measured, not the model" in found[0].sentence


def test_lists_that_are_not_made_of_tokens_have_no_such_column():
    board = tl.compare({"a": [[0.5, 0.5]] * 3, "b": [[0.6, 0.4]] * 3}, [0, 1, 0], space=2)
    assert all(one.answer_mass is None for one in board.comparison.sources)
    assert "answer mass" not in board.to_text(200)


def coins(seed: int, spread: float, cases: int = 200, answers: str = "AB"):
    """Records in which the tokens of all answers have about the same probability."""
    rng = np.random.default_rng(seed)
    for case in range(cases):
        p = np.exp(spread * rng.normal(size=len(answers)))
        pairs = sorted(zip(0.999 * p / p.sum(), answers, strict=True), reverse=True)
        tokens = [Listed(text, float(np.log(x)), text.encode()) for x, text in pairs]
        target = answers[np.random.default_rng(case).integers(len(answers))]
        yield servers.chat([("A", tokens)], question_id=f"q{case}", target=target, n_classes=len(answers))


def test_the_chance_level_of_declared_answers_is_over_the_answers_without_OTHER(tmp_path):
    two = {name: list(coins(seed, 0.0)) for seed, name in enumerate(["coin", "toss"])}
    four = [{**one, "question_id": f"r{at}"} for at, one in enumerate(coins(9, 0.0, 100, "ABCD"))]
    mixed = {name: [*records[:100], *four] for name, records in two.items()}
    for at, runs in enumerate([two, mixed]):
        paths = {name: write_lines(tmp_path / f"{at}-{name}.jsonl", records) for name, records in runs.items()}
        board = tl.compare(paths, None, read=READ, rules=["brier", "log"])
        for rule in ("brier", "log"):
            assert board["coin"].scores[rule].skill.value == pytest.approx(0.0, abs=2e-3)
        board.report(tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert "0.667" not in page  # of three classes


def test_a_normalized_space_has_the_same_chance_level(tmp_path):
    read = tl.ReadOptions(answers=tl.AnswerSpace("ABCD", other="normalize"))
    paths = {name: write_lines(tmp_path / f"{name}.jsonl", list(coins(0, 0.0))) for name in ("coin", "toss")}
    board = tl.compare(paths, None, read=read)
    assert board["coin"].scores["brier"].skill.value == pytest.approx(0.0, abs=1e-12)
