"""Tables of plain values for a terminal, and the console they go to: what needs no fit, log or forecast to print."""

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from meantime.intervals import PROBABILITY
from meantime.report.numbers import compact, count, fraction, odds, share, three, visible
from meantime.units import SECONDS_PER_HOUR, format_seconds

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


def print_command(prefix: str, command: str, out: Console) -> None:
    """Print a command to run next, on one line, by the name under which this program was called."""
    called = sys.argv[0] if sys.argv[0].endswith("meantime") and not shutil.which("meantime") else "meantime"
    out.print(f"{prefix}{called} {command}", soft_wrap=True)


def print_ettr(point: Mapping[str, Any], out: Console) -> None:
    """Print what `meantime.forecast.ettr_point` returns."""
    pairs = [
        ("job", f"{plural(point['gpus'], 'GPU')} on {plural(point['nodes'], 'node')}"),
        ("failure rate", f"{point['rate_per_1000_node_days']:g} per 1,000 node-days"),
        ("MTTF", format_seconds(point["mttf_hours"] * SECONDS_PER_HOUR)),
        ("checkpoint every", format_seconds(point["checkpoint_interval_seconds"])),
        ("ETTR, exact", f"{point['ettr']['renewal']:.4f}"),
        ("ETTR, paper's form", f"{point['ettr']['kokolis']:.4f}"),
    ]
    out.print(pairs_table(pairs))


def print_pairs(pairs: Iterable[tuple[str, str]], out: Console) -> None:
    """Print names and values, one a line."""
    out.print(pairs_table(pairs))


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
    table = plain_table(
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
        table.add_row(*(cell_text(row.get(key), kind) for key, kind in shown.values()))
    out.print(table)


def cell_text(value: Any, kind: str) -> str:
    if value is None:
        return "-"
    if kind == "text":
        return visible(str(value))
    if isinstance(value, Mapping):
        low, high = cell_text(value["lower"], kind), cell_text(value["upper"], kind)
        return f"{cell_text(value['median'], kind)}\n{low}–{high}"
    return str(_WRITERS[kind](value))


def pairs_table(pairs: Iterable[tuple[str, str]]) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(name, Text(visible(value)))
    return table


def plain_table(title: str, caption: str | None = None) -> Table:
    return Table(
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        min_width=min(len(title), 80),  # a title is as wide as its table at most
    )


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def print_doctor(found: Mapping[str, Any], out: Console) -> None:
    """Print what `meantime.report.doctor` returns."""
    cache = found["cache"]
    where = (
        "not used" if not cache["used"] else f"{cache['folder']}{'' if cache['writable'] else ' (cannot be written)'}"
    )
    versions = [f"{name} {text or 'not installed'}" for name, text in found["packages"].items()]
    pairs = [
        ("python", f"{found['python']} on {found['system']}, {plural(found['processors'], 'processor')}"),
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
