"""SVG as a tree of elements."""

from xml.etree import ElementTree


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg.encode())  # noqa: S314  it is our own text
