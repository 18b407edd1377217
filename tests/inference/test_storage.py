"""Fits on disk: nothing lost, nothing half-written, clear words for what is no fit."""

import json

import numpy as np
import pytest
import xarray as xr

from meantime.errors import InputError
from meantime.inference import load_fit, provenance, save_fit
from meantime.inference.provenance import digest


@pytest.mark.parametrize("name", ["constant", "component", "component_gamma", "component_size", "over_time"])
def test_round_trip(name, trees, tmp_path):
    path = tmp_path / "fit.nc"
    save_fit(trees[name], path)
    loaded = load_fit(path)
    assert set(loaded.children) == set(trees[name].children)
    for group in loaded.children:
        xr.testing.assert_identical(loaded[group].to_dataset(), trees[name][group].to_dataset())
    assert provenance(loaded) == provenance(trees[name])
    assert digest(loaded["fit_data"].to_dataset()) == provenance(loaded)["data_digest"]
    path.rename(tmp_path / "moved.nc")  # the file is closed


def test_saving_replaces_whole_files_only(exact, plain, tmp_path):
    path = tmp_path / "fit.nc"
    save_fit(exact, path)
    save_fit(plain, path)
    assert provenance(load_fit(path))["model"] == "component"
    assert [entry.name for entry in tmp_path.iterdir()] == ["fit.nc"]


def test_a_missing_folder(exact, tmp_path):
    with pytest.raises(InputError, match="choose a folder that exists"):
        save_fit(exact, tmp_path / "nowhere" / "fit.nc")


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_fit(tmp_path / "fit.nc")


@pytest.mark.parametrize("damage", ["truncated", "middle", "text", "empty", "binary"])
def test_damaged_files(damage, plain, tmp_path):
    path = tmp_path / "fit.nc"
    save_fit(plain, path)
    content = path.read_bytes()
    path.write_bytes(
        {
            "truncated": content[: len(content) // 2],
            "middle": content[:200] + bytes(2000) + content[2200:],
            "text": b"JobID|State\n1|FAILED\n",
            "empty": b"",
            "binary": np.random.default_rng(0).bytes(5000),
        }[damage]
    )
    with pytest.raises(InputError) as caught:
        load_fit(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_netcdf_file_is_no_fit(tmp_path):
    path = tmp_path / "other.nc"
    xr.Dataset({"x": ("t", np.arange(3))}).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(InputError, match="not a fit of meantime"):
        load_fit(path)


def test_a_newer_format_is_refused(exact, tmp_path):
    tree = exact.copy()
    tree.attrs["meantime"] = json.dumps({**provenance(exact), "schema": "meantime.fit/2"})
    path = tmp_path / "fit.nc"
    tree.to_netcdf(path, engine="h5netcdf")
    with pytest.raises(InputError, match=r"newer than meantime\.fit/1; upgrade meantime"):
        load_fit(path)


def test_only_fits_are_saved(tmp_path):
    with pytest.raises(InputError, match="not a fit of meantime"):
        save_fit(xr.DataTree(), tmp_path / "fit.nc")


def test_digest_sees_every_change(table):
    changed = table.copy(deep=True)
    changed["failures"][0, 0, 0] += 1
    assert digest(changed) != digest(table)
    assert digest(table.assign_coords(component=["a", "b", "c", "d"])) != digest(table)
    assert digest(table.copy(deep=True)) == digest(table)
