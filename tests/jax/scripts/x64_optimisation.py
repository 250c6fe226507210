"""Rosenbrock's function in double precision, by BFGS and by Newton's method."""
import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
from jax.scipy.optimize import minimize


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


start = jnp.asarray([-1.2, 1.0, 0.5, -0.3])
found = jax.jit(lambda x: minimize(rosenbrock, x, method="BFGS", tol=1e-10))(start)


@jax.jit
def newton(x):
    def step(x, _):
        return x - jnp.linalg.solve(jax.hessian(rosenbrock)(x) + 1e-3 * jnp.eye(4), jax.grad(rosenbrock)(x)), rosenbrock(x)
    return jax.lax.scan(step, x, None, length=12)


x, values = newton(jnp.asarray([0.9, 0.8, 0.7, 0.5]))
print("BFGS", found.x, "Newton", x)
assert found.x.dtype == jnp.float64 and jnp.abs(found.x - 1).max() < 1e-3
results = {"bfgs": found.x, "newton": x, "values": values, "hessian": jax.hessian(rosenbrock)(start)}
