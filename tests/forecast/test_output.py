"""JSON and CSV say what the dataset says, in the published shape, and cannot be half written."""

import csv
import io
import json
import math
from cProfile import Profile
from pathlib import Path
from pstats import Stats
from typing import Any

import numpy as np
import pytest
import xarray as xr

from meantime.errors import InputError
from meantime.forecast import (
    Plan,
    Uncertain,
    flat_rows,
    forecast_rates,
    stated_rate,
    to_csv,
    to_json,
    to_rows,
)

FIGURES = {"mean", "median", "lower", "upper"}
GIVEN = [
    "rate_per_1000_node_days",
    "mttf_hours",
    "checkpoint_interval_seconds",
    "ettr",
    "ettr_run",
    "ettr_kokolis",
]


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    rates = stated_rate(np.random.default_rng(3).gamma(10, 0.65, 500), [1024, 131072])
    plan = Plan(restart=["5min", "20min"], checkpoint_interval=["optimal", "1h"])
    return forecast_rates(rates.assign_attrs(largest_job_gpus=4096), plan)


def refuse(text: str) -> None:
    raise AssertionError(f"{text} is not JSON")


def test_json_has_the_published_shape(result: xr.Dataset) -> None:
    content = json.loads(to_json(result), parse_constant=refuse)
    assert content["schema"] == "meantime.forecast/1"
    assert content["interval"] == {"kind": "eti", "probability": 0.9}
    assert len(content["rows"]) == 2 * 2 * 2
    for row in content["rows"]:
        assert type(row["gpus"]) is int
        assert type(row["nodes"]) is int
        assert type(row["extrapolated"]) is bool
        for name in GIVEN:
            assert set(row[name]) == FIGURES, name
            assert all(type(value) is float for value in row[name].values()), name
            assert row[name]["lower"] <= row[name]["median"] <= row[name]["upper"], name
        assert set(row["plan"]) >= {"restart", "checkpoint_write", "checkpoint_interval", "queue", "productive"}
    assert [row["extrapolated"] for row in content["rows"]] == [False] * 4 + [True] * 4
    assert content["notes"][0].startswith("131,072 GPUs lies beyond")


def test_rows_hold_the_values_of_their_cell(result: xr.Dataset) -> None:
    rows = to_rows(result)
    for row in rows:
        where = {
            "gpus": row["gpus"],
            "restart": row["plan"]["restart"],
            "interval": row["plan"]["checkpoint_interval"],
        }
        for name, variable, factor in (
            ("rate_per_1000_node_days", "rate", 1000),
            ("mttf_hours", "mttf", 1),
            ("checkpoint_interval_seconds", "checkpoint_interval", 3600),
            ("ettr_run", "ettr_run", 1),
            ("days_to_finish", "days_to_finish", 1),
        ):
            cell = result[variable].sel({dim: value for dim, value in where.items() if dim in result[variable].dims})
            for figure, value in row[name].items():
                assert value == pytest.approx(float(cell.sel(figure=figure)) * factor), name
        assert row["checkpoint_interval_chosen_seconds"] == pytest.approx(
            float(result["chosen_interval"].sel(where)) * 3600
        )
    assert len({(row["gpus"], row["plan"]["restart"], row["plan"]["checkpoint_interval"]) for row in rows}) == 8
    assert rows[0]["plan_seconds"]["restart"] == 300
    assert rows[0]["plan_seconds"]["checkpoint_interval"] is None


def test_a_selection_can_be_written(result: xr.Dataset) -> None:
    (row,) = to_rows(result.sel(gpus=1024, restart="20min", interval="1h"))
    assert row in to_rows(result)
    assert len(to_rows(result.sel(restart="20min"))) == 4
    assert len(to_rows(result.sel(gpus=[131072]))) == 4


def test_numbers_that_are_not_finite_become_null() -> None:
    never = forecast_rates(stated_rate(0.0, [1024]), Plan(checkpoint_interval="1h"))
    content = json.loads(to_json(never), parse_constant=refuse)
    assert content["rows"][0]["mttf_hours"] == dict.fromkeys(FIGURES)
    assert 0 < content["rows"][0]["ettr"]["mean"] < 1
    (row,) = csv.DictReader(io.StringIO(to_csv(never)))
    assert row["mttf_hours_mean"] == ""


def test_csv_reads_back_as_the_flat_rows(result: xr.Dataset) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(result))))
    assert len(rows) == 8
    for row, expected in zip(rows, flat_rows(result), strict=True):
        assert list(row) == list(expected)
        for name, value in expected.items():
            assert row[name] == written(value), name
    assert {"ettr_mean", "ettr_run_lower", "mttf_hours_median", "gpus", "plan_restart"} <= set(rows[0])
    assert rows[-1]["extrapolated"] == "true"


def written(value: Any) -> str:
    if isinstance(value, float):
        assert math.isfinite(value)
        return repr(value)
    return (
        {None: "", True: "true", False: "false"}.get(value, str(value))
        if not isinstance(value, int) or isinstance(value, bool)
        else str(value)
    )


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_texts_cannot_become_formulas_in_a_spreadsheet(start: str) -> None:
    evil = start + 'HYPERLINK("http://example.org")'
    queue = Uncertain(np.array([60], dtype="timedelta64[s]"), label=evil)
    text = to_csv(forecast_rates(stated_rate([6.0, 7.0], [1024]), Plan(queue=queue)))
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert row["plan_queue"] == "'" + evil
    negative = forecast_rates(stated_rate(6.5, [131072]), Plan(checkpoint_interval="1h"))
    (row,) = csv.DictReader(io.StringIO(to_csv(negative)))
    assert float(row["ettr_kokolis_mean"]) < 0, "numbers stay numbers"


@pytest.mark.parametrize("write", [to_json, to_csv])
def test_files_are_written_whole_or_not_at_all(write: Any, result: xr.Dataset, tmp_path: Path) -> None:
    text = write(result, tmp_path / "forecast")
    assert (tmp_path / "forecast").read_text(encoding="utf-8") == text
    with pytest.raises(InputError, match="cannot be written"):
        write(result, tmp_path / "missing" / "forecast")
    assert [path.name for path in tmp_path.iterdir()] == ["forecast"]


def test_many_rows_take_few_calls() -> None:
    """Work grows with numbers, not with labelled look-ups, of which one alone makes hundreds of calls."""
    plan = Plan(restart=[f"{number}min" for number in range(1, 16)], checkpoint_interval="1h")
    result = forecast_rates(stated_rate([6.0, 7.0], range(8, 1608, 8)), plan)
    with Profile() as profile:
        assert len(to_rows(result)) == 3000
    assert Stats(profile).total_calls < 200 * 3000  # 92 a row
