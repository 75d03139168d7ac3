"""A figure as SVG that may stand within a page: presentation attributes, classes, text as text, few bytes.

matplotlib's own SVG has style attributes, which a strict content security policy forbids, and is much longer.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from html import escape
from typing import Any

from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, Transform

from toplist.report.plot.canvas import width
from toplist.report.plot.colours import CLASS, Theme

FAMILY = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
_LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}
_ANCHORS = {"center": "middle", "right": "end", "left": ""}
_MARK = "\0"  # stands for the prefix of ids until it is known


class Renderer(RendererBase):
    """Draws what matplotlib's artists ask for as elements of an SVG; images and collections are not among it."""

    def __init__(self, across: float, down: float, theme: Theme, *, classes: bool) -> None:
        super().__init__()
        self.across, self.down = across, down
        self.roles = {colour: role for role, colour in theme.colours.items()}
        self.classes = classes
        self.elements: list[str] = []
        self.definitions: dict[str, str] = {}  # element with a place for its id: the id
        self.flip = Affine2D().scale(1, -1).translate(0, down)

    # What artists ask about

    def get_canvas_width_height(self) -> tuple[float, float]:
        """The size of the figure."""
        return self.across, self.down

    def points_to_pixels(self, points: Any) -> Any:
        """A point is the unit here."""
        return points

    def get_text_width_height_descent(self, s: str, prop: Any, ismath: Any) -> tuple[float, float, float]:
        """An estimate: the font is the reader's, and every letter is in one of the reader's fonts."""
        size = prop.get_size_in_points()
        return width(s) * size, 0.95 * size, 0.22 * size

    def _get_font_height_metrics(self, prop: Any) -> tuple[float, float, float]:
        # asked for by matplotlib 3.11 and later, which otherwise takes the metrics of a font that is not used here
        size = prop.get_size_in_points()
        return 0.73 * size, 0.22 * size, 0.0

    # What they draw

    def draw_path(self, gc: GraphicsContextBase, path: Path, transform: Transform, rgbFace: Any = None) -> None:
        """A line, or an area."""
        paint = self._stroke(gc) | self._fill(gc, rgbFace)
        if paint.get("fill") == "none" and paint.get("stroke") == "none":
            return
        d = _data(path, transform + self.flip)
        if d:
            self.elements.append(f'<path d="{d}"{self._written(paint)}{self._clip(gc)}/>')

    def draw_markers(
        self, gc: Any, marker_path: Path, marker_trans: Transform, path: Path, trans: Transform, rgbFace: Any = None
    ) -> None:
        """One shape in many places."""
        places = [xy for xy in (trans + self.flip).transform(path.vertices) if all(map(math.isfinite, xy))]
        paint = self._stroke(gc) | self._fill(gc, rgbFace)
        if not places:
            return
        d = _data(marker_path, marker_trans + Affine2D().scale(1, -1))
        name = self._defined(f'<path id="{{}}" d="{d}"/>')
        uses = [f'<use href="#{name}" x="{_short(x)}" y="{_short(y)}"' for x, y in places]
        look, clip = self._written(paint), self._clip(gc)
        if len(uses) == 1 and not clip:  # a clip would move with what it clips
            self.elements.append(f"{uses[0]}{look}/>")
        else:
            self.elements.append(f"<g{look}{clip}>{'/>'.join(uses)}/></g>")

    def draw_text(
        self, gc: Any, x: float, y: float, s: str, prop: Any, angle: float, ismath: Any = False, mtext: Any = None
    ) -> None:
        """Text as text, which can be found, copied and read aloud."""
        attributes = {"font-size": _short(prop.get_size_in_points())}
        if mtext is not None and (angle == 0 or mtext.get_rotation_mode() == "anchor"):
            # the place that the text was given, so that it stays in line whatever font the reader has
            x, y = self._anchored(x, y, angle, mtext)
            anchor = _ANCHORS[mtext.get_ha()]
            attributes |= {"text-anchor": anchor} if anchor else {}
        if prop.get_weight() in ("bold", 700):
            attributes["font-weight"] = "bold"
        place = f' x="{_short(x)}" y="{_short(y)}"'
        if angle:
            place = f' transform="translate({_short(x)} {_short(y)}) rotate({_short(-angle)})"'
        written = self._written(attributes | self._paint("fill", gc.get_rgb(), gc.get_alpha()))
        self.elements.append(f"<text{place}{written}>{escape(s, quote=False)}</text>")

    # How it is written

    def _anchored(self, x: float, y: float, angle: float, mtext: Any) -> tuple[float, float]:
        ax, ay = mtext.get_transform().transform(mtext.get_unitless_position())
        ay = self.down - ay
        up = math.sin(math.radians(angle)), math.cos(math.radians(angle))
        offset = up[0] * (x - ax) + up[1] * (y - ay)
        return ax + offset * up[0], ay + offset * up[1]

    def _paint(self, what: str, rgb: Any, alpha: float | None) -> dict[str, str]:
        colour = to_hex(rgb[:3])
        paint = {what: colour}
        if self.classes and colour in self.roles:
            paint[f"class:{what}"] = f"{what[0]}-{self.roles[colour]}"
        opacity = rgb[3] if len(rgb) > 3 else alpha
        if opacity is not None and opacity != 1:
            paint[f"{what}-opacity"] = _short(opacity)
        return paint

    def _stroke(self, gc: GraphicsContextBase) -> dict[str, str]:
        if not gc.get_linewidth() or not gc.get_rgb()[3]:
            return {"stroke": "none"}
        paint = self._paint("stroke", gc.get_rgb(), gc.get_alpha())
        paint["stroke-width"] = _short(gc.get_linewidth())
        dashes: Any = gc.get_dashes()[1]
        if dashes is not None:
            paint["stroke-dasharray"] = " ".join(_short(x) for x in dashes)
        if gc.get_capstyle() != "butt":
            paint["stroke-linecap"] = {"projecting": "square"}.get(gc.get_capstyle(), gc.get_capstyle())
        return paint

    def _fill(self, gc: GraphicsContextBase, face: Any) -> dict[str, str]:
        if face is None or (len(face) > 3 and not face[3]):
            return {"fill": "none"}
        return self._paint("fill", face, gc.get_alpha())

    def _written(self, paint: Mapping[str, str]) -> str:
        classes = " ".join(v for k, v in paint.items() if k.startswith("class:"))
        rest = {k: v for k, v in paint.items() if not k.startswith("class:") and (k, v) != ("stroke", "none")}
        return (f' class="{classes}"' if classes else "") + "".join(f' {k}="{v}"' for k, v in rest.items())

    def _clip(self, gc: GraphicsContextBase) -> str:
        bounds = gc.get_clip_rectangle()
        if bounds is None:
            return ""
        x, y, w, h = bounds.bounds
        place = f'x="{_short(x)}" y="{_short(self.down - y - h)}" width="{_short(w)}" height="{_short(h)}"'
        return f' clip-path="url(#{self._defined(f"""<clipPath id="{{}}"><rect {place}/></clipPath>""")})"'

    def _defined(self, element: str) -> str:
        return self.definitions.setdefault(element, f"{_MARK}{len(self.definitions)}")


