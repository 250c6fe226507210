"""Denoising diffusion of points on a ring: a training loop, then sampling by a scan."""
import jax
import jax.numpy as jnp
import optax

steps = 40
beta = jnp.linspace(1e-3, 0.15, steps)
alpha = jnp.cumprod(1 - beta)


def init(key):
    keys = jax.random.split(key, 3)
    return [(jax.random.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros(n)) for k, m, n in zip(keys, (6, 64, 64), (64, 64, 2))]


def noise_of(params, x, t):
    angle = t[:, None] / steps * jnp.asarray([1.0, 4.0])
    h = jnp.concatenate([x, jnp.sin(angle), jnp.cos(angle)], -1)
    for w, b in params[:-1]:
        h = jax.nn.silu(h @ w + b)
    return h @ params[-1][0] + params[-1][1]


def loss(params, key):
    a, b, c = jax.random.split(key, 3)
    phi = jax.random.uniform(a, (128,), maxval=2 * jnp.pi)
    x = jnp.stack([jnp.cos(phi), jnp.sin(phi)], -1)
    t = jax.random.randint(b, (128,), 0, steps)
    noise = jax.random.normal(c, x.shape)
    noisy = jnp.sqrt(alpha[t])[:, None] * x + jnp.sqrt(1 - alpha[t])[:, None] * noise
    return jnp.mean((noise_of(params, noisy, t) - noise) ** 2)


optimizer = optax.adam(3e-3)


@jax.jit
def train(params, key):
    def step(carry, key):
        params, state = carry
        value, grads = jax.value_and_grad(loss)(params, key)
        updates, state = optimizer.update(grads, state)
        return (optax.apply_updates(params, updates), state), value
    (params, _), losses = jax.lax.scan(step, (params, optimizer.init(params)), jax.random.split(key, 150))
    return params, losses


@jax.jit
def sample(params, key):
    def back(x, inputs):
        t, key = inputs
        mean = (x - beta[t] / jnp.sqrt(1 - alpha[t]) * noise_of(params, x, jnp.full(len(x), t))) / jnp.sqrt(1 - beta[t])
        return mean + (t > 0) * jnp.sqrt(beta[t]) * jax.random.normal(key, x.shape), None
    first, key = jax.random.split(key)
    ts = jnp.arange(steps)[::-1]
    return jax.lax.scan(back, jax.random.normal(first, (256, 2)), (ts, jax.random.split(key, steps)))[0]


params, losses = train(init(jax.random.key(0)), jax.random.key(1))
points = sample(params, jax.random.key(2))
radius = jnp.linalg.norm(points, axis=1)
print(f"loss {losses[:10].mean():.3f} -> {losses[-10:].mean():.3f}, radius {radius.mean():.3f} +- {radius.std():.3f}")
results = {"losses": losses, "radius": radius.mean()}
