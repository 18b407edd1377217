"""Times: forms, zones, clock changes."""

import datetime as dt
import zoneinfo

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime.datasets.times import choose_hours, parse_times
from meantime.errors import InputError

NEW_YEAR = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def parse(values: list[object], **options: str) -> list[dt.datetime | None]:
    return parse_times(pl.Series("start", values), **options).utc.to_list()


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-01T00:00:00",
        "2024-01-01 00:00:00",
        "2024-01-01 00:00",
        "2024-01-01T00:00:00.000",
        "2024-01-01T08:00:00+08:00",
        "2023-12-31 19:00:00-05:00",
        "2024-01-01T00:00:00Z",
        "1704067200",
        "1704067200.0",
    ],
)
def test_forms_of_the_same_time(text: str) -> None:
    assert parse([text]) == [NEW_YEAR]
    assert parse([text, "2024-02-01T00:00:00"])[0] == NEW_YEAR


def test_numbers_count_in_the_given_unit() -> None:
    assert parse([1704067200]) == parse([1704067200_000], unit="ms") == parse([1704067200.0]) == [NEW_YEAR]


def test_missing_is_null_and_nonsense_is_a_problem() -> None:
    times = parse_times(
        pl.Series("start", ["Unknown", "", None, "None", "soon", "1970-01-01T00:00:00", "1704067200000"])
    )
    assert times.utc.null_count() == 7
    assert times.problem is not None
    assert times.problem.to_list() == [
        None,
        None,
        None,
        None,
        "start 'soon' is not a time",
        "start '1970-01-01T00:00:00' lies outside the years 1980 to 2200",
        "start '1704067200000' lies outside the years 1980 to 2200",
    ]


def test_own_format() -> None:
    assert parse(["1/1/2024 0:00"], form="%m/%d/%Y %H:%M") == [NEW_YEAR]


@settings(deadline=None, max_examples=50)
@given(
    st.datetimes(dt.datetime(2000, 1, 1), dt.datetime(2030, 1, 1)),
    st.sampled_from(["Europe/Berlin", "America/New_York"]),
)
def test_local_times_agree_with_zoneinfo(local: dt.datetime, zone: str) -> None:
    local = local.replace(microsecond=0)
    expected = local.replace(tzinfo=zoneinfo.ZoneInfo(zone)).astimezone(dt.UTC)
    exists = expected.astimezone(zoneinfo.ZoneInfo(zone)).replace(tzinfo=None) == local
    assert parse([local.isoformat()], timezone=zone) == [expected if exists else None]


def test_hour_that_the_clock_skipped_is_a_problem() -> None:
    times = parse_times(pl.Series("start", ["2024-03-31T02:30:00"]), timezone="Europe/Berlin")
    assert times.problem is not None
    assert "does not exist in Europe/Berlin" in times.problem[0]


@pytest.mark.parametrize(
    ("start", "end", "elapsed", "run"),
    [
        ("02:50:00", "02:10:00", None, 1200),  # end before start in the first hour: the second is meant
        ("02:10:00", "02:20:00", 600, 600),
        ("02:10:00", "02:20:00", 4200, 4200),  # an hour and ten minutes: across the change
        ("01:30:00", "02:30:00", 7200, 7200),
        ("02:30:00", "03:30:00", 3600, 3600),
    ],
)
def test_hour_that_occurs_twice_is_settled(start: str, end: str, elapsed: int | None, run: int) -> None:
    begin, stop = (
        parse_times(pl.Series(name, [f"2024-10-27T{text}"]), timezone="Europe/Berlin")
        for name, text in (("start", start), ("end", end))
    )
    seconds = None if elapsed is None else pl.Series([elapsed])
    first, last, doubtful = choose_hours(begin, stop, seconds)
    assert (last[0] - first[0]).total_seconds() == run
    assert doubtful == 1


def test_unknown_zone_and_unit_are_refused() -> None:
    from meantime.datasets.times import check_timezone

    with pytest.raises(InputError, match="time zone 'Mars/Olympus' is unknown"):
        check_timezone("Mars/Olympus")
    with pytest.raises(InputError, match="time unit 'h' is unknown"):
        parse(["1"], unit="h")