def render(figure: Figure, theme: Theme, *, title: str, words: str, inline: bool, prefix: str | None = None) -> str:
    """The figure as an SVG element, or as a file of its own."""
    figure.set_dpi(72)
    across, down = (72 * float(x) for x in figure.get_size_inches())
    figure.patch.set_visible(not inline)
    renderer = Renderer(across, down, theme, classes=inline)
    figure.draw(renderer)
    definitions = "".join(element.format(name) for element, name in renderer.definitions.items())
    body = "\n".join(renderer.elements)
    texts = f"<title>{escape(title, quote=False)}</title>", f"<desc>{escape(words, quote=False)}</desc>"
    if prefix is None:
        prefix = "p" + hashlib.sha256("".join((theme.name, *texts, definitions, body)).encode()).hexdigest()[:10]
    head = f'viewBox="0 0 {_short(across)} {_short(down)}" width="{_short(across)}" height="{_short(down)}"'
    named = "".join(t.replace(">", f' id="{_MARK}{w}">', 1) for t, w in zip(texts, "td", strict=True))
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{CLASS}" {head} role="img" '
        f'aria-labelledby="{_MARK}t {_MARK}d" font-family="{FAMILY}">{named}\n'
        + (f"<defs>{definitions}</defs>\n" if definitions else "")
        + f"{body}\n</svg>\n"
    )
    return svg.replace(_MARK, f"{prefix}-")


def _data(path: Path, transform: Transform) -> str:
    """The path as SVG writes it."""
    pieces = []
    for vertices, code in path.iter_segments(transform, remove_nans=True, simplify=False, curves=True):
        if code == Path.STOP:
            continue
        numbers = "" if code == Path.CLOSEPOLY else " ".join(map(_short, vertices))
        pieces.append(_LETTERS[code] + numbers)
    return "".join(pieces) if len(pieces) > 1 else ""


def _short(x: float) -> str:
    """A number to a twentieth of a pixel and better.

    >>> _short(12.0), _short(0.504), _short(-0.001)
    ('12', '.5', '0')
    """
    text = f"{x:.2f}".rstrip("0").rstrip(".")
    if text in ("-0", ""):
        return "0"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
