"""Each line of the table in CONTRIBUTING.md is followed once, in a copy of the package; the files are counted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[2]
ROWS = re.findall(r"^\| (a|an) ([^|]+?) \| (\d+) \| (.+) \|$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
TABLE = {
    f"{article} {what}": (int(count), re.findall(r"`([\w/]+\.pyi?)`", where)) for article, what, count, where in ROWS
}
COPIED = {
    "tests": ("__init__.py",),
    "tests/paper": ("__init__.py", "rules.py"),
    "tests/postprocess": ("__init__.py", "recalibrators.py"),
    "tests/io/recognition": ("__init__.py", "vocabulary.py"),
}


@dataclass
class Draft:
    """A copy of the package and of its tests, and which of their files were changed."""

    root: Path
    files: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, root: Path) -> Draft:
        skipped = shutil.ignore_patterns("__pycache__", "*.so", "native", "data")
        shutil.copytree(ROOT / "src" / "toplist", root / "toplist", ignore=skipped)
        for folder, names in COPIED.items():
            (root / folder).mkdir(parents=True)
            for name in names:
                shutil.copy(ROOT / folder / name, root / folder / name)
        return cls(root)

    def _path(self, file: str) -> Path:
        self.files.add(file)
        return self.root / file if file.startswith("tests/") else self.root / "toplist" / file

    def create(self, file: str, text: str) -> None:
        """Write a new file; it counts as NEW.py of its folder."""
        path = self._path(re.sub(r"[^/]+$", "NEW.py", file))
        path = path.with_name(Path(file).name)
        assert not path.exists()
        path.write_text(dedent(text))

    def insert(self, file: str, after: str, text: str) -> None:
        """Put text behind the one place that matches a pattern."""
        path = self._path(file)
        source = path.read_text()
        found = list(re.finditer(after, source, re.MULTILINE))
        assert len(found) == 1, f"{len(found)} places in {file} match {after!r}"
        path.write_text(source[: found[0].end()] + text + source[found[0].end() :])

    def append(self, file: str, text: str) -> None:
        """Put text at the end."""
        path = self._path(file)
        path.write_text(path.read_text() + dedent(text))

    def run(self, code: str) -> str:
        """What a new interpreter prints that sees the copy instead of the package."""
        first = f"import sys\nsys.path.insert(0, {str(self.root)!r})\n"
        first += "sys.meta_path[:] = [one for one in sys.meta_path if 'editable' not in type(one).__module__]\n"
        first += f"import toplist\nassert toplist.__file__.startswith({str(self.root)!r})\n"
        done = subprocess.run(
            [sys.executable, "-c", first + dedent(code)],
            cwd=self.root,
            env={**os.environ, "TOPLIST_PURE_PYTHON": "1", "NO_COLOR": "1", "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


RECIPES: dict[str, Callable[[Draft], None]] = {}


def follows(line: str) -> Callable[[Callable[[Draft], None]], Callable[[Draft], None]]:
    """Mark what follows a line of the table."""

    def keep(recipe: Callable[[Draft], None]) -> Callable[[Draft], None]:
        RECIPES[line] = recipe
        return recipe

    return keep


@follows("a scoring rule with a closed form")
def add_a_rule(draft: Draft) -> None:
    draft.insert(
        "scoring/rules/standard.py",
        r"^@dataclass\(frozen=True, slots=True\)\nclass Log(?s:.*?)\n\n\n(?=@)",
        dedent(
            '''\
            @dataclass(frozen=True, slots=True)
            class DoubledLog(Log):
                """Twice the logarithmic score."""

                name: ClassVar[str] = "doubled-log"

                def score(self, m: CaseStatistics, others: Array) -> Array:
                    """-2 log q."""
                    return 0.0 - 2.0 * m.log_outcome

                def entropy(self, m: CaseStatistics, total: Array) -> Array:
                    """Twice the entropy."""
                    return 2.0 * total


            '''
        ),
    )
    draft.insert("scoring/rules/standard.py", r"^RULES: .*\{\n", '    "doubled-log": DoubledLog,\n')
    draft.insert(
        "scoring/rules/__init__.py", r"^from toplist\.scoring\.rules\.standard import \(\n", "    DoubledLog,\n"
    )
    draft.append("__init__.pyi", "from toplist.scoring.rules import DoubledLog as DoubledLog\n")
    draft.append(
        "tests/paper/rules.py",
        """
        RULES["doubled-log"] = Known(
            tl.DoubledLog(),
            quiet(lambda p: -2 * np.log(p)),
            quiet(lambda p: -2 * times(p, np.log(p)).sum(axis=-1)),
            quiet(lambda p: -2 * np.log(p) - 2),
        )
        """,
    )
    said = draft.run(
        """
        import numpy as np, toplist as tl
        from tests.paper.rules import RULES
        known, p = RULES["doubled-log"], np.array([0.5, 0.3, 0.2])
        lists = tl.TopLists.from_proba(np.tile(p, (3, 1)))
        np.testing.assert_allclose(tl.score(lists, [0, 1, 2], rule="doubled-log"), known.scores(p))
        np.testing.assert_allclose(tl.entropy(lists, rule=tl.DoubledLog())[0], known.entropy(p))
        print(tl.compare({"a": lists}, [0, 1, 2], rules=["doubled-log"]))
        from typer.testing import CliRunner
        from toplist.cli.app import app
        print(CliRunner().invoke(app, ["compare", "--help"]).output)
        """
    )
    assert said.count("doubled-log") >= 2


@follows("a leaderboard column")
def add_a_column(draft: Draft) -> None:
    draft.insert(
        "scoring/case_scores.py",
        r"^METRICS: .*\((?s:.*?)\n(?=\)\n)",
        '    Metric("mean_rest", "mean rest", "the mass that is not listed", lambda lists, ranks: 1.0 - lists.mass),\n',
    )
    said = draft.run(
        """
        import json, toplist as tl
        models = {"a": [{"x": 0.75}, {"x": 0.5}], "b": [{"x": 0.5}, {"x": 0.5}]}
        board = tl.compare(models, ["x", "y"], space=4)
        assert abs(board["a"].metrics["mean_rest"].value - 0.375) < 1e-12
        assert "mean_rest" in json.dumps(board.to_dict())
        assert any("mean_rest" in str(column) for column in board.to_pandas().columns)
        assert "mean_rest" in board.to_csv()
        board.report("page.html")
        for text in (board.to_text(), board.to_text(width=200), open("page.html", encoding="utf-8").read()):
            print("mean rest" in text)
        """
    )
    assert said.split() == ["True"] * 3


@follows("a file format")
def add_a_reader(draft: Draft) -> None:
    draft.create(
        "io/readers/triples.py",
        '''
        """A line per listed class: case, class and confidence, with blanks between them."""

        from __future__ import annotations

        from collections.abc import Iterator, Sequence
        from dataclasses import dataclass
        from pathlib import Path
        from typing import Any

        from toplist._files import need
        from toplist.io.readers.base import Format, Reader, TableChunk


        @dataclass
        class TriplesReader(Reader):
            """Files of triples."""

            paths: tuple[Path, ...]
            name: str

            @property
            def schema(self) -> Any:
                """Three columns."""
                pa = need("pyarrow")
                return pa.schema([("case", pa.string()), ("class", pa.string()), ("confidence", pa.float64())])

            def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
                """Each file whole."""
                pa = need("pyarrow")
                for path in self.paths:
                    case, label, value = zip(*map(str.split, path.read_text().splitlines()), strict=True)
                    table = pa.record_batch([case, label, list(map(float, value))], schema=self.schema)
                    yield TableChunk(str(path), 0, table.select(list(columns)))


        TRIPLES = Format("triples", (".triples",), TriplesReader)
        ''',
    )
    draft.insert(
        "io/readers/__init__.py",
        r"^from toplist\.io\.readers\.npy import .*\n",
        "from toplist.io.readers.triples import TRIPLES\n",
    )
    draft.insert("io/readers/__init__.py", r"^FORMATS.* = \(", "TRIPLES, ")
    (draft.root / "a.triples").write_text("1 cat 0.75\n1 dog 0.25\n2 dog 1.0\n")
    (draft.root / "y.triples").write_text("1 cat 1.0\n2 dog 1.0\n")
    said = draft.run(
        """
        import toplist as tl
        print(tl.read_lists("a.triples", 5))
        print(tl.compare({"a": "a.triples"}, "y.triples", space=5).to_dict()["cases"])
        """
    )
    assert said == "TopLists(2 cases, k from 1 to 2, 5 classes)\n2\n"


@follows("a name by which a column is recognised")
def add_a_column_name(draft: Draft) -> None:
    draft.insert("io/columns.py", r"^CONFIDENCE = \(\n", '    "trustworthiness",\n')
    draft.insert("tests/io/recognition/vocabulary.py", r'^CONFIDENCES = _words\(\n    """\n', "    trustworthiness\n")
    said = draft.run(
        """
        import pandas as pd, toplist as tl
        from tests.io.recognition.vocabulary import kind
        frame = pd.DataFrame({"case": [1, 1], "label": ["cat", "dog"], "trustworthiness": [0.75, 0.25]})
        print(kind("trustworthiness"), tl.read_lists(frame, 5))
        """
    )
    assert said == "confidence TopLists(1 case, k = 2, 5 classes)\n"


