"""A figure: what it says as plain values, and how it is drawn, apart."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from toplist._files import require_place, write_bytes
from toplist.errors import TopListError
from toplist.report.plot.canvas import load, settings
from toplist.report.plot.colours import Theme, theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Described(Protocol):
    """Values that can be drawn say in words what the figure shows."""

    @property
    def title(self) -> str:
        """What it is, in a few words."""

    @property
    def words(self) -> str:
        """What it shows, for those who cannot see it."""


D = TypeVar("D", bound=Described)


@dataclass(frozen=True, slots=True)
class Plot(Generic[D]):
    """A figure that is drawn when it is looked at.

    Attributes
    ----------
    data : object
        The plain values in it, with a `title` and, in `words`, what it shows.
    draw : callable
        Makes a figure of matplotlib from the values and a theme.
    """

    data: D
    draw: Callable[[D, Theme], Any] = field(repr=False)

    def figure(self, theme: str = "light") -> Figure:
        """The figure as matplotlib has it.

        Parameters
        ----------
        theme : {"light", "dark"}, default "light"
            The colours.

        Returns
        -------
        matplotlib.figure.Figure
        """
        with settings():
            return self._drawn(_theme(theme))

    def svg(self, theme: str = "light", *, inline: bool = True, prefix: str | None = None) -> str:
        """The figure as SVG, without style attributes, so that it obeys a strict content security policy.

        Parameters
        ----------
        theme : {"light", "dark"}, default "light"
            The colours; an inline figure follows the theme of its page where that has the rules of `STYLE`.
        inline : bool, default True
            An element to stand in a page, without a background; else the content of a file.
        prefix : str, optional
            What ids begin with; made of the content if it is not given.

        Returns
        -------
        str
        """
        if prefix is not None and not re.fullmatch(r"[A-Za-z][\w-]*", prefix, re.ASCII):
            raise TopListError(f"{prefix!r} cannot begin an id: take a letter, then letters, digits, - and _.")
        look = _theme(theme)
        with settings(fonts=False):
            render = load("toplist.report.plot.svg").render
            said = {"title": self.data.title, "words": self.data.words}
            made: str = render(self._drawn(look), look, inline=inline, prefix=prefix, **said)
        return made

    def save(self, path: Any, theme: str = "light") -> None:
        """Write the figure to a file, whole or not at all.

        Parameters
        ----------
        path : str or os.PathLike
            The file; its name ends with .svg, .pdf or .png.
        theme : {"light", "dark"}, default "light"
            The colours.

        Raises
        ------
        TopListError
            For another format, or where there is no such folder.
        """
        suffix = Path(path).suffix.lower()
        if suffix not in (".svg", ".pdf", ".png"):
            raise TopListError(f"a plot is saved as .svg, .pdf or .png, not {suffix or 'without a suffix'}.")
        require_place(path)
        if suffix == ".svg":
            head = '<?xml version="1.0" encoding="utf-8"?>\n'
            write_bytes(path, (head + self.svg(theme, inline=False)).encode("utf-8"))
            return
        drawn = BytesIO()
        with settings():
            metadata = {"CreationDate": None} if suffix == ".pdf" else {"Software": None}
            self._drawn(_theme(theme)).savefig(drawn, format=suffix[1:], dpi=216, metadata=metadata)
        write_bytes(path, drawn.getvalue())

    def _repr_svg_(self) -> str:
        return self.svg(inline=False)

    def _repr_html_(self) -> str:
        return f"<div>{self.svg(inline=False)}</div>"

    def _drawn(self, look: Theme) -> Figure:
        drawn: Figure = self.draw(self.data, look)
        return drawn


_theme = theme  # an argument has its name
