"""A simulated jobs table as sacct prints it."""

import numpy as np
import polars as pl

from meantime.datasets.simulate.frames import Simulation

SACCT_COLUMNS = (
    "JobIDRaw",
    "JobID",
    "JobName",
    "User",
    "Account",
    "Partition",
    "QOS",
    "State",
    "Submit",
    "Start",
    "End",
    "ElapsedRaw",
    "NNodes",
    "AllocTRES",
    "ReqTRES",
    "NodeList",
    "ExitCode",
    "Restarts",
    "Reason",
)
TIME = "%Y-%m-%dT%H:%M:%S"
"""Times as Slurm prints them, without a zone."""

_EXIT_CODES = {"FAILED": "1:0", "OUT_OF_MEMORY": "0:125", "PREEMPTED": "0:15"}


def sacct_rows(cluster: Simulation, *, steps: bool = False) -> pl.DataFrame:
    """Lay the jobs table out as ``sacct`` prints it: text columns in the order of `SACCT_COLUMNS`."""
    hosts = compress_hosts(cluster.jobs["nodes"])
    frame = cluster.jobs.with_row_index("row").with_columns(hosts=hosts, first=cluster.jobs["nodes"].list.first())
    end = pl.col("end").fill_null(cluster.log_end)
    started = pl.col("start").is_not_null()
    withdrawn = (pl.col("state") == "CANCELLED") & ~started
    elapsed = pl.when(started).then((end - pl.col("start")).dt.total_seconds()).otherwise(0)
    number = pl.col("user").str.slice(4)
    rows = frame.select(
        "row",
        "first",
        started.alias("started"),
        kind=pl.lit(0, dtype=pl.Int8),
        JobIDRaw="job_id",
        JobID="job_id",
        JobName=pl.format("run{}", pl.col("job_id").str.slice(-4)),
        User="user",
        Account=pl.format("project{}", number.str.slice(-2)),
        Partition="partition",
        QOS="qos",
        State=pl.when(pl.col("state") == "CANCELLED")
        .then(pl.format("CANCELLED by {}", number.cast(pl.Int64) + 10_000))
        .otherwise(pl.col("state").cast(pl.String)),
        Submit=pl.col("submit").dt.strftime(TIME),
        Start=pl.when(withdrawn).then(pl.lit("None")).otherwise(pl.col("start").dt.strftime(TIME).fill_null("Unknown")),
        End=pl.col("end").dt.strftime(TIME).fill_null("Unknown"),
        ElapsedRaw=elapsed.cast(pl.String),
        NNodes=pl.col("n_nodes").cast(pl.String),
        AllocTRES=pl.when(started).then(_tres("gres/gpu:a100={},gres/gpu={}", twice=True)).otherwise(pl.lit("")),
        ReqTRES=_tres("gres/gpu={}", twice=False),
        NodeList=pl.col("hosts").fill_null("None assigned"),
        ExitCode=pl.col("state").cast(pl.String).replace_strict(_EXIT_CODES, default="0:0"),
        Restarts=(pl.col("attempt") - 1).cast(pl.String),
        Reason=pl.when(pl.col("state") == "PENDING").then(pl.lit("Resources")).otherwise(pl.lit("None")),
    )
    if steps:
        rows = pl.concat([rows, *_steps(rows)]).sort("row", "kind")
    return rows.select(SACCT_COLUMNS)


def compress_hosts(nodes: pl.Series) -> pl.Series:
    """Write lists of node names as Slurm does: ``rsc[0001-0016,0020]``; null stays null.

    Names are a common prefix and a number of fixed width, ascending within each list.
    """
    flat = pl.DataFrame({"row": np.arange(len(nodes)), "name": nodes}).explode("name").drop_nulls()
    parts = flat.with_columns(
        prefix=pl.col("name").str.extract(r"^(.*?)\d+$"),
        text=pl.col("name").str.extract(r"(\d+)$"),
    ).with_columns(number=pl.col("text").cast(pl.Int64))
    follows = (pl.col("number") == pl.col("number").shift(1) + 1) & (pl.col("row") == pl.col("row").shift(1))
    runs = parts.with_columns(run=(~follows.fill_null(False)).cum_sum())
    runs = runs.group_by("run", maintain_order=True).agg(
        pl.first("row", "prefix"), low=pl.first("text"), high=pl.last("text")
    )
    piece = pl.when(pl.col("low") == pl.col("high")).then("low").otherwise(pl.format("{}-{}", "low", "high"))
    lists = runs.with_columns(piece=piece).group_by("row", maintain_order=True).agg(pl.first("prefix"), "piece")
    joined = pl.col("piece").list.join(",")
    plain = (pl.col("piece").list.len() == 1) & ~joined.str.contains("-", literal=True)
    lists = lists.select(
        "row", hosts=pl.when(plain).then(pl.col("prefix") + joined).otherwise(pl.format("{}[{}]", "prefix", joined))
    )
    return pl.DataFrame({"row": np.arange(len(nodes))}).join(lists, on="row", how="left", maintain_order="left")[
        "hosts"
    ]


def _tres(gpus: str, *, twice: bool) -> pl.Expr:
    count = pl.col("n_gpus")
    text = f"billing={{}},cpu={{}},{gpus},mem={{}}G,node={{}}"
    return pl.format(text, count * 16, count * 16, *([count] * (2 if twice else 1)), count * 128, pl.col("n_nodes"))


def _steps(rows: pl.DataFrame) -> list[pl.DataFrame]:
    ran = rows.filter("started")
    state = pl.col("State").str.split(" ").list.first()
    batch = pl.when(state == "CANCELLED").then(pl.lit("CANCELLED")).otherwise(state)
    empty = {name: pl.lit("") for name in ("User", "Partition", "QOS", "ReqTRES", "Reason")}
    forms: tuple[tuple[int, str, pl.Expr, dict[str, pl.Expr]], ...] = (
        (1, "batch", batch, {"NNodes": pl.lit("1"), "NodeList": pl.col("first")}),
        (2, "extern", pl.when(state.is_in(["RUNNING", "NODE_FAIL"])).then(state).otherwise(pl.lit("COMPLETED")), {}),
    )
    return [
        ran.with_columns(
            JobIDRaw=pl.format(f"{{}}.{name}", "JobIDRaw"),
            JobID=pl.format(f"{{}}.{name}", "JobID"),
            JobName=pl.lit(name),
            State=what,
            Submit="Start",
            kind=pl.lit(kind, dtype=pl.Int8),
            **empty,
            **changes,
        )
        for kind, name, what, changes in forms
    ]
