"""Commands that plan: `plan`, `interval`, `spares`, `mitigate`, `goodput` and `simulate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from meantime.cli.app import app
from meantime.cli.groups import spread
from meantime.cli.options import (
    AsJson,
    Cluster,
    FitPath,
    Gpus,
    GpusPerNode,
    Horizon,
    PlanOptions,
    RunOptions,
    Seed,
    print_json,
    sizes_of,
)
from meantime.cli.reading import fit_of
from meantime.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

Price = Annotated[float | None, typer.Option("--price", help="Price of a GPU-hour.")]


@app.command()
@spread
def plan(
    path: FitPath,
    gpus: Gpus,
    work: Annotated[float, typer.Option("--work", help="Tokens, steps or samples to do.", show_default=False)],
    throughput: Annotated[
        str,
        typer.Option(
            "--throughput", help="Units of work per second by GPUs, e.g. 1024=5.4e5,8192=4.1e6.", show_default=False
        ),
    ],
    efficiency: Annotated[
        float | None,
        typer.Option("--efficiency", help="Beyond those sizes: share of ideal that each doubling keeps, e.g. 0.95."),
    ] = None,
    unit: Annotated[str, typer.Option("--unit", help="What work is counted in.")] = "tokens",
    aim: Annotated[Literal["days", "cost"], typer.Option("--aim", help="What the best size has least of.")] = "days",
    price: Price = None,
    within: Annotated[str | None, typer.Option("--within", help="Deadline, e.g. 30d.")] = None,
    sureness: Annotated[float, typer.Option("--sureness", help="Probability of keeping the deadline.")] = 0.9,
    target: Annotated[float | None, typer.Option("--target", help="ETTR whose probability is wanted.")] = None,
    *,
    run: PlanOptions,
    cluster: Cluster = None,
    horizon: Horizon = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Plan a run: days, cost and chances on clusters of several sizes, and which size to choose.

    Example: `meantime plan fit.nc --gpus 4096,16384 --work 15e12 --throughput 4096=1.6e6,16384=6e6 --within 60d`
    """
    from meantime.forecast import Budget, Throughput, plan_run

    budget = Budget(
        work=work,
        throughput=Throughput(measured=_pairs(throughput, "--throughput"), efficiency_per_doubling=efficiency),
        unit=unit,
    )
    content = plan_run(
        _rates(path, gpus, cluster, horizon, seed),
        budget,
        run.made(),
        aim=aim,
        price_per_gpu_hour=price,
        within=within,
        sureness=sureness,
        target=target,
        seed=seed,
    )
    columns = {
        "GPUs": ("gpus", "count"),
        "days to\nfinish": ("days_to_finish", "number"),
        "ETTR": ("ettr", "fraction"),
        "GPU-hours": ("gpu_hours", "amount"),
        "cost": ("cost", "amount"),
        "P(done)": ("probability_done", "odds"),
        "P(best)": ("probability_best", "odds"),
    }
    _show(content, columns, as_json=as_json, title=f"Plan of {work:g} {unit}")
    if not as_json:
        chosen = content["chosen_gpus"]
        print(f"Choose {chosen:,} GPUs." if chosen else "No size keeps the deadline as surely as asked.")


