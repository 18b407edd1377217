"""Slurm accounting as sacct prints it.

The input is the output of, for example::

    sacct -D -P -a -S 2024-01-01 -E 2024-02-01 \\
      -o JobIDRaw,JobID,JobName,User,Account,Partition,QOS,State,Submit,Start,End,ElapsedRaw,\\
    NNodes,AllocTRES,ReqTRES,NodeList,ExitCode,Restarts,Reason > sacct.txt

``-D`` shows every attempt of a requeued job. A header line is needed; of its fields JobID (or
JobIDRaw), State, Start and End must be there, AllocTRES or ReqTRES (or NNodes, and `gpus_per_node`)
for the sizes in GPUs, NodeList for the attribution of failures to events. Any delimiter is found from
the header; ``-P`` and ``-p`` (a delimiter at the end of the row) and line breaks inside fields are read.

Decisions, each also in the notes of the log where it was taken:

- Rows of steps (``123.batch``, ``123.extern``, ``123.0``) are folded.
- ``job_id`` is JobID (``123_4`` an array task, ``123+1`` a heterogeneous component), else JobIDRaw. A
  pending array ``123_[5-9]`` is one row.
- GPUs come from AllocTRES, else (job never ran) ReqTRES; ``gres/gpu`` and ``gres/gpu:TYPE`` are the
  same GPUs. A job whose TRES name none has 0. If no row of the file names any, the cluster does not
  track them: then GPUs are NNodes x `gpus_per_node` if that was given, else not known.
- Times are local times of `timezone` unless they are seconds since 1970.
- States: see `meantime.datasets.slurm`.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from meantime.datasets.columns import Texts
from meantime.datasets.header import Header, find_header
from meantime.datasets.jobs import Conventions, jobs_log
from meantime.datasets.log import Log, add_counts
from meantime.datasets.ragged import LINE
from meantime.datasets.records import line_texts, read_records
from meantime.datasets.slurm import count_gpus, state_map, whole_numbers
from meantime.datasets.source import PathLike, read_bytes
from meantime.datasets.times import check_timezone
from meantime.errors import InputError

_RENAMED = {
    "state": "state",
    "submit": "submit",
    "start": "start",
    "end": "end",
    "elapsedraw": "elapsed",
    "cluster": "cluster",
    "nodelist": "nodes",
    "jobname": "name",
    "user": "user",
    "qos": "qos",
    "partition": "partition",
}
_USED = ("jobid", "jobidraw", "nnodes", "allocnodes", "alloctres", "reqtres", "restarts", *_RENAMED)
_NO_JOBS = "no row is a job: the file has only rows of steps; expected rows such as sacct -X prints"
_NEEDED = "JobID (or JobIDRaw), State, Start and End"


def read_sacct(
    path: PathLike,
    *,
    timezone: str = "UTC",
    cluster: str = "cluster",
    gpus_per_node: int | None = None,
    delimiter: str | None = None,
) -> Log:
    """Read sacct output (see the module's text for the command and the decisions).

    Parameters
    ----------
    path
        Text, or text packed as .gz, .xz or .zst.
    timezone
        Zone of the cluster's clock.
    cluster
        Name of the cluster where the file has no Cluster field.
    gpus_per_node
        GPUs of a node, for clusters whose TRES do not track GPUs.
    delimiter
        What separates fields, if it cannot be found from the header.

    Raises
    ------
    InputError
        If the file cannot be read, or its header lacks a field that is needed.
    """
    file = str(path)
    check_timezone(timezone)
    data = read_bytes(path)
    header = find_header(data, delimiter)
    fields = {name.lower(): column for name, column in reversed(list(zip(header.names, header.columns, strict=True)))}
    _check_fields(fields, header, file)
    records = read_records(data, header, file=file, needed={fields[name] for name in _USED if name in fields})
    return slurm_jobs(
        records.frame,
        fields,
        file=file,
        format="sacct",
        texts=lambda lines: line_texts(data, lines),
        conventions=Conventions(cluster=cluster, timezone=timezone),
        gpus_per_node=gpus_per_node,
        quarantine=records.quarantine,
        folded=records.folded,
        notes=records.notes,
    )


def slurm_jobs(
    frame: pl.DataFrame,
    fields: Mapping[str, str],
    *,
    file: str,
    format: str,
    texts: Texts,
    conventions: Conventions,
    gpus_per_node: int | None,
    quarantine: pl.DataFrame,
    folded: Mapping[str, int],
    notes: Sequence[str],
) -> Log:
    """Make the jobs table of rows with sacct's fields, wherever they come from.

    Parameters
    ----------
    frame
        The fields as text (NodeList may be lists of names), and `LINE`.
    fields
        From sacct's names in small letters to the columns of `frame`; jobid or jobidraw, state, start, end are there.
    file, format, texts, conventions, quarantine, folded
        As in `meantime.datasets.jobs.jobs_log`.
    gpus_per_node
        GPUs of a node, for clusters whose TRES do not track GPUs.
    notes
        What the reader has decided.
    """
    identity = fields.get("jobid") or fields["jobidraw"]
    steps = frame[identity].str.contains(".", literal=True).fill_null(False)
    rows = frame.filter(~steps) if steps.any() else frame
    said = list(notes)
    if rows.is_empty():
        said.append(_NO_JOBS if frame.height else "the file has no rows below its header")
    sizes = _sizes(rows, fields, gpus_per_node, said)
    raw = rows.select(
        pl.col(identity).alias("job_id"),
        *(pl.col(fields[name]).alias(new) for name, new in _RENAMED.items() if name in fields),
        LINE,
    ).with_columns(sizes)
    _note_restarts(rows, fields, identity, said)
    return jobs_log(
        raw,
        file=file,
        format=format,
        texts=texts,
        states=state_map(raw["state"].drop_nulls().unique().to_list()),
        conventions=conventions,
        quarantine=quarantine,
        folded=add_counts(folded, {"steps": int(steps.sum())}),
        notes=said,
    )


def _check_fields(fields: dict[str, str], header: Header, file: str) -> None:
    missing = [name for name in ("State", "Start", "End") if name.lower() not in fields]
    if "jobid" not in fields and "jobidraw" not in fields:
        missing.insert(0, "JobID")
    if not missing:
        return
    if len(header.names) == 1 and len(header.text.split()) > 1:
        found = "columns of fixed width; write the file with sacct -P"
    else:
        found = f"the fields {', '.join(header.names)[:200]} separated by {header.delimiter!r}"
    raise InputError(
        f"{file}: line {header.line}: the header lacks {', '.join(missing)} (found {found}); expected sacct's {_NEEDED}"
    )


def _sizes(
    rows: pl.DataFrame, fields: Mapping[str, str], gpus_per_node: int | None, notes: list[str]
) -> list[pl.Series]:
    """Find the nodes and GPUs of every row; say in the notes how."""
    sizes: list[pl.Series] = []
    if rows.is_empty():
        return sizes
    nodes_field = fields.get("nnodes") or fields.get("allocnodes")
    if nodes_field:
        sizes.append(whole_numbers(rows[nodes_field]).alias("n_nodes"))
    counted = [count_gpus(rows[fields[name]]) for name in ("alloctres", "reqtres") if name in fields]
    if any(bool((gpus > 0).any()) for gpus in counted):
        gpus = counted[0] if len(counted) == 1 else counted[0].zip_with(counted[0].is_not_null(), counted[1])
        return [*sizes, gpus.alias("n_gpus")]
    why = "no row names gres/gpu in its TRES" if counted else "the file has neither AllocTRES nor ReqTRES"
    if gpus_per_node is None:
        notes.append(f"GPUs of jobs are not known: {why}; add AllocTRES to sacct -o, or give gpus_per_node")
    elif nodes_field is None:
        notes.append(f"GPUs of jobs are not known: {why}, and there is no NNodes; add AllocTRES or NNodes to sacct -o")
    else:
        notes.append(f"GPUs of jobs are NNodes x {gpus_per_node}, as given: {why}")
        number = sizes[0].cast(pl.Int64, strict=False)
        sizes.append((number * gpus_per_node).alias("n_gpus"))
    return sizes


def _note_restarts(rows: pl.DataFrame, fields: Mapping[str, str], identity: str, notes: list[str]) -> None:
    if "restarts" not in fields:
        return
    restarts = rows.select(
        pl.col(identity).hash().alias("id"), pl.col(fields["restarts"]).cast(pl.Int64, strict=False).alias("restarts")
    )
    told = restarts.filter(pl.col("restarts") > 0)
    if told.is_empty():
        return
    shown = restarts.join(told.select("id").unique(), on="id").group_by("id").agg(pl.len(), pl.col("restarts").max())
    absent = int((shown["restarts"] + 1 - shown["len"]).clip(0).sum())
    if absent:
        notes.append(f"{absent} earlier attempts of restarted jobs are not in the file; sacct -D shows them")
