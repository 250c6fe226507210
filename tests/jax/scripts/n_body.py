"""Forty bodies under gravity by the leapfrog method; energy and its drift."""
import jax
import jax.numpy as jnp

n, dt, soft = 40, 0.01, 0.1
position = jax.random.normal(jax.random.key(0), (n, 3))
velocity = 0.3 * jnp.cross(position, jnp.asarray([0.0, 0.0, 1.0]))
mass = jnp.full(n, 1 / n)


def potential(position):
    apart = position[:, None] - position[None]
    pairs = mass[:, None] * mass[None] / jnp.sqrt((apart**2).sum(-1) + soft**2)
    return -0.5 * jnp.sum(pairs * (1 - jnp.eye(n)))


force = jax.grad(lambda p: -potential(p))


@jax.jit
def simulate(position, velocity):
    def step(state, _):
        p, v = state
        v = v + dt / 2 * force(p) / mass[:, None]
        p = p + dt * v
        v = v + dt / 2 * force(p) / mass[:, None]
        return (p, v), potential(p) + 0.5 * (mass[:, None] * v**2).sum()
    return jax.lax.scan(step, (position, velocity), None, length=100)


(position, velocity), energy = simulate(position, velocity)
print(f"energy {energy[0]:.5f}, drift {energy[-1] - energy[0]:.2e}")
results = {"position": position, "energy": energy}
