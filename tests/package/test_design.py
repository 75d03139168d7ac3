"""The pages for developers say what is there: packages, layers, the picture, the words."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "toplist"
PACKAGES = {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def layers() -> list[set[str]]:
    """The layers of the import contract, from top to bottom."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    contract = next(one for one in settings["contracts"] if one["type"] == "layers")
    return [set(re.split(r"\s*[|:]\s*", layer)) for layer in contract["layers"]]


def tree() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "tree.py"))


def test_the_design_page_lists_the_packages_in_the_order_of_their_imports_on_two_pages() -> None:
    page = (ROOT / "docs" / "design.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    place = {name: at for at, layer in enumerate(layers()) for name in layer}
    assert set(listed) == PACKAGES
    assert [place[name] for name in listed] == sorted(place[name] for name in listed)
    assert len(page.splitlines()) <= 110


def test_the_picture_shows_the_layers_of_the_import_contract() -> None:
    shown = [{name for name, *_ in layer} for layer in tree()["LAYERS"]]
    *wanted, last = layers()
    assert shown[:-1] == wanted
    root = {path.stem for path in SOURCE.glob("*.py")} - {"__init__"} - set().union(*wanted)
    assert root == last
    name, _, private, _ = tree()["LAYERS"][-1][0]
    assert {name, *private.split()} == root


def test_the_picture_shows_the_folders_of_each_package() -> None:
    for layer in tree()["LAYERS"][:-1]:
        for package, _, inside, _ in layer:
            folders = {path.parent.name for path in (SOURCE / package).glob("*/__init__.py")}
            folders |= {"native"} if package == "core" else set()
            assert folders == set(filter(None, inside.split(", "))), package


def test_the_picture_is_what_its_script_draws() -> None:
    made = tree()
    assert made["PICTURE"].read_text(encoding="utf-8") == made["drawing"](), "run python docs/tree.py"


def test_names_in_the_glossary_are_names_in_the_package() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text().partition("## Words with two meanings")[0]
    source = "\n".join(path.read_text() for path in SOURCE.rglob("*.py*") if path.suffix != ".pyc")
    known = set(re.findall(r"\w+", source))
    meanings = [row.split("|")[2] for row in page.splitlines() if row.startswith("| ") and not row.startswith("| term")]
    named = {
        word for text in meanings for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"[a-z_A-Z]+", code)
    }
    assert len(named) > 40
    assert sorted(named - known) == []
