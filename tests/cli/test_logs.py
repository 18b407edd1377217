"""The commands that measure logs print what the library returns, as tables of 80 columns and as JSON."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from meantime.cli import app
from meantime.cli.priors import chosen_priors
from meantime.datasets import failure_table, goodput, measure_runs, read, scan_parquet, sensitivity
from meantime.datasets.simulate import simulate_cluster, write_cluster
from meantime.errors import InputError
from meantime.forecast import Plan
from meantime.inference import load_fit

MEANTIME = Path(sys.executable).with_name("meantime")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log")
    cluster = simulate_cluster(seed=4, n_jobs=2000, n_nodes=100, days=10, noise_high=0.05, noise_low=0.2)
    write_cluster(cluster, path)
    cluster.jobs.write_parquet(path / "jobs.parquet")
    cluster.events.write_parquet(path / "events.parquet")
    return path


def run(*arguments: str | Path) -> str:
    """Run a command in this process; what it prints on standard output."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def on(folder: Path) -> list[str | Path]:
    return [folder / "sacct.txt", "--events", folder / "events.csv"]


@pytest.mark.parametrize("command", ["jobs", "runs", "losses", "sensitivity", "quality"])
def test_tables_fit_a_terminal(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    examples = ["--examples", "0"] if command == "quality" else []  # rows to look at are as long as they are
    lines = run(command, *on(folder), *examples).replace(str(folder), "").splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) <= 80
    assert not any("\N{HORIZONTAL ELLIPSIS}" in line for line in lines)


def test_runs_are_those_of_the_library(folder: Path) -> None:
    options = ["--gap", "2h", "--restart", "10min", "--checkpoint-interval", "30min", "--min-gpus", "64"]
    content = json.loads(run("runs", *on(folder), *options, "--json"))
    log, events = read(folder / "sacct.txt"), read(folder / "events.csv")
    wanted = measure_runs(log, events, gap="2h", restart="10min", checkpoint_interval="30min")
    wanted = wanted.filter(pl.col("n_gpus") >= 64)
    assert content["totals"]["runs"] == wanted.height == len(content["rows"]) > 5
    assert {row["run"]: row["ettr"] for row in content["rows"]} == dict(wanted.select("run", "ettr").iter_rows())
    assert content["assumptions"] == {"restart": 600, "checkpoint_interval": 1800, "checkpoint_write": 0}
    whole = wanted.select((pl.col("wallclock").dt.total_seconds() * pl.col("n_gpus")).sum() / 3600).item()
    assert sum(content["totals"]["gpu_hours"].values()) == pytest.approx(whole, rel=1e-12)


def test_losses_are_those_of_the_library(folder: Path) -> None:
    found = json.loads(run("losses", *on(folder), "--lost", "20min", "--cluster-gpus", "800", "--json"))
    wanted = goodput(read(folder / "sacct.txt"), read(folder / "events.csv"), lost="20min", total_gpus=800)
    assert found["first_order"]["failures"] == wanted["first_order"]["failures"] > 0
    for name in ("first_order", "second_order"):
        assert found[name]["gpu_hours"] == pytest.approx(wanted[name]["gpu_hours"], rel=1e-12)
    assert found["utilisation"] == pytest.approx(wanted["gpu_hours"] / (800 * 24 * 9.98), rel=0.01)
    assert [row["attempts"] for row in found["states"]] == [row["attempts"] for row in wanted["states"]]


@pytest.mark.parametrize("scan", ["--scan", "--no-scan"])
def test_sensitivity_of_a_log_that_is_scanned_or_read(scan: str, folder: Path) -> None:
    paths = [folder / "jobs.parquet", "--events", folder / "events.parquet"]
    content = json.loads(run("sensitivity", *paths, "--windows", "5min,30min", scan, "--json"))
    jobs, events = pl.read_parquet(folder / "jobs.parquet"), pl.read_parquet(folder / "events.parquet")
    wanted = sensitivity(jobs, events, before=["5min", "30min"])
    assert [row["failures"] for row in content["rows"]] == wanted["failures"].to_list()
    totals = [row["failures"] for row in content["rows"] if row["component"] == "all"]
    assert totals == sorted(totals[:2]) + sorted(totals[2:])
    assert totals[3] > totals[0]


