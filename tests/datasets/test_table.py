"""The validator of failure tables: what passes, and what each error names."""

import numpy as np
import pytest
import xarray as xr

from meantime.datasets.table import build_table, check_table
from meantime.errors import InputError


def make(**changes: object) -> xr.Dataset:
    arguments: dict[str, object] = {
        "failures": np.array([[[1, 2], [0, 3]]]),
        "exposure": np.array([[10.0, 20.0]]),
        "cluster": ["rsc"],
        "component": ["pcie", "nvlink"],
        "job_size": [8, 64],
    }
    return build_table(**(arguments | changes))  # type: ignore[arg-type]


def test_types_dimensions_and_attributes() -> None:
    table = make()
    assert table["failures"].dims == ("cluster", "component", "job_size")
    assert table["exposure"].dims == ("cluster", "job_size")
    assert table["failures"].dtype == np.int64
    assert table["exposure"].dtype == np.float64
    assert table["job_size"].dtype == np.int64
    assert table.attrs["largest_job_gpus"] == 64
    assert set(table.attrs) == {"gpus_per_node", "exposure_kind", "source", "largest_job_gpus", "provenance"}


def test_order_of_dimensions_does_not_matter() -> None:
    table = make()
    assert check_table(table.transpose("job_size", "component", "cluster")).identical(table)
    assert check_table(table.drop_attrs()).attrs["exposure_kind"] == "stated"


def test_survives_a_netcdf_file(tmp_path: object) -> None:
    table = make(period=None)
    path = f"{tmp_path}/table.nc"
    table.to_netcdf(path, engine="h5netcdf")
    with xr.open_dataset(path, engine="h5netcdf") as back:
        assert check_table(back.load()).identical(table)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"failures": np.array([[[1, -2], [0, 3]]])}, r"failures at cluster=rsc, component=pcie, job_size=64 is -2"),
        ({"failures": np.array([[[1, 2.5], [0, 3]]])}, r"job_size=64 is 2.5; expected a whole number"),
        ({"failures": np.array([[[1, np.nan], [0, 3]]])}, "is nan; expected a finite number"),
        ({"exposure": np.array([[10.0, np.inf]])}, "exposure at cluster=rsc, job_size=64 is inf"),
        ({"exposure": np.array([[-1.0, 20.0]])}, "exposure at cluster=rsc, job_size=8 is -1"),
        (
            {"exposure": np.array([[0.0, 20.0]])},
            "failures at cluster=rsc, component=pcie, job_size=8 is 1; expected 0, because",
        ),
        ({"failures": np.zeros((1, 2, 2)), "exposure": np.zeros((1, 2))}, "no exposure"),
        ({"job_size": [8, 8]}, "label '8' occurs more than once"),
        ({"job_size": [8, 24]}, "expected powers of two"),
        ({"component": ["pcie", "pcie"]}, "component label 'pcie' occurs more than once"),
        ({"cluster": ["rsc", "two"]}, r"failures has shape \(1, 2, 2\); expected \(2, 2, 2\)"),
        ({"gpus_per_node": 0}, "gpus_per_node is 0"),
        ({"exposure_kind": "guessed"}, "expected one of busy, calendar, stated"),
    ],
)
def test_errors_name_the_cell(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make(**changes)


def test_datasets_of_another_form_are_refused() -> None:
    table = make()
    for wrong, said in [
        (table["failures"], "an xarray.Dataset, not DataArray"),
        (table.drop_vars("exposure"), "no variable 'exposure'"),
        (table.isel(cluster=0), "lack the dimension 'cluster'"),
        (table.rename(job_size="gpus"), "unknown dimension 'gpus'"),
        (table.drop_vars("component"), "'component' has no labels"),
        (table.assign(exposure=table["exposure"].sum("job_size")), "exposure has dimensions"),
        (table.assign(exposure=table["failures"].astype(float)), "exposure has dimensions"),
        (table.isel(component=[]), "is empty"),
        (table.assign(failures=table["failures"].astype(str)), "expected numbers"),
    ]:
        with pytest.raises(InputError, match=said):
            check_table(wrong)  # type: ignore[arg-type]


def test_size_is_bounded() -> None:
    many = xr.DataArray(np.broadcast_to(np.int8(0), (1, 30_000, 2_000)), dims=("cluster", "component", "node"))
    with pytest.raises(InputError, match="60,000,000 cells; at most 50,000,000"):
        check_table(xr.Dataset({"failures": many, "exposure": many[:, 0]}))
