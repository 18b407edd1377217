"""From a matplotlib figure to SVG that lives inside a page: themed, named, with no stray ids."""

import io
import re
import warnings
from xml.etree import ElementTree

from matplotlib.figure import Figure

from meantime.report.style import LIGHT, styled

_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"
_ROLE = {value: role for role, value in LIGHT.items()}
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_FONT = re.compile(r"font-family:[^;]*;?\s*")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_LONG_DECIMALS = re.compile(r"(\d\.\d{2})\d+")


def inline_svg(figure: Figure, *, name: str, description: str) -> str:
    """Write a figure as an ``<svg>`` element to put into an HTML page.

    Colours become CSS variables (``var(--fig-ink, #1f2733)``), so that the figure follows the
    page's light and dark themes; type takes the page's font; ids start with `name`, so that several
    figures share a page. Texts are XML text nodes: nothing in a name can open a tag.

    Parameters
    ----------
    figure
        The figure.
    name
        An identifier that no other figure of the page has.
    description
        What the figure shows, in words, for people who do not see it.
    """
    buffer = io.BytesIO()
    with styled(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())
    _strip(root)
    _theme(root)
    _rename(root, name)
    width = root.get("viewBox", "0 0 1 1").split()[2]
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.set("role", "img")
    root.set("aria-label", description)
    root.set("data-width", width)
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _strip(root: ElementTree.Element) -> None:
    """Remove the metadata and the global style sheet, which would reach the whole page."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)


def _theme(root: ElementTree.Element) -> None:
    for element in root.iter():
        style = element.get("style")
        if style is not None:
            style = _COLOUR.sub(_variable, _FONT.sub("", style))
            element.set("style", style.strip().rstrip(";"))
        path = element.get("d")
        if path is not None:
            element.set("d", " ".join(_LONG_DECIMALS.sub(r"\1", path).split()))
        for attribute in ("x", "y", "transform"):
            if attribute in element.attrib:
                element.set(attribute, _LONG_DECIMALS.sub(r"\1", element.attrib[attribute]))
        if element.tag != f"{{{_SVG}}}text" and element.text is not None and not element.text.strip():
            element.text = None
        element.tail = None


def _variable(match: re.Match[str]) -> str:
    role = _ROLE.get(match.group())
    return match.group() if role is None else f"var(--fig-{role}, {match.group()})"


def _rename(root: ElementTree.Element, name: str) -> None:
    """Keep the ids that something refers to, under the figure's name; drop the rest."""
    used: set[str] = set()
    for element in root.iter():
        for value in element.attrib.values():
            used.update(_REFERENCE.findall(value))
        if _HREF in element.attrib:
            used.add(element.attrib[_HREF].removeprefix("#"))
    for element in root.iter():
        identity = element.attrib.pop("id", None)
        if identity in used:
            element.set("id", f"{name}-{identity}")
        for key, value in list(element.attrib.items()):
            element.set(key, _REFERENCE.sub(rf"url(#{name}-\1)", value))
        if _HREF in element.attrib:
            element.set("href", f"#{name}-{element.attrib.pop(_HREF).removeprefix('#')}")
