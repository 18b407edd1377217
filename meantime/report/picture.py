"""A figure of a page: drawn for desktop or paper and for a phone, with its words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from meantime.report.style import NARROW, WIDE
from meantime.report.svg import inline_svg


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure to be drawn twice, with its words.

    Parameters
    ----------
    draw
        ``width -> figure``.
    caption
        What stands below it.
    description
        What it shows, for people who do not see it.
    """

    draw: Callable[[float], Figure]
    caption: str
    description: str

    def drawn(self, name: str) -> dict[str, Any]:
        """Return ``wide`` and ``narrow``, as SVG with ids that begin with `name`, and the caption."""
        shapes = {
            kind: Markup(inline_svg(self.draw(width), name=f"{name}-{kind}", description=self.description))
            for kind, width in {"wide": WIDE, "narrow": NARROW}.items()
        }
        return {**shapes, "caption": self.caption}
