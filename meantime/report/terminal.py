"""What the command line prints of fits, logs and forecasts. Text from logs is made safe to show."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from rich.console import Console
from rich.table import Table

from meantime.forecast import notes, to_rows
from meantime.inference import change_points, provenance, size_law
from meantime.intervals import PROBABILITY, summarise
from meantime.report.console import cell_text, pairs_table, plain_table, print_rows
from meantime.report.evidence import component_rates
from meantime.report.model_tables import INCIDENT_COLUMNS, PERIOD_COLUMNS, incident_rows, period_rows
from meantime.report.node_tables import LEMON_COLUMNS, lemon_rows, parts_table
from meantime.report.numbers import (
    count,
    duration,
    duration_between,
    fraction,
    fraction_between,
    quantity,
    share,
    three,
    visible,
)
from meantime.units import PER_1000_NODE_DAYS, format_seconds

_FORECAST = ("MTTF", "checkpoint\nevery", "ETTR,\nexpected", "ETTR of\none run", "paper\nform")
INTERVAL = f"median [{100 * PROBABILITY:.0f} % equal-tailed interval]"
MOST_ROWS = 25


def print_forecast(forecast: xr.Dataset, out: Console, *, title: str) -> None:
    """Print a forecast: one row for every size and plan, then its notes."""
    rows = to_rows(forecast)
    varying = [name for name in rows[0]["plan"] if len({row["plan"][name] for row in rows}) > 1]
    plans: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        named = ", ".join(f"{name.replace('_', ' ')} {row['plan'][name]}" for name in varying)
        plans.setdefault(named, []).append(row)
    for named, part in plans.items():
        out.print(_forecast_table(part, f"{title}: {visible(named)}" if named else title))
    if any(row["extrapolated"] for row in rows):
        unknown = forecast.attrs.get("largest_job_gpus") == 0
        out.print(
            "* the size of the largest job of the data is unknown" if unknown else "* larger than any job of the data",
            style="dim",
        )
    for note in notes(forecast):
        out.print(f"Note: {visible(note)}", style="yellow")


def _forecast_table(rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    table = plain_table(title, f"median, and below it the {100 * PROBABILITY:.0f} % equal-tailed interval")
    for heading in ("GPUs", *_FORECAST):
        table.add_column(heading, justify="right", vertical="top", no_wrap=True)
    for row in rows:
        chosen = row["checkpoint_interval_chosen_seconds"]
        table.add_row(
            f"{row['gpus']:,}{'*' if row['extrapolated'] else ''}",
            _two_lines(row["mttf_hours"], duration, duration_between),
            "-" if chosen is None else format_seconds(chosen),
            _two_lines(row["ettr"], fraction, fraction_between),
            _two_lines(row["ettr_run"], fraction, fraction_between),
            fraction(_number(row["ettr_kokolis"]["median"])),
        )
    return table


def print_fit(tree: xr.DataTree, out: Console, *, most: int = MOST_ROWS) -> None:
    """Print a fit: how it was made, whether it converged, and each cluster's rates, of at most `most` components."""
    record = provenance(tree)
    table = tree["fit_data"].to_dataset()
    checks = record["diagnostics"]
    pairs = [
        ("model", f"{record['model']} ({record['method']}, {record['sampling']['seconds']:.1f} s)"),
        ("data", _data_line(table)),
    ]
    if "max_rhat" in checks:
        gate = "passed" if checks["converged"] else "FAILED"
        pairs.append(
            (
                "convergence",
                f"{gate}: R-hat {checks['max_rhat']:.3f}, smallest ESS {checks['min_ess_bulk']:.0f} bulk and "
                f"{checks['min_ess_tail']:.0f} tail, {checks['divergences']} divergences",
            )
        )
    if "pareto_k" in checks:
        pairs.append(("approximate", f"a first look by a Gaussian; Pareto k {checks['pareto_k']:.2f}"))
    out.print(pairs_table(pairs))
    if "cluster" not in table.dims:
        rows, columns, title = parts_table(tree)
        print_rows(rows, columns, out, title=title)
        return
    clusters = [str(name) for name in table["cluster"].values]
    for cluster in clusters[: _few(clusters)]:
        named = "" if len(clusters) == 1 else f", {visible(cluster)}"
        if "incidents" in table:
            print_rows(incident_rows(tree, cluster), INCIDENT_COLUMNS, out, title=f"Jobs under incidents{named}")
            continue
        if "period" in tree["posterior"].dims:
            title = f"Failures per 1,000 node-days over time{named}"
            print_rows(period_rows(tree, cluster), PERIOD_COLUMNS, out, title=title)
        _print_rates(tree, cluster, out, single=len(clusters) == 1, most=most)
        if record["model"] == "node_frailty" and record["priors"]["share_mean"] is not None:
            print_rows(lemon_rows(tree, cluster), LEMON_COLUMNS, out, title=f"Likeliest lemons{named}")
    if len(clusters) > _few(clusters):
        out.print(f"and {len(clusters) - _few(clusters)} clusters more", style="dim")
    if record["model"] == "component_size":
        out.print(visible(str(size_law(tree).attrs["sentence"])))
    if "change" in tree["posterior"]:
        out.print(visible(str(change_points(tree).attrs["sentence"])))


