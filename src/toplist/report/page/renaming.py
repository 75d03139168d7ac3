"""What was found under the names that the page shows, so that figures and sentences speak of the same predictors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from toplist.evidence.findings import Exhibit
from toplist.ranking.results import ConfidenceSet, Results, Section
from toplist.report.page.wording import Name, names


def renamed(
    results: Results, exhibits: Sequence[Exhibit], shown: Mapping[str, Name]
) -> tuple[Results, tuple[Exhibit, ...]]:
    """Predictors and groups as they are called on the page: shortened, and numbered where they look alike."""

    def called(name: str) -> str:
        return shown[name].text if name in shown else name

    def section(found: Section, group: str | None) -> Section:
        rows = tuple(replace(row, name=called(row.name)) for row in found.standings)
        return replace(found, group=group, standings=rows)

    def chosen(found: ConfidenceSet) -> ConfidenceSet:
        p = {called(name): value for name, value in found.p.items()}
        return replace(found, members=tuple(map(called, found.members)), p=p)

    groups = names(one.group or "" for one in results.groups)
    found = replace(
        results,
        overall=section(results.overall, results.overall.group),
        groups=tuple(section(one, groups[one.group or ""].text) for one in results.groups),
        pairs=tuple(replace(pair, a=called(pair.a), b=called(pair.b)) for pair in results.pairs),
        confidence_set=None if results.confidence_set is None else chosen(results.confidence_set),
        paths=tuple(
            replace(path, candidate=called(path.candidate), baseline=called(path.baseline)) for path in results.paths
        ),
    )
    return found, tuple(replace(exhibit, name=called(exhibit.name)) for exhibit in exhibits)
