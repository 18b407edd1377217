"""Lemon nodes: some nodes fail many times as often, and so break the attempts that run on them."""

import numpy as np

from meantime.datasets.simulate.attempts import NONE, Attempts, Engine, join_attempts
from meantime.datasets.simulate.hazards import bucket_index, draw_causes
from meantime.datasets.simulate.mix import Jobs
from meantime.datasets.simulate.nodes import Placement
from meantime.units import seconds

_MAX_ROUNDS = 1000


def draw_lemons(rng: np.random.Generator, n_nodes: int, share: float) -> np.ndarray:
    """Draw which nodes are lemons, shape (n_nodes,) of bool: `share` of them, rounded."""
    lemon = np.zeros(n_nodes, dtype=bool)
    lemon[rng.permutation(n_nodes)[: round(share * n_nodes)]] = True
    return lemon


def break_on_lemons(
    engine: Engine, jobs: Jobs, attempts: Attempts, placement: Placement, lemon: np.ndarray
) -> tuple[Attempts, Placement, np.ndarray]:
    """Add the failures by which lemons exceed a sound node's rate.

    An attempt that a lemon breaks is requeued at once to the same nodes (a crash loop) and, if it
    comes back before the time at which it ended without the lemon, ends then and as it did then.
    The work that is lost so is not done again.

    Parameters
    ----------
    attempts, placement
        Attempts that started, with ``end`` at most the end of the log, and their nodes.
    lemon
        Shape (n_nodes,), bool.

    Returns
    -------
    tuple
        The attempts, their placement, and the node that failed, shape (n,): of a lemon's failure; else `NONE`.
    """
    plan, rng = engine.plan, engine.rng
    failed_node = np.full(len(attempts), NONE)
    source = np.arange(len(attempts))
    pieces = [attempts.take(source)]
    active = np.flatnonzero(np.add.reduceat(lemon[placement.node], placement.offset[:-1]) > 0)
    counts = _lemons_of(placement, lemon, active)
    sources, blamed = [source], [failed_node]
    current = pieces[0]
    position = active
    for _ in range(_MAX_ROUNDS):
        gpus = jobs.gpus[current.job[position]]
        bucket = bucket_index(gpus)
        part = np.minimum(1.0, gpus / plan.gpus_per_node)
        extra = (plan.lemon_multiplier - 1) * counts * part * engine.total[bucket] / 86400
        with np.errstate(divide="ignore"):
            after = np.ceil(rng.exponential(1.0, len(position)) / extra)
        hit = after < current.end[position] - current.start[position]
        position, counts, bucket, after = position[hit], counts[hit], bucket[hit], after[hit]
        if not len(position):
            break
        tail = current.take(position)
        origin = sources[-1][position]
        broken_at = tail.start + after
        cause = draw_causes(rng, engine.rate, bucket)
        current.end[position] = broken_at
        current.cause[position] = cause
        current.state[position] = engine.failure_states(cause)
        current.preempted_by[position] = NONE
        blamed[-1][position] = _pick_lemon(rng, placement, lemon, origin)
        tail.submit = broken_at
        tail.start = broken_at + np.ceil(rng.exponential(seconds(plan.queue), len(broken_at)))
        back = tail.start < tail.end
        current = tail.take(back)
        pieces.append(current)
        sources.append(origin[back])
        blamed.append(np.full(len(current), NONE))
        position, counts = np.arange(len(current)), counts[back]
    source = np.concatenate(sources)
    units = placement.count[source]
    offset = np.concatenate([[0], np.cumsum(units)])
    entries = np.repeat(placement.offset[source] - offset[:-1], units) + np.arange(offset[-1])
    moved = Placement(node=placement.node[entries], offset=offset, shared=placement.shared)
    return join_attempts(pieces), moved, np.concatenate(blamed)


def _lemons_of(placement: Placement, lemon: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.add.reduceat(lemon[placement.node].astype(np.int64), placement.offset[:-1])[rows]


def _pick_lemon(rng: np.random.Generator, placement: Placement, lemon: np.ndarray, rows: np.ndarray) -> np.ndarray:
    found = np.flatnonzero(lemon[placement.node])
    first = np.searchsorted(found, placement.offset[rows])
    last = np.searchsorted(found, placement.offset[rows + 1])
    return placement.node[found[first + np.floor(rng.random(len(rows)) * (last - first)).astype(np.int64)]]
