"""The value of more data: how much narrower a forecast becomes after so many more node-days."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy.special import gammaincinv

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast.draws import expected_draws
from meantime.forecast.expected import expected_ettr
from meantime.forecast.forecast import SEED
from meantime.forecast.grid import grid_of
from meantime.forecast.plan import Plan, plan_or_default
from meantime.forecast.rates import checked_gpus, rates_of, stated_rate, summed
from meantime.intervals import LOWER, UPPER
from meantime.units import HOURS_PER_DAY, PER_1000_NODE_DAYS

MAX_COUNTS = 4_000
"""Future counts worked out one by one; of more, as many quantiles."""
MIN_SIZE = 50.0
"""Effective number of draws below which reweighting is refused."""
_FUTURES = 200


def information_of_fit(
    tree: xr.DataTree,
    gpus: int | Sequence[int],
    plan: Plan | None = None,
    *,
    more: Sequence[float],
    cluster: str | None = None,
    at_gpus: int | None = None,
    seed: int = SEED,
) -> xr.Dataset:
    """Work out how much narrower the forecasts of a fit become after more node-days.

    Exactly where the fit's posterior is a Gamma distribution (`constant`, under a certain plan), from its draws
    otherwise.

    Parameters
    ----------
    tree
        A fit, as `meantime.inference.fit` returns it.
    gpus
        Sizes of the job.
    plan
        The plan of the run, with single values.
    more
        Further node-days, each 0 or more.
    cluster
        Cluster of the fit; may be left out where it has one.
    at_gpus
        Size of the jobs in which the node-days are spent (see `information`); without meaning for `constant`.
    seed
        Seed of random draws.

    Returns
    -------
    xarray.Dataset
        As of `information_of_gamma` or `information`; attribute `exact` says which.

    Raises
    ------
    InputError
        If an input cannot be used.
    """
    from meantime.inference import provenance

    rate = rates_of(tree, gpus, cluster=cluster, seed=seed)
    record = provenance(tree)
    certain = plan is None or not (plan.lists or grid_of(plan, 2, seed=seed).uncertain)
    if record["model"] != "constant" or not certain:
        return information(rate, plan, more=more, at_gpus=at_gpus, seed=seed).assign_attrs(exact=0)
    data = tree["fit_data"].to_dataset()
    counts = data["failures"] if cluster is None else data["failures"].sel(cluster=cluster)
    days = data["exposure"] if cluster is None else data["exposure"].sel(cluster=cluster)
    prior = record["priors"]
    shape, node_days = prior["shape"] + float(counts.sum()), prior["rate"] + float(days.sum())
    return information_of_gamma(shape, node_days, gpus, plan, more=more, seed=seed).assign_attrs(exact=1)


def information_of_gamma(
    shape: float,
    node_days: float,
    gpus: int | Sequence[int],
    plan: Plan | None = None,
    *,
    more: Sequence[float],
    seed: int = SEED,
) -> xr.Dataset:
    """Work out exactly how much narrower intervals become, where the rate has a Gamma posterior.

    With the rate r ~ Gamma(shape, node_days) the failures of K further node-days are negative binomial, n ~
    NegBin(shape, node_days / (node_days + K)), and leave the posterior Gamma(shape + n, node_days + K). The
    width of the 90 % interval is averaged over n. Nothing is drawn.

    Parameters
    ----------
    shape
        Shape of the posterior: for `constant`, the failures and the prior's half.
    node_days
        Its exposure.
    gpus
        Sizes of the job.
    plan
        The plan of the run, with single, certain values.
    more
        Further node-days, each 0 or more.
    seed
        Of nothing but the choice of the checkpoint interval from 4,000 quantiles of the rate.

    Returns
    -------
    xarray.Dataset
        Dims (gpus, more). `width_rate` (failures per 1,000 node-days) and `width_ettr`: mean width of the
        interval after so many further node-days, `width_rate_now`, `width_ettr_now`, and `narrower_rate`,
        `narrower_ettr`: the ratio of the two. The checkpoint interval is chosen now and kept.

    Raises
    ------
    InputError
        If a number cannot be used or the plan has lists or distributions.
    """
    for name, number in (("shape", shape), ("node_days", node_days)):
        if not isinstance(number, int | float | np.number) or not (np.isfinite(number) and number > 0):
            raise InputError(f"{name} is {number!r}; expected a number above 0")
    further = _checked_more(more)
    plan = plan_or_default(plan)
    quantiles = gammaincinv(shape, (np.arange(4000) + 0.5) / 4000) / node_days
    terms = _plan_terms(plan, stated_rate(quantiles * PER_1000_NODE_DAYS, gpus), seed)
    now_rate, now_ettr = _widths(np.array([shape]), np.array([node_days]), terms)
    rate = np.empty(further.size)
    value = np.empty((len(terms), further.size))
    for column, days in enumerate(further):
        counts, weights = _future_counts(shape, node_days, days)
        rate_widths, ettr_widths = _widths(shape + counts, np.full(counts.size, node_days + days), terms)
        rate[column] = rate_widths @ weights
        value[:, column] = ettr_widths @ weights
    return _table(
        checked_gpus(gpus),
        further,
        rate=np.broadcast_to(rate, value.shape),
        value=value,
        rate_now=np.broadcast_to(now_rate, len(terms)),
        value_now=now_ettr[:, 0],
    )


def information(
    rate: xr.DataArray,
    plan: Plan | None = None,
    *,
    more: Sequence[float],
    at_gpus: int | None = None,
    seed: int = SEED,
) -> xr.Dataset:
    """Work out how much narrower intervals become after more node-days, from any draws of the rate.

    Preposterior analysis (Raiffa and Schlaifer 1961): a draw of the posterior is taken for the truth, failures
    of the further node-days are drawn from it, and the draws are reweighted by their Poisson
    likelihood; the widths of the intervals are averaged over 200 such futures. Draws of one fit belong together, so
    node-days of jobs of one size inform about every size.

    Parameters
    ----------
    rate
        Failures per node-day, dims (sample, gpus) or (sample, component, gpus).
    plan
        The plan of the run, with single values.
    more
        Further node-days, each 0 or more.
    at_gpus
        Size of the jobs in which they are spent, one of those of `rate`; each size in its own if left out.
    seed
        Seed of the futures.

    Returns
    -------
    xarray.Dataset
        As of `information_of_gamma`; with `effective_draws` (gpus, more), the smallest effective number of draws
        in a tenth of the futures. Further node-days of many times the data leave few draws.

    Raises
    ------
    InputError
        If an input cannot be used, or fewer than 50 effective draws are left.
    """
    further = _checked_more(more)
    plan = plan_or_default(plan)
    draws = summed(rate)
    sizes = checked_gpus(rate["gpus"].values.tolist())
    if at_gpus is not None and at_gpus not in sizes:
        raise InputError(f"at_gpus is {at_gpus!r}; expected one of the sizes of the rates, {sizes}")
    if plan.lists:
        raise InputError(f"{plan.lists[0]} of the plan is a list; expected single values")
    values = expected_draws(rate, plan, seed=seed)["ettr"].values
    rng = np.random.default_rng([seed, 5])
    truths = ((np.arange(_FUTURES) + 0.5) / _FUTURES * len(draws)).astype(int)
    shape = (len(sizes), further.size)
    widths = {name: np.empty(shape) for name in ("rate", "value")}
    effective = np.empty(shape)
    for row in range(len(sizes)):
        seen = draws[:, row if at_gpus is None else sizes.index(at_gpus)]
        order = np.argsort(seen)
        truth = seen[order[truths]]
        for column, days in enumerate(further):
            weights, effective[row, column] = _reweighted(seen, days, rng.poisson(truth * days))
            for name, what in (("rate", draws[:, row] * PER_1000_NODE_DAYS), ("value", values[row])):
                widths[name][row, column] = _weighted_widths(what, weights).mean()
    if effective.min() < MIN_SIZE:
        bad = further[np.argwhere(effective < MIN_SIZE)[0][1]]
        raise InputError(
            f"{bad:g} node-days more leave {effective.min():.0f} effective draws of {len(draws):,}; "
            "expected fewer node-days, or a fit with more draws"
        )
    one = np.full((1, len(draws)), 1 / len(draws))
    now = {
        "rate_now": np.array([_weighted_widths(column * PER_1000_NODE_DAYS, one)[0] for column in draws.T]),
        "value_now": np.array([_weighted_widths(row, one)[0] for row in values]),
    }
    result = _table(sizes, further, rate=widths["rate"], value=widths["value"], **now)
    result["effective_draws"] = (("gpus", "more"), effective)
    return result


def _future_counts(shape: float, node_days: float, more: float) -> tuple[np.ndarray, np.ndarray]:
    """Counts that further node-days can bring and their probabilities."""
    if more == 0:
        return np.zeros(1), np.ones(1)
    import scipy.stats

    future = scipy.stats.nbinom(shape, node_days / (node_days + more))
    low, high = future.ppf([1e-10, 1 - 1e-10])
    if high - low < MAX_COUNTS:
        counts = np.arange(low, high + 1)
        chances = future.pmf(counts)
        return counts, chances / chances.sum()
    return future.ppf((np.arange(MAX_COUNTS) + 0.5) / MAX_COUNTS), np.full(MAX_COUNTS, 1 / MAX_COUNTS)


def _widths(shape: np.ndarray, node_days: np.ndarray, terms: list[dict[str, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Widths of the intervals of the rate, (counts,), and of the ETTR, (sizes, counts)."""
    low, high = (gammaincinv(shape, p) / node_days for p in (LOWER, UPPER))
    widths = [_ettr(low, plan) - _ettr(high, plan) for plan in terms]
    return (high - low) * PER_1000_NODE_DAYS, np.stack(widths)


