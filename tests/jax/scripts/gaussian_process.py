"""Gaussian process regression: the marginal likelihood by a Cholesky factor, optimised by L-BFGS of optax."""
import jax
import jax.numpy as jnp
import jax.scipy.linalg as linalg
import optax

x = jnp.linspace(-3, 3, 48)
y = jnp.sin(2 * x) + 0.1 * jax.random.normal(jax.random.key(0), x.shape)


def kernel(a, b, params):
    return jnp.exp(2 * params["scale"]) * jnp.exp(-0.5 * ((a[:, None] - b[None]) / jnp.exp(params["length"])) ** 2)


def factor(params):
    return linalg.cho_factor(kernel(x, x, params) + (jnp.exp(2 * params["noise"]) + 1e-5) * jnp.eye(len(x)), lower=True)


def negative_likelihood(params):
    c, lower = factor(params)
    return 0.5 * y @ linalg.cho_solve((c, lower), y) + jnp.log(jnp.diag(c)).sum()


params = {"scale": jnp.zeros(()), "length": jnp.zeros(()), "noise": jnp.asarray(-1.0)}
start = negative_likelihood(params)
optimizer = optax.lbfgs()
value_and_grad = optax.value_and_grad_from_state(negative_likelihood)


@jax.jit
def step(params, state):
    value, grad = value_and_grad(params, state=state)
    updates, state = optimizer.update(grad, state, params, value=value, grad=grad, value_fn=negative_likelihood)
    return optax.apply_updates(params, updates), state


state = optimizer.init(params)
for _ in range(8):
    params, state = step(params, state)
grid = jnp.linspace(-3, 3, 101)
cross = kernel(grid, x, params)
c = factor(params)
mean = cross @ linalg.cho_solve(c, y)
variance = jnp.exp(2 * params["scale"]) - jnp.einsum("ij,ji->i", cross, linalg.cho_solve(c, cross.T))
print(f"-log p {start:.3f} -> {negative_likelihood(params):.3f}, largest error {jnp.abs(mean - jnp.sin(2 * grid)).max():.3f}")
results = {"start": start, "mean": mean, "variance": variance}
