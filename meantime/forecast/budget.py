"""Work to be done in tokens or steps, and how fast so many GPUs do it while they compute."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from meantime.errors import InputError
from meantime.forecast.plan import Plan
from meantime.forecast.rates import checked_gpus
from meantime.forecast.uncertain import Uncertain
from meantime.units import SECONDS_PER_HOUR, Duration, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Units of work per second of undisturbed computation, by the number of GPUs.

    Between sizes that were measured the logarithm of the throughput is interpolated over that of the
    size. Beyond them it follows `efficiency_per_doubling`, which is asked for rather than guessed.

    Parameters
    ----------
    measured
        GPUs and units per second: ``{1024: 5.4e5, 8192: 4.1e6}``.
    efficiency_per_doubling
        Twice the GPUs do so many times twice the work: 1 is ideal, 0.95 loses 5 % at each doubling.
    relative_sd
        How unsure all of it is: the standard deviation of the logarithm of one common factor.

    Raises
    ------
    InputError
        If there is no size, or a number cannot be.

    Examples
    --------
    >>> throughput = Throughput(measured={1024: 1e6}, efficiency_per_doubling=0.9)
    >>> round(throughput.per_second(4096) / 1e6, 3)
    3.24
    """

    measured: Mapping[int, float]
    efficiency_per_doubling: float | None = None
    relative_sd: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.measured, Mapping) or not self.measured:
            raise InputError(
                f"measured is {self.measured!r}; expected GPUs and units per second, such as {{1024: 5.4e5}}"
            )
        checked_gpus(list(self.measured))
        for gpus, speed in self.measured.items():
            _positive(speed, f"throughput of {gpus} GPUs")
        if self.efficiency_per_doubling is not None:
            _positive(self.efficiency_per_doubling, "efficiency_per_doubling", most=1.5)
        if self.relative_sd != 0:
            _positive(self.relative_sd, "relative_sd", most=2.0)
        object.__setattr__(self, "measured", MappingProxyType(dict(sorted(self.measured.items()))))

    @classmethod
    def of_steps(cls, seconds_per_step: Mapping[int, Duration], **rest: Any) -> Self:
        """Make it from the durations of a step: ``Throughput.of_steps({384: "105s"})``, in steps per second."""
        speeds = {}
        for gpus, duration in seconds_per_step.items():
            length = seconds(duration, name=f"step of {gpus} GPUs")
            speeds[gpus] = 1 / _positive(length, f"step of {gpus} GPUs")
        return cls(measured=speeds, **rest)

    def per_second(self, gpus: int) -> float:
        """Return units of work per second on so many GPUs.

        Raises
        ------
        InputError
            If that is beyond what was measured and no efficiency was stated.
        """
        sizes, speeds = list(self.measured), list(self.measured.values())
        if sizes[0] <= gpus <= sizes[-1]:
            return float(np.exp(np.interp(np.log(gpus), np.log(sizes), np.log(speeds))))
        if self.efficiency_per_doubling is None:
            known = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
            raise InputError(
                f"throughput of {gpus:,} GPUs is not known from that of {known}; "
                "state efficiency_per_doubling (1 is ideal, 0.95 loses 5 % at each doubling)"
            )
        end = 0 if gpus < sizes[0] else -1
        return speeds[end] * (gpus / sizes[end]) ** (1 + math.log2(self.efficiency_per_doubling))


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a run has to do.

    Parameters
    ----------
    work
        How much: tokens, steps, samples.
    throughput
        How much of it is done in a second.
    unit
        What it is counted in, for labels.

    Raises
    ------
    InputError
        If the work is no positive number.
    """

    work: float
    throughput: Throughput
    unit: str = "tokens"

    def __post_init__(self) -> None:
        _positive(self.work, "work", most=1e30)
        if not isinstance(self.throughput, Throughput):
            raise InputError(f"throughput is {self.throughput!r}; expected Throughput(measured={{1024: 5.4e5}})")

    def productive_hours(self, gpus: int) -> float:
        """Return the hours of undisturbed computation on so many GPUs."""
        return self.work / self.throughput.per_second(gpus) / SECONDS_PER_HOUR

    def plan_of(self, plan: Plan, gpus: int) -> Plan:
        """Return `plan` with the productive time that the work takes on so many GPUs.

        Raises
        ------
        InputError
            If the throughput there is not known, or the run would be shorter than a second or longer than 1,000 years.
        """
        hours = self.productive_hours(gpus)
        if not 1 / SECONDS_PER_HOUR <= hours <= 8.8e6:
            raise InputError(
                f"{self.work:g} {self.unit} on {gpus:,} GPUs take {hours:.3g} hours; check work and throughput"
            )
        if self.throughput.relative_sd == 0:
            return replace(plan, productive=f"{hours * SECONDS_PER_HOUR:.6f}s")
        import scipy.stats

        spread = scipy.stats.lognorm(self.throughput.relative_sd, scale=hours)
        return replace(plan, productive=Uncertain(spread, unit="h", label=f"about {hours:.4g} h"))


def _positive(value: Any, name: str, *, most: float = 1e30) -> float:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0 < value <= most:
        raise InputError(
            f"{name} is {value!r}; expected a number above 0" + (f", at most {most:g}" if most < 1e9 else "")
        )
    return float(value)
