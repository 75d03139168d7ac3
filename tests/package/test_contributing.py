"""Each line of the table in CONTRIBUTING.md is followed once, in a copy of the package; the files are counted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
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
    "tests/io/producers": ("__init__.py", "checked.py"),
}
END = r"\Z"


# A recipe is what is written where, in new files or behind the one place of a file that matches a pattern, then a
# program, and patterns of what it says.
RECIPES = {
    "a scoring rule with a closed form": r'''
        @ scoring/rules/standard.py behind ^@dataclass\(frozen=True, slots=True\)\nclass Log(?s:.*?)\n\n\n(?=@)

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
        @ scoring/rules/standard.py behind ^RULES: .*\{\n
            "doubled-log": DoubledLog,
        @ cli/choices.py behind ^RULES = \(
        "doubled-log",
        @ tests/paper/rules.py behind \Z

        RULES["doubled-log"] = Known(
            tl.scoring.rules.as_rule("doubled-log"),
            quiet(lambda p: -2 * np.log(p)),
            quiet(lambda p: -2 * times(p, np.log(p)).sum(axis=-1)),
            quiet(lambda p: -2 * np.log(p) - 2),
        )
        @ run
        import numpy as np, toplist as tl
        from tests.paper.rules import RULES
        known, p = RULES["doubled-log"], np.array([0.5, 0.3, 0.2])
        lists = tl.TopLists.from_proba(np.tile(p, (3, 1)))
        np.testing.assert_allclose(tl.score(lists, [0, 1, 2], rule="doubled-log"), known.scores(p))
        np.testing.assert_allclose(tl.entropy(lists, rule="doubled-log")[0], known.entropy(p))
        print(tl.compare({"a": lists}, [0, 1, 2], rules=["doubled-log"]))
        print("help", cli("compare", "--help").output)
        @ says
        doubled-log(?s:.*)help(?s:.*)doubled-log
    ''',
    "a leaderboard column": r"""
        @ scoring/case_scores.py behind ^METRICS: .*\((?s:.*?)\n(?=\)\n)
            Metric("mean_rest", "mean rest", "what is left", lambda lists, ranks: 1.0 - lists.mass, "lower"),
        @ run
        import json, toplist as tl
        models = {"a": [{"x": 0.75}, {"x": 0.5}], "b": [{"x": 0.5}, {"x": 0.5}]}
        board = tl.compare(models, ["x", "y"], space=4)
        assert abs(board["a"].metrics["mean_rest"].value - 0.375) < 1e-12
        assert any("mean_rest" in str(column) for column in board.to_pandas().columns)
        board.report("page.html")
        text = open("page.html", encoding="utf-8").read()
        print("mean_rest" in json.dumps(board.to_dict()), "mean_rest" in board.to_csv())
        print("mean rest" in board.to_text(), "mean rest" in board.to_text(width=200))
        print(text[text.rindex("<th", 0, text.index("<span>mean rest</span>")) :].partition(">")[0])
        @ says
        ^True True\nTrue True\n
        data-best="low"
    """,
    "a producer": r'''
        @ io/producers/birds.py
        """Answers of a service that knows birds."""

        from toplist.io.producers.cases import Cases, reading


        def _read(cases: Cases) -> None:
            for record in cases.objects():
                if record.at("error"):
                    cases.count("recording", "failed: missing cases")
                else:
                    cases.add(record, record.text("recording"), *record.entries(record.pairs("birds", "name", "p")))


        PRODUCER = reading(_read, written=True)
        @ io/producers/__init__.py behind ^PRODUCERS: .* = \{\n
            "birds": Entry("birds", "answers about birds", ("*.jsonl",), keys=("recording", "birds.0.name")),
        @ tests/io/producers/checked.py behind ^CHECKS = \{\n
            "birds": Check("birds.txt"),
        @ data a.jsonl
        {"recording": "1.wav", "birds": [{"name": "owl", "p": 0.75}, {"name": "kite", "p": 0.125}]}
        {"recording": "2.wav", "error": "too short"}
        {"recording": "3.wav", "birds": [{"name": "kite", "p": "much"}]}
        @ run
        import toplist as tl
        from tests.io.producers.checked import table
        lines = open("a.jsonl").read().splitlines(keepends=True)
        open("b.jsonl", "w").writelines(lines[:2])
        print(tl.read_lists("b.jsonl", 900), "`birds`" in table())
        open("y.csv", "w").write("case,outcome\n1.wav,owl\n")
        print(cli("compare", "b.jsonl", "-t", "y.csv", "-c", "900", "--from", "birds", "--json").exit_code)
        try:
            tl.read_lists("a.jsonl", 900)
        except tl.TopListError as error:
            print(error)
        @ says
        ^TopLists\(1 case, k = 2, 900 classes\) True\n0\n
        a\.jsonl, row 3: the score of 'kite' should be a number, not 'much'\.
    ''',
    "a file format": r'''
        @ io/readers/triples.py
        """A line per listed class: case, class and confidence, with blanks between them."""

        from dataclasses import dataclass
        from pathlib import Path

        from toplist._files import need
        from toplist.io.readers.base import FileReader, Format, TableChunk


        @dataclass
        class TriplesReader(FileReader):
            """Files of triples."""

            paths: tuple[Path, ...]
            name: str

            @property
            def schema(self):
                pa = need("pyarrow")
                return pa.schema([("case", pa.string()), ("class", pa.string()), ("confidence", pa.float64())])

            def read(self, file, schema, lo, hi):
                path = self.paths[file]
                case, label, value = zip(*map(str.split, path.read_text().splitlines()), strict=True)
                table = need("pyarrow").record_batch([case, label, list(map(float, value))], schema=self.schema)
                yield TableChunk(str(path), 0, table.select(schema.names))


        TRIPLES = Format("triples", (".triples",), TriplesReader)
        @ io/readers/__init__.py behind ^from toplist\.io\.readers\.npy import .*\n
        from toplist.io.readers.triples import TRIPLES
        @ io/readers/__init__.py behind ^FORMATS.* = \(
        TRIPLES,
        @ data a.triples
        1 cat 0.75
        1 dog 0.25
        2 dog 1.0
        @ data y.triples
        1 cat 1.0
        2 dog 1.0
        @ run
        import toplist as tl
        print(tl.read_lists("a.triples", 5))
        print(tl.compare({"a": "a.triples"}, "y.triples", space=5).to_dict()["cases"])
        @ says
        ^TopLists\(2 cases, k from 1 to 2, 5 classes\)\n2\n$
    ''',
    "a name by which a column is recognised": r'''
        @ io/words.py behind ^CONFIDENCE = \(\n
            "trustworthiness",
        @ tests/io/recognition/vocabulary.py behind ^CONFIDENCES = _words\(\n    """\n
            trustworthiness
        @ run
        import pandas as pd, toplist as tl
        from tests.io.recognition.vocabulary import kind
        frame = pd.DataFrame({"case": [1, 1], "label": ["cat", "dog"], "trustworthiness": [0.75, 0.25]})
        print(kind("trustworthiness"), tl.read_lists(frame, 5))
        @ says
        ^confidence TopLists\(1 case, k = 2, 5 classes\)\n$
    ''',
    "an option of how tables are read": r"""
        @ io/options.py behind ^class ReadOptions:\n    (?s:\"\"\".*?\"\"\")\n\n
            encoding: str = field(default="utf-8", metadata={"help": "How text files are encoded."})
        @ run
        import toplist as tl
        print(tl.ReadOptions(encoding="latin-1").encoding, tl.Source("a.csv", encoding="latin-1") is not None)
        print(cli("check", "--help").output)
        @ says
        ^latin-1 True
        encoding: How text files are encoded\.
    """,
    "a recalibrator": r'''
        @ postprocess/recalibration/shrinkage.py
        """Confidences times a factor."""

        from toplist.postprocess.recalibration.base import Recalibrator
        from toplist.postprocess.recalibration.standard import floored


        class Shrinkage(Recalibrator):
            """A rest mass of at least the share of cases whose outcome is not the first class, halved."""

            learned = ("share_",)
            parameters = 1

            def __init__(self):
                pass

            def _check(self):
                pass

            def _fit(self, sample):
                first = sample.lists.classes[sample.lists.offsets[:-1]]
                self.share_ = 0.5 * float(sample.weight @ (sample.codes != first))

            def _transform(self, lists):
                return floored(lists, self.share_)

            def _restore(self, state):
                self.share_ = state.number("share_", 0.0, 1.0)
        @ postprocess/recalibration/__init__.py behind ^from toplist\.postprocess\.recalibration\.standard import .*\n
        from toplist.postprocess.recalibration.shrinkage import Shrinkage
        @ postprocess/recalibration/__init__.py behind ^RECALIBRATORS: .*\{\n
            "shrinkage": Shrinkage,
        @ cli/choices.py behind ^RECALIBRATORS = \(
        "shrinkage",
        @ tests/postprocess/recalibrators.py behind \Z

        from toplist.postprocess.recalibration.shrinkage import Shrinkage
        KINDS["shrinkage"] = Shrinkage()
        @ data a.csv
        case,class,confidence
        1,cat,1
        2,dog,1
        3,cat,1
        4,cat,1
        @ data y.csv
        case,outcome
        1,cat
        2,cat
        3,cat
        4,dog
        @ run
        import toplist as tl
        from tests.postprocess.recalibrators import KINDS
        from toplist.postprocess.recalibration import Shrinkage, select_recalibrator
        lists = tl.TopLists.from_labels([0, 1, 0, 0], 3)
        assert KINDS["shrinkage"].clone().fit_transform(lists, [0, 0, 0, 1])[0].confidences[0] == 0.75
        fitted = Shrinkage().fit(lists, [0, 0, 0, 1])
        fitted.save("fitted.json")
        assert tl.postprocess.load("fitted.json").transform(lists) == fitted.transform(lists)
        tried = select_recalibrator(lists[[0, 1, 2, 3] * 25], [0, 0, 0, 1] * 25)
        assert any("Shrinkage" in row.name for row in tried.table)
        given = "recalibrate fit a.csv --truth y.csv --classes 3 --kind shrinkage --folds 2 -o model.json"
        done = cli(*given.split())
        print(done.exit_code or open("model.json").read(), done.output)
        @ says
        "Shrinkage"
    ''',
    "a data-quality issue": r"""
        @ lists/checks.py behind ^            "empty list": sizes == 0,\n
                    "half": (sizes > 0) & (t.max(initial=0) == 0.5),
        @ lists/checks.py behind ^_HARMLESS: Final = \(
        "half",
        @ lists/checks.py behind ^_TEMPLATES: .*\{\n
            "half": ("has", "have", "no confidence above 0.5."),
        @ run
        import toplist as tl
        issues = tl.diagnose([{"a": 0.5}, {"b": 0.25}], space=4).issues
        print([(issue.cases, issue.blocking, issue.message) for issue in issues if issue.kind == "half"])
        @ says
        ^\[\(2, False, 'All 2 cases have no confidence above 0\.5\.
    """,
    "a warning about a leaderboard": r'''
        @ inference/diagnostics.py behind \Z


        def single_case(results: Comparison) -> list[BoardWarning]:
            """Exactly one case."""
            return [BoardWarning("single case", "there is one case.", ())] if results.cases == 1 else []
        @ inference/diagnostics.py behind ^        \*beaten_leader\(results\),\n
                *single_case(results),
        @ run
        import toplist as tl
        print(tl.compare({"a": [0], "b": [1]}, [0], space=3).to_dict()["warnings"])
        @ says
        single case
    ''',
    "a metric of label sets": r'''
        @ multilabel/metrics.py behind ^(?=@dataclass.*\nclass SetMetric)

        def missed_labels(x: Any, y: Any, space: LabelSets | None = None) -> Floats:
            """Per case the number of true labels that are not predicted."""
            both, _, true, _ = _overlap(x, y, space)
            return (true - both).astype(np.float64)
        @ multilabel/metrics.py behind ^METRICS.*\n(?:.*\n)?.*for metric in \(\n
                SetMetric("missed_labels", missed_labels, "lower", "all labels", mode_sets),
        @ run
        import numpy as np
        from toplist.multilabel import METRICS
        print(METRICS["missed_labels"](np.array([[1, 0, 0]]), np.array([[1, 1, 1]])))
        @ says
        ^\[2\.\]\n$
    ''',
    "a constructor of lists": r"""
        @ lists/constructors.py behind ^    __slots__ = \(\)\n
            from_pairs = classmethod(lambda cls, rows, space: cls.from_dicts(list(map(dict, rows)), space))
        @ run
        import toplist as tl
        print(tl.TopLists.from_pairs([[("a", 0.5), ("b", 0.25)]], 4))
        @ says
        ^TopLists\(1 case, k = 2, 4 classes\)\n$
    """,
    "a command": r'''
        @ cli/greet.py
        def greet(name: str) -> None:
            """Greet somebody."""
            print(f"Hello, {name}.")
        @ cli/app.py behind ^import typer\n

        from toplist.cli.greet import greet
        @ cli/app.py behind \Z

        app.command()(greet)
        @ run
        print(cli("greet", "Ada").output, cli("--help").output)
        @ says
        ^Hello, Ada\.
        Greet somebody\.
    ''',
    "an error": r'''
        @ errors.py behind \Z


        class ClockError(TopListError):
            """The clock is wrong."""
        @ __init__.pyi behind \Z
        from toplist.errors import ClockError as ClockError
        @ run
        import toplist as tl
        print(issubclass(tl.ClockError, ValueError), 'ClockError' in dir(tl))
        @ says
        ^True True\n$
    ''',
    "a public name": r'''
        @ lists/theory.py behind \Z


        def longest_list(lists: Any) -> int:
            """Its length."""
            return max(map(len, lists))
        @ __init__.pyi behind \Z
        from toplist.lists.theory import longest_list as longest_list
        @ run
        import toplist as tl
        print(tl.longest_list([[1], [1, 2]]), 'longest_list' in tl.__all__)
        @ says
        ^2 True\n$
    ''',
}


def parts_of(recipe: str) -> list[tuple[str, str]]:
    """What stands behind each @ and in the lines below it."""
    parts = re.split(r"^@ (.*)\n", dedent(recipe).strip("\n") + "\n", flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def follow(recipe: str, root: Path) -> tuple[set[str], str]:
    """The files that were changed in a copy of the package and of its tests, a new one as NEW.py; and the output."""
    skipped = shutil.ignore_patterns("__pycache__", "*.so", "native", "data")
    shutil.copytree(ROOT / "src" / "toplist", root / "toplist", ignore=skipped)
    for folder, names in COPIED.items():
        (root / folder).mkdir(parents=True)
        for name in names:
            shutil.copy(ROOT / folder / name, root / folder / name)
    files = set()
    *edits, (_, code), _ = parts_of(recipe)
    for place, text in edits:
        file, _, after = place.partition(" behind ")
        if file.startswith("data "):
            (root / file.removeprefix("data ")).write_text(text)
            continue
        path = root / file if file.startswith("tests/") else root / "toplist" / file
        files.add(file if after else re.sub(r"[^/]+$", "NEW.py", file))
        assert path.exists() == bool(after), file
        source = path.read_text() if after else ""
        ends = [match.end() for match in re.finditer(after or END, source, re.MULTILINE)]
        assert len(ends) == 1, f"{len(ends)} places in {file} match {after!r}"
        path.write_text(source[: ends[0]] + text + source[ends[0] :])
    return files, run(code, root)


def run(code: str, root: Path) -> str:
    """What a new interpreter prints that sees the copy instead of the package."""
    first = f"""
    import sys
    sys.path.insert(0, {str(root)!r})
    sys.meta_path[:] = [finder for finder in sys.meta_path if 'editable' not in type(finder).__module__]
    import toplist
    assert toplist.__file__.startswith({str(root)!r})

    def cli(*words):
        from typer.testing import CliRunner
        from toplist.cli.app import app
        return CliRunner().invoke(app, words)
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(first) + dedent(code)],
        cwd=root,
        env={**os.environ, "TOPLIST_PURE_PYTHON": "1", "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("line", TABLE)
def test_a_line_of_the_table_names_all_files_that_it_takes(line: str, tmp_path: Path) -> None:
    count, files = TABLE[line]
    changed, output = follow(RECIPES[line], tmp_path)
    _, says = parts_of(RECIPES[line])[-1]
    assert [pattern for pattern in says.splitlines() if not re.search(pattern, output)] == [], output
    assert changed == set(files)
    assert len(changed) == count


def test_every_line_of_the_table_is_followed() -> None:
    assert len(TABLE) > 10
    assert set(RECIPES) == set(TABLE)


def test_files_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = {name for name in re.findall(r"`([\w./]+\.(?:pyi?|hpp|md)|[\w./]+/)`", text) if "NEW" not in name}
    places = (ROOT, ROOT / "src" / "toplist")
    assert [name for name in sorted(named) if not any((place / name).exists() for place in places)] == []
