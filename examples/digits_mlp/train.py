"""A whole training run as one program: 300 steps of export.py's in a loop on the device, then the test images.

    pip install jax scikit-learn
    python train.py         # writes train.hlo and digits.npz beside itself

The first 1437 digits train, in batches of 128; the other 360 test. The weights come from jax.random, in the program.
"""
import functools
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from export import train_step
from jax import lax

f32 = jnp.float32
BATCH, TRAINING = 128, 1437


def train(steps, images, labels):
    """The share of the test images that the trained network gets right, and the loss of the last batch."""
    pixels = images.astype(f32) / 16
    w1, w2 = jax.random.split(jax.random.key(0))
    params = {
        "w1": f32(0.15) * jax.random.normal(w1, (64, 128)),
        "b1": jnp.zeros(128),
        "w2": f32(0.1) * jax.random.normal(w2, (128, 10)),
        "b2": jnp.zeros(10),
    }

    def step(i, state):
        at = (i * BATCH) % (TRAINING - BATCH)
        batch = lax.dynamic_slice_in_dim(pixels, at, BATCH), lax.dynamic_slice_in_dim(labels, at, BATCH)
        return train_step(*state[:2], *batch)

    start = params, jax.tree.map(jnp.zeros_like, params), f32(0)
    params, _, loss = lax.fori_loop(0, steps, step, start)
    hidden = jax.nn.relu(pixels[TRAINING:] @ params["w1"] + params["b1"])
    found = jnp.argmax(hidden @ params["w2"] + params["b2"], axis=1)
    return jnp.mean((found == labels[TRAINING:]).astype(f32)), loss


if __name__ == "__main__":
    from sklearn.datasets import load_digits

    here = pathlib.Path(__file__).parent
    jax.config.update("jax_default_matmul_precision", "highest")
    digits = load_digits()
    images, labels = digits.data.astype(np.uint8), digits.target.astype(np.int32)
    lowered = jax.jit(functools.partial(train, 300)).lower(images, labels)
    (here / "train.hlo").write_text(lowered.as_text(dialect="hlo"))
    np.savez_compressed(here / "digits.npz", arg_0=images, arg_1=labels)
