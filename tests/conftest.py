"""Shared fixtures: where the public data sets lie, and whether their absence is an error."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("MEANTIME_SHARED_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the public data sets; skips where it is absent unless MEANTIME_REQUIRE_DATA=1."""
    if SHARED.is_dir():
        return SHARED
    if os.environ.get("MEANTIME_REQUIRE_DATA") == "1":
        pytest.fail(f"MEANTIME_REQUIRE_DATA=1 but {SHARED} is missing")
    pytest.skip(f"public data folder {SHARED} is absent")
