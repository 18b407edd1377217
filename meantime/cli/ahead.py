"""What `meantime forecast` shows of rates that move: period by period, and along a run that starts ahead."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from meantime.cli.options import print_json
from meantime.cli.reading import fit_of

if TYPE_CHECKING:
    from meantime.forecast import Plan


def show_periods(
    path: Path,
    sizes: list[int],
    plan: "Plan",
    ahead: dict[str, Any],
    *,
    cluster: str | None,
    seed: int,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Print a row for each size, plan and period ahead."""
    from meantime.forecast import forecast_periods, period_rows, periods_document, rows_csv
    from meantime.report.console import console, print_rows

    result = forecast_periods(fit_of(path), sizes, plan, **ahead, cluster=cluster, seed=seed)
    if as_csv:
        print(rows_csv(period_rows(result)), end="")
        return
    content = periods_document(result)
    if as_json:
        print_json(content)
        return
    varying = plan.lists
    rows = [
        {**row, "named": ", ".join(row["plan"][name] for name in varying) if varying else None}
        for row in content["rows"]
    ]
    columns = {
        "from": ("period", "text"),
        "GPUs": ("gpus", "count"),
        "plan": ("named", "text"),
        "failures per\n1,000 node-days": ("rate_per_1000_node_days", "number"),
        "MTTF (h)": ("mttf_hours", "number"),
        "ETTR": ("ettr", "fraction"),
        "ETTR of a run": ("ettr_run", "fraction"),
    }
    print_rows(rows, columns, console(), title=f"Periods of {content['period_days']:g} days ahead of {path}")
    _print_notes(content)


def show_ahead(
    path: Path, sizes: list[int], plan: "Plan", *, starts: str, cluster: str | None, seed: int, as_json: bool
) -> None:
    """Print what becomes of a run that starts ahead of the data."""
    from meantime.forecast import ahead_document, forecast_ahead
    from meantime.report.console import console, print_rows

    tree = fit_of(path)
    content = ahead_document(forecast_ahead(tree, sizes, plan, starts=starts, cluster=cluster, seed=seed))
    if as_json:
        print_json(content)
        return
    columns = {
        "GPUs": ("gpus", "count"),
        "days to\nfinish": ("days_to_finish", "number"),
        "ETTR": ("ettr", "fraction"),
        "of a run": ("ettr_run", "fraction"),
        "at the\nmean rate": ("ettr_mean_rate", "fraction"),
        "at the\nlatest rate": ("ettr_now", "fraction"),
    }
    print_rows(content["rows"], columns, console(), title=f"A run of {plan.productive} that starts {starts} on")
    _print_notes(content)


def _print_notes(content: dict[str, Any]) -> None:
    from meantime.report.console import console

    for note in content["notes"]:
        console().print(f"Note: {note}", style="yellow")
