"""What may be given as a program: a function of JAX, text, bytes, a path."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
from collections.abc import Callable, Sequence
from typing import Any


@dataclasses.dataclass
class Program:
    data: bytes
    file: str                                    # what the command's messages call it
    arguments: list[Any]                         # flat; None: the command makes one up
    result_names: list[str] | None = None        # a function's, as paths into what it returns
    rebuild: Callable[[list[Any]], Any] | None = None  # what it returns, of its flat results


def of(program: Any, arguments: Sequence[Any]) -> Program:
    """TypeError: it is none of these. FileNotFoundError: a path of nothing."""
    if callable(program):
        return _of_function(program, arguments)
    if isinstance(program, (bytes, bytearray, memoryview)):
        return Program(bytes(program), "program", list(arguments))
    if isinstance(program, str) and _is_text(program):
        return Program(program.encode(), "program", list(arguments))
    if isinstance(program, (str, os.PathLike)):
        path = pathlib.Path(program)
        return Program(path.read_bytes(), path.name, list(arguments))
    raise TypeError(f"a program is a function, text, bytes or a path, not {type(program).__name__}")


def _is_text(program: str) -> bool:
    return any(c in program for c in "\n{(") and ("\n" in program or not os.path.exists(program))


def _of_function(function: Callable[..., Any], arguments: Sequence[Any]) -> Program:
    import jax
    import jax.extend
    # Finds the plugin, whose Python side registers how JAX lowers for this platform.
    jax.default_backend()
    jitted = function if hasattr(function, "trace") else jax.jit(function)
    traced = jitted.trace(*arguments)
    jaxpr, name = traced.jaxpr, getattr(function, "__name__", "function")
    flat = _dynamic(arguments, jaxpr.in_avals, name)

    def whole(*values: Any) -> Any:
        return jax.extend.core.jaxpr_as_fun(jaxpr)(*values)

    whole.__name__ = name = re.sub(r"\W", "_", name)
    # Every argument is kept, so that arrays and parameters are one to one.
    shapes = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in jaxpr.in_avals]
    lowered = jax.jit(whole, keep_unused=True).trace(*shapes).lower(lowering_platforms=("vulkan",))
    leaves, tree = jax.tree_util.tree_flatten_with_path(traced.out_info)
    names = ["result" + jax.tree_util.keystr(path) for path, _ in leaves]
    values = [_value(leaf, aval) for leaf, aval in zip(flat, jaxpr.in_avals, strict=True)]
    return Program(lowered.as_text().encode(), f"{name}.mlir", values, names, lambda results: jax.tree.unflatten(tree, results))


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def _dynamic(arguments: Sequence[Any], avals: Sequence[Any], name: str) -> list[Any]:
    """The flat arguments without static ones, which are no arrays."""
    import jax
    leaves = jax.tree.leaves(tuple(arguments))
    for candidate in (leaves, [leaf for leaf in leaves if _is_array(leaf)]):
        if len(candidate) == len(avals):
            return candidate
    raise TypeError(f"{name}: it is not clear which of {len(leaves)} arguments are static ({len(avals)} are not): "
                    "bind static ones with functools.partial")


def _value(leaf: Any, aval: Any) -> Any:
    """A numpy array of the type that JAX takes the leaf for; None for a jax.ShapeDtypeStruct, which has no value."""
    import jax
    import numpy as np
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return None
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return np.asarray(jax.random.key_data(leaf))
    return np.asarray(leaf).astype(aval.dtype, copy=False)
