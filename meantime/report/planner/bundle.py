"""What a planner page carries besides its words: its one script, the chart library's style, and the data."""

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from markupsafe import Markup

_SCRIPTS = (
    *("special", "renewal", "posterior", "luck", "settings", "outcome"),  # what is computed
    *("words", "export", "control", "chart", "show", "view", "share", "start"),  # what is shown
)


def script() -> str:
    """Return all code of the page as one text: the chart library, then our own parts behind one name."""
    folder = files("meantime.report.planner").joinpath("script")
    parts = [folder.joinpath(f"{name}.js").read_text("utf-8") for name in _SCRIPTS]
    return f'{asset("uPlot.iife.min.js")}\nconst meantime = (() => {{\n"use strict";\n{"".join(parts)}}})();\n'


def asset(name: str) -> str:
    """Return a file of the chart library."""
    return files("meantime.report").joinpath("assets", "uplot", name).read_text("utf-8").strip()


def library_version() -> str:
    """Return the version of the chart library, as its file states it: ``"1.6.32"``."""
    head = asset("uPlot.iife.min.js").split("*/", 1)[0]
    return head.rpartition("(v")[2].partition(")")[0]


def digest_of(script: str) -> str:
    """Return the digest by which the page's policy knows its one script; any other is refused by the browser."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def as_json(content: Mapping[str, Any]) -> Markup:
    """Write JSON that cannot leave its element, whatever names are in it."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)
