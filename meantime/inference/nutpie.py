"""nutpie's NUTS on a model's density in its own geometry; an extra: ``pip install 'meantime[nutpie]'``."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from meantime.errors import InputError
from meantime.inference.target import Target

if TYPE_CHECKING:
    from meantime.inference.sampling import Plan

STATISTICS = {
    "acceptance_rate": "mean_tree_accept",
    "n_steps": "n_steps",
    "diverging": "diverging",
    "energy": "energy",
    "lp": "logp",
    "step_size": "step_size",
    "tree_depth": "depth",
    "reached_max_treedepth": "maxdepth_reached",
}
"""Names of the statistics in a fit, and nutpie's."""

MAX_TREE_DEPTH = 10


def require_nutpie() -> Any:
    """Return the module.

    Raises
    ------
    InputError
        If it is not installed.
    """
    try:
        import nutpie
    except ImportError as error:
        raise InputError(
            "backend 'nutpie' is not installed; pip install 'meantime[nutpie]', or use 'numpyro'"
        ) from error
    return nutpie


def run_nutpie(
    target: Target, start: np.ndarray, plan: "Plan", advance: Callable[[int], None]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Sample with nutpie.

    Parameters
    ----------
    target
        What to sample.
    start
        Starting points, (chain, size).
    plan
        Seed and lengths.
    advance
        Called with the number of iterations of all chains, when they are done.

    Returns
    -------
    tuple
        The model's variables and sampler statistics, each (chain, draw, ...).
    """
    import jax

    nutpie = require_nutpie()
    from nutpie.compiled_pyfunc import from_pyfunc

    value_and_gradient = jax.jit(jax.value_and_grad(target.functions.potential))

    def log_density(z: np.ndarray) -> tuple[float, np.ndarray]:
        with jax.enable_x64(True), jax.default_device(target.device):  # nutpie calls from threads of its own
            value, gradient = value_and_gradient(z, target.data)
            return -float(value), -np.asarray(gradient)

    log_density(start[0])  # compiled once, before the threads begin
    starts = iter(start)
    compiled = from_pyfunc(
        target.size,
        lambda: log_density,
        lambda *_: lambda z: {"z": z},
        [np.dtype(np.float64)],
        [(target.size,)],
        ["z"],
        dims={"z": ("entry",)},
        coords={"entry": np.arange(target.size)},
        make_initial_point_fn=lambda _seed: next(starts, start[0]),
    )
    found = nutpie.sample(
        compiled,
        draws=plan.draws,
        tune=plan.tune,
        chains=plan.chains,
        seed=plan.seed,
        target_accept=plan.target_accept,
        maxdepth=MAX_TREE_DEPTH,
        save_warmup=False,
        progress_bar=False,
    )
    advance(plan.chains * (plan.tune + plan.draws))
    z = found["posterior"]["z"].transpose("chain", "draw", ...).values
    collect = jax.jit(jax.vmap(target.functions.collect, (0, None)))
    flat = jax.device_get(collect(z.reshape(-1, target.size), target.data))
    draws = {name: np.asarray(values).reshape(*z.shape[:2], *values.shape[1:]) for name, values in flat.items()}
    return draws, _renamed(found["sample_stats"], z.shape[:2])


def _renamed(statistics: Mapping[str, Any], shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    renamed = {}
    for ours, theirs in STATISTICS.items():
        values = np.broadcast_to(statistics[theirs].transpose("chain", "draw").values, shape)
        renamed[ours] = values.astype(np.int64) if values.dtype.kind == "u" else values.copy()
    return renamed
