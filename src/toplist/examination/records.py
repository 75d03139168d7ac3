"""A diagnosis as plain values under a versioned schema."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from toplist.diagnosis import Reliability
from toplist.io.records import spell

if TYPE_CHECKING:
    from toplist.examination.results import Diagnosis

SCHEMA: Final = "toplist.diagnosis/1"


def as_dict(found: Diagnosis) -> dict[str, Any]:
    """All that was found. JSON has no infinity: what is infinite is the word; what does not exist is null."""
    curves = found.calibration
    return {
        "schema": SCHEMA,
        "name": found.name,
        "verdict": found.verdict,
        "miscalibrated": found.miscalibrated,
        "cases": found.cases,
        "classes": found.classes.removesuffix(" classes"),
        "list_sizes": {str(k): n for k, n in sorted(found.sizes.items())},
        "level": found.level,
        "exact": found.exact,
        "tested": found.tested,
        "clusters": found.clusters,
        "why": found.why,
        "notes": list(found.notes),
        "oddities": [plain(one) for one in found.oddities],
        "calibration": None
        if curves is None
        else {
            "top": _curve(curves.top),
            "ranks": [_curve(one) for one in curves.ranks],
            "listed": _curve(curves.listed),
            "mass": _curve(curves.mass),
        },
        "decomposition": plain(found.decomposition),
        "calibration_error": plain(found.calibration_error),
        "gap": plain(found.gap),
        "mass_gap": plain(found.mass_gap),
        "test": plain(found.test),
    }


def plain(value: Any) -> Any:
    """A value in types that JSON has.

    >>> plain((1, np.inf, np.float64(0.5), np.nan))
    [1, 'infinite', 0.5, None]
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return spell(value) if isinstance(value, float) else value


def _curve(one: Reliability | None) -> dict[str, Any] | None:
    """Without the steps, which `x` and `curve` say as well."""
    if one is None:
        return None
    return {name: plain(getattr(one, name)) for name in _CURVE}


_CURVE: Final = ("of", "count", "promised", "kept", "x", "curve", "band", "histogram")
