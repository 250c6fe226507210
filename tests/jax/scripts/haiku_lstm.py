"""An LSTM that adds up a sequence: Haiku and optax."""
import haiku as hk
import jax
import jax.numpy as jnp
import optax


def network(x):
    core = hk.LSTM(24)
    out, _ = hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))
    return hk.Linear(1)(out[-1])[:, 0]


model = hk.without_apply_rng(hk.transform(network))
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(2e-2))


def batch(key):
    x = jax.random.uniform(key, (12, 32, 1))
    return x, x.sum((0, 2)) / 12


@jax.jit
def step(params, state, key):
    x, y = batch(key)
    value, grads = jax.value_and_grad(lambda p: jnp.mean((model.apply(p, x) - y) ** 2))(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, value


params = model.init(jax.random.PRNGKey(0), batch(jax.random.key(1))[0])
state, losses = optimizer.init(params), []
for key in jax.random.split(jax.random.key(2), 60):
    params, state, value = step(params, state, key)
    losses.append(value)
print(f"loss {losses[0]:.4f} -> {losses[-1]:.5f}")
results = {"losses": jnp.stack(losses)}
