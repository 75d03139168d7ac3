"""The pages about the studies stand without the data."""

from __future__ import annotations

import pytest
from studies.folder import ROOT

from tests.studies import pages

PAGES = ("flusight.md", "cifar.md")


@pytest.mark.parametrize("name", PAGES)
def test_pictures_are_there_and_small(name: str) -> None:
    shown = pages.pictures(name)
    assert shown
    for path in shown:
        assert 0 < path.stat().st_size < pages.LARGEST[path.suffix], path.name


def test_every_picture_is_shown() -> None:
    pytest.importorskip("pyarrow", reason="the adapters write files")
    from studies.pictures import PICTURES

    shown = {path.name for name in PAGES for path in pages.pictures(name)}
    assert shown == set(PICTURES)


@pytest.mark.parametrize("name", PAGES)
def test_numbers_are_found_on_a_page(name: str) -> None:
    assert len(pages.numbers(pages.page(name))) > 50
    assert pages.numbers("0.5, 1,234 and 12 in 2024") == {"0.5", "1,234"}
    assert (ROOT / "docs" / name).is_file()
