"""What the command line prints: tables that fit a terminal. Text from logs is made safe to show."""

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from meantime.forecast import notes, to_rows
from meantime.inference import change_points, provenance, size_law
from meantime.intervals import PROBABILITY, summarise
from meantime.report.evidence import component_rates
from meantime.report.model_tables import INCIDENT_COLUMNS, PERIOD_COLUMNS, incident_rows, period_rows
from meantime.report.node_tables import LEMON_COLUMNS, lemon_rows, parts_table
from meantime.report.numbers import (
    compact,
    count,
    duration,
    duration_between,
    fraction,
    fraction_between,
    odds,
    quantity,
    share,
    three,
    visible,
)
from meantime.units import PER_1000_NODE_DAYS, SECONDS_PER_HOUR, format_seconds

_FORECAST = ("MTTF", "checkpoint\nevery", "ETTR,\nexpected", "ETTR of\none run", "paper\nform")
INTERVAL = f"median [{100 * PROBABILITY:.0f} % equal-tailed interval]"
MOST_ROWS = 25
NARROWEST = 12
"""Characters to which a column of text may shrink."""


_WRITERS = {
    "count": count,
    "number": three,
    "amount": compact,
    "fraction": fraction,
    "odds": lambda value: odds(value).replace("under ", "<").replace("over ", ">"),
    "share": lambda value: share(value).replace("under ", "<").replace("over ", ">"),
    "seconds": lambda value: "under 1 ms" if 0 < value < 1e-3 else format_seconds(value),
}


