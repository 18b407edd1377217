"""Numbers and names as people read them."""

import pytest

from meantime.report import numbers

S = "\u00a0"


@pytest.mark.parametrize(
    ("value", "text"),
    [(6.5, "6.50"), (0.3149, "0.315"), (1234.5, "1,230"), (0, "0"), (9.996, "10.0"), (0.09996, "0.100"),
     (-2.345, "-2.35"), (float("nan"), "–"), (float("inf"), "–"), (1e-5, "0.0000100")],
)  # fmt: skip
def test_three_significant_figures(value: float, text: str) -> None:
    assert numbers.three(value) == text


@pytest.mark.parametrize(
    ("hours", "text"),
    [(0.01, f"36{S}s"), (0.2249, f"13.5{S}min"), (7.9, f"7.9{S}h"), (47.7 * 24, f"47.7{S}d"), (float("inf"), "never")],
)
def test_durations_have_units(hours: float, text: str) -> None:
    assert numbers.duration(hours) == text


def test_a_range_has_its_unit_once_where_both_ends_share_it() -> None:
    assert numbers.duration_between(1.6 * 24, 2.8 * 24) == f"38.4{S}h to 2.8{S}d"
    assert numbers.duration_between(5.18, 6.64) == f"5.18 to 6.64{S}h"
    assert numbers.duration_between(5.18, float("inf")) == f"5.18{S}h to never"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.312, "31"), (0.024, "2.4"), (0.0004, "under 0.1"), (0.9999, "over 99.9"), (1.0, "100"), (0.0, "0"),
     (0.9951, "99.5")],
)  # fmt: skip
def test_shares(value: float, text: str) -> None:
    assert numbers.share(value) == f"{text}{S}%"


def test_draws_never_prove_certainty() -> None:
    assert numbers.odds(1.0) == f"over 99{S}%"
    assert numbers.odds(0.0) == f"under 1{S}%"
    assert numbers.odds(0.731) == f"73{S}%"


@pytest.mark.parametrize(
    ("value", "text"), [(0.8664, "0.866"), (0.0371, "0.0371"), (0.0031, "0.003"), (4e-9, "<0.001"), (0.0, "0.000")]
)
def test_ettr_is_written_with_three_decimals(value: float, text: str) -> None:
    assert numbers.fraction(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3600, f"1{S}h"), (90, f"90{S}s"), (2592000, f"30{S}days"), (86400, f"1{S}day"), (0, f"0{S}s")],
)
def test_stated_durations_keep_the_unit_people_use(seconds: float, text: str) -> None:
    assert numbers.stated(seconds) == text


def test_large_amounts_in_little_room() -> None:
    assert numbers.quantity(1_257_470) == "1.26 million"
    assert numbers.quantity(110_592) == "110,592"
    assert numbers.compact(14_686) == "14.7k"
    assert numbers.compact(1_257_470) == "1.26M"
    assert numbers.compact(7_126) == "7,126"


def test_names_are_spelled_and_nothing_in_them_is_invisible() -> None:
    assert numbers.label("infiniband_link") == "InfiniBand link"
    assert numbers.label("nul\x00 esc\x1b \u202ertl") == "nul\ufffd esc\ufffd \ufffdrtl"
    assert numbers.label("") == "(no name)"
    assert len(numbers.label("x" * 500)) == numbers.LONGEST_NAME


def test_listing_reads_as_a_sentence() -> None:
    assert numbers.listing(["a"]) == "a"
    assert numbers.listing(["a", "b", "c"]) == "a, b and c"
    assert numbers.listing([]) == ""


def test_days_beyond_any_plan_are_not_spelt_out() -> None:
    assert [numbers.days_number(value) for value in (34.21, 1e5, 2.32e11, float("inf"))] == [
        "34.2",
        "100,000",
        "100,000+",
        "100,000+",
    ]
