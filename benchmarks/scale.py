"""How time and memory grow with a log: 0.4, 4 and 40 million jobs from Parquet to attributed failure tables.

    python benchmarks/scale.py [--folder /tmp/meantime-scale] [--sizes 0.4 4 40] [--sacct 0.5]

A cluster of 2,000 nodes is simulated once; larger logs repeat it, later and under other job ids, and are written and
read piece by piece. Each measurement is a fresh process; its memory is the peak resident set. The hand-written query
sums the same node-days by cluster and size in Polars, with its streaming engine, in the same process.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SEED = 1
ATTEMPTS = 1.153
"""Attempts a job, about."""


def simulate_piece(folder: Path, attempts: float) -> tuple[Path, Path]:
    """Simulate a log of about so many attempts, with half as many events, unless it is there."""
    jobs, events = folder / f"jobs-{attempts:.0f}.parquet", folder / f"events-{attempts:.0f}.parquet"
    if not jobs.exists() or not events.exists():
        from meantime.datasets.simulate import simulate_cluster

        cluster = simulate_cluster(seed=SEED, n_jobs=round(attempts / ATTEMPTS), n_nodes=2000, noise_low=2.05)
        cluster.events.write_parquet(events)
        cluster.jobs.write_parquet(jobs)
    return jobs, events


def write_log(folder: Path, millions: float, piece: float) -> tuple[str, str]:
    """Write a log of so many million attempts, simulated in pieces of so many; give the patterns of its files."""
    import polars as pl

    attempts = millions * 1e6
    whole = piece * 1e6
    if attempts <= whole:
        jobs, events = simulate_piece(folder, attempts)
        return str(jobs), str(events)
    jobs, events = simulate_piece(folder, whole)
    span = pl.scan_parquet(jobs).select(pl.max_horizontal(pl.col("submit", "start", "end").max())).collect().item()
    length = span - pl.scan_parquet(jobs).select(pl.col("submit").min()).collect().item()
    many = folder / f"{millions:g}-million"
    many.mkdir(exist_ok=True)
    for i in range(round(attempts / whole)):
        later = pl.duration(seconds=length.total_seconds() * i)
        for path, times in ((jobs, ("submit", "start", "end")), (events, ("time",))):
            target = many / f"{path.name.partition('-')[0]}-{i:03d}.parquet"
            if target.exists():
                continue
            moved = pl.scan_parquet(path).with_columns(pl.col(times) + later)
            if "job_id" in moved.collect_schema():
                moved = moved.with_columns(pl.format("{}-{}", "job_id", pl.lit(str(i))).alias("job_id"))
            moved.sink_parquet(target)
    return str(many / "jobs-*.parquet"), str(many / "events-*.parquet")


def timed(function: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Return the seconds that a call takes, of the clock and of the processors, and its result."""
    begin, busy = time.perf_counter(), time.process_time()
    result = function()
    return {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - busy}, result


def by_hand(jobs: str) -> Any:
    """Sum node-days by cluster and size as one writes it by hand."""
    import polars as pl

    log = pl.scan_parquet(jobs)
    end = log.select(pl.max_horizontal(pl.col("submit", "start", "end").max())).collect(engine="streaming").item()
    days = (pl.col("end").fill_null(end) - pl.col("start")).dt.total_microseconds() / 86_400e6
    size = (2 ** pl.col("n_gpus").log(2).ceil()).cast(pl.Int64)
    return (
        log.filter(pl.col("start").is_not_null() & (pl.col("n_gpus") > 0))
        .group_by("cluster", size.alias("job_size"))
        .agg((pl.col("n_gpus") / 8 * days).sum().alias("exposure"))
        .collect(engine="streaming")
    )


def measure_exposure(jobs: str, events: str) -> dict[str, float]:
    """Compare the plain exposure table with the query written by hand; the better of five, in turns."""
    import polars as pl

    from meantime.datasets.exposure import busy_exposure

    ours, hand = [], []
    for _ in range(5):
        took, wanted = timed(lambda: by_hand(jobs))
        hand.append(took)
        took, found = timed(lambda: busy_exposure(pl.scan_parquet(jobs)))
        ours.append(took)
    both = found.join(wanted, on=["cluster", "job_size"], suffix="_hand")
    assert both.height == wanted.height
    assert (both["exposure"] / both["exposure_hand"] - 1).abs().max() < 1e-9  # type: ignore[operator]
    return {
        f"{name}{which}": min(took[name] for took in all_)
        for which, all_ in (("", ours), (" by hand", hand))
        for name in ("seconds", "cpu")
    }


