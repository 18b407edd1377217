"""From a survival table to the arrays of a model of age."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

YEAR = 365.0
"""Age at which a hazard is stated, days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lives:
    """A survival table as arrays (see `meantime.datasets.survival`).

    Parameters
    ----------
    events
        Failures and the sum of the logarithms of their ages, shape (stratum, 2).
    failures, exposure
        By interval of age, shape (stratum, interval).
    weight
        Of the quadrature, shape (stratum, age).
    ages
        Its nodes, days.
    cuts
        Bounds of the intervals, days.
    design
        Covariates, shape (stratum, covariate), numbers standardised (0 and 1 of a level stay).
    strata, intervals, covariates
        Labels.
    """

    events: np.ndarray
    failures: np.ndarray
    exposure: np.ndarray
    weight: np.ndarray
    ages: np.ndarray
    cuts: np.ndarray
    design: np.ndarray
    strata: tuple[str, ...]
    intervals: tuple[str, ...]
    covariates: tuple[str, ...]

    @property
    def coords(self) -> dict[str, Sequence[Any]]:
        """Labels of the dimensions."""
        return {
            "stratum": list(self.strata),
            "interval": list(self.intervals),
            "later": list(self.intervals[1:]),
            "covariate": list(self.covariates),
            "statistic": ["count", "sum_log_age"],
            "age": self.ages.tolist(),
        }

    @property
    def outcome_coords(self) -> dict[str, tuple[str, Sequence[Any]]]:
        """None beside the labels."""
        return {}

    def observed(self) -> dict[str, np.ndarray]:
        """Return the data of the likelihood."""
        data = {"observed_events": self.events, "age_weight": self.weight, "age_years": self.ages / YEAR}
        return data | ({"design": self.design} if self.covariates else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class LivesBySteps(Lives):
    """The same for a hazard that is constant within intervals."""

    def observed(self) -> dict[str, np.ndarray]:
        """Return the data of the likelihood; no exposure is a ten-thousandth of a second, for the sake of gradients."""
        data = {"observed_failures": self.failures, "exposure_days": np.maximum(self.exposure, 1e-9)}
        return data | ({"design": self.design} if self.covariates else {})


def lives_of(table: xr.Dataset) -> Lives:
    """Lay a survival table out for the Weibull model."""
    return Lives(**_fields(table))


def lives_by_steps(table: xr.Dataset) -> LivesBySteps:
    """Lay a survival table out for the piecewise-constant model."""
    return LivesBySteps(**_fields(table))


def _fields(table: xr.Dataset) -> dict[str, Any]:
    design = table["design"].values.astype(float)
    weight = table["lives"].values / table["lives"].values.sum()
    for column in range(design.shape[1]):
        if not np.isin(design[:, column], (0.0, 1.0)).all():
            mean = weight @ design[:, column]
            spread = np.sqrt(weight @ (design[:, column] - mean) ** 2)
            design[:, column] = (design[:, column] - mean) / (spread if spread > 0 else 1.0)
    return {
        "events": table["events"].values.astype(float),
        "failures": table["failures"].values.astype(np.int64),
        "exposure": table["exposure"].values.astype(float),
        "weight": table["weight"].values.astype(float),
        "ages": table["age"].values.astype(float),
        "cuts": table["cut"].values.astype(float),
        "design": design,
        "strata": tuple(str(name) for name in table["stratum"].values),
        "intervals": tuple(str(name) for name in table["interval"].values),
        "covariates": tuple(str(name) for name in table["covariate"].values),
    }
