"""Published figures: the files are the ones listed, and the numbers agree with the sources' own totals."""

import hashlib
import subprocess
import sys
from importlib.resources import files

import numpy as np
import polars as pl
import pytest
import xarray as xr

from meantime.datasets import published
from meantime.datasets.table import check_table

DATA = files("meantime.datasets.published") / "data"
LOADERS = sorted(published.list_published())


def test_manifest_lists_every_file_with_its_rows_and_sum():
    manifest = pl.read_csv((DATA / "MANIFEST.csv").read_bytes())
    found = {path.name for path in DATA.iterdir() if path.name != "MANIFEST.csv"}
    assert set(manifest["file"]) == found
    for name, rows, digest in manifest.iter_rows():
        content = (DATA / name).read_bytes()
        assert content.count(b"\n") - 1 == rows, name
        assert hashlib.sha256(content).hexdigest() == digest, name


@pytest.mark.parametrize("name", LOADERS)
def test_every_set_has_a_codebook_and_a_certainty_of_every_figure(name):
    loader = getattr(published, name)
    for word in ("Source:", "Returns", "certainty", "arXiv"):
        assert word in loader.__doc__, word
    result = loader()
    if isinstance(result, xr.Dataset):
        letters = set(result["certainty"].values.tolist())
    else:
        columns = [column for column in result.columns if column.endswith("certainty")]
        assert columns
        letters = {letter for column in columns for letter in result[column].to_list()}
    assert letters <= {"A", "B", "C", "D", "R"}


def test_list_names_every_loader_of_the_package():
    assert set(LOADERS) == {name for name in published.__all__ if name.startswith("load_")}
    assert all(len(line) > 20 and line.endswith(".") for line in published.list_published().values())


