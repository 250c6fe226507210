"""A deep residual stack whose layers are computed again in the backward pass: jax.checkpoint, with and without a policy."""
import functools

import jax
import jax.numpy as jnp

depth, width = 24, 48
w = jax.random.normal(jax.random.key(0), (depth, width, width)) / jnp.sqrt(width)
x = jax.random.normal(jax.random.key(1), (32, width))


def layer(x, w):
    return x + jnp.tanh(x @ w) / depth, None


def loss(w, remat):
    return (jax.lax.scan(remat(layer), x, w)[0] ** 2).mean()


kinds = {"plain": lambda f: f, "all": jax.checkpoint,
         "dots": functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable),
         "none": functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.nothing_saveable, prevent_cse=False)}
results = {name: jax.jit(jax.value_and_grad(functools.partial(loss, remat=remat)))(w) for name, remat in kinds.items()}
for name, (value, grad) in results.items():
    print(f"{name}: {value:.6f}, |gradient| {jnp.linalg.norm(grad):.6f}")