@follows("an option of how tables are read")
def add_a_read_option(draft: Draft) -> None:
    draft.insert(
        "io/options.py",
        r"^class ReadOptions:\n    (?s:\"\"\".*?\"\"\")\n\n",
        '    encoding: str = field(default="utf-8", metadata={"help": "How text files are encoded."})\n',
    )
    said = draft.run(
        """
        import toplist as tl
        from typer.testing import CliRunner
        from toplist.cli.app import app
        print(tl.ReadOptions(encoding="latin-1").encoding, tl.Source("a.csv", encoding="latin-1") is not None)
        for command in ("compare", "score", "diagnose", "check"):
            print(CliRunner().invoke(app, [command, "--help"]).output)
        """
    )
    assert said.startswith("latin-1 True")
    assert said.count("--encoding") >= 4
    assert "How text files are encoded." in said


@follows("a recalibrator")
def add_a_recalibrator(draft: Draft) -> None:
    draft.create(
        "postprocess/recalibration/shrinkage.py",
        '''
        """Confidences times a factor."""

        from __future__ import annotations

        from toplist.lists import TopLists
        from toplist.postprocess.recalibration.base import Recalibrator, Sample
        from toplist.postprocess.recalibration.floor import floored
        from toplist.postprocess.recalibration.state import State


        class Shrinkage(Recalibrator):
            """A rest mass of at least the share of cases whose outcome is not the first class, halved."""

            learned = ("share_",)
            share_: float

            def __init__(self) -> None:
                pass

            @property
            def parameters(self) -> int:
                """One."""
                return 1

            def _check(self) -> None:
                pass

            def _fit(self, sample: Sample) -> None:
                first = sample.lists.classes[sample.lists.offsets[:-1]]
                self.share_ = 0.5 * float(sample.weight @ (sample.codes != first))

            def _transform(self, lists: TopLists) -> TopLists:
                return floored(lists, self.share_)

            def _restore(self, state: State) -> None:
                self.share_ = state.number("share_", 0.0, 1.0)
        ''',
    )
    home = "postprocess/recalibration/__init__.py"
    draft.insert(
        home,
        r"^from toplist\.postprocess\.recalibration\.scaling import .*\n",
        "from toplist.postprocess.recalibration.shrinkage import Shrinkage\n",
    )
    draft.insert(home, r"^RECALIBRATORS: .*\{\n", '    "shrinkage": Shrinkage,\n')
    draft.append(
        "tests/postprocess/recalibrators.py",
        """
        from toplist.postprocess.recalibration.shrinkage import Shrinkage

        KINDS["shrinkage"] = Shrinkage()
        """,
    )
    (draft.root / "a.csv").write_text("case,class,confidence\n1,cat,1\n2,dog,1\n3,cat,1\n4,cat,1\n")
    (draft.root / "y.csv").write_text("case,outcome\n1,cat\n2,cat\n3,cat\n4,dog\n")
    said = draft.run(
        """
        import toplist as tl
        from typer.testing import CliRunner
        from tests.postprocess.recalibrators import KINDS
        from toplist.cli.app import app
        from toplist.postprocess.recalibration import Shrinkage, select_recalibrator
        lists = tl.TopLists.from_labels([0, 1, 0, 0], 3)
        assert KINDS["shrinkage"].clone().fit_transform(lists, [0, 0, 0, 1])[0].confidences[0] == 0.75
        fitted = Shrinkage().fit(lists, [0, 0, 0, 1])
        fitted.save("fitted.json")
        assert tl.postprocess.load("fitted.json").transform(lists) == fitted.transform(lists)
        tried = select_recalibrator(lists[[0, 1, 2, 3] * 25], [0, 0, 0, 1] * 25)
        assert any("Shrinkage" in row.name for row in tried.table)
        given = ["recalibrate", "fit", "a.csv", "--truth", "y.csv", "--classes", "3", "--kind", "shrinkage"]
        done = CliRunner().invoke(app, [*given, "--folds", "2", "-o", "model.json"])
        print(done.exit_code, open("model.json").read())
        """
    )
    assert said.startswith("0 ")
    assert '"Shrinkage"' in said


