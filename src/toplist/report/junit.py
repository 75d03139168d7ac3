"""A gate as JUnit XML, which continuous integration shows: one suite, one test case per check."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from toplist._text import escaped

if TYPE_CHECKING:
    from toplist.report.gate import GateReport

_SUITE = "toplist.gate"
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 has no character for


def as_junit(found: GateReport, *, inconclusive: str = "fail") -> str:
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
        ElementTree.SubElement(properties, "property", name=name, value=_text(value))
    for check in found.checks:
        name = _text(f"{check.name}: loss {'at most' if check.rule == 'case' else 'below'} {check.limit:g}")
        case = ElementTree.SubElement(suite, "testcase", name=name, classname=_SUITE, time="0")
        said = _text(found.sentence(check))
        if check in skipped:
            ElementTree.SubElement(case, "skipped", message=said)
        elif check in failed:
            ElementTree.SubElement(case, "failure", message=said, type=check.verdict).text = said
    ElementTree.SubElement(suite, "system-out").text = _text(found.to_text())
    ElementTree.SubElement(suite, "system-err")
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _text(text: str) -> str:
    """The text in characters that XML has."""
    return _NO_XML.sub(lambda found: escaped(found[0]), text)


def _now() -> str:
    """When it was made, or SOURCE_DATE_EPOCH, so that a document can be made again byte for byte."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    made = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return made.strftime("%Y-%m-%dT%H:%M:%S")
