"""Coloured ink in a stirred fluid: a few hundred steps of Stam's stable fluids (2001), with the pressure by FFT.

    python fluid.py         # writes fluid.hlo (300 x 300, 300 steps) and small.hlo (32 x 32, 8 steps, for the tests)

The square is periodic. Each step carries velocity, and the place that each point came from, along the velocity
(bilinear reads at a computed place: gathers), damps short waves and takes the divergence out (two complex FFTs). At the
end every point has the colour of the place that it came from.
"""
import functools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import jax.numpy as jnp
import numpy as np
from jax import lax
from picture import export

f32 = jnp.float32


def carried(fields, velocity, step):
    """fields[n, n, c] one step later: each point takes what lay where it came from."""
    n = fields.shape[0]
    at = jnp.arange(n, dtype=f32)
    y, x = at[:, None] - step * velocity[..., 0], at[None, :] - step * velocity[..., 1]
    y0, x0 = jnp.floor(y), jnp.floor(x)
    fy, fx = (y - y0)[..., None], (x - x0)[..., None]
    row, column = y0.astype(jnp.int32), x0.astype(jnp.int32)
    read = lambda dy, dx: fields[(row + dy) % n, (column + dx) % n]
    upper = read(0, 0) * (1 - fx) + read(0, 1) * fx
    lower = read(1, 0) * (1 - fx) + read(1, 1) * fx
    return upper * (1 - fy) + lower * fy


def projected(velocity, viscosity):
    """Without divergence, and damped. Both components in one complex transform: real fields have symmetric spectra."""
    n = velocity.shape[0]
    k = jnp.asarray(np.fft.fftfreq(n, 1 / n), f32)
    ky, kx = k[:, None], k[None, :]
    squared = ky * ky + kx * kx
    both = jnp.fft.fft2(lax.complex(velocity[..., 0], velocity[..., 1]))
    mirrored = jnp.conj(jnp.roll(jnp.flip(both, (0, 1)), (1, 1), (0, 1)))
    v, u = (both + mirrored) / 2, (both - mirrored) / lax.complex(f32(0), f32(2))
    along = (ky * v + kx * u) / jnp.where(squared == 0, f32(1), squared)
    damping = jnp.exp(-viscosity * squared)
    v, u = (v - ky * along) * damping, (u - kx * along) * damping
    back = jnp.fft.ifft2(v + u * lax.complex(f32(0), f32(1)))
    return jnp.stack([back.real, back.imag], -1)


def fluid(n, steps):
    at = (jnp.arange(n, dtype=f32) + f32(0.5)) * f32(2 * np.pi / n)
    y, x = at[:, None], at[None, :]
    points = f32(n / 3000)  # that speed 1 passes in a step
    # Vortices of several sizes, with fixed phases.
    waves = [(1, 2, 0.3, 1.0), (2, 1, 1.7, 0.8), (3, 2, 4.1, 0.45), (2, -3, 2.9, 0.5), (4, 1, 0.9, 0.3), (1, -4, 5.2, 0.35)]
    v = sum(f32(a * p) * jnp.cos(p * x + q * y + f32(phase)) for p, q, phase, a in waves)
    u = sum(f32(-a * q) * jnp.cos(p * x + q * y + f32(phase)) for p, q, phase, a in waves)
    velocity = projected(jnp.stack([v, u], -1), f32(0))

    def step(_, state):
        state = carried(state, state[..., :2], points)
        return jnp.concatenate([projected(state[..., :2], f32(2e-5)), state[..., 2:] - state[..., :2] * points], -1)

    # Velocity in state[..., :2]; behind it how far each point's ink has come, in points.
    state = lax.fori_loop(0, steps, step, jnp.concatenate([velocity, jnp.zeros((n, n, 2), f32)], -1))
    from_y = y + state[..., 2] * f32(2 * np.pi / n)
    from_x = x + state[..., 3] * f32(2 * np.pi / n)
    ink = 2 * jnp.sin(from_y * 2) + jnp.sin(from_x * 3 + from_y)
    return f32(127.5) + f32(120) * jnp.cos(ink[..., None] * f32(0.9) + jnp.array([0.2, 0.9, 1.9], f32))


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    export(functools.partial(fluid, 300, 300), here / "fluid.hlo")
    export(functools.partial(fluid, 32, 8), here / "small.hlo")
