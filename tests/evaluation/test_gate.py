"""A gate passes only what is shown to be no worse; scores in a file are as good a baseline as predictions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import stats

import toplist as tl
from tests.cli.run_cli import toplist_here
from tests.report.strategies import HOSTILE
from toplist.evaluation.gate import GateSpec
from toplist.evaluation.score_files import ScoreFile
from toplist.inference.intervals import SAME
from toplist.report.gate import IDENTICAL, CaseLoss, GateCheck, GateReport
from toplist.testing import assert_not_worse

N, M = 400, 5
RNG = np.random.default_rng(7)
OLD = RNG.dirichlet(np.full(M, 0.5), size=N)
Y = (OLD.cumsum(axis=1) < RNG.random(N)[:, None]).sum(axis=1).clip(max=M - 1)
NEAR = 0.95 * OLD + 0.05 / M
FAR = 0.5 * OLD + 0.5 / M
NAMES = [name for name in dict.fromkeys(HOSTILE) if len(name) < 1000] + ["n" * 5000]
LABELS = np.array(["cat", "dog", "owl", "fox", "bee"])


def brier(p: Any, y: Any = Y) -> Any:
    """By its definition."""
    return ((p - np.eye(M)[y]) ** 2).sum(axis=1)


def bounds(loss: Any, level: float = 0.95) -> tuple[float, float]:
    """One-sided t bounds of a mean, from below and from above."""
    half = stats.t.ppf(level, len(loss) - 1) * loss.std(ddof=1) / math.sqrt(len(loss))
    return loss.mean() - half, loss.mean() + half


def test_a_model_passes_fails_or_shows_nothing_by_the_one_sided_t_bounds_of_its_mean_loss() -> None:
    loss = brier(FAR) - brier(OLD)
    low, high = bounds(loss)
    for margin, verdict in ((1.001 * high, "pass"), (0.999 * high, "inconclusive"), (0.999 * low, "fail")):
        found = tl.gate(FAR, OLD, Y, max_loss=margin)
        (check,) = found.checks
        assert found.verdict == check.verdict == verdict
        assert (check.lower, check.upper) == pytest.approx((low, high), rel=1e-12)
        assert found.passed == (verdict == "pass")


def test_the_level_is_that_of_each_bound() -> None:
    loss = brier(FAR) - brier(OLD)
    found = tl.gate(FAR, OLD, Y, max_loss=1.0, inference=0.99)
    assert found.checks[0].upper == pytest.approx(bounds(loss, 0.99)[1], rel=1e-12)


ABOUT: dict[str, tuple[str, dict[str, Any]]] = {
    "clusters": ("auto", {"cluster": np.arange(N) // 7}),
    "time": ("auto", {"time": np.arange(N)}),
    "clusters and time": ("auto", {"cluster": np.arange(N) % 20, "time": np.arange(N) // 20}),
    "weights": ("auto", {"weight": np.arange(N) % 3 + 1.0}),
    "hac": ("hac", {}),
    "bootstrap": ("bootstrap", {}),
    "wild": ("wild", {"cluster": np.arange(N) // 7}),
    "bounded": ("bounded", {}),
}


@pytest.mark.parametrize("kind", ABOUT)
def test_bounds_are_the_ends_of_the_interval_that_compare_gives_at_twice_the_error_probability(kind: str) -> None:
    method, about = ABOUT[kind]
    truth = tl.Truth(Y, **about)
    board = tl.compare({"a": FAR, "b": OLD}, truth, rules="brier", inference=tl.Inference(method=method, level=0.9))  # type: ignore[arg-type]
    known, check = board.difference("a", "b"), tl.gate(FAR, OLD, truth, max_loss=1.0, inference=method).checks[0]
    assert known.low is not None
    assert (check.value, check.lower, check.upper) == (known.value, known.low, known.high)
    assert tl.gate(FAR, OLD, truth, max_loss=1.0, inference=method).unit == board.comparison.unit


def test_the_number_of_cases_that_is_needed_shows_equality_four_times_in_five() -> None:
    other, margin = 0.9 * NEAR + 0.1 * OLD, 1e-4
    found = tl.gate(NEAR, other, Y, max_loss=margin)
    (check,) = found.checks
    assert check.verdict == "inconclusive"
    assert check.needed is not None
    away = margin * math.sqrt(check.needed) / (brier(NEAR) - brier(other)).std(ddof=1)
    freedom = check.needed - 1
    assert 1 - stats.nct.cdf(stats.t.ppf(0.95, freedom), freedom, away) == pytest.approx(0.8, abs=1e-3)
    assert tl.gate(NEAR, OLD, Y, max_loss=1.0).checks[0].needed is None


# What no interval weighs


L = 2.01  # the range of the Brier score, with the largest default penalty


def exact(n: int, alpha: float = 0.05, largest: float = L) -> float:
    """The bound on the mean of losses that were not seen in n cases."""
    return largest * (1 - alpha ** (1 / n))


TWIN_OLD, TWIN_NEW = np.tile([0.8, 0.2, 0.0], (200, 1)), np.tile([0.8, 0.0, 0.2], (200, 1))
ZEROS = np.zeros(200, int)


def test_other_predictions_with_the_same_scores_pass_only_where_the_exact_bound_is_below_the_margin() -> None:
    for n in (1, 2, 50, 200):
        new, old, y = TWIN_NEW[:n], TWIN_OLD[:n], ZEROS[:n]
        for margin, verdict in ((exact(n) * 1.001, "pass"), (exact(n) * 0.999, "inconclusive")):
            (check,) = tl.gate(new, old, y, max_loss=margin).checks
            assert (check.verdict, check.reason) == (verdict, SAME)
            assert check.upper == pytest.approx(exact(n))
    found = tl.gate(TWIN_NEW, TWIN_OLD, ZEROS, max_loss=0.01)
    needed = found.checks[0].needed
    assert needed is not None
    assert exact(needed) < 0.01 <= exact(needed - 1)
    level = tl.gate(TWIN_NEW, TWIN_OLD, ZEROS, max_loss=1.0, inference=0.99).checks[0].upper
    assert level == pytest.approx(exact(200, 0.01))


def test_the_units_of_the_exact_bound_are_those_that_are_independent() -> None:
    def upper(**about: Any) -> float | None:
        return tl.gate(TWIN_NEW, TWIN_OLD, tl.Truth(ZEROS, **about), max_loss=0.5).checks[0].upper

    assert upper(cluster=np.arange(200) // 5) == pytest.approx(exact(40))
    assert upper(cluster=ZEROS) == pytest.approx(0.95 * L)
    assert upper(weight=np.full(200, 3.0)) == pytest.approx(exact(200))
    heavy = np.where(np.arange(200) < 20, 10.0, 1.0)  # a share q of all weight in the heaviest: q / 5.26 of all cases
    assert upper(weight=heavy) == pytest.approx(10 / heavy.mean() * exact(200))
    uneven = np.minimum(np.arange(200) // 4, 40)  # 40 clusters of 4 and one of 40
    assert upper(cluster=uneven) == pytest.approx(40 / (200 / 41) * exact(41))
    in_time = upper(time=np.arange(200))
    assert in_time is not None
    assert in_time == pytest.approx(exact(14))  # 13 waves
    assert upper(time=np.arange(200) // 20, cluster=np.arange(200) % 20) == pytest.approx(exact(3))


# Groups


def test_a_group_passes_at_the_full_level_and_fails_for_all_groups_at_once() -> None:
    group, loss = np.arange(N) % 4, brier(FAR) - brier(OLD)
    alone = max(bounds(loss[group == g])[0] for g in range(4))
    together = max(bounds(loss[group == g], 1 - 0.05 / 4)[0] for g in range(4))
    truth = tl.Truth(Y, group=group)
    assert together < alone
    groups = tl.gate(FAR, OLD, truth, max_loss=2.0).checks[1:]
    expected = [bounds(loss[group == g])[1] for g in range(4)]
    assert [check.upper for check in groups] == pytest.approx(expected, rel=1e-12)
    highest = max(expected)
    for margin, passing in ((1.001 * highest, 4), (0.999 * highest, 3)):
        groups = tl.gate(FAR, OLD, truth, max_loss=2.0, max_loss_group=margin).checks[1:]
        assert sum(check.verdict == "pass" for check in groups) == passing
    middle, below = (alone + together) / 2, together * 0.999
    assert "fail" not in [c.verdict for c in tl.gate(FAR, OLD, truth, max_loss=1.0, max_loss_group=middle).checks]
    found = tl.gate(FAR, OLD, truth, max_loss=1.0, max_loss_group=below)
    assert found.verdict == "fail"
    assert max(c.lower or 0.0 for c in found.checks if c.rule == "group") == pytest.approx(together, rel=1e-12)


# What makes a pass doubtful


def soft(p: Any) -> Any:
    """Two classes, the first of which has this probability."""
    return np.stack([p, 1 - p], axis=1)


def test_losses_that_were_not_seen_are_said_by_case_cluster_time_point_and_group() -> None:
    """Of rare losses L whose mean is the margin, none is among n units with probability exp(-n margin / L)."""
    rng = np.random.default_rng(0)
    p = 0.85 + 0.1 * rng.random((2, 800))
    y, days = np.zeros(800, int), np.arange(800) // 20
    loss = 2 * (1 - p[0]) ** 2 - 2 * (1 - p[1]) ** 2
    new, old = soft(p[0]), soft(p[1])
    assert not tl.gate(new, old, y, max_loss=0.02).warnings
    assert not tl.gate(new[:200], old[:200], y[:200], max_loss=0.5, inference="bounded").warnings
    told: dict[str, str] = {}
    for kind, margins, truth in (
        ("case", {"max_loss": 0.006}, y),
        ("cluster", {"max_loss": 0.02}, tl.Truth(y, cluster=days)),
        ("time", {"max_loss": 0.02}, tl.Truth(y, time=days)),
        ("group", {"max_loss": 0.02, "max_loss_group": 0.01}, tl.Truth(y, group=days % 2)),
    ):
        found = tl.gate(new, old, truth, **margins)
        assert found.passed
        (told[kind],) = (one for one in found.warnings if "would have none of them" in one)
    for kind, margin, units in (("case", 0.006, 800), ("cluster", 0.02, 40)):
        assert f"{100 * math.exp(-(margin - loss.mean()) * units / 2):.2g}% of samples" in told[kind]
    assert "no cluster here loses half of that on average" in told["cluster"]
    assert "no case of groups 0 and 1" in told["group"]


def test_skewness_is_that_of_losses_over_all_cases_and_in_groups() -> None:
    rng = np.random.default_rng(3)
    for sign in (1.0, -1.0):
        s = 10 + sign * 0.3 * rng.lognormal(sigma=1.2, size=80)
        new, old = soft(np.exp(-s)), soft(np.full(80, np.exp(-10.0)))
        truth = tl.Truth(np.zeros(80, int), group=np.arange(80) % 2)
        told = tl.gate(new, old, truth, max_loss=2.0, rule="log").warnings
        shown = [one for one in told if "skewness" in one]
        assert len(shown) == 2, told
        assert shown[0].startswith("new minus baseline: ")
        assert all(("skewness \u2212" in one) == (sign < 0) for one in shown)


def test_a_limit_is_any_kind_of_finite_number_above_zero() -> None:
    limits: list[Any] = [np.float32(0.5), np.float64(0.5), np.int64(1), 1]
    assert [GateSpec(value).max_loss for value in limits] == [0.5, 0.5, 1.0, 1.0]
    for name in ("max_loss", "per_case", "max_loss_group"):
        for value in (0, -1.0, math.inf, math.nan, True, "0.1"):
            asked: Any = {"max_loss": 0.1, name: value}
            with pytest.raises(tl.TopListError, match=f"{name} is a finite number above zero"):
                tl.gate(NEAR, OLD, Y, **asked)
    with pytest.raises(tl.TopListError, match="one model"):
        tl.gate({"a": NEAR, "b": NEAR}, OLD, Y, max_loss=0.1)


# Scores in a file in the place of predictions


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Predictions in three layouts and orders, and the truth with clusters, groups, weights and numbers of classes."""
    place = tmp_path_factory.mktemp("gate")
    ids = np.array([f"id-{i:03}" for i in range(N)])
    mixed = np.random.default_rng(1).permutation(N)
    truth = {
        "id": ids,
        "label": LABELS[Y],
        "cluster": np.arange(N) // 7,
        "site": np.array(["x", "y"])[np.arange(N) % 2],
        "w": np.arange(N) % 3 + 1,
        "m": np.full(N, M) + np.arange(N) % 2,
    }
    pa.parquet.write_table(pa.table(truth), place / "truth.parquet")
    old = pa.table({"id": ids, **{name: OLD[:, i] for i, name in enumerate(LABELS)}})
    pa.parquet.write_table(old, place / "old.parquet")
    pa.parquet.write_table(old.take(mixed), place / "mixed.parquet")
    at, kinds = np.repeat(mixed, M), np.tile(np.arange(M), N)
    long = {"id": ids[at], "class": LABELS[kinds], "confidence": NEAR[at, kinds]}
    pa.parquet.write_table(pa.table(long), place / "new.parquet")
    soft = pa.table({"id": ids, **{name: FAR[:, i] for i, name in enumerate(LABELS)}})
    pa.parquet.write_table(soft, place / "soft.parquet")
    (place / "labels.txt").write_text("\n".join(LABELS))
    return {one.stem: one for one in place.iterdir()}


