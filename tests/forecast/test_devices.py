"""Draws over several devices: the same figures as on one. JAX takes its number of devices at start, so in a process."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

CODE = """
import json, warnings
warnings.simplefilter("error")
import jax, numpy as np
from meantime.forecast import FasterRestart, Plan, expected_draws, mitigate_rates, stated_rate
from meantime.forecast.devices import over_devices
rates = stated_rate(np.linspace(1, 10, 400), [1024, 16384])
plan = Plan(restart="5min", queue="2min")
draws = expected_draws(rates, plan)["ettr"].values
gains = mitigate_rates(rates, plan, [FasterRestart("1min")])["gain_alone"].values
with jax.enable_x64(True):
    shards = [len(over_devices(np.ones((3, size))).sharding.device_set) for size in (400, 401)]
print(json.dumps([len(jax.devices()), shards, draws.ravel().tolist(), gains.ravel().tolist()]))
"""


def run(devices: int) -> list[object]:
    environment = os.environ | {
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        "JAX_PLATFORMS": "cpu",
    }
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


@pytest.mark.slow
def test_two_devices_give_what_one_gives() -> None:
    one, two = run(1), run(2)
    assert (one[0], two[0]) == (1, 2)
    assert (one[1], two[1]) == ([1, 1], [2, 1])
    np.testing.assert_allclose(two[2], one[2], rtol=1e-12)
    np.testing.assert_allclose(two[3], one[3], rtol=1e-9)
