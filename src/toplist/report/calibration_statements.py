"""What is known of calibration, in words: by the test, adjusted by Holm's method over the tested models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from toplist._text import fixed
from toplist.inference.ranking import holm
from toplist.report.text import Sentence, Shown, Words, count, number_of, sentence, small

if TYPE_CHECKING:
    from toplist.calibration.miscalibration import CalibrationBias, CalibrationTest, CalibrationVerdict

FEW_CASES = 50  # that a test of calibration which finds nothing needs to say so
_CALIBRATION = {
    "over": "Overconfident",
    "under": "Underconfident",
    "mixed": "Miscalibrated",
    "open": "Inconclusive",
    "none": "No evidence of miscalibration",
    "few": "Too few cases to judge",
}
_CLAUSES = {  # of one model, and of several
    "Overconfident": ("is overconfident", "are overconfident"),
    "Underconfident": ("is underconfident", "are underconfident"),
    "Miscalibrated": ("is miscalibrated", "are miscalibrated"),
    "No evidence of miscalibration": ("shows no evidence of miscalibration", "show no evidence of miscalibration"),
}
_UNKNOWN = {
    "Inconclusive": ("has inconclusive calibration", "have inconclusive calibration"),
    "Too few cases to judge": ("has too few cases to judge calibration", "have too few cases to judge calibration"),
}
_MEANINGS = {
    "none": "no evidence means that the test of calibration is not significant",
    "open": "inconclusive means that the unadjusted test or the interval of the bias is evidence of miscalibration, "
    "but the adjusted test (Holm) is not significant",
    "mixed": "miscalibrated means significant, but not in one direction",
}
_CHIPS = {
    "": "",
    "over": "overconfident",
    "under": "underconfident",
    "mixed": "miscalibrated",
    "open": "inconclusive",
    "none": "no evidence",
    "few": "too few cases",
}


def adjusted(judged: Mapping[str, CalibrationVerdict]) -> dict[str, float | None]:
    """The p values of the tests of calibration by model, by Holm's method over the tested models."""
    tails = [None if one.test is None else one.test.tail for one in judged.values()]
    return dict(zip(judged, holm(tails), strict=True))


def calibration_kind(found: CalibrationVerdict | None, adjusted_p: float | None) -> str:
    """What is known of calibration: over, under, mixed, none, open or few; nothing where it was not tested.

    Open where the test without adjustment, or the interval of a bias, is evidence against calibration, but the
    adjusted test is not. Few where the test does not reject and there are under 50 cases, or where there is no test.
    """
    from toplist.calibration.miscalibration import SIGNIFICANT  # noqa: PLC0415  terminals do without

    if found is None:
        return ""
    if found.test is None or adjusted_p is None:
        return "few"
    direction = str(found.direction(adjusted_p)).removeprefix("mass ")
    if direction in ("over", "under", "mixed"):
        return direction
    if found.tested < FEW_CASES:
        return "few"
    return "open" if direction == "undecided" or found.test.p <= SIGNIFICANT else "none"


def calibration_groups(judged: Mapping[str, CalibrationVerdict], shown: Shown) -> list[tuple[str, list[str]]]:
    """The models by what is known of their calibration: by the test, adjusted for the number of tested models."""
    p = adjusted(judged)
    found: dict[str, list[str]] = {}
    for who, one in judged.items():
        if who in shown:
            found.setdefault(calibration_kind(one, p[who]), []).append(who)
    return [(word, found[key]) for key, word in _CALIBRATION.items() if key in found]