TRUTHS: dict[str, Callable[[dict[str, Path]], Any]] = {
    "plain": lambda files: tl.Truth(files["truth"], outcome="label", cluster=""),
    "clusters": lambda files: tl.Truth(files["truth"], outcome="label", cluster="cluster"),
    "groups and weights": lambda files: tl.Truth(files["truth"], outcome="label", group="site", weight="w"),
    "classes by case": lambda files: tl.Truth(files["truth"], outcome="label", n_classes="m"),
    "distributions": lambda files: tl.Truth(files["soft"]),
}


FLAGS: dict[str, tuple[str, ...]] = {
    "classes by case": ("-c", "m", "--outcome", "label"),
    "distributions": ("-t", "soft.parquet", "-c", "labels.txt"),
}


def score(place: Path, model: str, out: Path, *words: str, kind: str = "plain") -> Path:
    """The scores of a model as the command writes them."""
    flags = FLAGS.get(kind, ("-c", "labels.txt", "--outcome", "label"))
    truth = () if "-t" in (*flags, *words) else ("-t", "truth.parquet")
    done = toplist_here("score", f"{model}.parquet", *truth, *flags, *words, "-o", out, cwd=place)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.parametrize("kind", TRUTHS)
def test_a_gate_with_scores_is_that_with_the_predictions_to_the_last_bit(
    kind: str, files: dict[str, Path], tmp_path: Path
) -> None:
    truth, space = TRUTHS[kind](files), None if kind == "classes by case" else list(LABELS)
    path = score(files["old"].parent, "mixed", tmp_path / "scores.parquet", kind=kind)
    path = path.rename(tmp_path / "a file of any name")
    for rule in ("brier", "log"):
        asked: Any = {"max_loss": 0.02, "per_case": 1.0, "space": space, "rule": rule}
        expected = tl.gate(files["new"], files["old"], truth, **asked)
        found = tl.gate(files["new"], path, truth, **asked)
        assert found == expected
        assert found.to_dict() == expected.to_dict()
        assert len(found.checks) == (4 if kind == "groups and weights" else 2)
        assert found.cases == N


