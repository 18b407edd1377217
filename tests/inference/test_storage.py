"""Fits on disk: nothing lost, nothing half-written, clear words for what is no fit."""

import json

import numpy as np
import pytest
import xarray as xr

from meantime.errors import InputError
from meantime.inference import load_fit, provenance, save_fit
from meantime.inference.provenance import digest
from meantime.inference.seal import seal


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


def test_every_flipped_bit_is_seen(exact, tmp_path):
    path = tmp_path / "fit.nc"
    save_fit(exact, path)
    content = path.read_bytes()
    rng = np.random.default_rng(3)
    places = [*range(0, len(content), len(content) // 300), *range(len(content) - 90, len(content))]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"fit\.nc: (is damaged|no fit of meantime, or cut short)"):
            load_fit(path)


def test_a_fit_stays_a_file_of_netcdf(exact, tmp_path):
    path = tmp_path / "fit.nc"
    save_fit(exact, path)
    with xr.open_dataset(path, group="posterior", engine="h5netcdf") as posterior:
        np.testing.assert_array_equal(posterior["rate"], exact["posterior"]["rate"])


def test_a_posterior_that_is_not_finite_is_neither_saved_nor_loaded(exact, tmp_path):
    tree = exact.copy(deep=True)
    tree["posterior"]["rate"][0, :3] = np.nan
    with pytest.raises(InputError, match=r"values of rate in the posterior are not finite"):
        save_fit(tree, tmp_path / "fit.nc")
    tree.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    seal(tmp_path / "fit.nc")
    with pytest.raises(InputError, match=r"fit\.nc: .* values of rate in the posterior are not finite"):
        load_fit(tmp_path / "fit.nc")


def test_a_folder_and_an_unreadable_file(exact, tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        load_fit(tmp_path)
    with pytest.raises(InputError, match=r"/proc/self/mem: (cannot be read|no fit)"):
        load_fit("/proc/self/mem")  # reading it is an input/output error
    for path in (None, 3):
        with pytest.raises(InputError, match="expected the name of a file"):
            load_fit(path)
        with pytest.raises(InputError, match="expected the name of a file"):
            save_fit(exact, path)


@pytest.mark.parametrize("sealed", [True, False])
def test_another_netcdf_file_is_no_fit(sealed, tmp_path):
    path = tmp_path / "other.nc"
    xr.Dataset({"x": ("t", np.arange(3))}).to_netcdf(path, engine="h5netcdf")
    if sealed:
        seal(path)
    with pytest.raises(InputError, match=r"no(t a)? fit of meantime"):
        load_fit(path)


def test_a_newer_format_is_refused(exact, tmp_path):
    tree = exact.copy()
    tree.attrs["meantime"] = json.dumps({**provenance(exact), "schema": "meantime.fit/2"})
    path = tmp_path / "fit.nc"
    tree.to_netcdf(path, engine="h5netcdf")
    seal(path)
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