def measure_table(jobs: str, events: str) -> dict[str, float]:
    """From Parquet files to the attributed failure table."""
    import polars as pl

    from meantime.datasets import failure_table

    took, table = timed(lambda: failure_table(pl.scan_parquet(jobs), pl.scan_parquet(events)))
    account = json.loads(table.attrs["provenance"])
    told = {"rows": account["rows_read"], "events": account["events"], "failures": account["failures"]}
    return {**took, **told}


def measure_read(jobs: str, events: str) -> dict[str, float]:
    """The same through the reader, which checks, numbers and keeps every row."""
    from meantime.datasets import failure_table, read

    took, table = timed(lambda: failure_table(read(jobs), read(events)))
    return {**took, "failures": int(table["failures"].sum())}  # type: ignore[union-attr]


def measure_sacct(path: str, rows: str) -> dict[str, float]:
    """Read sacct text."""
    from meantime.datasets import read_sacct

    took, log = timed(lambda: read_sacct(path))
    assert log.table.height == int(rows)
    return {**took, "rows": int(rows)}


MEASURES: dict[str, Callable[[str, str], dict[str, float]]] = {
    "exposure": measure_exposure,
    "table": measure_table,
    "read": measure_read,
    "sacct": measure_sacct,
}


def peak_memory() -> float:
    """Give the peak resident set of this process in GiB; getrusage would count what the parent held at the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def run(name: str, *arguments: str) -> dict[str, float]:
    """Measure in a fresh process."""
    command = [sys.executable, __file__, "--worker", name, *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def show(what: str, millions: float, found: dict[str, float], note: str) -> None:
    """Print one line."""
    print(
        f"{what:20}{millions:8.1f}{found['seconds']:10.2f}{found['cpu']:10.2f}{found['seconds'] / millions:12.3f}"
        f"{found['GiB']:8.2f}   {note}",
        flush=True,
    )


def show_curve(folder: Path, sizes: list[float], piece: float) -> None:
    """Print the curve: seconds in all and for each million jobs."""
    print(f"{'':20}{'million':>8}{'s':>10}{'cpu s':>10}{'s/million':>12}{'GiB':>8}")
    for millions in sizes:
        jobs, events = write_log(folder, millions, piece)
        found = run("exposure", jobs, events)
        ratios = [found[name] / found[f"{name} by hand"] for name in ("seconds", "cpu")]
        show("exposure", millions, found, "{:.2f} times the query by hand ({:.2f} of its cpu)".format(*ratios))
        found = run("table", jobs, events)
        count = found["rows"] / 1e6
        show(
            "failure table", count, found, f"{found['events'] / 1e6:.1f} million events, {found['failures']:,} failures"
        )
        if millions <= piece:
            show("read, failure table", count, run("read", jobs, events), "every row checked and kept")


def show_sacct(folder: Path, millions: float) -> None:
    """Print how fast sacct text is read."""
    import polars as pl

    from meantime.datasets.simulate import simulate_cluster, write_cluster

    path, rows = folder / f"sacct-{millions:g}" / "sacct.txt", folder / f"sacct-{millions:g}" / "rows.parquet"
    if not rows.exists():
        begin = time.perf_counter()
        cluster = simulate_cluster(seed=SEED, n_jobs=round(millions * 1e6 / ATTEMPTS), n_nodes=2000)
        write_cluster(cluster, path.parent)
        print(f"simulated and written: {time.perf_counter() - begin:.1f} s")
        pl.DataFrame({"rows": [cluster.jobs.height]}).write_parquet(rows)
    found = run("sacct", str(path), str(pl.read_parquet(rows).item()))
    show("sacct text", found["rows"] / 1e6, found, f"{found['rows'] / found['seconds']:,.0f} rows/s")


def main() -> None:
    """Write what is missing, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/meantime-scale"))
    parser.add_argument("--sizes", type=float, nargs="*", default=[0.4, 4.0], help="millions of jobs")
    parser.add_argument("--piece", type=float, default=4.0, help="millions of jobs simulated at once; more repeat them")
    parser.add_argument("--sacct", type=float, default=0.5, help="millions of rows")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        name, *arguments = given.worker
        found = MEASURES[name](*arguments)
        print(json.dumps({**found, "GiB": peak_memory()}))
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    show_curve(given.folder, given.sizes, given.piece)
    if given.sacct:
        show_sacct(given.folder, given.sacct)


if __name__ == "__main__":
    main()