def test_positions_go_on_from_file_to_file(files: dict[str, Path], tmp_path: Path) -> None:
    """Rows of a truth without ids begin anew in each of its files; positions do not."""
    for name in ("old", "truth"):
        table = pa.parquet.read_table(files[name])
        table = table.select(["label"]) if name == "truth" else table.drop_columns(["id"])
        (tmp_path / name).mkdir()
        for part, lo in enumerate((0, N // 2)):
            pa.parquet.write_table(table.slice(lo, N // 2 or N), tmp_path / name / f"{part}.parquet")
    old, truth = tmp_path / "old", tmp_path / "truth"
    read = tl.ReadOptions(by_position=True)
    board = tl.compare({"old": old}, truth, space=list(LABELS), read=read)
    assert board.scores["old"].metadata["case"].tolist() == list(range(N // 2 * 2))
    (tmp_path / "labels.txt").write_text("\n".join(LABELS))
    words = ("-t", "truth", "-c", "labels.txt", "--read", "by_position", "-o", "scores.parquet")
    done = toplist_here("score", "old", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = tl.gate(old, tmp_path / "scores.parquet", truth, max_loss=0.02, space=list(LABELS), read=read)
    assert found.checks[0].reason == IDENTICAL


def test_what_is_said_of_reading_a_baseline_is_refused_beside_its_scores(
    files: dict[str, Path], tmp_path: Path
) -> None:
    path = score(files["old"].parent, "old", tmp_path / "scores.parquet")
    with pytest.raises(tl.TopListError, match=r"scale=.percent. has no effect: .* holds scores"):
        tl.gate(files["new"], tl.Source(path, scale="percent"), files["truth"], max_loss=0.1, space=list(LABELS))


def test_the_same_holds_in_memory_with_ids_and_without(files: dict[str, Path], tmp_path: Path) -> None:
    ids, place = tuple(f"id-{i:03}" for i in range(N)), files["old"].parent
    for name in ("old", "truth"):
        table = pa.parquet.read_table(files[name])
        pa.parquet.write_table(table.drop_columns(["id"]), tmp_path / f"{name}.parquet")
    (tmp_path / "labels.txt").write_text("\n".join(LABELS))
    for own, folder in ((ids, place), (None, tmp_path)):
        new, old = (tl.TopLists.from_proba(p, space=tl.ClassSpace(labels=LABELS), ids=own) for p in (NEAR, OLD))
        path = score(
            folder,
            "old",
            tmp_path / "scores.parquet",
            *(
                ()
                if own
                else (
                    "--read",
                    "by_position",
                )
            ),
        )
        assert ScoreFile.read(path).about.by_position == (own is None)
        expected = tl.gate(new, old, LABELS[Y], max_loss=0.02, per_case=1.0)
        assert tl.gate(new, path, LABELS[Y], max_loss=0.02, per_case=1.0) == expected
        assert tl.gate(old, path, LABELS[Y], max_loss=0.02).checks[0].reason == IDENTICAL
    longer = tl.TopLists.from_proba(np.tile(NEAR, (2, 1)), space=tl.ClassSpace(labels=LABELS))
    with pytest.raises(tl.AlignmentError, match="Leave them out"):
        tl.gate(longer, path, LABELS[np.tile(Y, 2)], max_loss=0.1, missing="common")


def test_scores_in_which_any_byte_is_changed_are_refused_or_the_same(files: dict[str, Path], tmp_path: Path) -> None:
    pa.parquet.write_table(pa.parquet.read_table(files["truth"]).slice(0, 5), tmp_path / "few.parquet")
    path = score(
        files["old"].parent, "old", tmp_path / "s.parquet", "-t", str(tmp_path / "few.parquet"), "--missing", "common"
    )
    good, data = ScoreFile.read(path), path.read_bytes()
    end = data.index(b"toplist.scores") - 400  # what follows is not checksummed: the schema, and what a file says
    for at in range(4, end, 3):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        try:
            read = ScoreFile.read(path)
        except tl.FileError:
            continue
        assert (read.cases, read.outcomes.tobytes()) == (good.cases, good.outcomes.tobytes())
        assert [one.tobytes() for one in read.scores.values()] == [one.tobytes() for one in good.scores.values()]
    path.write_bytes(data[:-100])
    with pytest.raises(tl.TopListError):
        tl.gate(NEAR, path, Y, max_loss=0.1)


def rewritten(path: Path, about: dict[str, Any], **columns: Any) -> Path:
    """Scores with other columns, and that say something else of themselves."""
    file = pa.parquet.ParquetFile(path)
    table, known = file.read(), json.loads(file.metadata.metadata[b"toplist.scores"])
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, [values])
    out = path.with_name("other.parquet")
    with pa.parquet.ParquetWriter(out, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"toplist.scores": json.dumps(known | about)})
    return out


def test_scores_with_contents_that_cannot_be_are_refused_and_unknown_lists_are_not_taken_as_identical(
    files: dict[str, Path], tmp_path: Path
) -> None:
    path = score(files["old"].parent, "old", tmp_path / "scores.parquet")
    wrong: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"schema": "toplist.scores/2"}, {}, r"toplist\.scores/2, and this version of toplist reads toplist\.scores/1"),
        ({"rules": ["brier", "crps"]}, {}, "damaged"),
        ({"warnings": {}}, {}, "damaged"),
        ({"penalty": []}, {}, "damaged"),
        ({}, {"case": ["a"] * N}, "a case is there twice"),
        ({}, {"brier": [None, *[0.1] * (N - 1)]}, "a case has no score"),
        ({}, {"brier": [math.nan, *[0.1] * (N - 1)]}, "a case has no score"),
    ]
    for about, columns, words in wrong:
        with pytest.raises(tl.FileError, match=words):
            tl.gate(files["new"], rewritten(path, about, **columns), Y, max_loss=0.1)
    asked: Any = {"max_loss": 0.01, "space": list(LABELS)}
    unknown = rewritten(path, {}, lists_digest=pa.array([0] * N, pa.uint64()))
    assert tl.gate(files["mixed"], unknown, TRUTHS["plain"](files), **asked).checks[0].reason == SAME


def test_lists_that_are_identical_in_one_group_alone_are_known_from_scores_too(
    files: dict[str, Path], tmp_path: Path
) -> None:
    old = pa.parquet.read_table(files["old"])
    mixed = np.where((np.arange(N) % 2 == 0)[:, None], OLD, NEAR)
    new = pa.table({"id": old["id"], **{name: mixed[:, i] for i, name in enumerate(LABELS)}})
    pa.parquet.write_table(new, tmp_path / "new.parquet")
    path = score(files["old"].parent, "old", tmp_path / "scores.parquet")
    truth = tl.Truth(files["truth"], outcome="label", group="site")
    asked: Any = {"max_loss": 0.02, "space": list(LABELS)}
    found = tl.gate(tmp_path / "new.parquet", path, truth, **asked)
    assert [check.reason for check in found.checks] == ["", IDENTICAL, ""]
    assert found == tl.gate(tmp_path / "new.parquet", files["old"], truth, **asked)


# What people and programs see


def report(checks: int = 3, name: str = "new", **about: Any) -> GateReport:
    """A report with many groups, cases and warnings."""
    worst = tuple(CaseLoss(f"{name} {i}", 1.5, 0.1, 1.4) for i in range(5))
    rules = [
        GateCheck("mean", "inconclusive", 0.01, 0.004, -0.002, 0.012, cases=500, units=500, needed=900, worst=worst),
        GateCheck("case", "fail", 1.0, 1.4, cases=500, units=500, over=4, worst=worst),
        *(
            GateCheck("group", "pass", 0.05, 0.0, -0.01, 0.01, cases=50, units=50, group=f"{name} {i}")
            for i in range(checks - 2)
        ),
    ]
    known = {"group": name, "warnings": (name,) * 9, "notes": (name,) * 9, "command": f"toplist gate {name}"} | about
    return GateReport(name, f"{name} old", "brier", 0.95, 0.01, tuple(rules), 500, "case", 500, "t", **known)


def test_a_summary_has_at_most_twelve_lines_with_the_verdict_first_whatever_the_names() -> None:
    for name in (*NAMES, "a`b``c"):
        lines = report(40, name).to_markdown().splitlines()
        assert lines[0].startswith("**FAIL**: ")
        assert len(lines) <= 12
        assert max(map(len, lines[:-1])) < 2_500
        assert sum(line.startswith("|") for line in lines) == 5
        assert all(line.replace("\\|", "").count("|") == 4 for line in lines if line.startswith("|"))
        assert lines[-1].startswith("- Reproduce: `")
        above = "\n".join(lines[:-1])  # the command is code, in which there is no markup
        assert "<script" not in above
        assert "<img" not in above


@pytest.mark.parametrize(("inconclusive", "element"), [("fail", "failure"), ("pass", "skipped")])
def test_junit_has_a_test_case_for_each_check_whatever_the_names(inconclusive: str, element: str) -> None:
    """Elements and attributes are those of Ant's schema; tests/golden/commands/gate/junit.txt shows them all."""
    for name in (*NAMES, "\x00\x1b\ufffe\udc80]]>"):
        written = report(5, name).to_junit(inconclusive=inconclusive).encode("utf-8")
        ((_, *cases, _, _),) = ElementTree.fromstring(written)  # noqa: S314  our own
        assert [[one.tag for one in case] for case in cases] == [[element], ["failure"], [], [], []]
        assert len({case.attrib["name"] for case in cases}) == 5


def test_other_forms_are_harmless_and_say_the_same() -> None:
    for name in (*NAMES, "</style><img src=x onerror=alert(1)>"):
        found = report(30, name)
        page = found._repr_html_()
        assert "FAIL: " in page
        assert "<img" not in page
        assert "<script" not in page
        assert all(line.isprintable() for line in found.to_text().splitlines())
        assert len(repr(found)) < 200
        saved = json.loads(found.to_json())
        assert (saved["schema"], saved["verdict"], saved["passed"]) == ("toplist.gate/1", "fail", False)
        assert [check["verdict"] for check in saved["checks"]] == [check.verdict for check in found.checks]


def test_an_assertion_says_what_the_gate_says() -> None:
    assert assert_not_worse(NEAR, OLD, Y, max_loss=0.1).passed
    with pytest.raises(AssertionError) as failure:
        assert_not_worse(FAR, OLD, Y, max_loss=0.01, per_case=0.1, level=0.9)
    known = tl.gate(FAR, OLD, Y, max_loss=0.01, per_case=0.1, inference=0.9)
    assert str(failure.value) == str(known)
    margin = tl.gate(FAR, OLD, Y, max_loss=1.0).checks[0].value
    with pytest.raises(AssertionError, match="INCONCLUSIVE"):
        assert_not_worse(FAR, OLD, Y, max_loss=margin)
    assert assert_not_worse(FAR, OLD, Y, max_loss=margin, allow_inconclusive=True).verdict == "inconclusive"
    assert len(assert_not_worse(NEAR, OLD, Y, max_loss=0.1, group=np.arange(N) % 2, inference="bootstrap").checks) == 3
    with pytest.raises(TypeError, match="groups twice"):
        assert_not_worse(NEAR, OLD, tl.Truth(Y, group=np.arange(N)), max_loss=0.1, group=np.arange(N))


def test_what_was_repaired_in_the_truth_is_said(tmp_path: Path) -> None:
    rows = "".join(f"{case},0.6,0.2\n" for case in range(20))
    for name in ("new.csv", "old.csv", "truth.csv"):
        (tmp_path / name).write_text(f"case,a,b\n{rows if name == 'truth.csv' else rows.replace('0.6', '0.8')}")
    truth = tl.Truth(tmp_path / "truth.csv", normalize=True)
    report = tl.gate(tmp_path / "new.csv", tmp_path / "old.csv", truth, max_loss=1.0)
    assert "Repaired in the truth: normalized (20 cases)." in report.notes
