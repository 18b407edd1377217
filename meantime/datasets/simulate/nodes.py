"""Which nodes each attempt ran on."""

import dataclasses

import numpy as np


@dataclasses.dataclass(slots=True, kw_only=True)
class Placement:
    """Node numbers of attempts, one entry for each node of each attempt, attempts in order.

    ``offset[i]`` to ``offset[i + 1]`` are the entries of attempt i, ascending.
    ``shared`` is the share of node places that may lie on a node which is full: more demand than nodes, or
    moved by `evict` onto nodes that others held.
    """

    node: np.ndarray
    offset: np.ndarray
    shared: float

    @property
    def count(self) -> np.ndarray:
        """Nodes of each attempt."""
        return np.diff(self.offset)

    @property
    def row(self) -> np.ndarray:
        """The attempt of each entry."""
        return np.repeat(np.arange(len(self.offset) - 1), self.count)


def place(
    start: np.ndarray, end: np.ndarray, nodes: np.ndarray, gpus: np.ndarray, *, n_nodes: int, gpus_per_node: int
) -> Placement:
    """Place attempts on nodes: each takes the nodes that have been free for longest.

    Parts of a node (1, 2, 4, ... GPUs) go to nodes set apart for that size, as many as the peak asks
    for; the other nodes take whole ones. Where more whole nodes are asked for than there are, the
    excess is put on nodes in use, and ``shared`` says how much that is.

    Parameters
    ----------
    start, end, nodes, gpus
        Shape (n,): the intervals and sizes of the attempts.
    """
    if not len(start):
        return Placement(node=np.zeros(0, dtype=np.int64), offset=np.zeros(1, dtype=np.int64), shared=0.0)
    slot = np.minimum(2 ** np.ceil(np.log2(gpus)).astype(np.int64), gpus_per_node)
    offset = np.concatenate([[0], np.cumsum(nodes)])
    result = np.zeros(offset[-1], dtype=np.int64)
    first, excess = 0, 0
    for size in sorted(set(slot.tolist())):
        rows = np.flatnonzero(slot == size)
        places = _fifo(start[rows], end[rows], nodes[rows])
        peak = int(places.max()) + 1
        per_node = gpus_per_node // size
        whole = size == gpus_per_node
        last = n_nodes if whole else min(first + -(-peak // per_node), n_nodes // 2)
        room = max(last - first, 1)
        excess += max(peak - room * per_node, 0) * len(places) // peak
        entries = np.repeat(offset[rows] - np.concatenate([[0], np.cumsum(nodes[rows])[:-1]]), nodes[rows])
        result[entries + np.arange(len(places))] = first + (places // per_node) % room
        first = min(first + room, n_nodes - 1)
    rows = np.repeat(np.arange(len(nodes)), nodes)
    return Placement(node=_distinct(rows, result, n_nodes), offset=offset, shared=excess / len(result))


def evict(
    placement: Placement, job: np.ndarray, start: np.ndarray, end: np.ndarray, preempted_by: np.ndarray
) -> Placement:
    """Put attempts that gave way to the restart of a large job on nodes that this job then takes.

    Who held these nodes until then is not moved out of the way: ``shared`` grows by their share of the time.

    Parameters
    ----------
    placement
        Of attempts, from `place`.
    job, start, end, preempted_by
        Shape (n,): the attempts' jobs, intervals, and the job that each gave way to (negative: none), which starts in
        the second in which it ends.
    """
    node, count = placement.node.copy(), placement.count
    seconds = count * (end - start)
    moved = 0.0
    restarts = dict(zip(zip(job.tolist(), start.tolist(), strict=True), range(len(job)), strict=True))
    taken: dict[int, int] = {}
    for victim in np.flatnonzero(preempted_by >= 0).tolist():
        restart = restarts.get((int(preempted_by[victim]), float(end[victim])))
        if restart is None or count[victim] > count[restart]:
            continue
        first = taken.get(restart, 0)
        taken[restart] = first + int(count[victim])
        places = (first + np.arange(count[victim])) % count[restart]
        span = slice(placement.offset[victim], placement.offset[victim + 1])
        node[span] = np.sort(placement.node[placement.offset[restart] + places])
        moved += float(seconds[victim])
    shared = placement.shared + moved / max(float(seconds.sum()), 1.0)
    return Placement(node=node, offset=placement.offset, shared=shared)


def _distinct(rows: np.ndarray, node: np.ndarray, n_nodes: int) -> np.ndarray:
    """Sort the nodes of each attempt; one that it holds twice (more demand than nodes) moves on."""
    for step in range(1, n_nodes + 1):
        node = node[np.lexsort((node, rows))]
        twice = np.flatnonzero((np.diff(node) == 0) & (np.diff(rows) == 0)) + 1
        if not len(twice):
            break
        node[twice] = (node[twice] + step) % n_nodes
    return node


def _fifo(start: np.ndarray, end: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Give each unit of each interval a place, from a queue of free places that starts as 0, 1, 2, ...

    As many places as the peak asks for. The i-th unit to start takes the (i - peak)-th to have ended,
    whatever the order, so places follow from pointers, doubled until they reach the first `peak` units.
    """
    by_start = np.argsort(start, kind="stable")
    by_end = np.lexsort((start, end))
    peak = _peak(start, end, units)
    first_rank = np.empty(len(start), dtype=np.int64)
    ranks = np.cumsum(units[by_start])
    first_rank[by_start] = ranks - units[by_start]
    total = int(ranks[-1])
    ended = np.repeat(first_rank[by_end], units[by_end]) + _within(units[by_end])
    pointer = np.arange(total)
    pointer[peak:] = ended[: total - peak]
    while True:
        further = pointer[pointer]
        if np.array_equal(further, pointer):
            break
        pointer = further
    return pointer[np.repeat(first_rank, units) + _within(units)]


def _peak(start: np.ndarray, end: np.ndarray, units: np.ndarray) -> int:
    time = np.concatenate([end, start])
    change = np.concatenate([-units, units])
    order = np.argsort(time, kind="stable")
    return int(np.cumsum(change[order]).max())


def _within(units: np.ndarray) -> np.ndarray:
    """0 to n - 1 for each interval of n units."""
    return np.arange(units.sum()) - np.repeat(np.cumsum(units) - units, units)
