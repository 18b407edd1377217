"""Checks of an installed wheel, run by smoke.sh with that installation's Python from outside the tree."""

import json
import sys
from importlib.resources import files
from pathlib import Path

import meantime


def check_package(root: Path) -> None:
    """Fail unless what was imported is the installed wheel, whole and light."""
    home = Path(meantime.__file__).resolve()
    assert root not in home.parents, f"imported from the tree, not from the wheel: {home}"
    assert not {"pymc", "jax", "matplotlib"} & sys.modules.keys(), "import meantime is heavy"
    assert files(meantime).joinpath("py.typed").is_file(), "py.typed is missing"
    for part in ("assets/uplot/uPlot.iife.min.js", "assets/uplot/LICENSE", "planner/script/start.js"):
        assert files(meantime).joinpath("report", *part.split("/")).is_file(), f"{part} is missing"
    missing = [name for name in meantime.__all__ if not hasattr(meantime, name)]
    assert not missing, f"public names that do not load: {missing}"
    from meantime.datasets import published

    for name in published.list_published():
        assert getattr(published, name)() is not None
    assert int(published.load_llama3()["failures"].sum()) == 419, "not the published counts"
    print(f"meantime {meantime.__version__} from {home.parent}")


def check_ettr(path: Path) -> None:
    """Fail unless `meantime ettr --json` gave the reference figures for 131,072 GPUs."""
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["schema"] == "meantime.ettr/1", found
    assert abs(found["ettr"]["renewal"] - 0.5196) < 0.001, found
    assert abs(found["ettr"]["kokolis"] - 0.44) < 0.005, found


if __name__ == "__main__":
    if len(sys.argv) == 2:
        check_package(Path(sys.argv[1]))
    else:
        check_ettr(Path(sys.argv[2]))