def _data_line(table: xr.Dataset) -> str:
    if "incidents" in table:
        return f"{count(float(table['incidents'].sum()))} incidents in {quantity(float(table['days'].sum()))} days"
    if "repairs" in table:
        return f"{count(float(table['repairs'].sum()))} repairs, {table.sizes['open']} open"
    if "lives" in table:
        return f"{count(float(table['failures'].sum()))} failures of {count(float(table['lives'].sum()))} lives"
    return f"{count(float(table['failures'].sum()))} failures in {quantity(float(table['exposure'].sum()))} node-days"


def print_summary(summary: Mapping[str, Any], out: Console) -> None:
    """Print what `meantime.datasets.summarise` returns."""
    out.print(pairs_table(_account(summary)))
    if any(row["state"] != "unknown" for row in summary["states"]):
        table = plain_table("States of attempts")
        _columns(table, "state", "attempts", "share", "GPU time")
        for row in summary["states"]:
            table.add_row(row["state"], count(row["attempts"]), _share(row["share_of_attempts"]),
                          _share(row["share_of_gpu_time"]))  # fmt: skip
        out.print(table)
    if summary["sizes"]:
        table = plain_table("Job sizes", "rates per 1,000 node-days")
        _columns(table, "GPUs up to", "attempts", "share", "GPU time", "node-days", "failures", "rate")
        for row in summary["sizes"]:
            table.add_row(count(row["job_size"]), cell_text(row["attempts"], "count"), _share(row["share_of_attempts"]),
                          _share(row["share_of_gpu_time"]), three(row["node_days"]), count(row["failures"]),
                          _three(row["rate_per_1000_node_days"]))  # fmt: skip
        out.print(table)
    if summary["components"]:
        table = plain_table(
            "Failures by component", "rates per 1,000 node-days; also seen: lost to a more isolating cause"
        )
        _columns(table, "component", "failures", "also seen", "rate")
        ordered = sorted(summary["components"], key=lambda row: -row["failures"])
        for row in ordered[:MOST_ROWS]:
            table.add_row(visible(row["component"]), count(row["failures"]), count(row["co_occurring"]),
                          _three(row["rate_per_1000_node_days"]))  # fmt: skip
        out.print(table)
    for name in ("period", "node"):
        if rows := summary[f"{name}s"]:
            _print_along(name, rows, out)
    print_remarks(summary, out)


def _print_along(name: str, rows: Sequence[Mapping[str, Any]], out: Console) -> None:
    shown = rows[:MOST_ROWS]
    title = "Periods" if name == "period" else "Nodes with most failures"
    table = plain_table(title, "rates per 1,000 node-days")
    _columns(table, {"period": "from", "node": "node"}[name], "node-days", "failures", "rate")
    for row in shown:
        label = str(row[name])[:10] if name == "period" and str(row[name]).endswith("T00:00:00") else str(row[name])
        table.add_row(visible(label), three(row["node_days"]), count(row["failures"]),
                      _three(row["rate_per_1000_node_days"]))  # fmt: skip
    out.print(table)
    if len(rows) > len(shown):
        out.print(f"and {len(rows) - len(shown)} periods more", style="dim")


def print_description(content: Mapping[str, Any], out: Console) -> None:
    """Print what `meantime.datasets.describe` returns, of events, outages or lives."""
    pairs = [
        ("source", f"{content['source']} ({content['format']}, {content['kind']})"),
        ("rows", rows_text(content["rows"])),
    ]
    if content["first"]:
        pairs.append(("time", f"{content['first'][:16]} to {content['last'][:16]} UTC"))
    pairs += [(name, _fact(value)) for name, value in content["facts"].items()]
    out.print(pairs_table(pairs))
    for listed in content["lists"]:
        table = plain_table(listed["title"])
        _columns(table, *listed["columns"])
        for row in listed["rows"]:
            table.add_row(*(visible(_fact(value)) for value in row))
        out.print(table)
    print_remarks(content, out)


def _fact(value: str | float | None) -> str:
    if value is None or isinstance(value, str):
        return value or "-"
    return f"{value:,}" if isinstance(value, int) else quantity(value)


