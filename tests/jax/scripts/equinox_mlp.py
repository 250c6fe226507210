"""A network in Equinox: filter_jit, filter_value_and_grad, ensembles by filter_vmap."""
import equinox as eqx
import jax
import jax.numpy as jnp
import optax

x = jnp.linspace(-2, 2, 128)[:, None]
y = jnp.sin(3 * x) + x**2 / 4
make = eqx.filter_vmap(lambda key: eqx.nn.MLP(1, 1, 24, 2, activation=jax.nn.swish, key=key))
models = make(jax.random.split(jax.random.key(0), 4))


@eqx.filter_value_and_grad
def loss(models):
    predicted = eqx.filter_vmap(lambda model: jax.vmap(model)(x))(models)
    return jnp.mean((predicted - y) ** 2)


optimizer = optax.adam(1e-2)
state = optimizer.init(eqx.filter(models, eqx.is_array))


@eqx.filter_jit
def step(models, state):
    value, grads = loss(models)
    updates, state = optimizer.update(grads, state)
    return eqx.apply_updates(models, updates), state, value


losses = []
for _ in range(60):
    models, state, value = step(models, state)
    losses.append(value)
print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
results = {"losses": jnp.stack(losses)}
