"""Writes layer.hlo: a layer with jax.ffi.ffi_call in it, as JAX lowers it.

vxla diff layer.hlo --kernel swish=swish.comp --custom-call swish=libswish_ffi.so:SwishHandler
"""
import jax
import jax.numpy as jnp
import numpy as np


def layer(x, w):
    h = x @ w
    swish = jax.ffi.ffi_call("swish", jax.ShapeDtypeStruct(h.shape, h.dtype))
    return swish(h, beta=np.float32(1.5)).mean(axis=0)


shapes = [jax.ShapeDtypeStruct(s, jnp.float32) for s in ((256, 32), (32, 64))]
with open("layer.hlo", "w") as file:
    file.write(jax.jit(layer).lower(*shapes).as_text(dialect="hlo"))