@follows("a data-quality issue")
def add_an_issue(draft: Draft) -> None:
    draft.insert(
        "lists/checks/detect.py",
        r'^        "empty list": ~some,\n',
        '        "half": some & (t.max(initial=0) == 0.5),\n',
    )
    draft.insert("lists/checks/summary.py", r"^_HARMLESS: Final = \(", '"half", ')
    draft.insert(
        "lists/checks/summary.py",
        r"^_TEMPLATES: .*\{\n",
        '    "half": ("has", "have", "no confidence above 0.5."),\n',
    )
    said = draft.run(
        """
        import toplist as tl
        found = tl.diagnose([{"a": 0.5}, {"b": 0.25}], space=4)
        print([(one.kind, one.cases, one.blocking, one.message) for one in found.issues if one.kind == "half"])
        """
    )
    assert said.startswith("[('half', 2, False, 'All 2 cases have no confidence above 0.5.")


@follows("a warning about a leaderboard")
def add_a_warning(draft: Draft) -> None:
    home = "inference/diagnostics.py"
    draft.append(
        home,
        '''

        def single_case(results: Comparison) -> list[BoardWarning]:
            """Exactly one case."""
            return [BoardWarning("single case", "there is one case.", ())] if results.cases == 1 else []
        ''',
    )
    draft.insert(home, r"^        \*beaten_leader\(results\),\n", "        *single_case(results),\n")
    said = draft.run(
        """
        import toplist as tl
        print(tl.compare({"a": [0], "b": [1]}, [0], space=3).to_dict()["warnings"])
        """
    )
    assert "single case" in said


