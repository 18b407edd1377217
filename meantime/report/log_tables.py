"""What the command line prints of logs: runs, losses, sensitivity, quality, training logs."""

import re
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from meantime.datasets.ledger import PARTS
from meantime.report.console import print_pairs, print_rows
from meantime.report.numbers import count, fraction, quantity, share, three, visible
from meantime.report.terminal import print_remarks, rows_text
from meantime.units import format_seconds

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00")
MOST_RUNS = 15
MOST_COMPONENTS = 3
"""Components for which there is room beside the rules."""


def print_runs(content: Mapping[str, Any], out: Console, *, most: int = MOST_RUNS) -> None:
    """Print what `meantime.datasets.runs_document` returns: the ledger of all runs, and the runs that cost most."""
    totals = content["totals"]
    assumed = ", ".join(
        f"{name.replace('_', ' ')} {format_seconds(value)}" for name, value in content["assumptions"].items()
    )
    pairs = [
        ("source", content["source"]),
        ("runs", f"{totals['runs']:,} in {totals['attempts']:,} attempts"),
        ("interruptions", f"{totals['infrastructure']:,} by the infrastructure"),
        ("assumed", assumed),
    ]
    if totals["ettr"] is not None:
        pairs.append(("ETTR", f"{fraction(totals['ettr'])}, productive over all GPU-hours that are known"))
    print_pairs(pairs, out)
    hours = totals["gpu_hours"]
    whole = sum(hours.values())
    ledger = [
        {"part": part, "gpu_hours": hours[part], "share": hours[part] / whole if whole else None} for part in PARTS
    ]
    columns = {"part": ("part", "text"), "GPU-hours": ("gpu_hours", "amount"), "share": ("share", "share")}
    print_rows(ledger, columns, out, title="Ledger of all runs")
    rows = [
        {**row, "known": row["wallclock"] - row["unknown"], "days": row["wallclock"] / 86_400}
        for row in content["rows"][:most]
    ]
    columns = {
        "run": ("run", "text"),
        "GPUs": ("n_gpus", "count"),
        "days": ("days", "number"),
        "attempts": ("attempts", "count"),
        "infra.\nfailures": ("infrastructure", "count"),
        "queue,\nmedian": ("median_queue", "seconds"),
        "lost": ("lost", "seconds"),
        "ETTR": ("ettr", "fraction"),
    }
    print_rows(rows, columns, out, title="Runs with most GPU time")
    if len(content["rows"]) > most:
        out.print(f"and {len(content['rows']) - most:,} runs more (--most N, --json)", style="dim")


def print_losses(content: Mapping[str, Any], out: Console) -> None:
    """Print what `meantime.datasets.goodput` returns."""
    first, second = content["first_order"], content["second_order"]
    pairs = [("source", content["source"]), ("time", f"{content['log_start'][:16]} to {content['log_end'][:16]} UTC")]
    busy = f"{quantity(content['gpu_hours'])} GPU-hours"
    if content["utilisation"] is not None:
        busy += f", {share(content['utilisation'])} of {quantity(content['capacity_gpu_hours'])}"
    pairs += [
        ("busy", busy),
        ("goodput", "-" if content["goodput"] is None else f"{fraction(content['goodput'])} of the "
         f"{'capacity' if content['capacity_gpu_hours'] else 'busy GPU-hours'}"),
        (
            "first order",
            f"{quantity(first['gpu_hours'])} GPU-hours in {first['failures']:,} failures "
            f"(at most {three(content['lost_minutes'])} min each)",
        ),
        ("second order", _second_order(second, content["second_order_share"])),
    ]  # fmt: skip
    print_pairs(pairs, out)
    mix = {
        "attempts": ("attempts", "count"),
        "share": ("share_of_attempts", "share"),
        "GPU-hours": ("gpu_hours", "amount"),
        "GPU time": ("share_of_gpu_time", "share"),
    }
    print_rows(content["states"], {"state": ("state", "text"), **mix}, out, title="States")
    lost = {row["job_size"]: row for row in first["by_size"]}
    pushed = {row["job_size"]: row for row in second["by_size"]}
    sizes = [
        {
            **row,
            "first": lost.get(row["job_size"], {}).get("gpu_hours", 0.0),
            "second": pushed.get(row["job_size"], {}).get("gpu_hours", 0.0),
        }
        for row in content["sizes"]
    ]
    losses = {"lost,\n1st order": ("first", "amount"), "lost,\n2nd order": ("second", "amount")}
    print_rows(sizes, {"GPUs up to": ("job_size", "count"), **mix, **losses}, out, title="Job sizes")
    columns = {
        "component": ("component", "text"),
        "failures": ("failures", "count"),
        "GPU-hours lost": ("gpu_hours", "amount"),
    }
    causes = sorted(first["by_component"], key=lambda row: -row["gpu_hours"])
    if causes:
        print_rows(causes, columns, out, title="First-order loss by component")