def test_summary_of_a_log_that_is_scanned(folder: Path) -> None:
    paths = [folder / "jobs.parquet", "--events", folder / "events.parquet", "--period", "1d", "--json"]
    whole, scanned = (json.loads(run("jobs", *paths, scan)) for scan in ("--no-scan", "--scan"))
    for name in ("exposure", "components", "failures", "periods", "clusters", "log_end", "source"):
        assert scanned[name] == whole[name], name
    assert [row["failures"] for row in scanned["sizes"]] == [row["failures"] for row in whole["sizes"]]
    assert [row["attempts"] for row in scanned["sizes"]] == [row["attempts"] for row in whole["sizes"]]
    ran = {row["state"]: row["attempts"] for row in whole["states"] if row["state"] in ("COMPLETED", "NODE_FAIL")}
    assert ran.items() <= {row["state"]: row["attempts"] for row in scanned["states"]}.items()


def test_only_parquet_of_jobs_can_be_scanned(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"sacct.txt: is no Parquet file"):
        run("jobs", folder / "sacct.txt", "--scan")
    with pytest.raises(InputError, match="expected no --mapping, --timezone"):
        run("jobs", folder / "jobs.parquet", "--scan", "--timezone", "Europe/Berlin")
    with pytest.raises(InputError, match=r"cannot be scanned as jobs: no column job_id, start, end"):
        run("jobs", folder / "events.parquet", "--scan")
    pl.read_parquet(folder / "jobs.parquet").drop("user").write_parquet(tmp_path / "other.parquet")
    with pytest.raises(InputError, match="has other columns"):
        scan_parquet([folder / "jobs.parquet", tmp_path / "other.parquet"])


@pytest.mark.parametrize("command", ["losses", "runs", "quality"])
def test_rule_of_attribution_reaches_every_measure(command: str, folder: Path) -> None:
    found = {}
    for severity in ("high", "low"):
        content = json.loads(run(command, *on(folder), "--min-severity", severity, "--before", "30min", "--json"))
        found[severity] = {
            "losses": lambda it: it["first_order"]["failures"],
            "runs": lambda it: it["totals"]["infrastructure"],
            "quality": lambda it: next(row["of"] for row in it["findings"] if row["check"] == "unattributed failures"),
        }[command](content)
        table = failure_table(
            read(folder / "sacct.txt"), read(folder / "events.csv"), severity=severity, before="30min"
        )
        assert found[severity] == json.loads(table.attrs["provenance"])["failures"]
    assert found["low"] > found["high"] > 0


TAXONOMY = """
[component.ethernet_link]
severity = "high"
priority = -1
"""
COUNTING = {
    "limits": (
        ["--log-start", "2024-01-03", "--log-end", "2024-01-08T12:00:00", "--min-gpus", "16"],
        {"log_start": "2024-01-03", "log_end": "2024-01-08T12:00:00", "min_gpus": 16},
    ),
    "low": (["--min-severity", "low", "--before", "30min"], {"severity": "low", "before": "30min"}),
    "some": (["--components", "pcie, nvlink"], {"components": ["pcie", "nvlink"]}),
    "nodes": (["--by-node", "--exposure", "calendar"], {"by_node": True, "exposure": "calendar"}),
}


@pytest.mark.parametrize("case", COUNTING)
def test_options_of_counting(case: str, folder: Path) -> None:
    options, keywords = COUNTING[case]
    content = json.loads(run("jobs", *on(folder), *options, "--json"))
    table = failure_table(read(folder / "sacct.txt"), read(folder / "events.csv"), **keywords)
    assert content["failures"]["total"] == int(table["failures"].sum())
    assert content["exposure"]["node_days"] == float(table["exposure"].sum())
    assert [row["component"] for row in content["components"]] == table["component"].values.tolist()


def test_inventory_and_taxonomy_of_ones_own(folder: Path, tmp_path: Path) -> None:
    nodes = pl.read_parquet(folder / "jobs.parquet")["nodes"].explode().drop_nulls().unique().sort()
    ten = pl.DataFrame({"node": nodes, "arrival": "2024-01-01T00:00:00", "retirement": "2024-01-03T00:00:00"})
    ten.write_csv(tmp_path / "nodes.csv")
    (tmp_path / "site.toml").write_text(TAXONOMY)
    options = ["--exposure", "calendar", "--inventory", tmp_path / "nodes.csv", "--taxonomy", tmp_path / "site.toml"]
    content = json.loads(run("jobs", *on(folder), *options, "--log-start", "2024-01-01", "--json"))
    assert content["exposure"]["node_days"] == pytest.approx(2 * nodes.len(), rel=1e-9)
    assert content["components"][0]["component"] == "ethernet_link"
    (tmp_path / "nodes.csv").write_text("name\nn1\n")
    with pytest.raises(InputError, match=r"nodes.csv: is no inventory: it lacks the column node"):
        run("jobs", *on(folder), *options)


