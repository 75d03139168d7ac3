"""The rule topbeta:BETA where rules go: scores, expected scores, entropies, leaderboards, files, the command."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import toplist as tl
from tests.cli.run_cli import toplist_here
from tests.scoring.topbeta import nested_exact
from toplist.errors import ConfidenceError, FileError, MassError, RuleError
from toplist.scoring.rules import as_rule, name_of

ROWS = [{"a": 0.6, "b": 0.35}, {"b": 0.5, "a": 0.25, "c": 0.2}, {"c": 0.93}, {"a": 0.46, "b": 0.46}]


def drawn(n=300, m=6, seed=0, sharp=1.0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.4] * m, size=n)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    q = p**sharp
    return tl.TopLists.from_proba(q / q.sum(axis=1, keepdims=True)), y


def by_definition(row, y, beta):
    listing = tuple(sorted(((c, Fraction(str(t))) for c, t in row.items()), key=lambda pair: -pair[1]))
    level = Fraction(str(beta))
    return float(1 + nested_exact.averaged(listing, y, level) / level**2)


@pytest.mark.parametrize("m", [4, 1000, 2**5000, math.inf], ids=["4", "1000", "2**5000", "inf"])
def test_it_is_the_tangent_of_the_entropy_between_zero_and_one(m):
    lists, y = tl.TopLists.from_dicts(ROWS, m), ["a", "c", "c", "d"]
    found = tl.score(lists, y, rule="topbeta:0.9")
    assert found == pytest.approx([by_definition(row, c, 0.9) for row, c in zip(ROWS, y, strict=True)], abs=1e-12)
    assert ((found > 0) & (found < 1)).all()
    sure = tl.TopLists.from_labels(["a", "a"], ["a", "b"])
    assert tl.score(sure, ["a", "b"], rule="topbeta:0.9") == pytest.approx([0, 1], abs=1e-15)


def test_the_order_of_classes_within_a_list_does_not_matter():
    turned = [dict(reversed(row.items())) for row in ROWS]
    one, other = (tl.score(tl.TopLists.from_dicts(r, 9), list("abca"), rule="topbeta:0.9") for r in (ROWS, turned))
    assert one == pytest.approx(other, abs=1e-15)


def test_the_entropy_is_that_of_the_padded_distribution_whatever_the_length():
    rng = np.random.default_rng(1)
    for beta in (0.3, 0.9):
        for k in (0, 1, 3, 7):
            lists = tl.TopLists.from_proba(rng.dirichlet([1.0] * 7, size=20)).truncate(k)
            wanted = [
                1 + float(nested_exact.entropy([Fraction(float(x)) for x in row], Fraction(str(beta)))) / beta**2
                for row in lists.padded()
            ]
            assert tl.entropy(lists, rule=f"topbeta:{beta}") == pytest.approx(wanted, abs=1e-12)


def test_the_entropy_of_ever_more_classes_tends_to_the_fixed_point():
    """V = (beta + V / 4)**2 / 2, the smaller root."""
    beta = 0.9
    limit = 1 - 8 * (2 - beta / 2 - math.sqrt(4 - 2 * beta)) / beta**2
    found = [tl.entropy(tl.TopList({}, m), rule="topbeta:0.9") for m in (10**3, 10**6, 2**300, math.inf)]
    assert abs(found[0] - limit) > abs(found[1] - limit) > 1e-9
    assert found[2:] == pytest.approx([limit] * 2, abs=1e-14)


def test_divergence_is_positive_but_for_the_true_list():
    lists, _ = drawn(50)
    cut, p = lists.truncate(mass=0.8), np.random.default_rng(2).dirichlet([1.0] * 6, size=50)
    assert (tl.divergence(cut, p, rule="topbeta:0.8") > 0).all()
    assert tl.divergence(cut, lists.padded(), rule="topbeta:0.8") == pytest.approx(np.zeros(50), abs=1e-15)


def test_classes_that_tie_score_alike_and_no_cases_have_no_scores():
    tied = tl.TopList({0: 0.3, 1: 0.3, 2: 0.3}, 6)
    assert len({tl.score(tied, y, rule="topbeta:0.9") for y in range(3)}) == 1
    assert tl.score(tl.TopLists.from_dicts([], 3), [], rule="topbeta:0.8").shape == (0,)


def test_lists_at_the_edge_of_validity_are_scored_as_they_are():
    """Nine of ten equal classes: rounding alone decides on which side of the proxy they are."""
    lists = tl.TopLists.from_proba(np.full((1, 10), 0.1)).truncate(mass=0.9)
    assert lists.sizes[0] == 9
    wanted = 1 + float(nested_exact.averaged(tuple((c, Fraction(1, 10)) for c in range(4)), 0, Fraction(2, 5))) / 0.16
    short = tl.TopLists.from_proba(np.full((1, 10), 0.1)).truncate(mass=0.4)
    assert tl.score(short, [0], rule="topbeta:0.4")[0] == pytest.approx(wanted, abs=1e-12)
    assert 0 < tl.score(lists, [0], rule="topbeta:0.9")[0] < tl.score(lists, [9], rule="topbeta:0.9")[0]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_lists_cut_at_the_mass_are_never_refused(kind):
    rng = np.random.default_rng(3)
    p = rng.dirichlet([0.3] * 12, size=500).astype(kind)
    p[:50] = np.round(p[:50], 2)
    p /= p.sum(axis=1, keepdims=True)
    lists = tl.TopLists.from_proba(p)
    for beta in (0.1, 0.5, 0.75, 0.9, 0.99):
        assert np.isfinite(tl.score(lists.truncate(mass=beta), np.zeros(500, int), rule=f"topbeta:{beta}")).all()


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        ({0: 0.9, 1: 0.08}, MassError, r"case 1: this is no top-0.9 list: .* lists.truncate\(mass=0.9\)"),
        ({0: 0.5, 1: 0.3}, MassError, r"case 1: this is no top-0.9 list: its classes hold the mass 0.8 only. Give lon"),
        ({0: 0.8999, 1: 0.001}, ConfidenceError, "case 1: .* less likely than those that are not listed"),
        ({}, MassError, "case 1: .* hold the mass 0 only"),
    ],
)
def test_a_list_that_is_no_top_beta_list_is_refused_with_its_case_and_the_remedy(row, error, words):
    lists = tl.TopLists.from_dicts([{0: 0.95}, row], 5)
    with pytest.raises(error, match=words):
        tl.score(lists, [0, 0], rule="topbeta:0.9")
    with pytest.raises(error, match=words):
        tl.expected_score(lists, np.full(5, 0.2), rule="topbeta:0.9")
    with pytest.raises(error, match="case 1: 'b': "):
        tl.compare({"a": lists[[0, 0]], "b": lists}, [0, 0], rules="topbeta:0.9")


def test_with_a_cap_lists_may_end_before_the_mass():
    lists = tl.TopLists.from_dicts([{0: 0.5, 1: 0.3}, {0: 0.95}], 9)
    found = tl.score(lists, [0, 1], rule="topbeta:0.9:2")
    assert found == pytest.approx([by_definition({0: 0.5, 1: 0.3}, 0, 0.9), by_definition({0: 0.95}, 1, 0.9)])
    with pytest.raises(MassError, match="of at most 1 classes: it has more"):
        tl.score(lists, [0, 1], rule="topbeta:0.9:1")


def test_its_name_is_how_it_is_written():
    for text in ("topbeta:0.9", "topbeta:0.5:3"):
        assert name_of(as_rule(text)) == text
    assert as_rule("topbeta:.90") == tl.TopBeta(0.9)
    for wrong in ("topbeta", "topbeta:x", "topbeta:0.9:2:3", "topbeta:1.5", "topbeta:0.9:0"):
        with pytest.raises(RuleError):
            as_rule(wrong)


def test_it_ranks_the_right_confidences_first_on_a_leaderboard():
    lists, y = drawn(2000)
    sharp, _ = drawn(2000, sharp=2.5)
    models = {"right": lists.truncate(mass=0.9), "sharp": sharp.truncate(mass=0.9)}
    results = tl.compare(models, y, rules=["topbeta:0.9", "brier"]).comparison
    assert results.rules == ("topbeta:0.9", "brier")
    assert [row.name for row in results.overall.rows] == ["right", "sharp"]
    row = results.overall.rows[0].scores["topbeta:0.9"]
    assert row.mean.value == pytest.approx(tl.score(lists.truncate(mass=0.9), y, rule="topbeta:0.9").mean())
    uniform = tl.entropy(tl.TopList({}, 6), rule="topbeta:0.9")
    assert row.skill.value == pytest.approx(1 - row.mean.value / uniform)


def test_curves_over_the_length_of_lists_say_that_they_are_not_for_it():
    lists, y = drawn(20)
    for call in (tl.curve, tl.postprocess.choose_k, tl.postprocess.choose_mass, tl.postprocess.rejection_curve):
        with pytest.raises(RuleError, match="lists of one mass"):
            call(lists, y, rule="topbeta:0.9")


def test_files_name_the_case_that_is_refused_and_what_to_type(tmp_path):
    lists, y = drawn(30)
    truth = tmp_path / "truth.csv"
    truth.write_text("id,label\n" + "".join(f"c{i},{v}\n" for i, v in enumerate(y)), encoding="utf-8")

    def written(name, made):
        rows = [
            {"id": f"c{i}", "classes": list(t.classes), "confidences": list(t.confidences.values())}
            for i, t in enumerate(made)
        ]
        path = tmp_path / name
        path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
        return str(path)

    cut, whole = written("cut.jsonl", lists.truncate(mass=0.9)), written("whole.jsonl", lists)
    fine = toplist_here("compare", cut, "--truth", str(truth), "--classes", "6", "--rule", "topbeta:0.9", "--json")
    assert fine.returncode == 0, fine.stderr
    refused = toplist_here("score", whole, "--truth", str(truth), "--classes", "6", "--rule", "topbeta:0.9")
    assert refused.returncode != 0
    assert "whole.jsonl, row 1: case 'c0': this is no top-0.9 list" in refused.stderr
    assert "toplist truncate --mass 0.9" in refused.stderr
    with pytest.raises(FileError, match="row 1"):
        tl.compare({"whole": whole}, str(truth), space=6, rules="topbeta:0.9")


def test_lists_on_a_device_score_alike_and_are_refused_alike():
    xp = pytest.importorskip("array_api_strict")
    codes, t = [[3, 1], [0, 2]], [[0.6, 0.35], [0.35, 0.6]]
    device = tl.TopLists.from_topk(xp.asarray(codes), xp.asarray(t), 5)
    found = tl.score(device, xp.asarray([3, 4]), rule="topbeta:0.9")
    host = tl.score(tl.TopLists.from_topk(codes, t, 5), [3, 4], rule="topbeta:0.9")
    assert [float(x) for x in found] == pytest.approx(host.tolist(), abs=1e-15)
    with pytest.raises(MassError, match=r"case 0: this is no top-0.5 list"):
        tl.score(device, xp.asarray([3, 4]), rule="topbeta:0.5")