def _ettr(rate: np.ndarray, plan: dict[str, float]) -> np.ndarray:
    hazard = rate * plan["nodes"] / HOURS_PER_DAY
    return ettr.renewal(
        hazard,
        plan["interval"],
        plan["checkpoint_write"],
        plan["restart"],
        detection=plan["detection"],
        queue=plan["queue"],
        productive=plan["productive"],
    )


def _plan_terms(plan: Plan, rate: xr.DataArray, seed: int) -> list[dict[str, float]]:
    grid = grid_of(plan, 2, seed=seed)
    if grid.lists or grid.uncertain:
        raise InputError("the plan has lists or distributions; expected single values, or use `information` on draws")
    chosen = expected_ettr(rate, plan, seed=seed)["chosen_interval"].values
    hours = {name: float(value[0, 0]) for name, value in grid.hours.items()}
    return [
        hours | {"interval": min(float(every), hours["productive"]), "nodes": size / plan.gpus_per_node}
        for every, size in zip(chosen, rate["gpus"].values, strict=True)
    ]


def _reweighted(rate: np.ndarray, days: float, counts: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights of the draws after each future count, (futures, draws), and a low quantile of their effective number."""
    expected = rate * days
    logs = counts[:, None] * np.log(np.where(expected > 0, expected, 1.0)) - expected
    logs = np.where((expected > 0) | (counts[:, None] == 0), logs, -np.inf)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights, float(np.quantile(1 / (weights**2).sum(axis=1), 0.1))


def _weighted_widths(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Widths of the 90 % interval of weighted draws, linear between the middles of the weights: (futures,)."""
    order = np.argsort(values)
    ordered, shares = values[order], weights[:, order]
    passed = np.cumsum(shares, axis=1) - shares / 2
    bounds = [[np.interp(p, row, ordered) for p in (LOWER, UPPER)] for row in passed]
    return np.diff(bounds, axis=1)[:, 0]


def _checked_more(more: Sequence[float]) -> np.ndarray:
    try:
        days = np.asarray(more, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"more is {more!r}; expected node-days, such as [1000, 10000]") from error
    if days.ndim != 1 or not 0 < days.size <= 1000 or not ((days >= 0) & (days <= 1e12)).all():
        raise InputError(f"more is {more!r}; expected node-days from 0, such as [1000, 10000]")
    return days


def _table(
    sizes: list[int],
    more: np.ndarray,
    *,
    rate: np.ndarray,
    value: np.ndarray,
    rate_now: np.ndarray,
    value_now: np.ndarray,
) -> xr.Dataset:
    dims = ("gpus", "more")
    data = {
        "width_rate": (dims, rate, {"units": "1/(1000 d)", "long_name": "mean width of the rate's interval later"}),
        "width_ettr": (dims, value, {"units": "1", "long_name": "mean width of the ETTR's interval later"}),
        "width_rate_now": ("gpus", rate_now, {"units": "1/(1000 d)", "long_name": "width of the rate's interval now"}),
        "width_ettr_now": ("gpus", value_now, {"units": "1", "long_name": "width of the ETTR's interval now"}),
        "narrower_rate": (dims, rate / rate_now[:, None]),
        "narrower_ettr": (dims, value / value_now[:, None]),
    }
    return xr.Dataset(data, coords={"gpus": sizes, "more": ("more", more, {"units": "node-day"})})
