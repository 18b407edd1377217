"""Simulation-based calibration of every model, in full, with its pictures.

    python benchmarks/calibration.py [--replicates 300] [--seed 1] [--output out/calibration] [MODEL ...]

Each replicate draws parameters and data from the prior, fits the data, and ranks every parameter (and the log
likelihood) among 99 draws of its posterior. A correct model fails once in a hundred times, over all its
parameters together. Exit status 1 if one fails.
"""

import argparse
import sys
import time
from pathlib import Path

FALSE_ALARM = 0.01

VARIANTS = {
    "over_time+changes": ("over_time", {"change_rate": 1.0, "walk_sd": 0.5}),
    "over_time+drift": ("over_time", {"drift_sd": 1.0}),
}
"""Models with parts that their default priors leave out, by the name to give here."""


def main() -> None:
    """Calibrate the models one by one and draw their ranks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: all")
    parser.add_argument("--replicates", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("out/calibration"))
    given = parser.parse_args()
    from meantime.inference import calibrate
    from meantime.models import MODELS
    from meantime.report.figures import save_figure, sbc_ranks

    given.output.mkdir(parents=True, exist_ok=True)
    failed = []
    print(
        f"{'model':20}{'method':12}{'quantities':>11}{'smallest p':>12}{'redrawn':>9}{'refused':>9}{'s':>8}", flush=True
    )
    for model in given.models or [*MODELS, *VARIANTS]:
        name, priors = VARIANTS.get(model, (model, None))
        started = time.perf_counter()
        result = calibrate(name, priors=priors, replicates=given.replicates, seed=given.seed, false_alarm=FALSE_ALARM)
        seconds = time.perf_counter() - started
        facts = result.attrs
        print(f"{model:20}{facts['method']:12}{result.sizes['quantity']:11}{float(result['p_value'].min()):12.5f}"
              f"{facts['redrawn']:9}{facts['unconverged']:9}{seconds:8.0f}", flush=True)  # fmt: skip
        save_figure(sbc_ranks(result), given.output / f"{model}.png")
        result.to_netcdf(given.output / f"{model}.nc")
        if not facts["passed"]:
            failed.append(model)
            print(f"    FAILED: {', '.join(result['quantity'].values[~result['passed'].values])}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
