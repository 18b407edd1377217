"""What goes in and what comes out: types, precision, shapes, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from meantime import ettr
from meantime.errors import InputError

PRECISION_AT_IMPORT = jax.config.jax_enable_x64


def test_numpy_is_computed_in_float64_and_jax_is_left_alone() -> None:
    value = ettr.mttf(3)
    assert isinstance(value, np.float64)
    assert value == 1 / 3  # to the last bit of float64
    assert ettr.mttf([3, 4]).dtype == np.float64
    assert ettr.mttf(np.array([3, 4], np.float32)).dtype == np.float64
    assert ettr.mttf(0) == np.inf
    assert jax.config.jax_enable_x64 == PRECISION_AT_IMPORT
    assert jnp.asarray(1.0).dtype == jnp.float32

    narrow = ettr.hazard_of(jnp.array([128]), 6.5e-3)
    assert isinstance(narrow, jax.Array)
    assert narrow.dtype == jnp.float32
    with jax.enable_x64(True):
        assert ettr.hazard_of(jnp.array([128]), 6.5e-3).dtype == jnp.float64
        assert ettr.hazard_of(jnp.array([128.0], jnp.float32), 6.5e-3).dtype == jnp.float32


def test_shapes_broadcast_and_do_not_change_values() -> None:
    rng = np.random.default_rng(3)
    hazard, interval = rng.lognormal(size=(300, 1)), rng.lognormal(size=(1, 400))
    large = ettr.renewal(hazard, interval, 0.01, 0.1)
    assert large.shape == (300, 400)
    assert large.flags.writeable
    assert ettr.renewal(hazard[7, 0], interval[0, 9], 0.01, 0.1) == pytest.approx(large[7, 9], rel=1e-15)
    np.testing.assert_allclose(ettr.renewal(hazard[:17], interval[0, :3], 0.01, 0.1), large[:17, :3], rtol=1e-15)
    assert ettr.renewal(np.zeros((0, 3)), 1.0).shape == (0, 3)
    mean, variance = ettr.wallclock_moments(hazard, 1.0, productive=interval)
    assert mean.shape == variance.shape == (300, 400)


def test_similar_shapes_share_a_compilation() -> None:
    compiled: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(lambda event, _, **__: compiled.append(event))
    ettr.young(np.ones(20), 0.1)
    assert any("backend_compile" in event for event in compiled)  # the control: sizes 17 to 32 were new
    compiled.clear()
    for size in range(17, 33):
        ettr.young(np.ones(size), 0.1)
    assert not any("backend_compile" in event for event in compiled)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hazard": -1.0}, r"hazard is -1.0; expected failures per hour of the whole job, zero or positive"),
        ({"hazard": np.inf}, "hazard is inf"),
        ({"interval": [1.0, np.nan]}, r"interval is nan at index \(1,\); expected hours, 'inf' for never"),
        ({"write": -0.1}, "write is -0.1; expected hours"),
        ({"restart": "5min"}, "restart is '5min', which is not numbers; expected hours"),
        ({"productive": 0.0}, "productive is 0.0; expected hours"),
        ({"hazard": [1.0, 2.0], "write": [1.0, 2.0, 3.0]}, r"do not broadcast .*: hazard \(2,\), write \(3,\)"),
    ],
)
def test_what_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ettr.renewal(**{"hazard": 0.1, "interval": 1.0} | arguments)
