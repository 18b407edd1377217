"""NumPyro's NUTS, driven in compiled blocks of iterations.

Compiled is as little as possible, since compiling is most of the time of a fit: NumPyro's trees, the density once and a
few numbers of the step size. Momenta, keys and mass matrices come from outside. Warm-up and sampling are one compiled
function, run block by block, so that one compilation serves both, progress can be shown, and more can be drawn where
the draws asked for do not suffice. On a CPU the chains run as pairs, each pair vectorised and in a thread of its
own (XLA leaves Python's lock); on an accelerator all chains are one batch.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from os import cpu_count
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from meantime.inference import warmup
from meantime.inference.keys import WORDS, key_kind
from meantime.inference.target import Labels

if TYPE_CHECKING:
    import jax

BLOCK = 25
"""Iterations of a compiled block."""

POLL = 0.2
"""Seconds after which an interrupt is seen at the latest."""

UNKNOWN_ENERGY = 1e6
"""Stands for the potential energy of the starting point: the first transition then always moves, and the
gradient need not be compiled a second time to find it."""

FIRST_STEP = 0.5
"""Step size at the start; z is whitened."""

LARGE = 1_000
"""Variables from which the trajectories of the first window are cut at `FIRST_DEPTH` doublings: before its step size is
found a chain takes steps that are far too small, and a thousand of them where each is dear."""

FIRST_DEPTH = 5

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
    """Two jitted functions, ``block(state, iterations, data) -> (state, ((z, label), statistics))`` and
    ``collect((z, label), data)``; and ``label(data)``, the first label. Without labels it is None.
    """

    block: Callable[..., tuple[Tree, Tree]]
    collect: Callable[..., Tree]
    label: Callable[[Tree], Tree]


@dataclass(frozen=True, slots=True)
class Chains:
    """Where the chains of each group stand, after a number of blocks."""

    groups: tuple[Tree, ...]
    blocks: int


def build_sampler(
    potential: Callable[["jax.Array", Tree], "jax.Array"],
    collect: Callable[["jax.Array", Tree], dict[str, "jax.Array"]],
    settings: Settings,
    labels: Labels | None = None,
) -> Sampler:
    """Prepare NUTS for a density; nothing is compiled before the first call.

    With labels, each trajectory is preceded by a Metropolis step that proposes another map of the same z.

    Parameters
    ----------
    potential
        ``(z, data) -> scalar``: minus the log density of z.
    collect
        ``(z, data) -> named arrays``: what is kept of a draw.
    settings
        How to sample; not the length of the warm-up, for which any will do.
    labels
        How the map of z is drawn, if there are several.
    """
    import jax
    import jax.numpy as jnp
    from numpyro.infer.hmc_util import build_tree, euclidean_kinetic_energy, velocity_verlet

    value_and_gradient = jax.jit(jax.value_and_grad(potential))

    def relabel(point: Tree, key: "jax.Array", data: Tree, known: Labels) -> Tree:
        z, height, gradient, label = point
        first, second = jax.random.split(key)
        proposed, log_ratio = known.propose(first, z, label, known.into(label, data))
        energy, slope = value_and_gradient(z, known.into(proposed, data))
        take = jnp.log(jax.random.uniform(second)) < height - energy - log_ratio
        return z, *(jnp.where(take, new, old) for new, old in ((energy, height), (slope, gradient), (proposed, label)))

    def one(
        point: Tree,
        momentum: "jax.Array",
        key: "jax.Array",
        step_size: "jax.Array",
        variance: "jax.Array",
        depth: "jax.Array",
        data: Tree,
    ) -> tuple[Tree, Tree]:
        chance = jax.random.wrap_key_data(key, impl=key_kind())
        if labels is not None:
            chance, other = jax.random.split(chance)
            point = relabel(point, other, data, labels)
            data = labels.into(point[3], data)

        @jax.custom_vjp
        def energy(z: "jax.Array") -> "jax.Array":
            return value_and_gradient(z, data)[0]

        # one traced program for value and gradient, however often the sampler differentiates
        energy.defvjp(lambda z: value_and_gradient(z, data), lambda gradient, factor: (factor * gradient,))
        z, height, gradient, label = point
        tree = build_tree(
            velocity_verlet(energy, euclidean_kinetic_energy)[1],
            euclidean_kinetic_energy,
            (z, momentum / jnp.sqrt(variance), height, gradient),
            variance,
            step_size,
            chance,
            max_tree_depth=(depth, settings.max_tree_depth),
        )
        statistics = {
            "acceptance_rate": tree.sum_accept_probs / tree.num_proposals,
            "n_steps": tree.num_proposals,
            "diverging": tree.diverging,
            "energy": tree.z_proposal_energy,
            "lp": -tree.z_proposal_pe,
        }
        return (tree.z_proposal, tree.z_proposal_pe, tree.z_proposal_grad, label), statistics

    @jax.jit
    def block(state: Tree, iterations: Tree, data: Tree) -> tuple[Tree, Tree]:
        def iterate(state: Tree, now: Tree) -> tuple[Tree, Tree]:
            point, tuning, variance = state
            step_size = jnp.exp(jnp.where(now["pace"]["tuned"], tuning[2], tuning[3]))
            every = jax.vmap(one, (0, 0, 0, 0, 0, None, None))
            point, statistics = every(point, now["momentum"], now["key"], step_size, variance, now["depth"], data)
            shortfall = settings.target_accept - statistics["acceptance_rate"]
            tuning = warmup.tuned(jnp, tuning, now["pace"], shortfall)
            return (point, tuning, variance), ((point[0], point[3]), {**statistics, "step_size": step_size})

        return jax.lax.scan(iterate, state, iterations)

    def collect_labelled(drawn: Tree, data: Tree) -> Tree:
        z, label = drawn
        return collect(z, data if labels is None else labels.into(label, data))

    every = jax.jit(jax.vmap(jax.vmap(collect_labelled, (0, None)), (0, None)))
    return Sampler(block, every, (lambda data: None) if labels is None else labels.first)


def run(
    sampler: Sampler,
    start: np.ndarray | Chains,
    data: Tree,
    settings: Settings,
    *,
    seed: int,
    draws: int,
    device: "jax.Device",
    advance: Callable[[int], None],
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], Chains]:
    """Sample.

    Parameters
    ----------
    sampler
        From `build_sampler`, with the same settings.
    start
        Starting points, shape (chain, size), or where an earlier run ended: then there is no warm-up.
    data
        Arrays for the density.
    settings
        How to sample.
    seed
        Seed of the chains' momenta and keys.
    draws
        Draws to keep of each chain.
    device
        Where to run.
    advance
        Called with the number of chain iterations done, as they are done.

    Returns
    -------
    tuple
        Collected arrays and sampler statistics, each (chain, draw, ...), and where the chains stand.
    """
    import jax

    tune, begun, groups = (0, start.blocks, start.groups) if isinstance(start, Chains) else (settings.tune, 0, None)
    if groups is None:
        groups = _groups(np.asarray(start), sampler.label(data), device)
    group = len(groups[0][0][0])
    n_blocks = -(-(tune + draws) // BLOCK)
    compiling, stopped = Lock(), Event()

    def sample_group(number: int) -> Tree:
        try:
            with jax.enable_x64(True), jax.default_device(device):
                return run_blocks(number)
        except BaseException:  # the other groups must not run to their end: their results are not wanted
            stopped.set()
            raise

    def run_blocks(number: int) -> Tree:
        chains = range(number * group, (number + 1) * group)
        state, kept = groups[number], []
        size, adapting = state[0][0].shape[1], _Adapting(tune, device)
        for block in range(n_blocks):
            if stopped.is_set():
                return None  # what stopped it is raised elsewhere
            first = FIRST_DEPTH if size >= LARGE and block * BLOCK < adapting.begins else settings.max_tree_depth
            depth = np.full(BLOCK, min(first, settings.max_tree_depth))
            iterations = {"pace": adapting.paces(block), "depth": depth, **_chance(seed, chains, begun + block, size)}
            with nullcontext() if block else compiling:  # the first group compiles, the others find the result
                state, (drawn, statistics) = sampler.block(state, jax.device_put(iterations, device), data)
            if (block + 1) * BLOCK > tune:
                kept.append(jax.tree.map(np.asarray, (sampler.collect(drawn, data), statistics)))
            else:
                state = adapting.after(block, np.asarray(drawn[0]), state)
            advance(BLOCK * group)
        first = tune % BLOCK
        return state, jax.tree.map(lambda *parts: np.concatenate(parts).swapaxes(0, 1)[:, first : first + draws], *kept)

    pool = ThreadPoolExecutor(min(len(groups), cpu_count() or 1))
    try:
        running = [pool.submit(sample_group, number) for number in range(len(groups))]
        while wait(running, POLL, return_when=FIRST_EXCEPTION).not_done and not any(map(_failed, running)):
            pass  # an interrupt that another thread was given is seen between two waits
        found = [future.result() for future in running if future.done()]
    finally:  # also an interrupt: the threads must not run to their end, and nobody waits for their blocks
        stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)
    states, arrays = zip(*found, strict=True)
    collected, statistics = jax.tree.map(lambda *parts: np.concatenate(parts), *arrays)
    return collected, _complete(statistics, settings), Chains(states, begun + n_blocks)


class _Adapting:
    """The warm-up of one group of chains, between its blocks."""

    def __init__(self, tune: int, device: "jax.Device") -> None:
        self.tune, self.device = tune, device
        self.ends = warmup.window_ends(tune, BLOCK)
        self.begins = self.ends[0] if self.ends else 0
        self.since = 0
        self.window: list[np.ndarray] = []

    def paces(self, block: int) -> dict[str, np.ndarray]:
        """Return the pace of the step size in the iterations of a block."""
        numbers = np.arange(block * BLOCK, (block + 1) * BLOCK)
        return warmup.paces(np.where(numbers < self.tune, numbers - self.since + 1, 0))

    def after(self, block: int, z: np.ndarray, state: Tree) -> Tree:
        """Take note of a block's points, and return the state with another mass matrix where a window has ended."""
        import jax

        self.window.append(z)
        now = (block + 1) * BLOCK
        if now not in self.ends:
            return state
        window, self.window = np.concatenate(self.window), []
        if now == self.ends[0]:
            return state
        self.since = now
        fresh = warmup.begin(np.exp(state[1][2])), warmup.variances(window)
        return state[0], *jax.device_put(fresh, self.device)


