"""Aggregated counts: keys, exposures that are not added up, and errors that name rows."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime.datasets.counts import failure_table_from_counts, read_counts
from meantime.errors import InputError


def read_text(tmp_path: Path, text: str) -> xr.Dataset:
    path = tmp_path / "counts.csv"
    path.write_text(text)
    return read_counts(path)


def test_all_keys(tmp_path: Path) -> None:
    table = read_text(
        tmp_path,
        "cluster,component,job_size,period,failures,exposure_node_days\n"
        "a,pcie,8,2024-01-01,3,100\na,nvlink,8,2024-01-01,1,100\na,pcie,64,2024-01-08,2,50.5\n",
    )
    assert table["failures"].dims == ("cluster", "component", "job_size", "period")
    assert int(table["failures"].sel(component="pcie", job_size=64, period="2024-01-08").item()) == 2
    assert int(table["failures"].sum()) == 6
    # Absent combinations: no failure; where nothing was at risk, no exposure.
    assert float(table["exposure"].sum()) == 150.5
    assert int(table["failures"].sel(component="nvlink", job_size=64).sum()) == 0


def test_counts_alone(tmp_path: Path) -> None:
    table = read_text(tmp_path, "failures,exposure_node_days\n419,110592\n")
    assert table["cluster"].values.tolist() == ["cluster"]
    assert table["component"].values.tolist() == ["all"]
    assert (int(table["failures"].item()), float(table["exposure"].item())) == (419, 110592)
    assert table.attrs["largest_job_gpus"] == 0


def test_exposure_is_not_added_up_over_components(tmp_path: Path) -> None:
    rows = "".join(f"c{i},1,1000\n" for i in range(12))
    table = read_text(tmp_path, "component,failures,exposure_node_days\n" + rows)
    assert float(table["exposure"].item()) == 1000
    assert int(table["failures"].sum()) == 12


def test_sizes_within_a_bucket_are_added_up(tmp_path: Path) -> None:
    table = read_text(
        tmp_path, "job_size,component,failures,exposure_node_days\n5,x,1,10\n8,x,2,20\n8,y,4,20\n12,x,0,5\n"
    )
    assert table["job_size"].values.tolist() == [8, 16]
    assert table["failures"].sel(cluster="cluster", job_size=8).values.tolist() == [3, 4]
    assert table["exposure"].values.tolist() == [[30.0, 5.0]]
    assert table.attrs["largest_job_gpus"] == 12


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "component,failures,exposure_node_days\na,1,10\nb,-1,10\n",
            r"counts.csv: line 3: failures is '-1'; expected a finite",
        ),
        ("component,failures,exposure_node_days\na,1.5,10\n", r"line 2: failures is '1.5'; expected a whole number"),
        ("component,failures,exposure_node_days\na,NaN,10\n", "line 2: failures is 'NaN'"),
        ("component,failures,exposure_node_days\na,,10\n", "line 2: failures is ''"),
        ("component,failures,exposure_node_days\na,1,many\n", "line 2: exposure_node_days is 'many'"),
        ("component,failures,exposure_node_days\na,1,inf\n", "line 2: exposure_node_days is 'inf'"),
        (
            "component,failures,exposure_node_days\na,1,10\na,2,10\n",
            "lines 2 and 3 are both for cluster=cluster, component=a",
        ),
        (
            "component,failures,exposure_node_days\na,1,10\nb,2,11\n",
            "lines 2 and 3 give cluster=cluster an exposure of 10 and 11",
        ),
        ("component,failures,exposure_node_days\n,1,10\n", "line 2: component is ''; expected a name"),
        ("component,failures,exposure_node_days\na,1,0\nb,0,0\n", "expected 0, because the exposure"),
        ("component,failures,exposure_node_days\na,1\nb,1,2\n", "line 2: 2 fields where the header has 3"),
        ("job_size,failures,exposure_node_days\n0,1,10\n", "line 2: job_size is '0'"),
        ("period,failures,exposure_node_days\nspring,1,10\n", "line 2: period is 'spring'"),
        ("component,failures\na,1\n", "no column 'exposure_node_days'"),
        ("failures,exposure_node_days\n", "has no row"),
    ],
)
def test_errors_name_row_and_value(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_text(tmp_path, text)


def test_exposure_printed_with_rounding_noise_is_one(tmp_path: Path) -> None:
    table = read_text(tmp_path, "component,failures,exposure_node_days\na,1,0.3\nb,2,0.30000000000000004\n")
    assert float(table["exposure"].item()) == pytest.approx(0.3)


def test_parquet_and_frames_say_row(tmp_path: Path) -> None:
    frame = pl.DataFrame({"component": ["a", "b"], "failures": [1, -1], "exposure_node_days": [1.0, 1.0]})
    frame.write_parquet(tmp_path / "counts.parquet")
    with pytest.raises(InputError, match=r"counts.parquet: row 2: failures is -1"):
        read_counts(tmp_path / "counts.parquet")
    with pytest.raises(InputError, match="table 5: row 2: failures is -1"):
        failure_table_from_counts(frame, source="table 5")
    good = {"component": ["a", "b"], "failures": [1, 2], "exposure_node_days": [10.0, 10.0]}
    assert failure_table_from_counts(good).identical(failure_table_from_counts(pl.DataFrame(good)))


@settings(deadline=None, max_examples=50)
@given(
    st.dictionaries(st.tuples(st.sampled_from("ab"), st.sampled_from([1, 8, 64])), st.floats(0.5, 1e6), min_size=1),
    st.data(),
)
def test_cells_and_sums_of_random_counts(exposure: dict[tuple[str, int], float], data: st.DataObject) -> None:
    rows = []
    for (cluster, size), days in exposure.items():
        for component in data.draw(st.sets(st.sampled_from("xyz"), min_size=1)):
            rows.append((cluster, component, size, data.draw(st.integers(0, 1000)), days))
    frame = pl.DataFrame(
        rows, schema=["cluster", "component", "job_size", "failures", "exposure_node_days"], orient="row"
    )
    table = failure_table_from_counts(frame.sample(fraction=1, shuffle=True, seed=1))
    assert int(table["failures"].sum()) == sum(row[3] for row in rows)
    np.testing.assert_allclose(float(table["exposure"].sum()), sum(exposure.values()), rtol=1e-12)
    for cluster, component, size, failures, days in rows:
        cell = table.sel(cluster=cluster, component=component, job_size=size)
        assert (int(cell["failures"]), float(cell["exposure"])) == (failures, days)
