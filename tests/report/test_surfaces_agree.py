"""One board, every surface: a mean, an interval or a difference is the same number wherever it is shown."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import numpy as np
import pytest

import toplist as tl
from tests.report.html.parse_page import Element, read
from tests.report.test_markup import latex_rows, read_latex
from toplist.inference.results import Estimate
from toplist.report.plot.canvas import step

NUMBER = re.compile(r"[+\u2212]?(?:\d+(?:\.\d+)?|\u221e)")
OF_TWO = re.compile(r"([+\u2212][\d.]+),? \(?95% CI ([+\u2212][\d.]+) to ([+\u2212][\d.]+)\)")

Shown = dict[str, dict[str, list[str]]]  # by model and quantity: the numbers as text


# Boards


def noisy(p: np.ndarray, share: float, rng: np.random.Generator, k: int = 3) -> tl.TopLists:
    return tl.TopLists.from_proba((1 - share) * p + share * rng.dirichlet(np.ones(p.shape[1]), len(p)), k=k)


def drawn(cases: int = 60, classes: int = 5) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(classes, 0.5), cases)
    return rng, p, np.array([rng.choice(classes, p=row) for row in p])


def penalised() -> tl.Leaderboard:
    """Every list of one model is invalid: with the penalty, its scores end far above those of the rule."""
    rng = np.random.default_rng(0)
    invalid = tl.TopLists.from_dicts([{0: 0.5, 1: float(rng.uniform(0.001, 0.02))} for _ in range(40)], 4)
    valid = tl.TopLists.from_dicts([{0: 0.6, 1: 0.2}] * 40, 4)
    return tl.compare({"invalid": invalid, "valid": valid}, rng.integers(0, 4, 40), penalty=5.0)


def infinite() -> tl.Leaderboard:
    """Weights, and a model with infinite scores."""
    rng, p, y = drawn()
    hard = tl.TopLists.from_dicts([{int(row.argmax()): 1.0} for row in p], 5)
    lists = {"near": noisy(p, 0.05, rng), "far": noisy(p, 0.4, rng), "away": noisy(p, 0.9, rng), "hard": hard}
    return tl.compare(lists, tl.Truth(y, weight=rng.exponential(size=len(y))), rules=["log", "brier"])


def clustered() -> tl.Leaderboard:
    """Clusters, groups, and a baseline that stands in the middle."""
    rng, p, y = drawn(120)
    lists = {name: noisy(p, share, rng) for name, share in (("old", 0.3), ("new", 0.1), ("odd", 0.8))}
    truth = tl.Truth(y, cluster=np.arange(120) // 6, group=np.where(np.arange(120) % 2, "odd", "even"))
    return tl.compare(lists, truth, baseline="old")


def cut() -> tl.Leaderboard:
    """Nearly all scores are zero: a t interval would begin below the least score there is."""
    sure = tl.TopLists.from_dicts([{0: 1.0}] * 11 + [{0: 0.5}], 3)
    less = tl.TopLists.from_dicts([{0: 0.9}] * 12, 3)
    return tl.compare({"sure": sure, "less": less}, np.zeros(12, int))


BOARDS = {board.__name__: cache(board) for board in (penalised, infinite, clustered, cut)}


# Surfaces: what each shows of every model


def of_rows(head: list[str], rows: list[list[str]], rule: str) -> Shown:
    """The numbers of a table by model, where the heads say what they are."""
    found: Shown = {}
    for row in rows:
        cells = dict(zip(head, row, strict=True))
        of = found.setdefault(cells["model"], {})
        for name, cell in cells.items():
            texts = NUMBER.findall(re.sub(r"\(\d+(?: cases?)?\)|95% CI", "", cell.rpartition(": ")[2]))
            if name == rule:
                of["mean"] = texts[:1]
            elif re.fullmatch(rf"95% CI(?: of {rule})?", name):
                of["ends"] = texts
            elif name == "mean and 95% CI":
                of["mean"], of["ends"] = texts[:1] or of["mean"], texts[1:]
            elif name.startswith(("\u0394 best", "\u0394 vs best")):
                of["difference"] = texts[:1]
                of |= {"difference ends": texts[1:]} if len(texts) > 1 else {}
            elif name.startswith("\u0394 vs old"):
                of["to baseline"], of["to baseline ends"] = texts[:1], texts[1:]
            elif name == "\u0394 95% CI":
                of["difference ends"] = texts
    return found


def terminal(board: tl.Leaderboard, rule: str) -> Shown:
    lines = board.to_text(220).splitlines()
    start = next(i for i, line in enumerate(lines) if re.match(r" +model ", line))
    rows = []
    for line in lines[start : lines.index("", start)]:
        cells = re.split(r" {2,}", re.sub("[\u2501\u25cf]", " ", line).strip())
        rows.append([cell for cell in cells if not re.fullmatch(r"(?:[\d.]+ ?)+", cell) or line != lines[start]])
    return of_rows(rows[0], [row[1:] for row in rows[1:]], rule)


def markdown(board: tl.Leaderboard, rule: str) -> Shown:
    rows = [line.strip("| ").split(" | ") for line in board.to_markdown().splitlines() if line.startswith("| ")]
    return of_rows(rows[0], rows[2 : 2 + len(board.comparison.overall.rows)], rule)


def latex(board: tl.Leaderboard, rule: str) -> Shown:
    rows = [list(map(read_latex, row)) for row in next(latex_rows(board.to_latex()))]
    return of_rows(rows[0], rows[1:], rule)


def cells(table: Element) -> list[list[str]]:
    return [[cell.text.strip() for cell in row.every("th", "td")] for row in table.every("tr")]


def notebook(board: tl.Leaderboard, rule: str) -> Shown:
    head, *rows = cells(next(read(board.to_html()).every("table")))
    rows = [row[len(row) - len(head) :] for row in rows[: len(board.comparison.overall.rows)]]
    return of_rows(head, rows, rule)


@cache
def page_of(name: str) -> Element:
    pytest.importorskip("jinja2", reason="reports need jinja2")
    with TemporaryDirectory() as folder:
        BOARDS[name]().report(Path(folder, "page.html"))
        return read(re.sub("(?i)<!doctype html>", "", Path(folder, "page.html").read_text("utf-8")))


def by_page(page: Element, rule: str) -> Shown:
    """The leaderboard of the page, with the interval in words of the further columns in place of the whisker's."""
    head, *rows = cells(page.identified("table-leaderboard"))
    found = of_rows(head, [row for row in rows if row[head.index("model")]], rule)
    head, *rows = cells(page.identified("table-columns"))
    for model, of in of_rows(head, rows, rule).items():
        assert not found[model]["ends"] or of["ends"] == found[model]["ends"]
    return found


