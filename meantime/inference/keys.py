"""Random numbers inside compiled samplers: SplitMix64, a few instructions where threefry takes a loop.

Half of the code that XLA compiles for a sampler would be threefry. A key is a 64-bit number; its children and its
bits are the outputs of the generator of Steele, Lea and Flood, "Fast splittable pseudorandom number generators"
(OOPSLA 2014), which passes BigCrush, started from the key. Keys of iterations come from NumPy's `SeedSequence`.
"""

from functools import cache
from math import prod
from typing import Any

import numpy as np

GAMMA = np.uint64(0x9E3779B97F4A7C15)
"""Odd number nearest to 2^64 over the golden ratio: the step from one state of the generator to the next."""

WORDS = 2
"""32-bit words of a key."""


@cache
def key_kind() -> Any:
    """Return the kind of keys for `jax.random.wrap_key_data`. Use them where 64-bit numbers are on."""
    from jax.extend.random import define_prng_impl

    return define_prng_impl(
        key_shape=(WORDS,), seed=_seed, split=_split, random_bits=_bits, fold_in=_fold, name="splitmix", tag="spm"
    )


def mixed(state: Any) -> Any:
    """Return the output of SplitMix64 at a state, an unsigned 64-bit array of NumPy or JAX."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _number(key: Any) -> Any:
    return (key[0].astype(np.uint64) << np.uint64(32)) | key[1].astype(np.uint64)


def _key(number: Any) -> Any:
    import jax.numpy as jnp

    return jnp.stack([(number >> np.uint64(32)).astype(np.uint32), number.astype(np.uint32)], axis=-1)


def _outputs(key: Any, shape: tuple[int, ...]) -> Any:
    """Return the first outputs of the generator that starts at a mix of the key."""
    steps = (np.arange(prod(shape), dtype=np.uint64) + np.uint64(1)) * GAMMA
    return mixed(mixed(_number(key)) + steps.reshape(shape))


def _split(key: Any, shape: tuple[int, ...]) -> Any:
    return _key(_outputs(key, shape))


def _bits(key: Any, width: int, shape: tuple[int, ...]) -> Any:
    return (_outputs(key, shape) >> np.uint64(64 - width)).astype(np.dtype(f"uint{width}"))


def _fold(key: Any, number: Any) -> Any:
    return _key(mixed(_number(key) + (number.astype(np.uint64) + np.uint64(1)) * GAMMA))


def _seed(number: Any) -> Any:
    return _key(mixed(number.astype(np.uint64)))
