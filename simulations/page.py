"""What was measured, as a page of Markdown."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence

from simulations.fixed import (
    ALONE,
    BOARDS,
    CASES,
    CLUSTERS,
    CROSSED,
    MISSING,
    POWER,
    RARE,
    SKEWED,
    TIME,
    WEIGHTS,
)
from simulations.methods import LEAD, MISSES, STARS
from simulations.rows import Row

_HEAD = """| setting | method | what is counted | should be | measured | below | above | warned | draws | |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"""
_ERRORS = 3  # Monte Carlo errors
CALIBRATION = "Calibration"
ROOM = 1.4  # 7% where 5% is claimed: how much more often a default method may err without a warning
OFTEN, SELDOM = 0.9, 0.1  # how often to warn where a method errs more than that, and where there is nothing to warn of


def _most(rate: float, draws: int) -> float:
    """The largest share of so many draws that is not shown to be above a rate."""
    return rate + _ERRORS * math.sqrt(rate * (1 - rate) / max(1, draws))


def holds(row: Row) -> bool:
    """Whether what was measured is as good as it should be, up to three Monte Carlo errors.

    An error rate may be lower than it should be, a power higher.
    """
    return (
        row.measured <= _most(row.nominal, row.draws)
        if row.nominal < 0.5
        else 1 - row.measured <= _most(1 - row.nominal, row.draws)
    )


def promised(row: Row) -> bool:
    """Whether a default method errs at most 7% of the time where 5% is claimed, or warns, up to Monte Carlo error."""
    return row.measured <= _most(ROOM * row.nominal, row.draws) or warns(row)


def warns(row: Row) -> bool:
    """Whether nine data sets in ten have a warning, up to Monte Carlo error."""
    return row.warned is not None and 1 - row.warned <= _most(1 - OFTEN, row.draws)


def quiet(row: Row) -> bool:
    """Whether one data set in ten has a warning at most, up to Monte Carlo error."""
    return row.warned is not None and row.warned <= _most(SELDOM, row.draws)


def table(rows: Sequence[Row], *, head: bool = True) -> str:
    """A line for each."""
    return "\n".join([*([_HEAD] if head else []), *map(_line, rows)])


def _line(row: Row) -> str:
    sides = [_percent(share) for share in (row.below, row.above, row.warned)]
    if math.isnan(row.nominal):
        cells = ("", f"{row.measured:,.0f} ± {row.error:,.0f}", *sides, f"{row.draws:,}", "")
    else:
        nominal = f"{row.nominal:.1%}".replace(".0%", "%")
        cells = (nominal, f"{row.measured:.1%} ± {row.error:.1%}", *sides, f"{row.draws:,}", verdict(row))
    return "| " + " | ".join((row.setting, row.method, row.claim, *cells)) + " |"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def verdict(row: Row) -> str:
    """Holds, or the measured rate, in bold where it is far above; whether the output warns; what it does not say."""
    if not row.draws:
        return "no such data set"
    if row.absent == 1:
        return "refused"
    rate = f"{row.measured:.1%}"
    near = row.nominal < 0.5 and row.measured <= _most(ROOM * row.nominal, row.draws)
    said = "holds" if holds(row) else rate if near else f"**{rate}**"
    if not (holds(row) or near) and row.warned is not None:
        said += ", warned" if warns(row) else ", warned at times" if row.warned > 0 else ", not warned"
    if row.absent:
        said += f"; {row.absent:.1%} without"
    return said


def page(fixed: Sequence[tuple[str, Row]], always: Sequence[Row], *, seed: int, draws: int | None = None) -> str:
    """The whole page; rows at a fixed time come with their section."""
    command = "python -m simulations --write docs/coverage.md"
    if draws is not None:
        command += f" --draws {draws}"
    if seed:
        command += f" --seed {seed}"
    sections = dict.fromkeys(name for name, _ in fixed)
    tables = "\n\n".join(
        f"### {name}\n\n{_ABOUT[name]}\n\n{table([row for own, row in fixed if own == name])}" for name in sections
    )
    return _PAGE.format(
        command=command, summary=_summary(fixed), fixed=tables, always=table(always), room=f"{ROOM * 0.05:.0%}"
    )


# Summary: every sentence is filled from the rows


def _summary(fixed: Sequence[tuple[str, Row]]) -> str:
    """One paragraph about each section that was measured, and one about all of them."""
    lines = [_overall([row for _, row in fixed])]
    for name, more in _SENTENCES.items():
        rows = [row for own, row in fixed if own == name]
        if rows:
            said = [_section(rows), *(one(rows) for one in more)]
            lines.append(f"- **{name}.** {' '.join(text for text in said if text)}")
    wrapped = (textwrap.fill(line, 118, subsequent_indent="  " * (at > 0)) for at, line in enumerate(lines))
    return "\n".join(line if at else f"{line}\n" for at, line in enumerate(wrapped))


def _overall(rows: Sequence[Row]) -> str:
    own = [row for row in rows if row.method == "default" and row.draws and row.nominal < 0.5]
    held, near = [row for row in own if holds(row)], [row for row in own if not holds(row) and not _far(row)]
    told = [row for row in own if _far(row) and warns(row)]
    return (
        f"Of {len(own)} claims of default methods, {len(held)} hold; {len(near)} more err at most "
        f"{ROOM:g} times as often as they should; {len(told)} err more often and say so in at least "
        f"{OFTEN:.0%} of all data sets; {len(own) - len(held) - len(near) - len(told)} err more often without "
        'such a warning. The last are in bold below, and not followed by "warned".'
    )


def _far(row: Row) -> bool:
    return not holds(row) and row.measured > _most(ROOM * row.nominal, row.draws)


def _section(rows: Sequence[Row]) -> str:
    """From best to worst of the default methods."""
    own = [row for row in rows if row.method == "default" and row.draws and row.nominal < 0.5]
    if not own:
        return ""
    worst = max(own, key=lambda row: row.measured / row.nominal)
    count = sum(map(holds, own))
    if count == len(own):
        return f"All {count} claims of default methods hold."
    said = f"{count} of {len(own)} claims of default methods hold. The worst is: {worst.setting}, {worst.measured:.1%}"
    return f"{said} ({worst.claim}; {_warning(worst)})."


def _warning(row: Row) -> str:
    return "not warned" if not row.warned else f"warned in {row.warned:.0%}"


Sentence = Callable[[Sequence[Row]], str]


def _range(text: str, *, method: str = "default", claim: str = MISSES) -> Sentence:
    """A sentence about the least and the largest rate of one claim of a method; nothing where it was not measured."""

    def say(rows: Sequence[Row]) -> str:
        found = [row.measured for row in rows if row.method == method and row.claim.startswith(claim) and row.draws]
        return text.format(low=f"{min(found):.1%}", high=f"{max(found):.1%}") if found else ""

    return say


def _one_sided(rows: Sequence[Row]) -> str:
    """How unequal the two sides are, over all rows with both."""
    own = [row for row in rows if row.method == "default" and row.below is not None and row.above is not None]
    below, above = (sum(getattr(row, name) * row.draws for row in own) for name in ("below", "above"))
    if not below + above:
        return ""
    return f"Of all misses, {below / (below + above):.0%} are intervals that end below the true value."


_POISSON = "The Poisson bootstrap misses {low} to {high}."
_SENTENCES: dict[str, tuple[Sentence, ...]] = {
    CASES: (
        _range("Normal quantiles miss {low} to {high}.", method="normal"),
        _range("The bootstrap misses {low} to {high}.", method="bootstrap"),
        _range(_POISSON, method="poisson"),
    ),
    SKEWED: (
        _one_sided,
        _range("The bootstrap misses {low} to {high}.", method="bootstrap"),
        _range(_POISSON, method="poisson"),
    ),
    RARE: (
        _one_sided,
        _range(
            "A significant difference favours the worse model in {low} to {high} of all data sets.",
            claim="the worse one",
        ),
        _range(
            f"Of these significant differences, {{low}} to {{high}} come without a lead below {LEAD} largest losses, "
            "which is how many more could be due where none was seen.",
            claim="of these",
        ),
    ),
    WEIGHTS: (),
    CLUSTERS: (
        _range("The wild bootstrap misses {low} to {high} with ten clusters.", method="wild"),
        _range(_POISSON, method="poisson"),
        _range("Ignoring clusters misses {low} to {high}.", method=ALONE),
    ),
    TIME: (
        _range("Ignoring time misses {low} to {high}.", method=ALONE),
        _range("hac misses {low} to {high}.", method="hac"),
    ),
    CROSSED: (
        _range("With clusters alone {low} to {high} miss,", method="clusters only"),
        _range("with time alone {low} to {high},", method="time only"),
        _range("with neither {low} to {high}.", method=ALONE),
    ),
    BOARDS: (
        _range("Some pair of equal models differs significantly on {low} to {high} of all boards;", claim=STARS),
        _range("by p values of single pairs on {low} to {high}.", method="p of single pairs", claim=STARS),
        _range("The confidence set leaves out a best model in {low} to {high}.", claim="the confidence set"),
        _range(
            "The leader's own mean is missed in {low} to {high}: it was selected.",
            method="t after selection",
            claim="the leader",
        ),
    ),
    MISSING: (),
    CALIBRATION: (
        _range(
            "The test over clusters rejects calibrated lists in {low} to {high} of all data sets;",
            method="test over clusters",
            claim="rejects",
        ),
        _range(
            "as if cases were independent, in {low} to {high}.",
            method="test, as if cases were independent",
            claim="rejects",
        ),
        _range(
            "Intervals of gains by cross-validation miss those of fits to four fifths in {low} to {high},",
            method="gain of fits to four fifths",
        ),
        _range("and that of the fit to all cases in {low} to {high}.", method="gain of the fit to all cases"),
    ),
    POWER: (_range("Where 80% is asked for, {low} to {high} of all data sets separate the two.", claim="separates"),),
}

_ABOUT = {
    CASES: "Two forecasters, one of whom knows the probabilities; or differences with normal noise.",
    SKEWED: "Differences between two models with a long tail; the first one has it.",
    RARE: """The first model is the worse one: it is wrong as rarely as the second, but loses far more then. Where no
