"""Goodput lost by size of the job that failed: its own work, and that of the jobs which gave way to its restart."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from meantime.errors import InputError
from meantime.report.numbers import compact, count, share
from meantime.report.style import WIDE, colour, literal, new_figure, styled, top_legend


def goodput_lost(found: Mapping[str, Any], *, width: float = WIDE) -> Figure:
    """Draw the GPU-hours that failures cost, by size of the job: first order and second order.

    The first order is work that the failed jobs lost, by their size. The second order is what other jobs lost that
    were preempted for the restart of a failed one, by the size of these other jobs. After Figure 8 of Kokolis et al.
    2025 (arXiv 2410.21680).

    Parameters
    ----------
    found
        What `meantime.datasets.goodput` returns.
    width
        Width in inches; below 5 the layout is that of a phone.

    Raises
    ------
    InputError
        If that is not what it returns, or nothing was lost.

    Examples
    --------
    >>> from meantime.datasets import goodput, read
    >>> figure = goodput_lost(goodput(read("sacct.txt"), read("events.csv")))  # doctest: +SKIP
    >>> figure.savefig("lost.png")  # doctest: +SKIP
    """
    if "first_order" not in found or "second_order" not in found:
        raise InputError("found has no first_order and second_order; expected what meantime.datasets.goodput returns")
    first, second = (_by_size(found[order]) for order in ("first_order", "second_order"))
    sizes = sorted({*first, *second})
    if not sizes:
        raise InputError("no job was lost to a failure, so there is nothing to draw")
    phone = width < 5
    values = [np.array([part.get(size, 0.0) for size in sizes]) for part in (first, second)]
    places = np.arange(len(sizes))
    with styled():
        figure = new_figure(width, 3.1)
        axes = figure.add_subplot()
        axes.bar(places, values[0], color=colour("blue"), width=0.7, label=_said("first order", found["first_order"]))
        axes.bar(places, values[1], bottom=values[0], color=colour("ochre"), width=0.7,
                 edgecolor=colour("paper"), linewidth=0.8,
                 label=_said("second order", found["second_order"], found.get("second_order_share")))  # fmt: skip
        step = -(-len(sizes) // (6 if phone else 12))
        axes.set_xticks(places[::step], [count(size) for size in sizes[::step]])
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel("GPUs of the job, up to")
        axes.set_ylabel("GPU-hours lost")
        axes.yaxis.set_major_formatter(lambda value, _: compact(value))
        axes.grid(visible=False, axis="x")
        top_legend(figure, *axes.get_legend_handles_labels(), columns=1 if phone else 2)
        return literal(figure)


def _by_size(part: Mapping[str, Any]) -> dict[int, float]:
    return {int(row["job_size"]): float(row["gpu_hours"]) for row in part.get("by_size", [])}


def _said(name: str, part: Mapping[str, Any], of_all: float | None = None) -> str:
    text = f"{name}: {compact(float(part['gpu_hours']))} GPU-hours"
    return text if of_all is None else f"{text}, {share(of_all)} of all lost"
