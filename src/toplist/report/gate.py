"""What a gate found: checks with their verdicts and numbers, as text, Markdown, HTML, JUnit XML and plain values.

A loss is the score of the new model minus that of the baseline: below zero, the new model is better.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from xml.etree import ElementTree

from toplist import _html
from toplist._html import TableHead
from toplist._text import escaped, fixed, significant, visible
from toplist.inference.intervals import SAME
from toplist.report.export import to_json, to_plain
from toplist.report.markup import in_markdown
from toplist.report.text import count, kind, listed, noun, number_of, percent, plain, shorten, wrap

SCHEMA = "toplist.gate/1"
Verdict = Literal["pass", "fail", "inconclusive"]
RuleOfGate = Literal["mean", "case", "group"]
IDENTICAL = "the predictions are the same in every case"
_WORDS: dict[Verdict, str] = {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE"}
_LINES = 12  # of a summary in Markdown
_WORST = 3  # cases in a line
_LONG = 400  # characters of a line in a summary
_DECIMALS = 6  # at most, of a loss
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class CaseLoss:
    """One case with the scores of both models; the loss is zero where both are infinite."""

    case: str
    new: float
    baseline: float
    loss: float


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One condition: on the mean, on every case, or on the mean of a group."""

    rule: RuleOfGate
    verdict: Verdict
    limit: float  # the loss that is not to be reached, or in a single case not to be exceeded
    value: float  # the mean loss, or the largest one
    lower: float | None = None  # one-sided confidence bounds of a mean; of a group, the lower one is for all groups
    upper: float | None = None
    cases: int = 0
    units: int = 0
    group: str | None = None
    reason: str = ""  # why there are no bounds, or what decides without them
    needed: int | None = None  # units that show it 4 times in 5 if the two models are equal
    needed_observed: int | None = None  # the same if the true mean loss is the observed one
    over: int = 0  # cases that lose more than the limit
    worst: tuple[CaseLoss, ...] = ()  # the largest losses

    @property
    def shown(self) -> bool:
        """Whether a bound is behind a pass: identical predictions pass without one."""
        return self.reason != IDENTICAL or (self.upper is not None and self.upper < self.limit)

    @property
    def name(self) -> str:
        """What is checked, in a word or two."""
        return {"mean": "mean", "case": "every case", "group": f"group {self.group}"}[self.rule]