def test_events_of_ones_own_columns(folder: Path, tmp_path: Path) -> None:
    events = pl.read_csv(folder / "events.csv")
    events.rename({"time": "when", "node": "host", "component": "what"}).write_csv(tmp_path / "events.csv")
    columns = 'kind = "events"\n[columns]\ntime = "when"\nnode = "host"\ncomponent = "what"\n'
    (tmp_path / "events.toml").write_text(columns)
    given = ["--events", tmp_path / "events.csv", "--events-mapping", tmp_path / "events.toml"]
    found = json.loads(run("jobs", folder / "sacct.txt", *given, "--json"))
    assert found["components"] == json.loads(run("jobs", *on(folder), "--json"))["components"]


def test_fit_counts_by_period_of_a_scanned_log(folder: Path, tmp_path: Path) -> None:
    paths = [folder / "jobs.parquet", "--events", folder / "events.parquet", "--scan", "--min-gpus", "8"]
    run("fit", *paths, "--model", "constant", "--output", tmp_path / "fit.nc")
    fitted = load_fit(tmp_path / "fit.nc")["fit_data"].to_dataset()
    wanted = failure_table(
        scan_parquet(folder / "jobs.parquet"), scan_parquet(folder / "events.parquet", "events"), min_gpus=8
    )
    assert int(fitted["failures"].sum()) == int(wanted["failures"].sum())


def test_training_log_becomes_a_plan(tmp_path: Path) -> None:
    starts = [(0, "run_start", 0), (300, "step", 1), (900, "checkpoint_start", 9), (930, "checkpoint_end", 9)]
    again = [(1000, "restart_start", 0), (1240, "restart_end", 9), (2000, "run_end", 20)]
    rows = [{"time": 1704067200 + t, "run": "a", "event": e, "step": s} for t, e, s in starts + again]
    path = tmp_path / "training.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    content = json.loads(run("training", path, "--json"))
    plan = Plan.from_dict(content["plan"])
    assert plan.restart.source.tolist() == [240 / 3600]  # type: ignore[union-attr]
    assert plan.checkpoint_write.source.tolist() == [30 / 3600]  # type: ignore[union-attr]
    assert "240s" in subprocess.run([MEANTIME, "training", path], capture_output=True, text=True, check=True).stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["runs", "--gap", "5"], "gap"),
        (["losses", "--lost", "soon"], "soon"),
        (["sensitivity", "--windows", "5"], "5"),
        (["sensitivity", "--severities", "grave"], "grave"),
        (["quality", "--silence", "1"], "silence"),
        (["jobs", "--log-start", "yesterday"], "yesterday"),
        (["jobs", "--inventory", "absent.csv"], "absent.csv"),
        (["jobs", "--taxonomy", "absent.toml"], "absent.toml"),
    ],
)
def test_unusable_options_end_in_one_line(arguments: list[str], word: str, folder: Path) -> None:
    with pytest.raises(InputError, match=word) as caught:
        run(arguments[0], *on(folder), *arguments[1:])
    assert "\n" not in str(caught.value)


def test_what_is_no_log_of_jobs_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text("component,failures,exposure_node_days\ngpu,3,100\n")
    with pytest.raises(InputError, match=r"counts.csv: holds counts; expected a log of jobs"):
        run("runs", tmp_path / "counts.csv")
    with pytest.raises(InputError, match=r"events.csv: holds events; expected jobs"):
        run("runs", folder / "events.csv")
    with pytest.raises(InputError, match="sensitivity needs events"):
        run("sensitivity", folder / "sacct.txt")


def test_change_points_are_a_prior_of_over_time(tmp_path):
    assert chosen_priors(None, None, "over_time", change_points=True) == {"change_rate": 0.5}
    assert chosen_priors(None, None, "over_time") is None
    (tmp_path / "priors.toml").write_text("change_sd = 2.0\nchange_rate = 1.0\n")
    found = chosen_priors(tmp_path / "priors.toml", None, "over_time", change_points=True)
    assert found == {"change_rate": 1.0, "change_sd": 2.0}
    with pytest.raises(InputError, match="'component' has none; expected --model over_time"):
        chosen_priors(None, None, "component", change_points=True)
