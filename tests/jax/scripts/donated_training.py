"""A training loop that donates its state, with a decaying rate, dropout and mixed precision in bfloat16."""
import functools

import jax
import jax.numpy as jnp

x = jax.random.normal(jax.random.key(0), (256, 32))
y = jnp.sin(x @ jax.random.normal(jax.random.key(1), (32, 4)))


def predict(params, x, key):
    half = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
    h = jax.nn.gelu(x.astype(jnp.bfloat16) @ half["w1"] + half["b1"])
    h = jnp.where(jax.random.bernoulli(key, 0.9, h.shape), h / 0.9, 0)
    return (h @ half["w2"]).astype(jnp.float32)


@functools.partial(jax.jit, donate_argnums=0)
def step(state, key):
    value, grads = jax.value_and_grad(lambda p: jnp.mean((predict(p, x, key) - y) ** 2))(state["params"])
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state["momentum"], grads)
    rate = 0.1 / (1 + state["step"] / 50)
    params = jax.tree.map(lambda p, m: p - rate * m, state["params"], momentum)
    return {"params": params, "momentum": momentum, "step": state["step"] + 1}, value


params = {"w1": 0.2 * jax.random.normal(jax.random.key(2), (32, 64)), "b1": jnp.zeros(64), "w2": 0.1 * jax.random.normal(jax.random.key(3), (64, 4))}
state, losses = {"params": params, "momentum": jax.tree.map(jnp.zeros_like, params), "step": jnp.zeros((), jnp.int32)}, []
given = state
for key in jax.random.split(jax.random.key(4), 60):
    state, value = step(state, key)
    losses.append(value)
print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
assert losses[-1] < 0.7 * losses[0]
assert all(array.is_deleted() for array in jax.tree.leaves(given))
results = {"losses": jnp.stack(losses)}
