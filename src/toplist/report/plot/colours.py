"""Colours that can be told apart by people who see few of them, in two themes that pages switch between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from toplist.errors import TopListError

CYCLE = 8  # colours, with a marker and a line style each, so that nothing is said by colour alone
MARKERS = ("o", "s", "^", "D", "v", "P", "<", "X", ">", "p")
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.5, 1.5), (6, 1.5, 1.5, 1.5))
STEPS = 4  # of the scale of differences, to either side of its middle
CLASS = "toplist-plot"

# Light and dark. After Okabe and Ito (2008), moved apart as far as a contrast of 3 to 1 with the paper allows, for
# normal vision and for that of deuteranopes and protanopes.
_COLOURS = {
    "paper": ("#ffffff", "#161a20"),
    "ink": ("#1f2328", "#e8eaed"),
    "muted": ("#59636e", "#a3adb8"),
    "grid": ("#d8dde3", "#363d47"),
    "c0": ("#1560c3", "#07acff"),
    "c1": ("#d66e1e", "#ce6f13"),
    "c2": ("#125b6f", "#3de1de"),
    "c3": ("#ca79a4", "#cc7aa3"),
    "c4": ("#6a1817", "#995661"),
    "c5": ("#368cfe", "#0069cc"),
    "c6": ("#835208", "#e7ac6b"),
    "c7": ("#30206a", "#f6e728"),
    "below4": ("#0b3f7d", "#a9d2ff"),
    "below3": ("#2b6cb4", "#5f9fe2"),
    "below2": ("#98bfe8", "#2a5688"),
    "below1": ("#d6e6f6", "#203650"),
    "level0": ("#f1f1ef", "#2a2f37"),
    "above1": ("#fbe2c6", "#48331d"),
    "above2": ("#f3b571", "#79500f"),
    "above3": ("#a85a08", "#de9236"),
    "above4": ("#6e3900", "#ffca8a"),
}
_LIGHT, _DARK = ({role: pair[i] for role, pair in _COLOURS.items()} for i in range(2))


@dataclass(frozen=True, slots=True)
class Theme:
    """What each role looks like."""

    name: str
    colours: Mapping[str, str]

    def __getitem__(self, role: str) -> str:
        return self.colours[role]

    def cycle(self, i: int) -> str:
        """The colour of the model in this place."""
        return self.colours[f"c{i % CYCLE}"]


THEMES = MappingProxyType(
    {"light": Theme("light", MappingProxyType(_LIGHT)), "dark": Theme("dark", MappingProxyType(_DARK))}
)


def theme(name: str) -> Theme:
    """A theme by its name."""
    if name not in THEMES:
        raise TopListError(f"{name!r} is no theme of plots: there are {' and '.join(map(repr, THEMES))}.")
    return THEMES[name]


def marker(i: int) -> str:
    """The marker of the model in this place; with its colour it is unique among 40."""
    return MARKERS[i % len(MARKERS)]


def dashes(i: int) -> tuple[float, ...]:
    """The line style of the model in this place, in line widths on and off; with its colour unique among 32."""
    return DASHES[(i + i // CYCLE) % len(DASHES)]


def step(level: int) -> str:
    """The role of a step of the scale of differences: blue below zero, orange above.

    >>> step(-2), step(0), step(4)
    ('below2', 'level0', 'above4')
    """
    return f"below{-level}" if level < 0 else f"above{level}" if level else "level0"


def over(level: int) -> str:
    """The role of text over a step of the scale of differences."""
    return "paper" if abs(level) > STEPS / 2 else "ink"


def _style() -> str:
    def variables(colours: Mapping[str, str]) -> str:
        return "".join(f"--plot-{role}:{colour};" for role, colour in colours.items())

    light, dark = variables(_LIGHT), variables(_DARK)
    rules = [
        f".{CLASS}{{display:block;width:100%;max-width:44rem;height:auto;{light}}}",
        f"@media (prefers-color-scheme:dark){{.{CLASS}{{{dark}}}}}",
        f'[data-theme="light"] .{CLASS}{{{light}}}',
        f'[data-theme="dark"] .{CLASS}{{{dark}}}',
        f"@media print{{.{CLASS}.{CLASS}.{CLASS}{{{light}}}}}",
        *(f".{CLASS} .f-{role}{{fill:var(--plot-{role})}}" for role in _LIGHT),
        *(f".{CLASS} .s-{role}{{stroke:var(--plot-{role})}}" for role in _LIGHT),
    ]
    return "\n".join(rules) + "\n"


STYLE = _style()
"""The style sheet of inline figures, for both themes: of the system, or of an element around with `data-theme`."""
