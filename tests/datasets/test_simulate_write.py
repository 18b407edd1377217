"""The files of a simulated cluster say what its tables say."""

import csv
import itertools
import json

import polars as pl
import pytest

from meantime.datasets.hostlist import expand_hosts
from meantime.datasets.simulate import simulate_cluster, write_cluster
from meantime.datasets.simulate.sacct_text import SACCT_COLUMNS, compress_hosts
from meantime.errors import InputError


@pytest.fixture(scope="module")
def cluster():
    return simulate_cluster(seed=42, n_jobs=4000, n_nodes=400, days=8, lemon_share=0.01)


@pytest.fixture(scope="module")
def paths(cluster, tmp_path_factory):
    return write_cluster(cluster, tmp_path_factory.mktemp("cluster") / "new" / "folder")


def _rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="|", quoting=csv.QUOTE_NONE))


def test_sacct_text_has_one_row_an_attempt_with_its_figures(cluster, paths):
    rows = _rows(paths["sacct"])
    jobs = cluster.jobs.to_dicts()
    assert len(rows) == len(jobs)
    assert tuple(rows[0]) == SACCT_COLUMNS
    for row, job in zip(rows, jobs, strict=True):
        assert row["JobIDRaw"] == row["JobID"] == job["job_id"]
        assert int(row["Restarts"]) == job["attempt"] - 1
        assert row["State"].split(" ")[0] == job["state"]
        assert row["Submit"] == job["submit"].strftime("%Y-%m-%dT%H:%M:%S")
        if job["end"] is None:
            assert row["End"] == "Unknown"
        else:
            assert row["End"] == job["end"].strftime("%Y-%m-%dT%H:%M:%S")
        if job["start"] is None:
            assert row["Start"] in ("Unknown", "None")
            assert (row["NodeList"], row["AllocTRES"], row["ElapsedRaw"]) == ("None assigned", "", "0")
        else:
            assert expand_hosts(row["NodeList"]) == job["nodes"]
            elapsed = ((job["end"] or cluster.log_end) - job["start"]).total_seconds()
            assert int(row["ElapsedRaw"]) == elapsed
            assert f"gres/gpu={job['n_gpus']}," in row["AllocTRES"]
        assert f"gres/gpu={job['n_gpus']}," in row["ReqTRES"]
        assert int(row["NNodes"]) == job["n_nodes"]


def test_steps_stand_below_their_attempt(cluster, tmp_path):
    rows = _rows(write_cluster(cluster, tmp_path, steps=True)["sacct"])
    started = cluster.jobs["start"].count()
    assert len(rows) == cluster.jobs.height + 2 * started
    for before, row in itertools.pairwise(rows):
        if "." in row["JobIDRaw"]:
            assert before["JobIDRaw"].split(".")[0] == row["JobIDRaw"].split(".")[0]
            assert row["Start"] == before["Start"]
    assert {row["JobName"] for row in rows if "." in row["JobID"]} == {"batch", "extern"}
    assert {row["NNodes"] for row in rows if row["JobID"].endswith(".batch")} == {"1"}


def test_event_log_equals_the_events(cluster, paths):
    rows = list(csv.DictReader(paths["events"].open(encoding="utf-8", newline="")))
    assert list(rows[0]) == ["time", "node", "component", "severity", "source", "detail"]
    found = [(row["time"], row["node"], row["component"], row["severity"]) for row in rows]
    events = cluster.events.with_columns(pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:%S"))
    assert found == events.select("time", "node", "component", "severity").rows()


def test_truth_file_holds_the_truth(cluster, paths):
    document = json.loads(paths["truth"].read_text(encoding="utf-8"))
    assert document["seed"] == 42
    assert document["plan"]["n_jobs"] == 4000
    assert len(document["failures"]) == cluster.failures.height
    assert sum(document["exposure_node_days"].values()) == pytest.approx(cluster.table["exposure"].sum().item())
    memory = document["components"]["gpu_memory"]
    assert memory["rate_per_node_day_at_64_gpus"] == pytest.approx(0.95e-3)
    assert memory["rate_per_node_day"]["131072"] == pytest.approx(0.95e-3)
    assert len(document["lemons"]) == 4
    causes = {(row["job_id"], row["attempt"]): row["component"] for row in document["failures"]}
    assert causes == {(a, b): c for a, b, c in cluster.failures.select("job_id", "attempt", "component").iter_rows()}


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["rsc0001"], "rsc0001"),
        (["rsc0001", "rsc0002"], "rsc[0001-0002]"),
        (["rsc0001", "rsc0003"], "rsc[0001,0003]"),
        (["rsc0009", "rsc0010", "rsc0011", "rsc0020", "rsc1999", "rsc2000"], "rsc[0009-0011,0020,1999-2000]"),
        (None, None),
    ],
)
def test_host_lists_are_compressed(names, text):
    lists = pl.Series([["rsc0008"], names, ["rsc0021"]], dtype=pl.List(pl.String))
    assert compress_hosts(lists).to_list() == ["rsc0008", text, "rsc0021"]
    if names:
        assert expand_hosts(text) == names


def test_a_folder_that_cannot_be_made_is_refused(cluster, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be made"):
        write_cluster(cluster, tmp_path / "file" / "folder")