def print_remarks(content: Mapping[str, Any], out: Console) -> None:
    """Print why rows are in quarantine, and the notes."""
    for row in content["rows"]["reasons"]:
        first = row["first"]
        if first is None:
            out.print(f"Quarantined: {row['rows']:,} x {visible(row['reason'])}", style="yellow")
            continue
        out.print(
            f"Quarantined: {row['rows']:,} x {visible(row['reason'])} (first: {visible(str(first['file']))} "
            f"line {first['line']}: {visible(str(first['reason']))})",
            style="yellow",
        )
    for note in content["notes"]:
        out.print(f"Note: {visible(note)}", style="yellow")


def _account(summary: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    yield "source", f"{summary['source']} ({summary['format']})"
    if summary["rows"]["read"]:
        yield "rows", rows_text(summary["rows"])
    if summary["jobs"] is not None:
        on = f" on {', '.join(summary['clusters'])}" if summary["clusters"] else ""
        yield "jobs", f"{summary['jobs']:,} in {summary['attempts']:,} attempts{on}"
    elif summary["attempts"] is not None:
        yield "attempts", f"{summary['attempts']:,} that count, on {', '.join(summary['clusters'])}"
    if summary["log_start"]:
        yield "time", f"{summary['log_start'][:16]} to {summary['log_end'][:16]} UTC"
    if exposure := summary["exposure"]:
        yield "exposure", f"{quantity(exposure['node_days'])} node-days of {exposure['gpus_per_node']} GPUs"
    if failures := summary["failures"]:
        rate = PER_1000_NODE_DAYS * failures["total"] / exposure["node_days"] if exposure["node_days"] else float("nan")
        lost = f", and {failures['not_placed']:,} that have no place in the table" if failures["not_placed"] else ""
        open_ = f" ({failures['unattributed']:,} unattributed)" if failures["rule"] == "infrastructure" else ""
        by = "as counted" if failures["rule"] == "stated" else f"by the rule '{failures['rule']}'"
        yield "failures", f"{failures['total']:,} {by}{open_}: {three(rate)} per 1,000 node-days{lost}"


def rows_text(rows: Mapping[str, Any]) -> str:
    """Account for rows: ``"8 read = 4 used + 1 steps folded + 3 quarantined"``."""
    folded = "".join(f" + {number:,} {kind} folded" for kind, number in rows["folded"].items())
    return f"{rows['read']:,} read = {rows['used']:,} used{folded} + {rows['quarantined']:,} quarantined"


def _print_rates(tree: xr.DataTree, cluster: str, out: Console, *, single: bool, most: int) -> None:
    rate = PER_1000_NODE_DAYS * component_rates(tree, cluster)
    table = plain_table("Failures per 1,000 node-days" + ("" if single else f", {visible(cluster)}"), INTERVAL)
    _columns(table, "component", "counted", "rate")
    failures = tree["fit_data"].to_dataset()["failures"].sel(cluster=cluster)
    by_component = failures.sum([dim for dim in failures.dims if dim != "component"])
    counted = dict(zip(map(str, by_component["component"].values), by_component.values.tolist(), strict=True))
    total = sum(counted.values())
    names = [str(name) for name in rate["component"].values]
    figures = summarise(rate.transpose("component", "sample").values)
    order = sorted(range(len(names)), key=lambda index: -figures[index, 1])
    for index in order[:most]:
        seen = counted.get(names[index], total)
        table.add_row(visible(names[index]), count(seen), _interval(figures[index]))
    if len(names) > most:
        rest = rate.isel(component=order[most:])
        seen = sum(counted.get(names[index], 0) for index in order[most:])
        table.add_row(f"{len(names) - most} others", count(seen), _interval(summarise(rest.sum("component").values)))
    if len(names) > 1:
        table.add_row("all", count(total), _interval(summarise(rate.sum("component").values)), style="bold")
    out.print(table)


def _few(clusters: Sequence[str]) -> int:
    return 3 if len(clusters) > 4 else len(clusters)


def _columns(table: Table, first: str, *others: str) -> None:
    table.add_column(first, overflow="fold")
    for heading in others:
        table.add_column(heading, justify="right")


def _interval(figures: np.ndarray) -> str:
    _, median, lower, upper = figures
    return f"{three(median)} [{three(lower)}, {three(upper)}]"


def _two_lines(figures: Mapping[str, float | None], write: Any, write_range: Any) -> str:
    median, lower, upper = (_number(figures[name]) for name in ("median", "lower", "upper"))
    return f"{write(median)}\n{write_range(lower, upper).replace(' to ', '–')}"


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _share(value: float | None) -> str:
    return "-" if value is None else share(value).replace("under ", "<").replace("over ", ">")


def _three(value: float | None) -> str:
    return "-" if value is None else three(value)
