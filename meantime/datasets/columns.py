"""Columns of a log to the types of the tables, with a reason for every value that does not convert."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from meantime.datasets.log import empty_quarantine, make_quarantine
from meantime.datasets.ragged import LINE
from meantime.datasets.times import MISSING

type Check = tuple[pl.Expr, pl.Expr]
"""Which rows are wrong, and what to say of them."""
type Texts = Callable[[Sequence[int]], list[str]]
"""Gives the text of lines of a file, for the quarantine."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Values, and why some could not be converted (null where they could; None if all could)."""

    values: pl.Series
    problem: pl.Series | None = None


def nulls(height: int, dtype: pl.DataType | type[pl.DataType]) -> pl.Series:
    """Make a column without values."""
    return pl.Series([None], dtype=dtype).new_from_index(0, height)


def simple_columns(frame: pl.DataFrame, nested: Sequence[str] = ()) -> pl.DataFrame:
    """Turn lists, objects and bytes, which stand in columns of single values by mistake, into text.

    Parameters
    ----------
    frame
        Any columns.
    nested
        Columns that may be lists.
    """
    odd = [
        name
        for name, dtype in frame.schema.items()
        if (dtype.is_nested() or dtype in (pl.Binary, pl.Object)) and not (name in nested and _is_flat_list(dtype))
    ]
    if not odd:
        return frame
    return frame.with_columns(
        pl.Series(name, [None if v is None else str(v) for v in frame[name].to_list()], dtype=pl.String) for name in odd
    )


def text_column(raw: pl.Series) -> pl.Series:
    """Turn a column into text, without the ways of writing that a value is missing."""
    text = raw if raw.dtype == pl.String else raw.cast(pl.String)
    missing = text.is_in(MISSING)
    return text.set(missing, None) if missing.any() else text


def whole_column(raw: pl.Series) -> Column:
    """Turn a column into whole numbers; ``8`` and ``8.0`` are, ``8.5`` and ``eight`` are not."""
    if raw.dtype.is_integer():
        return Column(values=raw.cast(pl.Int64))
    values = raw.cast(pl.Int64, strict=False) if raw.dtype == pl.String else nulls(raw.len(), pl.Int64)
    if values.null_count() == 0:
        return Column(values=values)
    text = text_column(raw)
    number = text.str.strip_chars().cast(pl.Float64, strict=False)
    exact = (number == number.round()) & (number.abs() < 2**53)
    values = number.set(~exact.fill_null(False), None).cast(pl.Int64)
    wrong = text.is_not_null() & values.is_null() & ~number.is_nan().fill_null(False)
    if not wrong.any():
        return Column(values=values)
    return Column(values=values, problem=_say(text, wrong, f"{raw.name} '{{}}' is not a whole number"))


def category_column(raw: pl.Series, known: Mapping[str, str], dtype: pl.Enum) -> Column:
    """Map words to an enumeration; a word that is not known, or missing, is a problem."""
    text = raw.cast(pl.String).fill_null("")
    values = text.replace_strict(dict(known), default=None, return_dtype=dtype)
    if values.null_count() == 0:
        return Column(values=values)
    return Column(values=values, problem=_say(text, values.is_null(), f"{raw.name} '{{}}' is unknown"))


def divide(
    frame: pl.DataFrame, problems: Sequence[pl.Series], checks: Sequence[Check]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Divide rows into good ones and wrong ones; the latter with all reasons in ``__why``."""
    masks = [problem.is_not_null().alias(f"p{i}") for i, problem in enumerate(problems)]
    found = frame.select(mask.fill_null(False).alias(f"c{i}") for i, (mask, _) in enumerate(checks)).with_columns(masks)
    wrong = found.select(pl.any_horizontal(pl.all())).to_series()
    if not wrong.any():
        return frame, frame.clear().with_columns(pl.lit(None, dtype=pl.String).alias("__why"))
    bad = frame.filter(wrong)
    said = [problem.filter(wrong).alias(f"p{i}") for i, problem in enumerate(problems)]
    reasons = bad.select(
        pl.when(mask).then(reason).otherwise(None).cast(pl.String).alias(f"c{i}")
        for i, (mask, reason) in enumerate(checks)
    ).with_columns(said)
    order = [series.name for series in said] + [name for name in reasons.columns if name.startswith("c")]
    why = reasons.select(pl.concat_str(order, separator="; ", ignore_nulls=True)).to_series()
    return frame.filter(~wrong), bad.with_columns(why.alias("__why"))


def set_aside(bad: pl.DataFrame, file: str, texts: Texts) -> pl.DataFrame:
    """Make a quarantine of the wrong rows of `divide`."""
    if bad.is_empty():
        return empty_quarantine()
    lines = bad[LINE].to_list()
    return make_quarantine(file, lines, bad["__why"].to_list(), texts(lines))


def _is_flat_list(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.List) and not dtype.inner.is_nested()


def _say(text: pl.Series, wrong: pl.Series, template: str) -> pl.Series:
    said = pl.DataFrame({"t": text.str.slice(0, 60)}).select(pl.format(template, "t")).to_series()
    return said.set(~wrong, None)
