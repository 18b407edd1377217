"""The report in a real browser, where one is installed."""

import os
import shutil
import subprocess
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
import xarray as xr

from meantime.report import write_report

BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)

REQUIRED = os.environ.get("MEANTIME_REQUIRE_BROWSER") == "1"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None and not REQUIRED, reason="no Chromium is installed"),
]


def browse(page: Path, *options: str) -> str:
    command = [str(BROWSER), *FLAGS, f"--user-data-dir={page.parent / 'profile'}", *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def page(hostile_fit: xr.DataTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(hostile_fit, tmp_path_factory.mktemp("report") / "report.html")


def test_a_browser_finds_no_script(page: Path) -> None:
    """The browser's own tree, after it has repaired what it must: names stayed text."""
    found = browse(page, "--dump-dom")
    assert "<script" not in found.lower()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in found
    assert found.count("<svg") == page.read_text("utf-8").count("<svg") == 12


@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_draws_figures_at_every_width(page: Path, width: int) -> None:
    """Blue and vermilion are colours of figures alone: they are seen at the width of a desktop and of a phone."""
    target = page.parent / f"{width}.png"
    browse(page, f"--screenshot={target}", f"--window-size={width},9000")
    pixels = (matplotlib.image.imread(target)[..., :3] * 255).round().astype(int)
    assert pixels.shape[1] == width
    for colour in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)):
        assert (np.abs(pixels - colour).max(axis=-1) <= 2).sum() > 200
