"""How large a table NUTS takes, and what to do with a larger one, said before any memory is taken."""

from collections.abc import Mapping

import numpy as np

from meantime.errors import InputError
from meantime.models import Layout

MOST_CELLS = 300_000
"""Cells of a density on processors: a fit stays within ten minutes or so on two cores, and 8 GB."""

MOST_CELLS_ACCELERATOR = 10_000_000
"""The same on an accelerator."""


def check_cells(model: str, observed: Mapping[str, np.ndarray], layout: Layout, platform: str) -> None:
    """Refuse data that would take hours and more memory than there is.

    Parameters
    ----------
    model
        Its name.
    observed
        What the density takes; the largest array is what a gradient costs.
    layout
        The data as the model sees them.
    platform
        Where it would run, ``"cpu"`` or another.

    Raises
    ------
    InputError
        With the sizes of the table, and the coarser grid that would do.
    """
    cells = max(array.size for array in observed.values())
    most = MOST_CELLS if platform == "cpu" else MOST_CELLS_ACCELERATOR
    if cells <= most:
        return
    lengths = {dim: len(layout.coords[dim]) for dim in ("cluster", "component", "job_size", "period", "node")
               if len(layout.coords.get(dim, ())) > 1}  # fmt: skip
    shape = " x ".join(f"{length:,} {dim.replace('_', ' ')}s" for dim, length in lengths.items())
    where = "on processors" if platform == "cpu" else "on an accelerator"
    raise InputError(
        f"{model!r} would sample {cells:,} cells ({shape}), more than the {most:,} that NUTS takes {where} in "
        f"a sensible time and memory; {_coarser(lengths, cells / most)}"
    )


def _coarser(lengths: Mapping[str, int], factor: float) -> str:
    """Say which grid would do."""
    times = int(np.ceil(factor))
    rare = f"sum the rarest components, to {max(1, int(lengths.get('component', 1) / factor))} in all"
    if lengths.get("period", 1) >= times > 1:
        return f"count by periods {times} times as long (--period), or {rare}, or fit clusters apart"
    return f"{rare}, or fit clusters apart" if "cluster" in lengths else rare