@follows("a metric of label sets")
def add_a_set_metric(draft: Draft) -> None:
    home = "multilabel/metrics.py"
    draft.insert(
        home,
        r"^(?=@dataclass.*\nclass SetMetric)",
        dedent(
            '''
            def missed_labels(x: Any, y: Any, space: LabelSets | None = None) -> Floats:
                """Per case the number of true labels that are not predicted."""
                both, _, true, _ = _overlap(x, y, space)
                return (true - both).astype(np.float64)


            '''
        ),
    )
    draft.insert(
        home,
        r"^METRICS.*\n(?:.*\n)?.*for metric in \(\n",
        '        SetMetric("missed_labels", missed_labels, "lower", "all labels", mode_sets),\n',
    )
    said = draft.run(
        """
        import numpy as np
        from toplist.multilabel import METRICS
        print(METRICS["missed_labels"](np.array([[1, 0, 0]]), np.array([[1, 1, 1]])))
        """
    )
    assert said == "[2.]\n"


@follows("a constructor of lists")
def add_a_constructor(draft: Draft) -> None:
    draft.insert(
        "lists/constructors.py",
        r"^    __slots__ = \(\)\n",
        dedent(
            '''
            @classmethod
            def from_pairs(cls, pairs: Any, space: Any) -> Any:
                """One list of (class, confidence) pairs per case."""
                return cls.from_dicts([dict(one) for one in pairs], space)
            '''
        ).replace("\n", "\n    "),
    )
    said = draft.run('import toplist as tl\nprint(tl.TopLists.from_pairs([[("a", 0.5), ("b", 0.25)]], 4))')
    assert said == "TopLists(1 case, k = 2, 4 classes)\n"


