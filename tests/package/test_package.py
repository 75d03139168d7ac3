"""The package as a whole: what it exports, what it costs to import, what it says of itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import toplist as tl
from toplist import errors
from toplist.core import flags, kernel
from toplist.report import versions

ROOT = Path(__file__).parents[2]


def loaded_by(code: str) -> set[str]:
    """The modules that are loaded after running some code in a fresh interpreter."""
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_exports_are_sorted_complete_and_exist() -> None:
    assert sorted(tl.__all__, key=lambda name: (not name.isupper(), name[0].islower(), name)) == tl.__all__
    assert set(tl.__all__) == {name for names in tl._HOME.values() for name in names}
    assert all(getattr(tl, name) is not None for name in tl.__all__)
    assert dir(tl) == sorted(tl.__all__)


def test_the_names_that_type_checkers_see_are_the_names_that_are_exported() -> None:
    source = Path(tl.__file__).read_text()
    block = source[source.index("if TYPE_CHECKING:") : source.index("_HOME =")]
    names = set(re.findall(r"\b(\w+)(?=,|\n|\))", re.sub(r"from [\w.]+ import \(?", "", block))) - {"TYPE_CHECKING"}
    assert names == set(tl.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'brier'"):
        tl.brier  # noqa: B018


def test_submodules_do_not_shadow_functions() -> None:
    """Python binds an imported submodule to its parent, so no module may bear the name of an export."""
    modules = {path.stem for path in Path(tl.__file__).parent.iterdir() if path.suffix in ("", ".py")}
    assert not modules & set(tl.__all__)


def test_importing_the_package_loads_nothing() -> None:
    assert "numpy" not in loaded_by("import toplist")


def test_scoring_loads_nothing_heavy() -> None:
    code = "import toplist as tl; tl.score(tl.TopLists.from_topk([[0]], [[.5]], 3), [1])"
    heavy = {
        "scipy",
        "sklearn",
        "pandas",
        "polars",
        "pyarrow",
        "duckdb",
        "torch",
        "jax",
        "array_api_compat",
        "matplotlib",
    }
    assert not heavy & loaded_by(code)


def test_versions_name_the_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    tl.show_versions()
    said = capsys.readouterr().out
    assert ("native (C++)" if kernel.NATIVE else "pure Python") in said
    assert tl.__version__ in said
    assert versions.versions()["toplist"] == tl.__version__


def test_pure_python_can_be_asked_for() -> None:
    code = (
        "import os; os.environ['TOPLIST_PURE_PYTHON'] = '1'; from toplist.core import kernel; assert not kernel.NATIVE"
    )
    assert "toplist._kernel" not in loaded_by(code)


def test_the_version_is_in_the_changelog() -> None:
    assert f"## {tl.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_both_kernels_use_the_same_flags() -> None:
    header = (ROOT / "src/toplist/core/native/list_view.hpp").read_text()
    block = header[header.index("enum Flag") : header.index("};", header.index("enum Flag"))]
    native = {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)", block)}
    assert native == {name: value for name, value in vars(flags).items() if name.isupper() and name != "PROBLEMS"}


def test_every_error_is_a_top_list_error_and_a_value_error() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) == 13
    assert all(issubclass(kind, tl.TopListError) and issubclass(kind, ValueError) for kind in kinds)
    assert all(kind.__name__ in (errors.__doc__ or "") for kind in kinds)
