"""The package as a whole: what it exports, what it costs to import, what it says of itself."""

from __future__ import annotations

import ast
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from inspect import isfunction, signature
from pathlib import Path
from types import ModuleType

import pytest

import toplist as tl
from toplist import errors
from toplist.core import flags, kernel
from toplist.core.kernel import versions

ROOT = Path(__file__).parents[2]


def loaded_by(code: str) -> set[str]:
    """The modules that are loaded after running some code in a fresh interpreter."""
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def packages() -> list[ModuleType]:
    """toplist, and those of its packages that load their public names on first use."""
    inner = [import_module(f"toplist.{one.name}") for one in pkgutil.iter_modules(tl.__path__) if one.ispkg]
    return [tl, *(one for one in inner if Path(str(one.__file__)).with_suffix(".pyi").exists())]


@pytest.mark.parametrize("package", packages(), ids=lambda one: one.__name__)
def test_every_name_of_the_stub_exists_and_is_exported(package: ModuleType) -> None:
    stub = ast.parse(Path(str(package.__file__)).with_suffix(".pyi").read_text())
    names = [name.asname for line in stub.body if isinstance(line, ast.ImportFrom) for name in line.names]
    assert sorted(names) == package.__all__ == dir(package)
    assert all(getattr(package, name) is not None for name in names)


@pytest.mark.parametrize("package", packages(), ids=lambda one: one.__name__)
def test_no_public_function_has_more_than_twelve_parameters(package: ModuleType) -> None:
    """What belongs together is a record."""
    functions = filter(isfunction, (getattr(package, name) for name in package.__all__))
    many = {one.__name__: len(signature(one).parameters) for one in functions}
    assert not {name: count for name, count in many.items() if count > 12}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'brier'"):
        tl.brier  # noqa: B018


@pytest.mark.parametrize("package", packages(), ids=lambda one: one.__name__)
def test_no_module_has_the_name_of_a_function_of_its_package(package: ModuleType) -> None:
    """Python binds an imported module to its parent, where it would hide the function."""
    modules = {one.name for one in pkgutil.iter_modules(package.__path__)}
    assert not {name for name in modules & set(package.__all__) if not isinstance(getattr(package, name), ModuleType)}


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
    assert versions()["toplist"] == tl.__version__


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
