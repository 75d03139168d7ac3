"""Colours are told apart by everybody, on paper of either colour."""

from itertools import combinations

import numpy as np
import pytest

from toplist.errors import TopListError
from toplist.report import plot
from toplist.report.plot.canvas import DASHES, LABELLED, MARKERS, STEPS, THEMES, over, step, theme, told_apart

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB
VISIONS = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    """WCAG 2.2, from 1 to 21."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def distance(a: str, b: str, vision: str) -> float:
    """In OKLab (Ottosson 2020), where black and white are 1 apart."""
    places = [TO_LAB @ np.cbrt(TO_CONES @ np.clip(VISIONS[vision] @ linear(c), 0, 1)) for c in (a, b)]
    return float(np.linalg.norm(places[0] - places[1]))


@pytest.mark.parametrize("name", THEMES)
def test_what_is_drawn_stands_out_from_the_paper(name):
    look = theme(name)
    for role in (*(f"c{i}" for i in range(len(MARKERS))), "faint"):
        assert contrast(look[role], look["paper"]) >= 3, role


@pytest.mark.parametrize("name", THEMES)
def test_text_can_be_read(name):
    look = theme(name)
    assert contrast(look["ink"], look["paper"]) >= 7
    assert contrast(look["muted"], look["paper"]) >= 4.5
    for level in range(-STEPS, STEPS + 1):
        assert contrast(look[over(level)], look[step(level)]) >= 4.5, level


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("name", THEMES)
def test_the_colours_of_models_are_told_apart(name, vision):
    look = theme(name)
    colours = [look[f"c{i}"] for i in range(len(MARKERS))]
    assert min(distance(a, b, vision) for a, b in combinations(colours, 2)) > 0.12


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("name", THEMES)
def test_better_and_worse_are_told_apart_at_every_step(name, vision):
    look = theme(name)
    for level in range(1, STEPS + 1):
        assert distance(look[step(level)], look[step(-level)], vision) > 0.04, level
    sides = [[look[step(sign * level)] for level in range(STEPS + 1)] for sign in (1, -1)]
    assert all(distance(a, b, vision) > 0.04 for side in sides for a, b in combinations(side, 2))


@pytest.mark.parametrize("name", THEMES)
def test_every_role_has_a_colour_of_its_own(name):
    colours = list(THEMES[name].colours.values())
    assert len(set(colours)) == len(colours)
    assert THEMES[name].colours.keys() == THEMES["light"].colours.keys()


def test_labelled_lines_differ_by_more_than_colour():
    labels = told_apart([f"m{i}" for i in range(40)], ()).values()
    assert len(labels) == LABELLED == len({one.role for one in labels}) == len({one.shape for one in labels})
    assert len(MARKERS) == LABELLED
    assert len(set(DASHES)) == len(DASHES)


def test_the_style_sheet_has_every_role_in_both_themes():
    for role, colour in THEMES["dark"].colours.items():
        assert f".f-{role}{{fill:var(--plot-{role})}}" in plot.STYLE
        assert f".s-{role}{{stroke:var(--plot-{role})}}" in plot.STYLE
        assert plot.STYLE.count(f"--plot-{role}:{colour};") == 2
        assert plot.STYLE.count(f"--plot-{role}:{THEMES['light'][role]};") == 3


def test_an_unknown_theme_is_refused():
    with pytest.raises(TopListError, match="'sepia' is no theme of plots: there are 'light' and 'dark'"):
        theme("sepia")