def _groups(start: np.ndarray, label: Tree, device: "jax.Device") -> tuple[Tree, ...]:
    """Cut chains into those that run together, with points, tuning and variances of each, on the device.

    All is committed to it, as the data are: or all would be compiled twice.
    """
    import jax

    group = _group_size(len(start), device.platform)
    parts = (start[first : first + group] for first in range(0, len(start), group))
    # z is whitened: the gradient of its potential energy is near z
    labels = None if label is None else np.repeat(np.asarray(label)[None], group, axis=0)
    height, step = np.full(group, UNKNOWN_ENERGY), np.full(group, FIRST_STEP)
    states = (((z, height, z, labels), warmup.begin(step), np.ones_like(z)) for z in parts)
    return tuple(jax.device_put(state, device) for state in states)


def _chance(seed: int, chains: range, block: int, size: int) -> dict[str, np.ndarray]:
    """Return standard normal momenta (iteration, chain, size) and keys (iteration, chain, word) of a block."""
    rngs = [np.random.default_rng([seed, 4, chain, block]) for chain in chains]
    return {
        "momentum": np.stack([rng.standard_normal((BLOCK, size)) for rng in rngs], axis=1),
        "key": np.stack([rng.integers(2**32, size=(BLOCK, WORDS), dtype=np.uint32) for rng in rngs], axis=1),
    }


def _failed(future: Future[Tree]) -> bool:
    return future.done() and future.exception() is not None


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
