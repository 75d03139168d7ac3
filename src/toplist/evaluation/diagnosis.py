"""The result of `diagnose`: its measurements, as text, as plain values for JSON, and as figures."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Final

import numpy as np

from toplist._files import to_json_number
from toplist.calibration import (
    CalibrationBias,
    CalibrationError,
    CalibrationTest,
    Decomposition,
    Reliability,
    calibration_error,
    decompose,
    reliability,
)
from toplist.calibration.miscalibration import SIGNIFICANT, CalibrationVerdict, excludes_zero
from toplist.errors import TopListError
from toplist.evaluation.case_sample import CaseSample, attempt, calibration_verdict
from toplist.lists.checks import Issue, ListSummary
from toplist.report import plot
from toplist.report.plot import Plot
from toplist.report.plot.reliability import of_words
from toplist.report.text import count, listed, number_of, percent, visible

BANDED: Final = 500_000
"""Listed classes up to which curves have bands; beyond, they are about as narrow as the line."""
_FULL: Final = 50_000  # listed classes up to which a band has all draws; then fewer, so that it takes a few seconds
_FEWEST: Final = 60  # draws that make a band
RANKS: Final = 5


@dataclass(frozen=True, slots=True)
class CalibrationResults:
    """Reliability of the most confident class, rank by rank, of all listed classes, and of the listed mass."""

    top: Reliability | None
    ranks: tuple[Reliability, ...]
    listed: Reliability | None
    mass: Reliability | None


def measure(sample: CaseSample, *, level: float, band_level: float, draws: int, seed: int) -> dict[str, Any]:
    """The fields of a diagnosis that need outcomes: exact if the sample has all cases, else from sums over bins.

    Sums do not tell which cases belong together: with clusters, what has an interval is of the sample.
    """
    lists, y, binned, units = sample.lists, sample.y, sample.binned, sample.units
    number = None if units is None else len(np.unique(units))
    if not len(lists):
        nothing = CalibrationResults(None, (), None, None)
        return {"calibration": nothing, "clusters": number, "notes": ("There are no cases.",)}
    notes: list[str] = []
    curves = _curves(sample, band_level, draws, seed, notes)
    verdict = calibration_verdict(sample, level=level, draws=draws, seed=seed)
    if binned is not None:
        notes.append("All else is from sums over 200 bins of confidences, not case by case.")
    sums = None if units is not None else binned

    def error() -> CalibrationError:
        if sums is not None:
            return sums.calibration_error("top", level=level)
        return calibration_error(lists, y, of="top", level=level, clusters=units)

    parts = binned.decompose if binned is not None else lambda: decompose(lists, y)
    return {
        "exact": binned is None,
        "calibration": curves,
        "decomposition": attempt("decomposition", parts, notes),
        "calibration_error": attempt("calibration error", error, notes) if curves.top is not None else None,
        "bias": verdict.bias,
        "mass_bias": verdict.mass_bias,
        "test": verdict.test,
        "tested": verdict.tested,
        "clusters": number,
        "notes": (*verdict.notes, *notes),
    }


def _curves(sample: CaseSample, level: float, draws: int, seed: int, notes: list[str]) -> CalibrationResults:
    """The reliability curves; notes say what is missing."""
    lists, y, binned = sample.lists, sample.y, sample.binned
    entries = len(lists.confidences)
    band: Any = "consistency" if entries <= BANDED and binned is None else None
    fewer = min(draws, max(_FEWEST, draws * _FULL // max(entries, 1)))
    longest = binned.longest if binned is not None else int(lists.strictly_valid().sizes.max(initial=0))

    def curve(of: str | int) -> Reliability:
        if binned is not None:
            return binned.reliability(of)
        return reliability(lists, y, of=of, band=band, level=level, draws=fewer, seed=seed)

    top = curve("top") if longest else None
    first = () if top is None else (replace(top, of=1),)
    if not longest:
        notes.append("Every list is empty: there are no confidences of classes.")
    elif band is None:
        notes.append("The curves have no bands: with so many cases these would be about as narrow as the line.")
    elif sample.units is not None:
        notes.append("The bands of the curves take cases as independent, and are too narrow where clusters are not.")
    further = (curve(rank) for rank in range(2, min(RANKS, longest) + 1))
    return CalibrationResults(top, (*first, *further), curve("listed") if longest else None, curve("mass"))


SCHEMA: Final = "toplist.diagnosis/1"
_FIELDS: Final = (
    "schema", "name", "verdict", "blocking", "miscalibrated", "cases", "classes", "list_sizes", "level", "exact",
    "tested", "clusters", "reason", "notes", "issues", "scorable", "table", "calibration", "decomposition",
    "calibration_error", "bias", "mass_bias", "test",
)  # fmt: skip
_CURVE: Final = ("of", "count", "mean_confidence", "hit_rate", "x", "curve", "band", "histogram")  # not the steps


def as_dict(found: Diagnosis) -> dict[str, Any]:
    """Plain values for JSON, which has no infinity: what is infinite is the word, what does not exist is null."""
    lists = found.scorable
    own = {
        "schema": SCHEMA,
        "classes": found.classes.removesuffix(" classes"),
        "list_sizes": _by_length(found.sizes),
        "scorable": {
            "cases": lists.cases,
            "list_sizes": _by_length(lists.sizes),
            "mean_size": lists.mean_size,
            "mean_mass": lists.mean_mass,
            "invalid": lists.invalid,
        },
    }
    return {name: own[name] if name in own else plain(getattr(found, name)) for name in _FIELDS}


def _by_length(sizes: Mapping[int, int]) -> dict[str, int]:
    return {str(k): n for k, n in sorted(sizes.items())}


def plain(value: Any) -> Any:
    """A value in types that JSON has.

    >>> plain((1, np.inf, np.float64(0.5), np.nan))
    [1, 'infinite', 0.5, None]
    """
    if is_dataclass(value) and not isinstance(value, type):
        names = _CURVE if isinstance(value, Reliability) else [one.name for one in fields(value)]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return to_json_number(value) if isinstance(value, float) else value


_WIDTH: Final = 100
_MOST: Final = 12  # parts of a score


def verdict(found: Diagnosis) -> str:
    """The diagnosis in one sentence."""
    if found.blocking:
        kinds = listed((one.kind for one in found.issues if one.blocking), 4)
        return f"These predictions cannot be scored as they are: {kinds}."
    if found.reason:
        return found.reason
    if found.test is None:
        return f"Calibration cannot be tested. {' '.join(found.notes)}".rstrip()
    p = f"p = {_p(found.test.p)}"
    top, mass, direction = found.bias, found.mass_bias, found.calibration_verdict.direction()
    first = "" if top is None else f"the first class gets {_means(top, ' on average and is right ')} of the time"
    listing = (
        ""
        if mass is None
        else f"the listed mass is {_means(mass, ' on average and the outcome is listed ')} of the time"
    )
    if direction == "none":
        return f"No evidence of miscalibration in {number_of(found.tested, 'case')} ({p}){_detectable(top or mass)}."
    if direction == "undecided":
        bias, text = (top, first) if top is not None and excludes_zero(top) else (mass, listing)
        different = "" if bias is None else f" (difference {_interval(bias)})"
        return f"Undecided: {text}{different}, but the test of all ranks is not significant ({p})."
    if top is not None and direction in ("over", "under"):
        more = ""
        if mass is not None and excludes_zero(mass) and not 0 < mass.difference / top.difference <= 1.5:
            more = f"; the listed mass is {_means(mass, ' and the outcome is listed ')} of the time"
        return f"{_word(top)}: {first} (difference {_interval(top)}){more}."
    if mass is not None and direction in ("mass over", "mass under"):
        return f"{_word(mass)} in the listed mass: {listing} (difference {_interval(mass)})."
    return f"Miscalibrated, but not in one direction: confidences are off in some places and not in others ({p})."


def _detectable(bias: CalibrationBias | None) -> str:
    """The difference that would have been found, where there is an interval."""
    if bias is None or bias.detectable is None:
        return ""
    between = "mean mass and coverage" if bias.of == "mass" else "mean confidence and hit rate of the first class"
    least = _number(bias.detectable, _digits(bias))
    return f"; a difference of {least} or more between {between} would have been found 4 times in 5"


def page(found: Diagnosis) -> str:
    """A short page of text; names from outside are escaped."""
    lines = [*_wrapped(found.verdict), "", *_wrapped(_what(found))]
    if found.issues:
        lines += ["", "Data quality"]
        for one in found.issues:
            lines += _item(one)
    elif found.cases:
        lines += ["", "Data quality: no issues."]
    if found.reason and not found.blocking:
        return "\n".join(visible(line) for line in lines)
    if found.reason:
        lines += ["", *_wrapped(found.reason)]
    lines += [*_calibration(found), *_score(found)]
    if found.notes:
        lines.append("")
        for note in found.notes:
            lines += _wrapped(note)
    return "\n".join(visible(line) for line in lines)


def _what(found: Diagnosis) -> str:
    lengths = sorted(k for k, n in found.sizes.items() if n)
    if not lengths:
        lists = "no lists"
    elif lengths[0] == lengths[-1]:
        lists = f"lists of {number_of(lengths[0], 'class', 'classes')}" if lengths[0] else "empty lists"
    else:
        lists = f"lists of {lengths[0]:,} to {lengths[-1]:,} classes"
    within = "" if found.clusters is None or not found.exact else f" in {number_of(found.clusters, 'cluster')}"
    return f"{found.name}: {number_of(found.cases, 'case')}{within}, {found.classes}, {lists}."


def _item(one: Issue) -> list[str]:
    mark = "!" if one.blocking else "-"
    return textwrap.wrap(
        one.message, _WIDTH, initial_indent=f"  {mark} ", subsequent_indent="    ", break_long_words=False
    )


def _calibration(found: Diagnosis) -> Iterable[str]:
    curves = found.calibration
    if curves is None or curves.mass is None:
        return
    head = f"difference ({percent(found.level)} interval)"
    yield ""
    yield f"{'Calibration':<24}{'confidence':>10}{'hit rate':>10}   {head}"
    for bias, name in ((found.bias, "first class"), (found.mass_bias, "listed mass")):
        if bias is not None:
            means = "".join(f"{_number(x, _digits(bias)):>10}" for x in (bias.mean_confidence, bias.hit_rate))
            yield f"  {name:<22}{means}   {_interval(bias)}"
    for one in curves.ranks[1:]:
        difference = one.mean_confidence - one.hit_rate
        means = "".join(f"{_number(x, 3):>10}" for x in (one.mean_confidence, one.hit_rate))
        yield f"  {of_words(one.of):<22}{means}   {_number(difference, 3, sign=True)}"
    error, test = found.calibration_error, found.test
    if error is not None:
        yield (
            f"Calibration error of the first class: {_small(error.root)} "
            f"(squared {_small(error.value)}, from {_small(error.low)} to {_small(error.high)}; "
            f"{number_of(error.bins, 'bin')})"
        )
    if test is not None and test.freedom is None:
        yield (
            f"Test of all ranks: miscalibration {_small(test.statistic)}, calibrated lists would show "
            f"{_small(test.expected)}; p = {_p(test.p)} ({test.draws:,} draws, seed {test.seed})"
        )
    elif test is not None and test.freedom is not None:
        of = "first class, listed mass, and all weighted by confidence"
        yield (
            f"Test over {number_of(sum(test.freedom), 'cluster')} ({of}): F{test.freedom} = {_small(test.statistic)}, "
            f"calibrated lists would show {_small(test.expected)}; p = {_p(test.p)}"
        )


def _score(found: Diagnosis) -> Iterable[str]:
    parts = found.decomposition
    if parts is None:
        return
    yield ""
    if parts.miscalibration is None or parts.discrimination is None:
        yield f"{_rule(parts)} score {_number(parts.score, 4)}. {parts.note}".rstrip()
        return
    terms = [(parts.uncertainty, "uncertainty"), (parts.misses, "misses"), (-parts.discrimination, "discrimination")]
    terms += [(parts.miscalibration, "miscalibration"), (parts.penalty, "penalty"), (parts.within, "within bins")]
    told = [
        f"{'' if not i else '- ' if value < 0 or name == 'discrimination' else '+ '}{_number(abs(value), 4)} {name}"
        for i, (value, name) in enumerate(terms)
        if value or name in ("uncertainty", "discrimination", "miscalibration")
    ]
    yield f"{_rule(parts)} score {_number(parts.score, 4)} = {' '.join(told)}"
    if not parts.parts:
        return
    yield f"  {'':<22}{'entries':>12}{'miscalibration':>16}{'discrimination':>16}{'uncertainty':>14}"
    for part in parts.parts[:_MOST]:
        numbers = f"{_number(part.miscalibration, 4):>16}{_number(part.discrimination, 4):>16}"
        yield f"  {part.name:<22}{count(part.entries):>12}{numbers}{_number(part.uncertainty, 4):>14}"


def _rule(parts: Decomposition) -> str:
    return parts.rule[:1].upper() + parts.rule[1:]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, break_long_words=False) or [""]


def _digits(bias: CalibrationBias) -> int:
    """How many decimals show how wide the interval is, from three to six."""
    if bias.low is None or bias.high is None:
        return 3
    half = (bias.high - bias.low) / 2
    return 3 if not half > 0 else min(6, max(3, math.ceil(-math.log10(half))))


def _word(bias: CalibrationBias) -> str:
    return "Overconfident" if bias.difference > 0 else "Underconfident"


def _means(bias: CalibrationBias, between: str) -> str:
    digits = _digits(bias)
    return f"{_number(bias.mean_confidence, digits)}{between}{_number(bias.hit_rate, digits)}"


def _interval(bias: CalibrationBias) -> str:
    digits = _digits(bias)
    value = _number(bias.difference, digits, sign=True)
    if bias.low is None or bias.high is None:
        return f"{value}, no interval"
    return f"{value}, from {_number(bias.low, digits)} to {_number(bias.high, digits)}"


def _number(x: float, digits: int, *, sign: bool = False) -> str:
    """A number with so many decimals; never a negative zero.

    >>> _number(-0.00001, 3), _number(0.25, 2, sign=True), _number(math.inf, 3)
    ('0.000', '+0.25', 'infinite')
    """
    if math.isinf(x):
        return "infinite"
    value = round(x, digits) + 0.0
    return f"{value:{'+' if sign and value else ''}.{digits}f}"


def _small(x: float) -> str:
    return "infinite" if math.isinf(x) else f"{x:.3g}"


def _p(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1g}"


UNNAMED: Final = "predictions"
PLOTS: Final = ("reliability", "ranks", "listed", "mass", "decomposition", "sizes")


@dataclass(frozen=True, slots=True)
class TableSummary:
    """The file or frame that predictions were read from: its path or name, its layout, and the columns it has."""

    path: str
    layout: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis:
    """Data quality of predictions and, with outcomes, their calibration. Made by `diagnose`.

    What needs outcomes is None without them, and `reason` says so.

    Attributes
    ----------
    name : str
        The name of the model.
    cases : int
        How many cases there are.
    classes : str
        How many classes there are, in words.
    sizes : Mapping of int to int
        How many lists have each length, as they were given.
    issues : tuple of Issue
        The data-quality issues, blocking ones first.
    scorable : ListSummary
        The lengths, the mass and the validity of the lists that can be scored.
    table : TableSummary or None
        The file or frame that predictions were read from; None in memory.
    reason : str
        Why there is nothing about calibration.
    level : float
        The level of the intervals.
    exact : bool
        Whether calibration is from every case, rather than from sums over bins.
    calibration : CalibrationResults or None
        The reliability curves.
    decomposition : Decomposition or None
        The mean Brier score in parts.
    calibration_error : CalibrationError or None
        The calibration error of the most confident class.
    bias, mass_bias : CalibrationBias or None
        Mean confidence minus hit rate, of the most confident class and of the listed mass.
    test : CalibrationTest or None
        The test of calibration.
    tested : int
        How many cases were tested.
    clusters : int or None
        How many clusters there are in the sample of cases; None where cases are taken as independent.
    notes : tuple of str
        What else is missing or approximate, and why.

    """

    name: str
    cases: int
    classes: str
    sizes: Mapping[int, int]
    issues: tuple[Issue, ...]
    scorable: ListSummary = field(default_factory=ListSummary)
    table: TableSummary | None = None
    reason: str = ""
    level: float = 0.95
    exact: bool = True
    calibration: CalibrationResults | None = None
    decomposition: Decomposition | None = None
    calibration_error: CalibrationError | None = None
    bias: CalibrationBias | None = None
    mass_bias: CalibrationBias | None = None
    test: CalibrationTest | None = None
    tested: int = 0
    clusters: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def blocking(self) -> bool:
        """Whether something must be repaired before these predictions can be scored."""
        return any(found.blocking for found in self.issues)

    @property
    def miscalibrated(self) -> bool | None:
        """Whether calibrated lists would look like this in at most 5% of all samples; None without a test."""
        return None if self.test is None else self.test.p <= SIGNIFICANT

    @property
    def calibration_verdict(self) -> CalibrationVerdict:
        """The test and the calibration biases, from which the verdict follows."""
        return CalibrationVerdict(self.test, self.tested, self.bias, self.mass_bias, self.clusters)

    @property
    def verdict(self) -> str:
        """The diagnosis in one sentence."""
        return verdict(self)

    def plot(self, name: str = "reliability") -> Plot[Any]:
        """A figure: reliability (of the first class), ranks, listed, mass, decomposition or sizes."""
        if name not in PLOTS:
            raise TopListError(f"{name!r} is no plot of a diagnosis: there are {', '.join(PLOTS)}.")
        if name == "sizes":
            return plot.sizes(self.sizes)
        found = self.calibration
        curve = (
            None if found is None else {"reliability": found.top, "listed": found.listed, "mass": found.mass}.get(name)
        )
        if curve is not None:
            named = self.name != UNNAMED
            who = self.name if named else of_words(curve.of)
            judged = {who: self.calibration_verdict} if name == "reliability" else {}
            return plot.reliability({who: curve} if named else curve, judged)
        if name == "ranks" and found is not None and found.ranks:
            return plot.reliability(found.ranks)
        if name == "decomposition" and self.decomposition is not None:
            return plot.decomposition({self.name: self.decomposition})
        raise TopListError(f"there is no {name} to draw. {self.reason or ' '.join(self.notes)}".rstrip())

    @property
    def plots(self) -> tuple[str, ...]:
        """The figures that can be drawn of it."""
        found = self.calibration
        there = {
            "reliability": found is not None and found.top is not None,
            "ranks": found is not None and bool(found.ranks),
            "listed": found is not None and found.listed is not None,
            "mass": found is not None and found.mass is not None,
            "decomposition": self.decomposition is not None,
            "sizes": True,
        }
        return tuple(name for name in PLOTS if there[name])

    def __repr__(self) -> str:
        return page(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values under a versioned schema, fit for JSON."""
        return as_dict(self)
