"""Lives of the GPUs of Titan, Oak Ridge 2013-2019 (cite Ostrouchov et al., SC 2020).

The input is ``gc_full.csv`` (stays of GPUs at locations) or ``gc_summary_loc.csv`` (a row a GPU) of ::

    git clone https://github.com/olcf/TitanGPULife    # data/

Decisions:

- Event ``DBE`` (double bit error) is ``gpu_memory``, ``OTB`` (off the bus) ``gpu_hardware``.
- A stay is a row. Rows without ``insert`` are further events of a stay: they cut it in two, so every event ends a row
  and the rows of a GPU add up to its time in the machine. Age is time in the machine, not on the shelf.
- Times are of US Eastern. Where clocks go back the stated ``duration`` (seconds) settles the hour.
- ``col``, ``row``, ``cage``, ``slot`` and ``node`` come from the location, such as c11-2c1s4n1; ``out`` is kept as it
  is.
- In the summary ``time`` is in seconds, a GPU not ``dead`` is right-censored, and there are no calendar times.
"""

import polars as pl

from meantime.datasets.columns import category_column, whole_column
from meantime.datasets.lives import lives_log
from meantime.datasets.log import Log
from meantime.datasets.ragged import LINE
from meantime.datasets.raw import RawTable
from meantime.datasets.readers._columns import load
from meantime.datasets.source import PathLike
from meantime.datasets.times import check_timezone, choose_hours, parse_times

STAYS = ("SN", "location", "insert", "remove", "duration", "event")
SUMMARY = ("SN", "time", "dead", "dead_otb", "dead_dbe")
EVENTS = {"DBE": "gpu_memory", "OTB": "gpu_hardware"}

_PLACE = r"^c(?P<col>\d+)-(?P<row>\d+)c(?P<cage>\d+)s(?P<slot>\d+)n(?P<node>\d+)$"
_PLACES = ("col", "row", "cage", "slot", "node")
_NUMBERS = (*_PLACES, "nlife", "nloc", "max_loc_events", "time_max_loc", "dbe", "dbe_loc", "otb", "otb_loc")
_KEPT = (*_NUMBERS, "last", "out", "batch")
_DAY = 86_400.0


def read_titan(path: PathLike, *, cluster: str = "titan", timezone: str = "America/New_York") -> Log:
    """Read stays or the summary (see the module's text for the download and the decisions).

    Parameters
    ----------
    path
        ``gc_full.csv`` or ``gc_summary_loc.csv``; .gz, .xz and .zst are unpacked.
    cluster
        Name of the cluster.
    timezone
        Zone of the times.
    """
    raw = load(path, ("SN",), "the file of Titan's GPUs")
    if set(SUMMARY) <= set(raw.frame.columns):
        return _summary(raw, cluster)
    return _stays(load(path, STAYS, "the file of Titan's GPUs"), cluster, check_timezone(timezone))


def _summary(raw: RawTable, cluster: str) -> Log:
    frame = raw.frame
    numbers = {name: whole_column(frame[name]) for name in _NUMBERS if name in frame.columns}
    seconds = frame["time"].cast(pl.Float64, strict=False).alias("time")
    true = {name: _truth(frame[name]) for name in ("dead", "dead_otb", "dead_dbe")}
    typed = pl.DataFrame(
        [
            frame[LINE],
            pl.repeat(cluster, frame.height, eager=True, dtype=pl.String).alias("cluster"),
            _text(frame["SN"]).alias("unit"),
            (seconds / _DAY).alias("age"),
            *true.values(),
            *(column.values.alias(name) for name, column in numbers.items()),
            *(frame[name] for name in ("last", "out", "batch") if name in frame.columns),
        ]
    ).with_columns(
        pl.lit(0.0).alias("age_entry"),
        pl.col("age").alias("days"),
        pl.when(pl.col("dead_dbe"))
        .then(pl.lit(EVENTS["DBE"]))
        .when(pl.col("dead_otb"))
        .then(pl.lit(EVENTS["OTB"]))
        .alias("event"),
    )
    untold = pl.any_horizontal(pl.col(name).is_null() for name in true)
    neither = pl.col("dead") & pl.col("event").is_null()
    return lives_log(
        typed,
        file=raw.file,
        format="titan",
        texts=raw.texts,
        keep=[name for name in _KEPT if name in typed.columns],
        checks=[
            (untold, pl.lit("dead, dead_otb and dead_dbe are not each 0 or 1")),
            (neither, pl.lit("dead, but neither of dead_otb and dead_dbe")),
        ],
        quarantine=raw.quarantine,
        folded=raw.folded,
        notes=raw.notes,
    )


