"""The same files through Dask and Spark give the JSON of a plain comparison, byte for byte."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.cli.run_cli import toplist_here
from tests.engines import work
from tests.engines.conftest import ENGINES, need
from tests.engines.killing import executor_of, killing
from toplist.evaluation import distributed
from toplist.scoring.rules import Separable

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb")

CASES, CLASSES = 60, 5
QUESTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "grouped": {"group": "site"},
    "clustered": {"cluster": "patient"},
    "weighted": {"weight": "weight"},
    "all at once": {"group": "site", "cluster": "patient", "weight": "weight"},
}
"""Columns of the truth that are used."""


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models and the truth in one order, and a model in an order of its own."""
    folder, rng = tmp_path_factory.mktemp("engines"), np.random.default_rng(17)
    cases = np.arange(CASES)
    truth = {
        "case": cases,
        "outcome": rng.integers(0, CLASSES, CASES),
        "site": rng.choice(["north", "south"], CASES),
        "patient": cases // 3,
        "weight": rng.integers(1, 4, CASES),
    }
    pq.write_table(pa.table(truth), folder / "truth.parquet", row_group_size=25)
    for name, order in (("first", cases), ("second", cases), ("mixed", rng.permutation(cases))):
        rows = [
            {"case": int(case), "classes": rng.permutation(CLASSES)[:2].tolist(), "confidences": [0.5, float(rest)]}
            for case, rest in zip(order, rng.integers(1, 8, CASES) / 16, strict=True)
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet", row_group_size=10)
    return folder


def compared(folder: Path, question: str, other: str = "second", engine: Any = None, **options: Any) -> str:
    truth = tl.Truth(str(folder / "truth.parquet"), outcome="outcome", **({"cluster": ""} | QUESTIONS[question]))
    models = {name: str(folder / f"{name}.parquet") for name in ("first", other)}
    return str(tl.compare(models, truth, engine=engine, **({"space": CLASSES} | options)).to_json())


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of ten cases."""
    for name in ("_LEAST", "_LARGEST"):
        monkeypatch.setattr(distributed, name, 10)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("engine", ENGINES, indirect=True)
@pytest.mark.parametrize("question", QUESTIONS)
def test_tables_in_one_order_give_the_same_bytes(engine: Any, question: str, files: Path) -> None:
    assert compared(files, question, engine=engine) == compared(files, question)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_ordered_classes_and_rules_that_are_functions_give_the_same_bytes(engine: Any, files: Path) -> None:
    curved = Separable(lambda x: x * (1 - x), lambda x: 1 - 2 * x)
    asked: Any = {"rules": ("rps", "ranked_log", curved), "space": tl.ClassSpace(CLASSES, ordinal=True)}
    whole = compared(files, "all at once", **asked)
    assert compared(files, "all at once", engine=engine, **asked) == whole
    assert '"ranked_log"' in whole


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_tables_in_another_order_are_compared_here_with_a_remark(
    engine: Any, files: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", "toplist")
    assert compared(files, "all at once", "mixed", engine) == compared(files, "all at once", "mixed")
    assert "the files do not hold the same cases in the same order. Sort each of them" in caplog.text


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_a_bad_row_is_named_as_without_an_engine(engine: Any, files: Path, tmp_path: Path) -> None:
    rows = pq.read_table(files / "second.parquet").to_pylist()
    rows[33]["confidences"] = rows[52]["confidences"] = [0.9, 0.3]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "second.parquet", row_group_size=10)
    for name in ("first", "truth"):
        (tmp_path / f"{name}.parquet").symlink_to(files / f"{name}.parquet")
    said = []
    for one in (None, engine):
        with pytest.raises(tl.FileError) as raised:
            compared(tmp_path, "plain", engine=one)
        said.append(str(raised.value))
    assert "second.parquet, row 34: " in said[0]
    assert said[1] == said[0]


def test_the_command_gives_the_same_bytes(files: Path) -> None:
    """With a Dask cluster that it starts, and without."""
    need("distributed")
    names = [str(files / f"{name}.parquet") for name in ("first", "second", "truth")]
    words = [*names[:2], "--truth", names[2], "--cluster", "", "--classes", str(CLASSES), "--json"]
    plain = toplist_here("compare", *words)
    assert plain.returncode == 0, plain.stderr
    done = toplist_here("compare", *words, "--engine", "dask=1")
    assert done.stdout == plain.stdout, done.stderr


KILLED = [
    pytest.param("dask", lambda pid: pid, id="a Dask worker"),
    pytest.param(
        "spark",
        executor_of,
        id="a Spark executor",
        marks=pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="parents are read from /proc"),
    ),
]
"""Engines, and whom to kill: of Spark, not the process that runs a part."""


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("engine", "whom"), KILLED, indirect=["engine"])
def test_a_process_that_is_killed_in_the_middle_of_a_comparison_does_not_show(
    engine: Any, whom: Any, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is in the middle of a part, when some parts are finished and some are not."""
    plain = compared(files, "all at once")
    monkeypatch.setattr(distributed, "_score", partial(work.score_when_killed, str(tmp_path)))
    with killing(tmp_path, whom) as killed:
        assert compared(files, "all at once", engine=engine) == plain
    assert killed