def calibration_clause(judged: Mapping[str, CalibrationVerdict], shown: Shown, best: str = "") -> list[Sentence]:
    """What is known of calibration, the best model first: in full, then in fewer words; nothing where little is known.

    Parameters
    ----------
    judged : mapping of str to CalibrationVerdict
        The tests and the biases, by model.
    shown : mapping of str to Name
        How models are called.
    best : str, optional
        The best model; the first one if it is not given.

    """
    groups = calibration_groups(judged, shown)
    known = [word for word, _ in groups if word in _CLAUSES]
    if not known:
        return []
    every = sum(len(who) for _, who in groups)
    lead = best if any(best in who for _, who in groups) else next(who for who in judged if who in shown)
    own, its = next((word, who) for word, who in groups if lead in who)
    if len(its) == every > 1:
        if own == _CALIBRATION["none"]:
            return [sentence(f"{own}.")]
        return [sentence(f"{'Both' if every == 2 else 'All'} {_CLAUSES[own][1]}.")]
    one, several = _CLAUSES.get(own, _UNKNOWN.get(own, ("", "")))
    more = len(its) - 1
    who: list[Words] = [shown[lead], *([f" and {number_of(more, 'other')}"] if more else []), " "]
    first = sentence(*who, several if more else one)
    word, rest = max(
        ((w, x) for w, x in groups if w != own and w in _CLAUSES), key=lambda g: len(g[1]), default=("", [])
    )
    if not rest:
        return [sentence(first, ".")]
    is_, are = _CLAUSES[word]
    many = f"the other {count(len(rest))}" if len(rest) == every - len(its) else number_of(len(rest), "other")
    second = sentence(shown[rest[0]], f" {is_}") if len(rest) == 1 else sentence(f"{many} {are}")
    return [sentence(first, "; ", second, "."), sentence(first, ".")]


def chip(found: CalibrationVerdict | None, adjusted_p: float | None) -> tuple[str, str]:
    """What is known of calibration in a few words, and its kind: over, under, mixed, none, few, or nothing.

    Parameters
    ----------
    found : CalibrationVerdict or None
        The test and the biases of one model.
    adjusted_p : float or None
        Its p value, adjusted for the number of tested models (`adjusted`).

    """
    key = calibration_kind(found, adjusted_p)
    if found is None or key not in ("over", "under"):
        return "few" if key == "open" else key, _CHIPS[key]
    direction = str(found.direction(adjusted_p))
    gap = found.mass_bias if direction.startswith("mass") else found.bias
    where = ", listed" if direction.startswith("mass") else ""
    by = "" if gap is None else f" {fixed(100 * gap.difference, 1, signed=True)} pts"
    return key, f"{_CHIPS[key]}{by}{where}"


def chip_legend(judged: Mapping[str, CalibrationVerdict]) -> str:
    """What the words of chips mean that do not say it themselves, as far as these occur; with points, once."""
    p = adjusted(judged)
    kinds = {calibration_kind(one, p[who]) for who, one in judged.items()}
    said = [_MEANINGS[key] for key in _MEANINGS if key in kinds]
    if "few" in kinds:
        said.append(f"too few cases means fewer than {FEW_CASES}, or no test")
    if kinds & {"over", "under"}:
        said.insert(0, "pts are mean confidence minus accuracy in percentage points")
    return f"In the column calibration, {'; '.join(said)}." if said else ""


def p_value(p: float | None, test: CalibrationTest | None) -> str:
    """A p value of the test of calibration: from draws it cannot be below 1 / (draws + 1), which is its upper limit.

    >>> from toplist.calibration import CalibrationTest
    >>> drawn = CalibrationTest(0.1, 0.02, 0.005, 199, 0, 1e-9)
    >>> p_value(0.005, drawn), p_value(3e-9, drawn), p_value(0.04, drawn)
    ('≤0.005', '≤0.005', '0.040')
    """
    if p is None or test is None or test.freedom is not None or not test.draws:
        return small(p)
    least = 1 / (test.draws + 1)
    if p > least * (1 + 1e-9):
        return small(p)
    digits = 1 - math.floor(math.log10(least) + 1e-9)  # two significant ones, rounded up: it is a limit
    limit = math.ceil(least * 10**digits - 1e-9) / 10**digits
    return f"\u2264{limit:.{digits}f}".rstrip("0")


def equals(p: str) -> str:
    """A p value after its letter.

    >>> equals("0.040"), equals("≤0.005")
    ('p = 0.040', 'p ≤ 0.005')
    """
    return f"p {p[0]} {p[1:]}" if p[:1] in ("\u2264", "<") else f"p = {p}"


def bias_ends(bias: CalibrationBias) -> tuple[float | None, float | None]:
    """The interval of a bias as far as it is possible: no accuracy is below 0 or above 1."""
    if bias.low is None or bias.high is None:
        return bias.low, bias.high
    return max(bias.low, bias.mean_confidence - 1.0), min(bias.high, bias.mean_confidence)