@dataclass(frozen=True, slots=True, repr=False)
class GateReport:
    """Whether a new model is no worse than a baseline, by the checks that were asked for; made by `gate`.

    Attributes
    ----------
    new, baseline : str
        The names of the two models.
    rule : str
        The scoring rule.
    level : float
        The confidence level of every one-sided bound.
    max_loss : float
        The margin: a mean loss that is not to be reached.
    checks : tuple of GateCheck
        The mean, every case, and every group, as far as they were asked for.
    cases : int
        Cases that both models were compared on.
    unit : str
        What is taken as independent, or follows in time: case, cluster or time point.
    units : int
        How many units there are.
    method : str
        How the bounds were made, and what that assumes.
    group : str or None
        What the groups are.
    warnings : tuple of str
        What makes the result doubtful.
    notes : tuple of str
        What was left out or counted in a way of its own.
    command : str
        How to reproduce it in a shell; empty where the gate was called from Python.

    Examples
    --------
    >>> check = GateCheck("mean", "pass", 0.01, -0.002, -0.005, 0.001, cases=500, units=500)
    >>> found = GateReport("new", "old", "brier", 0.95, 0.01, (check,), 500, "case", 500, "paired t intervals")
    >>> found.passed, found.verdict
    (True, 'pass')
    """

    new: str
    baseline: str
    rule: str
    level: float
    max_loss: float
    checks: tuple[GateCheck, ...]
    cases: int
    unit: str
    units: int
    method: str
    group: str | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    command: str = ""

    @property
    def verdict(self) -> Verdict:
        """Fail where any check fails, else inconclusive where any is, else pass."""
        found = {check.verdict for check in self.checks}
        return "fail" if "fail" in found else "inconclusive" if "inconclusive" in found else "pass"

    @property
    def passed(self) -> bool:
        """Whether every check passed: what is inconclusive has not."""
        return self.verdict == "pass"

    # Sentences

    @property
    def headline(self) -> str:
        """The verdict in a sentence."""
        return _headline(self)

    def sentence(self, check: GateCheck) -> str:
        """What a check found, with the numbers that decide it."""
        return "".join(_sentence(self, check))

    # For people

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        who = f"{plain(self.new)} against {plain(self.baseline)}"
        return f"GateReport({_WORDS[self.verdict]}: {who}, {number_of(len(self.checks), 'check')})"

    def to_text(self, width: int = _WIDTH) -> str:
        """The verdict, the checks, warnings and notes in a few lines."""
        lines = wrap(f"{_WORDS[self.verdict]}: {self.headline}", width)
        shown = _shown(self.checks)
        for check in shown:
            lines += _indented(f"{_WORDS[check.verdict]} {_prefix(check)}{self.sentence(check)}", width)
        if len(shown) < len(self.checks):
            lines += _indented(_rest(self.checks, shown), width)
        for sentence in self.warnings:
            lines += _indented(f"warning: {visible(sentence)}", width)
        for sentence in self.notes:
            lines += _indented(visible(sentence), width)
        return "\n".join(lines)

    def to_markdown(self) -> str:
        """A summary of at most 12 lines for a pull request: the verdict first, then numbers, cases, how to reproduce.

        Returns
        -------
        str
            GitHub's Markdown; names are escaped.

        """
        rows = [[check.name, _WORDS[check.verdict], self.sentence(check)] for check in _of_all(self.checks)]
        groups = [check for check in self.checks if check.rule == "group"]
        if groups:
            found: Verdict = next((v for v in ("fail", "inconclusive") if any(c.verdict == v for c in groups)), "pass")
            rows.append([f"every {plain(self.group or 'group')}", _WORDS[found], _of_groups(self, groups)])
        grid = [["check", "verdict", "result"], [":--", ":--", ":--"]]
        table = [
            f"| {' | '.join(row)} |" for row in (*grid, *([in_markdown(_cut(cell)) for cell in row] for row in rows))
        ]
        below = [f"- {in_markdown(_cut(one))}" for one in self._below()]
        end = [f"- Reproduce: {_code(self.command)}"] if self.command else []
        head = [f"**{_WORDS[self.verdict]}**: {in_markdown(self.headline)}", "", *table, ""]
        return "\n".join([*head, *below[: _LINES - len(head) - len(end)], *end]).rstrip() + "\n"

    def _below(self) -> Iterator[str]:
        """What stands below the table, the most important first."""
        if self.warnings:
            more = f" (and {count(len(self.warnings) - 1)} more)" if len(self.warnings) > 1 else ""
            yield f"Warning{more}: {self.warnings[0]}"
        worst = next((check.worst for check in self.checks if check.rule != "group" and check.worst), ())
        if worst:
            yield f"Largest losses: {_losses(worst)}."
        if self.notes:
            yield " ".join(self.notes)

    def _repr_html_(self) -> str:
        rows = [[_html.name(check.name), _WORDS[check.verdict], self.sentence(check)] for check in _shown(self.checks)]
        rest = [_rest(self.checks, _shown(self.checks))] if len(rows) < len(self.checks) else []
        heads = [TableHead("check", heading=True), TableHead("verdict"), TableHead("result")]
        return _html.fragment(
            _html.paragraph(f"{_WORDS[self.verdict]}: {self.headline}", "verdict"),
            _html.table(heads, rows),
            *(_html.paragraph(one, "muted") for one in rest),
            *(_html.paragraph(f"Warning: {one}", "warn") for one in self.warnings),
            *(_html.paragraph(one, "muted") for one in self.notes),
        )

    # For programs

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; what is infinite is null."""
        told = [{"name": check.name, "sentence": self.sentence(check)} for check in self.checks]
        found = to_plain(self)
        found["checks"] = [{**one, **to_plain(more)} for one, more in zip(found["checks"], told, strict=True)]
        return {"schema": SCHEMA, "verdict": self.verdict, "passed": self.passed, "headline": self.headline, **found}

    def to_json(self) -> str:
        """The same as text in ASCII."""
        return to_json(self.to_dict())

    def to_junit(self, *, inconclusive: str = "fail") -> str:
        """A JUnit XML document: one suite, one test case per check.

        Parameters
        ----------
        inconclusive : {"fail", "pass"}, default "fail"
            Whether an inconclusive check is a failed test case, or a skipped one.

        Returns
        -------
        str
            XML; what is no character of XML in a name is escaped.

        """
        return _junit(self, inconclusive=inconclusive)


# The verdict and the checks in words


def _headline(found: GateReport) -> str:
    new, old = plain(found.new), plain(found.baseline)
    score = f"in the mean {kind(found.rule)} score"
    failed = [check for check in found.checks if check.verdict == "fail"]
    open_ = [check for check in found.checks if check.verdict == "inconclusive"]
    also = _also(found)
    if not failed and not open_:
        if any(check.rule == "mean" and check.reason == IDENTICAL for check in found.checks):
            return f"{new} and {old} are identical, list by list: nothing was tested."
        return f"{new} is not worse than {old} by {found.max_loss:g} or more {score}{also}."
    if failed:
        first = failed[0]
        if first.rule == "case":
            return f"{new} loses more than {first.limit:g} to {old} in {number_of(first.over, 'case')}."
        where = "" if first.group is None else f" in {groups_in_words(failed)}"
        if math.isinf(first.value):
            return f"{new} scores infinitely where {old} does not{where}."
        return f"{new} is worse than {old} by more than {first.limit:g} {score}{where}."
    where = "" if open_[0].group is None else f" in {groups_in_words(open_)}"
    return f"that {new} is not worse than {old} by {open_[0].limit:g} or more {score}{where} is not shown."


def groups_in_words(checks: Sequence[GateCheck]) -> str:
    """The groups among what was checked.

    >>> groups_in_words([GateCheck("group", "pass", 0.01, 0.0, group=name) for name in "ab"])
    'groups a and b'
    """
    own = [check for check in checks if check.rule == "group"]
    return f"{noun(len(own), 'group')} {listed((plain(str(check.group)) for check in own), 3)}"


def _also(found: GateReport) -> str:
    """What else holds where all checks pass."""
    said = []
    groups = [check for check in found.checks if check.rule == "group"]
    case = next((check for check in found.checks if check.rule == "case"), None)
    if groups:
        limit = groups[0].limit
        by = "" if limit == found.max_loss else f" by {limit:g} or more"
        hidden = sum(not check.shown for check in groups)
        but = f" ({count(hidden)} of them identical, and not tested)" if hidden else ""
        said.append(f"nor{by} in any of {number_of(len(groups), 'group')}{but}")
    if case is not None:
        said.append(f"and loses no more than {case.limit:g} in any case")
    return "".join(f", {one}" for one in said)


def _sentence(found: GateReport, check: GateCheck) -> Iterator[str]:
    new, old = plain(found.new), plain(found.baseline)
    many = number_of(check.cases, "case") + ("" if found.unit == "case" else f", {number_of(check.units, found.unit)}")
    if check.rule == "case":
        yield _of_cases(check)
        return
    if math.isinf(check.value) and check.value > 0:
        endless = number_of(check.over, "case")
        yield f"{new} scores infinitely in {endless} where {old} does not ({_losses(check.worst)})"
        return
    if check.reason == IDENTICAL and not check.shown:
        yield f"{unseen_differences(check, found.level)}{_in_units(check, found.unit)}"
        return
    if check.reason in (IDENTICAL, SAME):
        yield from _without_spread(check, found, many)
        return
    digits = _digits(check)
    mean = f"mean loss {fixed(check.value, digits, signed=True)}"
    if check.lower is None or check.upper is None:
        yield f"{mean}, without a bound ({check.reason}), so that nothing is shown; {many}"
        return
    low, high = (fixed(end, digits, signed=True) for end in (check.lower, check.upper))
    level = f"one-sided {percent(found.level)}"
    if check.verdict == "pass":
        yield f"{mean}, upper bound {high} ({level}), below {check.limit:g}; {many}"
        return
    if check.verdict == "fail":
        all_ = "" if check.group is None else ", for all groups at once"
        yield f"{mean}, lower bound {low} ({level}{all_}), above {check.limit:g}; {many}"
        return
    yield f"{mean}, upper bound {high} ({level}), not below {check.limit:g}; {many}"
    yield _needs(check, found.unit)


def unseen_differences(check: GateCheck, level: float) -> str:
    """What identical predictions do not show."""
    alike = f"identical in all {number_of(check.cases, 'case')}" if check.cases != 1 else "identical in the only case"
    if check.upper is None:
        return f"{alike}; nothing bounds the loss in cases that were not seen"
    most = significant(check.upper, 3)
    return f"{alike}; a mean loss of up to {most} in cases that were not seen cannot be excluded at {percent(level)}"


def _in_units(check: GateCheck, unit: str) -> str:
    return "" if unit == "case" else f"; {number_of(check.units, unit)}"


def _without_spread(check: GateCheck, found: GateReport, many: str) -> Iterator[str]:
    """Scores that are the same, by the exact bound."""
    what = "identical" if check.reason == IDENTICAL else "the same scores"
    if check.upper is None:
        yield f"{what} in every case; nothing bounds the loss in cases that were not seen; {many}"
        return
    below = "below" if check.upper < check.limit else "not below"
    bound = f"upper bound {significant(check.upper, 3, sign=True)} (exact, one-sided {percent(found.level)})"
    yield f"{what} in every case, {bound}, {below} {check.limit:g}; {many}"
    if check.needed is not None:
        yield f"; {number_of(check.needed, found.unit)} with the same scores would show it"


def _needs(check: GateCheck, unit: str) -> str:
    """How many units would show it."""
    if check.needed is None:
        return ""
    equal = f"if the two models are equal, {number_of(check.needed, unit)} would show it 4 times in 5"
    if check.needed <= check.units:
        equal = f"if the two models were equal, these {unit}s would show it 4 times in 5"
    seen = ""
    if check.needed_observed is not None and 0 < check.value < check.limit:
        seen = f", and {count(check.needed_observed)} if the true loss is the observed one"
    return f"; {equal}{seen}"


def _of_cases(check: GateCheck) -> str:
    if check.verdict == "pass":
        if not check.worst:
            return f"no case loses anything, the limit is {check.limit:g}"
        first = check.worst[0]
        return f"largest loss in a case {_loss(first.loss)} (case {_case(first.case)}), not above {check.limit:g}"
    lose = noun(check.over, "loses", "lose")
    over = [one for one in check.worst if one.loss > check.limit]
    return f"{number_of(check.over, 'case')} of {count(check.cases)} {lose} more than {check.limit:g}: {_losses(over)}"


def _losses(worst: Sequence[CaseLoss]) -> str:
    return ", ".join(f"case {_case(one.case)} ({_loss(one.loss)})" for one in worst[:_WORST])


def _case(name: str) -> str:
    return plain(name, 40)


def _loss(loss: float) -> str:
    return significant(loss, sign=True)


def _digits(check: GateCheck) -> int:
    """Decimals that tell the bounds apart from the limit, and show two digits of the width."""
    ends = [end for end in (check.lower, check.upper) if end is not None]
    gaps = [abs(check.value - end) for end in ends] + [abs(check.limit - end) for end in ends] + [abs(check.limit)]
    least = min((gap for gap in gaps if 0 < gap < math.inf), default=0.01)
    return min(max(3, 1 - math.floor(math.log10(least))), _DECIMALS)


def _of_groups(found: GateReport, groups: Sequence[GateCheck]) -> str:
    """All groups in a line: how many pass, and the one with the least favourable bound."""
    counts = {verdict: sum(check.verdict == verdict for check in groups) for verdict in _WORDS}
    said = ", ".join(f"{count(many)} {word}" for word, many in counts.items() if many)
    shown = _least_favourable(groups)
    return f"{said}; {plain(str(shown.group))}: {found.sentence(shown)}"


def _least_favourable(groups: Sequence[GateCheck]) -> GateCheck:
    order = {"fail": 0, "inconclusive": 1, "pass": 2}
    return min(groups, key=lambda check: (order[check.verdict], -(math.inf if check.upper is None else check.upper)))


def _of_all(checks: Sequence[GateCheck]) -> list[GateCheck]:
    return [check for check in checks if check.rule != "group"]


_MOST_GROUPS = 10


def _shown(checks: Sequence[GateCheck]) -> list[GateCheck]:
    """All checks, or those over all cases and the groups that are least favourable."""
    groups = [check for check in checks if check.rule == "group"]
    if len(groups) <= _MOST_GROUPS:
        return list(checks)
    order = {"fail": 0, "inconclusive": 1, "pass": 2}
    first = sorted(groups, key=lambda one: (order[one.verdict], -(math.inf if one.upper is None else one.upper)))
    return [*_of_all(checks), *first[:_MOST_GROUPS]]


def _rest(checks: Sequence[GateCheck], shown: Sequence[GateCheck]) -> str:
    left = [check for check in checks if check not in shown]
    passed = sum(check.verdict == "pass" for check in left)
    return f"and {number_of(len(left), 'group')} more, of which {count(passed)} {noun(passed, 'passes', 'pass')}"


def _prefix(check: GateCheck) -> str:
    return "" if check.group is None else f"group {plain(check.group)}: "


def _cut(text: str) -> str:
    return shorten(list(visible(text)), _LONG, len)


def _code(command: str) -> str:
    """A span of code that ends where it should."""
    fence = "`" * (1 + max((len(run) for run in _ticks(command)), default=0))
    inside = visible(command)
    pad = " " if "`" in inside else ""
    return f"{fence}{pad}{inside}{pad}{fence}"


def _ticks(text: str) -> list[str]:
    return ["".join(run) for run in text.replace("`", " ` ").split() if set(run) == {"`"}] if "`" in text else []


def _indented(text: str, width: int) -> list[str]:
    return [f"  {line}" for line in wrap(text, width - 2)]


# JUnit XML: one suite, one test case per check

_SUITE = "toplist.gate"
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 has no character for


def _junit(found: GateReport, *, inconclusive: str = "fail") -> str:
    """The document; with `inconclusive="pass"`, a check that shows nothing is a skipped test case."""
    skips = inconclusive == "pass"
    failed = [check for check in found.checks if check.verdict == "fail" or (check.verdict != "pass" and not skips)]
    skipped = [check for check in found.checks if check.verdict == "inconclusive"] if skips else []
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        suites,
        "testsuite",
        name=_SUITE,
        package=_SUITE,
        id="0",
        tests=str(len(found.checks)),
        failures=str(len(failed)),
        errors="0",
        skipped=str(len(skipped)),
        time="0",
        timestamp=_now(),
        hostname="localhost",
    )
    properties = ElementTree.SubElement(suite, "properties")
    known = {
        "verdict": found.verdict,
        "new": found.new,
        "baseline": found.baseline,
        "rule": found.rule,
        "level": f"{found.level:g}",
        "cases": str(found.cases),
        "method": found.method,
    }
    for name, value in known.items():
        ElementTree.SubElement(properties, "property", name=name, value=_in_xml(value))
    for check in found.checks:
        name = _in_xml(f"{check.name}: loss {'at most' if check.rule == 'case' else 'below'} {check.limit:g}")
        case = ElementTree.SubElement(suite, "testcase", name=name, classname=_SUITE, time="0")
        said = _in_xml(found.sentence(check))
        if check in skipped:
            ElementTree.SubElement(case, "skipped", message=said)
        elif check in failed:
            ElementTree.SubElement(case, "failure", message=said, type=check.verdict).text = said
    ElementTree.SubElement(suite, "system-out").text = _in_xml(found.to_text())
    ElementTree.SubElement(suite, "system-err")
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _in_xml(text: str) -> str:
    """The text in characters that XML has."""
    return _NO_XML.sub(lambda found: escaped(found[0]), text)


def _now() -> str:
    """When it was made, or SOURCE_DATE_EPOCH, so that a document can be made again byte for byte."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    made = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return made.strftime("%Y-%m-%dT%H:%M:%S")
