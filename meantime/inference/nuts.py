"""NumPyro's NUTS, driven in compiled blocks of iterations.

Warm-up and sampling are one compiled function, run block by block, so that one compilation serves both
and progress can be shown. On a CPU the chains run as pairs, each pair vectorised and in a thread of its
own (XLA leaves Python's lock); on an accelerator all chains are one batch.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from os import cpu_count
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import jax

BLOCK = 50
"""Iterations of a compiled block."""

POLL = 0.2
"""Seconds after which an interrupt is seen at the latest."""

UNKNOWN_ENERGY = 1e6
"""Stands for the potential energy of the starting point: the first transition then always moves, and the
gradient need not be compiled a second time to find it."""

type Tree = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to sample.

    Parameters
    ----------
    tune
        Warm-up iterations, not kept.
    target_accept
        Acceptance probability that the step size is tuned to.
    max_tree_depth
        Doublings of a trajectory before it is cut.
    """

    tune: int
    target_accept: float = 0.8
    max_tree_depth: int = 10


@dataclass(frozen=True, slots=True)
class Sampler:
    """Two jitted functions: ``start(z, keys, data) -> state`` and ``block(state, data) -> (state, draws)``."""

    start: Callable[..., Tree]
    block: Callable[..., tuple[Tree, Tree]]


def build_sampler(
    potential: Callable[["jax.Array", Tree], "jax.Array"],
    collect: Callable[["jax.Array", Tree], dict[str, "jax.Array"]],
    settings: Settings,
) -> Sampler:
    """Prepare NUTS for a density; nothing is compiled before the first call.

    Parameters
    ----------
    potential
        ``(z, data) -> scalar``: minus the log density of z.
    collect
        ``(z, data) -> named arrays``: what is kept of a draw.
    settings
        How to sample.
    """
    import jax
    from numpyro.infer.hmc import hmc
    from numpyro.infer.util import ParamInfo

    value_and_gradient = jax.jit(jax.value_and_grad(potential))

    def potential_of(data: Tree) -> Callable[["jax.Array"], "jax.Array"]:
        @jax.custom_vjp
        def energy(z: "jax.Array") -> "jax.Array":
            return value_and_gradient(z, data)[0]

        # one traced program for value and gradient, however often the sampler differentiates
        energy.defvjp(lambda z: value_and_gradient(z, data), lambda gradient, factor: (factor * gradient,))
        return energy

    initialise, transition = hmc(potential_fn_gen=potential_of, algo="NUTS")

    def start_chain(z: "jax.Array", key: "jax.Array", data: Tree) -> Tree:
        # z is whitened: the gradient of its potential energy is near z
        return initialise(
            ParamInfo(z, jax.numpy.asarray(UNKNOWN_ENERGY), z),
            settings.tune,
            step_size=0.5,
            trajectory_length=None,
            target_accept_prob=settings.target_accept,
            max_tree_depth=settings.max_tree_depth,
            model_args=(data,),
            rng_key=key,
        )

    def one(state: Tree, data: Tree) -> tuple[Tree, Tree]:
        state = transition(state, (data,), {})
        statistics = {
            "acceptance_rate": state.accept_prob,
            "n_steps": state.num_steps,
            "diverging": state.diverging,
            "energy": state.energy,
            "lp": -state.potential_energy,
            "step_size": state.adapt_state.step_size,
        }
        return state, (collect(state.z, data), statistics)

    @jax.jit
    def start(z: "jax.Array", keys: "jax.Array", data: Tree) -> Tree:
        states = jax.vmap(start_chain, (0, 0, None))(z, keys, data)
        # energy is not used before it is computed; without it the compiler drops the first momentum.
        # Weak types would have the block compiled twice.
        return jax.tree.map(_strong, states._replace(energy=jax.numpy.zeros(len(z))))

    @jax.jit
    def block(states: Tree, data: Tree) -> tuple[Tree, Tree]:
        step = jax.vmap(one, (0, None))
        return jax.lax.scan(lambda state, _: step(state, data), states, None, length=BLOCK)

    return Sampler(start, block)


