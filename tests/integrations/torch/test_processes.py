"""Two processes that each score a part of the cases have the result of one that scores all."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

pytest.importorskip("torch")

from torch import distributed

from tests.integrations.torch import processes
from tests.integrations.torch.checking import assert_alike
from toplist.integrations.torch import StreamingScores


@pytest.mark.skipif(not distributed.is_available(), reason="this torch has no torch.distributed")
def test_two_processes_give_the_result_of_one(tmp_path: Path) -> None:
    address = f"file://{tmp_path / 'meeting'}"
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    other = context.Process(target=processes.child, args=(address, answers), daemon=True)
    other.start()
    here = processes.part(0, address)
    there = answers.get(timeout=100)
    other.join(100)
    one = StreamingScores(processes.KS)
    one.update(*processes.cases())
    assert (here["local"], there["local"], one.result().cases) == (16, 70, 86)
    for found in (here, there):
        assert_alike(found["streamed"], one.result())
        assert "another reduction would count twice" in found["again"]
        assert found["differ"].startswith("the processes have different ks, rules, temperature")