def _second_order(second: Mapping[str, Any], part: float | None) -> str:
    if second["method"] is None:
        return "not known: the log names neither who preempted a job nor its nodes"
    said = (
        f"{quantity(second['gpu_hours'])} GPU-hours in {count(second['preemptions'])} preemptions, found by "
        f"{second['method']}"
    )
    by_chance = second["by_chance"]["gpu_hours"]
    said += f" (less {quantity(by_chance)} that match by chance)" if by_chance else ""
    return said + ("" if part is None else f": {share(part)} of what was lost")


def print_sensitivity(content: Mapping[str, Any], out: Console) -> None:
    """Print what `meantime.datasets.sensitivity_document` returns: one row a rule, the largest components beside."""
    rows = content["rows"]
    order = sorted(
        {row["component"] for row in rows if row["component"] != "all"},
        key=lambda name: -max(row["failures"] for row in rows if row["component"] == name),
    )
    shown = ["all", *order[:MOST_COMPONENTS]]
    rules: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = (row["severity"], row["after_minutes"], row["before_minutes"])
        entry = rules.setdefault(key, {"severity": key[0], "window": f"{key[2]:g}+{key[1]:g} min"})
        entry["failures"] = row["failures"] if row["component"] == "all" else entry.get("failures")
        entry[row["component"]] = row["rate_per_1000_node_days"]
    columns = {
        "severity\nfrom": ("severity", "text"),
        "before + after\nthe end": ("window", "text"),
        "failures": ("failures", "count"),
        **{visible(name).replace("_", "\n"): (name, "number") for name in shown},
    }
    filled = [{**dict.fromkeys(shown, 0.0), **entry} for entry in rules.values()]
    print_pairs([("source", content["source"]), ("exposure", f"{quantity(rows[0]['node_days'])} node-days")], out)
    print_rows(filled, columns, out, title="Failures per 1,000 node-days by the rule of attribution")
    if len(order) > MOST_COMPONENTS:
        out.print(f"and {len(order) - MOST_COMPONENTS} components more (--json)", style="dim")


def print_quality(content: Mapping[str, Any], out: Console) -> None:
    """Print what `meantime.datasets.check_quality` returns: what was found, with rows to look at, then what was not."""
    rows = content["rows"]
    kept = f"{rows['read']:,} read, {rows['used']:,} used, {rows['quarantined']:,} quarantined"
    print_pairs([("source", content["source"]), ("rows", kept)], out)
    found = [finding for finding in content["findings"] if finding["rows"]]
    examples = [example for finding in found for example in finding["examples"]]
    dull = {"cluster"} if len({example.get("cluster") for example in examples if "cluster" in example}) < 2 else set()
    for finding in found:
        out.print(f"\n{finding['check']}: {visible(finding['says'])}", style="yellow")
        for example in finding["examples"]:
            told = ", ".join(f"{name} {_short(value)}" for name, value in example.items() if name not in dull)
            out.print(f"  {visible(told)}", soft_wrap=True)
    if clean := [finding["check"] for finding in content["findings"] if not finding["rows"]]:
        out.print(f"\nNothing found by: {', '.join(clean)}")


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str) and _TIME.fullmatch(value):
        return value[:19].replace("T", " ")
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def print_training(content: Mapping[str, Any], out: Console) -> None:
    """Print what `meantime.datasets.training_document` returns: the samples, and the ledger of each run."""
    print_pairs([("source", f"{content['source']} ({content['format']})"), ("rows", rows_text(content["rows"]))], out)
    columns = {
        "duration": ("kind", "text"),
        "samples": ("n", "count"),
        "median": ("median", "seconds"),
        "mean": ("mean", "seconds"),
        "90 % below": ("p90", "seconds"),
    }
    rows = [{**row, "kind": row["kind"].replace("_", " ")} for row in content["durations"]]
    print_rows(rows, columns, out, title="Durations")
    columns = {
        "run": ("run", "text"),
        "wall": ("wallclock", "seconds"),
        "starts": ("attempts", "count"),
        **{part.replace("checkpoint", "check-\npoint"): (part, "share") for part in PARTS},
    }
    runs = [
        {**row, **{part: row[part] / row["wallclock"] if row["wallclock"] else None for part in PARTS}}
        for row in content["runs"][:MOST_RUNS]
    ]
    print_rows(runs, columns, out, title="Ledgers of the runs: shares of their wallclock")
    if len(content["runs"]) > MOST_RUNS:
        out.print(f"and {len(content['runs']) - MOST_RUNS:,} runs more (--json)", style="dim")
    print_remarks(content, out)
