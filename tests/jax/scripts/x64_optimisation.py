"""Rosenbrock's function in double precision, by L-BFGS of optax with its line search, and by Newton's method."""
import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import optax


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


optimizer = optax.lbfgs()


@jax.jit
def lbfgs(x):
    def step(carry):
        x, state, n = carry
        value, grad = optax.value_and_grad_from_state(rosenbrock)(x, state=state)
        updates, state = optimizer.update(grad, state, x, value=value, grad=grad, value_fn=rosenbrock)
        return optax.apply_updates(x, updates), state, n + 1
    return jax.lax.while_loop(lambda c: (c[2] < 100) & (jnp.linalg.norm(jax.grad(rosenbrock)(c[0])) > 1e-8), step,
                              (x, optimizer.init(x), 0))


@jax.jit
def newton(x):
    def step(x, _):
        return x - jnp.linalg.solve(jax.hessian(rosenbrock)(x) + 1e-3 * jnp.eye(4), jax.grad(rosenbrock)(x)), rosenbrock(x)
    return jax.lax.scan(step, x, None, length=12)


start = jnp.asarray([-1.2, 1.0, 0.5, -0.3])
found, _, rounds = lbfgs(start)
x, values = newton(jnp.asarray([0.9, 0.8, 0.7, 0.5]))
print("L-BFGS", found, "after", rounds, "Newton", x)
assert found.dtype == jnp.float64 and jnp.abs(found - 1).max() < 1e-6
results = {"found": found, "newton": x, "values": values, "hessian": jax.hessian(rosenbrock)(start)}
