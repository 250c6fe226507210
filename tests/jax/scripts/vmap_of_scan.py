"""Kalman filters over a batch of tracks: a vmap of a scan with solves in its body, beside one of a while loop."""
import jax
import jax.numpy as jnp

a = jnp.asarray([[1.0, 0.1], [0.0, 1.0]])
h = jnp.asarray([[1.0, 0.0]])
q, r = 0.01 * jnp.eye(2), jnp.asarray([[0.25]])


def filtered(measured):
    def step(carry, z):
        mean, cov = carry
        mean, cov = a @ mean, a @ cov @ a.T + q
        gain = jnp.linalg.solve(h @ cov @ h.T + r, h @ cov).T
        mean, cov = mean + gain @ (z - h @ mean), (jnp.eye(2) - gain @ h) @ cov
        return (mean, cov), mean
    return jax.lax.scan(step, (jnp.zeros(2), jnp.eye(2)), measured)[1]


def collatz(n):
    return jax.lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))[1]


truth = jnp.cumsum(0.1 * jnp.ones((16, 40)), 1) * jnp.linspace(-1, 1, 16)[:, None]
measured = truth + 0.5 * jax.random.normal(jax.random.key(0), truth.shape)
tracks = jax.jit(jax.vmap(filtered))(measured[..., None])
counts = jax.jit(jax.vmap(collatz))(jnp.arange(1, 50))
print("error", jnp.abs(tracks[:, -1, 0] - truth[:, -1]).mean(), "longest", counts.max())
results = {"tracks": tracks, "counts": counts, "sensitivity": jax.grad(lambda z: filtered(z[:, None])[-1, 0])(measured[0])}
