"""The Mandelbrot set with smooth colours: a while loop on the device that ends when nothing moves any more.

    python mandelbrot.py    # writes mandelbrot.hlo (1024 x 768) and small.hlo (64 x 48, for the tests) beside itself
"""
import functools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import jax.numpy as jnp
from jax import lax
from picture import export

f32 = jnp.float32


def mandelbrot(width, height, iterations):
    # The valley between the two largest bulbs.
    scale = f32(0.045 / height)
    re = f32(-0.749) + scale * (jnp.arange(width, dtype=f32) - width / 2)[None, :]
    im = f32(0.1) + scale * (jnp.arange(height, dtype=f32) - height / 2)[:, None]
    re, im = jnp.broadcast_to(re, (height, width)), jnp.broadcast_to(im, (height, width))

    def go_on(state):
        i, x, y, _ = state
        return (i < iterations) & jnp.any(x * x + y * y <= 256)

    def step(state):
        i, x, y, count = state
        inside = x * x + y * y <= 256
        x, y = jnp.where(inside, x * x - y * y + re, x), jnp.where(inside, 2 * x * y + im, y)
        return i + 1, x, y, count + inside.astype(f32)

    zero = jnp.zeros((height, width), f32)
    _, x, y, count = lax.while_loop(go_on, step, (jnp.int32(0), zero, zero, zero))
    escaped = x * x + y * y > 256
    # How far between two steps a point left the circle of radius 16.
    smooth = count + 1 - jnp.log2(jnp.log2(jnp.where(escaped, x * x + y * y, f32(512))) / 2)
    phase = jnp.sqrt(smooth)[..., None] * f32(0.55) + jnp.array([0.0, 0.6, 1.1], f32) - f32(2.2)
    return jnp.where(escaped[..., None], f32(127.5) - f32(127.5) * jnp.cos(phase), f32(0))


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    export(functools.partial(mandelbrot, 1024, 768, 400), here / "mandelbrot.hlo")
    export(functools.partial(mandelbrot, 64, 48, 200), here / "small.hlo")