def _stays(raw: RawTable, cluster: str, timezone: str) -> Log:
    frame = raw.frame
    duration = whole_column(frame["duration"])
    times = {name: parse_times(frame[name], timezone=timezone) for name in ("insert", "remove")}
    entry, exit, _ = choose_hours(times["insert"], times["remove"], duration.values)
    event = category_column(
        _text(frame["event"]).fill_null("").replace("NA", "").alias("event"), {**EVENTS, "": ""}, _EVENT
    )
    places = frame["location"].str.extract_groups(_PLACE).struct.unnest().cast(pl.Int64, strict=False)
    typed = pl.DataFrame(
        [
            frame[LINE],
            pl.repeat(cluster, frame.height, eager=True, dtype=pl.String).alias("cluster"),
            _text(frame["SN"]).alias("unit"),
            frame["location"],
            entry.alias("entry"),
            exit.alias("exit"),
            event.values.cast(pl.String).replace("", None).alias("event"),
            *places.get_columns(),
            *([frame["out"]] if "out" in frame.columns else []),
        ]
    )
    columns = [event.problem, duration.problem, *(parsed.problem for parsed in times.values())]
    problems = [problem for problem in columns if problem is not None]
    clean = pl.Series([True] * typed.height, dtype=pl.Boolean)
    for problem in problems:
        clean &= problem.is_null()
    cut = _cut_at_events(typed.with_columns(clean.alias("__clean")))
    return lives_log(
        cut,
        file=raw.file,
        format="titan",
        texts=raw.texts,
        keep=["location", *(name for name in (*_PLACES, "out") if name in cut.columns)],
        problems=[problem.gather(cut["__row"]) for problem in problems],
        checks=[
            (pl.col("exit").is_null() & pl.col("__clean"), pl.lit("remove is missing")),
            (
                pl.col("__extra") & pl.col("entry").is_null() & pl.col("__clean"),
                pl.lit("an event at a time when no stay of this GPU there is listed"),
            ),
            (pl.col("col").is_null(), pl.format("location '{}' is not such as c11-2c1s4n1", "location")),
        ],
        quarantine=raw.quarantine,
        folded=raw.folded,
        notes=raw.notes,
    )


_EVENT = pl.Enum([*EVENTS.values(), ""])


def _cut_at_events(stays: pl.DataFrame) -> pl.DataFrame:
    """Cut stays at the events listed beside them, and add up the age of each GPU."""
    stays = stays.with_row_index("__row").with_columns(
        (pl.col("entry").is_null() & pl.col("event").is_not_null()).alias("__extra")
    )
    place = ["unit", "location"]
    bounds = stays.filter(~pl.col("__extra") & pl.col("__clean") & pl.col("exit").is_not_null())
    extra = stays.filter("__extra").select("__row", *place, pl.col("exit").alias("__at"))
    held = extra.join(
        bounds.select(
            *place, pl.col("entry").alias("__in"), pl.col("exit").alias("__out"), pl.col("__row").alias("__stay")
        ),
        on=place,
    ).filter(pl.col("__at").is_between("__in", "__out"))
    cuts = held.sort("__in").unique("__row", keep="last", maintain_order=True)
    stays = stays.join(cuts.select("__row", "__stay"), on="__row", how="left", maintain_order="left").with_columns(
        pl.coalesce("__stay", "__row").alias("__stay")
    )
    first = pl.col("entry").max().over("__stay")
    before = pl.col("exit").shift(1).over("__stay", order_by=["exit", "__row"])
    inside = pl.col("__stay").is_duplicated()
    stays = stays.with_columns(pl.when(inside).then(pl.coalesce(before, first)).otherwise("entry").alias("entry"))
    days = (pl.col("exit") - pl.col("entry")).dt.total_microseconds() / (_DAY * 1e6)
    stays = stays.with_columns(days.alias("days"))
    counted = pl.when("__clean").then(pl.col("days").clip(0)).fill_null(0.0)
    age = counted.cum_sum().over("unit", order_by=["exit", "__row"])
    return stays.with_columns(age.alias("age")).with_columns((pl.col("age") - counted).alias("age_entry")).sort("__row")


def _truth(raw: pl.Series) -> pl.Series:
    words = {"1": True, "0": False, "TRUE": True, "FALSE": False, "true": True, "false": False}
    return raw.cast(pl.String).replace_strict(words, default=None, return_dtype=pl.Boolean).alias(raw.name)


def _text(raw: pl.Series) -> pl.Series:
    text = raw.cast(pl.String).str.strip_chars()
    return text.set(text.is_in(["", "NA"]), None)
