"""Exports one training step of an MLP on the UCI handwritten digits (64-128-10, SGD with momentum, batch 128) from JAX.

    pip install jax scikit-learn
    python export.py        # writes train_step.hlo and args.npz beside itself

The digits are the UCI optical recognition set (E. Alpaydin, C. Kaynak, CC BY 4.0), as scikit-learn ships it.
"""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits


def loss(params, images, labels):
    hidden = jax.nn.relu(images @ params["w1"] + params["b1"])
    log_probabilities = jax.nn.log_softmax(hidden @ params["w2"] + params["b2"])
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, 10) * log_probabilities, axis=1))


def train_step(params, velocity, images, labels):
    value, gradients = jax.value_and_grad(loss)(params, images, labels)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradients)
    params = jax.tree.map(lambda p, v: p - 0.1 * v, params, velocity)
    return params, velocity, value


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    jax.config.update("jax_default_matmul_precision", "highest")
    rng = np.random.default_rng(0)
    params = {
        "w1": rng.normal(0, 0.15, (64, 128)).astype(np.float32),
        "b1": np.zeros(128, np.float32),
        "w2": rng.normal(0, 0.1, (128, 10)).astype(np.float32),
        "b2": np.zeros(10, np.float32),
    }
    velocity = {name: np.zeros_like(value) for name, value in params.items()}
    digits = load_digits()
    images = (digits.data[:128] / 16).astype(np.float32)
    labels = digits.target[:128].astype(np.int32)
    arguments = (params, velocity, images, labels)
    lowered = jax.jit(train_step).lower(*arguments)
    (here / "train_step.hlo").write_text(lowered.as_text(dialect="hlo"))
    leaves = jax.tree.leaves(arguments)
    np.savez_compressed(here / "args.npz", **{f"arg_{k}": leaf for k, leaf in enumerate(leaves)})
