"""Figures inside a page: themed, safe, with no stray ids."""

import re
from xml.etree import ElementTree

import pytest
import xarray as xr

from meantime.report.figures import forest, mttf_by_size
from meantime.report.style import LIGHT
from meantime.report.svg import inline_svg

TAG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawing(hostile_fit: xr.DataTree) -> str:
    return inline_svg(forest(hostile_fit), name="fig-1", description='rates of "<b>" & more')


def test_names_are_text_and_nothing_else(drawing: str) -> None:
    root = ElementTree.fromstring(drawing)
    assert {element.tag.removeprefix(TAG) for element in root.iter()} <= {"svg", "g", "path", "use", "text", "defs",
                                                                         "clipPath", "rect"}  # fmt: skip
    found = ["".join(text.itertext()) for text in root.iter(f"{TAG}text")]
    assert "<script>alert(1)</script>" in found
    assert "$x^2$ $\\frac$" in found
    assert not [name for name in found if "\x00" in name or "\x1b" in name or "\u202e" in name]
    assert "<script" not in drawing


def test_the_description_is_an_attribute(drawing: str) -> None:
    root = ElementTree.fromstring(drawing)
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'rates of "<b>" & more'


def test_colours_follow_the_page(drawing: str) -> None:
    plain = re.sub(r"var\(--fig-(\w+), (#[0-9a-f]{6})\)", lambda m: "" if LIGHT[m[1]] == m[2] else m[0], drawing)
    assert "var(--fig-ink" in drawing
    assert not re.findall(r"#[0-9a-f]{6}\b", plain)
    assert "font-family" not in drawing


def test_every_id_is_named_after_the_figure_and_used(drawing: str) -> None:
    ids = set(re.findall(r'\bid="([^"]+)"', drawing))
    used = set(re.findall(r'href="#([^"]+)"', drawing)) | set(re.findall(r"url\(#([^)]+)\)", drawing))
    assert ids == used
    assert ids
    assert all(name.startswith("fig-1-") for name in ids)


def test_no_style_sheet_and_no_external_reference(drawing: str) -> None:
    assert "<style" not in drawing
    assert "http" not in drawing.replace("http://www.w3.org/2000/svg", "")


def test_the_same_fit_gives_the_same_drawing(size_fit: xr.DataTree) -> None:
    one, other = (inline_svg(mttf_by_size(size_fit), name="a", description="b") for _ in range(2))
    assert one == other
