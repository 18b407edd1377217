"""A large sparse table: 200 components, 50 clusters, 12 job sizes and 52 weeks; time and memory of a fit.

    python benchmarks/sparse.py [--model component_size] [--components 200] [--clusters 50] [--sizes 12] [--weeks 52]

Six million cells, most of them empty. `component_size` sums the weeks away, which loses nothing of what it can learn,
and is fitted to 120,000 cells. Exit status 1 beyond 10 minutes or 8 GB.
"""

import argparse
import resource
import sys
import time

import numpy as np

MOST_SECONDS, MOST_GB = 600.0, 8.0


def main() -> None:
    """Make the table, fit it, print time and peak memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="component_size")
    for name, value in (("components", 200), ("clusters", 50), ("sizes", 12), ("weeks", 52)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    from meantime.datasets.table import build_table
    from meantime.inference import fit, provenance

    rng = np.random.default_rng(1)
    sizes = 2 ** np.arange(3, 3 + given.sizes)
    exposure = rng.lognormal(5, 1, (given.clusters, given.sizes, given.weeks))
    level = rng.normal(np.log(4e-3 / given.components) - 0.7, 1.2, given.components)
    rate = np.exp(level + rng.normal(0, 0.4, (given.clusters, given.components)))[:, :, None, None]
    cell = rng.gamma(1 / 0.3**2, 0.3**2, (given.clusters, given.components, given.sizes, 1))
    table = build_table(
        rng.poisson(exposure[:, None] * rate * cell),
        exposure,
        cluster=[f"cluster {i}" for i in range(given.clusters)],
        component=[f"component {i}" for i in range(given.components)],
        job_size=sizes,
        period=np.datetime64("2025-01-06") + 7 * np.arange(given.weeks) * np.timedelta64(1, "D"),
    )
    failures = table["failures"]
    empty = float((failures == 0).mean())
    print(f"{failures.size:,} cells, {int(failures.sum()):,} failures, {empty:.1%} of cells empty")
    started = time.perf_counter()
    tree = fit(table, given.model, seed=1, progress=False, allow_unconverged=True)
    seconds = time.perf_counter() - started
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = provenance(tree)
    checks = found["diagnostics"]
    print(f"{given.model}: {seconds:.0f} s, peak {gigabytes:.1f} GB, {checks.get('mean_steps', 0):.1f} steps, smallest "
          f"ESS {checks['min_ess_bulk']:.0f}, R-hat {checks['max_rhat']:.3f}, thinned {found['sampling']['thinned']}, "
          f"{'converged' if checks['converged'] else checks['problems']}")  # fmt: skip
    sys.exit(int(seconds > MOST_SECONDS or gigabytes > MOST_GB))


if __name__ == "__main__":
    main()
