"""Whoever has the paper open finds each of its numbers in the documentation of the code that has it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import toplist as tl

SOURCE = Path(tl.__file__).parent
FILES = {
    "scoring/rules/standard.py": ["eq. 2", "eq. 3 and 11", "eq. 4", "eq. 6", "eq. 9"],
    "scoring/rules/given.py": ["eq. 7", "eq. 8", "Proposition 4.1", "Lemma 4.2"],
    "scoring/scores.py": ["eq. 1", "eq. 13", "Lemma 4.3", "Lemma 5.2", "Theorem 5.3", "Theorem 5.4", "Theorem 5.6"],
    "scoring/truncation_curve.py": ["eq. 12", "Theorem 5.3"],
    "lists/theory.py": ["section 3", "Theorem 3.2", "section 4.2", "Lemma 4.3", "Lemma 4.5", "eq. 14", "section 6"],
}
NAMED = [(file, number) for file, numbers in FILES.items() for number in numbers]


@pytest.mark.parametrize(("file", "number"), NAMED)
def test_a_number_of_the_paper_is_in_the_docstring_of_what_has_it(file: str, number: str) -> None:
    tree = ast.parse((SOURCE / file).read_text())
    parts = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)]
    assert any(number in " ".join((ast.get_docstring(part) or "").split()) for part in parts)


def test_every_name_in_the_map_of_the_paper_exists() -> None:
    from toplist.lists import theory

    rows = [line for line in (theory.__doc__ or "").splitlines() if "`" in line and line.startswith((" ", "eq", "sec"))]
    names = [name for row in rows for name in row.split("`")[1::2] if "/" not in name]
    assert len(names) > 15
    for name in names:
        path = name.removeprefix("toplist.").split(".")
        homes = (tl, tl.scoring, tl.postprocess, theory)
        home = next((each for each in homes if hasattr(each, path[0])), None)
        if home is None:
            __import__(f"toplist.{'.'.join(path[:-1])}")
            home = tl
        for part in path:
            home = getattr(home, part)
