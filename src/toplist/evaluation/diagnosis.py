"""The result of `diagnose`: its measurements, as text, as plain values for JSON, and as figures."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Iterable, Mapping
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
from toplist.report import plot
from toplist.report.calibration_statements import bias_ends, equals, p_value
from toplist.report.plot import Plot
from toplist.report.plot.canvas import CLASS
from toplist.report.plot.reliability import of_words
from toplist.report.text import cells, count, listed, number_of, percent

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
    mass = curve("mass")
    if longest and mass.hit_rate == 0:
        notes.append("No outcome is ever listed: are classes spelled as in the truth?")
    return CalibrationResults(top, (*first, *further), curve("listed") if longest else None, mass)


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


WIDTH: Final = 100
"""Columns of text where nothing says how wide it may be."""
_MOST: Final = 12  # parts of a score
_CUT: Final = "Intervals are cut at the ends of what is possible."


def verdict(found: Diagnosis) -> str:
    """The diagnosis in one sentence."""
    if found.blocking:
        kinds = listed((one.kind for one in found.issues if one.blocking), 4)
        return f"These predictions cannot be scored as they are: {kinds}."
    if found.reason:
        return found.reason
    if found.test is None:
        return f"Calibration cannot be tested. {' '.join(found.notes)}".rstrip()
    p = equals(p_value(found.test.p, found.test))
    top, mass, direction = found.bias, found.mass_bias, found.calibration_verdict.direction()
    first = "" if top is None else _TOP.format(*_means(top))
    listing = "" if mass is None else _LISTED.format(*_means(mass))
    if direction == "none":
        return f"No evidence of miscalibration in {number_of(found.tested, 'case')} ({p}){_detectable(top or mass)}."
    if direction == "undecided":
        bias, text = (top, first) if top is not None and excludes_zero(top) else (mass, listing)
        different = "" if bias is None else f" (difference {_interval(bias)})"
        return f"Undecided: {text}{different}, but the test over all ranks is not significant ({p})."
    if top is not None and direction in ("over", "under"):
        more = ""
        if mass is not None and excludes_zero(mass) and not 0 < mass.difference / top.difference <= 1.5:
            more = f"; {listing}"
        return f"{_word(top)}: {first} (difference {_interval(top)}){more}."
    if mass is not None and direction in ("mass over", "mass under"):
        return f"{_word(mass)} in the listed probability: {listing} (difference {_interval(mass)})."
    return f"Miscalibrated, but not in one direction: some confidences are too high and others too low ({p})."


_TOP: Final = "the mean confidence of the top-1 prediction is {} and its accuracy {}"
_LISTED: Final = "the mean listed probability is {} and the true class is listed in {} of cases"


def _detectable(bias: CalibrationBias | None) -> str:
    """The difference that would have been found, where there is an interval."""
    if bias is None or bias.detectable is None:
        return ""
    between = (
        "listed probability and coverage" if bias.of == "mass" else "confidence and accuracy of the top-1 prediction"
    )
    least = fixed(bias.detectable, _digits(bias))
    return f"; a difference of {least} between mean {between} would have been detected with 80% power"


def page(found: Diagnosis, width: int, command: str = "") -> str:
    """A short page of text in so many columns; names from outside are escaped."""
    lines = [*_wrapped(found.verdict, width)]
    if found.gain is not None:
        lines += _next(found, width, command)
    lines += ["", *_wrapped(_what(found), width)]
    if found.issues:
        lines += ["", f"Data quality: {number_of(len(found.issues), 'issue')}"]
        for one in found.issues:
            lines += _wrapped(one.message, width, "  ! " if one.blocking else "  - ")
    elif found.cases:
        lines += ["", "Data quality: no issues."]
    for note in () if found.table is None else found.table.notes:
        lines += _wrapped(note, width, "  - ")
    if found.reason and not found.blocking:
        return "\n".join(visible(line) for line in lines)
    if found.reason:
        lines += ["", *_wrapped(found.reason, width)]
    lines += [*_calibration(found, width), *_score(found, width)]
    if found.notes:
        lines.append("")
        for note in found.notes:
            lines += _wrapped(note, width)
    return "\n".join(visible(line) for line in lines)


def _next(found: Diagnosis, width: int, command: str) -> list[str]:
    """What to do about miscalibration, and what that could gain at most: a command is one line, to be copied."""
    gain = f"(up to {fixed(-(found.gain or 0.0), 3)} in mean Brier score)"
    typed = command or "toplist.postprocess.select_recalibrator(predictions, outcomes)"
    line = f"Next: {typed}"
    return [f"{line} {gain}"] if cells(line) + 1 + cells(gain) <= width else [line, f"      {gain}"]


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


def calibration_rows(found: Diagnosis) -> list[tuple[str, str, str, str]]:
    """What is compared, its mean confidence, how often it holds, and the difference with its interval."""
    rows: list[tuple[str, str, str, str]] = []
    for bias, name in ((found.bias, "top-1 prediction"), (found.mass_bias, "listed probability")):
        if bias is not None and not (bias.of == "mass" and bias.hit_rate == 1 and abs(bias.difference) < _ROUNDING):
            rows.append((name, *_means(bias), _interval(bias)))
    for one in () if found.calibration is None else found.calibration.ranks[1:]:
        difference = one.mean_confidence - one.hit_rate
        means = fixed(one.mean_confidence, 3), fixed(one.hit_rate, 3)
        rows.append((of_words(one.of), *means, fixed(difference, 3, signed=True)))
    return rows


_ROUNDING: Final = 1e-9  # what is left of probabilities that add up to one


def _calibration(found: Diagnosis, width: int) -> Iterable[str]:
    if found.calibration is None or found.calibration.mass is None:
        return
    yield ""
    yield f"{'Calibration':<22}{'mean confidence':>15}{'observed':>10}   difference ({percent(found.level)} CI)"
    for name, confidence, observed, difference in calibration_rows(found):
        yield f"  {name:<20}{confidence:>15}{observed:>10}   {difference}"
    yield from (line for text in calibration_sentences(found) for line in _wrapped(text, width))


def calibration_sentences(found: Diagnosis) -> list[str]:
    """The calibration error, the test, and whether an interval was cut."""
    error, test = found.calibration_error, found.test
    said = []
    if error is not None:
        ends = f"{percent(error.level)} CI {_small(max(error.low, 0.0))} to {_small(error.high)}; "
        ends += number_of(error.bins, "bin")
        if error.value < 0:
            why = f"the debiased estimate of its square is below zero, {_small(error.value)}"
            said.append(f"Calibration error of the top-1 prediction: 0 ({why}; {ends}).")
        else:
            root, squared = _small(error.root), _small(error.value)
            said.append(f"Calibration error of the top-1 prediction: {root} (squared {squared}, {ends}).")
    if test is not None:
        shown = (
            f"{_small(test.statistic)}, expected {_small(test.expected)} if calibrated; {equals(p_value(test.p, test))}"
        )
        if test.freedom is None:
            how = f"{test.draws:,} draws, seed {test.seed}"
            said.append(f"Test over all ranks: miscalibration {shown} ({how}).")
        else:
            of = "top-1 prediction, listed probability, and all weighted by confidence"
            over = number_of(sum(test.freedom), "cluster")
            said.append(f"Test over {over} ({of}): F{test.freedom} = {shown}.")
    biases = [bias for bias in (found.bias, found.mass_bias) if bias is not None]
    if any(bias_ends(bias) != (bias.low, bias.high) for bias in biases) or (error is not None and error.low < 0):
        said.append(_CUT)
    return said


def parts_of(parts: Decomposition) -> list[tuple[str, float]]:
    """The terms that the score is the sum of, discrimination below zero; those that are zero are left out."""
    terms = [("uncertainty", parts.uncertainty), ("misses", parts.misses)]
    terms += [("discrimination", -(parts.discrimination or 0.0)), ("miscalibration", parts.miscalibration or 0.0)]
    terms += [("penalty", parts.penalty), ("within bins", parts.within)]
    return [(name, x) for name, x in terms if x or name in ("uncertainty", "discrimination", "miscalibration")]


def _score(found: Diagnosis, width: int) -> Iterable[str]:
    parts = found.decomposition
    if parts is None:
        return
    yield ""
    score = f"{_rule(parts)} score {fixed(parts.score, 4)}"
    if parts.miscalibration is None or parts.discrimination is None:
        yield from _wrapped(f"{score}. {parts.note}".rstrip(), width)
        return
    terms = parts_of(parts)
    signs = ["", *("\u2212 " if x < 0 or name == "discrimination" else "+ " for name, x in terms[1:])]
    told = [f"{sign}{fixed(abs(x), 4)} {name}" for sign, (name, x) in zip(signs, terms, strict=True)]
    yield from _wrapped(f"{score} = {' '.join(told)}", width, after="    ")
    rows = rank_rows(parts)
    if not rows:
        return
    yield f"  {'':<22}{'entries':>10}{'miscalibration':>16}{'discrimination':>16}{'uncertainty':>13}"
    for name, entries, *numbers in rows:
        yield f"  {name:<22}{entries:>10}{numbers[0]:>16}{numbers[1]:>16}{numbers[2]:>13}"
    left = len([part for part in parts.parts if part.entries]) - len(rows)
    if left > 0:
        yield f"  {number_of(left, 'further rank')}: 0.0000 in all columns"


def rank_rows(parts: Decomposition) -> list[tuple[str, ...]]:
    """Rank by rank what adds up to the score, up to where all is zero."""
    rows = []
    for part in [part for part in parts.parts if part.entries][:_MOST]:
        numbers = [fixed(x, 4) for x in (part.miscalibration, part.discrimination, part.uncertainty)]
        rows.append(("unlisted" if part.name == REST else part.name, count(part.entries), *numbers))
    while rows and set(rows[-1][2:]) == {"0.0000"}:
        rows.pop()
    return rows


def _rule(parts: Decomposition) -> str:
    return parts.rule[:1].upper() + parts.rule[1:]


def _wrapped(text: str, width: int, before: str = "", after: str = "") -> list[str]:
    indent = after or " " * len(before)
    made = textwrap.wrap(text, width, initial_indent=before, subsequent_indent=indent, break_long_words=False)
    return made or [""]


def _digits(bias: CalibrationBias) -> int:
    """How many decimals show how wide the interval is, from three to six."""
    if bias.low is None or bias.high is None:
        return 3
    half = (bias.high - bias.low) / 2
    return 3 if not half > 0 else min(6, max(3, math.ceil(-math.log10(half))))


def _word(bias: CalibrationBias) -> str:
    return "Overconfident" if bias.difference > 0 else "Underconfident"


def _means(bias: CalibrationBias) -> tuple[str, str]:
    digits = _digits(bias)
    return fixed(bias.mean_confidence, digits), fixed(bias.hit_rate, digits)


def _interval(bias: CalibrationBias) -> str:
    digits = _digits(bias)
    value = fixed(bias.difference, digits, signed=True)
    low, high = bias_ends(bias)
    if low is None or high is None:
        return f"{value}, no interval"
    return f"{value}, {fixed(low, digits, signed=True)} to {fixed(high, digits, signed=True)}"


def _small(x: float) -> str:
    return significant(x, 3)


def html(found: Diagnosis) -> str:
    """The diagnosis for a notebook: the verdict, the reliability diagram, the parts of the score, and the issues."""
    parts: list[str] = [_html.paragraph(found.verdict, "verdict"), _html.paragraph(_what(found), "muted")]
    if found.gain is not None:
        parts.append(_html.paragraph(" ".join(_next(found, WIDTH, "")).replace("       ", " ")))
    kinds = [f"{'Blocking: ' if one.blocking else ''}{one.message}" for one in found.issues]
    if kinds:
        parts += [_html.paragraph(f"Data quality: {number_of(len(kinds), 'issue')}", "title"), _html.items(kinds)]
    elif found.cases:
        parts.append(_html.paragraph("Data quality: no issues."))
    if found.table is not None and found.table.notes:
        parts.append(_html.items(found.table.notes))
    if found.calibration is not None and found.calibration.top is not None:
        parts.append(_panel(found, found.calibration.top))
    rows = calibration_rows(found)
    if rows:
        difference = f"difference ({percent(found.level)} CI)"
        heads = [_html.TableHead("calibration", heading=True), *(_html.TableHead(x, number=True) for x in _COLUMNS)]
        parts.append(_html.table([*heads, _html.TableHead(difference, number=True)], rows))
    parts += [_html.paragraph(text, "muted") for text in calibration_sentences(found)]
    if found.decomposition is not None and found.decomposition.miscalibration is not None:
        parts.append(_parts_html(found.decomposition))
    if found.notes:
        parts.append(_html.folded("Notes", _html.items(found.notes)))
    return _html.fragment(*parts, style=_FIGURE)


_FIGURE: Final = (
    plot.STYLE.replace(
        f'[data-theme="light"] .{CLASS}', f'[data-jp-theme-light="true"] .{CLASS},.vscode-light .{CLASS}'
    ).replace(f'[data-theme="dark"] .{CLASS}', f'[data-jp-theme-light="false"] .{CLASS},.vscode-dark .{CLASS}')
    + f".{CLASS}{{background:var(--plot-paper)}}\n"
)  # figures follow the theme of a notebook, on a background of their own: a page may be light under a dark system
_COLUMNS: Final = ("mean confidence", "observed")


def _panel(found: Diagnosis, top: Reliability) -> _html.Html:
    """The reliability diagram."""
    panel = plot.calibration_panel(found.name, top, found.calibration_verdict)
    return _html.Html(panel.svg())


def _parts_html(parts: Decomposition) -> _html.Html:
    """The terms of the score as bars."""
    terms = parts_of(parts)
    most = max((abs(x) for _, x in terms), default=0.0) or 1.0
    rows = [
        (name, _html.Html(_html.bar(abs(x) / most, rest=x < 0) + _html.safe(fixed(x, 4, signed=True))))
        for name, x in terms
    ]
    head = f"{_rule(parts)} score {fixed(parts.score, 4)} is the sum of"
    return _html.table([_html.TableHead(head, heading=True), _html.TableHead("")], rows)


UNNAMED: Final = "predictions"
PLOTS: Final = ("reliability", "ranks", "listed", "mass")


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

    @property
    def _curves(self) -> dict[str, Any]:
        """What there is to draw, by the name of the figure."""
        found = self.calibration
        if found is None:
            return {}
        curves = {"reliability": found.top, "ranks": found.ranks, "listed": found.listed, "mass": found.mass}
        return {name: curve for name, curve in curves.items() if curve}

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

    @property
    def plots(self) -> tuple[str, ...]:
        """The figures that can be drawn of it."""
        return tuple(self._curves)

    @property
    def gain(self) -> float | None:
        """The miscalibration part of the mean score, which recalibration could gain at most; None without evidence."""
        if not self.miscalibrated or self.decomposition is None:
            return None
        return self.decomposition.miscalibration

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
        return page(self, max(60, width or WIDTH), command)

    def __repr__(self) -> str:
        return self.to_text(shutil.get_terminal_size((WIDTH, 24)).columns)

    def _repr_html_(self) -> str:
        return html(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values under a versioned schema, fit for JSON."""
        return as_dict(self)