def titles(board: tl.Leaderboard, kind: str) -> Iterator[str]:
    root = ElementTree.fromstring(board.plot(kind).svg().encode())  # noqa: S314  it is our own text
    yield from (title.text or "" for title in root.iter() if title.tag.endswith("title"))


def interval_figure(board: tl.Leaderboard, rule: str) -> Shown:
    found: Shown = {}
    for title in titles(board, "intervals"):
        name, _, said = title.partition(": ")
        if said and any(row.name == name for row in board):
            texts = NUMBER.findall(re.sub(r"\(\d+ cases?\)", "", said))
            found[name] = {"mean": texts[:1], "ends": texts[1:]}
    return found


def pair_figure(board: tl.Leaderboard, rule: str) -> Shown:
    best = board[0].name
    found: Shown = {best: {}}
    for title in titles(board, "pairs"):
        minus = re.fullmatch(rf"(\w+) minus {best}: (.*?)(?:, adjusted p.*|, not tested)", title)
        if minus:
            texts = NUMBER.findall(minus[2])
            found[minus[1]] = {"difference": texts[:1], "difference ends": texts[1:]}
    return found


TABLES: list[Callable[[tl.Leaderboard, str], Shown]] = [terminal, markdown, latex, notebook]
FIGURES: list[Callable[[tl.Leaderboard, str], Shown]] = [interval_figure, pair_figure]


# What is right


def estimates(board: tl.Leaderboard) -> dict[str, dict[str, Estimate | None]]:
    """The mean of each model, and its differences to the best and to the baseline, as the records have them."""
    rule, found = board.comparison.rules[0], {}
    for row in board:
        found[row.name] = {"mean": row.scores[rule].mean, "difference": row.scores[rule].difference}
        for pair in board.comparison.pairs:
            if pair.rule == rule and {pair.a, pair.b} == {row.name, board.comparison.baseline}:
                found[row.name]["to baseline"] = pair.simultaneous if pair.a == row.name else -pair.simultaneous
    return found


def agrees(text: str, value: float) -> bool:
    """Whether a number was rounded to what is shown."""
    plain = text.replace("\u2212", "-").replace("\u221e", "inf")
    digits = len(plain.partition(".")[2])
    return float(plain) == value or abs(float(plain) - value) <= 0.5001 * 10.0**-digits


def check(found: Shown, board: tl.Leaderboard) -> set[str]:
    """Compare with the records; returns what was shown of any model."""
    wanted = estimates(board)
    assert set(found) == set(wanted)
    for model, quantities in found.items():
        for quantity, texts in quantities.items():
            estimate = wanted[model].get(quantity.removesuffix(" ends").replace("ends", "mean"))
            values = [] if estimate is None else [estimate.value]
            if quantity.endswith("ends"):
                values = [] if estimate is None or estimate.low is None else [estimate.low, estimate.high]
            assert len(texts) == len(values), (model, quantity, texts, values)
            assert all(map(agrees, texts, values)), (model, quantity, texts, values)
    return {quantity for quantities in found.values() for quantity, texts in quantities.items() if texts}


@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize("surface", TABLES)
def test_tables_show_the_estimates_of_the_records(surface: Callable[..., Shown], name: str) -> None:
    board = BOARDS[name]()
    against = "to baseline" if board.comparison.baseline and surface is not terminal else "difference"
    shown = check(surface(board, called_rule(board)), board)
    assert shown >= {"mean", "ends", against, f"{against} ends"}


