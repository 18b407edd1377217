"""`repair_tail`: how long nodes are down, where some repairs take far longer than the rest."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.models.repair import RepairPriors, Repairs, repairs_of

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairTailPriors(RepairPriors):
    """Priors of `repair_tail`: those of `repair`, of the common repairs of a class, and of the long ones.

    At Los Alamos one repair in six (hardware) or four (software) is of the long kind, 1.7 standard deviations later
    than a common one on the log scale and 1.6 times as spread (LA-UR-05-7318, systems 18 to 20).

    Parameters
    ----------
    share_mean
        Mean of the Beta(1, 1 / mean - 1) prior of a class's share of long repairs.
    delay
        Centre of the prior of how much later a long repair ends, in standard deviations of the common ones.
    delay_sd
        Its spread, on the log scale.
    stretch
        Centre of the prior of the long repairs' standard deviation, over that of the common ones.
    stretch_sd
        Its spread, on the log scale.
    """

    share_mean: float = 0.15
    delay: float = 1.5
    delay_sd: float = 0.4
    stretch: float = 1.5
    stretch_sd: float = 0.3

    def __post_init__(self) -> None:
        if isinstance(self.share_mean, int | float) and self.share_mean >= 1:
            raise InputError(f"prior share_mean is {self.share_mean!r}; expected a share below 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairTimes(Repairs):
    """A repair table as arrays, with the length of each repair.

    Parameters
    ----------
    value_log_hours, value_class, value_count
        Different lengths, log hours; the class of each, and how many repairs have it, shape (value,).
    """

    value_log_hours: np.ndarray
    value_class: np.ndarray
    value_count: np.ndarray

    @property
    def coords(self) -> dict[str, Sequence[Any]]:
        """Labels of the dimensions."""
        return {
            "class": list(self.classes),
            "repair": list(range(int(self.value_count.sum()))),
            "open": list(range(len(self.open_hours))),
        }

    @property
    def class_of(self) -> np.ndarray:
        """Class of each repair, shape (repair,)."""
        return np.repeat(self.value_class, self.value_count)

    @property
    def outcome_coords(self) -> dict[str, tuple[str, Sequence[Any]]]:
        """Class of each repair."""
        return {"class": ("repair", [self.classes[k] for k in self.class_of])}

    def observed(self) -> dict[str, np.ndarray]:
        """Return the data of the likelihood, a row a repair."""
        log_hours = np.repeat(self.value_log_hours, self.value_count)
        return {"observed_log_hours": log_hours, "class_of": self.class_of} | self._open()

    def values(self) -> dict[str, np.ndarray]:
        """Return the same data with repairs of one class and length counted together.

        Values of no repair fill the arrays up to a power of two, so that data of about the same size reuse
        compiled code.
        """
        spare = (1 << (len(self.value_count) - 1).bit_length()) - len(self.value_count)
        data = {
            "observed_log_hours": np.append(self.value_log_hours, np.zeros(spare)),
            "class_of": np.append(self.value_class, np.zeros(spare, dtype=np.int64)),
            "count": np.append(self.value_count, np.zeros(spare)).astype(float),
        }
        return data | self._open()

    def _open(self) -> dict[str, np.ndarray]:
        return {} if not len(self.open_hours) else {
            "open_class": self.open_class,
            "open_log_hours": np.log(self.open_hours),
        }  # fmt: skip


def repair_times_of(table: xr.Dataset) -> RepairTimes:
    """Lay a repair table out for `repair_tail`."""
    plain = repairs_of(table)
    return RepairTimes(
        **{field.name: getattr(plain, field.name) for field in fields(plain)},
        value_log_hours=np.log(table["value_hours"].values.astype(float)),
        value_class=table["value_class"].values.astype(np.int64),
        value_count=table["value_count"].values.astype(np.int64),
    )


def repair_tail(table: xr.Dataset, priors: RepairTailPriors | None = None) -> "pm.Model":
    r"""Build the model of down times by class, of which a share is of another, longer kind.

    .. math::

        \log t_{ki} &= \mu_k + \sigma_k \varepsilon_{ki}, \qquad
        \varepsilon_{ki} \sim (1 - w_k)\, \mathrm{Normal}(0, 1) + w_k\, \mathrm{Normal}(\delta, \rho), \\
        \mu_k &\sim \mathrm{Normal}(\mu, \tau), \qquad \log \sigma_k \sim \mathrm{Normal}(\log \sigma, \omega), \qquad
        w_k \sim \mathrm{Beta}(1, 1 / \bar w - 1),

    with the delay :math:`\delta > 0` and the stretch :math:`\rho` of long repairs shared by all classes: most are a
    restart, and some wait for a part, an expert or Monday. A mixture of two log-normals has a tail as heavy as the
    data say and, unlike a log-logistic or a Student t of the logarithms, always a mean, which a pool of spares hangs
    on:

    .. math::

        E[t_k] = e^{\mu_k} \left[(1 - w_k) e^{\sigma_k^2 / 2}
                 + w_k e^{\delta \sigma_k + \rho^2 \sigma_k^2 / 2}\right].

    A repair that is not over after time c contributes :math:`P(t > c)`. With one class there are no :math:`\tau` and
    :math:`\omega`. Without long repairs (:math:`w_k = 0`) this is `repair`.

    Parameters
    ----------
    table
        A repair table with the lengths of repairs (`meantime.datasets.repair_table`).
    priors
        Default: `RepairTailPriors`.

    Returns
    -------
    pm.Model
        Variables ``log_median`` and ``log_sd`` (class,), of the common repairs, ``long_share`` (class,),
        ``long_delay`` and ``long_stretch``, with hyperparameters ``mu``, ``class_sd``, ``log_sigma`` and
        ``spread_class_sd`` where there are several classes; the observed ``log_hours`` (repair,), and
        ``still_open`` (open,), all 1.
    """
    import pymc as pm

    times = repair_times_of(table)
    with pm.Model(coords=times.coords) as model:
        data = {name: pm.Data(name, value) for name, value in times.observed().items()}
        parts = _parts(priors or RepairTailPriors(), times)
        place = data["class_of"]
        share, centre, sd = (parts[name][place] for name in ("share", "centre", "sd"))
        kinds = [
            pm.Normal.dist(centre, sd),
            pm.Normal.dist(centre + sd * parts["delay"], sd * parts["stretch"]),
        ]
        weights = pm.math.stack([1 - share, share], axis=-1)
        pm.Mixture("log_hours", w=weights, comp_dists=kinds, observed=data["observed_log_hours"], dims="repair")
        if len(times.open_hours):
            still = _still_open(parts, data)
            pm.Bernoulli("still_open", p=still, observed=np.ones(len(times.open_hours), dtype=int), dims="open")
    return model


def repair_tail_by_value(times: RepairTimes, priors: RepairTailPriors) -> "pm.Model":
    """Build the same density, up to a constant, from the different lengths: for sampling.

    Parameters
    ----------
    times
        The repairs; the model's data are `RepairTimes.values`.
    priors
        Priors.
    """
    import pymc as pm

    with pm.Model(coords={key: times.coords[key] for key in ("class", "open")}) as model:
        data = {name: pm.Data(name, value) for name, value in times.values().items()}
        parts = _parts(priors, times)
        place = data["class_of"]
        share, centre, sd = (parts[name][place] for name in ("share", "centre", "sd"))
        scaled = (data["observed_log_hours"] - centre) / sd
        common = pm.math.log1p(-share) - 0.5 * scaled**2
        long = (
            pm.math.log(share) - 0.5 * ((scaled - parts["delay"]) / parts["stretch"]) ** 2
            - pm.math.log(parts["stretch"])
        )  # fmt: skip
        pm.Potential("log_hours", (data["count"] * (pm.math.logaddexp(common, long) - pm.math.log(sd))).sum())
        if len(times.open_hours):
            pm.Potential("still_open", pm.math.log(_still_open(parts, data)).sum())
    return model


def _parts(priors: RepairTailPriors, times: RepairTimes) -> dict[str, Any]:
    """Add the variables; return centre, standard deviation and share of each class, and what long repairs share."""
    import pymc as pm

    from meantime.models.repair import add_classes

    log_median, log_sd = add_classes(priors, len(times.classes))
    share = pm.Beta("long_share", 1.0, 1 / priors.share_mean - 1, dims="class")
    delay = pm.LogNormal("long_delay", np.log(priors.delay), priors.delay_sd)
    stretch = pm.LogNormal("long_stretch", np.log(priors.stretch), priors.stretch_sd)
    return {"centre": log_median, "sd": pm.math.exp(log_sd), "share": share, "delay": delay, "stretch": stretch}


def _still_open(parts: dict[str, Any], data: dict[str, Any]) -> Any:
    """Return P(t > c) of the open repairs."""
    import pymc as pm

    place = data["open_class"]
    share = parts["share"][place]
    scaled = (data["open_log_hours"] - parts["centre"][place]) / parts["sd"][place]
    later = (scaled - parts["delay"]) / parts["stretch"]
    root = np.sqrt(2)
    return 0.5 * ((1 - share) * pm.math.erfc(scaled / root) + share * pm.math.erfc(later / root))
