"""A physics-informed network for u'' = -pi^2 sin(pi x), u(0) = u(1) = 0: second derivatives inside of a loss."""
import jax
import jax.numpy as jnp
import optax


def u(params, x):
    (w1, b1), (w2, b2), (w3, b3) = params
    h = jnp.tanh(jnp.tanh(x * w1 + b1) @ w2 + b2)
    return x * (1 - x) * (h @ w3 + b3)


def residual(params, x):
    second = jax.grad(jax.grad(u, argnums=1), argnums=1)(params, x)
    return second + jnp.pi**2 * jnp.sin(jnp.pi * x)


def loss(params, xs):
    return jnp.mean(jax.vmap(residual, (None, 0))(params, xs) ** 2)


keys = jax.random.split(jax.random.key(0), 3)
params = [(jax.random.normal(keys[0], (16,)), jnp.zeros(16)),
          (jax.random.normal(keys[1], (16, 16)) / 4, jnp.zeros(16)), (jax.random.normal(keys[2], (16,)) / 4, jnp.zeros(()))]
optimizer = optax.adam(1e-2)
xs = jnp.linspace(0, 1, 64)


@jax.jit
def train(params):
    def step(_, carry):
        params, state = carry
        updates, state = optimizer.update(jax.grad(loss)(params, xs), state)
        return optax.apply_updates(params, updates), state
    return jax.lax.fori_loop(0, 400, step, (params, optimizer.init(params)))[0]


first = loss(params, xs)
trained = train(params)
found = jax.vmap(u, (None, 0))(trained, xs)
error = jnp.abs(found - jnp.sin(jnp.pi * xs)).max()
hessian = jax.hessian(u, argnums=1)(params, 0.3)
print(f"residual {first:.2f} -> {loss(trained, xs):.5f}, largest error {error:.4f}")
assert error < 0.05
results = {"first": first, "found": found, "hessian": hessian}
