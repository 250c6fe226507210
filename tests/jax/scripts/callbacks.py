"""A loop that talks to the host: debug.print, an io_callback that logs, a pure_callback to SciPy, checkify."""
import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jax.experimental import checkify, io_callback

log = []


def bessel(x):
    return jax.pure_callback(lambda x: scipy.special.jv(1.5, x).astype(x.dtype), jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims")


@jax.jit
def iterate(x):
    def step(i, x):
        io_callback(lambda i, m: log.append((int(i), float(m))), None, i, x.mean(), ordered=True)
        return x + bessel(x)
    return jax.lax.fori_loop(0, 5, step, x)


@jax.jit
@checkify.checkify
def root(x):
    checkify.check(jnp.all(x >= 0), "negative: {x}", x=x.min())
    return jnp.sqrt(x)


x = iterate(jnp.linspace(0.5, 4, 16))
jax.debug.print("ends at {m}", m=x.mean())
error, _ = root(jnp.asarray([1.0, -4.0]))
jax.effects_barrier()
assert "negative: -4" in error.get(), error.get()
results = {"x": x, "log": np.asarray(log, np.float32)}