@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize("surface", FIGURES)
def test_figures_show_the_estimates_of_the_records(surface: Callable[..., Shown], name: str) -> None:
    board = BOARDS[name]()
    assert len(check(surface(board, called_rule(board)), board)) == 2


def called_rule(board: tl.Leaderboard) -> str:
    return {"brier": "Brier"}.get(board.comparison.rules[0], board.comparison.rules[0])


@pytest.mark.parametrize("name", BOARDS)
def test_the_page_shows_the_estimates_of_the_records(name: str) -> None:
    board = BOARDS[name]()
    shown = check(by_page(page_of(name), called_rule(board)), board)
    assert shown >= {"mean", "ends", "difference", "difference ends"}
    data = json.loads(page_of(name).identified("data").text)
    assert data["board"] == json.loads(board.to_json())
    assert data["csv"] == board.to_csv()


@pytest.mark.parametrize("name", ["penalised", "cut"])
def test_sentences_about_two_models_have_the_numbers_of_the_table(name: str) -> None:
    """The verdict says the leader minus the other; so does the picture at the top of the page."""
    board = BOARDS[name]()
    (pair,) = (pair for pair in board.comparison.pairs if pair.rule == board.comparison.rules[0])
    wanted = [pair.simultaneous.value, pair.simultaneous.low, pair.simultaneous.high]
    in_latex = board.to_latex().replace("$-$", "\u2212").replace(r"\%", "%")
    for text in (board.to_text(), board.to_markdown(), read(board.to_html()).text, in_latex, page_of(name).text):
        said = OF_TWO.findall(" ".join(text.split()))
        assert said
        assert all(all(map(agrees, numbers, wanted)) for numbers in said), said


@pytest.mark.parametrize("name", BOARDS)
def test_programs_get_the_records_to_the_last_digit(name: str) -> None:
    board = BOARDS[name]()
    by_rule = {(row.name, rule): score for row in board for rule, score in row.scores.items()}
    lines = [line for line in csv.DictReader(io.StringIO(board.to_csv())) if not line["group"]]
    held = {row["name"]: row["scores"] for row in json.loads(board.to_json())["overall"]["rows"]}
    assert len(lines) == len(by_rule)
    for line in lines:
        score = by_rule[line["model"], line["rule"]]
        for quantity in ("mean", "difference", "skill"):
            estimate = getattr(score, quantity)
            values = [None] * 3 if estimate is None else [estimate.value, estimate.low, estimate.high]
            names = [quantity, f"{quantity}_low", f"{quantity}_high"]
            assert [float(line[key]) if line[key] else None for key in names] == values
            in_json = held[line["model"]][line["rule"]][quantity] or dict.fromkeys(("value", "low", "high"))
            finite = [None if x is None or math.isinf(x) else x for x in values]
            assert [in_json[key] for key in ("value", "low", "high")] == finite


def test_an_interval_is_said_to_be_cut_exactly_where_it_is() -> None:
    said = {name: re.findall("cut where the score ends, at ([^.]*)\\.", BOARDS[name]().to_latex()) for name in BOARDS}
    assert said == {"penalised": [], "infinite": [], "clustered": [], "cut": ["0"]}
    (mean,) = (row.scores["brier"].mean for row in cut() if row.name == "sure")
    assert mean.low == 0 < mean.value


def four() -> tl.Leaderboard:
    """Three models that are not significantly different, and one that is far behind."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.full(20, 0.3), 300)
    y = [rng.choice(20, p=row) for row in p]
    shares = {"a": 0.1, "b": 0.12, "c": 0.14, "d": 0.6}
    noise = {name: rng.dirichlet(np.full(20, 0.3), 300) for name in shares}
    mixed = {name: (1 - share) * p + share * noise[name] for name, share in shares.items()}
    return tl.compare({name: tl.TopLists.from_proba(one, k=5) for name, one in mixed.items()}, y)


def test_the_figure_claims_of_ties_what_the_verdict_claims() -> None:
    board = four()
    assert ", but is not significantly better than b and c. d is significantly worse." in " ".join(
        board.to_text().split()
    )
    assert board.plot().data.title == "a is best, but not significantly better than 2 others"


def test_a_difference_has_one_colour_on_the_page_and_in_the_figure(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="reports need jinja2")
    board = four()
    board.report(tmp_path / "page.html")
    page = read(re.sub("(?i)<!doctype html>", "", (tmp_path / "page.html").read_text("utf-8")))
    rows = list(page.identified("table-matrix").one("tbody").every("tr"))
    on_page = {
        (i, j): cell.attributes.get("class", "")
        for i, row in enumerate(rows, 1)
        for j, cell in enumerate(row.every("td"))
    }
    in_figure = {(cell.row, cell.column): step(cell.shade) for cell in board.plot("pairs").data.cells}
    assert any("above" in colour for colour in in_figure.values())
    for place, colour in in_figure.items():
        assert ({colour} - {"level0"}) == {x for x in on_page[place].split() if x.startswith(("above", "below"))}
