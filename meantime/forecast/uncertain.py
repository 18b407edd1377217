"""A duration that is not known exactly: a distribution or samples, drawn with the posterior."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from meantime.errors import InputError
from meantime.units import SECONDS_PER_HOUR, format_seconds, seconds

MAX_SAMPLES = 10_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Uncertain:
    """A duration known only as a distribution.

    It says how unsure the value is, not how it varies within one run: each posterior draw gets one
    value, which holds for the whole of that draw's run.

    Parameters
    ----------
    source
        A frozen `scipy.stats` distribution (``lognorm(0.5, scale=5)``, or a new-style one such as
        ``scipy.stats.Normal(mu=5, sigma=1)``), or a 1-D array of samples, resampled with replacement.
    unit
        The unit of the numbers in `source`: ``"s"``, ``"min"``, ``"h"``, ``"d"``. Samples of dtype
        timedelta64 carry their own, and `unit` is then left out.
    label
        A short name for tables and coordinates; made from `source` if left out.

    Raises
    ------
    InputError
        If the unit is missing or unknown, or samples are empty, negative or not finite.
    """

    source: Any
    unit: str | None = None
    label: str = ""

    def __post_init__(self) -> None:
        if hasattr(self.source, "rvs") or hasattr(self.source, "sample"):
            _scale(self.unit, "a distribution")
            label = f"{_name_of(self.source)} {self.unit}"
        else:
            samples = _sample_seconds(self.source, self.unit)
            object.__setattr__(self, "source", samples / SECONDS_PER_HOUR)
            object.__setattr__(self, "unit", "h")
            label = f"{samples.size} samples, median {format_seconds(float(np.median(samples)))}"
        if not self.label:
            object.__setattr__(self, "label", label)

    def draw(self, n: int, rng: np.random.Generator, *, name: str = "duration") -> np.ndarray:
        """Draw `n` values in hours, shape (n,).

        Raises
        ------
        InputError
            If the distribution gives negative or infinite durations.
        """
        if isinstance(self.source, np.ndarray):
            return rng.choice(self.source, size=n)
        if hasattr(self.source, "rvs"):
            values = self.source.rvs(size=n, random_state=rng)
        else:
            values = self.source.sample(n, rng=rng)
        hours = np.asarray(values, dtype=float) * _scale(self.unit, "a distribution") / SECONDS_PER_HOUR
        bad = ~np.isfinite(hours) | (hours < 0)
        if bad.any():
            raise InputError(
                f"{name}: {self.label} gives negative or infinite durations ({bad.mean():.1%} of draws); "
                "use a distribution on positive values, such as scipy.stats.lognorm, gamma or truncnorm"
            )
        return hours

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON can hold and `from_dict` can read."""
        if isinstance(self.source, np.ndarray):
            return {"samples": self.source.tolist(), "unit": "h", "label": self.label}
        if not hasattr(self.source, "dist"):
            raise InputError(f"{self.label} cannot be written as JSON; use a frozen distribution such as lognorm(...)")
        arguments = [float(value) for value in self.source.args]
        keywords = {key: float(value) for key, value in self.source.kwds.items()}
        return {
            "distribution": self.source.dist.name,
            "args": arguments,
            "kwds": keywords,
            "unit": self.unit,
            "label": self.label,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], *, name: str = "duration") -> Self:
        """Read what `to_dict` wrote: ``{"distribution": "lognorm", "kwds": {...}, "unit": "min"}`` or samples."""
        unknown = set(content) - {"distribution", "args", "kwds", "samples", "unit", "label"}
        if unknown or ("distribution" in content) == ("samples" in content):
            raise InputError(f"{name}: expected either distribution, args, kwds and unit, or samples and unit")
        label = str(content.get("label", ""))
        source = content["samples"] if "samples" in content else _frozen(content, name)
        return cls(source, content.get("unit"), label)


def is_samples(value: object) -> bool:
    """Say whether `value` is a 1-D array (or series) of timedelta64, that is, samples of a duration."""
    if isinstance(value, str | list | tuple | np.timedelta64):
        return False
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "m"


def _frozen(content: Mapping[str, Any], name: str) -> Any:
    import scipy.stats

    family = getattr(scipy.stats, str(content["distribution"]), None)
    if not isinstance(family, scipy.stats.rv_continuous):
        raise InputError(
            f"{name}: {content['distribution']!r} is no continuous distribution of scipy.stats; "
            "expected a name such as lognorm or gamma"
        )
    try:
        return family(*content.get("args", ()), **content.get("kwds", {}))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: {content['distribution']} cannot be made: {error}") from error


def _sample_seconds(source: Any, unit: str | None) -> np.ndarray:
    try:
        values = np.asarray(source.to_numpy() if hasattr(source, "to_numpy") else source)
    except ValueError as error:
        raise InputError(f"samples of a duration are not a 1-D array: {error}") from error
    if values.ndim != 1 or not 0 < values.size <= MAX_SAMPLES or values.dtype.kind not in "mfiu":
        raise InputError(
            f"an uncertain duration is {type(source).__name__} of shape {values.shape}; expected a frozen "
            "scipy.stats distribution or a 1-D array of samples"
        )
    if values.dtype.kind == "m":
        if unit is not None:
            raise InputError(f"samples of dtype {values.dtype} carry their own unit; leave out unit={unit!r}")
        result = np.where(np.isnat(values), np.nan, values / np.timedelta64(1, "s"))
    else:
        result = values.astype(float) * _scale(unit, "samples")
    if not (np.isfinite(result) & (result >= 0)).all():
        raise InputError("samples of a duration hold negative, missing or infinite values; expected finite ones")
    return result


def _scale(unit: str | None, what: str) -> float:
    if unit is None:
        raise InputError(f"{what} of plain numbers has no unit; say unit='min' (or s, h, d)")
    if not isinstance(unit, str) or not unit.isalpha():
        raise InputError(f"unit is {unit!r}; expected s, min, h or d")
    return seconds(f"1{unit}", name="unit")


def _name_of(source: Any) -> str:
    if not hasattr(source, "dist"):
        return repr(source)
    arguments = [f"{value:g}" for value in source.args]
    arguments += [f"{key}={value:g}" for key, value in source.kwds.items()]
    return f"{source.dist.name}({', '.join(arguments)})"
