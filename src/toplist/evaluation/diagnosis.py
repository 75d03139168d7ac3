"""The result of `diagnose`: its measurements, as text, as plain values for JSON, and as figures."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Final

import numpy as np

from toplist import _html
from toplist._files import to_json_number
from toplist._text import fixed, significant, visible
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
from toplist.calibration.decomposition import REST
from toplist.calibration.miscalibration import SIGNIFICANT, CalibrationVerdict, excludes_zero
from toplist.errors import TopListError
from toplist.evaluation.samples import CaseSample, attempt, calibration_verdict
from toplist.lists.checks import Issue, ListSummary
from toplist.report import plot, terminal
from toplist.report.calibration_statements import bias_ends, equals, p_value
from toplist.report.markup import html_of
from toplist.report.plot import Plot
from toplist.report.plot.canvas import CLASS
from toplist.report.plot.reliability import of_words
from toplist.report.text import Column, TextTable, cells, count, listed, number_of, percent, wrap

SCHEMA: Final = "toplist.diagnosis/1"
UNNAMED: Final = "predictions"
PLOTS: Final = ("reliability", "ranks", "listed", "mass")
WIDTH: Final = 100
"""Columns of text where nothing says how wide it may be."""
BANDED: Final = 500_000
"""Listed classes up to which curves have bands; beyond, they are about as narrow as the line."""
_FULL: Final = 50_000  # listed classes up to which a band has all draws; then fewer, so that it takes a few seconds
_FEWEST: Final = 60  # draws that make a band
_RANKS: Final = 5  # whose curves are made
_PARTS: Final = 12  # of a score, that are shown
_ROUNDING: Final = 1e-9  # what is left of probabilities that add up to one
_CURVE: Final = ("of", "count", "mean_confidence", "hit_rate", "x", "curve", "band", "histogram")  # not the steps
_FIGURE: Final = (
    plot.STYLE.replace(
        f'[data-theme="light"] .{CLASS}', f'[data-jp-theme-light="true"] .{CLASS},.vscode-light .{CLASS}'
    ).replace(f'[data-theme="dark"] .{CLASS}', f'[data-jp-theme-light="false"] .{CLASS},.vscode-dark .{CLASS}')
    + f".{CLASS}{{background:var(--plot-paper)}}\n"
)  # figures follow the theme of a notebook, on a background of their own: a page may be light under a dark system


@dataclass(frozen=True, slots=True)
class CalibrationResults:
    """Reliability of the most confident class, rank by rank, of all listed classes, and of the listed mass."""

    top: Reliability | None
    ranks: tuple[Reliability, ...]
    listed: Reliability | None
    mass: Reliability | None


@dataclass(frozen=True, slots=True)
class TableSummary:
    """The file or frame that predictions were read from: its path or name, its layout, and the columns it has."""

    path: str
    layout: str
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()  # sentences about what was found in it and done about it


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

    # What is found

    @property
    def blocking(self) -> bool:
        """Whether something must be repaired before these predictions can be scored."""
        return any(issue.blocking for issue in self.issues)

    @property
    def miscalibrated(self) -> bool | None:
        """Whether calibrated lists would look like this in at most 5% of all samples; None without a test."""
        return None if self.test is None else self.test.p <= SIGNIFICANT

    @property
    def calibration_verdict(self) -> CalibrationVerdict:
        """The test and the calibration biases, from which the verdict follows."""
        return CalibrationVerdict(self.test, self.tested, self.bias, self.mass_bias, self.clusters)

    @property
    def gain(self) -> float | None:
        """The miscalibration part of the mean score, which recalibration could gain at most; None without evidence."""
        if not self.miscalibrated or self.decomposition is None:
            return None
        return self.decomposition.miscalibration

    @property
    def verdict(self) -> str:
        """The diagnosis in one sentence."""
        if self.blocking:
            kinds = listed((issue.kind for issue in self.issues if issue.blocking), 4)
            return f"These predictions cannot be scored as they are: {kinds}."
        if self.reason:
            return self.reason
        if self.test is None:
            return f"Calibration cannot be tested. {' '.join(self.notes)}".rstrip()
        p, judged, mass = equals(p_value(self.test.p, self.test)), self.calibration_verdict, self.mass_bias
        direction, bias = judged.direction(), judged.biased
        if direction == "none":
            nothing = f"No evidence of miscalibration in {number_of(self.tested, 'case')} ({p})"
            return f"{nothing}{_detectable(self.bias or mass)}."
        if bias is None:
            return f"Miscalibrated, but not in one direction: some confidences are too high and others too low ({p})."
        means = f"{_means_in_words(bias)} (difference {_interval(bias)})"
        if direction == "undecided":
            return f"Undecided: {means}, but the test over all ranks is not significant ({p})."
        word = "Overconfident" if bias.difference > 0 else "Underconfident"
        if bias is mass:
            return f"{word} in the listed probability: {means}."
        if mass is not None and excludes_zero(mass) and not 0 < mass.difference / bias.difference <= 1.5:
            return f"{word}: {means}; {_means_in_words(mass)}."
        return f"{word}: {means}."

    # Figures

    @property
    def _curves(self) -> dict[str, Any]:
        """What there is to draw, by the name of the figure."""
        if self.calibration is None:
            return {}
        curves = {name: getattr(self.calibration, "top" if name == "reliability" else name) for name in PLOTS}
        return {name: curve for name, curve in curves.items() if curve}

    @property
    def plots(self) -> tuple[str, ...]:
        """The figures that can be drawn of it."""
        return tuple(self._curves)

    def plot(self, name: str = "reliability") -> Plot[Any]:
        """A figure: reliability (of the first class), ranks, listed or mass."""
        if name not in PLOTS:
            raise TopListError(f"{name!r} is no plot of a diagnosis: there are {', '.join(PLOTS)}.")
        if name not in self._curves:
            raise TopListError(f"there is no {name} to draw. {self.reason or ' '.join(self.notes)}".rstrip())
        curve = self._curves[name]
        if name == "ranks":
            return plot.reliability(curve)
        who = of_words(curve.of) if self.name == UNNAMED else self.name
        judged = {who: self.calibration_verdict} if name == "reliability" else {}
        return plot.reliability(curve if self.name == UNNAMED else {who: curve}, judged)

    # For people

    def __repr__(self) -> str:
        return self.to_text(shutil.get_terminal_size((WIDTH, 24)).columns)

    def to_text(self, width: int | None = None, *, command: str = "") -> str:
        """A short page of text.

        Parameters
        ----------
        width : int, optional
            Its columns, 100 if they are not given.
        command : str, optional
            What to type to recalibrate these predictions; by default the function that does it.

        Returns
        -------
        str
            The page; names from outside are escaped.

        """
        width = max(60, width or WIDTH)

        def wrapped(text: str, sign: str = "") -> list[str]:
            lines = wrap(visible(text), width - len(sign))
            return [f"{' ' * len(sign) if i else sign}{line}" for i, line in enumerate(lines)]

        lines = wrapped(self.verdict)
        if self.gain is not None:  # a command is one line, to be copied
            line, gain = map(visible, self._next(command))
            short = cells(line) + 1 + cells(gain) <= width
            lines += [f"{line} {gain}"] if short else [line, f"      {gain}"]
        lines += ["", *wrapped(self._what)]
        lines += ["", self._quality] if self._quality else []
        for issue in self.issues:
            lines += wrapped(issue.message, "  ! " if issue.blocking else "  - ")
        for note in () if self.table is None else self.table.notes:
            lines += wrapped(note, "  - ")
        if self.reason and self.blocking:
            lines += ["", *wrapped(self.reason)]
        for table in self._tables():
            lines += ["", terminal.page(table, width) if table.columns else "\n".join(wrapped(table.title))]
        if self.notes:
            lines += ["", *(line for note in self.notes for line in wrapped(note))]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        issues = [f"{'Blocking: ' if issue.blocking else ''}{issue.message}" for issue in self.issues]
        top = None if self.calibration is None else self.calibration.top
        parts = [
            _html.paragraph(self.verdict, "verdict"),
            _html.paragraph(self._what, "muted"),
            *([_html.paragraph(" ".join(self._next()))] if self.gain is not None else []),
            *([_html.paragraph(self._quality, "title" if issues else "")] if self._quality else []),
            *([_html.items(issues)] if issues else []),
            *([_html.items(self.table.notes)] if self.table is not None and self.table.notes else []),
        ]
        if top is not None:
            parts.append(_html.Html(plot.calibration_panel(self.name, top, self.calibration_verdict).svg()))
        for table in self._tables():
            parts += html_of(table) if table.columns else [_html.paragraph(table.title)]
        if self.notes:
            parts.append(_html.folded("Notes", _html.items(self.notes)))
        return _html.fragment(*parts, style=_FIGURE)

    def _next(self, command: str = "") -> tuple[str, str]:
        """What to do about miscalibration, and what that could gain at most."""
        gain = f"(up to {fixed(-(self.gain or 0.0), 3)} in mean Brier score)"
        return f"Next: {command or 'toplist.postprocess.select_recalibrator(predictions, outcomes)'}", gain

    @property
    def _quality(self) -> str:
        """What stands above the issues."""
        if self.issues:
            return f"Data quality: {number_of(len(self.issues), 'issue')}"
        return "Data quality: no issues." if self.cases else ""

    @property
    def _what(self) -> str:
        """How many cases, classes, and listed classes."""
        lengths = sorted(k for k, n in self.sizes.items() if n)
        if not lengths:
            lists = "no lists"
        elif lengths[0] == lengths[-1]:
            lists = f"lists of {number_of(lengths[0], 'class', 'classes')}" if lengths[0] else "empty lists"
        else:
            lists = f"lists of {lengths[0]:,} to {lengths[-1]:,} classes"
        within = "" if self.clusters is None or not self.exact else f" in {number_of(self.clusters, 'cluster')}"
        return f"{self.name}: {number_of(self.cases, 'case')}{within}, {self.classes}, {lists}."

    def _tables(self) -> Iterator[TextTable]:
        """Mean confidences beside what was observed, and the parts of the score."""
        if self.calibration is not None and self.calibration.mass is not None:
            columns = (
                Column("", "left", heading=True),
                *map(Column, ("mean confidence", "observed")),
                Column(f"difference ({percent(self.level)} CI)", "left"),
            )
            yield TextTable("Calibration", columns, tuple(self._calibration_rows()), tuple(self._calibration_notes()))
        if self.decomposition is not None:
            yield _score_table(self.decomposition)

    def _calibration_rows(self) -> Iterator[tuple[str, ...]]:
        """What is compared, its mean confidence, how often it holds, and the difference with its interval."""
        for bias, name in ((self.bias, "top-1 prediction"), (self.mass_bias, "listed probability")):
            if bias is not None and not (bias.of == "mass" and bias.hit_rate == 1 and abs(bias.difference) < _ROUNDING):
                yield name, *_means(bias), _interval(bias)
        for curve in () if self.calibration is None else self.calibration.ranks[1:]:
            means = curve.mean_confidence, curve.hit_rate
            difference = fixed(means[0] - means[1], 3, signed=True)
            yield of_words(curve.of), *(fixed(mean, 3) for mean in means), difference

    def _calibration_notes(self) -> Iterator[str]:
        """The calibration error, the test, and whether an interval was cut."""
        error, test = self.calibration_error, self.test
        if error is not None:
            low, high, value = map(_small, (max(error.low, 0.0), error.high, error.value))
            ends = f"{percent(error.level)} CI {low} to {high}"
            root = f"{_small(error.root)} (squared {value}, {ends}; "
            if error.value < 0:
                root = f"0 (the debiased estimate of its square is below zero, {value}; {ends}; "
            yield f"Calibration error of the top-1 prediction: {root}{number_of(error.bins, 'bin')})."
        if test is not None:
            expected = f"{_small(test.statistic)}, expected {_small(test.expected)} if calibrated"
            result = f"{expected}; {equals(p_value(test.p, test))}"
            if test.freedom is None:
                yield f"Test over all ranks: miscalibration {result} ({test.draws:,} draws, seed {test.seed})."
            else:
                of = "top-1 prediction, listed probability, and all weighted by confidence"
                yield f"Test over {number_of(sum(test.freedom), 'cluster')} ({of}): F{test.freedom} = {result}."
        biases = [bias for bias in (self.bias, self.mass_bias) if bias is not None]
        if any(bias_ends(bias) != (bias.low, bias.high) for bias in biases) or (error is not None and error.low < 0):
            yield "Intervals are cut at the ends of what is possible."

    # For programs

    def to_dict(self) -> dict[str, Any]:
        """Plain values under a versioned schema, fit for JSON.

        JSON has no infinity: what is infinite is the word, what does not exist is null.
        """
        values, lists = _plain(self), self.scorable
        scorable = {name: _plain(getattr(lists, name)) for name in ("cases", "mean_size", "mean_mass", "invalid")}
        about = {name: getattr(self, name) for name in ("name", "verdict", "blocking", "miscalibrated")}
        sizes = {"list_sizes": values.pop("sizes"), "scorable": scorable | {"list_sizes": _plain(lists.sizes)}}
        return {"schema": SCHEMA, **about, **values, **sizes, "classes": self.classes.removesuffix(" classes")}


def _plain(value: Any) -> Any:
    """A value in types that JSON has.

    >>> _plain((1, np.inf, np.float64(0.5), np.nan)), _plain({3: 1, 0: 2})
    ([1, 'infinite', 0.5, None], {'0': 2, '3': 1})
    """
    if is_dataclass(value):
        names = _CURVE if isinstance(value, Reliability) else [each.name for each in fields(value)]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(value[key]) for key in sorted(value)}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return to_json_number(value) if isinstance(value, float) else value


# Words and numbers


def _score_table(parts: Decomposition) -> TextTable:
    """What the score is the sum of, and what adds up to that rank by rank, up to where all is zero, if it is not."""
    score = f"{parts.rule[:1].upper()}{parts.rule[1:]} score {fixed(parts.score, 4)}"
    if parts.miscalibration is None or parts.discrimination is None:
        return TextTable(f"{score}. {parts.note}".rstrip(), (), ())
    terms = [("uncertainty", parts.uncertainty), ("misses", parts.misses), ("discrimination", -parts.discrimination)]
    terms += [("miscalibration", parts.miscalibration), ("penalty", parts.penalty), ("within bins", parts.within)]
    total = []
    for name, x in terms:
        if x or name in ("uncertainty", "discrimination", "miscalibration"):
            sign = "\u2212" if x < 0 or name == "discrimination" else "+"
            total.append(f"{sign} {fixed(abs(x), 4)} {name}")
    some = [part for part in parts.parts if part.entries]
    rows = []
    for part in some[:_PARTS]:
        numbers = (fixed(x, 4) for x in (part.miscalibration, part.discrimination, part.uncertainty))
        rows.append(("unlisted" if part.name == REST else part.name, count(part.entries), *numbers))
    while rows and set(rows[-1][2:]) == {"0.0000"}:
        rows.pop()
    more = len(some) - len(rows)
    title = f"{score} = {' '.join(total).removeprefix('+ ')}"
    if not rows:
        return TextTable(title, (), ())
    heads = map(Column, ("entries", "miscalibration", "discrimination", "uncertainty"))
    notes = (f"{number_of(more, 'further rank')}: 0.0000 in all columns",) if more else ()
    return TextTable(title, (Column("", "left", heading=True), *heads), tuple(rows), notes)


def _means_in_words(bias: CalibrationBias) -> str:
    confidence, hit_rate = _means(bias)
    if bias.of == "mass":
        return f"the mean listed probability is {confidence} and the true class is listed in {hit_rate} of cases"
    return f"the mean confidence of the top-1 prediction is {confidence} and its accuracy {hit_rate}"


def _detectable(bias: CalibrationBias | None) -> str:
    """The difference that would have been found, where there is an interval."""
    if bias is None or bias.detectable is None:
        return ""
    top = "confidence and accuracy of the top-1 prediction"
    between = "listed probability and coverage" if bias.of == "mass" else top
    least = fixed(bias.detectable, _digits(bias))
    return f"; a difference of {least} between mean {between} would have been detected with 80% power"


def _digits(bias: CalibrationBias) -> int:
    """How many decimals show how wide the interval is, from three to six."""
    if bias.low is None or bias.high is None:
        return 3
    half = (bias.high - bias.low) / 2
    return 3 if not half > 0 else min(6, max(3, math.ceil(-math.log10(half))))


def _means(bias: CalibrationBias) -> tuple[str, str]:
    digits = _digits(bias)
    return fixed(bias.mean_confidence, digits), fixed(bias.hit_rate, digits)


def _interval(bias: CalibrationBias) -> str:
    value, low, high = (fixed(x, _digits(bias), signed=True) for x in (bias.difference, *bias_ends(bias)))
    return f"{value}, no interval" if bias.low is None or bias.high is None else f"{value}, {low} to {high}"


def _small(x: float) -> str:
    return significant(x, 3)


# What needs outcomes


def measure(sample: CaseSample, *, level: float, band_level: float, draws: int, seed: int) -> dict[str, Any]:
    """The fields of a diagnosis that need outcomes: exact if the sample has all cases, else from sums over bins.

    Sums do not tell which cases belong together: with clusters, what has an interval is of the sample.
    """
    lists, y, binned, units = sample.lists, sample.y, sample.binned, sample.units
    verdict = calibration_verdict(sample, level=level, draws=draws, seed=seed)
    if not len(lists):
        nothing = CalibrationResults(None, (), None, None)
        return {"calibration": nothing, "clusters": verdict.clusters, "notes": verdict.notes}
    notes: list[str] = []
    curves = _curves(sample, band_level, draws, seed, notes)
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
        "clusters": verdict.clusters,
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
    further = (curve(rank) for rank in range(2, min(_RANKS, longest) + 1))
    mass = curve("mass")
    if longest and mass.hit_rate == 0:
        notes.append("No outcome is ever listed: are classes spelled as in the truth?")
    return CalibrationResults(top, (*first, *further), curve("listed") if longest else None, mass)