@follows("a command")
def add_a_command(draft: Draft) -> None:
    draft.create(
        "cli/greet.py",
        '''
        """A command that greets."""

        import typer


        def greet(name: str) -> None:
            """Greet somebody."""
            typer.echo(f"Hello, {name}.")
        ''',
    )
    draft.insert("cli/app.py", r"^import typer\n", "\nfrom toplist.cli.greet import greet\n")
    draft.append("cli/app.py", "\napp.command()(greet)\n")
    said = draft.run(
        """
        from typer.testing import CliRunner
        from toplist.cli.app import app
        print(CliRunner().invoke(app, ["greet", "Ada"]).output, CliRunner().invoke(app, ["--help"]).output)
        """
    )
    assert said.startswith("Hello, Ada.")
    assert "Greet somebody." in said


@follows("an error")
def add_an_error(draft: Draft) -> None:
    draft.append(
        "errors.py",
        '''

        class ClockError(TopListError):
            """The clock is wrong."""
        ''',
    )
    draft.append("__init__.pyi", "from toplist.errors import ClockError as ClockError\n")
    assert (
        draft.run("import toplist as tl\nprint(issubclass(tl.ClockError, ValueError), 'ClockError' in dir(tl))")
        == "True True\n"
    )


@follows("a public name")
def add_a_public_name(draft: Draft) -> None:
    draft.append(
        "lists/functional.py",
        '''

        def longest_list(lists: Any) -> int:
            """The length of the longest list."""
            return max(map(len, lists))
        ''',
    )
    draft.append("__init__.pyi", "from toplist.lists.functional import longest_list as longest_list\n")
    assert (
        draft.run("import toplist as tl\nprint(tl.longest_list([[1], [1, 2]]), 'longest_list' in tl.__all__)")
        == "2 True\n"
    )


@pytest.mark.parametrize("line", TABLE)
def test_a_line_of_the_table_names_all_files_that_it_takes(line: str, tmp_path: Path) -> None:
    count, files = TABLE[line]
    draft = Draft.of(tmp_path)
    RECIPES[line](draft)
    assert draft.files == set(files)
    assert len(draft.files) == count


def test_every_line_of_the_table_is_followed() -> None:
    assert len(TABLE) > 10
    assert set(RECIPES) == set(TABLE)


def test_files_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = {name for name in re.findall(r"`([\w./]+\.(?:pyi?|hpp|md)|[\w./]+/)`", text) if "NEW" not in name}
    places = (ROOT, ROOT / "src" / "toplist")
    assert [name for name in sorted(named) if not any((place / name).exists() for place in places)] == []
