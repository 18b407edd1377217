"""Numbers as people read them: three significant figures, units, ranges, names made safe to show."""

import unicodedata

import numpy as np

from meantime.units import SECONDS_PER_HOUR, format_seconds

NOTHING = "–"
"""Shown where there is no number."""
LONGEST_NAME = 48


def three(value: float) -> str:
    """Write a number with three significant figures: ``"6.50"``, ``"0.315"``, ``"1,230"``."""
    if not np.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    digits = 2 - int(np.floor(np.log10(abs(value))))
    rounded = round(float(value), digits)
    if rounded == 0:
        return "0"
    digits = 2 - int(np.floor(np.log10(abs(rounded))))
    return f"{rounded:,.{max(digits, 0)}f}"


def between(lower: float, upper: float) -> str:
    """Write a range of plain numbers: ``"5.90 to 7.12"``."""
    return f"{three(lower)} to {three(upper)}"


def count(value: float) -> str:
    """Write a count with thousands separators: ``"131,072"``."""
    return f"{round(float(value)):,}" if np.isfinite(value) else NOTHING


def quantity(value: float) -> str:
    """Write an amount that may be large: ``"853"``, ``"110,592"``, ``"1.26 million"``."""
    if not np.isfinite(value):
        return NOTHING
    if abs(value) >= 1e9:
        return f"{three(value / 1e9)} billion"
    if abs(value) >= 1e6:
        return f"{three(value / 1e6)} million"
    return three(value) if abs(value) < 100 else count(value)


def share(fraction: float) -> str:
    """Write a fraction in per cent: ``"31 %"``, ``"2.4 %"``, ``"under 0.1 %"``."""
    if not np.isfinite(fraction):
        return NOTHING
    percent = 100 * float(fraction)
    if 0 < percent < 0.1:
        return "under 0.1 %"
    if 99.95 <= percent < 100:
        return "over 99.9 %"
    if percent in (0.0, 100.0):
        return f"{percent:.0f} %"
    return f"{percent:.1f} %" if percent < 9.95 or percent > 99 else f"{percent:.0f} %"


def fraction(value: float) -> str:
    """Write an ETTR, between 0 and 1, with three decimals: ``"0.866"``; small ones with three figures."""
    if not np.isfinite(value):
        return NOTHING
    return f"{value:.3f}" if value >= 0.1 else three(value)


def fraction_between(lower: float, upper: float) -> str:
    """Write a range of ETTR: ``"0.841 to 0.889"``."""
    return f"{fraction(lower)} to {fraction(upper)}"


def duration(hours: float) -> str:
    """Write hours as people do, three figures at most: ``"13.5 min"``, ``"1.8 h"``, ``"47.7 d"``."""
    return format_seconds(float(hours) * SECONDS_PER_HOUR) if not np.isnan(hours) else NOTHING


def duration_between(lower: float, upper: float) -> str:
    """Write a range of hours, the unit once where both ends share it: ``"1.6 to 2.8 h"``."""
    left, right = duration(lower), duration(upper)
    if left.rpartition(" ")[2] == right.rpartition(" ")[2] and " " in left:
        left = left.rpartition(" ")[0]
    return f"{left} to {right}"


def label(name: object) -> str:
    """Make a name from a log fit to show: underscores become blanks, nothing invisible, not too long.

    Control and direction-changing characters become U+FFFD. Escaping is the business of whoever
    writes HTML; this only makes sure that what is escaped can be read.
    """
    text = "".join("\ufffd" if unicodedata.category(letter)[0] == "C" else letter for letter in str(name))
    text = text.replace("_", " ").strip() or "(no name)"
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def listing(parts: list[str]) -> str:
    """Join words as in a sentence: ``"a, b and c"``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""
