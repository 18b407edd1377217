"""How a planning tool calls meantime: python examples/planning_tool.py [FIT]

It asks for a plan of a run and for the worth of two mitigations, from a fit (a file written by
`meantime fit`) or, without one, from the published interruptions of Llama 3; checks the answers against
their schemas; and prints what a tool would put into its own tables. Everything it reads is plain JSON, so
a tool in another language does the same with `meantime plan --json`, `meantime mitigate --json` and the
schemas in docs/schema.
"""

import json
import sys
from typing import Any

from meantime import fit, load_fit
from meantime.datasets.published import load_llama3
from meantime.forecast import (
    AsyncCheckpoint,
    Budget,
    FasterRestart,
    Plan,
    Throughput,
    as_text,
    mitigate_document,
    mitigate_rates,
    plan_run,
    rates_of,
)
from meantime.forecast.schema import checked

SIZES = [4_096, 8_192, 16_384, 32_768]
PLAN = Plan(restart="10min", checkpoint_write="30s", queue="5min", detection="2min")
BUDGET = Budget(  # 15.6 trillion tokens; 16,384 GPUs do 4.4 million a second and lose 4 % at each doubling
    work=15.6e12, throughput=Throughput(measured={16_384: 4.4e6}, efficiency_per_doubling=0.96)
)


def ask(tree: Any) -> tuple[str, str]:
    """Return two JSON documents: the run on each size, and what mitigations would buy on the chosen one."""
    run = plan_run(rates_of(tree, SIZES), BUDGET, PLAN, price_per_gpu_hour=2.5, within="60d", aim="cost")
    size = run["chosen_gpus"] or max(SIZES)
    plan = BUDGET.plan_of(PLAN, size)
    priced = mitigate_rates(rates_of(tree, [size]), plan, [FasterRestart("2min"), AsyncCheckpoint("1s")])
    return as_text(run), as_text(mitigate_document(priced))


def table(run: dict[str, Any], priced: dict[str, Any]) -> list[str]:
    """Write the two documents as lines of text."""
    lines = [f"{'GPUs':>8} {'days':>6} {'90 % interval':>15} {'GPU-hours':>11} {'cost':>10} {'in 60 d':>8}"]
    for row in run["rows"]:
        days = row["days_to_finish"]
        lines.append(
            f"{row['gpus']:>8,} {days['mean']:>6.1f} {days['lower']:>7.1f} to {days['upper']:.1f}"
            f" {row['gpu_hours']['mean']:>11,.0f} {row['cost']['mean']:>10,.0f} {row['probability_done']:>8.1%}"
        )
    chosen = run["chosen_gpus"]
    lines.append(f"chosen: {chosen:,} GPUs" if chosen else "no size is done in 60 days with 90 % probability")
    for row in priced["rows"]:
        for one in row["mitigations"]:
            gain, saved = one["gain_shapley"], one["gpu_hours_saved_per_day"]
            lines.append(
                f"{one['mitigation']}: ETTR +{gain['mean']:.3f} ({gain['lower']:.3f} to {gain['upper']:.3f}), "
                f"{saved['mean']:,.0f} GPU-hours a day, best first with probability {one['probability_best']:.2f}"
            )
    return lines


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else None
    tree = load_fit(path) if path else fit(load_llama3(), model="constant", seed=1, progress=False)
    texts = ask(tree)
    for text in texts:
        checked(text)  # refuses what does not keep to its schema
    sys.stdout.write("\n".join([*table(*map(json.loads, texts)), ""]))


if __name__ == "__main__":
    main()
