"""Effective samples per second of `component_size`, against the same model in plain NumPyro and in nutpie.

    python benchmarks/fit.py [--repeats 1] [--seed 1] [--baseline vectorized parallel] [--nutpie numba jax] [--explicit]

Each measurement is a fresh process. The table has 12 components, 2 clusters and 8 job sizes, drawn from
the model with exposures like those of a large research cluster. Time is wall time with compilation; the
smallest bulk effective sample size is taken over every sampled scalar, on its own scale. The plain
version has the same density, cells integrated out too, and is not centred; --explicit also runs it with log-normal
cell deviations as parameters. nutpie samples the PyMC model as it is written, that is, centred. Exit status 1 if
meantime is less than 10 times as fast as the plain version.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np
import xarray as xr

CHAINS, DRAWS = 4, 1000
LEAST_RATIO = 10.0
SIZES = 2 ** np.arange(3, 11)
N_COMPONENTS, N_CLUSTERS = 12, 2


def make_table(seed: int) -> xr.Dataset:
    """Draw a table from `component_size`: 4 failures per 1,000 node-days, about a million node-days in all."""
    from meantime.datasets.table import build_table

    rng = np.random.default_rng(seed)
    share = np.exp(-0.5 * ((np.log2(SIZES) - 7) / 2) ** 2) * rng.lognormal(0, 0.3, (N_CLUSTERS, len(SIZES)))
    exposure = np.array([[700_000.0], [350_000.0]]) * share / share.sum(1, keepdims=True)
    level = rng.normal(np.log(4e-3 / N_COMPONENTS) - 0.5, 1.0, N_COMPONENTS)
    deviation = rng.normal(0, 0.4, (N_CLUSTERS, N_COMPONENTS))
    slope = rng.normal(0.05, 0.08, N_COMPONENTS)
    log_rate = (level + deviation)[:, :, None] + slope[:, None] * np.log2(SIZES / 64)
    cell = rng.gamma(1 / 0.3**2, 0.3**2, log_rate.shape)
    return build_table(
        rng.poisson(exposure[:, None] * np.exp(log_rate) * cell),
        exposure,
        cluster=["one", "two"],
        component=[f"component_{i:02d}" for i in range(N_COMPONENTS)],
        job_size=SIZES,
    )


def run_meantime(table: xr.Dataset, seed: int) -> tuple[dict[str, np.ndarray], float]:
    """Fit with meantime; return sampled variables and mean leapfrog steps a draw."""
    from meantime.inference import fit

    tree = fit(table, "component_size", seed=seed, chains=CHAINS, draws=DRAWS, allow_unconverged=True, progress=False)
    posterior = tree["posterior"].to_dataset().drop_vars(["cell", "rate"])
    return {name: posterior[name].values for name in posterior}, float(tree["sample_stats"]["n_steps"].mean())


def run_plain(
    table: xr.Dataset, seed: int, method: str, warmup: int, explicit: bool
) -> tuple[dict[str, np.ndarray], float]:
    """Fit the same density with the same priors, as one would write it by hand in NumPyro.

    With `explicit` the cell deviations are parameters, log-normal with the same spread.
    """
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    if method == "parallel":
        numpyro.set_host_device_count(CHAINS)
    jax.config.update("jax_enable_x64", True)

    def model(failures: jax.Array, exposure: jax.Array, doublings: jax.Array) -> None:
        mu = numpyro.sample("mu", dist.Normal(np.log(4e-3 / N_COMPONENTS), 1.5))
        sigma_component = numpyro.sample("sigma_component", dist.HalfNormal(1.5))
        sigma_cluster = numpyro.sample("sigma_cluster", dist.HalfNormal(1.0))
        slope_mean = numpyro.sample("slope_mean", dist.Normal(0, 0.25))
        slope_sd = numpyro.sample("slope_sd", dist.HalfNormal(0.15))
        sigma_cell = numpyro.sample("sigma_cell", dist.HalfNormal(0.4))
        level_z = numpyro.sample("level_z", dist.Normal(0, 1).expand([N_COMPONENTS]).to_event(1))
        deviation_z = numpyro.sample("deviation_z", dist.Normal(0, 1).expand([N_CLUSTERS, N_COMPONENTS]).to_event(2))
        slope_z = numpyro.sample("slope_z", dist.Normal(0, 1).expand([N_COMPONENTS]).to_event(1))
        level = numpyro.deterministic("level", mu + sigma_component * level_z)
        deviation = numpyro.deterministic("cluster_deviation", sigma_cluster * deviation_z)
        slope = numpyro.deterministic("slope", slope_mean + slope_sd * slope_z)
        log_rate = (level + deviation)[:, :, None] + slope[:, None] * doublings
        if explicit:
            cell_z = numpyro.sample("cell_z", dist.Normal(0, 1).expand(log_rate.shape).to_event(3))
            log_rate = log_rate + sigma_cell * cell_z
        mean = exposure[:, None, :] * jnp.exp(log_rate)
        if explicit:
            numpyro.sample("failures", dist.Poisson(mean).to_event(3), obs=failures)
            return
        likelihood = dist.NegativeBinomial2(mean, 1 / (sigma_cell**2 + 1e-8)).to_event(3)
        numpyro.sample("failures", likelihood, obs=failures)

    sampler = MCMC(NUTS(model), num_warmup=warmup, num_samples=DRAWS, num_chains=CHAINS, chain_method=method,
                   progress_bar=False)  # fmt: skip
    sampler.run(
        jax.random.key(seed),
        table["failures"].values,
        table["exposure"].values,
        np.log2(SIZES / 64),
        extra_fields=("num_steps",),
    )
    samples = {k: np.asarray(v) for k, v in sampler.get_samples(group_by_chain=True).items() if not k.endswith("_z")}
    return samples, float(np.mean(sampler.get_extra_fields()["num_steps"]))


def run_nutpie(table: xr.Dataset, seed: int, backend: str) -> tuple[dict[str, np.ndarray], float]:
    """Sample the centred PyMC model with nutpie and its own warm-up."""
    import nutpie

    from meantime.models import component_size

    compiled = nutpie.compile_pymc_model(component_size(table), backend=backend)
    found = nutpie.sample(compiled, draws=DRAWS, chains=CHAINS, seed=seed, progress_bar=False)
    names = [name for name in found["posterior"].data_vars if not str(name).endswith("__")]
    steps = float(found["sample_stats"]["n_steps"].mean())
    return {str(name): np.asarray(found["posterior"][name].values) for name in names}, steps


def measure(who: str, seed: int, method: str, warmup: int) -> dict[str, float]:
    """Run one fit in this process and measure it."""
    started = time.perf_counter()
    if who != "nutpie":
        import jax  # noqa: F401
        import numpyro.infer  # noqa: F401
    if who in ("meantime", "nutpie"):
        import pymc  # noqa: F401

        import meantime.inference  # noqa: F401
    if who == "nutpie":
        import nutpie  # noqa: F401
    table = make_table(seed)
    imported = time.perf_counter()
    cpu = time.process_time()
    if who == "meantime":
        draws, steps = run_meantime(table, seed)
    elif who == "nutpie":
        draws, steps = run_nutpie(table, seed, method)
    else:
        draws, steps = run_plain(table, seed, method, warmup, who == "explicit")
    seconds = time.perf_counter() - imported
    cpu = time.process_time() - cpu
    from meantime.inference.diagnostics import ess_bulk, rhat

    values = np.concatenate([v.reshape(CHAINS, DRAWS, -1) for v in draws.values()], axis=2).transpose(2, 0, 1)
    ess = float(ess_bulk(values).min())
    whole = seconds + imported - started
    return {"ess": ess, "rhat": float(rhat(values).max()), "steps": steps, "seconds": seconds, "cpu_seconds": cpu,
            "ess_per_second": ess / seconds, "seconds_with_imports": whole,
            "ess_per_second_with_imports": ess / whole}  # fmt: skip


def main() -> None:
    """Measure both in turns and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=1000, help="warm-up of the plain version")
    parser.add_argument("--baseline", nargs="*", default=["vectorized", "parallel"], help="NumPyro chain methods")
    parser.add_argument("--nutpie", nargs="*", default=["numba"], help="backends of nutpie on the centred model")
    parser.add_argument("--explicit", action="store_true", help="also with explicit cell deviations")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        who, _, method = given.worker.partition(":")
        print(json.dumps(measure(who, given.seed, method, given.warmup)))
        return
    results: dict[str, list[dict[str, float]]] = {}
    print(
        f"{'':22}{'ESS':>7}{'R-hat':>8}{'steps':>7}{'s':>7}{'cpu s':>7}{'ESS/s':>8}{'with imports: s':>17}{'ESS/s':>8}"
    )
    everyone = ["meantime", *(f"numpyro:{method}" for method in given.baseline)]
    everyone += [f"nutpie:{backend}" for backend in given.nutpie]
    if given.explicit:
        everyone.append("explicit:vectorized")
    for repeat in range(given.repeats):
        for who in everyone:
            command = [sys.executable, __file__, "--worker", who, "--seed", str(given.seed + repeat),
                       "--warmup", str(given.warmup)]  # fmt: skip
            environment = {**os.environ, "MEANTIME_CACHE": "off"}  # compilation is part of what is measured
            output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
            found = json.loads(output.splitlines()[-1])
            results.setdefault(who, []).append(found)
            print(f"{who:22}{found['ess']:7.0f}{found['rhat']:8.4f}{found['steps']:7.1f}{found['seconds']:7.1f}"
                  f"{found['cpu_seconds']:7.1f}{found['ess_per_second']:8.0f}{found['seconds_with_imports']:17.1f}"
                  f"{found['ess_per_second_with_imports']:8.0f}")  # fmt: skip
    for key, words in (("ess_per_second", "compilation included"), ("ess_per_second_with_imports", "and imports")):
        best = {who: float(np.median([one[key] for one in runs])) for who, runs in results.items()}
        best.pop("explicit:vectorized", None)
        ours = best.pop("meantime")
        nutpie = ", ".join(f"{who} {best.pop(who):.0f}" for who in list(best) if who.startswith("nutpie"))
        plain = max(best, key=lambda who: best[who])
        print(f"{words}: {ours:.0f} against {best[plain]:.0f} ({plain}) effective samples a second, "
              f"{ours / best[plain]:.1f} times; {nutpie}")  # fmt: skip
        if ours < LEAST_RATIO * best[plain]:
            sys.exit(1)


if __name__ == "__main__":
    main()
