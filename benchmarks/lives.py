"""A fit of compressed lives against the likelihood row by row: distances of posterior means.

    python benchmarks/lives.py [--units 20000] [--seed 9]

The posterior of a Weibull's rate and shape is worked out on a grid from every life by itself, with the priors of the
model, and the means of a fit of the compressed table are held against it, in posterior standard deviations.
"""

import argparse

import numpy as np

POINTS = 41
"""Points of the grid in each direction, over 5 standard deviations on either side of the fit."""


def main() -> None:
    """Fit, integrate, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=9)
    given = parser.parse_args()
    from meantime.datasets import compress_lives
    from meantime.datasets.simulate import simulate_lives
    from meantime.inference import fit

    arrays, _ = simulate_lives(seed=given.seed, units=given.units)
    entry, leave, failed = (arrays[name] for name in ("entry", "exit", "failed"))
    tree = fit(compress_lives(entry, leave, failed), "lifetime", seed=given.seed, draws=10_000, progress=False)
    draws = {name: np.log(tree["posterior"][name].values).ravel() for name in ("rate", "shape")}
    axes = [values.mean() + values.std() * np.linspace(-5, 5, POINTS) for values in draws.values()]
    sum_log = np.log(leave[failed] / 365).sum()
    density = np.empty((POINTS, POINTS))
    for column, log_shape in enumerate(axes[1]):
        shape = np.exp(log_shape)
        total = ((leave / 365) ** shape - (entry / 365) ** shape).sum()
        density[:, column] = failed.sum() * axes[0] + (shape - 1) * sum_log - np.exp(axes[0]) * 365 / shape * total
        density[:, column] -= 0.5 * ((axes[0] - np.log(1e-4)) / 2) ** 2 + 0.5 * (log_shape / 0.5) ** 2
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    print(f"{given.units:,} lives, {failed.sum():,} of them ending in failures")
    for axis, (name, values) in enumerate(draws.items()):
        marginal = weight.sum(1 - axis)
        mean = marginal @ axes[axis]
        sd = np.sqrt(marginal @ (axes[axis] - mean) ** 2)
        print(f"log {name}: means {abs(values.mean() - mean) / sd:.4f} sd apart, sd {values.std() / sd:.4f} of it")


if __name__ == "__main__":
    main()
