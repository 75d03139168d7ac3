"""Studies run once for all tests that look at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.studies.run_study import Studied, Studying


@pytest.fixture(scope="session")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Studying:
    """A study by its name; skipped with the reason where its files are absent."""
    from studies import folder
    from studies.adapt import STUDIES
    from studies.running import run

    from tests.cli.run_cli import toplist_here
    from tests.studies.run_study import DATA, Studied

    kept: dict[str, Studied] = {}

    def get(name: str) -> Studied:
        why = folder.absent(DATA, STUDIES[name].files)
        if why:
            pytest.skip(why)
        if name not in kept:
            out = tmp_path_factory.mktemp(name)
            kept[name] = Studied(
                name, out, run(STUDIES[name], DATA, out, lambda words, place: toplist_here(*words, cwd=place))
            )
        boards = kept[name].boards
        assert [b.status for b in boards] == [0] * len(boards), [b.complaint for b in boards]
        return kept[name]

    return get