def console(*, stderr: bool = False) -> Console:
    """Return the console of the command line. It takes no text for markup."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)


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
    table = _table(title, f"median, and below it the {100 * PROBABILITY:.0f} % equal-tailed interval")
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


def print_command(prefix: str, command: str, out: Console) -> None:
    """Print a command to run next, on one line, by the name under which this program was called."""
    called = sys.argv[0] if sys.argv[0].endswith("meantime") and not shutil.which("meantime") else "meantime"
    out.print(f"{prefix}{called} {command}", soft_wrap=True)


def print_ettr(point: Mapping[str, Any], out: Console) -> None:
    """Print what `meantime.forecast.ettr_point` returns."""
    pairs = [
        ("job", f"{_plural(point['gpus'], 'GPU')} on {_plural(point['nodes'], 'node')}"),
        ("failure rate", f"{point['rate_per_1000_node_days']:g} per 1,000 node-days"),
        ("MTTF", format_seconds(point["mttf_hours"] * SECONDS_PER_HOUR)),
        ("checkpoint every", format_seconds(point["checkpoint_interval_seconds"])),
        ("ETTR, exact", f"{point['ettr']['renewal']:.4f}"),
        ("ETTR, paper's form", f"{point['ettr']['kokolis']:.4f}"),
    ]
    out.print(_pairs(pairs))


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
    out.print(_pairs(pairs))
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


def print_pairs(pairs: Iterable[tuple[str, str]], out: Console) -> None:
    """Print names and values, one a line."""
    out.print(_pairs(pairs))


def print_summary(summary: Mapping[str, Any], out: Console) -> None:
    """Print what `meantime.datasets.summarise` returns."""
    out.print(_pairs(_account(summary)))
    if any(row["state"] != "unknown" for row in summary["states"]):
        table = _table("States of attempts")
        _columns(table, "state", "attempts", "share", "GPU time")
        for row in summary["states"]:
            table.add_row(row["state"], count(row["attempts"]), _share(row["share_of_attempts"]),
                          _share(row["share_of_gpu_time"]))  # fmt: skip
        out.print(table)
    if summary["sizes"]:
        table = _table("Job sizes", "rates per 1,000 node-days")
        _columns(table, "GPUs up to", "attempts", "share", "GPU time", "node-days", "failures", "rate")
        for row in summary["sizes"]:
            table.add_row(count(row["job_size"]), _cell(row["attempts"], "count"), _share(row["share_of_attempts"]),
                          _share(row["share_of_gpu_time"]), three(row["node_days"]), count(row["failures"]),
                          _three(row["rate_per_1000_node_days"]))  # fmt: skip
        out.print(table)
    if summary["components"]:
        table = _table("Failures by component", "rates per 1,000 node-days; also seen: lost to a more isolating cause")
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
    table = _table(title, "rates per 1,000 node-days")
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
    out.print(_pairs(pairs))
    for listed in content["lists"]:
        table = _table(listed["title"])
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


def print_doctor(found: Mapping[str, Any], out: Console) -> None:
    """Print what `meantime.report.doctor` returns."""
    cache = found["cache"]
    where = (
        "not used" if not cache["used"] else f"{cache['folder']}{'' if cache['writable'] else ' (cannot be written)'}"
    )
    versions = [f"{name} {text or 'not installed'}" for name, text in found["packages"].items()]
    pairs = [
        ("python", f"{found['python']} on {found['system']}, {_plural(found['processors'], 'processor')}"),
        ("packages", ", ".join(versions)),
        ("devices", ", ".join(f"{device['name']} ({device['kind']})" for device in found["devices"])),
        ("cache", where),
    ]
    print_pairs(pairs, out)
    for check in found["checks"]:
        mark, style = ("ok", "green") if check["passed"] else ("FAILED", "bold red")
        out.print(Text.assemble((f"{mark:7}", style), f"{check['check']}: {visible(check['note'])} ",
                                (f"({check['seconds']:.1f} s)", "dim")))  # fmt: skip
    if found["checks"]:
        out.print("Everything works." if found["passed"] else "The installation does not work; see above.")


def print_rows(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, tuple[str, str]], out: Console, *, title: str
) -> None:
    """Print rows of plain values; four figures take two lines, the median and below it the interval.

    Parameters
    ----------
    rows
        The rows. Columns without a value in any of them are left out.
    columns
        Heading to key and kind: text, count, number, amount, fraction, odds or seconds.
    out
        Where to print.
    title
        What stands above.
    """
    shown = {
        heading: column for heading, column in columns.items() if any(row.get(column[0]) is not None for row in rows)
    }
    two_lines = any(isinstance(row.get(key), Mapping) for row in rows for key, _ in shown.values())
    table = _table(
        title, f"median, and below it the {100 * PROBABILITY:.0f} % equal-tailed interval" if two_lines else None
    )
    for heading, (key, kind) in shown.items():
        text = kind == "text"
        longest = max((len(visible(str(row.get(key)))) for row in rows), default=0) if text else 0
        table.add_column(
            heading,
            justify="left" if text else "right",
            vertical="top",
            no_wrap=not text,
            min_width=min(longest, NARROWEST) or None,
            overflow="fold" if text else "ellipsis",
        )
    for row in rows:
        table.add_row(*(_cell(row.get(key), kind) for key, kind in shown.values()))
    out.print(table)


def _cell(value: Any, kind: str) -> str:
    if value is None:
        return "-"
    if kind == "text":
        return visible(str(value))
    if isinstance(value, Mapping):
        low, high = _cell(value["lower"], kind), _cell(value["upper"], kind)
        return f"{_cell(value['median'], kind)}\n{low}–{high}"
    return str(_WRITERS[kind](value))


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
    table = _table("Failures per 1,000 node-days" + ("" if single else f", {visible(cluster)}"), INTERVAL)
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


def _table(title: str, caption: str | None = None) -> Table:
    return Table(
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        min_width=min(len(title), 80),  # a title is as wide as its table at most
    )


def _columns(table: Table, first: str, *others: str) -> None:
    table.add_column(first, overflow="fold")
    for heading in others:
        table.add_column(heading, justify="right")


def _pairs(pairs: Iterable[tuple[str, str]]) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(name, Text(visible(value)))
    return table


def _interval(figures: np.ndarray) -> str:
    _, median, lower, upper = figures
    return f"{three(median)} [{three(lower)}, {three(upper)}]"


def _two_lines(figures: Mapping[str, float | None], write: Any, write_range: Any) -> str:
    median, lower, upper = (_number(figures[name]) for name in ("median", "lower", "upper"))
    return f"{write(median)}\n{write_range(lower, upper).replace(' to ', '–')}"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _share(value: float | None) -> str:
    return "-" if value is None else share(value).replace("under ", "<").replace("over ", ">")


def _three(value: float | None) -> str:
    return "-" if value is None else three(value)
