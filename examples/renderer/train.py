"""Trains the renderer's denoiser with JAX on pictures that it makes, and exports the two programs of its frame.

    python train.py         # minutes on two cores; writes react_{48,128}.mlir and denoise_{96,256}.mlir

The pictures are what scene.frag draws: the height field of a reaction-diffusion system, lit by the sky and by a sun that
is wide enough for soft shadows. One random ray to each per pixel is noise, many rays are the truth.
"""
import functools
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

f32 = jnp.float32
HERE = pathlib.Path(__file__).parent
STEPS = 16  # of the simulation in a frame


# ---- the simulation: Gray-Scott on a torus, state f32[n, n, 2] ----


def laplacian(x):
    """Nine points: sides 1/5, corners 1/20."""
    rows = jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0)
    columns = jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1)
    corners = jnp.roll(rows, 1, 1) + jnp.roll(rows, -1, 1)
    return f32(0.2) * (rows + columns) + f32(0.05) * corners - x


def react(state, steps=STEPS, feed=0.037, kill=0.06):
    def step(_, state):
        u, v = state[..., 0], state[..., 1]
        reaction = u * v * v
        u = u + f32(0.16 * 1.25) * laplacian(u) - reaction + f32(feed) * (1 - u)
        v = v + f32(0.08 * 1.25) * laplacian(v) + reaction - f32(feed + kill) * v
        return jnp.stack([u, v], -1)

    return lax.fori_loop(0, steps, step, state)


# ---- the pictures: scene.frag in JAX. Positions are in points of the simulation ----


def height(state, y, x):
    """Bilinear, periodic. How high the ground is, in points."""
    n = state.shape[0]
    y, x = y - 0.5, x - 0.5
    y0, x0 = jnp.floor(y), jnp.floor(x)
    fy, fx = y - y0, x - x0
    row, column = y0.astype(jnp.int32), x0.astype(jnp.int32)
    read = lambda dy, dx: state[(row + dy) % n, (column + dx) % n, 1]
    v = (read(0, 0) * (1 - fx) + read(0, 1) * fx) * (1 - fy) + (read(1, 0) * (1 - fx) + read(1, 1) * fx) * fy
    return 12 * v


def lit(state, y, x, direction):
    """1 where the sun or the sky is seen along the direction (dy, dx, dz)."""
    ground = height(state, y, x)
    open_ = jnp.ones_like(y, bool)
    for i in range(8):
        t = 0.35 * 1.5**i
        open_ &= height(state, y + t * direction[0], x + t * direction[1]) < ground + t * direction[2] + 0.02
    return open_.astype(f32)


def light(state, y, x, key):
    """One ray to the sun and one to the sky from each point: f32[h, w, 3]."""
    a, b, c, d = jax.random.uniform(key, (4,) + y.shape)
    e = 0.25
    normal = jnp.stack([height(state, y - e, x) - height(state, y + e, x),
                        height(state, y, x - e) - height(state, y, x + e), jnp.full_like(y, 2 * e)])
    normal = normal / jnp.sqrt((normal**2).sum(0))

    def ray(towards, spread, a, b):
        radius, angle = spread * jnp.sqrt(a), 2 * np.pi * b
        way = jnp.stack([towards[0] + radius * jnp.sin(angle), towards[1] + radius * jnp.cos(angle),
                         jnp.full_like(a, towards[2])])
        way = way / jnp.sqrt((way**2).sum(0))
        return jnp.maximum((way * normal).sum(0), 0) * lit(state, y, x, way)

    sun, sky = ray((-0.6, -0.5, 0.7), 0.35, a, b), ray((0, 0, 0.5), 1.0, c, d)
    return sun[..., None] * jnp.array([1.5, 1.25, 0.9], f32) + sky[..., None] * jnp.array([0.35, 0.5, 0.75], f32)


def albedo(h):
    t = jnp.clip(h / 4, 0, 1)[..., None]
    return jnp.array([0.25, 0.42, 0.5], f32) * (1 - t) + jnp.array([0.9, 0.5, 0.3], f32) * t


@functools.partial(jax.jit, static_argnums=2)
def picture(state, key, rays):
    """What the renderer's pass draws: colour and height, f32[2n, 2n, 4], two pixels a point."""
    at = (jnp.arange(2 * state.shape[0], dtype=f32) + 0.5) / 2
    y, x = jnp.meshgrid(at, at, indexing="ij")
    add = lambda i, sum_: sum_ + light(state, y, x, jax.random.fold_in(key, i))
    ground = height(state, y, x)
    colour = lax.fori_loop(0, rays, add, jnp.zeros(y.shape + (3,), f32)) / rays * albedo(ground)
    return jnp.concatenate([colour, ground[..., None] / 4], -1)


