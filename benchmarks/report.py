"""The report of a log of four million jobs, and of fits with many components, sizes, clusters and nodes.

    python benchmarks/report.py [--folder /tmp/meantime-scale] [--millions 4]

The log is that of `scale.py`, from Parquet; reading, counting and fitting are timed by themselves. The other fits are
of simulated tables. Each is a fresh process; memory is its peak resident set, and the size is that of the file.
"""

import argparse
import glob
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scale import peak_memory, timed, write_log

LIMIT = 3_000_000
"""Largest size of a report in bytes."""
SHAPES = {"wide": (20, 200, 13), "one cluster": (1, 200, 13)}
"""Clusters, components and sizes of simulated tables."""
NODES = 12_500


def written(tree: Any, **log: Any) -> dict[str, float]:
    """Write the report of a fit, and measure."""
    from meantime.report import write_report

    with tempfile.TemporaryDirectory() as folder:
        took, path = timed(lambda: write_report(tree, Path(folder) / "report.html", **log))
        size = path.stat().st_size
    assert size < LIMIT
    return {**took, "bytes": size}


def measure_log(jobs: str, events: str) -> dict[str, Any]:
    """From a log to its report, in steps."""
    from meantime.datasets import failure_table, read
    from meantime.inference import fit

    steps: dict[str, Any] = {}
    steps["read"], (log, checks) = timed(lambda: (read(sorted(glob.glob(jobs))), read(sorted(glob.glob(events)))))
    steps["count"], table = timed(lambda: failure_table(log, checks))
    steps["fit"], tree = timed(lambda: fit(table, "component_size", seed=1, progress=False))
    steps["report of the fit"] = written(tree)
    steps["report with the log"] = written(tree, jobs=log, events=checks)
    return steps


def measure_table(shape: str, _: str) -> dict[str, Any]:
    """A fit of a simulated table of many cells."""
    import numpy as np

    from meantime.datasets.table import build_table
    from meantime.inference import fit

    clusters, components, sizes = SHAPES[shape]
    rng = np.random.default_rng(1)
    exposure = rng.uniform(0.5, 1.5, (clusters, sizes)) * 1e6 / sizes
    level = np.log(6.5e-3 / components) + rng.normal(0, 1, (clusters, components))
    table = build_table(
        rng.poisson(exposure[:, None] * np.exp(level)[..., None]),
        exposure,
        cluster=[f"cluster {i}" for i in range(clusters)],
        component=[f"component {i}" for i in range(components)],
        job_size=2 ** np.arange(sizes),
    )
    options = {"method": "laplace", "draws": 250, "allow_unconverged": True}
    return {"report": written(fit(table, "component_size", seed=1, progress=False, **options))}


def measure_nodes(_: str, __: str) -> dict[str, Any]:
    """A fit of many nodes."""
    from meantime.datasets.simulate import simulate_nodes
    from meantime.inference import fit

    table, _truth = simulate_nodes(seed=1, nodes=NODES, exposure=90.0)
    tree = fit(table, "node_frailty", seed=1, method="laplace", progress=False, allow_unconverged=True)
    return {"report": written(tree)}


MEASURES: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "log": measure_log,
    "table": measure_table,
    "nodes": measure_nodes,
}


def show(what: str, name: str, *arguments: str) -> None:
    """Measure in a fresh process, and print a line for each step."""
    command = [sys.executable, __file__, "--worker", name, *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = json.loads(output.splitlines()[-1])
    memory = found.pop("GiB")
    for step, took in found.items():
        size = f"{took['bytes'] / 1e3:8.0f} kB" if "bytes" in took else " " * 11
        print(f"{what:34}{step:22}{took['seconds']:8.1f} s{took['cpu']:8.1f} cpu s{size}{memory:7.2f} GiB", flush=True)


def main() -> None:
    """Write the log if it is missing, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/meantime-scale"))
    parser.add_argument("--millions", type=float, default=4.0, help="millions of jobs")
    parser.add_argument("--piece", type=float, default=0.4, help="millions of jobs simulated; more repeat them")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        name, *arguments = given.worker
        print(json.dumps({**MEASURES[name](*arguments), "GiB": peak_memory()}))
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    show(f"log of {given.millions:g} million jobs", "log", *write_log(given.folder, given.millions, given.piece))
    for name, (clusters, components, sizes) in SHAPES.items():
        show(f"{clusters} x {components} x {sizes} cells", "table", name, "")
    show(f"{NODES:,} nodes", "nodes", "", "")


if __name__ == "__main__":
    main()