def run(
    sampler: Sampler,
    start: np.ndarray,
    data: Tree,
    settings: Settings,
    *,
    seed: int,
    draws: int,
    device: "jax.Device",
    advance: Callable[[int], None],
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Sample.

    Parameters
    ----------
    sampler
        From `build_sampler`, with the same settings.
    start
        Starting points, shape (chain, size).
    data
        Arrays for the density.
    settings
        How to sample.
    seed
        Seed of the chains' keys.
    draws
        Draws to keep of each chain.
    device
        Where to run.
    advance
        Called with the number of chain iterations done, as they are done.

    Returns
    -------
    tuple
        Collected arrays and sampler statistics, each (chain, draw, ...).
    """
    import jax

    chains = len(start)
    group = _group_size(chains, device.platform)
    n_blocks = -(-(settings.tune + draws) // BLOCK)
    first = settings.tune // BLOCK
    compiling, stopped = Lock(), Event()
    words = np.random.SeedSequence([seed, 4]).generate_state(2 * chains).reshape(chains, 2)  # keys without compiling

    def sample_group(number: int) -> Tree:
        try:
            return run_blocks(number)
        except BaseException:  # the other groups must not run to their end: their results are not wanted
            stopped.set()
            raise

    def run_blocks(number: int) -> Tree:
        mine = slice(number * group, (number + 1) * group)
        with jax.enable_x64(True), jax.default_device(device):
            keys = jax.random.wrap_key_data(jax.device_put(words[mine], device))
            z = jax.device_put(start[mine], device)  # committed to a device, as the data: or all compiles twice
            kept = []
            for number_of_block in range(n_blocks):
                if stopped.is_set():
                    return None  # what stopped it is raised elsewhere
                if number_of_block == 0:
                    with compiling:  # the first group compiles, the others wait and find the result
                        state, drawn = sampler.block(sampler.start(z, keys, data), data)
                else:
                    state, drawn = sampler.block(state, data)
                if number_of_block >= first:
                    kept.append(jax.tree.map(np.asarray, drawn))
                else:
                    jax.block_until_ready(state)
                advance(BLOCK * group)
        offset = settings.tune - first * BLOCK
        return jax.tree.map(lambda *parts: np.concatenate(parts).swapaxes(0, 1)[:, offset : offset + draws], *kept)

    pool = ThreadPoolExecutor(min(chains // group, cpu_count() or 1))
    try:
        running = [pool.submit(sample_group, number) for number in range(chains // group)]
        while wait(running, POLL, return_when=FIRST_EXCEPTION).not_done and not any(map(_failed, running)):
            pass  # an interrupt that another thread was given is seen between two waits
        groups = [future.result() for future in running if future.done()]
    finally:  # also an interrupt: the threads must not run to their end, and nobody waits for their blocks
        stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)
    collected, statistics = jax.tree.map(lambda *parts: np.concatenate(parts), *groups)
    return collected, _complete(statistics, settings)


def _failed(future: Future[Tree]) -> bool:
    return future.done() and future.exception() is not None


def _strong(leaf: "jax.Array") -> "jax.Array":
    """Strip the weak type of an array, which it has from a Python number."""
    import jax

    extended = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.extended)
    return leaf if extended else jax.lax.convert_element_type(leaf, leaf.dtype)


def _group_size(chains: int, platform: str) -> int:
    if platform != "cpu":
        return chains
    return 2 if chains % 2 == 0 else 1


def _complete(statistics: Mapping[str, np.ndarray], settings: Settings) -> dict[str, np.ndarray]:
    steps = statistics["n_steps"]
    return {
        **statistics,
        "tree_depth": np.floor(np.log2(np.maximum(steps, 1))).astype(np.int64) + 1,
        "reached_max_treedepth": steps >= 2**settings.max_tree_depth - 1,
    }
