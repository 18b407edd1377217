"""A headless Chromium for the planner page, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; skips where there is none unless MEANTIME_REQUIRE_BROWSER=1."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None and os.environ.get("MEANTIME_REQUIRE_BROWSER") == "1":
        pytest.fail("MEANTIME_REQUIRE_BROWSER=1 but no Chromium is installed")
    if path is None:
        pytest.skip("no Chromium is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()