such case is in the sample, it looks better in every one. Hard labels are compared with the distributions that they are
the modes of. A lead is the sum of all differences in units of the largest loss that one more case could bring.""",
    WEIGHTS: "Weights that do not depend on the differences, whose mean is 0.1.",
    CLUSTERS: """Differences in a cluster share three tenths of their variance. Clusters have ten cases each, 2 to 20,
log-normal sizes, one has half of all cases, or the r-th largest has 400/r.""",
    TIME: "Differences that depend on their past, one time point after the other.",
    CROSSED: """Every place has a case in every week; the standard deviations of the effects of places and of weeks are
given, beside noise of 1.""",
    BOARDS: """Statements about a whole board at once. Where models are equal, every confidence set must have all of
them, and every rank interval all ranks.""",
    MISSING: "Four models, with intervals of relative skill and of skill over another.",
    CALIBRATION: """Tests of calibration over clusters whose outcomes are correlated, differences between confidence and
hit rate, and gains of recalibration by cross-validation against those in fresh cases.""",
    POWER: "n is the number of cases that the leaderboard computes for a power of 80%.",
}

_PAGE = """# How often intervals miss

Comparisons were made of simulated predictions whose true mean scores are known, and what was wrong in them was
counted. An interval at 95% should miss 5% of the time; a test at 5% should reject a true hypothesis 5% of the time;
a difference should be significant in the wrong direction 2.5% of the time at most.
Settings are chosen to break the methods, too: every row that was measured is here.

- *below*, *above*: the shares of intervals that end below the true value, and that begin above it;
- *warned*: the share of data sets for which the leaderboard warns that its intervals or tests may not hold: few
  cases, few or unequal clusters, few time points, strong autocorrelation, dominant weights, skewed
  differences, rare losses, dependence that the method ignores;
- the last column: "holds" means that the error rate is not above what it should be by more than three Monte Carlo
  errors; otherwise it has the measured rate, in bold where it is above {room} for a claim of 5% (in proportion for
  others), and then whether nine data sets in ten have a warning. "Without" is the share of data sets about which
  no statement is made, with a reason; that is no error.

This page is written by `{command}`.

## Summary

{summary}

## At one time that was fixed beforehand

"Default" is what a comparison does where no method is named.

{fixed}

## Looking after every case

{always}

"Ever" means at any of 2,000 cases. A median without a percentage is a number of cases; 2,001 stands for never.
"""
