"""The mix of jobs by number and by GPU time, which tell different stories: how they ended, and how large they were."""

from collections.abc import Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from meantime.errors import InputError
from meantime.report.evidence import facts_of
from meantime.report.figures.paired import paired_bars
from meantime.report.numbers import count, label
from meantime.report.style import WIDE

MOST_ROWS = 20
_MISSING = "holds no summary of job {}; give a job log (sacct, CSV of jobs) to meantime.datasets.summarise to get one"

type Source = xr.DataTree | xr.Dataset | Mapping[str, Any]


def job_states(source: Source, *, width: float = WIDE) -> Figure:
    """Draw how jobs ended, as shares of the jobs and of the GPU time.

    Parameters
    ----------
    source
        A fit or a failure table of a job log, or what `meantime.datasets.summarise` or `meantime.datasets.goodput`
        says of one.
    width
        Width in inches; below 5 the layout is that of a phone.

    Raises
    ------
    InputError
        If the source holds no states of jobs (it is of counts, say).

    Examples
    --------
    >>> from meantime.datasets import read, summarise
    >>> figure = job_states(summarise(read("sacct.txt")))  # doctest: +SKIP
    >>> figure.savefig("states.png")  # doctest: +SKIP
    """
    rows = mix_rows(source, "states")
    if not rows:
        raise InputError(f"the source {_MISSING.format('states')}")
    return paired_bars([(label(name).lower(), jobs, time) for name, jobs, time in rows], width=width)


def job_sizes(source: Source, *, width: float = WIDE) -> Figure:
    """Draw how large jobs were, as shares of the jobs and of the GPU time.

    Parameters
    ----------
    source
        As for `job_states`.
    width
        Width in inches; below 5 the layout is that of a phone.

    Raises
    ------
    InputError
        If the source holds no sizes of jobs.

    Examples
    --------
    >>> figure = job_sizes(load_fit("fit.nc"))  # doctest: +SKIP
    >>> figure.savefig("sizes.png")  # doctest: +SKIP
    """
    rows = mix_rows(source, "sizes")
    if not rows:
        raise InputError(f"the source {_MISSING.format('sizes')}")
    named = [(count(float(size)), jobs, time) for size, jobs, time in rows]
    return paired_bars(named, width=width, title="GPUs of the job, up to")


def has_job_states(source: Source) -> bool:
    """Tell whether `job_states` has something to draw."""
    return bool(mix_rows(source, "states"))


def has_job_sizes(source: Source) -> bool:
    """Tell whether `job_sizes` has something to draw: a mix of one size is no mix."""
    return len(mix_rows(source, "sizes")) > 1


def mix_rows(source: Source, which: str) -> list[tuple[str, float, float]]:
    """Return (state or size, share of jobs, share of GPU time); empty without a summary of jobs.

    States come in order of frequency, sizes in order of size, at most `MOST_ROWS` of either.
    """
    key = {"states": "state", "sizes": "job_size"}[which]
    rows = facts_of(source).get(which)
    if not isinstance(rows, list):
        return []
    named = [row for row in rows if isinstance(row, Mapping) and row.get(key) is not None]
    known = [row for row in named if row.get("share_of_attempts") is not None]
    if which == "states":
        known.sort(key=lambda row: -_share(row, "attempts"))
    else:
        known.sort(key=lambda row: float(row[key]))
    return [(str(row[key]), _share(row, "attempts"), _share(row, "gpu_time")) for row in known[:MOST_ROWS]]


def _share(row: Mapping[str, Any], of: str) -> float:
    return float(row.get(f"share_of_{of}") or 0.0)
