"""The metric of torchmetrics has the sums of `StreamingScores`, and does what metrics do."""

from __future__ import annotations

import copy
import doctest
import pickle
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.integrations.torch.optional import imported
from toplist.errors import TopListError

torch = pytest.importorskip("torch")

from tests.integrations.torch.checking import assert_alike
from toplist.integrations.torch import StreamingScores

KS = (1, 3)


@pytest.fixture(scope="module")
def metrics() -> ModuleType:
    """The module, which imports torchmetrics: that takes seconds, and only here."""
    try:
        imported("torchmetrics")
    except ModuleNotFoundError:
        pytest.skip("torchmetrics is not installed")
    from toplist.integrations.torch import metrics

    return metrics


def batches(count: int = 4) -> list[tuple[Any, Any, Any]]:
    draw = torch.Generator().manual_seed(0)
    return [
        (torch.randn(20, 6, generator=draw), torch.randint(0, 6, (20,), generator=draw), torch.rand(20, generator=draw))
        for _ in range(count)
    ]


def streamed(*parts: Any) -> StreamingScores:
    state = StreamingScores(KS)
    for part in parts:
        state.update(*part)
    return state


def test_its_examples_run(metrics: Any) -> None:
    assert doctest.testmod(metrics) == doctest.TestResults(0, 3)


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric")
def test_update_forward_reset_and_merging_are_those_of_the_same_sums(metrics: Any) -> None:
    metric, parts = metrics.PaddedScores(KS), batches()
    metric.update(*parts[0])
    of_batch = metric(*parts[1])
    assert {name: float(value) for name, value in of_batch.items()} == {
        name: pytest.approx(mean.value, rel=1e-14) for name, mean in streamed(parts[1]).result().named.items()
    }
    assert_alike(metric.result(), streamed(*parts[:2]).result())
    other = metrics.PaddedScores(KS)
    other.update(*parts[2])
    metric.merge_state(other)
    assert_alike(metric.result(), streamed(*parts[:3]).result())
    assert metric.compute()["brier_top3"].dtype == torch.float64
    metric.reset()
    assert metric.result().cases == 0
    metric.merge_state(metrics.PaddedScores((1, 2)))
    with pytest.raises(TopListError, match="merged from metrics with different ks"):
        metric.result()


def test_it_goes_through_copies_files_and_changes_of_type(metrics: Any) -> None:
    metric, (part, *_) = metrics.PaddedScores(KS), batches()
    metric.update(*part)
    kept = metric.result()
    for other in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric)), metric.set_dtype(torch.float16)):  # noqa: S301
        assert other.result() == kept
        assert other.sums.dtype == torch.float64
    metric.persistent(True)
    again = metrics.PaddedScores(KS)
    again.load_state_dict(metric.state_dict())
    assert again.result() == kept
    model = torch.nn.Module()
    model.scores = metric
    model.to(torch.bfloat16).half().double()
    assert model.to("cpu").scores.result() == kept
    metric.reset()
    assert metric.sums.dtype == torch.float64
    assert metric.to("meta").sums.device.type == "meta"


def test_a_collection_does_not_confuse_metrics_of_different_settings(metrics: Any) -> None:
    """Metrics whose first batch has the same sums share one state, unless they say that they differ."""
    first, second = batches(2)
    first[1][:] = first[1].clamp(min=1)
    second[1][:5] = 0
    collection = sys.modules["torchmetrics"].MetricCollection(
        {"all": metrics.PaddedScores(KS), "some": metrics.PaddedScores(KS, ignore_index=0)}, prefix="val/"
    )
    for part in (first, second):
        collection.update(*part)
    found = collection.compute()
    assert len(found) == 2 * 8
    assert float(found["val/all_accuracy"]) == pytest.approx(streamed(first, second).result().accuracy.value)
    ignoring = StreamingScores(KS, ignore_index=0)
    for part in (first, second):
        ignoring.update(*part)
    assert float(found["val/some_accuracy"]) == pytest.approx(ignoring.result().accuracy.value)


def test_states_of_several_processes_are_added(metrics: Any) -> None:
    """torchmetrics gathers each state from all processes: here from two metrics."""
    parts, both = batches(2), []

    def gathered(state: Any, group: Any = None) -> list[Any]:
        return [getattr(one, name) for one in both for name in one._defaults if getattr(one, name).shape == state.shape]

    both += [metrics.PaddedScores(KS, dist_sync_fn=gathered, distributed_available_fn=lambda: True) for _ in parts]
    for one, part in zip(both, parts, strict=True):
        one.update(*part)
    expected = streamed(*parts).result()
    assert {name: float(value) for name, value in both[0].compute().items()} == {
        name: pytest.approx(mean.value, rel=1e-14) for name, mean in expected.named.items()
    }
    assert_alike(both[1].result(), expected)
    assert [int(one.counts[0]) for one in both] == [20, 20]


def test_cases_that_cannot_be_scored_are_told(metrics: Any) -> None:
    logits, y, _ = batches(1)[0]
    logits[2, 0] = torch.nan
    metric, skipping = metrics.PaddedScores(KS), metrics.PaddedScores(KS, on_error="skip")
    metric.update(logits, y)
    skipping.update(logits, y)
    with pytest.raises(TopListError, match="1 case: logits that are NaN"):
        metric.compute()
    assert (skipping.result().undefined, skipping.result().cases) == (1, 19)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("raise ModuleNotFoundError('no', name='torchmetrics')", r"pip install 'toplist\[torchmetrics\]'"),
        ("raise RuntimeError('operator torchvision::nms does not exist')", r"nms does not exist\). Where torchvision"),
    ],
)
def test_where_torchmetrics_cannot_be_imported_one_sentence_says_why(
    trouble: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import toplist.integrations.torch as package

    (tmp_path / "torchmetrics.py").write_text(trouble)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torchmetrics", raising=False)
    spec = spec_from_file_location("metrics_again", Path(str(package.__file__)).with_name("metrics.py"))
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(TopListError, match=words):
        spec.loader.exec_module(module_from_spec(spec))


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_lightning_logs_it(metrics: Any, tmp_path: Path) -> None:
    try:
        lightning: Any = imported("lightning.pytorch")
    except ModuleNotFoundError:
        pytest.skip("lightning is not installed")

    class Model(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(6, 6)
            self.scores = metrics.PaddedScores(KS)

        def validation_step(self, batch: Any, _: int) -> None:
            self.scores.update(self.layer(batch[0]), batch[1])

        def on_validation_epoch_end(self) -> None:
            self.log_dict(self.scores.compute())
            self.scores.reset()

    model, (logits, y, _) = Model(), batches(1)[0]
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(logits, y), batch_size=8)
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        default_root_dir=tmp_path,
    )
    (logged,) = trainer.validate(model, loader, verbose=False)
    expected = streamed(*[(model.layer(one).detach(), outcome) for one, outcome in loader]).result()
    assert logged == pytest.approx({name: mean.value for name, mean in expected.named.items()}, rel=1e-6)
