"""The palette: contrast after WCAG 2.2, and colours apart under colour-vision deficiencies."""

import itertools
import re
from importlib.resources import files

import matplotlib as mpl
import numpy as np
import pytest

from meantime.report.style import DARK, LIGHT, MARKERS, SERIES, new_figure, styled

PALETTES = {"light": LIGHT, "dark": DARK}
TEXT = ("ink", "muted", "blue")
"""Roles that text is set in."""
SEES = {
    "all colours": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}
"""Linear RGB as seen with a deficiency of full severity (Machado, Oliveira and Fernandes 2009)."""


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    high, low = sorted((float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE 1976 L*a*b* under D65."""
    matrix = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    xyz = np.array(matrix) @ np.clip(rgb, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_contrast_of_black_and_white_is_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", PALETTES)
@pytest.mark.parametrize("role", TEXT)
@pytest.mark.parametrize("ground", ["paper", "shade"])
def test_text_has_aa_contrast(theme: str, role: str, ground: str) -> None:
    assert contrast(PALETTES[theme][role], PALETTES[theme][ground]) >= 4.5


@pytest.mark.parametrize("theme", PALETTES)
@pytest.mark.parametrize("role", SERIES)
def test_marks_stand_out_from_the_paper(theme: str, role: str) -> None:
    assert contrast(PALETTES[theme][role], PALETTES[theme]["paper"]) >= 3


@pytest.mark.parametrize("theme", PALETTES)
@pytest.mark.parametrize("sight", SEES)
def test_series_side_by_side_differ(theme: str, sight: str) -> None:
    """Three clusters in the forest plot, two kinds of bars: CIE76 distance 20, ten times what is just seen."""
    seen = {role: lab(np.asarray(SEES[sight]) @ linear(PALETTES[theme][role])) for role in SERIES}
    for one, other in [*itertools.combinations(SERIES[:3], 2), ("blue", "ochre")]:
        assert np.linalg.norm(seen[one] - seen[other]) > 20, (one, other)


def test_colour_is_never_alone() -> None:
    assert len(set(MARKERS)) == len(MARKERS) >= len(SERIES)


def test_every_role_has_its_own_colour_in_both_themes() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert len(set(LIGHT.values())) == len(LIGHT)


def test_warnings_have_aa_contrast() -> None:
    css = files("meantime.report").joinpath("templates/report.css").read_text("utf-8")
    text, ground = (re.findall(rf"--{name}: (#[0-9a-f]{{6}})", css) for name in ("warn", "warn-soft"))
    assert len(text) == len(ground) == 2
    assert all(contrast(one, other) >= 4.5 for one, other in zip(text, ground, strict=True))


def test_the_style_leaves_matplotlib_as_it_was() -> None:
    before = dict(mpl.rcParams)
    with styled():
        new_figure(3, 2).add_subplot()
    assert dict(mpl.rcParams) == before
