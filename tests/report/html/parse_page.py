"""A page as a tree, by the parser of the standard library: enough to check its structure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "hr", "img", "link"}


@dataclass
class Element:
    """An element with its attributes and what is in it."""

    tag: str
    attributes: dict[str, str]
    inside: list[Element | str] = field(default_factory=list)

    def every(self, *tags: str) -> Iterator[Element]:
        """The elements below, in the order of the page; those of some kinds, or all."""
        for one in self.inside:
            if isinstance(one, Element):
                if not tags or one.tag in tags:
                    yield one
                yield from one.every(*tags)

    def one(self, tag: str) -> Element:
        """The only one of a kind."""
        (found,) = self.every(tag)
        return found

    def identified(self, by: str) -> Element:
        """The one with this id."""
        (found,) = (one for one in self.every() if one.attributes.get("id") == by)
        return found

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(one if isinstance(one, str) else one.text for one in self.inside)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("document", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice: {attrs}"
        made = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def read(page: str) -> Element:
    """The tree of a page; elements that are not closed in order are an error."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    (document,) = reader.open
    return document
