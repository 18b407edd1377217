"""Which input matters: a tornado of swings, and slopes by automatic differentiation."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast.draws import expected_draws
from meantime.forecast.forecast import SEED
from meantime.forecast.grid import grid_of
from meantime.forecast.limits import warnings_of
from meantime.forecast.plan import Plan, plan_or_default
from meantime.forecast.rates import checked_gpus, with_components
from meantime.intervals import KIND, LOWER, PROBABILITY, UPPER
from meantime.units import HOURS_PER_DAY, PER_1000_NODE_DAYS

SCHEMA = "meantime.sensitivity/1"
ALL = "all components"
_TERMS = ("restart", "checkpoint_write", "checkpoint_interval", "queue", "detection", "productive")


def sensitivity(rate: xr.DataArray, plan: Plan | None = None, *, swing: float = 2.0, seed: int = SEED) -> xr.Dataset:
    """Say how much each input matters for the expected ETTR.

    Inputs are the rates of the components, their sum (``"all components"``), and the durations of the plan. Each is
    moved alone from its low to its high value while the others stay at their medians: an uncertain one
    between the bounds of its 90 % interval, a stated one between its value divided by `swing` and times `swing`. The
    checkpoint interval, if it is to be chosen, is chosen for the medians and kept.

    Parameters
    ----------
    rate
        Failures per node-day, dims (sample, component, gpus).
    plan
        The plan of the run, with single values.
    swing
        Factor for inputs that are stated without uncertainty, above 1.
    seed
        Seed of uncertain values.

    Returns
    -------
    xarray.Dataset
        Dims (gpus, input), inputs from the largest swing to the smallest (of the largest size): `low`,
        `high` (values of the input: failures per 1,000 node-days or hours), `ettr_at_low`, `ettr_at_high`,
        `swing` (their absolute difference), `uncertain` (whether the values are an interval), and `slope`:
        the derivative d ETTR / d log(input), its mean over all draws: what 1 % more of the input changes is a
        hundredth of it, and components add up to their sum. `ettr_at_medians` (gpus).

    Raises
    ------
    InputError
        If rates or plan cannot be used.
    """
    plan = plan_or_default(plan)
    if plan.lists:
        raise InputError(f"{plan.lists[0]} of the plan is a list; expected single values")
    if isinstance(swing, bool) or not isinstance(swing, int | float) or not 1 < swing <= 1000:
        raise InputError(f"swing is {swing!r}; expected a factor above 1, such as 2")
    rates = with_components(rate)
    sizes = checked_gpus(rate["gpus"].values.tolist())
    components = [str(name) for name in rates["component"].values]
    labels = [ALL, *(components if len(components) > 1 else [])]
    chosen = expected_draws(rates, plan, seed=seed)["chosen_interval"].values
    hours = {name: values[0] for name, values in grid_of(plan, rates.sizes["sample"], seed=seed).hours.items()}
    optimal = bool(np.isnan(hours["checkpoint_interval"]).any())
    tables = []
    for size, every in zip(sizes, chosen, strict=True):
        nodes = size / plan.gpus_per_node
        draws = rates.sel(gpus=size).transpose("component", "sample").values * nodes
        terms = hours | ({"checkpoint_interval": np.full(1, every)} if optimal else {})
        by_rate = [draws.sum(axis=0), *(draws if len(components) > 1 else [])]
        table = _of_size(by_rate, terms, swing=float(swing))
        for name in ("low", "high"):
            table[name][: len(labels)] *= PER_1000_NODE_DAYS / nodes
        tables.append(table)
    names = [*labels, *_TERMS]
    dims = ("gpus", "input")
    result = xr.Dataset(
        {name: (dims, np.stack([table[name] for table in tables])) for name in tables[0] if name != "ettr_at_medians"},
        coords={"gpus": sizes, "input": names},
        attrs={
            "schema": SCHEMA,
            "interval_kind": KIND,
            "interval_probability": PROBABILITY,
            "gpus_per_node": plan.gpus_per_node,
            "seed": seed,
            "plan": json.dumps(plan.to_dict()),
            "swing": float(swing),
            "model": rate.attrs.get("model", "{}"),
            "notes": "\n".join(warnings_of(rate)),
        },
    )
    result["ettr_at_medians"] = ("gpus", np.array([table["ettr_at_medians"] for table in tables]))
    return result.isel(input=np.argsort(-result["swing"].values[-1], kind="stable"))


def _of_size(by_rate: list[np.ndarray], hours: dict[str, np.ndarray], *, swing: float) -> dict[str, np.ndarray]:
    """Columns of the table; rates are failures a day of the job, the first of them the sum of the others."""
    inputs = [*by_rate, *(hours[name] for name in _TERMS)]
    middles = np.array([np.median(values) for values in inputs])
    unsure = np.array([values.size > 1 and np.ptp(values) > 0 for values in inputs])
    bounds = np.array(
        [
            np.quantile(values, [LOWER, UPPER]) if known_as_draws else [middle / swing, middle * swing]
            for values, middle, known_as_draws in zip(inputs, middles, unsure, strict=True)
        ]
    )
    first = len(by_rate)
    per_day = np.full((len(inputs) + 1, 2), middles[0])
    per_day[:first] = np.maximum(middles[0] + bounds[:first] - middles[:first, None], 0)
    terms = {}
    for place, name in enumerate(_TERMS, start=first):
        terms[name] = np.full((len(inputs) + 1, 2), middles[place])
        terms[name][place] = bounds[place]
    values = _ettr(per_day, terms)
    return {
        "low": bounds[:, 0].copy(),
        "high": bounds[:, 1].copy(),
        "ettr_at_low": values[:-1, 0],
        "ettr_at_high": values[:-1, 1],
        "swing": np.abs(values[:-1, 1] - values[:-1, 0]),
        "uncertain": unsure,
        "slope": _slopes(by_rate, hours),
        "ettr_at_medians": values[-1, 0],
    }


def _ettr(per_day: np.ndarray, terms: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(
        ettr.renewal(
            per_day / HOURS_PER_DAY,
            np.minimum(terms["checkpoint_interval"], terms["productive"]),
            terms["checkpoint_write"],
            terms["restart"],
            detection=terms["detection"],
            queue=terms["queue"],
            productive=terms["productive"],
        )
    )


def _slopes(by_rate: list[np.ndarray], hours: dict[str, np.ndarray]) -> np.ndarray:
    """Means over the draws of d ETTR / d log(input), by JAX."""
    total = by_rate[0]
    with jax.enable_x64(True):
        arguments = [jnp.broadcast_to(value, total.shape) for value in (total, *(hours[name] for name in _TERMS))]
        to_rate, *to_terms = (np.asarray(slope) for slope in _gradients(*arguments))
    rates = [to_rate * part for part in by_rate]
    terms = [slope * hours[name] for slope, name in zip(to_terms, _TERMS, strict=True)]
    return np.array([values.mean() for values in (*rates, *terms)])


def _smooth(
    per_day: jax.Array,
    restart: jax.Array,
    write: jax.Array,
    interval: jax.Array,
    queue: jax.Array,
    detection: jax.Array,
    productive: jax.Array,
) -> jax.Array:
    """ETTR with the number of segments as a real number, which has no kinks."""
    lam = per_day / HOURS_PER_DAY
    every = jnp.minimum(interval, productive)
    endless = ettr.renewal(lam, every, write, restart, detection=detection, queue=queue)
    fails = lam > 0
    safe = jnp.where(fails, lam, 1.0)
    start = queue + jnp.where(fails, (1 / safe + detection + queue) * jnp.expm1(safe * restart), restart)
    return 1 / (1 / endless + start / productive)


_gradients = jax.jit(jax.vmap(jax.grad(_smooth, argnums=tuple(range(7)))))
