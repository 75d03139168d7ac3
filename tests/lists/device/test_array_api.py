"""Lists of other array libraries stay where they are, and score as they do on numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.lists.device.libraries import Library

T = tl.TopLists


def total(x: Any) -> Any:
    """The sum of each row, in the array's own library."""
    import array_api_compat

    return array_api_compat.array_namespace(x).sum(x, axis=-1)


RULES: dict[str, tl.Rule] = {
    "brier": tl.Brier(),
    "half brier": tl.Brier(scale_by_half=True),
    "log": tl.Log(),
    "spherical": tl.Spherical(),
    "power 1.5": tl.Power(1.5),
    "power 0.5": tl.Power(0.5),
    "power 3": tl.Power(3.0),
    "pseudospherical": tl.PseudoSpherical(3.0),
    "normalized": tl.PseudoSpherical(1.25, normalized=True),
    "renyi": tl.Renyi(0.5),
    "zero-one": tl.ZeroOne(),
    "one-vs-rest log": tl.OneVsRest("log"),
    "one-vs-rest brier": tl.OneVsRest("brier"),
    "one-vs-rest boosting": tl.OneVsRest("boosting"),
    "one-vs-rest pair": tl.OneVsRest((lambda p: (1 - p) * (1 - p), lambda p: p * p)),
    "separable": tl.Separable(lambda x: x * (1 - x), lambda x: 1 - 2 * x),
    "savage": tl.Savage(lambda v, n: 1 - total(n * v * v), lambda v, n: -2 * v),
}
NO_ENTROPY = [RULES[name] for name in ("savage", "one-vs-rest log", "one-vs-rest boosting")]  # of 2**10000 classes
SPACES: dict[str, Any] = {
    "complete": 4,
    "one left": 5,
    "some": 11,
    "many": 1000,
    "beyond floats": 2**10000,
    "per case": np.random.default_rng(0).integers(4, 30, 80),
}


def content(m: Any, seed: int = 0) -> tuple[Any, Any, Any]:
    """Eighty lists of four classes, every third invalid where there is room for it, and outcomes of all kinds."""
    rng = np.random.default_rng(seed)
    n, k = 80, 4
    classes = np.array([rng.permutation(4) for _ in range(n)])
    shares = rng.dirichlet(np.full(k + 1, 0.7), size=n)
    t = shares[:, :k]
    full = np.asarray(m) == k if np.ndim(m) else np.full(n, m == k)
    t = np.where(np.broadcast_to(full, n)[:, None], t / t.sum(axis=1, keepdims=True), t)
    t = np.sort(t, axis=1)[:, ::-1]
    low = ~full & (np.arange(n) % 3 == 0)
    t[low, 3] *= 1e-3
    y = np.array([int(rng.integers(0, min(int(s), 7))) for s in np.broadcast_to(np.asarray(m, dtype=object), n)])
    return classes, t, y


def both(lib: Library, m: Any, dtype: Any) -> tuple[tl.TopLists, tl.DeviceLists, Any]:
    """The same lists on numpy and on the library, and outcomes."""
    classes, t, y = content(m)
    t = t.astype(dtype)
    return T.from_topk(classes, t, m), T.from_topk(lib.array(classes), lib.array(t), m), y


every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


@every_rule
def test_scores_and_entropies_are_those_of_numpy_in_double_precision(lib: Library, rule: tl.Rule) -> None:
    """With the default penalty and without, for listed and unlisted outcomes, valid and invalid lists."""
    close: Any = {"rtol": 1e-11, "atol": 1e-13}
    for name, m in SPACES.items():
        if name == "beyond floats" and rule in NO_ENTROPY:
            continue
        plain, device, y = both(lib, m, np.float64)
        for options in ({}, {"penalty": 0}, {"penalty": 0.5}):
            got = tl.score(device, lib.array(y), rule=rule, **options)
            assert lib.owns(got), name
            np.testing.assert_allclose(lib.numpy(got), tl.score(plain, y, rule=rule, **options), **close, err_msg=name)
        got = tl.entropy(device, rule=rule)
        assert lib.owns(got), name
        np.testing.assert_allclose(lib.numpy(got), tl.entropy(plain, rule=rule), **close, err_msg=name)


@every_rule
def test_single_precision_stays_single_and_agrees_to_its_digits(lib: Library, rule: tl.Rule) -> None:
    """numpy scores single precision in double; a device scores it in its own."""
    close: Any = {"rtol": 3e-5, "atol": 3e-6}
    for m in (4, 11, 1000):
        plain, device, y = both(lib, m, np.float32)
        got = tl.score(device, lib.array(y), rule=rule)
        assert got.dtype == lib.array(np.zeros(1, np.float32)).dtype
        np.testing.assert_allclose(lib.numpy(got), tl.score(plain, y, rule=rule), **close, err_msg=str(m))
        np.testing.assert_allclose(
            lib.numpy(tl.entropy(device, rule=rule)), tl.entropy(plain, rule=rule), **close, err_msg=str(m)
        )


