"""Host lists as Slurm writes them: ``rsc[001-016,020],gpu-a7``.

Lines of our own: of the two well-kept libraries python-hostlist is under the GPL and ClusterShell under the LGPL, and
both expand one list at a time, where a log has half a million, which `expand_column` expands at once.
"""

import itertools
import re
from typing import Any

import polars as pl

MAX_HOSTS = 1_000_000
"""Most names that one list may stand for."""

_NO_HOSTS = ("", "None assigned", "(null)", "None", "Unknown", "N/A")
_ELEMENT = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def expand_hosts(text: str) -> list[str] | None:
    """Expand one host list; None if it is malformed or stands for more than `MAX_HOSTS` names.

    Examples
    --------
    >>> expand_hosts("rsc[001-003,020],gpu-a7")
    ['rsc001', 'rsc002', 'rsc003', 'rsc020', 'gpu-a7']
    """
    hosts: list[str] = []
    position = 0
    text = text.strip()
    while position < len(text):
        element = _ELEMENT.match(text, position)
        if element is None:
            return None
        expanded = _expand_element(element.group(), MAX_HOSTS - len(hosts))
        if expanded is None:
            return None
        hosts += expanded
        position = element.end()
        if position < len(text):
            if text[position] != "," or position + 1 == len(text):
                return None
            position += 1
    return hosts


def expand_column(lists: pl.Series) -> pl.Series:
    """Expand a column of host lists to lists of names; null where no host is named or the list is malformed."""
    codes = lists.cast(pl.Categorical(pl.Categories.random())).to_physical()
    at = codes.arg_unique()
    distinct = pl.DataFrame({"code": codes.gather(at), "list": lists.gather(at)}).drop_nulls().sort("code")
    unique = distinct["list"].filter(~distinct["list"].is_in(_NO_HOSTS))
    plain = ~unique.str.contains(r"[\[\]\s]")
    usual = unique.str.contains(_USUAL)
    simple, ranged = unique.filter(plain), _expand_usual(unique.filter(usual))
    other = unique.filter(~plain & ~unique.is_in(ranged["list"].implode()))
    schema: dict[str, Any] = {"list": pl.String, "nodes": pl.List(pl.String)}
    names = pl.concat(
        [
            pl.DataFrame({"list": simple, "nodes": simple.str.split(",")}, schema=schema),
            ranged,
            pl.DataFrame({"list": other, "nodes": [expand_hosts(text) for text in other.to_list()]}, schema=schema),
        ]
    )
    by_code = distinct.join(names, on="list", how="left", maintain_order="left")["nodes"]
    return by_code.gather(codes)


_USUAL = r"^[^\[\],\s]*\[\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*\]$"
"""One prefix and one bracket, as Slurm writes most lists."""


def _expand_usual(lists: pl.Series) -> pl.DataFrame:
    """Expand lists of the usual form at once: ``list``, ``nodes``. Those that are too long or fall are left out."""
    whole = pl.DataFrame({"list": lists}, schema={"list": pl.String}).with_row_index("at")
    parts = whole.select(
        "at",
        prefix=pl.col("list").str.extract(r"^([^\[]*)\["),
        part=pl.col("list").str.extract(r"\[(.*)\]$").str.split(","),
    )
    edges = parts.explode("part").with_columns(pl.col("part").str.split_exact("-", 1).struct.unnest())
    ranges = edges.select(
        "at",
        "prefix",
        width=pl.col("field_0").str.len_bytes(),
        first=pl.col("field_0").cast(pl.Int64),
        last=pl.coalesce("field_1", "field_0").cast(pl.Int64),
    )
    count = pl.col("last") - pl.col("first") + 1
    wrong = ranges.group_by("at").agg(((count.min() < 1) | (count.sum() > MAX_HOSTS)).alias("wrong")).filter("wrong")
    if wrong.height:
        ranges = ranges.join(wrong, on="at", how="anti", maintain_order="left")
    numbers = ranges.select("at", "prefix", "width", number=pl.int_ranges("first", pl.col("last") + 1)).explode(
        "number"
    )
    names = numbers.select("at", nodes=pl.col("prefix") + pl.col("number").cast(pl.String).str.zfill(pl.col("width")))
    return whole.join(names.group_by("at", maintain_order=True).agg("nodes"), on="at", how="inner").drop("at")


def _expand_element(element: str, room: int) -> list[str] | None:
    choices: list[list[str]] = []
    total = 1
    for ranges, literal in _PIECE.findall(element):
        names = [literal] if literal else _expand_ranges(ranges, room)
        if not names:
            return None
        total *= len(names)
        if total > room:
            return None
        choices.append(names)
    if len(choices) == 2 and len(choices[0]) == 1:
        prefix = choices[0][0]
        return [prefix + number for number in choices[1]]
    return ["".join(parts) for parts in itertools.product(*choices)]


def _expand_ranges(text: str, room: int) -> list[str] | None:
    numbers: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            return None
        low, high = match.group(1), match.group(2) or match.group(1)
        if int(high) < int(low) or int(high) - int(low) >= room:
            return None
        width = len(low)
        numbers += [f"{i:0{width}d}" for i in range(int(low), int(high) + 1)]
    return numbers
