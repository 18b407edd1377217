"""Numbers as people read them: three significant figures, units, ranges, names made safe to show."""

import datetime as dt
import unicodedata

import numpy as np

from meantime.intervals import PROBABILITY
from meantime.units import SECONDS_PER_HOUR, format_seconds

NOTHING = "–"
"""Shown where there is no number."""
SPACE = "\u00a0"
"""Between a number and its unit, so that no line ends between them."""
LONGEST_NAME = 48
INTERVAL = f"{100 * PROBABILITY:.0f} % interval"
"""How the interval of every figure and table is called."""


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


def compact(value: float) -> str:
    """Write an amount in little room: ``"853"``, ``"14.7k"``, ``"1.26M"``."""
    for least, size, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            return f"{three(value / size)}{unit}"
    return quantity(value)


def share(fraction: float) -> str:
    """Write a fraction in per cent: ``"31 %"``, ``"2.4 %"``, ``"under 0.1 %"``."""
    if not np.isfinite(fraction):
        return NOTHING
    percent = 100 * float(fraction)
    if 0 < percent < 0.1:
        text = "under 0.1"
    elif 99.9 < percent < 100:
        text = "over 99.9"
    elif percent in (0.0, 100.0):
        text = f"{percent:.0f}"
    else:
        text = f"{percent:.1f}" if percent < 9.95 or percent > 99 else f"{percent:.0f}"
    return f"{text}{SPACE}%"


def odds(probability: float) -> str:
    """Write a probability estimated from draws, which never proves 0 or 1: ``"73 %"``, ``"over 99 %"``."""
    if probability > 0.99:
        return f"over 99{SPACE}%"
    return f"under 1{SPACE}%" if probability < 0.01 else f"{100 * probability:.0f}{SPACE}%"


def fraction(value: float) -> str:
    """Write an ETTR, between 0 and 1: ``"0.866"``, ``"0.0371"``, ``"0.003"``, ``"<0.001"``."""
    if not np.isfinite(value):
        return NOTHING
    if 0 < value < 0.001:
        return "<0.001"
    return three(value) if 0.01 <= value < 0.1 else f"{value:.3f}"


def fraction_between(lower: float, upper: float) -> str:
    """Write a range of ETTR: ``"0.841 to 0.889"``."""
    return f"{fraction(lower)} to {fraction(upper)}"


def duration(hours: float) -> str:
    """Write hours as people do, three figures at most: ``"13.5 min"``, ``"1.8 h"``, ``"47.7 d"``."""
    if np.isnan(hours):
        return NOTHING
    return format_seconds(float(hours) * SECONDS_PER_HOUR).replace(" ", SPACE)


def days_number(days: float) -> str:
    """Write days of a run; where it would take centuries, how many does not matter: ``"100,000+"``."""
    return "100,000+" if days > 1e5 else three(days)


def duration_between(lower: float, upper: float) -> str:
    """Write a range of hours, the unit once where both ends share it: ``"1.6 to 2.8 h"``."""
    left, right = duration(lower), duration(upper)
    if SPACE in left and left.rpartition(SPACE)[2] == right.rpartition(SPACE)[2]:
        left = left.rpartition(SPACE)[0]
    return f"{left} to {right}"


def stated(seconds: float) -> str:
    """Write a duration that someone chose, in the largest unit that makes it whole: ``"1 h"``, ``"90 s"``."""
    for unit, size in (("day", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            plural = "s" if unit == "day" and seconds > size else ""
            return f"{seconds / size:,.0f}{SPACE}{unit}{plural}"
    return f"{seconds:,.4g}{SPACE}s"


def gpus(number: float) -> str:
    """Write a size of a job: ``"16,384 GPUs"``."""
    return f"{count(number)}{SPACE}GPUs"


def day(time: str) -> str:
    """Write the day of an ISO time as people do, ``"30 November 2026"``; what is no time as it is."""
    try:
        found = dt.datetime.fromisoformat(time)
    except ValueError:
        return visible(time)
    return f"{found.day} {found:%B %Y}"


def visible(text: str) -> str:
    """Replace control and direction-changing characters, which a page or a figure cannot show, by U+FFFD."""
    return "".join("\ufffd" if unicodedata.category(letter)[0] == "C" else letter for letter in text)


def label(name: object) -> str:
    """Make a name from a log fit to show: ``"infiniband_link"`` reads ``"InfiniBand link"``.

    Underscores become blanks, known short names get their usual capitals, nothing is invisible or too
    long. Escaping is the business of whoever writes HTML.
    """
    text = visible(str(name)).replace("_", " ").strip() or "(no name)"
    text = " ".join(_SPELLED.get(word, word) for word in text.split(" "))
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


_SPELLED = {
    "cpu": "CPU",
    "ecc": "ECC",
    "ethernet": "Ethernet",
    "gpu": "GPU",
    "gsp": "GSP",
    "hbm": "HBM",
    "ib": "IB",
    "infiniband": "InfiniBand",
    "nccl": "NCCL",
    "nic": "NIC",
    "nvlink": "NVLink",
    "pcie": "PCIe",
    "psu": "PSU",
    "ssd": "SSD",
    "xid": "XID",
}


def opening(text: str) -> str:
    """Give the first word of a sentence its capital."""
    return text[:1].upper() + text[1:]


def signed(value: float) -> str:
    """Write a change with its sign and one decimal: ``"+6.5"``, ``"−0.3"``."""
    return f"{value:+.1f}".replace("-", "−")


def sentence(text: str) -> str:
    """Give a remark its capital and its full stop."""
    text = visible(text).strip()
    return opening(text) + ("" if text.endswith((".", "!", "?")) else ".")


def listing(parts: list[str]) -> str:
    """Join words as in a sentence: ``"a, b and c"``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""
