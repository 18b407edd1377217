"""`import meantime` is light, and its public names are what they say."""

import importlib
import subprocess
import sys
import types

import pytest

import meantime

HEAVY = ("pymc", "pytensor", "jax", "numpyro", "arviz", "matplotlib", "polars", "xarray", "scipy", "numpy", "typer")
FUNCTIONS = ("failure_table", "fit", "load_fit", "predict_rate", "read", "save_fit")


def run(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_import_loads_nothing_heavy() -> None:
    loaded = run("import sys, meantime; dir(meantime); print(*sys.modules)").split()
    assert "meantime" in loaded
    assert not set(HEAVY) & set(loaded)


def test_import_loads_few_modules() -> None:
    # A count of modules holds on a busy machine, where a clock does not: 10 ms here is about 60 modules.
    before = set(run("import sys; print(*sys.modules)").split())
    after = set(run("import sys, meantime; print(*sys.modules)").split())
    assert len(after - before) < 60, sorted(after - before)


def test_version_is_that_of_the_installation() -> None:
    assert meantime.__version__ == run("import importlib.metadata as m; print(m.version('meantime'))")


@pytest.mark.parametrize("name", meantime.__all__)
def test_public_name_loads(name: str) -> None:
    assert name in dir(meantime)
    assert getattr(meantime, name) is not None


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_functions_not_modules(name: str) -> None:
    assert isinstance(getattr(meantime, name), types.FunctionType)


def test_forecast_is_the_sub_package_before_and_after_its_use() -> None:
    before = run("import meantime; print(meantime.forecast.__name__)")
    after = run("import meantime; meantime.Plan; import meantime.forecast; print(meantime.forecast.__name__)")
    function = run("from meantime.forecast import forecast; print(type(forecast).__name__)")
    assert (before, after, function) == ("meantime.forecast", "meantime.forecast", "function")


def test_unknown_name_says_what_there_is() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'forcast'.*failure_table"):
        _ = meantime.forcast


@pytest.mark.parametrize("name", ["datasets", "ettr", "forecast", "inference", "models", "report"])
def test_sub_package_says_what_is_public(name: str) -> None:
    package = importlib.import_module(f"meantime.{name}")
    missing = [public for public in package.__all__ if not hasattr(package, public)]
    assert package.__all__
    assert not missing