def test_importing_reads_no_file():
    code = (
        "import sys, builtins\n"
        "import polars, xarray, meantime.datasets.table\n"
        "opened = []\n"
        "sys.addaudithook(lambda e, a: opened.append(str(a[0])) if e == 'open' else None)\n"
        "import meantime.datasets.published\n"
        "bad = [name for name in opened if name.endswith('.csv')]\n"
        "assert opened and not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_llama3_matches_the_papers_totals_and_mttf():
    table = check_table(published.load_llama3())
    assert table["failures"].sum() == 419
    assert table.sizes == {"cluster": 1, "component": 18, "job_size": 1}
    assert table["exposure"].item() == 110_592
    hours = 54 * 24 / 419
    assert hours == pytest.approx(3.09, abs=0.005)  # printed to 0.01 h
    rate = 1000 * 419 / table["exposure"].item()
    assert rate == pytest.approx(3.79, abs=0.005)
    assert table.attrs["largest_job_gpus"] == 16384


def test_llama3_percentages_fit_the_counts_except_the_one_that_is_doubted():
    table = published.load_llama3()
    counts = table["failures"].values.ravel()
    printed = table["percent_as_printed"].values
    off = np.abs(100 * counts / 419 - printed) > 0.051  # printed to 0.1 %
    assert table["component"].values[off].tolist() == ["Faulty GPU"]
    assert 100 * counts[off].item() / 419 == pytest.approx(35.3, abs=0.05)
    gpu = table["category"].values == "GPU"
    assert counts[gpu].sum() == 268


def test_llama3_with_the_percentage_believed_keeps_the_total():
    table = check_table(published.load_llama3(faulty_gpu=126))
    counts = dict(zip(table["component"].values.tolist(), table["failures"].values.ravel().tolist(), strict=True))
    assert counts["Faulty GPU"] == 126
    assert counts["Not listed"] == 22
    assert sum(counts.values()) == 419


def test_llama3_equals_an_independent_copy(shared_data):
    other = pl.read_csv(shared_data / "llama3_interruptions" / "table5.csv")
    table = published.load_llama3()
    assert table["component"].values.tolist() == other["component"].to_list()
    assert table["failures"].values.ravel().tolist() == other["interruption_count"].to_list()
    assert table["percent_as_printed"].values.tolist() == other["percent_as_printed"].to_list()
    assert table["category"].values.tolist() == other["category"].to_list()


def test_delta_gives_the_papers_time_between_uncorrectable_errors():
    table = published.load_delta()
    memory = table["failures"].sel(component=["Double-bit ECC", "Repeated single-bit ECC"]).sum("component")
    gpu_hours = table["exposure"] * table.attrs["gpus_per_node"] * 24
    between = (gpu_hours / memory).values
    np.testing.assert_allclose(between, [283_271, 88_768], rtol=0.001)  # exposures are whole days
    assert gpu_hours.sum().item() == pytest.approx(11.7e6, rel=0.01)  # printed as 11.7 million
    unlogged = table["failures"].sel(component="Unlogged lockup") / table["failures"].sum("component")
    np.testing.assert_allclose(100 * unlogged, [0.18, 0.49], atol=0.005)
    check_table(table)


def test_acme_rows_sum_to_the_printed_category_totals():
    totals = published.load_acme().group_by("category").agg(pl.sum("count"), pl.sum("percent_of_failure_gpu_time"))
    found = {name: (count, share) for name, count, share in totals.iter_rows()}
    for name, count, share in (("infrastructure", 281, 82), ("framework", 404, 14.7), ("script", 1890, 3.2)):
        assert found[name][0] == count
        assert found[name][1] == pytest.approx(share, abs=0.5 if name == "infrastructure" else 0.05)


def test_ft_hsdp_counts_fit_the_printed_percentages():
    rows = published.load_ft_hsdp_100k().drop_nulls("percent_as_printed")
    total = published.load_ft_hsdp_100k()["interruptions"].sum()
    assert total == 678
    assert ((100 * rows["interruptions"] / total - rows["percent_as_printed"]).abs() < 0.051).all()


def test_unicron_and_rsc_shares_sum_to_their_totals():
    assert published.load_unicron()["percent_of_tasks"].sum() == pytest.approx(43.4)
    assert published.load_rsc_job_states()["percent_of_jobs"].sum() == pytest.approx(100)
    causes = published.load_rsc_lemon_causes()
    assert causes["nodes_of_39"].sum() == 39
    assert ((100 * causes["nodes_of_39"] / 39 - causes["percent"]).abs() < 0.051).all()
    assert published.load_rsc_lemon_signals().height == 7
    assert published.load_rsc_cooccurrence().height == 4


def test_rsc_mttf_states_the_contradiction():
    rows = published.load_rsc_mttf()
    implied = dict(zip(rows["gpus"], rows["implied_per_1000_node_days"], strict=True))
    assert implied[8] == pytest.approx(21.0, abs=0.05)
    assert implied[1024] == pytest.approx(23.7, abs=0.05)
    assert implied[16384] == pytest.approx(6.5, abs=0.02)
    rates = published.load_rsc_rates()
    assert rates["failures_per_1000_node_days"].to_list() == [6.50, 2.34]
    assert (rates["gpus"] == 8 * rates["nodes"]).all()


def test_rsc_points_have_the_printed_mttf():
    table = published.load_rsc_points()
    nodes = table["job_size"] / 8
    hours = 24 * table["exposure"].sum("cluster") / (nodes * table["failures"].sum(["cluster", "component"]))
    np.testing.assert_allclose(hours, [1144.8, 7.9, 10.0], rtol=0.002)  # counts are whole: half of 1 in 308


def test_rsc_sizes_and_states_are_statements_with_limits():
    sizes = published.load_rsc_job_sizes()
    assert set(sizes["relation"]) == {"above", "below", "equal"}
    large = sizes.filter((pl.col("min_gpus") == 256) & (pl.col("cluster") == "RSC-1"))
    assert large["percent"].item() == 66