# ---- the denoiser: four 3 x 3 convolutions that see 17 x 17 pixels, added to the picture ----


def denoise(weights, noisy):
    """f32[..., h, w, 4], colour and height, to f32[..., h, w, 3]."""
    x = noisy if noisy.ndim == 4 else noisy[None]
    for (kernel, bias), dilation in zip(weights, (1, 2, 4, 1)):
        x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", rhs_dilation=(dilation, dilation),
                                     dimension_numbers=("NHWC", "HWIO", "NHWC")) + bias
        if kernel.shape[-1] != 3:
            x = jnp.maximum(x, 0)
    return jnp.maximum(noisy[..., :3] + x.reshape(noisy.shape[:-1] + (3,)), 0)


def train():
    random = np.random.default_rng(1)
    truth, noisy = [], []
    for i in range(16):
        start = np.ones((64, 64, 2), np.float32) * np.array([1, 0], np.float32)
        for y, x in random.integers(0, 60, (12, 2)):
            start[y : y + 4, x : x + 4] = 0.5, 0.25
        steps, rates = int(random.integers(500, 4000)), random.uniform((0.03, 0.058), (0.042, 0.062))
        state = jax.jit(react, static_argnums=1)(start, steps, *rates)
        truth.append(picture(state, jax.random.key(i), 200)[..., :3])
        noisy.append(jnp.stack([picture(state, jax.random.key(1000 + 10 * i + j), 1) for j in range(6)]))
    truth, noisy = jnp.stack(truth), jnp.stack(noisy)
    print("pictures:", truth.shape, noisy.shape)

    keys = jax.random.split(jax.random.key(7), 4)
    sizes = [(4, 16), (16, 16), (16, 16), (16, 3)]
    weights = [(jax.random.normal(k, (3, 3, i, o)) * np.sqrt((0.1 if o == 3 else 2) / (9 * i)), jnp.zeros(o))
               for k, (i, o) in zip(keys, sizes)]
    error = lambda w, x, y: jnp.mean((jnp.sqrt(denoise(w, x) + 1e-3) - jnp.sqrt(y + 1e-3)) ** 2)

    @jax.jit
    def update(weights, moments, step, key, rate):
        a = jax.random.randint(key, (8,), 0, 14)  # the last two are held out
        b = jax.random.randint(jax.random.fold_in(key, 1), (8,), 0, 6)
        loss, grads = jax.value_and_grad(
            lambda w: error(w, noisy[a, b], truth[a]))(weights)
        m, s = moments
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
        s = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, s, grads)
        weights = jax.tree.map(
            lambda w, m, s: w - rate * (m / (1 - 0.9**step)) / (jnp.sqrt(s / (1 - 0.99**step)) + 1e-8), weights, m, s)
        return weights, (m, s), loss

    zeros = jax.tree.map(jnp.zeros_like, weights)
    moments, last = (zeros, zeros), 1200
    for step in range(1, last + 1):
        rate = 3e-3 * 0.5 * (1 + np.cos(np.pi * step / last))
        weights, moments, loss = update(weights, moments, f32(step), jax.random.key(step), f32(rate))
        if step % 100 == 0:
            held_out = [error(weights, noisy[i, 0], truth[i]) for i in (14, 15)]
            before = [jnp.mean((jnp.sqrt(noisy[i, 0, ..., :3]) - jnp.sqrt(truth[i])) ** 2) for i in (14, 15)]
            print(step, float(loss), "held out:", float(sum(held_out) / 2), "noisy:", float(sum(before) / 2))
    return weights


def export(function, shape, name):
    text = jax.jit(function).lower(jax.ShapeDtypeStruct(shape, f32)).as_text()
    (HERE / name).write_text(text)


if __name__ == "__main__":
    weights = train()
    # Eleven bits are enough for weights.
    weights = jax.tree.map(lambda w: w.astype(jnp.bfloat16).astype(f32), weights)
    for n in (48, 128):
        export(react, (n, n, 2), f"react_{n}.mlir")
        export(functools.partial(denoise, weights), (2 * n, 2 * n, 4), f"denoise_{2 * n}.mlir")