@app.command()
@spread
def interval(
    path: FitPath,
    gpus: Gpus,
    *,
    run: RunOptions,
    cluster: Cluster = None,
    horizon: Horizon = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compare checkpoint intervals: the best on average, a cautious one, Young's, Daly's, and a stated one."""
    from meantime.forecast import plan_intervals

    content = plan_intervals(
        _rates(path, gpus, cluster, horizon, seed),
        run.made(),
        seed=seed,
    )
    rows = [
        {"gpus": row["gpus"], "choice": name, **choice}
        for row in content["rows"]
        for name, choice in _choices(row["choices"])
    ]
    columns = {
        "GPUs": ("gpus", "count"),
        "choice": ("choice", "text"),
        "checkpoint every": ("seconds", "seconds"),
        "expected ETTR": ("ettr", "fraction"),
    }
    _show(content, columns, as_json=as_json, title="Checkpoint intervals", rows=rows)


@app.command()
def spares(
    path: FitPath,
    gpus: Gpus,
    repair: Annotated[
        str | None, typer.Option("--repair", help="Mean time until a failed node is a spare again, e.g. 24h.")
    ] = None,
    repair_fit: Annotated[
        Path | None, typer.Option("--repair-fit", help="In place of --repair: a fit of repair or repair_tail.")
    ] = None,
    sureness: Annotated[float, typer.Option("--sureness", help="Probability that a failure finds a spare.")] = 0.99,
    standby: Annotated[
        float, typer.Option("--standby", help="Failure rate of a waiting spare over that of a node in use.")
    ] = 0.0,
    many_jobs: Annotated[
        bool, typer.Option("--many-jobs", help="The nodes run many jobs, not one that stands still.")
    ] = False,
    gpus_per_node: GpusPerNode = 8,
    cluster: Cluster = None,
    horizon: Horizon = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Find the smallest pool of spare nodes with which failures find one as often as asked.

    Example: `meantime spares fit.nc --gpus 16384 --repair 24h --sureness 0.99`

    A fit of repairs gives its mean repair time with its uncertainty: `--repair-fit repair.nc`.
    """
    from meantime import inference
    from meantime.forecast import Plan, Uncertain, plan_spares

    if (repair is None) == (repair_fit is None):
        raise InputError("expected either --repair, such as 24h, or --repair-fit with a fit of repairs")
    rate = _rates(path, gpus, cluster, horizon, seed)
    down: str | Uncertain = repair or ""
    if repair_fit is not None:
        down = Uncertain(inference.repair_hours(fit_of(repair_fit), seed=seed)["mean"].values, "h")
    content = plan_spares(
        rate,
        down,
        Plan(gpus_per_node=gpus_per_node),
        sureness=sureness,
        standby=standby,
        one_run=not many_jobs,
        seed=seed,
    )
    columns = {
        "GPUs": ("gpus", "count"),
        "spares": ("spares", "count"),
        "needed": ("spares_needed", "number"),
        "in repair": ("nodes_in_repair", "number"),
        "no spare left": ("none_left", "fraction"),
        "wait": ("wait_seconds", "seconds"),
    }
    _show(content, columns, as_json=as_json, title=f"Spare nodes, {sureness:.1%} sure")


@app.command()
@spread
def mitigate(
    path: FitPath,
    gpus: Gpus,
    measures: Annotated[
        list[str],
        typer.Option(
            "--with",
            help="A measure, once each: **restart=1min** or **restart=x0.5**, **checkpoint=5s**, **detection=10s**, "
            "**async=2s**, **spares=8,repair=4h**, **lemons=8** (of a fit of node_frailty), or a component: "
            "**infiniband_link=x0.3**.",
            show_default=False,
        ),
    ],
    *,
    run: RunOptions,
    cluster: Cluster = None,
    horizon: Horizon = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Rank measures by what they buy: alone, all together, and their fair (Shapley) shares.

    Example: `meantime mitigate fit.nc --gpus 16384 --with restart=1min --with infiniband_link=x0.3`
    """
    from meantime import inference
    from meantime.forecast import mitigate as run_mitigate
    from meantime.forecast import mitigate_document, mitigation_of

    sizes = sizes_of(gpus)
    tree = fit_of(path)
    of_nodes = inference.provenance(tree)["model"] == "node_frailty"
    nodes = inference.node_posterior(tree, cluster=cluster, seed=seed) if of_nodes else None
    content = mitigate_document(
        run_mitigate(
            tree,
            sizes,
            run.made(),
            [mitigation_of(text, nodes=nodes) for text in measures],
            cluster=cluster,
            horizon=horizon,
            seed=seed,
        )
    )
    rows = [{"gpus": row["gpus"], **measure} for row in content["rows"] for measure in row["mitigations"]]
    columns = {
        "GPUs": ("gpus", "count"),
        "measure": ("mitigation", "text"),
        "gain alone": ("gain_alone", "number"),
        "share of gain\nof all": ("gain_shapley", "number"),
        "GPU-hours\nsaved a day": ("gpu_hours_saved_per_day", "amount"),
        "P(best)": ("probability_best", "odds"),
    }
    _show(content, columns, as_json=as_json, title="Measures: gains of expected ETTR", rows=rows)


@app.command()
def goodput(
    path: FitPath,
    jobs: Annotated[
        str,
        typer.Option(
            "--jobs", help="GPUs busy in jobs of each size, e.g. 4096=8192,512=4096,8=3000.", show_default=False
        ),
    ],
    cluster_gpus: Annotated[int, typer.Option("--cluster-gpus", help="GPUs of the cluster.", show_default=False)],
    idle: Annotated[float, typer.Option("--idle", help="Idle GPUs, taken before a job is preempted.")] = 0.0,
    checkpoint_interval: Annotated[str, typer.Option("--checkpoint-interval", help="Of every job.")] = "1h",
    restart: Annotated[str, typer.Option("--restart", help="Of every job.")] = "5min",
    price: Price = None,
    gpus_per_node: GpusPerNode = 8,
    cluster: Cluster = None,
    horizon: Horizon = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Say where the GPU-hours of a whole cluster go in a day. Larger jobs have the higher priority."""
    from meantime.forecast import JobClass, cluster_goodput, rates_of

    mix = _pairs(jobs, "--jobs")
    classes = [
        JobClass(gpus=size, running=running, priority=size, checkpoint_interval=checkpoint_interval, restart=restart)
        for size, running in mix.items()
    ]
    content = cluster_goodput(
        rates_of(fit_of(path), list(mix), cluster=cluster, horizon=horizon, seed=seed),
        classes,
        cluster_gpus,
        gpus_per_node=gpus_per_node,
        idle=idle,
        price_per_gpu_hour=price,
        seed=seed,
    )
    columns = {
        "GPUs": ("gpus", "count"),
        "failures\na day": ("failures_per_day", "number"),
        "GPU-hours\nlost a day": ("lost_first_order", "number"),
        "of other\njobs": ("lost_second_order", "number"),
        "cost\na day": ("lost_cost", "amount"),
    }
    _show(content, columns, as_json=as_json, title="Losses by size of the job that fails")
    if not as_json:
        from meantime.report.console import console, print_rows

        by_part = {"component": ("component", "text"), **{name: columns[name] for name in columns if name != "GPUs"}}
        print_rows(content["components"], by_part, console(), title="Losses by component that fails")
        from meantime.report.numbers import fraction, fraction_between

        figures = content["goodput"]
        print(f"Goodput {fraction(figures['median'])} ({fraction_between(figures['lower'], figures['upper'])})")


@app.command()
@spread
def simulate(
    path: FitPath,
    gpus: Gpus,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Runs of each size.")] = 1000,
    *,
    run: RunOptions,
    cluster: Cluster = None,
    horizon: Horizon = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Simulate runs event by event, and compare them with the closed forms."""
    from meantime.forecast import simulate_runs

    content = simulate_runs(
        _rates(path, gpus, cluster, horizon, seed),
        run.made(),
        runs=runs,
        seed=seed,
    )
    columns = {
        "GPUs": ("gpus", "count"),
        "days to finish": ("days_to_finish", "number"),
        "closed form": ("days_mean_expected", "number"),
        "ETTR of a run": ("ettr_run", "fraction"),
        "failures": ("failures", "number"),
        "off by (s.e.)": ("standard_errors", "number"),
    }
    _show(content, columns, as_json=as_json, title=f"{runs:,} simulated runs")


def _rates(path: Path, gpus: str, cluster: str | None, horizon: str | None, seed: int) -> "xr.DataArray":
    from meantime.forecast import rates_of

    sizes = sizes_of(gpus)
    return rates_of(fit_of(path), sizes, cluster=cluster, horizon=horizon, seed=seed)


def _pairs(text: str, option: str) -> dict[int, float]:
    try:
        return {int(size): float(value) for size, value in (part.split("=") for part in text.split(","))}
    except ValueError as error:
        raise InputError(f"{option} is {text!r}; expected GPUs=number, comma separated, such as 1024=5e5") from error


def _choices(choices: Any) -> list[tuple[str, dict[str, Any]]]:
    if isinstance(choices, dict):
        return list(choices.items())
    return [(choice["name"], choice) for choice in choices]


def _show(
    content: dict[str, Any],
    columns: dict[str, tuple[str, str]],
    *,
    as_json: bool,
    title: str,
    rows: list[dict[str, Any]] | None = None,
) -> None:
    from meantime.report.console import console, print_rows

    if as_json:
        print_json(content)
        return
    print_rows(content["rows"] if rows is None else rows, columns, console(), title=title)
    for note in content["notes"]:
        console().print(f"Note: {note}")