def test_lists_are_not_copied_and_know_which_are_valid(lib: Library) -> None:
    for m in SPACES.values():
        classes, t, _ = content(m)
        mine = lib.array(classes), lib.array(t)
        device = T.from_topk(*mine, m)
        assert isinstance(device, tl.DeviceLists)
        assert len(device) == 80
        assert device.classes is mine[0]
        assert device.confidences is mine[1]
        assert lib.owns(device.is_valid()) or lib.name == "array_api_strict"
        assert lib.numpy(device.is_valid()).tolist() == T.from_topk(classes, t, m).is_valid().tolist()


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_codes_of_either_width_are_the_same(lib: Library, kind: Any) -> None:
    plain, device, y = both(lib, 11, np.float64)
    narrow = T.from_topk(lib.array(plain.classes.reshape(80, 4).astype(kind)), device.confidences, 11)
    got = tl.score(narrow, lib.array(y.astype(np.int64)))
    np.testing.assert_allclose(lib.numpy(got), tl.score(plain, y), rtol=1e-12)


def test_a_given_rest_reaches_where_one_minus_the_sum_does_not(lib: Library) -> None:
    """The log of a tail of e**-50, e**-700 and e**-5000."""
    t, log_rest = np.array([[0.75, 0.25]] * 3), np.array([-50.0, -700.0, -5000.0])
    device = T.from_topk(lib.array([[0, 1]] * 3), lib.array(t), 4, log_rest=lib.array(log_rest))
    got = lib.numpy(tl.score(device, lib.array([3, 3, 3]), rule="log"))
    np.testing.assert_allclose(got, math.log(2) - log_rest, rtol=1e-14)
    plain = T.from_topk([[0, 1]] * 3, t, 4, log_rest=log_rest)
    for name in ("brier", "power 0.5", "renyi", "one-vs-rest log"):
        for y in ([0, 1, 0], [2, 3, 2]):
            want = tl.score(plain, y, rule=RULES[name])
            np.testing.assert_allclose(lib.numpy(tl.score(device, lib.array(y), rule=RULES[name])), want, rtol=1e-11)


def test_a_penalty_that_nobody_pays_is_not_asked_for(lib: Library) -> None:
    """Where every list is valid a rule without an entropy still has scores, as on numpy."""
    rule, t = tl.OneVsRest("log"), np.array([[0.5, 0.25]] * 3)
    plain = T.from_topk([[0, 1]] * 3, t, 2**10000)
    device = T.from_topk(lib.array([[0, 1]] * 3), lib.array(t), 2**10000)
    want = tl.score(plain, [0, 2, 1], rule=rule)
    np.testing.assert_allclose(lib.numpy(tl.score(device, lib.array([0, 2, 1]), rule=rule)), want, rtol=1e-12)


def test_infinite_scores_are_infinite_and_nothing_is_nan(lib: Library) -> None:
    """Sure and wrong, with room for others or without."""
    for m in (2, 5):
        device = T.from_topk(lib.array([[0, 1]] * 3), lib.array([[1.0, 0.0]] * 3), m)
        for rule in RULES.values():
            plain = tl.score(T.from_topk([[0, 1]] * 3, [[1.0, 0.0]] * 3, m), [0, 1, m - 1], rule=rule)
            got = lib.numpy(tl.score(device, lib.array([0, 1, m - 1]), rule=rule))
            assert np.isinf(got).tolist() == np.isinf(plain).tolist()
            np.testing.assert_allclose(got, plain, rtol=1e-12, atol=1e-15)


def test_no_cases_and_no_classes_are_lists_too(lib: Library) -> None:
    """By every rule, as on numpy."""
    for n, k in ((0, 2), (3, 0)):
        classes, t, y = np.zeros((n, k), np.int64), np.zeros((n, k)), np.arange(n)
        device, plain = T.from_topk(lib.array(classes), lib.array(t), 5), T.from_topk(classes, t, 5)
        for rule in RULES.values():
            got = lib.numpy(tl.score(device, lib.array(y), rule=rule))
            np.testing.assert_allclose(got, tl.score(plain, y, rule=rule), rtol=1e-12)
            np.testing.assert_allclose(
                lib.numpy(tl.entropy(device, rule=rule)), tl.entropy(plain, rule=rule), rtol=1e-12
            )


def test_lists_on_a_device_say_where_they_are(lib: Library) -> None:
    device = T.from_topk(lib.array([[0, 1]] * 3), lib.array([[0.5, 0.25]] * 3), 5)
    name = {"jax.numpy": "jax"}.get(lib.name, lib.name)
    assert repr(device) == f"DeviceLists(3 cases, k = 2, ClassSpace(5), {name})"
