"""What is known of calibration, in words: by the test, adjusted by Holm's method over the tested models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from toplist._text import fixed
from toplist.inference.ranking import holm
from toplist.report.text import Sentence, Shown, count, sentence

if TYPE_CHECKING:
    from toplist.calibration.miscalibration import CalibrationVerdict

FEW_CASES = 50  # that a test of calibration which finds nothing needs to say so
_CALIBRATION = {
    "over": "Overconfident",
    "under": "Underconfident",
    "mixed": "Miscalibrated",
    "open": "Inconclusive",
    "none": "No evidence of miscalibration",
    "few": "Too few cases to judge",
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


def calibration_clause(judged: Mapping[str, CalibrationVerdict], shown: Shown) -> Sentence | None:
    """What is known of the calibration of most models, in at most eight words; None where little is known."""
    groups = calibration_groups(judged, shown)
    every = sum(len(who) for _, who in groups)
    word, who = max(groups, key=lambda one: len(one[1]), default=("", []))
    if not who or word in (_CALIBRATION["few"], _CALIBRATION["open"]):
        return None
    what = word.lower()
    if len(who) == every > 1 and what == "no evidence of miscalibration":
        return sentence("No evidence of miscalibration.")
    is_ = "shows " if what.startswith("no ") else "is "
    are = "show " if what.startswith("no ") else "are "
    if len(who) == 1:
        return sentence(shown[who[0]], f" {is_}{what}.")
    if len(who) == every:
        return sentence(f"{'Both' if every == 2 else 'All'} {are}{what}.")
    if len(who) == every - 1:
        (but,) = [one for _, others in groups for one in others if one not in who]
        return sentence("All but ", shown[but], f" {are}{what}.")
    return sentence(f"{count(len(who))} of {count(every)} {are}{what}.")


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
